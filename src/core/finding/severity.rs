//! Severity: how much a finding matters.

use crate::name::spelt;

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

spelt!(Severity { Info "info", Warning "warning", Error "error" });
