//! The last program of `cargo test`: tells once more what the others skipped.
#![allow(clippy::disallowed_macros, clippy::print_stdout, reason = "this is what it is for")]

#[path = "../../src/pouch/tests/support/skips.rs"]
#[allow(dead_code, reason = "the others note")]
mod skips;

fn main() {
    let lines = skips::take(std::path::Path::new(concat!(env!("CARGO_TARGET_TMPDIR"), "/skipped")));
    print!("{}", skips::told(&lines));
}
