//! Publishing: where bundles are read from and written to.
//!
//! A [`Shelf`] holds the published trees of all regions: a directory or a branch of a repository. It
//! is asked for what stands there, told what should, and makes the change visible at once or not at
//! all. What goes into the files is not its business.

mod beside;
pub mod branch;
pub mod directory;
mod error;
pub mod output;
pub mod repository;
pub mod rounds;
pub mod signed;
pub mod standing;
pub mod target;
pub mod turn;
mod turns;

use std::collections::{BTreeMap, BTreeSet};

use pouch_core::layout::form::MOST_BYTES;
use pouch_core::layout::manifest::Manifest;
use pouch_core::layout::path::{BundlePath, TOPS};
use pouch_core::name::{Directory, FleetName, ObjectKey, Region};
use pouch_core::region::history::{History, Past};
use pouch_core::region::odd::Odd;
use pouch_core::region::published::{Files, Proved, Published};
use pouch_core::reuse::KeyRing;

pub use self::beside::Beside;
pub use self::error::ShelfError;
use crate::git::objects::Budget;

/// One file of a region as it should be.
pub enum NewFile {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The bytes that are published under this path.
    Kept(BundlePath),
}

impl NewFile {
    /// A file as pouch published it last, which may stand in history only.
    pub fn kept(from: BundlePath, published: &Published, standing: &Published) -> Self {
        if std::ptr::eq(published, standing) {
            return Self::Kept(from);
        }
        match published.files.get(from.as_str()) {
            Some(bytes) if standing.files.get(from.as_str()) != Some(bytes) => Self::Bytes(bytes.clone()),
            _ => Self::Kept(from),
        }
    }
}

/// A region's files as they should be; none at all withdraws the region.
pub type NewFiles = BTreeMap<BundlePath, NewFile>;

/// Where bundles are published, to look at.
pub trait Look: Sync {
    /// The folders under `regions/`.
    fn regions(&self) -> Result<BTreeSet<String>, ShelfError>;

    /// The bytes of `regions/<folder>/bundle.yaml`; none where it is not there or cannot be read.
    fn manifest(&self, folder: &str) -> Result<Option<Vec<u8>>, ShelfError>;

    /// Every file in a region's folders, and what stands there beside plain files or cannot be read.
    fn read(&self, directory: &Directory) -> Result<(Files, Odd), ShelfError>;

    /// What stands in a region's folders without its open files, where the history proves that it is what pouch published
    /// last; none where it does not, where there is no history, or where something cannot be read: [`Look::read`] says why.
    fn proved(&self, _: &Directory, _: &HistoryQuery<'_>) -> Option<Proved<'_>> {
        None
    }

    /// Whether a region's folders hold what [`Look::read`] gave.
    fn still_holds(&self, directory: &Directory, (files, odd): (&Files, &Odd)) -> Result<bool, ShelfError> {
        let now = self.read(directory)?;
        Ok((&now.0, &now.1) == (files, odd))
    }

    /// What stands in the output beside the folders of these regions. What cannot be read is left out.
    fn beside(&self, known: &BTreeSet<&Directory>) -> Result<Beside, ShelfError>;

    /// Whether [`Shelf::stage_shared`] would change what stands there.
    ///
    /// # Errors
    /// Where it would fail, or what stands there cannot be read.
    fn shared_differs(&self, path: &str, bytes: &[u8]) -> Result<bool, ShelfError>;

    /// The bytes of a fleet-wide file; none where no plain file stands there, or it cannot be read.
    fn shared(&self, path: &str) -> Result<Option<Vec<u8>>, ShelfError>;

    /// What the history says of a region, but for its past; nothing where there is no history.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn history(&self, _: &Directory, _: &HistoryQuery<'_>) -> Result<History, ShelfError> {
        Ok(History::default())
    }

