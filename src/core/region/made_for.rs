//! Made for: whose a cluster's UID is where several regions have it, by what is published of them.
//!
//! A cluster says its UID itself, so whoever rules one can say that of another. What is published of a region names the cluster
//! that it was made for.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::published::{Published, State};
use crate::config::RegionConfig;
use crate::finding::Finding;
use crate::name::Region;
use crate::world::World;
use crate::world::cluster::ClusterFacts;
use crate::world::twins::Twin;

/// The UIDs of clusters that published bundles were made for; a region of which this is unknown is not there.
#[derive(Default)]
pub struct MadeFor(BTreeMap<Region, BTreeSet<String>>);

impl MadeFor {
    /// Asks what is `published` of the regions that have a UID in common with others, and of no other; none where that cannot be
    /// seen from here.
    ///
    /// # Errors
    /// Those of `published`.
    pub fn ask<E>(
        world: &World<'_>,
        mut published: impl FnMut(&RegionConfig) -> Result<Option<Published>, E>,
    ) -> Result<Self, E> {
        let mut made_for = BTreeMap::new();
        let is_asked = |region: &&RegionConfig| {
            let cluster = world.cluster(&region.name);
            cluster.is_some_and(|cluster| cluster.twins.iter().any(|twin| twin.uid.is_some()))
        };
        for region in world.fleet.regions.values().filter(is_asked) {
            if let Some(uids) = published(region)?.and_then(|published| uids(region, &published)) {
                made_for.insert(region.name.clone(), uids);
            }
        }
        Ok(Self(made_for))
    }

    /// The reason for which a region stays as it is published: it and others are one cluster, and it is not known to be its own.
    pub(super) fn hold(&self, region: &Region, cluster: &ClusterFacts) -> Option<Finding> {
        let twin = cluster.twins.iter().find(|twin| !self.is_own(region, twin))?;
        Some(twin.finding.clone())
    }

    /// Returns true if what a region has in common with others is its own: its bundle was made for that cluster, and each
    /// of the others for another one, or for none yet.
    fn is_own(&self, region: &Region, twin: &Twin) -> bool {
        let Some(uid) = &twin.uid else { return false };
        let is_right = |other: &Region| self.0.get(other).is_some_and(|had| had.contains(uid) == (other == region));
        twin.regions.iter().all(is_right)
    }
}

/// The UIDs of the cluster that a region's bundle was made for; none where nobody vouches for what stands there.
fn uids(region: &RegionConfig, published: &Published) -> Option<BTreeSet<String>> {
    let manifest = match &published.state {
        State::Nothing if published.odd.is_nothing() => return Some(BTreeSet::new()),
        State::Bundle(manifest) => manifest,
        State::Nothing | State::Unsigned | State::Newer(_) => return None,
    };
    // The management cluster is one of the sources.
    let sources = manifest.sources.iter().filter(|_| region.management).map(|source| source.identity.clone());
    Some(manifest.cluster.iter().cloned().chain(sources).collect())
}
