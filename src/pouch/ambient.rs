//! The surroundings of a run: environment, clock, current folder, entropy, terminals.
//!
//! This is the only place that asks the process for any of them, so that whatever a run depends on
//! besides its files is named here, and a test can stand in for it. It refuses to know what anything
//! is for.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;

use crate::error::Failure;

mod memory;

/// What a run finds around itself.
#[derive(Clone, Debug)]
pub struct Ambient {
    vars: Vars,
    clock: Clock,
    cwd: PathBuf,
    arguments: Vec<OsString>,
}

/// Measures how long something takes: for people, and for bounds of time.
#[derive(Clone, Copy, Debug)]
pub struct Timer(std::time::Instant);

impl Timer {
    /// Starts one.
    #[allow(clippy::disallowed_methods, reason = "this is the one place that asks")]
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// The time since the timer was started.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[derive(Clone, Debug)]
enum Vars {
    Process,
    Fixed(BTreeMap<String, String>),
}

#[derive(Clone, Copy, Debug)]
enum Clock {
    System,
    Fixed(Timestamp),
}

/// The operating system gives no random bytes.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("the operating system gives no random bytes")]
pub struct NoEntropy;

impl From<NoEntropy> for Failure {
    fn from(error: NoEntropy) -> Self {
        Failure::failed(error.to_string(), "Nothing is published.")
    }
}

impl Ambient {
    /// The surroundings of this process.
    ///
    /// # Errors
    /// Where the current folder is gone or may not be looked at.
    #[allow(clippy::disallowed_methods, reason = "this is the one place that asks")]
    pub fn of_process() -> io::Result<Self> {
        let arguments = std::env::args_os().collect();
        Ok(Self { vars: Vars::Process, clock: Clock::System, cwd: std::env::current_dir()?, arguments })
    }

    /// Fixed surroundings: no terminal, these variables, this time, this folder. Entropy stays the operating
    /// system's.
    pub fn fixed(cwd: &Path, now: Timestamp, vars: &[(&str, &str)]) -> Self {
        let vars = vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Self { vars: Vars::Fixed(vars), clock: Clock::Fixed(now), cwd: cwd.to_owned(), arguments: Vec::new() }
    }

    /// The same surroundings with a command line, the program's own name first.
    #[must_use]
    pub fn called(mut self, arguments: &[&str]) -> Self {
        self.arguments = arguments.iter().map(OsString::from).collect();
        self
    }

    /// The environment variable `name`, if it is set and UTF-8.
    #[allow(clippy::disallowed_methods, reason = "this is the one place that asks")]
    pub fn var(&self, name: &str) -> Option<String> {
        match &self.vars {
            // The standard library panics on names that no variable can have.
            Vars::Process if name.is_empty() || name.contains(['=', '\0']) => None,
            Vars::Process => std::env::var(name).ok(),
            Vars::Fixed(vars) => vars.get(name).cloned(),
        }
    }

