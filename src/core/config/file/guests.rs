//! Groups of guest clusters as they are typed.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

/// Objects that ClusterResourceSets of a management cluster deliver into guest clusters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuestsFile {
    /// The region on which the guests' Cluster objects stand; its bundle carries what is delivered.
    pub region: String,
    /// Namespaces of that region: a name counts as it is, a glob over those that a source says have Clusters.
    pub namespaces: Vec<String>,
    /// Which Clusters of these namespaces are meant. It must not be empty: Cluster API takes an empty one for none.
    pub cluster_selector: ClusterSelectorFile,
    /// What is delivered.
    pub objects: Vec<GuestObjectFile>,
}

/// A label selector over Clusters.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterSelectorFile {
    /// Labels that a Cluster has.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// Conditions on labels, which all hold.
    #[serde(default)]
    pub match_expressions: Vec<ClusterExpressionFile>,
}

/// A condition on one label.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterExpressionFile {
    /// The key of the label.
    pub key: String,
    /// What is asked of it.
    pub operator: OperatorWord,
    /// The values of `In` and `NotIn`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// What a condition asks of a label.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Deserialize, JsonSchema)]
pub enum OperatorWord {
    /// It has one of the values.
    In,
    /// It has none of the values, or is not there.
    NotIn,
    /// It is there.
    Exists,
    /// It is not there.
    DoesNotExist,
}

impl OperatorWord {
    /// All words.
    pub const ALL: [Self; 4] = [Self::In, Self::NotIn, Self::Exists, Self::DoesNotExist];

    /// The word, as Kubernetes writes it.
    pub fn word(self) -> &'static str {
        match self {
            OperatorWord::In => "In",
            OperatorWord::NotIn => "NotIn",
            OperatorWord::Exists => "Exists",
            OperatorWord::DoesNotExist => "DoesNotExist",
        }
    }
}

/// One object of the sources, or all that a ResourceSyncRule takes or a ManagedResource makes. That an object stands here is
/// the permission to use it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuestObjectFile {
    /// Its API group, by default the core group's.
    #[serde(default)]
    pub group: String,
    /// Its kind.
    pub kind: Option<String>,
    /// Its namespace; none for a cluster-scoped kind.
    pub namespace: Option<String>,
    /// Its name.
    pub name: Option<String>,
    /// Where it lands in a guest, if that is not where it is read.
    pub to: Option<GuestPlaceFile>,
    /// Instead of an object, the name of a ResourceSyncRule of the cluster registry: what it takes, as it makes it. It may use
    /// what its own source provides, and the rest needs a grant.
    pub sync_rule: Option<String>,
    /// Instead of an object, the name of a ManagedResource of KubeNSync: what it makes for the namespace of the Clusters, where it
    /// selects that namespace. It is given what its own source provides, and the rest needs a grant.
    pub template: Option<String>,
}

/// Where an object lands in a guest.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GuestPlaceFile {
    /// The namespace, by default that of the object.
    pub namespace: Option<String>,
    /// The name, by default that of the object.
    pub name: Option<String>,
}
