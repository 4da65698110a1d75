//! The history of a repository on this machine: which files stood in which commits.
//!
//! Commits are walked once, parents before children, and only the differences from a commit's parents are
//! looked at: folders with the same id are the same. What the files hold is not known here. Anybody may have
//! pushed a history, so its depth and size are bounded.

mod asked;
mod graph;
pub mod line;
mod passed;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use git2::{ErrorClass, ObjectType, Oid, Repository, RepositoryOpenFlags};

use self::asked::FOLDER;
pub use self::asked::{HistoryError, Since, Wanted};
use self::graph::{Commit, Graph};
use self::passed::commit_called;
pub use self::passed::{Passed, PassedOver};
use super::objects::{Again, Id, Kind, MOST_DEPTH, kind_of, opened};
use crate::stop::Stop;

/// The most entries of folders that are looked at for one commit.
const MOST_ENTRIES: usize = 10_000_000;

/// The most entries that are looked at again, as [`Again`] bounds them for one commit, in all commits together.
const MOST_AGAIN_IN_ALL: usize = 10_000_000;

/// The most files, each counted once for each content.
const MOST_FILES: usize = 10_000_000;

/// The largest folder that is read, in bytes: about a million entries.
const MOST_BYTES: usize = 32 << 20;

/// The most entries of folders that are kept for the next commit.
const MOST_KEPT: usize = 400_000;

/// A commit; or a folder or file that a reference leads to without one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Moment {
    /// Its id.
    pub id: String,
    /// When it was committed, or else first tagged, in seconds since 1970-01-01 UTC; none where nobody knows.
    pub seconds: Option<i64>,
    /// Whether its content may be older: it has parents that were not looked at, or it is no commit.
    pub or_before: bool,
    /// Whether it is a commit.
    pub is_commit: bool,
}

/// A file in the commits that have it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Span {
    /// Its path in the repository, with bytes that are no UTF-8 replaced. A file that a reference leads to
    /// directly has its id for a path.
    pub path: Arc<str>,
    /// What it is; never a folder.
    pub kind: Kind,
    /// Its content.
    pub id: Id,
    /// The first commit that has it, by its number.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// Whether the current commit has it.
    pub now: bool,
}

/// What stood in a history.
pub struct History {
    /// The commits, parents before children.
    pub commits: Vec<Moment>,
    /// How many references led to them.
    pub references: usize,
    /// The name of the revision that counts as published now.
    pub current: String,
    /// The number of its commit; none where the repository has no commit.
    pub current_commit: Option<usize>,
    /// The files that count, sorted by path and content.
    pub files: Vec<Span>,
    /// Parts that were not looked into.
    pub passed: PassedOver,
}

/// The folder of the repository that `path` is in, if it is not one itself.
pub fn find(path: &Path) -> Result<std::path::PathBuf, HistoryError> {
    Ok(opened(path, RepositoryOpenFlags::empty())?.path().to_owned())
}

/// The repository at `path`, with all of its history.
fn whole(path: &Path) -> Result<Repository, HistoryError> {
    let repository = opened(path, RepositoryOpenFlags::NO_SEARCH)?;
    match repository.is_shallow() {
        true => Err(HistoryError::Shallow(path.display().to_string())),
        false => Ok(repository),
    }
}

/// Whether a file, link or submodule at a path counts.
///
/// In commits, only paths below a folder called `regions`, or in place of one, are asked about; in folders and
/// files that a reference leads to without a commit, all are: they may be parts of what a commit has.
pub type Counts<'a> = &'a dyn Fn(&str, Kind, Below) -> bool;

/// Where something lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Below {
    /// In a commit.
    Commit,
    /// In a folder that a reference leads to directly; or it is the file that a reference leads to.
    Reference,
}

