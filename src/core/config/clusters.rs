//! Clusters of Cluster API that a region takes, although no Credential stands for them.

use alloc::string::String;

use super::globs::Globs;
use crate::name::{GroupKind, Name, Namespace, Version};
use crate::yaml::emit::Tree;

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

impl TakenClusters {
    /// As the configuration has it.
    pub(super) fn tree(&self) -> Tree<'_> {
        let glob = Tree::text(self.clusters.patterns().first().map_or("", String::as_str));
        let Some(identity) = &self.identity else { return glob };
        let fields = [
            ("apiVersion", Tree::text(identity.kind.api_version(&identity.version))),
            ("kind", Tree::text(identity.kind.kind.as_str())),
            ("name", Tree::text(identity.name.as_str())),
        ];
        let namespace = identity.namespace.as_ref().map(|namespace| ("namespace", Tree::text(namespace.as_str())));
        Tree::map([("name", glob), ("identityRef", Tree::map(fields.into_iter().chain(namespace)))])
    }
}

/// The entry by which a region takes a Cluster, named as `namespace/name`: the first that fits.
pub fn taken<'a>(entries: &'a [TakenClusters], cluster: &str) -> Option<&'a TakenClusters> {
    entries.iter().find(|entry| entry.clusters.matches(cluster))
}
