//! The fuzz targets: functions that take any bytes and assert what must hold of every input.
//!
//! `fuzz_targets` hands them to libFuzzer. The test `corpus` of package pouch compiles [`targets`] too and
//! replays the files below `corpus`.

// Only this one file of the shell is needed, and the rest would take minutes to build.
#[path = "../../src/pouch/age.rs"]
pub mod age;
pub mod targets;