    /// Whether what stands of a region is what pouch published last, as far as the newest commits tell; always so where
    /// there is no history.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn is_last(&self, _: &Directory, _: &HistoryQuery<'_>) -> Result<bool, ShelfError> {
        Ok(true)
    }

    /// What the history says of a region's past, to be counted against what pouch published last; nothing where there is
    /// no history.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn past(&self, _: &Directory, _: &HistoryQuery<'_>, _: &Manifest) -> Result<Vec<Past>, ShelfError> {
        Ok(Vec::new())
    }

    /// Which of the objects that `now`, what pouch published last, hands over were handed over long enough: all of them
    /// where there is no history.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn over(&self, _: &Directory, _: &HistoryQuery<'_>, now: &Manifest) -> Result<BTreeSet<ObjectKey>, ShelfError> {
        Ok(now.handed_over().cloned().collect())
    }

    /// Whether the history proves that pouch itself withdrew a region, or never published it: then what stands there
    /// was put there by somebody else. Never so where there is no history.
    ///
    /// # Errors
    /// Where the history cannot be read.
    fn is_withdrawn(&self, _: &Directory, _: &FleetName, _: &KeyRing) -> Result<bool, ShelfError> {
        Ok(false)
    }
}

/// What is asked of a history.
pub struct HistoryQuery<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region.
    pub region: &'a Region,
    /// What vouches for commits and manifests.
    pub keys: &'a KeyRing,
    /// When the window begins in which withdrawals are counted, in seconds since 1970-01-01 UTC.
    pub since: i64,
    /// Whether all of the history is asked for: an acceptance may have been used long ago.
    pub whole: bool,
    /// Whether the region is withdrawn as a whole.
    pub is_retired: bool,
}

/// Where bundles are published.
pub trait Shelf: Look {
    /// Prepares a region's new files, without making them visible.
    fn stage(&self, directory: &Directory, files: NewFiles, published: &Published) -> Result<(), ShelfError>;

    /// The bytes of a file in what pouch itself proposed to be published here; none where nothing is proposed.
    fn proposed(&self, _: &BundlePath) -> Option<Vec<u8>> {
        None
    }

    /// Prepares a fleet-wide file. One that is the repository's stays as it is where that is good enough, and so does
    /// what is no file: [`Look::beside`] names that.
    ///
    /// # Errors
    /// Where it cannot be stored, or somebody else's file stands in its place.
    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError>;

    /// Prepares to remove a fleet-wide file, which [`Look::shared`] gave.
    ///
    /// # Errors
    /// Where that cannot be noted.
    fn stage_removal(&self, path: &str) -> Result<(), ShelfError>;
}

/// Why a region's new files could not be read back, by the bounds of [`Look::read`]; none where they can.
///
/// What is published and cannot be read is held for good, so it is not published.
pub fn too_large(files: &NewFiles, published: &Published) -> Option<String> {
    let mut budget = Budget::default();
    // Most files stand behind one of the same folder.
    let mut above: Vec<&str> = files.keys().filter_map(|path| path.as_str().rsplit_once('/')).map(|(f, _)| f).collect();
    above.dedup();
    let folders: BTreeSet<&str> = above.into_iter().collect();
    for folder in folders {
        if let Err(error) = budget.enter(folder, 0) {
            return Some(error.to_string());
        }
    }
    for (path, file) in files {
        let length = match file {
            NewFile::Bytes(bytes) => bytes.len(),
            NewFile::Kept(from) => published.files.get(from.as_str()).map(Vec::len).unwrap_or_default(),
        };
        if u64::try_from(length).unwrap_or(u64::MAX) > MOST_BYTES {
            return Some(format!("{path} would have {length} bytes, of at most {MOST_BYTES}"));
        }
        if let Err(error) = budget.enter(path.as_str(), 0).and_then(|()| budget.keep(length)) {
            return Some(error.to_string());
        }
    }
    None
}

/// A region's files, for who can do nothing where something else stands among them.
///
/// # Errors
/// Where there is something else, or not all was read.
pub fn plain_files((files, odd): (Files, Odd)) -> Result<Files, ShelfError> {
    if !odd.is_more_than_marked() {
        return Ok(files);
    }
    let path = odd.forms.into_keys().chain(odd.tops.into_keys().map(str::to_owned)).next();
    Err(match odd.unread {
        Some(message) => ShelfError::Unreachable { message, help: String::new() },
        None => ShelfError::NotPlain(path.unwrap_or_default()),
    })
}

/// The folders that can hold a region's files, relative to the output.
pub fn folders(directory: &Directory) -> [String; 3] {
    TOPS.map(|top| format!("{top}/{directory}"))
}
