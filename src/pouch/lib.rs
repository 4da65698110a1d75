//! pouch, the shell: everything that touches files, clock, network, terminal or entropy.
//!
//! It reads sources and the published tree, hands both to the pure core, seals what the core asks for
//! and publishes the result. The binary is a thin `main` around [`cli::main`].

pub mod age;
pub mod ambient;
pub mod child;
pub mod cli;
pub mod cluster;
pub mod error;
pub mod git;
pub mod harden;
pub mod run;
pub mod session;
pub mod settings;
pub mod shelf;
pub mod stop;
pub mod survey;
pub mod telemetry;
pub mod text;
pub mod ui;
