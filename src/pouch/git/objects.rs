//! Git repositories on this machine, read from their objects: no work tree, no index, no filters.
//!
//! It lists trees and reads blobs. It judges no path and follows no link; names from trees are text
//! here and never become paths of files.

pub mod standing;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use git2::{ErrorCode, IndexEntryExtendedFlag, ObjectType, Oid, Repository, RepositoryOpenFlags};
use pouch_core::listing::few;
use pouch_core::report::shell;

use super::address::{is_commit_id, short};
use super::header;

/// How many digits of a commit id stand for the commit at least.
const LEAST_OF_ID: usize = 7;

/// Modes of tree entries; libgit2 gives no other ones.
const MODE_TREE: i32 = 0o040_000;
const MODE_LINK: i32 = 0o120_000;
const MODE_SUBMODULE: i32 = 0o160_000;

/// The id of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Id(pub(super) Oid);

impl std::fmt::Display for Id {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// What an entry of a tree is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// A file.
    File,
    /// A symlink; the blob holds its target.
    Link,
    /// A folder.
    Folder,
    /// A submodule: a commit of another repository.
    Submodule,
}

/// An entry of a tree.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The path from the folder that was listed, with `/` between names.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// The object.
    pub id: Id,
}

/// Why a repository or an object in it cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ObjectsError {
    /// There is no repository at the path.
    #[error("there is no git repository at {0}")]
    NoRepository(String),
    /// The repository belongs to another user, and git's own rule forbids to trust it.
    #[error("the repository at {0} belongs to another user (dubious ownership)")]
    Owner(String),
    /// It was cloned without some objects.
    #[error("the repository at {0} is a partial clone, whose missing objects pouch cannot fetch")]
    Partial(String),
    /// No reference or commit has this name.
    #[error("there is no {} {reference}", if reference.starts_with("refs/") { "reference" } else { "branch or commit" })]
    NoReference {
        /// What was looked for.
        reference: String,
        /// The branches that exist, by short names, and the tags, by full ones.
        known: Vec<String>,
    },
    /// The thing of this name is a folder or a file, or a tag of one.
    #[error("{0} does not lead to a commit")]
    NoCommit(String),
    /// A name stands for different commits.
    #[error("{revision} can mean different commits: {}", told(readings))]
    Ambiguous {
        /// The name.
        revision: String,
        /// The names in full that it can stand for, or commit ids, and the commit of each.
        readings: Vec<(String, Id)>,
    },
    /// The tree has nothing at the path.
    #[error("there is nothing at {0}")]
    NoPath(String),
    /// An object is not there: a partial clone, or damage.
    #[error("an object is missing, as in a partial or damaged clone")]
    Missing,
    /// A folder holds what git never writes.
    #[error("a folder of the commit or the index has an entry {name:?} {what}")]
    Strange {
        /// The entry's name.
        name: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// It is larger than the bound.
    #[error("it is larger than {0} bytes")]
    TooLarge(u64),
    /// A tree is larger than the bounds of [`Budget`].
    #[error("{0}")]
    TooMuch(String),
    /// Something else; libgit2's own words, which are about repositories and never about content.
    #[error("{0}")]
    Other(String),
}

impl From<git2::Error> for ObjectsError {
    fn from(error: git2::Error) -> Self {
        match error.code() {
            ErrorCode::NotFound => ObjectsError::Missing,
            _ => ObjectsError::Other(error.message().chars().filter(|c| !c.is_control()).collect()),
        }
    }
}

