//! Candidates: the objects that a rule may match, found without comparing every rule with every object.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::name::{GroupKind, Name, Namespace, ObjectKey};
use crate::node::Node;
use crate::object::Object;
use crate::snapshot::Snapshot;
use crate::sync_rule::Rule;
#[cfg(test)]
use crate::sync_rule::matching::compared;
use crate::sync_rule::seen::Seen;
use crate::sync_rule::spec::Match;

/// The objects of the kinds that rules take.
pub(super) struct Candidates<'a> {
    snapshot: &'a Snapshot,
    of: BTreeMap<GroupKind, OfKind<'a>>,
}

/// The objects of one kind, by what rules name.
#[derive(Default)]
struct OfKind<'a> {
    all: Vec<&'a ObjectKey>,
    by_name: BTreeMap<&'a Name, Vec<&'a ObjectKey>>,
    by_namespace: BTreeMap<&'a Namespace, Vec<&'a ObjectKey>>,
    /// By label and what the label holds.
    by_label: BTreeMap<(&'a str, &'a str), Vec<&'a ObjectKey>>,
    /// Objects of which some label is no text, or several copies say different things.
    odd: Vec<&'a ObjectKey>,
}

impl<'a> Candidates<'a> {
    pub(super) fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, of: BTreeMap::new() }
    }

    /// The objects that a rule may match, sorted.
    pub(super) fn of(&mut self, rule: &Rule) -> Vec<&'a ObjectKey> {
        let snapshot = self.snapshot;
        let kind = self.of.entry(rule.kind.clone()).or_insert_with(|| OfKind::of(snapshot, &rule.kind));
        let mut found: BTreeSet<&ObjectKey> = BTreeSet::new();
        for entry in rule.steps.iter().flat_map(|step| &step.matches) {
            kind.add(entry, &mut found);
        }
        found.into_iter().collect()
    }
}

impl<'a> OfKind<'a> {
    fn of(snapshot: &'a Snapshot, kind: &GroupKind) -> Self {
        let mut of = Self::default();
        for object in snapshot.all(kind) {
            of.all.push(&object.key);
            of.by_name.entry(&object.key.name).or_default().push(&object.key);
            if let Some(namespace) = &object.key.namespace {
                of.by_namespace.entry(namespace).or_default().push(&object.key);
            }
            of.label(snapshot, object);
        }
        of
    }

    fn label(&mut self, snapshot: &'a Snapshot, object: &'a Object) {
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (at, copy) in snapshot.copies(&object.key).enumerate() {
            let labels = Seen::of(copy).labels();
            let is_plain = |node: &Node| node.as_str().is_some_and(|text| !text.starts_with("ENC["));
            if at > 0
                || !labels.entries().iter().all(|(_, node)| is_plain(node))
                || !(labels.is_map() || *labels == Node::Null)
            {
                self.odd.push(&object.key);
                return;
            }
            pairs.extend(labels.entries().iter().filter_map(|(key, node)| Some((&**key, node.as_str()?))));
        }
        for pair in pairs {
            self.by_label.entry(pair).or_default().push(&object.key);
        }
    }

    /// Adds what an entry may match.
    fn add(&self, entry: &Match, found: &mut BTreeSet<&'a ObjectKey>) {
        let mut take = |keys: Option<&Vec<&'a ObjectKey>>| {
            let keys = keys.map(Vec::as_slice).unwrap_or_default();
            #[cfg(test)]
            compared::looked(keys.len());
            found.extend(keys);
        };
        if let Some(name) = &entry.name {
            take(self.by_name.get(name));
            return;
        }
        if let Some(namespace) = &entry.namespace {
            take(self.by_namespace.get(namespace));
            return;
        }
        // Objects without namespaces do not care which are named.
        if !entry.namespaces.is_empty() && self.all.first().is_some_and(|key| key.namespace.is_some()) {
            entry.namespaces.iter().for_each(|namespace| take(self.by_namespace.get(namespace)));
            return;
        }
        let needs: Option<Vec<_>> = entry.labels.iter().map(|selector| selector.needs()).collect();
        match needs.filter(|needs| !needs.is_empty()) {
            Some(needs) => {
                take(Some(&self.odd));
                for (key, values) in needs {
                    for value in values {
                        take(self.by_label.get(&(key, &**value)));
                    }
                }
            }
            None => take(Some(&self.all)),
        }
    }
}
