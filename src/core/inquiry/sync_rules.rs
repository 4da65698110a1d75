//! What ResourceSyncRules ask of a live cluster: objects by name, and for others the metadata of all that may match.
//!
//! Whether a rule matches is told by names and labels as far as that goes; what they leave open is then read whole. So of a
//! Secret that no rule may take, no value is read.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::listed_kind::{ListedKind, listed_behind};
use crate::config::{Fleet, Guarded, Provides};
use crate::kinds::{self, Scopes};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Scope, SourceName};
use crate::node::Node;
use crate::object::kind_of;
use crate::sync_rule::spec::Match;
use crate::sync_rule::{Rule, read};

/// What the rules for one kind ask of a cluster.
pub struct Ruled {
    /// The kind.
    pub kind: GroupKind,
    /// The objects that rules name.
    pub named: BTreeSet<ObjectKey>,
    /// Where all objects are looked at, by their metadata.
    pub listed: Option<ListedKind>,
    rules: Vec<Rule>,
    /// The objects that the source may provide: nothing else of it is read.
    provides: (Provides, Guarded),
}

impl Ruled {
    /// Whether a rule may take an object, as far as its names and labels tell.
    pub fn may_take(&self, key: &ObjectKey, labels: Option<&Node>) -> bool {
        let (provides, guarded) = &self.provides;
        let mut entries = self.rules.iter().flat_map(|rule| &rule.steps).flat_map(|step| &step.matches);
        provides.admits(key, guarded) && entries.any(|entry| entry.may_hold(key, labels.unwrap_or(&Node::Null)))
    }
}

/// The lists of the rules themselves, and of what they choose sources by. Deleting their CRD deletes the rules, so a cluster
/// that does not serve them has none.
pub(super) fn listed(fleet: &Fleet, provides: &Provides, kind: GroupKind) -> Option<ListedKind> {
    let is_feature = kind == kinds::cluster_feature();
    let may_provide = provides.cluster_scoped || (is_feature && provides.objects.iter().any(|it| it.kind == kind));
    (fleet.names_sync_rules() && may_provide).then_some(ListedKind {
        kind,
        namespaces: None,
        needed: false,
        may_be_refused: is_feature,
        may_be_absent: true,
    })
}

/// The ResourceSyncRules among documents of sources that may have some.
pub fn rules_among<'a>(fleet: &Fleet, documents: impl Iterator<Item = (&'a Node, &'a SourceName)>) -> Vec<Node> {
    if !fleet.names_sync_rules() {
        return Vec::new();
    }
    let trusted: Vec<&SourceName> =
        fleet.sources.iter().filter(|source| source.provides.cluster_scoped).map(|source| &source.name).collect();
    let rules = documents.filter(|(node, source)| kind_of(node) == kinds::sync_rule() && trusted.contains(source));
    rules.map(|(node, _)| node.clone()).collect()
}

/// What rules ask of a source, by kind.
pub fn ruled(fleet: &Fleet, provides: &Provides, rules: &[Node]) -> Vec<Ruled> {
    let mut scopes = Scopes::new();
    fleet.kinds.iter().for_each(|(kind, extra)| scopes.learn(kind.clone(), extra.scope));
    let mut by_kind: BTreeMap<GroupKind, Vec<Rule>> = BTreeMap::new();
    for body in rules {
        let name = body.str_at(&["metadata", "name"]).unwrap_or_default();
        if !fleet.follows(name) {
            continue;
        }
        let is_bare = |kind: &GroupKind| scopes.of(kind) == Some(Scope::Cluster);
        let Ok(rule) = read(body, name, is_bare).rule else { continue };
        if fleet.publishes(&rule.kind) && !rule.is_plumbing() {
            by_kind.entry(rule.kind.clone()).or_default().push(rule);
        }
    }
    let ask = |(kind, rules): (GroupKind, Vec<Rule>)| {
        let is_bare = scopes.of(&kind) == Some(Scope::Cluster);
        let (mut named, mut places) = (BTreeSet::new(), Places::default());
        for entry in rules.iter().flat_map(|rule| &rule.steps).flat_map(|step| &step.matches) {
            add(&kind, is_bare, entry, &mut named, &mut places);
        }
        let guarded = &fleet.guarded;
        named.retain(|key: &ObjectKey| provides.admits(key, guarded));
        let listed = places.listed(fleet, provides, &kind, is_bare);
        Ruled { kind, named, listed, rules, provides: (provides.clone(), guarded.clone()) }
    };
    by_kind.into_iter().map(ask).filter(|ruled| !ruled.named.is_empty() || ruled.listed.is_some()).collect()
}

/// Where objects are looked at that no rule names.
#[derive(Default)]
struct Places {
    is_everywhere: bool,
    namespaces: BTreeSet<Namespace>,
}

fn add(kind: &GroupKind, is_bare: bool, entry: &Match, named: &mut BTreeSet<ObjectKey>, places: &mut Places) {
    let key = |namespace: Option<Namespace>, name: &Name| ObjectKey::new(kind.clone(), namespace, name.clone());
    if is_bare {
        match &entry.name {
            Some(name) => _ = named.insert(key(None, name)),
            None => places.is_everywhere = true,
        }
        return;
    }
    let namespaces: Vec<&Namespace> = match &entry.namespace {
        Some(namespace) => vec![namespace],
        None => entry.namespaces.iter().collect(),
    };
    match &entry.name {
        _ if namespaces.is_empty() => places.is_everywhere = true,
        Some(name) => named.extend(namespaces.into_iter().map(|namespace| key(Some(namespace.clone()), name))),
        None => places.namespaces.extend(namespaces.into_iter().cloned()),
    }
}

impl Places {
    fn listed(self, fleet: &Fleet, provides: &Provides, kind: &GroupKind, is_bare: bool) -> Option<ListedKind> {
        let whole = listed_behind(fleet, provides, kind.clone())?;
        let may_provide = |namespace: Option<&Namespace>| {
            let objects = provides.objects.iter().filter(|objects| objects.kind == *kind);
            let any = ObjectKey::new(kind.clone(), namespace.cloned(), Name::from(""));
            provides.admits(&any, &fleet.guarded)
                || objects.into_iter().any(|objects| objects.namespace.as_ref() == namespace)
        };
        if self.is_everywhere {
            let namespaces = if is_bare { None } else { whole.namespaces.clone() };
            return (!is_bare || may_provide(None)).then_some(ListedKind { namespaces, ..whole });
        }
        let namespaces: Vec<Namespace> = self.namespaces.into_iter().filter(|it| may_provide(Some(it))).collect();
        (!namespaces.is_empty()).then_some(ListedKind { namespaces: Some(namespaces), ..whole })
    }
}
