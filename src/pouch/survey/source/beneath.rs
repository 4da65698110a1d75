//! Beneath: files of a folder, opened by descriptors and never through a link, so that swapping a folder for a link while it is
//! read leads nowhere else.

use std::collections::BTreeSet;
use std::fs::{File, Metadata};
use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use crate::error::said;

/// How a folder is opened.
pub(super) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The folder of a source, and which files in it are passed over.
pub(super) struct Opened {
    root: OwnedFd,
    skip: BTreeSet<(u64, u64)>,
}

impl Opened {
    /// A folder without these files and folders.
    pub(super) fn new(root: OwnedFd, skip: &[PathBuf]) -> Self {
        Self { root, skip: identities(skip) }
    }

    /// The folder.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// Passes nothing over.
    pub(super) fn skip_nothing(&mut self) {
        self.skip.clear();
    }

    /// Returns true for one of those that are passed over.
    pub(super) fn is_skipped(&self, found: &Metadata) -> bool {
        self.skips(identity(found))
    }

    /// The same of a file or folder by its device and number.
    pub(super) fn skips(&self, identity: (u64, u64)) -> bool {
        self.skip.contains(&identity)
    }

    /// Opens a plain file.
    pub(super) fn file(&self, path: &Path) -> Result<(File, Metadata), Trouble> {
        let missed = |error: std::io::Error| Trouble::Missed(said(&error));
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened = open_beneath(&self.root, path, flags).map_err(|errno| Trouble::Missed(words(errno)))?;
        let file = File::from(opened);
        let before = file.metadata().map_err(missed)?;
        if !before.is_file() {
            return Err(Trouble::Missed("it was swapped for something else while it was read".to_owned()));
        }
        if self.is_skipped(&before) {
            return Err(Trouble::Skipped);
        }
        Ok((file, before))
    }

    /// The bytes of a plain file that has no more than so many.
    pub(super) fn bytes(&self, path: &Path, most: u64) -> Result<Vec<u8>, Trouble> {
        let missed = |error: std::io::Error| Trouble::Missed(said(&error));
        let (mut file, before) = self.file(path)?;
        let too_large = || Trouble::Refused(format!("is larger than {most} bytes"));
        if before.len() > most {
            return Err(too_large());
        }
        let mut bytes = Vec::with_capacity(usize::try_from(before.len()).unwrap_or(0) + 1);
        (&mut file).take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(missed)?;
        let after = file.metadata().map_err(missed)?;
        // Half of an old file and half of a new one can be good YAML.
        let stamp = |of: &Metadata| (of.len(), of.mtime(), of.mtime_nsec());
        let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        match () {
            () if read > most => Err(too_large()),
            () if stamp(&before) != stamp(&after) || read != after.len() => {
                Err(Trouble::Missed("it changed while it was read".to_owned()))
            }
            () => Ok(bytes),
        }
    }
}

/// Why a file is not read.
pub(super) enum Trouble {
    /// It is one of those that are passed over.
    Skipped,
    /// It is refused.
    Refused(String),
    /// It cannot be read.
    Missed(String),
}

/// Opens what is at `path` below `root` without following a link anywhere on the way.
pub(super) fn open_beneath(root: &OwnedFd, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    let mut names = path.components().peekable();
    let mut at = openat(root, ".", FOLDER, Mode::empty())?;
    while let Some(component) = names.next() {
        let Component::Normal(name) = component else { return Err(Errno::INVAL) };
        let flags = if names.peek().is_some() { FOLDER } else { flags };
        at = openat(&at, name, flags | OFlags::NOFOLLOW, Mode::empty())?;
    }
    Ok(at)
}

/// What the system says.
pub(super) fn words(errno: Errno) -> String {
    said(&errno.into())
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

fn identities(paths: &[PathBuf]) -> BTreeSet<(u64, u64)> {
    paths.iter().filter_map(|path| std::fs::metadata(path).ok()).map(|metadata| identity(&metadata)).collect()
}
