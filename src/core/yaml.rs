//! The YAML doors.
pub mod emit;
pub mod read;

/// Where a document cannot be read, and why in our own words: never a quotation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw {
    /// The line, from one.
    pub line: u32,
    /// The column, from one.
    pub column: u32,
    /// What is the matter.
    pub what: alloc::string::String,
}
