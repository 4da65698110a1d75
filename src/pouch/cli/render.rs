//! `pouch render`: writes the bundles to a directory.

use std::path::PathBuf;

use super::accept::Requested;
use super::part::Part;
use super::plan;
use super::reach::{self, ReachArgs};
use crate::error::{Ended, Failure};
use crate::harden;
use crate::run::render::render;
use crate::run::told::{self, Finished};
use crate::run::{Run, is_first};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::directory::DirectoryShelf;
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};

/// Write the bundles to a directory
///
/// Compares with what stands there, seals what changed, and exchanges each region's folder at once.
/// Files that pouch did not write are never removed. Nothing changed: nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR)]
pub struct Args {
    /// Where to write; by default `output.path` of the configuration
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Say what would happen, and write nothing: what `pouch plan` says of the folder
    #[arg(long)]
    dry_run: bool,
    /// Refresh only this Credential, and remove nothing; may be given several times
    #[arg(long, value_name = "NAMESPACE/NAME", help_heading = "Refreshing a part")]
    credential: Vec<String>,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    wanted: Requested,
    #[command(flatten)]
    reach: ReachArgs,
}

impl Args {
    /// Whether the run writes anything.
    pub fn writes(&self) -> bool {
        !self.dry_run
    }
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let mut opened = Opened::open(session)?;
    args.part.reads_labels(&mut opened.settings.fleet)?;
    let fleet = &opened.settings.fleet;
    let target = match &args.directory {
        Some(directory) => session.ambient.cwd().join(directory),
        None => opened.output(),
    };
    if args.dry_run {
        let Args { credential, part, wanted, reach, .. } = args;
        let command = plan::Command { name: "render --dry-run", detailed_exitcode: false };
        return plan::folder(
            session,
            &opened,
            (&plan::Asked { credential, part, wanted, reach, first: true }, &target),
            command,
        );
    }
    let keys = opened.keys(session)?;
    let allowances = args.wanted.allowances(fleet)?;
    let selection = args.part.selection(fleet, &args.credential)?;
    // Locked before the sources are read: a run that waited would publish an older reading over a newer.
    let shelf = DirectoryShelf::open(&target)?;
    let shown = target.clone();
    let outputs = [target, opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach, last: None };
    let survey = session.timed("survey", || survey(&surveyor, Values::Read))?;
    let run = Run { session, fleet, keys: &keys, allowances: &allowances, selection: &selection, target: None };
    let report = session.timed("render", || render(&run, &survey, &shelf))?;
    if is_first(fleet, &shelf)? {
        session.ui.note(&format!("{} is new: no bundle of fleet {} stood there", shown.display(), fleet.name));
    }
    let conclude = || {
        session.timed("publish", || shelf.publish(session))?;
        harden::published(shown.display().to_string());
        told::tell(session, &report, &told::outcomes(session, &report), &args.wanted.accepted.of_flags(fleet)?);
        let ended = report.ended(session);
        told::finish(
            session,
            fleet,
            Finished { command: "render", report: &report, commit: None, targets: None, only_looks: false, ended },
        )
    };
    survey.wiped_beside(conclude)
}