fn told(readings: &[(String, Id)]) -> String {
    let told = |(name, id): &(String, Id)| match name.starts_with("refs/") {
        true => format!("{name} is {id}"),
        false => format!("commit {id} begins with it"),
    };
    readings.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// Says what to do about a name that does not lead to a commit.
pub const NO_COMMIT: &str = "Name a branch, a commit, or a tag of a commit. This name is that of a folder or a file.";

/// How many branches and tags a message names.
const MOST_NAMED: usize = 8;

impl ObjectsError {
    /// What to do about it; a caller that knows where the repository was named has better advice.
    pub fn help(&self) -> String {
        match self {
            ObjectsError::NoRepository(_) => "Name the root of a repository, bare or with a work tree.".to_owned(),
            ObjectsError::Owner(path) => trust(path),
            ObjectsError::NoReference { known, .. } => correct(known),
            ObjectsError::NoCommit(_) => NO_COMMIT.to_owned(),
            ObjectsError::Ambiguous { readings, .. } => {
                let names: Vec<&str> = readings.iter().map(|(name, _)| &**name).collect();
                format!("Name the one that is meant in full: {}.", names.join(" or "))
            }
            ObjectsError::Partial(_) | ObjectsError::Missing => {
                "Clone the repository anew, without --filter; git fsck says what is missing.".to_owned()
            }
            ObjectsError::Strange { .. } => {
                "Find out who made it: git writes no such thing, and git fsck names it.".to_owned()
            }
            ObjectsError::NoPath(_) | ObjectsError::TooLarge(_) | ObjectsError::TooMuch(_) | ObjectsError::Other(_) => {
                "Check the repository with git fsck.".to_owned()
            }
        }
    }
}

/// What to do about an unknown branch, tag or commit: names those that exist.
pub fn correct(known: &[String]) -> String {
    match known.len() {
        0 => "Correct the name; no branch and no tag is known there.".to_owned(),
        count => {
            let tags = known.iter().any(|name| name.starts_with("refs/"));
            let what = if tags { "branches and tags" } else { "branches" };
            format!("Correct the name. Its {what}: {}.", few(known, count, MOST_NAMED))
        }
    }
}

/// The most levels of folders, in a tree and wherever else folders are walked.
pub const MOST_DEPTH: usize = 64;

/// The most files and folders of a tree.
pub const MOST_ENTRIES: usize = 1_000_000;

/// The largest folder that is read, as git keeps it, in bytes: a million files with short names take less.
const MOST_OF_FOLDER: usize = 48 << 20;

/// Follows a path, which is not empty, from a folder on; `entry` finds a name in a folder. Links on the way are not
/// followed.
///
/// # Errors
/// Where there is nothing at the path, or a folder on the way cannot be read.
pub fn descend(
    top: Id,
    path: &str,
    mut entry: impl FnMut(Id, &str) -> Result<Option<(Kind, Id)>, ObjectsError>,
) -> Result<(Kind, Id), ObjectsError> {
    let none = || ObjectsError::NoPath(path.to_owned());
    let mut at = None;
    for name in path.split('/').filter(|name| !name.is_empty()) {
        at = match at {
            None => entry(top, name)?,
            Some((Kind::Folder, folder)) => entry(folder, name)?,
            Some(_) => None,
        };
        at.ok_or_else(none)?;
    }
    at.ok_or_else(none)
}

/// The most entries of a tree that are looked at again, in folders that stand at several paths.
const MOST_AGAIN: usize = 100_000;

/// The most bytes that the files of a tree have together.
pub const MOST_TOGETHER: usize = 1 << 30;

/// The bounds of reading a tree: git keeps a file in a million places once, so a small repository can be larger
/// than any memory.
#[derive(Default)]
pub struct Budget {
    entries: usize,
    bytes: usize,
}

impl Budget {
    /// Counts a file or folder that lies `depth` folders deep.
    pub fn enter(&mut self, path: &str, depth: usize) -> Result<(), ObjectsError> {
        self.entries += 1;
        if depth > MOST_DEPTH {
            return Err(ObjectsError::TooMuch(format!("{path} lies more than {MOST_DEPTH} folders deep")));
        }
        if self.entries > MOST_ENTRIES {
            return Err(ObjectsError::TooMuch(format!("there are more than {MOST_ENTRIES} files and folders")));
        }
        Ok(())
    }

    /// Counts what is kept of a file.
    pub fn keep(&mut self, length: usize) -> Result<(), ObjectsError> {
        self.bytes += length;
        if self.bytes > MOST_TOGETHER {
            return Err(ObjectsError::TooMuch(format!("the files have more than {MOST_TOGETHER} bytes together")));
        }
        Ok(())
    }
}

/// The folders of one tree that were looked into. A few that hold each other can make up billions of paths, so the same one
/// is looked into at further paths only where that is little.
pub struct Again {
    met: BTreeSet<Id>,
    left: usize,
}

impl Default for Again {
    fn default() -> Self {
        Self { met: BTreeSet::new(), left: MOST_AGAIN }
    }
}

impl Again {
    /// Counts a folder with so many entries. Gives how many of them are looked at once more, or nothing where that is too
    /// much.
    pub fn enter(&mut self, folder: Id, entries: usize) -> Option<usize> {
        let more = if self.met.insert(folder) { 0 } else { entries };
        self.left = self.left.checked_sub(more)?;
        Some(more)
    }
}

/// A repository that is read.
pub struct Store {
    path: PathBuf,
    repository: Repository,
    /// Whether an object could not be read that should be there.
    damage: Cell<bool>,
    /// The roots of commits that were asked for. A large commit is parsed for each look otherwise: one of pouch's own has a
    /// line for each region.
    roots: RefCell<BTreeMap<Oid, Oid>>,
}

/// Opens the repository at `path`: a bare one, or the root of a work tree.
///
/// # Errors
/// Where there is none, or it is not to be trusted.
pub fn open(path: &Path) -> Result<Store, ObjectsError> {
    let repository = opened(path, RepositoryOpenFlags::NO_SEARCH)?;
    Ok(Store { path: path.to_owned(), repository, damage: Cell::default(), roots: RefCell::default() })
}

/// Opens a repository by libgit2.
pub(in crate::git) fn opened(path: &Path, how: RepositoryOpenFlags) -> Result<Repository, ObjectsError> {
    let none: [&Path; 0] = [];
    Repository::open_ext(path, how, none).map_err(|error| refused(path, error))
}

/// The object that a revision names: `HEAD`, a full `refs/…` or a whole commit id; else a branch, a branch of a remote, or
/// the beginning of a commit id, if all that there are of these lead to one commit. `~2` and `^` lead from there to
/// ancestors. A tag is named in full or not at all, so that none stands for a branch.
pub(in crate::git) fn named(repository: &Repository, revision: &str) -> Result<Oid, ObjectsError> {
    let (name, ancestor) = revision.split_at(revision.find(['~', '^']).unwrap_or(revision.len()));
    let amiss = |error: git2::Error| match error.code() {
        ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::Peel => none_called(repository, revision),
        _ => error.into(),
    };
    let readings = readings(repository, name).map_err(amiss)?;
    let Some((_, id)) = readings.first() else { return Err(none_called(repository, revision)) };
    let commits = readings.iter().map(|(_, id)| header::commit(repository, *id).unwrap_or(*id));
    if commits.collect::<BTreeSet<Oid>>().len() > 1 {
        let readings = readings.into_iter().map(|(name, id)| (name, Id(id))).collect();
        return Err(ObjectsError::Ambiguous { revision: name.to_owned(), readings });
    }
    match ancestor {
        "" => Ok(*id),
        ancestor => header::ancestor(repository, *id, ancestor).map_err(amiss),
    }
}

fn none_called(repository: &Repository, revision: &str) -> ObjectsError {
    ObjectsError::NoReference { reference: revision.to_owned(), known: branches_and_tags(repository) }
}

/// All that a name can mean, by names in full.
fn readings(repository: &Repository, name: &str) -> Result<Vec<(String, Oid)>, git2::Error> {
    let absent = || git2::Error::new(ErrorCode::NotFound, git2::ErrorClass::Reference, "there is none");
    let there = |id: Oid| repository.odb()?.read_header(id).map(|_| id);
    let target = |reference: String| {
        let id = repository.find_reference(&reference)?.resolve()?.target().ok_or_else(absent)?;
        Ok((reference, there(id)?))
    };
    if name == "HEAD" || name.starts_with("refs/") {
        return Ok(vec![target(name.to_owned())?]);
    }
    if is_commit_id(name) {
        return Ok(vec![(name.to_owned(), there(Oid::from_str(name)?)?)]);
    }
    let is_id = name.len() >= LEAST_OF_ID && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let by_id = is_id.then(|| commit_by_prefix(repository, name).map(|id| (id.to_string(), id)));
    let all = ["heads", "remotes"].map(|folder| target(format!("refs/{folder}/{name}")));
    all.into_iter().chain(by_id).filter(|it| !matches!(it, Err(error) if error.code() == ErrorCode::NotFound)).collect()
}

/// The one commit whose id begins with these digits.
fn commit_by_prefix(repository: &Repository, digits: &str) -> Result<Oid, git2::Error> {
    match repository.find_object_by_prefix(digits, Some(ObjectType::Commit)) {
        Ok(object) => Ok(object.id()),
        // libgit2 does not read all that are there.
        Err(error) if error.code() == ErrorCode::NotFound || error.code() == ErrorCode::Ambiguous => Err(error),
        Err(_) => {
            let padded = Oid::from_str(&format!("{digits:0<40}"))?;
            header::commit(repository, repository.odb()?.exists_prefix(padded, digits.len())?)
        }
    }
}

fn branches_and_tags(repository: &Repository) -> Vec<String> {
    let Ok(references) = repository.references() else { return Vec::new() };
    let told = |reference: git2::Reference<'_>| {
        let name = reference.name().ok()?;
        match reference.is_remote() {
            true => name.strip_prefix("refs/remotes/").map(str::to_owned),
            false => (reference.is_branch() || reference.is_tag()).then(|| short(name).to_owned()),
        }
    };
    let mut known: Vec<String> = references.flatten().filter_map(told).collect();
    known.sort();
    known
}

