//! Whose a cluster is: what is known before a bundle is applied to it for the first time.
//!
//! A bundle that was applied to a cluster has its inventory there. Where it has none, the cluster should be nobody's: a
//! ConfigMap there names the bundles that were applied, and objects say by their field managers of which they were. So
//! credentials of one region do not get to another one by a wrong context, nor by a bundle that says it were another
//! fleet's.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::inventory::{self, PREFIX};
use super::{Bundle, Live};
use crate::name::{Name, Namespace, ObjectKey};
use crate::node::Node;
use crate::yaml::emit::{Tree, emit};

/// What the user says of a cluster that a bundle is applied to for the first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Beginning {
    /// Bundles that were applied to it are other regions', or other fleets', and share it.
    pub shares: bool,
    /// The inventory of before is lost.
    pub anew: bool,
}

/// Why a bundle is not applied to a cluster for the first time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Misplaced {
    /// It was applied there before: this object says so.
    Elsewhere(ObjectKey),
    /// Other bundles were applied there, as `FLEET.DIRECTORY`.
    Others(BTreeSet<String>),
    /// An object of it was applied of another bundle, `FLEET.DIRECTORY`.
    Object(ObjectKey, String),
}

/// The name of the ConfigMap that names the bundles of a cluster.
pub fn bundles() -> Name {
    format!("{PREFIX}bundles").as_str().into()
}

/// A bundle as people are told of it: `FLEET.DIRECTORY`.
pub fn called(manager: &str) -> &str {
    manager.strip_prefix(PREFIX).unwrap_or(manager)
}

/// The bundles that the ConfigMap names, each as `FLEET.DIRECTORY`.
pub fn named(node: &Node) -> BTreeSet<String> {
    let names = node.at(&["data"]).map(Node::entries).unwrap_or_default();
    names.iter().map(|(name, _)| String::from(&**name)).collect()
}

/// What of the ConfigMap is this bundle's, to be applied in `namespace`.
pub fn emit_own(bundle: &Bundle<'_>, namespace: &Namespace) -> String {
    let name = bundles();
    let metadata = [
        ("labels", inventory::labels("bundles")),
        ("name", Tree::text(name.as_str())),
        ("namespace", Tree::text(namespace.as_str())),
    ];
    let document = Tree::map([
        ("apiVersion", Tree::text("v1")),
        ("data", Tree::map([(called(&bundle.manager), Tree::text(""))])),
        ("kind", Tree::text("ConfigMap")),
        ("metadata", Tree::map(metadata)),
    ]);
    String::from(&*emit(&document))
}

/// Why a bundle without an inventory should not be applied to a cluster; `named` are the bundles that it had.
pub fn misplaced(
    bundle: &Bundle<'_>,
    named: &BTreeSet<String>,
    live: &BTreeMap<ObjectKey, Live>,
    beginning: Beginning,
) -> Option<Misplaced> {
    let there = || {
        bundle.objects.iter().filter_map(|wanted| match live.get(wanted.key) {
            Some(Live::Here(meta)) => Some((wanted.key, meta)),
            _ => None,
        })
    };
    let before = there().find(|(_, meta)| meta.is_applied_by(&bundle.manager)).filter(|_| !beginning.anew);
    if let Some((key, _)) = before {
        return Some(Misplaced::Elsewhere(key.clone()));
    }
    if beginning.shares {
        return None;
    }
    let others: BTreeSet<String> = named.iter().filter(|name| *name != called(&bundle.manager)).cloned().collect();
    if !others.is_empty() {
        return Some(Misplaced::Others(others));
    }
    let of_another = |(key, meta): (&ObjectKey, &super::Meta)| {
        Some(Misplaced::Object(key.clone(), String::from(called(meta.of_another(&bundle.manager)?))))
    };
    there().find_map(of_another)
}
