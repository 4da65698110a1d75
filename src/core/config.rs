//! The configuration in two stages: what was typed ([`file::FleetFile`]) and what it means ([`Fleet`]).
//!
//! Everything after [`resolve`] sees only the second: names checked, globs compiled, recipients
//! parsed, defaults filled in. Paths are still relative to the configuration; only the shell knows
//! where that stands.

mod checks;
mod clusters;
mod delivering;
mod delivery;
pub mod error;
pub mod file;
mod globs;
pub mod grant;
pub mod guests;
pub mod inventory;
mod limits;
pub mod overlap;
pub mod placement;
mod region;
pub mod repository;
pub mod resolve;
mod setting;
mod severity;
pub mod shape;
pub mod show;
mod taking;
pub mod written;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::capi::tenancy::Tenancy;
use crate::finding::Code;
use crate::kinds;
use crate::name::{Claimant, Directory, FleetName, GroupKind, Name, Namespace, ObjectKey, Region, Scope, SourceName};
use crate::object::Keep;
use crate::recipient::Recipient;
use crate::release::Release;

pub use clusters::{ClusterEntries, TakenClusters, TakenIdentity};
pub use delivery::{
    ArgoCd, ArgoCluster, ArgoDestination, ArgoKind, ArgoMode, Delivery, Flux, HealthCheck, OCI_REPOSITORY, OCI_SCHEME,
    TextFile,
};
pub use globs::Globs;
pub use grant::{Grant, GrantRegions, Granted, Grantee, grants_for, grants_to_make, placements_of};
pub use guests::{ClusterSelector, EntryPlace, Expression, GuestEntry, GuestGroup, is_name_of_guests};
pub use inventory::{Inventory, Look, ProfileBy, ProfileTie};
pub use limits::{Accept, Acceptance, Deletions, GitLimits, Limits, Reseal, SourceLimits, is_digest};
pub use placement::{Placement, PlacementBy};
pub use region::{RegionConfig, RegionState};
pub use setting::{Bytes, Percent, Seconds};
pub use severity::LevelWord;

/// What a source may provide; everything else in it is ignored with a finding.
#[derive(Clone, Debug)]
pub struct Provides {
    /// The namespaces whose objects the source may provide.
    pub namespaces: Globs,
    /// Whether the source may provide cluster-scoped objects and objects of the system namespace.
    pub cluster_scoped: bool,
    /// Objects that the source may provide beside those.
    pub objects: Vec<ProvidedObjects>,
}

/// Objects of one kind and namespace that a source may provide.
#[derive(Clone, Debug)]
pub struct ProvidedObjects {
    /// Their kind.
    pub kind: GroupKind,
    /// Their namespace; none for a cluster-scoped kind.
    pub namespace: Option<Namespace>,
    /// Their names: one glob with `*` and `?`.
    pub names: Globs,
}

impl Provides {
    /// Whether a source may provide an object (DESIGN §2.4).
    pub fn admits(&self, key: &ObjectKey, system_namespace: &Namespace) -> bool {
        let by_place = match &key.namespace {
            None => self.cluster_scoped,
            Some(namespace) => self.has_namespace(namespace, system_namespace),
        };
        by_place || self.objects.iter().any(|objects| objects.are(&key.kind, key.namespace.as_ref(), key.name.as_str()))
    }

    /// Returns true if a source may provide everything in a namespace.
    pub fn has_namespace(&self, namespace: &Namespace, system_namespace: &Namespace) -> bool {
        match namespace == system_namespace {
            true => self.cluster_scoped,
            false => self.namespaces.matches(namespace.as_str()),
        }
    }
}

impl ProvidedObjects {
    fn are(&self, kind: &GroupKind, namespace: Option<&Namespace>, name: &str) -> bool {
        self.kind == *kind && self.namespace.as_ref() == namespace && self.names.matches(name)
    }

    /// The glob over their names.
    pub fn glob(&self) -> &str {
        self.names.patterns().first().map(String::as_str).unwrap_or_default()
    }
}

