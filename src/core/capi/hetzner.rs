//! Hetzner: no identity kind; a cluster names a Secret, and the entries in it.
//!
//! Source: <https://github.com/syself/cluster-api-provider-hetzner>, `api/v1beta1`.

use super::naming::{Choices, ClusterKind, EntryName, Form, Naming, Within, Without, secret};

/// The Secret that a cluster uses which names none.
const DEFAULT: &str = "hetzner";

/// The kind of clusters. Only the token of the cloud is needed everywhere: a cluster without bare metal has no user of the
/// robot.
pub const CLUSTERS: &[ClusterKind] = &[ClusterKind::infrastructure(
    "HetznerCluster",
    "hetznerclusters",
    &[
        Naming {
            field: &["spec", "hetznerSecretRef"],
            form: Form::Map,
            choices: Choices::One(secret(&[EntryName { name: "hcloud-token", by: &["key", "hcloudToken"] }])),
            namespace: Within::Own,
            without: Without::Name(DEFAULT),
        },
        Naming {
            field: &["spec", "sshKeys", "robotRescueSecretRef"],
            form: Form::Map,
            choices: Choices::One(secret(&[])),
            namespace: Within::Own,
            without: Without::Nothing,
        },
    ],
)];
