//! `pouch render`: writes the bundles to a directory.

use std::path::PathBuf;

use super::asked::Asked;
use super::{plan, reach};
use crate::error::{Ended, Failure};
use crate::harden;
use crate::run::is_first;
use crate::run::places::Places;
use crate::run::render::{render, telling};
use crate::run::told;
use crate::session::Session;
use crate::shelf::directory::DirectoryShelf;
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch render                                into the folder that `output.path` names
  pouch render --output-dir /tmp/x            into another one
  pouch render team-a/aws                     this Credential alone

Exit codes: 0 done or nothing to do; 3 some Credentials are broken or refused; 4 a region is held; \
5 a source cannot be read; 8 `verify` would find a fault; 64 usage or configuration.";

/// Write the bundles to a directory
///
/// Compares with what stands there, seals what changed, and exchanges each region's folder at once.
/// Files that pouch did not write are never removed. Nothing changed: nothing is written.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// The directory to write to [default: `output.path` of the configuration]
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Write nothing: this is `pouch plan`, of the directory
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    asked: Asked,
}

impl Args {
    /// Whether the run writes anything.
    pub fn writes(&self) -> bool {
        !self.dry_run
    }
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let opened = args.asked.open(session)?;
    let fleet = &opened.settings.fleet;
    let target = match &args.output_dir {
        Some(directory) => session.ambient.cwd().join(directory),
        None => opened.output(),
    };
    if args.dry_run {
        let command = plan::Command::dry_run("render --dry-run");
        return plan::folder(session, &opened, (&args.asked, target), command);
    }
    let prepared = args.asked.prepared(session, &opened, vec![target.clone(), opened.output()])?;
    // Locked before the sources are read: a run that waited would publish an older reading over a newer.
    let shelf = DirectoryShelf::open(&target)?;
    let run = prepared.run();
    let survey = {
        let bundles = telling(&run, &shelf);
        let surveyor = Surveyor { bundles: Some(&*bundles), ..prepared.surveyor() };
        session.timed("survey", || survey(&surveyor, Values::Read))?
    };
    let mut report = session.timed("render", || render(&run, &survey, &shelf))?;
    if is_first(fleet, &shelf)? {
        session.ui.note(&format!("{} is new: no bundle of fleet {} stood there", target.display(), fleet.name));
    }
    let conclude = || {
        session.timed("publish", || shelf.publish(session))?;
        report.spend();
        harden::published(target.display().to_string());
        // What is rendered elsewhere, or beside a branch, is for looking at.
        let is_record = args.output_dir.is_none() && fleet.output.git.is_none();
        let artifacts = is_record.then(|| prepared.copying().of_folder(&report, &target)).flatten();
        told::tell(session, &report, &told::outcomes(session, &report), &args.asked.wanted.given(fleet)?);
        let places = Places::of_folder(report).with(artifacts);
        places.tell(session);
        places.finish(session, "render", fleet)
    };
    survey.wiped_beside(conclude)
}