/// Reads the history of the repository at `path`: the files that `counts` lets count.
///
/// # Errors
/// Where the repository is missing or shallow, or lacks a reference that is asked for, or the run should end.
pub fn read(path: &Path, wanted: &Wanted<'_>, counts: Counts<'_>, stop: &Stop) -> Result<History, HistoryError> {
    let repository = whole(path)?;
    let mut graph = Graph::of(&repository, wanted, stop)?;
    let mut walker = Walker::new(&repository, counts, stop, std::mem::take(&mut graph.passed));
    for (number, commit) in graph.commits.iter().enumerate().filter(|(_, commit)| commit.loose.is_none()) {
        stop.check()?;
        walker.commit(&graph, number, commit)?;
    }
    for (number, commit) in graph.commits.iter().enumerate().filter(|(_, commit)| commit.loose.is_some()) {
        stop.check()?;
        let files = walker.all(commit)?;
        walker.touch_new(number, files);
    }
    let mut now = BTreeSet::new();
    if let Some(commit) = graph.current.and_then(|number| graph.commits.get(number)) {
        now.extend(walker.all(commit)?);
    }
    let span = |(file, (first, last)): (File, (usize, usize))| {
        let now = now.contains(&file);
        let (path, kind, id) = file;
        Span { path, kind, id: Id(id), first, last, now }
    };
    let files = std::mem::take(&mut walker.spans).into_iter().map(span).collect();
    let moment = |commit: &Commit| Moment {
        id: commit.id.to_string(),
        seconds: commit.seconds,
        or_before: commit.or_before,
        is_commit: commit.loose.is_none(),
    };
    Ok(History {
        commits: graph.commits.iter().map(moment).collect(),
        references: graph.references,
        current: graph.called,
        current_commit: graph.current,
        files,
        passed: walker.passed,
    })
}

/// An entry of a folder that can count.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: Box<[u8]>,
    kind: Kind,
    id: Oid,
}

type Tree = Rc<[Entry]>;
type File = (Arc<str>, Kind, Oid);

/// What differs between two commits.
#[derive(Default)]
struct Difference {
    removed: Vec<File>,
    added: Vec<File>,
}

/// Where a walk is.
#[derive(Clone, Copy)]
struct Place<'p> {
    path: &'p str,
    depth: usize,
    /// Whether a folder on the way is called `regions`, or everything counts.
    inside: bool,
    below: Below,
}

struct Walker<'r> {
    repository: &'r Repository,
    counts: Counts<'r>,
    /// Whether a folder has a folder called `regions` somewhere below, or something in the place of one.
    holds: BTreeMap<Oid, bool>,
    trees: BTreeMap<Oid, Tree>,
    /// How many entries `trees` has.
    kept: usize,
    paths: BTreeSet<Arc<str>>,
    spans: BTreeMap<File, (usize, usize)>,
    passed: PassedOver,
    /// The commit that is looked at.
    at: Oid,
    /// How many more entries may be looked at for this commit.
    left: usize,
    /// The folders that were looked into for this commit, of the old side and of the new one.
    again: [Again; 2],
    /// The entries that may still be looked at, for all commits, in folders that were looked into before.
    again_in_all: usize,
    stop: &'r Stop,
}

impl<'r> Walker<'r> {
    fn new(repository: &'r Repository, counts: Counts<'r>, stop: &'r Stop, passed: PassedOver) -> Self {
        Self {
            repository,
            counts,
            holds: BTreeMap::new(),
            trees: BTreeMap::new(),
            kept: 0,
            paths: BTreeSet::new(),
            spans: BTreeMap::new(),
            passed,
            at: Oid::ZERO_SHA1,
            left: 0,
            again: Default::default(),
            again_in_all: MOST_AGAIN_IN_ALL,
            stop,
        }
    }

    /// Notes which files begin and which end with a commit.
    ///
    /// The first commit that has a file has no earlier parent with the file, which is therefore added there;
    /// the last one has no child with the file, which is therefore removed in each child, if there are any.
    fn commit(&mut self, graph: &Graph, number: usize, commit: &Commit) -> Result<(), HistoryError> {
        self.at = commit.id;
        let tree_of = |parent: usize| graph.commits.get(parent).map(|parent| parent.holds);
        let mut parents = commit.parents.iter().copied();
        let first = parents.next();
        let Difference { removed, added } = self.between(first.and_then(tree_of), commit.holds)?;
        self.touch(number, added);
        if let Some(first) = first {
            self.touch(first, removed);
        }
        for parent in parents {
            let Difference { removed, .. } = self.between(tree_of(parent), commit.holds)?;
            self.touch(parent, removed);
        }
        if !commit.has_children && first.is_some() {
            let all = self.all(commit)?;
            self.touch(number, all);
        }
        Ok(())
    }

    /// Notes that a commit has files.
    fn touch(&mut self, number: usize, files: Vec<File>) {
        for file in files {
            if self.spans.len() >= MOST_FILES && !self.spans.contains_key(&file) {
                self.passed.add(&commit_called(self.at), "there are 10,000,000 other files and contents already");
                continue;
            }
            let (first, last) = self.spans.entry(file).or_insert((number, number));
            (*first, *last) = (number.min(*first), number.max(*last));
        }
    }

