//! A tree of bundles, and how much of it is to be verified.
//!
//! The shell reads the tree from a folder or from git; nothing is followed and nothing judged here.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::plain;
use crate::layout::form::Form;
use crate::layout::path::TOPS;

/// The largest file outside of the regions' folders that is kept, in bytes.
const MOST_KEPT: usize = 1 << 20;

/// Something that stands at a path.
pub struct Standing {
    /// What it is.
    pub form: Form,
    /// The bytes of a file; empty if it is not a file, and for a large file that belongs to no bundle.
    pub bytes: Vec<u8>,
    /// What was found in bytes that are not kept.
    pub(super) found: Option<plain::Readable>,
}

impl Standing {
    /// A file with its bytes.
    ///
    /// A large file that lies in no region's folders is searched here and now, so that memory holds one such file at a
    /// time.
    pub fn file(path: &str, form: Form, bytes: Vec<u8>) -> Self {
        match bytes.len() > MOST_KEPT && !is_regions(path) && !STEERING.contains(&path) {
            true => Self { form, found: plain::look(path, &bytes), bytes: Vec::new() },
            false => Self { form, bytes, found: None },
        }
    }

    /// A path that has no bytes to look at.
    pub fn odd(form: Form) -> Self {
        Self { form, bytes: Vec::new(), found: None }
    }
}

/// Whether a path lies where the files of regions lie.
pub fn is_regions(path: &str) -> bool {
    path.split_once('/').is_some_and(|(top, _)| TOPS.contains(&top))
}

/// The region's folder that a path of the tree lies in.
pub fn directory_of(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once('/').filter(|_| is_regions(path))?;
    rest.split_once('/').map(|(directory, _)| directory)
}

/// A file of [`STEERING`] further up in the repository than the bundles.
pub struct Above {
    /// Its name.
    pub name: &'static str,
    /// Its path as it is shown.
    pub shown: String,
    /// The way from its folder to the bundles, without a slash at either end.
    pub way: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

impl Above {
    /// A link, if a consumer follows links of that name: git does not, and Flux does.
    pub fn link(name: &'static str, shown: String, way: String) -> Option<Self> {
        (name == IGNORE).then(|| Self { name, shown, way, bytes: Vec::from(b"*") })
    }
}

/// Git's file that can change bytes at checkout.
pub(super) const ATTRIBUTES: &str = ".gitattributes";

/// Flux's file that leaves other files out of what it fetches:
/// <https://fluxcd.io/flux/components/source/gitrepositories/>
pub(super) const IGNORE: &str = ".sourceignore";

/// The files that say something about everything below them.
pub const STEERING: [&str; 2] = [ATTRIBUTES, IGNORE];

/// A tree of bundles: everything below `output.path`, by path.
pub type BundleTree = BTreeMap<String, Standing>;

/// How much of a tree is to be verified.
pub enum TreeScope {
    /// All of it.
    Whole,
    /// One region, by its folder.
    Region(String),
    /// What somebody is about to change or to remove, and the regions that it belongs to.
    Changed(Changes),
}

/// Paths of a tree that somebody is about to change or to remove.
#[derive(Default)]
pub struct Changes {
    paths: BTreeSet<String>,
    directories: BTreeSet<String>,
}

impl FromIterator<String> for Changes {
    fn from_iter<T: IntoIterator<Item = String>>(paths: T) -> Self {
        let paths: BTreeSet<String> = paths.into_iter().collect();
        let directories = paths.iter().filter_map(|path| directory_of(path)).map(String::from).collect();
        Self { paths, directories }
    }
}

impl TreeScope {
    pub(super) fn has(&self, directory: &str) -> bool {
        match self {
            TreeScope::Whole => true,
            TreeScope::Region(wanted) => directory == wanted,
            TreeScope::Changed(changes) => changes.directories.contains(directory),
        }
    }

    /// Whether a file on which all files below it depend is to be verified.
    pub(super) fn has_below(&self, path: &str) -> bool {
        match self {
            TreeScope::Region(wanted) => directory_of(path).is_none_or(|directory| directory == wanted),
            TreeScope::Whole | TreeScope::Changed(_) => self.has_shared(path),
        }
    }

    /// Whether a path that belongs to no region is to be verified.
    pub(super) fn has_shared(&self, path: &str) -> bool {
        match self {
            TreeScope::Whole => true,
            TreeScope::Region(_) => false,
            TreeScope::Changed(changes) => changes.paths.contains(path),
        }
    }
}

/// The folders below `regions/` that hold a file, sorted.
pub fn folders(tree: &BundleTree) -> impl Iterator<Item = &str> {
    let mut last = "";
    tree.range(String::from("regions/")..)
        .map_while(|(path, _)| path.strip_prefix("regions/"))
        .filter_map(|rest| Some(rest.split_once('/')?.0))
        .filter(move |folder| core::mem::replace(&mut last, folder) != *folder)
}
