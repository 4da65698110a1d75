//! What needs no API server: the built program run on folders and repositories, its parts called in this
//! process, and its files read by the real programs.
//!
//! One file, or folder, for each subject. All of them share one process, so what changes the process (its
//! environment, its folder, its hooks) belongs in a child of it, as in `harden`.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test reads the environment, starts programs, looks at the clock and fails by panicking"
)]

#[path = "../support/mod.rs"]
mod support;

// The targets of `fuzz` reach age through the root of whatever they are compiled into.
use pouch::age;

mod acceptances;
mod alike;
mod argocd_cluster;
mod attack;
mod bad_input;
mod base;
mod budget;
mod builds;
mod check;
mod churn;
mod churn_laws;
mod clusters;
mod commits;
mod config_from;
mod corpus;
mod crash;
mod crowds;
mod cures;
mod deleted;
mod docs;
mod doubt;
mod encrypted;
mod ends;
mod examples;
mod explain;
mod exposure;
mod forgotten;
mod former;
mod guests;
mod handover;
mod harden;
mod interop;
mod isolation;
mod kept;
mod keygen;
mod kubectl_reading;
mod limited;
mod lines;
mod lints;
mod log;
mod managed_resources;
mod management;
mod monitoring;
mod named_readers;
mod names;
mod no_values;
mod outcome;
mod page;
mod passes;
mod past;
mod places;
mod plan;
mod proof;
mod proposals;
mod providers;
mod publish;
mod quickstart;
mod rbac;
mod read_back;
mod regions;
mod registry;
mod rekey;
mod renamed;
mod render;
mod resource_sets;
mod rule_words;
mod samples;
mod sealed_anew;
mod secrecy;
mod sets;
mod setup;
mod silence;
mod skips;
mod slips;
mod slow;
mod split;
mod stamp;
mod sweeps;
mod sync_rules;
mod tampered;
mod templates;
mod terminal;
mod torn;
mod transport;
mod turn;
mod unpack;
