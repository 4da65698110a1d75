//! `pouch plan`: what a publish would change.

use std::path::Path;

use super::accept::Requested;
use super::part::Part;
use super::reach::{self, ReachArgs};
use crate::error::{Ended, Failure};
use crate::run::places::{Places, together};
use crate::run::publish::{First, Publish};
use crate::run::render::preview;
use crate::run::{Run, told};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::directory::LookedAt;
use crate::shelf::output::Output;
use crate::survey::source::live::Values;
use crate::survey::{Surveyor, survey};

/// Say what a publish would change, and change nothing
///
/// Compares with the branch of `output.git`, or without it with the folder at `output.path`, and lists by
/// region and Credential what would be added, changed, withdrawn, sealed anew or held, and what is wrong.
/// Never shows a value. The sources are read, and the reuse key; no private key is needed.
///
/// What would not be published, or would be held, is no failure: it ends with 0 where a publish would end with
/// 3, 4 or 8. Where a place or a source cannot be read it ends as a publish does.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR)]
pub struct Args {
    /// Plan to refresh only this Credential, and to remove nothing; may be given several times
    // A flag, because `render` takes a folder in that place: the line that lets something through is for either.
    #[arg(long, value_name = "NAMESPACE/NAME", help_heading = "Refreshing a part")]
    credential: Vec<String>,
    /// End with 2 if anything would change in what is published, and with 0 if not
    #[arg(long)]
    detailed_exitcode: bool,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    wanted: Requested,
    #[command(flatten)]
    reach: ReachArgs,
}

/// What the command is called.
const NAME: &str = "plan";

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let mut opened = Opened::open(session)?;
    args.part.reads_labels(&mut opened.settings.fleet)?;
    let Args { credential, detailed_exitcode, part, wanted, reach } = args;
    let asked = Asked { credential, part, wanted, reach, first: false };
    let command = Command { name: NAME, detailed_exitcode: *detailed_exitcode };
    match &opened.settings.fleet.output.git {
        Some(_) => branches(session, &opened, &asked, command),
        None => folder(session, &opened, (&asked, &opened.output()), command),
    }
}

/// What a user wants to be planned.
pub struct Asked<'a> {
    /// The Credentials that alone are refreshed, if any is named.
    pub credential: &'a [String],
    /// The namespaces and regions that alone are refreshed, if any is named.
    pub part: &'a Part,
    /// What is let through.
    pub wanted: &'a Requested,
    /// How clusters are reached.
    pub reach: &'a ReachArgs,
    /// Whether a first publication is wanted.
    pub first: bool,
}

/// Who wants it.
#[derive(Clone, Copy)]
pub struct Command {
    /// What the command is called in the summary.
    pub name: &'static str,
    /// Whether the exit code tells of changes.
    pub detailed_exitcode: bool,
}

/// Tells what a publish would do at the branches.
pub fn branches(session: &Session, opened: &Opened, asked: &Asked<'_>, command: Command) -> Result<Ended, Failure> {
    let fleet = &opened.settings.fleet;
    let output = Output::of(opened)?;
    let keys = opened.keys(session)?;
    let allowances = asked.wanted.allowances(fleet)?;
    let selection = asked.part.selection(fleet, asked.credential)?;
    let run = Run { session, fleet, keys: &keys, allowances: &allowances, selection: &selection, target: None };
    let outputs = [opened.output()];
    let reach = asked.reach.reach(&session.ambient);
    let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach, last: None };
    told::check_message(fleet)?;
    let plain = *asked.wanted == Requested::default() && selection.refresh.is_none() && !asked.reach.names_a_cluster();
    let work =
        Publish { run: &run, surveyor: &surveyor, first: if asked.first { First::Taken } else { First::Said }, plain };
    let places = together(session, output.preview(session, &keys, &work))?;
    finish(session, opened, (places, asked, "publish"), command)
}

/// Tells what a render would do in a folder.
pub fn folder(
    session: &Session,
    opened: &Opened,
    (asked, target): (&Asked<'_>, &Path),
    command: Command,
) -> Result<Ended, Failure> {
    let fleet = &opened.settings.fleet;
    let keys = opened.keys(session)?;
    let allowances = asked.wanted.allowances(fleet)?;
    let selection = asked.part.selection(fleet, asked.credential)?;
    let published = LookedAt::open_or_empty(target)?;
    let outputs = [target.to_owned(), opened.output()];
    let reach = asked.reach.reach(&session.ambient);
    let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach, last: None };
    let survey = session.timed("survey", || survey(&surveyor, Values::Read))?;
    let run = Run { session, fleet, keys: &keys, allowances: &allowances, selection: &selection, target: None };
    let report = session.timed("render", || preview(&run, &survey, &published))?;
    survey.wiped_beside(|| finish(session, opened, (Places::of_folder(report), asked, "render"), command))
}

fn finish(
    session: &Session,
    opened: &Opened,
    (mut places, asked, done_by): (Places, &Asked<'_>, &'static str),
    Command { name, detailed_exitcode }: Command,
) -> Result<Ended, Failure> {
    let fleet = &opened.settings.fleet;
    places.report.done_by = (name == NAME).then_some(done_by);
    let report = &places.report;
    told::tell(session, report, &told::planned(session, report), &asked.wanted.accepted.of_flags(fleet)?);
    places.finish_plan(session, (name, detailed_exitcode), fleet)
}
