//! Holding: what the brake keeps published, as the ledger asks for it.

use alloc::collections::{BTreeMap, BTreeSet};

use super::accounts;
use super::brake::Braked;
use super::change::Change;
use super::input::Input;
use super::ledger::{Disposition, Row};
use super::pack::{Keep, Pack, Packed, Wanted};
use crate::layout::manifest::{ManifestObject, NeededBy, Reason};
use crate::name::{Claimant, ObjectKey};

/// The part of a region that the brake keeps published.
pub(super) struct Held<'h> {
    /// The losses of claimants whose withdrawals are held.
    lost: BTreeMap<&'h Claimant, BTreeSet<&'h ObjectKey>>,
    /// Secrets that would lose entries, and that nobody has whose withdrawals are not held: what somebody else has and may
    /// change is not kept from him.
    entries: BTreeSet<&'h ObjectKey>,
    /// Claimants that keep all that they have published, with its values, and nothing that they have not: what one refers to is
    /// of the same place as what refers to it.
    keeping: &'h BTreeSet<Claimant>,
    /// Objects that are made anew as they are published.
    same: BTreeSet<&'h ObjectKey>,
}

impl<'h> Held<'h> {
    /// The brake's answer for a pack; none where it keeps nothing.
    pub(super) fn of(input: &'h Input<'_>, pack: &'h Pack, changes: &'h [Change], braked: &'h Braked) -> Option<Self> {
        let Braked { held, keeping, .. } = braked;
        let manifest = input.published.manifest().filter(|_| !held.is_empty() || !keeping.is_empty())?;
        let goes = |by: &Claimant| held.contains(by) || input.terms.allowances.asks_to_withdraw(by);
        let is_kept_whole = |key: &&ObjectKey| {
            let object = input.published.object(key);
            pack.objects.contains_key(*key) && object.is_some_and(|it| it.needed_by.iter().all(|it| goes(&it.by)))
        };
        let losing = changes.iter().filter(|change| !change.lost_entries.is_empty()).map(|change| &change.key);
        let is_same = |packed: &Packed| matches!(packed, Packed::Fresh { keep: Keep::Kept, .. });
        Some(Self {
            lost: accounts::left_by(input.terms.world.fleet, manifest, pack, |by| held.contains(by)),
            entries: losing.filter(is_kept_whole).collect(),
            keeping,
            same: pack.objects.iter().filter(|(_, packed)| is_same(packed)).map(|(key, _)| key).collect(),
        })
    }

    /// The reason for which the brake keeps a row, if it does.
    pub(super) fn reason(&self, row: &Row<'_>) -> Option<Reason> {
        let (key, by) = (&row.object.key, &row.needed_by.by);
        // What goes after a hand-over was exchanged or lost when that began.
        if row.object.state.is_handover() {
            return None;
        }
        let is_had = matches!(row.becomes, Disposition::Fresh | Disposition::Kept(_));
        if self.lost.get(by).is_some_and(|lost| lost.contains(key)) || is_had && self.entries.contains(key) {
            return Some(Reason::HeldDeletion);
        }
        self.keeping.contains(by).then_some(Reason::HeldValue)
    }

    /// Takes from what is wanted what the brake keeps as it is; `published` gives what is published of an object.
    pub(super) fn take<'m>(&self, wanted: &mut Wanted, published: impl Fn(&ObjectKey) -> Option<&'m ManifestObject>) {
        let is_keeping = |needed_by: &NeededBy| self.keeping.contains(&needed_by.by);
        wanted.retain(|key, (_, needed_by)| {
            let Some(object) = published(key) else { return !needed_by.iter().all(is_keeping) };
            if object.state.is_handover() || self.keeping.is_empty() {
                return true;
            }
            // Who comes to it only now, keeps what he had instead.
            let all = core::mem::take(needed_by).into_iter();
            let (stay, come): (BTreeSet<_>, BTreeSet<_>) =
                all.partition(|by| !is_keeping(by) || object.needed_by.contains(by));
            let had = object.needed_by.iter().any(is_keeping);
            *needed_by = if stay.is_empty() && !had { come } else { stay };
            self.same.contains(key) || !needed_by.iter().all(is_keeping)
        });
    }

    /// The Secrets that stay whole although they would lose entries.
    pub(super) fn whole(&self) -> impl Iterator<Item = &ObjectKey> {
        self.entries.iter().copied()
    }
}
