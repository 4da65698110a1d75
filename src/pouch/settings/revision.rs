//! The configuration as a commit has it: beside a pull request, what stands in the work tree is somebody else's proposal.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};

use pouch_core::config::{AsCommitted, Content, SourceGitLimits, SourcePlace};
use pouch_core::layout::form::MOST_BYTES;

use super::file::FileFault;
use crate::error::{Failure, said};
use crate::git::is_commit_id;
use crate::git::objects::{self, Id, Kind, ObjectsError, Store};

/// Where the files of a configuration are read from.
#[derive(Clone, Copy)]
pub enum From<'f> {
    /// From where they stand.
    Disk,
    /// From a commit of the repository that they stand in.
    Revision(&'f Revision),
    /// From where they stand, but for the configuration itself: that is this text.
    Edited(&'f str),
}

/// A commit of the repository around the configuration.
pub struct Revision {
    store: Store,
    commit: Id,
    /// The repository's work tree.
    top: PathBuf,
    /// What the user calls the commit.
    called: String,
}

impl Revision {
    /// Finds the commit that a revision names, as the value of a flag, in the repository around a folder.
    ///
    /// # Errors
    /// Where there is no repository, no such commit, or nothing of it can be read.
    pub fn open(folder: &Path, called: &str, flag: &str) -> Result<Self, Failure> {
        let refused = |error: ObjectsError| {
            let help = match &error {
                ObjectsError::NoRepository(_) => {
                    format!("{flag} needs a configuration that stands in a clone; leave it out elsewhere.")
                }
                error => error.help(),
            };
            Failure::usage(format!("{flag} {called}: {error}"), help)
        };
        let folder = by_the_letter(folder);
        let none = || refused(ObjectsError::NoRepository(folder.display().to_string()));
        let top = top(&folder).ok_or_else(none)?;
        let store = objects::open(&top.join(GIT)).map_err(refused)?;
        let commit = store.commit(called).map_err(refused)?;
        Ok(Self { store, commit, top, called: called.to_owned() })
    }

    /// What messages call a file of the commit.
    pub fn shown(&self, path: &Path) -> String {
        format!("{}:{}", self.called, path.display())
    }

    /// Reads a file of UTF-8 of at most so many bytes.
    pub fn read(&self, path: &Path, most: u64) -> Result<String, FileFault> {
        let path = self.within(path).ok_or(FileFault::Elsewhere)?;
        let fault = |error: ObjectsError| match error {
            ObjectsError::NoPath(_) => FileFault::Absent,
            ObjectsError::TooLarge(most) => FileFault::TooLarge(most),
            error => FileFault::Unreadable(io::Error::other(error.to_string())),
        };
        let entry = self.store.at(self.commit, &path).map_err(fault)?;
        if entry.kind != Kind::File {
            return Err(FileFault::NoFile);
        }
        String::from_utf8(self.store.blob(entry.id, most).map_err(fault)?).map_err(|_| FileFault::NotText)
    }

    /// The place of a directory, or of one file, in the commit; none of what is not in the repository. `outputs` are folders that
    /// pouch writes.
    pub fn place(&self, whole: &Path, content: Content, directory: &str, outputs: &[PathBuf]) -> Option<SourcePlace> {
        let skip = outputs.iter().filter_map(|output| self.within(output)).filter(|path| !path.is_empty()).collect();
        Some(SourcePlace::Git {
            repository: self.top.to_str()?.to_owned(),
            reference: self.commit.to_string(),
            path: self.within(whole)?,
            content,
            limits: SourceGitLimits::default(),
            directory: Some(AsCommitted { path: directory.to_owned(), skip }),
        })
    }

    /// The place of what a `git` source reads of this very repository, in the commit; none of another repository, and of a commit
    /// that the source names itself.
    pub fn own_place(&self, base: &Path, place: &SourcePlace) -> Option<SourcePlace> {
        let SourcePlace::Git { repository, reference, path, content, limits, directory: None } = place else {
            return None;
        };
        let whole = by_the_letter(&base.join(repository));
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let is_own = [&self.top, &self.top.join(GIT)].iter().any(|own| **own == whole || real(own) == real(&whole));
        if is_commit_id(reference) || !is_own || real(&whole).is_none() {
            return None;
        }
        Some(SourcePlace::Git {
            repository: self.top.to_str()?.to_owned(),
            reference: self.commit.to_string(),
            path: path.clone(),
            content: content.clone(),
            limits: *limits,
            directory: None,
        })
    }

    /// Writes a folder of the commit into an empty one; false for what is not in the repository. Where a link leads is not
    /// written, as bundles follow none.
    ///
    /// # Errors
    /// Where something of it cannot be read or written, or has a name that no folder takes.
    pub fn export(&self, whole: &Path, into: &Path) -> Result<bool, Failure> {
        let Some(path) = self.within(whole) else { return Ok(false) };
        let failed = |error: ObjectsError| {
            Failure::failed(format!("{} of commit {}: {error}", whole.display(), self.called), error.help())
        };
        match self.store.at(self.commit, &path) {
            Ok(entry) if entry.kind == Kind::Folder => self.export_folder(entry.id, into).map_err(failed)?,
            Ok(_) => return Err(failed(ObjectsError::Other(String::from("a folder was expected there")))),
            Err(ObjectsError::NoPath(_)) => {}
            Err(error) => return Err(failed(error)),
        }
        Ok(true)
    }

    fn export_folder(&self, folder: Id, into: &Path) -> Result<(), ObjectsError> {
        let unwritten = |error: io::Error| ObjectsError::Other(format!("it cannot be written: {}", said(&error)));
        for (name, kind, id) in self.store.folder(folder)? {
            let mut parts = Path::new(&name).components();
            if !matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None)) {
                return Err(ObjectsError::Other(String::from("a name in it is that of no file")));
            }
            let path = into.join(&name);
            match kind {
                // What is there already has the same name in another case.
                Kind::Folder => {
                    fs::create_dir(&path).map_err(unwritten)?;
                    self.export_folder(id, &path)?;
                }
                Kind::File => {
                    let mut file = File::create_new(&path).map_err(unwritten)?;
                    file.write_all(&self.store.blob(id, MOST_BYTES)?).map_err(unwritten)?;
                }
                Kind::Link => link(&path).map_err(unwritten)?,
                Kind::Submodule => {}
            }
        }
        Ok(())
    }

    /// A path as the commit has it; none for what is not in the repository. Links in the work tree are not followed: who
    /// makes one would say which file of the commit is read.
    fn within(&self, path: &Path) -> Option<String> {
        let whole = by_the_letter(path);
        let parts = whole.strip_prefix(&self.top).ok()?.components();
        let names: Option<Vec<&str>> = parts.map(|part| part.as_os_str().to_str()).collect();
        Some(names?.join("/"))
    }
}

/// Makes a link that leads nowhere.
#[cfg(unix)]
fn link(path: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink("nowhere", path)
}

/// The same where there are none: a bundle has no such folder either.
#[cfg(not(unix))]
fn link(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// What a repository is called in its work tree.
const GIT: &str = ".git";

/// The root of the work tree around a folder.
///
/// Only `.git` makes one, which no commit can hold: a folder that is a bare repository by its content is part of the tree.
/// A link that leads to a work tree counts where it stands in none.
fn top(folder: &Path) -> Option<PathBuf> {
    let has_git = |folder: &&Path| folder.join(GIT).exists();
    let is_real = |folder: &&Path| std::fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir());
    let tops = || folder.ancestors().filter(has_git);
    tops().find(is_real).or_else(|| tops().next()).map(Path::to_owned)
}

/// A path without `.` and `..`, and with its links as they are.
fn by_the_letter(path: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => _ = whole.pop(),
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    whole
}
