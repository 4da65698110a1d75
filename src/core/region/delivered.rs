//! Delivered: which objects of guest clusters a bundle delivers, and what of them comes from two sides.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::guests::set;
use super::input::Input;
use super::pack::{Pack, Packed, needers};
use crate::capi::resource_set::{self, Strategy, is_resource_set};
use crate::claim::guest;
use crate::finding::{Code, Finding};
use crate::layout::manifest::Guest;
use crate::listing::few;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey};
use crate::selector::Selector;

/// The guest objects that a bundle delivers, with the namespace of the Clusters, and for each by which selectors.
pub(super) struct Delivered<'p>(BTreeMap<(Option<&'p Namespace>, &'p ObjectKey), BTreeSet<&'p str>>);

impl<'p> Delivered<'p> {
    pub(super) fn of(pack: &'p Pack) -> Self {
        let mut all: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
        for (key, packed) in &pack.objects {
            if let Some(guest) = inside(packed) {
                all.entry((key.namespace.as_ref(), &guest.key)).or_default().extend(guest::selector_of(&key.name));
            }
        }
        Self(all)
    }

    /// What becomes in guests of an object that a payload delivered and that is withdrawn: none where the same Clusters still
    /// get it; else whether it is still brought to some.
    pub(super) fn without(&self, payload: &ObjectKey, guest: &ObjectKey) -> Option<bool> {
        let Some(selectors) = self.0.get(&(payload.namespace.as_ref(), guest)) else { return Some(false) };
        let own = guest::selector_of(&payload.name);
        (!own.is_some_and(|own| selectors.contains(own))).then_some(true)
    }
}

/// What of an object is for guests.
fn inside(packed: &Packed) -> Option<&Guest> {
    match packed {
        Packed::Fresh { guest, .. } => guest.as_ref(),
        Packed::Carried { object, .. } => object.guest.as_ref(),
        Packed::Namespace { .. } => None,
    }
}

/// The most pairs of sets that are told of for one region.
const MOST_TOLD: usize = 100;

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// A set that writes objects into guests again and again.
struct Writer<'p> {
    key: &'p ObjectKey,
    by: &'p Claimant,
    /// Why it stays as published, if it does.
    stays: Option<Code>,
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
    let mut of: BTreeMap<Option<&Namespace>, Vec<Writer<'_>>> = BTreeMap::new();
    for (key, packed) in pack.objects.iter().filter(|(key, _)| is_resource_set(&key.kind)) {
        if let Some(writer) = writer(input, pack, (key, packed)).filter(|writer| !writer.objects.is_empty()) {
            of.entry(key.namespace.as_ref()).or_default().push(writer);
        }
    }
    let mut findings = Vec::new();
    for writers in of.values() {
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
        last.message = format!("{} (and {more} more like this)", last.message);
    }
    findings.into_iter().map(|finding| finding.in_region(&input.to.region.name)).collect()
}

fn writer<'p>(input: &Input<'_>, pack: &'p Pack, (key, packed): (&'p ObjectKey, &'p Packed)) -> Option<Writer<'p>> {
    let by = needers(packed).map(|needed_by| &needed_by.by).find(|by| by.is_guest())?;
    let (selector, payloads, stays) = match packed {
        Packed::Fresh { order, .. } => {
            let (made, _) = set(order)?;
            (made.clusters.selector.clone(), Cow::Borrowed(&*made.payloads), (made.once, None))
        }
        Packed::Carried { state, .. } => {
            let read = resource_set::read(&input.published.document(key)?).ok()?;
            let is_once = read.strategy != Strategy::Reconcile;
            (read.selector, Cow::Owned(read.payloads), (is_once, state.reason()))
        }
        Packed::Namespace { .. } => return None,
    };
    let (is_once, stays) = stays;
    let object = |(kind, name): &(GroupKind, Name)| {
        let payload = ObjectKey::new(kind.clone(), key.namespace.clone(), name.clone());
        Some(&inside(pack.objects.get(&payload)?)?.key)
    };
    let objects = payloads.iter().filter(|_| !is_once).filter_map(object).collect();
    Some(Writer { key, by, stays, selector, objects })
}

fn between(stale: &Writer<'_>, why: Code, other: &Writer<'_>) -> Option<Finding> {
    let shared: Vec<&ObjectKey> = stale.objects.intersection(&other.objects).copied().collect();
    if shared.is_empty() || !stale.selector.may_overlap(&other.selector) {
        return None;
    }
    let named = few(&shared, shared.len(), MOST_NAMED);
    let message = format!(
        "{} stays as published ({}) and writes {named} into guests, which {} writes too: a Cluster that both choose may \
         keep the old one",
        stale.key,
        why.text(),
        other.key
    );
    let help = "See that the first is withdrawn soon; `pouch verify --live` names both as long as they choose one Cluster. What \
                changes after that arrives everywhere.";
    Some(Finding::new(Code::TwoWriters, message).about(other.key).claimed_by(other.by).help(help))
}
