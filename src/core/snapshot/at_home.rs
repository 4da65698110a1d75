//! At home: what is on the management cluster, where the configuration has that as a region.

use super::{Lookup, Snapshot, Unread};
use crate::config::Fleet;
use crate::finding::Origin;
use crate::name::{ObjectKey, Region, SourceName};
use crate::object::Object;

impl Snapshot {
    /// Why nobody knows which source is the management cluster, if that is so and the configuration has it as a region.
    pub fn homeless(&self) -> Option<&str> {
        self.home.doubt()
    }

    /// The UID of the management cluster, if the configuration has it as a region and a source is it.
    pub fn management_cluster(&self) -> Option<&str> {
        self.home.cluster()
    }

    /// Where the management cluster has an object that pouch itself published there, so that it is no source of it.
    pub fn own_output(&self, key: &ObjectKey) -> Option<&Origin> {
        self.home.own(key)
    }

    /// Whether an object was read from the management cluster, and from nowhere else.
    pub fn is_only_at_home(&self, key: &ObjectKey) -> bool {
        let held = self.objects.get(key);
        held.is_some_and(|held| held.copies().all(|copy| self.home.is(&copy.origin.source)))
    }

    /// Whether an object was read from the cluster of a region, and from nowhere else.
    pub fn is_only_there(&self, fleet: &Fleet, region: &Region, key: &ObjectKey) -> bool {
        let is_there = |name: &SourceName| {
            fleet.sources.iter().any(|source| source.name == *name && fleet.is_cluster_of(source, region))
        };
        let held = self.objects.get(key);
        held.is_some_and(|held| held.copies().all(|copy| is_there(&copy.origin.source)))
    }

    /// Whether a source other than the management cluster has an object.
    pub fn is_elsewhere(&self, key: &ObjectKey) -> bool {
        self.copies(key).any(|copy| !self.home.is(&copy.origin.source))
    }

    /// The object that the management cluster has under a key, if it was read and is not pouch's.
    pub fn at_home(&self, key: &ObjectKey) -> Option<&Object> {
        self.copies(key).find(|copy| self.home.is(&copy.origin.source))
    }

    /// Looks a key up on the management cluster alone; what pouch published there is absent, and so is everything where no
    /// source is that cluster. What none of its sources may provide is unread.
    pub fn look_up_at_home(&self, key: &ObjectKey) -> Lookup<'_> {
        let mut unread = None;
        let mut at_home = self.providers(key).filter(|(_, state)| self.home.is(&state.name)).peekable();
        if let Some((source, reason)) = self.home.unseen()
            && at_home.peek().is_none()
        {
            return Lookup::Unread(Unread { source, reason: Some(reason) });
        }
        for (_, state) in at_home {
            match state.doubt(key) {
                Some(doubt) if doubt.is_open() => return Lookup::Unasked,
                Some(doubt) => unread = unread.or(Some(Unread { source: &state.name, reason: doubt.reason })),
                None => {}
            }
        }
        match (unread, self.at_home(key)) {
            (Some(unread), _) => Lookup::Unread(unread),
            (None, Some(object)) => Lookup::Found(object),
            (None, None) => Lookup::Absent,
        }
    }
}
