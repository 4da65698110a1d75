//! Words that people know from other programs, and what is meant here.

use pouch_core::renamed::COMMANDS;

use crate::error::Failure;

/// The words, each with what is said of it. clap would offer what is spelled alike.
const MEANT: [(&str, &str); 6] = [
    (
        "decrypt",
        "`pouch unpack PATH --identity FILE` prints a region's bundle in clear, and `sops decrypt FILE` one Secret.",
    ),
    ("diff", "`pouch plan` says what a publish would change."),
    ("lint", "`pouch check` says what is wrong."),
    ("status", "`pouch plan` compares with what is published, and `pouch verify --live` with a cluster."),
    ("validate", "`pouch check` says what is wrong, and `pouch verify` proves what is published."),
    ("why", "`pouch explain` says why an object is, or is not, in a region."),
];

/// What is said of a command that there is not, if it is known what is meant.
pub fn meant(typed: &str) -> Option<Failure> {
    if let Some(renamed) = COMMANDS.iter().find(|renamed| renamed.old == typed) {
        let help = format!("Write `pouch {}`; `pouch help {}` explains it.", renamed.new, renamed.new);
        return Some(Failure::usage(format!("{typed} is called {} now", renamed.new), help));
    }
    let (_, meant) = MEANT.iter().find(|(word, _)| *word == typed)?;
    Some(Failure::usage(format!("there is no command {typed}"), *meant))
}
