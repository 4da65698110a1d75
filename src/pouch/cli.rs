//! The command line: one file per command, each an `Args` struct and `run(session, args)`.
//!
//! Here the words are parsed, the command is found, and how it ended becomes the exit code and the last words.

pub mod accept;
mod asked;
mod base;
pub mod bundle;
pub mod check;
pub mod completions;
pub mod config;
pub mod deliver;
pub mod explain;
pub mod exposure;
pub mod facts;
pub mod help;
pub mod init;
pub mod keygen;
pub mod log;
pub mod man;
mod meant;
mod pages;
mod part;
pub mod plan;
pub mod publish;
pub mod rbac;
pub mod reach;
pub mod records;
pub mod rekey;
pub mod render;
pub mod schema;
mod subject;
pub mod turn;
pub mod unpack;
pub mod verify;

use std::ffi::OsString;

use clap::parser::ValueSource;
use clap::{ColorChoice, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum};
use pouch_core::config::error::leaks;
use pouch_core::renamed;
use pouch_core::report::escape;

use crate::ambient::Ambient;
use crate::error::{Ended, Failure, Kind, said};
use crate::run;
use crate::run::told::{self, Failed};
use crate::session::{Global, Session};
use crate::stop::{Stop, Stopped};
use crate::ui::{Colour, Level, LogFormat, Ui};
use crate::{telemetry, ui};

/// The version, and of a release the commit that it was built of.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), env!("POUCH_COMMIT"));

/// Pack cloud credentials into sealed bundles, one per region
///
/// pouch reads k0rdent Credentials from manifests, works out everything each of them needs, encrypts
/// the Secrets with age in SOPS format, and writes one kustomize bundle per region for Flux or Argo CD.
#[derive(Debug, Parser)]
#[command(name = "pouch", version = VERSION, max_term_width = 100, arg_required_else_help = true, disable_help_subcommand = true, after_long_help = EXAMPLES)]
pub struct Cli {
    #[command(flatten)]
    global: Global,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(args = records::only_answers())]
    Init(init::Args),
    Render(render::Args),
    #[command(args = records::only_plans())]
    Plan(plan::Args),
    Publish(publish::Args),
    #[command(args = records::only_answers())]
    Check(check::Args),
    #[command(args = records::only_answers())]
    Explain(explain::Args),
    #[command(args = records::only_answers())]
    Log(log::Args),
    Rekey(rekey::Args),
    #[command(args = records::only_proves())]
    Verify(verify::Args),
    #[command(args = records::only_answers())]
    Unpack(unpack::Args),
    Deliver(deliver::Args),
    #[command(args = records::only_answers())]
    Exposure(exposure::Args),
    #[command(args = records::only_answers())]
    Keygen(keygen::Args),
    #[command(args = records::only_answers())]
    Rbac(rbac::Args),
    #[command(args = records::only_answers())]
    Facts(facts::Args),
    #[command(args = records::only_answers())]
    Config(config::Args),
    #[command(args = records::only_answers())]
    Schema(schema::Args),
    #[command(args = records::only_answers())]
    Completions(completions::Args),
    #[command(args = records::only_answers())]
    Man(man::Args),
    #[command(args = records::only_answers())]
    Help(help::Args),
}

/// Runs the command that this process was started for. Returns the exit code.
pub fn main() -> u8 {
    match Ambient::of_process() {
        Ok(ambient) => run(ambient),
        Err(error) => {
            ui::last_words(&format!("error: the current folder cannot be used: {}\n", said(&error)));
            Kind::Failed.code()
        }
    }
}

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch init --fleet acme --region eu-west    a configuration and keys to begin with
  pouch plan                                  what a publish would change
  pouch publish
  pouch explain team-a/aws                    why a Credential is, or is not, in a region

Exit codes: 0 done, or nothing to do; 1 failed; 2 there are changes (plan --detailed-exitcode); 3 some Credentials are \
broken or refused; 4 a region is held by the brake; 5 a source or what is published cannot be read; 6 others pushed until \
the attempts ran out; 7 findings at or above --deny; 8 verify found a fault; 64 usage or configuration; 70 a bug in \
pouch.";

