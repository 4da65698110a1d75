//! Clusters of Cluster API that a region takes, although no Credential stands for them.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

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
    /// The glob as typed.
    pub fn glob(&self) -> &str {
        self.clusters.patterns().first().map_or("", String::as_str)
    }

    /// The one Cluster that the entry names, if no character of it stands for others.
    pub fn name(&self) -> Option<&str> {
        Some(self.glob()).filter(|glob| !glob.contains(['*', '?', '[', '{', '\\']))
    }

    /// As the configuration has it.
    pub(super) fn tree(&self) -> Tree<'_> {
        let glob = Tree::text(self.glob());
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

/// The Clusters that a region takes: entries, of which the first that fits counts.
#[derive(Clone, Debug, Default)]
pub struct ClusterEntries {
    entries: Vec<TakenClusters>,
    /// The places of entries that are plain names; of several with one name, of the first.
    by_name: BTreeMap<String, usize>,
    /// The places of all others. There may be thousands of Clusters, and as many entries that each name one.
    globs: Vec<usize>,
}

impl ClusterEntries {
    /// Sorts out which entries are plain names.
    pub(super) fn new(entries: Vec<TakenClusters>) -> Self {
        let (mut by_name, mut globs) = (BTreeMap::new(), Vec::new());
        for (at, entry) in entries.iter().enumerate() {
            match entry.name() {
                Some(name) => _ = by_name.entry(name.into()).or_insert(at),
                None => globs.push(at),
            }
        }
        Self { entries, by_name, globs }
    }

    /// Whether the region takes none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries, in the order of the configuration.
    pub fn iter(&self) -> impl Iterator<Item = &TakenClusters> {
        self.entries.iter()
    }

    /// The entry by which the region takes a Cluster, named as `namespace/name`: the first that fits.
    pub fn taken(&self, cluster: &str) -> Option<&TakenClusters> {
        let named = self.by_name.get(cluster).copied();
        let fits = |at: &usize| self.entries.get(*at).is_some_and(|entry| entry.clusters.matches(cluster));
        let mut before = self.globs.iter().copied().take_while(|at| named.is_none_or(|named| *at < named));
        self.entries.get(before.find(fits).or(named)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a name comes after a glob that fits too, the glob counts, and the other way round.
    #[test]
    fn the_first_entry_that_fits_counts() {
        let globs = ["a/x", "b/*", "b/y", "a/*", "a/y", "*/z", "a/x"];
        let entry =
            |glob: &&str| TakenClusters { clusters: Globs::new(&[String::from(*glob)]).unwrap(), identity: None };
        let entries = ClusterEntries::new(globs.iter().map(entry).collect());
        for namespace in ["a", "b", "c"] {
            for name in ["x", "y", "z"] {
                let path = alloc::format!("{namespace}/{name}");
                let first = entries.iter().find(|entry| entry.clusters.matches(&path)).map(TakenClusters::glob);
                assert_eq!(entries.taken(&path).map(TakenClusters::glob), first, "{path}");
            }
        }
    }
}
