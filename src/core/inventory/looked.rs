//! RegionFacts: what a look into a region's cluster found, as a document.
//!
//! `pouch facts` prints it, and a source may have it: then the same is known of the region without its cluster. So a
//! run that looks into a cluster and one that reads what another has seen decide alike. Only a source that may provide
//! cluster-scoped objects can say it.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::lenient::Faults;
use crate::name::{GroupKind, Namespace, Scope, Version, split_api_version};
use crate::node::Node;
use crate::object::Object;

/// Its version.
pub const API_VERSION: &str = "pouch/v1alpha1";

/// Its kind.
pub const KIND: &str = "RegionFacts";

/// What is known of a kind on a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Served {
    /// Whether its objects have a namespace.
    pub scope: Scope,
    /// The versions that are served; none where the region does not have the kind.
    pub versions: Vec<Version>,
}

/// What a look into a region's cluster found. What was not looked at is none, or not there.
#[derive(Clone, PartialEq, Default)]
pub struct Looked {
    /// The UID of its `kube-system`.
    pub cluster: Option<String>,
    /// Its version of Kubernetes, as it says itself.
    pub kubernetes: Option<String>,
    /// The labels of namespaces that were asked for; none of those that are absent.
    pub namespaces: BTreeMap<Namespace, Option<BTreeMap<String, String>>>,
    /// The kinds that were asked for.
    pub kinds: BTreeMap<GroupKind, Served>,
    /// Its ProviderInterfaces, as documents; none where they were not looked at.
    pub interfaces: Option<Vec<Node>>,
}

/// Reads RegionFacts.
///
/// # Errors
/// What cannot be read: then nothing of it counts.
pub fn read(object: &Object) -> Result<Looked, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidInventory);
    let body = &object.body;
    let mut looked = Looked::default();
    if let Some(spec) = faults.needed_at(body, "", &["spec"], "Write what `pouch facts` printed.") {
        const KNOWN: [&str; 5] = ["clusterUID", "kubernetesVersion", "namespaces", "kinds", "providerInterfaces"];
        for (key, _) in spec.entries().iter().filter(|(key, _)| !KNOWN.contains(&&**key)) {
            faults
                .add(format!("spec has no field {}", crate::lenient::quoted(key)), "Write what `pouch facts` printed.");
        }
    }
    looked.cluster = faults.text(body, "", &["spec", "clusterUID"]).map(String::from);
    looked.kubernetes = faults.text(body, "", &["spec", "kubernetesVersion"]).map(String::from);
    for (index, item) in faults.items(body, "", &["spec", "namespaces"]).iter().enumerate() {
        let at = format!("spec.namespaces[{index}]");
        let Some(name) = faults.needed(item, &at, &["name"]).map(Namespace::from) else { continue };
        let is_absent = item.at(&["absent"]).and_then(Node::as_bool).unwrap_or_default();
        let labels = faults.at(item, &at, &["labels"]);
        let entries = labels.map(Node::entries).unwrap_or_default();
        let text = |(key, value): &(_, Node)| value.as_str().map(|value| (ToString::to_string(key), value.to_string()));
        let read: BTreeMap<String, String> = entries.iter().filter_map(text).collect();
        if read.len() != entries.len() || labels.is_some_and(|labels| !labels.is_map()) {
            faults.add(format!("{at}.labels is no map of text to text"), "Quote the values.");
        }
        looked.namespaces.insert(name, (!is_absent).then_some(read));
    }
    for (index, item) in faults.items(body, "", &["spec", "kinds"]).iter().enumerate() {
        let at = format!("spec.kinds[{index}]");
        let Some(kind) = faults.needed(item, &at, &["kind"]) else { continue };
        let group = faults.text(item, &at, &["group"]).unwrap_or_default();
        let scope = match faults.needed(item, &at, &["scope"]) {
            Some("Namespaced") => Scope::Namespaced,
            Some("Cluster") => Scope::Cluster,
            Some(_) => {
                faults.add(format!("{at}.scope is neither Namespaced nor Cluster"), "Write one of the two.");
                continue;
            }
            None => continue,
        };
        let items = faults.items(item, &at, &["versions"]);
        let versions = items.iter().filter_map(Node::as_str).map(Version::from).collect();
        looked.kinds.insert(GroupKind::new(group, kind), Served { scope, versions });
    }
    if let Some(spec) = body.at(&["spec", "providerInterfaces"]) {
        if !matches!(spec, Node::List(_)) {
            let _ = faults.wrong_type("spec.providerInterfaces", spec, "a list");
        }
        looked.interfaces = Some(spec.items().to_vec());
    }
    faults.settle(Some(looked))
}

/// The group and kind that a document of [`Looked::interfaces`] should have.
pub fn is_interface(document: &Node, group: &str) -> bool {
    let (written, _) = split_api_version(document.str_at(&["apiVersion"]).unwrap_or_default());
    written == group && document.str_at(&["kind"]) == Some("ProviderInterface")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    #[test]
    fn what_was_printed_is_read() {
        let head = "apiVersion: pouch/v1alpha1\nkind: RegionFacts\nmetadata: {name: eu}\n";
        let read = |rest: &str| read(&object(&format!("{head}{rest}\n")));
        let Ok(looked) = read(
            "spec:\n  clusterUID: u-1\n  kubernetesVersion: v1.33.1\n  namespaces: [{name: a, labels: {env: prod}}, {name: b, absent: true}]\n  \
             kinds: [{group: x.y, kind: K, scope: Cluster, versions: [v1, v1beta1]}, {group: x.y, kind: L, scope: Namespaced}]\n  \
             providerInterfaces: [{kind: ProviderInterface}]",
        ) else {
            panic!("it is whole")
        };
        assert_eq!(looked.cluster.as_deref(), Some("u-1"));
        assert_eq!(looked.namespaces[&Namespace::from("a")].as_ref().unwrap()["env"], "prod");
        assert_eq!(looked.namespaces[&Namespace::from("b")], None);
        assert_eq!(looked.kinds[&GroupKind::new("x.y", "K")].versions.len(), 2);
        assert!(looked.kinds[&GroupKind::new("x.y", "L")].versions.is_empty());
        assert_eq!(looked.interfaces.map(|interfaces| interfaces.len()), Some(1));
        for (rest, expect) in [
            ("", "spec is missing"),
            ("spec: {cluster: x}", "spec has no field \"cluster\""),
            ("spec: {namespaces: [{name: a, labels: {x: 1}}]}", "spec.namespaces[0].labels is no map of text to text"),
            ("spec: {kinds: [{kind: K, scope: Global}]}", "spec.kinds[0].scope is neither Namespaced nor Cluster"),
            ("spec: {providerInterfaces: {}}", "spec.providerInterfaces is a map, not a list"),
        ] {
            let Err(faults) = read(rest) else { panic!("{rest}") };
            assert_eq!(&*faults[0].message, expect, "{rest}");
        }
    }
}
