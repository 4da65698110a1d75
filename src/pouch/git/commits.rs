//! Writing: blobs, folders and commits in a repository on this machine, without work tree and index.
//!
//! Nothing here moves a branch: a commit becomes visible only when it is pushed.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use git2::{FileMode, ObjectType, Odb, Oid, Repository, Signature, Time};

use super::header;
use super::objects::{Id, ObjectsError, named};
use super::pack::{Packs, name_of};

/// The mode of a folder.
const TREE: i32 = 0o040_000;

/// A repository that is written to.
pub struct Writer {
    repository: Repository,
    packs: Arc<Packs>,
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
    /// The latest time that a parent is followed to. Whoever writes one of the year 2099 would stop every window of time.
    pub latest: i64,
}

/// Makes the last line of a message from the ids of parent and tree, and the seconds of the commit.
pub type Seal<'a> = &'a dyn Fn(&str, &str, i64) -> String;

/// A folder's id, opaque outside of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FolderId(Oid);

/// A file's id, opaque outside of this module.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FileId(Oid);

impl FileId {
    /// A file that the repository has.
    pub fn of(id: Id) -> Self {
        Self(id.0)
    }

    /// Whether it is a file of these bytes, which is not read for that.
    pub fn holds(self, bytes: &[u8]) -> bool {
        name_of(ObjectType::Blob, bytes).is_ok_and(|name| name == self.0)
    }
}

/// What becomes of an entry of a folder.
enum Edit {
    /// Another folder stands there, or none. What is no folder must not stand there, unless it may be written over.
    Folder { id: Option<FolderId>, over: bool },
    /// Another file stands there.
    File(FileId),
    /// Something changes further down.
    Below(Edits),
}

/// Edits of one folder, by names.
type Edits = BTreeMap<String, Edit>;

/// A commit that was made.
pub struct Commit {
    /// Its id.
    pub id: String,
    /// The id of its tree.
    pub tree: String,
}

/// What a commit changes.
#[derive(Default)]
pub struct Changes {
    edits: Edits,
    /// A path on which something else was to stand already.
    torn: Option<String>,
}

impl Changes {
    /// Replaces the folder at a path, or removes it where there is none. `over` says that anything may stand there.
    pub fn folder(&mut self, path: &str, id: Option<FolderId>, over: bool) {
        self.put(path, Edit::Folder { id, over });
    }

    /// Replaces the file at a path.
    pub fn file(&mut self, path: &str, id: FileId) {
        self.put(path, Edit::File(id));
    }

    fn put(&mut self, path: &str, edit: Edit) {
        let mut edits = &mut self.edits;
        let mut rest = path;
        while let Some((name, below)) = rest.split_once('/') {
            let Edit::Below(inner) = edits.entry(name.to_owned()).or_insert_with(|| Edit::Below(Edits::new())) else {
                self.torn = Some(path.to_owned());
                return;
            };
            edits = inner;
            rest = below;
        }
        edits.insert(rest.to_owned(), edit);
    }
}

/// An entry of a folder.
type Entry = (Oid, i32);

impl Writer {
    /// Opens the bare repository at `path`; new commits get `base` as parent, if there is one.
    pub fn open(path: &Path, base: Option<&str>) -> Result<Self, ObjectsError> {
        let repository = Repository::open_bare(path)?;
        let base = match base {
            Some(reference) => Some(header::commit(&repository, named(&repository, reference)?)?),
            None => None,
        };
        Ok(Self { repository, packs: Arc::new(Packs::new(path)), base })
    }

