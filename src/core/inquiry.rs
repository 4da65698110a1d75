//! What a live cluster is asked: the kinds that are listed, and the objects that closures want.
//!
//! Reading a cluster, and saying which rights that takes, both go by this page, so the two cannot drift apart.
//! Secrets are never listed, nor is anything else that only some claim may need: such objects are read by name. Only where
//! ResourceSyncRules match objects by other things than names, the metadata of those is listed.
//! It knows of no API path and no client.

mod listed_kind;
mod sync_rules;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::capi;
use crate::capi::cluster;
use crate::capi::cluster::{Belongs, Maker};
use crate::capi::naming::{CONTROL_PLANES, ClusterKind};
use crate::capi::resource_set::{ADDONS, resource_set_kind};
use crate::config::{Fleet, Provides, RegionConfig, Source, placements_of};
use crate::kinds::{self, K0RDENT, Known};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Scope, SourceName};
use crate::node::Node;
use crate::object::kind_of;
pub use listed_kind::{ListedKind, listed_behind, namespaces};
pub use sync_rules::{Ruled, ruled, rules_among};

/// The namespace whose UID tells one cluster from another: it exists from the first start of an API
/// server on, and cannot be deleted.
pub const IDENTITY_NAMESPACE: &str = "kube-system";

/// The kinds to list in a cluster, in the order of reading; [`behind`] says which follow.
///
/// The cluster of a region need not have k0rdent: where it serves none of its kinds, it has no such objects.
pub fn listed(fleet: &Fleet, source: &Source) -> Vec<ListedKind> {
    let provides = &source.provides;
    let is_regional = fleet.is_regional(source);
    let namespaced = namespaces(fleet, provides);
    let ask = |known: &Known| {
        let needed = match known.listed {
            kinds::Listed::ByName => return None,
            kinds::Listed::AsGiven if kinds::is_of_sync_rules(&GroupKind::new(known.group, known.kind)) => {
                return sync_rules::listed(fleet, provides, GroupKind::new(known.group, known.kind));
            }
            kinds::Listed::AsGiven if known.scope == Scope::Cluster && known.claims => {
                let kind = GroupKind::new(known.group, known.kind);
                let is_taken = provides.cluster_scoped && fleet.takes_templates(&kind);
                return is_taken.then_some(ListedKind {
                    kind,
                    namespaces: None,
                    needed: false,
                    may_be_refused: true,
                    // Whoever takes KubeNSync away, its kind with it, does not mean what it made.
                    may_be_absent: false,
                });
            }
            kinds::Listed::AsGiven if known.claims => {
                let kind = GroupKind::new(known.group, known.kind);
                let listed = listed_behind(fleet, provides, kind)?;
                let is_asked = fleet.lists(&listed.kind) && fleet.takes(&source.name, &listed.kind);
                return is_asked.then_some(ListedKind { may_be_refused: false, may_be_absent: false, ..listed });
            }
            kinds::Listed::AsGiven => return of_inventory(fleet, provides, known),
            kinds::Listed::IfServed => false,
            kinds::Listed::Needed => !is_regional,
        };
        let namespaces = match known.scope {
            Scope::Cluster if !provides.cluster_scoped => return None,
            Scope::Cluster => None,
            Scope::Namespaced => namespaced.clone(),
        };
        let kind = GroupKind::new(known.group, known.kind);
        Some(ListedKind { kind, namespaces, needed, may_be_refused: false, may_be_absent: is_regional })
    };
    // Without the right, templates wait, and nobody else.
    let may_be_refused = |listed| ListedKind { may_be_refused: true, needed: false, ..listed };
    let namespaces = has_namespaces(fleet, source).then(listed_namespaces).map(may_be_refused);
    kinds::all().filter_map(ask).chain(namespaces).collect()
}

