//! The pure core of pouch: what the program decides, without a way to do anything.
//!
//! # The pipeline
//!
//! ```text
//! survey ⇄ world ⇄ close → judge ──► pack → fold → compare → brake ──► seal → publish
//!  I/O      pure   pure    pure      └──────────── plan ──────────┘    RNG     I/O
//! sources + published tree → cases → one plan per region → directory | git
//! ```
//!
//! The shell (package `pouch`) reads sources into documents. [`snapshot::assemble`] makes objects of them and remembers
//! what is unread. A [`world::World`] lends configuration, snapshot and facts to what follows. [`closure::close`] finds
//! what a claim needs, as far as [`admission`] lets it look; what is still wanted goes back to the survey.
//! [`judge::cases`] decides for each claim by itself. From there the unit of work is one region. [`region::plan::plan`]
//! compares its cases with each other and with what is published, and [`region::ledger`] folds cases and published
//! objects into what becomes of each object. The [brake](region::brake) holds what a person should see. Packing,
//! comparing and braking repeat until nothing changes. The shell seals and publishes the plan.
//!
//! # The nouns
//!
//! | noun | meaning |
//! |---|---|
//! | [`object::Object`] | an admitted document; a Secret's values are in a [`secret::Payload`] apart |
//! | [`snapshot::Snapshot`] | every object that was read; a [`snapshot::Lookup`] is found, absent, unread or unasked |
//! | [`name::Claimant`] | who asks; the kinds are the variants of this enum |
//! | [`claim::Claim`] | who asks for which root at which [`destination::Place`], so far always a region's own cluster |
//! | [`closure::Closure`] | the [`closure::Member`]s of a claim: what is read, where it lands, what is rewritten |
//! | [`judge::case::Case`] | a claim, its closure and its findings; a [`judge::case::Ruling`] adds the region's verdict |
//! | [`layout::manifest::Manifest`] | `bundle.yaml`: what a bundle holds, from where, for whom, and why it stays |
//! | [`region::published::Published`] | the content of a region's folders, and what vouches for it |
//! | [`region::plan::RegionPlan`] | what becomes of a region; summary, text and commit message are views of it |
//! | [`finding::Finding`] | what is wrong or worth knowing, with a stable [`finding::Code`] |
//!
//! # Invariants by absence
//!
//! - Nothing here knows the clock, the environment, a file, the network, a terminal or randomness. `no_std` holds that
//!   for our own code, `dependencies.txt` for what it is built on.
//! - Rooms are modules of this page, in one order (`src/pouch/tests/tidy/rooms.txt`): each names only rooms above it. No
//!   two files name each other in a circle. The test `tidy` holds both.
//! - Stages do not fail on bad input: they return their result and findings.
//! - Only [`yaml`] knows YAML and only [`json`] knows JSON. [`object::admit`] alone sees an undivided Secret, and nothing
//!   that holds a value can be printed.
//! - The same input in any order gives the same bytes, whether a run is for the fleet or for one region.
//! - A label on a Credential proves nothing. An object is absent only where its source was read completely.
//!
//! # The rooms
//!
//! CONTRIBUTING.md says what to touch to add something.
//!
//! | room | subject |
//! |---|---|
//! | [`name`], [`selector`], [`recipient`], [`secret`] | words for everything that has a name; what must not be shown |
//! | [`finding`], [`silence`] | codes, severities and classes; what annotations of objects silence |
//! | [`node`], [`yaml`], [`json`], [`lenient`] | documents as trees, and the doors they pass |
//! | [`blank`], [`hash`], [`listing`], [`nearest`], [`go_time`], [`release`], [`unread_words`] | small tools for texts |
//! | [`template`] | Go templates: `template/functions.rs` (what may be called), `template/budget.rs` (what that may cost) |
//! | [`kustomize`] | what a kustomization may name, and the files that its build is given |
//! | [`ciphertext`], [`sops`] | ciphertext where a value should be; the SOPS format |
//! | [`kinds`], [`capi`], [`k0rdent`], [`sync_rule`] | kinds and their fields: tables, providers, k0rdent, registry rules |
//! | [`object`], [`validity`], [`expiry`], [`cleartext`], [`guest_objects`] | one object: admitted, and what is wrong with it |
//! | [`config`] | `pouch.yaml`: one file per subject, each of which reads, explains, checks and shows its settings |
//! | [`destination`] | regions as places: folder, delivery, what must not land there |
//! | [`snapshot`] | what was read of all sources, and what is unread and why |
//! | [`inventory`] | objects that describe a region's cluster, one file per kind |
//! | [`inquiry`], [`rbac`] | what a live cluster is asked, and the rights that takes |
//! | [`claim`] | who asks for what, one file per kind of claimant; when a claimant is gone |
//! | [`world`] | what objects say together: regions, clusters, definitions, namespaces |
//! | [`admission`] | who may use which object, by which rule |
//! | [`closure`], [`made`] | what a claim needs and where it lands; what templates make of it |
//! | [`judge`] | verdicts: tenancy, conflicts, immutable fields, quotas |
//! | [`layout`] | files of a bundle: manifest, paths, kustomizations, delivery objects, staging |
//! | [`reuse`] | tags, and lines that prove manifests, commits and artifacts |
//! | [`region`] | its plan: ledger, guests, hand-over, brake, its window (`history`), limited runs (`allowances`) |
//! | [`verify`], [`deliver`] | proofs of bundles and of live regions; applying without Flux and Argo CD |
//! | [`history`] | sealed files and manifests of a repository's history; what plans count by: [`region::history`] |
//! | [`exposure`], [`log`] | two questions to a history: who could read what, and what became of an object |
//! | [`explain`], [`facts`] | why an object is, or is not, in a region; what is known of its cluster |
//! | [`report`], [`page`] | records of a run; their views as text, Markdown, JSON and metrics, and as a page of HTML |
//! | [`stamp`] | what a run leaves for the next |
//! | [`init`] | the configuration that is drafted from a cluster |
#![no_std]
// Arithmetic says by its type, or by its name, what becomes of a number that is too large.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

// For `format!` and `vec!`, as `std` has them.
#[macro_use]
extern crate alloc;

pub mod admission;
pub mod blank;
pub mod capi;
pub mod ciphertext;
pub mod claim;
pub mod cleartext;
pub mod closure;
pub mod config;
pub mod deliver;
pub mod destination;
pub mod expiry;
pub mod explain;
pub mod exposure;
pub mod facts;
pub mod finding;
pub mod go_time;
pub mod guest_objects;
pub mod hash;
pub mod history;
pub mod init;
pub mod inquiry;
pub mod inventory;
pub mod json;
pub mod judge;
pub mod k0rdent;
pub mod kinds;
pub mod kustomize;
pub mod layout;
pub mod lenient;
pub mod listing;
pub mod log;
pub mod made;
pub mod name;
pub mod nearest;
pub mod node;
pub mod object;
pub mod page;
pub mod rbac;
pub mod recipient;
pub mod region;
pub mod release;
pub mod renamed;
pub mod report;
pub mod reuse;
pub mod secret;
pub mod selector;
pub mod silence;
pub mod snapshot;
pub mod sops;
pub mod stamp;
pub mod sync_rule;
pub mod template;
pub mod unread_words;
pub mod validity;
pub mod verify;
pub mod world;
pub mod yaml;

#[cfg(test)]
mod testing;
