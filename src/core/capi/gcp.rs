//! Google Cloud: no identity kind; clusters name a Secret.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-gcp>, `api/v1beta1` and `exp/api/v1beta1`.

use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, entry, secret};

const NAMES: &[Naming] = &[Naming {
    field: &["spec", "credentialsRef"],
    form: Form::Map,
    choices: Choices::One(secret(&[entry("credentials")])),
    namespace: Within::Said,
    without: Without::Nothing,
}];

/// The kinds of clusters; a managed control plane uses what its cluster names.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind::infrastructure("GCPCluster", "gcpclusters", NAMES),
    ClusterKind::infrastructure("GCPManagedCluster", "gcpmanagedclusters", NAMES),
    ClusterKind::infrastructure("GCPManagedControlPlane", "gcpmanagedcontrolplanes", &[]),
];
