//! Hand-over: what a claim exchanged for something else stays published until consumers have followed (DESIGN §2.7).
//!
//! Consumers apply the parts of a bundle one after the other, and remove what left it before they come to the rest. If an
//! identity names another Secret from now on, the old one would be gone while the identity still names it. So it stays
//! for a while, as it is published, and goes with a later publish.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::history::History;
use super::input::Input;
use super::ledger::Exchanged;
use crate::config::Fleet;
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::listing::{few, few_that_fit};
use crate::name::holder::Holder;
use crate::name::{Claimant, GroupKind, ObjectKey, SourceName};
use crate::recipient::Recipient;

/// Whether an object that those who needed it need no longer stays for a hand-over.
///
/// It is never worth a hold, and never keeps a recipient that was removed: what cannot stay just so goes at once.
pub(super) fn stays(input: &Input<'_>, history: &History, manifest: &Manifest, object: &ManifestObject) -> bool {
    let now = &input.terms.to.region.recipients;
    let is_open_to_those_only = || {
        let readers = object.readers(manifest);
        readers.iter().all(|reader| now.contains(reader)) && is_shared(input, readers)
    };
    let is_over = || object.state.is_handover() && history.is_over(&object.key);
    input.terms.world.fleet.limits.retain_replaced.0 > 0
        && !input.terms.rekeys()
        && input.published.bytes(&object.key).is_some()
        && (!object.key.kind.is_secret() || is_open_to_those_only())
        && !is_over()
}

/// Whether the region itself can open what is sealed for these readers.
pub(super) fn is_shared(input: &Input<'_>, readers: &[Recipient]) -> bool {
    let (now, escrow) = (&input.terms.to.region.recipients, &input.terms.world.fleet.escrow);
    readers == *now || now.iter().any(|own| !escrow.contains(own) && readers.contains(own))
}

/// What stands in a bundle whatever is handed over: how many objects, and what each holder has of them.
pub(super) struct Beside<'n> {
    fleet: &'n Fleet,
    objects: usize,
    loads: BTreeMap<Holder, Load>,
}

/// Objects, and the bytes of sealed Secrets among them.
#[derive(Clone, Copy, Default)]
struct Load {
    objects: usize,
    sealed: usize,
}

impl Load {
    fn with(self, sealed: usize) -> Self {
        Self { objects: self.objects + 1, sealed: self.sealed + sealed }
    }
}

impl<'n> Beside<'n> {
    /// Nothing yet.
    pub(super) fn new(fleet: &'n Fleet) -> Self {
        Self { fleet, objects: 0, loads: BTreeMap::new() }
    }

    /// Adds an object of a kind, with the bytes that it takes if it is a sealed Secret.
    pub(super) fn add(&mut self, kind: &GroupKind, needed_by: &BTreeSet<NeededBy>, sealed: usize) {
        self.objects += 1;
        let holders: BTreeSet<Holder> =
            needed_by.iter().map(|needed_by| self.fleet.holder(&needed_by.by, kind)).collect();
        for whose in holders {
            let load = self.loads.entry(whose).or_default();
            *load = load.with(sealed);
        }
    }
}

/// What of all that was exchanged is handed over, and why the rest is not.
#[derive(Default)]
pub(super) struct Fitting<'m> {
    pub(super) stays: Exchanged<'m>,
    pub(super) left_out: BTreeMap<ObjectKey, String>,
}

