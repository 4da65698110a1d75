//! Projection: the objects from which k0rdent itself propagates a credential, in place of companions.
//!
//! `spec.projectionConfig` names a template and a Secret in the Credential's own namespace. k0rdent reads them on the
//! management cluster, where an object may be a copy that a rule of an AccessManagement makes of one in the system namespace.
//! Such a copy k0rdent makes by itself, so where the sources lack it, nothing is missing and nothing takes its place.

use alloc::string::String;
use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Closure, Member, Role};
use crate::claim::Claim;
use crate::k0rdent::credential::{self, Projection};
use crate::kinds;
use crate::name::step::{Step, behind_claimant};
use crate::name::{Namespace, ObjectKey};
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;

/// The members that a projection adds to a closure: none for an object that already lands where it is named.
pub(super) fn members(world: &World<'_>, claim: &Claim, projection: &Projection, closure: &Closure) -> Vec<Member> {
    let is_made_by_k0rdent =
        |named: &ObjectKey| matches!(world.snapshot.stands(named), Lookup::Absent) && world.access().may_copy(named);
    let lands = |named: &ObjectKey| closure.members.iter().any(|member| member.lands == *named);
    projection
        .objects(claim.by.namespace())
        .filter(|(named, _)| !lands(named) && !is_made_by_k0rdent(named))
        .map(|(named, field)| {
            let through = claim.through.iter().cloned().chain([Step::field(field)]).collect();
            Member::new(Places { read: named.clone(), lands: named }, Role::Reference, through, None)
        })
        .collect()
}

/// Returns true if the k0rdent that runs may read companions for a claim: there is no projection, or it may be of a release
/// that does not know the field, or its own copy of the Credential lacks it.
pub fn may_read_companions(world: &World<'_>, claim: &Claim) -> bool {
    let knows_field = world.fleet.builtin.is_some_and(|release| release.minor >= Projection::SINCE);
    let copy = kinds::claimant(&claim.by).filter(|_| claim.is_handed_out()).and_then(|key| world.snapshot.get(&key));
    let lacks_field = |copy: &Object| credential::read(copy).is_ok_and(|spec| spec.projection.is_none());
    claim.projection().is_none() || !knows_field || copy.is_some_and(lacks_field)
}

/// Returns true if a chain is one field of a Credential's projection, and not a field of the same path that a
/// ProviderInterface defines.
pub fn is_named_by(through: &[Step]) -> bool {
    let [step] = behind_claimant(through) else { return false };
    let is_own = |path: &str| step.interface().is_none() && [Projection::TEMPLATE, Projection::SECRET].contains(&path);
    step.path().is_some_and(is_own)
}

/// Help for an object that a projection names, and that stands in another namespace.
pub(super) fn cure(elsewhere: &ObjectKey, namespace: &Namespace) -> String {
    let ObjectKey { kind, name, .. } = elsewhere;
    format!(
        "k0rdent reads it in the Credential's namespace alone: put it there, or let a rule of AccessManagement copy it: \
         `{{targetNamespaces: {{list: [{namespace}]}}, resources: [{{kind: {}, names: [{name}]}}]}}`.",
        kind.kind
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_projection_is_one_step_of_no_provider_interface() {
        let own = || Step::field(Projection::SECRET);
        let defined = || Step::Field { interface: Some("p".into()), field: Projection::SECRET.into() };
        for (chain, expect) in [
            (vec![own()], true),
            (vec![Step::AccessRule("kcm".into()), own()], true),
            (vec![Step::field(Projection::TEMPLATE)], true),
            (vec![Step::field("spec.secretRef")], false),
            (vec![defined()], false),
            (vec![Step::field("spec.secretRef"), own()], false),
            (vec![], false),
        ] {
            assert_eq!(is_named_by(&chain), expect, "{chain:?}");
        }
    }
}