    /// Gives new commits another parent.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn go_on_from(&mut self, reference: &str) -> Result<(), ObjectsError> {
        self.base = Some(header::commit(&self.repository, named(&self.repository, reference)?)?);
        Ok(())
    }

    /// The base commit as text.
    pub fn base(&self) -> Option<String> {
        self.base.map(|id| id.to_string())
    }

    /// What threads store files by.
    pub fn files(&self) -> Result<FileWriter, ObjectsError> {
        Ok(FileWriter { repository: Repository::open_bare(self.repository.path())?, packs: self.packs.clone() })
    }

    /// Makes a commit of the base with these changes. `seal` gives the last line of the message for its parent, its tree
    /// and its time.
    ///
    /// Returns the commit, or none if nothing would change.
    pub fn commit(
        &self,
        changes: &Changes,
        (author, committer): (&Author<'_>, &Author<'_>),
        (message, seal): (&str, Seal<'_>),
    ) -> Result<Option<Commit>, ObjectsError> {
        if let Some(path) = &changes.torn {
            return Err(in_the_way(path, path));
        }
        let parent = self.base.map(|id| header::read(&self.repository, id)).transpose()?;
        let odb = self.repository.odb()?;
        let nothing = || self.packs.add(&odb, ObjectType::Tree, Vec::new());
        let before = match &parent {
            Some(parent) => parent.tree,
            None => nothing()?,
        };
        let standing = parent.is_some().then_some(before);
        let after = match self.edited(&odb, standing, &changes.edits, "")? {
            Some(after) => after,
            None => nothing()?,
        };
        if after == before {
            return Ok(None);
        }
        self.packs.write()?;
        // Never before its parent, so that history reads in order whatever the clock says.
        let earliest = parent.map(|parent| parent.seconds);
        let earliest = earliest.filter(|seconds| *seconds <= committer.latest).unwrap_or_default();
        let sign = |who: &Author<'_>| Signature::new(who.name, who.email, &Time::new(who.seconds.max(earliest), 0));
        let tree = self.repository.find_tree(after)?;
        let parent_id = self.base.map(|id| id.to_string()).unwrap_or_default();
        let message = format!("{message}{}", seal(&parent_id, &after.to_string(), committer.seconds.max(earliest)));
        let id = self.put(&odb, (&sign(author)?, &sign(committer)?), &message, &tree, self.base)?;
        Ok(Some(Commit { id, tree: after.to_string() }))
    }

    /// Makes a commit of one file, without a parent.
    pub fn note(
        &self,
        (name, bytes): (&str, &[u8]),
        author: &Author<'_>,
        message: &str,
    ) -> Result<String, ObjectsError> {
        let mut tree = self.repository.treebuilder(None)?;
        _ = tree.insert(name, self.repository.blob(bytes)?, FileMode::Blob.into())?;
        let tree = self.repository.find_tree(tree.write()?)?;
        let who = Signature::new(author.name, author.email, &Time::new(author.seconds, 0))?;
        self.put(&self.repository.odb()?, (&who, &who), message, &tree, None)
    }

    /// Writes a commit. libgit2's function that makes and writes one says that all is well where it cannot be written.
    fn put(
        &self,
        odb: &Odb<'_>,
        (author, committer): (&Signature<'_>, &Signature<'_>),
        message: &str,
        tree: &git2::Tree<'_>,
        parent: Option<Oid>,
    ) -> Result<String, ObjectsError> {
        let mut commit = self.repository.commit_create_buffer(author, committer, message, tree, &[])?.to_vec();
        if let Some(parent) = parent {
            // Behind the line of the tree. libgit2 takes no parent that it cannot read to its end.
            let at = commit.iter().position(|byte| *byte == b'\n').map_or(commit.len(), |end| end.saturating_add(1));
            _ = commit.splice(at..at, format!("parent {parent}\n").into_bytes());
        }
        Ok(odb.write(ObjectType::Commit, &commit)?.to_string())
    }

    /// A copy of a folder with edits; none if it would be empty, because git itself commits no empty folders. `at` is
    /// its path with a slash at its end, for messages.
    fn edited(&self, odb: &Odb<'_>, folder: Option<Oid>, edits: &Edits, at: &str) -> Result<Option<Oid>, ObjectsError> {
        let mut entries: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        if let Some(folder) = folder {
            let tree = self.repository.find_tree(folder)?;
            let entry = |entry: git2::TreeEntry<'_>| (entry.name_bytes().to_vec(), (entry.id(), entry.filemode_raw()));
            entries.extend(tree.iter().map(entry));
        }
        for (name, edit) in edits {
            let standing = entries.get(name.as_bytes()).copied();
            let is_folder = standing.is_some_and(|(_, mode)| kind(mode) == TREE);
            // An entry of another kind is somebody else's: it is neither followed nor written over.
            let fits = match edit {
                Edit::Folder { over: true, .. } | Edit::Folder { id: None, .. } => true,
                Edit::Folder { .. } | Edit::Below(_) => is_folder || standing.is_none(),
                Edit::File(_) => standing.is_none_or(|(_, mode)| kind(mode) == kind(FileMode::Blob.into())),
            };
            if !fits {
                return Err(in_the_way(name, &format!("{at}{name}")));
            }
            let new = match edit {
                Edit::Folder { id, .. } => id.map(|id| (id.0, TREE)),
                Edit::File(id) => Some((id.0, FileMode::Blob.into())),
                Edit::Below(edits) => {
                    let below = standing.map(|(id, _)| id);
                    self.edited(odb, below, edits, &format!("{at}{name}/"))?.map(|id| (id, TREE))
                }
            };
            match new {
                Some(new) => _ = entries.insert(name.as_bytes().to_vec(), new),
                None => _ = entries.remove(name.as_bytes()),
            }
        }
        match entries.is_empty() {
            true => Ok(None),
            false => Ok(Some(self.packs.add(odb, ObjectType::Tree, tree(entries))?)),
        }
    }
}

