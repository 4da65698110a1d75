//! Claims that Clusters of Cluster API make: what the objects behind them name, for the region that takes them.
//!
//! A Cluster has no Credential. Its infrastructure or its control plane names the identity, or the Secret; both are found
//! by the Cluster's references, or, where a ClusterClass makes them, by the templates of that. Only Clusters count that
//! the configuration names. A Cluster that is being deleted still needs its identity, to be deleted with.

mod behind;
mod machines;
pub(super) mod makers;
#[cfg(test)]
mod tests;

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use self::behind::{Behind, Looked};
use super::{Asked, CONFIGURED, NamedBy, Start, Starts, taken};
use crate::capi::cluster;
use crate::config::{Fleet, RegionConfig, RegionState, TakenClusters};
use crate::finding::{Code, Finding};
use crate::k0rdent::root::Root;
use crate::name::{Claimant, SourceName};
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
        let by = Claimant::Cluster { namespace: object.key.namespace.clone()?, name: object.key.name.clone() };
        let path = by.place();
        let taking = |source: &SourceName| fleet.taking(source, &path).collect::<Vec<_>>();
        let mut asked = match &*taken::takers(snapshot, object, taking, |(region, _)| &region.name) {
            [] => taken::shadowed(snapshot, object, by, |source| !taking(source).is_empty())?,
            [only] => ask(&mut behind, object, by, only.0, only.1),
            several => taken::several(object, by, several.iter().map(|(region, _)| &region.name), NARROW),
        };
        asked.settle();
        Some(asked)
    };
    snapshot.all(&cluster::cluster_kind()).filter_map(ask).collect()
}

/// What helps where several regions take a Cluster.
const NARROW: &str =
    "Narrow `clusters` of all but one, or say with `region` of the source whose Clusters it describes.";

fn ask<'a>(
    behind: &mut Behind<'a>,
    object: &'a Object,
    by: Claimant,
    region: &RegionConfig,
    entry: &TakenClusters,
) -> Asked {
    let mut asked = taken::one(object, &by, region);
    if region.state == RegionState::Retired {
        let help = "Take the Cluster out of the region's `clusters`, or into those of another region.";
        asked.findings.push(taken::retired(object, region, help));
        return asked;
    }
    asked.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
    let (starts, found) = match &entry.identity {
        Some(identity) => (
            Starts::of(vec![Start {
                root: Root {
                    kind: identity.kind.clone(),
                    version: identity.version.clone(),
                    name: identity.name.clone(),
                    namespace: Some(identity.namespace.clone().unwrap_or_else(|| by.namespace().clone())),
                },
                field: String::from(CONFIGURED),
                entries: Vec::new(),
                by_default: false,
                named_by: NamedBy::Configuration,
            }]),
            Vec::new(),
        ),
        // What a mistyped field says is missing from all others.
        None if object.is_mistyped() => (Starts::default(), Vec::new()),
        None => {
            let mut looked = Looked::of(behind, &by, object, &region.name);
            behind.look(&mut looked);
            looked.settle()
        }
    };
    asked.findings.extend(found);
    let is_stopped = asked.findings.iter().any(Finding::stops_claim);
    if starts.named.is_empty() && starts.open.is_none() && !is_stopped {
        let message =
            "the objects behind the Cluster name no identity: its provider has its credentials from elsewhere";
        let finding = Finding::new(Code::NoClusterIdentity, message).about(&object.key).at(&object.origin);
        asked.findings.push(finding.help("Nothing has to be done, unless an identity was meant to be named."));
        return asked;
    }
    asked.claim = Some(Arc::new(taken::claim(object, by, region, starts)));
    asked
}
