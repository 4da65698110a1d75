//! Wanted: what closures ask of sources that are asked piece by piece.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::close;
use crate::claim::Claim;
use crate::name::ObjectKey;
use crate::world::World;

/// The objects that claims want and no source has been asked for yet, by source, and the claims that want them.
pub fn wanted<'a>(
    world: &World<'_>,
    claims: impl Iterator<Item = &'a Claim>,
) -> (BTreeMap<usize, BTreeSet<ObjectKey>>, Vec<&'a Claim>) {
    let mut wanted: BTreeMap<usize, BTreeSet<ObjectKey>> = BTreeMap::new();
    let mut wanting = Vec::new();
    for claim in claims {
        let closure = close(world, claim);
        if closure.wanted.is_empty() {
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
