//! pouch, the shell.

pub mod age;
