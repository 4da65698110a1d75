//! The branch that a configuration publishes to: opened, looked at and pushed to.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pouch_core::config::{Fleet, OutputGit, Sign};
use pouch_core::reuse::{KeyRing, Made, commit_line};

use super::branch::{BranchShelf, Pushed, Watch};
use super::turn::turn;
use super::{ShelfError, signed};
use crate::error::Failure;
use crate::git::commits::Author;
use crate::git::kept::Kept;
use crate::git::program::{Deadlines, Git, git};
use crate::git::sign::{Signing, sign};
use crate::git::{self, Address};
use crate::harden;
use crate::scratch::Scratch;
use crate::session::Session;
use crate::settings::Opened;

/// The branch that the configuration publishes to.
pub struct Branch<'a> {
    fleet: &'a Fleet,
    output: &'a OutputGit,
    remote: String,
    /// The configuration's folder, from which paths are.
    base: &'a Path,
    wait: Duration,
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
        Ok(Self { fleet, output, remote, base: &opened.settings.base, wait: Duration::ZERO })
    }

    /// Sets how long a push waits for other runs on this machine.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
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
        let kept = Kept::wanted(&session.ambient, self.fleet, &self.remote);
        let (branch, path) = (&self.output.branch, &self.fleet.output.path);
        Ok(BranchShelf::open(self.program(session), &self.remote, branch, path, kept)?)
    }

    /// A copy of its tip without history, at [`git::FETCHED`] in a repository that only its owner can read:
    /// for looking at files of no region too.
    pub fn copy(&self, session: &Session) -> Result<Scratch, Failure> {
        let folder = Scratch::new()?;
        let program = self.program(session);
        let reference = format!("refs/heads/{}", self.output.branch);
        git::fetch(&program, &self.remote, &reference, folder.path(), None).map_err(|error| {
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

    /// The file of keys that may sign, as it is and as messages call it; none if anybody may.
    fn allowed(&self) -> Option<(PathBuf, &Path)> {
        let file = Path::new(self.output.allowed_signers.as_ref()?);
        Some((self.base.join(file), file))
    }

    /// Refuses to build on a commit that nobody who may has signed: a run vouches for what it builds on, and its own
    /// signature would cover what somebody else put there.
    fn check_tip(&self, session: &Session, shelf: &BranchShelf) -> Result<(), Failure> {
        let (tip, repository) = shelf.tip()?;
        let (Some((allowed, shown)), Some(tip)) = (self.allowed(), tip) else { return Ok(()) };
        match signed::check(session, repository, &tip, (&allowed, shown))? {
            Ok(()) => Ok(()),
            Err(words) => Err(Failure::unavailable(
                format!(
                    "unsigned-tip: {} is at commit {tip}, which no key in {} signed; git says: {words}",
                    self.called(),
                    shown.display()
                ),
                "Nothing is published. Find out who made the commit and what it changed. Then put the branch back to the \
                 last commit that is signed, or have somebody whom the file allows sign a commit on top, such as with \
                 `git commit --allow-empty -S`.",
            )),
        }
    }

    /// Has a commit signed, and looks whether the next run would build on it.
    fn sign(&self, session: &Session, repository: &Path, commit: &str) -> Result<String, ShelfError> {
        let git = self.program(session);
        let help = "Nothing is published. Check that `git commit -S` works for this user without prompts, and that \
                    output.git.sign and output.git.key in pouch.yaml say what is meant.";
        let commit = sign(&git, repository, commit, &self.signing())
            .map_err(|error| ShelfError::Unsigned { message: error.to_string(), help: help.to_owned() })?;
        let Some((allowed, shown)) = self.allowed() else { return Ok(commit) };
        let unsigned = |message: String| ShelfError::Unsigned {
            message,
            help:
                "Nothing is published. Set `sign: ssh` and a key under output.git, and add its public key to the file."
                    .to_owned(),
        };
        let checked = signed::check(session, repository, &commit, (&allowed, shown));
        match checked.map_err(|failure| unsigned(failure.message))? {
            Ok(()) => Ok(commit),
            Err(words) => Err(unsigned(format!(
                "the new commit would not be signed by a key in {}, and the next run would refuse it; git says: {words}",
                shown.display()
            ))),
        }
    }

    fn signing(&self) -> Signing {
        match &self.output.sign {
            Sign::AsGit => Signing::AsGit,
            Sign::Never => Signing::Never,
            Sign::Ssh(key) => Signing::With { format: "ssh", key: key.as_ref().map(|key| self.ssh_key(key)) },
            Sign::Gpg(key) => Signing::With { format: "openpgp", key: key.as_ref().map(OsString::from) },
        }
    }

    /// A public key stands for itself, and an agent has the private one; anything else is a file.
    fn ssh_key(&self, key: &str) -> OsString {
        let is_public = ["key::", "ssh-", "sk-ssh-", "ecdsa-", "sk-ecdsa-"].iter().any(|start| key.starts_with(start));
        let is_public = is_public && (key.starts_with("key::") || key.contains(' '));
        if is_public { key.into() } else { self.base.join(key).into() }
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
        let _turn = turn(session, (&self.remote, &output.branch), &self.called(), self.wait)?;
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
            let mut shelf = session.timed("fetch", || self.open(session))?;
            self.check_tip(session, &shelf)?;
            let mut made = make(&shelf);
            if shelf.is_damaged() && shelf.forget_kept() {
                ui.note("what was kept of the output repository is damaged; fetching all of it");
                shelf = session.timed("fetch", || self.open(session))?;
                self.check_tip(session, &shelf)?;
                made = make(&shelf);
            }
            let (made, message) = made?;
            let seconds = session.commit_time()?.as_second();
            let author = Author { name: &output.author.name, email: &output.author.email, seconds };
            let committer = Author { name: &output.committer.name, email: &output.committer.email, seconds };
            let seal = |parent: &str, tree: &str, seconds: i64| {
                commit_line(&keys.current, &fleet.name, Made { parent, tree, seconds }, &message)
            };
            let signing = |repository: &Path, commit: String| self.sign(session, repository, &commit);
            let push = || shelf.push(&author, &committer, (&message, &seal), &signing, (&watch, stop));
            match session.timed("publish", push)? {
                Pushed::Lost => {}
                Pushed::Contended(why) if attempt.saturating_add(1) >= attempts => {
                    let help = "See what holds the branch in the repository, such as a lock that a crash left behind.";
                    return Err(Failure::failed(format!("the push was refused: {why}"), help));
                }
                Pushed::Contended(_) => {}
                Pushed::Nothing => return Ok((made, None)),
                Pushed::Commit(commit) => {
                    harden::published(format!("commit {commit} of branch {}", output.branch));
                    return Ok((made, Some(commit)));
                }
            }
        }
        Err(Failure::lost(
            format!("other writers were faster, {attempts} of {attempts} times; nothing is published"),
            "Run pouch again, and let one job at a time publish to this branch.",
        ))
    }
}
