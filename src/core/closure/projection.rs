//! Projection: the objects from which k0rdent itself propagates a credential, in place of companions.
//!
//! `spec.projectionConfig` names a template and a Secret in the Credential's own namespace. k0rdent reads them on the
//! management cluster, where an object may be a copy that a rule of an AccessManagement makes of one in the system namespace.
//! Such a copy k0rdent makes by itself, so where the sources lack it, nothing is missing and nothing takes its place.

use alloc::string::String;
use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Member, Role};
use crate::claim::Claim;
use crate::k0rdent::credential::Projection;
use crate::name::ObjectKey;
use crate::name::step::Step;
use crate::snapshot::Lookup;
use crate::world::World;

/// The members that a projection adds to a closure.
pub(super) fn members(world: &World<'_>, claim: &Claim, projection: &Projection) -> Vec<Member> {
    let is_made_by_k0rdent =
        |named: &ObjectKey| matches!(world.snapshot.stands(named), Lookup::Absent) && world.access().may_copy(named);
    let objects = projection.objects(claim.by.namespace()).filter(|(named, _)| !is_made_by_k0rdent(named));
    objects
        .map(|(named, field)| {
            let through = claim.through.iter().cloned().chain([Step::field(field)]).collect();
            Member::new(Places { read: named.clone(), lands: named }, Role::Reference, through, None)
        })
        .collect()
}

/// Returns true if a chain ends in a field of a Credential's projection.
pub fn is_named_by(through: &[Step]) -> bool {
    let path = through.last().and_then(Step::path);
    path.is_some_and(|path| [Projection::TEMPLATE, Projection::SECRET].contains(&path))
}

/// Help for an object that a projection names, and that stands in another namespace.
pub(super) fn cure(elsewhere: &ObjectKey) -> String {
    let ObjectKey { kind, name, .. } = elsewhere;
    format!(
        "k0rdent reads it in the Credential's namespace alone: put it there, or let a rule of AccessManagement copy it: \
         `resources: [{{kind: {}, names: [{name}]}}]`.",
        kind.kind
    )
}
