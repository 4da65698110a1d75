//! Everything in a commit or in the index: every path with its mode, nothing followed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use git2::{Index, IndexEntryExtendedFlag, Repository, RepositoryOpenFlags};

use super::super::header;
use super::{Again, Budget, Id, MODE_LINK, MODE_SUBMODULE, MODE_TREE, ObjectsError, Store, refused};

const MODE_EXECUTABLE: i32 = 0o100_755;

/// What git says a path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// A file.
    File,
    /// A file that can be executed.
    Executable,
    /// A symlink.
    Link,
    /// A submodule.
    Submodule,
    /// A name that is no text.
    Nameless,
    /// A folder that was looked into at other paths, too often to do it again.
    Repeated,
}

/// One path of a tree or of the index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The path, with `/` between names.
    pub path: String,
    /// What it is.
    pub mode: Mode,
    /// The object.
    pub id: Id,
}

/// The modes that entries have, also in old repositories.
const MODES: [i32; 6] = [MODE_TREE, 0o100_644, 0o100_664, MODE_EXECUTABLE, MODE_LINK, MODE_SUBMODULE];

/// Refuses a name that leads elsewhere, and an unknown mode: such a tree is one thing to this reader and
/// another to the next.
fn check(name: &[u8], mode: i32) -> Result<(), ObjectsError> {
    let strange = |what| Err(ObjectsError::Strange { name: String::from_utf8_lossy(name).into_owned(), what });
    match name {
        _ if !MODES.contains(&mode) => strange("of a mode that git does not write"),
        b"" | b"." | b".." => strange("whose name is none"),
        _ if name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1") => {
            strange("whose name is that of a repository's own folder")
        }
        _ if name.contains(&b'/') => strange("whose name holds a slash"),
        _ => Ok(()),
    }
}

/// Refuses a tree with such an entry, or with two entries of one name.
fn check_tree(tree: &git2::Tree<'_>) -> Result<(), ObjectsError> {
    let mut names = BTreeSet::new();
    for entry in tree.iter() {
        let name = entry.name_bytes();
        check(name, entry.filemode_raw())?;
        if !names.insert(name.to_vec()) {
            let name = String::from_utf8_lossy(name).into_owned();
            return Err(ObjectsError::Strange { name, what: "that stands there twice" });
        }
    }
    Ok(())
}

fn mode_of(mode: i32, name: &[u8]) -> Mode {
    match mode {
        _ if std::str::from_utf8(name).is_err() => Mode::Nameless,
        MODE_LINK => Mode::Link,
        MODE_SUBMODULE => Mode::Submodule,
        MODE_EXECUTABLE => Mode::Executable,
        _ => Mode::File,
    }
}

/// Opens the repository that a path belongs to, a bare one or a work tree's, and returns the way from its root
/// to the path, without a slash at either end. The path need not exist.
///
/// # Errors
/// Where the path belongs to no repository, or the repository is not to be trusted.
pub fn discover(path: &Path) -> Result<(Store, String), ObjectsError> {
    let shown = || path.display().to_string();
    let there = path.ancestors().find_map(|above| Some((above, std::fs::canonicalize(above).ok()?)));
    let Some((above, whole)) = there else { return Err(ObjectsError::NoRepository(shown())) };
    let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
    let none: [&Path; 0] = [];
    let repository =
        Repository::open_ext(&whole, RepositoryOpenFlags::empty(), none).map_err(|error| refused(path, error))?;
    let root = repository.workdir().unwrap_or(repository.path());
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    let way = whole.strip_prefix(&root).unwrap_or(Path::new("")).join(rest);
    let store =
        Store { path: repository.path().to_owned(), repository, damage: Cell::default(), roots: RefCell::default() };
    Ok((store, slashed(&way)))
}

fn slashed(way: &Path) -> String {
    let mut parts: Vec<String> = Vec::new();
    for part in way.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_string_lossy().into_owned()),
            Component::ParentDir => _ = parts.pop(),
            _ => {}
        }
    }
    parts.join("/")
}

impl Store {
    /// Whether it is a bare repository.
    pub fn is_bare(&self) -> bool {
        self.repository.is_bare()
    }

    /// Whether every folder on the way to a path of a commit is one that git writes.
    pub fn check_way(&self, commit: Id, way: &str) -> Result<(), ObjectsError> {
        let mut tree = header::tree(&self.repository, commit.0)?;
        check_tree(&tree)?;
        for part in way.split('/').filter(|part| !part.is_empty()) {
            let Some(id) = tree.get_name(part).filter(|entry| entry.filemode() == MODE_TREE).map(|entry| entry.id())
            else {
                break;
            };
            tree = self.repository.find_tree(id)?;
            check_tree(&tree)?;
        }
        Ok(())
    }

