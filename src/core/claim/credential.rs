//! Claims that Credentials make: an identity for the region that they name.

use alloc::borrow::ToOwned as _;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::{Ask, Asked, Claim};
use crate::config::{Fleet, RegionState, Resolution};
use crate::destination::Place;
use crate::finding::{Code, Finding};
use crate::k0rdent::credential::{self, Projection};
use crate::k0rdent::root::Root;
use crate::name::step::{Step, is_handed_out};
use crate::name::{Claimant, Namespace, Region};
use crate::object::{Object, finding_of, findings_of};
use crate::release::Release;
use crate::snapshot::Snapshot;

/// The request of a Credential: in its own name, or in that of `by`, to whom this rule hands it out.
pub(super) fn ask(fleet: &Fleet, snapshot: &Snapshot, object: &Object, by: Claimant, handed: Option<Step>) -> Asked {
    let mut asked = Asked { by, origin: object.origin.clone(), region: None, claim: None, findings: Vec::new() };
    asked.findings.extend(object.faults.iter().map(|fault| finding_of(fault, object)));
    let spec = match credential::read(object) {
        Ok(spec) => spec,
        // What the mistyped field says is missing from all others.
        Err(_) if object.is_mistyped() => return asked,
        Err(faults) => {
            asked.findings.extend(findings_of(&faults, object));
            return asked;
        }
    };
    let older = fleet.builtin.filter(|release| spec.projection.is_some() && release.minor < Projection::SINCE);
    asked.findings.extend(older.map(|release| newer("projectionConfig", release, object)));
    let is_named = spec.region.is_some();
    asked.region = spec.region.or_else(|| fleet.management().map(|region| region.name.clone()));
    let Some(region) = asked.region.clone() else {
        return asked;
    };
    let described = snapshot.described(fleet, &object.key);
    if let Some(described) = described.filter(|described| !described.contains(&&region)) {
        asked.findings.push(of_another_region(&region, &described, object));
        return asked;
    }
    match fleet.regions.get(&region) {
        Some(config) if config.management && is_named => asked.findings.push(names_management(&region, object)),
        None => asked.findings.push(unknown_region(fleet, &region, object)),
        Some(config) if config.state == RegionState::Retired => asked.findings.push(
            Finding::new(Code::RegionRetired, format!("region {region} is retired; nothing is published for it"))
                .about(&object.key)
                .at(&object.origin)
                .help("Delete the Credential, or move it to a region that is in use."),
        ),
        Some(_) => {
            let (by, origin) = (asked.by.clone(), asked.origin.clone());
            let (at, through) = (Place::Region(region), handed.into_iter().collect::<Vec<_>>());
            let (root, resolution) = match is_handed_out(&through) {
                true => (handed_over(spec.identity, by.namespace()), Resolution::Kcm),
                // Of what no rule hands out, k0rdent copies nothing on the management cluster: it is used where it stands.
                false if !is_named => (spec.identity, Resolution::AsWritten),
                false => (spec.identity, fleet.resolution),
            };
            let ask = Ask::Root { root, resolution, projection: spec.projection };
            asked.claim = Some(Arc::new(Claim { by, at, origin, ask, through }));
        }
    }
    asked
}

fn of_another_region(region: &Region, described: &[&Region], object: &Object) -> Finding {
    let source = &object.origin.source;
    let described: Vec<&str> = described.iter().map(|region| region.as_str()).collect();
    let described = described.join(" and ");
    let message =
        format!("the Credential is for region {region}, and its source {source} describes region {described}");
    Finding::new(Code::SeveralRegions, message)
        .about(&object.key)
        .at(&object.origin)
        .help("Move the Credential into a source without `region`, or correct one of the two.")
}

/// `identityRef` as k0rdent writes it into a copy: a namespace in it becomes the copy's own.
pub(super) fn handed_over(identity: Root, namespace: &Namespace) -> Root {
    let within = identity.namespace.is_some().then(|| namespace.clone());
    Root { namespace: within, ..identity }
}

fn newer(field: &str, release: Release, object: &Object) -> Finding {
    let message =
        format!("spec.{field} is of a newer release of k0rdent than {}, which does not know it", release.name());
    Finding::new(Code::NewerField, message).about(&object.key).at(&object.origin).help(
        "If k0rdent is newer, name its release in `providerInterfaces.builtin`. Until it is, such a release drops the \
         field and reads the companions, which are published as well where they are there.",
    )
}

/// k0rdent looks for a Region object of that name, and such a one is another cluster.
fn names_management(region: &Region, object: &Object) -> Finding {
    let message = format!("region {region} of the configuration is the management cluster, which no spec.region names");
    Finding::new(Code::UnknownRegion, message).about(&object.key).at(&object.origin).help(
        "Remove spec.region, if the Credential is for the management cluster. If k0rdent has a Region of that name, give the \
         management cluster another name in `regions`, and the Region the place of its own.",
    )
}

fn unknown_region(fleet: &Fleet, region: &Region, object: &Object) -> Finding {
    let nearest = fleet
        .regions
        .keys()
        .map(|known| (strsim::osa_distance(known.as_str(), region.as_str()), known))
        .min_by_key(|(distance, _)| *distance)
        .filter(|(distance, _)| *distance <= 3);
    let help = match nearest {
        Some((_, known)) => {
            format!("Did you mean {known}? Otherwise add the region to `regions` in the configuration.")
        }
        None => "Add the region to `regions` of the configuration, with its recipients.".to_owned(),
    };
    Finding::new(Code::UnknownRegion, format!("the configuration has no region {region}"))
        .about(&object.key)
        .at(&object.origin)
        .help(help)
}
