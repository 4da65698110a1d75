//! The configuration as a commit has it: beside a pull request, what stands in the work tree is somebody else's proposal.

use std::io;
use std::path::{Component, Path, PathBuf};

use super::file::FileFault;
use crate::error::Failure;
use crate::git::history;
use crate::git::objects::{self, Id, Kind, ObjectsError, Store};

/// Where the files of a configuration are read from.
pub enum From {
    /// From where they stand.
    Disk,
    /// From a commit of the repository that they stand in.
    Revision(Box<Revision>),
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
    /// Finds the commit that a revision names in the repository around a folder.
    ///
    /// # Errors
    /// Where there is no repository, no such commit, or nothing of it can be read.
    pub fn open(folder: &Path, called: &str) -> Result<Self, Failure> {
        let refused = |error: ObjectsError| {
            let help = match &error {
                ObjectsError::NoRepository(_) => {
                    String::from("--config-from needs a configuration that stands in a clone; leave it out elsewhere.")
                }
                error => error.help(),
            };
            Failure::usage(format!("--config-from {called}: {error}"), help)
        };
        let folder = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let path = history::find(&folder)?;
        let store = objects::open(&path).map_err(refused)?;
        let commit = store.commit(called).map_err(refused)?;
        let top = objects::top(&folder).map_err(refused)?;
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

    /// A path as the commit has it; none for what is not in the repository.
    fn within(&self, path: &Path) -> Option<String> {
        // The folder may be a link; whether the file is there now does not matter.
        let folder = path.parent().and_then(|folder| std::fs::canonicalize(folder).ok());
        let whole = folder.zip(path.file_name()).map_or_else(|| path.to_owned(), |(folder, name)| folder.join(name));
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.strip_prefix(&self.top).ok()?.components() {
            match part {
                Component::Normal(name) => parts.push(name.to_str()?),
                Component::ParentDir => _ = parts.pop()?,
                _ => {}
            }
        }
        Some(parts.join("/"))
    }
}
