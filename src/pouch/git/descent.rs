//! Whether a commit comes after another one.

use std::collections::{BTreeSet, VecDeque};
use std::ffi::OsStr;
use std::path::Path;

use git2::Oid;

use super::header;
use super::kept::Kept;
use super::objects::standing::discover;
use super::objects::{ObjectsError, Store};
use super::program::{Git, GitError};
use super::{FETCHED, OPTIONS};
use crate::scratch::{NoScratch, Scratch};

/// How much history is fetched at first, and then, where that does not tell. Nobody looks further back: a history that
/// was rewritten must not cost all of it each time.
const DEPTHS: [&str; 2] = ["--depth=64", "--depth=4096"];

/// Why it cannot be told.
#[derive(Debug, thiserror::Error)]
pub enum DescentError {
    /// The repository cannot be asked.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There is no place for what is fetched.
    #[error(transparent)]
    Scratch(#[from] NoScratch),
}

/// Whether commit `new` of a repository on this machine is `old` or comes after it; none if the repository was cloned
/// without the history that tells.
///
/// # Errors
/// Where an object cannot be read.
pub fn comes_after(store: &Store, new: &str, old: &str) -> Result<Option<bool>, ObjectsError> {
    let repository = store.repository();
    let (new, old) = (Oid::from_str(new)?, Oid::from_str(old)?);
    let is_whole = !repository.is_shallow();
    if is_whole && !repository.odb()?.exists(old) {
        return Ok(Some(false));
    }
    let (mut seen, mut next) = (BTreeSet::new(), VecDeque::from([new]));
    while let Some(id) = next.pop_front() {
        if id == old {
            return Ok(Some(true));
        }
        if seen.insert(id) {
            match header::read(repository, id) {
                Ok(commit) => next.extend(commit.parents),
                Err(_) if !is_whole => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    Ok(is_whole.then_some(false))
}

/// The same of a repository elsewhere, of which commits alone are fetched, as many as are needed, if the server can do
/// that; none if its last 4,096 commits do not tell.
///
/// # Errors
/// Where the history cannot be fetched.
pub fn comes_after_at(
    git: &Git,
    remote: &str,
    reference: &str,
    commits: (&str, &str),
    kept: Option<&Kept>,
) -> Result<Option<bool>, DescentError> {
    Ok(match reach(git, remote, reference, commits, kept)? {
        Reach::Comes(_) => Some(true),
        Reach::Not => Some(false),
        Reach::Cut => None,
    })
}

/// The commits of a repository elsewhere that lead from `old` to `new`, and maybe more; none where they do not.
///
/// # Errors
/// Where the history cannot be fetched.
pub fn history_at(
    git: &Git,
    remote: &str,
    reference: &str,
    commits: (&str, &str),
    kept: Option<&Kept>,
) -> Result<Option<Scratch>, DescentError> {
    Ok(match reach(git, remote, reference, commits, kept)? {
        Reach::Comes(folder) => Some(folder),
        Reach::Not | Reach::Cut => None,
    })
}

/// The relation of a commit to one before it, by what was fetched.
enum Reach {
    /// It comes after it, as this repository shows.
    Comes(Scratch),
    /// It does not.
    Not,
    /// The commits that were fetched do not tell.
    Cut,
}

fn reach(
    git: &Git,
    remote: &str,
    reference: &str,
    (new, old): (&str, &str),
    kept: Option<&Kept>,
) -> Result<Reach, DescentError> {
    // Nothing is asked for that was left out. A git that does not know it asks in vain.
    let git = &git.clone().seeing("GIT_NO_LAZY_FETCH", "1");
    let look = |folder: &Scratch, depth: Option<&str>| {
        let one = format!("+{reference}:{FETCHED}");
        let fetch = |filter: &str| {
            let options: Vec<&str> = OPTIONS.into_iter().chain([filter]).chain(depth).collect();
            git.run(Some(folder.path()), "fetch", &options, &[remote.as_ref(), one.as_ref()])
        };
        match fetch("--filter=tree:0") {
            // A server may know filters and allow none of this kind.
            Err(trouble @ GitError::Failed { .. }) if trouble.wanting().is_none() => fetch("--no-filter")?,
            done => done?,
        };
        git.ask(Some(folder.path()), "merge-base", &["--is-ancestor"], &[OsStr::new(old), OsStr::new(new)])
    };
    // From the older one on, where it is kept: what is new is all that comes.
    if let Some(kept) = kept {
        let folder = Scratch::new()?;
        git.make(folder.path())?;
        if kept.lend_one(folder.path(), old) && look(&folder, None).is_ok_and(|answer| answer.well) {
            return Ok(Reach::Comes(folder));
        }
    }
    let folder = Scratch::new()?;
    git.make(folder.path())?;
    for depth in DEPTHS {
        if look(&folder, Some(depth))?.well {
            return Ok(Reach::Comes(folder));
        }
        if !is_cut(&folder) {
            return Ok(Reach::Not);
        }
    }
    Ok(Reach::Cut)
}

/// The relation of a commit to another one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kinship {
    /// It is the same, or descends from it.
    Follows,
    /// The other one descends from it.
    Precedes,
    /// Neither descends from the other.
    Apart,
    /// The repository does not have the history that would tell.
    Unknown {
        /// Because it is shallow.
        is_shallow: bool,
    },
}

/// Tells how a commit stands to another one, as the repository that a path belongs to has it.
pub fn kinship(path: &Path, commit: &str, other: &str) -> Kinship {
    let Ok((store, _)) = discover(path) else { return Kinship::Unknown { is_shallow: false } };
    let unknown = Kinship::Unknown { is_shallow: store.repository().is_shallow() };
    let is_there = |text: &str| Oid::from_str(text).is_ok_and(|id| header::read(store.repository(), id).is_ok());
    if !is_there(commit) || !is_there(other) {
        return unknown;
    }
    match (comes_after(&store, commit, other), comes_after(&store, other, commit)) {
        (Ok(Some(true)), _) => Kinship::Follows,
        (_, Ok(Some(true))) => Kinship::Precedes,
        (Ok(Some(false)), Ok(Some(false))) => Kinship::Apart,
        // What a shallow clone cuts off may hold the way from one to the other.
        _ => unknown,
    }
}

/// Whether a repository was fetched without all of its history.
fn is_cut(folder: &Scratch) -> bool {
    std::fs::metadata(folder.path().join("shallow")).is_ok_and(|file| file.len() > 0)
}
