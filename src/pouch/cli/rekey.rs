//! `pouch rekey`: seals what is published anew, for the configured recipients.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use pouch_core::config::{Fleet, RegionConfig, RegionState};
use pouch_core::name::Region;
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::region::rekey::unpublished;
use pouch_core::report::summary::{self, Outcome};

use super::accepted::warn_unneeded;
use super::publish::{self, Branch, Made};
use super::reach::{self, ReachArgs};
use super::render::{self, outcome_line};
use super::{Accepted, Global, Opened, finish, record, region_called, summary_of};
use crate::age::Identities;
use crate::ambient::Ambient;
use crate::error::{Failure, exit};
use crate::run::rekey::{Unproved, rekey};
use crate::run::render::{preview, render as draw};
use crate::run::{Report, Run, govern};
use crate::settings;
use crate::shelf::branch::BranchShelf;
use crate::shelf::directory::{DirectoryShelf, LookedAt};
use crate::shelf::{Look, Shelf};
use crate::stop::Stop;
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};
use crate::ui::Ui;

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
    reach: ReachArgs,
}

impl Args {
    /// Whether the run writes anything.
    pub fn writes(&self) -> bool {
        !self.dry_run
    }
}

/// Runs the command.
///
/// # Errors
/// Where nothing was published, or only a part.
pub fn run(args: &Args, global: &Global, ambient: &Ambient, ui: &Ui, stop: &Stop) -> Result<u8, Failure> {
    let opened = Opened::open(global, ambient)?;
    let fleet = &opened.settings.fleet;
    let regions = chosen(args, fleet, ui)?;
    let identities = match args.identity.as_slice() {
        [] => None,
        files => Some(settings::all_identities(files, ambient, ui)?),
    };
    let keys = opened.keys(ambient, ui)?;
    let names: BTreeSet<Region> = regions.iter().map(|region| region.name.clone()).collect();
    let adopt = match (args.new_reuse_key, &identities) {
        (true, None) => names.iter().map(Region::to_string).collect(),
        _ => BTreeSet::new(),
    };
    let allowances = Allowances { adopt, ..args.accepted.allowances(fleet)? };
    let selection = Selection { rekey: Some(names) };
    let run = Run { fleet, keys: &keys, allowances: &allowances, selection: &selection, ambient, ui, stop };
    let target = match (&args.directory, &fleet.output.git) {
        (Some(directory), _) => Some(ambient.cwd().join(directory)),
        (None, None) => Some(opened.settings.base.join(&fleet.output.path)),
        (None, Some(_)) => None,
    };
    let rekeying = Rekeying { args, opened: &opened, run: &run, identities, target: target.clone() };

    let (report, commit) = match target {
        Some(target) if args.dry_run => {
            let place = target.display().to_string();
            (rekeying.make(&LookedAt::open(&target)?, None, &place)?.report, None)
        }
        Some(target) => {
            // To look at what is not there must not make it.
            drop(LookedAt::open(&target)?);
            let shelf = DirectoryShelf::open(&target)?;
            let made = rekeying.make(&shelf, Some(&shelf), &target.display().to_string())?;
            render::commit(shelf, &target, ui, stop)?;
            (made.report, None)
        }
        None => {
            let branch = Branch::of(&opened)?;
            if args.dry_run {
                (rekeying.of_branch(&branch, &branch.open(ambient, stop)?, None)?.report, None)
            } else {
                let once = rekeying.reads_stdin();
                let pushed =
                    publish::push(&branch, &run, once, |shelf| rekeying.of_branch(&branch, shelf, Some(shelf)))?;
                if let Some(commit) = &pushed.1 {
                    ui.note(&format!("{} is at {commit}", branch.name()));
                }
                pushed
            }
        }
    };
    ui.findings(&report.findings);
    ui.result(&lines(&report, args));
    warn_unneeded(&args.accepted.of_flags(fleet)?, &report, ui);
    if args.dry_run {
        // What it would have published is no failure of this run.
        let summary = summary_of(&report, "rekey --dry-run", None, fleet, exit::OK);
        record(&summary, global, ambient, "Nothing was published")?;
        return Ok(exit::OK);
    }
    let loses = |region: &summary::Region| {
        region.outcome == Outcome::Published && region.sealed > 0 && !region.recipients_removed.is_empty()
    };
    if report.regions.iter().any(loses) {
        ui.note(
            "a removed recipient can still read what was published before, in git history and in copies; change that \
             at the provider (`pouch exposure --removed` lists it)",
        );
    }
    finish(&report, "rekey", commit, fleet, global, ambient, ui)
}