/// One source, in the order of the configuration.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name.
    pub name: SourceName,
    /// Where it is.
    pub place: SourcePlace,
    /// What it may provide.
    pub provides: Provides,
    /// Whether the source may say something else about an object of an earlier source.
    pub overrides: bool,
    /// The region whose Clusters the source describes; none if its Clusters may be any region's.
    pub region: Option<Region>,
    /// The namespace of namespaced objects that name none.
    pub default_namespace: Option<Namespace>,
    /// Where the identities for its encrypted files are; none if the files are not opened.
    pub decryption: Option<Decryption>,
}

/// Where to find the age identities that open a source's encrypted files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Decryption {
    /// In a file, relative to the configuration.
    AgeIdentityFile(String),
    /// In the environment: in `SOPS_AGE_KEY`, and in the file that `SOPS_AGE_KEY_FILE` names.
    Environment,
}

/// Where a source is.
#[derive(Clone, Debug)]
pub enum SourcePlace {
    /// A folder, or one file.
    Directory {
        /// Relative to the configuration.
        path: String,
        /// Which files count.
        files: FileGlobs,
    },
    /// A git repository at a revision, read from its objects.
    Git {
        /// URL or local path, the latter relative to the configuration.
        repository: String,
        /// A full `refs/…`, `HEAD`, a whole commit id, or else a branch.
        reference: String,
        /// A folder, or one file, in the tree; empty for the root.
        path: String,
        /// Which files count.
        files: FileGlobs,
    },
    /// Standard input.
    Stdin,
    /// A live cluster; only what the Credentials need is read.
    Cluster {
        /// The kubeconfig's context; none if there is only one to choose.
        context: Option<String>,
        /// The kubeconfig, relative to the configuration; none for the usual places.
        kubeconfig: Option<String>,
    },
}

/// Which files of a source count: those that `include` matches and `exclude` does not.
#[derive(Clone, Debug)]
pub struct FileGlobs {
    /// Matched against the path relative to the source's; by default YAML and JSON files.
    pub include: Globs,
    /// Matched likewise; by default none.
    pub exclude: Globs,
}

/// Where identities are read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "ResolutionWord")]
pub enum Resolution {
    /// Where the Credential says: the namespace of its `identityRef`, else its own.
    #[default]
    AsWritten,
    /// Where k0rdent's own controller looks: in the system namespace.
    Kcm,
}

/// Whether companions are followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "CompanionsWord")]
pub enum Companions {
    /// They are.
    #[default]
    Follow,
    /// They are not.
    None,
}

/// A further publishable kind (`kinds:`).
#[derive(Clone, Debug)]
pub struct ExtraKind {
    /// Its scope.
    pub scope: Scope,
    /// Its tenancy.
    pub tenancy: Tenancy,
}

/// Where bundles go.
#[derive(Clone, Debug)]
pub struct Output {
    /// Relative to the configuration, or in the repository.
    pub path: String,
    /// The repository to publish to.
    pub git: Option<OutputGit>,
    /// The registry that bundles are copied to.
    pub oci: Option<OutputOci>,
}

impl Output {
    /// The folder of the bundles as this delivery's consumer sees it: an artifact begins below it.
    pub fn seen_by(&self, delivery: &Delivery) -> &str {
        if self.oci.is_some() && delivery.takes_artifacts() { "" } else { &self.path }
    }
}

/// A registry that bundles are copied to, one artifact a region.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputOci {
    /// Registry and repository, without a scheme; may have a placeholder for the region.
    pub repository: String,
    /// The tag that consumers follow; may have one too.
    pub tag: String,
    /// Whether it is asked by plain HTTP.
    pub insecure: bool,
}

/// Where a region's artifact stands.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ArtifactPlace {
    /// The registry: a host, and a port if need be.
    pub registry: String,
    /// The repository in it.
    pub repository: String,
    /// The tag.
    pub tag: String,
}

impl fmt::Display for ArtifactPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}:{}", self.registry, self.repository, self.tag)
    }
}

