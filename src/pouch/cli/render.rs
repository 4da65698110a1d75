//! `pouch render`: writes the bundles to a directory.

use std::path::{Path, PathBuf};

use pouch_core::listing::counted;
use pouch_core::report::escape;
use pouch_core::report::summary::{self, ChangeRecord, Outcome};

use super::accepted::warn_unneeded;
use super::reach::{self, ReachArgs};
use super::{Global, Opened, Wanted, finish};
use crate::ambient::Ambient;
use crate::error::Failure;
use crate::run::render::render;
use crate::run::{Report, Run};
use crate::shelf::directory::DirectoryShelf;
use crate::stop::Stop;
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};
use crate::ui::Ui;
use pouch_core::region::allowances::Selection;

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
    let target = match &args.directory {
        Some(directory) => ambient.cwd().join(directory),
        None => opened.settings.base.join(&fleet.output.path),
    };
    let keys = opened.keys(ambient, ui)?;
    let allowances = args.wanted.allowances(fleet)?;
    // Locked before the sources are read: a run that waited would publish an older reading over a newer.
    let shelf = DirectoryShelf::open(&target)?;
    let outputs = [target.clone(), opened.settings.base.join(&fleet.output.path)];
    let reach = args.reach.reach(ambient);
    let surveyor = Surveyor { fleet, base: &opened.typed, outputs: &outputs, reach: &reach, ambient, ui, stop };
    let survey = survey(&surveyor, Values::Read)?;
    let run = Run { fleet, keys: &keys, allowances: &allowances, selection: &Selection::default(), ambient, ui, stop };
    let report = render(&run, &survey, &shelf)?;
    commit(shelf, &target, ui, stop)?;
    ui.findings(&report.findings);
    ui.result(&outcomes(&report));
    warn_unneeded(&args.wanted.accepted.of_flags(fleet)?, &report, ui);
    finish(&report, "render", None, fleet, global, ambient, ui)
}

/// Makes what was staged visible, and says what was found in the way.
///
/// # Errors
/// Where a folder cannot be exchanged, or the run was asked to stop before it.
pub fn commit(shelf: DirectoryShelf, target: &Path, ui: &Ui, stop: &Stop) -> Result<(), Failure> {
    stop.begin_publishing()?;
    for path in shelf.commit()? {
        ui.warn(&format!(
            "a file that pouch did not write appeared while it was writing; it was moved to {}",
            escape(&target.join(path).display().to_string())
        ));
    }
    Ok(())
}

/// One line a region.
pub fn outcomes(report: &Report) -> String {
    let width = report.regions.iter().map(|region| region.name.len()).max().unwrap_or_default();
    report.regions.iter().map(|region| outcome_line(region, width, region.outcome.word())).collect()
}

/// What became of a region: its name, a word for that, and counts.
pub fn outcome_line(region: &summary::Region, width: usize, word: &str) -> String {
    if region.outcome == Outcome::Paused {
        return format!("{:width$}  {word:9}  what is published stays\n", region.name);
    }
    let is_namespace = |change: &&ChangeRecord| change.object.kind == "Namespace" && change.object.group.is_empty();
    let (namespaces, objects): (Vec<&ChangeRecord>, Vec<&ChangeRecord>) = region.changes.iter().partition(is_namespace);
    let held = region.outcome == Outcome::Held;
    let mut parts = if held { Vec::new() } else { vec![counted(region.objects, "object", "objects")] };
    for action in ["added", "changed", "resealed", "removed"] {
        let count = |changes: &[&ChangeRecord]| changes.iter().filter(|change| change.action == action).count();
        // What a bundle has is counted without its Namespaces, so these are counted apart.
        if count(&objects) > 0 {
            parts.push(format!("{} {action}", count(&objects)));
        }
        if count(&namespaces) > 0 {
            parts.push(format!("{} {action}", counted(count(&namespaces), "Namespace", "Namespaces")));
        }
    }
    if region.carried > 0 {
        parts.push(format!("{} carried over", region.carried));
    }
    let what = match (held, parts.is_empty()) {
        (true, true) => String::from("nothing else would change"),
        (true, false) => format!("would be: {}", parts.join(", ")),
        (false, _) => parts.join(", "),
    };
    format!("{:width$}  {word:9}  {what}\n", region.name)
}
