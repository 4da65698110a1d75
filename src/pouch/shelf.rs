//! Publishing: where bundles are read from and written to.
//!
//! A [`Shelf`] holds the published trees of all regions: a directory or a branch of a repository. It
//! is asked for what stands there, told what should, and makes the change visible at once or not at
//! all. What goes into the files is not its business.

pub mod branch;
pub mod directory;
mod error;
pub mod output;
pub mod repository;
pub mod standing;

use std::collections::BTreeMap;

use pouch_core::layout::path::{BundlePath, TOPS};
use pouch_core::name::Directory;
use pouch_core::region::published::Files;

pub use self::error::ShelfError;

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

/// The folders that can hold a region's files, relative to the output.
pub fn folders(directory: &Directory) -> [String; 3] {
    TOPS.map(|top| format!("{top}/{directory}"))
}
