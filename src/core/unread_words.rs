//! Unread words: what a document that could not be used might hold, as far as its words tell.
//!
//! One broken document must not make every absence of its source doubtful. An unreadable document is unknown, but
//! an object's kind and name would have to stand in its text word by word. What was lost with the end of a file, or is written
//! with escapes, is known from the bundle that was published of it. A document that was read and is merely wrong might hold
//! one object: the one that it names. The words can be parts of secrets: they cannot be printed, only asked for.

use alloc::boxed::Box;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use zeroize::Zeroize as _;

use crate::name::ObjectKey;
use crate::node::Node;

/// So much of a text has its words kept, in bytes.
pub const MAX_BYTES: usize = 4 << 20;

/// How a value that SOPS sealed begins.
const SEALED: &str = "ENC[";

/// The words of a document that could not be used.
#[derive(Default)]
pub struct UnreadWords {
    /// Sorted, each once.
    words: Vec<Box<str>>,
    /// The other texts of a document that was read: what it refers to, and by what it is selected. Sorted, each once.
    said: Vec<Box<str>>,
    /// Set if only what identifies the object is known.
    pub(crate) has_no_text: bool,
    /// Whether the kind can be any, because the document does not say it.
    pub(crate) any_kind: bool,
    /// Whether the name can be any, because it is sealed.
    pub(crate) any_name: bool,
    /// The one namespace that the object can be in; none if it can be in any.
    namespace: Option<Box<str>>,
}

impl UnreadWords {
    /// The words of a text, of a long one those of its beginning.
    pub fn of(text: &str) -> Self {
        let text = text.get(..text.floor_char_boundary(MAX_BYTES)).unwrap_or(text);
        let mut found = Self::default();
        found.words.extend(words_of(text).map(Box::from));
        found.sorted()
    }

    /// What identifies an object that was seen, and of which nothing else is believed.
    pub fn of_object(key: &ObjectKey) -> Self {
        let mut found = Self::default();
        found.words.extend([key.kind.kind.as_str(), key.name.as_str()].map(Box::from));
        found.namespace = key.namespace.as_ref().map(|namespace| namespace.as_str().into());
        found.sorted()
    }

    /// The same of an object of which not even the text was seen.
    pub fn without_text(mut self) -> Self {
        self.has_no_text = true;
        self
    }

    /// What a document names that was read and is no object.
    ///
    /// Where `metadata.name` is missing, the name may stand under another key beside it, above it or below it. Values of
    /// Secrets and specifications are not searched, but for a `metadata` that slipped into one.
    pub fn of_document(document: &Node) -> Self {
        let mut found = Self::default();
        match document.str_at(&["kind"]).filter(|kind| !kind.is_empty() && !kind.starts_with(SEALED)) {
            Some(kind) => found.words.push(kind.into()),
            None => found.any_kind = true,
        }
        let namespace = document.str_at(&["metadata", "namespace"]);
        found.namespace = namespace.filter(|text| !text.is_empty() && !text.starts_with(SEALED)).map(Box::from);
        match document.at(&["metadata", "name"]) {
            Some(Node::Text(name)) if name.starts_with(SEALED) => found.any_name = true,
            Some(Node::Text(name)) if !name.is_empty() => found.words.push(name.clone()),
            Some(Node::Int(number)) => found.words.push(number.to_string().into()),
            _ => {
                const VALUES: [&str; 6] = ["apiVersion", "data", "stringData", "spec", "status", "sops"];
                for (key, value) in document.entries() {
                    match VALUES.contains(&&**key) {
                        false => gather(value, &mut found.words),
                        // The whole of `metadata` may stand one level in.
                        true => value.at(&["metadata"]).into_iter().for_each(|it| gather(it, &mut found.words)),
                    }
                }
            }
        }
        const SECRET: [&str; 3] = ["data", "stringData", "sops"];
        for (_, value) in document.entries().iter().filter(|(key, _)| !SECRET.contains(&&**key)) {
            found.said.extend(value.texts().into_iter().flat_map(words_of).map(Box::from));
        }
        found.sorted()
    }

    /// Sorts the words, for as little memory as they take: there may be a hundred thousand documents.
    fn sorted(mut self) -> Self {
        for words in [&mut self.words, &mut self.said] {
            words.sort_unstable();
            words.dedup_by(|word, first| {
                let is_again = word == first;
                if is_again {
                    word.zeroize();
                }
                is_again
            });
            words.shrink_to_fit();
        }
        self
    }

