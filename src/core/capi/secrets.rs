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

const SCALEWAY: &[Naming] =
    &[by_text(&["spec", "scalewaySecretName"], &[entry("SCW_ACCESS_KEY"), entry("SCW_SECRET_KEY")], Without::Refused)];

/// The kinds of clusters.
pub const CLUSTERS: &[ClusterKind] = &[
    // <https://github.com/kubernetes-sigs/cluster-api-provider-cloudstack>
    ClusterKind::infrastructure(
        "CloudStackCluster",
        "cloudstackclusters",
        &[by_map(
            &["spec", "failureDomains", "[]", "acsEndpoint"],
            Within::Said,
            &[entry("api-url"), entry("api-key"), entry("secret-key")],
            Without::Nothing,
        )],
    ),
    // <https://github.com/vmware/cluster-api-provider-cloud-director>; a user with a password, or a token.
    ClusterKind::infrastructure(
        "VCDCluster",
        "vcdclusters",
        &[by_map(&["spec", "userContext", "secretRef"], Within::Said, &[], Without::Nothing)],
    ),
    // <https://github.com/linode/cluster-api-provider-linode>
    ClusterKind::infrastructure(
        "LinodeCluster",
        "linodeclusters",
        &[by_map(&["spec", "credentialsRef"], Within::SaidOrOwn, &[entry("apiToken")], Without::Nothing)],
    ),
    // <https://github.com/ionos-cloud/cluster-api-provider-ionoscloud>
    ClusterKind::infrastructure(
        "IonosCloudCluster",
        "ionoscloudclusters",
        &[by_map(&["spec", "credentialsRef"], Within::Own, &[entry("token")], Without::Refused)],
    ),
    // <https://github.com/scaleway/cluster-api-provider-scaleway>
    ClusterKind::infrastructure("ScalewayCluster", "scalewayclusters", SCALEWAY),
    ClusterKind::infrastructure("ScalewayManagedCluster", "scalewaymanagedclusters", SCALEWAY),
    // <https://github.com/outscale/cluster-api-provider-outscale>
    ClusterKind::infrastructure(
        "OscCluster",
        "oscclusters",
        &[by_text(&["spec", "credentials", "fromSecret"], &[], Without::Nothing)],
    ),
    // <https://github.com/rancher-sandbox/cluster-api-provider-harvester>
    ClusterKind::infrastructure(
        "HarvesterCluster",
        "harvesterclusters",
        &[by_map(&["spec", "identitySecret"], Within::Said, &[entry("kubeconfig")], Without::Refused)],
    ),
    // <https://github.com/smartxworks/cluster-api-provider-elf>
    ClusterKind::infrastructure(
        "ElfCluster",
        "elfclusters",
        &[by_map(&["spec", "tower", "secretRef"], Within::SaidOrOwn, &[], Without::Nothing)],
    ),
    // <https://github.com/k0sproject/k0smotron>; without the field, the control plane runs where the controller does.
    ClusterKind::control_plane(
        "K0smotronControlPlane",
        "k0smotroncontrolplanes",
        &[by_map(
            &["spec", "kubeconfigRef"],
            Within::SaidOrOwn,
            &[EntryName { name: "value", by: &["key"] }],
            Without::Nothing,
        )],
    ),
];
