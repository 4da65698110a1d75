//! Taking: which regions take the Clusters of which source.

use super::clusters::{TakenClusters, taken};
use super::{Fleet, RegionConfig, Source, SourcePlace};
use crate::kinds;
use crate::name::{GroupKind, Region, SourceName};

impl Fleet {
    /// Whether every object of a kind is read, whoever asks for it.
    pub fn lists(&self, kind: &GroupKind) -> bool {
        kinds::is_listed(kind) || (kinds::is_of_clusters(kind) && self.names_clusters()) || self.takes_templates(kind)
    }

    /// Whether some region takes ManagedResources.
    pub fn names_templates(&self) -> bool {
        self.regions.values().any(|region| !region.templates.patterns().is_empty())
    }

    /// Whether objects of a kind are ManagedResources, and some region takes such.
    pub fn takes_templates(&self, kind: &GroupKind) -> bool {
        kinds::is_managed_resource(kind) && self.names_templates()
    }

    /// Whether some region takes Clusters.
    pub fn names_clusters(&self) -> bool {
        self.regions.values().any(|region| !region.clusters.is_empty())
    }

    /// The regions that take a Cluster of a source, named as `namespace/name`, each with the entry by which it does. A
    /// source that describes one region's Clusters has none for others.
    pub fn taking<'a>(
        &'a self,
        source: &SourceName,
        cluster: &str,
    ) -> impl Iterator<Item = (&'a RegionConfig, &'a TakenClusters)> {
        let known = self.sources.iter().find(|known| known.name == *source);
        let own = known.and_then(|source| source.region.as_ref());
        let regions = self.regions.values().filter(move |region| own.is_none_or(|own| *own == region.name));
        regions.filter_map(move |region| Some((region, taken(&region.clusters, cluster)?)))
    }

    /// Whether a source is the cluster of a region, and not k0rdent's own.
    pub fn is_cluster_of(&self, source: &Source, region: &Region) -> bool {
        let is_live = matches!(source.place, SourcePlace::Cluster { .. });
        let is_management = self.regions.get(region).is_some_and(|region| region.management);
        is_live && source.region.as_ref() == Some(region) && !is_management
    }

    /// Whether a source is the cluster of some region, and not k0rdent's own.
    pub fn is_regional(&self, source: &Source) -> bool {
        source.region.as_ref().is_some_and(|region| self.is_cluster_of(source, region))
    }

    /// Whether a source is trusted with templates for a region: with cluster-scoped objects, and of no other region alone.
    pub fn trusts_with_templates(&self, source: &SourceName, region: &Region) -> bool {
        let source = self.sources.iter().find(|known| known.name == *source);
        source.is_some_and(|it| it.provides.cluster_scoped && it.region.as_ref().is_none_or(|own| own == region))
    }

    /// Whether some source describes the Clusters of one region, and is trusted with no more.
    pub fn describes_regions(&self) -> bool {
        self.sources.iter().any(|source| source.described().is_some())
    }

    /// The region whose Clusters a source describes, if it is trusted with no more than that.
    pub fn described_by(&self, source: &SourceName) -> Option<&Region> {
        self.sources.iter().find(|known| known.name == *source)?.described()
    }
}

impl Source {
    /// The region whose Clusters the source describes, if it is trusted with no more than that: what its Credentials ask
    /// for is held to that region, and to what the source itself has.
    pub fn described(&self) -> Option<&Region> {
        self.region.as_ref().filter(|_| !self.provides.cluster_scoped)
    }
}
