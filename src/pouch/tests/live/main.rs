//! The live cluster as a source, against a real API server: what is read, what is believed, what is published.
//!
//! Each module attacks another promise. All look at what was published only from outside: at files, exit
//! codes and what was said. A test whose promise could be kept by doing nothing has a control
//! beside it, in which the guard is off and the same check must fail.
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

#[path = "../support/rig/mod.rs"]
mod rig;
#[path = "../support/mod.rs"]
mod support;

mod argocd;
mod bundle;
mod canary;
mod capa;
mod clusters;
mod deliver;
mod delivered;
mod exchange;
mod explain;
mod faults;
mod flux;
mod ground;
mod guests;
mod init;
mod kcm;
mod keygen;
mod kubectl;
mod managed_resources;
mod objects;
mod odd_objects;
mod older;
mod opened;
mod placement;
mod progress;
mod rbac;
mod reach;
mod refused;
mod region_facts;
mod regions;
mod registered;
mod requests;
mod resource_sets;
mod retries;
mod rig_itself;
mod rights;
mod samples;
mod started;
mod sync_oracle;
mod sync_rules;
mod tenants;
mod verify;
mod writer;
