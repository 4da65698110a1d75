//! Objects of a remote repository that earlier runs fetched or made, so that a fetch moves what is new.
//!
//! Kept are objects, which are named by their content and checked by it whenever one is read, and the ids of what was
//! fetched whole. No configuration, hook or reference of git is: each run makes a repository of its own and borrows the
//! objects. Whatever is wrong here costs a fetch of everything, and nothing else.
//!
//! A folder holds `objects` as git arranges them, `tips` (an id and a reference in each line), `shallow` as git writes
//! it, `lock`, which every run holds shared for as long as it borrows, and alone to put objects together or to clear
//! them away, and `writing`, which a run holds while it keeps what it fetched. What others that were killed then had only
//! half made, it removes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use git2::{Odb, Oid, Repository};
use pouch_core::config::Fleet;
use pouch_core::hash::sha256_hex;
use rustix::fs::{FlockOperation, flock};

use super::program::{Git, GitError};
use super::{header, is_commit_id};
use crate::ambient::Ambient;
use crate::cache::{Cache, cache};

/// How many packs there may be before they are put together: every object is looked for in each of them.
const MOST_PACKS: usize = 24;

/// How many references of a repository are remembered: a fleet may have a branch and a stamp for each region.
const MOST_TIPS: usize = 512;

/// The largest of our own files that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Where the references stand that lead to borrowed objects, so that git tells the server of them.
const LENT: &str = "refs/pouch/kept";

/// What a file is called until it is whole, before random letters.
const NEW: &str = ".new-";

/// What the folder is called in which objects are put together, before random letters.
const TOGETHER: &str = "again-";

/// The name under which is kept what is fetched of a remote repository with no files but those below a path; an empty path
/// is the whole of it.
pub fn below(remote: &str, path: &str) -> String {
    // No remote has a second line.
    if path.is_empty() { remote.to_owned() } else { format!("{remote}\n{path}") }
}

/// What is kept of one remote repository.
pub struct Kept {
    folder: PathBuf,
    /// Holds the lock.
    lock: File,
}

impl Kept {
    /// The same, where the configuration wants something kept.
    pub fn wanted(ambient: &Ambient, fleet: &Fleet, remote: &str) -> Option<Self> {
        let is_wanted = fleet.output.git.as_ref().is_some_and(|git| git.cache);
        is_wanted.then(|| cache(ambient).ok()).flatten().and_then(|cache| Self::of(&cache, remote))
    }

