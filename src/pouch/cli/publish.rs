//! `pouch publish`: render, one commit, one push.

use super::asked::Asked;
use super::plan;
use super::reach;
use super::turn::TurnArgs;
use crate::error::{Ended, Failure};
use crate::run::places::together;
use crate::run::publish::{First, Publish};
use crate::run::told;
use crate::session::Session;
use crate::shelf::output::Output;
use crate::survey::source::live::Values;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch publish --first                       once, where nothing was published yet
  pouch publish --summary summary.json        from cron or CI
  pouch publish team-a/aws                    this Credential alone

Exit codes: 0 done or nothing to do; 1 failed, and nothing is published; 3 some Credentials are broken \
or refused; 4 a region is held; 5 a source or the branch cannot be read; 6 other writers were faster; \
8 `verify` would find a fault; 64 usage or configuration.";

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
#[command(after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// Publish where no bundle of the fleet stands yet: in a new branch, or under another `output.path`
    #[arg(long)]
    first: bool,
    /// Change nothing: this is `pouch plan`, of the branch
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    asked: Asked,
    #[command(flatten)]
    turn: TurnArgs,
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
    if args.dry_run {
        let first = if args.first { First::Taken } else { First::Said };
        let command = plan::Command::dry_run("publish --dry-run");
        return plan::branches(session, &opened, (&args.asked, first), command);
    }
    let fleet = &opened.settings.fleet;
    let output = Output::of(&opened)?.waiting(args.turn.most());
    let prepared = args.asked.prepared(session, &opened, vec![opened.output()])?;
    // A template that does not work should be known before anything is read.
    told::check_message(fleet)?;
    let (run, surveyor) = (prepared.run(), prepared.surveyor());
    let first = if args.first { First::Taken } else { First::Refused };
    let work = Publish { run: &run, surveyor: &surveyor, values: &Values::Read, first, plain: prepared.is_plain };
    let done = output.publish(session, &prepared.keys, surveyor.reads_stdin(), &work);
    let artifacts = prepared.copying().of_places(&done);
    let places = together(session, done)?.with(artifacts);
    let lines = told::outcomes(session, &places.report);
    told::tell(session, &places.report, &lines, &args.asked.wanted.given(fleet)?);
    places.tell(session);
    places.finish(session, "publish", fleet)
}
