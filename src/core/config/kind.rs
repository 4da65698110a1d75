//! Further kinds that may be published.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, quoted};
use super::setting::{Show, given};
use crate::capi;
use crate::capi::tenancy::Tenancy;
use crate::kinds::{K0RDENT, is_kubernetes_own};
use crate::name::{GroupKind, Namespace, Scope, is_dns_subdomain};
use crate::yaml::emit::Tree;

/// A further publishable kind (`kinds:`).
#[derive(Clone, Debug)]
pub struct ExtraKind {
    /// Its scope.
    pub scope: Scope,
    /// Its tenancy.
    pub tenancy: Tenancy,
}

/// A further publishable kind; or a built-in identity kind whose controller reads Secrets in another namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KindFile {
    /// The API group.
    group: String,
    /// The kind.
    kind: String,
    /// The scope of its objects; not of a built-in kind.
    scope: Option<ScopeWord>,
    /// The provider by whose meaning an object says which namespaces may use it; not of a built-in kind.
    allowed_namespaces: Option<Tenancy>,
    /// The namespace in which its controller reads the Secrets that its objects name without a namespace.
    #[schemars(extend("x-check" = "namespace"))]
    controller_namespace: Option<Namespace>,
}

/// The namespaces in which controllers read the Secrets that identities of a kind name without a namespace.
pub type Controllers = BTreeMap<GroupKind, Namespace>;

/// Whether objects of a kind have a namespace.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
enum ScopeWord {
    /// They have one.
    Namespaced,
    /// They have none.
    Cluster,
}

impl ExtraKind {
    /// As the configuration has it.
    pub(super) fn tree<'k>(&self, kind: &'k GroupKind, controllers: &'k Controllers) -> Tree<'k> {
        let scope = match self.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        };
        given([
            ("group", kind.group.show()),
            ("kind", kind.kind.show()),
            ("scope", Some(Tree::text(scope))),
            ("allowedNamespaces", Some(Tree::text(self.tenancy.word()))),
            ("controllerNamespace", controllers.get(kind).and_then(Show::show)),
        ])
    }
}

/// The entry of a built-in kind, as the configuration has it.
pub(super) fn built_in<'k>(kind: &'k GroupKind, namespace: &'k Namespace) -> Tree<'k> {
    given([("group", kind.group.show()), ("kind", kind.kind.show()), ("controllerNamespace", namespace.show())])
}

/// Resolves `kinds`.
pub(super) fn resolve(kinds: &[KindFile], faults: &mut Faults) -> (BTreeMap<GroupKind, ExtraKind>, Controllers) {
    let (mut known, mut controllers) = (BTreeMap::new(), Controllers::new());
    let mut seen = BTreeSet::new();
    for (at, entry) in kinds.iter().enumerate() {
        let path = FieldPath::root().key("kinds").index(at);
        let kind = GroupKind::new(&entry.group, &entry.kind);
        let camel = entry.kind.starts_with(|c: char| c.is_ascii_uppercase())
            && entry.kind.bytes().all(|b| b.is_ascii_alphanumeric())
            && entry.kind.len() <= 63;
        if !camel {
            let message = format!("{} cannot be a kind", quoted(&entry.kind));
            faults.add(&path.key("kind"), message, "Write it as manifests do, such as `AWSClusterStaticIdentity`.");
        }
        if !entry.group.is_empty() && !is_dns_subdomain(&entry.group) {
            let message = format!("{} cannot be an API group", quoted(&entry.group));
            faults.add(&path.key("group"), message, "Write what stands before the slash of `apiVersion`.");
        } else if is_kubernetes_own(&entry.group) {
            let message = "kinds of Kubernetes itself are not published by configuration";
            faults.add(
                &path.key("group"),
                message,
                "Secrets, ConfigMaps and Namespaces are published as references need them.",
            );
        } else if entry.group == K0RDENT {
            let message = "kinds of k0rdent itself are not published";
            faults.add(&path.key("group"), message, "Regions get identities, not the Credentials that ask for them.");
        }
        if !seen.insert(kind.clone()) {
            faults.add(&path, "the kind is here twice", "Remove one of the entries.");
        }
        if let Some(namespace) = &entry.controller_namespace {
            controllers.insert(kind.clone(), namespace.clone());
        }
        if capi::rules(&kind).is_some() {
            entry.check_built_in(&kind, &path, faults);
            continue;
        }
        if entry.scope.is_none() {
            faults.add_at_key(&path.key("scope"), "it is missing", "Write `Namespaced` or `Cluster`.");
        }
        let extra = ExtraKind {
            scope: match entry.scope {
                Some(ScopeWord::Namespaced) | None => Scope::Namespaced,
                Some(ScopeWord::Cluster) => Scope::Cluster,
            },
            tenancy: entry.allowed_namespaces.unwrap_or_default(),
        };
        known.insert(kind, extra);
    }
    (known, controllers)
}

