//! RegionFacts: what a look into a region's cluster found, as a document.
//!
//! `pouch facts` prints it, and a source may have it: then the same is known of the region without its cluster. So a
//! run that looks into a cluster and one that reads what another has seen decide alike. Only a source that may provide
//! cluster-scoped objects can say it.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::kinds::K0RDENT;
use crate::lenient::{Faults, quoted};
use crate::name::{GroupKind, Namespace, Scope, Version};
use crate::nearest::nearest;
use crate::node::Node;
use crate::object::{Object, kind_of};

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

impl Served {
    /// Whether the region has the kind, and in another scope than this.
    pub fn is_other_scope(&self, scope: Scope) -> bool {
        !self.versions.is_empty() && self.scope != scope
    }
}

/// Namespaces with their labels; none of those that are absent.
pub type SeenNamespaces = BTreeMap<Namespace, Option<BTreeMap<String, String>>>;

/// What a look into a region's cluster found. What was not looked at is none, or not there.
#[derive(Clone, PartialEq, Default)]
pub struct Looked {
    /// The UID of its `kube-system`.
    pub cluster: Option<String>,
    /// Its version of Kubernetes, as it says itself.
    pub kubernetes: Option<String>,
    /// The namespaces that were asked for.
    pub namespaces: SeenNamespaces,
    /// Whether these are all namespaces that it has.
    pub lists_namespaces: bool,
    /// The kinds that were asked for.
    pub kinds: BTreeMap<GroupKind, Served>,
    /// Its ProviderInterfaces, as documents; none where they were not looked at.
    pub interfaces: Option<Vec<Node>>,
}

impl Looked {
    /// Whether its namespaces can be all of one cluster's: every cluster has `kube-system`, and whoever may see only some
    /// namespaces hardly sees that.
    pub fn is_whole_list(&self) -> bool {
        let has = |name: &str| matches!(self.namespaces.get(&Namespace::from(name)), Some(Some(_)));
        self.cluster.is_some() && has("kube-system")
    }
}

/// Reads RegionFacts.
///
/// # Errors
/// What cannot be read: then nothing of it counts.
pub fn read(object: &Object) -> Result<Looked, Vec<Fault>> {
    let mut faults = Faults::new(Code::UnreadableObject);
    let body = &object.body;
    let mut looked = Looked::default();
    if let Some(spec) = faults.needed_at(body, "", &["spec"], "Write what `pouch facts` printed.") {
        const KNOWN: [&str; 6] =
            ["clusterUID", "kubernetesVersion", "namespaces", "namespacesListed", "kinds", "providerInterfaces"];
        known(&mut faults, spec, "spec", &KNOWN);
    }
    if let Some(uid) = body.at(&["spec", "clusterUID"]) {
        match uid.as_str().filter(|uid| is_uid(uid)) {
            Some(uid) => looked.cluster = Some(uid.to_string()),
            None => {
                faults.add("spec.clusterUID is no UID of a namespace".to_string(), "Write letters, digits and dashes.")
            }
        }
    }
    looked.kubernetes = faults.text(body, "", &["spec", "kubernetesVersion"]).map(String::from);
    match body.at(&["spec", "namespacesListed"]) {
        None => {}
        Some(Node::Bool(listed)) => looked.lists_namespaces = *listed,
        Some(other) => _ = faults.wrong_type("spec.namespacesListed", other, "a boolean"),
    }
    for (index, item) in faults.items(body, "", &["spec", "namespaces"]).iter().enumerate() {
        let at = format!("spec.namespaces[{index}]");
        let Some(name) = faults.needed(item, &at, &["name"]).map(Namespace::from) else { continue };
        known(&mut faults, item, &at, &["name", "labels", "absent"]);
        let is_absent = item.at(&["absent"]).and_then(Node::as_bool).unwrap_or_default();
        if is_absent == item.at(&["labels"]).is_some() {
            faults.add(format!("{at} has to have either labels or `absent: true`"), "Write `labels: {}` for none.");
        }
        let labels = faults.at(item, &at, &["labels"]);
        let entries = labels.map(Node::entries).unwrap_or_default();
        let text = |(key, value): &(_, Node)| value.as_str().map(|value| (ToString::to_string(key), value.to_string()));
        let read: BTreeMap<String, String> = entries.iter().filter_map(text).collect();
        if read.len() != entries.len() || labels.is_some_and(|labels| !labels.is_map()) {
            faults.add(format!("{at}.labels is no map of text to text"), "Quote the values.");
        }
        if looked.namespaces.insert(name, (!is_absent).then_some(read)).is_some() {
            faults.add(format!("{at} names a namespace that stands there before"), "Keep one of the two.");
        }
    }
    if looked.lists_namespaces && !looked.is_whole_list() {
        let message = "spec.namespacesListed is true without clusterUID, or without namespace kube-system";
        let help = "Write what `pouch facts` printed: what lacks these two is no list of all that a cluster has.";
        faults.add(message.to_string(), help);
    }
    for (index, item) in faults.items(body, "", &["spec", "kinds"]).iter().enumerate() {
        let at = format!("spec.kinds[{index}]");
        known(&mut faults, item, &at, &["group", "kind", "scope", "versions"]);
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
        if item.at(&["versions"]).is_none() || items.iter().any(|version| version.as_str().is_none()) {
            faults.add(
                format!("{at}.versions is no list of texts"),
                "Write `versions: []` for a kind that is not served.",
            );
        }
        let versions = items.iter().filter_map(Node::as_str).map(Version::from).collect();
        if looked.kinds.insert(GroupKind::new(group, kind), Served { scope, versions }).is_some() {
            faults.add(format!("{at} names a kind that stands there before"), "Keep one of the two.");
        }
    }
    if let Some(spec) = body.at(&["spec", "providerInterfaces"]) {
        if !matches!(spec, Node::List(_)) {
            let _ = faults.wrong_type("spec.providerInterfaces", spec, "a list");
        }
        for (index, _) in spec.items().iter().enumerate().filter(|(_, it)| !is_interface(it)) {
            faults.add(
                format!("spec.providerInterfaces[{index}] is no ProviderInterface"),
                "Write what `pouch facts` printed.",
            );
        }
        looked.interfaces = Some(spec.items().to_vec());
    }
    faults.settle(Some(looked))
}

