//! Objects that are encrypted in their source.
//!
//! Such an object is known by its key before anybody opens it, and is opened only when a closure wants it: a
//! source may hold thousands for others. Until then a lookup says that the source was not asked. How a document
//! is opened is not known here.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::copies::{Copy, File, Proof};
use super::{Answer, Held, Objects, Reason, Snapshot, State, Word, place};
use crate::config::Fleet;
use crate::finding::{Code, Fault, Finding, Origin};
use crate::name::{GroupKind, ObjectKey};
use crate::node::Node;
use crate::object::{Object, admit};
use crate::sops::read::Fingerprint;

/// A document that is encrypted in its source.
pub struct SealedDocument {
    /// The document as it stands: what identifies the object is readable.
    pub document: Node,
    /// Where it stands.
    pub origin: Origin,
    /// The number of the sealed file that it is part of; the documents of one file share a MAC.
    pub file: usize,
    /// The fingerprints of its sealed values.
    pub leaves: Vec<Fingerprint>,
    /// Why it cannot be opened, if that was tried; it always was for a listed kind.
    pub trouble: Option<Reason>,
}

/// Why an encrypted object of a listed kind could not be opened.
pub(super) fn shut(kind: &GroupKind, origin: &Origin, Reason { why, help, line }: &Reason) -> Finding {
    let message = format!("a {kind} is encrypted and cannot be opened: {why}");
    Finding::new(Code::UnparsableDocument, message).at(&origin.at_line(*line)).help(help)
}

/// The encrypted objects of a source that were not opened.
#[derive(Default)]
pub(super) struct Unopened(BTreeMap<ObjectKey, (usize, Option<Reason>)>);

impl Unopened {
    /// Adds an object as it stands; its faults are known only when it is open.
    pub(super) fn add(&mut self, object: &mut Object, number: usize) {
        object.faults.clear();
        self.0.entry(object.key.clone()).or_insert((number, None));
    }

    /// What the source says of an object that it holds encrypted; none if it does not hold it so.
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

/// Records on an object that it cannot be opened.
pub(super) fn close(object: &mut Object, Reason { why, help, line }: Reason) {
    let message = format!("the {} is encrypted and cannot be opened: {why}", object.key.kind.kind);
    object.faults.retain(|fault| is_of_sources(fault.code));
    object.faults.push(Fault { line, ..Fault::new(Code::UndecryptableSource, message, help) });
}

/// Whether a fault comes from other objects of the sources, and not from the object itself.
fn is_of_sources(code: Code) -> bool {
    matches!(code, Code::DuplicateObject | Code::CopiedCiphertext)
}

impl Snapshot {
    /// The number of the encrypted document of a source that holds an object.
    pub fn sealed_document(&self, index: usize, key: &ObjectKey) -> Option<usize> {
        self.sources.get(index).and_then(|state| state.sealed.number(key))
    }

    /// The sealed files to look at before objects of a source are opened: those with a value that stands in
    /// another file too.
    pub fn in_doubt(&self, index: usize, keys: &BTreeSet<ObjectKey>) -> BTreeSet<File> {
        self.copies.in_doubt(index, keys.iter())
    }

    /// Records on objects which of their values were copied, once all files with the value were looked at.
    pub fn settle_copies(&mut self, fleet: &Fleet, proofs: &BTreeMap<File, Proof>) {
        for Copy { key, source, other, either } in self.copies.judge(proofs) {
            let Some(at) = self.objects.get(&other).map(|held| held.object.origin.clone()) else { continue };
            let Some(held) = self.objects.get_mut(&key) else { continue };
            let message = format!("a sealed value of {key} stands in {other} too, at {at}");
            let help = match either {
                true => "Remove the copy, and seal the document anew. If none of you made the copy, find out who did.",
                false => {
                    "Its MAC does not verify, so it counts as the copy: seal it from its plain manifest, or remove it."
                }
            };
            if let Some(object) = held.copy_of(source) {
                object.faults.push(Fault::new(Code::CopiedCiphertext, message, help));
            }
            held.settle(fleet);
        }
    }

    /// Adds the answer of a source that was asked to open an object.
    pub(super) fn unseal(&mut self, fleet: &Fleet, index: usize, key: ObjectKey, answer: Answer) {
        let Some(source) = fleet.sources.get(index) else { return };
        let Some(State { sealed, .. }) = self.sources.get_mut(index) else { return };
        let reason = match answer {
            Answer::Unread(reason) => {
                sealed.0.entry(key).and_modify(|(_, told)| *told = Some(reason));
                return;
            }
            Answer::Found(document, _) if is_unbound(&key, &document) => {
                let why = "it names no namespace, so its MAC binds it to none";
                Reason::new(why, "Write its metadata.namespace, and seal it again.")
            }
            Answer::Found(document, origin) => {
                match admit(document, origin, &self.scopes, source.default_namespace.as_ref(), fleet) {
                    Ok(object) if object.key == key => {
                        sealed.0.remove(&key);
                        return replace(&mut self.objects, fleet, index, object);
                    }
                    _ => changed(),
                }
            }
            Answer::Sealed(reason) => reason,
            Answer::Absent => changed(),
        };
        sealed.0.remove(&key);
        if let Some(held) = self.objects.get_mut(&key) {
            if let Some(object) = held.copy_of(index) {
                close(object, reason);
            }
            held.settle(fleet);
        }
    }
}

/// Whether an object got its namespace from its source. Its sealed document could then be moved to another
/// source as it is, and would be somebody else's there.
fn is_unbound(key: &ObjectKey, document: &Node) -> bool {
    key.namespace.is_some() && document.str_at(&["metadata", "namespace"]).is_none()
}

fn changed() -> Reason {
    let why = "decrypted, it is a different object than its readable part says";
    Reason::new(why, "Seal the document again from its plain manifest.")
}

/// Replaces a source's own encrypted object with the opened one.
fn replace(objects: &mut Objects, fleet: &Fleet, index: usize, mut object: Object) {
    match objects.get_mut(&object.key) {
        Some(held) => {
            if let Some(copy) = held.copy_of(index) {
                object.faults.extend(copy.faults.extract_if(.., |fault| is_of_sources(fault.code)));
                *copy = object;
            }
            held.settle(fleet);
        }
        None => place(objects, fleet, index, object),
    }
}

impl Held {
    fn copy_of(&mut self, index: usize) -> Option<&mut Object> {
        if self.from == index {
            return Some(&mut self.object);
        }
        self.others.iter_mut().find(|(from, _)| *from == index).map(|(_, object)| object)
    }
}
