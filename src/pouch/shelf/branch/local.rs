//! A repository on this machine with the tips of branches of a remote one, fetched once for all that is done with it.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::ShelfError;
use super::outcome::tips_of;
use crate::git;
use crate::git::kept::Kept;
use crate::git::program::{Git, GitError};
use crate::scratch::Scratch;

/// The tips of some branches of a repository.
pub struct Local {
    pub(super) git: Git,
    pub(super) remote: String,
    folder: Scratch,
    kept: Option<Kept>,
    /// Where each branch's tip is, by the branch's short name.
    tips: BTreeMap<String, String>,
}

impl Local {
    /// Fetches the tips of those of the branches that are there.
    ///
    /// # Errors
    /// Where the repository cannot be reached, or there is no room for what it sends.
    pub fn fetch(git: Git, remote: &str, branches: &[&str], kept: Option<Kept>) -> Result<Self, ShelfError> {
        let folder = Scratch::new()?;
        let unreached = |error: GitError| match error.is_for_want_of_space() {
            true => ShelfError::Full(error.to_string()),
            false => ShelfError::Unreachable {
                message: format!("the output repository cannot be reached: {error}"),
                help: error.help(remote),
            },
        };
        let references: Vec<String> = branches.iter().map(|branch| format!("refs/heads/{branch}")).collect();
        let found = tips_of(&git, remote, &references).map_err(unreached)?;
        git::fetch_tips(&git, remote, &found, folder.path(), kept.as_ref()).map_err(unreached)?;
        let tip = |(number, (reference, _)): (usize, &(String, String))| {
            (git::short(reference).to_owned(), git::fetched(number))
        };
        let tips = found.iter().enumerate().map(tip).collect();
        Ok(Self { git, remote: remote.to_owned(), folder, kept, tips })
    }

    /// The repository's folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The reference of a branch's tip; none if there is no such branch.
    pub(super) fn tip(&self, branch: &str) -> Option<&str> {
        self.tips.get(branch).map(String::as_str)
    }

    /// Keeps the objects of a commit that stands at a branch, for the next run.
    pub(super) fn keep(&self, branch: &str, commit: &str) {
        if let Some(kept) = &self.kept {
            kept.keep(&self.git, self.folder.path(), &format!("refs/heads/{branch}"), commit);
        }
    }

    /// Clears away what is kept of the repository; says whether something was.
    pub(super) fn forget_kept(&self) -> bool {
        self.kept.as_ref().inspect(|kept| kept.clear()).is_some()
    }
}
