//! Going on from a commit that another writer put on the branch meanwhile.
//!
//! In a repository that others work in too, somebody may always be faster than a large fleet is read. What was read stays
//! the newest reading as long as no other run came through; so where none did, and nothing changed of the output and of
//! what steers it, the same change is made on top of theirs.

use pouch_core::name::FleetName;
use pouch_core::reuse::{KeyRing, Made, commit_verifies};

use super::{BranchShelf, ShelfError, check_way, damaged, outcome};
use crate::git;
use crate::git::ancestors::ancestors;
use crate::git::program::GitError;

impl BranchShelf {
    /// Goes on from where the branch is now, if no run for it came through since it was read and nothing changed of what
    /// this one builds on; says whether it does.
    ///
    /// # Errors
    /// Where the repository cannot be reached or read, or something else than folders leads to the output now.
    pub fn follow(&self, (fleet, keys): (&FleetName, &KeyRing)) -> Result<bool, ShelfError> {
        if self.target.proposes() {
            return Ok(false);
        }
        let (git, remote, reference) = (&self.local.git, &self.local.remote, self.target.base_reference());
        let unreached = |error: GitError| ShelfError::Unreachable {
            message: format!("the output repository cannot be reached: {error}"),
            help: error.help(remote),
        };
        match git::fetch_on(git, remote, &reference, self.local.path()) {
            Err(error) if error.is_for_want_of_a_reference() => return Ok(false),
            done => done.map_err(unreached)?,
        }
        let was = self.with(|inner| {
            let before = self.places(inner)?;
            let now = inner.store.commit(git::FETCHED_ON).map_err(damaged)?;
            let (since, _) = ancestors(self.local.path(), now, git::MOST_ON).map_err(damaged)?;
            let ours = since.iter().position(|commit| Some(commit.id) == inner.tip);
            let Some(ours) = ours.filter(|ours| *ours > 0) else { return Ok(None) };
            let is_own = since.iter().take(ours).any(|commit| {
                let (branch, path) = self.place();
                let made = Made { branch, path, parent: &commit.parent, tree: &commit.tree, seconds: commit.seconds };
                commit_verifies(keys, fleet, made, &commit.message)
            });
            if is_own {
                return Ok(None);
            }
            check_way(&inner.store, now, &self.prefix)?;
            let was = inner.tip.replace(now);
            if self.places(inner)? == before {
                return Ok(Some(was));
            }
            inner.tip = was;
            Ok(None)
        })?;
        let Some(was) = was else { return Ok(false) };
        // The stamp last: whoever moves it afterwards moves the branch too, and then the push is lost.
        let is_same = self.is_stamp_as_read().map_err(unreached);
        self.with(|inner| {
            match is_same {
                Ok(true) => inner.writer.go_on_from(git::FETCHED_ON).map_err(damaged)?,
                _ => inner.tip = was,
            }
            Ok(())
        })?;
        is_same
    }

    /// Whether no run noted anything since the stamp was read.
    fn is_stamp_as_read(&self) -> Result<bool, GitError> {
        let Some(reference) = self.target.stamp.as_deref() else { return Ok(true) };
        let now = outcome::tip_of(&self.local.git, &self.local.remote, reference)?;
        Ok(now.as_deref() == self.local.id(reference))
    }
}
