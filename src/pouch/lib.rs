//! pouch, the shell: everything that touches files, clock, network, terminal or entropy.
//!
//! # The pipeline
//!
//! ```text
//! command line ─► session ──► settings ─► survey ──► run ──► shelf ─► report
//!    words         flags     pouch.yaml  sources   regions  folder  outcomes, summary,
//!               surroundings    keys     clusters   sealed  branch  metrics, exit code
//! ```
//!
//! [`cli::run`] parses the command line and makes a [`session::Session`]. Every command is one file with
//! `run(session, args)`: it opens the configuration and the keys ([`settings`]), has the sources read ([`survey`]), and
//! gives both to [`run`], which asks the pure core region by region what a bundle is to hold, seals what the plan asks
//! for, and stages that on a [`shelf`]. The shelf makes it visible at once or not at all. [`run::told`] reports it, and
//! [`error`] makes an exit code of how it ended. The binary is a thin `main` around [`cli::main`].
//!
//! # Invariants by absence
//!
//! - Nothing is decided here: the core says what objects mean, who may use what and what a bundle looks like.
//! - Only [`ambient`] asks for environment, clock, current folder and entropy; only [`ui`] prints.
//! - Only [`error`] knows exit codes. Every other room says of its own errors which kind of failure they are.
//! - Only [`git`] names libgit2 or runs `git`, only [`cluster`] knows HTTP, only [`age`] opens or seals a data key.
//! - Nothing is published before everything that is published with it is staged; a run that is stopped before that
//!   leaves nothing behind.
//! - No two files name each other in a circle. No command names another, except that `render` and `publish` use `plan`
//!   for `--dry-run`.
//!
//! # The rooms
//!
//! CONTRIBUTING.md says what to touch to add something.
//!
//! | room | subject |
//! |---|---|
//! | [`cli`] | one file per command; shared: `accept`, `asked`, `part`, `reach`, `subject`, `turn`, `records`, `bundle` |
//! | [`session`], [`ambient`], [`ui`], [`telemetry`] | flags of all commands, surroundings, terminal, spans |
//! | [`error`], [`stop`] | kinds of failure and exit codes; signals |
//! | [`settings`] | `pouch.yaml`, the files that it names, and keys; how faults in them are shown |
//! | [`survey`] | sources as documents: `source`, and `source/live` for clusters; when all is read again; looks into regions |
//! | [`cluster`] | how a cluster is reached, and requests to it; other servers of HTTP: [`cluster::origin`] |
//! | [`git`], [`child`] | repositories, their histories, signatures; programs that are run, and how long they may take |
//! | [`age`], [`harden`] | age's recipients and identities, data keys sealed and opened; memory that is wiped |
//! | [`run`] | one file per thing that a run does: render, rekey, verify, apply, publish, log, exposure, keygen, init |
//! | [`shelf`] | bundles in folders and on branches: staging, publishing, proposals, turns; the brake's past: `branch/past` |
//! | [`registry`] | copies of bundles in a registry |
//! | [`text`] | commit messages |
//! | [`cache`], [`scratch`] | folders that are kept from run to run, and folders that are not |

// As in the core.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

pub mod age;
pub mod ambient;
pub mod cache;
pub mod child;
pub mod cli;
pub mod cluster;
pub mod error;
pub mod git;
pub mod harden;
pub mod registry;
pub mod run;
pub mod scratch;
pub mod session;
pub mod settings;
pub mod shelf;
pub mod stop;
pub mod survey;
pub mod telemetry;
pub mod text;
pub mod ui;
