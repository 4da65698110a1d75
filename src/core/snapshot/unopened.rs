//! Objects that are encrypted where they stand, and that were not opened.

use alloc::vec::Vec;

use super::reason::Reason;
use crate::finding::{Code, Fault, Finding, Origin};
use crate::name::GroupKind;
use crate::node::Node;
use crate::object::Object;
use crate::sops::read::Fingerprint;

/// A document that is encrypted where it stands.
pub struct SealedDocument {
    /// The document as it stands: what identifies the object is readable.
    pub document: Node,
    /// Where it stands.
    pub origin: Origin,
    /// The sealed file of the source that it is part of, by number: its documents share one MAC.
    pub file: usize,
    /// What its sealed values are known by.
    pub leaves: Vec<Fingerprint>,
    /// Why it cannot be opened, where that was tried already. One of a kind of which all objects are looked at
    /// was.
    pub trouble: Option<Reason>,
}

/// Why an encrypted object of a listed kind could not be opened.
pub(super) fn shut(kind: &GroupKind, origin: &Origin, Reason { why, help, line, .. }: &Reason) -> Finding {
    let message = format!("a {kind} is encrypted and cannot be opened: {why}");
    Finding::new(Code::UnparsableDocument, message).at(&origin.at_line(*line)).help(help.clone())
}

/// Notes on an object that it cannot be opened.
pub(super) fn close(object: &mut Object, Reason { why, help, line, code }: Reason) {
    let message = format!("the {} is encrypted and cannot be opened: {why}", object.key.kind.kind);
    object.faults.retain(|fault| is_of_sources(fault.code));
    object.faults.push(Fault { line, ..Fault::new(code, message, help) });
}

/// Whether a fault is about what else the sources hold, whatever the object itself says.
pub(super) fn is_of_sources(code: Code) -> bool {
    matches!(code, Code::DuplicateObject | Code::CopiedCiphertext)
}
