//! Since: what a run finds, held against what is found of a base. A change is judged by what it brings and what it cures.

use alloc::string::String;
use alloc::vec::Vec;

use super::check::Checked;
use super::check::baseline::Baseline;
use super::record::{PrivilegeRecord, SinceRecord};

/// The findings of a run, held against those of a base.
#[derive(Clone, Default, Debug)]
pub struct Since {
    /// The name of the base: a revision, or a file.
    pub base: String,
    /// The reason why nothing is known of the base, if nothing is: then all findings are shown.
    pub unknown: Option<String>,
    /// True for each finding of the run that the base has too, in their order.
    pub known: Vec<bool>,
    /// The findings of the base that the run has not, as words.
    pub cured: Vec<String>,
    /// The privileges that the configuration gives and takes beside that of the base.
    pub privileges: Vec<PrivilegeRecord>,
}

impl Since {
    /// Holds all findings of a run against a base. What is silenced is not cured by that.
    pub fn of(base: String, baseline: &Baseline, checked: &[Checked<'_>], silenced: &[Checked<'_>]) -> Self {
        let known = checked.iter().map(|checked| baseline.knows(checked)).collect();
        let cured = baseline.cured(checked.iter().chain(silenced)).into_iter().map(String::from).collect();
        Self { base, unknown: None, known, cured, privileges: Vec::new() }
    }

    /// A base of which nothing is known, for this reason.
    pub fn unknown(base: String, why: String) -> Self {
        Self { base, unknown: Some(why), ..Self::default() }
    }

    /// Returns true if the base has the finding with this number too; none where the base is unknown.
    pub fn has(&self, number: usize) -> Option<bool> {
        self.known.get(number).copied().filter(|_| self.unknown.is_none())
    }

    /// The record of it.
    pub fn record(&self) -> SinceRecord {
        let Self { base, unknown, known, cured, privileges } = self.clone();
        let known = known.iter().filter(|is_known| **is_known).count();
        SinceRecord { base, unknown, known, cured, privileges }
    }
}
