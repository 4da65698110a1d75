//! The history of a branch along its first parents: what the branch held one after another, whatever was merged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use git2::{Oid, Repository};

use super::passed::PassedOver;
use super::{Counts, Difference, File, HistoryError, Walker, whole};
use crate::git::header::{self, Header};
use crate::git::objects::{Id, Kind, named};
use crate::stop::Stop;

/// A commit as it was made.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Made {
    /// Its id.
    pub id: String,
    /// When it was committed, in seconds since 1970-01-01 UTC.
    pub seconds: i64,
    /// The id of its parent; empty where it has none, or several.
    pub parent: String,
    /// The id of its tree.
    pub tree: String,
    /// Its author's name; bytes that are no UTF-8 are replaced.
    pub author: String,
    /// Its message; empty if that is no UTF-8.
    pub message: String,
    /// Its other parents, without theirs: what was merged.
    pub merged: Vec<Made>,
}

/// The most parents of one commit that are looked at.
const MOST_MERGED: usize = 16;

/// A file that a commit has otherwise than its first parent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    /// Its path in the repository, with bytes that are no UTF-8 replaced.
    pub path: Arc<str>,
    /// What stands there now, which is never a folder; none if nothing does.
    pub now: Option<(Kind, Id)>,
}

/// A repository whose branches are gone through.
pub struct Ends {
    repository: Repository,
}

impl Ends {
    /// Opens the repository at `path`.
    ///
    /// # Errors
    /// Where it is missing or shallow.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        Ok(Self { repository: whole(path)? })
    }

    /// The commit that a revision leads to.
    ///
    /// # Errors
    /// Where there is none.
    pub fn named(&self, revision: &str) -> Result<Id, HistoryError> {
        Ok(Id(header::commit(&self.repository, named(&self.repository, revision)?)?))
    }

    /// The first of these references that exists, and its commit.
    ///
    /// # Errors
    /// Where it leads to no commit.
    pub fn first<'n>(&self, references: &'n [String]) -> Result<Option<(&'n str, Id)>, HistoryError> {
        let is_there = |name: &&String| self.repository.find_reference(name).is_ok();
        let found = references.iter().find(is_there);
        found.map(|name| Ok((name.as_str(), self.named(name)?))).transpose()
    }

    /// The commit of `HEAD`, and what it is called; none where it leads nowhere yet.
    ///
    /// # Errors
    /// Where it leads to no commit.
    pub fn head(&self) -> Result<Option<(String, Id)>, HistoryError> {
        let Ok(head) = self.repository.head() else { return Ok(None) };
        let name = head.shorthand().map_or_else(|_| "HEAD".to_owned(), str::to_owned);
        let Some(id) = head.target() else { return Ok(None) };
        Ok(Some((name, Id(header::commit(&self.repository, id)?))))
    }

    /// The full names of all branches, those of remotes too.
    ///
    /// # Errors
    /// Where references cannot be read.
    pub fn branches(&self) -> Result<Vec<String>, HistoryError> {
        let mut names = BTreeSet::new();
        for pattern in ["refs/heads/*", "refs/remotes/*"] {
            for reference in self.repository.references_glob(pattern)? {
                names.extend(reference?.name().ok().map(str::to_owned));
            }
        }
        Ok(names.into_iter().collect())
    }

    /// Goes through the history that ends in `tip`, oldest first, and hands each commit on with the files that it has
    /// otherwise than its first parent. Returns what was not looked into.
    ///
    /// # Errors
    /// Where a commit or a folder cannot be read, or the run should end.
    pub fn walk(
        &self,
        tip: Id,
        counts: Counts<'_>,
        stop: &Stop,
        each: &mut dyn FnMut(Made, Vec<Touched>),
    ) -> Result<PassedOver, HistoryError> {
        let (mut line, mut passed): (Vec<Oid>, PassedOver) = Default::default();
        let mut next = Some(tip.0);
        while let Some(id) = next {
            stop.check()?;
            next = passed.read(&self.repository, id)?.and_then(|commit| {
                line.push(id);
                commit.parents.first().copied()
            });
        }
        let mut walker = Walker::new(&self.repository, counts, stop, passed);
        let mut before = None;
        for id in line.into_iter().rev() {
            stop.check()?;
            let commit = header::read(&self.repository, id)?;
            walker.at = id;
            let found = walker.between(before, commit.tree)?;
            before = Some(commit.tree);
            let mut merged = Vec::new();
            for id in commit.parents.iter().skip(1).take(MOST_MERGED) {
                merged.extend(walker.passed.read(&self.repository, *id)?.map(|commit| made(*id, commit)));
            }
            each(Made { merged, ..made(id, commit) }, touched(found));
        }
        Ok(walker.passed)
    }
}

fn made(id: Oid, commit: Header) -> Made {
    Made {
        id: id.to_string(),
        seconds: commit.seconds,
        parent: commit.only_parent(),
        tree: commit.tree.to_string(),
        author: commit.author,
        message: commit.message,
        merged: Vec::new(),
    }
}

/// By path: a file that is another is removed and added.
fn touched(found: Difference) -> Vec<Touched> {
    let removed = found.removed.into_iter().map(|(path, ..)| (path, None));
    let added = found.added.into_iter().map(|(path, kind, id): File| (path, Some((kind, Id(id)))));
    let all: BTreeMap<Arc<str>, Option<(Kind, Id)>> = removed.chain(added).collect();
    all.into_iter().map(|(path, now)| Touched { path, now }).collect()
}
