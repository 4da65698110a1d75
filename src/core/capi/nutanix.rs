//! Nutanix: no identity kind; a cluster names a Secret, and perhaps a ConfigMap of certificates to trust.
//!
//! Source: <https://github.com/nutanix-cloud-native/cluster-api-provider-nutanix>, `api/v1beta1` at 946f0db (2026-08-21).

use super::naming::{Choice, Choices, ClusterKind, Form, Naming, Within, Without, entry, secret};

const TRUST: &[Choice] = &[
    Choice { word: "ConfigMap", group: "", kind: "ConfigMap", entries: &[] },
    // The certificates stand in the cluster itself.
    Choice { word: "String", group: "", kind: "", entries: &[] },
];

/// The kind of clusters; without `prismCentral`, the controller's own credentials are used.
pub const CLUSTERS: &[ClusterKind] = &[ClusterKind::infrastructure(
    "NutanixCluster",
    "nutanixclusters",
    &[
        Naming {
            field: &["spec", "prismCentral", "credentialRef"],
            form: Form::Map,
            choices: Choices::By { key: "kind", first_by_default: false, of: &[secret(&[entry("credentials")])] },
            namespace: Within::SaidOrOwn,
            without: Without::RefusedBeside,
        },
        Naming {
            field: &["spec", "prismCentral", "additionalTrustBundle"],
            form: Form::Map,
            choices: Choices::By { key: "kind", first_by_default: false, of: TRUST },
            namespace: Within::SaidOrOwn,
            without: Without::Nothing,
        },
    ],
)];
