//! The session: what every command is given beside its own arguments.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::Duration;

use jiff::Timestamp;
use pouch_core::report::summary::Summary;
use tracing::info_span;

use crate::ambient::Ambient;
use crate::error::Failure;
use crate::stop::Stop;
use crate::telemetry::LogLevel;
use crate::ui::{Colour, Level, LogFormat, Ui};

/// What every command is given.
pub struct Session {
    /// The flags of every command.
    pub global: Global,
    /// Environment, clock and entropy.
    pub ambient: Ambient,
    /// Where words go.
    pub ui: Ui,
    /// Whether the run should end.
    pub stop: Stop,
    /// How long each stage took so far, all attempts together.
    stages: Mutex<BTreeMap<&'static str, Duration>>,
    /// What is known of the run so far, where its command says that: told also if it fails.
    so_far: Mutex<Option<Summary>>,
}

/// The heading of these flags in help.
const EVERY: &str = "Global options";

/// Flags of every command.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Global {
    /// The configuration; manifests are named in it, not here as with kubectl
    #[arg(short = 'f', long = "file", value_name = "FILE", default_value = "pouch.yaml", global = true, hide_short_help = true, help_heading = EVERY)]
    pub file: PathBuf,
    /// Whether the command line names it.
    #[arg(skip)]
    pub is_named: bool,
    /// Write what the run did and found to FILE, as JSON (plan, render, publish, rekey, verify, deliver); removed before the run
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true, help_heading = EVERY)]
    pub summary: Option<PathBuf>,
    /// Write how the run ended to FILE, as Prometheus text, even if it failed (render, publish, rekey, verify, deliver)
    #[arg(long, value_name = "FILE", global = true, hide_short_help = true, help_heading = EVERY)]
    pub metrics: Option<PathBuf>,
    /// How messages on stderr are written
    #[arg(long, value_name = "FORMAT", default_value = "text", global = true, hide_short_help = true, help_heading = EVERY)]
    pub log_format: LogFormat,
    /// When messages and results are coloured
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true, hide_short_help = true, help_heading = EVERY)]
    pub color: Colour,
    /// Show in detail what pouch does, but never bodies or values
    #[arg(long, value_name = "LEVEL", global = true, hide_short_help = true, help_heading = EVERY)]
    pub log_level: Option<LogLevel>,
    /// Show information too, not only warnings and errors
    #[arg(short, long, global = true, conflicts_with = "quiet", hide_short_help = true, help_heading = EVERY)]
    pub verbose: bool,
    /// Show errors only, and of regions only those in which something changes, is held or is wrong
    #[arg(short, long, global = true, hide_short_help = true, help_heading = EVERY)]
    pub quiet: bool,
    /// Treat these outcomes as success
    #[arg(long, value_name = "OUTCOME", value_delimiter = ',', global = true, hide_short_help = true, help_heading = EVERY)]
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

impl Global {
    /// Whether a word of a command line is a flag of every command and the next word is its value.
    pub fn takes_value(word: &str) -> bool {
        let flags = <Self as clap::Args>::augment_args(clap::Command::default());
        flags.get_arguments().filter(|flag| flag.get_action().takes_values()).any(|flag| {
            let long = flag.get_long().is_some_and(|long| word.strip_prefix("--") == Some(long));
            // Of several in one word, the last may have a value.
            let is_last = |short: char| !word.starts_with("--") && word.starts_with('-') && word.ends_with(short);
            long || flag.get_short().is_some_and(is_last)
        })
    }
}

impl Session {
    /// A session whose words go where the flags say.
    pub fn new(global: Global, ambient: Ambient, stop: Stop) -> Self {
        let level = match (global.verbose, global.quiet) {
            (true, _) => Level::Verbose,
            (_, true) => Level::Quiet,
            _ => Level::Normal,
        };
        let ui = Ui::new(global.log_format, global.color, level, &ambient);
        Self { global, ambient, ui, stop, stages: Mutex::default(), so_far: Mutex::default() }
    }

    /// Returns true if pieces of information are told, on the terminal or in a summary.
    pub fn informs(&self) -> bool {
        self.global.summary.is_some() || self.ui.informs()
    }

    /// The same session, which shows errors only.
    #[must_use]
    pub fn quiet(&self) -> Self {
        let global = Global { verbose: false, quiet: true, ..self.global.clone() };
        Self::new(global, self.ambient.clone(), self.stop.clone())
    }

    /// When a commit is made that is made now: `SOURCE_DATE_EPOCH` if it is set, but never later than the clock says.
    ///
    /// Budgets count by the times of commits, and who can set that variable to a time to come, by a commit of a source
    /// from which a job takes it, must not begin a new window with it.
    ///
    /// <https://reproducible-builds.org/specs/source-date-epoch/>
    ///
    /// # Errors
    /// Where the variable is no number of seconds.
    pub fn commit_time(&self) -> Result<Timestamp, Failure> {
        let now = self.ambient.now();
        let Some(text) = self.ambient.var("SOURCE_DATE_EPOCH").filter(|text| !text.is_empty()) else { return Ok(now) };
        let seconds = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        match seconds.and_then(|seconds| Timestamp::from_second(seconds).ok()) {
            Some(time) => Ok(time.min(now)),
            None => Err(Failure::usage(
                "SOURCE_DATE_EPOCH is no number of seconds since 1970",
                "Correct the variable, or unset it: commits are then made at the time of the clock.",
            )),
        }
    }

    /// The time by which something has expired: that of commits, or the clock's where `SOURCE_DATE_EPOCH` says none.
    pub fn time_of_run(&self) -> Timestamp {
        self.commit_time().unwrap_or_else(|_| self.ambient.now())
    }

    /// Notes what is known of the run so far, in place of what was noted before.
    pub fn know(&self, summary: Summary) {
        if let Ok(mut so_far) = self.so_far.lock() {
            *so_far = Some(summary);
        }
    }

    /// What is known of the run so far, where its command says that.
    pub fn so_far(&self) -> Option<Summary> {
        self.so_far.lock().ok().and_then(|so_far| so_far.clone())
    }

    /// Does a stage of the run, and notes how long it took.
    pub fn timed<T>(&self, stage: &'static str, work: impl FnOnce() -> T) -> T {
        let timer = self.ambient.timer();
        let done = info_span!("stage", stage).in_scope(work);
        if let Ok(mut stages) = self.stages.lock() {
            let time = stages.entry(stage).or_default();
            *time = time.saturating_add(timer.elapsed());
        }
        done
    }

    /// How long each stage took so far.
    pub fn stages(&self) -> BTreeMap<&'static str, Duration> {
        self.stages.lock().map(|stages| stages.clone()).unwrap_or_default()
    }

    /// Whether the user wants this outcome treated as success.
    pub fn tolerates(&self, outcome: Tolerate) -> bool {
        self.global.tolerate.contains(&outcome)
    }
}
