//! `pouch rekey`: seals what is published anew, for the configured recipients.

use std::collections::BTreeSet;
use std::path::PathBuf;

use pouch_core::config::{Fleet, RegionConfig, RegionState};
use pouch_core::name::Region;
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::report::summary::{self, Outcome};
use pouch_core::stamp::{SourceStamp, Stamp};

use super::accept::Accepted;
use super::reach::{self, ReachArgs};
use super::turn::TurnArgs;
use crate::error::{Ended, Failure};
use crate::run::anew::{Anew, Made, Place};
use crate::run::artifacts::Copying;
use crate::run::places::{Places, together};
use crate::run::rekey::Unproved;
use crate::run::render::{stood_at, telling};
use crate::run::told::Given;
use crate::run::{Report, Run, told};
use crate::session::Session;
use crate::settings::{self, Opened, region_called};
use crate::shelf::branch::BranchShelf;
use crate::shelf::directory::{DirectoryShelf, LookedAt};
use crate::shelf::output::Output;
use crate::shelf::rounds::Work;
use crate::shelf::target::Target;
use crate::survey::last::Last;
use crate::survey::{Contents, Survey, Surveyor};

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch rekey --dry-run
  pouch rekey --region eu-west
  pouch rekey --identity keys/eu-west.txt     from what is published, without the sources
  pouch rekey --new-reuse-key                 once, where the reuse key is lost

Exit codes: 0 sealed anew, or nothing to do; 1 failed, and nothing published; 4 a region is held; \
5 a source or the branch cannot be read; 6 others were faster; 64 usage or configuration.";

/// Seal what is published anew, for the configured recipients
///
/// Every Secret of a region gets a new data key, or the region stays as it is: all in one commit on the
/// output branch, or, in a directory, region by region. Values come from the sources, and no private key
/// is needed: so what the sources changed in these regions is published too, under the brake, as `pouch
/// publish` would. With --identity values come from the published files themselves, no source is read, and
/// nothing else changes.
///
/// What was published before stays in git history, and whoever could read it still can: change what a
/// removed recipient could read at the provider. `pouch exposure` lists it.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Sealing anew", after_help = reach::ONLY_FOR)]
#[command(after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// The directory that holds the bundles; by default the branch of `output.git`, without it `output.path`
    #[arg(value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Only this region; may be given several times. By default all that are active
    #[arg(long, value_name = "REGION")]
    region: Vec<String>,
    /// Open the published Secrets with the age identities in FILE and read no source; may be given several times
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// Say what would happen, write nothing, and exit 0 even if a region would be held
    #[arg(long)]
    dry_run: bool,
    /// Replace bundles that the configured reuse key does not vouch for, because the key that did is lost
    #[arg(long)]
    new_reuse_key: bool,
    #[command(flatten)]
    accepted: Accepted,
    #[command(flatten)]
    turn: TurnArgs,
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
    let opened = Opened::open(session)?;
    let fleet = &opened.settings.fleet;
    let regions = chosen(session, args, fleet)?;
    let identities = match args.identity.as_slice() {
        [] => None,
        files => Some(settings::all_identities(files, session)?),
    };
    let keys = opened.keys(session)?;
    let names: BTreeSet<Region> = regions.iter().map(|region| region.name.clone()).collect();
    let replace_unsigned = match (args.new_reuse_key, &identities) {
        (true, None) => names.iter().map(Region::to_string).collect(),
        _ => BTreeSet::new(),
    };
    let allowances = Allowances { replace_unsigned, ..args.accepted.allowances(fleet)? };
    let selection = Selection { rekey: Some(names), ..Selection::default() };
    let run = Run::new(session, fleet, &keys, (&allowances, &selection));
    let target = match (&args.directory, &fleet.output.git) {
        (Some(directory), _) => Some(session.ambient.cwd().join(directory)),
        (None, None) => Some(opened.output()),
        (None, Some(_)) => None,
    };
    let outputs: Vec<PathBuf> = [opened.output()].into_iter().chain(target.clone()).collect();
    let reach = args.reach.reach(&session.ambient);
    let copying = Copying { session, fleet, keys: &keys, request: reach.patience.request };
    let anew = Anew {
        run: &run,
        surveyor: Surveyor {
            contents: Contents::ByRegion,
            ..Surveyor::new(session, fleet, &opened.typed, (&outputs, &reach))
        },
        identities,
        unproved: if args.new_reuse_key { Unproved::Taken } else { Unproved::Held },
        every: args.region.is_empty(),
    };

    let places = match target {
        Some(target) if args.dry_run => {
            let published = LookedAt::open(&target)?;
            let read = anew.read(None, &*telling(&run, &published))?;
            Places::of_folder(anew.make(read.as_ref(), (&published, None), Place::Folder(&target))?.report)
        }
        Some(target) => {
            // To look at what is not there must not make it.
            drop(LookedAt::open(&target)?);
            let shelf = DirectoryShelf::open(&target)?;
            let read = anew.read(None, &*telling(&run, &shelf))?;
            let mut made = anew.make(read.as_ref(), (&shelf, Some(&shelf)), Place::Folder(&target))?;
            session.timed("publish", || shelf.publish(session))?;
            made.report.spend();
            let is_record = args.directory.is_none();
            let artifacts = is_record.then(|| copying.of_folder(&made.report, &target)).flatten();
            let places = Places::of_folder(made.report).with(artifacts);
            places.tell(session);
            places
        }
        None => {
            let output = Output::of(&opened)?.waiting(args.turn.most()).about(selection.rekey.as_ref());
            if args.dry_run {
                together(session, output.preview(session, &keys, &Rekey(&anew)))?
            } else {
                told::check_message(fleet)?;
                let done = output.publish(session, &keys, anew.reads_stdin(), &Rekey(&anew));
                let artifacts = copying.of_places(&done);
                let places = together(session, done)?.with(artifacts);
                places.tell(session);
                places
            }
        }
    };
    let report = &places.report;
    let word = if args.dry_run { told::planned_word } else { Outcome::word };
    told::tell(
        session,
        report,
        &session.ui.shown(&told::lines(session, report, word, |_, _| Vec::new())),
        &Given { accepted: args.accepted.of_flags(fleet)?, ..Given::default() },
    );
    if args.dry_run {
        return places.finish_plan(session, ("rekey --dry-run", false), fleet);
    }
    let loses = |region: &summary::Region| {
        region.outcome == Outcome::Published && region.sealed > 0 && !region.recipients_removed.is_empty()
    };
    if report.regions.iter().any(loses) {
        session.ui.note(
            "a removed recipient can still read what was published before, in git history and in copies; change that \
             at the provider (`pouch exposure --removed` lists it)",
        );
    }
    places.finish(session, "rekey", fleet)
}