/// Why the repository at `path` cannot be opened.
pub(in crate::git) fn refused(path: &Path, error: git2::Error) -> ObjectsError {
    let shown = path.display().to_string();
    match error.code() {
        ErrorCode::NotFound => ObjectsError::NoRepository(shown),
        ErrorCode::Owner => ObjectsError::Owner(asked_about(path).display().to_string()),
        // libgit2 knows no such clones, and says which setting it stumbled over.
        _ if error.message().to_ascii_lowercase().contains("partialclone") => ObjectsError::Partial(shown),
        _ => ObjectsError::Other(error.message().chars().filter(|c| !c.is_control()).collect()),
    }
}

/// The path by which libgit2 decides whether a repository is trusted, and which `safe.directory` must name: the
/// root of the work tree, or the repository itself if it is bare; whole and without links.
fn asked_about(path: &Path) -> PathBuf {
    let whole = path.ancestors().find_map(|above| std::fs::canonicalize(above).ok()).unwrap_or_else(|| path.to_owned());
    // A repository's folder for a linked work tree names the file `.git` in that work tree.
    if whole.join("commondir").is_file()
        && let Ok(text) = std::fs::read_to_string(whole.join("gitdir"))
        && let Some(Ok(linked)) = whole.join(text.trim_end()).parent().map(std::fs::canonicalize)
    {
        return linked;
    }
    for above in whole.ancestors() {
        let is_repository = above.join("HEAD").is_file() && above.join("objects").is_dir();
        match above.parent() {
            Some(tree) if is_repository && above.ends_with(".git") => return tree.to_owned(),
            _ if is_repository || above.join(".git").exists() => return above.to_owned(),
            _ => {}
        }
    }
    whole
}

