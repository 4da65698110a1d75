//! `pouch check`: what is wrong, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use pouch_core::config::Fleet;
use pouch_core::finding::{Finding, Severity};
use pouch_core::listing::counted;
use pouch_core::report::check::baseline::Baseline;
use pouch_core::report::check::codequality::codequality;
use pouch_core::report::check::github::github;
use pouch_core::report::check::junit::junit;
use pouch_core::report::check::sarif::sarif;
use pouch_core::report::check::{Checked, checked, counts};
use pouch_core::report::summary::Summary;
use pouch_core::report::{escape_json, text};

use super::asked::Asked;
use super::reach::{self, ReachArgs};
use crate::error::{Ended, Failure, said};
use crate::run::{self, Report, told};
use crate::session::Session;

/// Say what is wrong, in words or for a CI system
///
/// It finds what `pouch plan` finds, and ends with 7 if something of it is an error, or what --deny says.
/// Nothing is published, and no value is shown. Information is left out unless -v asks for it, and with -q
/// warnings are too.
#[derive(Debug, clap::Args)]
#[command(after_help = reach::ONLY_FOR)]
pub struct Args {
    /// How findings are written
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
    /// From which severity on findings end the run with 7
    #[arg(long, value_name = "LEVEL", default_value = "error")]
    deny: Deny,
    /// Leave out the findings that stand in this file, which --write-baseline has written
    #[arg(long, value_name = "FILE", conflicts_with = "write_baseline")]
    baseline: Option<PathBuf>,
    /// Write what is found now to a file, for --baseline, and end with 0
    #[arg(long, value_name = "FILE")]
    write_baseline: Option<PathBuf>,
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

/// From which severity on findings are denied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Deny {
    Error,
    Warning,
    Info,
    /// Whatever is found, the run ends with 0
    None,
}

impl Deny {
    fn severity(self) -> Option<Severity> {
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
    let known = args.baseline.as_deref().map(read).transpose()?;
    let asked = Asked::reaching(args.reach.clone());
    let opened = asked.open(session)?;
    let prepared = asked.prepared(session, &opened, (&[], vec![opened.output()]))?;
    let places = prepared.look(None)?;
    let failed = places.failed();
    let mut report = places.report;
    let config = session.global.file.display().to_string();
    if let Some(path) = &args.write_baseline {
        let all = checked(&report.findings, &config);
        write(path, &Baseline::of(&all))?;
        let count = counted(all.len(), "finding", "findings");
        session.ui.note(&format!("{} knows {count} now", path.display()));
        return Ok(failed.map_or(Ended::Done, Ended::Partway));
    }
    if let Some(known) = &known {
        report.findings = leave_out(session, known, &report.findings, &config);
    }
    let deny = args.deny.severity();
    let is_denied = report.findings.iter().any(|finding| deny.is_some_and(|deny| finding.severity >= deny));
    let ended = match failed {
        Some(kind) => Ended::Partway(kind),
        None if is_denied => Ended::Denied,
        None => Ended::Done,
    };
    session.ui.result(&args.shown(session, (&report, &opened.settings.fleet, ended), &config)?);
    Ok(ended)
}

/// The findings that a baseline does not know.
fn leave_out(session: &Session, known: &Baseline, findings: &[Finding], config: &str) -> Vec<Finding> {
    let all = checked(findings, config);
    let rest: Vec<Finding> =
        all.iter().filter(|checked| !known.knows(checked)).map(|checked| checked.finding.clone()).collect();
    let left_out = all.len().saturating_sub(rest.len());
    session.ui.note(&format!("{} of the baseline left out", counted(left_out, "finding", "findings")));
    let cured = known.cured(&all);
    if cured > 0 {
        let cured = counted(cured, "finding of the baseline is", "findings of the baseline are");
        session.ui.note(&format!("{cured} not found any more; write it anew with --write-baseline"));
    }
    rest
}

impl Args {
    fn shown(
        &self,
        session: &Session,
        (report, fleet, ended): (&Report, &Fleet, Ended),
        config: &str,
    ) -> Result<String, Failure> {
        let least = session.ui.least();
        let told: Vec<Finding> = report.findings.iter().filter(|finding| finding.severity >= least).cloned().collect();
        let checked = checked(&told, config);
        Ok(match self.output {
            Format::Text => words(session, &checked),
            Format::Json => {
                let summary = told::summary_of(session, report, "check", None, fleet, ended);
                // What is held is let through by who publishes.
                told::json(&Summary { accept_command: None, ..summary })?
            }
            Format::Sarif => json(serde_json::to_string_pretty(&sarif(&checked, env!("CARGO_PKG_VERSION"))))?,
            Format::Github => github(&checked),
            Format::Junit => junit(&checked, self.deny.severity()),
            Format::Codequality => json(serde_json::to_string_pretty(&codequality(&checked)))?,
        })
    }
}

fn words(session: &Session, checked: &[Checked<'_>]) -> String {
    if checked.is_empty() {
        session.ui.note("nothing found");
        return String::new();
    }
    let paint = session.ui.result_paint();
    let mut out = String::new();
    for checked in checked {
        out.push_str(&text::finding(checked.finding, paint));
        out.push('\n');
    }
    out + &counts(checked.iter().map(|checked| checked.finding)) + "\n"
}

fn json(written: serde_json::Result<String>) -> Result<String, Failure> {
    Ok(escape_json(&written.map_err(|_| Failure::bug("the findings are not JSON"))?) + "\n")
}

fn read(path: &Path) -> Result<Baseline, Failure> {
    let unusable = |why: &str| {
        Failure::usage(
            format!("the baseline {} cannot be used: {why}", path.display()),
            "Write it with `pouch check --write-baseline FILE`.",
        )
    };
    let text = fs::read_to_string(path).map_err(|error| unusable(&said(&error)))?;
    let baseline: Baseline = serde_json::from_str(&text).map_err(|_| unusable("it is no baseline"))?;
    match baseline.is_known() {
        true => Ok(baseline),
        false => Err(unusable("it is in a format that this release does not know")),
    }
}

fn write(path: &Path, baseline: &Baseline) -> Result<(), Failure> {
    fs::write(path, json(serde_json::to_string_pretty(baseline))?).map_err(|error| {
        let message = format!("cannot write the baseline to {}: {}", path.display(), said(&error));
        Failure::failed(message, "Name a file in a folder that is there and that pouch may write to.")
    })
}
