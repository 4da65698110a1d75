//! KubeVirt: no identity kind; a cluster names a Secret with the kubeconfig of the cluster that runs its machines.
//!
//! Source: <https://github.com/kubernetes-sigs/cluster-api-provider-kubevirt>, `api/v1alpha1` at 0eadfed
//! (2026-08-19).

use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, entry, secret};

const NAMES: &[Naming] = &[Naming {
    field: &["spec", "infraClusterSecretRef"],
    form: Form::Map,
    choices: Choices::One(secret(&[entry("kubeconfig")])),
    namespace: Within::SaidOrOwn,
    without: Without::Nothing,
}];

/// The machines; without the field, a machine runs where its cluster says.
const MACHINES: &[ClusterKind] = &[ClusterKind::infrastructure("KubevirtMachine", "kubevirtmachines", NAMES)];

/// The kind of clusters; without the field, the machines run in the controller's own cluster.
pub const CLUSTERS: &[ClusterKind] =
    &[ClusterKind::infrastructure("KubevirtCluster", "kubevirtclusters", NAMES).with_machines(MACHINES)];
