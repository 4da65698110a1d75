//! Kinds that are listed, and where.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::config::{Fleet, Globs, Provides};
use crate::kinds::is_failure_domain;
use crate::name::{GroupKind, Namespace};

/// A kind of which every object is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ListedKind {
    /// The kind.
    pub kind: GroupKind,
    /// The namespaces to list; none for the whole cluster.
    pub namespaces: Option<Vec<Namespace>>,
    /// Whether a cluster must serve the kind to be read at all; otherwise, without the kind, what its objects
    /// decide is unknown.
    pub needed: bool,
    /// Whether a cluster that refuses the list is read all the same, and what the objects decide is unknown.
    pub may_be_refused: bool,
    /// Whether a cluster that does not serve the kind is known to have no such object.
    pub may_be_absent: bool,
}

/// The list of a kind of the objects behind Clusters; none where the source can provide no object of it. A cluster
/// that refuses it keeps nothing from others.
pub fn listed_behind(fleet: &Fleet, provides: &Provides, kind: GroupKind) -> Option<ListedKind> {
    if is_failure_domain(&kind) {
        let listed = ListedKind { kind, namespaces: None, needed: false, may_be_refused: true, may_be_absent: true };
        let by_name = provides.objects.iter().any(|objects| objects.kind == listed.kind);
        return (provides.cluster_scoped || by_name).then_some(listed);
    }
    let mut namespaces = namespaces(fleet, provides);
    // Some may be provided by name where others may not.
    let by_name = provides.objects.iter().filter(|objects| objects.kind == kind);
    if let Some(namespaces) = &mut namespaces {
        namespaces.extend(by_name.filter_map(|objects| objects.namespace.clone()));
        namespaces.sort();
        namespaces.dedup();
    }
    Some(ListedKind { kind, namespaces, needed: false, may_be_refused: true, may_be_absent: true })
}

/// The namespaces that a source may provide, if the configuration names them all; none if it uses patterns.
pub fn namespaces(fleet: &Fleet, provides: &Provides) -> Option<Vec<Namespace>> {
    let patterns = provides.namespaces.patterns();
    if !patterns.iter().all(|pattern| Globs::is_name(pattern)) {
        return None;
    }
    // Objects of the system namespace come with cluster-scoped ones, and only with them.
    let named = patterns.iter().map(|name| Namespace::from(name.as_str()));
    let mut namespaces: BTreeSet<Namespace> =
        named.filter(|name| provides.cluster_scoped || !fleet.guarded.contains(name)).collect();
    if provides.cluster_scoped {
        namespaces.insert(fleet.system_namespace.clone());
    }
    Some(namespaces.into_iter().collect())
}
