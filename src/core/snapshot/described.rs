//! Described: objects that stand only where the Clusters of single regions are described.

use alloc::vec::Vec;

use super::Snapshot;
use crate::config::Fleet;
use crate::name::{ObjectKey, Region};

impl Snapshot {
    /// The regions whose Clusters the sources of an object describe; none if it is in no source, or in one that describes
    /// none. Whoever rules one region must not decide for another.
    pub fn described<'f>(&self, fleet: &'f Fleet, key: &ObjectKey) -> Option<Vec<&'f Region>> {
        if !fleet.describes_regions() {
            return None;
        }
        let regions = self.agreeing(key).map(|copy| fleet.described_by(&copy.origin.source));
        regions.collect::<Option<Vec<_>>>().filter(|regions| !regions.is_empty())
    }
}
