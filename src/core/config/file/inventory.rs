//! What is typed of a region's cluster.

use alloc::collections::BTreeMap;
use alloc::string::String;

use schemars::JsonSchema;
use serde::Deserialize;

/// The objects that describe a region's cluster.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct InventoryFile {
    /// The name of k0rdent's Region; by default the region's own name.
    pub region: Option<String>,
    /// The ClusterProfile, which only a source with `clusterScoped` can provide.
    pub cluster_profile: Option<ClusterProfileFile>,
    /// The name of the cluster registry's Cluster.
    pub registry_cluster: Option<String>,
}

/// A ClusterProfile; exactly one of `name`, `property` and `labels` says which of its namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterProfileFile {
    /// Its namespace, which is one inventory.
    pub namespace: String,
    /// Its name.
    pub name: Option<String>,
    /// Properties that exactly one ClusterProfile of the namespace has.
    pub property: Option<BTreeMap<String, String>>,
    /// Labels that exactly one ClusterProfile of the namespace has.
    pub labels: Option<BTreeMap<String, String>>,
    /// The cluster manager that it must have, by name.
    pub manager: Option<String>,
}

/// How a region's cluster is looked into: by a kubeconfig, or by its ClusterProfile and `providers`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RegionClusterFile {
    /// A kubeconfig, relative to this file; by default the files of `KUBECONFIG`, else `~/.kube/config`.
    pub kubeconfig: Option<String>,
    /// The context of the kubeconfig.
    pub context: Option<String>,
    /// A provider file of cluster-inventory-api, relative to this file: the ClusterProfile says where the cluster is, and
    /// this file which program gives the credentials. It is code, like this file.
    pub providers: Option<String>,
}
