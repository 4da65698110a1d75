//! Guest writers: objects of a guest cluster that a group of guests and something else may write.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString;
use alloc::vec::Vec;

use super::payloads::Payloads;
use super::sharing::Heard;
use crate::capi::resource_set;
use crate::claim::parcel;
use crate::finding::{Code, Finding};
use crate::guest_objects::GuestObject;
use crate::kinds;
use crate::listing::few;
use crate::name::{Claimant, Namespace, ObjectKey};
use crate::selector::Selector;
use crate::world::World;

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// The most others that one claimant is told of: of more, one slip made all of them.
const MOST_TOLD: usize = 8;

/// Who may write something, and to which Clusters.
struct Writer {
    by: Claimant,
    selector: Selector,
    /// The objects, each with the claims that have it, by index.
    objects: BTreeMap<GuestObject, Vec<usize>>,
}

/// Tells of groups that may write one object of one Cluster that another group writes, or a ClusterResourceSet of the
/// sources: each takes it from the other whenever it changes.
pub(super) fn contested(world: &World<'_>, payloads: &Payloads, heard: &mut [Heard]) {
    if world.fleet.guests.is_empty() {
        return;
    }
    let mut of: BTreeMap<Namespace, BTreeMap<Claimant, Writer>> = BTreeMap::new();
    let open = heard.iter().enumerate().filter(|(_, heard)| !heard.is_stopped());
    for (at, heard) in open {
        add(world, payloads, at, heard, &mut of);
    }
    let mut told: BTreeMap<usize, Vec<Finding>> = BTreeMap::new();
    for writers in of.values() {
        for one in writers.values() {
            let others = writers.values().filter(|other| other.by != one.by);
            // What two sets of the sources write is told of them as sets.
            let others = others.filter(|other| one.by.group().is_some() || other.by.group().is_some());
            for (claims, finding) in others.filter_map(|other| between(one, other)).take(MOST_TOLD) {
                claims.into_iter().for_each(|at| told.entry(at).or_default().push(finding.clone()));
            }
        }
    }
    for (at, finding) in told.into_iter().flat_map(|(at, all)| all.into_iter().map(move |it| (at, it))) {
        if let Some(Heard { claim, findings, .. }) = heard.get_mut(at) {
            findings.push(finding.at(&claim.origin).claimed_by(&claim.by).in_region(claim.region()));
        }
    }
}

/// Adds what a claim may write to what its group writes, or its set.
fn add(
    world: &World<'_>,
    payloads: &Payloads,
    at: usize,
    heard: &Heard,
    of: &mut BTreeMap<Namespace, BTreeMap<Claimant, Writer>>,
) {
    let Heard { claim, closure, .. } = heard;
    let by = claim.by.whole().into_owned();
    let (selector, objects): (Selector, Vec<GuestObject>) = if let Some(group) = world.fleet.group_of(&by) {
        let object = |key: &ObjectKey| GuestObject {
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        let objects = closure.members.iter().filter_map(|member| Some(object(&parcel(&member.edits)?.lands)));
        (group.clusters.selector.clone(), objects.collect())
    } else {
        let set = kinds::claimant(&by).filter(|_| by.is_resource_set()).and_then(|key| world.snapshot.get(&key));
        let Some(Ok(set)) = set.map(|set| resource_set::read(&set.body)) else { return };
        if set.selector.is_empty() {
            return;
        }
        let objects = closure.members.iter().flat_map(|member| payloads.objects(&member.read));
        (set.selector, objects.map(|(object, _)| object.clone()).collect())
    };
    let namespace = of.entry(by.namespace().clone()).or_default();
    let writer = namespace.entry(by.clone()).or_insert_with(|| Writer { by, selector, objects: BTreeMap::new() });
    objects.into_iter().for_each(|object| writer.objects.entry(object).or_default().push(at));
}

/// The finding of two that may write one object, and the claims of the first that have it.
fn between(one: &Writer, other: &Writer) -> Option<(BTreeSet<usize>, Finding)> {
    let shared: Vec<(&GuestObject, &Vec<usize>)> =
        one.objects.iter().filter(|(object, _)| other.objects.contains_key(*object)).collect();
    if shared.is_empty() || !one.selector.may_overlap(&other.selector) {
        return None;
    }
    // Both say the same, so that it is told once.
    let (first, second) = if one.by <= other.by { (&one.by, &other.by) } else { (&other.by, &one.by) };
    let named = few(shared.iter().map(|(object, _)| object.to_string()), shared.len(), MOST_NAMED);
    let message = format!(
        "{first} and {second} may both write {named} into one cluster: their selectors can choose the same Cluster"
    );
    let help = "Narrow one of the selectors, or let one of the two alone write the object.";
    let claims = shared.into_iter().flat_map(|(_, claims)| claims.iter().copied()).collect();
    Some((claims, Finding::new(Code::TwoWriters, message).help(help)))
}
