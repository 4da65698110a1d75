//! Delivering: which sources tell of guest clusters, and which rules and templates groups of guests follow.

use super::{Fleet, GuestGroup, RegionConfig, Source, SourcePlace};
use crate::name::{Region, SourceName};

impl GuestGroup {
    /// Whether a source tells which Clusters and namespaces the group's region has.
    pub fn is_told_by(&self, source: &Source) -> bool {
        source.region.as_ref().map_or(self.told_by_all, |described| *described == self.region)
    }
}

impl Fleet {
    /// Whether a group of guests is looked for in a source.
    pub(super) fn looks_in(&self, source: &SourceName) -> bool {
        let Some(source) = self.source(source) else { return false };
        // Files that say of no region that they describe it leave something open where there are several.
        let is_untied = source.region.is_none() && !matches!(source.place, SourcePlace::Cluster { .. });
        self.guests.values().any(|group| group.has_globs() && (is_untied || group.is_told_by(source)))
    }

    /// Whether some region names a ResourceSyncRule, or some group of guests does.
    pub fn follows(&self, rule: &str) -> bool {
        self.ruled(rule).next().is_some() || self.guests.values().any(|group| group.rules.contains(rule))
    }

    /// Whether some group of guests of a region has templates rendered.
    pub fn makes_for_guests(&self, region: &Region) -> bool {
        self.guests.values().any(|group| group.region == *region && !group.templates.is_empty())
    }

    /// Whether a region, or some group of guests there, takes ManagedResources.
    pub fn renders(&self, region: &RegionConfig) -> bool {
        !region.templates.patterns().is_empty() || self.makes_for_guests(&region.name)
    }

    /// Whether namespaces that Clusters tell decide about a group.
    pub fn looks_for_guests(&self) -> bool {
        self.guests.values().any(GuestGroup::has_globs)
    }
}
