//! pouch's pure core.
#![no_std]

extern crate alloc;

pub mod bundle;
pub mod capi;
pub mod change;
pub mod claim;
pub mod closure;
pub mod config;
pub mod finding;
pub mod json;
pub mod judge;
pub mod k0rdent;
pub mod name;
pub mod node;
pub mod object;
pub mod recipient;
pub mod report;
pub mod reuse;
pub mod scope;
pub mod secret;
pub mod selector;
pub mod snapshot;
pub mod sops;
pub mod yaml;

#[cfg(test)]
mod testing;
