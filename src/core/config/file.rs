//! What was typed: `pouch.yaml`, field by field, before anything is checked beyond its shape.
//!
//! The comments on the fields are the descriptions of the JSON Schema, which editors show, and which
//! [`super::shape`] checks a document against. Nothing here knows what a field means; that is
//! [`super::resolve`]'s business.

mod clusters;
mod delivery;
mod grant;
mod guests;
mod inventory;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform as _};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

pub use clusters::{ClusterIdentityFile, IdentifiedClustersFile, RegionClustersFile};
pub use delivery::{
    ArgoCdFile, ArgoClusterFile, DecryptionRefFile, DeliveryFile, DeliveryWord, DestinationFile, FluxFile, Given,
    HealthCheckFile, RegionDeliveryFile, SourceKindWord, SourceRefFile,
};
pub use grant::{GrantFile, GrantFromFile, GrantRegionFile, GrantToFile, PlacedFile, PlacementFile};
pub use guests::{
    ClusterExpressionFile, ClusterSelectorFile, GuestObjectFile, GuestPlaceFile, GuestsFile, OperatorWord,
};
pub use inventory::{ClusterProfileFile, InventoryFile, RegionClusterFile};

use super::limits::Limits;
use super::setting::{CHECK, ONE};
use super::severity::LevelWord;
use super::{Companions, RegionState, Resolution};
use crate::capi::tenancy::Tenancy;
use crate::finding::Code;

/// The value of `apiVersion`.
pub const API_VERSION: &str = "pouch/v1alpha1";

/// The value of `kind`.
pub const KIND: &str = "Fleet";

/// The configuration of one fleet: what is read, which regions there are, who can open their bundles
/// and where the bundles go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(title = "pouch.yaml")]
pub struct FleetFile {
    /// The format of this file.
    #[schemars(extend("const" = API_VERSION))]
    pub api_version: String,
    /// What this file is.
    #[schemars(extend("const" = KIND))]
    pub kind: String,
    /// The fleet's name.
    pub metadata: MetadataFile,
    /// Where Credentials, ProviderInterfaces, identities and Secrets are read, in order.
    pub sources: Vec<SourceFile>,
    /// k0rdent's system namespace, the same on the management cluster and on every region.
    #[serde(default = "system_namespace")]
    pub system_namespace: String,
    /// Where identities are read.
    #[serde(default)]
    pub resolution: Resolution,
    /// Whose definitions of identity kinds count where the sources have none.
    #[serde(default)]
    pub provider_interfaces: ProviderInterfacesFile,
    /// Further kinds that may be published, beside the built-in identity kinds.
    #[serde(default)]
    pub kinds: Vec<KindFile>,
    /// Labels and annotations of source objects to keep; by default none.
    #[serde(default)]
    pub keep: KeepFile,
    /// Whether the ConfigMap `<identity>-resource-template` and the Secret `<identity>-secret`, which
    /// credential propagation needs on the region, are followed.
    #[serde(default)]
    pub companions: Companions,
    /// Whether `AWSClusterControllerIdentity/default`, which the AWS provider makes on every region by
    /// itself, is published too.
    #[serde(default)]
    pub emit_controller_identity: bool,
    /// The regions, by the name that `Credential.spec.region` holds.
    pub regions: BTreeMap<String, RegionFile>,
    /// What is delivered into guest clusters by ClusterResourceSets of the cluster that manages them, by names of groups:
    /// they are part of the names of objects.
    #[serde(default)]
    pub guests: BTreeMap<String, GuestsFile>,
    /// Age recipients that can open the bundles of every region, for disasters.
    #[serde(default)]
    pub escrow_recipients: Vec<String>,
    /// What may be used although nothing else admits it: each entry names one object, or one Credential and
    /// so all that it needs. The key may stay when the last entry went.
    #[serde(default)]
    pub grants: Option<Vec<GrantFile>>,
    /// Where bundles go.
    #[serde(default)]
    pub output: OutputFile,
    /// What the emitted Flux and Argo CD objects say, for all regions.
    #[serde(default)]
    pub delivery: DeliveryFile,
    /// Where the reuse key is, with which pouch proves that a published Secret need not be sealed again.
    pub reuse_key: ReuseKeyFile,
    /// Bounds of one run; what a region may lose at once among them.
    #[serde(default)]
    pub limits: Limits,
    /// Severities of finding codes that differ from their own. Codes of the classes refused, broken,
    /// held and fault cannot be lowered.
    #[serde(default)]
    #[schemars(extend("propertyNames" = codes()))]
    pub findings: BTreeMap<String, LevelWord>,
}