/// Says what is wrong with the command line. Returns the exit code.
///
/// clap repeats arguments as they are, and a line feed in one could begin a line that a CI system obeys:
/// so what it says is what it says of the escaped ones.
fn refuse(arguments: &[OsString], ambient: &Ambient) -> u8 {
    use clap::error::ErrorKind::{DisplayHelp, DisplayVersion, InvalidValue, TooManyValues, UnknownArgument};
    use clap::error::{ContextKind, ContextValue};
    let escaped = arguments.iter().map(|argument| escape(&argument.to_string_lossy()));
    let format = log_format(arguments);
    let ui = Ui::new(format, colour(arguments), Level::Normal, ambient);
    let refused = |message: &str, help: &str| {
        ui.error(message, help);
        Kind::Usage.code()
    };
    let Err(error) = command(arguments).try_get_matches_from(escaped) else {
        return refused("the command line holds an argument that is not text", "");
    };
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand)
        && let Some(failure) = meant::meant(typed)
    {
        return refused(&failure.message, &failure.help);
    }
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && typed == "--no-values"
    {
        let help =
            "`pouch plan --no-values`, `pouch check --no-values` and `pouch explain --no-values` look without one.";
        return refused("this command needs the values of Secrets, and keys", help);
    }
    let has_no_value =
        || matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty());
    let renamed = |flag: &str| {
        let called = Cli::command();
        let mut words = arguments.iter().skip(1).filter_map(|word| word.to_str());
        renamed::flag(words.find(|word| called.find_subcommand(word).is_some())?, flag)
    };
    if let UnknownArgument | TooManyValues | InvalidValue = error.kind()
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && let Some(flag) = typed.split(['=', ' ']).next()
        && (error.kind() != InvalidValue || has_no_value())
        && let Some(renamed) = renamed(flag)
    {
        let what = match error.kind() {
            UnknownArgument => format!("this command takes no {flag}"),
            TooManyValues => format!("{flag} takes no value"),
            _ => format!("{flag} needs a value"),
        };
        return refused(&what, &format!("Write `pouch {}`.", renamed.new));
    }
    if let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && let Some(flag) = typed.split('=').next().filter(|flag| accept::is_flag(flag))
    {
        let help =
            "Give it to `pouch publish`, `pouch render` or `pouch plan`; `pouch rekey` takes some of these flags too.";
        return refused(&format!("this command takes no {flag}"), help);
    }
    let fine = matches!(error.kind(), DisplayHelp | DisplayVersion);
    if !fine && format == LogFormat::Json {
        let (message, help) = in_parts(&error.render().to_string());
        return refused(&message, &help);
    }
    if error.print().is_ok() && fine { Ended::Done.code() } else { Kind::Usage.code() }
}

/// What clap says of a command line: what is wrong, and what it advises, each in one line.
fn in_parts(said: &str) -> (String, String) {
    let said = said.strip_prefix("error: ").unwrap_or(said);
    let line = |text: &str| text.split_whitespace().collect::<Vec<&str>>().join(" ");
    let mut parts = said.split("\n\n").map(line);
    let message = parts.next().unwrap_or_default();
    let tips = parts.filter_map(|part| part.strip_prefix("tip: ").map(str::to_owned));
    (message, tips.collect::<Vec<String>>().join("; "))
}

/// How messages are written, as far as the words of a command line say it.
fn log_format(arguments: &[OsString]) -> LogFormat {
    said_of(arguments, "--log-format").unwrap_or_default()
}

/// The last valid value that the words give a global flag, also where the command line as a whole is wrong.
fn said_of<T: ValueEnum>(arguments: &[OsString], flag: &str) -> Option<T> {
    let words = arguments.iter().map(|word| word.to_str().unwrap_or_default()).take_while(|word| *word != "--");
    let (mut wanted, mut is_next) = (None, false);
    for word in words {
        let glued = || word.strip_prefix(flag).and_then(|rest| rest.strip_prefix('='));
        let value = if is_next { Some(word) } else { glued() };
        wanted = value.and_then(|value| T::from_str(value, false).ok()).or(wanted);
        is_next = word == flag;
    }
    wanted
}

/// When colours are used, as far as the words of a command line say it: also one that cannot be understood is answered
/// in the colours that it asks for.
fn colour(arguments: &[OsString]) -> Colour {
    said_of(arguments, "--color").unwrap_or_default()
}

