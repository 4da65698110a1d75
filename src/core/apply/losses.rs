//! Losses: what claimants lose of a region where objects are taken away from it (DESIGN §2.8).
//!
//! The inventory notes who needed an object. Which chain led there it does not note: so an object is exchanged where its
//! claimant has another of the same kind now.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::Bundle;
use crate::config::Deletions;
use crate::name::{Claimant, GroupKind, ObjectKey};
use crate::region::accounts::{Account, Whose};
use crate::region::change::Loss;

/// Objects that were brought and stand there, and who needed them then.
pub(super) type Stood<'a> = BTreeMap<&'a ObjectKey, &'a BTreeSet<Claimant>>;

/// What becomes of objects that are taken away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// They are deleted for good.
    Gone,
    /// They are made anew.
    Anew,
}

/// The accounts of a region, of which these objects are taken away.
///
/// An object of which nobody knows who needed it, since an older pouch brought it, counts by itself.
pub(super) fn accounts(
    stood: &Stood<'_>,
    bundle: &Bundle<'_>,
    (going, end): (&BTreeSet<&ObjectKey>, End),
    budget: &Deletions,
) -> BTreeMap<Whose, Account> {
    let mut accounts: BTreeMap<Whose, Account> = BTreeMap::new();
    let mut had: BTreeMap<&Claimant, BTreeSet<&ObjectKey>> = BTreeMap::new();
    for (key, claimants) in stood {
        claimants.iter().for_each(|by| _ = had.entry(by).or_default().insert(key));
        if claimants.is_empty() {
            let account = accounts.entry(Whose::Anybody).or_insert_with(|| Account::new(Whose::Anybody, 0));
            let lost = Some(*key).filter(|key| going.contains(*key)).into_iter().collect();
            add(account, &lost, end == End::Gone, budget);
        }
    }
    let mut has: BTreeMap<&Claimant, BTreeSet<&ObjectKey>> = BTreeMap::new();
    for wanted in &bundle.objects {
        wanted.claimants.iter().for_each(|by| _ = has.entry(by).or_default().insert(wanted.key));
    }
    let nothing = BTreeSet::new();
    for (by, had) in &had {
        let has = has.get(by).unwrap_or(&nothing);
        let lost = match end {
            End::Gone => lost(had, has, going),
            End::Anew => had.iter().filter(|key| going.contains(**key)).copied().collect(),
        };
        let account = accounts.entry(Whose::of(by)).or_insert_with_key(|whose| Account::new(whose.clone(), 0));
        add(account, &lost, end == End::Gone && has.is_empty(), budget);
    }
    for by in has.keys().filter(|by| !had.contains_key(*by)) {
        if let Some(account) = accounts.get_mut(&Whose::of(by)) {
            account.claimants = account.claimants.saturating_add(1);
        }
    }
    accounts
}

/// What a claimant had, goes, and has no other of its kind in its place.
fn lost<'a>(
    had: &BTreeSet<&'a ObjectKey>,
    has: &BTreeSet<&ObjectKey>,
    going: &BTreeSet<&ObjectKey>,
) -> BTreeSet<&'a ObjectKey> {
    let mut kinds: BTreeMap<&GroupKind, BTreeSet<&ObjectKey>> = BTreeMap::new();
    for key in had.iter().filter(|key| going.contains(**key)) {
        kinds.entry(&key.kind).or_default().insert(key);
    }
    kinds.retain(|kind, gone| has.iter().filter(|key| key.kind == **kind && !had.contains(**key)).count() < gone.len());
    kinds.into_values().flatten().collect()
}

/// Adds a claimant that loses these objects.
fn add(account: &mut Account, lost: &BTreeSet<&ObjectKey>, is_gone: bool, budget: &Deletions) {
    account.claimants = account.claimants.saturating_add(1);
    account.lost = account.lost.saturating_add(budget.weight(lost.len()));
    account.gone = account.gone.saturating_add(usize::from(is_gone && !lost.is_empty()));
    let loss = |key: &&ObjectKey| Loss { key: (*key).clone(), entry: None, sha256: String::new() };
    account.losses.extend(lost.iter().map(loss));
}
