//! Trees: a folder of this machine and a commit, as what a build may be given files of.

use std::fs::canonicalize;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use pouch_core::kustomize::Entry;
use rustix::fs::{AtFlags, CWD, FileType, Mode, openat, statat};
use rustix::io::Errno;

use super::super::beneath::{FOLDER, Opened, Trouble, open_beneath};
use super::super::revision::folders::Folders;
use super::reached::Files;
use crate::git::objects::{Id, Kind, ObjectsError, Store, top_of};

const LINK: &str = "is a symlink, or lies behind one";
const REPOSITORY: &str = "is a git repository of its own, such as a submodule";
const SPECIAL: &str = "is no regular file";

/// The work tree around a folder, or the folder alone where there is none.
pub(in super::super) struct Folder {
    opened: Opened,
    /// The path of the folder in it.
    pub(in super::super) below: String,
}

impl Folder {
    /// The tree around a folder, without these files and folders of pouch's own.
    pub(in super::super) fn around(folder: &Path, skip: &[PathBuf]) -> std::io::Result<Self> {
        let real = canonicalize(folder)?;
        let top = top_of(&real).unwrap_or_else(|| real.clone());
        let root = openat(CWD, &top, FOLDER, Mode::empty())?;
        let below = real.strip_prefix(&top).map(|below| below.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(Self { opened: Opened::new(root, skip), below })
    }

    fn stat(&self, path: &Path) -> Result<FileType, Errno> {
        let parent = path.parent().unwrap_or(Path::new(""));
        let folder: OwnedFd = open_beneath(self.opened.root(), parent, FOLDER)?;
        let name = path.file_name().unwrap_or_default();
        statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| FileType::from_raw_mode(stat.st_mode))
    }
}

impl Files for Folder {
    fn look(&mut self, path: &str) -> Entry {
        if path.is_empty() {
            return Entry::Folder;
        }
        let path = Path::new(path);
        for above in path.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
            match self.stat(above) {
                Ok(FileType::Symlink) => return Entry::Other(LINK),
                Ok(FileType::Directory) if self.stat(&above.join(".git")).is_ok() => return Entry::Other(REPOSITORY),
                _ => {}
            }
        }
        match self.stat(path) {
            Ok(FileType::RegularFile) => Entry::File,
            Ok(FileType::Directory) if self.stat(&path.join(".git")).is_ok() => Entry::Other(REPOSITORY),
            Ok(FileType::Directory) => Entry::Folder,
            Ok(FileType::Symlink) | Err(Errno::LOOP) => Entry::Other(LINK),
            Ok(_) => Entry::Other(SPECIAL),
            Err(_) => Entry::Nothing,
        }
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
    root: Id,
    folders: Folders<'s>,
}

impl<'s> Commit<'s> {
    /// The tree of a commit, of which so many entries of folders are looked at in all.
    pub(in super::super) fn new(store: &'s Store, root: Id, most: usize) -> Self {
        Self { store, root, folders: Folders::new(store, most) }
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

    fn bytes(&mut self, path: &str, most: u64) -> Result<Vec<u8>, String> {
        let read = self.find(path).and_then(|(_, id)| self.store.blob(id, most));
        read.map_err(|trouble| match trouble {
            ObjectsError::TooLarge(most) => format!("is larger than {most} bytes"),
            trouble => format!("cannot be read: {trouble}"),
        })
    }
}