    /// Estimates how many bytes of memory the words take.
    pub fn held(&self) -> usize {
        const WORD: usize = 40;
        self.words.iter().chain(&self.said).map(|word| word.len() + WORD).sum()
    }

    /// Takes out the words among which the kind and the name are.
    pub(crate) fn take_words(&mut self) -> Vec<Box<str>> {
        core::mem::take(&mut self.words)
    }

    /// Takes out the other texts.
    pub(crate) fn take_said(&mut self) -> Vec<Box<str>> {
        core::mem::take(&mut self.said)
    }

    /// Whether the document might hold an object in a namespace; none is any namespace.
    pub(crate) fn may_be_in(&self, namespace: Option<&str>) -> bool {
        self.namespace.as_deref().zip(namespace).is_none_or(|(written, asked)| written == asked)
    }
}

/// The words of a text: what stands between all that neither names nor labels have in common.
pub(crate) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
    text.split(move |c| !is_word(c)).filter(|word| !word.is_empty())
}

/// Adds every text of a node, wherever it stands; a colon without a blank makes a text, or a key, of a field and its
/// value: `name:aws`, `{name:aws}`.
fn gather(node: &Node, words: &mut Vec<Box<str>>) {
    let mut add = |text: &str| words.extend(text.split_once(':').map(|(_, word)| Box::from(word.trim())));
    match node {
        Node::Text(text) => {
            add(text);
            words.push(text.clone());
        }
        Node::List(items) => items.iter().for_each(|item| gather(item, words)),
        Node::Map(entries) => {
            entries.iter().filter(|(_, value)| matches!(value, Node::Null)).for_each(|(key, _)| add(key));
            entries.iter().for_each(|(_, value)| gather(value, words));
        }
        _ => {}
    }
}

impl Drop for UnreadWords {
    fn drop(&mut self) {
        self.words.iter_mut().chain(&mut self.said).for_each(|word| word.zeroize());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, kind: &str, name: &str, expect: bool) {
        let found = UnreadWords::of(text);
        assert_eq!([kind, name].iter().all(|word| found.words.contains(&Box::from(*word))), expect, "{text}");
    }

    #[test]
    fn an_object_is_suspected_where_its_kind_and_name_stand() {
        check("kind: Secret\nmetadata: {name: aws, [", "Secret", "aws", true);
        check("kind: Secret\nmetadata: {name: aws, [", "Secret", "aw", false);
        check("kind: Secret\nmetadata: {name: aws, [", "ConfigMap", "aws", false);
        check("kind: \"Secret\"\nname: 'aws.x'\n: :", "Secret", "aws.x", true);
        check("kind: &k Secret\nother: *k\nname: aws: x", "Secret", "aws", true);
        check("{\"kind\":\"Secret\",\"metadata\":{\"name\":\"aws\"", "Secret", "aws", true);
    }

    #[test]
    fn a_document_that_lost_its_name_may_hold_what_is_named_in_it() {
        let check = |metadata: &str, name: &str, expect: bool| {
            let text = format!(
                "kind: Credential\nmetadata: {metadata}\nspec: {{a: spec-word, metadata: {{name: spec-name}}}}\n"
            );
            let found = UnreadWords::of_document(&crate::testing::node(&crate::testing::yaml(&text)));
            assert_eq!(found.words.contains(&Box::from(name)), expect, "{metadata}");
        };
        check("{nmae: aws}", "aws", true);
        check("{name:aws}", "aws", true);
        check("{name:aws, namespace: x}", "aws", true);
        check("name:aws", "aws", true);
        check("{name: gcp, 'other:aws': null}", "aws", false);
        check("{nmae: aws}", "spec-word", false);
        check("{labels: {tier: gold, name: aws}}", "aws", true);
        check("null", "spec-name", true);
    }

    #[test]
    fn of_a_long_text_the_words_of_its_beginning_are_kept() {
        let long = format!("kind: Secret\nname: aws\n#{}\u{e9}", "a".repeat(MAX_BYTES - 25));
        assert!(long.len() > MAX_BYTES && !long.is_char_boundary(MAX_BYTES));
        check(&long, "Secret", "aws", true);
        check(&format!("{long}\nname: gcp"), "Secret", "gcp", false);
        check("kind: SecretList\nitems: [", "ConfigMap", "aws", false);
        check("password: \"a\\\\b\\\"c\"", "Secret", "aws", false);
    }
}
