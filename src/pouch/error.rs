//! Failures: why a run ended without doing its work, and the exit code that says so.
//!
//! Everything that is wrong with the *input* is a finding and not in here. `docs/exit-codes.md` lists
//! the codes; scripts depend on them.

use crate::ambient::NoEntropy;
use crate::cluster::AccessError;
use std::fmt;

use pouch_core::report::escape;

use crate::cli::init::InitError;
use crate::settings::SettingsError;
use crate::shelf::ShelfError;
use crate::stop::Stopped;

/// Exit codes (DESIGN §6).
pub mod exit {
    /// Done, or nothing to do.
    pub const OK: u8 = 0;
    /// Failed; nothing is published unless the message says so.
    pub const FAILED: u8 = 1;
    /// Published; some Credentials are broken or refused.
    pub const PARTIAL: u8 = 3;
    /// A region was held by a brake.
    pub const HELD: u8 = 4;
    /// A source or the published state is unavailable or inconsistent; nothing is published.
    pub const UNAVAILABLE: u8 = 5;
    /// The push lost against other writers until the attempts ran out.
    pub const LOST: u8 = 6;
    /// `verify` found a fault.
    pub const FAULT: u8 = 8;
    /// Usage or configuration.
    pub const USAGE: u8 = 64;
    /// A bug in pouch.
    pub const BUG: u8 = 70;
}

/// Why a run ended without doing its work.
#[derive(Debug)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What is the matter.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl Failure {
    /// A message is one line, whatever the paths and names in it hold: a second one could look like
    /// another message, or be a command to a CI system.
    fn new(code: u8, message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self { code, message: escape(message.as_ref()), help: help.into() }
    }

    /// The command line or the configuration is wrong.
    pub fn usage(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(exit::USAGE, message, help)
    }

    /// Something did not work, and nothing is published.
    pub fn failed(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(exit::FAILED, message, help)
    }

    /// A source or the published state cannot be read.
    pub fn unavailable(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(exit::UNAVAILABLE, message, help)
    }

    /// Others were faster.
    pub fn lost(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(exit::LOST, message, help)
    }

    /// pouch itself is wrong.
    pub fn bug(message: impl AsRef<str>) -> Self {
        Self::new(exit::BUG, message, "This is a bug in pouch; please report it.")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<ShelfError> for Failure {
    fn from(error: ShelfError) -> Self {
        let help = match &error {
            ShelfError::Io { .. } => "Check permissions and free space; what is published is untouched.",
            ShelfError::Unread { error, .. } if error.kind() == std::io::ErrorKind::NotFound => {
                "It is not there: correct the path, or write the bundles with `pouch render` first."
            }
            ShelfError::Unread { .. } => "Check permissions; nothing is published.",
            ShelfError::Partly { .. } => "Cure it and run pouch again; it goes on from there.",
            ShelfError::NotPlain(_) => "Remove it, or choose another output.",
            ShelfError::NotOurs(_) => "Add the line after the others, or choose another output.path.",
            ShelfError::Busy(_) => "Wait for it to end.",
            ShelfError::Unreachable { help, .. } => help,
            ShelfError::Git(_) => "",
        };
        // Names of files are anybody's: a line feed in one must not begin a line of the log.
        let message = escape(&error.to_string());
        match &error {
            ShelfError::NotPlain(_) | ShelfError::Unread { .. } | ShelfError::Unreachable { .. } => {
                Failure::unavailable(message, help)
            }
            _ => Failure::failed(message, help),
        }
    }
}

impl From<Stopped> for Failure {
    fn from(error: Stopped) -> Self {
        // The signal's number becomes the exit code where the command ends.
        Failure::failed(error.to_string(), "")
    }
}

impl From<NoEntropy> for Failure {
    fn from(error: NoEntropy) -> Self {
        Failure::failed(error.to_string(), "Nothing is published.")
    }
}

impl From<AccessError> for Failure {
    fn from(error: AccessError) -> Self {
        let is = if error.usage { Failure::usage } else { Failure::unavailable };
        is(error.message, error.help)
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        // The problems carry their own help, each beside its place, and are several lines each.
        let report = error.to_string();
        // The printer says the first `error: `.
        let message = report.strip_prefix("error: ").unwrap_or(&report).to_owned();
        Self { code: exit::USAGE, message, help: String::new() }
    }
}

impl From<InitError> for Failure {
    fn from(error: InitError) -> Self {
        if error.is_usage() { Failure::usage(error.to_string(), "") } else { Failure::failed(error.to_string(), "") }
    }
}