impl OutputOci {
    /// Where the artifact of the bundle with this folder stands.
    pub fn place(&self, directory: &Directory) -> ArtifactPlace {
        let repository = repository::filled(&self.repository, directory.as_str());
        let (registry, repository) = repository.split_once('/').unwrap_or((&repository, ""));
        let tag = repository::filled(&self.tag, directory.as_str());
        ArtifactPlace { registry: registry.into(), repository: repository.into(), tag }
    }
}

/// A repository to publish to.
#[derive(Clone, Debug)]
pub struct OutputGit {
    /// URL or local path, the latter relative to the configuration; may have a placeholder for the region.
    pub repository: String,
    /// The branch that the regions follow; may have one too.
    pub base: String,
    /// The branch to commit to: the base, or one that proposes something to it; may have one too.
    pub branch: String,
    /// What the server is told with each push of a proposal.
    pub push_options: Vec<String>,
    /// Name and mail address of the author.
    pub author: Identity,
    /// Name and mail address of the committer.
    pub committer: Identity,
    /// The templates of the commit message, where they are not the default.
    pub message: MessageTemplates,
    /// Whether and how commits are signed.
    pub sign: Sign,
    /// The file of keys that may sign commits of the branch, relative to the configuration.
    pub allowed_signers: Option<String>,
    /// Whether objects are kept on this machine from run to run.
    pub cache: bool,
    /// Whether what was read is noted beside the branch.
    pub stamp: bool,
}

/// Where a region's bundle is published.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Place {
    /// The repository, as it is written.
    pub repository: String,
    /// The branch that the region follows.
    pub base: String,
    /// The branch to commit to.
    pub branch: String,
}

impl OutputGit {
    /// Where the bundle with this folder is published.
    pub fn place(&self, directory: &Directory) -> Place {
        let filled = |text: &str| repository::filled(text, directory.as_str());
        Place { repository: filled(&self.repository), base: filled(&self.base), branch: filled(&self.branch) }
    }

    /// Whether what changes is proposed, and not published at once.
    pub fn proposes(&self) -> bool {
        self.base != self.branch
    }
}

impl Fleet {
    /// The same with these regions only: what the configuration says of a place that no other region's bundles are
    /// published to.
    #[must_use]
    pub fn only(&self, regions: &BTreeSet<Region>) -> Self {
        let mut only = self.clone();
        only.regions.retain(|name, _| regions.contains(name));
        only.guests.retain(|_, group| regions.contains(&group.region));
        let by_guests = only.guests.values().any(|group| !group.rules.is_empty());
        only.syncs = only.syncs && (by_guests || only.regions.values().any(RegionConfig::names_sync_rules));
        only
    }
}

/// The templates of a commit message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MessageTemplates {
    /// Of the first line.
    pub title: Option<String>,
    /// Of what stands between that and the trailers.
    pub body: Option<String>,
}

/// Whether and how commits are signed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sign {
    /// As git's own configuration says.
    AsGit,
    /// Never.
    Never,
    /// With an SSH key: a file, relative to the configuration, or the public key of an agent; by default git's own.
    Ssh(Option<String>),
    /// With a key of GnuPG, by its id; by default git's own.
    Gpg(Option<String>),
}

/// A person, as git names one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Identity {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

/// Where the reuse key and its predecessors are found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyPlace {
    /// An environment variable.
    Env(String),
    /// A file, relative to the configuration.
    File(String),
}

/// The reuse key's places.
#[derive(Clone, Debug)]
pub struct ReuseKeyPlaces {
    /// The place of the current key.
    pub current: KeyPlace,
    /// The places of former keys, whose tags are still believed.
    pub previous: Vec<KeyPlace>,
}

