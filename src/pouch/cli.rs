//! The command line: one file per command, each an `Args` struct and one function.
//!
//! Here stands what commands share: global flags, opening the configuration, what a user lets through,
//! and how a run ends. Exit codes are known here and in [`failure`](crate::error) only.

mod accepted;
pub mod completions;
pub mod config;
pub mod exposure;
pub mod init;
pub mod keygen;
pub mod man;
pub mod metrics;
pub mod publish;
pub mod rbac;
pub mod reach;
pub mod records;
pub mod rekey;
pub mod render;
pub mod schema;
pub mod verify;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::{Parser, Subcommand};
use pouch_core::config::error::leaks;
use pouch_core::config::{Accept, Acceptance, Fleet, RegionConfig, is_digest};
use pouch_core::listing::counted;
use pouch_core::name::Region;
use pouch_core::region::allowances::Allowances;
use pouch_core::report::summary::{FindingRecord, Summary};
use pouch_core::report::{escape, escape_json};
use pouch_core::reuse::KeyRing;

use crate::ambient::Ambient;
use crate::error::{Failure, exit};
use crate::run::Report;
use crate::settings::{self, Settings};
use crate::stop::{Stop, Stopped};
use crate::telemetry;
use crate::ui::{Colour, Level, LogFormat, Ui};

/// Pack cloud credentials into sealed bundles, one per region
///
/// pouch reads k0rdent Credentials from manifests, works out everything each of them needs, encrypts
/// the Secrets with age in SOPS format, and writes one kustomize bundle per region for Flux or Argo CD.
#[derive(Debug, Parser)]
#[command(name = "pouch", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

/// Flags of every command.
#[derive(Debug, clap::Args)]
pub struct Global {
    /// The configuration
    #[arg(short = 'f', long = "file", value_name = "FILE", default_value = "pouch.yaml", global = true)]
    pub file: PathBuf,
    /// Write what the run did and found to FILE, as JSON (render, publish, rekey, verify); removed before the run
    #[arg(long, value_name = "FILE", global = true)]
    pub summary: Option<PathBuf>,
    /// Write how the run ended to FILE, as Prometheus text, even if it failed (render, publish, rekey, verify)
    #[arg(long, value_name = "FILE", global = true)]
    pub metrics: Option<PathBuf>,
    /// How messages on stderr are written
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true)]
    pub log_format: LogFormat,
    /// When messages are coloured
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Colour,
    /// Show in detail what pouch does, but never bodies or values
    #[arg(long, value_name = "LEVEL", global = true)]
    pub log_level: Option<telemetry::LogLevel>,
    /// Show information too, not only warnings and errors
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Show errors only
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Treat these outcomes as success
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',', global = true)]
    pub tolerate: Vec<Tolerate>,
}

/// An outcome that need not be a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Tolerate {
    /// Some Credentials are broken or refused (exit 3)
    Partial,
    /// A region was held by the brake (exit 4)
    Brake,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(args = records::refused())]
    Init(init::InitArgs),
    Render(render::Args),
    Publish(publish::Args),
    Rekey(rekey::Args),
    Verify(verify::Args),
    #[command(args = records::refused())]
    Exposure(exposure::Args),
    #[command(args = records::refused())]
    Keygen(keygen::Args),
    #[command(args = records::refused())]
    Rbac(rbac::Args),
    #[command(args = records::refused())]
    Config(config::ConfigArgs),
    #[command(args = records::refused())]
    Schema(schema::SchemaArgs),
    #[command(args = records::refused())]
    Completions(completions::Args),
    #[command(args = records::refused())]
    Man(man::Args),
}

/// What a run lets through that is otherwise held.
#[derive(Debug, Default, clap::Args)]
pub struct Accepted {
    /// Let a region's withdrawals through, with the digest that the finding printed
    #[arg(long, value_name = "REGION=DIGEST")]
    accept_deletions: Vec<String>,
    /// Let recipients be added to a published region
    #[arg(long, value_name = "REGION=DIGEST")]
    accept_recipients: Vec<String>,
    /// Let Secrets be sealed anew whose files do not match the manifest
    #[arg(long, value_name = "REGION=DIGEST")]
    accept_reseal: Vec<String>,
    /// Let a source be another repository or cluster than before
    #[arg(long, value_name = "REGION=ID")]
    accept_source: Vec<String>,
    /// Remove files in a region's folders that pouch did not write
    #[arg(long, value_name = "REGION")]
    remove_foreign: Vec<String>,
}

