//! Publishing: where bundles are read from and written to.
//!
//! A [`Shelf`] holds the published trees of all regions: a directory or a branch of a repository. It
//! is asked for what stands there, told what should, and makes the change visible at once or not at
//! all. What goes into the files is not its business.

pub mod branch;
pub mod directory;

use std::collections::BTreeMap;

use pouch_core::layout::path::{BundlePath, TOPS};
use pouch_core::name::Directory;
use pouch_core::region::published::Files;

/// One file of a region as it should be.
pub enum NewFile {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The bytes that are published under this path.
    Kept(BundlePath),
}

/// A region's files as they should be; none at all withdraws the region.
pub type NewFiles = BTreeMap<BundlePath, NewFile>;

/// Where bundles are published, to look at.
pub trait Look: Sync {
    /// The folders under `regions/`, sorted, with the bytes of their `bundle.yaml` where there is one.
    ///
    /// # Errors
    /// Where the tree cannot be read.
    fn regions(&self) -> Result<BTreeMap<String, Option<Vec<u8>>>, ShelfError>;

    /// Every file in a region's folders.
    ///
    /// # Errors
    /// Where one cannot be read, or is no plain file.
    fn read(&self, directory: &Directory) -> Result<Files, ShelfError>;
}

/// Where bundles are published.
pub trait Shelf: Look {
    /// Prepares a region's new files, without making them visible.
    ///
    /// # Errors
    /// Where they cannot be stored.
    fn stage(&self, directory: &Directory, files: NewFiles, published: &Files) -> Result<(), ShelfError>;

    /// Prepares a fleet-wide file. One that is the repository's stays as it is where that is good enough.
    ///
    /// # Errors
    /// Where it cannot be stored, or somebody else's file stands in its place.
    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError>;
}

/// Why a shelf cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ShelfError {
    /// An operation on a file or folder failed.
    #[error("{doing} {path}: {error}")]
    Io {
        /// What was being done, such as `cannot read`.
        doing: &'static str,
        /// The file or folder.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// The published state cannot be read.
    #[error("cannot read {path}: {error}")]
    Unread {
        /// The file or folder.
        path: String,
        /// What the system says.
        error: std::io::Error,
    },
    /// Some regions are published, and then something failed.
    #[error("{error}; published before that: {}", done.join(", "))]
    Partly {
        /// The folders of the published regions.
        done: Vec<String>,
        /// What failed.
        error: Box<ShelfError>,
    },
    /// Something stands where only plain files and folders may.
    #[error("{0} is no plain file or folder; pouch follows no links")]
    NotPlain(String),
    /// A fleet-wide file is somebody else's.
    #[error("{0} is the repository's, and lacks the line `* -text` or lets git change files that end in .yaml")]
    NotOurs(String),
    /// Another run holds the output.
    #[error("another pouch is writing to {0}")]
    Busy(String),
    /// A commit cannot be made, or the server refuses it.
    #[error("{0}")]
    Git(String),
    /// The repository does not answer, or cannot be read.
    #[error("{message}")]
    Unreachable {
        /// What cannot be done.
        message: String,
        /// What to do about it; empty where nobody knows.
        help: String,
    },
}

impl ShelfError {
    /// Joins what was done, where, and what the system says.
    pub fn io(doing: &'static str, path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Io { doing, path: path.display().to_string(), error }
    }

    /// Joins a path that cannot be read and what the system says.
    pub fn unread(path: &std::path::Path, error: std::io::Error) -> Self {
        Self::Unread { path: path.display().to_string(), error }
    }
}

/// The folders that can hold a region's files, relative to the output.
pub fn folders(directory: &Directory) -> [String; 3] {
    TOPS.map(|top| format!("{top}/{directory}"))
}
