//! `pouch check`: what is wrong, and nothing else.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use pouch_core::config::Fleet;
use pouch_core::finding::{Finding, Severity, settle};
use pouch_core::report::check::baseline::Baseline;
use pouch_core::report::check::codequality::codequality;
use pouch_core::report::check::github::github;
use pouch_core::report::check::junit::junit;
use pouch_core::report::check::sarif::sarif;
use pouch_core::report::check::{Checked, checked, grouped};
use pouch_core::report::group::amounts;
use pouch_core::report::summary::Summary;
use pouch_core::report::text;

use super::asked::{Asked, LookArgs};
use super::base::{BaseArgs, Places};
use super::reach::{self, ReachArgs};
use crate::error::{Ended, Failure, said};
use crate::run::{self, Report, told};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch check
  pouch check -o sarif > pouch.sarif          for code scanning
  pouch check --write-baseline known.json     once, to begin with what is known
  pouch check --baseline known.json
  pouch check --base origin/main              what a change brings, whatever was wrong before

Exit codes: 0 nothing that is denied; 7 something is, from --deny on; 5 a source or the branch cannot be \
read; 64 usage or configuration.";

/// Check manifests and what they lead to, for people or for a CI system
///
/// It finds what `pouch plan` finds, and ends with 7 if something of it is an error, or what --deny says.
/// Nothing is published, and no value is shown. Information is left out unless -v asks for it, and with -q
/// warnings are too.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR, after_long_help = reach::below(EXAMPLES))]
pub struct Args {
    /// How findings are written
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// Minimum severity that fails the run with 7
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    deny: Deny,
    #[command(flatten)]
    base: BaseArgs,
    /// Write what is found now to a file, for --baseline, and end with 0
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "deny", "base", "baseline"])]
    write_baseline: Option<PathBuf>,
    #[command(flatten)]
    look: LookArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

/// How findings are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For machines; `pouch schema summary` describes it
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of a GitHub workflow
    Github,
    /// A JUnit report
    Junit,
    /// A code quality report of GitLab
    Codequality,
}

/// The minimum severity that fails a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Deny {
    /// Errors
    Error,
    /// Warnings and errors
    Warning,
    /// Everything that is reported
    Info,
    /// Whatever is found, the run ends with 0
    None,
}

