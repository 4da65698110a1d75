//! The configuration in two stages: what was typed ([`file::FleetFile`]) and what it means ([`Fleet`]).
//!
//! Everything after [`resolve`] sees only the second: names checked, globs compiled, recipients
//! parsed, defaults filled in. Paths are still relative to the configuration; only the shell knows
//! where that stands.

mod clusters;
mod delivery;
pub mod error;
pub mod file;
mod globs;
pub mod grant;
pub mod inventory;
pub mod overlap;
pub mod placement;
pub mod repository;
pub mod resolve;
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
use crate::finding::{Code, Severity};
use crate::kinds;
use crate::name::{Directory, FleetName, GroupKind, Namespace, ObjectKey, Region, Scope, SourceName};
use crate::object::Keep;
use crate::recipient::Recipient;
use crate::release::Release;

pub use clusters::{TakenClusters, TakenIdentity, taken};
pub use delivery::{
    ArgoCd, ArgoCluster, ArgoDestination, ArgoKind, ArgoMode, Delivery, Flux, HealthCheck, OCI_REPOSITORY, OCI_SCHEME,
    TextFile,
};
pub use globs::Globs;
pub use grant::{Grant, GrantRegions, Granted, Grantee, placements_of};
pub use inventory::{Inventory, Look, ProfileBy, ProfileTie};
pub use placement::{Placement, PlacementBy};

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
            Some(namespace) if namespace == system_namespace => self.cluster_scoped,
            Some(namespace) => self.namespaces.matches(namespace.as_str()),
        };
        by_place || self.objects.iter().any(|objects| objects.are(&key.kind, key.namespace.as_ref(), key.name.as_str()))
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

/// What happens to a region.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "StateWord")]
pub enum RegionState {
    /// It is rendered.
    #[default]
    Active,
    /// Its published bytes stay as they are.
    Paused,
    /// Its bundle and delivery files are removed, under the brake; objects on the region stay.
    Retired,
}

/// One region.
#[derive(Clone, Debug)]
pub struct RegionConfig {
    /// Its name.
    pub name: Region,
    /// Its folder.
    pub directory: Directory,
    /// What happens to it.
    pub state: RegionState,
    /// Whether it is the management cluster, where Credentials without a region go.
    pub management: bool,
    /// Everybody who can read the bundle, escrow included; sorted, never empty.
    pub recipients: Vec<Recipient>,
    /// The file that lists the region's own recipients, relative to the configuration; none if the configuration lists
    /// them.
    pub recipients_file: Option<String>,
    /// The namespaces whose Credentials may go there.
    pub allowed: Globs,
    /// Labels of namespaces there, for selectors and for the Namespaces that pouch emits.
    pub labels: BTreeMap<Namespace, BTreeMap<String, String>>,
    /// How its bundle gets there.
    pub delivery: Delivery,
    /// Whether its own ProviderInterfaces keep k0rdent from distributing identities there.
    pub detached: bool,
    /// Which objects describe its cluster, and how that is looked into.
    pub inventory: Inventory,
    /// The Clusters of Cluster API whose identities go there; the first entry that a Cluster matches counts.
    pub clusters: Vec<TakenClusters>,
}

impl RegionConfig {
    /// Whether the region is planned at all: a paused region keeps its files verbatim, and nothing is looked at for it.
    pub fn is_rendered(&self) -> bool {
        self.state != RegionState::Paused
    }
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

/// What an acceptance lets through, once.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Accept {
    /// Withdrawals.
    Deletions,
    /// Added recipients.
    Recipients,
    /// Re-sealing.
    Reseal,
}

/// One acceptance: it fits one set of changes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Acceptance {
    /// The region.
    pub region: Region,
    /// The namespace whose withdrawals are accepted; none for the whole region.
    pub namespace: Option<Namespace>,
    /// What is accepted.
    pub what: Accept,
    /// First 16 hex digits of the digest that the brake printed.
    pub digest: String,
}

/// Whether `text` can be an [`Acceptance`]'s digest: 16 hex digits in lower case.
pub fn is_digest(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// What the files of one source may cost.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceLimits {
    /// The most documents.
    pub documents: usize,
    /// The most values, maps and lists in them, counted after aliases are followed.
    pub nodes: usize,
    /// The most bytes of its files together; one that stands in several places counts in each.
    pub bytes: usize,
    /// The most bytes of text that aliases copy.
    pub copied_bytes: usize,
}

impl SourceLimits {
    /// Room for 300,000 objects of the usual size three times over, in about a gigabyte of memory.
    pub const DEFAULT: Self = Self { documents: 1_000_000, nodes: 10_000_000, bytes: 1 << 30, copied_bytes: 64 << 20 };
}

impl Accept {
    /// The word for it, in digests and in the trailers of commits.
    pub fn word(self) -> &'static str {
        match self {
            Accept::Deletions => "deletions",
            Accept::Recipients => "recipients",
            Accept::Reseal => "reseal",
        }
    }

    /// The flag of the command line.
    pub fn flag(self) -> &'static str {
        match self {
            Accept::Deletions => "--accept-deletions",
            Accept::Recipients => "--accept-recipients",
            Accept::Reseal => "--accept-reseal",
        }
    }

    /// Whether one namespace's can be accepted.
    pub fn is_by_namespace(self) -> bool {
        self != Accept::Recipients
    }
}