/// Stores the files of one thread.
pub struct FileWriter {
    repository: Repository,
    packs: Arc<Packs>,
}

impl FileWriter {
    /// Stores a file's bytes.
    pub fn file(&self, bytes: Vec<u8>) -> Result<FileId, ObjectsError> {
        Ok(FileId(self.packs.add(&self.repository.odb()?, ObjectType::Blob, bytes)?))
    }

    /// Stores a folder of files, given by paths below it with `/` between names.
    pub fn folder(&self, files: &BTreeMap<String, FileId>) -> Result<FolderId, ObjectsError> {
        let files: Vec<(&str, FileId)> = files.iter().map(|(path, id)| (path.as_str(), *id)).collect();
        Ok(FolderId(self.folder_of(&self.repository.odb()?, &files)?))
    }

    /// Stores a folder of files that are sorted by path.
    fn folder_of(&self, odb: &Odb<'_>, files: &[(&str, FileId)]) -> Result<Oid, ObjectsError> {
        let mut entries: BTreeMap<Vec<u8>, Entry> = BTreeMap::new();
        let name_of = |path: &str| path.split_once('/').map(|(name, _)| name.to_owned());
        // A folder's files stand together, whatever else sorts between a name and the same name with a slash.
        let mut below: BTreeMap<String, Vec<(&str, FileId)>> = BTreeMap::new();
        for (path, id) in files {
            match (name_of(path), path.split_once('/')) {
                (Some(name), Some((_, rest))) => below.entry(name).or_default().push((rest, *id)),
                _ => _ = entries.insert(path.as_bytes().to_vec(), (id.0, FileMode::Blob.into())),
            }
        }
        for (name, files) in below {
            entries.insert(name.into_bytes(), (self.folder_of(odb, &files)?, TREE));
        }
        self.packs.add(odb, ObjectType::Tree, tree(entries))
    }
}

fn in_the_way(name: &str, path: &str) -> ObjectsError {
    ObjectsError::Other(format!("something else stands at {name} on the way to {path}"))
}

/// The bytes of a tree object: git sorts its entries as if the names of folders ended with a slash.
fn tree(entries: BTreeMap<Vec<u8>, Entry>) -> Vec<u8> {
    let mut sorted: Vec<(Vec<u8>, Entry)> = entries.into_iter().collect();
    let key = |name: &[u8], mode: i32| {
        let end: &[u8] = if kind(mode) == TREE { b"/" } else { b"" };
        [name, end].concat()
    };
    sorted.sort_by_cached_key(|(name, (_, mode))| key(name, *mode));
    let mut bytes = Vec::new();
    for (name, (id, mode)) in sorted {
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(&name);
        bytes.push(0);
        bytes.extend_from_slice(id.as_bytes());
    }
    bytes
}

/// The part of a mode that says what an entry is, without permissions.
fn kind(mode: i32) -> i32 {
    mode & 0o170_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        Repository::init_bare(folder.path()).unwrap();
        let committed = |name: &str| {
            let writer = Writer::open(folder.path(), None).unwrap();
            let mut changes = Changes::default();
            changes.file("file", writer.files().unwrap().file(name.into()).unwrap());
            let author = Author { name: "a", email: "a@example.com", seconds: 0, latest: i64::MAX };
            writer.commit(&changes, (&author, &author), (name, &|_, _, _| String::new()))
        };
        let commit = committed("one").unwrap().unwrap();
        assert!(Repository::open_bare(folder.path()).unwrap().find_commit(Oid::from_str(&commit.id).unwrap()).is_ok());
        // Folders of objects have two hexadecimal digits.
        for n in 0..=u8::MAX {
            let place = folder.path().join(format!("objects/{n:02x}"));
            if !place.exists() {
                std::fs::write(place, "").unwrap();
            }
        }
        assert!(committed("two").is_err());
    }
}
