//! Delivery as it is typed.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};

use crate::config::{ArgoKind, ArgoMode};

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

/// A setting: left out, or `null` where a region wants the default instead of what the fleet's `delivery` says, or a value.
pub type Given<T> = Option<Option<T>>;

fn given<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Given<T>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// What the emitted Flux Kustomizations say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FluxFile {
    /// Their namespace, which is also that of the source and of the decryption Secret; by default
    /// `flux-system`.
    #[serde(default, deserialize_with = "given")]
    pub namespace: Given<String>,
    /// The Flux source that holds the bundles; needed.
    #[serde(default, deserialize_with = "given")]
    pub source_ref: Given<SourceRefFile>,
    /// How Flux opens the Secrets.
    #[serde(default, deserialize_with = "given")]
    pub decryption: Given<DecryptionRefFile>,
    /// How often Flux reconciles, a Go duration; by default `10m`.
    #[serde(default, deserialize_with = "given")]
    pub interval: Given<String>,
    /// How soon Flux tries again what failed, a Go duration; by default `1m`.
    #[serde(default, deserialize_with = "given")]
    pub retry_interval: Given<String>,
    /// How long one try may take, a Go duration; by default what Flux says, the interval less 30 s.
    #[serde(default, deserialize_with = "given")]
    pub timeout: Given<String>,
    /// Whether a Kustomization is ready only when all that it applied is, for whoever depends on it or watches it.
    #[serde(default, deserialize_with = "given")]
    pub wait: Given<bool>,
    /// Objects of the region, such as a provider's Deployment, without which no Kustomization of identities is ready; not
    /// with `wait`, where Flux does not look at them.
    #[serde(default, deserialize_with = "given")]
    pub health_checks: Given<Vec<HealthCheckFile>>,
    /// The ServiceAccount whose rights Flux applies with; by default Flux's own.
    #[serde(default, deserialize_with = "given")]
    pub service_account_name: Given<String>,
    /// Where Flux runs on another cluster than the region: how it reaches the region.
    #[serde(default, deserialize_with = "given")]
    pub kube_config: Given<KubeConfigFile>,
}

/// An object that Flux looks at after it applied others.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthCheckFile {
    /// Its group and version, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its namespace; left out for an object of the cluster.
    pub namespace: Option<String>,
}

/// How Flux reaches a region from another cluster.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeConfigFile {
    /// The Secret with the kubeconfig, in the namespace of the Kustomizations; `{region}` stands for the region's folder.
    pub secret_ref: String,
    /// The entry of the Secret; by default what Flux looks for, `value` or `value.yaml`.
    pub key: Option<String>,
}

/// A Flux source.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SourceRefFile {
    /// Its kind.
    #[serde(default)]
    pub kind: SourceKindWord,
    /// Its name; `{region}` stands for the region's folder.
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
    /// The Secret with the region's age identity; by default `sops-age`. `{region}` stands for the region's folder.
    pub secret_ref: String,
}

/// What the emitted Argo CD objects say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArgoCdFile {
    /// Their namespace; by default `argocd`.
    #[serde(default, deserialize_with = "given")]
    pub namespace: Given<String>,
    /// The AppProject; by default `default`.
    #[serde(default, deserialize_with = "given")]
    pub project: Given<String>,
    /// The repository that holds the bundles, a URL without password; needed. `{region}` stands for the region's folder.
    #[serde(rename = "repoURL", default, deserialize_with = "given")]
    pub repo_url: Given<String>,
    /// The revision to follow; by default the `base` of `output.git`, else its `branch`, else `HEAD`. `{region}` stands for
    /// the region's folder.
    #[serde(default, deserialize_with = "given")]
    pub target_revision: Given<String>,
    /// The cluster that the bundle goes to.
    #[serde(default, deserialize_with = "given")]
    pub destination: Given<DestinationFile>,
    /// How Secrets are decrypted; by default `plugin`.
    #[serde(default, deserialize_with = "given")]
    pub mode: Given<ArgoMode>,
    /// The name of the config management plugin; by default Argo CD finds it by itself.
    #[serde(default, deserialize_with = "given")]
    pub plugin: Given<String>,
    /// Which object is emitted; by default `Application`.
    #[serde(default, deserialize_with = "given")]
    pub kind: Given<ArgoKind>,
    /// The Argo CD that reads the objects, such as `3.1`; by default one of today. What an older one does not know is left
    /// out: `retry.refresh` before 3.2. A cluster Secret that needs more than it knows is not written:
    /// `provideClusterInfo` before 3.5.
    #[serde(default, deserialize_with = "given")]
    pub version: Given<String>,
    /// The Secret that makes the region's cluster known to Argo CD, as its ClusterProfile describes it; by default somebody
    /// else writes that.
    #[serde(default, deserialize_with = "given")]
    pub cluster: Given<ArgoClusterFile>,
}

/// The Secret that makes a region's cluster known to Argo CD. It holds no credential: a program gives it to Argo CD.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ArgoClusterFile {
    /// A provider file of cluster-inventory-api, relative to this file: which program gives Argo CD the credentials for
    /// clusters of which access provider. Left out where Argo CD has the providers built in (`argo-cd-builtin-aws`,
    /// `argo-cd-builtin-azure`, `argo-cd-builtin-gcp`).
    pub providers: Option<String>,
}

/// The cluster that a bundle goes to.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DestinationFile {
    /// The cluster's name in Argo CD; `{region}` stands for the region's folder, and is the default.
    pub name: Option<String>,
    /// The URL of the cluster's API server, instead of a name.
    pub server: Option<String>,
}
