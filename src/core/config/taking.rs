//! Taking: which regions take the Clusters of which source.

use super::clusters::TakenClusters;
use super::{Fleet, RegionConfig, RegionState, Source, SourcePlace};
use crate::capi::cluster::is_cluster;
use crate::capi::resource_set::is_resource_set;
use crate::kinds;
use crate::name::{Claimant, GroupKind, Region, SourceName};

impl Source {
    /// Returns true if a source may bring templates for a region, and Namespaces of it.
    fn may_bring_templates(&self, region: &Region) -> bool {
        self.provides.cluster_scoped && self.region.as_ref().is_none_or(|own| own == region)
    }
}

impl Fleet {
    /// Whether every object of a kind is read, whoever asks for it.
    pub fn lists(&self, kind: &GroupKind) -> bool {
        kinds::is_listed(kind)
            || ((kinds::is_of_clusters(kind) || kinds::is_of_machines(kind)) && self.names_clusters())
            || (is_resource_set(kind) && self.names_resource_sets())
            || (is_cluster(kind) && self.looks_for_guests())
            || (self.syncs && kinds::is_of_sync_rules(kind))
            || self.takes_templates(kind)
    }

    /// Whether the claimants of a kind in a source count: those that are no Credentials do so only where a region takes
    /// some.
    pub fn takes(&self, source: &SourceName, kind: &GroupKind) -> bool {
        let is_set = is_resource_set(kind);
        let takes = |region: &RegionConfig| match is_set {
            true => !region.resource_sets.is_empty(),
            false => !region.clusters.is_empty(),
        };
        let is_cluster = is_cluster(kind);
        let tells = || is_cluster && self.looks_in(source);
        (!is_set && !is_cluster) || tells() || self.regions_of(source).any(takes)
    }

    /// Whether some region takes ClusterResourceSets.
    pub fn names_resource_sets(&self) -> bool {
        self.regions.values().any(|region| !region.resource_sets.is_empty())
    }

