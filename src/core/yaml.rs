//! The YAML doors. STAND-IN: this file is written on another branch.
pub mod emit;
pub mod read;

/// What makes a text unreadable, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {what}")]
pub struct Flaw {
    /// The line, from one.
    pub line: u32,
    /// The column in characters, from one.
    pub column: u32,
    /// What is the matter.
    pub what: alloc::borrow::Cow<'static, str>,
}
