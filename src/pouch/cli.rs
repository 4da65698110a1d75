//! Commands. STAND-IN: the integrator wires them.
pub mod config;
pub mod init;
pub mod schema;
