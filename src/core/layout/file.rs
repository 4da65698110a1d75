//! Open files: what a bundle has beside its objects and its manifest.

use alloc::collections::BTreeMap;
use alloc::string::String;

use super::path::BundlePath;
use crate::yaml::emit::{Tree, emit};

/// Open files by path: everything but objects and the manifest.
pub type Files = BTreeMap<BundlePath, String>;

/// The text of an open file.
pub(super) fn text(tree: &Tree<'_>) -> String {
    core::mem::take(&mut *emit(tree))
}
