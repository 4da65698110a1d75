//! The YAML doors: what comes in ([`read`]) and what goes out ([`emit`]).
//!
//! One reader of events knows both dialects. Two ways are shorter, and each says what it saves: for what went out
//! ([`written`]), and for many texts that differ in words only ([`alike`]). Where in a text something stands is looked
//! up when that is asked ([`lines`]); a document that other blanks than spaces make unreadable says so ([`blamed`]).
//!
//! Responsible for: bytes → text → documents ([`stream`]), what an unquoted word means ([`scalar`]),
//! documents → [`Node`](crate::node::Node), and the one form in which trees are written. Refuses to
//! know: Kubernetes, what a document is for, where it came from.

pub mod alike;
pub mod blamed;
pub mod consumers;
pub mod emit;
mod expected;
pub mod lines;
pub(crate) mod order;
pub mod read;
pub mod scalar;
pub mod stream;
pub mod written;

use alloc::borrow::Cow;

/// What makes a text unreadable, and where: a position and words of our own, never a word of the text.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Flaw {
    /// The line in the file, from one.
    pub line: u32,
    /// The column in characters, from one.
    pub column: u32,
    /// The problem, in one sentence without a full stop.
    pub what: Cow<'static, str>,
}

impl Flaw {
    /// Makes a flaw; a number beyond 32 bits counts as the last line or column.
    pub(crate) fn new(line: usize, column: usize, what: impl Into<Cow<'static, str>>) -> Self {
        let bounded = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
        Self { line: bounded(line), column: bounded(column), what: what.into() }
    }

    /// Makes a flaw right after `before`.
    pub(crate) fn after(before: &str, what: &'static str) -> Self {
        let last = before.rsplit('\n').next().unwrap_or(before);
        Self::new(before.matches('\n').count().saturating_add(1), last.chars().count().saturating_add(1), what)
    }
}
