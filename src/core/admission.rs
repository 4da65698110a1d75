//! Open: which namespaced objects a claim may look at.
//!
//! The boundary of namespaces (DESIGN §2.4) holds already for asking: a reference to somebody else's
//! Secret neither has it fetched from a live cluster, nor tells whether it exists. What is not open is
//! refused by [`judge`](crate::judge), which asks the same questions.

use crate::capi::tenancy::Tenancy;
use crate::capi::{self, Admits};
use crate::claim::Claim;
use crate::closure::{Closure, Role};
use crate::config::Fleet;
use crate::name::{GroupKind, ObjectKey};
use crate::object::Object;

/// Whether a claim may look at an object: one of its own namespace; one of the system namespace, for a
/// managed claim, or where a cluster-scoped identity names a Secret or has its template there; or one
/// that a grant names. Cluster-scoped objects are open to all.
pub fn is_open(fleet: &Fleet, claim: &Claim, closure: &Closure, sought: &Sought<'_>) -> bool {
    let Some(namespace) = &sought.read.namespace else { return true };
    if *namespace == claim.by.namespace {
        return true;
    }
    let through_identity = || {
        let referrer = sought.referrer.and_then(|index| closure.members.get(index));
        referrer.is_some_and(|referrer| referrer.read.namespace.is_none())
    };
    let kind_may = sought.read.kind.is_secret() || sought.role == Role::ResourceTemplate;
    (*namespace == fleet.system_namespace && (claim.managed || (kind_may && through_identity())))
        || fleet.grants(&claim.by, claim.region(), sought.read)
}

/// Whether a cluster-scoped identity lets a claim's namespace use it, by its provider's own meaning.
pub fn admits(fleet: &Fleet, claim: &Claim, identity: &Object) -> Admits {
    let namespace = &claim.by.namespace;
    let labels = fleet.regions.get(claim.region()).and_then(|region| region.labels.get(namespace));
    match tenancy_of(fleet, &identity.key.kind) {
        Some(tenancy) => capi::admits(tenancy, identity.at(&["spec"]), namespace, labels),
        None => Admits::Unknown("its kind has no rule that says who may use it"),
    }
}

/// The tenancy of a kind, if it has one.
pub fn tenancy_of(fleet: &Fleet, kind: &GroupKind) -> Option<Tenancy> {
    capi::rules(kind).map(|rules| rules.tenancy).or_else(|| fleet.kinds.get(kind).map(|extra| extra.tenancy))
}

/// Whether an identity is shut to a claim: what it names is then not asked for either.
pub fn is_shut(fleet: &Fleet, claim: &Claim, identity: &Object) -> bool {
    identity.key.namespace.is_none()
        && claim.by.namespace != fleet.system_namespace
        && !matches!(admits(fleet, claim, identity), Admits::Yes)
        && !fleet.grants(&claim.by, claim.region(), &identity.key)
}

/// An object that a claim reaches for.
pub struct Sought<'a> {
    /// The object.
    pub read: &'a ObjectKey,
    /// Why it would be part of the closure.
    pub role: Role,
    /// The member that names it, by index.
    pub referrer: Option<usize>,
}
