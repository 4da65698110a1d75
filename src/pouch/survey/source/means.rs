//! Means: what reading one source may cost.

use pouch_core::config::SourceLimits;

use crate::survey::time::Time;

/// The largest file or stream that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// The most files, folders and links of one source that are looked at.
const MOST_ENTRIES: usize = 1_000_000;

/// The cost that reading one source may have.
#[derive(Clone, Copy)]
pub struct Means<'l> {
    /// The cost of its files, however much memory there is.
    pub limits: &'l SourceLimits,
    /// The memory that what is read of it may take, in bytes.
    pub memory: usize,
    /// The time that the run has for it.
    pub time: &'l Time,
}

impl Means<'_> {
    /// The largest file that is read, in bytes: several may be at hand at once, as text and as what it says.
    pub(super) fn most_of_file(self) -> u64 {
        u64::try_from(self.memory / 4).unwrap_or(u64::MAX).min(MAX_FILE_BYTES)
    }

    /// Says what to do about a file that is larger.
    pub(super) fn help_of_large_file(self) -> &'static str {
        match self.most_of_file() {
            MAX_FILE_BYTES => "Split it, or exclude it.",
            _ => "Split it, exclude it, or give the run more memory (`limits.memory`).",
        }
    }

    /// The most files, folders and links that are looked at.
    pub(super) fn most_entries(self) -> usize {
        /// The memory that one takes with its path and what is found of it.
        const ENTRY: usize = 400;
        (self.memory / ENTRY).min(MOST_ENTRIES)
    }
}