/// Of what was exchanged, as much as its namespaces and the region have room for beside what stands in the bundle anyway:
/// a hand-over never gives a tenant more than its quota, and never makes a bundle that its consumer does not take.
///
/// In a namespace what was exchanged last comes first, because consumers have not followed that yet. Of the namespaces of a
/// source, those come first that exchanged less, and sources take turns, so that none takes the room of all others.
pub(super) fn fitting<'m>(input: &Input<'_>, mut beside: Beside<'_>, mut exchanged: Exchanged<'m>) -> Fitting<'m> {
    let (region, limits) = (input.terms.to.region, &input.terms.world.fleet.limits);
    let most = limits.most_objects(&region.delivery);
    let room = most.saturating_sub(beside.objects);
    let mut fitting = Fitting::default();
    exchanged.sort_by_key(|(object, _)| (object.state.is_handover(), &object.key));
    for (object, mut names) in exchanged {
        let sealed =
            if object.key.kind.is_secret() { input.published.bytes(&object.key).map_or(0, <[u8]>::len) } else { 0 };
        let mut why = String::new();
        names.retain(|needed_by| {
            let whose = beside.fleet.holder(&needed_by.by, object.kind());
            let load = beside.loads.get(&whose).copied().unwrap_or_default().with(sealed);
            let (over, limit) = match load {
                _ if load.objects > limits.objects_per_namespace => {
                    ("objectsPerNamespace", limits.objects_per_namespace)
                }
                _ if load.sealed > limits.sealed_bytes_per_namespace.0 => {
                    ("sealedBytesPerNamespace", limits.sealed_bytes_per_namespace.0)
                }
                _ => return true,
            };
            why = format!("{whose} would have more than limits.{over}, which is {limit}");
            false
        });
        if names.is_empty() {
            fitting.left_out.insert(object.key.clone(), why);
        } else {
            beside.add(object.kind(), &names, sealed);
            fitting.stays.push((object, names));
        }
    }
    if fitting.stays.len() <= room {
        return fitting;
    }
    let mut of: BTreeMap<Option<&SourceName>, BTreeMap<Option<Holder>, Exchanged<'m>>> = BTreeMap::new();
    for one in fitting.stays {
        let whose = one.1.first().map(|needed_by| beside.fleet.holder(&needed_by.by, one.0.kind()));
        let share = whose.as_ref().and_then(|whose| beside.fleet.share_of_holder(whose));
        of.entry(share).or_default().entry(whose).or_default().push(one);
    }
    let mut turns: Vec<(usize, (&ManifestObject, BTreeSet<NeededBy>))> = Vec::new();
    for holders in of.into_values() {
        let mut all: Vec<Exchanged<'m>> = holders.into_values().collect();
        all.sort_by_key(Vec::len);
        turns.extend(all.into_iter().flatten().enumerate());
    }
    turns.sort_by_key(|(turn, _)| *turn);
    let mut stays: Exchanged<'m> = turns.into_iter().map(|(_, one)| one).collect();
    let why = || format!("region {} would hold more than {most} objects", region.name);
    let out = stays.split_off(room.min(stays.len())).into_iter();
    fitting.left_out.extend(out.map(|(object, _)| (object.key.clone(), why())));
    Fitting { stays, ..fitting }
}

/// What is said of what goes at once because there is no room; `objects` are those that are published now.
pub(super) fn left_out<'m>(
    input: &Input<'_>,
    left_out: &BTreeMap<ObjectKey, String>,
    objects: impl Iterator<Item = &'m ManifestObject>,
) -> Vec<Finding> {
    const SHOWN: usize = 3;
    if left_out.is_empty() {
        return Vec::new();
    }
    // What the brake holds stays anyway.
    let stays: BTreeSet<&ObjectKey> = objects.map(|object| &object.key).collect();
    let mut reasons: BTreeMap<&str, Vec<&ObjectKey>> = BTreeMap::new();
    for (key, why) in left_out.iter().filter(|(key, _)| !stays.contains(*key)) {
        reasons.entry(why).or_default().push(key);
    }
    let finding = |(why, keys): (&str, Vec<&ObjectKey>)| {
        let message = format!("no hand-over for {}: {why}", few(&keys, keys.len(), SHOWN));
        let help = "Consumers may miss it until they have followed. Raise the limit, or exchange less within \
                    limits.retainReplaced.";
        Finding::new(Code::NoHandover, message).in_region(&input.terms.to.region.name).help(help)
    };
    reasons.into_iter().map(finding).collect()
}

/// What is said of objects that stay for a hand-over, and of those that needed them.
pub(super) fn findings<'m>(input: &Input<'_>, objects: impl Iterator<Item = &'m ManifestObject>) -> Vec<Finding> {
    const SHOWN: usize = 3;
    let time = input.terms.world.fleet.limits.retain_replaced;
    let finding = |object: &ManifestObject| {
        let key = &object.key;
        let claimants: BTreeSet<&Claimant> = object.needed_by.iter().map(|needed_by| &needed_by.by).collect();
        let message = format!(
            "{key} stays for a hand-over: it is no longer needed for {}, but consumers may not have followed yet",
            few_that_fit(&claimants, claimants.len(), SHOWN)
        );
        let help = format!(
            "It goes with the first publish {time} after the one that exchanged it, or with the next render to a \
             directory."
        );
        let finding = Finding::new(Code::Handover, message).about(key).claimed_by(claimants.first()?);
        Some(finding.in_region(&input.terms.to.region.name).help(help))
    };
    objects.filter(|object| object.state.is_handover()).filter_map(finding).collect()
}