/// What to do about a repository that belongs to another user.
pub fn trust(path: &str) -> String {
    format!("Check that you trust its owner, then: git config --global --add safe.directory {}", shell::word(path))
}

impl Store {
    /// Where it was opened: a `Store` belongs to one thread, so that others open it again.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn repository(&self) -> &Repository {
        &self.repository
    }

    /// The commit that a revision names, as `named` understands it.
    pub fn commit(&self, revision: &str) -> Result<Id, ObjectsError> {
        let found = named(&self.repository, revision)?;
        let commit = header::commit(&self.repository, found).map_err(|error| match error.code() {
            ErrorCode::InvalidSpec | ErrorCode::Peel => ObjectsError::NoCommit(revision.to_owned()),
            _ => self.noted(error),
        })?;
        Ok(Id(commit))
    }

    /// Whether a commit carries a signature, by anybody.
    pub fn is_signed(&self, commit: Id) -> Result<bool, ObjectsError> {
        match self.repository.extract_signature(&commit.0, None) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// The branch that HEAD names, whether it exists or not.
    pub fn head_branch(&self) -> Option<String> {
        let head = self.repository.find_reference("HEAD").ok()?;
        let target = head.symbolic_target().ok().flatten()?;
        Some(target.strip_prefix("refs/heads/").unwrap_or(target).to_owned())
    }

    /// What a commit has at `path`; an empty path is the root. Links on the way are not followed.
    pub fn at(&self, commit: Id, path: &str) -> Result<Entry, ObjectsError> {
        let root = self.root_of(commit)?;
        if path.is_empty() {
            self.tree(root)?;
            return Ok(Entry { path: String::new(), kind: Kind::Folder, id: root });
        }
        self.in_folder(root, path)
    }

    /// The folder that a commit holds.
    fn root_of(&self, commit: Id) -> Result<Id, ObjectsError> {
        let known = self.roots.borrow().get(&commit.0).copied();
        if let Some(root) = known {
            return Ok(Id(root));
        }
        let root = header::read(&self.repository, commit.0).map_err(|error| self.noted(error))?.tree;
        self.roots.borrow_mut().insert(commit.0, root);
        Ok(Id(root))
    }

    /// What a folder has at `path`, which is not empty. Links on the way are not followed.
    pub fn in_folder(&self, folder: Id, path: &str) -> Result<Entry, ObjectsError> {
        let entry = |folder: Id, name: &str| {
            Ok(self.tree(folder)?.get_name(name).map(|entry| (kind_of(&entry), Id(entry.id()))))
        };
        let (kind, id) = descend(folder, path, entry)?;
        Ok(Entry { path: path.to_owned(), kind, id })
    }

    /// The entries of a folder's object. Its size is known before it is read.
    fn tree(&self, folder: Id) -> Result<git2::Tree<'_>, ObjectsError> {
        let (size, _) = self.repository.odb()?.read_header(folder.0).map_err(|error| self.noted(error))?;
        if size > MOST_OF_FOLDER {
            return Err(ObjectsError::TooLarge(u64::try_from(MOST_OF_FOLDER).unwrap_or(u64::MAX)));
        }
        self.repository.find_tree(folder.0).map_err(|error| self.noted(error))
    }

    /// Whether an object could not be read that should be there.
    pub fn is_damaged(&self) -> bool {
        self.damage.get()
    }

    fn noted(&self, error: git2::Error) -> ObjectsError {
        self.damage.set(true);
        error.into()
    }

    /// The entries of one folder, in git's order.
    pub fn folder(&self, id: Id) -> Result<Vec<(String, Kind, Id)>, ObjectsError> {
        let tree = self.tree(id)?;
        let named = |entry: git2::TreeEntry<'_>| {
            (String::from_utf8_lossy(entry.name_bytes()).into_owned(), kind_of(&entry), Id(entry.id()))
        };
        Ok(tree.iter().map(named).collect())
    }

    /// The bytes of a file, or where a link leads.
    ///
    /// # Errors
    /// Where the object cannot be read or is larger than `most` bytes.
    pub fn blob(&self, id: Id, most: u64) -> Result<Vec<u8>, ObjectsError> {
        if self.size(id)? > most {
            return Err(ObjectsError::TooLarge(most));
        }
        Ok(self.repository.find_blob(id.0).map_err(|error| self.noted(error))?.content().to_vec())
    }

    /// The size of a file in bytes, without reading it.
    pub fn size(&self, id: Id) -> Result<u64, ObjectsError> {
        match self.repository.odb()?.read_header(id.0).map_err(|error| self.noted(error))? {
            (size, ObjectType::Blob) => Ok(u64::try_from(size).unwrap_or(u64::MAX)),
            _ => Err(ObjectsError::Other("it is no file".to_owned())),
        }
    }
}

