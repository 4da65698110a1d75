//! Projection: the objects from which k0rdent itself propagates a credential, in place of companions.
//!
//! `spec.projectionConfig` names a template and a Secret in the Credential's own namespace. On the management cluster an
//! object there may be a copy that a rule of an AccessManagement makes of one in the system namespace; where the sources
//! lack the copy, the object that it is made from takes its place.

use alloc::string::String;
use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Closure, Member, Role};
use crate::admission::Namer;
use crate::claim::Claim;
use crate::k0rdent::credential::Projection;
use crate::name::ObjectKey;
use crate::name::step::Step;
use crate::selector::Truth;
use crate::snapshot::Lookup;
use crate::world::World;

/// The members that a projection adds to a closure.
pub(super) fn members(world: &World<'_>, claim: &Claim, projection: &Projection, closure: &mut Closure) -> Vec<Member> {
    let mut members = Vec::new();
    for (lands, field) in projection.objects(claim.by.namespace()) {
        let Some(read) = read(world, claim, &lands, closure) else { continue };
        let through = claim.through.iter().cloned().chain([Step::field(field)]).collect();
        members.push(Member::new(Places { read, lands }, Role::Reference, through, None));
    }
    members
}

/// The object that is read for one which a Credential names; none where that is unknown.
fn read(world: &World<'_>, claim: &Claim, named: &ObjectKey, closure: &mut Closure) -> Option<ObjectKey> {
    if !matches!(world.snapshot.stands(named), Lookup::Absent) {
        return Some(named.clone());
    }
    let original = ObjectKey { namespace: Some(world.fleet.system_namespace.clone()), ..named.clone() };
    match world.access().copies(&original, claim.by.namespace()) {
        Truth::Yes => Some(original),
        Truth::No => Some(named.clone()),
        Truth::Unknown => {
            let finding = world.access().leaves_open(&original, claim.by.namespace());
            closure.find(claim, finding.at(&claim.origin));
            None
        }
    }
}

/// Returns true if a chain ends in a field of a Credential's projection.
pub fn is_named_by(through: &[Step]) -> bool {
    let path = through.last().and_then(Step::path);
    path.is_some_and(|path| [Projection::TEMPLATE, Projection::SECRET].contains(&path))
}

/// The origin of a reference that a projection makes: what is read elsewhere than it lands is copied there by a rule.
pub fn namer<'a>(read: &ObjectKey, lands: &ObjectKey) -> Namer<'a> {
    if read == lands { Namer::Claimant } else { Namer::Copied }
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
