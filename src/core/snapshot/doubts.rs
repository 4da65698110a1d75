//! What the documents of a source that could not be used might hold.
//!
//! They are found by their words, so that a hundred thousand broken documents cost a lookup no more than those that
//! might hold its key.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use zeroize::Zeroize as _;

use crate::name::{GroupKind, Namespace, ObjectKey};
use crate::unread_words::UnreadWords;

#[derive(Default)]
pub(super) struct Doubts {
    documents: Vec<UnreadWords>,
    /// The documents with a word, by number.
    with: BTreeMap<Box<str>, Vec<usize>>,
    /// Those of any kind, and those of any name.
    any_kind: Vec<usize>,
    any_name: Vec<usize>,
}

impl Doubts {
    pub(super) fn of(documents: Vec<UnreadWords>) -> Self {
        let mut doubts = Self::default();
        for (number, mut document) in documents.into_iter().enumerate() {
            for word in document.take_words() {
                doubts.with.entry(word).or_default().push(number);
            }
            if document.any_kind {
                doubts.any_kind.push(number);
            }
            if document.any_name {
                doubts.any_name.push(number);
            }
            doubts.documents.push(document);
        }
        doubts
    }

    fn with(&self, word: &str) -> &[usize] {
        self.with.get(word).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether some document might hold an object.
    pub(super) fn may_hold(&self, key: &ObjectKey) -> bool {
        if self.documents.is_empty() {
            return false;
        }
        let of_kind = self.with(key.kind.kind.as_str());
        let has =
            |number: &&usize| of_kind.binary_search(number).is_ok() || self.any_kind.binary_search(number).is_ok();
        let named = self.with(key.name.as_str()).iter().chain(&self.any_name);
        named.filter(has).any(|number| self.is_in(*number, key.namespace.as_ref()))
    }

    /// Whether some document has the words of an object's kind and name: one of which nobody knows the kind says nothing.
    pub(super) fn names(&self, key: &ObjectKey) -> bool {
        let of_kind = self.with(key.kind.kind.as_str());
        let mut named = self.with(key.name.as_str()).iter().chain(&self.any_name);
        named.any(|number| of_kind.binary_search(number).is_ok() && self.is_in(*number, key.namespace.as_ref()))
    }

    /// Whether some document might hold an object of a kind in a namespace; none is any namespace.
    pub(super) fn may_hold_kind(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        self.with(kind.kind.as_str()).iter().chain(&self.any_kind).any(|number| self.is_in(*number, namespace))
    }

    fn is_in(&self, number: usize, namespace: Option<&Namespace>) -> bool {
        self.documents.get(number).is_some_and(|document| document.may_be_in(namespace.map(Namespace::as_str)))
    }
}

impl Drop for Doubts {
    fn drop(&mut self) {
        while let Some((mut word, _)) = self.with.pop_first() {
            word.zeroize();
        }
    }
}
