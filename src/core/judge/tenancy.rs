//! Tenancy: what admits a claim's namespace to what the claim reaches (DESIGN §2.4).
//!
//! Admitted are objects of the Credential's own namespace; cluster-scoped identities that admit the
//! namespace by their provider's own meaning, at every hop; Secrets of the system namespace through
//! such an identity; for a managed claim what stands in the system namespace, which its source
//! Credential may use; and what a [grant] names. Labels on a Credential prove nothing.
//! Everything else is refused.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Court, grant};
use crate::capi::Admits;
use crate::claim::Claim;
use crate::closure::open::{Sought, admits, is_open, tenancy_of};
use crate::closure::{Closure, Member, Role, is_publishable};
use crate::config::{RegionConfig, Tenancy};
use crate::finding::{Code, Finding};
use crate::name::Namespace;
use crate::object::Object;

/// Checks every member of a closure.
pub fn check(court: &Court<'_>, region: &RegionConfig, claim: &Claim, closure: &Closure) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in &closure.members {
        // A kind that is not published is refused as such; an assumed identity admits all namespaces.
        if member.role == Role::Assumed || !is_publishable(court.fleet, &member.read.kind) {
            continue;
        }
        let object = court.snapshot.get(&member.read);
        match &member.read.namespace {
            None => findings.extend(object.and_then(|object| identity(court, region, claim, object))),
            Some(namespace) => {
                findings.extend(namespaced(court, claim, closure, member, namespace));
                // Wherever it was read: its provider asks it where it lands.
                if member.lands.namespace.as_ref() == Some(&claim.by.namespace) {
                    findings.extend(object.and_then(|object| unusable(court, claim, object)));
                }
            }
        }
    }
    findings
}

/// A cluster-scoped identity: its own rule decides, unless the Credential is in the system namespace.
fn identity(court: &Court<'_>, region: &RegionConfig, claim: &Claim, object: &Object) -> Option<Finding> {
    if claim.by.namespace == court.fleet.system_namespace {
        return unusable(court, claim, object);
    }
    let why = match admits(court.fleet, claim, object) {
        Admits::Yes => return None,
        Admits::No => String::from("its allowedNamespaces does not admit it"),
        Admits::Unknown(why) => String::from(why),
    };
    // A grant admits the claim here; on the region the provider still asks the identity alone.
    if grant::opens(court, claim, &object.key) {
        return unusable(court, claim, object);
    }
    let namespace = &claim.by.namespace;
    let message = format!("{} is not open to namespace {namespace}: {why}", object.key);
    Some(Finding::new(Code::NotAdmitted, message).about(&object.key).at(&object.origin).help(format!(
        "Admit {namespace} in the identity, or write the namespace's labels into regions.{}.namespaces.labels. {}",
        region.name,
        grant::last_resort(claim, &object.key)
    )))
}

/// Warns of an identity that the Credential may refer to and that nobody in its namespace can use.
fn unusable(court: &Court<'_>, claim: &Claim, object: &Object) -> Option<Finding> {
    let tenancy = tenancy_of(court.fleet, &object.key.kind)?;
    if tenancy == Tenancy::None && object.key.namespace.is_some() {
        return None;
    }
    let why = match admits(court.fleet, claim, object) {
        Admits::Yes => return None,
        Admits::No => "its allowedNamespaces does not admit it",
        Admits::Unknown(why) => why,
    };
    let message = format!("{} cannot be used by clusters in namespace {}: {why}", object.key, claim.by.namespace);
    Some(
        Finding::new(Code::UnusableInNamespace, message)
            .about(&object.key)
            .at(&object.origin)
            .help("Admit the namespace in the identity."),
    )
}

/// A namespaced object: the Credential's own namespace, or the system namespace through an identity.
fn namespaced(
    court: &Court<'_>,
    claim: &Claim,
    closure: &Closure,
    member: &Member,
    namespace: &Namespace,
) -> Option<Finding> {
    let own = &claim.by.namespace;
    let sought = Sought { read: &member.read, role: member.role, referrer: member.referrer };
    if is_open(court.fleet, claim, closure, &sought) {
        return None;
    }
    let message = format!("{} is not open to Credentials of namespace {own}", member.read);
    Some(Finding::new(Code::NotAdmitted, message).about(&member.read).at(&claim.origin).help(format!(
        "Put the object into namespace {own}, or the Credential into namespace {namespace}. {}",
        grant::last_resort(claim, &member.read)
    )))
}
