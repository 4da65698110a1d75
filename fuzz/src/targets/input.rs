//! Inputs taken apart, and what all targets ask of errors.

use pouch_core::node::{Interner, Node};
use pouch_core::sops::metadata::is_sealed_key;
use pouch_core::yaml::Flaw;
use pouch_core::yaml::read::{documents, read, text_of};

/// The first line and the rest. A line of small choices stands before a text, so that a corpus can be read
/// and written by hand.
pub fn first_line(data: &[u8]) -> (&[u8], &[u8]) {
    match data.iter().position(|byte| *byte == b'\n') {
        Some(at) => (&data[..at], &data[at + 1..]),
        None => (data, &[]),
    }
}

/// The first document of a text, where it is one that the YAML door takes.
pub fn document(data: &[u8]) -> Option<Node> {
    let text = text_of(data).ok()?;
    let document = documents(text).next()?;
    read(&document, &mut Interner::new()).ok()
}

/// Holds an error to its word that it repeats nothing: its only text was compiled in.
pub fn quotes_nothing(flaw: &Flaw) {
    assert!(matches!(flaw.what, std::borrow::Cow::Borrowed(_)), "a flaw has text of its own");
}

/// Calls `see` for every leaf with the keys that lead to it, each with a colon after it, and whether one of
/// them brings it under the sealing rule.
pub fn leaves(node: &Node, see: &mut impl FnMut(&str, bool, &Node)) {
    below(node, &mut String::new(), false, see);
}

fn below(node: &Node, path: &mut String, sealed: bool, see: &mut impl FnMut(&str, bool, &Node)) {
    match node {
        Node::Map(entries) => {
            for (key, value) in entries {
                let length = path.len();
                path.push_str(key);
                path.push(':');
                // A key may hold a colon itself, so the path alone does not tell.
                below(value, path, sealed || is_sealed_key(key), see);
                path.truncate(length);
            }
        }
        Node::List(items) => items.iter().for_each(|item| below(item, path, sealed, see)),
        leaf => see(path, sealed, leaf),
    }
}

/// The same for the shape of an error: it is `Copy` and lives for ever, so it can hold no text of the input.
pub fn holds_no_text<E: Copy + 'static>(_: &E) {}