    /// Every path below a folder, links and submodules as such.
    ///
    /// # Errors
    /// Where an object is missing, a folder is none that git writes, or there is more than [`Budget`] allows.
    pub fn everything(&self, folder: Id, keeps: &dyn Fn(&str) -> bool) -> Result<Vec<Found>, ObjectsError> {
        let (mut found, mut budget) = (Vec::new(), Budget::default());
        let mut again = Again::default();
        let mut folders = vec![(String::new(), folder.0, 0_usize)];
        while let Some((before, id, depth)) = folders.pop() {
            let tree = self.repository.find_tree(id)?;
            check_tree(&tree)?;
            if again.enter(Id(id), tree.len()).is_none() {
                let path = before.trim_end_matches('/').to_owned();
                found.push(Found { path, mode: Mode::Repeated, id: Id(id) });
                continue;
            }
            for entry in tree.iter() {
                let path = format!("{before}{}", String::from_utf8_lossy(entry.name_bytes()));
                budget.enter(&path, depth)?;
                match entry.filemode() {
                    MODE_TREE if !keeps(&path) => {}
                    MODE_TREE => folders.push((format!("{path}/"), entry.id(), depth + 1)),
                    mode => found.push(Found { path, mode: mode_of(mode, entry.name_bytes()), id: Id(entry.id()) }),
                }
            }
        }
        Ok(found)
    }

    /// What one folder holds: names, what they are, none for a folder, and where it is. What git would not write is
    /// [`Mode::Nameless`].
    pub fn entries(&self, folder: Id) -> Result<Vec<(String, Option<Mode>, Id)>, ObjectsError> {
        let tree = self.tree(folder)?;
        let named = |entry: git2::TreeEntry<'_>| {
            let name = String::from_utf8_lossy(entry.name_bytes()).into_owned();
            let mode = match (check(entry.name_bytes(), entry.filemode_raw()), entry.filemode()) {
                (Err(_), _) => Some(Mode::Nameless),
                (Ok(()), MODE_TREE) if !name.contains('\u{fffd}') => None,
                (Ok(()), mode) => Some(mode_of(mode, entry.name_bytes())),
            };
            (name, mode, Id(entry.id()))
        };
        Ok(tree.iter().map(named).collect())
    }

    /// Every path of the index: what the next commit will hold. `file` is another index than the
    /// repository's own, as `git commit --all` gives one to its hooks.
    pub fn index(&self, file: Option<&Path>) -> Result<Vec<Found>, ObjectsError> {
        let index = self.open_index(file)?;
        // An entry that is only intended to be added holds nothing yet.
        let intended = IndexEntryExtendedFlag::INTENT_TO_ADD.bits();
        let entries = index.iter().filter(|entry| entry.flags_extended & intended == 0);
        let found = entries.map(|entry| {
            let mode = i32::try_from(entry.mode).unwrap_or_default();
            entry.path.split(|b| *b == b'/').try_for_each(|name| check(name, mode))?;
            let path = String::from_utf8_lossy(&entry.path).into_owned();
            Ok(Found { path, mode: mode_of(mode, &entry.path), id: Id(entry.id) })
        });
        found.collect()
    }

    /// The paths in which the index differs from the last commit: every staged path, removed ones too.
    pub fn staged(&self, file: Option<&Path>) -> Result<Vec<String>, ObjectsError> {
        let index = self.open_index(file)?;
        let head = self.repository.head().ok().and_then(|head| head.target());
        let tree = head.and_then(|head| header::read(&self.repository, head).ok()).map(|commit| commit.tree);
        let head = tree.map(|tree| self.repository.find_tree(tree)).transpose()?;
        let changes = self.repository.diff_tree_to_index(head.as_ref(), Some(&index), None)?;
        let path = |delta: git2::DiffDelta<'_>| {
            let file = if delta.new_file().path_bytes().is_some() { delta.new_file() } else { delta.old_file() };
            Some(String::from_utf8_lossy(file.path_bytes()?).into_owned())
        };
        Ok(changes.deltas().filter_map(path).collect())
    }

    fn open_index(&self, file: Option<&Path>) -> Result<Index, ObjectsError> {
        let index = match file {
            Some(file) => Index::open(file)?,
            None => self.repository.index()?,
        };
        Ok(index)
    }

    /// The root of the work tree, if there is one.
    pub fn root(&self) -> Option<PathBuf> {
        self.repository.workdir().map(Path::to_owned)
    }
}
