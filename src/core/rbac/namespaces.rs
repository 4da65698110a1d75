//! The Namespaces that printed roles stand in, so that one `kubectl apply` makes them all on an empty cluster.
//!
//! A Namespace holds far more than rights, and most of these are others'. So no document here says anything of one but
//! its name, and that no consumer may delete it: applied over a Namespace that is there, it takes over no label.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::write::{self, RbacManifest};
use crate::kinds::NEVER_DELETED;
use crate::name::Namespace;
use crate::yaml::emit::{Tree, emit};

/// Puts before manifests the Namespaces that they stand in, but for those that every cluster has.
pub fn with_namespaces(manifests: Vec<RbacManifest>) -> Vec<RbacManifest> {
    let names: BTreeSet<Namespace> = manifests.iter().filter_map(|manifest| manifest.namespace.clone()).collect();
    let names = names.into_iter().filter(|name| !name.is_everywhere());
    let mut all: Vec<RbacManifest> = names.map(|name| manifest(&name)).collect();
    if let Some(first) = all.first_mut() {
        first.text.insert_str(0, &write::comment("", &head()));
    }
    all.extend(manifests);
    all
}

fn head() -> Vec<String> {
    vec![
        "The Namespaces of the Roles below, for a cluster that lacks them; one that is there keeps its labels."
            .to_owned(),
        "Flux and Argo CD do not delete them. `kubectl delete -f` with this file does, with all that is in them:"
            .to_owned(),
        "to take the rights back, delete the bindings and roles by name.".to_owned(),
    ]
}

fn manifest(name: &Namespace) -> RbacManifest {
    let annotations = NEVER_DELETED.map(|(key, value)| (key, Tree::text(value)));
    let metadata = [("annotations", Tree::map(annotations)), ("name", Tree::text(name.as_str()))];
    let tree = Tree::map([
        ("apiVersion", Tree::text("v1")),
        ("kind", Tree::text("Namespace")),
        ("metadata", Tree::map(metadata)),
    ]);
    RbacManifest {
        kind: "Namespace",
        namespace: None,
        name: String::from(name.as_str()),
        text: String::from(&*emit(&tree)),
    }
}
