//! Entries of the configuration that take Clusters or ClusterResourceSets, or name ResourceSyncRules, and match none.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::resource_set_kind;
use crate::claim::guest::known;
use crate::config::{Globs, RegionConfig, RegionState, TakenClusters};
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{GroupKind, SourceName};
use crate::nearest::did_you_mean;
use crate::object::Object;
use crate::world::World;

/// The entry that matches every claimant of its kind: a region may well have none yet.
const EVERY: &str = "*/*";

/// The globs over names of rules that match every one.
const EVERY_RULE: [&str; 2] = ["*", "**"];

/// The entries of `clusters`, `resourceSets` and `syncRules` that match nothing. Nothing is said where something may be
/// unseen.
pub fn unmatched(world: &World<'_>) -> Vec<Finding> {
    let active = || world.fleet.regions.values().filter(|region| region.state == RegionState::Active);
    let mut findings = rules(world);
    findings.extend(guests(world));
    if world.fleet.names_clusters() && !world.snapshot.may_lack(&cluster_kind()) {
        let of = |region| in_region(world, region, &cluster_kind(), "clusters", clusters(region));
        findings.extend(active().flat_map(of));
    }
    if world.fleet.names_resource_sets() && !world.snapshot.may_lack(&resource_set_kind()) {
        let of = |region| in_region(world, region, &resource_set_kind(), "resourceSets", resource_sets(region));
        findings.extend(active().flat_map(of));
    }
    findings
}

/// An entry: its pattern, and what that matches, unless it is a plain name.
struct Entry<'r> {
    pattern: &'r str,
    globs: Option<Globs>,
}

fn clusters(region: &RegionConfig) -> Vec<Entry<'_>> {
    let entry = |taken: &'_ TakenClusters| taken.name().is_none().then(|| taken.clusters.clone());
    region.clusters.iter().map(|taken| Entry { pattern: taken.glob(), globs: entry(taken) }).collect()
}

fn resource_sets(region: &RegionConfig) -> Vec<Entry<'_>> {
    let globs = |pattern: &String| Globs::new(core::slice::from_ref(pattern)).ok();
    let patterns = region.resource_sets.patterns().iter();
    patterns.map(|pattern| Entry { pattern, globs: globs(pattern) }).collect()
}

fn in_region(
    world: &World<'_>,
    region: &RegionConfig,
    kind: &GroupKind,
    field: &str,
    entries: Vec<Entry<'_>>,
) -> Vec<Finding> {
    if entries.iter().all(|entry| entry.pattern == EVERY) {
        return Vec::new();
    }
    // What stands only in sources that describe other regions is not for this one.
    let of = |source: &SourceName| world.fleet.sources.iter().find(|known| known.name == *source)?.region.as_ref();
    let is_of = |copy: &Object| of(&copy.origin.source).is_none_or(|of| *of == region.name);
    let objects = world.snapshot.all(kind).filter(|object| world.snapshot.copies(&object.key).any(is_of));
    let paths: BTreeSet<String> = objects.map(|object| object.key.path()).collect();
    let is_matched = |Entry { pattern, globs }: &Entry<'_>| {
        paths.contains(*pattern)
            || *pattern == EVERY
            || globs.as_ref().is_some_and(|globs| paths.iter().any(|path| globs.matches(path)))
    };
    let tell = |Entry { pattern, .. }: &Entry<'_>| {
        let kind = &kind.kind;
        let message = format!("no {kind} in the sources matches {pattern:?} of regions.{}.{field}", region.name);
        let near = did_you_mean(pattern, paths.iter().map(String::as_str));
        let help =
            format!("{near}Correct the entry, or remove it. What {kind}s had by it is withdrawn, under the brake.");
        Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help)
    };
    entries.iter().filter(|entry| !is_matched(entry)).map(tell).collect()
}

/// The globs over namespaces of groups of guests that no namespace is known to fit.
fn guests(world: &World<'_>) -> Vec<Finding> {
    let World { fleet, snapshot, .. } = *world;
    if !fleet.looks_for_guests() || snapshot.may_lack(&cluster_kind()) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for group in fleet.guests.values().filter(|group| group.has_globs()) {
        let region = fleet.regions.get(&group.region).filter(|region| region.state == RegionState::Active);
        let Some(region) = region else { continue };
        let known = known(fleet, snapshot, group);
        for glob in group.globs() {
            let globs = Globs::new(core::slice::from_ref(glob)).unwrap_or_default();
            if known.iter().any(|namespace| globs.matches(namespace.as_str())) {
                continue;
            }
            let message = format!(
                "no namespace with Clusters of region {} is known that matches {glob:?} of guests.{}.namespaces",
                region.name, group.name
            );
            let help = "Name the namespace: a name counts as it is. Or give pouch the Clusters: in a source whose `region` is \
                        this region. What was published by the entry is withdrawn, under the brake.";
            findings.push(Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help));
        }
    }
    findings
}

fn rules(world: &World<'_>) -> Vec<Finding> {
    let kind = kinds::sync_rule();
    if !world.fleet.names_sync_rules() || world.snapshot.may_lack(&kind) {
        return Vec::new();
    }
    let names: BTreeSet<&str> = world.snapshot.all(&kind).map(|rule| rule.key.name.as_str()).collect();
    let is_matched = |pattern: &str| {
        let globs = Globs::new(&[String::from(pattern)]).unwrap_or_default();
        EVERY_RULE.contains(&pattern) || names.iter().any(|name| globs.matches(name))
    };
    let tell = |region: &RegionConfig, pattern: &str| {
        let message =
            format!("no ResourceSyncRule in the sources matches {pattern:?} of regions.{}.syncRules", region.name);
        let near = did_you_mean(pattern, names.iter().copied());
        let help = format!(
            "{near}Correct the entry, or the source: only one with `clusterScoped` can have rules. What rules took by it is \
             withdrawn, under the brake."
        );
        Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help)
    };
    let regions = world.fleet.regions.values().filter(|region| region.state == RegionState::Active);
    let lost = regions.flat_map(|region| {
        let patterns = region.sync_rules.patterns().iter().map(String::as_str);
        patterns.filter(|pattern| !is_matched(pattern)).map(move |pattern| (region, pattern))
    });
    lost.map(|(region, pattern)| tell(region, pattern)).collect()
}

#[cfg(test)]
mod tests;
