//! Opening objects that are encrypted where they stand, and noting what was copied.
//!
//! Such an object is known by its key before anybody opens it, and is opened only when a closure wants it: a
//! source may hold thousands for others. Until then a lookup says that the source was not asked. How a document
//! is opened is not known here.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

use super::copies::{Copy, File, Proof};
use super::elsewhere::Elsewhere;
use super::objects::{Objects, place};
use super::reason::Reason;
use super::state::State;
use super::unopened::{close, is_of_sources};
use super::{Answer, Base, Snapshot};
use crate::config::Fleet;
use crate::finding::{Code, Fault};
use crate::name::{Name, ObjectKey};
use crate::object::{Object, admit};

impl Snapshot {
    /// The number of the encrypted document of a source that holds an object.
    pub fn sealed_document(&self, index: usize, key: &ObjectKey) -> Option<usize> {
        self.sources.get(index)?.sealed.get(key).map(|(number, _)| *number)
    }

    /// What would make a Secret that is in no source.
    pub fn elsewhere(&self, key: &ObjectKey) -> Option<&Elsewhere> {
        let somewhere = || ObjectKey { name: Name::from(""), ..key.clone() };
        let secret = key.kind.is_secret();
        secret.then(|| self.elsewhere.get(key).or_else(|| self.elsewhere.get(&somewhere()))).flatten()
    }

    /// The sealed files to look at before objects of a source are opened: those with a value that stands in
    /// another file too.
    pub fn in_doubt(&self, index: usize, keys: &BTreeSet<ObjectKey>) -> BTreeSet<File> {
        self.copies.in_doubt(index, keys.iter())
    }

    /// All sealed files with a value that stands in another file too.
    pub fn all_in_doubt(&self) -> BTreeSet<File> {
        self.copies.files()
    }

    /// Records on objects which of their values were copied, once all files with the value were looked at.
    pub fn settle_copies(&mut self, fleet: &Fleet, proofs: &BTreeMap<File, Proof>) {
        let Some(base) = self.base_mut() else { return };
        for Copy { key, source, other, either } in base.copies.judge(proofs) {
            // A document whose namespace is mistyped is no object.
            let at = base.objects.get(&other).map(|held| format!(", at {}", held.object.origin)).unwrap_or_default();
            let Some(held) = base.objects.get_mut(&key) else { continue };
            let message = format!("a sealed value of {key} stands in {other} too{at}");
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
}

impl Base {
    /// Adds the answer of a source that was asked to open an object.
    pub(super) fn unseal(&mut self, fleet: &Fleet, index: usize, key: ObjectKey, answer: Answer) {
        let Some(source) = fleet.sources.get(index) else { return };
        let Some(State { sealed, .. }) = self.sources.get_mut(index) else { return };
        let is_unseen = matches!(answer, Answer::Unseen(..));
        let reason = match answer {
            Answer::Unread(reason) => {
                sealed.entry(key).and_modify(|(_, told)| *told = Some(reason));
                return;
            }
            Answer::Found(document, origin) | Answer::Unseen(document, origin) => {
                match admit(document, origin, &self.scopes, source.default_namespace.as_ref(), fleet) {
                    Ok(object) if object.key == key => {
                        sealed.remove(&key);
                        let object = if is_unseen { object.unseen() } else { object };
                        replace(&mut self.objects, fleet, index, object);
                        return self.home.back_up(&mut self.objects, &key);
                    }
                    _ => changed(),
                }
            }
            Answer::Sealed(reason) => reason,
            Answer::Absent => changed(),
        };
        sealed.remove(&key);
        if let Some(held) = self.objects.get_mut(&key) {
            if let Some(object) = held.copy_of(index) {
                close(object, reason);
            }
            held.settle(fleet);
        }
    }
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
        None => place(objects, fleet, index, Box::new(object)),
    }
}
