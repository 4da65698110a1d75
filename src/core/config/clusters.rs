//! Clusters of Cluster API that a region takes, although no Credential stands for them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::Deserialize;

use super::error::{Faults, FieldPath, quoted, suggest};
use super::globs::Globs;
use super::kind::ExtraKind;
use super::setting::{Show, given, read_as};
use crate::kinds::{Scopes, is_published, published};
use crate::name::{GroupKind, Name, Namespace, Scope, Version, split_api_version};
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

    /// Checks the identity that is named, if one is.
    fn check(&self, kinds: &BTreeMap<GroupKind, ExtraKind>, path: &FieldPath, faults: &mut Faults) {
        let Some(TakenIdentity { kind, version, namespace, .. }) = &self.identity else { return };
        if version.as_str().is_empty() {
            faults.add(&path.key("apiVersion"), "it names no version", "Write it as in the identity's own manifest.");
        }
        let built_in = || Scopes::new().of(kind).filter(|_| is_published(kind));
        let scope = kinds.get(kind).map(|extra| extra.scope).or_else(built_in);
        if scope.is_none() {
            let all: Vec<String> = published().chain(kinds.keys().cloned()).map(|kind| kind.qualified()).collect();
            let shown = kind.qualified();
            let message = format!("pouch publishes no objects of kind {}", quoted(&shown));
            faults.add(&path.key("kind"), message, suggest(&shown, all.iter().map(String::as_str)));
        }
        if scope == Some(Scope::Cluster) && namespace.is_some() {
            let message = format!("objects of kind {} have no namespace", kind.kind);
            faults.add(&path.key("namespace"), message, "Remove the field.");
        }
    }
}

/// Clusters that a region takes: a glob over `NAMESPACE/NAME`, or such a glob with the identity.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
enum RegionClustersFile {
    /// A glob; the objects behind the Clusters name the identity.
    #[schemars(extend("x-check" = "cluster"))]
    Glob(String),
    /// A glob, and the identity.
    With(IdentifiedClustersFile),
}

/// Clusters whose identity no source tells, such as those of a ClusterClass that writes it.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct IdentifiedClustersFile {
    /// A glob over `NAMESPACE/NAME`.
    #[schemars(extend("x-check" = "cluster"))]
    name: String,
    /// The identity, or the Secret, that these Clusters use.
    identity_ref: ClusterIdentityFile,
}

/// An identity, or a Secret, that Clusters use.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ClusterIdentityFile {
    /// Its group and version.
    api_version: String,
    /// Its kind.
    kind: String,
    /// Its namespace, by default the Cluster's; a cluster-scoped kind has none.
    #[schemars(extend("x-check" = "namespace"))]
    namespace: Option<Namespace>,
    /// Its name.
    #[schemars(extend("x-check" = "object-name"))]
    name: Name,
}

read_as!(TakenClusters as RegionClustersFile);

impl From<RegionClustersFile> for TakenClusters {
    fn from(file: RegionClustersFile) -> Self {
        let (glob, identity) = match file {
            RegionClustersFile::Glob(glob) => (glob, None),
            RegionClustersFile::With(IdentifiedClustersFile { name, identity_ref }) => (name, Some(identity_ref)),
        };
        let identity = identity.map(|ClusterIdentityFile { api_version, kind, namespace, name }| {
            let (group, version) = split_api_version(&api_version);
            TakenIdentity { kind: GroupKind::new(group, &kind), version: version.into(), namespace, name }
        });
        Self { clusters: Globs::new(&[glob]).unwrap_or_default(), identity }
    }
}

impl Show for TakenClusters {
    fn show(&self) -> Option<Tree<'_>> {
        let glob = Some(Tree::text(self.glob()));
        let Some(TakenIdentity { kind, version, namespace, name }) = &self.identity else { return glob };
        let identity = given([
            ("apiVersion", Some(Tree::text(kind.api_version(version)))),
            ("kind", kind.kind.show()),
            ("name", name.show()),
            ("namespace", namespace.show()),
        ]);
        Some(given([("name", glob), ("identityRef", Some(identity))]))
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

read_as!(ClusterEntries as Vec<TakenClusters>);

/// Sorts out which entries are plain names.
impl From<Vec<TakenClusters>> for ClusterEntries {
    fn from(entries: Vec<TakenClusters>) -> Self {
        let (mut by_name, mut globs) = (BTreeMap::new(), Vec::new());
        for (at, entry) in entries.iter().enumerate() {
            match entry.name() {
                Some(name) => _ = by_name.entry(name.into()).or_insert(at),
                None => globs.push(at),
            }
        }
        Self { entries, by_name, globs }
    }
}

impl Show for ClusterEntries {
    fn show(&self) -> Option<Tree<'_>> {
        self.entries.show()
    }
}

impl ClusterEntries {
    /// Checks the identities that are named.
    pub(super) fn check(&self, kinds: &BTreeMap<GroupKind, ExtraKind>, path: &FieldPath, faults: &mut Faults) {
        for (at, entry) in self.entries.iter().enumerate() {
            entry.check(kinds, &path.index(at).key("identityRef"), faults);
        }
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
        let entries = ClusterEntries::from(globs.iter().map(entry).collect::<Vec<_>>());
        for namespace in ["a", "b", "c"] {
            for name in ["x", "y", "z"] {
                let path = alloc::format!("{namespace}/{name}");
                let first = entries.iter().find(|entry| entry.clusters.matches(&path)).map(TakenClusters::glob);
                assert_eq!(entries.taken(&path).map(TakenClusters::glob), first, "{path}");
            }
        }
    }
}
