//! Grants: what the configuration lets a claim use beyond the boundary of namespaces.
//!
//! Grants are asked where everything else has refused. A grant opens the use of an object and nothing else: kinds that
//! are not published, Secrets that never leave, places and names on the region that are not for bundles, and namespaces
//! that the region does not take are judged as if there were no grant.

use alloc::string::String;

use crate::claim::Claim;
use crate::config::Grant;
use crate::name::ObjectKey;

/// The last resort among the cures of a refusal: the narrowest grant that would admit the object.
pub(super) fn last_resort(claim: &Claim, read: &ObjectKey) -> String {
    format!("Or, if this use is intended, add to `grants`: `- {}`.", Grant::least(&claim.by, claim.region(), read))
}

#[cfg(test)]
mod tests;
