//! A directory as a shelf.
//!
//! Everything is written into a staging folder beside the bundles, synced once, and then each
//! region's folder is exchanged with its new form in one system call: whoever reads it, also after a
//! crash, finds the old or the new one whole. The old form is removed file by file, and only files that
//! were known before; what somebody put there meanwhile stays in the staging folder and is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::mem;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pouch_core::bundle::published::Files;
use pouch_core::name::Directory;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with, syncfs};

use super::{NewFile, NewFiles, Shelf, ShelfError, folders};

/// The staging folder's name. It is left behind only by a crash, and the next run removes it.
const STAGING: &str = ".pouch-staging";

/// A directory that holds bundles.
pub struct DirectoryShelf {
    root: PathBuf,
    staged: Mutex<Staged>,
    /// Set when folders begin to be exchanged: from then on the staging folder may hold what is not a copy.
    committing: bool,
    _lock: File,
}

#[derive(Default)]
struct Staged {
    regions: BTreeMap<Directory, BTreeSet<String>>,
    shared: BTreeSet<String>,
}

impl DirectoryShelf {
    /// Opens a directory, making it where it is missing, and locks it against other runs.
    ///
    /// # Errors
    /// Where it cannot be made or locked, or is no folder.
    pub fn open(root: &Path) -> Result<Self, ShelfError> {
        fs::create_dir_all(root).map_err(|error| ShelfError::io("cannot make", root, error))?;
        let lock = File::open(root).map_err(|error| ShelfError::io("cannot open", root, error))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| ShelfError::Busy(root.display().to_string()))?;
        let shelf = Self { root: root.to_owned(), staged: Mutex::default(), committing: false, _lock: lock };
        shelf.look_for_links()?;
        shelf.sweep()?;
        Ok(shelf)
    }

    /// Refuses what would lead out of the root; what is in a region's folders is looked at when it is read.
    fn look_for_links(&self) -> Result<(), ShelfError> {
        for name in ["regions", "flux", "argocd", STAGING, ".pouch-staging/new"] {
            let path = self.root.join(name);
            if fs::symlink_metadata(&path).is_ok_and(|meta| !meta.is_dir()) {
                return Err(ShelfError::NotPlain(path.display().to_string()));
            }
        }
        Ok(())
    }

    fn staging(&self) -> PathBuf {
        self.root.join(STAGING)
    }

    /// Removes what a crashed run left behind: only ever the staging folder's `new`, which held copies.
    fn sweep(&self) -> Result<(), ShelfError> {
        let new = self.staging().join("new");
        if fs::symlink_metadata(&new).is_ok_and(|meta| meta.is_dir()) {
            fs::remove_dir_all(&new).map_err(|error| ShelfError::io("cannot remove", &new, error))?;
        }
        // Anything else in there is not a copy; the folder goes only if it is empty.
        let _ = fs::remove_dir(self.staging());
        Ok(())
    }

    /// Makes everything staged visible. Returns what was found in the way and left in the staging folder.
    ///
    /// # Errors
    /// Where a folder cannot be exchanged; regions that were exchanged before stay new.
    pub fn commit(mut self) -> Result<Vec<String>, ShelfError> {
        let staged = match self.staged.get_mut() {
            Ok(staged) => mem::take(staged),
            Err(poisoned) => mem::take(poisoned.into_inner()),
        };
        let staging = self.root.join(STAGING);
        if staged.regions.is_empty() && staged.shared.is_empty() {
            return Ok(Vec::new());
        }
        self.committing = true;
        let handle = File::open(&staging).map_err(|error| ShelfError::io("cannot open", &staging, error))?;
        syncfs(&handle).map_err(|error| ShelfError::io("cannot sync", &staging, error.into()))?;
        for path in &staged.shared {
            let target = self.root.join(path);
            make_parent(&target)?;
            let source = staging.join("new").join(path);
            fs::rename(&source, &target).map_err(|error| ShelfError::io("cannot replace", &target, error))?;
        }
        let mut left = Vec::new();
        for (directory, known) in &staged.regions {
            for folder in folders(directory) {
                exchange(&self.root.join(&folder), &staging.join("new").join(&folder))?;
            }
            left.extend(remove_known(&staging.join("new"), directory, known));
        }
        syncfs(&handle).map_err(|error| ShelfError::io("cannot sync", &staging, error.into()))?;
        for top in ["regions", "flux", "argocd"] {
            prune_empty(&staging.join("new").join(top));
            let _ = fs::remove_dir(self.root.join(top));
        }
        if left.is_empty() {
            prune_empty(&staging);
        } else {
            // `new` is swept by the next run; what is not ours must not be.
            let rescued = staging.join("left");
            let _ = fs::rename(staging.join("new"), &rescued);
        }
        Ok(left)
    }
}

