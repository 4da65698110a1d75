//! Clusters of Cluster API as they are typed.

use alloc::string::String;

use schemars::JsonSchema;
use serde::Deserialize;

/// Clusters that a region takes: a glob over `NAMESPACE/NAME`, or such a glob with the identity.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RegionClustersFile {
    /// A glob; the objects behind the Clusters name the identity.
    Glob(String),
    /// A glob, and the identity.
    With(IdentifiedClustersFile),
}

/// Clusters whose identity no source tells, such as those of a ClusterClass that writes it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct IdentifiedClustersFile {
    /// A glob over `NAMESPACE/NAME`.
    pub name: String,
    /// The identity, or the Secret, that these Clusters use.
    pub identity_ref: ClusterIdentityFile,
}

/// An identity, or a Secret, that Clusters use.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterIdentityFile {
    /// Its group and version.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace, by default the Cluster's; a cluster-scoped kind has none.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}