/// The commands by what they are for, in the order in which they are needed.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Start", &["init", "keygen", "config"]),
    ("Publish", &["check", "plan", "publish", "render"]),
    ("Deliver", &["deliver", "unpack"]),
    ("Investigate", &["explain", "log", "verify", "exposure"]),
    ("Recover", &["rekey"]),
    ("Access", &["rbac", "facts"]),
    ("Shell", &["schema", "completions", "man", "help"]),
];

/// The whole command line, with its commands in groups.
pub fn whole() -> clap::Command {
    let line = Cli::command();
    let header = clap::builder::Styles::styled().get_header().to_owned();
    let literal = clap::builder::Styles::styled().get_literal().to_owned();
    let about = |name: &str| {
        let command = line.get_subcommands().find(|command| command.get_name() == name);
        command.and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    let mut groups = String::new();
    for (heading, names) in GROUPS {
        groups.push_str(&format!("{header}{heading}:{header:#}\n"));
        for name in names {
            groups.push_str(&format!("  {literal}{name:<12}{literal:#} {}\n", about(name)));
        }
        groups.push('\n');
    }
    let template = format!(
        "{{before-help}}{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{header}Options:{header:#}\n{{options}}{{after-help}}"
    );
    with_globals(line.help_template(template)).mut_subcommands(with_globals)
}

/// A command whose short help names the flags of every command in one line: those that can act in it.
fn with_globals(command: clap::Command) -> clap::Command {
    let globals = <Global as clap::Args>::augment_args(clap::Command::default());
    let acts =
        |flag: &&clap::Arg| !command.get_arguments().any(|own| own.get_id() == flag.get_id() && own.is_hide_set());
    let typed = |flag: &clap::Arg| match (flag.get_short(), flag.get_long()) {
        (Some(short), _) => format!("-{short}"),
        (None, long) => format!("--{}", long.unwrap_or_default()),
    };
    let flags: Vec<String> = globals.get_arguments().filter(acts).map(typed).collect();
    let line = format!("Global options: {}; --help explains them", flags.join(", "));
    let below = command.get_after_help().map(|text| format!("{text}\n\n{line}"));
    command.after_help(below.unwrap_or(line))
}

/// The whole command line, which answers in the colours that these words ask for.
fn command(arguments: &[OsString]) -> clap::Command {
    // By itself clap looks for `NO_COLOR`, `TERM` and a terminal.
    whole().color(match colour(arguments) {
        Colour::Auto => ColorChoice::Auto,
        Colour::Always => ColorChoice::Always,
        Colour::Never => ColorChoice::Never,
    })
}

/// Parses the command line, and notes whether it names the configuration.
fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let matches = command(arguments).try_get_matches_from(arguments)?;
    let source = matches.subcommand().and_then(|(_, of_command)| of_command.value_source("file"));
    let mut cli = Cli::from_arg_matches(&matches)?;
    cli.global.is_named = source == Some(ValueSource::CommandLine);
    Ok(cli)
}

