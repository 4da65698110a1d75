//! Objects that are encrypted where they stand, and that were not opened.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::reason::Reason;
use crate::finding::{Code, Fault, Finding, Origin};
use crate::name::{GroupKind, ObjectKey};
use crate::node::Node;
use crate::object::Object;
use crate::sops::read::Fingerprint;

/// What a source says about an object that it did not give.
pub(super) enum Word<'a> {
    Absent,
    Unread(Option<&'a Reason>),
    Unasked,
}

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
pub(super) fn shut(kind: &GroupKind, origin: &Origin, Reason { why, help, line }: &Reason) -> Finding {
    let message = format!("a {kind} is encrypted and cannot be opened: {why}");
    Finding::new(Code::UnparsableDocument, message).at(&origin.at_line(*line)).help(help.clone())
}

/// The encrypted objects of a source that were not opened.
#[derive(Default)]
pub(super) struct Unopened(pub(super) BTreeMap<ObjectKey, (usize, Option<Reason>)>);

impl Unopened {
    /// Adds an object as it stands; what is wrong with it is known when it is open.
    pub(super) fn add(&mut self, object: &mut Object, number: usize) {
        object.faults.clear();
        self.0.entry(object.key.clone()).or_insert((number, None));
    }

    /// What the source says of an object that it holds encrypted; none where it does not.
    pub(super) fn word(&self, key: &ObjectKey) -> Option<Word<'_>> {
        self.0.get(key).map(|(_, reason)| match reason {
            None => Word::Unasked,
            reason => Word::Unread(reason.as_ref()),
        })
    }

    /// The number of the document that holds an object.
    pub(super) fn number(&self, key: &ObjectKey) -> Option<usize> {
        self.0.get(key).map(|(number, _)| *number)
    }
}

/// Notes on an object that it cannot be opened.
pub(super) fn close(object: &mut Object, Reason { why, help, line }: Reason) {
    let message = format!("the {} is encrypted and cannot be opened: {why}", object.key.kind.kind);
    object.faults.retain(|fault| is_of_sources(fault.code));
    object.faults.push(Fault { line, ..Fault::new(Code::UndecryptableSource, message, help) });
}

/// Whether a fault is about what else the sources hold, whatever the object itself says.
pub(super) fn is_of_sources(code: Code) -> bool {
    matches!(code, Code::DuplicateObject | Code::CopiedCiphertext)
}
