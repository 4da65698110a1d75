//! Wanted: what closures ask of sources that are asked piece by piece.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::close;
use crate::claim::Claim;
use crate::name::ObjectKey;
use crate::snapshot::Snapshot;
use crate::world::World;

/// Objects by the number of the source that is to be asked for them.
pub type BySource = BTreeMap<usize, BTreeSet<ObjectKey>>;

/// The wishes of claims that no source has been asked for yet.
#[derive(Default)]
pub struct Wanted<'a> {
    /// The objects without which closures are not known.
    pub asked: BySource,
    /// The claims that want them.
    pub wanting: Vec<&'a Claim>,
    /// Contents that were put aside, of those whose closures are known.
    pub unread: BySource,
}

/// Adds objects whose contents were put aside, each to its source.
pub fn add_aside<'k>(to: &mut BySource, snapshot: &Snapshot, keys: impl Iterator<Item = &'k ObjectKey>) {
    for (index, key) in keys.filter_map(|key| Some((snapshot.aside_in(key)?, key))) {
        to.entry(index).or_default().insert(key.clone());
    }
}

/// Closes claims to see what they want.
pub fn wanted<'a>(world: &World<'_>, claims: impl Iterator<Item = &'a Claim>) -> Wanted<'a> {
    let mut wanted = Wanted::default();
    for claim in claims {
        let closure = close(world, claim);
        let is_known = closure.wanted.is_empty();
        if is_known {
            add_aside(&mut wanted.unread, world.snapshot, closure.unread(world.snapshot));
        } else {
            for key in &closure.wanted {
                for index in world.snapshot.unasked(key) {
                    wanted.asked.entry(index).or_default().insert(key.clone());
                }
            }
            wanted.wanting.push(claim);
        }
    }
    wanted
}
