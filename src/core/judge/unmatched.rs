//! Entries of the configuration that take Clusters or ClusterResourceSets, or name ResourceSyncRules or ManagedResources, and
//! match none.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::chosen;
use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::resource_set_kind;
use crate::claim::guest::known;
use crate::claim::{Ask, Asked, Claim};
use crate::config::{Globs, RegionConfig, RegionState, TakenClusters};
use crate::finding::{Code, Finding};
use crate::kinds::{self, is_managed_resource};
use crate::name::{self, GroupKind, Name, Namespace, Region, SourceName};
use crate::nearest::did_you_mean;
use crate::object::Object;
use crate::world::World;

/// The entry that matches every claimant of its kind: a region may well have none yet.
const EVERY: &str = "*/*";

/// The globs over names that match every one.
const EVERY_NAME: [&str; 2] = ["*", "**"];

/// The entries of `clusters`, `resourceSets`, `syncRules`, `templates` and `guests` that match nothing, and the sets that choose
/// no Cluster because it is in another namespace. Nothing is said where something may be unseen.
pub fn unmatched(world: &World<'_>) -> Vec<Finding> {
    let active = || world.fleet.regions.values().filter(|region| region.state == RegionState::Active);
    let mut findings = by_name(world);
    findings.extend(guests(world).into_iter().chain(idle(world)));
    if world.fleet.names_clusters() && !world.snapshot.may_lack(&cluster_kind()) {
        let of = |region| in_region(world, region, &cluster_kind(), "clusters", clusters(region));
        findings.extend(active().flat_map(of));
    }
    if world.fleet.names_resource_sets() && !world.snapshot.may_lack(&resource_set_kind()) {
        let of = |region| in_region(world, region, &resource_set_kind(), "resourceSets", resource_sets(region));
        findings.extend(active().flat_map(of));
    }
    findings.extend(chosen::astray(world));
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
    let of = |source: &SourceName| world.fleet.source(source)?.region.as_ref();
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
    for group in fleet.guests.values() {
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
        // A name counts as it is, and may be a slip all the same.
        for name in group.named().filter(|name| !known.contains(name)) {
            let others = known.iter().map(Namespace::as_str).filter(|name| !group.namespaces.matches(name));
            let near = did_you_mean(name.as_str(), others);
            if near.is_empty() {
                continue;
            }
            let message = format!(
                "no Cluster of region {} is known in namespace {name} of guests.{}.namespaces",
                region.name, group.name
            );
            let help = format!("{near}A name counts as it is: something is published there all the same.");
            findings.push(Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help));
        }
    }
    findings
}

/// The rules and templates of groups of guests that give nothing in any of their namespaces.
fn idle(world: &World<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_active =
        |region: &Region| world.fleet.regions.get(region).is_some_and(|region| region.state == RegionState::Active);
    let groups = world.fleet.guests.values().filter(|group| is_active(&group.region));
    let groups = groups.filter(|group| !group.rules.is_empty() || !group.templates.is_empty());
    let mut of: BTreeMap<&Name, Vec<&Asked>> = BTreeMap::new();
    for asked in world.facts.asked() {
        asked.by.group().into_iter().for_each(|group| of.entry(group).or_default().push(asked));
    }
    for group in groups {
        let asked = of.get(&group.name).map(Vec::as_slice).unwrap_or_default();
        let gives_nothing = |asked: &&Asked| {
            // Where something is wrong, or was not read, that says so itself.
            let is_open = asked.findings.iter().any(Finding::stops_claim);
            let gives = |claim: &Claim| match &claim.ask {
                Ask::Entry(items) => !items.is_empty(),
                _ => claim.rendered().is_some(),
            };
            !is_open && !asked.claim.as_deref().is_some_and(gives)
        };
        let is_idle = |entry: name::Entry| {
            let is_of = |asked: &&&Asked| asked.by.entry().is_some_and(|own| *own.written() == entry);
            let mut own = asked.iter().filter(is_of).copied().peekable();
            own.peek().is_some() && own.all(|asked| gives_nothing(&asked))
        };
        let is_read = |rule: &Name| {
            let kind = world.facts.synced.kind(rule);
            kind.is_some_and(|kind| world.snapshot.unread_in(kind, None).is_none())
        };
        let is_rule_idle =
            |rule: &&Name| is_read(rule) && is_idle(name::Entry::Rule { rule: (*rule).clone(), object: None });
        let rules = group.rules.iter().filter(is_rule_idle);
        let rules = rules.map(|rule| format!("ResourceSyncRule {rule}, which takes nothing"));
        let templates = group.templates.iter().filter(|template| is_idle(name::Entry::Template((*template).clone())));
        let templates =
            templates.map(|template| format!("ManagedResource {template}, which is for none of its namespaces"));
        findings.extend(rules.chain(templates).map(|what| {
            let message = format!("guests.{} names {what}", group.name);
            let help =
                "Correct what it selects, or remove the entry. What it gave before is withdrawn, under the brake.";
            Finding::new(Code::UnmatchedEntry, message).in_region(&group.region).help(help)
        }));
    }
    findings
}

