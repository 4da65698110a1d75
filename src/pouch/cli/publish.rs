//! `pouch publish`: render, one commit, one push.

use pouch_core::stamp::Stamp;

use super::accept::Requested;
use super::part::Part;
use super::reach::{self, ReachArgs};
use super::turn::TurnArgs;
use crate::error::{Ended, Failure};
use crate::run::again::{again, told as told_of};
use crate::run::places::together;
use crate::run::render::render;
use crate::run::{Report, Run, is_first, told};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::branch::BranchShelf;
use crate::shelf::output::Output;
use crate::shelf::rounds::Work;
use crate::shelf::target::Target;
use crate::survey::last::Last;
use crate::survey::source::live::Values;
use crate::survey::{Survey, Surveyor, survey};

/// Render, make one commit on the output branch, and push it
///
/// The branch moves from exactly the commit that was read to the new one. Where another writer was
/// faster, pouch starts over from the sources. Nothing changed: no commit. A first publication needs --first,
/// so that a mistyped branch is no second place that nobody follows.
///
/// Where `output.git` has another `base` than `branch`, what changes is proposed: one commit on the tip of the base is
/// pushed to the branch, for somebody to merge, and made anew when the base or the sources move. With `{region}` in
/// it, each region has a place of its own, and one that fails stops no other.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR)]
pub struct Args {
    /// Publish where no bundle of the fleet stands yet: in a new branch, or under another `output.path`
    #[arg(long)]
    first: bool,
    /// Refresh only this Credential, and remove nothing; may be given several times
    #[arg(value_name = "NAMESPACE/NAME")]
    credential: Vec<String>,
    #[command(flatten)]
    part: Part,
    #[command(flatten)]
    wanted: Requested,
    #[command(flatten)]
    turn: TurnArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let opened = Opened::open(session)?;
    let fleet = &opened.settings.fleet;
    let output = Output::of(&opened)?.waiting(args.turn.most());
    let keys = opened.keys(session)?;
    let allowances = args.wanted.allowances(fleet)?;
    let selection = args.part.selection(fleet, &args.credential)?;
    let run = Run { session, fleet, keys: &keys, allowances: &allowances, selection: &selection, target: None };
    let outputs = [opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach, last: None };
    // A template that does not work should be known before anything is read.
    told::check_message(fleet)?;
    let plain = args.wanted == Requested::default() && selection.refresh.is_none() && !args.reach.names_a_cluster();
    let work = Publish { run: &run, surveyor: &surveyor, first: args.first, plain };
    let places = together(session, output.publish(session, &keys, surveyor.reads_stdin(), &work))?;
    let lines = told::outcomes(session, &places.report);
    told::tell(session, &places.report, &lines, &args.wanted.accepted.of_flags(fleet)?);
    places.tell(session);
    places.finish(session, "publish", fleet)
}

/// Renders at every place.
struct Publish<'a> {
    run: &'a Run<'a>,
    surveyor: &'a Surveyor<'a>,
    first: bool,
    /// Whether no flag lets anything through, or limits the run.
    plain: bool,
}

impl Work for Publish<'_> {
    type Read = Survey;
    type Made = Report;

    fn check(&self, target: &Target, shelf: &BranchShelf) -> Result<(), Failure> {
        let fleet = &target.fleet;
        // Whoever proposed it was asked already.
        if self.first || shelf.is_proposed() || !is_first(fleet, shelf)? {
            return Ok(());
        }
        Err(Failure::usage(
            format!(
                "first-publication: {} holds no bundle of fleet {} under {}",
                target.called(),
                fleet.name,
                fleet.output.path
            ),
            "If nothing was published there before, pass --first, once. If something was, correct output.git.branch, \
             output.git.repository or output.path: the regions follow another place.",
        ))
    }

    fn again(&self, last: &Stamp, standing: &str) -> Option<Report> {
        again(self.surveyor, self.run.keys, last, standing).filter(|_| self.plain)
    }

    fn read(&self, stamps: Vec<Stamp>) -> Result<Survey, Failure> {
        let last = Last { stamps, accepted: self.run.allowances.accept_source.clone() };
        let surveyor = Surveyor { last: Some(&last), ..*self.surveyor };
        let mut survey = self.run.session.timed("survey", || survey(&surveyor, Values::Read))?;
        survey.remembers(&last);
        Ok(survey)
    }

    fn make(&self, target: &Target, shelf: &BranchShelf, survey: &Survey) -> Result<(Report, String), Failure> {
        let run = self.run.at(target);
        let report = run.session.timed("render", || render(&run, survey, shelf))?;
        let message = told::commit_message(&target.fleet, &report, &survey.read, target.proposal())?;
        Ok((report, message))
    }

    fn stamp(&self, report: &Report, survey: &Survey, standing: Option<String>) -> Result<Option<Stamp>, Failure> {
        let read = survey.read.clone();
        let standing = standing.filter(|_| self.plain);
        let told = standing.map(|standing| told_of(self.surveyor, self.run.keys, (report, &read), standing));
        Ok(Some(Stamp { told: told.transpose()?.flatten(), sources: read, ..Stamp::default() }))
    }
}
