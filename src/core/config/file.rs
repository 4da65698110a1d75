//! What was typed: `pouch.yaml`, field by field, before anything is checked beyond its shape.
//!
//! The comments on the fields are the descriptions of the JSON Schema, which editors show, and which
//! [`super::shape`] checks a document against. Nothing here knows what a field means; that is
//! [`super::resolve`]'s business.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

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
    pub resolution: ResolutionWord,
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
    pub companions: CompanionsWord,
    /// Whether `AWSClusterControllerIdentity/default`, which the AWS provider makes on every region by
    /// itself, is published too.
    #[serde(default)]
    pub emit_controller_identity: bool,
    /// The regions, by the name that `Credential.spec.region` holds.
    pub regions: BTreeMap<String, RegionFile>,
    /// Age recipients that can open the bundles of every region, for disasters.
    #[serde(default)]
    pub escrow_recipients: Vec<String>,
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
    pub limits: LimitsFile,
    /// Severities of finding codes that differ from their own. Codes of the classes refused, broken and
    /// held cannot be lowered.
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

/// One source; exactly one of `directory`, `git` and `stdin` says where it is.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceFile {
    /// The source's name, unique in this file.
    pub name: String,
    /// A folder, or one file, of manifests.
    pub directory: Option<DirectoryFile>,
    /// A git repository at a revision, read from its objects.
    pub git: Option<GitFile>,
    /// Manifests on standard input; at most one source.
    pub stdin: Option<StdinFile>,
    /// What the source may provide; anything else in it is ignored with a finding. Needed with more than
    /// one source; a single source may provide everything.
    pub provides: Option<ProvidesFile>,
    /// Whether the source may say something else about an object of an earlier source.
    #[serde(default)]
    pub overrides: bool,
    /// The namespace of namespaced objects that name none.
    pub default_namespace: Option<String>,
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
    /// A branch, tag or commit.
    #[serde(rename = "ref", default = "head")]
    pub reference: String,
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
}

/// Where identities are read.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ResolutionWord {
    /// Where the Credential says: the namespace of its `identityRef`, else its own.
    #[default]
    AsWritten,
    /// Where k0rdent's own controller looks: in the system namespace.
    Kcm,
}

/// Whose definitions of identity kinds count where the sources have none.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProviderInterfacesFile {
    /// The k0rdent release whose ProviderInterfaces are built in, such as `v1.11`, or `none`.
    #[serde(default = "builtin")]
    pub builtin: String,
}

impl Default for ProviderInterfacesFile {
    fn default() -> Self {
        Self { builtin: builtin() }
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
    pub allowed_namespaces: TenancyWord,
}

/// Whether objects of a kind have a namespace.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ScopeWord {
    /// They have one.
    Namespaced,
    /// They have none.
    Cluster,
}

/// Whose meaning of "which namespaces may use this" a kind follows.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TenancyWord {
    /// No namespace but the object's own.
    #[default]
    None,
    /// Every namespace.
    All,
    /// As AWS identities mean `allowedNamespaces`.
    Aws,
    /// As Azure identities mean it.
    Azure,
    /// As vSphere identities mean it.
    Vsphere,
    /// As OpenStack identities mean `namespaceSelector`.
    Openstack,
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

/// Whether companions are followed.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CompanionsWord {
    /// They are.
    #[default]
    Follow,
    /// They are not.
    None,
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
    pub state: StateWord,
    /// The region's folder, by default its name. Paths, tags and delivery objects use it: keep it when the
    /// region is renamed, and nothing moves or is sealed again.
    pub directory: Option<String>,
    /// How the bundle reaches the region; a map says what differs from the fleet's `delivery`.
    #[serde(default)]
    pub delivery: RegionDeliveryFile,
    /// Which namespaces' Credentials may go there.
    pub namespaces: RegionNamespacesFile,
    /// Whether the region's own ProviderInterfaces keep k0rdent from distributing identities there.
    #[serde(default)]
    pub detached: bool,
}

/// What happens to a region.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StateWord {
    /// It is rendered.
    #[default]
    Active,
    /// Its published bytes stay as they are.
    Paused,
    /// Its bundle and delivery files are removed, under the brake; objects on the region stay.
    Retired,
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

/// How a region's bundle reaches the region.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RegionDeliveryFile {
    /// As the fleet's `delivery` says.
    Word(DeliveryWord),
    /// With differences to the fleet's `delivery`; exactly one of `flux` and `argocd`.
    Map(Box<DeliveryFile>),
}

