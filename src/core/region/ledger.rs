//! Ledger: what becomes of everything that is published of a region, and why.
//!
//! A row is an object and one who needed it. Each step decides about rows that no step before has decided about, and says
//! where it does more. An object's bytes are those of its best row: made anew, else kept, else gone. What the steps go by is
//! asked of a judge, so that this page is the whole order of precedence. Before it, claims that would displace something are
//! broken; after it, identities that stay take their new text.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::layout::manifest::{Manifest, ManifestObject, NeededBy, Reason};
use crate::name::{ObjectKey, spelt};

#[cfg(test)]
mod tests;

/// An object of the published manifest, one who needed it, and what becomes of it for him.
pub(super) struct Row<'m> {
    pub(super) object: &'m ManifestObject,
    pub(super) needed_by: &'m NeededBy,
    pub(super) becomes: Disposition,
}

/// The fate of a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Disposition {
    /// No step has decided.
    Open,
    /// Its claim is resolved and has no use for it.
    Left,
    /// It is made anew from the sources.
    Fresh,
    /// The published bytes stay.
    Kept(Reason),
    /// It stays as it was: a limited run is not about it.
    NotSelected,
    /// It goes.
    Withdrawn(Gone),
}

impl Disposition {
    /// The reason for which published bytes stay, if they do.
    pub(super) fn kept(self) -> Option<Reason> {
        match self {
            Disposition::Kept(reason) => Some(reason),
            Disposition::Open
            | Disposition::Left
            | Disposition::Fresh
            | Disposition::NotSelected
            | Disposition::Withdrawn(_) => None,
        }
    }
}

/// The reason for which something goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Gone {
    /// The claimant is resolved, and has no use for it.
    Unneeded,
    /// The claimant is gone.
    Gone,
    /// The claim is refused.
    Refused,
    /// It is no longer open to whoever needed it.
    Revoked,
    /// The user asked for it.
    Asked,
    /// The region is retired.
    Retired,
}

spelt!(Gone {
    Unneeded "unneeded",
    Gone "gone",
    Refused "refused",
    Revoked "revoked",
    Asked "asked",
    Retired "retired"
});

impl Gone {
    /// For people, behind what goes.
    pub fn shown(self) -> &'static str {
        match self {
            Gone::Unneeded => "no longer needed",
            Gone::Gone => "its claimant is gone",
            Gone::Refused => "its claim is refused",
            Gone::Revoked => "no longer admitted",
            Gone::Asked => "as asked",
            Gone::Retired => "the region is retired",
        }
    }
}

/// A step of the fold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Step {
    /// A retired region keeps nothing.
    Region,
    /// A limited run makes anew what it is about, and removes nothing.
    Selection,
    /// A claim makes a row anew, keeps it, has no use for it, or gets nothing.
    Claims,
    /// Withdraws what a claim keeps or left and may no longer have.
    Revoked,
    /// Keeps what would be deleted where a claim reads it, for all who needed it, whatever became of these.
    OwnOutput,
    /// Lets what was left wait for consumers to follow, within the room that there is, if nothing else keeps it.
    HandOver,
    /// The rest goes.
    Rest,
    /// Keeps what the brake holds: what would go, and what would be made of other values.
    Brake,
}

/// The steps in their order.
pub(super) const STEPS: [Step; 8] = [
    Step::Region,
    Step::Selection,
    Step::Claims,
    Step::Revoked,
    Step::OwnOutput,
    Step::HandOver,
    Step::Rest,
    Step::Brake,
];

/// Objects of which nothing stays but by a hand-over, and those that left them.
pub(super) type Exchanged<'m> = Vec<(&'m ManifestObject, BTreeSet<NeededBy>)>;

