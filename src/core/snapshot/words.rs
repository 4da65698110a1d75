//! What the documents of a source that could not be used might hold.
//!
//! They are found by their words, so that a hundred thousand broken documents cost a lookup no more than those that
//! might hold its key.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use zeroize::Zeroize as _;

use super::asked::Asked;
use crate::name::Namespace;
use crate::unread_words::UnreadWords;

/// The documents of one source that could not be used.
#[derive(Default)]
pub(super) struct Words {
    documents: Vec<UnreadWords>,
    /// The documents with a word, by number.
    with: BTreeMap<Box<str>, Vec<usize>>,
    /// The same of words that are no name of the object: those that it refers by.
    saying: BTreeMap<Box<str>, Vec<usize>>,
    /// Those of which no text is known.
    without_text: Vec<usize>,
    /// Those of any kind, and those of any name.
    any_kind: Vec<usize>,
    any_name: Vec<usize>,
}

impl Words {
    pub(super) fn of(documents: Vec<UnreadWords>) -> Self {
        let mut found = Self::default();
        for (number, mut document) in documents.into_iter().enumerate() {
            for word in document.take_words() {
                found.with.entry(word).or_default().push(number);
            }
            for word in document.take_said() {
                found.saying.entry(word).or_default().push(number);
            }
            if document.has_no_text {
                found.without_text.push(number);
            }
            if document.any_kind {
                found.any_kind.push(number);
            }
            if document.any_name {
                found.any_name.push(number);
            }
            found.documents.push(document);
        }
        found
    }

    fn with(&self, word: &str) -> &[usize] {
        self.with.get(word).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns true if some document has the words of the question.
    pub(super) fn may_name(&self, asked: Asked<'_>) -> bool {
        self.may_hold(asked, self.with(asked.kind.kind.as_str()))
    }

    /// Returns true if some document of unknown kind might hold it.
    pub(super) fn may_be_any(&self, asked: Asked<'_>) -> bool {
        self.may_hold(asked, &self.any_kind)
    }

    /// Returns true if some document has all of some words, and may be of the kind in the namespace. Of one whose text
    /// is not known, the kind tells.
    pub(super) fn may_say(&self, asked: Asked<'_>, words: &[&str]) -> bool {
        let namespace = asked.namespace.map(Namespace::as_str);
        let is_among = |numbers: &[usize], number: usize| numbers.binary_search(&number).is_ok();
        let saying = |word: &str| self.saying.get(word).map(Vec::as_slice).unwrap_or_default();
        let has = |number: usize, word: &&str| is_among(self.with(word), number) || is_among(saying(word), number);
        let is_it = |number: usize| {
            let is_in = self.documents.get(number).is_some_and(|document| document.may_be_in(namespace));
            is_in && (is_among(&self.without_text, number) || words.iter().all(|word| has(number, word)))
        };
        let mut of_kind = self.with(asked.kind.kind.as_str()).iter().chain(&self.any_kind);
        of_kind.any(|number| is_it(*number))
    }

    fn may_hold(&self, asked: Asked<'_>, of_kind: &[usize]) -> bool {
        let namespace = asked.namespace.map(Namespace::as_str);
        let is_in = |number: &usize| self.documents.get(*number).is_some_and(|document| document.may_be_in(namespace));
        let Some(key) = asked.object else { return of_kind.iter().any(is_in) };
        let mut named = self.with(key.name.as_str()).iter().chain(&self.any_name);
        named.any(|number| of_kind.binary_search(number).is_ok() && is_in(number))
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        for all in [&mut self.with, &mut self.saying] {
            while let Some((mut word, _)) = all.pop_first() {
                word.zeroize();
            }
        }
    }
}