impl Acceptance {
    /// Reads `REGION=DIGEST`, or `REGION/NAMESPACE=DIGEST` of what namespaces have; none if it is neither.
    pub fn parse(what: Accept, text: &str) -> Option<Self> {
        let (whose, digest) = text.split_once('=')?;
        let (region, namespace) = match whose.split_once('/') {
            Some((region, namespace)) if what.is_by_namespace() => (region, Some(namespace.into())),
            Some(_) => return None,
            None => (whose, None),
        };
        is_digest(digest).then(|| Self { region: region.into(), namespace, what, digest: digest.into() })
    }

    /// What a commit that needed it says of it.
    pub fn trailer(&self) -> String {
        format!("{} {self}", self.what.word())
    }

    /// Reads what a commit says of an acceptance that it needed.
    pub fn of_trailer(text: &str) -> Option<Self> {
        let (word, rest) = text.split_once(' ')?;
        let what = [Accept::Deletions, Accept::Recipients, Accept::Reseal].into_iter().find(|what| what.word() == word);
        Self::parse(what?, rest)
    }
}

/// An acceptance as flags and commits write it: `eu-west/team-a=0123456789abcdef`.
impl fmt::Display for Acceptance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.region)?;
        if let Some(namespace) = &self.namespace {
            write!(f, "/{namespace}")?;
        }
        write!(f, "={}", self.digest)
    }
}

/// How long git may take, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GitLimits {
    /// The longest that git may say nothing of its progress.
    pub idle: u64,
    /// The longest that one fetch or push may take.
    pub total: u64,
    /// How long a branch is watched after a push whose outcome is unknown.
    pub settle: u64,
}

/// Bounds of one run.
#[derive(Clone, Debug)]
pub struct Limits {
    /// What the files of one source may cost.
    pub sources: SourceLimits,
    /// Withdrawals of one namespace from one region that always pass.
    pub free_deletions: usize,
    /// Above that, the most of them in percent of what the namespace has published.
    pub deletion_percent: usize,
    /// Above that, the most of them in objects.
    pub deletion_objects: usize,
    /// For how long withdrawals are counted together, in seconds.
    pub deletion_window: u64,
    /// How long what a claim has exchanged for another object stays published, in seconds; 0 for not at all.
    pub handover: u64,
    /// The most unchanged Secrets of a region that may be sealed anew, in percent.
    pub reseal_percent: usize,
    /// Acceptances of what goes beyond these bounds.
    pub accept: Vec<Acceptance>,
    /// How long git may take.
    pub git: GitLimits,
    /// How often a lost push is tried again from the start.
    pub attempts: usize,
    /// The most objects of one region; none for what its consumer takes.
    pub objects_per_region: Option<usize>,
    /// The most objects that are built and applied at once before they are split; none for any number.
    pub objects_per_leaf: Option<usize>,
    /// The most objects of one Credential namespace in one region.
    pub objects_per_namespace: usize,
    /// The most Credentials of one namespace in one region.
    pub credentials_per_namespace: usize,
    /// The most bytes that Secrets for one namespace take in one region once they are sealed.
    pub sealed_bytes_per_namespace: usize,
}

impl Limits {
    /// The most objects of a region that is delivered to in this way.
    pub fn most_objects(&self, delivery: &Delivery) -> usize {
        self.objects_per_region.unwrap_or_else(|| delivery.most_objects())
    }
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
    /// Whether companions are followed.
    pub companions: Companions,
    /// Whether `AWSClusterControllerIdentity/default` is emitted.
    pub emit_controller_identity: bool,
    /// The regions.
    pub regions: BTreeMap<Region, RegionConfig>,
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
    /// Severities that differ from the codes' own; `None` switches a code off.
    pub severities: BTreeMap<Code, Option<Severity>>,
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

    /// The region that is the management cluster, if the configuration has it.
    pub fn management(&self) -> Option<&RegionConfig> {
        self.regions.values().find(|region| region.management)
    }

    /// The source that is a namespace's own: the first that may provide it, and nothing that belongs to all.
    pub fn own_source(&self, namespace: &Namespace) -> Option<&SourceName> {
        let is_own = |source: &&Source| {
            let Provides { namespaces, cluster_scoped, .. } = &source.provides;
            !cluster_scoped && *namespace != self.system_namespace && namespaces.matches(namespace.as_str())
        };
        self.sources.iter().find(is_own).map(|source| &source.name)
    }

    /// Whether some stage reads objects of a kind.
    pub fn reads(&self, kind: &GroupKind) -> bool {
        kinds::is_read(kind) || self.kinds.contains_key(kind) || (self.names_clusters() && kinds::is_of_clusters(kind))
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
            || (kind.is(kinds::K0RDENT, "Credential") && namespace == Some(&self.system_namespace))
    }

    fn is_selected_by(&self, kind: &GroupKind, key: &str) -> bool {
        self.selects_by.contains(key) && kind.is(kinds::K0RDENT, "Credential")
    }
}
