//! Values: whether every value that a region has published is replaced at once.
//!
//! The tags of entries tell which value changes without telling what it is. Sources that were exchanged look like this:
//! every object has its old name, or a reference names another object, and the values are another place's. One Secret whose
//! value stays is enough to tell a rotation from it.
//!
//! Objects that tenants with sources of their own bring tell nothing of the rest, which is weighed by itself first. The
//! region as a whole is weighed for those of which that decides nothing: many small ones that are exchanged at once.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::accounts::kept_by_somebody;
use super::brake::{Part, Replaced};
use super::change::{Action, Change};
use super::content::Order;
use super::history::filled_entries;
use super::input::Input;
use super::pack::{Pack, Packed};
use super::sealing;
use crate::closure::Member;
use crate::config::Fleet;
use crate::judge::case::{Ruling, Verdict};
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey};
use crate::reuse::EntryChange;

/// So many Secrets are not rotated at once by hand. Fewer count where several namespaces have them.
const MANY: usize = 10;

/// A published Secret, and what its values say.
struct Told<'a> {
    object: &'a ManifestObject,
    /// True if it is of those that belong to no tenant with a source of his own.
    is_common: bool,
    says: Says<'a>,
}

/// The word of a Secret about values.
enum Says<'a> {
    /// One of them was read, and stays.
    Stay,
    /// All of them are replaced, for these.
    Go(BTreeSet<&'a Claimant>),
    /// Nothing is known of them: they were not read, or there are none.
    Nothing,
}

/// The Secrets of a region, if every value of them is replaced: by others in the same Secret, or by another Secret that a
/// claimant exchanges it for.
///
/// A tenant may rotate all that he has: so it takes two namespaces, or many Secrets.
pub(super) fn replaced(input: &Input<'_>, pack: &Pack, rulings: &[Ruling<'_>], changes: &[Change]) -> Vec<Replaced> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    let fleet = input.terms.world.fleet;
    let scales = Scales::of(input, manifest, pack, rulings, changes);
    let secret = GroupKind::new("", "Secret");
    let is_common = |by: &Claimant| fleet.share_of(by, &secret).is_none();
    // One that stays is enough, and most stay.
    let is_common_whole = is_whole(scales.told().filter(|told| told.is_common), is_common);
    let is_whole = is_whole(scales.told(), |_| true);
    if !is_common_whole && !is_whole {
        return Vec::new();
    }
    let all: Vec<Told<'_>> = scales.told().collect();
    let part = |part: Part, of: &dyn Fn(&&Told<'_>) -> bool| {
        let (mut secrets, mut claimants) = (Vec::new(), BTreeSet::new());
        for told in all.iter().filter(of) {
            if let Says::Go(by) = &told.says {
                let key = &told.object.key;
                secrets.push((key.clone(), input.published.sha256(key).unwrap_or_default()));
                claimants.extend(by.iter().copied().cloned());
            }
        }
        Replaced { part, secrets, claimants: claimants.into_iter().collect() }
    };
    let mut parts = Vec::new();
    if is_common_whole {
        let is_all = all.iter().all(|told| told.is_common);
        parts.push(part(if is_all { Part::Region } else { Part::Common }, &|told| told.is_common));
    }
    if is_whole {
        parts.push(part(Part::Region, &|told| !(is_common_whole && told.is_common)));
    }
    parts.retain(|part| !part.secrets.is_empty());
    parts
}

/// Returns true if all these Secrets have their values replaced, and are too many for one who rotates what he has. The
/// namespaces of claimants that do not count tell nothing.
fn is_whole<'a>(all: impl Iterator<Item = Told<'a>>, counts: impl Fn(&Claimant) -> bool) -> bool {
    let (mut secrets, mut namespaces): (usize, BTreeSet<&Namespace>) = (0, BTreeSet::new());
    for told in all {
        match told.says {
            Says::Stay => return false,
            Says::Go(claimants) => {
                secrets = secrets.saturating_add(1);
                namespaces.extend(claimants.into_iter().filter(|by| counts(by)).map(Claimant::namespace));
            }
            Says::Nothing => {}
        }
    }
    secrets >= MANY || (secrets >= 2 && namespaces.len() >= 2)
}