/// Metadata of the fleet.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MetadataFile {
    /// The fleet's name, a DNS label. It is part of every authenticated manifest: bundles of a fleet with
    /// another name are never touched.
    pub name: String,
}

/// One source; exactly one of `directory`, `git`, `cluster` and `stdin` says where it is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceFile {
    /// The source's name, unique in this file.
    pub name: String,
    /// A folder, or one file, of manifests.
    pub directory: Option<DirectoryFile>,
    /// A git repository at a revision, read from its objects.
    pub git: Option<GitFile>,
    /// A live cluster; no more is read of it than the Credentials need, and nothing is written.
    pub cluster: Option<ClusterFile>,
    /// Manifests on standard input; at most one source.
    pub stdin: Option<StdinFile>,
    /// What the source may provide; anything else in it is ignored with a finding. Needed with more than
    /// one source; a single source may provide everything.
    pub provides: Option<ProvidesFile>,
    /// How encrypted files of this source, and of no other, are opened; without it they are not.
    pub decryption: Option<SourceDecryptionFile>,
    /// Whether the source may say something else about an object of an earlier source.
    #[serde(default)]
    pub overrides: bool,
    /// The namespace of namespaced objects that name none.
    pub default_namespace: Option<String>,
    /// The region whose Clusters of Cluster API the source describes, such as a region's own cluster: no other region takes
    /// a Cluster of it. A `cluster` source with it need not have k0rdent. It cannot have `provides.clusterScoped`, unless the
    /// region is the management cluster or there is no other source, and its Credentials are held to that region and to what
    /// the source itself has.
    pub region: Option<String>,
}

/// How encrypted files of a source are opened; exactly one of `ageIdentityFile` and `environment`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceDecryptionFile {
    /// A file of age identities, relative to this file and not under `output.path`.
    pub age_identity_file: Option<String>,
    /// `true` for the identities of the environment variables `SOPS_AGE_KEY` and `SOPS_AGE_KEY_FILE`.
    #[serde(default)]
    pub environment: bool,
}

/// A folder, or one file, of manifests.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DirectoryFile {
    /// The folder or file, relative to this file.
    pub path: String,
    /// Globs over paths below `path`; by default YAML and JSON files.
    #[serde(default = "include")]
    pub include: Vec<String>,
    /// Globs over paths below `path` of files that do not count.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// A git repository at a revision.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GitFile {
    /// A URL without password, or a local path relative to this file.
    pub repository: String,
    /// A full `refs/…`, a branch or a whole commit id; or a map that says which it is. A tag counts only where
    /// it is said to be one. By default the repository's `HEAD`.
    #[serde(rename = "ref", default)]
    pub reference: RefFile,
    /// A folder, or one file, in the repository; by default its root.
    #[serde(default)]
    pub path: String,
    /// Globs over paths below `path`; by default YAML and JSON files.
    #[serde(default = "include")]
    pub include: Vec<String>,
    /// Globs over paths below `path` of files that do not count.
    #[serde(default)]
    pub exclude: Vec<String>,
}

/// A branch, tag or commit.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RefFile {
    /// A full `refs/…`, a branch or a whole commit id.
    Text(String),
    /// What is said to be one of them.
    Map(RefMapFile),
}