/// Adds a fault of each field that is none of these.
fn known(faults: &mut Faults, node: &Node, at: &str, known: &[&str]) {
    for (key, _) in node.entries().iter().filter(|(key, _)| !known.contains(&&**key)) {
        let help = match nearest(key, known.iter().copied()) {
            Some(near) => format!("Did you mean {near}?"),
            None => String::from("Write what `pouch facts` printed."),
        };
        faults.add(format!("{at} has no field {}", quoted(key)), &help);
    }
}

/// Whether a text can be the UID of a namespace. It stands in commands that are offered to be pasted.
pub fn is_uid(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

/// Whether a document has the group and kind of those of [`Looked::interfaces`].
fn is_interface(document: &Node) -> bool {
    kind_of(document).is(K0RDENT, "ProviderInterface")
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
             kinds: [{group: x.y, kind: K, scope: Cluster, versions: [v1, v1beta1]}, {group: x.y, kind: L, scope: Namespaced, versions: []}]\n  \
             providerInterfaces: [{apiVersion: k0rdent.mirantis.com/v1beta1, kind: ProviderInterface}]",
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
            ("spec: {providerInterfaces: [x]}", "spec.providerInterfaces[0] is no ProviderInterface"),
            ("spec: {clusterUID: ''}", "spec.clusterUID is no UID of a namespace"),
            ("spec: {clusterUID: 'u;id'}", "spec.clusterUID is no UID of a namespace"),
            ("spec: {namespaces: [{name: a}]}", "spec.namespaces[0] has to have either labels or `absent: true`"),
            ("spec: {namespaces: [{name: a, label: {}, absent: true}]}", "spec.namespaces[0] has no field \"label\""),
            (
                "spec: {namespaces: [{name: a, labels: {}}, {name: a, labels: {}}]}",
                "spec.namespaces[1] names a namespace that stands there before",
            ),
            (
                "spec: {namespacesListed: true, namespaces: [{name: kube-system, labels: {}}]}",
                "spec.namespacesListed is true without clusterUID, or without namespace kube-system",
            ),
            (
                "spec: {clusterUID: u-1, namespacesListed: true, namespaces: [{name: kube-system, absent: true}]}",
                "spec.namespacesListed is true without clusterUID, or without namespace kube-system",
            ),
            ("spec: {kinds: [{kind: K, scope: Cluster}]}", "spec.kinds[0].versions is no list of texts"),
        ] {
            let Err(faults) = read(rest) else { panic!("{rest}") };
            assert_eq!(&*faults[0].message, expect, "{rest}");
        }
    }
}
