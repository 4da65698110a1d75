//! What stands in a commit or in the index as a whole: every path with its mode, nothing followed.

use std::path::{Component, Path, PathBuf};

use git2::{Index, IndexEntryExtendedFlag, Repository, RepositoryOpenFlags};

use super::{Id, MODE_LINK, MODE_SUBMODULE, MODE_TREE, ObjectsError, Store, refused};

const MODE_EXECUTABLE: i32 = 0o100_755;

/// The most folders that lie in each other.
const MOST_DEPTH: usize = 64;

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

fn mode_of(mode: i32, name: &[u8]) -> Mode {
    match mode {
        _ if std::str::from_utf8(name).is_err() => Mode::Nameless,
        MODE_LINK => Mode::Link,
        MODE_SUBMODULE => Mode::Submodule,
        MODE_EXECUTABLE => Mode::Executable,
        _ => Mode::File,
    }
}

/// Opens the repository that a path belongs to, a bare one or a work tree's, and says the way from its
/// root to the path, without a slash at either end. The path need not exist.
///
/// # Errors
/// Where it belongs to none, or the repository is not to be trusted.
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
    let store = Store { path: repository.path().to_owned(), repository };
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

    /// Every path below a folder, links and submodules as such.
    ///
    /// # Errors
    /// Where an object is missing, or folders lie too deep.
    pub fn everything(&self, folder: Id) -> Result<Vec<Found>, ObjectsError> {
        let mut found = Vec::new();
        let mut folders = vec![(String::new(), folder.0, 0_usize)];
        while let Some((before, id, depth)) = folders.pop() {
            if depth > MOST_DEPTH {
                return Err(ObjectsError::Other(format!("{before} lies more than {MOST_DEPTH} folders deep")));
            }
            for entry in self.repository.find_tree(id)?.iter() {
                let path = format!("{before}{}", String::from_utf8_lossy(entry.name_bytes()));
                match entry.filemode() {
                    MODE_TREE => folders.push((format!("{path}/"), entry.id(), depth.saturating_add(1))),
                    mode => found.push(Found { path, mode: mode_of(mode, entry.name_bytes()), id: Id(entry.id()) }),
                }
            }
        }
        Ok(found)
    }

    /// Every path of the index: what the next commit will hold. `file` is another index than the
    /// repository's own, as `git commit --all` gives one to its hooks.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub fn index(&self, file: Option<&Path>) -> Result<Vec<Found>, ObjectsError> {
        let index = self.open_index(file)?;
        // What is only intended to be added holds nothing yet.
        let intended = IndexEntryExtendedFlag::INTENT_TO_ADD.bits();
        let entries = index.iter().filter(|entry| entry.flags_extended & intended == 0);
        let found = entries.map(|entry| Found {
            path: String::from_utf8_lossy(&entry.path).into_owned(),
            mode: mode_of(i32::try_from(entry.mode).unwrap_or_default(), &entry.path),
            id: Id(entry.id),
        });
        Ok(found.collect())
    }

    /// What of the index differs from the last commit: every path that is staged, also those that go.
    ///
    /// # Errors
    /// Where the index or the commit cannot be read.
    pub fn staged(&self, file: Option<&Path>) -> Result<Vec<String>, ObjectsError> {
        let index = self.open_index(file)?;
        let head = self.repository.head().ok().and_then(|head| head.peel_to_tree().ok());
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