/// Claimants without a namespace that the configuration names, and the field in which it does.
struct Named {
    kind: GroupKind,
    field: &'static str,
    of: fn(&RegionConfig) -> &Globs,
    /// What one that is lost had, in words.
    had: &'static str,
}

fn by_name(world: &World<'_>) -> Vec<Finding> {
    let rules =
        Named { kind: kinds::sync_rule(), field: "syncRules", of: |region| &region.sync_rules, had: "rules took" };
    let had = "templates made";
    let templates = Named { kind: kinds::managed_resource(), field: "templates", of: |region| &region.templates, had };
    let taken = [(world.fleet.names_sync_rules(), rules), (world.fleet.names_templates(), templates)];
    let taken = taken.into_iter().filter_map(|(is_named, named)| is_named.then_some(named));
    taken.filter(|named| !world.snapshot.may_lack(&named.kind)).flat_map(|named| lost(world, &named)).collect()
}

fn lost(world: &World<'_>, named: &Named) -> Vec<Finding> {
    let Named { kind, field, of, had } = named;
    let counts = |object: &Object, region: &RegionConfig| {
        // A template of a source that describes another region is none for this one.
        let mut copies = world.snapshot.copies(&object.key);
        !is_managed_resource(kind)
            || copies.any(|copy| world.fleet.trusts_with_templates(&copy.origin.source, &region.name))
    };
    let of_region = |region: &RegionConfig| {
        let objects = world.snapshot.all(kind).filter(|object| counts(object, region));
        objects.map(|object| object.key.name.as_str()).collect::<BTreeSet<&str>>()
    };
    let is_matched = |pattern: &str, names: &BTreeSet<&str>| {
        let globs = Globs::new(&[String::from(pattern)]).unwrap_or_default();
        EVERY_NAME.contains(&pattern) || names.iter().any(|name| globs.matches(name))
    };
    let tell = |region: &RegionConfig, pattern: &str, names: &BTreeSet<&str>| {
        let kind = &kind.kind;
        let message = format!("no {kind} in the sources matches {pattern:?} of regions.{}.{field}", region.name);
        let near = did_you_mean(pattern, names.iter().copied());
        let help = format!(
            "{near}Correct the entry, or the source: only one with `clusterScoped` can have {kind}s. What {had} by it is \
             withdrawn, under the brake."
        );
        Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help)
    };
    let regions = world.fleet.regions.values().filter(|region| region.state == RegionState::Active);
    let mut findings = Vec::new();
    for region in regions.filter(|region| !of(region).patterns().is_empty()) {
        let names = of_region(region);
        let patterns = of(region).patterns().iter().map(String::as_str);
        findings.extend(
            patterns.filter(|pattern| !is_matched(pattern, &names)).map(|pattern| tell(region, pattern, &names)),
        );
    }
    findings
}

#[cfg(test)]
mod tests;
