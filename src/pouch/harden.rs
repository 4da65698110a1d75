//! What the process does before anything else: no core dumps, no values in panics; and after work with secrets:
//! no remains on the stack.

use std::panic;
use std::sync::OnceLock;

use pouch_core::report::escape;
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
        // Several threads may find out.
        if of_system(&place).is_some() && IS_SYSTEMS.set(()).is_err() {
            return;
        }
        ui::last_words(&last_words(&place, PUBLISHED.get().map(String::as_str)));
    }));
}

/// Why there was a panic at this place, if it is the system's fault and no bug: the standard library wants random bytes
/// before it makes a table, the ciphers' libraries take them by functions that cannot fail, and neither can the closing of
/// a folder.
fn of_system(place: &str) -> Option<&'static str> {
    const WHY: [(&str, &str); 4] = [
        ("std/src/sys/random/", NO_ENTROPY),
        // `ThreadRng` of the crate rand, when a thread first asks for it.
        ("/src/rngs/thread.rs", NO_ENTROPY),
        ("/rand_core-", NO_ENTROPY),
        ("std/src/sys/fs/", "the operating system could not close a folder"),
    ];
    WHY.iter().find(|(known, _)| place.contains(known)).map(|(_, why)| *why)
}

const NO_ENTROPY: &str = "the operating system gives no random bytes";

/// Whether there was such a panic.
static IS_SYSTEMS: OnceLock<()> = OnceLock::new();

/// What this process has published.
static PUBLISHED: OnceLock<String> = OnceLock::new();

/// Says what is published now, such as a commit. A panic after that, as of the standard library where a folder cannot
/// be closed, must not say that nothing is.
pub fn published(what: String) {
    let _ = PUBLISHED.set(what);
}

fn last_words(place: &str, published: Option<&str>) -> String {
    match published {
        None if let Some(why) = of_system(place) => {
            format!("error: {why}\n  = help: Run pouch again: it goes on from what is published.\n")
        }
        None => format!("pouch stopped because of a bug in itself, at {place}; please report it\n"),
        Some(what) => {
            format!("{} is published; after that pouch stopped, at {place}; please report it\n", escape(what))
        }
    }
}

/// Runs `work` and gives the exit code where it panics: that of a bug, or of a failure if something is published or it was
/// the system's fault.
pub fn guarded(work: impl FnOnce() -> u8 + panic::UnwindSafe) -> u8 {
    panic::catch_unwind(work).unwrap_or_else(|_| {
        let is_no_bug = PUBLISHED.get().is_some() || IS_SYSTEMS.get().is_some();
        code_of_panic(is_no_bug)
    })
}

fn code_of_panic(is_no_bug: bool) -> u8 {
    if is_no_bug { Kind::Failed.code() } else { Kind::Bug.code() }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_after_publishing_says_that_it_is_published() {
        assert_eq!((code_of_panic(false), code_of_panic(true)), (70, 1));
        assert!(last_words("x.rs:1", None).contains("a bug in itself"));
        let words = last_words("x.rs:1", Some("commit abc on main"));
        let words_of_none = last_words("/rustc/x/library/std/src/sys/random/linux.rs:126", None);
        assert!(words_of_none.starts_with("error: the operating system gives no random bytes\n"), "{words_of_none}");
        let words_of_thread = last_words("/registry/rand-0.8.8/src/rngs/thread.rs:72", None);
        assert_eq!(words_of_thread, words_of_none);
        let words_of_folder = last_words("/rustc/x/library/std/src/sys/fs/unix.rs:1021", None);
        assert!(words_of_folder.starts_with("error: the operating system could not close a folder\n"));
        assert!(words.starts_with("commit abc on main is published; after that pouch stopped, at x.rs:1"), "{words}");
    }
}
