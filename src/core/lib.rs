//! pouch's pure core.
#![no_std]

extern crate alloc;

pub mod capi;
pub mod claim;
pub mod config;
pub mod finding;
pub mod json;
pub mod k0rdent;
pub mod name;
pub mod node;
pub mod object;
pub mod recipient;
pub mod reuse;
pub mod scope;
pub mod secret;
pub mod sops;
pub mod yaml;
