//! `pouch man`: the manual pages.

use std::path::PathBuf;

use clap::Command;

use crate::error::{Ended, Failure};
use crate::session::Session;

/// Print the manual page, or write one per command
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Write all pages into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command for this command line.
pub fn run(session: &Session, args: &Args, line: Command) -> Result<Ended, Failure> {
    if let Some(folder) = &args.out {
        let failed = |error: std::io::Error| {
            Failure::failed(
                format!("cannot write to {}: {error}", folder.display()),
                "Check permissions and free space.",
            )
        };
        std::fs::create_dir_all(folder).map_err(failed)?;
        clap_mangen::generate_to(line, folder).map_err(failed)?;
        return Ok(Ended::Done);
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(line).render(&mut page).map_err(|_| Failure::bug("the manual page cannot be rendered"))?;
    session.ui.result(&String::from_utf8_lossy(&page));
    Ok(Ended::Done)
}
