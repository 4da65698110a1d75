//! Why a source did not answer a question.

use alloc::string::String;

/// Why a source did not answer a question.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reason {
    /// What is the matter, in one clause without a full stop.
    pub why: String,
    /// What to do about it.
    pub help: String,
    /// The line of the file that it is about, from one, where one is.
    pub line: Option<u32>,
}

impl Reason {
    /// Makes one about nothing smaller than a document.
    pub fn new(why: impl Into<String>, help: impl Into<String>) -> Self {
        Self { why: why.into(), help: help.into(), line: None }
    }
}
