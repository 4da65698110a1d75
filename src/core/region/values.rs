//! Values: whether every value that a namespace has published is replaced at once.
//!
//! The tags of entries tell which value changes without telling what it is. Sources that were exchanged look like this:
//! every object has its old name, and another place's values. One Secret whose value stays is enough to tell that from it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::brake::Replaced;
use super::change::{Action, Change};
use super::history::filled_entries;
use super::input::Input;
use super::pack::{Pack, Packed, needers};
use crate::name::holder::Holder;
use crate::name::{Claimant, ObjectKey};
use crate::reuse::EntryChange;

/// Of whom every value that stays published is replaced, with their Secrets.
///
/// A Secret counts for every holder that needed it and needs it still.
pub(super) fn replaced(input: &Input<'_>, pack: &Pack, changes: &[Change]) -> Vec<Replaced> {
    // What goes into guests is a document around the values: that it changed tells nothing of them.
    let is_envelope = |key: &ObjectKey| matches!(pack.objects.get(key), Some(Packed::Fresh { guest: Some(_), .. }));
    let rewritten: BTreeSet<&ObjectKey> =
        changes.iter().map(|change| &change.key).filter(|key| is_envelope(key)).collect();
    let is_replaced = |change: &&Change| {
        change.action == Action::Changed
            && change.key.kind.is_secret()
            && !rewritten.contains(&change.key)
            && all_values(input, change)
    };
    let changed: BTreeSet<&ObjectKey> = changes.iter().filter(is_replaced).map(|change| &change.key).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let mut of: BTreeMap<Holder, (BTreeSet<&ObjectKey>, BTreeSet<&Claimant>)> = BTreeMap::new();
    let mut staying: BTreeSet<Holder> = BTreeSet::new();
    // What is carried over is not read, and says nothing; what a limited run leaves alone stays.
    let is_limited = input.selection.refresh.is_some();
    let is_looked_at = |packed: &Packed| match packed {
        Packed::Fresh { .. } => true,
        Packed::Carried { .. } => is_limited,
        Packed::Namespace { .. } => false,
    };
    let secrets = pack.objects.iter().filter(|(key, packed)| key.kind.is_secret() && is_looked_at(packed));
    let secrets = secrets.filter(|(key, _)| !rewritten.contains(key));
    let (replaced, others): (Vec<_>, Vec<_>) = secrets.partition(|(key, _)| changed.contains(key));
    for (key, packed) in replaced {
        for by in staying_needers(input, key, packed) {
            let (secrets, claimants) = of.entry(input.whose(by)).or_default();
            secrets.insert(key);
            claimants.insert(by);
        }
    }
    for (key, packed) in others {
        // One that stays is enough, and most stay.
        let asked: BTreeSet<Holder> = staying_needers(input, key, packed)
            .map(|by| input.whose(by))
            .filter(|whose| of.contains_key(whose) && !staying.contains(whose))
            .collect();
        if !asked.is_empty() && has_values(input, key) {
            staying.extend(asked);
        }
    }
    of.retain(|whose, _| !staying.contains(whose));
    let owned = |(whose, (secrets, claimants)): (&Holder, &(BTreeSet<&ObjectKey>, BTreeSet<&Claimant>))| Replaced {
        whose: whose.clone(),
        secrets: secrets.iter().map(|key| ((*key).clone(), input.published.sha256(key).unwrap_or_default())).collect(),
        claimants: claimants.iter().map(|by| (*by).clone()).collect(),
    };
    of.iter().map(owned).collect()
}

/// The claimants that need a Secret, of holders that needed it before.
fn staying_needers<'p>(
    input: &'p Input<'_>,
    key: &ObjectKey,
    packed: &'p Packed,
) -> impl Iterator<Item = &'p Claimant> {
    let before = input.published.object(key).map(|object| &*object.needed_by).unwrap_or_default();
    let had = |by: &&Claimant| {
        let whose = input.whose(by);
        before.iter().any(|before| input.whose(&before.by) == whose)
    };
    needers(packed).map(|by| &by.by).filter(had)
}

/// Whether no value of a changed Secret stays, as far as its tags tell.
fn all_values(input: &Input<'_>, change: &Change) -> bool {
    let goes = |name: &String| {
        let of_entry = change.entries.iter().find(|(changed, _)| changed == name);
        of_entry.is_some_and(|(_, change)| !matches!(change, EntryChange::Same | EntryChange::Added))
    };
    let filled = input.published.document(&change.key).map(|document| filled_entries(&document)).unwrap_or_default();
    !filled.is_empty() && filled.iter().all(goes)
}

/// Whether a published Secret has a value at all.
fn has_values(input: &Input<'_>, key: &ObjectKey) -> bool {
    input.published.document(key).is_none_or(|document| !filled_entries(&document).is_empty())
}
