//! `pouch man`: the manual pages.

use std::path::PathBuf;

use clap::CommandFactory as _;

use super::Cli;
use crate::error::{Failure, exit};
use crate::ui::Ui;

/// Print the manual page, or write one per command
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write all pages into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// Where the folder cannot be written.
pub fn run(args: &Args, ui: &Ui) -> Result<u8, Failure> {
    if let Some(folder) = &args.out {
        let failed = |error: std::io::Error| {
            Failure::failed(
                format!("cannot write to {}: {error}", folder.display()),
                "Check permissions and free space.",
            )
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
        return Ok(exit::OK);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|_| Failure::bug("the manual page cannot be rendered"))?;
    ui.result(&String::from_utf8_lossy(&page));
    Ok(exit::OK)
}