impl KindFile {
    /// Checks the entry of a built-in kind, which can say one thing.
    fn check_built_in(&self, kind: &GroupKind, path: &FieldPath, faults: &mut Faults) {
        let fields = [("scope", self.scope.is_some()), ("allowedNamespaces", self.allowed_namespaces.is_some())];
        for (field, _) in fields.into_iter().filter(|(_, is_there)| *is_there) {
            let message = format!("{} is built in, and so is this", quoted(&self.kind));
            faults.add_at_key(&path.key(field), message, "Remove the field.");
        }
        if self.controller_namespace.is_none() {
            let message = format!("{} is built in", quoted(&self.kind));
            faults.add(path, message, "Remove the entry.");
        } else if capi::controller_namespace(kind).is_none() {
            let message = format!("objects of kind {} name no Secret, or say its namespace themselves", self.kind);
            faults.add(&path.key("controllerNamespace"), message, "Remove the entry.");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::capi::GROUP;
    use crate::config::resolve::resolve_without_keys;
    use crate::config::shape::read;
    use alloc::collections::BTreeMap;
    use alloc::string::{String, ToString as _};
    use alloc::vec::Vec;

    /// The faults of one entry of `kinds`.
    fn wrong(entry: &serde_json::Value) -> Vec<String> {
        let text = json!({
            "apiVersion": "pouch/v1alpha1", "kind": "Fleet", "metadata": {"name": "f"},
            "sources": [{"name": "a", "directory": {"path": "a"}}], "output": {"path": "b"}, "reuseKey": {"file": "k"},
            "regions": {}, "kinds": [entry],
        });
        let typed = read(&text.to_string()).unwrap_or_else(|unfit| panic!("{unfit:?}"));
        let found = resolve_without_keys(&typed, &BTreeMap::new()).err().unwrap_or_default();
        let of_kinds = found.into_iter().map(|error| alloc::format!("{}: {}", error.field, error.message));
        of_kinds.filter(|error| error.starts_with("kinds")).collect()
    }

    #[test]
    fn an_entry_of_a_built_in_kind_says_where_its_controller_reads_and_nothing_else() {
        let of = |kind: &str| json!({"group": GROUP, "kind": kind, "controllerNamespace": "capv-system"});
        assert!(wrong(&of("VSphereClusterIdentity")).is_empty() && wrong(&of("AWSClusterStaticIdentity")).is_empty());
        for (field, value) in [("scope", "Cluster"), ("allowedNamespaces", "aws")] {
            let mut entry = of("VSphereClusterIdentity");
            entry[field] = json!(value);
            assert_eq!(wrong(&entry).len(), 1, "{field}");
        }
        assert!(wrong(&json!({"group": GROUP, "kind": "VSphereClusterIdentity"}))[0].contains("is built in"));
        // Its objects say the namespace themselves.
        assert!(wrong(&of("AzureClusterIdentity"))[0].contains("say its namespace themselves"));
        let mut own = json!({"group": "a.example", "kind": "Own", "controllerNamespace": "own-system"});
        assert!(wrong(&own)[0].contains("scope: it is missing"));
        own["scope"] = json!("Cluster");
        assert!(wrong(&own).is_empty());
    }
}