/// Whether a source may be the one that says which namespaces a region has that takes templates.
pub fn has_namespaces(fleet: &Fleet, source: &Source) -> bool {
    let mut taking = fleet.regions.values().filter(|region| fleet.renders(region));
    let is_its = |region: &RegionConfig| match &source.region {
        Some(own) => *own == region.name,
        None => region.management,
    };
    source.provides.cluster_scoped && taking.any(is_its)
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
            false => ties().filter_map(|tie| tie.cluster_profile.as_ref()).map(|tie| &tie.namespace).collect(),
        };
        // Where nothing could come of it, nothing is asked.
        let may_provide = |namespace: &&&Namespace| {
            let any = ObjectKey::new(kind.clone(), Some((**namespace).clone()), Name::from(""));
            provides.admits(&any, &fleet.guarded)
        };
        let asked: Vec<Namespace> = asked.iter().filter(may_provide).map(|namespace| (*namespace).clone()).collect();
        if asked.is_empty() {
            return None;
        }
        Some(asked)
    } else if kind.is(kinds::REGISTRY, "Cluster") && ties().any(|tie| tie.registry_cluster.is_some()) {
        None
    } else {
        return None;
    };
    Some(ListedKind { kind, namespaces, needed: false, may_be_refused: is_placement, may_be_absent: false })
}

/// The kinds of the objects that a Cluster of a source refers to and that name its identity; none if no region takes it.
pub fn behind(fleet: &Fleet, source: &SourceName, cluster: (&Namespace, &Name), body: &Node) -> Vec<GroupKind> {
    let (namespace, name) = cluster;
    let path = Claimant::Cluster { namespace: namespace.clone(), name: name.clone() }.place();
    // An entry with an identity has nothing else read.
    if !fleet.taking(source, &path).any(|(_, entry)| entry.identity.is_none()) {
        return Vec::new();
    }
    let Ok(spec) = cluster::read(body, namespace) else { return Vec::new() };
    let mut kinds: Vec<GroupKind> = spec.refers_to.into_iter().map(|referred| referred.kind).collect();
    let of_machines = || kinds.iter().filter_map(cluster::known).filter(|known| !known.machines.is_empty());
    let mut machines: Vec<GroupKind> = of_machines().flat_map(behind_machines).collect();
    if !machines.is_empty() {
        machines.extend(kinds.iter().filter(|kind| cluster::maker(kind).is_some()).cloned());
    }
    kinds.retain(|kind| cluster::known(kind).is_some_and(|known| !known.names.is_empty()));
    kinds.extend(machines);
    if spec.class.is_some() && !spec.has_infrastructure {
        kinds.extend(classes());
    }
    kinds
}

/// The kinds of what makes the machines of a cluster's kind, of the templates that may name an identity, and of failure
/// domains. Single machines are not among them: controllers make and delete them all the time.
fn behind_machines(known: &'static ClusterKind) -> impl Iterator<Item = GroupKind> {
    let makers = cluster::makers().iter();
    let makers = makers.filter(|maker| matches!(maker.belongs, Belongs::ByName | Belongs::Made)).map(Maker::group_kind);
    // A MachinePool refers to its pool, and to no template of it.
    let pools = known.machines.iter().filter(|machine| machine.kind.ends_with("Pool"));
    let pools = pools.map(|pool| pool.group_kind());
    makers.chain(pools).chain(named_by_machines(known))
}

/// The kinds of templates and of failure domains that may name an identity of machines.
fn named_by_machines(known: &'static ClusterKind) -> impl Iterator<Item = GroupKind> {
    let domains = known.domains.into_iter().map(|domain| domain.group_kind());
    known.machines.iter().map(cluster::template_kind).chain(domains)
}

/// The same of documents, each with the source that it stands in.
pub fn behind_all<'a>(
    fleet: &Fleet,
    documents: impl Iterator<Item = (&'a Node, &'a SourceName)>,
) -> BTreeSet<GroupKind> {
    if !fleet.names_clusters() {
        return BTreeSet::new();
    }
    let of = |(document, source): (&Node, &SourceName)| {
        let kind = kind_of(document);
        if kind != cluster::cluster_kind() {
            // A single Machine of a file refers to an object that no template makes.
            let maker = cluster::maker(&kind).filter(|maker| maker.belongs == Belongs::Machine);
            let kinds = maker.into_iter().flat_map(|maker| maker.kinds(document));
            return kinds.filter(|kind| cluster::of_machines(kind).is_some()).collect();
        }
        let known = fleet.source(source);
        let default = known.and_then(|source| source.default_namespace.as_ref()).map(Namespace::as_str);
        let namespace = document.str_at(&["metadata", "namespace"]).or(default).unwrap_or_default();
        let name = document.str_at(&["metadata", "name"]).unwrap_or_default();
        behind(fleet, source, (&namespace.into(), &name.into()), document)
    };
    documents.flat_map(of).collect()
}

