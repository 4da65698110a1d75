//! `pouch completions`: a completion script for a shell.

use clap::CommandFactory as _;
use clap_complete::Shell;

use super::Cli;
use crate::error::{Failure, exit};
use crate::ui::Ui;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs the command.
///
/// # Errors
/// Never; the signature is that of all commands.
pub fn run(args: &Args, ui: &Ui) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "pouch", &mut script);
    ui.result(&String::from_utf8_lossy(&script));
    Ok(exit::OK)
}