/// Seals anew at every place.
struct Rekey<'a>(&'a Anew<'a>);

impl Work for Rekey<'_> {
    type Read = Option<Survey>;
    type Made = Report;

    fn check(&self, target: &Target, shelf: &BranchShelf) -> Result<(), Failure> {
        self.0.check(target, shelf)
    }

    fn read(&self, stamps: Vec<Stamp>, places: &[(&Target, &BranchShelf)]) -> Result<Self::Read, Failure> {
        let allowances = &self.0.run.allowances;
        let last = Last::new(stamps, &allowances.accept_older, &allowances.accept_source);
        self.0.read(Some(&last), &|source, files| stood_at(self.0.run, places, (source, files)))
    }

    fn make(
        &self,
        (target, shelf): (&Target, &BranchShelf),
        _: &[SourceStamp],
        read: &Self::Read,
    ) -> Result<(Report, String), Failure> {
        let Made { report, read } = self.0.make(read.as_ref(), (shelf, Some(shelf)), Place::Branch(target))?;
        let message = told::commit_message(&target.fleet, &report, &read, target.proposal())?;
        Ok((report, message))
    }

    fn look(&self, target: &Target, shelf: &BranchShelf, read: &Self::Read) -> Result<Report, Failure> {
        Ok(self.0.make(read.as_ref(), (shelf, None), Place::Branch(target))?.report)
    }

    fn stamp(&self, report: &Report, read: &Self::Read, _: Option<String>) -> Result<Option<Stamp>, Failure> {
        let sources = read.as_ref().map(|survey| survey.read.clone()).unwrap_or_default();
        Ok(Some(Stamp { sources, recipients: report.recipients.clone(), ..Stamp::default() }))
    }
}

/// The regions that the flags name, or all that are active.
fn chosen<'a>(session: &Session, args: &Args, fleet: &'a Fleet) -> Result<Vec<&'a RegionConfig>, Failure> {
    if args.region.is_empty() {
        let (active, others): (Vec<_>, Vec<_>) =
            fleet.regions.values().partition(|region| region.state == RegionState::Active);
        for region in others.iter().filter(|region| region.state == RegionState::Paused) {
            session.ui.warn(&format!("region {} is paused: its Secrets stay sealed as they are", region.name));
        }
        return if active.is_empty() {
            Err(Failure::usage("the configuration has no active region", "Only active regions can be sealed anew."))
        } else {
            Ok(active)
        };
    }
    let one = |called: &String| {
        let region = region_called(fleet, called)?;
        if region.state == RegionState::Active {
            return Ok(region);
        }
        Err(Failure::usage(
            format!("region {} is not active, so it is not sealed anew", region.name),
            "Set `state: active` for it, or leave it out.",
        ))
    };
    args.region.iter().map(one).collect()
}
