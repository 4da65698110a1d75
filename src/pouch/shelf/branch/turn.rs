//! Turns between machines: a run that lost says so at a reference of its own, and others wait.
//!
//! The lease alone keeps runs from writing over each other. But where many publish at once, a run can lose for as long as
//! others begin anew, so one that lost twice asks for its turn. Nobody has to wait: who does not see the reference, or has
//! seen it for too long, goes on, and the lease decides.

use std::ffi::OsStr;

use super::outcome::{lease, tips_of};
use super::{ShelfError, unwritten};
use crate::git;
use crate::git::ancestors::ancestors;
use crate::git::commits::{Author, Writer};
use crate::git::objects;
use crate::git::program::{Git, GitError};
use crate::scratch::Scratch;

/// The file of a turn's commit.
const FILE: &str = "turn";

/// The message of a turn's commit.
const MESSAGE: &str = "A run of pouch lost against others, and goes next\n";

/// The reference that stands for the turn at a branch.
pub struct TurnPlace<'a> {
    /// The program.
    pub git: &'a Git,
    /// The repository.
    pub remote: &'a str,
    /// The reference.
    pub reference: &'a str,
}

impl TurnPlace<'_> {
    /// Who has the turn, if anybody has.
    ///
    /// # Errors
    /// Where the repository cannot be reached.
    pub fn holder(&self) -> Result<Option<String>, GitError> {
        let tips = tips_of(self.git, self.remote, &[self.reference.to_owned()])?;
        // What only names another reference is a turn of no run: to give it back would remove the other one.
        Ok(tips.found.into_iter().find(|(name, _)| !tips.symbolic.contains(name)).map(|(_, id)| id))
    }

    /// Takes the turn that nobody has. `unique` keeps runs of the same second apart. Gives what stands for it now, or
    /// nothing where another run was faster, or the server takes no such reference.
    ///
    /// # Errors
    /// Where nothing can be written on this machine.
    pub fn take(&self, author: &Author<'_>, unique: &str) -> Result<Option<String>, ShelfError> {
        let folder = Scratch::new()?;
        self.git.make(folder.path()).map_err(|error| ShelfError::Git(error.to_string()))?;
        let writer = Writer::open(folder.path(), None).map_err(unwritten)?;
        let commit = writer.note((FILE, unique.as_bytes()), author, MESSAGE).map_err(unwritten)?;
        let taken = self.push(Some(folder.path()), None, Some(&commit));
        Ok(taken.then_some(commit))
    }

    /// Returns true if a run of pouch wrote what stands there. Anything else is waited for by no run, and never removed.
    pub fn is_turn(&self, seen: &str) -> bool {
        let Ok(folder) = Scratch::new() else { return false };
        let fetched = git::fetch(self.git, self.remote, self.reference, folder.path(), None);
        let read = || {
            let tip = objects::open(folder.path()).ok()?.commit(git::FETCHED).ok()?;
            ancestors(folder.path(), tip, 1).ok()?.0.pop()
        };
        let turn = fetched.ok().and_then(|()| read());
        turn.is_some_and(|turn| turn.id.to_string() == seen && turn.parent.is_empty() && turn.message == MESSAGE)
    }

    /// Gives a turn back, or takes it from a run that does not go on.
    pub fn give_back(&self, held: &str) {
        // Somebody else may have done it.
        let Ok(folder) = Scratch::new() else { return };
        if self.git.make(folder.path()).is_ok() {
            _ = self.push(Some(folder.path()), Some(held), None);
        }
    }

    fn push(&self, folder: Option<&std::path::Path>, from: Option<&str>, to: Option<&str>) -> bool {
        let lease = lease(self.reference, from);
        let options = ["--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", &lease];
        let spec = format!("{}:{}", to.unwrap_or_default(), self.reference);
        let operands = [OsStr::new(self.remote), OsStr::new(&spec)];
        self.git.ask(folder, "push", &options, &operands).is_ok_and(|answer| answer.well)
    }
}
