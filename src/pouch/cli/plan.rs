//! `pouch plan`: what a publish would change.

use std::path::PathBuf;

use clap::ValueEnum;
use pouch_core::explain::{Question, explanation};
use pouch_core::finding::Severity;
use pouch_core::page;
use pouch_core::report::markdown::markdown;
use pouch_core::report::plan;

use super::asked::{Asked, LookArgs};
use super::base::{self, Base, BaseArgs};
use super::pages::Now;
use super::reach;
use crate::error::{Ended, Failure};
use crate::run::places::Places;
use crate::run::publish::First;
use crate::run::{log, told};
use crate::session::Session;
use crate::settings::Opened;
use crate::shelf::output::Output;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch plan
  pouch plan --detailed-exitcode          in scripts
  pouch plan -o markdown > comment.md     for a pull request
  pouch plan --base origin/main           what a change brings and cures, apart from what was found before
  pouch plan -o html > plan.html          for people who look at it in a browser
  pouch plan --no-values --config-from origin/main      for a fork: no key, and the configuration is yours

Exit codes: 0 planned, whatever would happen; 2 with --detailed-exitcode if something would change or be held; \
5 a source or the branch cannot be read; 64 usage or configuration.";

/// Say what a publish would change, and change nothing
///
/// Compares with the branch of `output.git`, or without it with the folder at `output.path`, and lists by
/// region and Credential what would be added, changed, withdrawn, sealed anew or held, and what is wrong.
/// Never shows a value. The sources are read, and the reuse key; no private key is needed, and with
/// --no-values no key at all.
///
/// What would not be published, or would be held, is no failure: it ends with 0 where a publish would end with
/// 3, 4 or 8. With --detailed-exitcode, what would be held ends it with 2. Where a place or a source cannot be read it ends as a publish does.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// How the plan is written
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// End with 2 if anything would change in what is published, or would be held, and with 0 if not
    #[arg(long)]
    detailed_exitcode: bool,
    #[command(flatten)]
    base: BaseArgs,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    asked: Asked,
}

/// How a plan is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Format {
    /// For people
    Text,
    /// For machines, the same as --summary; `pouch schema summary` describes it
    Json,
    /// For a comment on a pull request, in at most 65,536 characters
    Markdown,
    /// A page to review, which needs nothing else
    Html,
}

/// What the command is called.
const NAME: &str = "plan";

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let asked = &args.asked.clone().looking(&args.look);
    let opened = asked.open(session)?;
    // A document for people tells no pieces of information.
    let least = match args.output {
        Format::Json => Severity::Info,
        Format::Markdown | Format::Html => Severity::Warning,
        Format::Text if session.global.summary.is_some() => Severity::Info,
        Format::Text => session.ui.least(),
    };
    let base = args.base.judged(session, &opened, (asked, least))?;
    let base = base.as_ref();
    let command = Command { name: NAME, detailed_exitcode: args.detailed_exitcode, output: args.output, base };
    match &opened.settings.fleet.output.git {
        Some(_) => branches(session, &opened, (asked, First::Said), command),
        None => folder(session, &opened, (asked, opened.output()), command),
    }
}

/// Who wants it.
#[derive(Clone, Copy)]
pub struct Command<'b> {
    /// What the command is called in the summary.
    pub name: &'static str,
    /// Whether the exit code tells of changes.
    pub detailed_exitcode: bool,
    /// How the plan is written.
    pub output: Format,
    /// What its findings are held against.
    base: Option<&'b Base>,
}

impl Command<'_> {
    /// A command that publishes and was given `--dry-run`.
    pub fn dry_run(name: &'static str) -> Self {
        Self { name, detailed_exitcode: false, output: Format::Text, base: None }
    }

    /// Returns true if the plan has pieces of information, whatever is told beside it.
    fn informs(self) -> bool {
        self.output != Format::Text
    }

    /// What is to be explained beside the plan.
    fn question(self) -> Option<&'static Question> {
        (self.output == Format::Html).then_some(&Question::Changes)
    }
}

/// Tells what a publish would do at the branches.
pub fn branches(
    session: &Session,
    opened: &Opened,
    (asked, first): (&Asked, First),
    command: Command<'_>,
) -> Result<Ended, Failure> {
    let output = Output::of(opened)?;
    let prepared = asked.prepared(session, opened, vec![opened.output()])?.informing(command.informs());
    told::check_message(&opened.settings.fleet)?;
    // What another run told explains nothing.
    let is_plain = prepared.is_plain && command.question().is_none() && command.base.is_none();
    let places = prepared.look_at_branches(&output, (first, is_plain), command.question())?;
    if let Some(lack) = output.lacks_key(session) {
        session.ui.note(&lack);
    }
    finish(session, opened, (places, asked, "publish"), command)
}

/// Tells what a render would do in a folder.
pub fn folder(
    session: &Session,
    opened: &Opened,
    (asked, target): (&Asked, PathBuf),
    command: Command<'_>,
) -> Result<Ended, Failure> {
    let prepared = asked.prepared(session, opened, vec![target.clone(), opened.output()])?;
    let prepared = prepared.informing(command.informs());
    let (report, survey) = prepared.look_at(&target, command.question())?;
    survey.wiped_beside(|| finish(session, opened, (Places::of_folder(report), asked, "render"), command))
}

fn finish(
    session: &Session,
    opened: &Opened,
    (mut places, asked, done_by): (Places, &Asked, &'static str),
    Command { name, detailed_exitcode, output, base }: Command<'_>,
) -> Result<Ended, Failure> {
    let fleet = &opened.settings.fleet;
    places.report.done_by = (name == NAME).then_some(done_by);
    let since = base.map(|base| base.held_against(&places.report, &base::Places::of(session, opened)));
    places.report.since = since;
    let mut answer = std::mem::take(&mut places.report.explained);
    answer.settle();
    let report = &places.report;
    let summary = || told::summary_of(session, report, name, None, fleet, places.ended_plan(detailed_exitcode));
    let text = match output {
        Format::Text => told::planned(session, report),
        Format::Json => told::json(serde_json::to_string_pretty(&summary()))?,
        Format::Html => {
            let explained = explanation(fleet, &Question::Changes, answer);
            let life = log::beside(session, opened, None);
            let now = Now::of(session);
            page::plan(&summary(), (&explained, life.as_ref()), told::planned_word, now.maker())
        }
        Format::Markdown => markdown(&plan::plan(&summary(), told::planned_word), "pouch plan"),
    };
    told::tell(session, report, &text, &asked.wanted.given(fleet)?);
    places.finish_plan(session, (name, detailed_exitcode), fleet)
}