/// The regions that the flags name, or all that are active.
fn chosen<'a>(args: &Args, fleet: &'a Fleet, ui: &Ui) -> Result<Vec<&'a RegionConfig>, Failure> {
    if args.region.is_empty() {
        let (active, others): (Vec<_>, Vec<_>) =
            fleet.regions.values().partition(|region| region.state == RegionState::Active);
        for region in others.iter().filter(|region| region.state == RegionState::Paused) {
            ui.warn(&format!("region {} is paused: its Secrets stay sealed as they are", region.name));
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

/// What one attempt needs.
struct Rekeying<'a> {
    args: &'a Args,
    opened: &'a Opened,
    run: &'a Run<'a>,
    identities: Option<Identities>,
    target: Option<PathBuf>,
}

impl Rekeying<'_> {
    /// Whether a second attempt would find nothing to read.
    fn reads_stdin(&self) -> bool {
        self.identities.is_none() && publish::reads_stdin(self.run.fleet)
    }

    /// As [`Self::make`], on a branch: one that is not there is not made.
    fn of_branch(
        &self,
        branch: &Branch<'_>,
        published: &BranchShelf,
        shelf: Option<&dyn Shelf>,
    ) -> Result<Made, Failure> {
        if published.is_there()? {
            return self.make(published, shelf, &branch.called());
        }
        Err(Failure::unavailable(
            format!("there is no {}, so there is nothing to seal anew", branch.called()),
            "Correct `output.git` in pouch.yaml; for a new fleet, `pouch publish` makes the branch.",
        ))
    }

    /// Seals everything anew and stages it on the shelf, if there is one. A region without a bundle is not
    /// sealed; where it was asked for, or where no region has one, that is no success. `place` is the
    /// shelf's name.
    fn make(&self, published: &dyn Look, shelf: Option<&dyn Shelf>, place: &str) -> Result<Made, Failure> {
        let Run { fleet, ui, selection, .. } = *self.run;
        let standing = published.regions()?;
        let (mut bare, mut all) = (BTreeSet::new(), true);
        for region in fleet.regions.values().filter(|region| selection.takes_up(region)) {
            let has_manifest = standing.get(region.directory.as_str()).is_some_and(Option::is_some);
            if has_manifest || !published.read(&region.directory)?.is_empty() {
                all = false;
            } else {
                bare.insert(region.name.clone());
            }
        }
        let mut made = self.sealed(published, shelf)?;
        if !all && self.args.region.is_empty() {
            for region in &bare {
                ui.warn(&format!(
                    "nothing is published for region {region} in {place}, so nothing of it is sealed anew"
                ));
            }
            return Ok(made);
        }
        let report = &mut made.report;
        for region in report.regions.iter_mut().filter(|region| bare.contains(&*region.name)) {
            region.outcome = Outcome::Held;
        }
        report.findings.extend(bare.iter().map(|region| unpublished(region, place)));
        report.findings = govern(fleet, std::mem::take(&mut report.findings));
        Ok(made)
    }

    fn sealed(&self, published: &dyn Look, shelf: Option<&dyn Shelf>) -> Result<Made, Failure> {
        let Self { args, opened, run, identities, target } = self;
        let Run { fleet, ambient, ui, stop, .. } = **run;
        if let Some(identities) = identities {
            let unproved = if args.new_reuse_key { Unproved::Taken } else { Unproved::Held };
            let report = rekey(run, identities, unproved, published, shelf)?;
            return Ok(Made { report, revisions: Vec::new() });
        }
        let mut outputs = vec![opened.settings.base.join(&fleet.output.path)];
        outputs.extend(target.clone());
        let reach = args.reach.reach(ambient);
        let surveyor = Surveyor { fleet, base: &opened.typed, outputs: &outputs, reach: &reach, ambient, ui, stop };
        let survey = survey(&surveyor, Values::Read)?;
        let report = match shelf {
            Some(shelf) => draw(run, &survey, shelf)?,
            None => preview(run, &survey, published)?,
        };
        Ok(Made { report, revisions: survey.revisions })
    }
}

/// One line a region, and below it whose recipients change.
fn lines(report: &Report, args: &Args) -> String {
    let width = report.regions.iter().map(|region| region.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for region in &report.regions {
        let word = match region.outcome {
            Outcome::Published if args.dry_run => "would be published",
            Outcome::Held if args.dry_run => "would be held",
            outcome => outcome.word(),
        };
        text.push_str(&outcome_line(region, width, word));
        text.push_str(&recipients(region));
    }
    text
}

fn recipients(region: &summary::Region) -> String {
    let mut text = String::new();
    for (word, recipients) in [("adds", &region.recipients_added), ("removes", &region.recipients_removed)] {
        for recipient in recipients {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {word:7}  {recipient}");
        }
    }
    text
}
