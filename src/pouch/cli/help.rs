//! `pouch help`: of a command, and of a code of a finding.

use clap::Command;
use pouch_core::finding::Code;
use pouch_core::nearest::did_you_mean;
use pouch_core::renamed::CODES;
use pouch_core::report::pages::{Page, REFUSALS};

use super::meant::meant;
use crate::error::{Ended, Failure};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch help publish
  pouch help missing-reference

Exit codes: 0 printed; 64 there is no such command, and no such code.";

/// Say what a command does, or what a finding means and how it is cured
///
/// A finding's code stands in brackets: `pouch help missing-reference` explains `error[missing-reference]`. Codes of before
/// the first release are known too. On a terminal the page is shown as text, and elsewhere it is Markdown.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// A command, or the code of a finding; all commands are listed without one
    #[arg(value_name = "COMMAND|CODE")]
    topic: Option<String>,
}

/// Runs the command; `commands` is the whole command line.
pub fn run(session: &Session, args: &Args, mut commands: Command) -> Result<Ended, Failure> {
    commands.build();
    let Some(topic) = &args.topic else {
        session.ui.help(&commands.render_long_help());
        return Ok(Ended::Done);
    };
    // As it stands in the output, or nearly.
    let typed = topic.to_lowercase();
    let bare = typed.split_once('[').map_or(&*typed, |(_, rest)| rest.trim_end_matches(':').trim_end_matches(']'));
    if let Some(page) = Page::about(bare) {
        session.ui.page(&page);
        return Ok(Ended::Done);
    }
    if let Some(command) = commands.find_subcommand_mut(topic) {
        session.ui.help(&command.render_long_help());
        return Ok(Ended::Done);
    }
    if let Some(failure) = meant(topic) {
        return Err(failure);
    }
    let codes = Code::ALL.iter().map(|code| code.text()).chain(REFUSALS.map(|(word, _)| word));
    let codes = codes.chain(CODES.iter().map(|renamed| renamed.old));
    let meant = did_you_mean(topic, codes.chain(commands.get_subcommands().map(Command::get_name)));
    Err(Failure::usage(
        format!("{topic:?} is no command, and no code of a finding"),
        format!("{meant}`pouch help` lists the commands."),
    ))
}
