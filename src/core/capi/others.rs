//! Providers whose clusters name no identity: their controllers have credentials of their own, or need none.

use super::naming::ClusterKind;

/// The kinds of clusters.
pub const CLUSTERS: &[ClusterKind] = &[
    ClusterKind::infrastructure("DockerCluster", "dockerclusters", &[]),
    ClusterKind::infrastructure("DevCluster", "devclusters", &[]),
    ClusterKind::infrastructure("DOCluster", "doclusters", &[]),
    ClusterKind::infrastructure("IBMPowerVSCluster", "ibmpowervsclusters", &[]),
    ClusterKind::infrastructure("IBMVPCCluster", "ibmvpcclusters", &[]),
    ClusterKind::infrastructure("Metal3Cluster", "metal3clusters", &[]),
    ClusterKind::infrastructure("PacketCluster", "packetclusters", &[]),
    // The keys to remote machines are the machines' own.
    ClusterKind::infrastructure("RemoteCluster", "remoteclusters", &[]),
    ClusterKind::infrastructure("TinkerbellCluster", "tinkerbellclusters", &[]),
];
