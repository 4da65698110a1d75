//! Losses: what claimants lose of a region where objects are taken away from it (DESIGN §2.8).
//!
//! The inventory notes who needed an object. Which chain led there it does not note: so an object is exchanged where its
//! claimant has another of the same kind now.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::inventory::Needed;
use crate::config::Deletions;
use crate::name::{Claimant, GroupKind, ObjectKey};
use crate::region::accounts::{Account, Whose};
use crate::region::change::Loss;

/// Objects that were brought and stand there, and who needed them then.
pub(super) type Stood<'a> = BTreeMap<&'a ObjectKey, &'a Needed>;

/// What becomes of objects that are taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// They are deleted for good.
    Gone,
    /// They are made anew.
    Anew,
}

/// What claimants lose of a region.
pub(super) struct Lost<'a> {
    /// The accounts that they belong to.
    pub(super) accounts: Vec<Account>,
    /// The objects that are exchanged, each with those that take its place.
    pub(super) exchanged: BTreeMap<&'a ObjectKey, BTreeSet<&'a ObjectKey>>,
}

/// Weighs objects that are taken away; `has` are the objects of the bundle that stand there or can be brought.
///
/// An object of which nobody knows who needed it, since an older pouch brought it, counts by itself.
pub(super) fn lost<'a>(
    stood: &Stood<'a>,
    has: impl Iterator<Item = (&'a ObjectKey, &'a [Claimant])>,
    (going, end): (&BTreeSet<&ObjectKey>, End),
    budget: &Deletions,
) -> Lost<'a> {
    let mut accounts: BTreeMap<Whose, Account> = BTreeMap::new();
    let mut had: BTreeMap<&Claimant, BTreeSet<&'a ObjectKey>> = BTreeMap::new();
    for (key, needed) in stood {
        match needed {
            Needed::By(claimants) => claimants.iter().for_each(|by| _ = had.entry(by).or_default().insert(key)),
            // It counts among all that stands there.
            Needed::Unknown => {
                let account = Account::new(Whose::Anybody, stood.len());
                let account = accounts.entry(Whose::Anybody).or_insert(account);
                account.unclaimed.extend(Some(loss(key)).filter(|_| going.contains(key)));
            }
            Needed::Exchanged => {}
        }
    }
    if let Some(account) = accounts.get_mut(&Whose::Anybody) {
        account.lost = account.unclaimed.len();
        account.gone = if end == End::Gone { account.lost } else { 0 };
    }
    let mut now: BTreeMap<&Claimant, BTreeSet<&'a ObjectKey>> = BTreeMap::new();
    for (key, claimants) in has {
        claimants.iter().for_each(|by| _ = now.entry(by).or_default().insert(key));
    }
    let mut exchanged = BTreeMap::new();
    for (by, had) in had {
        let now = now.get(by).cloned().unwrap_or_default();
        let going: BTreeSet<&'a ObjectKey> = had.iter().filter(|key| going.contains(**key)).copied().collect();
        let losses = match end {
            End::Gone => without_exchanged(&going, &now, &had, &mut exchanged),
            End::Anew => going,
        };
        let account = accounts.entry(Whose::of(by)).or_insert_with_key(|whose| Account::new(whose.clone(), 0));
        account.claimants += 1;
        account.lost += budget.weight(losses.len());
        let is_gone = end == End::Gone && now.is_empty() && !losses.is_empty();
        account.gone += usize::from(is_gone);
        if !losses.is_empty() {
            account.losses.insert(by.clone(), losses.into_iter().map(loss).collect());
        }
    }
    Lost { accounts: accounts.into_values().collect(), exchanged }
}

fn loss(key: &ObjectKey) -> Loss {
    Loss { key: key.clone(), entry: None, sha256: String::new() }
}

/// What goes of a claimant and has no other of its kind in its place.
fn without_exchanged<'a>(
    going: &BTreeSet<&'a ObjectKey>,
    now: &BTreeSet<&'a ObjectKey>,
    had: &BTreeSet<&'a ObjectKey>,
    exchanged: &mut BTreeMap<&'a ObjectKey, BTreeSet<&'a ObjectKey>>,
) -> BTreeSet<&'a ObjectKey> {
    let mut kinds: BTreeMap<&GroupKind, BTreeSet<&'a ObjectKey>> = BTreeMap::new();
    going.iter().for_each(|key| _ = kinds.entry(&key.kind).or_default().insert(key));
    let mut lost = BTreeSet::new();
    for (kind, gone) in kinds {
        let instead: BTreeSet<&'a ObjectKey> =
            now.iter().filter(|key| key.kind == *kind && !had.contains(**key)).copied().collect();
        if instead.len() < gone.len() {
            lost.extend(gone);
        } else {
            gone.into_iter().for_each(|key| exchanged.entry(key).or_default().extend(&instead));
        }
    }
    lost
}
