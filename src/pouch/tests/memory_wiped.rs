//! The allocator of the shipped program leaves no plaintext in memory: a child's is searched after it has
//! sealed or opened.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "support/choir.rs"]
mod choir;
#[path = "support/spoilt.rs"]
mod fleet;
#[path = "support/memory.rs"]
mod memory;
mod support;

/// As in `main.rs`.
#[global_allocator]
static ALLOCATOR: zeroizing_alloc::ZeroAlloc<std::alloc::System> = zeroizing_alloc::ZeroAlloc(std::alloc::System);

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
