//! RegionFacts as they are written: one form for what a look found, whoever looked and whenever.
//!
//! Only fields that a stage reads are written, sorted, and nothing that changes by itself: no time, no resource version.
//! So a document that `pouch facts` printed yesterday and one of today differ only where the cluster does.

use alloc::vec::Vec;

use super::looked::{API_VERSION, KIND, Looked};
use crate::kinds::{K0RDENT, PROVIDER_LABEL};
use crate::name::{Region, Scope};
use crate::node::{Key, Node};

/// The fields of a ProviderInterface's `spec` that are read.
const INTERFACE: [&str; 2] = ["clusterIdentities", "clusterIdentityKinds"];

/// The document that says what was found on a region, which [`read`](super::looked::read) reads back.
pub fn write(region: &Region, looked: &Looked) -> Node {
    let mut spec: Vec<(Key, Node)> = Vec::new();
    let mut put = |key: &str, value: Option<Node>| spec.extend(value.map(|value| (Key::from(key), value)));
    put("clusterUID", looked.cluster.as_deref().map(Node::text));
    put("kubernetesVersion", looked.kubernetes.as_deref().map(Node::text));
    let namespaces = looked.namespaces.iter().map(|(name, labels)| {
        let said = match labels {
            None => ("absent", Node::Bool(true)),
            Some(labels) => ("labels", texts(labels.iter())),
        };
        map([("name", Node::text(name.as_str())), said])
    });
    put("namespaces", list(namespaces));
    put("namespacesListed", looked.lists_namespaces.then_some(Node::Bool(true)));
    let kinds = looked.kinds.iter().map(|(kind, served)| {
        let scope = match served.scope {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        };
        let versions = served.versions.iter().map(|version| Node::text(version.as_str())).collect();
        map([
            ("group", Node::text(kind.group.as_str())),
            ("kind", Node::text(kind.kind.as_str())),
            ("scope", Node::text(scope)),
            ("versions", Node::List(versions)),
        ])
    });
    put("kinds", list(kinds));
    // An empty list is not the same as none: the cluster was asked, and has no ProviderInterface.
    let interfaces = looked.interfaces.as_ref().map(|all| {
        let mut all: Vec<&Node> = all.iter().collect();
        all.sort_by_key(|document| document.str_at(&["metadata", "name"]));
        Node::List(all.into_iter().map(interface).collect())
    });
    put("providerInterfaces", interfaces);
    map([
        ("apiVersion", Node::text(API_VERSION)),
        ("kind", Node::text(KIND)),
        ("metadata", map([("name", Node::text(region.as_str()))])),
        ("spec", Node::map(spec)),
    ])
}

/// A ProviderInterface: of what a cluster says, only what is read.
fn interface(document: &Node) -> Node {
    let text = |path: &[&str]| Node::text(document.str_at(path).unwrap_or_default());
    let mut metadata = vec![("name".into(), text(&["metadata", "name"]))];
    if let Some(provider) = document.str_at(&["metadata", "labels", PROVIDER_LABEL]) {
        metadata.push(("labels".into(), map([(PROVIDER_LABEL, Node::text(provider))])));
    }
    let spec = INTERFACE.iter().filter_map(|field| Some((Key::from(*field), document.at(&["spec", field])?.clone())));
    map([
        ("apiVersion", text(&["apiVersion"])),
        ("kind", text(&["kind"])),
        ("metadata", Node::map(metadata)),
        ("spec", Node::map(spec.collect())),
    ])
}

/// The kind whose objects a region is asked for as a whole.
pub fn interfaces() -> crate::name::GroupKind {
    crate::name::GroupKind::new(K0RDENT, "ProviderInterface")
}

fn map<const N: usize>(entries: [(&str, Node); N]) -> Node {
    Node::map(entries.into_iter().map(|(key, value)| (Key::from(key), value)).collect())
}

fn texts<K: AsRef<str>, V: AsRef<str>>(pairs: impl Iterator<Item = (K, V)>) -> Node {
    Node::map(pairs.map(|(key, value)| (Key::from(key.as_ref()), Node::text(value.as_ref()))).collect())
}

fn list(items: impl Iterator<Item = Node>) -> Option<Node> {
    let items: Vec<Node> = items.collect();
    (!items.is_empty()).then(|| Node::List(items.into()))
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeMap;
    use alloc::string::String;

    use super::*;
    use crate::inventory::looked::{Served, read};
    use crate::name::{GroupKind, Namespace, Version};
    use crate::testing::object;
    use crate::yaml::emit::{Tree, emit};

    #[test]
    fn what_is_written_is_read_back_the_same() {
        let mut looked =
            Looked { cluster: Some("u-1".into()), kubernetes: Some("v1.33.1".into()), ..Looked::default() };
        let labels = BTreeMap::from([(String::from("env"), String::from("true"))]);
        looked.namespaces.insert(Namespace::from("here"), Some(labels));
        looked.namespaces.insert(Namespace::from("bare"), Some(BTreeMap::new()));
        looked.namespaces.insert(Namespace::from("gone"), None);
        looked.namespaces.insert(Namespace::from("kube-system"), Some(BTreeMap::new()));
        looked.lists_namespaces = true;
        let served =
            |scope, versions: &[&str]| Served { scope, versions: versions.iter().map(|v| Version::from(*v)).collect() };
        looked.kinds.insert(GroupKind::new("x.y", "K"), served(Scope::Cluster, &["v1", "v1beta1"]));
        looked.kinds.insert(GroupKind::new("x.y", "L"), served(Scope::Namespaced, &[]));
        let interface = |name: &str| {
            let text = format!(
                "{{apiVersion: k0rdent.mirantis.com/v1beta1, kind: ProviderInterface, metadata: {{name: {name}}}, spec: {{}}}}"
            );
            crate::testing::node(&crate::testing::yaml(&text))
        };
        for interfaces in [None, Some(Vec::new()), Some(vec![interface("a"), interface("b")])] {
            looked.interfaces = interfaces;
            let text = emit(&Tree::of(&write(&Region::from("eu"), &looked)));
            let Ok(back) = read(&object(&text)) else { panic!("{}", &*text) };
            assert!(back == looked, "{}", &*text);
        }
        // In whatever order a cluster lists them.
        let sorted = write(&Region::from("eu"), &looked);
        looked.interfaces = Some(vec![interface("b"), interface("a")]);
        assert!(write(&Region::from("eu"), &looked) == sorted);
    }

    #[test]
    fn of_an_interface_only_what_is_read_is_kept() {
        let document = crate::testing::node(&crate::testing::yaml(
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata: {name: aws, uid: u, resourceVersion: '7', \
             creationTimestamp: now, generation: 3, annotations: {a: b}, labels: {cluster.x-k8s.io/provider: infrastructure-aws, other: x}}\n\
             spec: {clusterIdentities: [{kind: K}], description: long}\nstatus: {x: z}\n",
        ));
        let text = emit(&Tree::of(&interface(&document)));
        assert_eq!(
            &*text,
            "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: ProviderInterface\nmetadata:\n  labels:\n    \
             cluster.x-k8s.io/provider: infrastructure-aws\n  name: aws\nspec:\n  clusterIdentities:\n  - kind: K\n"
        );
    }
}
