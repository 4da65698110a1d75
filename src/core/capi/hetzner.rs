//! Hetzner: no identity kind; a cluster names a Secret, and the entries in it.
//!
//! Source: <https://github.com/syself/cluster-api-provider-hetzner>, `api/v1beta1` and `api/v1beta2` at 1c4fe74 (2026-08-08).

use super::naming::{Choices, ClusterKind, EntryName, Form, Naming, Within, Without, secret};

/// The name that the API server fills in where a reference has none.
const DEFAULT: &str = "hetzner";

/// The key of the rescue system, which only bare metal needs.
const fn rescue(field: &'static [&'static str]) -> Naming {
    Naming {
        field,
        form: Form::Map,
        choices: Choices::One(secret(&[])),
        namespace: Within::Own,
        without: Without::Nothing,
    }
}

/// The kind of clusters. Only the token of the cloud is needed everywhere: a cluster without bare metal has no user of the
/// robot.
pub const CLUSTERS: &[ClusterKind] = &[ClusterKind::infrastructure(
    "HetznerCluster",
    "hetznerclusters",
    &[
        Naming {
            field: &["spec", "hetznerSecretRef"],
            form: Form::MapNamed(DEFAULT),
            choices: Choices::One(secret(&[EntryName { name: "hcloud-token", by: &["key", "hcloudToken"] }])),
            namespace: Within::Own,
            without: Without::Refused,
        },
        // Until v1beta1, and from v1beta2 on.
        rescue(&["spec", "sshKeys", "robotRescueSecretRef"]),
        rescue(&["spec", "sshKeys", "rescueSecretRef"]),
    ],
)];