    /// Notes that something else than a commit has files. Nobody knows since when, so it counts only for files
    /// that no commit has.
    fn touch_new(&mut self, number: usize, files: Vec<File>) {
        let files = files.into_iter().filter(|file| !self.spans.contains_key(file)).collect();
        self.touch(number, files);
    }

    /// All files of a commit, or of what a reference leads to without one.
    fn all(&mut self, commit: &Commit) -> Result<Vec<File>, HistoryError> {
        self.at = commit.id;
        match commit.loose {
            None => Ok(self.between(None, commit.holds)?.added),
            Some(Kind::Folder) => {
                let place = Place { path: "", depth: 0, inside: true, below: Below::Reference };
                Ok(self.below(place, None, commit.holds)?.added)
            }
            Some(kind) => {
                let path = commit.id.to_string();
                let counts = (self.counts)(&path, kind, Below::Reference);
                Ok(counts.then(|| (self.path(path), kind, commit.holds)).into_iter().collect())
            }
        }
    }

    /// What differs between two whole trees.
    fn between(&mut self, old: Option<Oid>, new: Oid) -> Result<Difference, HistoryError> {
        self.below(Place { path: "", depth: 0, inside: false, below: Below::Commit }, old, new)
    }

    fn below(&mut self, place: Place<'_>, old: Option<Oid>, new: Oid) -> Result<Difference, HistoryError> {
        let mut found = Difference::default();
        (self.left, self.again) = (MOST_ENTRIES, Default::default());
        if old != Some(new) {
            self.folders(place, old, Some(new), &mut found)?;
        }
        Ok(found)
    }

    /// What differs between two folders at one place, of which one may be absent.
    fn folders(
        &mut self,
        place: Place<'_>,
        old: Option<Oid>,
        new: Option<Oid>,
        found: &mut Difference,
    ) -> Result<(), HistoryError> {
        if place.depth > MOST_DEPTH {
            self.passed.add(place.path, TOO_DEEP);
            return Ok(());
        }
        let (old, new) = (self.side(Side::Old, old, place)?, self.side(Side::New, new, place)?);
        let mut folders: BTreeMap<&[u8], [Vec<Oid>; 2]> = BTreeMap::new();
        for (entry, side) in only_in_one(&old, &new) {
            match entry.kind {
                Kind::Folder => {
                    let [of_old, of_new] = folders.entry(&entry.name).or_default();
                    let ids = if side == Side::Old { of_old } else { of_new };
                    ids.push(entry.id);
                }
                kind if place.inside || (kind != Kind::File && *entry.name == *FOLDER.as_bytes()) => {
                    let path = joined(place.path, &entry.name);
                    if (self.counts)(&path, kind, place.below) {
                        let file = (self.path(path), entry.kind, entry.id);
                        let files = if side == Side::Old { &mut found.removed } else { &mut found.added };
                        files.push(file);
                    }
                }
                Kind::File | Kind::Link | Kind::Submodule => {}
            }
        }
        for (name, [of_old, of_new]) in folders {
            let path = joined(place.path, name);
            let inside = place.inside || name == FOLDER.as_bytes();
            let below = Place { path: &path, depth: place.depth.saturating_add(1), inside, ..place };
            // A sound folder has a name once. Where one has it more often, each counts.
            for at in 0..of_old.len().max(of_new.len()) {
                let mut sides = [of_old.get(at).copied(), of_new.get(at).copied()];
                for side in &mut sides {
                    if let Some(id) = *side
                        && !inside
                        && !self.holds(id, below)?
                    {
                        *side = None;
                    }
                }
                let [old, new] = sides;
                if old.is_some() || new.is_some() {
                    self.folders(below, old, new, found)?;
                }
            }
        }
        Ok(())
    }

    /// Whether a folder has a folder called `regions` somewhere below, or something in the place of one.
    fn holds(&mut self, id: Oid, place: Place<'_>) -> Result<bool, HistoryError> {
        if let Some(known) = self.holds.get(&id) {
            return Ok(*known);
        }
        let mut holds = false;
        if place.depth > MOST_DEPTH {
            // Unknown; anything deeper counts for nothing anyhow.
            self.passed.add(place.path, TOO_DEEP);
            return Ok(false);
        }
        let below = Place { depth: place.depth.saturating_add(1), ..place };
        for entry in self.tree(Some(id), place)?.iter().filter(|entry| entry.kind != Kind::File) {
            let is_folder = entry.kind == Kind::Folder;
            if *entry.name == *FOLDER.as_bytes() || (is_folder && self.holds(entry.id, below)?) {
                holds = true;
                break;
            }
        }
        if self.left > 0 {
            self.holds.insert(id, holds);
        }
        Ok(holds)
    }

