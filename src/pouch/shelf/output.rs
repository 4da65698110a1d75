//! The branch that a configuration publishes to: opened, looked at and pushed to.

use std::time::Duration;

use pouch_core::config::{Fleet, OutputGit};
use pouch_core::reuse::{KeyRing, Made, commit_line};
use tempfile::TempDir;

use super::branch::{BranchShelf, Pushed, Watch};
use crate::error::Failure;
use crate::git::commits::Author;
use crate::git::program::{Deadlines, Git, git};
use crate::git::{self, Address};
use crate::session::Session;
use crate::settings::Opened;

/// A temporary folder for what is fetched, which only its owner can read.
pub fn private_folder() -> Result<TempDir, Failure> {
    use std::os::unix::fs::PermissionsExt as _;
    let private = std::fs::Permissions::from_mode(0o700);
    tempfile::Builder::new().prefix("pouch-").permissions(private).tempdir().map_err(|error| {
        let message = format!("no temporary folder can be made: {}", error.kind());
        Failure::failed(message, "Check that TMPDIR names a folder that this user can write to.")
    })
}

/// The branch that the configuration publishes to.
pub struct Branch<'a> {
    fleet: &'a Fleet,
    output: &'a OutputGit,
    remote: String,
}

impl<'a> Branch<'a> {
    /// Works out where the branch is.
    pub fn of(opened: &'a Opened) -> Result<Self, Failure> {
        let fleet = &opened.settings.fleet;
        let Some(output) = &fleet.output.git else {
            return Err(Failure::usage(
                "the configuration has no output.git",
                "Write repository and branch under output.git, or use `pouch render` to write to a directory.",
            ));
        };
        let refused = |why: String| {
            Failure::usage(format!("output.git.repository {why}"), "Give a path, or a URL with https or ssh.")
        };
        let remote = match git::address(&output.repository).map_err(refused)? {
            Address::Local(path) => {
                // Git asks whether it trusts a path as it is given, where libgit2 resolves it.
                let path = opened.settings.base.join(path);
                std::fs::canonicalize(&path).unwrap_or(path).display().to_string()
            }
            Address::Remote(url) => url,
        };
        Ok(Self { fleet, output, remote })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.output.branch
    }

    /// The branch and its repository, for messages.
    pub fn called(&self) -> String {
        format!("branch {} of {}", self.output.branch, git::identity(&self.output.repository))
    }

    /// Fetches its tip.
    pub fn open(&self, session: &Session) -> Result<BranchShelf, Failure> {
        Ok(BranchShelf::open(self.program(session), &self.remote, &self.output.branch, &self.fleet.output.path)?)
    }

    /// A copy of its tip without history, at [`git::FETCHED`] in a repository that only its owner can read:
    /// for looking at files of no region too.
    pub fn copy(&self, session: &Session) -> Result<TempDir, Failure> {
        let folder = private_folder()?;
        let program = self.program(session);
        let reference = format!("refs/heads/{}", self.output.branch);
        git::fetch(&program, &self.remote, &reference, folder.path()).map_err(|error| {
            let message = format!("{} cannot be fetched: {error}", self.called());
            Failure::unavailable(message, error.help(&self.remote))
        })?;
        Ok(folder)
    }

    /// The program git, as patient as the configuration says.
    fn program(&self, session: &Session) -> Git {
        let limits = self.fleet.limits.git;
        let deadlines = Deadlines::of(limits.idle, limits.total);
        git(&session.ambient.environment()).within(deadlines).stopped_by(session.stop.flag())
    }

    /// Makes a commit of what `make` stages, with the message that it gives, and pushes it. Where another writer
    /// was faster, starts over, unless everything can be read `once` only. Gives what `make` gave and the commit,
    /// if something changed.
    ///
    /// # Errors
    /// Where nothing was published, or it is unknown whether it was.
    pub fn push<T>(
        &self,
        session: &Session,
        keys: &KeyRing,
        once: bool,
        make: impl Fn(&BranchShelf) -> Result<(T, String), Failure>,
    ) -> Result<(T, Option<String>), Failure> {
        let Session { ambient, ui, stop, .. } = session;
        let Self { fleet, output, .. } = *self;
        // At least half of each pause, so that all of them are about as long as configured.
        let pause = |most: Duration| match ambient.part_of(most) {
            Ok(part) => stop.pause(most.saturating_add(part) / 2).is_ok(),
            Err(_) => stop.pause(most).is_ok(),
        };
        let watch = Watch { settle: Duration::from_secs(fleet.limits.git.settle), pause: &pause };
        let attempts = if once { 1 } else { fleet.limits.attempts };
        for attempt in 0..attempts {
            if attempt > 0 {
                ui.note("another writer was faster; starting over");
                // Up to a quarter of a second more each time.
                let most = u64::try_from(attempt).unwrap_or(1).min(8).saturating_mul(250);
                stop.pause(ambient.part_of(Duration::from_millis(most))?)?;
            }
            // The branch before the sources: whoever publishes a newer reading in between makes this run lose.
            let shelf = self.open(session)?;
            let (made, message) = make(&shelf)?;
            let seconds = ambient.now().as_second();
            let author = Author { name: &output.author.name, email: &output.author.email, seconds };
            let committer = Author { name: &output.committer.name, email: &output.committer.email, seconds };
            let seal = |parent: &str, tree: &str, seconds: i64| {
                commit_line(&keys.current, &fleet.name, Made { parent, tree, seconds }, &message)
            };
            match shelf.push(&author, &committer, (&message, &seal), (&watch, stop))? {
                Pushed::Lost => {}
                Pushed::Contended(why) if attempt.saturating_add(1) >= attempts => {
                    let help = "See what holds the branch in the repository, such as a lock that a crash left behind.";
                    return Err(Failure::failed(format!("the push was refused: {why}"), help));
                }
                Pushed::Contended(_) => {}
                Pushed::Nothing => return Ok((made, None)),
                Pushed::Commit(commit) => return Ok((made, Some(commit))),
            }
        }
        Err(Failure::lost(
            format!("other writers were faster, {attempts} of {attempts} times; nothing is published"),
            "Run pouch again, and let one job at a time publish to this branch.",
        ))
    }
}