impl Default for RefFile {
    fn default() -> Self {
        Self::Text("HEAD".to_string())
    }
}

/// Exactly one of `branch`, `tag` and `commit`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RefMapFile {
    /// A branch, by its short name.
    pub branch: Option<String>,
    /// A tag, by its short name.
    pub tag: Option<String>,
    /// A commit, by its whole id.
    pub commit: Option<String>,
}

/// A live cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterFile {
    /// The context of the kubeconfig; `--context` overrides it. Without either, the only context there
    /// is, the service account of the Pod that pouch runs in, or, on a terminal, the current context.
    pub context: Option<String>,
    /// The kubeconfig, relative to this file; `--kubeconfig` overrides it. By default the files of
    /// `KUBECONFIG`, else `~/.kube/config`.
    pub kubeconfig: Option<String>,
}

/// Standard input; has no fields.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StdinFile {}

/// What a source may provide.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProvidesFile {
    /// Globs of the namespaces whose objects it may provide.
    pub namespaces: Vec<String>,
    /// Whether it may provide cluster-scoped objects and those of the system namespace.
    #[serde(default)]
    pub cluster_scoped: bool,
    /// Objects that it may provide beside those: a team's own cluster-scoped identity, its Secret in the
    /// system namespace.
    #[serde(default)]
    pub objects: Vec<ProvidedObjectsFile>,
}

/// Objects of one kind and namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProvidedObjectsFile {
    /// Their API group, by default the core group's.
    #[serde(default)]
    pub group: String,
    /// Their kind, one that is published at all.
    pub kind: String,
    /// Their namespace; none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// A glob over their names: `*` stands for any characters, `?` for one.
    pub name: String,
}

/// Whose definitions of identity kinds count where the sources have none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ProviderInterfacesFile {
    /// The k0rdent release whose ProviderInterfaces are built in, such as `v1.11`, or `none`.
    pub builtin: String,
}

impl Default for ProviderInterfacesFile {
    fn default() -> Self {
        Self { builtin: "v1.11".to_string() }
    }
}

/// A further publishable kind.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindFile {
    /// The API group.
    pub group: String,
    /// The kind.
    pub kind: String,
    /// Whether its objects have a namespace.
    pub scope: ScopeWord,
    /// Whose meaning of "which namespaces may use this" the kind follows.
    #[serde(default)]
    pub allowed_namespaces: Tenancy,
}

/// Whether objects of a kind have a namespace.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ScopeWord {
    /// They have one.
    Namespaced,
    /// They have none.
    Cluster,
}

/// Metadata of source objects to keep.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeepFile {
    /// Globs over label keys.
    #[serde(default)]
    pub labels: Vec<String>,
    /// Globs over annotation keys; none may match an annotation that holds a copy of the object.
    #[serde(default)]
    pub annotations: Vec<String>,
}

