//! Unseen: what a rule may take that was not read.
//!
//! Where each object that a rule takes is a claimant, what is published tells what to look for. Of what a group of guests
//! takes by a rule only the rule knows, so all that it may take must have been read.

use alloc::collections::{BTreeMap, BTreeSet};

use super::sources::Followed;
use crate::config::{Fleet, Grant, Granted, Grantee, RegionConfig};
use crate::name::{Namespace, ObjectKey, Scope, SourceName};
use crate::snapshot::{Lookup, Snapshot, Unread};
use crate::sync_rule::Rule;

/// A source where an object may stand that a rule takes to a region and that was not read. One that the rule could not use
/// anyway leaves nothing open: whoever writes it would keep what is taken from him.
pub(super) fn source<'s>(
    fleet: &Fleet,
    snapshot: &'s Snapshot,
    Followed { object, rule }: Followed<'_>,
    region: &RegionConfig,
) -> Option<Unread<'s>> {
    let own: BTreeSet<&SourceName> = snapshot.agreeing(&object.key).map(|copy| &copy.origin.source).collect();
    let is_of_rule = |from: &Grantee| matches!(from, Grantee::SyncRule(name) if *name == object.key.name);
    let is_all_open = holding(fleet, region).any(|grant| grant.to == Granted::Closure && is_of_rule(&grant.from));
    let may_use = |name: &&SourceName| {
        fleet.may_take(name, &region.name) && (own.contains(name) || is_all_open && fleet.described_by(name).is_none())
    };
    // Objects without a namespace do not care which are named.
    let is_namespaced = || {
        let scope = snapshot.scopes.of(&rule.kind);
        rule.kind.is_secret() || rule.kind.is_config_map() || matches!(scope, Some(Scope::Namespaced))
    };
    let places = namespaces(rule).filter(|_| is_namespaced());
    let mut sources = fleet.sources.iter().map(|source| &source.name).filter(may_use);
    sources.find_map(|name| snapshot.untaken(name, &rule.kind, places.as_ref()))
}

/// The objects that were not read and that a grant opens to a rule by their names.
pub(super) fn granted<'s>(
    fleet: &Fleet,
    snapshot: &'s Snapshot,
    Followed { object, rule }: Followed<'_>,
    region: &RegionConfig,
) -> BTreeMap<ObjectKey, Unread<'s>> {
    let places = namespaces(rule);
    let is_place = |namespace: Option<&Namespace>| match (&places, namespace) {
        (Some(places), Some(namespace)) => places.contains(namespace),
        _ => true,
    };
    let is_granted_to = |from: &Grantee, key: &ObjectKey| match from {
        Grantee::SyncRule(name) => *name == object.key.name,
        Grantee::Namespace(namespace) => *key.namespace.as_ref().unwrap_or(&fleet.system_namespace) == *namespace,
        Grantee::Claimant(_) | Grantee::Template(_) => false,
    };
    let unread = |grant: &Grant| {
        let Granted::Object(key) = &grant.to else { return None };
        if key.kind != rule.kind || !is_place(key.namespace.as_ref()) || !is_granted_to(&grant.from, key) {
            return None;
        }
        match snapshot.look_up(key) {
            Lookup::Unread(unread) if fleet.may_take(unread.source, &region.name) => Some((key.clone(), unread)),
            _ => None,
        }
    };
    holding(fleet, region).filter_map(unread).collect()
}

/// The grants that hold in a region, or may.
fn holding<'f>(fleet: &'f Fleet, region: &RegionConfig) -> impl Iterator<Item = &'f Grant> {
    let may_hold = |grant: &&Grant| grant.names(&region.name) || grant.regions.placements().next().is_some();
    fleet.grants.iter().filter(may_hold)
}

/// The namespaces that a rule names, if it takes from no others.
fn namespaces(rule: &Rule) -> Option<BTreeSet<Namespace>> {
    let mut named = BTreeSet::new();
    for entry in rule.steps.iter().flat_map(|step| &step.matches) {
        match &entry.namespace {
            Some(namespace) => _ = named.insert(namespace.clone()),
            None if entry.namespaces.is_empty() => return None,
            None => named.extend(entry.namespaces.iter().cloned()),
        }
    }
    Some(named)
}
