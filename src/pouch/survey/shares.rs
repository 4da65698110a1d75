//! Shares: the memory and the space that a run has, and how its sources share them.
//!
//! Each source may take what there would be for it if all that are still to come took the same; what one leaves is there
//! for those after it. Those that are trusted with everything come first. So none takes what another was to have, however
//! much it holds.

use pouch_core::config::{Bytes, Fleet};

use crate::child::Room;
use crate::scratch::Space;
use crate::session::Session;

/// The number of servers that are asked at once.
pub const AT_ONCE: usize = 8;

/// The memory that git may have at least: with less it fetches nothing.
const LEAST_OF_GIT: usize = 64 << 20;

/// The room that a run has for all its sources together.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// The bytes of memory for what is read of them.
    pub memory: usize,
    /// The bytes of files for what is fetched of them.
    pub space: usize,
}

impl Budget {
    /// Takes what the configuration says, or else half of the memory and of the space that the system has.
    pub fn of(session: &Session, fleet: &Fleet) -> Self {
        let said = |said: Option<Bytes>| said.map(|Bytes(bytes)| bytes);
        let memory = session.ambient.memory();
        let half = |bytes: u64| usize::try_from(bytes / 2).unwrap_or(usize::MAX);
        let free = Space::of_system().map_or(usize::MAX, |space| match half(space.free) {
            // What is read needs most of it.
            free if space.is_memory => free.min(memory / 2),
            free => free,
        });
        Self { memory: said(fleet.limits.memory).unwrap_or(memory), space: said(fleet.limits.space).unwrap_or(free) }
    }

    /// The part of one of so many programs, of which a few run side by side.
    pub(super) fn room(self, count: usize) -> Room {
        self.room_of(self.space / count.max(1), count.min(AT_ONCE))
    }

    /// The same, with this space.
    pub(super) fn room_of(self, space: usize, at_once: usize) -> Room {
        let memory = (self.memory / at_once.max(1)).max(LEAST_OF_GIT);
        let bytes = |bytes: usize| Some(u64::try_from(bytes).unwrap_or(u64::MAX));
        Room { memory: bytes(memory), file: bytes(space) }
    }
}

/// An amount that is shared by those who come one after the other.
pub struct Shares {
    left: usize,
    to_come: usize,
}

impl Shares {
    /// Shares an amount among so many.
    pub fn new(left: usize, to_come: usize) -> Self {
        Self { left, to_come }
    }

    /// The most that the next one may take.
    pub fn next(&self) -> usize {
        self.left / self.to_come.max(1)
    }

    /// Notes what the next one took.
    pub fn took(&mut self, amount: usize) {
        self.left = self.left.saturating_sub(amount);
        self.to_come = self.to_come.saturating_sub(1);
    }
}

/// The numbers of all sources, in the order in which they take: those that are trusted with everything, then the others.
pub fn turns(fleet: &Fleet) -> Vec<usize> {
    let is_trusted = |index: &usize| fleet.sources.get(*index).is_some_and(|source| source.provides.cluster_scoped);
    let (mut turns, others): (Vec<usize>, Vec<usize>) = (0..fleet.sources.len()).partition(is_trusted);
    turns.extend(others);
    turns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_takes_all_it_may_leaves_the_same_to_each_other() {
        let mut shares = Shares::new(100, 4);
        assert_eq!(shares.next(), 25);
        shares.took(25);
        assert_eq!(shares.next(), 25);
        // What one leaves is there for the others, and who takes more than it may costs them alike.
        shares.took(1);
        assert_eq!(shares.next(), 37);
        shares.took(60);
        assert_eq!(shares.next(), 14);
        shares.took(14);
        assert_eq!(Shares::new(0, 0).next(), 0);
    }

    #[test]
    fn git_may_have_what_it_needs_to_fetch_anything() {
        let budget = Budget { memory: 256 << 20, space: 1 << 30 };
        assert_eq!(budget.room(2), Room { memory: Some(128 << 20), file: Some(512 << 20) });
        assert_eq!(budget.room(100), Room { memory: Some(64 << 20), file: Some((1 << 30) / 100) });
        assert_eq!(budget.room(0), Room { memory: Some(256 << 20), file: Some(1 << 30) });
    }
}
