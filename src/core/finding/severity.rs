//! Severity: how much a finding matters.

/// How much a finding matters to the person who reads it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Worth knowing.
    Info,
    /// Works, and probably not as meant.
    Warning,
    /// Something is not published, or not as asked.
    Error,
}

impl Severity {
    /// The word that is printed and that `findings:` in the configuration uses.
    pub fn word(self) -> &'static str {
        match self {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        }
    }
}
