//! Siblings: the rulings on the entries of one group of guests in one namespace.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::judge::case::Ruling;
use crate::name::Claimant;

/// The rulings on what groups of guests ask for, by the group in its namespace.
pub(super) struct Siblings<'r, 'c>(BTreeMap<Claimant, Vec<&'r Ruling<'c>>>);

impl<'r, 'c> Siblings<'r, 'c> {
    pub(super) fn of(rulings: &'r [Ruling<'c>]) -> Self {
        let mut of: BTreeMap<Claimant, Vec<&Ruling<'c>>> = BTreeMap::new();
        for ruling in rulings.iter().filter(|ruling| ruling.case.claim.by.group().is_some()) {
            of.entry(ruling.case.claim.by.whole().into_owned()).or_default().push(ruling);
        }
        Self(of)
    }

    /// All of the group that a claimant belongs to; nothing for others.
    pub(super) fn of_group(&self, by: &Claimant) -> &[&'r Ruling<'c>] {
        self.0.get(&*by.whole()).map(Vec::as_slice).unwrap_or_default()
    }

    /// The ruling on an entry.
    pub(super) fn own(&self, by: &Claimant) -> Option<&'r Ruling<'c>> {
        self.of_group(by).iter().find(|ruling| ruling.case.claim.by == *by).copied()
    }
}
