//! To come.
use crate::node::{Interner, Node};

/// One document of a stream.
pub struct Document<'a> {
    /// Its text.
    pub text: &'a str,
}

/// Where a document cannot be read.
pub struct Flaw {
    /// The line.
    pub line: u32,
}

/// Splits a stream.
pub fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    text.split("\n---\n").map(|text| Document { text })
}

/// Reads a document.
///
/// # Errors
/// Always, so far.
pub fn read(_document: &Document<'_>, _interner: &mut Interner) -> Result<Node, Flaw> {
    Err(Flaw { line: 1 })
}
