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
    at: usize,
    by: Claimant,
    selector: Selector,
    objects: BTreeSet<GuestObject>,
}

/// Tells of groups that may write one object of one Cluster that another group writes, or a ClusterResourceSet of the
/// sources: each takes it from the other whenever it changes.
pub(super) fn contested(world: &World<'_>, payloads: &Payloads, heard: &mut [Heard]) {
    if world.fleet.guests.is_empty() {
        return;
    }
    let mut of: BTreeMap<Namespace, Vec<Writer>> = BTreeMap::new();
    let open = heard.iter().enumerate().filter(|(_, heard)| !heard.is_stopped());
    for (at, heard) in open {
        if let Some(writer) = writer(world, payloads, at, heard) {
            of.entry(writer.by.namespace().clone()).or_default().push(writer);
        }
    }
    let mut told: Vec<(usize, Finding)> = Vec::new();
    for writers in of.values() {
        for (at, one) in writers.iter().enumerate() {
            let others = writers.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, other)| other);
            // What two sets of the sources write is told of them as sets.
            let others = others.filter(|other| one.by.group().is_some() || other.by.group().is_some());
            told.extend(others.filter_map(|other| Some((one.at, between(one, other)?))).take(MOST_TOLD));
        }
    }
    for (at, finding) in told {
        if let Some(Heard { claim, findings, .. }) = heard.get_mut(at) {
            findings.push(finding.at(&claim.origin).claimed_by(&claim.by).in_region(claim.region()));
        }
    }
}

fn writer(world: &World<'_>, payloads: &Payloads, at: usize, heard: &Heard) -> Option<Writer> {
    let Heard { claim, closure, .. } = heard;
    let by = claim.by.clone();
    if claim.delivered().is_some() {
        let selector = world.fleet.group_of(&by)?.clusters.selector.clone();
        let object = |key: &ObjectKey| GuestObject {
            kind: key.kind.clone(),
            namespace: key.namespace.clone(),
            name: key.name.clone(),
        };
        let objects = closure.members.iter().filter_map(|member| Some(object(&parcel(&member.edits)?.lands))).collect();
        return Some(Writer { at, by, selector, objects });
    }
    if !by.is_resource_set() {
        return None;
    }
    let key = kinds::claimant(&by)?;
    let set = resource_set::read(&world.snapshot.get(&key)?.body).ok()?;
    let objects = closure.members.iter().flat_map(|member| payloads.objects(&member.read));
    let objects = objects.map(|(object, _)| object.clone()).collect();
    (!set.selector.is_empty()).then_some(Writer { at, by, selector: set.selector, objects })
}

fn between(one: &Writer, other: &Writer) -> Option<Finding> {
    let shared: Vec<&GuestObject> = one.objects.intersection(&other.objects).collect();
    if shared.is_empty() || !one.selector.may_overlap(&other.selector) {
        return None;
    }
    // Both say the same, so that it is told once.
    let (first, second) = if one.by <= other.by { (&one.by, &other.by) } else { (&other.by, &one.by) };
    let named = few(shared.iter().map(ToString::to_string), shared.len(), MOST_NAMED);
    let message = format!(
        "{first} and {second} may both write {named} into one cluster: their selectors can choose the same Cluster"
    );
    let help = "Narrow one of the selectors, or let one of the two alone write the object.";
    Some(Finding::new(Code::TwoWriters, message).help(help))
}
