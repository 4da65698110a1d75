//! Narrowed: what a rule, a template, a group or an AccessManagement takes no more since its own text changed.
//!
//! One character in a list of namespaces or in a pattern takes away what stood there for months, and all of it is as it
//! should be by the new text. So it is said, by name. Nothing is said where the text is as it was and objects are gone, or
//! where all of it is gone: then it was meant.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::explain::{goes, withdrawn};
use super::input::Input;
use super::pack::{Pack, keepers};
use super::texts;
use crate::finding::{Finding, Origin, Severity};
use crate::judge::case::Ruling;
use crate::kinds;
use crate::layout::manifest::{ManifestObject, NeededBy, Taker};
use crate::listing::few_that_fit;
use crate::name::step::is_handed_out;
use crate::name::{Claimant, Name, ObjectKey};
use crate::world::World;

/// The most objects that a message names.
const MOST_NAMED: usize = 8;

/// Names what goes since the text that takes it changed.
pub(super) fn withdrawals(input: &Input<'_>, rulings: &[Ruling<'_>], packed: &Pack) -> Vec<Finding> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    let is_changed = |(taker, told): &(&Taker, &String)| texts::is_changed(&input.terms, taker, told);
    let changed: BTreeSet<&Taker> = manifest.texts.iter().filter(is_changed).map(|(taker, _)| taker).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    // Its own findings say why.
    let stopped = rulings.iter().filter(|ruling| !ruling.is_admitted());
    let stopped: BTreeSet<&Claimant> = stopped.map(|ruling| &ruling.case.claim.by).collect();
    // Who has as many objects as before has exchanged them: another name, or another place in guests.
    let own = || manifest.objects.iter().filter(|object| !object.state.is_handover());
    let had = counted(own().flat_map(|object| &object.needed_by));
    let has = counted(packed.objects.values().flat_map(keepers));
    let has_less = |by: &Claimant| has.get(by) < had.get(by);
    let mut lost: BTreeMap<&Taker, BTreeSet<&ObjectKey>> = BTreeMap::new();
    for object in own().filter(|object| goes(packed, object) && !object.is_delivery()) {
        let is_lost =
            |by: &&NeededBy| !stopped.contains(&by.by) && has_less(&by.by) && is_there(&input.terms.world, object, by);
        for taker in object.needed_by.iter().filter(is_lost).flat_map(NeededBy::takers) {
            if let Some(taker) = changed.get(&taker) {
                let key = object.guest.as_ref().map_or(&object.key, |guest| &guest.key);
                lost.entry(taker).or_default().insert(key);
            }
        }
    }
    let region = &input.terms.to.region.name;
    let finding = |(taker, keys): (&Taker, BTreeSet<&ObjectKey>)| {
        let of = texts::object(&input.terms.world, taker);
        let (name, origin) = match (taker, of) {
            (_, Some(object)) => (format!("{}", object.key), object.origin.clone()),
            (taker, None) => (format!("guests.{}", taker.field().1), Origin::configuration()),
        };
        let named = few_that_fit(&keys, keys.len(), MOST_NAMED);
        let message = format!("{name} changed, and takes less than before: {named} no longer needed");
        let help = "If this is a slip of the hand, write what it said before; what it takes then comes back.";
        withdrawn(message, &origin).severity(Severity::Warning).in_region(region).help(help)
    };
    lost.into_iter().map(finding).collect()
}

/// The number of objects of each claimant.
fn counted<'n>(needed_by: impl Iterator<Item = &'n NeededBy>) -> BTreeMap<&'n Claimant, u32> {
    let mut counts: BTreeMap<&Claimant, u32> = BTreeMap::new();
    for by in needed_by {
        let count = counts.entry(&by.by).or_default();
        *count = count.saturating_add(1);
    }
    counts
}

/// Returns true if the sources still have what an object was made from.
fn is_there(world: &World<'_>, object: &ManifestObject, by: &NeededBy) -> bool {
    if is_handed_out(&by.through) {
        let source =
            Claimant::Credential { namespace: world.fleet.system_namespace.clone(), name: Name::from(&*by.by.name()) };
        return kinds::claimant(&source).is_some_and(|key| world.snapshot.get(&key).is_some());
    }
    let is_made = object.from.as_ref().is_some_and(|from| from.made.is_some());
    is_made || object.read_key().is_some_and(|key| world.snapshot.get(&key).is_some())
}
