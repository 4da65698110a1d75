//! Characters that no consumer reads back, in texts of any bytes.

use pouch_core::yaml::consumers::{Trouble, refused_in, trouble};
use pouch_core::yaml::emit::{Tree, emit};
use pouch_core::yaml::read::documents;

use super::input::document;

/// Any bytes.
pub fn run(data: &[u8]) {
    let found = trouble(data);
    if found.is_none() {
        assert!(std::str::from_utf8(data).is_ok(), "bytes that are no text are let pass");
    }
    let Some(node) = document(data) else { return };
    let written = emit(&Tree::of(&node));
    // In the emitter's form nothing but texts and keys can be refused, and each of them is.
    assert_eq!(trouble(written.as_bytes()), refused_in(&node).map(Trouble::Character), "in:\n{}", *written);
    let only = documents(std::str::from_utf8(data).unwrap_or_default()).count() == 1;
    if only && found.is_none() {
        assert!(refused_in(&node).is_none(), "a character is let pass that is refused");
    }
}
