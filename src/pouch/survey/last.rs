//! What an earlier run read, so that nothing older is read and published over it.

use std::collections::BTreeSet;

use pouch_core::stamp::{SourceStamp, SourceState, Stamp};

/// What an earlier run read.
#[derive(Clone, Default)]
pub struct Last {
    /// Which state of each source, for each place that is published to.
    pub stamps: Vec<Stamp>,
    /// Sources, each with a state of it that the user accepts although it is no later one.
    pub accepted: BTreeSet<(String, String)>,
    /// The identities of sources that the user accepts in the place of others.
    pub sources: BTreeSet<String>,
}

impl Last {
    /// Makes one of what was read, with what the user accepts: states of sources, and for regions identities of sources.
    pub fn new(stamps: Vec<Stamp>, older: &BTreeSet<(String, String)>, sources: &BTreeSet<(String, String)>) -> Self {
        let sources = sources.iter().map(|(_, identity)| identity.clone()).collect();
        Self { stamps, accepted: older.clone(), sources }
    }

    /// The other states that were read where one was read now: of the same cluster, or the same reference of the same
    /// repository, whatever the source is called. None if the user accepts what was read.
    pub fn before(&self, now: &SourceStamp) -> BTreeSet<&SourceState> {
        if self.accepts(now) {
            return BTreeSet::new();
        }
        let all = self.stamps.iter().flat_map(|stamp| &stamp.sources);
        all.filter(|before| before.place == now.place)
            .map(|before| &before.state)
            .filter(|state| **state != now.state)
            .collect()
    }

    /// Returns true if another cluster was read as a source of this name, and this one never was.
    pub fn is_another_cluster(&self, name: &str, identity: &str) -> bool {
        let place = SourceStamp::of_cluster(name, identity, 0).place;
        let all = self.stamps.iter().flat_map(|stamp| &stamp.sources);
        let of_source = all.filter(|before| before.name == name && matches!(before.state, SourceState::Version(_)));
        let places: BTreeSet<&str> = of_source.map(|before| &*before.place).collect();
        !places.is_empty() && !places.contains(&*place) && !self.sources.contains(identity)
    }

    /// The state of a cluster moves on all the time, so that a later one than what was accepted is accepted.
    fn accepts(&self, now: &SourceStamp) -> bool {
        let of_source = self.accepted.iter().filter(|(name, _)| *name == now.name);
        let mut states = of_source.filter_map(|(_, state)| SourceState::parse(state));
        states.any(|accepted| match (&accepted, &now.state) {
            (SourceState::Version(accepted), SourceState::Version(version)) => version >= accepted,
            (accepted, state) => accepted == state,
        })
    }

    /// What to do about a state that is no later one.
    pub fn help(&self, now: &SourceStamp) -> String {
        format!(
            "Run pouch again: a mirror or a cache may lag behind. If it stays so and is meant, because a history was \
             rewritten or a backup restored, pass {} once.",
            Self::flag(now)
        )
    }

    /// The flag that accepts a state.
    pub fn flag(now: &SourceStamp) -> String {
        format!("--accept-older {}={}", now.name, now.state)
    }
}