/// The resolved configuration.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The fleet's name.
    pub name: FleetName,
    /// Sources, in order.
    pub sources: Vec<Source>,
    /// k0rdent's system namespace, the same everywhere.
    pub system_namespace: Namespace,
    /// Where identities are read.
    pub resolution: Resolution,
    /// The release whose built-in ProviderInterfaces count; none for `none`.
    pub builtin: Option<Release>,
    /// Further publishable kinds.
    pub kinds: BTreeMap<GroupKind, ExtraKind>,
    /// Labels to keep.
    pub keep_labels: Globs,
    /// Annotations to keep.
    pub keep_annotations: Globs,
    /// By which labels this run selects Credentials, so that those are read. No key of the configuration.
    pub selects_by: BTreeSet<String>,
    /// Whether some region names ResourceSyncRules: asked for every object that is read.
    syncs: bool,
    /// Whether companions are followed.
    pub companions: Companions,
    /// Whether `AWSClusterControllerIdentity/default` is emitted.
    pub emit_controller_identity: bool,
    /// The regions.
    pub regions: BTreeMap<Region, RegionConfig>,
    /// What is delivered into guest clusters, by name.
    pub guests: BTreeMap<Name, GuestGroup>,
    /// Recipients of every region.
    pub escrow: BTreeSet<Recipient>,
    /// Permissions to use objects that nothing else admits.
    pub grants: BTreeSet<Grant>,
    /// Where bundles go.
    pub output: Output,
    /// Where the reuse key is.
    pub reuse_key: ReuseKeyPlaces,
    /// Bounds.
    pub limits: Limits,
    /// Severities that differ from the codes' own.
    pub severities: BTreeMap<Code, LevelWord>,
}

impl Fleet {
    /// Whether objects of a kind may be published: of one that pouch knows, or that `kinds` adds.
    pub fn publishes(&self, kind: &GroupKind) -> bool {
        kinds::is_published(kind) || self.kinds.contains_key(kind)
    }

    /// Whether a source may provide an object; true of a source that the configuration does not know.
    pub fn may_provide(&self, source: &SourceName, key: &ObjectKey) -> bool {
        let known = self.sources.iter().find(|known| known.name == *source);
        known.is_none_or(|source| source.provides.admits(key, &self.system_namespace))
    }

    /// The group of guest clusters that a claimant is, if the configuration has it.
    pub fn group_of(&self, by: &Claimant) -> Option<&GuestGroup> {
        self.guests.get(by.group()?)
    }

    /// The region that is the management cluster, if the configuration has it.
    pub fn management(&self) -> Option<&RegionConfig> {
        self.regions.values().find(|region| region.management)
    }

    /// The source that is a namespace's own: the first that may provide it, and nothing that belongs to all. One that describes
    /// a region is that only if there is no other: it gives to its own region alone, and often to many namespaces.
    pub fn own_source(&self, namespace: &Namespace) -> Option<&SourceName> {
        let is_own = |source: &&Source| {
            let Provides { namespaces, cluster_scoped, .. } = &source.provides;
            !cluster_scoped && *namespace != self.system_namespace && namespaces.matches(namespace.as_str())
        };
        let own = || self.sources.iter().filter(is_own);
        own().find(|source| source.region.is_none()).or_else(|| own().next()).map(|source| &source.name)
    }

    /// Whether some stage reads objects of a kind.
    pub fn reads(&self, kind: &GroupKind) -> bool {
        kinds::is_read(kind) || self.kinds.contains_key(kind) || (kinds::is_by_configuration(kind) && self.lists(kind))
    }
}

impl Keep for Fleet {
    fn label(&self, key: &str) -> bool {
        self.keep_labels.matches(key)
    }

    fn annotation(&self, key: &str) -> bool {
        self.keep_annotations.matches(key)
    }

    /// AccessManagement selects among Namespaces, and among Credentials of the system namespace; a region's tie among
    /// ClusterProfiles.
    fn is_selected(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        kind.is_namespace()
            || kind.is(kinds::MULTICLUSTER, "ClusterProfile")
            || kind.is(kinds::REGISTRY, kinds::CLUSTER_FEATURE)
            || (kind.is(kinds::K0RDENT, "Credential") && namespace == Some(&self.system_namespace))
    }

    fn is_selected_by(&self, kind: &GroupKind, key: &str) -> bool {
        self.selects_by.contains(key) && kind.is(kinds::K0RDENT, "Credential")
    }

    fn is_matched(&self, kind: &GroupKind) -> bool {
        self.syncs && self.publishes(kind)
    }
}
