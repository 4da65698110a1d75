//! Privileges: which namespaces may use an identity from now on, and which may no longer. A line in a list decides who holds
//! a key, so it is told as what it means, and apart from other fields.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::input::Input;
use crate::admission::tenancy_of;
use crate::capi::tenancy::Admits;
use crate::capi::{admits, admits_everybody};
use crate::listing::few;
use crate::name::{Namespace, ObjectKey};
use crate::node::Node;

/// The most namespaces that are named of one object.
const MOST: usize = 5;

/// A change of who may use an object.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Privilege {
    /// True if more may use it.
    pub opens: bool,
    /// Who may use it now, or may no longer, as a clause.
    pub words: String,
}

impl fmt::Display for Privilege {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", if self.opens { "opened" } else { "closed" }, self.words)
    }
}

/// The changes between what is published of an identity and what is to be.
pub(super) fn changed(input: &Input<'_>, key: &ObjectKey, before: &Node, after: &Node) -> Vec<Privilege> {
    let terms = &input.terms;
    let tenancy = tenancy_of(terms.world.fleet, &key.kind).filter(|tenancy| tenancy.form().is_some());
    let Some(tenancy) = tenancy else { return Vec::new() };
    let [before, after] = [before, after].map(|node| node.at(&["spec"]));
    let fields = ["allowedNamespaces", "namespaceSelector"];
    let said = |spec: Option<&Node>| fields.map(|field| spec.and_then(|spec| spec.at(&[field])).cloned());
    if said(before) == said(after) {
        return Vec::new();
    }
    match (admits_everybody(tenancy, before), admits_everybody(tenancy, after)) {
        (false, true) => return [opened(key, "every namespace")].into(),
        (true, false) => return [closed(key, "not every namespace may use", "any more")].into(),
        (true, true) => return Vec::new(),
        (false, false) => {}
    }
    let labels = &terms.to.region.namespaces.labels;
    let may = |spec: Option<&Node>, namespace: &Namespace| {
        matches!(admits(tenancy, spec, namespace, labels.get(namespace)), Admits::Yes)
    };
    let asking = terms.world.facts.asked_for(&terms.to).map(|asked| asked.by.namespace().clone());
    let named = [before, after].into_iter().flatten().flat_map(listed);
    let known: BTreeSet<Namespace> = named.chain(asking).chain(labels.keys().cloned()).collect();
    let of = |was: bool, is: bool| {
        let those = known.iter().filter(|it| may(before, it) == was && may(after, it) == is);
        those.collect::<Vec<&Namespace>>()
    };
    let (gain, lose) = (of(false, true), of(true, false));
    let mut changed = Vec::new();
    if !gain.is_empty() {
        changed.push(opened(key, &called(&gain)));
    }
    if !lose.is_empty() {
        changed.push(closed(key, &format!("{} may no longer use", called(&lose)), ""));
    }
    if changed.is_empty() {
        let words = format!("other labels than before decide which namespaces may use {key}");
        changed.push(Privilege { opens: true, words });
    }
    changed
}

fn opened(key: &ObjectKey, who: &str) -> Privilege {
    Privilege { opens: true, words: format!("{who} may now use {key}") }
}

fn closed(key: &ObjectKey, who: &str, end: &str) -> Privilege {
    Privilege { opens: false, words: String::from(format!("{who} {key} {end}").trim_end()) }
}

/// `namespace a`, or `namespaces a, b and 3 more`.
fn called(namespaces: &[&Namespace]) -> String {
    let word = if namespaces.len() == 1 { "namespace" } else { "namespaces" };
    format!("{word} {}", few(namespaces, namespaces.len(), MOST))
}

/// The namespaces that an identity lists.
fn listed(spec: &Node) -> impl Iterator<Item = Namespace> {
    let items = spec.at(&["allowedNamespaces", "list"]).map(Node::items).unwrap_or_default();
    items.iter().filter_map(Node::as_str).map(Namespace::from)
}
