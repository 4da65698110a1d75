//! Providers without an identity kind whose clusters name one Secret, and that differ in little else.

use super::naming::{Choices, ClusterKind, EntryName, Form, Naming, Within, Without, entry, secret};

/// A map that names a Secret.
const fn by_map(
    field: &'static [&'static str],
    namespace: Within,
    entries: &'static [EntryName],
    without: Without,
) -> Naming {
    Naming { field, form: Form::Map, choices: Choices::One(secret(entries)), namespace, without }
}

/// A text that names a Secret of the cluster's own namespace.
const fn by_text(field: &'static [&'static str], entries: &'static [EntryName], without: Without) -> Naming {
    Naming { field, form: Form::Text, choices: Choices::One(secret(entries)), namespace: Within::Own, without }
}

const OBJECT_STORE: &[EntryName] = &[entry("bucket"), entry("endpoint"), entry("access"), entry("secret")];

const OUTSCALE: &[EntryName] = &[entry("access_key"), entry("secret_key")];

/// The kubeconfig of the cluster that a control plane runs in.
const HOSTING: &[EntryName] = &[EntryName { name: "value", by: &["key"] }];

const SCALEWAY: &[Naming] =
    &[by_text(&["spec", "scalewaySecretName"], &[entry("SCW_ACCESS_KEY"), entry("SCW_SECRET_KEY")], Without::Refused)];

/// The kinds of clusters.
pub const CLUSTERS: &[ClusterKind] = &[
    // <https://github.com/kubernetes-sigs/cluster-api-provider-cloudstack>, `api/v1beta2` and `api/v1beta3` at 4ad583a
    // (2025-10-14). A cluster of v1beta1 has zones instead, and uses the Secret `global` of its namespace.
    ClusterKind::infrastructure(
        "CloudStackCluster",
        "cloudstackclusters",
        &[by_map(
            &["spec", "failureDomains", "[]", "acsEndpoint"],
            Within::Said,
            &[entry("api-url"), entry("api-key"), entry("secret-key")],
            Without::Refused,
        )],
    ),
    // <https://github.com/vmware/cluster-api-provider-cloud-director>, `api/v1beta3` at adc480c (2024-10-10); a user with a
    // password, or a token.
    ClusterKind::infrastructure(
        "VCDCluster",
        "vcdclusters",
        &[by_map(&["spec", "userContext", "secretRef"], Within::Said, &[], Without::Nothing)],
    ),
    // <https://github.com/linode/cluster-api-provider-linode>, `api/v1alpha2` at 9d6f396 (2026-08-19). The machines fetch
    // what starts them from an object store, which has credentials of its own.
    ClusterKind::infrastructure(
        "LinodeCluster",
        "linodeclusters",
        &[
            by_map(&["spec", "credentialsRef"], Within::SaidOrOwn, &[entry("apiToken")], Without::Nothing),
            by_map(&["spec", "objectStore", "credentialsRef"], Within::SaidOrOwn, OBJECT_STORE, Without::Nothing),
            by_map(
                &["spec", "objectStore", "secondaryCredentialsRef"],
                Within::SaidOrOwn,
                OBJECT_STORE,
                Without::Nothing,
            ),
        ],
    )
    .with_machines(&[ClusterKind::infrastructure(
        "LinodeMachine",
        "linodemachines",
        &[by_map(&["spec", "credentialsRef"], Within::SaidOrOwn, &[entry("apiToken")], Without::Nothing)],
    )]),
    // <https://github.com/ionos-cloud/cluster-api-provider-ionoscloud>, `api/v1alpha1` at de375f0 (2026-06-12).
    ClusterKind::infrastructure(
        "IonosCloudCluster",
        "ionoscloudclusters",
        &[by_map(&["spec", "credentialsRef"], Within::Own, &[entry("token")], Without::Refused)],
    ),
    // <https://github.com/scaleway/cluster-api-provider-scaleway>, `api/v1alpha1` and `api/v1alpha2` at 453691a (2026-07-17).
    ClusterKind::infrastructure("ScalewayCluster", "scalewayclusters", SCALEWAY),
    ClusterKind::infrastructure("ScalewayManagedCluster", "scalewaymanagedclusters", SCALEWAY),
    // <https://github.com/outscale/cluster-api-provider-outscale>, `api/v1beta1` and `api/v1beta2` at 503aa57 (2026-07-24).
    // The second is for the network of the management cluster, where the two are peers.
    ClusterKind::infrastructure(
        "OscCluster",
        "oscclusters",
        &[
            by_text(&["spec", "credentials", "fromSecret"], OUTSCALE, Without::Nothing),
            by_text(
                &["spec", "network", "netPeering", "managementCredentials", "fromSecret"],
                OUTSCALE,
                Without::Nothing,
            ),
        ],
    ),
    // <https://github.com/rancher-sandbox/cluster-api-provider-harvester>, `api/v1alpha1` and `api/v1beta1` at e9cb1f8
    // (2026-08-07).
    ClusterKind::infrastructure(
        "HarvesterCluster",
        "harvesterclusters",
        &[by_map(&["spec", "identitySecret"], Within::Said, &[entry("kubeconfig")], Without::Refused)],
    ),
    // <https://github.com/smartxworks/cluster-api-provider-elf>, `api/v1beta1` at b227c89 (2026-07-30).
    ClusterKind::infrastructure(
        "ElfCluster",
        "elfclusters",
        &[by_map(&["spec", "tower", "secretRef"], Within::Said, &[entry("cloudtower.yaml")], Without::Nothing)],
    ),
    // <https://github.com/k0sproject/k0smotron>, `api/k0smotron.io/v1beta1` and `v1beta2` at 3897bbe (2026-08-18): without
    // the field, which each version has elsewhere, the control plane runs where the controller does.
    ClusterKind::control_plane(
        "K0smotronControlPlane",
        "k0smotroncontrolplanes",
        &[
            by_map(&["spec", "kubeconfigRef"], Within::Said, HOSTING, Without::Nothing),
            by_map(&["spec", "remoteHostCluster", "kubeconfigRef"], Within::Said, HOSTING, Without::Nothing),
        ],
    ),
];
