//! Telling: the sources that say which namespaces a region has, by the Namespaces in them.
//!
//! A source that describes the region's cluster says it, and so does the only one that may bring any Namespaces. Whose the
//! Namespaces of others are is open. A Namespace adds; that one has left is proved for what it led to alone.

use alloc::vec::Vec;

use crate::config::{Fleet, RegionConfig, Source, SourcePlace};
use crate::kinds;
use crate::name::{GroupKind, Namespace, ObjectKey, SourceName};
use crate::snapshot::Snapshot;

/// The sources of Namespaces, by what they say of one region.
#[derive(Default)]
pub struct Telling {
    /// Those whose Namespaces the region has.
    pub sources: Vec<SourceName>,
    /// Set if these describe the region's cluster.
    pub describe: bool,
    /// Set if one of these is the cluster itself, which has its namespaces whatever files say.
    pub is_live: bool,
    /// Set if these have Namespaces.
    pub have_some: bool,
    /// The one whose Namespaces it has, unless an AccessManagement that was not read selects among them.
    undecided: Option<SourceName>,
    /// All whose Namespaces it may have had, before another source, region or AccessManagement came.
    others: Vec<SourceName>,
}

/// A Namespace of a source that led to what is published.
#[derive(Clone, Copy)]
pub struct Led<'m> {
    /// The source that had it, where the bundle notes that.
    pub by: Option<&'m SourceName>,
}

impl Telling {
    /// Returns those that describe the cluster of a region, and may bring Namespaces.
    pub fn described(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig) -> Self {
        let describes = |source: &&Source| {
            let is_its = source.region.as_ref() == Some(&region.name);
            source.provides.cluster_scoped && (is_its || (region.management && snapshot.is_home(&source.name)))
        };
        let describing: Vec<&Source> = fleet.sources.iter().filter(describes).collect();
        let is_live = describing.iter().any(|source| matches!(source.place, SourcePlace::Cluster { .. }));
        let sources: Vec<_> = describing.into_iter().map(|source| source.name.clone()).collect();
        Self { describe: !sources.is_empty(), is_live, sources, ..Self::default() }
    }

    /// Returns the same, and the source that [no other](Fleet::only_source_of_namespaces) stands beside. What AccessManagement
    /// selects among is the management cluster's.
    pub fn implied(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig) -> Self {
        let mut telling = Self::described(fleet, snapshot, region);
        let may_have = |source: &&Source| fleet.may_have_namespaces_of(source, region);
        telling.others = fleet.sources.iter().filter(may_have).map(|source| source.name.clone()).collect();
        let Some(only) = fleet.only_source_of_namespaces(region).filter(|_| !telling.describe) else {
            return telling;
        };
        let access = GroupKind::new(kinds::K0RDENT, "AccessManagement");
        if region.management {
            telling.sources.push(only.name.clone());
        } else if snapshot.all(&access).next().is_none() {
            let may_lack = |source: &Source| snapshot.source_may_lack(&source.name, &access);
            match fleet.sources.iter().any(may_lack) {
                true => telling.undecided = Some(only.name.clone()),
                false => telling.sources.push(only.name.clone()),
            }
        }
        telling
    }

    /// Returns true if a Namespace that says something of the region may be there unread, or not as it stands.
    pub fn is_doubted(&self, snapshot: &Snapshot, namespace: &Namespace) -> bool {
        let key = ObjectKey::namespace(namespace);
        self.sources.iter().any(|source| snapshot.is_silent_on(source, &key))
            || self.undecided.iter().any(|source| may_hold(snapshot, source, &key))
    }

    /// Returns true if a Namespace that led to something may still be where it led from, or where Namespaces of the region may
    /// be. Where the sources that say which there are have none at all, that says nothing of one.
    pub(super) fn may_still_lead(&self, snapshot: &Snapshot, namespace: &Namespace, led: Led<'_>) -> bool {
        let key = ObjectKey::namespace(namespace);
        let others = self.others.iter().filter(|_| !(self.describe && self.have_some));
        (!self.sources.is_empty() && !self.have_some)
            || self.sources.iter().chain(others).chain(led.by).any(|source| may_hold(snapshot, source, &key))
    }
}

fn may_hold(snapshot: &Snapshot, source: &SourceName, key: &ObjectKey) -> bool {
    snapshot.copies(key).any(|copy| copy.origin.source == *source) || snapshot.is_silent_on(source, key)
}
