//! Writing: blobs, folders and commits in a repository on this machine, without work tree and index.
//!
//! Nothing here moves a branch: a commit becomes visible only when it is pushed.

use std::collections::BTreeMap;
use std::path::Path;

use git2::build::TreeUpdateBuilder;
use git2::{FileMode, Oid, Repository, Signature, Time};

use super::objects::ObjectsError;

/// A repository that is written to.
pub struct Writer {
    repository: Repository,
    base: Option<Oid>,
}

/// Who signs a commit, and when.
pub struct Author<'a> {
    /// The name.
    pub name: &'a str,
    /// The mail address.
    pub email: &'a str,
    /// Seconds since 1970-01-01 UTC.
    pub seconds: i64,
}

/// A folder's id, opaque outside of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FolderId(Oid);

/// A file's id, opaque outside of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId(Oid);

impl Writer {
    /// Opens the bare repository at `path`; new commits get `base` as parent, if there is one.
    ///
    /// # Errors
    /// Where it cannot be opened, or has no such commit.
    pub fn open(path: &Path, base: Option<&str>) -> Result<Self, ObjectsError> {
        let repository = Repository::open_bare(path)?;
        let base = match base {
            Some(reference) => Some(repository.revparse_single(reference)?.peel_to_commit()?.id()),
            None => None,
        };
        Ok(Self { repository, base })
    }

    /// The base commit as text.
    pub fn base(&self) -> Option<String> {
        self.base.map(|id| id.to_string())
    }

    /// Stores a file's bytes.
    ///
    /// # Errors
    /// Where the object cannot be written.
    pub fn file(&self, bytes: &[u8]) -> Result<FileId, ObjectsError> {
        Ok(FileId(self.repository.blob(bytes)?))
    }

    /// Stores a folder of files, given by paths below it with `/` between names; none for no files.
    ///
    /// # Errors
    /// Where an object cannot be written.
    pub fn folder(&self, files: &BTreeMap<String, FileId>) -> Result<Option<FolderId>, ObjectsError> {
        if files.is_empty() {
            return Ok(None);
        }
        let mut here: BTreeMap<&str, FileId> = BTreeMap::new();
        let mut below: BTreeMap<&str, BTreeMap<String, FileId>> = BTreeMap::new();
        for (path, id) in files {
            match path.split_once('/') {
                None => {
                    here.insert(path, *id);
                }
                Some((folder, rest)) => {
                    below.entry(folder).or_default().insert(rest.to_owned(), *id);
                }
            }
        }
        let mut tree = self.repository.treebuilder(None)?;
        for (name, id) in here {
            tree.insert(name, id.0, FileMode::Blob.into())?;
        }
        for (name, files) in below {
            if let Some(folder) = self.folder(&files)? {
                tree.insert(name, folder.0, FileMode::Tree.into())?;
            }
        }
        Ok(Some(FolderId(tree.write()?)))
    }

    /// Makes a commit that replaces folders and files of the base; none of a folder removes it.
    /// Returns its id, or none where nothing would change.
    ///
    /// # Errors
    /// Where an object cannot be read or written.
    pub fn commit(
        &self,
        folders: &BTreeMap<String, Option<FolderId>>,
        files: &BTreeMap<String, FileId>,
        author: &Author<'_>,
        committer: &Author<'_>,
        message: &str,
    ) -> Result<Option<String>, ObjectsError> {
        let parent = self.base.map(|id| self.repository.find_commit(id)).transpose()?;
        let before = match &parent {
            Some(parent) => parent.tree()?,
            None => self.repository.find_tree(self.repository.treebuilder(None)?.write()?)?,
        };
        let mut update = TreeUpdateBuilder::new();
        for (path, folder) in folders {
            match folder {
                Some(folder) => {
                    update.upsert(path.as_str(), folder.0, FileMode::Tree);
                }
                None if before.get_path(Path::new(path)).is_ok() => {
                    update.remove(path.as_str());
                }
                None => {}
            }
        }
        for (path, file) in files {
            update.upsert(path.as_str(), file.0, FileMode::Blob);
        }
        let after = update.create_updated(&self.repository, &before)?;
        if after == before.id() {
            return Ok(None);
        }
        // Never before its parent, so that history reads in order whatever the clock says.
        let earliest = parent.as_ref().map_or(0, |parent| parent.time().seconds());
        let sign = |who: &Author<'_>| Signature::new(who.name, who.email, &Time::new(who.seconds.max(earliest), 0));
        let tree = self.repository.find_tree(after)?;
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        let id = self.repository.commit(None, &sign(author)?, &sign(committer)?, message, &tree, &parents)?;
        Ok(Some(id.to_string()))
    }
}