    /// One side of a difference. The same folder in many places of one commit is looked into in the first ones.
    fn side(&mut self, side: Side, id: Option<Oid>, place: Place<'_>) -> Result<Tree, HistoryError> {
        let tree = self.tree(id, place)?;
        let [old, new] = &mut self.again;
        let again = if side == Side::Old { old } else { new };
        let more = id.map_or(Some(0), |id| again.enter(Id(id), tree.len()));
        if let Some(left) = more.and_then(|more| self.again_in_all.checked_sub(more)) {
            self.again_in_all = left;
            return Ok(tree);
        }
        self.passed.add(place.path, "the same folders stand in too many places");
        Ok(Rc::new([]))
    }

    /// A folder's entries, sorted here: a hostile tree need not keep to git's own order. None where it is passed over.
    fn tree(&mut self, id: Option<Oid>, place: Place<'_>) -> Result<Tree, HistoryError> {
        self.stop.check()?;
        let Some(id) = id.filter(|id| !id.is_zero()) else { return Ok(Rc::new([])) };
        let known = self.trees.get(&id).cloned();
        let tree = match known {
            Some(tree) => tree,
            None => {
                let tree = self.read(id, place)?;
                if self.kept > MOST_KEPT {
                    self.trees.clear();
                    self.kept = 0;
                }
                self.kept = self.kept.saturating_add(tree.len());
                self.trees.insert(id, tree.clone());
                tree
            }
        };
        match self.left.checked_sub(tree.len().saturating_add(1)) {
            Some(left) => {
                self.left = left;
                Ok(tree)
            }
            None => {
                self.left = 0;
                self.passed.add(&commit_called(self.at), "it has more than 10,000,000 files and folders");
                Ok(Rc::new([]))
            }
        }
    }

    /// Reads a folder, if it is one that git makes and no larger than one may be.
    fn read(&mut self, id: Oid, place: Place<'_>) -> Result<Tree, HistoryError> {
        let why = match self.repository.odb()?.read_header(id)? {
            (_, kind) if kind != ObjectType::Tree => "it is no folder, and stands as one",
            (size, _) if size > MOST_BYTES => "a folder there is larger than 32 MiB",
            _ => match self.repository.find_tree(id) {
                Ok(read) => {
                    let entry = |entry: git2::TreeEntry<'_>| Entry {
                        name: Box::from(entry.name_bytes()),
                        kind: kind_of(&entry),
                        id: entry.id(),
                    };
                    let mut entries: Vec<Entry> = read.iter().map(entry).collect();
                    entries.sort_unstable();
                    return Ok(Rc::from(entries));
                }
                Err(error) if error.class() == ErrorClass::Tree => "git cannot read a folder there",
                Err(error) => return Err(error.into()),
            },
        };
        self.passed.add(place.path, why);
        Ok(Rc::new([]))
    }

    /// A path, shared among the files that have it.
    fn path(&mut self, path: String) -> Arc<str> {
        if let Some(known) = self.paths.get(path.as_str()) {
            return known.clone();
        }
        let path: Arc<str> = Arc::from(path);
        self.paths.insert(path.clone());
        path
    }
}

/// The reason why a folder is passed over, and all below.
const TOO_DEEP: &str = "a folder there lies too deep";

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Old,
    New,
}

/// The entries that only one of two sorted folders has.
fn only_in_one<'t>(old: &'t [Entry], new: &'t [Entry]) -> Vec<(&'t Entry, Side)> {
    let (mut old, mut new) = (old.iter().peekable(), new.iter().peekable());
    let mut found = Vec::new();
    loop {
        let (from_old, from_new) = match (old.peek(), new.peek()) {
            (None, None) => return found,
            (Some(_), None) => (true, false),
            (None, Some(_)) => (false, true),
            (Some(a), Some(b)) => (a <= b, b <= a),
        };
        let (a, b) = (old.next_if(|_| from_old), new.next_if(|_| from_new));
        if !(from_old && from_new) {
            found.extend(a.map(|entry| (entry, Side::Old)).into_iter().chain(b.map(|entry| (entry, Side::New))));
        }
    }
}

fn joined(folder: &str, name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if folder.is_empty() { name.into_owned() } else { format!("{folder}/{name}") }
}