/// The kinds of which nobody knows before Clusters are read whether some stand behind one.
pub fn any_behind(fleet: &Fleet) -> Vec<GroupKind> {
    let of_objects = cluster::kinds().filter(|known| !known.names.is_empty());
    let of_objects = of_objects.map(|known| known.group_kind());
    let machines = cluster::kinds().filter(|known| !known.machines.is_empty()).flat_map(behind_machines);
    let control_planes = cluster::makers().iter().filter(|maker| maker.belongs == Belongs::ControlPlane);
    let all = of_objects.chain(machines).chain(control_planes.map(Maker::group_kind));
    if fleet.names_clusters() { all.collect() } else { Vec::new() }
}

/// A ClusterClass, the templates whose objects name identities, and what makes machines beside it.
fn classes() -> impl Iterator<Item = GroupKind> {
    let named = cluster::kinds().filter(|known| !known.names.is_empty());
    let templates = named.map(cluster::template_kind);
    let machines = cluster::kinds().filter(|known| !known.machines.is_empty()).flat_map(behind_machines);
    [cluster::class_kind()].into_iter().chain(templates).chain(machines)
}

/// The list of Namespaces, by whose names and labels AccessManagement rules select; needed only if
/// [`select_namespaces`] finds such a rule, or the source [has those of a region](has_namespaces).
pub fn listed_namespaces() -> ListedKind {
    let kind = GroupKind::new("", "Namespace");
    ListedKind { kind, namespaces: None, needed: true, may_be_refused: false, may_be_absent: false }
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

/// The API groups whose kinds closures may ask for, besides the core group.
pub fn groups(fleet: &Fleet) -> BTreeSet<&str> {
    let inventories = fleet.regions.values().flat_map(|region| {
        let tied = &region.inventory;
        let profile = tied.cluster_profile.as_ref().map(|_| kinds::MULTICLUSTER);
        profile.into_iter().chain(tied.registry_cluster.as_ref().map(|_| kinds::REGISTRY))
    });
    let placements = (!placements_of(&fleet.grants).is_empty()).then_some(kinds::MULTICLUSTER);
    let asked = fleet.kinds.keys().map(|kind| kind.group.as_str()).chain([capi::GROUP]);
    let clusters = fleet.names_clusters().then_some([cluster::CLUSTERS, CONTROL_PLANES]);
    let resource_sets = (fleet.names_resource_sets() || fleet.makes_resource_sets()).then_some(ADDONS);
    let of_guests = fleet.looks_for_guests().then_some(cluster::CLUSTERS);
    let taken = clusters.into_iter().flatten().chain(resource_sets).chain(of_guests);
    let rules = fleet.names_sync_rules().then_some(kinds::REGISTRY);
    let templates = fleet.names_templates().then_some(kinds::KUBENSYNC);
    asked.chain(rules).chain(templates).chain(inventories).chain(placements).chain(taken).collect()
}

/// The namespaces whose own Namespace objects are read.
pub fn identity_namespaces(fleet: &Fleet, source: &Source) -> Vec<Namespace> {
    let system = (source.provides.cluster_scoped && !fleet.is_regional(source)).then(|| fleet.system_namespace.clone());
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
    // Those that templates make are on the management cluster, which is looked into by no look.
    let sets = (!fleet.guests.is_empty()).then(|| (resource_set_kind(), Scope::Namespaced));
    published.chain(extra).chain(sets).filter(|(kind, _)| !kind.group.as_str().is_empty()).collect()
}
