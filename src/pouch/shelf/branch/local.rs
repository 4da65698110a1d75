//! A repository on this machine with the tips of branches of a remote one, fetched once for all that is done with it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::super::ShelfError;
use super::outcome::{Tips, tips_of};
use crate::git;
use crate::git::kept::Kept;
use crate::git::program::{Git, GitError, Wanting};
use crate::scratch::Scratch;

/// Whether a reference is one of pouch's own beside a branch.
fn is_noted(reference: &str) -> bool {
    reference.starts_with("refs/pouch/")
}

/// How often what a repository has is looked at before it is fetched.
const LOOKS: usize = 3;

/// The tips of some branches of a repository.
pub struct Local {
    pub(super) git: Git,
    pub(super) remote: String,
    folder: Scratch,
    kept: Option<Kept>,
    /// Where the tip of each branch and stamp is, by its reference: a reference here, and the commit.
    tips: BTreeMap<String, (String, String)>,
    /// Those references that only name another one.
    symbolic: BTreeSet<String>,
    /// The runs that say that it is their turn, by the reference at which they do.
    turns: BTreeMap<String, String>,
}

impl Local {
    /// Fetches the tips of those of the references that are there, and sees which of `turns` are.
    ///
    /// # Errors
    /// Where the repository cannot be reached, or there is no room for what it sends.
    pub fn fetch(
        git: Git,
        remote: &str,
        (references, turns): (&[String], &[String]),
        kept: Option<Kept>,
    ) -> Result<Self, ShelfError> {
        let unreached = |error: GitError| match error.wanting() == Some(Wanting::Space) {
            true => ShelfError::Full(error.to_string()),
            false => ShelfError::Unreachable {
                message: format!("the output repository cannot be reached: {error}"),
                help: error.help(remote),
            },
        };
        let mut looks = 0_usize;
        let (folder, turns, found, symbolic) = loop {
            let folder = Scratch::new()?;
            let Tips { found, symbolic } = tips_of(&git, remote, &[references, turns].concat()).map_err(unreached)?;
            let (held, found): (Vec<_>, Vec<_>) =
                found.into_iter().partition(|(reference, _)| turns.contains(reference));
            looks += 1;
            match git::fetch_tips(&git, remote, &found, folder.path(), kept.as_ref()) {
                Ok(()) => break (folder, held, found, symbolic),
                // One of several may be gone since, such as a proposal that somebody merged.
                Err(error) if looks < LOOKS && error.is_for_want_of_a_reference() => {}
                // Who may write beside the branch alone stops nobody: without what was noted, the branch tells.
                Err(error @ GitError::Failed { .. }) if found.iter().any(|(reference, _)| is_noted(reference)) => {
                    let (noted, branches): (Vec<_>, Vec<_>) =
                        found.into_iter().partition(|(reference, _)| is_noted(reference));
                    let folder = Scratch::new()?;
                    let again = git::fetch_tips(&git, remote, &branches, folder.path(), kept.as_ref());
                    again.map_err(|_| unreached(error))?;
                    break (folder, held, [branches, noted].concat(), symbolic);
                }
                Err(error) => return Err(unreached(error)),
            }
        };
        // What was not fetched has a name too, at which nothing is found.
        let tip = |(number, (reference, id)): (usize, (String, String))| (reference, (git::fetched(number), id));
        let tips = found.into_iter().enumerate().map(tip).collect();
        let turns = turns.into_iter().filter(|(reference, _)| !symbolic.contains(reference)).collect();
        Ok(Self { git, remote: remote.to_owned(), folder, kept, tips, symbolic, turns })
    }

    /// The repository's folder.
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The reference here of what stands at one of the remote repository; none if nothing does.
    pub(super) fn tip(&self, reference: &str) -> Option<&str> {
        self.tips.get(reference).map(|(here, _)| here.as_str())
    }

    /// The object at a reference of the remote repository, if there is one.
    pub(super) fn id(&self, reference: &str) -> Option<&str> {
        self.tips.get(reference).map(|(_, id)| id.as_str())
    }

    /// Returns true if a reference of the remote repository only names another one.
    pub(super) fn is_symbolic(&self, reference: &str) -> bool {
        self.symbolic.contains(reference)
    }

    /// Which run says at a reference that it is its turn.
    pub fn turn(&self, reference: &str) -> Option<&str> {
        self.turns.get(reference).map(String::as_str)
    }

    /// Keeps the objects of a commit that stands at a reference, for the next run.
    pub(super) fn keep(&self, reference: &str, commit: &str) {
        if let Some(kept) = &self.kept {
            kept.keep(&self.git, self.folder.path(), reference, commit);
        }
    }

    /// Clears away what is kept of the repository; says whether something was.
    pub(super) fn forget_kept(&self) -> bool {
        self.kept.as_ref().inspect(|kept| kept.clear()).is_some()
    }
}
