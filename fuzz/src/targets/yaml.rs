//! YAML read, written and read again.

use pouch_core::node::{Interner, Node};
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read::{Document, documents, read, text_of};

use super::input::quotes_nothing;

/// Any bytes.
pub fn run(data: &[u8]) {
    let text = match text_of(data) {
        Ok(text) => text,
        Err(flaw) => return quotes_nothing(&flaw),
    };
    let lines = u32::try_from(text.split(['\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']).count()).unwrap_or(u32::MAX);
    let mut last = 0;
    for document in documents(text) {
        assert!(document.line > last, "documents stand one after the other");
        last = document.line;
        match read(&document, &mut Interner::new()) {
            Ok(node) => comes_back(&node),
            Err(flaw) => {
                quotes_nothing(&flaw);
                // One further at most: the end of a file that ends in a line break.
                assert!((1..=lines + 1).contains(&flaw.line), "line {} of {lines}", flaw.line);
            }
        }
    }
}

/// Whatever was read is written in one form, and that form says the same.
pub fn comes_back(node: &Node) {
    let written = emit(&Tree::of(node));
    let again = read(&Document::whole(&written), &mut Interner::new()).expect("what is written can be read");
    assert!(again == *node, "what is written says something else:\n{}", *written);
    assert_eq!(*emit(&Tree::of(&again)), *written, "there is one form");
    assert_eq!(documents(&written).count(), 1, "one tree is one document");
}