pub(super) fn kind_of(entry: &git2::TreeEntry<'_>) -> Kind {
    match entry.filemode() {
        MODE_TREE => Kind::Folder,
        MODE_LINK => Kind::Link,
        MODE_SUBMODULE => Kind::Submodule,
        _ => Kind::File,
    }
}

/// What a folder lacks because of how git checked it out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WorkTree {
    /// Files that a sparse checkout leaves out, relative to the folder.
    pub left_out: Vec<String>,
    /// Submodules, relative to the folder.
    pub submodules: Vec<String>,
    /// Whether the folder is in a sparse checkout whose index cannot be read here.
    pub unknown: bool,
}

/// Finds what `folder`, a canonical path, lacks if it is in a git work tree.
pub fn work_tree(folder: &Path) -> WorkTree {
    let unread = || {
        let sparse = |above: &Path| above.join(".git/info/sparse-checkout").exists();
        WorkTree { unknown: folder.ancestors().any(sparse), ..WorkTree::default() }
    };
    let none: [&Path; 0] = [];
    let repository = match Repository::open_ext(folder, RepositoryOpenFlags::empty(), none) {
        Ok(repository) => repository,
        Err(error) if error.code() == ErrorCode::NotFound => return WorkTree::default(),
        Err(_) => return unread(),
    };
    let top = repository.workdir().and_then(|top| std::fs::canonicalize(top).ok());
    let Some(prefix) = top.as_deref().and_then(|top| folder.strip_prefix(top).ok()) else {
        return WorkTree::default();
    };
    let Ok(index) = repository.index() else { return unread() };
    let mut found = WorkTree::default();
    for entry in index.iter() {
        let path = String::from_utf8_lossy(&entry.path).into_owned();
        let Ok(path) = Path::new(&path).strip_prefix(prefix).map(|path| path.to_string_lossy().into_owned()) else {
            continue;
        };
        if entry.mode == MODE_SUBMODULE.unsigned_abs() {
            found.submodules.push(path);
        } else if entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0 {
            found.left_out.push(path);
        }
    }
    found
}

