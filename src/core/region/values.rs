//! Values: whether every value that a region has published is replaced at once.
//!
//! The tags of entries tell which value changes without telling what it is. Sources that were exchanged look like this:
//! every object has its old name, or a reference names another object, and the values are another place's. One Secret whose
//! value stays is enough to tell a rotation from it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::accounts::kept_by_somebody;
use super::brake::Replaced;
use super::change::{Action, Change};
use super::history::filled_entries;
use super::input::Input;
use super::pack::{Pack, Packed};
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::name::{Claimant, Namespace, ObjectKey};
use crate::reuse::EntryChange;

/// So many Secrets are not rotated at once by hand. Fewer count where several namespaces have them.
const MANY: usize = 10;

/// The Secrets of a region, if every value of them is replaced: by others in the same Secret, or by another Secret that a
/// claimant exchanges it for.
///
/// A tenant may rotate all that he has: so it takes two namespaces, or many Secrets.
pub(super) fn replaced(input: &Input<'_>, pack: &Pack, changes: &[Change]) -> Option<Replaced> {
    let manifest = input.published.manifest()?;
    let all_changed =
        |change: &&Change| change.action == Action::Changed && change.key.kind.is_secret() && all_values(input, change);
    let changed: BTreeSet<&ObjectKey> = changes.iter().filter(all_changed).map(|change| &change.key).collect();
    let secrets = || kept_by_somebody(&manifest.objects).filter(|object| is_own_secret(pack, object));
    // One that stays is enough, and most stay.
    let stays = |object: &ManifestObject| {
        let is_made = matches!(pack.objects.get(&object.key), Some(Packed::Fresh { .. }));
        is_made && !changed.contains(&object.key) && has_values(input, &object.key)
    };
    if secrets().any(stays) {
        return None;
    }
    let moved = moved(manifest, pack);
    let mut replaced: BTreeSet<&ObjectKey> = BTreeSet::new();
    let mut claimants: BTreeSet<&Claimant> = BTreeSet::new();
    for object in secrets() {
        let key = &object.key;
        match pack.objects.get(key).filter(|packed| !packed.is_handover()) {
            Some(Packed::Fresh { needed_by, .. }) if changed.contains(key) => {
                replaced.insert(key);
                claimants.extend(needed_by.iter().map(|by| &by.by));
            }
            Some(Packed::Fresh { .. } | Packed::Namespace { .. }) => {}
            // It goes or is about to, or a limited run takes nothing away.
            packed @ (Some(Packed::Carried { .. }) | None) => {
                let mut moved = object.needed_by.iter().filter(|by| moved.contains(by)).map(|by| &by.by).peekable();
                if moved.peek().is_some() {
                    replaced.insert(key);
                    claimants.extend(moved);
                } else if packed.is_some() && input.terms.selection.refresh.is_some() && has_values(input, key) {
                    // What is carried over is not read, and says nothing; what a limited run leaves alone stays.
                    return None;
                }
            }
        }
    }
    let namespaces: BTreeSet<&Namespace> = claimants.iter().map(|by| by.namespace()).collect();
    if replaced.len() < MANY && (replaced.len() < 2 || namespaces.len() < 2) {
        return None;
    }
    let line = |key: &ObjectKey| (key.clone(), input.published.sha256(key).unwrap_or_default());
    Some(Replaced {
        secrets: replaced.into_iter().map(line).collect(),
        claimants: claimants.into_iter().cloned().collect(),
    })
}

/// Returns true for a published Secret that goes into no guest: what does is a document around values, and that it changes
/// tells nothing of them.
fn is_own_secret(pack: &Pack, object: &ManifestObject) -> bool {
    let is_envelope = || matches!(pack.objects.get(&object.key), Some(Packed::Fresh { guest: Some(_), .. }));
    object.key.kind.is_secret() && object.guest.is_none() && !is_envelope()
}

/// The references that lead to a Secret to which they did not lead before.
fn moved<'p>(manifest: &Manifest, pack: &'p Pack) -> BTreeSet<&'p NeededBy> {
    let published: BTreeMap<&ObjectKey, &ManifestObject> =
        manifest.objects.iter().map(|object| (&object.key, object)).collect();
    let mut moved = BTreeSet::new();
    for (key, packed) in pack.objects.iter().filter(|(key, _)| key.kind.is_secret()) {
        if let Packed::Fresh { needed_by, guest: None, .. } = packed {
            let had = published.get(key);
            moved.extend(needed_by.iter().filter(|by| had.is_none_or(|had| !had.needed_by.contains(by))));
        }
    }
    moved
}

/// Returns true if no value of a changed Secret stays, as far as its tags tell.
fn all_values(input: &Input<'_>, change: &Change) -> bool {
    let goes = |name: &String| {
        let of_entry = change.entries.iter().find(|(changed, _)| changed == name);
        of_entry.is_some_and(|(_, change)| !matches!(change, EntryChange::Same | EntryChange::Added))
    };
    let filled = input.published.document(&change.key).map(|document| filled_entries(&document)).unwrap_or_default();
    !filled.is_empty() && filled.iter().all(goes)
}

/// Returns true if a published Secret has a value at all.
fn has_values(input: &Input<'_>, key: &ObjectKey) -> bool {
    input.published.document(key).is_none_or(|document| !filled_entries(&document).is_empty())
}