/// The measures by which the published Secrets of a region are weighed.
struct Scales<'a> {
    input: &'a Input<'a>,
    manifest: &'a Manifest,
    pack: &'a Pack,
    /// The Secrets of which all values change.
    changed: BTreeSet<&'a ObjectKey>,
    /// The references that lead where they did not lead before.
    moved: BTreeSet<&'a NeededBy>,
    /// The members of claims that are broken, by where they land.
    broken: BTreeMap<&'a ObjectKey, Vec<&'a Member>>,
}

impl<'a> Scales<'a> {
    fn of(
        input: &'a Input<'a>,
        manifest: &'a Manifest,
        pack: &'a Pack,
        rulings: &'a [Ruling<'_>],
        changes: &'a [Change],
    ) -> Self {
        let all_changed = |change: &&Change| {
            change.action == Action::Changed && change.key.kind.is_secret() && all_values(input, change)
        };
        let changed = changes.iter().filter(all_changed).map(|change| &change.key).collect();
        let mut broken: BTreeMap<&ObjectKey, Vec<&Member>> = BTreeMap::new();
        let rulings = rulings.iter().filter(|ruling| ruling.verdict == Verdict::Broken);
        for member in rulings.flat_map(|ruling| ruling.case.published_members()) {
            broken.entry(&member.lands).or_default().push(member);
        }
        Self { input, manifest, pack, changed, moved: moved(manifest, pack), broken }
    }

    /// The published Secrets, and what their values tell, each as it is asked for.
    fn told(&self) -> impl Iterator<Item = Told<'a>> {
        let secrets = kept_by_somebody(&self.manifest.objects).filter(|object| is_own_secret(self.pack, object));
        let fleet = self.input.terms.world.fleet;
        secrets.map(move |object| Told { object, is_common: is_common(fleet, object), says: self.says(object) })
    }

    fn says(&self, object: &'a ManifestObject) -> Says<'a> {
        let Self { input, pack, .. } = *self;
        let key = &object.key;
        match pack.objects.get(key).filter(|packed| !packed.is_handover()) {
            Some(Packed::Fresh { needed_by, .. }) if self.changed.contains(key) => {
                Says::Go(needed_by.iter().map(|by| &by.by).collect())
            }
            Some(Packed::Fresh { .. }) if has_values(input, key) => Says::Stay,
            Some(Packed::Fresh { .. } | Packed::Namespace { .. }) => Says::Nothing,
            // It goes or is about to, or a limited run takes nothing away.
            packed @ (Some(Packed::Carried { .. }) | None) => {
                let moved: BTreeSet<&Claimant> =
                    object.needed_by.iter().filter(|by| self.moved.contains(by)).map(|by| &by.by).collect();
                let is_left_alone = || input.terms.selection.refresh.is_some() && has_values(input, key);
                // What is carried over says nothing by itself: it may be missing, or unread, because the source is another place's.
                let stays = || is_left_alone() || self.is_read(key);
                match () {
                    () if !moved.is_empty() => Says::Go(moved),
                    () if packed.is_some() && stays() => Says::Stay,
                    () => Says::Nothing,
                }
            }
        }
    }

    /// Returns true if a Secret that is carried over, because a claim is broken by something else, was read, and has a value
    /// that is published.
    fn is_read(&self, key: &ObjectKey) -> bool {
        let members = self.broken.get(key).into_iter().flatten();
        members.into_iter().any(|member| sealing::keeps_a_value(self.input, &Order::of(member)))
    }
}

/// Returns true for a Secret that is not a tenant's who has a source of his own: neither does he write it, nor does he alone
/// need it.
fn is_common(fleet: &Fleet, object: &ManifestObject) -> bool {
    let is_written = object.read_key().and_then(|key| key.namespace).is_some_and(|it| fleet.own_source(&it).is_some());
    !is_written && object.needed_by.iter().any(|by| fleet.share_of(&by.by, &object.key.kind).is_none())
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
