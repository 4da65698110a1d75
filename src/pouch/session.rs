//! The session: what every command is given beside its own arguments.

use std::path::PathBuf;

use crate::ambient::Ambient;
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
}

/// Flags of every command.
#[derive(Clone, Debug, Default, clap::Args)]
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
    pub log_level: Option<LogLevel>,
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

impl Session {
    /// A session whose words go where the flags say.
    pub fn new(global: Global, ambient: Ambient, stop: Stop) -> Self {
        let level = match (global.verbose, global.quiet) {
            (true, _) => Level::Verbose,
            (_, true) => Level::Quiet,
            _ => Level::Normal,
        };
        let ui = Ui::new(global.log_format, global.color, level, &ambient);
        Self { global, ambient, ui, stop }
    }

    /// The same session, which shows errors only.
    #[must_use]
    pub fn quiet(&self) -> Self {
        let global = Global { verbose: false, quiet: true, ..self.global.clone() };
        Self::new(global, self.ambient.clone(), self.stop.clone())
    }

    /// Whether the user wants this outcome treated as success.
    pub fn tolerates(&self, outcome: Tolerate) -> bool {
        self.global.tolerate.contains(&outcome)
    }
}
