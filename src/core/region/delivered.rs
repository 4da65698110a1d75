//! Delivered: which objects of guest clusters a bundle delivers, and what of them comes from two sides.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::guests::{set, sets_of};
use super::input::Input;
use super::pack::{Pack, Packed, needers};
use super::published::Published;
use crate::capi::resource_set::{self, Strategy, is_resource_set};
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Guest, Reason};
use crate::listing::few;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey};
use crate::selector::Selector;

/// What a bundle delivers, by the namespace of the Clusters.
pub(super) struct Delivered<'p>(BTreeMap<Option<&'p Namespace>, Vec<Writer<'p>>>);

/// What becomes in guests of what a withdrawn payload has delivered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Other sets deliver it to all of the Clusters.
    Delivered,
    /// Other sets deliver it to some of them, and it stays in the rest.
    ToSome,
    /// It stays there.
    Stays,
}

impl<'p> Delivered<'p> {
    pub(super) fn of(input: &Input<'_>, pack: &'p Pack) -> Self {
        let mut of: BTreeMap<Option<&Namespace>, Vec<Writer<'_>>> = BTreeMap::new();
        for (key, packed) in pack.objects.iter().filter(|(key, _)| is_resource_set(&key.kind)) {
            if let Some(writer) = writer(input, pack, key, packed).filter(|writer| !writer.objects.is_empty()) {
                of.entry(key.namespace.as_ref()).or_default().push(writer);
            }
        }
        Self(of)
    }

    /// What becomes of an object in guests whose payload goes.
    pub(super) fn left(&self, published: &Published, payload: &ObjectKey, guest: &ObjectKey) -> Left {
        let writers = self.0.get(&payload.namespace.as_ref()).map(Vec::as_slice).unwrap_or_default();
        let others: Vec<&Selector> =
            writers.iter().filter(|it| it.objects.contains(guest)).map(|it| &it.selector).collect();
        if others.is_empty() {
            return Left::Stays;
        }
        let before: Vec<Selector> = sets_of(published, payload).map(|set| set.selector).collect();
        let meets = |other: &&&Selector| before.iter().any(|before| other.may_overlap(before));
        match () {
            () if before.iter().all(|before| others.iter().any(|other| other.is_as_wide_as(before))) => Left::Delivered,
            () if others.iter().any(|other| meets(&other)) => Left::ToSome,
            () => Left::Stays,
        }
    }
}

/// What of an object is for guests.
fn guest(packed: &Packed) -> Option<&Guest> {
    match packed {
        Packed::Fresh { guest, .. } => guest.as_ref(),
        Packed::Carried { object, .. } => object.guest.as_ref(),
        Packed::Namespace { .. } => None,
    }
}

/// The most pairs of sets that are told of.
const MOST_TOLD: usize = 100;

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// A set that writes objects into guests.
struct Writer<'p> {
    key: &'p ObjectKey,
    by: &'p Claimant,
    /// Why it stays as published, if it does.
    stays: Option<Reason>,
    /// Whether it writes them once, and never again.
    once: bool,
    selector: Selector,
    objects: BTreeSet<&'p ObjectKey>,
}

/// Tells of objects that a set which only stays as published writes, and another set too: a Cluster that both choose gets them
/// in any order, and an old value may be the last.
pub(super) fn two_writers(input: &Input<'_>, pack: &Pack) -> Vec<Finding> {
    let is_stale =
        |(key, packed): (&ObjectKey, &Packed)| is_resource_set(&key.kind) && matches!(packed, Packed::Carried { .. });
    if !pack.objects.iter().any(is_stale) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for mut writers in Delivered::of(input, pack).0.into_values() {
        writers.retain(|writer| !writer.once);
        for (at, stale) in writers.iter().enumerate() {
            let Some(why) = stale.stays else { continue };
            // Of two that both stay, it is told once.
            let others = writers.iter().enumerate().filter(|(other, it)| *other > at || it.stays.is_none());
            findings.extend(others.filter(|(other, _)| *other != at).filter_map(|(_, it)| between(stale, why, it)));
        }
    }
    let more = findings.len().saturating_sub(MOST_TOLD);
    findings.truncate(MOST_TOLD);
    if let Some(last) = findings.last_mut().filter(|_| more > 0) {
        last.message.push_str(&format!("; so it is with {more} more"));
    }
    findings.into_iter().map(|finding| finding.in_region(&input.terms.to.region.name)).collect()
}

fn writer<'p>(input: &Input<'_>, pack: &'p Pack, key: &'p ObjectKey, packed: &'p Packed) -> Option<Writer<'p>> {
    let by = needers(packed).map(|needed_by| &needed_by.by).find(|by| by.group().is_some())?;
    let (selector, payloads, stays, once) = match packed {
        Packed::Fresh { order, .. } => {
            let (made, _) = set(order)?;
            (made.clusters.selector.clone(), Cow::Borrowed(&*made.payloads), None, made.once)
        }
        Packed::Carried { state, .. } => {
            let read = resource_set::read(&input.published.document(key)?).ok()?;
            let once = read.strategy != Strategy::Reconcile;
            (read.selector, Cow::Owned(read.payloads), state.reason(), once)
        }
        Packed::Namespace { .. } => return None,
    };
    let object = |(kind, name): &(GroupKind, Name)| {
        let payload = ObjectKey::new(kind.clone(), key.namespace.clone(), name.clone());
        Some(&guest(pack.objects.get(&payload)?)?.key)
    };
    let objects = payloads.iter().filter_map(object).collect();
    Some(Writer { key, by, stays, once, selector, objects })
}

fn between(stale: &Writer<'_>, why: Reason, other: &Writer<'_>) -> Option<Finding> {
    let shared: Vec<&ObjectKey> = stale.objects.intersection(&other.objects).copied().collect();
    if shared.is_empty() || !stale.selector.may_overlap(&other.selector) {
        return None;
    }
    let named = few(&shared, shared.len(), MOST_NAMED);
    let message = format!(
        "{} stays as published ({}) and writes {named} into guests, which {} writes too: a Cluster that both choose may \
         keep the old one",
        stale.key,
        why.word(),
        other.key
    );
    let help = "See that the first is withdrawn soon; `pouch verify --live` names both as long as they choose one Cluster. What \
                changes after that arrives everywhere.";
    Some(Finding::new(Code::TwoWriters, message).about(other.key).claimed_by(other.by).help(help))
}