    /// What is kept of the repository at `remote`; none where nothing can be kept, or another run is clearing up.
    pub fn of(cache: &Cache, remote: &str) -> Option<Self> {
        // The remote is never written out: people put tokens into URLs, whatever they are told.
        let name: String = sha256_hex(format!("pouch/v1 cache\n{remote}\n").as_bytes()).chars().take(32).collect();
        let folder = cache.folder("git").ok()?.folder(&name).ok()?.path().to_owned();
        // A line of git's `alternates`.
        let is_plain = folder.to_str().is_some_and(|path| !path.contains(['\n', '"', '#']));
        let lock = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.join("lock")).ok()?;
        flock(&lock, FlockOperation::NonBlockingLockShared).ok()?;
        is_plain.then_some(Self { folder, lock })
    }

    /// The commit that stood at a reference when it was fetched last.
    pub fn tip(&self, reference: &str) -> Option<String> {
        self.tips().remove(reference)
    }

    fn tips(&self) -> BTreeMap<String, String> {
        let text = small(&self.folder.join("tips"));
        let line = |line: &str| line.split_once(' ').map(|(id, reference)| (reference.to_owned(), id.to_owned()));
        text.lines().filter_map(line).filter(|(_, id)| is_commit_id(id)).take(MOST_TIPS).collect()
    }

    /// Lends the objects to the new bare repository at `into`, and says whether there were any. If they cannot be used,
    /// they are cleared away.
    pub fn lend(&self, into: &Path) -> bool {
        self.lend_all(into).unwrap_or_else(|_| {
            Self::take_back(into);
            self.clear();
            false
        })
    }

    /// Lends a repository nothing any more.
    pub fn take_back(into: &Path) {
        for trace in [alternates(into), into.join("shallow")] {
            _ = fs::remove_file(trace);
        }
        _ = fs::remove_dir_all(into.join(LENT));
    }

    /// Lends a new bare repository one commit with all that it holds and no history, as if nothing else were kept. Says
    /// whether it is there.
    pub fn lend_one(&self, into: &Path, commit: &str) -> bool {
        let lend = || -> Result<(), Unusable> {
            let info = into.join("objects").join("info");
            fs::create_dir_all(&info)?;
            fs::write(info.join("alternates"), format!("{}\n", self.folder.join("objects").display()))?;
            let repository = Repository::open_bare(into)?;
            header::tree(&repository, Oid::from_str(commit)?)?;
            let lent = into.join(LENT);
            fs::create_dir_all(&lent)?;
            fs::write(lent.join("0"), format!("{commit}\n"))?;
            Ok(fs::write(into.join("shallow"), format!("{commit}\n"))?)
        };
        is_commit_id(commit) && lend().is_ok()
    }

    fn lend_all(&self, into: &Path) -> Result<bool, Unusable> {
        let tips = self.tips();
        let objects = self.folder.join("objects");
        if tips.is_empty() || !objects.is_dir() {
            return Ok(false);
        }
        // Git puts no packs together of which files were left out: they are fetched again, once no other run borrows them.
        let Packs { count, are_parts } = self.packs();
        if count > MOST_PACKS && are_parts && self.locked_alone() {
            return Err(Unusable);
        }
        // Only git writes these, and not here.
        _ = fs::remove_dir_all(objects.join("info"));
        fs::create_dir_all(into.join("objects").join("info"))?;
        fs::write(alternates(into), format!("{}\n", objects.display()))?;
        let repository = Repository::open_bare(into)?;
        let lent = into.join(LENT);
        fs::create_dir_all(&lent)?;
        for (number, id) in tips.values().enumerate() {
            header::tree(&repository, Oid::from_str(id)?)?;
            fs::write(lent.join(number.to_string()), format!("{id}\n"))?;
        }
        let shallow = Self::there(&repository, &small(&self.folder.join("shallow")));
        if !shallow.is_empty() {
            fs::write(into.join("shallow"), shallow)?;
        }
        Ok(true)
    }

    /// Those lines of `shallow` whose commits are in a repository. Git takes each for one that is, and one that nothing led
    /// to may be forgotten since.
    fn there(repository: &Repository, shallow: &str) -> String {
        let is_there = |id: &&str| Oid::from_str(id).is_ok_and(|id| header::read(repository, id).is_ok());
        shallow.lines().filter(is_there).map(|id| format!("{id}\n")).collect()
    }

    /// Keeps the objects of the repository at `from`, all of what is wanted of `id`, which stood at `reference`.
    pub fn keep(&self, git: &Git, from: &Path, reference: &str, id: &str) {
        if self.keep_all(git, from, reference, id).is_ok() {
            return;
        }
        if alternates(from).exists() {
            // This run still reads what it borrows. The next borrows nothing, and clears it away if it cannot keep it.
            _ = fs::remove_file(self.folder.join("tips"));
        } else {
            self.clear();
        }
    }

    fn keep_all(&self, git: &Git, from: &Path, reference: &str, id: &str) -> Result<(), Unusable> {
        let writing = OpenOptions::new().create(true).append(true).mode(0o600).open(self.folder.join("writing"))?;
        flock(&writing, FlockOperation::LockExclusive).map_err(|_| Unusable)?;
        self.remove_half_made();
        let (source, target) = (from.join("objects"), self.folder.join("objects"));
        let mut is_new = false;
        for folder in fs::read_dir(&source)?.flatten().filter(|entry| entry.file_name() != "info") {
            let into = target.join(folder.file_name());
            let mut files: Vec<PathBuf> = match fs::read_dir(folder.path()) {
                Ok(files) => files.flatten().map(|file| file.path()).collect(),
                Err(_) => continue,
            };
            // A pack counts once its index is there.
            files.sort_by_key(|path| path.extension().is_some_and(|ending| ending == "idx"));
            for file in files {
                let Some(name) = file.file_name() else { continue };
                if !into.join(name).exists() {
                    fs::create_dir_all(&into)?;
                    put(&into, &into.join(name), |path| fs::copy(&file, path).map(|_| ()))?;
                    is_new = true;
                }
            }
        }
        if !is_new && self.tip(reference).is_some_and(|tip| tip == id) {
            return Ok(());
        }
        self.note(from, reference, id)?;
        let Packs { count, are_parts } = self.packs();
        if count > MOST_PACKS && !are_parts && self.locked_alone() {
            let put_together = self.put_together(git);
            _ = flock(&self.lock, FlockOperation::NonBlockingLockShared);
            put_together?;
            // Who borrows them, which is this run alone, goes on without what was forgotten.
            let text = small(&from.join("shallow"));
            let there = Self::there(&Repository::open_bare(from)?, &text);
            if there.len() < text.len() {
                put(from, &from.join("shallow"), |path| fs::write(path, &there))?;
            }
        }
        Ok(())
    }

    fn packs(&self) -> Packs {
        let mut packs = Packs::default();
        for file in fs::read_dir(self.folder.join("objects").join("pack")).into_iter().flatten().flatten() {
            packs.count += usize::from(is_file_of(&file, "pack"));
            packs.are_parts |= is_file_of(&file, "promisor");
        }
        packs
    }

    /// Writes down what was fetched, and where its history ends.
    fn note(&self, from: &Path, reference: &str, id: &str) -> Result<(), Unusable> {
        let ends = self.ends(from)?;
        put(&self.folder, &self.folder.join("shallow"), |path| fs::write(path, &ends))?;
        let mut tips = self.tips();
        while tips.len() >= MOST_TIPS && !tips.contains_key(reference) {
            _ = tips.pop_first();
        }
        tips.insert(reference.to_owned(), id.to_owned());
        let text: String = tips.iter().map(|(reference, id)| format!("{id} {reference}\n")).collect();
        put(&self.folder, &self.folder.join("tips"), |path| fs::write(path, &text))?;
        Ok(())
    }

    /// The commits whose parents are not there: those of the repository at `from`, and those that other runs noted,
    /// unless the history behind them was fetched since.
    fn ends(&self, from: &Path) -> Result<String, Unusable> {
        let store = Odb::new()?;
        store.add_disk_alternate(self.folder.join("objects").to_str().ok_or(Unusable)?)?;
        let repository = Repository::from_odb(store)?;
        let store = repository.odb()?;
        let text = small(&from.join("shallow"));
        let mut ends: BTreeSet<&str> = text.lines().collect();
        let noted = small(&self.folder.join("shallow"));
        for id in noted.lines().filter(|id| is_commit_id(id)) {
            let commit = header::read(&repository, Oid::from_str(id)?);
            if commit.is_ok_and(|commit| !commit.parents.iter().all(|parent| store.exists(*parent))) {
                _ = ends.insert(id);
            }
        }
        Ok(ends.iter().map(|id| format!("{id}\n")).collect())
    }

    /// Makes one pack of what the tips reach, and forgets all else.
    fn put_together(&self, git: &Git) -> Result<(), Unusable> {
        self.sweep(&["lock", "writing", "tips", "shallow", "objects"]);
        let private = tempfile::Builder::new().prefix(TOGETHER).tempdir_in(&self.folder)?;
        git.make(private.path())?;
        self.lend_all(private.path())?;
        git.run(Some(private.path()), "repack", &["-a", "-d", "-q", "--window=0"], &[])?;
        // At no time is nothing there for long, and what cannot be put in place leaves what was there.
        let (objects, before) = (self.folder.join("objects"), private.path().join("before"));
        fs::rename(&objects, &before)?;
        let placed = fs::rename(private.path().join("objects"), &objects);
        placed.or_else(|error| fs::rename(&before, &objects).and(Err(error)))?;
        _ = fs::remove_dir_all(objects.join("info"));
        Ok(())
    }

    fn locked_alone(&self) -> bool {
        flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    /// Forgets everything, unless another run borrows it.
    pub fn clear(&self) {
        if self.locked_alone() {
            self.sweep(&["lock", "writing"]);
        }
        _ = flock(&self.lock, FlockOperation::NonBlockingLockShared);
    }

    /// Removes what killed runs had not finished. Nobody else may be writing.
    fn remove_half_made(&self) {
        let below = |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let objects = self.folder.join("objects");
        for folder in [self.folder.clone(), objects.clone()].into_iter().chain(below(&objects)) {
            for path in below(&folder) {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if name.starts_with(NEW) {
                    _ = fs::remove_file(&path);
                } else if name.starts_with(TOGETHER) {
                    _ = fs::remove_dir_all(&path);
                }
            }
        }
    }

    /// Removes all but some, with what killed runs left. Nobody else may be here.
    fn sweep(&self, stays: &[&str]) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            if !stays.iter().any(|name| entry.file_name() == *name) {
                // A link is no folder, and goes itself.
                _ = fs::remove_dir_all(entry.path()).or_else(|_| fs::remove_file(entry.path()));
            }
        }
    }
}

