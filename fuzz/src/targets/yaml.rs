//! YAML read, written and read again.

use pouch_core::node::{Interner, Node};
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read::{Document, documents, read, text_of};
use pouch_core::yaml::written::{self, Value};

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
        alike(&document);
        match read(&document, &mut Interner::new()) {
            Ok(node) => {
                comes_back(&node);
                agrees(document.text, Some(&node));
            }
            Err(flaw) => {
                agrees(document.text, None);
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

/// The reader of the emitter's form takes a text for what the other one takes it for, or declines.
fn agrees(text: &str, node: Option<&Node>) {
    if let Some(strict) = written::read(text) {
        let node = node.expect("only the strict reader takes a text");
        assert!(in_order(&strict) == in_order(&Value::of(node)), "the readers differ on:\n{text}");
    }
}

/// The reader that remembers how texts are built reads them, and others that are built alike, as the one that does not.
fn alike(document: &Document<'_>) {
    let mut reader = Reader::new();
    let other = |by: u8| {
        let other = |byte: u8| match byte {
            b'a'..=b'z' => b'a' + (byte - b'a' + by) % 26,
            b'0'..=b'8' => byte + by % 2,
            byte => byte,
        };
        String::from_utf8(document.text.bytes().map(other).collect()).expect("letters become letters")
    };
    for by in [0, 0, 0, 1, 3, 11] {
        let text = other(by);
        let other = Document { text: &text, ..*document };
        let (plain, alike) = (read(&other, &mut Interner::new()), reader.read(&other));
        assert_eq!(plain.as_ref().err(), alike.as_ref().err(), "the readers differ on:\n{text}");
        assert!(plain.ok() == alike.ok(), "the readers differ on:\n{text}");
    }
}

/// The value with the keys of its maps sorted.
fn in_order<'t>(value: &Value<'t>) -> Value<'t> {
    match value {
        Value::List(items) => Value::List(items.iter().map(in_order).collect()),
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.iter().map(|(key, value)| (key.clone(), in_order(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Map(entries)
        }
        leaf => leaf.clone(),
    }
}