    /// The regions that take a ClusterResourceSet of a source, named as `namespace/name`.
    pub fn taking_sets<'a>(&'a self, source: &SourceName, set: &str) -> impl Iterator<Item = &'a RegionConfig> {
        self.regions_of(source).filter(move |region| region.resource_sets.matches(set))
    }

    /// The regions whose claimants a source may have: all, or the one that it describes.
    fn regions_of<'a>(&'a self, source: &SourceName) -> impl Iterator<Item = &'a RegionConfig> {
        let own = self.source(source).and_then(|source| source.region.as_ref());
        self.regions.values().filter(move |region| own.is_none_or(|own| *own == region.name))
    }

    /// Whether some region takes ManagedResources, or some group of guests does.
    pub fn names_templates(&self) -> bool {
        self.regions.values().any(|region| self.renders(region))
    }

    /// Whether objects of a kind are ManagedResources, and some region takes such.
    pub fn takes_templates(&self, kind: &GroupKind) -> bool {
        kinds::is_managed_resource(kind) && self.names_templates()
    }

    /// Whether some region takes Clusters.
    pub fn names_clusters(&self) -> bool {
        self.regions.values().any(|region| !region.clusters.is_empty())
    }

    /// Whether some region names ResourceSyncRules.
    pub fn names_sync_rules(&self) -> bool {
        self.syncs
    }

    /// Whether some region names claimants other than Credentials.
    pub fn names_others(&self) -> bool {
        self.names_clusters()
            || self.names_resource_sets()
            || self.names_sync_rules()
            || self.names_templates()
            || !self.guests.is_empty()
    }

    /// The regions that a ResourceSyncRule takes objects to, and that are not retired.
    pub fn ruled<'a>(&'a self, rule: &str) -> impl Iterator<Item = &'a RegionConfig> {
        let is_ruled = |region: &&RegionConfig| region.state != RegionState::Retired && region.sync_rules.matches(rule);
        self.regions.values().filter(is_ruled)
    }

    /// The regions that a ResourceSyncRule could take objects of a source to: all, or the one that the source describes.
    pub fn may_take(&self, source: &SourceName, region: &Region) -> bool {
        self.source(source).and_then(|source| source.region.as_ref()).is_none_or(|own| own == region)
    }

    /// The regions that take a Cluster of a source, named as `namespace/name`, each with the entry by which it does. A
    /// source that describes one region's Clusters has none for others.
    pub fn taking<'a>(
        &'a self,
        source: &SourceName,
        cluster: &str,
    ) -> impl Iterator<Item = (&'a RegionConfig, &'a TakenClusters)> {
        self.regions_of(source).filter_map(move |region| Some((region, region.clusters.taken(cluster)?)))
    }

    /// Whether a source is the cluster of a region, and not k0rdent's own.
    pub fn is_cluster_of(&self, source: &Source, region: &Region) -> bool {
        let is_live = matches!(source.place, SourcePlace::Cluster { .. });
        is_live && source.region.as_ref() == Some(region) && !self.is_management(region)
    }

    /// Whether a source is the cluster of some region, and not k0rdent's own.
    pub fn is_regional(&self, source: &Source) -> bool {
        source.region.as_ref().is_some_and(|region| self.is_cluster_of(source, region))
    }

    /// Whether a source is trusted with templates for a region: with cluster-scoped objects, and of no other region alone.
    pub fn trusts_with_templates(&self, source: &SourceName, region: &Region) -> bool {
        self.source(source).is_some_and(|it| it.may_bring_templates(region))
    }

    /// Returns true if a claimant may have objects of a kind published for a region: beside those that [everybody](Self::publishes)
    /// may have, a template has ClusterResourceSets on the management cluster, where Cluster API reads them.
    pub fn publishes_for(&self, by: &Claimant, region: &Region, kind: &GroupKind) -> bool {
        self.publishes(kind) || (is_resource_set(kind) && by.group().is_none() && self.may_own_sets(by, region))
    }

    /// Returns true if ClusterResourceSets that pouch itself makes may be published for a claimant: those of a group of guests, in its
    /// region, and those of a template, on the management cluster.
    pub fn may_own_sets(&self, by: &Claimant, region: &Region) -> bool {
        match by.group() {
            Some(_) => self.guests.values().any(|group| group.region == *region),
            None => by.template().is_some() && self.is_management(region),
        }
    }

    /// Returns true if templates may make ClusterResourceSets for some region.
    pub fn makes_resource_sets(&self) -> bool {
        self.management().is_some_and(|region| !region.templates.is_empty())
    }

    fn is_management(&self, region: &Region) -> bool {
        self.regions.get(region).is_some_and(|region| region.management)
    }

    /// The source whose Namespaces are those of a region, although it does not say which region it describes: the only one that
    /// may provide Namespaces of it. A fleet's only region has what stands there, and of several the management cluster; the
    /// Namespaces of a live cluster are its own.
    pub fn only_source_of_namespaces(&self, region: &RegionConfig) -> Option<&Source> {
        let trusted = |source: &&Source| source.may_bring_templates(&region.name);
        let mut may_provide = self.sources.iter().filter(trusted);
        let only = may_provide.next().filter(|_| may_provide.next().is_none())?;
        let is_other = |other: &&RegionConfig| other.state != RegionState::Retired && other.name != region.name;
        let is_meant = region.management || self.regions.values().find(is_other).is_none();
        (is_meant && self.may_have_namespaces_of(only, region)).then_some(only)
    }

    /// Returns true if Namespaces of a source can be those of a region: of one that is trusted with them, and no other cluster's own.
    pub fn may_have_namespaces_of(&self, source: &Source, region: &RegionConfig) -> bool {
        !matches!(source.place, SourcePlace::Cluster { .. }) && source.may_bring_templates(&region.name)
    }

    /// The source of a name.
    pub fn source(&self, name: &SourceName) -> Option<&Source> {
        self.sources.iter().find(|source| source.name == *name)
    }

    /// Whether some source describes the Clusters of one region, and is trusted with no more.
    pub fn describes_regions(&self) -> bool {
        self.sources.iter().any(|source| source.described().is_some())
    }

    /// The region whose Clusters a source describes, if it is trusted with no more than that.
    pub fn described_by(&self, source: &SourceName) -> Option<&Region> {
        self.source(source)?.described()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::testing::case::fleet;
    use crate::testing::yaml;

    /// A bundle that no key proves may hold sets where the configuration leads to some, and nowhere else.
    #[test]
    fn sets_are_of_the_regions_that_have_some_made() {
        let fleet = fleet(&yaml(
            "{regions: {mgmt: {management: true, templates: ['*']}, us: {templates: ['*']}}, guests: {all: {region: us, \
             namespaces: ['*'], clusterSelector: {matchLabels: {a: b}}, objects: [{kind: Secret, namespace: shared, name: x}]}}}",
        ));
        let template = Claimant::Template { namespace: "a".into(), template: Name::from("x") };
        let guests = Claimant::Guests { namespace: "a".into(), group: Name::from("all"), entry: None };
        let credential = Claimant::Credential { namespace: "a".into(), name: Name::from("x") };
        let own = |by: &Claimant| ["mgmt", "us"].map(|region| fleet.may_own_sets(by, &region.into()));
        assert_eq!(own(&template), [true, false]);
        assert_eq!(own(&guests), [false, true]);
        assert_eq!(own(&credential), [false; 2]);
    }
}
