//! What a live cluster is asked: the kinds that are listed, and the objects that closures want.
//!
//! Reading a cluster, and saying which rights that takes, both go by this page, so the two cannot drift apart.
//! Secrets are never listed, nor is anything else that only some claim may need: such objects are read by name.
//! It knows of no API path and no client.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::capi;
use crate::config::{Fleet, Provides, placements_of};
use crate::kinds::{self, K0RDENT, Known};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Scope};
use crate::node::Node;
use crate::object::kind_of;

/// The namespace whose UID tells one cluster from another: it exists from the first start of an API
/// server on, and cannot be deleted.
pub const IDENTITY_NAMESPACE: &str = "kube-system";

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
}

/// The kinds to list in a cluster that may provide this much, in the order of reading.
pub fn listed(fleet: &Fleet, provides: &Provides) -> Vec<ListedKind> {
    let namespaced = namespaces(fleet, provides);
    let ask = |known: &Known| {
        let needed = match known.listed {
            kinds::Listed::ByName => return None,
            kinds::Listed::AsGiven => return of_inventory(fleet, provides, known),
            kinds::Listed::IfServed => false,
            kinds::Listed::Needed => true,
        };
        let namespaces = match known.scope {
            Scope::Cluster if !provides.cluster_scoped => return None,
            Scope::Cluster => None,
            Scope::Namespaced => namespaced.clone(),
        };
        Some(ListedKind { kind: GroupKind::new(known.group, known.kind), namespaces, needed, may_be_refused: false })
    };
    kinds::all().filter_map(ask).collect()
}

/// The list of a kind that describes regions' clusters, if a region is tied to objects of it.
fn of_inventory(fleet: &Fleet, provides: &Provides, known: &Known) -> Option<ListedKind> {
    if !provides.cluster_scoped {
        return None;
    }
    let kind = GroupKind::new(known.group, known.kind);
    let ties = || fleet.regions.values().map(|region| &region.inventory);
    let is_placement = kind.is(kinds::MULTICLUSTER, "PlacementDecision");
    let namespaces = if is_placement || kind.is(kinds::MULTICLUSTER, "ClusterProfile") {
        let asked: BTreeSet<&Namespace> = match is_placement {
            true => placements_of(&fleet.grants).into_iter().map(|placement| &placement.namespace).collect(),
            false => ties().filter_map(|tie| tie.profile.as_ref()).map(|tie| &tie.namespace).collect(),
        };
        // Where nothing could come of it, nothing is asked.
        let may_provide = |namespace: &&&Namespace| {
            let any = ObjectKey::new(kind.clone(), Some((**namespace).clone()), Name::from(""));
            provides.admits(&any, &fleet.system_namespace)
        };
        let asked: Vec<Namespace> = asked.iter().filter(may_provide).map(|namespace| (*namespace).clone()).collect();
        if asked.is_empty() {
            return None;
        }
        Some(asked)
    } else if kind.is(kinds::REGISTRY, "Cluster") && ties().any(|tie| tie.registry.is_some()) {
        None
    } else {
        return None;
    };
    Some(ListedKind { kind, namespaces, needed: false, may_be_refused: is_placement })
}

/// The list of Namespaces, by whose names and labels AccessManagement rules select; needed only if
/// [`select_namespaces`] finds such a rule.
pub fn listed_namespaces() -> ListedKind {
    ListedKind { kind: GroupKind::new("", "Namespace"), namespaces: None, needed: true, may_be_refused: false }
}

/// Whether some AccessManagement among documents has a rule that does not name its target namespaces.
pub fn select_namespaces<'a>(mut documents: impl Iterator<Item = &'a Node>) -> bool {
    let selects = |rule: &Node| {
        let named = rule.at(&["targetNamespaces", "list"]).map(Node::items).unwrap_or_default();
        named.is_empty()
    };
    documents.any(|document| {
        let rules = document.at(&["spec", "accessRules"]).map(Node::items).unwrap_or_default();
        kind_of(document).is(K0RDENT, "AccessManagement") && rules.iter().any(selects)
    })
}

/// The namespaces that a source may provide, if the configuration names them all; none if it uses patterns.
pub fn namespaces(fleet: &Fleet, provides: &Provides) -> Option<Vec<Namespace>> {
    let patterns = provides.namespaces.patterns();
    if patterns.iter().any(|pattern| pattern.contains(['*', '?', '[', '{', '\\'])) {
        return None;
    }
    // Objects of the system namespace come with cluster-scoped ones, and only with them.
    let named = patterns.iter().map(|name| Namespace::from(name.as_str()));
    let mut namespaces: BTreeSet<Namespace> = named.filter(|name| *name != fleet.system_namespace).collect();
    if provides.cluster_scoped {
        namespaces.insert(fleet.system_namespace.clone());
    }
    Some(namespaces.into_iter().collect())
}

/// The API groups whose kinds closures may ask for, besides the core group.
pub fn groups(fleet: &Fleet) -> BTreeSet<&str> {
    let inventories = fleet.regions.values().flat_map(|region| {
        let tied = &region.inventory;
        let profile = tied.profile.as_ref().map(|_| kinds::MULTICLUSTER);
        profile.into_iter().chain(tied.registry.as_ref().map(|_| kinds::REGISTRY))
    });
    let placements = (!placements_of(&fleet.grants).is_empty()).then_some(kinds::MULTICLUSTER);
    let asked = fleet.kinds.keys().map(|kind| kind.group.as_str()).chain([capi::GROUP]);
    asked.chain(inventories).chain(placements).collect()
}

/// The namespaces whose own Namespace objects are read.
pub fn identity_namespaces(fleet: &Fleet, provides: &Provides) -> Vec<Namespace> {
    let system = provides.cluster_scoped.then(|| fleet.system_namespace.clone());
    let kube_system = Namespace::from(IDENTITY_NAMESPACE);
    let system = system.filter(|namespace| *namespace != kube_system);
    [kube_system].into_iter().chain(system).collect()
}

/// The kinds that a region's cluster is asked about: those that may be published there, with their scopes.
///
/// The core group is served everywhere, and needs no question.
pub fn published_there(fleet: &Fleet) -> BTreeMap<GroupKind, Scope> {
    let published = kinds::published().filter_map(|kind| {
        let known = kinds::known(&kind).map(|known| known.scope);
        let scope = known.or_else(|| capi::rules(&kind).map(|rules| rules.scope))?;
        Some((kind, scope))
    });
    let extra = fleet.kinds.iter().map(|(kind, extra)| (kind.clone(), extra.scope));
    published.chain(extra).filter(|(kind, _)| !kind.group.as_str().is_empty()).collect()
}
