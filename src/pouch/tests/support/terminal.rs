//! A program at a terminal.

use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Runs a command with a terminal of so many columns for its stderr, and gives what was written there.
pub fn at_a_terminal(command: &mut Command, columns: u16) -> (Option<i32>, String) {
    run(command, columns, |command, theirs| command.stdout(Stdio::null()).stderr(theirs))
}

/// The same for its stdout.
pub fn result_at_a_terminal(command: &mut Command, columns: u16) -> (Option<i32>, String) {
    run(command, columns, |command, theirs| command.stderr(Stdio::null()).stdout(theirs))
}

fn run(
    command: &mut Command,
    columns: u16,
    given: impl FnOnce(&mut Command, File) -> &mut Command,
) -> (Option<i32>, String) {
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    tcsetwinsize(&ours, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = OpenOptions::new().read(true).write(true).open(name).unwrap();
    let mut child = given(command.stdin(Stdio::null()), theirs).spawn().unwrap();
    // The command keeps the other end open, and would never let this one come to its end.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let (mut ours, mut seen) = (File::from(ours), Vec::new());
    // Linux ends a terminal with an error where the other side is closed. A reader who looked
    // just before the last bytes came gets that error too, and the bytes when he asks again.
    let _ = ours.read_to_end(&mut seen);
    let ended = child.wait().unwrap();
    let _ = ours.read_to_end(&mut seen);
    (ended.code(), String::from_utf8(seen).unwrap())
}