/// A run that fails leaves nothing behind.
impl Drop for DirectoryShelf {
    fn drop(&mut self) {
        if !self.committing {
            let _ = self.sweep();
        }
    }
}

impl Shelf for DirectoryShelf {
    fn regions(&self) -> Result<BTreeMap<String, Option<Vec<u8>>>, ShelfError> {
        let root = self.root.join("regions");
        let mut found = BTreeMap::new();
        for name in entries(&root)? {
            let path = root.join(&name);
            let meta = fs::symlink_metadata(&path).map_err(|error| ShelfError::io("cannot read", &path, error))?;
            if !meta.is_dir() {
                continue;
            }
            let manifest = path.join("bundle.yaml");
            let plain = fs::symlink_metadata(&manifest).is_ok_and(|meta| meta.is_file());
            let bytes = if plain { fs::read(&manifest).ok() } else { None };
            found.insert(name, bytes);
        }
        Ok(found)
    }

    fn read(&self, directory: &Directory) -> Result<Files, ShelfError> {
        let mut files = Files::new();
        for folder in folders(directory) {
            read_into(&self.root, &folder, &mut files)?;
        }
        Ok(files)
    }

    fn stage(&self, directory: &Directory, files: NewFiles, published: &Files) -> Result<(), ShelfError> {
        let new = self.staging().join("new");
        let mut parents: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, file) in files {
            let target = new.join(path.as_str());
            if let Some(parent) = target.parent()
                && parents.insert(parent.to_owned())
            {
                make_folder(parent)?;
            }
            match file {
                NewFile::Bytes(bytes) => create(&target, &bytes)?,
                NewFile::Kept(from) => {
                    // A link shares the very bytes; file systems without links get a copy.
                    if fs::hard_link(self.root.join(from.as_str()), &target).is_err() {
                        create(&target, published.get(from.as_str()).map(Vec::as_slice).unwrap_or_default())?;
                    }
                }
            }
        }
        make_folder(&new)?;
        if let Ok(mut staged) = self.staged.lock() {
            staged.regions.insert(directory.clone(), published.keys().cloned().collect());
        }
        Ok(())
    }

    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        let standing = self.root.join(path);
        if fs::symlink_metadata(&standing).is_ok_and(|meta| !meta.is_file()) {
            return Err(ShelfError::NotPlain(standing.display().to_string()));
        }
        match fs::read(&standing) {
            Ok(found) if found == bytes => return Ok(()),
            Ok(found) if path == ".gitattributes" => {
                let keeps_bytes = found.split(|b| *b == b'\n').any(|line| line.trim_ascii() == b"* -text");
                return if keeps_bytes { Ok(()) } else { Err(ShelfError::NotOurs(standing.display().to_string())) };
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ShelfError::io("cannot read", &standing, error));
            }
            _ => {}
        }
        let target = self.staging().join("new").join(path);
        make_parent(&target)?;
        create(&target, bytes)?;
        if let Ok(mut staged) = self.staged.lock() {
            staged.shared.insert(path.to_owned());
        }
        Ok(())
    }
}

