//! Runs that are killed, or get an error from the system, at their system calls, one after the other: nothing is torn,
//! the next run needs no help, and what ends well is published whole.
//!
//! Each sweep has a short form here, whose points are spread over the run, and a long one that `scripts/soak/run` plays.

mod controls;
mod errors;
mod kills;
mod scene;
mod writers;
