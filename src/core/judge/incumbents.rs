//! Incumbents: what is published of a region, as far as judging needs it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::case::{Case, Verdict};
use crate::name::{Claimant, ObjectKey, ReadFrom};

/// What is published of a region, as far as judging needs it.
#[derive(Default)]
pub struct Incumbents {
    /// The claimants that have something published.
    pub claimants: BTreeSet<Claimant>,
    /// For every published object, where it was read.
    pub sources: BTreeMap<ObjectKey, ReadFrom>,
    /// For every object in guests, by the group that has it there, who needs it and where it was read for him.
    pub in_guests: BTreeMap<(Claimant, ObjectKey), Vec<(Claimant, ReadFrom)>>,
    /// For every published object, the size of its file in bytes and who needs it.
    pub files: BTreeMap<ObjectKey, (usize, Vec<Claimant>)>,
}

impl Incumbents {
    /// Supposes that every resolved claim is published already.
    pub fn suppose(cases: &[Case]) -> Self {
        let mut incumbents = Self::default();
        for case in cases.iter().filter(|case| case.verdict == Verdict::Admitted) {
            incumbents.claimants.insert(case.claim.by.clone());
        }
        incumbents
    }

    /// The size of a published object's file in bytes.
    pub(super) fn bytes(&self, key: &ObjectKey) -> Option<usize> {
        self.files.get(key).map(|(bytes, _)| *bytes)
    }

    /// What each claimant has published.
    pub(super) fn by_claimant(&self) -> BTreeMap<&Claimant, BTreeSet<&ObjectKey>> {
        let mut published: BTreeMap<&Claimant, BTreeSet<&ObjectKey>> = BTreeMap::new();
        for (key, (_, claimants)) in &self.files {
            for claimant in claimants {
                published.entry(claimant).or_default().insert(key);
            }
        }
        published
    }
}
