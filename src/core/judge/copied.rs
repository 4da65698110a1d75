//! Copies that ResourceSyncRules make: whether what comes of an object may go where it lands.

use alloc::vec::Vec;

use super::{check_object, forbidden_kind};
use crate::claim::Claim;
use crate::config::{Grant, RegionConfig};
use crate::finding::{Code, Finding};
use crate::name::ObjectKey;
use crate::object::Object;
use crate::sync_rule::Made;
use crate::world::World;

/// Checks the object that is taken, and what becomes of it.
pub(super) fn check(
    world: &World<'_>,
    (claim, region): (&Claim, &RegionConfig),
    (object, made): (&Object, &Made),
    lands: &ObjectKey,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let copy = made.object(object, lands);
    if lands.kind.is_secret() {
        // Of the copy, only names and metadata are other ones than those of the Secret.
        findings.extend(check_object(world, &region.name, object));
        let of_copy = Object { stays: None, faults: Vec::new(), payload: None, ..copy };
        let is_new = |finding: &Finding| finding.code != Code::ForbiddenType && *lands != object.key;
        findings.extend(names(&of_copy).filter(is_new));
    } else if world.fleet.publishes(&lands.kind) {
        findings.extend(check_object(world, &region.name, &copy));
    } else {
        findings.push(forbidden_kind(claim, lands));
    }
    findings.extend(scope(world, object, lands));
    findings.extend(elsewhere(world, claim, lands));
    findings
}

/// A name or namespace of a copy that the API refuses.
fn names(copy: &Object) -> Option<Finding> {
    let key = &copy.key;
    let is_named = crate::name::is_dns_subdomain(key.name.as_str())
        && key.namespace.as_ref().is_none_or(|namespace| crate::name::is_dns_label(namespace.as_str()));
    if is_named {
        return None;
    }
    let message = format!("the rule gives {key} a name or namespace that the API refuses");
    let help = "Use lower-case letters, digits, dashes and dots.";
    Some(Finding::new(Code::InvalidObject, message).about(key).at(&copy.origin).help(help))
}

/// A kind that has a namespace where the object has none, or the other way round.
fn scope(world: &World<'_>, object: &Object, lands: &ObjectKey) -> Option<Finding> {
    let is_other = |scope| scope != lands.scope();
    world.scope_of(&lands.kind).filter(|scope| is_other(*scope))?;
    let message =
        format!("the rule makes a {} of {}, and only one of the two kinds has namespaces", lands.kind, object.key);
    let finding = Finding::new(Code::InvalidSyncRule, message).about(&object.key).at(&object.origin);
    Some(finding.help("Correct groupVersionKind of the rule's mutations."))
}

/// Refuses a copy in a namespace other than the claimant's that no grant names: who writes the object must not choose it.
fn elsewhere(world: &World<'_>, claim: &Claim, lands: &ObjectKey) -> Option<Finding> {
    let namespace = lands.namespace.as_ref().filter(|namespace| **namespace != claim.by.namespace)?;
    if world.grants_by_name(&claim.by, claim.region(), lands) {
        return None;
    }
    let message = format!("{} puts a copy into namespace {namespace}, and no grant names {lands}", claim.by);
    let help =
        format!("Take the override out, or add to `grants`: `- {}`.", Grant::least(&claim.by, claim.region(), lands));
    Some(Finding::new(Code::NotAdmitted, message).about(lands).at(&claim.origin).help(help))
}
