//! The places that a configuration publishes to: opened, looked at and pushed to.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pouch_core::config::{Fleet, OutputGit, Sign};
use pouch_core::name::Region;

use super::branch::{BranchShelf, Local};
use super::target::{Target, targets};
use super::{ShelfError, signed};
use crate::error::Failure;
use crate::git;
use crate::git::commits::Author;
use crate::git::kept::Kept;
use crate::git::program::{Deadlines, Git, git};
use crate::git::sign::{Signing, sign};
use crate::scratch::Scratch;
use crate::session::Session;
use crate::settings::Opened;

/// The places that the configuration publishes to.
pub struct Output<'a> {
    pub(super) fleet: &'a Fleet,
    output: &'a OutputGit,
    /// Sorted by repository and branch; at least one.
    targets: Vec<Target>,
    /// The configuration's folder, from which paths are.
    base: &'a Path,
    pub(super) wait: Duration,
}

impl<'a> Output<'a> {
    /// Works out where they are.
    pub fn of(opened: &'a Opened) -> Result<Self, Failure> {
        let fleet = &opened.settings.fleet;
        let Some(output) = &fleet.output.git else {
            return Err(Failure::usage(
                "the configuration has no output.git",
                "Write repository and branch under output.git, or use `pouch render` to write to a directory.",
            ));
        };
        let targets = targets(opened, output)?;
        Ok(Self { fleet, output, targets, base: &opened.settings.base, wait: Duration::ZERO })
    }

    /// Sets how long a push waits for other runs on this machine.
    #[must_use]
    pub fn waiting(self, wait: Duration) -> Self {
        Self { wait, ..self }
    }

    /// Leaves out the places of no region that the run is about; none names all regions.
    #[must_use]
    pub fn about(mut self, regions: Option<&BTreeSet<Region>>) -> Self {
        if let Some(regions) = regions {
            self.targets.retain(|target| !target.regions.is_disjoint(regions));
        }
        self
    }

    /// The places, each of which is published to by itself.
    pub fn targets(&self) -> &[Target] {
        &self.targets
    }

    /// One of the places for each branch that regions follow.
    pub fn bases(&self) -> Vec<&Target> {
        let mut bases: Vec<&Target> = self.targets.iter().collect();
        bases.sort_by_key(|target| (&target.remote, &target.base));
        bases.dedup_by_key(|target| (&target.remote, &target.base));
        bases
    }

    /// The place of a region's bundle.
    pub fn target_of(&self, region: &Region) -> Option<&Target> {
        self.targets.iter().find(|target| target.regions.contains(region))
    }

    /// Fetches what is needed of one place, and opens it.
    pub fn open(&self, session: &Session, target: &Target) -> Result<BranchShelf, Failure> {
        let local = self.fetch_references(session, &target.remote, ([target.base_reference()].into(), &[]))?;
        Ok(BranchShelf::open(&local, target, &self.fleet.output.path)?)
    }

    /// Fetches what is needed to publish to places that are in one repository.
    pub(super) fn fetch(&self, session: &Session, targets: &[&Target]) -> Result<Arc<Local>, ShelfError> {
        let remote = targets.first().map(|target| target.remote.as_str()).unwrap_or_default();
        let branches = targets.iter().flat_map(|target| [target.base_reference(), target.reference()]);
        let stamps = targets.iter().filter_map(|target| target.stamp.clone());
        let turns: Vec<String> = targets.iter().filter_map(|target| target.turn()).collect();
        self.fetch_references(session, remote, (branches.chain(stamps).collect(), &turns))
    }

    fn fetch_references(
        &self,
        session: &Session,
        remote: &str,
        (references, turns): (BTreeSet<String>, &[String]),
    ) -> Result<Arc<Local>, ShelfError> {
        let kept = Kept::wanted(&session.ambient, self.fleet, remote);
        let references: Vec<String> = references.into_iter().collect();
        Ok(Arc::new(Local::fetch(self.program(session), remote, (&references, turns), kept)?))
    }

    /// What the server is told with a proposal.
    pub(super) fn push_options(&self) -> &[String] {
        &self.output.push_options
    }

