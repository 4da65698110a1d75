//! Claims that Clusters of Cluster API make: what the objects behind them name, for the region that takes them.
//!
//! A Cluster has no Credential. Its infrastructure or its control plane names the identity, or the Secret; both are found
//! by the Cluster's references, or, where a ClusterClass makes them, by the templates of that. Only Clusters count that
//! the configuration names. A Cluster that is being deleted still needs its identity, to be deleted with.

mod behind;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::vec::Vec;

use self::behind::{Behind, Looked};
use super::{Asked, CONFIGURED, Claim, Start};
use crate::capi::cluster;
use crate::config::{Fleet, RegionConfig, RegionState, Resolution, TakenClusters};
use crate::destination::Address;
use crate::finding::{Code, Finding};
use crate::k0rdent::root::Root;
use crate::name::Claimant;
use crate::object::{Object, finding_of};
use crate::snapshot::Snapshot;

/// Whether some region takes a Cluster, whatever source it may stand in.
pub(super) fn may_be_taken(fleet: &Fleet, by: &Claimant) -> bool {
    fleet.regions.values().any(|region| region.clusters.taken(&by.place()).is_some())
}

/// What every Cluster asks for that a region takes.
pub(super) fn claims<'a>(fleet: &'a Fleet, snapshot: &'a Snapshot) -> Vec<Asked> {
    if !fleet.names_clusters() {
        return Vec::new();
    }
    let mut behind = Behind::new(fleet, snapshot);
    let ask = |object: &'a Object| {
        let by = Claimant::cluster(object.key.namespace.clone()?, object.key.name.clone());
        let regions = taking(fleet, snapshot, object, &by);
        let mut asked = match &*regions {
            [] => {
                super::shadowed::ask(snapshot, object, by, |source, path| fleet.taking(source, path).next().is_some())?
            }
            [only] => ask(&mut behind, object, by, *only),
            several => self::several(object, by, several),
        };
        asked.settle();
        Some(asked)
    };
    snapshot.all(&cluster::cluster_kind()).filter_map(ask).collect()
}

/// The regions that take a Cluster, each with the entry by which it does: by the copy that counts, and by each later one
/// that says the same, for which of them is meant nobody knows.
fn taking<'a>(
    fleet: &'a Fleet,
    snapshot: &Snapshot,
    object: &Object,
    by: &Claimant,
) -> Vec<(&'a RegionConfig, &'a TakenClusters)> {
    let path = by.place();
    let mut regions: Vec<(&RegionConfig, &TakenClusters)> = Vec::new();
    for copy in snapshot.agreeing(&object.key) {
        for (region, entry) in fleet.taking(&copy.origin.source, &path) {
            if !regions.iter().any(|(other, _)| other.name == region.name) {
                regions.push((region, entry));
            }
        }
    }
    regions
}

fn several(object: &Object, by: Claimant, regions: &[(&RegionConfig, &TakenClusters)]) -> Asked {
    let names: Vec<&str> = regions.iter().map(|(region, _)| region.name.as_str()).collect();
    let message = format!("several regions take this Cluster: {}", names.join(", "));
    let finding = Finding::new(Code::SeveralRegions, message)
        .about(&object.key)
        .at(&object.origin)
        .help("Narrow `clusters` of all but one, or say with `region` of the source whose Clusters it describes.");
    Asked { by, origin: object.origin.clone(), region: None, claim: None, findings: vec![finding] }
}

fn ask<'a>(
    behind: &mut Behind<'a>,
    object: &'a Object,
    by: Claimant,
    (region, entry): (&RegionConfig, &TakenClusters),
) -> Asked {
    let origin = object.origin.clone();
    let mut asked = Asked {
        by: by.clone(),
        origin: origin.clone(),
        region: Some(region.name.clone()),
        claim: None,
        findings: Vec::new(),
    };
    if region.state == RegionState::Retired {
        let message = format!("region {} is retired; nothing is published for it", region.name);
        let finding = Finding::new(Code::RegionRetired, message).about(&object.key).at(&object.origin);
        asked
            .findings
            .push(finding.help("Take the Cluster out of the region's `clusters`, or into those of another region."));
        return asked;
    }
    asked.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
    let (starts, found) = match &entry.identity {
        Some(identity) => (
            vec![Start {
                root: Root {
                    kind: identity.kind.clone(),
                    version: identity.version.clone(),
                    name: identity.name.clone(),
                    namespace: Some(identity.namespace.clone().unwrap_or_else(|| by.namespace.clone())),
                },
                field: String::from(CONFIGURED),
                entries: Vec::new(),
                by_default: false,
            }],
            Vec::new(),
        ),
        // What a mistyped field says is missing from all others.
        None if object.is_mistyped() => (Vec::new(), Vec::new()),
        None => {
            let (findings, starts) = (Vec::new(), Vec::new());
            let mut looked = Looked { by: &by, region: &region.name, cluster: object, findings, starts };
            behind.look(&mut looked);
            (looked.starts, looked.findings)
        }
    };
    asked.findings.extend(found);
    let is_stopped = asked.findings.iter().any(Finding::stops_claim);
    if starts.is_empty() && !is_stopped {
        let message =
            "the objects behind the Cluster name no identity: its provider has its credentials from elsewhere";
        let finding = Finding::new(Code::NoClusterIdentity, message).about(&object.key).at(&object.origin);
        asked.findings.push(finding.help("Nothing has to be done, unless an identity was meant to be named."));
        return asked;
    }
    let root = match starts.first() {
        Some(start) => start.root.clone(),
        // Nobody knows what is asked for; the claim is broken, and nothing is looked for.
        None => Root {
            kind: object.key.kind.clone(),
            version: object.version.clone(),
            name: by.name.clone(),
            namespace: Some(by.namespace.clone()),
        },
    };
    let to = Address::Region(region.name.clone());
    let resolution = Resolution::AsWritten;
    asked.claim = Some(Claim { by, origin, to, root, starts, resolution, managed: false, copied: None });
    asked
}
