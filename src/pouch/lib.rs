//! pouch, the shell.

pub mod age;
pub mod ambient;
pub mod cli;
pub mod settings;