/// Parses the command line and runs the command. Returns the exit code.
pub fn run(ambient: Ambient) -> u8 {
    let arguments = ambient.arguments();
    if arguments.iter().any(|argument| leaks(&argument.to_string_lossy())) {
        // Not repeated, and the place not named by its neighbours either: a flag may be glued to it.
        Ui::new(log_format(arguments), colour(arguments), Level::Normal, &ambient).error(
            "the command line holds a key or a password, which every process of the machine can read",
            "Treat it as leaked, and make a new one; pouch takes keys from files and variables only.",
        );
        return Kind::Usage.code();
    }
    let Ok(Cli { global, command }) = parse(arguments) else { return refuse(arguments, &ambient) };
    if let Some(level) = global.log_level {
        telemetry::start(level, global.log_format);
    }
    // Only commands that publish or fetch have something to finish or tidy.
    let stop = match &command {
        Command::Render(_)
        | Command::Plan(_)
        | Command::Publish(_)
        | Command::Check(_)
        | Command::Explain(_)
        | Command::Log(_)
        | Command::Rekey(_)
        | Command::Exposure(_)
        | Command::Unpack(_)
        | Command::Deliver(_)
        | Command::Verify(_) => Stop::on_signals(),
        _ => Stop::never(),
    };
    let session = Session::new(global, ambient, stop);
    let Session { global, ui, stop, .. } = &session;
    // Before anything is read: what cannot be told afterwards should not be done.
    let recorded = match &command {
        _ if command.only_looks() => records::refuse_metrics(global).and_then(|()| records::prepare(global)),
        Command::Render(_) | Command::Publish(_) | Command::Rekey(_) | Command::Verify(_) | Command::Deliver(_) => {
            records::prepare(global)
        }
        _ => records::refuse(global),
    };
    if let Err(failure) = recorded {
        ui.error(&failure.message, &failure.help);
        return failure.kind.code();
    }
    let outcome = match command.is_recorded() {
        // What works on many regions does it by many threads, and the library that starts them panics without.
        Some(_) => run::threads().and_then(|()| command.run(&session)),
        None => command.run(&session),
    };
    let failed = command.is_recorded().zip(outcome.as_ref().err().cloned());
    let code = match (outcome, stop.exit_code()) {
        (Ok(_), Some(code)) => {
            ui.note(match stop.is_publishing() {
                true => "asked to stop while publishing, which was finished",
                false => "asked to stop when all was done",
            });
            code
        }
        (Ok(ended), None) => ended.code(),
        (Err(_), Some(code)) if !stop.is_publishing() => {
            ui.error(&Stopped.to_string(), "");
            code
        }
        (Err(failure), code) => {
            ui.error(&failure.message, &failure.help);
            code.unwrap_or(failure.kind.code())
        }
    };
    let code = match ui.lost() {
        Some(why) if code == Ended::Done.code() => {
            let message = format!("all was done, and the result could not be written to standard output: {why}");
            ui.error(&message, "Check that there is space where it goes, and somebody who reads it.");
            Kind::Failed.code()
        }
        _ => code,
    };
    if let Some((run, failure)) = failed {
        told::record_failed(&session, &run, &failure, code);
    }
    code
}

impl Command {
    /// Whether it says what would be published or applied, and changes nothing.
    fn only_looks(&self) -> bool {
        match self {
            Self::Plan(_) => true,
            Self::Render(args) => !args.writes(),
            Self::Publish(args) => !args.writes(),
            Self::Rekey(args) => !args.writes(),
            Self::Deliver(args) => !args.writes(),
            _ => false,
        }
    }

    /// What a command is called in summary and metrics, if it writes them.
    fn is_recorded(&self) -> Option<Failed<'_>> {
        let (command, region) = match self {
            Self::Plan(_) => ("plan", None),
            Self::Render(args) => (if args.writes() { "render" } else { "render --dry-run" }, None),
            Self::Publish(args) => (if args.writes() { "publish" } else { "publish --dry-run" }, None),
            Self::Rekey(args) => (if args.writes() { "rekey" } else { "rekey --dry-run" }, None),
            Self::Verify(args) => ("verify", args.region()),
            // It says itself which region it is about.
            Self::Deliver(args) => (args.name(), None),
            _ => return None,
        };
        Some(Failed { command, region })
    }

    fn run(&self, session: &Session) -> Result<Ended, Failure> {
        match self {
            Self::Init(args) => init::run(session, args),
            Self::Render(args) => render::run(session, args),
            Self::Plan(args) => plan::run(session, args),
            Self::Publish(args) => publish::run(session, args),
            Self::Check(args) => check::run(session, args),
            Self::Explain(args) => explain::run(session, args),
            Self::Log(args) => log::run(session, args),
            Self::Rekey(args) => rekey::run(session, args),
            Self::Verify(args) => verify::run(session, args),
            Self::Unpack(args) => unpack::run(session, args),
            Self::Deliver(args) => deliver::run(session, args),
            Self::Exposure(args) => exposure::run(session, args),
            Self::Keygen(args) => keygen::run(session, args),
            Self::Rbac(args) => rbac::run(session, args),
            Self::Facts(args) => facts::run(session, args),
            Self::Config(args) => config::run(session, args),
            Self::Schema(args) => schema::run(session, args),
            // These tell of the command line itself.
            Self::Completions(args) => completions::run(session, args, whole()),
            Self::Man(args) => man::run(session, args, whole()),
            Self::Help(args) => help::run(session, args, whole()),
        }
    }
}