/// One region; exactly one of `recipients` and `recipientsFile` says who can open its bundle.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegionFile {
    /// Age recipients (`age1…`) that can open the region's bundle. None may stand in a second region.
    pub recipients: Option<Vec<String>>,
    /// A file of recipients, one per line, relative to this file and not under `output.path`.
    pub recipients_file: Option<String>,
    /// What happens to the region.
    #[serde(default)]
    pub state: RegionState,
    /// The region's folder, by default its name. Paths, tags and delivery objects use it: keep it when the
    /// region is renamed, and nothing moves or is sealed again.
    pub directory: Option<String>,
    /// Whether the region is k0rdent's management cluster, where Credentials without `spec.region` go. At most one is. What a
    /// `cluster` source reads there and would land where it is already, is not published.
    #[serde(default)]
    pub management: bool,
    /// How the bundle reaches the region; a map says what differs from the fleet's `delivery`.
    #[serde(default)]
    pub delivery: RegionDeliveryFile,
    /// Which namespaces' Credentials may go there.
    pub namespaces: RegionNamespacesFile,
    /// Whether the region's own ProviderInterfaces keep k0rdent from distributing identities there.
    #[serde(default)]
    pub detached: bool,
    /// The objects that describe the region's cluster. They say what it is; that there is the region, who can open its
    /// bundle and what may go there stands in this file alone.
    pub inventory: Option<InventoryFile>,
    /// Conditions of the `clusterProfile`, or else of the `registryCluster`, that must be `True`: as long as one is not,
    /// the region stays as it is published.
    #[serde(default)]
    pub gate: Vec<String>,
    /// The Clusters of Cluster API without Credential whose identities go there: globs over `NAMESPACE/NAME`, or maps with
    /// such a glob and the identity. A Cluster that no region names counts for nothing.
    #[serde(default)]
    pub clusters: Vec<RegionClustersFile>,
    /// The ResourceSyncRules of the cluster registry by which objects of the sources go there: globs over their names. A
    /// rule that no region names counts for nothing.
    #[serde(default)]
    pub sync_rules: Vec<String>,
    /// The ClusterResourceSets of Cluster API whose payloads go there, because they stand in this cluster: globs over
    /// `NAMESPACE/NAME`. A set that no region names counts for nothing.
    #[serde(default)]
    pub resource_sets: Vec<String>,
    /// The ManagedResources of KubeNSync that are rendered for the region's namespaces: globs over their names. One that no
    /// region names counts for nothing.
    #[serde(default)]
    pub templates: Vec<String>,
    /// How the region's own cluster is looked into, for what is otherwise guessed: it is read, and nothing is written.
    pub cluster: Option<RegionClusterFile>,
}

/// The namespaces of a region.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegionNamespacesFile {
    /// Globs of the namespaces whose Credentials may go there.
    pub allowed: Vec<String>,
    /// Labels of namespaces on the region: for selectors of identities, and for the Namespaces that pouch
    /// emits.
    #[serde(default)]
    pub labels: BTreeMap<String, BTreeMap<String, String>>,
}

/// Where bundles go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct OutputFile {
    /// The folder of the bundles: relative to this file, or in the repository if `git` is given.
    pub path: String,
    /// The repository that `pouch publish` commits to.
    pub git: Option<OutputGitFile>,
    /// The registry that each region's bundle is copied to as an OCI artifact, after it is published or rendered.
    pub oci: Option<OutputOciFile>,
}

impl Default for OutputFile {
    fn default() -> Self {
        Self { path: "bundles".to_string(), git: None, oci: None }
    }
}

/// The registry that each region's bundle is copied to as an OCI artifact.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputOciFile {
    /// Registry and repository, such as `registry.example.com/fleet/{region}`, with or without `oci://` before them.
    /// `{region}` stands for the region's folder; where there are several regions, it is needed here or in `tag`.
    pub repository: String,
    /// The tag that consumers follow; may have `{region}` in it.
    #[serde(default = "latest")]
    pub tag: String,
    /// Whether the registry is asked by plain HTTP; by default only one on this machine is, such as `localhost:5000`.
    pub insecure: Option<bool>,
}

fn latest() -> String {
    "latest".to_string()
}

