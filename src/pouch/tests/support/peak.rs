//! How much memory a program takes.

use std::fs;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::Duration;

/// Runs a program; gives its answer, and the most memory that it had in use, in bytes.
///
/// The system keeps that most itself, so what is missed is what came in the last moments.
///
/// # Panics
/// If it cannot be started, and where the system does not tell.
pub fn peak(command: &mut Command) -> (Output, u64) {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let watcher = thread::spawn(move || {
        let mut most = 0;
        while let Ok(text) = fs::read_to_string(&status) {
            // A program that ended has none, until its answer is taken.
            let Some(line) = text.lines().find_map(|line| line.strip_prefix("VmHWM:")) else { break };
            let kibibytes = line.trim().trim_end_matches(" kB");
            most = kibibytes.parse::<u64>().unwrap() * 1024;
            thread::sleep(Duration::from_millis(1));
        }
        most
    });
    let output = child.wait_with_output().unwrap();
    let most = watcher.join().unwrap();
    assert!(most > 0, "the system does not tell");
    (output, most)
}
