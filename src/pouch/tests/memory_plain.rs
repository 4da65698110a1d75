//! Without the wiping allocator plaintext stays in memory: or `memory_wiped` would prove nothing.
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
