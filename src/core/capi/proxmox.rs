//! Proxmox: no identity kind; a cluster names a Secret.
//!
//! Source: <https://github.com/ionos-cloud/cluster-api-provider-proxmox>, `api/v1alpha1` and `api/v1alpha2` at
//! 38e3ded (2026-08-18).

use super::naming::{Choices, ClusterKind, Form, Naming, Within, Without, entry, secret};

/// The kind of clusters; without the field, the controller's own credentials are used.
pub const CLUSTERS: &[ClusterKind] = &[ClusterKind::infrastructure(
    "ProxmoxCluster",
    "proxmoxclusters",
    &[Naming {
        field: &["spec", "credentialsRef"],
        form: Form::Map,
        choices: Choices::One(secret(&[entry("url"), entry("token"), entry("secret")])),
        namespace: Within::SaidOrOwn,
        without: Without::Nothing,
    }],
)];