    /// A path as it is named from the current folder: relative to it where it is written below it, else as it is.
    pub fn from_here<'a>(&self, path: &'a Path) -> &'a Path {
        path.strip_prefix(&self.cwd).unwrap_or(path)
    }

    /// The command line, the program's own name first.
    pub fn arguments(&self) -> &[OsString] {
        &self.arguments
    }

    /// The whole environment, for children that are given a part of it.
    #[allow(clippy::disallowed_methods, reason = "this is the one place that asks")]
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        match &self.vars {
            Vars::Process => std::env::vars_os().collect(),
            Vars::Fixed(vars) => vars.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        }
    }

    /// The time in UTC, to the second; it prints as RFC 3339, such as `2026-03-01T12:00:00Z`.
    ///
    /// <https://www.rfc-editor.org/rfc/rfc3339>
    pub fn now(&self) -> Timestamp {
        let now = match self.clock {
            Clock::System => Timestamp::now(),
            Clock::Fixed(now) => now,
        };
        Timestamp::from_second(now.as_second()).unwrap_or(now)
    }

    /// Starts to measure time.
    pub fn timer(&self) -> Timer {
        Timer::start()
    }

    /// The bytes of memory for what the run reads: half of the least of the limits that are set for its control group and
    /// those above it, and of what the machine has free; a gigabyte where the system says nothing.
    pub fn memory(&self) -> usize {
        const USUAL: u64 = 2 << 30;
        let available = match self.vars {
            Vars::Process => memory::available(Path::new("/")),
            Vars::Fixed(_) => None,
        };
        usize::try_from(available.unwrap_or(USUAL) / 2).unwrap_or(usize::MAX)
    }

    /// The current folder.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// Fills `bytes` with random bytes from the operating system.
    ///
    /// # Errors
    /// Where it has none to give; nothing may then be sealed.
    pub fn fill(&self, bytes: &mut [u8]) -> Result<(), NoEntropy> {
        getrandom::fill(bytes).map_err(|_| NoEntropy)
    }

    /// A random part of a length of time, so that runs that met once do not meet again.
    pub fn part_of(&self, whole: Duration) -> Result<Duration, NoEntropy> {
        let mut random = [0_u8; 1];
        self.fill(&mut random)?;
        let [random] = random;
        Ok(whole.saturating_mul(u32::from(random)) / 255)
    }

    /// Whether standard output is a terminal.
    pub fn stdout_is_terminal(&self) -> bool {
        self.is_live() && io::stdout().is_terminal()
    }

    /// Whether standard error is a terminal.
    pub fn stderr_is_terminal(&self) -> bool {
        self.is_live() && io::stderr().is_terminal()
    }

    /// How many columns standard output has, if it is a terminal that says so.
    pub fn stdout_width(&self) -> Option<usize> {
        self.stdout_is_terminal().then(|| width(rustix::stdio::stdout())).flatten()
    }

    /// How many columns standard error has, if it is a terminal that says so.
    pub fn stderr_width(&self) -> Option<usize> {
        self.stderr_is_terminal().then(|| width(rustix::stdio::stderr())).flatten()
    }

    /// Whether standard output is a terminal that is known to show links (OSC 8).
    pub fn stdout_shows_links(&self) -> bool {
        self.stdout_is_terminal() && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout)
    }

    /// Whether standard error is a terminal that is known to show links (OSC 8).
    pub fn stderr_shows_links(&self) -> bool {
        self.stderr_is_terminal() && supports_hyperlinks::on(supports_hyperlinks::Stream::Stderr)
    }

    /// The name of this machine.
    pub fn host(&self) -> String {
        rustix::system::uname().nodename().to_string_lossy().into_owned()
    }

    fn is_live(&self) -> bool {
        matches!(self.vars, Vars::Process)
    }
}

/// How wide a terminal says that it is.
fn width(stream: impl std::os::fd::AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_has_no_fractions() {
        let now: Timestamp = "2026-03-01T12:00:00.987654321Z".parse().unwrap();
        let ambient = Ambient::fixed(Path::new("/"), now, &[("A", "b")]);
        assert_eq!(ambient.now().to_string(), "2026-03-01T12:00:00Z");
        assert_eq!((ambient.var("A").as_deref(), ambient.var("B")), (Some("b"), None));
        assert!(!Ambient::of_process().unwrap().now().to_string().contains('.'));
    }

    #[test]
    fn impossible_names_are_unset() {
        let ambient = Ambient::of_process().unwrap();
        assert_eq!((ambient.var(""), ambient.var("A=B"), ambient.var("A\0")), (None, None, None));
    }

    #[test]
    fn entropy_differs() {
        let ambient = Ambient::fixed(Path::new("/"), Timestamp::UNIX_EPOCH, &[]);
        let (mut one, mut two) = ([0_u8; 32], [0_u8; 32]);
        ambient.fill(&mut one).unwrap();
        ambient.fill(&mut two).unwrap();
        assert_ne!(one, two);
    }
}
