//! The YAML doors.
pub mod emit;
pub mod read;
