//! Writing: blobs, folders and commits in a repository on this machine, without work tree and index.
//!
//! Nothing here moves a branch: a commit becomes visible only when it is pushed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::{FileMode, Oid, Repository, Signature, Time};

use super::objects::{ObjectsError, named};

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

/// Makes the last line of a message from the ids of parent and tree, and the seconds of the commit.
pub type Seal<'a> = &'a dyn Fn(&str, &str, i64) -> String;

/// A folder's id, opaque outside of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FolderId(Oid);

/// A file's id, opaque outside of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId(Oid);

impl Writer {
    /// Opens the bare repository at `path`; new commits get `base` as parent, if there is one.
    pub fn open(path: &Path, base: Option<&str>) -> Result<Self, ObjectsError> {
        let repository = Repository::open_bare(path)?;
        let base = match base {
            Some(reference) => Some(named(&repository, reference)?.peel_to_commit()?.id()),
            None => None,
        };
        Ok(Self { repository, base })
    }

    /// The base commit as text.
    pub fn base(&self) -> Option<String> {
        self.base.map(|id| id.to_string())
    }

    /// Stores a file's bytes.
    pub fn file(&self, bytes: &[u8]) -> Result<FileId, ObjectsError> {
        Ok(FileId(self.repository.blob(bytes)?))
    }

    /// Stores a folder of files, given by paths below it with `/` between names; none for no files.
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

    /// Makes a commit that replaces folders and files of the base; a folder given as none is removed. In the place of
    /// the folders `over` anything may stand. `seal` gives the last line of the message for its parent, its tree and its
    /// time.
    ///
    /// Returns the commit's id, or none if nothing would change.
    pub fn commit(
        &self,
        folders: &BTreeMap<String, Option<FolderId>>,
        files: &BTreeMap<String, FileId>,
        over: &BTreeSet<String>,
        (author, committer): (&Author<'_>, &Author<'_>),
        (message, seal): (&str, Seal<'_>),
    ) -> Result<Option<String>, ObjectsError> {
        let parent = self.base.map(|id| self.repository.find_commit(id)).transpose()?;
        let before = match &parent {
            Some(parent) => parent.tree()?,
            None => self.repository.find_tree(self.repository.treebuilder(None)?.write()?)?,
        };
        let mut after = Some(before.id());
        for (path, folder) in folders {
            let new = folder.map(|folder| (folder.0, FileMode::Tree));
            let after_it = if over.contains(path) { self.replaced(after, path, path, None)? } else { after };
            after = self.replaced(after_it, path, path, new)?;
        }
        for (path, file) in files {
            after = self.replaced(after, path, path, Some((file.0, FileMode::Blob)))?;
        }
        let after = match after {
            Some(after) => after,
            None => self.repository.treebuilder(None)?.write()?,
        };
        if after == before.id() {
            return Ok(None);
        }
        // Never before its parent, so that history reads in order whatever the clock says.
        let earliest = parent.as_ref().map_or(0, |parent| parent.time().seconds());
        let sign = |who: &Author<'_>| Signature::new(who.name, who.email, &Time::new(who.seconds.max(earliest), 0));
        let tree = self.repository.find_tree(after)?;
        let parent_id = parent.as_ref().map(|parent| parent.id().to_string()).unwrap_or_default();
        let message = format!("{message}{}", seal(&parent_id, &after.to_string(), committer.seconds.max(earliest)));
        let parents: Vec<&git2::Commit<'_>> = parent.iter().collect();
        let id = self.repository.commit(None, &sign(author)?, &sign(committer)?, &message, &tree, &parents)?;
        Ok(Some(id.to_string()))
    }

    /// A copy of a tree with `new` at `rest`, or with nothing there; none if the copy would be empty, because
    /// git itself commits no empty folders. `path` is the whole path, for messages.
    fn replaced(
        &self,
        tree: Option<Oid>,
        path: &str,
        rest: &str,
        new: Option<(Oid, FileMode)>,
    ) -> Result<Option<Oid>, ObjectsError> {
        let tree = tree.map(|id| self.repository.find_tree(id)).transpose()?;
        let (name, below) = rest.split_once('/').map_or((rest, None), |(name, below)| (name, Some(below)));
        let standing = tree.as_ref().and_then(|tree| tree.get_name(name)).map(|entry| (entry.id(), entry.filemode()));
        let wanted = if below.is_some() { Some(FileMode::Tree) } else { new.map(|(_, mode)| mode) };
        // An entry of another kind is somebody else's: it is neither followed nor written over.
        if let (Some((_, mode)), Some(wanted)) = (standing, wanted)
            && kind(mode) != kind(wanted.into())
        {
            return Err(ObjectsError::Other(format!("something else stands at {name} on the way to {path}")));
        }
        let replacement = match below {
            None => new.map(|(id, mode)| (id, i32::from(mode))),
            Some(below) => {
                let inner = self.replaced(standing.map(|(id, _)| id), path, below, new)?;
                inner.map(|id| (id, FileMode::Tree.into()))
            }
        };
        let mut builder = self.repository.treebuilder(tree.as_ref())?;
        match (replacement, standing) {
            (Some((id, mode)), _) => {
                builder.insert(name, id, mode)?;
            }
            (None, Some(_)) => builder.remove(name)?,
            (None, None) => {}
        }
        if builder.is_empty() { Ok(None) } else { Ok(Some(builder.write()?)) }
    }
}

/// The part of a mode that says what an entry is, without permissions.
fn kind(mode: i32) -> i32 {
    mode & 0o170_000
}
