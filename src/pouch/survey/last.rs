//! What an earlier run read, so that nothing older is read and published over it.

use std::collections::BTreeSet;

use pouch_core::stamp::{SourceStamp, Stamp};

/// What an earlier run read.
#[derive(Clone, Default)]
pub struct Last {
    /// Which state of each source, for each place that is published to.
    pub stamps: Vec<Stamp>,
    /// Sources, each with a state of it that the user accepts although it is no later one.
    pub accepted: BTreeSet<(String, String)>,
}

impl Last {
    /// The states with which one must be compared that was read now: of the same source, which is the same repository or
    /// cluster, by the same reference. None if they are the same, or the user accepts what was read.
    pub fn before(&self, now: &SourceStamp) -> impl Iterator<Item = &SourceStamp> {
        // A trailer of a commit says neither.
        let is_same = |before: &str, now: &str| before.is_empty() || before == now;
        let is_to_compare = move |before: &&SourceStamp| {
            is_same(&before.identity, &now.identity)
                && is_same(&before.reference, &now.reference)
                && before.mark() != now.mark()
        };
        let is_accepted = self.accepted.contains(&(now.name.clone(), now.mark()));
        let before = self.stamps.iter().filter(move |_| !is_accepted).filter_map(|stamp| stamp.source(&now.name));
        before.filter(is_to_compare)
    }

    /// What to do about a state that is no later one.
    pub fn help(&self, now: &SourceStamp) -> String {
        format!(
            "Run pouch again: a mirror or a cache may lag behind. If it stays so and is meant, because a history was \
             rewritten or a backup restored, pass --accept-source {}={} once.",
            now.name,
            now.mark()
        )
    }
}
