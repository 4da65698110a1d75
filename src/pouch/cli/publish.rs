//! `pouch publish`: render, one commit, one push.

use super::render::outcomes;
use super::{Global, Opened, Wanted, finish};
use crate::ambient::Ambient;
use crate::failure::Failure;
use crate::git::commits::Author;
use crate::git::program::git;
use crate::git::{self, Address};
use crate::pipeline::survey::survey;
use crate::pipeline::{Run, render};
use crate::publish::refs::{BranchShelf, Pushed};
use crate::text::commit_message;
use crate::ui::Ui;

/// Render, make one commit on the output branch, and push it
///
/// The branch moves from exactly the commit that was read to the new one. Where another writer was
/// faster, pouch starts over from the sources. Nothing changed: no commit.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    wanted: Wanted,
}

/// Runs the command.
///
/// # Errors
/// Where nothing was published, or only a part.
pub fn run(args: &Args, global: &Global, ambient: &Ambient, ui: &Ui) -> Result<u8, Failure> {
    let opened = Opened::open(global, ambient)?;
    let fleet = &opened.settings.fleet;
    let Some(output) = &fleet.output.git else {
        return Err(Failure::usage(
            "the configuration has no output.git",
            "Say repository and branch under output.git, or use `pouch render` to write to a directory.",
        ));
    };
    let keys = opened.keys(ambient, ui)?;
    let wishes = args.wanted.wishes(fleet)?;
    let refused = |why: String| {
        Failure::usage(format!("output.git.repository {why}"), "Give a path, or a URL with https or ssh.")
    };
    let remote = match git::address(&output.repository).map_err(refused)? {
        Address::Local(path) => opened.settings.base.join(path).display().to_string(),
        Address::Remote(url) => url,
    };
    let run = Run { fleet, keys: &keys, wishes: &wishes, ambient, ui };
    for _ in 0..fleet.limits.attempts {
        let survey = survey(fleet, &opened.typed, None, ambient, ui)?;
        let program = git(&ambient.environment());
        let shelf = BranchShelf::open(program, &remote, &output.branch, &fleet.output.path)
            .map_err(|error| Failure::unavailable(error.to_string(), ""))?;
        let report = render(&run, &survey, &shelf)?;
        let message =
            commit_message(output.message.as_deref(), fleet.name.as_str(), &report.regions, &survey.revisions)
                .map_err(|error| Failure::usage(error, "Correct the template."))?;
        let seconds = ambient.now().as_second();
        let author = Author { name: &output.author.name, email: &output.author.email, seconds };
        let committer = Author { name: &output.committer.name, email: &output.committer.email, seconds };
        let commit = match shelf.push(&author, &committer, &message)? {
            Pushed::Lost => {
                ui.note("another writer was faster; starting over");
                continue;
            }
            Pushed::Nothing => None,
            Pushed::Commit(commit) => Some(commit),
        };
        ui.findings(&report.findings);
        ui.result(&outcomes(&report));
        match &commit {
            Some(commit) => ui.note(&format!("{} is at {commit}", output.branch)),
            None => ui.note(&format!("nothing changed; {} stays as it is", output.branch)),
        }
        return finish(&report, "publish", commit, fleet, global, ui);
    }
    Err(Failure::lost(
        format!("other writers were faster {} times; nothing is published", fleet.limits.attempts),
        "Run pouch again, and let one job at a time publish to this branch.",
    ))
}
