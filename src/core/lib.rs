//! The pure core of pouch: what the program decides, without a way to do anything.
//!
//! # The pipeline
//!
//! ```text
//! survey ⇄ world ⇄ close → judge ──► pack → compare → brake ──► seal → publish
//!  I/O      pure   pure    pure      └──────── plan ───────┘    RNG     I/O
//! sources + published tree → cases → one plan per region → directory | git
//! ```
//!
//! The shell (package `pouch`) reads sources into documents. [`snapshot::assemble`] makes objects of them and
//! remembers what nobody knows. [`world::Facts`] gathers what the listed objects say together: definitions,
//! deployments, regions, and [what every claimant asks for](claim::collect::claims). A [`world::World`] lends all of
//! that to what follows. [`closure::close`] finds what a claim's root needs, as far as [`admission`] lets the claim look;
//! what is still wanted goes back to the survey. [`judge::cases`] decides for each claim by itself whether it may have
//! what it needs.
//!
//! From there the unit of work is one region. [`region::plan::plan`] holds the region's cases against each other and
//! against what is published, packs the admitted closures, carries over what broken claims have published, compares,
//! and asks the [brake](region::brake). The shell seals what the plan asks for and publishes it.
//!
//! # The nouns
//!
//! | noun | what it is |
//! |---|---|
//! | [`node::Node`] | a document as a compact tree; cannot be printed |
//! | [`object::Object`] | an admitted document; a Secret's values are in a [`secret::Payload`] apart |
//! | [`kinds::Known`] | what is known of a kind: scope, resource, fields that are read, whether it is published |
//! | [`snapshot::Snapshot`] | every object that was read; [`snapshot::Lookup`] is found, absent, unread (its source failed) or unasked (no source was asked yet) |
//! | [`world::World`] | the configuration, the snapshot and the facts, put together once per run |
//! | [`name::Claimant`] | who asks: a Credential, a Cluster, a set, a group of guests, a template for a namespace, a rule with an object |
//! | [`claim::Claim`] | who asks for which root at which [`destination::Place`] |
//! | [`admission::Rule`] | the rule by which a claim may use an object |
//! | [`closure::Closure`] | a claim's [`closure::Member`]s: what is read, where it lands, what is rewritten |
//! | [`judge::case::Case`] | a claim, its closure and its findings; never changes |
//! | [`judge::case::Ruling`] | what a region adds to a case; its [`judge::case::Verdict`] is admitted, refused or broken |
//! | [`destination::Destination`] | a cluster that a bundle is for: its region, its folder, its delivery, what must not land there |
//! | [`layout::Layout`] | where a destination's bundle stands; paths and open files are asked of it |
//! | [`layout::manifest::Manifest`] | `bundle.yaml`: what a bundle holds, from where and for whom |
//! | [`region::published::Published`] | what stands in a region's folders, and what vouches for it |
//! | [`region::plan::RegionPlan`] | what becomes of a region; summary, text and commit message are views of it |
//! | [`finding::Finding`] | what is wrong or worth knowing, with a stable [`finding::Code`] |
//!
//! # Invariants by absence
//!
//! - Nothing here knows the clock, the environment, a file, the network, a terminal or randomness.
//!   `no_std` holds that for our own code, `dependencies.txt` for what it is built on.
//! - A room is a module of this page. Rooms stand in one order, `src/pouch/tests/tidy/rooms.txt`: each names only rooms above it. No two
//!   files name each other in a circle. The test `tidy` holds both.
//! - Stages do not fail on bad input: they return their result and findings. Errors are for callers'
//!   mistakes and for the configuration.
//! - Only [`yaml`] knows YAML and only [`json`] knows JSON. Closure and judge know neither, nor sealing.
//! - [`object::admit`] alone sees an undivided Secret. Nothing that holds a value can be printed.
//! - Nothing is unordered: the same input in any order gives the same bytes. Rendering a fleet and
//!   looking at one region gives the same bytes as rendering only that region.
//! - A label on a Credential proves nothing. A missing object counts as absent only where its source was read completely.
//!
//! # Where to change what
//!
//! | to change | go to |
//! |---|---|
//! | a key of `pouch.yaml` | [`config::file`] (as typed), [`config::resolve`] (as meant), [`config::show`] (as shown) |
//! | what is known of a kind, and what is read of it | [`kinds`]; of a provider's identities: [`capi`], one file per provider |
//! | what a region's API would reject of an object | [`validity`]; what a CustomResourceDefinition in the sources says of its kind: [`validity::schema`] |
//! | what Go templates may call, and what they may cost | [`template`]: `template/functions.rs` (the tables, and what is refused), one file per subject under it; `template/budget.rs` |
//! | which ManagedResources are rendered for which namespaces, and when what they made goes | [`claim::template`], `world/namespaces.rs`; their data: `closure/template.rs`; what is made of them, and that no value stands in plain sight: [`made`]; how much all may make together: `made/bounds.rs` |
//! | what annotations of objects silence | [`silence`] |
//! | what is told of certificates and tokens that expire | [`expiry`]; of values that nobody means: [`validity::suspect`] |
//! | how k0rdent's objects are read, and what it ships | [`k0rdent`], [`k0rdent::builtin`]; releases: [`release`] |
//! | what a live cluster is asked, and so which rights that takes | [`inquiry`] (which kinds and objects; the shell's `survey/source/live.rs` sends it); the rights as manifests: [`rbac`] |
//! | which objects describe a region's cluster, and how they are read | [`config::inventory`] (the ties), [`inventory`], one file per kind |
//! | what is known of a region's cluster, what holds it, what wins where facts differ | [`world::cluster`]; what a look into it found: [`inventory::looked`], [`world::looks`]; as manifests: [`facts`]; as an answer: `explain/facts.rs` |
//! | which regions a placement lists, and what of that is unknown | [`inventory::placement`] (a slice), [`world::placement`]; whom a grant opens something to: `granting` of [`world::World`] |
//! | what Argo CD is told of a region's cluster | [`inventory::argocd`] (what it says, and what may not stand in clear), [`layout::delivery::cluster`] (the Secret's text), `region/registered.rs` (what stays where nothing is known) |
//! | what counts as mistyped | `snapshot/mistyped.rs` (kinds, templates), [`k0rdent`] (fields), [`nearest`] (how near) |
//! | what is encrypted where it stands, and when it is opened | [`snapshot`], `snapshot/sealed.rs` |
//! | what refers to what, and which deployments use what | [`world::definition`], [`claim::deployments`] |
//! | who asks for what, and when a claimant is gone | [`claim`], one file per kind of claim; [`claim::collect`] |
//! | which objects a Cluster of Cluster API refers to, and where those name an identity | [`capi::cluster`] (how they are read), [`capi::naming`] and the provider's file in [`capi`] (which fields); who takes it and what it asks for: `claim/cluster.rs`; what a cluster is asked for it: [`inquiry`] |
//! | how a ResourceSyncRule of the cluster registry is read, what it matches and makes | [`sync_rule`]; who takes it and whose objects it may take: [`claim::sync_rule`], [`admission`], `judge/copied.rs`; what a cluster is asked for it: `inquiry/sync_rules.rs` |
//! | which payloads a ClusterResourceSet names | [`capi::resource_set`] (how it is read), `claim/resource_set.rs` (who takes it, and what works otherwise than it looks); what is told of what the payloads hold: [`guest_objects`] (what stands in them), `judge/payloads.rs` (what that means) |
//! | what groups of guest clusters deliver | [`config::guests`] (what is asked for), [`claim::guest`] (who asks, names of payloads and sets), `closure/guests.rs`, `judge/guests.rs` and `judge/guest_writers.rs` (what is wrong with it), [`region::envelope`] (payloads and sets as objects), `region/guests.rs` (what changes), [`reuse::guest_line`] (their first line), `verify/live/guests.rs` (whether they arrived) |
//! | what AccessManagement makes | [`k0rdent::access`] (as written), [`claim::access`] (as decided) |
//! | what a claim needs, where it is read and lands | [`closure`], `closure/reference.rs`, `closure/landing.rs` |
//! | which sources are the management cluster, and what pouch put there | `snapshot/home.rs`; what of a claim is there already, or is in the way: `closure/at_home.rs`; what stays because others read it there: `region/home.rs` |
//! | companions of credential propagation | `closure/companion.rs` |
//! | who may use what | [`admission`] (the rules), [`admission::reach`] (the bound on what an object names), `judge/tenancy.rs` (what is said of it) |
//! | which destinations there are, their folders, what must not land there | [`destination`] |
//! | secrets in plain sight, before and after publishing | [`cleartext`] |
//! | conflicts, immutable fields | [`judge::region`] |
//! | quotas of namespaces and regions | `judge/quota.rs` |
//! | what makes a claim refused or broken | [`judge::case`] |
//! | a finding code, its class or severity | [`finding::codes`] |
//! | what of an object is published | [`layout::sanitise`] |
//! | files and folders of a bundle | [`layout`], [`layout::path`], [`layout::kustomization`], [`layout::delivery`] |
//! | `bundle.yaml` | [`layout::manifest`] |
//! | what stays as published, what goes, in which order that is decided, and the reasons for both | [`region::ledger`] (the steps), `region/packing.rs` (what they ask), [`layout::manifest::Reason`] |
//! | what keeps its bytes, what counts as a change | `pack` and `compare` of [`region`] |
//! | what is said of withdrawals that a document makes | `region/explain.rs` |
//! | deletion budgets and acceptances | [`region::brake`]; what counts as lost: [`region::accounts`], `apply/losses.rs`; since when: [`region::history`]; what is let through: [`region::allowances`] |
//! | the SOPS format | [`sops`] writes it, [`sops::read`] reads what others wrote; reuse tags: [`reuse`] |
//! | what a run leaves for the next: which states of the sources it read, and what it told | [`stamp`] |
//! | what counts as ciphertext where a value should be | [`ciphertext`] |
//! | what `pouch init` drafts from a cluster | [`init`] |
//! | what is proved of bundles without a cluster | [`verify::bundles`] |
//! | what is compared between a region and its bundle | [`verify::live`] |
//! | what is sent to a region without Flux and Argo CD, and what is taken away there | [`apply`] |
//! | what sealed files and manifests of a git history show, and whether they hold today's values | [`history`] |
//! | who can read which value from a git history | [`exposure`] |
//! | what became of an object in the history of a branch, and how old its values are | [`log`] |
//! | how findings and summaries read | [`report`] |
//! | what is told of why an object is, or is not, in a region | [`explain`] |
//! | the same, and a plan, as a page | [`page`] |
//!
//! # What to touch to add something
//!
//! | to add | touch |
//! |---|---|
//! | a kind of claim | a variant of [`name::Claimant`], and what the compiler names then; [`kinds`] (a row with `claims`, and the fields of its `spec` that are read: a live cluster's others are never seen), a file that reads it in [`k0rdent`], a file in [`claim`], [`claim::collect`] (its claims, and when such a claimant is gone), [`finding::codes`] for one that cannot be read. `config/file/grant.rs` if a grant may name it; [`admission`] if it may use what no Credential may; `closure/companion.rs`, which looks for companions of every root. A claimant has a namespace: of a ResourceSyncRule, which has none, each object that it takes is a claimant. One that stands in the configuration alone, as groups of guests do, has no object. It asks for one root, for several `starts` of [`claim::Claim`], as Clusters and ClusterResourceSets do, or for a `copied` object, as it becomes |
//! | a kind of destination | what names it in the configuration (`config/region.rs`, `config/file.rs`, `config/resolve/region.rs`; it is an entry of `regions`, by which the shell goes), [`destination`] (its address, folder and delivery, what must not land there), and the file in [`claim`] whose claims go there |
//! | a way of delivery | `config::Delivery` with `config/delivery.rs`, `config/file/delivery.rs` and `config/resolve/delivery.rs`; `forbids` in [`destination`]; a file in [`layout::delivery`], its arm in [`layout`], `layout/style.rs`; `layout/delivery/argocd.rs` (who shares a decryptor), `verify/bundles/delivery.rs` and `verify/live/stale.rs`. Its files are open: what is to be sealed in another way is `region/pack.rs` and the shell's `run/seal.rs`; whose keys it is read with, the shell's `run/keygen/subject.rs` |
//! | a view of the plan | a file in [`report`], which takes [`report::summary`]; in the shell `cli/plan.rs` for a format of `plan -o`, and nothing else; for a file of its own `session.rs` (the flag), `cli/records.rs` (that it can be written) and `run/told.rs` (which writes it). [`region::plan`] and `run/render.rs` only if the plan does not say it yet |
//! | a limit | `config/limits.rs`, `config/file/limit.rs`, `config/resolve/limit.rs`: that is all for a bound on what the configuration itself says. For a quota `judge/quota.rs`, and `region/handover.rs`, which hands over within it; for a bound on what changes [`region::brake`] and [`region::accounts`], which says what it weighs (`apply/losses.rs` if `pouch apply` is to keep it too); for a bound on reading or pushing, where the shell does it |
//! | a provider | its file in [`capi`], `all` in `capi.rs` for its identities, `kinds` in `capi/cluster.rs` for its clusters, and [`k0rdent::builtin`] if k0rdent ships it. If "who may use it" has a new meaning: [`capi::tenancy`] (in which field it stands, and its form), and `admits` in `capi.rs` |
//!
//! A new file also needs its `mod` line in the file above it. A new finding code goes into [`finding::codes`] besides,
//! and its section into `docs/findings`. What touches the world is in package `pouch`: sources, git, age, publishing,
//! the command line.
#![no_std]

// For `format!` and `vec!`, as `std` has them.
#[macro_use]
extern crate alloc;

pub mod admission;
pub mod apply;
pub mod capi;
pub mod ciphertext;
pub mod claim;
pub mod cleartext;
pub mod closure;
pub mod config;
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
pub mod report;
pub mod reuse;
pub mod secret;
pub mod selector;
pub mod silence;
pub mod snapshot;
pub mod sops;
pub mod sops_document;
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
