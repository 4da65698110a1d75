//! pouch, the shell: everything that touches files, clock, network, terminal or entropy.
//!
//! # The data's way
//!
//! ```text
//! command line ─► session ──► settings ─► survey ──► run ──► shelf ─► report
//!    words         flags     pouch.yaml  sources   regions  folder  outcomes, summary,
//!               surroundings    keys     clusters   sealed  branch  metrics, exit code
//! ```
//!
//! [`cli::run`] parses the command line and makes a [`session::Session`]: the global flags, the surroundings
//! ([`ambient`]), where words go ([`ui`]) and whether to end ([`stop`]). Every command is one file with
//! `run(session, args)`. It opens the configuration and the keys ([`settings`]), has the sources read
//! ([`survey`]), and gives both to [`run`], which asks the pure core region by region what should stand where, seals
//! what it asks for, and stages that on a [`shelf`]. The shelf makes it visible at once or not at all. What is told
//! of it, for people and for machines, stands in [`run::told`]; how it ended becomes an exit code in [`error`].
//!
//! # Invariants by absence
//!
//! - Nothing is decided here: what objects mean, who may use what and what a bundle looks like is the core's.
//! - Only [`ambient`] asks for environment, clock, current folder and entropy; only [`ui`] prints.
//! - Only [`error`] knows exit codes. Every other module says of its own errors which kind of failure they are.
//! - Only [`git`] names libgit2 or runs `git`, only [`cluster`] knows HTTP, only [`age`] opens or seals a data key.
//! - Nothing is published before everything that is published with it is staged; a run that is stopped before that
//!   leaves nothing behind.
//! - No two files name each other in a circle, and no command names another: but `plan`, which `render` and `publish` are
//!   with `--dry-run`.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | a command's flags, its help | [`cli`], one file per command; flags of all: [`session`] |
//! | flags that several commands have | [`cli::accept`] (what is let through), [`cli::reach`] (clusters) |
//! | an exit code, or what kind a failure is | [`error`]; the kind of a room's error stands beside that error |
//! | how `pouch.yaml`, its files and keys are read, and how faults in them are shown | [`settings`] |
//! | where documents are read from | [`survey::source`], one file per kind of source |
//! | how encrypted sources are opened | [`survey::source::decrypt`] |
//! | what a live cluster is asked, and when all is read again | [`survey`], [`survey::source::live`] |
//! | how a cluster is reached, and requests to it | [`cluster`]; that of a ClusterProfile: `cluster/provider.rs`; to another server of HTTP: [`cluster::origin`] |
//! | what is read of regions' own clusters, and how many at once | [`survey::look`], core `inquiry` and `inventory::document`; which plugin is run: core `inventory::providers` |
//! | rendering: each region is planned, sealed and staged at once | [`run::render`]; sealing: [`run::seal`] |
//! | rekeying | [`run::anew`] (chooses where values come from), [`run::rekey`] (takes them from the published files) |
//! | proofs of bundles, and comparing with a region's cluster | [`run::verify`], [`run::live`] |
//! | the table of all regions (`verify --live --all`) | [`run::standing`]; what it says: core `report::standing` and `verify::live::tally` |
//! | applying a bundle to a region without Flux and Argo CD | [`run::apply`], [`cluster::write`]; core `apply` |
//! | which bundle `unpack` and `apply` open, with whose identity | [`cli::bundle`] |
//! | who can read which value from a git history | [`run::exposure`], `run/history.rs` (reading), [`git::history`], [`shelf::repository`] |
//! | what became of an object, by the history of the branches that regions follow | [`run::log`], [`git::history::line`]; what commands are asked about: `cli/subject.rs` |
//! | what `pouch init` writes, and what it asks a management cluster | [`run::init`], core `init` |
//! | where new keys go and where they must not, the Secrets made of them | [`run::keygen`], [`run::keyfiles`] |
//! | how bundles are written to a folder, or pushed to a branch | [`shelf::directory`], [`shelf::branch`] |
//! | what a branch's history says: what pouch published last, since when withdrawals count | `shelf/branch/past.rs`, [`git::ancestors`]; the line that proves a commit: core `reuse::commit` |
//! | which branches of which repositories | [`shelf::target`], [`shelf::output`] |
//! | which regions are copied to a registry, and when | [`run::artifacts`]; what an artifact is: [`registry::artifact`]; how it gets there: [`registry`]; its seal: core `reuse::artifact` |
//! | how often a push is tried, and that places do not stop each other | [`shelf::rounds`] |
//! | whether runs on one machine wait for each other | [`shelf::turn`]; its flags: [`cli::turn`] |
//! | what a run notes of what it read, and whether a source is older than that | `shelf/branch/stamp.rs`, [`survey::last`]; whether the next run is spared: [`run::again`]; core `stamp` |
//! | what is proposed, and whose commits a branch has | `shelf/branch/proposal.rs` |
//! | what a run did at several places, told as one; words for a pull request | [`run::places`] |
//! | what became of a push | `shelf/branch/outcome.rs` |
//! | how long git may take or say nothing | [`child`], [`git::program`] |
//! | where `verify` looks for bundles: folder, commit, index | [`shelf::standing`] |
//! | lines of outcomes, the summary, metrics | [`run::told`], [`run::metrics`]; that the files of both can be written: [`cli::records`]; how a plan is written (`-o`): [`cli::plan`] |
//! | commit messages | [`text`] |
//! | where a cache may stand, and whose folder is trusted | [`cache`] |
//! | temporary folders, and what killed runs left of them | [`scratch`] |
//! | signals | [`stop`] |
//!
//! What to touch to add a kind of claim, a destination, a view of the plan, a limit or a provider stands on the first
//! page of `pouch-core`, where things are decided. The binary is a thin `main` around [`cli::main`].

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
