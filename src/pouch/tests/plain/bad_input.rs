//! Hostile and broken input through the real binary: every spoilt thing gets an answer, and spoils nothing else.
//!
//! The harness stands in `support/spoilt.rs`: each case spoils a good fleet, and what holds for every
//! run (no canary, no control bytes, no panic) is checked with every run.

mod config;
mod document;
mod object;
mod output;
mod recipient;
mod strings;
mod terminal;
