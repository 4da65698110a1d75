//! What SOPS and age write, read by pouch: the codec against public vectors and the real programs, and
//! encrypted sources as a user has them.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test fails by panicking"
)]

#[path = "../support/fleet.rs"]
mod fleet;
#[path = "../support/origin.rs"]
mod origin;
#[path = "../support/mod.rs"]
mod support;

mod attacks;
mod codec;
mod sources;
