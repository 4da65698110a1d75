//! `pouch publish`: render, one commit, one push.

use std::time::Duration;

use pouch_core::config::{Fleet, OutputGit, SourcePlace};
use pouch_core::report::summary::Region;
use tempfile::TempDir;

use super::accepted::warn_unneeded;
use super::reach::{self, ReachArgs};
use super::render::outcomes;
use super::{Global, Opened, Wanted, finish};
use crate::ambient::Ambient;
use crate::error::Failure;
use crate::git::commits::Author;
use crate::git::program::git;
use crate::git::{self, Address};
use crate::run::render::render;
use crate::run::{Report, Run};
use crate::shelf::branch::{BranchShelf, Pushed};
use crate::stop::Stop;
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};
use crate::text::commit_message;
use crate::ui::Ui;
use pouch_core::region::allowances::Selection;

/// Render, make one commit on the output branch, and push it
///
/// The branch moves from exactly the commit that was read to the new one. Where another writer was
/// faster, pouch starts over from the sources. Nothing changed: no commit.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs the command.
///
/// # Errors
/// Where nothing was published, or only a part.
pub fn run(args: &Args, global: &Global, ambient: &Ambient, ui: &Ui, stop: &Stop) -> Result<u8, Failure> {
    let opened = Opened::open(global, ambient)?;
    let fleet = &opened.settings.fleet;
    let branch = Branch::of(&opened)?;
    let keys = opened.keys(ambient, ui)?;
    let allowances = args.wanted.allowances(fleet)?;
    let run = Run { fleet, keys: &keys, allowances: &allowances, selection: &Selection::default(), ambient, ui, stop };
    let outputs = [opened.settings.base.join(&fleet.output.path)];
    let reach = args.reach.reach(ambient);
    let surveyor = Surveyor { fleet, base: &opened.typed, outputs: &outputs, reach: &reach, ambient, ui, stop };
    let (report, commit) = push(&branch, &run, reads_stdin(fleet), |shelf| {
        let survey = survey(&surveyor, Values::Read)?;
        Ok(Made { report: render(&run, &survey, shelf)?, revisions: survey.revisions })
    })?;
    ui.findings(&report.findings);
    ui.result(&outcomes(&report));
    warn_unneeded(&args.wanted.accepted.of_flags(fleet)?, &report, ui);
    match &commit {
        Some(commit) => ui.note(&format!("{} is at {commit}", branch.name())),
        None => ui.note(&format!("nothing changed; {} stays as it is", branch.name())),
    }
    finish(&report, "publish", commit, fleet, global, ambient, ui)
}

/// Whether a source is standard input, which can be read once.
pub fn reads_stdin(fleet: &Fleet) -> bool {
    fleet.sources.iter().any(|source| matches!(source.place, SourcePlace::Stdin))
}

/// A temporary folder for what is fetched, which only its owner can read.
///
/// # Errors
/// Where none can be made.
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
    ///
    /// # Errors
    /// Where the configuration has none.
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
    ///
    /// # Errors
    /// Where the repository cannot be reached.
    pub fn open(&self, ambient: &Ambient, stop: &Stop) -> Result<BranchShelf, Failure> {
        let program = git(&ambient.environment()).stopped_by(stop.flag());
        Ok(BranchShelf::open(program, &self.remote, &self.output.branch, &self.fleet.output.path)?)
    }

    /// A copy of its tip without history, at [`git::FETCHED`] in a repository that only its owner can read:
    /// for looking at files of no region too.
    ///
    /// # Errors
    /// Where the repository cannot be reached, or has no such branch.
    pub fn copy(&self, ambient: &Ambient, stop: &Stop) -> Result<TempDir, Failure> {
        let folder = private_folder()?;
        let program = git(&ambient.environment()).stopped_by(stop.flag());
        let reference = format!("refs/heads/{}", self.output.branch);
        git::fetch(&program, &self.remote, &reference, folder.path()).map_err(|error| {
            let message = format!("{} cannot be fetched: {error}", self.called());
            Failure::unavailable(message, error.help(&self.remote))
        })?;
        Ok(folder)
    }
}

/// What one attempt made.
pub struct Made {
    /// What it did and found.
    pub report: Report,
    /// The commit of each git source that was read.
    pub revisions: Vec<(String, String)>,
}

/// Makes a commit of what `make` stages and pushes it. Where another writer was faster, starts over, unless
/// everything can be read `once` only. Gives the report and the commit, if something changed.
///
/// # Errors
/// Where nothing was published, or it is unknown whether it was.
pub fn push(
    branch: &Branch<'_>,
    run: &Run<'_>,
    once: bool,
    make: impl Fn(&BranchShelf) -> Result<Made, Failure>,
) -> Result<(Report, Option<String>), Failure> {
    let Run { fleet, ambient, ui, stop, .. } = *run;
    let output = branch.output;
    // A template that does not work should be known before anything is read.
    message_of(fleet, &[], &[])?;
    let attempts = if once { 1 } else { fleet.limits.attempts };
    for attempt in 0..attempts {
        if attempt > 0 {
            ui.note("another writer was faster; starting over");
            // Up to a quarter of a second more each time.
            let most = u64::try_from(attempt).unwrap_or(1).min(8).saturating_mul(250);
            stop.pause(ambient.part_of(Duration::from_millis(most))?)?;
        }
        // The branch before the sources: whoever publishes a newer reading in between makes this run lose.
        let shelf = branch.open(ambient, stop)?;
        let Made { report, revisions } = make(&shelf)?;
        let message = message_of(fleet, &report.regions, &revisions)?;
        let seconds = ambient.now().as_second();
        let author = Author { name: &output.author.name, email: &output.author.email, seconds };
        let committer = Author { name: &output.committer.name, email: &output.committer.email, seconds };
        match shelf.push(&author, &committer, &message, stop)? {
            Pushed::Lost => {}
            Pushed::Contended(why) if attempt.saturating_add(1) >= attempts => {
                let help = "See what holds the branch in the repository, such as a lock that a crash left behind.";
                return Err(Failure::failed(format!("the push was refused: {why}"), help));
            }
            Pushed::Contended(_) => {}
            Pushed::Nothing => return Ok((report, None)),
            Pushed::Commit(commit) => return Ok((report, Some(commit))),
        }
    }
    Err(Failure::lost(
        format!("other writers were faster, {attempts} of {attempts} times; nothing is published"),
        "Run pouch again, and let one job at a time publish to this branch.",
    ))
}

fn message_of(fleet: &Fleet, regions: &[Region], revisions: &[(String, String)]) -> Result<String, Failure> {
    let template = fleet.output.git.as_ref().and_then(|git| git.message.as_deref());
    commit_message(template, fleet.name.as_str(), regions, revisions)
        .map_err(|error| Failure::usage(error, "Correct the template."))
}