/// What a run lets through, and what it does anew.
#[derive(Debug, Default, clap::Args)]
pub struct Wanted {
    #[command(flatten)]
    accepted: Accepted,
    /// Replace a region's files that no manifest authenticates, carrying nothing over
    #[arg(long, value_name = "REGION")]
    adopt: Vec<String>,
    /// Seal a region's Secrets anew, or those of all
    #[arg(long, value_name = "REGION|all")]
    reseal: Vec<String>,
}

/// The region that a flag names, by its name or its folder.
///
/// # Errors
/// Where the configuration has no such region.
fn region_called<'a>(fleet: &'a Fleet, called: &str) -> Result<&'a RegionConfig, Failure> {
    let is_it = |region: &&RegionConfig| region.name == *called || region.directory == *called;
    fleet.regions.values().find(is_it).ok_or_else(|| {
        let names: Vec<&str> = fleet.regions.keys().map(Region::as_str).collect();
        Failure::usage(
            format!("the configuration has no region {called}"),
            format!("Its regions are {}.", names.join(", ")),
        )
    })
}

impl Wanted {
    /// Joins flags and `limits.accept`.
    ///
    /// # Errors
    /// Where a flag has no `=`, or names a region that the configuration does not know.
    pub fn allowances(&self, fleet: &Fleet) -> Result<Allowances, Failure> {
        for region in self.adopt.iter().chain(self.reseal.iter().filter(|region| *region != "all")) {
            region_called(fleet, region)?;
        }
        Ok(Allowances {
            adopt: self.adopt.iter().cloned().collect(),
            reseal: self.reseal.iter().cloned().collect(),
            ..self.accepted.allowances(fleet)?
        })
    }
}

/// The region that a flag's value is for, and the value.
fn pair(flag: &str, value: &str, fleet: &Fleet) -> Result<(String, String), Failure> {
    match value.split_once('=') {
        Some((region, rest)) if !rest.is_empty() => {
            Ok((region_called(fleet, region)?.name.to_string(), rest.to_owned()))
        }
        _ => Err(Failure::usage(
            format!("{flag} takes REGION=VALUE, as the finding printed it"),
            "Copy the flag from the finding's help line.",
        )),
    }
}

impl Accepted {
    /// Joins flags and `limits.accept`.
    ///
    /// # Errors
    /// As [`Wanted::allowances`].
    pub fn allowances(&self, fleet: &Fleet) -> Result<Allowances, Failure> {
        let mut accepted = fleet.limits.accept.clone();
        accepted.extend(self.of_flags(fleet)?);
        let mut accept_source = BTreeSet::new();
        for value in &self.accept_source {
            accept_source.insert(pair("--accept-source", value, fleet)?);
        }
        for region in &self.remove_foreign {
            region_called(fleet, region)?;
        }
        let remove_foreign = self.remove_foreign.iter().cloned().collect();
        Ok(Allowances { accepted, remove_foreign, accept_source, ..Allowances::default() })
    }

    /// What flags let through of the brake.
    ///
    /// # Errors
    /// As [`Wanted::allowances`].
    fn of_flags(&self, fleet: &Fleet) -> Result<Vec<Acceptance>, Failure> {
        let mut accepted = Vec::new();
        for (what, values) in [
            (Accept::Deletions, &self.accept_deletions),
            (Accept::Recipients, &self.accept_recipients),
            (Accept::Reseal, &self.accept_reseal),
        ] {
            let flag = accepted::flag(what);
            for value in values {
                let (region, digest) = pair(flag, value, fleet)?;
                if !is_digest(&digest) {
                    return Err(Failure::usage(
                        format!("{flag} takes the 16 hex digits that the finding printed"),
                        "Copy the flag from the finding's help line.",
                    ));
                }
                accepted.push(Acceptance { region: Region::from(region.as_str()), what, digest });
            }
        }
        Ok(accepted)
    }
}

/// The configuration, opened.
pub struct Opened {
    /// What it says.
    pub settings: Settings,
    /// Its folder as the user typed it: paths in findings start with it.
    pub typed: PathBuf,
}

impl Opened {
    /// Reads the configuration that the global flags name.
    ///
    /// # Errors
    /// Where it cannot be read or is wrong.
    pub fn open(global: &Global, ambient: &Ambient) -> Result<Self, Failure> {
        let settings = settings::load(&global.file, ambient)?;
        let typed = global.file.parent().unwrap_or(Path::new("")).to_owned();
        Ok(Self { settings, typed })
    }