impl Deny {
    /// The severity, if there is one.
    pub fn severity(self) -> Option<Severity> {
        match self {
            Deny::Error => Some(Severity::Error),
            Deny::Warning => Some(Severity::Warning),
            Deny::Info => Some(Severity::Info),
            Deny::None => None,
        }
    }
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    run::threads()?;
    let asked = Asked::reaching(args.reach.clone()).looking(&args.look);
    let opened = asked.open(session)?;
    // A baseline knows all, and so does who reads the JSON; for the rest, what is not told need not be looked at.
    let is_held_against = args.base.base.is_some() || args.base.baseline.is_some();
    let knows_all = is_held_against || args.write_baseline.is_some() || args.output == Format::Json;
    let informs = knows_all || args.deny == Deny::Info;
    let base = args.base.judged(session, &opened, (&asked, Severity::Info))?;
    let prepared = asked.prepared(session, &opened, vec![opened.output()])?.informing(informs);
    let places = prepared.look(None)?;
    let failed = places.failed();
    let mut report = places.report;
    let fleet = &opened.settings.fleet;
    let places = Places::of(session, &opened);
    let checkout = places.checkout();
    let mut found = std::mem::take(&mut report.findings);
    // Where nobody looked, nobody knows what is silenced for nothing.
    if failed.is_none() && !args.look.no_values {
        found.extend(fleet.govern(std::mem::take(&mut report.unused_silences).into_iter().collect()));
    }
    let deny = args.deny.severity();
    // What ends the run is shown, whatever else is not.
    let least = deny.map_or(session.ui.least(), |deny| deny.min(session.ui.least()));
    if !knows_all {
        found.retain(|finding| finding.severity >= least);
    }
    let mut found = settle(found);
    let count = found.len();
    found.extend(report.silenced.iter().map(|silenced| silenced.finding.clone()));
    let mut all = checked(&found, &checkout);
    let mut hidden = all.split_off(count);
    for (hidden, silenced) in hidden.iter_mut().zip(&report.silenced) {
        hidden.silenced = Some(&silenced.reason);
    }
    if let Some(path) = &args.write_baseline {
        if let Some(kind) = failed {
            let message = format!("no baseline is written to {}: not everything could be looked at", path.display());
            return Err(Failure { kind, message, help: String::from("Run it again once nothing fails.") });
        }
        write(path, &Baseline::of(&all))?;
        let count = amounts(all.iter().map(|checked| checked.finding.severity));
        let count = if count.is_empty() { String::from("nothing") } else { count };
        session.ui.note(&format!("{} knows {count} now", path.display()));
        return Ok(Ended::Done);
    }
    let total = all.len();
    let cured = base.as_ref().map_or(0, |base| base.cured(all.iter().chain(&hidden)));
    let is_new = |checked: &Checked<'_>| !base.as_ref().is_some_and(|base| base.knows(checked));
    let new: Vec<Checked<'_>> = all.into_iter().filter(is_new).collect();
    if let Some(base) = &base {
        base.tell(&session.ui, total.saturating_sub(new.len()), cured);
    }
    let is_denied = new.iter().any(|checked| deny.is_some_and(|deny| checked.finding.severity >= deny));
    let ended = match failed {
        Some(kind) => Ended::Partway(kind),
        None if is_denied => Ended::Denied,
        None => Ended::Done,
    };
    if args.output == Format::Json {
        report.findings = new.iter().map(|checked| checked.finding.clone()).collect();
    }
    let is_told = |checked: &Checked<'_>| checked.finding.severity >= least;
    let told: Vec<Checked<'_>> = new.into_iter().filter(is_told).collect();
    hidden.retain(is_told);
    session.ui.silenced(&report.silenced);
    // The text groups by itself, and names more where more is asked for.
    let told = if args.output == Format::Text { told } else { grouped(&told, &checkout) };
    session.ui.result(&args.shown(session, (&report, fleet, ended), (told, hidden))?);
    Ok(ended)
}

impl Args {
    fn shown(
        &self,
        session: &Session,
        (report, fleet, ended): (&Report, &Fleet, Ended),
        (mut told, silenced): (Vec<Checked<'_>>, Vec<Checked<'_>>),
    ) -> Result<String, Failure> {
        let is_whole = !matches!(ended, Ended::Partway(_));
        // No other format can say that a finding does not count.
        if self.output == Format::Sarif {
            told.extend(silenced);
        }
        let told = &*told;
        Ok(match self.output {
            Format::Text => words(session, told, is_whole),
            Format::Json => {
                let summary = told::summary_of(session, report, "check", None, fleet, ended);
                // What is held is let through by who publishes.
                told::json(serde_json::to_string_pretty(&Summary { accept_command: None, ..summary }))?
            }
            Format::Sarif => {
                told::json(serde_json::to_string_pretty(&sarif(told, env!("CARGO_PKG_VERSION"), is_whole)))?
            }
            Format::Github => github(told),
            Format::Junit => junit(told, self.deny.severity(), is_whole),
            Format::Codequality => told::json(serde_json::to_string_pretty(&codequality(told)))?,
        })
    }
}

fn words(session: &Session, told: &[Checked<'_>], is_whole: bool) -> String {
    if told.is_empty() && is_whole {
        session.ui.note("nothing found");
    }
    let findings: Vec<&Finding> = told.iter().map(|checked| checked.finding).collect();
    let links = session.ui.result_links(&findings);
    session.ui.shown(&text::findings(&findings, &links, session.global.verbose))
}

fn write(path: &Path, baseline: &Baseline) -> Result<(), Failure> {
    fs::write(path, told::json(serde_json::to_string_pretty(baseline))?).map_err(|error| {
        let why = match error.kind() {
            io::ErrorKind::NotFound => String::from("there is no such folder"),
            _ => said(&error),
        };
        let message = format!("cannot write the baseline to {}: {why}", path.display());
        Failure::failed(message, "Name a file in a folder that is there and that pouch may write to.")
    })
}