/// The packs that are kept.
#[derive(Default)]
struct Packs {
    count: usize,
    /// True if git noted of one that objects may be left out.
    are_parts: bool,
}

/// Why what is kept cannot be used; nobody is told more.
struct Unusable;

impl From<io::Error> for Unusable {
    fn from(_: io::Error) -> Self {
        Self
    }
}

impl From<git2::Error> for Unusable {
    fn from(_: git2::Error) -> Self {
        Self
    }
}

impl From<GitError> for Unusable {
    fn from(_: GitError) -> Self {
        Self
    }
}

/// Where git reads from which other folders a bare repository borrows objects.
fn alternates(repository: &Path) -> PathBuf {
    repository.join("objects").join("info").join("alternates")
}

/// Makes a file at once, by another name in the folder.
fn put(folder: &Path, path: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let made = tempfile::Builder::new().prefix(NEW).tempfile_in(folder)?.into_temp_path();
    make(&made)?;
    made.persist(path).map_err(|error| error.error)
}

fn is_file_of(file: &fs::DirEntry, kind: &str) -> bool {
    file.path().extension().is_some_and(|ending| ending == kind)
}

/// The text of a file of our own; empty where there is none, or it is no such file.
fn small(path: &Path) -> String {
    let is_small = fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES);
    if is_small { fs::read_to_string(path).unwrap_or_default() } else { String::new() }
}
