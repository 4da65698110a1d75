//! Trees: a folder of this machine and a commit, as what a build may be given files of.

use std::collections::BTreeSet;
use std::fs::canonicalize;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use pouch_core::kustomize::Entry;
use rustix::fs::{AtFlags, CWD, FileType, Mode, openat, statat};
use rustix::io::Errno;

use super::super::beneath::{FOLDER, Opened, Trouble, open_beneath};
use super::super::revision::folders::Folders;
use super::reached::Files;
use crate::git::objects::{Id, Kind, ObjectsError, Store, known};

const LINK: &str = "is a symlink, or lies behind one";
const REPOSITORY: &str = "is a git repository of its own, such as a submodule";
const SPECIAL: &str = "is no regular file";
const OWN: &str = "is what pouch itself publishes";
const UNKNOWN: &str = "git does not know, so it is not in the tree: git add it, if it should be";

/// Says what to do about a path that leads out of a repository, or to nothing in it.
const INSIDE: &str = "Name a file or a folder of the same repository: nothing else is read, and nothing is fetched.";

/// The same of a folder that is its own tree.
const ALONE: &str = "Name a file or a folder below `path`. No git work tree is around that folder, or git does not trust its owner \
                     (safe.directory), so nothing else is read; and nothing is fetched.";

/// The work tree around a folder, or the folder alone where there is none.
pub(in super::super) struct Folder {
    opened: Opened,
    /// The path of the folder in it.
    pub(in super::super) below: String,
    /// The files that git knows; none where there is no work tree, and all count. Beside a checkout stands what its owner keeps
    /// to himself: keys, kubeconfigs, an `.env`.
    known: Option<BTreeSet<String>>,
}

impl Folder {
    /// The tree around a folder, without these files and folders of pouch's own.
    pub(in super::super) fn around(folder: &Path, skip: &[PathBuf]) -> std::io::Result<Self> {
        let real = canonicalize(folder)?;
        let (top, known) = match known(&real) {
            Some((top, known)) => (top, Some(known)),
            None => (real.clone(), None),
        };
        let root = openat(CWD, &top, FOLDER, Mode::empty())?;
        let below = real.strip_prefix(&top).map(|below| below.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { opened: Opened::new(root, skip), below, known })
    }

    /// Looks at a path, and says whether it is one that is passed over.
    fn stat(&self, path: &Path) -> Result<(FileType, bool), Errno> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder: OwnedFd = open_beneath(self.opened.root(), parent, FOLDER)?;
        let name = path.file_name().unwrap_or_default();
        let stat = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok((FileType::from_raw_mode(stat.st_mode), self.opened.skips((stat.st_dev, stat.st_ino))))
    }

    /// Returns true if git knows a file, or one below a folder.
    fn is_known(&self, path: &str) -> bool {
        let Some(known) = &self.known else { return true };
        let below = format!("{path}/");
        known.contains(path) || known.range(below.clone()..).next().is_some_and(|first| first.starts_with(&below))
    }
}

impl Files for Folder {
    fn look(&mut self, path: &str) -> Entry {
        if path.is_empty() {
            return Entry::Folder;
        }
        let whole = Path::new(path);
        let mut on_the_way: Vec<&Path> = whole.ancestors().filter(|above| !above.as_os_str().is_empty()).collect();
        on_the_way.reverse();
        for at in on_the_way {
            let is_end = at == whole;
            match self.stat(at) {
                Ok((FileType::Symlink, _)) => return Entry::Other(LINK),
                Ok((_, true)) => return Entry::Other(OWN),
                Ok((FileType::Directory, _)) if self.stat(&at.join(".git")).is_ok() => return Entry::Other(REPOSITORY),
                Ok(_) if is_end && !self.is_known(path) => return Entry::Other(UNKNOWN),
                Ok((FileType::Directory, _)) if is_end => return Entry::Folder,
                Ok((FileType::RegularFile, _)) if is_end => return Entry::File,
                Ok(_) if is_end => return Entry::Other(SPECIAL),
                Ok((FileType::Directory, _)) => {}
                Ok(_) | Err(_) => return Entry::Nothing,
            }
        }
        Entry::Nothing
    }

    fn help(&self) -> &'static str {
        if self.known.is_some() { INSIDE } else { ALONE }
    }

    fn bytes(&mut self, path: &str, most: u64) -> Result<Vec<u8>, String> {
        self.opened.bytes(Path::new(path), most).map_err(|trouble| match trouble {
            Trouble::Skipped => "is one that pouch itself writes".to_owned(),
            Trouble::Refused(why) => why,
            Trouble::Missed(why) => format!("cannot be read: {why}"),
        })
    }
}

/// A commit.
pub(in super::super) struct Commit<'s> {
    store: &'s Store,
    /// Folders of pouch's own.
    skip: &'s [String],
    root: Id,
    folders: Folders<'s>,
}

impl<'s> Commit<'s> {
    /// The tree of a commit without these folders of pouch's own, of which so many entries of folders are looked at in all.
    pub(in super::super) fn new(store: &'s Store, root: Id, most: usize, skip: &'s [String]) -> Self {
        Self { store, skip, root, folders: Folders::new(store, most) }
    }

    /// Returns true for what is in a folder of bundles.
    fn is_own(&mut self, path: &str) -> bool {
        let skip = self.skip;
        let mut above = skip.iter().filter(|folder| path == folder.as_str() || path.starts_with(&format!("{folder}/")));
        above.any(|folder| self.find(&format!("{folder}/regions")).is_ok())
    }

    fn find(&mut self, path: &str) -> Result<(Kind, Id), ObjectsError> {
        self.folders.find(self.root, path)
    }
}

impl Files for Commit<'_> {
    fn look(&mut self, path: &str) -> Entry {
        if path.is_empty() {
            return Entry::Folder;
        }
        if self.is_own(path) {
            return Entry::Other(OWN);
        }
        let mut end = 0;
        for name in path.split('/') {
            end += name.len();
            let (at, is_end) = (path.get(..end).unwrap_or(path), end == path.len());
            end += 1;
            match self.find(at) {
                Ok((Kind::Link, _)) => return Entry::Other(LINK),
                Ok((Kind::Submodule, _)) => return Entry::Other(REPOSITORY),
                Ok((Kind::File, _)) if is_end => return Entry::File,
                Ok((Kind::Folder, _)) if is_end => return Entry::Folder,
                Ok((Kind::Folder, _)) => {}
                Ok((Kind::File, _)) | Err(_) => return Entry::Nothing,
            }
        }
        Entry::Nothing
    }

    fn help(&self) -> &'static str {
        INSIDE
    }

    fn bytes(&mut self, path: &str, most: u64) -> Result<Vec<u8>, String> {
        let read = self.find(path).and_then(|(_, id)| self.store.blob(id, most));
        read.map_err(|trouble| match trouble {
            ObjectsError::TooLarge(most) => format!("is larger than {most} bytes"),
            trouble => format!("cannot be read: {trouble}"),
        })
    }
}
