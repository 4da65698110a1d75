//! Unread words: what a document that could not be read might hold, as far as its words tell.
//!
//! One broken file must not make every absence of its source doubtful. An unreadable document is unknown, but
//! an object's kind and name would have to stand in its text word by word: YAML and JSON can write them
//! otherwise only with escapes, and a text that has such escapes might hold anything. The words can be parts of
//! secrets: they cannot be printed, only asked for.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use zeroize::Zeroize as _;

/// The largest text whose words are kept, in bytes; a larger one might hold anything.
pub const MAX_BYTES: usize = 4 << 20;

/// The words of a document that could not be read.
pub struct UnreadWords {
    words: BTreeSet<Box<str>>,
}

impl UnreadWords {
    /// The words of a text; none if the text might hold any name at all.
    pub fn of(text: &str) -> Option<Self> {
        const ESCAPES: [&str; 5] = ["\\x", "\\u", "\\U", "\\\n", "\\\r"];
        if text.len() > MAX_BYTES || ESCAPES.iter().any(|escape| text.contains(escape)) {
            return None;
        }
        // A text that breaks off within a list may have lost items without a trace.
        if text.contains("List") {
            return None;
        }
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.');
        let words = text.split(|c| !is_word(c)).filter(|word| !word.is_empty()).map(Box::from);
        Some(Self { words: words.collect() })
    }

    /// Whether the document might hold an object of a kind.
    pub fn may_hold_kind(&self, kind: &str) -> bool {
        self.has(kind)
    }

    /// Whether the document might hold an object of this kind and name.
    pub fn may_hold(&self, kind: &str, name: &str) -> bool {
        self.has(name) && self.may_hold_kind(kind)
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(word)
    }
}

impl Drop for UnreadWords {
    fn drop(&mut self) {
        while let Some(mut word) = self.words.pop_first() {
            word.zeroize();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, kind: &str, name: &str, expect: Option<bool>) {
        assert_eq!(UnreadWords::of(text).map(|words| words.may_hold(kind, name)), expect, "{text}");
    }

    #[test]
    fn an_object_is_suspected_where_its_kind_and_name_stand() {
        check("kind: Secret\nmetadata: {name: aws, [", "Secret", "aws", Some(true));
        check("kind: Secret\nmetadata: {name: aws, [", "Secret", "aw", Some(false));
        check("kind: Secret\nmetadata: {name: aws, [", "ConfigMap", "aws", Some(false));
        check("kind: \"Secret\"\nname: 'aws.x'\n: :", "Secret", "aws.x", Some(true));
        check("kind: &k Secret\nother: *k\nname: aws: x", "Secret", "aws", Some(true));
        check("{\"kind\":\"Secret\",\"metadata\":{\"name\":\"aws\"", "Secret", "aws", Some(true));
    }

    #[test]
    fn what_can_write_a_word_otherwise_might_hold_anything() {
        for text in
            ["a: \"\\x41\"", "a: \"\\u0041\"", "a: \"\\U00000041\"", "a: \"b\\\nc\"", &"a".repeat(MAX_BYTES + 1)]
        {
            check(text, "Secret", "aws", None);
        }
        check("kind: SecretList\nitems: [", "ConfigMap", "aws", None);
        check("password: \"a\\\\b\\\"c\"", "Secret", "aws", Some(false));
    }
}
