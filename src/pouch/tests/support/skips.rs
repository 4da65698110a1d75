//! What one `cargo test` skipped, kept until its last program tells it: among thousands of lines nobody would see it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

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

/// What tells one `cargo test` from all others: its process, and since when that runs where the system says so.
fn run() -> String {
    let parent = std::os::unix::process::parent_id();
    let stat = fs::read_to_string(format!("/proc/{parent}/stat")).unwrap_or_default();
    // The program's name may have blanks in it.
    let since = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(19)).unwrap_or("0").to_owned();
    format!("{parent}-{since}")
}