/// The top of the work tree around a folder, which is written without links, and the paths that git knows of it; none if there
/// is no work tree that git trusts.
pub fn known(folder: &Path) -> Option<(PathBuf, BTreeSet<String>)> {
    let repository = opened(folder, RepositoryOpenFlags::empty()).ok()?;
    let top = repository.workdir().and_then(|top| std::fs::canonicalize(top).ok())?;
    let index = repository.index().ok()?;
    let paths = index.iter().map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect();
    folder.starts_with(&top).then_some((top, paths))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_looked_into_again_where_that_is_little() {
        let (mut again, id) = (Again::default(), |byte| Id(Oid::from_bytes(&[byte; 20]).unwrap()));
        assert_eq!([1, 2].map(|number| again.enter(id(number), usize::MAX)), [Some(0), Some(0)]);
        assert_eq!(again.enter(id(1), MOST_AGAIN - 2), Some(MOST_AGAIN - 2));
        assert_eq!(
            [(2, 3), (2, 2), (1, 1), (3, 9)].map(|(number, of)| again.enter(id(number), of)),
            [None, Some(2), None, Some(0)]
        );
    }

    #[test]
    fn names_that_are_not_told_are_counted() {
        let known = |count: usize| (0..count).map(|name| format!("b{name}")).collect::<Vec<_>>();
        let help = |count| ObjectsError::NoReference { reference: "x".to_owned(), known: known(count) }.help();
        assert_eq!(help(0), "Correct the name; no branch and no tag is known there.");
        assert_eq!(help(2), "Correct the name. Its branches: b0, b1.");
        assert!(help(MOST_NAMED).ends_with(", b7."), "{}", help(MOST_NAMED));
        assert!(help(MOST_NAMED + 3).ends_with(", b7 and 3 more."), "{}", help(MOST_NAMED + 3));
    }

    #[test]
    fn a_tree_has_bounds() {
        let mut budget = Budget::default();
        assert_eq!(budget.enter("a", MOST_DEPTH), Ok(()));
        assert!(budget.enter("a", MOST_DEPTH + 1).is_err());
        for _ in 2..MOST_ENTRIES {
            budget.enter("a", 0).unwrap();
        }
        assert!(matches!(budget.enter("a", 0), Err(ObjectsError::TooMuch(_))));
        assert_eq!((budget.keep(MOST_TOGETHER), budget.keep(0)), (Ok(()), Ok(())));
        assert!(budget.keep(1).is_err());
    }

    #[test]
    fn git_asks_about_the_root_of_a_work_tree_and_about_a_bare_repository_itself() {
        let folder = tempfile::tempdir().unwrap();
        let at = std::fs::canonicalize(folder.path()).unwrap();
        Repository::init(at.join("tree")).unwrap();
        Repository::init_bare(at.join("bare.git")).unwrap();
        std::fs::create_dir_all(at.join("tree/a/b")).unwrap();
        let linked = at.join("tree/.git/worktrees/linked");
        std::fs::create_dir_all(&linked).unwrap();
        std::fs::create_dir(at.join("linked")).unwrap();
        std::fs::write(linked.join("commondir"), "../..\n").unwrap();
        std::fs::write(linked.join("gitdir"), format!("{}\n", at.join("linked/.git").display())).unwrap();
        std::fs::write(at.join("linked/.git"), "gitdir: ...\n").unwrap();
        std::os::unix::fs::symlink("tree/a", at.join("link")).unwrap();
        for (path, expect) in [
            ("tree", "tree"),
            ("tree/.git/", "tree"),
            ("tree/a/b", "tree"),
            ("tree/a/not/there", "tree"),
            ("link/b", "tree"),
            ("tree/../bare.git", "bare.git"),
            ("bare.git/objects", "bare.git"),
            ("linked", "linked"),
            ("tree/.git/worktrees/linked", "linked"),
        ] {
            assert_eq!(asked_about(&at.join(path)), at.join(expect), "{path}");
        }
    }
}
