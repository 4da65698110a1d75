//! Failures: what can fail, by kind, and the one map from how a run ended to its exit code.
//!
//! Everything that is wrong with the *input* is a finding and not in here. A room whose errors end a run says
//! beside its own error type of what kind each is. `docs/exit-codes.md` lists the codes; scripts depend on them.

use std::fmt;
use std::io;

use pouch_core::report::escape;

/// Exit codes (DESIGN §6).
mod exit {
    /// Done, or nothing to do.
    pub const OK: u8 = 0;
    /// Failed; nothing is published unless the message says so.
    pub const FAILED: u8 = 1;
    /// `plan --detailed-exitcode`: there are changes.
    pub const CHANGES: u8 = 2;
    /// Published; some Credentials are broken or refused.
    pub const PARTIAL: u8 = 3;
    /// A region was held by a brake.
    pub const HELD: u8 = 4;
    /// A source or the published state is unavailable or inconsistent; nothing is published.
    pub const UNAVAILABLE: u8 = 5;
    /// The push lost against other writers until the attempts ran out.
    pub const LOST: u8 = 6;
    /// `check` found something at or above `--deny`.
    pub const DENIED: u8 = 7;
    /// `verify` found a fault.
    pub const FAULT: u8 = 8;
    /// Usage or configuration.
    pub const USAGE: u8 = 64;
    /// A bug in pouch.
    pub const BUG: u8 = 70;
    /// What a signal's number is added to, as shells do.
    pub(super) const SIGNAL: u8 = 128;
}

/// How a run ended that did its work.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// Done, or nothing to do.
    Done,
    /// What was planned would change something.
    Changes,
    /// Some Credentials are broken or refused.
    Partial,
    /// A region was held by a brake.
    Held,
    /// `check` found what it was to deny.
    Denied,
    /// `verify` found a fault, or would find one beside what was published.
    Fault,
    /// Some places were published to, and at others something failed.
    Partway(Kind),
}

impl Ended {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => exit::OK,
            Self::Changes => exit::CHANGES,
            Self::Partial => exit::PARTIAL,
            Self::Held => exit::HELD,
            Self::Denied => exit::DENIED,
            Self::Fault => exit::FAULT,
            Self::Partway(kind) => kind.code(),
        }
    }
}

/// What kind of failure ended a run; where there are several, the last of them counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kind {
    /// Others were faster.
    Lost,
    /// A source or the published state cannot be read.
    Unavailable,
    /// Something did not work, and nothing is published.
    Failed,
    /// The command line or the configuration is wrong.
    Usage,
    /// pouch itself is wrong.
    Bug,
}

impl Kind {
    /// The exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Usage => exit::USAGE,
            Self::Failed => exit::FAILED,
            Self::Unavailable => exit::UNAVAILABLE,
            Self::Lost => exit::LOST,
            Self::Bug => exit::BUG,
        }
    }
}

/// What the system says of a failed operation, in words. The standard library has none of its own for some of it, such
/// as an error of a disk or too many open files.
pub fn said(error: &io::Error) -> String {
    const NONE: &str = "uncategorized error";
    let kind = error.kind().to_string();
    if kind != NONE {
        return kind;
    }
    let whole = error.to_string();
    whole.split_once(" (os error").map_or(whole.clone(), |(words, _)| words.to_lowercase())
}

/// The exit code of a run that this signal ended.
pub fn code_of_signal(signal: u8) -> u8 {
    exit::SIGNAL.saturating_add(signal)
}

/// Why a run ended without doing its work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// What kind of failure it is.
    pub kind: Kind,
    /// What is the matter.
    pub message: String,
    /// What to do about it; may be empty.
    pub help: String,
}

impl Failure {
    /// A message is one line, whatever the paths and names in it hold: a second one could look like
    /// another message, or be a command to a CI system.
    fn new(kind: Kind, message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self { kind, message: escape(message.as_ref()), help: help.into() }
    }

    /// The command line or the configuration is wrong.
    pub fn usage(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(Kind::Usage, message, help)
    }

    /// Something did not work, and nothing is published.
    pub fn failed(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(Kind::Failed, message, help)
    }

    /// A source or the published state cannot be read.
    pub fn unavailable(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(Kind::Unavailable, message, help)
    }

    /// Others were faster.
    pub fn lost(message: impl AsRef<str>, help: impl Into<String>) -> Self {
        Self::new(Kind::Lost, message, help)
    }

    /// pouch itself is wrong.
    pub fn bug(message: impl AsRef<str>) -> Self {
        Self::new(Kind::Bug, message, "This is a bug in pouch; please report it.")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_error_of_the_system_has_words() {
        for (code, words) in
            [(2, "entity not found"), (5, "input/output error"), (24, "too many open files"), (28, "no storage space")]
        {
            assert_eq!(said(&io::Error::from_raw_os_error(code)), words);
        }
        assert_eq!(said(&io::Error::other("mine")), "other error");
    }
}