    /// A copy of what is published at one place, without history, at [`git::FETCHED`] in a repository that only its
    /// owner can read: for looking at files of no region too.
    pub fn copy(&self, session: &Session, target: &Target) -> Result<Scratch, Failure> {
        let folder = Scratch::new()?;
        let program = self.program(session);
        let reference = format!("refs/heads/{}", target.base);
        git::fetch(&program, &target.remote, &reference, folder.path(), None).map_err(|error| {
            let message = format!("{} cannot be fetched: {error}", target.called());
            Failure::unavailable(message, error.help(&target.remote))
        })?;
        Ok(folder)
    }

    /// The program git, as patient as the configuration says.
    pub(super) fn program(&self, session: &Session) -> Git {
        let limits = self.fleet.limits.git;
        let deadlines = Deadlines::of(limits.idle.0, limits.total.0);
        git(&session.ambient.environment()).within(deadlines).stopped_by(session.stop.flag())
    }

    /// The file of keys that may sign, as it is and as messages call it; none if anybody may.
    fn allowed(&self) -> Option<(PathBuf, &Path)> {
        let file = Path::new(self.output.allowed_signers.as_ref()?);
        Some((self.base.join(file), file))
    }

    /// Refuses to build on a commit that nobody who may has signed: a run vouches for what it builds on, and its own
    /// signature would cover what somebody else put there.
    pub(super) fn check_tip(&self, session: &Session, target: &Target, shelf: &BranchShelf) -> Result<(), Failure> {
        let (tip, repository) = shelf.tip()?;
        let (Some((allowed, shown)), Some(tip)) = (self.allowed(), tip) else { return Ok(()) };
        match signed::check(session, repository, &tip, (&allowed, shown))? {
            Ok(()) => Ok(()),
            Err(words) => Err(Failure::unavailable(
                format!(
                    "unsigned-tip: {} is at commit {tip}, which no key in {} signed; git says: {words}",
                    target.called(),
                    shown.display()
                ),
                "Nothing is published. Find out who made the commit and what it changed. Then put the branch back to the \
                 last commit that is signed, or have somebody whom the file allows sign a commit on top, such as with \
                 `git commit --allow-empty -S`.",
            )),
        }
    }

    /// Has a commit signed, and looks whether the next run would build on it.
    pub(super) fn sign(&self, session: &Session, repository: &Path, commit: &str) -> Result<String, ShelfError> {
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

    /// Tells that the key which is to sign commits is a file that is not there, with its path from where the user stands.
    ///
    /// A key that git itself names, or that an agent has, is known when git signs.
    pub fn lacks_key(&self, session: &Session) -> Option<String> {
        let Sign::Ssh(Some(key)) = self.output.signing() else { return None };
        let file = PathBuf::from(self.ssh_key(&key));
        let is_missing = !is_public(&key) && file.try_exists().is_ok_and(|is_there| !is_there);
        let shown = session.ambient.from_here(&file).display();
        is_missing.then(|| {
            format!(
                "the key that signs commits, {shown} (`output.git.key`), is not there: `pouch publish` could commit \
                 nothing here. A plan needs no key; if you publish from here, put it there"
            )
        })
    }

    fn signing(&self) -> Signing {
        match &self.output.signing() {
            Sign::AsGit => Signing::AsGit,
            Sign::Never => Signing::Never,
            Sign::Ssh(key) => Signing::With { format: "ssh", key: key.as_ref().map(|key| self.ssh_key(key)) },
            Sign::Gpg(key) => Signing::With { format: "openpgp", key: key.as_ref().map(OsString::from) },
        }
    }

    /// A public key stands for itself, and an agent has the private one; anything else is a file.
    fn ssh_key(&self, key: &str) -> OsString {
        if is_public(key) { key.into() } else { self.base.join(key).into() }
    }

    /// Who makes the commits of this run, and who wrote them.
    pub(super) fn people(&self, seconds: i64, latest: i64) -> (Author<'_>, Author<'_>) {
        let (author, committer) = (&self.output.author, self.output.committer());
        let author = Author { name: &author.name, email: &author.email, seconds, latest };
        (author, Author { name: &committer.name, email: &committer.email, seconds, latest })
    }
}

/// Whether a key of SSH is the public key itself, and no file.
fn is_public(key: &str) -> bool {
    let is_public = ["key::", "ssh-", "sk-ssh-", "ecdsa-", "sk-ecdsa-"].iter().any(|start| key.starts_with(start));
    is_public && (key.starts_with("key::") || key.contains(' '))
}
