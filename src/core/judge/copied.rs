//! Copies that ResourceSyncRules make: whether what comes of an object may go where it lands.

use alloc::vec::Vec;

use crate::admission::hangs_on;
use crate::claim::Claim;
use crate::config::Grant;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{ObjectKey, is_dns_label, is_dns_subdomain};
use crate::nearest::did_you_mean;
use crate::object::Object;
use crate::world::{Granting, World};

/// Checks what becomes of an object beside what it holds: names, the kind, the place.
pub(super) fn check(world: &World<'_>, claim: &Claim, object: &Object, lands: &ObjectKey) -> Vec<Finding> {
    let is_renamed = *lands != object.key;
    let names = is_renamed.then(|| names(object, lands)).flatten();
    names.into_iter().chain(scope(world, object, lands)).chain(elsewhere(world, claim, lands)).collect()
}

/// A kind that a rule makes and that pouch does not publish. It may be a slip, so what was made before stays.
pub(super) fn unknown_kind(world: &World<'_>, object: &Object, lands: &ObjectKey) -> Finding {
    let published: Vec<_> = kinds::published().chain(world.fleet.kinds.keys().cloned()).collect();
    let near = did_you_mean(lands.kind.kind.as_str(), published.iter().map(|kind| kind.kind.as_str()));
    let message =
        format!("the rule makes a {} of {}, and pouch does not publish objects of that kind", lands.kind, object.key);
    let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
    finding.help(format!("{near}Correct groupVersionKind of the rule's mutations; what was made before stays."))
}

/// A name or namespace of a copy that the API refuses.
fn names(object: &Object, key: &ObjectKey) -> Option<Finding> {
    let is_named = is_dns_subdomain(key.name.as_str())
        && key.namespace.as_ref().is_none_or(|namespace| is_dns_label(namespace.as_str()));
    if is_named {
        return None;
    }
    let message = format!("the rule gives {key} a name or namespace that the API refuses");
    let help = "Use lower-case letters, digits, dashes and dots.";
    Some(Finding::new(Code::InvalidObject, message).about(key).at(&object.origin).help(help))
}

/// A kind that has a namespace where the object has none, or the other way round.
fn scope(world: &World<'_>, object: &Object, lands: &ObjectKey) -> Option<Finding> {
    let is_other = |scope| scope != lands.scope();
    world.scope_of(&lands.kind).filter(|scope| is_other(*scope))?;
    let message =
        format!("the rule makes a {} of {}, and only one of the two kinds has namespaces", lands.kind, object.key);
    let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
    Some(finding.help("Correct groupVersionKind of the rule's mutations."))
}

/// Refuses a copy in a namespace other than the claimant's that no grant names: who writes the object must not choose it.
fn elsewhere(world: &World<'_>, claim: &Claim, lands: &ObjectKey) -> Option<Finding> {
    let namespace = lands.namespace.as_ref().filter(|namespace| **namespace != *claim.by.namespace())?;
    match world.landing(&claim.by, claim.region(), lands) {
        Granting::Yes(_) => return None,
        Granting::Unknown(placement, why) => {
            return Some(hangs_on(claim.into(), lands, placement, why).at(&claim.origin));
        }
        Granting::No => {}
    }
    let message = format!("{} puts a copy into namespace {namespace}, and no grant names {lands}", claim.by);
    let help =
        format!("Take the override out, or add to `grants`: `- {}`.", Grant::least(&claim.by, claim.region(), lands));
    Some(Finding::new(Code::NotAdmitted, message).about(lands).at(&claim.origin).help(help))
}
