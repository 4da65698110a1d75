//! Without the wiping allocator plaintext stays in memory: or `memory_wiped` would prove nothing.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test reads the environment, starts programs, looks at the clock and fails by panicking"
)]

#[path = "../support/memory.rs"]
mod memory;
#[path = "../support/rig/mod.rs"]
mod rig;
#[path = "../support/mod.rs"]
mod support;

#[test]
fn s23_without_wiping_much_is_left_in_memory() {
    for work in memory::Work::ALL {
        let Some(left) = memory::left_behind(work) else { continue };
        assert!(left.len() > 3, "{work:?}: {left:?}");
    }
}

#[test]
#[ignore = "the other process of the test above"]
fn child() {
    memory::child();
}
