//! Clusters of Cluster API that a region takes, although no Credential stands for them.

use super::globs::Globs;
use crate::name::{GroupKind, Name, Namespace, Version};

/// One entry of `clusters` of a region.
#[derive(Clone, Debug)]
pub struct TakenClusters {
    /// The glob over `namespace/name`.
    pub clusters: Globs,
    /// The identity that they use, where the configuration itself says it; none where the objects behind them do.
    pub identity: Option<TakenIdentity>,
}

/// An identity of Clusters, as the configuration names it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TakenIdentity {
    /// Group and kind.
    pub kind: GroupKind,
    /// The version.
    pub version: Version,
    /// The namespace; by default the Cluster's own.
    pub namespace: Option<Namespace>,
    /// The name.
    pub name: Name,
}

/// The entry by which a region takes a Cluster, named as `namespace/name`: the first that fits.
pub fn taken<'a>(entries: &'a [TakenClusters], cluster: &str) -> Option<&'a TakenClusters> {
    entries.iter().find(|entry| entry.clusters.matches(cluster))
}
