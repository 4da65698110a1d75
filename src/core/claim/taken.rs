//! Taken: what Clusters and ClusterResourceSets have in common as claimants that the configuration takes to a region.
//!
//! Which regions take one, and what it asks for where several do, a retired one does, or only one with another copy of it.

use alloc::vec::Vec;

use super::{Ask, Asked, Claim, Starts};
use crate::config::RegionConfig;
use crate::destination::Place;
use crate::finding::{Code, Finding};
use crate::listing::few_that_fit;
use crate::name::{Claimant, Region, SourceName};
use crate::object::{Object, finding_of};
use crate::snapshot::Snapshot;

/// What takes a claimant: by the copy that counts, and by each later one that says the same, for which of them is meant
/// nobody knows. `taking` says it of a source; of each region the first counts.
pub(super) fn takers<T>(
    snapshot: &Snapshot,
    object: &Object,
    taking: impl Fn(&SourceName) -> Vec<T>,
    region: impl Fn(&T) -> &Region,
) -> Vec<T> {
    let mut takers: Vec<T> = Vec::new();
    for taker in snapshot.agreeing(&object.key).flat_map(|copy| taking(&copy.origin.source)) {
        if !takers.iter().any(|other| region(other) == region(&taker)) {
            takers.push(taker);
        }
    }
    takers
}

/// What a claimant asks for that several regions take: nothing that can be told.
pub(super) fn several<'r>(
    object: &Object,
    by: Claimant,
    regions: impl Iterator<Item = &'r Region>,
    help: &'static str,
) -> Asked {
    let names: Vec<&str> = regions.map(Region::as_str).collect();
    let message =
        format!("several regions take this {}: {}", by.kind(), few_that_fit(&names, names.len(), names.len()));
    let finding = Finding::new(Code::SeveralRegions, message).about(&object.key).at(&object.origin).help(help);
    Asked { by, origin: object.origin.clone(), region: None, claim: None, findings: vec![finding] }
}

/// What a claimant asks for whose copy that counts no region takes: nothing that can be told, if a region takes another.
///
/// Which of the two is meant nobody knows. Were the copy that no region takes to decide alone, whoever rules the cluster of
/// one region could take away what a claimant of another one has.
pub(super) fn shadowed(
    snapshot: &Snapshot,
    object: &Object,
    by: Claimant,
    is_taken: impl Fn(&SourceName) -> bool,
) -> Option<Asked> {
    let fault = object.faults.iter().find(|fault| fault.code == Code::Shadowed)?;
    snapshot.copies(&object.key).find(|copy| is_taken(&copy.origin.source))?;
    let findings = vec![finding_of(fault, object)];
    Some(Asked { by, origin: object.origin.clone(), region: None, claim: None, findings })
}

/// What a claimant asks for that one region takes, before anything is known of it.
pub(super) fn one(object: &Object, by: &Claimant, region: &RegionConfig) -> Asked {
    let (by, origin) = (by.clone(), object.origin.clone());
    Asked { by, origin, region: Some(region.name.clone()), claim: None, findings: Vec::new() }
}

/// Tells that the region that takes a claimant is retired.
pub(super) fn retired(object: &Object, region: &RegionConfig, help: &'static str) -> Finding {
    let message = format!("region {} is retired; nothing is published for it", region.name);
    Finding::new(Code::RegionRetired, message).about(&object.key).at(&object.origin).help(help)
}

/// The claim of a claimant for what it starts from.
pub(super) fn claim(object: &Object, by: Claimant, region: &RegionConfig, starts: Starts) -> Claim {
    let (origin, at) = (object.origin.clone(), Place::Region(region.name.clone()));
    Claim { by, at, origin, ask: Ask::Starts(starts), through: Vec::new() }
}