impl Default for RegionDeliveryFile {
    fn default() -> Self {
        Self::Word(DeliveryWord::None)
    }
}

/// Who applies a region's bundle.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DeliveryWord {
    /// Nobody that pouch writes objects for.
    None,
    /// Flux's kustomize-controller.
    Flux,
    /// Argo CD.
    Argocd,
}

/// What the emitted delivery objects say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliveryFile {
    /// What the Flux Kustomizations say.
    pub flux: Option<FluxFile>,
    /// What the Argo CD objects say.
    pub argocd: Option<ArgoCdFile>,
}

/// What the emitted Flux Kustomizations say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FluxFile {
    /// Their namespace, which is also that of the source and of the decryption Secret; by default
    /// `flux-system`.
    pub namespace: Option<String>,
    /// The Flux source that holds the bundles; needed.
    pub source_ref: Option<SourceRefFile>,
    /// How Flux opens the Secrets.
    pub decryption: Option<DecryptionRefFile>,
    /// How often Flux reconciles, a Go duration; by default `10m`.
    pub interval: Option<String>,
}

/// A Flux source.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceRefFile {
    /// Its kind.
    #[serde(default)]
    pub kind: SourceKindWord,
    /// Its name.
    pub name: String,
}

/// The kind of a Flux source.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub enum SourceKindWord {
    /// A git repository.
    #[default]
    GitRepository,
    /// An OCI artifact.
    #[serde(rename = "OCIRepository")]
    OciRepository,
    /// An object store.
    Bucket,
}

/// How Flux opens the Secrets.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecryptionRefFile {
    /// The Secret with the region's age identity; by default `sops-age`.
    pub secret_ref: String,
}

/// What the emitted Argo CD objects say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArgoCdFile {
    /// Their namespace; by default `argocd`.
    pub namespace: Option<String>,
    /// The AppProject; by default `default`.
    pub project: Option<String>,
    /// The repository that holds the bundles, a URL without password; needed.
    #[serde(rename = "repoURL")]
    pub repo_url: Option<String>,
    /// The revision to follow; by default the branch of `output.git`, else `HEAD`.
    pub target_revision: Option<String>,
    /// The cluster that the bundle goes to.
    pub destination: Option<DestinationFile>,
    /// How Secrets are decrypted; by default `plugin`.
    pub mode: Option<ArgoModeWord>,
    /// The name of the config management plugin; by default Argo CD finds it by itself.
    pub plugin: Option<String>,
    /// Which object is emitted; by default `Application`.
    pub kind: Option<ArgoKindWord>,
}

/// The cluster that a bundle goes to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DestinationFile {
    /// The cluster's name in Argo CD; `{region}` stands for the region's folder, and is the default.
    pub name: String,
}

/// How Argo CD decrypts.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ArgoModeWord {
    /// A config management plugin decrypts in place and runs kustomize.
    Plugin,
    /// KSOPS runs as a kustomize generator.
    Ksops,
}

/// Which Argo CD object is emitted.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub enum ArgoKindWord {
    /// One Application per region.
    Application,
    /// One ApplicationSet for the fleet.
    ApplicationSet,
}

/// Where bundles go.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputFile {
    /// The folder of the bundles: relative to this file, or in the repository if `git` is given.
    #[serde(default = "output_path")]
    pub path: String,
    /// The repository that `pouch publish` commits to.
    pub git: Option<OutputGitFile>,
}

impl Default for OutputFile {
    fn default() -> Self {
        Self { path: output_path(), git: None }
    }
}

/// The repository that `pouch publish` commits to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OutputGitFile {
    /// A URL without password, or a local path relative to this file.
    pub repository: String,
    /// The branch to commit to, by its short name.
    #[serde(default = "branch")]
    pub branch: String,
    /// Who wrote the commit.
    #[serde(default)]
    pub author: IdentityFile,
    /// Who made the commit; by default the author.
    pub committer: Option<IdentityFile>,
    /// A template of the commit message's subject.
    pub message: Option<String>,
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

