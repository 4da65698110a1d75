//! Entries of the configuration that take Clusters and match none.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::cluster::cluster_kind;
use crate::config::{RegionConfig, RegionState, TakenClusters};
use crate::finding::{Code, Finding};
use crate::name::SourceName;
use crate::nearest::did_you_mean;
use crate::world::World;

/// The entry that matches every Cluster: a region may well have none yet.
const EVERY: &str = "*/*";

/// The entries of `clusters` that no Cluster matches. Nothing is said where one may be unseen.
pub fn unmatched(world: &World<'_>) -> Vec<Finding> {
    if !world.fleet.names_clusters() || world.snapshot.may_lack(&cluster_kind()) {
        return Vec::new();
    }
    let regions = world.fleet.regions.values().filter(|region| region.state == RegionState::Active);
    regions.flat_map(|region| in_region(world, region)).collect()
}

fn in_region(world: &World<'_>, region: &RegionConfig) -> Vec<Finding> {
    if region.clusters.is_empty() {
        return Vec::new();
    }
    // What stands in a source that describes another region is not for this one.
    let kind = cluster_kind();
    let clusters = world.snapshot.all(&kind).filter(|object| {
        let of = |source: &SourceName| world.fleet.sources.iter().find(|known| known.name == *source)?.region.as_ref();
        of(&object.origin.source).is_none_or(|of| *of == region.name)
    });
    let paths: BTreeSet<String> = clusters.map(|cluster| cluster.key.path()).collect();
    let is_matched = |entry: &TakenClusters| match entry.name() {
        Some(name) => paths.contains(name),
        None => entry.glob() == EVERY || paths.iter().any(|path| entry.clusters.matches(path)),
    };
    let tell = |entry: &TakenClusters| {
        let pattern = entry.glob();
        let message = format!("no Cluster in the sources matches {pattern:?} of regions.{}.clusters", region.name);
        let near = did_you_mean(pattern, paths.iter().map(String::as_str));
        let help =
            format!("{near}Correct the entry, or remove it. What Clusters had by it is withdrawn, under the brake.");
        Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help)
    };
    region.clusters.iter().filter(|entry| !is_matched(entry)).map(tell).collect()
}
