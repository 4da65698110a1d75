//! Hostile and broken input through the real binary: every spoilt thing gets an answer, and spoils nothing else.
//!
//! The harness stands in `support/spoilt.rs`: each case spoils a good fleet, and what holds for every
//! run (no canary, no control bytes, no panic) is checked with every run.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and shows what pouch said when it does"
)]

#[path = "../support/spoilt.rs"]
mod fleet;
#[path = "../support/mod.rs"]
mod support;

mod config;
mod document;
mod object;
mod output;
mod recipient;
mod strings;
mod terminal;
