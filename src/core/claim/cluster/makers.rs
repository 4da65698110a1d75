//! Makers: everything in the sources that makes machines of Clusters, and what machines name.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::capi::cluster::{self, Maker, Makes};
use crate::capi::naming::ClusterKind;
use crate::config::Fleet;
use crate::name::{GroupKind, Name, Namespace, ObjectKey};
use crate::object::Object;
use crate::snapshot::Snapshot;

/// An object that makes machines, and what it says.
pub(super) struct Making<'a> {
    /// The object.
    pub(super) object: &'a Object,
    /// The kind of it.
    pub(super) maker: &'static Maker,
    /// The objects that it refers to.
    pub(super) makes: Makes,
}

/// Everything that makes machines and names its Cluster, and the failure domains.
pub(super) struct Makers<'a> {
    all: Vec<Making<'a>>,
    /// The numbers of those of a Cluster, by its namespace and name.
    of: BTreeMap<(Namespace, Name), Vec<usize>>,
    /// The failure domains that name something, or that may: what they say cannot be read.
    pub(super) domains: BTreeMap<&'a ObjectKey, &'a Object>,
}

impl<'a> Makers<'a> {
    pub(super) fn among(fleet: &Fleet, snapshot: &'a Snapshot) -> Self {
        let mut found = Self { all: Vec::new(), of: BTreeMap::new(), domains: BTreeMap::new() };
        for maker in naming() {
            for object in snapshot.all(&maker.group_kind()) {
                let Some(namespace) = object.key.namespace.clone() else { continue };
                let makes = cluster::makes(maker, &object.body);
                for name in &makes.clusters {
                    let of = ObjectKey::new(cluster::cluster_kind(), Some(namespace.clone()), name.clone());
                    if snapshot.get(&of).is_some() {
                        found.of.entry((namespace.clone(), name.clone())).or_default().push(found.all.len());
                    }
                }
                found.all.push(Making { object, maker, makes });
            }
        }
        for domain in cluster::kinds().filter_map(|known| known.domains) {
            let own = controller_of(fleet, domain);
            let names_none =
                |zone: &&Object| cluster::names(domain, &zone.body, &own).is_ok_and(|named| named.is_empty());
            let kind = domain.group_kind();
            let zones = snapshot.all(&kind).filter(|zone| !names_none(zone) || zone.is_mistyped());
            found.domains.extend(zones.map(|zone| (&zone.key, zone)));
        }
        found
    }

    /// Those of a Cluster.
    pub(super) fn of(&self, namespace: &Namespace, name: &Name) -> impl Iterator<Item = &Making<'a>> {
        let numbers = self.of.get(&(namespace.clone(), name.clone()));
        numbers.into_iter().flatten().filter_map(|number| self.all.get(*number))
    }
}

/// The kinds that name their Cluster.
pub(super) fn naming() -> impl Iterator<Item = &'static Maker> {
    cluster::makers().iter().filter(|maker| maker.names_cluster())
}

/// The namespace in which the controller reads the Secrets that failure domains of a kind name.
pub(super) fn controller_of(fleet: &Fleet, domain: &ClusterKind) -> Namespace {
    let said = domain.identities().into_iter().find_map(|kind| fleet.controllers.get(&kind));
    said.unwrap_or(&fleet.system_namespace).clone()
}

/// The objects that machines and failure domains of any Cluster name.
#[derive(Default)]
pub struct NamedByMachines<'a> {
    /// The identities, Secrets and ConfigMaps, each with the object that names it.
    pub named: Vec<(&'a Object, cluster::Named)>,
    /// The names in those that cannot be read: each may be that of an identity.
    pub in_unread: BTreeSet<Name>,
}

/// Finds what machines and failure domains of any Cluster name.
pub fn named<'a>(fleet: &Fleet, snapshot: &'a Snapshot) -> NamedByMachines<'a> {
    let kinds: BTreeSet<GroupKind> =
        cluster::machines().flat_map(|machine| [machine.group_kind(), cluster::template_kind(machine)]).collect();
    let mut found = NamedByMachines::default();
    for object in kinds.iter().flat_map(|kind| snapshot.all(kind)).chain(snapshot.idle_machines()) {
        let Some((known, is_template)) = cluster::of_machines(&object.key.kind) else { continue };
        let own = object.key.namespace.clone().unwrap_or_else(|| controller_of(fleet, known));
        let body = if is_template { cluster::of_made(&object.body).ok() } else { Some(&object.body) };
        match body.and_then(|body| cluster::names(known, body, &own).ok()).filter(|_| !object.is_mistyped()) {
            Some(named) => found.named.extend(named.into_iter().map(|named| (object, named))),
            None => cluster::collect_names(&object.body, &mut found.in_unread),
        }
    }
    found
}
