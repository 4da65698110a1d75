//! What branches held, one commit after another.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::schema::{CommitName, SourceRecord};
use crate::history::File;
use crate::history::listing::Relisted;
use crate::history::rotated::Rotated;
use crate::name::Claimant;

/// A commit.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// When it was committed, in seconds since 1970-01-01 UTC, as it says.
    pub seconds: i64,
    /// The same as text.
    pub time: String,
    /// Its author's name.
    pub author: String,
    /// The first line of its message.
    pub subject: String,
    /// Which states of the sources were read for it, or for what it merges, as those commits say.
    pub sources: Vec<SourceRecord>,
    /// Whether its last line, or that of what it merges as it is, proves that pouch made it; none without a reuse key.
    pub proved: Option<bool>,
    /// The values that it replaced, if its last line, or that of what it merges onto its first parent, proves what it says.
    pub rotated: Rotated,
    /// The commits that it merges.
    pub merged: Vec<CommitName>,
}

impl Commit {
    pub(super) fn name(&self) -> CommitName {
        CommitName { id: self.id.clone(), time: self.time.clone() }
    }
}

/// What a commit changed.
#[derive(Debug, Default)]
pub struct Step {
    /// The number of the commit.
    pub commit: usize,
    /// What manifests list otherwise.
    pub listings: Vec<Relisted>,
    /// The files that are others, by path: the number of the new content, or none if the file is gone.
    pub files: Vec<(Arc<str>, Option<usize>)>,
}

/// A line of history.
#[derive(Debug, Default)]
pub struct Branch {
    /// Its name.
    pub name: String,
    /// Its commits, oldest first.
    pub commits: Vec<Commit>,
    /// What they changed, oldest first.
    pub steps: Vec<Step>,
}

/// What histories hold.
#[derive(Debug, Default)]
pub struct Facts {
    /// The branches.
    pub branches: Vec<Branch>,
    /// The contents of files, by number.
    pub files: Vec<File>,
}

/// Claimants as people write them.
pub(super) fn credentials<'c>(claimants: impl IntoIterator<Item = &'c Claimant>) -> Vec<String> {
    claimants.into_iter().map(Claimant::path).collect()
}
