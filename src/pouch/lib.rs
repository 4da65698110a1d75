//! pouch, the shell.

pub mod git;
pub mod source;