/// Bounds of one run.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LimitsFile {
    /// How much a region may lose at once.
    #[serde(default)]
    pub deletions: DeletionsFile,
    /// How much of a region may be sealed anew without having changed.
    #[serde(default)]
    pub reseal: ResealFile,
    /// What may pass beyond that, once: the digests are those that `pouch plan` prints.
    #[serde(default)]
    pub accept: Vec<AcceptFile>,
    /// How often a push that lost against another writer is tried again from the start.
    #[serde(default = "attempts")]
    #[schemars(range(min = 1, max = 100))]
    pub attempts: u32,
    /// The most objects of one region.
    #[serde(default = "objects_per_region")]
    #[schemars(range(min = 1))]
    pub objects_per_region: u32,
    /// The most objects of one Credential namespace in one region.
    #[serde(default = "objects_per_namespace")]
    #[schemars(range(min = 1))]
    pub objects_per_namespace: u32,
}

impl Default for LimitsFile {
    fn default() -> Self {
        Self {
            deletions: DeletionsFile::default(),
            reseal: ResealFile::default(),
            accept: Vec::new(),
            attempts: attempts(),
            objects_per_region: objects_per_region(),
            objects_per_namespace: objects_per_namespace(),
        }
    }
}

/// How much a region may lose at once: up to `free` always; above that both `percent` and `objects` hold.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeletionsFile {
    /// Withdrawals that always pass, unless the region empties.
    #[serde(default = "free")]
    pub free: u32,
    /// The most withdrawals, in percent of the region's published objects.
    #[serde(default = "percent")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
    /// The most withdrawals, in objects.
    #[serde(default = "objects")]
    pub objects: u32,
}

impl Default for DeletionsFile {
    fn default() -> Self {
        Self { free: free(), percent: percent(), objects: objects() }
    }
}

/// How much of a region may be sealed anew without having changed.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResealFile {
    /// The most Secrets, in percent of the region's.
    #[serde(default = "percent")]
    #[schemars(range(min = 0, max = 100))]
    pub percent: u32,
}

impl Default for ResealFile {
    fn default() -> Self {
        Self { percent: percent() }
    }
}

/// One acceptance; exactly one of `deletions`, `recipients` and `reseal`, each a digest of 16 hex digits.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AcceptFile {
    /// The region.
    pub region: String,
    /// Accepts these withdrawals.
    pub deletions: Option<String>,
    /// Accepts these added recipients.
    pub recipients: Option<String>,
    /// Accepts this re-sealing.
    pub reseal: Option<String>,
}

/// The severity of a finding.
#[derive(Clone, Copy, PartialEq, Eq, Debug, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum LevelWord {
    /// Something is not published, or not as asked.
    Error,
    /// Works, and probably not as meant.
    Warning,
    /// Worth knowing.
    Info,
    /// Not reported at all.
    Off,
}

/// Written by hand for one word: to readers of YAML 1.1 an unquoted `off` is a truth value.
impl<'de> Deserialize<'de> for LevelWord {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Level;

        impl serde::de::Visitor<'_> for Level {
            type Value = LevelWord;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("error, warning, info or off")
            }

            fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<LevelWord, E> {
                if value { Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)) } else { Ok(LevelWord::Off) }
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<LevelWord, E> {
                match text {
                    "error" => Ok(LevelWord::Error),
                    "warning" => Ok(LevelWord::Warning),
                    "info" => Ok(LevelWord::Info),
                    "off" => Ok(LevelWord::Off),
                    _ => Err(E::unknown_variant("", &["error", "warning", "info", "off"])),
                }
            }
        }

        deserializer.deserialize_any(Level)
    }
}

fn codes() -> serde_json::Value {
    serde_json::json!({"enum": Code::ALL.iter().map(|code| code.text()).collect::<Vec<_>>()})
}

fn system_namespace() -> String {
    "kcm-system".to_string()
}

fn builtin() -> String {
    "v1.11".to_string()
}

fn include() -> Vec<String> {
    ["**/*.yaml", "**/*.yml", "**/*.json"].map(String::from).to_vec()
}

fn head() -> String {
    "HEAD".to_string()
}

fn output_path() -> String {
    "bundles".to_string()
}

fn branch() -> String {
    "main".to_string()
}

fn free() -> u32 {
    3
}

fn percent() -> u32 {
    20
}

fn objects() -> u32 {
    10
}

fn attempts() -> u32 {
    5
}

fn objects_per_region() -> u32 {
    5000
}

fn objects_per_namespace() -> u32 {
    500
}

/// The JSON Schema (draft 2020-12) of `pouch.yaml`.
pub fn schema() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<FleetFile>()
}