/// The repository that `pouch publish` commits to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputGitFile {
    /// A URL without password, or a local path relative to this file. `{region}` stands for the region's folder: each
    /// region then has a repository of its own.
    pub repository: String,
    /// The branch that the regions follow, by its short name; by default `branch`. With another one, what changes is
    /// proposed: a commit on the tip of `base` is pushed to `branch`, for somebody to merge. May have `{region}` in it.
    pub base: Option<String>,
    /// The branch to commit to, by its short name. With `{region}` in it each region has a branch of its own.
    #[serde(default = "branch")]
    pub branch: String,
    /// What the server is told whenever a proposal is pushed, such as `merge_request.create`, each as `git push -o` takes
    /// it.
    #[serde(default)]
    pub push_options: Vec<String>,
    /// Who wrote the commit.
    #[serde(default)]
    pub author: IdentityFile,
    /// Who made the commit; by default the author.
    pub committer: Option<IdentityFile>,
    /// A template of the commit message's title; or a map with templates of title and body.
    pub message: Option<MessageFile>,
    /// Whether and how commits are signed; by default as git's own configuration says.
    pub sign: Option<SignWord>,
    /// The key that signs, with `sign`: for `ssh` a file, relative to this one, or the public key of an agent; for `gpg`
    /// its id. By default `user.signingKey` of git's configuration.
    pub key: Option<String>,
    /// A file of SSH keys that may sign commits of the branch, as ssh-keygen reads it, relative to this file and not
    /// under `output.path`. With it, nothing is published on top of a commit that none of them signed.
    pub allowed_signers: Option<String>,
    /// Whether objects of this repository, and of git sources, are kept on this machine from run to run, in
    /// `$XDG_CACHE_HOME/pouch`, so that a fetch moves what is new.
    #[serde(default = "yes")]
    pub cache: bool,
    /// Whether which states of the sources were read is noted beside the branch, at `refs/pouch/FLEET/…`, so that an older
    /// state is never published over a newer one.
    #[serde(default = "yes")]
    pub stamp: bool,
}

/// Templates of a commit message.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum MessageFile {
    /// A template of the title.
    Text(String),
    /// Title and body apart.
    Map(MessageMapFile),
}

/// Templates of a commit message's title and body.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MessageMapFile {
    /// A template of the first line.
    pub title: Option<String>,
    /// A template of what stands between that and the trailers.
    pub body: Option<String>,
}

/// How commits are signed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SignWord {
    /// Not at all, whatever git's configuration says.
    None,
    /// With an SSH key.
    Ssh,
    /// With GnuPG.
    Gpg,
}

/// A person, as `Name <mail>` or as a map.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum IdentityFile {
    /// `Name <mail>`.
    Text(String),
    /// Name and mail address apart.
    Map(PersonFile),
}

impl Default for IdentityFile {
    fn default() -> Self {
        Self::Text("pouch <pouch@localhost>".to_string())
    }
}

/// A person.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonFile {
    /// The name.
    pub name: String,
    /// The mail address.
    pub email: String,
}

/// Where the reuse key is; exactly one of `env` and `file`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReuseKeyFile {
    /// The environment variable that holds it.
    pub env: Option<String>,
    /// The file that holds it, relative to this file and not under `output.path`.
    pub file: Option<String>,
    /// Where former keys are, whose proofs still count.
    #[serde(default)]
    pub previous: Vec<KeyPlaceFile>,
}

/// Where a former reuse key is; exactly one of `env` and `file`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyPlaceFile {
    /// The environment variable that holds it.
    pub env: Option<String>,
    /// The file that holds it, relative to this file and not under `output.path`.
    pub file: Option<String>,
}

fn codes() -> serde_json::Value {
    serde_json::json!({"enum": Code::ALL.iter().map(|code| code.text()).collect::<Vec<_>>()})
}

fn system_namespace() -> String {
    "kcm-system".to_string()
}

fn include() -> Vec<String> {
    ["**/*.yaml", "**/*.yml", "**/*.json"].map(String::from).to_vec()
}

fn branch() -> String {
    "main".to_string()
}

fn yes() -> bool {
    true
}

/// The JSON Schema (draft 2020-12) of `pouch.yaml`.
pub fn schema() -> Schema {
    let mut schema = checked_schema();
    let mut forget = RecursiveTransform(|schema: &mut Schema| {
        schema.remove(CHECK);
        schema.remove(ONE);
    });
    forget.transform(&mut schema);
    schema
}

/// The same with what settings are checked for.
pub(super) fn checked_schema() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<FleetFile>()
}
