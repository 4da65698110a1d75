//! Going on from a commit that another writer put on the branch meanwhile.
//!
//! In a repository that others work in too, somebody may always be faster than a large fleet is read. What was read stays
//! the newest reading as long as no other run came through; so where none did, and nothing changed of the output and of
//! what steers it, the same change is made on top of theirs.

use super::stamp::Stamped;
use super::{BranchShelf, ShelfError, damaged, outcome};
use crate::git;
use crate::git::ancestors::ancestors;

/// Of how many commits of others a run goes on.
const MOST: usize = 256;

/// What every commit of pouch's own says.
const SEAL: &str = "Pouch-Seal:";

impl BranchShelf {
    /// Goes on from where the branch is now, if no run came through since it was read and nothing changed of what this one
    /// builds on; says whether it does. `last` is what was known of earlier runs.
    ///
    /// # Errors
    /// Where the repository cannot be reached or read.
    pub fn follow(&self, last: &Stamped) -> Result<bool, ShelfError> {
        let Some(before) = self.standing(last)?.filter(|_| !self.target.proposes()) else { return Ok(false) };
        let (git, remote, reference) = (&self.local.git, &self.local.remote, self.target.base_reference());
        let unreached = |error: git::program::GitError| ShelfError::Unreachable {
            message: format!("the output repository cannot be reached: {error}"),
            help: error.help(remote),
        };
        git::fetch_on(git, remote, &reference, self.local.path()).map_err(unreached)?;
        let was = self.with(|inner| {
            let now = inner.store.commit(git::FETCHED_ON).map_err(damaged)?;
            let (since, _) = ancestors(self.local.path(), now, MOST).map_err(damaged)?;
            let ours = since.iter().position(|commit| Some(commit.id) == inner.tip);
            let Some(ours) = ours.filter(|ours| *ours > 0) else { return Ok(None) };
            let is_own = since.iter().take(ours).any(|commit| commit.message.contains(SEAL));
            Ok((!is_own).then(|| inner.tip.replace(now)))
        })?;
        let Some(was) = was else { return Ok(false) };
        // The stamp last: whoever moves it afterwards moves the branch too, and then the push is lost.
        let is_same =
            self.standing(last)?.is_some_and(|now| now == before) && self.is_stamp_as_read().map_err(unreached)?;
        self.with(|inner| {
            match is_same {
                true => inner.writer.go_on_from(git::FETCHED_ON).map_err(damaged)?,
                false => inner.tip = was,
            }
            Ok(is_same)
        })
    }

    /// Whether no run noted anything since the stamp was read.
    fn is_stamp_as_read(&self) -> Result<bool, git::program::GitError> {
        let Some(reference) = self.target.stamp.as_deref() else { return Ok(true) };
        let now = outcome::tip_of(&self.local.git, &self.local.remote, reference)?;
        Ok(now.as_deref() == self.local.id(reference))
    }
}
