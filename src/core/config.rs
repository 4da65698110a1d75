//! The configuration in two stages: what was typed ([`file::FleetFile`]) and what it means ([`Fleet`]).
//!
//! A setting is spelt once, in the file of its subject: a type of `config/setting.rs` reads, explains, checks and shows
//! it, and what a field means beyond its value is filled in by `resolve`. Everything after [`resolve`] sees only the
//! second stage: names checked, globs compiled, recipients parsed, defaults filled in. Paths are still relative to the
//! configuration; only the shell knows where that stands.

mod apart;
mod argocd;
mod checks;
mod clusters;
mod content;
mod defaults;
mod delivering;
mod delivery;
pub mod error;
pub mod file;
mod flux;
mod forms;
mod globs;
pub mod grant;
mod guarded;
pub mod guests;
pub mod inventory;
mod kind;
mod limits;
mod named;
mod namespaces;
mod output;
pub mod overlap;
pub mod placement;
mod reader;
mod reading;
mod region;
mod registry;
pub mod repository;
pub mod resolve;
mod setting;
mod severity;
pub mod shape;
mod share;
pub mod show;
mod source;
mod taking;
mod variables;
pub mod written;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::cluster::{cluster_kind, is_cluster};
use crate::capi::naming::ClusterKind;
use crate::finding::{Code, Finding, crowd, settle};
use crate::kinds;
use crate::name::{Claimant, FleetName, GroupKind, Name, Namespace, ObjectKey, Region, SourceName};
use crate::object::Keep;
use crate::recipient::Recipient;
use crate::release::Release;

pub use argocd::{ArgoCd, ArgoCluster, ArgoDestination, ArgoKind, ArgoMode, TextFile};
pub use clusters::{ClusterEntries, TakenClusters, TakenIdentity};
pub use content::{Content, FileGlobs};
pub use delivery::Delivery;
pub use flux::{Flux, HealthCheck, OCI_REPOSITORY};
pub use forms::is_digest;
pub use globs::Globs;
pub use grant::{Grant, GrantRegions, Granted, Grantee, grants_for, grants_to_make, placements_of};
pub use guarded::Guarded;
pub use guests::{ClusterSelector, EntryPlace, Expression, GuestEntry, GuestGroup, OperatorWord, is_name_of_guests};
pub use inventory::{Inventory, Look, ProfileBy, ProfileTie};
pub use kind::{Controllers, ExtraKind};
pub use limits::{
    Accept, Acceptance, BuildLimits, Deletions, GitLimits, Limits, Reseal, SourceGitLimits, SourceLimits,
};
pub use output::{Identity, KeyPlace, MessageTemplates, Output, OutputGit, Place, ReuseKeyPlaces, Sign};
pub use placement::{Placement, PlacementBy};
pub use reader::Readers;
pub use reading::{Companions, Resolution};
pub use region::{RegionConfig, RegionState};
pub use registry::{ArtifactPlace, OCI_SCHEME, OutputOci};
pub use setting::{Bytes, Percent, Seconds};
pub use severity::LevelWord;
pub use source::{AsCommitted, Decryption, ProvidedObjects, Provides, Source, SourcePlace};

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
    /// Where controllers read the Secrets that identities of a kind name without a namespace.
    pub controllers: Controllers,
    /// The namespaces that take a source with `clusterScoped`. No key of the configuration.
    pub guarded: Guarded,
    /// Labels and annotations to keep.
    pub keep: file::Keep,
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
    /// The names of recipients.
    pub readers: Readers,
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

    /// Applies the configuration's severities to findings, settles what is left, and lists of each account so many.
    pub fn govern(&self, findings: Vec<Finding>) -> Vec<Finding> {
        let governed = findings.into_iter().filter_map(|mut finding| {
            if let Some(level) = self.severities.get(&finding.code) {
                finding.severity = level.severity()?;
            }
            Some(finding)
        });
        crowd::bounded(settle(governed.collect()), self.accounts())
    }

    /// Whether objects of a kind may be published: of one that pouch knows, or that `kinds` adds.
    pub fn publishes(&self, kind: &GroupKind) -> bool {
        kinds::is_published(kind) || self.kinds.contains_key(kind)
    }

    /// Whether a source may provide an object; true of a source that the configuration does not know.
    pub fn may_provide(&self, source: &SourceName, key: &ObjectKey) -> bool {
        self.source(source).is_none_or(|source| source.provides.admits(key, &self.guarded))
    }

    /// The namespace in which the controller reads the Secrets that failure domains of a kind name.
    pub fn controller_of(&self, domain: &ClusterKind) -> &Namespace {
        let said = domain.identities().into_iter().find_map(|kind| self.controllers.get(&kind));
        said.unwrap_or(&self.system_namespace)
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
            !cluster_scoped && !self.guarded.contains(namespace) && namespaces.matches(namespace.as_str())
        };
        let own = || self.sources.iter().filter(is_own);
        own().find(|source| source.region.is_none()).or_else(|| own().next()).map(|source| &source.name)
    }

    /// Whether some stage reads objects of a kind.
    pub fn reads(&self, kind: &GroupKind) -> bool {
        kinds::is_read(kind) || self.kinds.contains_key(kind) || (kinds::is_by_configuration(kind) && self.lists(kind))
    }

    /// True if ClusterResourceSets that are taken may choose among the Clusters that are read. Clusters are not read for that.
    pub fn chooses_clusters(&self) -> bool {
        self.names_resource_sets() && self.lists(&cluster_kind())
    }
}

impl Keep for Fleet {
    fn label(&self, key: &str) -> bool {
        self.keep.labels.matches(key)
    }

    fn annotation(&self, key: &str) -> bool {
        self.keep.annotations.matches(key)
    }

    /// AccessManagement selects among Namespaces, and among Credentials of the system namespace; a region's tie among
    /// ClusterProfiles.
    fn is_selected(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        kind.is_namespace()
            || kind.is(kinds::MULTICLUSTER, "ClusterProfile")
            || kind.is(kinds::REGISTRY, kinds::CLUSTER_FEATURE)
            || kinds::is_failure_domain(kind)
            || (kind.is(kinds::K0RDENT, "Credential") && namespace == Some(&self.system_namespace))
    }

    fn is_selected_by(&self, kind: &GroupKind, key: &str) -> bool {
        self.selects_by.contains(key) && kind.is(kinds::K0RDENT, "Credential")
    }

    fn is_matched(&self, kind: &GroupKind) -> bool {
        (self.syncs && self.publishes(kind)) || (is_cluster(kind) && self.chooses_clusters())
    }
}
