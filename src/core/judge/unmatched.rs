//! Entries of the configuration that take Clusters or name ResourceSyncRules, and match none.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::cluster::cluster_kind;
use crate::config::{Globs, RegionConfig, RegionState, TakenClusters};
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::SourceName;
use crate::nearest::did_you_mean;
use crate::world::World;

/// The entry that matches every Cluster: a region may well have none yet.
const EVERY: &str = "*/*";

/// The globs over names of rules that match every one.
const EVERY_RULE: [&str; 2] = ["*", "**"];

/// The entries of `clusters` that no Cluster matches, and those of `syncRules` that no rule does. Nothing is said where one
/// may be unseen.
pub fn unmatched(world: &World<'_>) -> Vec<Finding> {
    let mut found = clusters(world);
    found.extend(rules(world));
    found
}

fn clusters(world: &World<'_>) -> Vec<Finding> {
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
mod tests {
    use super::*;
    use crate::testing::case::{Document, Scene};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    #[test]
    fn an_entry_that_no_rule_is_called_by_is_told() {
        let rule = yaml(
            "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {name: pull}\n\
             spec: {groupVersionKind: {version: v1, kind: Secret}, rules: [{match: [{namespaces: [a]}]}]}\n",
        );
        let told = |is_whole: bool, patterns: &str| {
            let scene = Scene {
                config: yaml(&format!("regions: {{eu: {{syncRules: [{patterns}]}}}}")),
                documents: vec![Document { source: "all".into(), node: node(&rule), line: 1 }],
                incomplete: if is_whole { Vec::new() } else { vec!["all".into()] },
                run: yaml("{}"),
            };
            let found = unmatched(&Desk::new(&scene).world());
            found.iter().map(|finding| format!("{} {}", finding.message, finding.help)).collect::<String>()
        };
        assert_eq!(told(true, "pull, 'p*', '*'"), "");
        let pul = "no ResourceSyncRule in the sources matches \"pul\" of regions.eu.syncRules Did you mean pull?";
        assert!(told(true, "pul, pull").starts_with(pul), "{}", told(true, "pul, pull"));
        assert!(told(true, "'x-*'").starts_with("no ResourceSyncRule in the sources matches \"x-*\""));
        // A rule may be there that was not read.
        assert_eq!(told(false, "pul"), "");
    }
}
