//! Age identities that a command is given: by files, by a program, or by the variables that sops has for them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pouch_core::config::error::quoted;
use zeroize::Zeroizing;

use super::keys::{all_identities, environment_identities, passed_over, unusable};
use super::problem::SettingsError;
use crate::age::Identities;
use crate::child::{self, Bounds, ChildError, Room};
use crate::git::program::is_for_children;
use crate::session::Session;

/// How long the program may take: it may ask a vault, or somebody to touch a key.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The most bytes of its output.
const MOST_OUTPUT: u64 = 1 << 20;

/// The variable by which sops is told of a program.
const COMMAND: &str = "SOPS_AGE_KEY_CMD";

/// Where identities are, as the command line says.
pub struct Given<'a> {
    /// Files.
    pub files: &'a [PathBuf],
    /// A program and its arguments, as a shell would split them.
    pub command: Option<&'a str>,
}

/// Reads the identities that the command line names, or else those of the environment: `SOPS_AGE_KEY`,
/// `SOPS_AGE_KEY_FILE` and `SOPS_AGE_KEY_CMD`.
///
/// # Errors
/// Where there are none, or some cannot be read. Nothing of what was read is shown.
pub fn given(given: &Given<'_>, session: &Session, stop: &AtomicBool) -> Result<Identities, SettingsError> {
    let mut all = all_identities(given.files, session)?;
    if let Some(command) = given.command {
        all.absorb(of_program("--identity-command", command, session, stop)?);
    }
    if !given.files.is_empty() || given.command.is_some() {
        return Ok(all);
    }
    let set = session.ambient.var(COMMAND).filter(|command| !command.is_empty());
    if let Some(command) = &set {
        all.absorb(of_program(COMMAND, command, session, stop)?);
    }
    match environment_identities(&session.ambient)? {
        Some((found, warnings)) => {
            warnings.iter().for_each(|warning| session.ui.warn(warning));
            all.absorb(found);
        }
        None if set.is_none() => {
            return Err(SettingsError::one(
                "the identity".to_owned(),
                "no age identity is given".to_owned(),
                "Name the file with the region's identity: --identity FILE. Without it, SOPS_AGE_KEY_FILE, \
                 SOPS_AGE_KEY_CMD or SOPS_AGE_KEY say where it is.",
            ));
        }
        None => {}
    }
    Ok(all)
}

/// The identities that a program prints.
fn of_program(named: &str, command: &str, session: &Session, stop: &AtomicBool) -> Result<Identities, SettingsError> {
    let wrong = |message: String| {
        let help =
            "It must print one AGE-SECRET-KEY-1… to a line, without asking anything. What it printed is not shown.";
        SettingsError::one(named.to_owned(), message, help)
    };
    let words = shlex::split(command).unwrap_or_default();
    let Some((program, arguments)) = words.split_first() else {
        return Err(wrong("is no command: a quote is open, or it is empty".to_owned()));
    };
    #[expect(clippy::disallowed_methods, reason = "this is the one place that starts a program for identities")]
    let mut child = Command::new(program);
    let environment = session.ambient.environment();
    child.env_clear().envs(environment.into_iter().filter(|(name, value)| is_for_children(name, value)));
    child.args(arguments).current_dir(session.ambient.cwd());
    let bounds = Bounds { timeout: TIMEOUT, silence: TIMEOUT, stop, output: MOST_OUTPUT, room: Room::default() };
    let program = quoted(program);
    let ended = child::run(child, &bounds).map_err(|error| {
        wrong(match error {
            ChildError::Missing => format!("{program} is not installed"),
            ChildError::Start(kind) => format!("{program} cannot be started: {kind}"),
            ChildError::TimedOut { seconds } | ChildError::Silent { seconds } => {
                format!("{program} took longer than {seconds} s and was ended")
            }
            ChildError::Unheard(why) => format!("what {program} printed cannot be read: {why}"),
            ChildError::Stopped => format!("{program} was ended"),
        })
    })?;
    // Its words may hold what it should have kept.
    if !ended.well {
        return Err(wrong(format!("{program} ended with an error")));
    }
    let out = Zeroizing::new(ended.out);
    let text = std::str::from_utf8(&out).map_err(|_| wrong(format!("{program} printed what is not text")))?;
    let what = format!("what {program} printed");
    let found = Identities::parse(text).map_err(|fault| wrong(unusable(&what, &fault)))?;
    passed_over(&what, &found).iter().for_each(|warning| session.ui.warn(warning));
    Ok(found)
}
