//! The allocator of the shipped program leaves no plaintext in memory: a child's is searched after it has
//! sealed or opened.
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

/// As in `main.rs`.
#[global_allocator]
static ALLOCATOR: zeroizing_alloc::ZeroAlloc<mimalloc::MiMalloc> = zeroizing_alloc::ZeroAlloc(mimalloc::MiMalloc);

#[test]
fn s23_nothing_is_left_in_memory_after_sealing_and_opening() {
    for work in memory::Work::ALL {
        let Some(left) = memory::left_behind(work) else { continue };
        assert!(left.is_empty(), "{work:?}: {left:?}");
    }
}

#[test]
#[ignore = "the other process of the test above"]
fn child() {
    memory::child();
}
