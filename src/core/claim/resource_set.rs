//! Claims that ClusterResourceSets of Cluster API make: their payloads, for the region that takes them.
//!
//! A set stands in the cluster where Cluster API runs, with the Secrets and ConfigMaps that it delivers into guest clusters.
//! Only sets count that the configuration names. A set is never published: its payloads are, where it finds them. One that
//! is being deleted keeps them until it is gone.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Asked, NamedBy, Start, Starts, taken};
use crate::capi::resource_set::{self, ResourceSet, Strategy};
use crate::config::{Fleet, RegionConfig, RegionState};
use crate::finding::{Code, Finding, Place, Severity};
use crate::k0rdent::root::Root;
use crate::name::{Claimant, SourceName};
use crate::object::{Object, finding_of, findings_of};
use crate::snapshot::Snapshot;

/// The field that names payloads, with the kind of the object that it stands in. It says nothing of a place in the list:
/// a list in another order asks for the same.
const FIELD: &str = "ClusterResourceSet spec.resources";

/// Whether some region takes a set, whatever source it may stand in.
pub(super) fn may_be_taken(fleet: &Fleet, by: &Claimant) -> bool {
    fleet.regions.values().any(|region| region.resource_sets.matches(&by.place()))
}

/// What every set asks for that a region takes.
pub(super) fn claims(fleet: &Fleet, snapshot: &Snapshot) -> Vec<Asked> {
    if !fleet.names_resource_sets() {
        return Vec::new();
    }
    let ask = |object: &Object| {
        let by = Claimant::ResourceSet { namespace: object.key.namespace.clone()?, name: object.key.name.clone() };
        let path = by.place();
        let taking = |source: &SourceName| fleet.taking_sets(source, &path).collect::<Vec<_>>();
        let mut asked = match &*taken::takers(snapshot, object, taking, |region| &region.name) {
            [] => taken::shadowed(snapshot, object, by, |source| !taking(source).is_empty())?,
            [only] => ask(object, by, only),
            several => taken::several(object, by, several.iter().map(|region| &region.name), NARROW),
        };
        asked.settle();
        Some(asked)
    };
    snapshot.all(&resource_set::resource_set_kind()).filter_map(ask).collect()
}

/// What helps where several regions take a set.
const NARROW: &str =
    "Narrow `resourceSets` of all but one, or say with `region` of the source which region's cluster it describes.";

fn ask(object: &Object, by: Claimant, region: &RegionConfig) -> Asked {
    let mut asked = taken::one(object, &by, region);
    if region.state == RegionState::Retired {
        let help = "Take the set out of the region's `resourceSets`, or into those of another region.";
        asked.findings.push(taken::retired(object, region, help));
        return asked;
    }
    asked.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
    let mut starts = Vec::new();
    // What a mistyped field says is missing from all others.
    if !object.is_mistyped() {
        match resource_set::read(&object.body) {
            Ok(set) => {
                asked.findings.extend(lints(object, &set));
                starts = self::starts(&by, set);
            }
            Err(faults) => asked.findings.extend(findings_of(&faults, object)),
        }
    }
    asked.claim = Some(Arc::new(taken::claim(object, by, region, Starts::of(starts))));
    asked
}

fn starts(by: &Claimant, set: ResourceSet) -> Vec<Start> {
    let start = |(kind, name)| Start {
        root: Root { kind, version: "v1".into(), name, namespace: Some(by.namespace().clone()) },
        field: String::from(FIELD),
        entries: Vec::new(),
        by_default: false,
        named_by: NamedBy::Claimant,
    };
    set.payloads.into_iter().map(start).collect()
}

/// What works otherwise than somebody may think.
pub fn lints(object: &Object, set: &ResourceSet) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |code, message: String, help: &'static str| findings.push(about(object, code, message).help(help));
    match set.strategy {
        Strategy::Reconcile => {}
        Strategy::ApplyOnce => find(
            Code::RotationNeverArrives,
            String::from("strategy is ApplyOnce: what changes in a payload never reaches a cluster that has it"),
            "Write `strategy: Reconcile`; the field is immutable, so the set has to be made anew, under another name or after it was deleted.",
        ),
        Strategy::Unsaid => find(
            Code::RotationNeverArrives,
            String::from(
                "there is no strategy: the webhook of Cluster API makes it ApplyOnce, so that no change of a payload reaches \
                 a cluster that has it, and without the webhook nothing is ever delivered",
            ),
            "Write `strategy: Reconcile`.",
        ),
    }
    if set.selector.is_empty() {
        find(
            Code::NothingDelivered,
            String::from("clusterSelector is empty, and chooses no Cluster"),
            "Write the labels of the Clusters under `matchLabels`; an empty selector is never all of them here.",
        );
    }
    // A live cluster answers in the version that it is asked for.
    let is_written = matches!(object.origin.place, Place::File { .. });
    match object.version.as_str() {
        "v1beta1" if is_written => find(
            Code::DeprecatedVersion,
            String::from("the set is written in v1beta1, which Cluster API serves until v1.16"),
            "Write `apiVersion: addons.cluster.x-k8s.io/v1beta2`; the fields are the same.",
        ),
        version @ ("v1alpha3" | "v1alpha4") if is_written => {
            let message = format!("the set is written in {version}, which Cluster API does not serve any more");
            let finding = about(object, Code::DeprecatedVersion, message).severity(Severity::Warning);
            findings
                .push(finding.help("Write `apiVersion: addons.cluster.x-k8s.io/v1beta2`; the fields are the same."));
        }
        _ => {}
    }
    findings
}

fn about(object: &Object, code: Code, message: String) -> Finding {
    Finding::new(code, message).about(&object.key).at(&object.origin)
}
