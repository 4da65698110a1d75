//! What one `cargo test` skipped, kept until its last program tells it: among thousands of lines nobody would see it.

#[allow(unused_extern_crates, reason = "the core is without it")]
extern crate std;

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
// The core has no prelude of the standard library.
use std::format;
use std::prelude::v1::*;

/// Notes a line for the last program, in a folder that all programs of one build know.
pub fn note(folder: &Path, line: &str) {
    let _ = fs::create_dir_all(folder);
    let file = OpenOptions::new().create(true).append(true).open(folder.join(run()));
    // Tests are not there to keep this note.
    let _ = file.and_then(|mut file| file.write_all(format!("{line}\n").as_bytes()));
}

/// Takes what was noted under the `cargo test` that this program is one of, in order, each line once.
pub fn take(folder: &Path) -> Vec<String> {
    let path: PathBuf = folder.join(run());
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// The words about skipped tests: how many, and for each reason which ones.
pub fn told(lines: &[String]) -> String {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (test, why) in lines.iter().filter_map(|line| line.split_once(": ")) {
        by_reason.entry(why).or_default().push(test);
    }
    let count = by_reason.values().map(Vec::len).sum::<usize>();
    let what = if count == 1 { "test, or a part of it," } else { "tests, or parts of them," };
    let mut told = match count {
        0 => String::from("\nNo test was skipped.\n"),
        _ => format!("\nSKIPPED: {count} {what} did not run.\n"),
    };
    for (why, tests) in by_reason {
        told.push_str(&format!("  {}: {why}\n", tests.len()));
        let shown = tests.iter().take(MOST_SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = match tests.len().saturating_sub(MOST_SHOWN) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        told.push_str(&format!("     {shown}{more}\n"));
    }
    told
}

/// The most tests that are named for one reason.
const MOST_SHOWN: usize = 3;

/// What tells one `cargo test` from all others: its process, and since when that runs where the system says so.
fn run() -> String {
    let parent = std::os::unix::process::parent_id();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    // The program's name may have blanks in it.
    let since = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(19)).unwrap_or("0").to_owned();
    format!("{parent}-{since}")
}
