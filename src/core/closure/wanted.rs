//! Wanted: what closures ask of sources that are asked piece by piece.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::{Closure, close};
use crate::claim::Claim;
use crate::name::ObjectKey;
use crate::snapshot::Snapshot;
use crate::world::World;

/// Objects by the number of the source that is to be asked for them.
pub type BySource = BTreeMap<usize, BTreeSet<ObjectKey>>;

/// Adds objects whose contents were put aside, each to its source.
pub fn add_aside<'k>(to: &mut BySource, snapshot: &Snapshot, keys: impl Iterator<Item = &'k ObjectKey>) {
    for (index, key) in keys.filter_map(|key| Some((snapshot.aside_in(key)?, key))) {
        to.entry(index).or_default().insert(key.clone());
    }
}

/// The objects that claims want and no source has been asked for yet, and the claims that want them. Each closure that is
/// known goes to `known`.
pub fn wanted<'a>(
    world: &World<'_>,
    claims: impl Iterator<Item = &'a Claim>,
    mut known: impl FnMut(&Closure),
) -> (BySource, Vec<&'a Claim>) {
    let (mut wanted, mut wanting) = (BySource::new(), Vec::new());
    for claim in claims {
        let closure = close(world, claim);
        if closure.wanted.is_empty() {
            known(&closure);
            continue;
        }
        wanting.push(claim);
        for key in closure.wanted {
            for index in world.snapshot.unasked(&key) {
                wanted.entry(index).or_default().insert(key.clone());
            }
        }
    }
    (wanted, wanting)
}
