//! The pure core of pouch: what the program decides, without a way to do anything.
//!
//! # The pipeline
//!
//! ```text
//! survey ⇄ claim → close → judge ──► pack → compare → brake ──► seal → publish
//!  I/O       pure   pure    pure      pure    pure     pure      RNG     I/O
//! sources + published tree → verdicts → one region at a time → directory | git
//! ```
//!
//! The shell (package `pouch`) reads sources into documents. [`snapshot::assemble`] makes objects of
//! them and remembers what nobody knows. [`claim::claims`] says who asks for which root, where;
//! [`closure::close`] follows what each root needs; [`judge::cases`] decides whether the claim may have
//! it. From there the unit of work is one region: [`bundle::draft::draft`] packs the admitted closures,
//! carries over what broken claims have published, compares with the published tree, and lets the
//! [brake](change::brake) speak. The shell seals what the draft asks for and publishes.
//!
//! # The nouns
//!
//! | noun | what it is |
//! |---|---|
//! | [`node::Node`] | a document as a compact tree; cannot be printed |
//! | [`object::Object`] | an admitted document; a Secret's values are in a [`secret::Payload`] apart |
//! | [`snapshot::Snapshot`] | every object that was read; [`snapshot::Lookup`] is found, absent or unread |
//! | [`claim::Claim`] | who asks for which root at which [`claim::Destination`] |
//! | [`closure::Closure`] | a claim's [`closure::Member`]s: what is read, where it lands, what is rewritten |
//! | [`judge::Verdict`] | admitted, refused (withdrawn) or broken (carried over) |
//! | [`bundle::published::Published`] | what stands in a region's folders, and what vouches for it |
//! | [`bundle::draft::Draft`] | a region's bundle as it will be; [`bundle::manifest::Manifest`] describes it |
//! | [`finding::Finding`] | what is wrong or worth knowing, with a stable [`finding::Code`] |
//!
//! # Invariants by absence
//!
//! - Nothing here knows the clock, the environment, a file, the network, a terminal or randomness.
//!   `no_std` holds that for our own code, `dependencies.txt` for what it is built on.
//! - Stages do not fail on bad input: they return their result and findings. Errors are for callers'
//!   mistakes and for the configuration.
//! - Only [`yaml`] knows YAML and only [`json`] knows JSON. Closure and judge know neither, nor sealing.
//! - [`object::admit`] alone sees an undivided Secret. Nothing that holds a value can be printed.
//! - Nothing is unordered: the same input in any order gives the same bytes. Rendering a fleet and
//!   looking at one region gives the same bytes as rendering only that region.
//! - A labelled Credential proves nothing; absence proves nothing unless it is proved itself.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | a key of `pouch.yaml` | [`config::file`] (as typed), [`config::resolve`] (as meant) |
//! | what a provider's identity looks like, who may use it | [`capi`], one file per provider |
//! | what k0rdent ships or how its objects are read | [`k0rdent`], [`k0rdent::builtin`] |
//! | what a live cluster is asked, and so which rights that takes | [`inquiry`] |
//! | the rights that reading a cluster takes, as manifests | [`rbac`] |
//! | what a claim needs, where it is read and lands | [`closure`], [`closure::reference`], [`closure::landing`] |
//! | companions of credential propagation | [`closure::companion`] |
//! | what AccessManagement makes | [`k0rdent::access`] (as written), [`claim::access`] (as decided) |
//! | who may use what | [`judge::tenancy`], [`judge::grant`]; places and names: [`place`] |
//! | secrets in plain sight, before and after publishing | [`inline`] |
//! | conflicts, quotas, immutable fields | [`judge::region`] |
//! | a finding code, its class or severity | [`finding::codes`] |
//! | what of an object is published | [`bundle::sanitise`] |
//! | files and folders of a bundle | [`bundle::path`], [`bundle::kustomization`], [`bundle::flux`], [`bundle::argocd`] |
//! | `bundle.yaml` | [`bundle::manifest`] |
//! | what is carried over, what keeps its bytes, what counts as a change | [`bundle::carry`], [`bundle::draft`] and its `pack` and `compare` |
//! | deletion budgets and acceptances | [`change::brake`] |
//! | the SOPS format | [`sops`] writes it, [`sops::read`] reads what others wrote; reuse tags: [`reuse`] |
//! | what counts as ciphertext where a value should be | [`ciphertext`] |
//! | what is encrypted where it stands, and when it is opened | [`snapshot`] and its `sealed` |
//! | what `pouch init` drafts from a cluster | [`draft_fleet`] |
//! | what is compared between a region and its bundle | [`verify`] |
//! | what a history lets whom read | [`exposure`] |
//! | what is proved of bundles without a cluster | [`proof`] |
//! | how findings and summaries read | [`report`] |
//!
//! What touches the world is in package `pouch`: sources, git, age, publishing, the command line.
#![no_std]

// cargo-mutants writes `vec!` where it replaces what a function gives, and only tests see such code.
#[cfg_attr(test, macro_use, allow(unused_imports, reason = "no test of ours needs it"))]
extern crate alloc;

pub mod admission;
pub mod capi;
pub mod ciphertext;
pub mod claim;
pub mod cleartext;
pub mod closure;
pub mod config;
pub mod destination;
pub mod exposure;
pub mod finding;
pub mod go_time;
pub mod hash;
pub mod init;
pub mod inquiry;
pub mod json;
pub mod judge;
pub mod k0rdent;
pub mod kinds;
pub mod layout;
pub mod listing;
pub mod name;
pub mod node;
pub mod object;
pub mod rbac;
pub mod recipient;
pub mod region;
pub mod release;
pub mod report;
pub mod reuse;
pub mod secret;
pub mod selector;
pub mod snapshot;
pub mod sops;
pub mod sops_document;
pub mod unread_words;
pub mod validity;
pub mod verify;
pub mod world;
pub mod yaml;

#[cfg(test)]
mod testing;
