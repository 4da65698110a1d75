//! KubeVirt: no identity kind; a cluster names a Secret with the kubeconfig of the cluster that runs its machines.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-kubevirt>, `api/v1alpha1` at 0eadfed
//! (2026-08-19).

use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, entry, secret};

/// The kind of clusters; without the field, the machines run in the controller's own cluster.
pub const CLUSTERS: &[ClusterKind] = &[ClusterKind::infrastructure(
    "KubevirtCluster",
    "kubevirtclusters",
    &[Naming {
        field: &["spec", "infraClusterSecretRef"],
        form: Form::Map,
        choices: Choices::One(secret(&[entry("kubeconfig")])),
        namespace: Within::SaidOrOwn,
        without: Without::Nothing,
    }],
)];