/// Answers what the steps ask.
pub(super) trait Judge<'m> {
    /// Returns true if the region is retired.
    fn is_retired(&self) -> bool;

    /// Returns true if the run is about a part of the region only.
    fn is_limited(&self) -> bool;

    /// Returns true if an object is made anew, for whomever.
    fn is_fresh(&self, key: &ObjectKey) -> bool;

    /// Returns true if a row's object is made anew for it.
    fn is_fresh_for(&self, row: &Row<'m>) -> bool;

    /// The disposition that the claim behind a row asks for.
    fn claimed(&mut self, row: &Row<'m>) -> Disposition;

    /// Returns true if a row may no longer be had, by what is known now.
    fn is_revoked(&mut self, row: &Row<'m>) -> bool;

    /// Notes that a row is kept for its claim, for what is told.
    fn note_kept(&mut self, row: &Row<'m>);

    /// The objects among these that claims read where they would be deleted.
    fn own_output(&mut self, leaving: &[&'m ManifestObject]) -> BTreeSet<&'m ObjectKey>;

    /// Gets ready to say what the brake holds: all is decided but for that.
    fn brake(&mut self);

    /// The reason for which the brake keeps a row, if it does.
    fn held(&self, row: &Row<'m>) -> Option<Reason>;

    /// The objects among these that are handed over, and to whom; `rows` are all, as decided so far.
    fn handed_over(&mut self, exchanged: Exchanged<'m>, rows: &[Row<'m>]) -> Exchanged<'m>;
}

/// All rows of a manifest, undecided. Namespaces stay as long as something is in them, and what pouch makes to deliver others as
/// long as something is delivered: these have no rows.
pub(super) fn rows(manifest: &Manifest) -> Vec<Row<'_>> {
    let objects = manifest.objects.iter().filter(|object| !object.key.kind.is_namespace() && !object.is_delivery());
    let of = |object| move |needed_by| Row { object, needed_by, becomes: Disposition::Open };
    objects.flat_map(|object| object.needed_by.iter().map(of(object))).collect()
}

/// Says of every row what becomes of it.
pub(super) fn fold<'m>(rows: &mut [Row<'m>], steps: &[Step], judge: &mut impl Judge<'m>) {
    for step in steps {
        match step {
            Step::Region if judge.is_retired() => {
                open(rows).for_each(|row| row.becomes = Disposition::Withdrawn(Gone::Retired));
            }
            Step::Region => {}
            Step::Selection if judge.is_limited() => {
                for row in open(rows) {
                    let is_fresh = judge.is_fresh_for(row);
                    row.becomes = if is_fresh { Disposition::Fresh } else { Disposition::NotSelected };
                }
            }
            Step::Selection => {}
            Step::Claims => open(rows).for_each(|row| row.becomes = judge.claimed(row)),
            Step::Revoked => rows.iter_mut().for_each(|row| revoke(row, judge)),
            Step::OwnOutput => {
                let read = judge.own_output(&leaving(rows, judge));
                let stays = rows.iter_mut().filter(|row| read.contains(&row.object.key));
                stays.for_each(|row| row.becomes = Disposition::Kept(Reason::OwnOutput));
            }
            Step::HandOver => hand_over(rows, judge),
            Step::Rest => {
                let rest = rows.iter_mut().filter(|row| matches!(row.becomes, Disposition::Open | Disposition::Left));
                rest.for_each(|row| row.becomes = Disposition::Withdrawn(Gone::Unneeded));
            }
            Step::Brake => {
                judge.brake();
                rows.iter_mut().for_each(|row| hold(row, judge));
            }
        }
    }
}

fn open<'r, 'm>(rows: &'r mut [Row<'m>]) -> impl Iterator<Item = &'r mut Row<'m>> {
    rows.iter_mut().filter(|row| row.becomes == Disposition::Open)
}

fn revoke<'m>(row: &mut Row<'m>, judge: &mut impl Judge<'m>) {
    match row.becomes {
        Disposition::Kept(_) | Disposition::Left if judge.is_revoked(row) => {
            row.becomes = Disposition::Withdrawn(Gone::Revoked);
        }
        Disposition::Kept(_) => judge.note_kept(row),
        Disposition::Open
        | Disposition::Left
        | Disposition::Fresh
        | Disposition::NotSelected
        | Disposition::Withdrawn(_) => {}
    }
}

/// Keeps what the brake holds. A claim that keeps something has its own reason, and a whole Secret is kept for all who have it.
fn hold<'m>(row: &mut Row<'m>, judge: &mut impl Judge<'m>) {
    let Some(reason) = judge.held(row) else { return };
    match row.becomes {
        Disposition::NotSelected | Disposition::Withdrawn(Gone::Retired) => {}
        Disposition::Kept(own) if own != Reason::HandedOver && reason != Reason::HeldDeletion => {}
        Disposition::Open
        | Disposition::Left
        | Disposition::Fresh
        | Disposition::Kept(_)
        | Disposition::Withdrawn(_) => row.becomes = Disposition::Kept(reason),
    }
}

fn hand_over<'m>(rows: &mut [Row<'m>], judge: &mut impl Judge<'m>) {
    let mut left: BTreeMap<&ObjectKey, BTreeSet<NeededBy>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.becomes == Disposition::Left) {
        left.entry(&row.object.key).or_default().insert(row.needed_by.clone());
    }
    let exchanged = leaving(rows, judge).into_iter();
    let exchanged = exchanged.filter_map(|object| Some((object, left.remove(&object.key)?))).collect();
    let stays: BTreeMap<&ObjectKey, BTreeSet<NeededBy>> =
        judge.handed_over(exchanged, rows).into_iter().map(|(object, names)| (&object.key, names)).collect();
    for row in rows.iter_mut().filter(|row| row.becomes == Disposition::Left) {
        if stays.get(&row.object.key).is_some_and(|names| names.contains(row.needed_by)) {
            row.becomes = Disposition::Kept(Reason::HandedOver);
        }
    }
}

/// The objects of which nothing stays so far, and that do not go with their region.
fn leaving<'m>(rows: &[Row<'m>], judge: &impl Judge<'m>) -> Vec<&'m ManifestObject> {
    let is_decided = |row: &Row<'_>| match row.becomes {
        Disposition::Fresh | Disposition::Kept(_) | Disposition::NotSelected => true,
        Disposition::Withdrawn(Gone::Retired) => true,
        Disposition::Open | Disposition::Left | Disposition::Withdrawn(_) => false,
    };
    let objects = rows.chunk_by(|one, other| core::ptr::eq(one.object, other.object));
    let leaving = objects.filter(|rows| !rows.iter().any(is_decided)).filter_map(|rows| rows.first());
    leaving.map(|row| row.object).filter(|object| !judge.is_fresh(&object.key)).collect()
}
