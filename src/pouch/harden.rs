//! What the process does before anything else: no core dumps, no values in panics; and after work with secrets:
//! no remains on the stack.

use std::panic;

use rustix::process::{DumpableBehavior, Resource, Rlimit, set_dumpable_behavior, setrlimit};

use crate::error::Kind;
use crate::ui;

/// Switches core dumps and tracing by other processes of the user off, and makes panics say where they
/// happened and nothing else: a panic's message can quote what was being worked on.
pub fn harden() {
    // The run goes on if either fails: a container may forbid both.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    panic::set_hook(Box::new(|info| {
        let place = info.location().map(|at| format!("{}:{}", at.file(), at.line())).unwrap_or_default();
        ui::last_words(&format!("pouch stopped because of a bug in itself, at {place}; please report it\n"));
    }));
}

/// Runs `work` and gives the exit code of a bug where it panics.
pub fn guarded(work: impl FnOnce() -> u8 + panic::UnwindSafe) -> u8 {
    panic::catch_unwind(work).unwrap_or_else(|_| Kind::Bug.code())
}

/// How much of the stack is wiped; work with secrets goes less deep, hashes and ciphers included.
const DEPTH: usize = 64 << 10;

/// Runs `work`, and then wipes the stack that it used: the allocator wipes the heap alone, and hashes leave their
/// last block behind.
pub fn wiped<T>(work: impl FnOnce() -> T) -> T {
    let result = apart(work);
    wipe();
    result
}

/// Runs `work` in a frame of its own, below which is what [`wipe`] overwrites.
#[inline(never)]
fn apart<T>(work: impl FnOnce() -> T) -> T {
    work()
}

#[inline(never)]
fn wipe() {
    std::hint::black_box(&mut [0_u8; DEPTH]);
}
