//! The parsers that take bytes of others, and what must hold whatever they are.
//!
//! A target never fails on bad input: it asserts. What is taken must be canonical or come back the same;
//! what is refused must be refused without a word of the input, since it can hold a secret.

mod armor;
mod config;
mod consumers;
mod expiry;
mod input;
mod json;
mod listing;
mod manifest;
mod path;
mod recipient;
mod report;
mod selector;
mod sops;
mod tag;
mod yaml;

/// A target: its name, which is also that of its program and of its folder below `corpus`, and itself.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const ALL: [Target; 16] = [
    ("armor", armor::run),
    ("config", config::run),
    ("consumers", consumers::run),
    ("expiry", expiry::run),
    ("json", json::run),
    ("listing", listing::run),
    ("manifest", manifest::run),
    ("path", path::run),
    ("recipient", recipient::run),
    ("report", report::run),
    ("reuse_key", recipient::run_reuse_key),
    ("selector", selector::run),
    ("sops_open", sops::run_open),
    ("sops_seal", sops::run_seal),
    ("tag", tag::run),
    ("yaml", yaml::run),
];

/// Runs the target called `name`.
///
/// # Panics
/// Where there is none, and where something does not hold that should.
pub fn run(name: &str, data: &[u8]) {
    let (_, target) = ALL.iter().find(|(known, _)| *known == name).expect("a target has this name");
    target(data);
}
