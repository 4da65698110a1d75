//! Standing: what stands in a region's folders and what the history of its branch says, read as far as it is asked for.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::history::{History, Past};
use super::odd::Odd;
use super::published::{Files, Proved};
use crate::layout::manifest::Manifest;
use crate::name::ObjectKey;

/// What stands in a region's folders, and the history of that; each is asked for once at most.
///
/// # Errors
/// Each method fails where what it reads cannot be read.
pub trait Standing {
    /// The error of a folder or a history that cannot be read.
    type Error;

    /// The part of it that tells the rest, where the history proves that all of it is what pouch published last.
    fn proved(&self) -> Option<Proved<'_>>;

    /// All that stands there.
    fn read(&self) -> Result<(Files, Odd), Self::Error>;

    /// Returns true if it is what pouch published last, as far as the newest commits tell. An older state may hold the
    /// same, under older data keys or in other parts.
    fn is_last(&self) -> Result<bool, Self::Error>;

    /// The history of the branch. Asked for where something changes, or what stands there is not the last that pouch
    /// published.
    fn history(&self) -> Result<History, Self::Error>;

    /// The past, by what pouch published last. Asked for where somebody loses something.
    fn past(&self, last: &Manifest) -> Result<Vec<Past>, Self::Error>;

    /// The hand-overs that are over, of those in what pouch published last. Asked for where there are any.
    fn over(&self, last: &Manifest) -> Result<BTreeSet<ObjectKey>, Self::Error>;
}
