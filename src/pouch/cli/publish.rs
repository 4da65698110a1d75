//! `pouch publish`: render, one commit, one push.

use super::accept::Requested;
use super::part::Part;
use super::plan;
use super::reach::{self, ReachArgs};
use super::turn::TurnArgs;
use crate::error::{Ended, Failure};
use crate::run::places::together;
use crate::run::publish::{First, Publish};
use crate::run::{Run, told};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::output::Output;
use crate::survey::Surveyor;

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
    /// Say what would happen, and change nothing: what `pouch plan` says of the branch
    #[arg(long)]
    dry_run: bool,
    /// Refresh only this Credential, and remove nothing; may be given several times
    #[arg(value_name = "NAMESPACE/NAME")]
    named: Vec<String>,
    /// The same as a flag, as `plan` and `render` have it
    #[arg(long, value_name = "NAMESPACE/NAME", help_heading = "Refreshing a part")]
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
    let credential = [&*args.named, &args.credential].concat();
    if args.dry_run {
        let Args { part, wanted, reach, first, .. } = args;
        let command = plan::Command { name: "publish --dry-run", detailed_exitcode: false };
        return plan::branches(
            session,
            &opened,
            &plan::Asked { credential: &credential, part, wanted, reach, first: *first },
            command,
        );
    }
    let fleet = &opened.settings.fleet;
    let output = Output::of(&opened)?.waiting(args.turn.most());
    let keys = opened.keys(session)?;
    let allowances = args.wanted.allowances(fleet)?;
    let selection = args.part.selection(fleet, &credential)?;
    let run = Run { session, fleet, keys: &keys, allowances: &allowances, selection: &selection, target: None };
    let outputs = [opened.output()];
    let reach = args.reach.reach(&session.ambient);
    let surveyor = Surveyor { session, fleet, base: &opened.typed, outputs: &outputs, reach: &reach, last: None };
    // A template that does not work should be known before anything is read.
    told::check_message(fleet)?;
    let plain = args.wanted == Requested::default() && selection.refresh.is_none() && !args.reach.names_a_cluster();
    let first = if args.first { First::Taken } else { First::Refused };
    let work = Publish { run: &run, surveyor: &surveyor, first, plain };
    let places = together(session, output.publish(session, &keys, surveyor.reads_stdin(), &work))?;
    let lines = told::outcomes(session, &places.report);
    told::tell(session, &places.report, &lines, &args.wanted.accepted.of_flags(fleet)?);
    places.tell(session);
    places.finish(session, "publish", fleet)
}
