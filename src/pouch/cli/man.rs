//! `pouch man`: the manual pages.

use std::fs;
use std::io;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;

use crate::error::{Ended, Failure};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch man | man -l -
  pouch man --out /usr/local/share/man/man1

Exit codes: 0 printed or written; 1 the folder cannot be written to; 64 usage.";

/// Print the manual page, or write one per command
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Write all pages into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs the command for this command line.
pub fn run(session: &Session, args: &Args, line: Command) -> Result<Ended, Failure> {
    let not_rendered = |_| Failure::bug("the manual page cannot be rendered");
    let Some(folder) = &args.out else {
        let (_, page) = page(line).map_err(not_rendered)?;
        session.ui.result(&page);
        return Ok(Ended::Done);
    };
    let failed = |error: io::Error| {
        Failure::failed(format!("cannot write to {}: {error}", folder.display()), "Check permissions and free space.")
    };
    fs::create_dir_all(folder).map_err(failed)?;
    // Commands know what they are called together once they are built.
    let mut line = line.disable_help_subcommand(true);
    line.build();
    let commands: Vec<Command> = line.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    for command in [line].into_iter().chain(commands) {
        let (name, page) = page(command).map_err(not_rendered)?;
        fs::write(folder.join(name), page).map_err(failed)?;
    }
    Ok(Ended::Done)
}

/// The page of a command, and the name of its file.
fn page(command: Command) -> io::Result<(String, String)> {
    let below = command.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let (has_commands, has_version) = (command.has_subcommands(), command.get_version().is_some());
    let man = Man::new(command.after_help(None).after_long_help(None));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if has_commands {
        man.render_subcommands_section(&mut page)?;
    }
    let mut page = String::from_utf8_lossy(&page).into_owned();
    page.push_str(&sections(&below));
    if has_version {
        let mut version = Vec::new();
        man.render_version_section(&mut version)?;
        page.push_str(&String::from_utf8_lossy(&version));
    }
    Ok((man.get_filename(), page))
}

/// What stands below the flags of help, in the sections where man pages have it (man-pages(7)).
fn sections(below: &str) -> String {
    let mut out = String::new();
    for paragraph in below.split("\n\n").filter(|paragraph| !paragraph.is_empty()) {
        if let Some(examples) = paragraph.strip_prefix("Examples:\n") {
            out.push_str(".SH EXAMPLES\n.nf\n");
            examples.lines().for_each(|line| out.push_str(&roff(line.strip_prefix("  ").unwrap_or(line))));
            out.push_str(".fi\n");
        } else if let Some(codes) = paragraph.strip_prefix("Exit codes: ") {
            out.push_str(".SH \"EXIT STATUS\"\n");
            for code in codes.split("; ") {
                let (number, meaning) = code.split_once(' ').unwrap_or((code, ""));
                out.push_str(&format!(".TP\n{}{}", roff(number), roff(meaning)));
            }
        } else {
            out.push_str(&format!(".SH NOTES\n{}", roff(paragraph)));
        }
    }
    out
}

/// A line of text in which roff obeys nothing (groff(7)).
fn roff(line: &str) -> String {
    let line = line.replace('\\', "\\e").replace('-', "\\-").replace('\n', " ");
    let guard = if line.starts_with(['.', '\'']) { "\\&" } else { "" };
    format!("{guard}{line}\n")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn examples_and_exit_codes_have_sections_of_their_own() {
        let mut line = Cli::command();
        line.build();
        for command in [line.clone()].into_iter().chain(line.get_subcommands().cloned()) {
            let name = command.get_name().to_owned();
            let long = command.clone().render_long_help().to_string();
            let (_, page) = page(command).unwrap();
            assert!(!page.contains(".SH EXTRA"), "{page}");
            for section in [".SH EXAMPLES\n", ".SH \"EXIT STATUS\"\n"] {
                assert_eq!(page.matches(section).count(), 1, "{name}: {section}");
            }
            assert!(long.contains("\nExamples:\n") && long.contains("\nExit codes: 0 "), "{name}: {long}");
        }
    }

    #[test]
    fn roff_obeys_no_line_of_ours() {
        let page = sections("Examples:\n  .so x\\y --z\n\nExit codes: 0 done; 3 some are\nbroken\n\n'a note");
        let expect = ".SH EXAMPLES\n.nf\n\\&.so x\\ey \\-\\-z\n.fi\n.SH \"EXIT STATUS\"\n.TP\n0\ndone\n.TP\n3\nsome are broken\n\
                      .SH NOTES\n\\&'a note\n";
        assert_eq!(page, expect);
    }
}
