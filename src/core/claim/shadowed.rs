//! Shadowed: claimants of which another source has a copy that says something else, and that some region takes.
//!
//! Which of the two is meant nobody knows. Were the copy that no region takes to decide alone, whoever rules the cluster of
//! one region could take away what a claimant of another one has.

use super::Asked;
use crate::finding::Code;
use crate::name::{Claimant, SourceName};
use crate::object::{Object, finding_of};
use crate::snapshot::Snapshot;

/// What a claimant asks for whose copy that counts no region takes: nothing that can be told, if a region takes another.
pub(super) fn ask(
    snapshot: &Snapshot,
    object: &Object,
    by: Claimant,
    is_taken: impl Fn(&SourceName, &str) -> bool,
) -> Option<Asked> {
    let fault = object.faults.iter().find(|fault| fault.code == Code::Shadowed)?;
    let path = by.place();
    snapshot.copies(&object.key).find(|copy| is_taken(&copy.origin.source, &path))?;
    let findings = vec![finding_of(fault, object)];
    Some(Asked { by, origin: object.origin.clone(), region: None, claim: None, findings })
}