fn entries(folder: &Path) -> Result<BTreeSet<String>, ShelfError> {
    let failed = |error| ShelfError::io("cannot list", folder, error);
    let list = match fs::read_dir(folder) {
        Ok(list) => list,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut names = BTreeSet::new();
    for entry in list {
        let name = entry.map_err(failed)?.file_name();
        let Some(name) = name.to_str() else {
            return Err(ShelfError::NotPlain(folder.join(name).display().to_string()));
        };
        names.insert(name.to_owned());
    }
    Ok(names)
}

fn read_into(root: &Path, folder: &str, files: &mut Files) -> Result<(), ShelfError> {
    let path = root.join(folder);
    match fs::symlink_metadata(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(ShelfError::io("cannot read", &path, error)),
        Ok(meta) if !meta.is_dir() => return Err(ShelfError::NotPlain(path.display().to_string())),
        Ok(_) => {}
    }
    for name in entries(&path)? {
        let (relative, full) = (format!("{folder}/{name}"), path.join(&name));
        let meta = fs::symlink_metadata(&full).map_err(|error| ShelfError::io("cannot read", &full, error))?;
        if meta.is_dir() {
            read_into(root, &relative, files)?;
        } else if meta.is_file() {
            let bytes = fs::read(&full).map_err(|error| ShelfError::io("cannot read", &full, error))?;
            files.insert(relative, bytes);
        } else {
            return Err(ShelfError::NotPlain(full.display().to_string()));
        }
    }
    Ok(())
}

fn make_folder(path: &Path) -> Result<(), ShelfError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o755).create(path);
    made.map_err(|error| ShelfError::io("cannot make", path, error))
}

fn make_parent(path: &Path) -> Result<(), ShelfError> {
    path.parent().map_or(Ok(()), make_folder)
}

fn create(path: &Path, bytes: &[u8]) -> Result<(), ShelfError> {
    let write = || {
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o644).open(path)?;
        file.write_all(bytes)
    };
    write().map_err(|error| ShelfError::io("cannot write", path, error))
}

/// Puts `new` where `old` is, and `old` where `new` was; either may be missing.
fn exchange(old: &Path, new: &Path) -> Result<(), ShelfError> {
    let failed = |error: rustix::io::Errno| ShelfError::io("cannot exchange", old, error.into());
    let exists = |path: &Path| fs::symlink_metadata(path).is_ok();
    match (exists(old), exists(new)) {
        (false, false) => Ok(()),
        (false, true) => {
            make_parent(old)?;
            fs::rename(new, old).map_err(|error| ShelfError::io("cannot put in place", old, error))
        }
        (true, false) => {
            make_parent(new)?;
            fs::rename(old, new).map_err(|error| ShelfError::io("cannot take away", old, error))
        }
        (true, true) => match renameat_with(CWD, old, CWD, new, RenameFlags::EXCHANGE) {
            Ok(()) => Ok(()),
            // Some file systems cannot exchange. Then the folder is missing for one moment, and after
            // a crash in that moment the next run renders it anew.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS | rustix::io::Errno::OPNOTSUPP) => {
                let aside = new.with_extension("old");
                let step = |from: &Path, to: &Path| fs::rename(from, to);
                let moved = step(old, &aside).and_then(|()| step(new, old)).and_then(|()| step(&aside, new));
                moved.map_err(|error| ShelfError::io("cannot exchange", old, error))
            }
            Err(error) => Err(failed(error)),
        },
    }
}

/// Removes the old form of a region from the staging folder: only what was known. Returns the rest.
fn remove_known(staging: &Path, directory: &Directory, known: &BTreeSet<String>) -> Vec<String> {
    for path in known {
        let _ = fs::remove_file(staging.join(path));
    }
    let mut left = Vec::new();
    for folder in folders(directory) {
        prune_empty(&staging.join(&folder));
        let mut files = Files::new();
        let unreadable = read_into(staging, &folder, &mut files).is_err();
        left.extend(files.into_keys());
        if unreadable {
            left.push(folder);
        }
    }
    left
}

/// Removes folders that hold nothing, from the bottom up.
fn prune_empty(folder: &Path) {
    let Ok(list) = fs::read_dir(folder) else { return };
    for entry in list.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            prune_empty(&entry.path());
        }
    }
    let _ = fs::remove_dir(folder);
}
