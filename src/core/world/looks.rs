//! Looks: what looking into regions' clusters found in this run, or why nobody could look.

use alloc::collections::BTreeMap;

use crate::config::Fleet;
use crate::finding::Origin;
use crate::name::Region;
use crate::node::Node;
use crate::object::{Object, admit};
use crate::snapshot::{Reason, Snapshot};

/// What looking into regions' clusters found: RegionFacts, or why there are none.
#[derive(Default)]
pub struct Looks {
    seen: BTreeMap<Region, Result<Object, Reason>>,
    /// Why no region was looked into, of those that should be.
    closed: Option<Reason>,
}

impl Looks {
    /// Looks that nobody may have. What a source says of a region counts all the same.
    pub fn closed(reason: Reason) -> Self {
        Self { closed: Some(reason), ..Self::default() }
    }

    /// Why nobody may look, if that is so.
    pub(super) fn why_closed(&self) -> Option<&Reason> {
        self.closed.as_ref()
    }

    /// Adds what was found of one region.
    pub fn add(&mut self, fleet: &Fleet, snapshot: &Snapshot, region: Region, found: Result<(Node, Origin), Reason>) {
        let seen = found.and_then(|(document, origin)| {
            admit(document, origin, &snapshot.scopes, None, fleet).map_err(|_| {
                Reason::new("what was found is no RegionFacts", "This is a bug in pouch; please report it.")
            })
        });
        self.seen.insert(region, seen);
    }

    /// What was found of a region; none where it was not looked into.
    pub fn of(&self, region: &Region) -> Option<Result<&Object, &Reason>> {
        self.seen.get(region).map(Result::as_ref)
    }
}