    /// Reads the reuse keys.
    ///
    /// # Errors
    /// Where one is missing, empty or malformed.
    pub fn keys(&self, ambient: &Ambient, ui: &Ui) -> Result<KeyRing, Failure> {
        let (keys, warnings) = settings::reuse_keys(&self.settings, ambient)?;
        for warning in warnings {
            ui.warn(&warning);
        }
        Ok(keys)
    }
}

/// The exit code of a run that published, or had nothing to.
fn code_of(report: &Report, tolerate: &[Tolerate]) -> u8 {
    if report.is_held() && !tolerate.contains(&Tolerate::Brake) {
        exit::HELD
    } else if report.is_partial() && !tolerate.contains(&Tolerate::Partial) {
        exit::PARTIAL
    } else {
        exit::OK
    }
}

/// Ends a run: writes the summary and the metrics, and says how it went.
///
/// # Errors
/// Where one of them cannot be written.
pub fn finish(
    report: &Report,
    command: &'static str,
    commit: Option<String>,
    fleet: &Fleet,
    global: &Global,
    ambient: &Ambient,
    ui: &Ui,
) -> Result<u8, Failure> {
    let code = code_of(report, &global.tolerate);
    let summary = summary_of(report, command, commit, fleet, code);
    record(&summary, global, ambient, "The bundles are written")?;
    let Some(c) = &report.credentials else { return Ok(code) };
    let credentials = counted(c.admitted, "Credential", "Credentials");
    let paused = if c.paused == 0 { String::new() } else { format!(", {} for paused regions", c.paused) };
    ui.note(&format!(
        "{credentials} resolved, {} refused, {} broken, {} not for a region{paused}",
        c.refused, c.broken, c.unpublished
    ));
    Ok(code)
}

/// What is told of a run.
fn summary_of(report: &Report, command: &'static str, commit: Option<String>, fleet: &Fleet, code: u8) -> Summary {
    Summary {
        api_version: "pouch/v1alpha1",
        kind: "Summary",
        fleet: fleet.name.to_string(),
        command,
        exit_code: code,
        commit,
        credentials: report.credentials.clone(),
        regions: Some(report.regions.clone()),
        verified: None,
        proved: None,
        findings: report.findings.iter().map(FindingRecord::from).collect(),
    }
}

/// Writes the summary and the metrics, as far as they are wanted.
///
/// # Errors
/// Where one of them cannot be written; `done` says what was done all the same.
fn record(summary: &Summary, global: &Global, ambient: &Ambient, done: &str) -> Result<(), Failure> {
    if let Some(path) = &global.summary {
        let text = serde_json::to_string_pretty(summary).map_err(|_| Failure::bug("the summary is not JSON"))?;
        let text = escape_json(&text) + "\n";
        std::fs::write(path, text).map_err(|error| {
            let message = format!("cannot write the summary to {}: {error}", path.display());
            Failure::failed(message, format!("{done}; only the summary is missing."))
        })?;
    }
    if let Some(path) = &global.metrics {
        metrics::write(path, summary, ambient).map_err(|error| {
            let message = format!("cannot write the metrics to {}: {error}", path.display());
            Failure::failed(message, format!("{done}; only the metrics are missing."))
        })?;
    }
    Ok(())
}

fn print(ui: &Ui, text: &str) -> u8 {
    ui.result(text);
    exit::OK
}

/// Runs the command that this process was started for. Returns the exit code.
pub fn main() -> u8 {
    match Ambient::of_process() {
        Ok(ambient) => run(&ambient),
        Err(error) => {
            crate::ui::last_words(&format!("error: the current folder cannot be used: {}\n", error.kind()));
            exit::FAILED
        }
    }
}

/// Commands that people know of and that this release does not have. clap would offer what is spelled alike.
const LATER: [&str; 4] = ["plan", "check", "explain", "unpack"];

/// Says what is wrong with the command line. Returns the exit code.
///
/// clap repeats arguments as they are, and a line feed in one could begin a line that a CI system obeys:
/// so what it says is what it says of the escaped ones.
fn refuse(arguments: &[OsString]) -> u8 {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion};
    use clap::error::{ContextKind, ContextValue};
    let escaped = arguments.iter().map(|argument| escape(&argument.to_string_lossy()));
    let Err(error) = Cli::try_parse_from(escaped) else {
        crate::ui::last_words("error: the command line holds an argument that is not text\n");
        return exit::USAGE;
    };
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && LATER.contains(&typed.as_str())
    {
        crate::ui::last_words(&format!(
            "error: `pouch {typed}` is not in this release\n  = help: To see what a run would change, `pouch render` into \
             a clone of the output repository and look at `git diff`. `pouch --help` lists the commands there are.\n"
        ));
        return exit::USAGE;
    }
    let fine = matches!(error.kind(), DisplayHelp | DisplayVersion);
    if error.print().is_ok() && fine { exit::OK } else { exit::USAGE }
}

