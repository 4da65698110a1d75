//! Grants as they are typed.

use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::name::Kind;

/// What somebody may use although nothing else admits it: one object, or what one Credential or Cluster needs.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantFile {
    /// Who may use it.
    pub from: GrantFromFile,
    /// The one object that they may use. Without it, for one Credential or Cluster only: whatever that needs, the
    /// companions of a Credential among it.
    pub to: Option<GrantToFile>,
    /// The regions where that holds, by name or by a placement; `["*"]` stands for all.
    pub regions: Vec<GrantRegionFile>,
}

/// A region's name, or a placement that lists regions.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum GrantRegionFile {
    /// The name of a region, or `*`.
    Name(String),
    /// The regions that a placement lists.
    Placed(PlacedFile),
}

/// The regions that a placement lists.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacedFile {
    /// The placement whose regions are meant.
    pub placement: PlacementFile,
}

/// PlacementDecisions that list ClusterProfiles, which only a source with `clusterScoped` can provide. They stand for
/// the regions that are tied to these ClusterProfiles. Exactly one of `decisionKey` and `name` says which of the namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementFile {
    /// The namespace of the PlacementDecisions.
    pub namespace: String,
    /// The value of their label `multicluster.x-k8s.io/decision-key`: all slices that have it, together.
    pub decision_key: Option<String>,
    /// The name of a single PlacementDecision.
    pub name: Option<String>,
}

/// Whom a grant is for; exactly one of the fields.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantFromFile {
    /// All Credentials of this namespace, and all Clusters, ClusterResourceSets and ManagedResources that a region names.
    pub namespace: Option<String>,
    /// One Credential, as `NAMESPACE/NAME`.
    pub credential: Option<String>,
    /// One Cluster of Cluster API, as `NAMESPACE/NAME`.
    pub cluster: Option<String>,
    /// One ResourceSyncRule of the cluster registry, by its name: whatever it takes.
    pub sync_rule: Option<String>,
    /// One ClusterResourceSet of Cluster API, as `NAMESPACE/NAME`.
    pub cluster_resource_set: Option<String>,
    /// One ManagedResource by its name, for whatever namespace it is rendered. It may use the object in `to` as data; or, with
    /// `to.make`, make it although it is in another namespace.
    pub template: Option<String>,
}

impl GrantFromFile {
    /// The claimants that are named, each with its kind.
    pub fn claimants(&self) -> impl Iterator<Item = (Kind, &str)> {
        let credential = self.credential.as_deref().map(|text| ("Credential".into(), text));
        let cluster = self.cluster.as_deref().map(|text| ("Cluster".into(), text));
        let resource_set = self.cluster_resource_set.as_deref().map(|text| ("ClusterResourceSet".into(), text));
        credential.into_iter().chain(cluster).chain(resource_set)
    }
}

/// The one object that a grant is for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GrantToFile {
    /// Its namespace; without one it is cluster-scoped, and its own `allowedNamespaces` need not admit.
    pub namespace: Option<String>,
    /// Its API group, by default the core group's.
    #[serde(default)]
    pub group: String,
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Whether a template may make it, and not read it.
    #[serde(default)]
    pub make: bool,
}
