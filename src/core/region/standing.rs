//! Standing: what a region is planned against, asked for only as far as the plan needs it.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::history::{History, Past};
use super::odd::Odd;
use super::published::{Files, Proved};
use crate::layout::manifest::Manifest;
use crate::name::ObjectKey;

/// The published state of a region's folders, and what the history of its branch says of it. Each question may read,
/// and is asked once at most.
pub trait Standing {
    /// The reason for which something cannot be read.
    type Error;

    /// The state there without its open files, where the history proves that it is what pouch published last; none where
    /// that is not known.
    fn proved(&self) -> Option<Proved<'_>>;

    /// All that stands there. Not asked where the part that is [proved](Self::proved) tells already.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn read(&self) -> Result<(Files, Odd), Self::Error>;

    /// Returns true if what stands there is the last that pouch published: an older state may hold the same, under older data
    /// keys or in other parts. Asked only where nothing changes.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn is_last(&self) -> Result<bool, Self::Error>;

    /// The history of the region, but for its past. Asked only where something changes.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn history(&self) -> Result<History, Self::Error>;

    /// The states since which withdrawals may be counted, by what pouch published last. Asked only where somebody loses
    /// something.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn past(&self, last: &Manifest) -> Result<Vec<Past>, Self::Error>;

    /// The objects whose hand-over is over, by what pouch published last. Asked only where something is handed over.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn over(&self, last: &Manifest) -> Result<BTreeSet<ObjectKey>, Self::Error>;
}