/// Parses the command line and runs the command. Returns the exit code.
pub fn run(ambient: &Ambient) -> u8 {
    let arguments = ambient.arguments();
    if arguments.iter().any(|argument| leaks(&argument.to_string_lossy())) {
        // Not repeated, and the place not named by its neighbours either: a flag may be glued to it.
        crate::ui::last_words(
            "error: the command line holds a key or a password, which every process of the machine can read\n  \
             = help: Treat it as leaked, and make a new one; pouch takes keys from files and variables only.\n",
        );
        return exit::USAGE;
    }
    let Ok(cli) = Cli::try_parse_from(arguments) else { return refuse(arguments) };
    let level = match (cli.global.verbose, cli.global.quiet) {
        (true, _) => Level::Verbose,
        (_, true) => Level::Quiet,
        _ => Level::Normal,
    };
    let ui = Ui::new(cli.global.log_format, cli.global.color, level, ambient);
    let global = &cli.global;
    if let Some(level) = global.log_level {
        telemetry::start(level, global.log_format);
    }
    // Only commands that publish or fetch have something to finish or tidy.
    let stop = match &cli.command {
        Command::Render(_) | Command::Publish(_) | Command::Rekey(_) | Command::Exposure(_) | Command::Verify(_) => {
            Stop::on_signals()
        }
        _ => Stop::never(),
    };
    // Before anything is read: what cannot be told afterwards should not be done.
    let recorded = match &cli.command {
        Command::Rekey(args) if !args.writes() => {
            records::refuse_metrics(global).and_then(|()| records::prepare(global))
        }
        Command::Render(_) | Command::Publish(_) | Command::Rekey(_) | Command::Verify(_) => records::prepare(global),
        _ => records::refuse(global),
    };
    if let Err(failure) = recorded {
        ui.error(&failure.message, &failure.help);
        return failure.code;
    }
    let outcome = match &cli.command {
        Command::Init(args) => init::start(args, global, ambient, &ui, &stop).map(|text| print(&ui, &text)),
        Command::Render(args) => render::run(args, global, ambient, &ui, &stop),
        Command::Publish(args) => publish::run(args, global, ambient, &ui, &stop),
        Command::Rekey(args) => rekey::run(args, global, ambient, &ui, &stop),
        Command::Verify(args) => verify::run(args, global, ambient, &ui, &stop),
        Command::Exposure(args) => exposure::run(args, global, ambient, &ui, &stop),
        Command::Keygen(args) => keygen::run(args, global, ambient, &ui, &stop),
        Command::Rbac(args) => rbac::run(args, global, ambient, &ui, &stop),
        Command::Config(args) => {
            config::run(args, &global.file, ambient).map(|text| print(&ui, &text)).map_err(Failure::from)
        }
        Command::Schema(args) => Ok(print(&ui, &schema::run(args))),
        Command::Completions(args) => completions::run(args, &ui),
        Command::Man(args) => man::run(args, &ui),
    };
    let failed = match &cli.command {
        Command::Render(_) if outcome.is_err() => Some(("render", None)),
        Command::Publish(_) if outcome.is_err() => Some(("publish", None)),
        Command::Rekey(args) if outcome.is_err() && args.writes() => Some(("rekey", None)),
        Command::Verify(args) if outcome.is_err() => Some(("verify", args.region())),
        _ => None,
    };
    let code = match (outcome, stop.exit_code()) {
        (Ok(_), Some(code)) => {
            ui.note(match stop.is_publishing() {
                true => "asked to stop while publishing, which was finished",
                false => "asked to stop when all was done",
            });
            code
        }
        (Ok(code), None) => code,
        (Err(_), Some(code)) if !stop.is_publishing() => {
            ui.error(&Stopped.to_string(), "");
            code
        }
        (Err(failure), code) => {
            ui.error(&failure.message, &failure.help);
            code.unwrap_or(failure.code)
        }
    };
    let code = match ui.lost() {
        Some(why) if code == exit::OK => {
            let message = format!("all was done, and the result could not be written to standard output: {why}");
            ui.error(&message, "Check that there is space where it goes.");
            exit::FAILED
        }
        _ => code,
    };
    if let Some(run) = failed {
        metrics::write_failed(run, global, code, ambient, &ui);
    }
    code
}
