//! `pouch publish`: render, one commit, one push.

use pouch_core::region::allowances::Selection;
use pouch_core::stamp::Stamp;

use super::accept::Requested;
use super::reach::{self, ReachArgs};
use super::turn::TurnArgs;
use crate::error::{Ended, Failure};
use crate::run::again::{again, told as told_of};
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
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR)]
pub struct Args {
    /// Publish where no bundle of the fleet stands yet: in a new branch, or under another `output.path`
    #[arg(long)]
    first: bool,
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
    let run = Run { session, fleet, keys: &keys, allowances: &allowances, selection: &Selection::default() };
    let outputs = [opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach, last: None };
    // A template that does not work should be known before anything is read.
    told::check_message(fleet)?;
    let plain = args.wanted == Requested::default();
    let work = Publish { run: &run, surveyor: &surveyor, first: args.first, plain };
    let target = output.only()?;
    let (report, commit) = output.publish(session, &keys, surveyor.reads_stdin(), &work)?;
    told::tell(session, &report, &told::outcomes(session, &report), &args.wanted.accepted.of_flags(fleet)?);
    session.ui.note(&match &commit {
        Some(commit) => format!("{} is at {commit}", target.branch),
        None => format!("nothing changed; {} stays as it is", target.branch),
    });
    told::finish(session, &report, "publish", commit, fleet)
}

/// Renders at every place.
struct Publish<'a> {
    run: &'a Run<'a>,
    surveyor: &'a Surveyor<'a>,
    first: bool,
    /// Whether no flag lets anything through.
    plain: bool,
}

impl Work for Publish<'_> {
    type Read = Survey;
    type Made = Report;

    fn check(&self, target: &Target, shelf: &BranchShelf) -> Result<(), Failure> {
        let fleet = self.run.fleet;
        if self.first || !is_first(fleet, shelf)? {
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
        self.run.session.timed("survey", || survey(&surveyor, Values::Read))
    }

    fn make(&self, _: &Target, shelf: &BranchShelf, survey: &Survey) -> Result<(Report, String), Failure> {
        let Run { session, fleet, .. } = *self.run;
        let report = session.timed("render", || render(self.run, survey, shelf))?;
        let message = told::commit_message(fleet, &report, &survey.read)?;
        Ok((report, message))
    }

    fn stamp(&self, report: &Report, survey: &Survey, standing: Option<String>) -> Result<Option<Stamp>, Failure> {
        let read = survey.read.clone();
        let standing = standing.filter(|_| self.plain);
        let told = standing.map(|standing| told_of(self.surveyor, self.run.keys, (report, &read), standing));
        Ok(Some(Stamp { told: told.transpose()?.flatten(), sources: read }))
    }
}
