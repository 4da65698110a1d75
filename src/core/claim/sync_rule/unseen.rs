//! Unseen: what a rule may take that was not read.
//!
//! Where each object that a rule takes is a claimant, what is published tells what to look for. Of what a group of guests
//! takes by a rule only the rule knows, so all that it may take must have been read.

use alloc::collections::BTreeSet;

use crate::config::{Fleet, Grant, Granted, Grantee, RegionConfig};
use crate::name::{Namespace, ObjectKey, SourceName};
use crate::object::Object;
use crate::snapshot::{Lookup, Snapshot, Unread};
use crate::sync_rule::Rule;

/// Where an object may stand that a rule takes to a region and that was not read. A source that the rule could not use anyway
/// leaves nothing open: whoever writes it would keep what is taken from him.
pub(super) fn unseen<'s>(
    (fleet, snapshot): (&Fleet, &'s Snapshot),
    (object, rule): (&Object, &Rule),
    region: &RegionConfig,
) -> Option<Unread<'s>> {
    let own: BTreeSet<&SourceName> = snapshot.agreeing(&object.key).map(|copy| &copy.origin.source).collect();
    let places = namespaces(rule);
    let is_place = |namespace: Option<&Namespace>| match (&places, namespace) {
        (Some(places), Some(namespace)) => places.contains(namespace),
        _ => true,
    };
    let holds = |grant: &&Grant| grant.names(&region.name) || grant.regions.placements().next().is_some();
    let is_of_rule = |from: &Grantee| matches!(from, Grantee::SyncRule(name) if *name == object.key.name);
    let is_all_open =
        fleet.grants.iter().filter(holds).any(|grant| grant.to == Granted::Closure && is_of_rule(&grant.from));
    let may_use = |name: &SourceName| {
        fleet.may_take(name, &region.name) && (own.contains(name) || is_all_open && fleet.described_by(name).is_none())
    };
    let mut sources = fleet.sources.iter().map(|source| &source.name).filter(|name| may_use(name));
    if let Some(unread) = sources.find_map(|name| snapshot.untaken(name, &rule.kind, places.as_ref())) {
        return Some(unread);
    }
    let is_granted_to = |from: &Grantee, key: &ObjectKey| match from {
        Grantee::SyncRule(name) => *name == object.key.name,
        Grantee::Namespace(namespace) => *key.namespace.as_ref().unwrap_or(&fleet.system_namespace) == *namespace,
        Grantee::Claimant(_) => false,
    };
    fleet.grants.iter().filter(holds).find_map(|grant| match &grant.to {
        Granted::Object(key)
            if key.kind == rule.kind && is_place(key.namespace.as_ref()) && is_granted_to(&grant.from, key) =>
        {
            match snapshot.look_up(key) {
                Lookup::Unread(unread) if fleet.may_take(unread.source, &region.name) => Some(unread),
                _ => None,
            }
        }
        _ => None,
    })
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
