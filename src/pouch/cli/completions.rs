//! `pouch completions`: a completion script for a shell.

use clap::Command;
use clap_complete::Shell;

use crate::error::{Ended, Failure};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch completions bash > /etc/bash_completion.d/pouch

Exit codes: 0 printed; 64 usage.";

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command for this command line.
pub fn run(session: &Session, args: &Args, mut line: Command) -> Result<Ended, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut line, "pouch", &mut script);
    session.ui.result(&String::from_utf8_lossy(&script));
    Ok(Ended::Done)
}
