//! Further kinds that may be published.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, quoted};
use super::setting::{Show, given};
use crate::capi;
use crate::capi::tenancy::Tenancy;
use crate::kinds::{K0RDENT, is_kubernetes_own};
use crate::name::{GroupKind, Scope, is_dns_subdomain};
use crate::yaml::emit::Tree;

/// A further publishable kind (`kinds:`).
#[derive(Clone, Debug)]
pub struct ExtraKind {
    /// Its scope.
    pub scope: Scope,
    /// Its tenancy.
    pub tenancy: Tenancy,
}

/// A further publishable kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KindFile {
    /// The API group.
    group: String,
    /// The kind.
    kind: String,
    /// Whether its objects have a namespace.
    scope: ScopeWord,
    /// Whose meaning of "which namespaces may use this" the kind follows.
    #[serde(default)]
    allowed_namespaces: Tenancy,
}

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
    pub(super) fn tree<'k>(&self, kind: &'k GroupKind) -> Tree<'k> {
        let scope = match self.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        };
        given([
            ("group", kind.group.show()),
            ("kind", kind.kind.show()),
            ("scope", Some(Tree::text(scope))),
            ("allowedNamespaces", Some(Tree::text(self.tenancy.word()))),
        ])
    }
}

/// Resolves `kinds`.
pub(super) fn resolve(kinds: &[KindFile], faults: &mut Faults) -> BTreeMap<GroupKind, ExtraKind> {
    let mut known = BTreeMap::new();
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
        } else if capi::rules(&kind).is_some() {
            let message = format!("{} is built in", quoted(&entry.kind));
            faults.add(&path, message, "Remove the entry.");
        }
        let extra = ExtraKind {
            scope: match entry.scope {
                ScopeWord::Namespaced => Scope::Namespaced,
                ScopeWord::Cluster => Scope::Cluster,
            },
            tenancy: entry.allowed_namespaces,
        };
        if known.insert(kind, extra).is_some() {
            faults.add(&path, "the kind is here twice", "Remove one of the entries.");
        }
    }
    known
}
