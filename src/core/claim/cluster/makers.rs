//! Makers: everything in the sources that makes machines of Clusters, and what machines name.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::capi::cluster::{self, Belongs, Maker, Makes};
use crate::config::Fleet;
use crate::name::{GroupKind, Name, Namespace, SourceName};
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

/// Everything that makes machines and names its Cluster.
#[derive(Default)]
pub(super) struct Makers<'a> {
    /// By namespace and Cluster.
    pub(super) of: BTreeMap<(Namespace, Name), Vec<Making<'a>>>,
    /// Those whose Cluster cannot be read, by namespace.
    pub(super) stray: BTreeMap<Namespace, Vec<Making<'a>>>,
    /// The sources that may have others, by namespace.
    pub(super) unread: BTreeMap<Namespace, Vec<(SourceName, &'static Maker)>>,
}

impl<'a> Makers<'a> {
    pub(super) fn among(snapshot: &'a Snapshot) -> Self {
        let mut all = Self::default();
        for maker in naming() {
            for object in snapshot.all(&maker.group_kind()) {
                let Some(namespace) = object.key.namespace.clone() else { continue };
                let mut makes = cluster::makes(maker, &object.body);
                match makes.cluster.take() {
                    Some(name) => all.of.entry((namespace, name)).or_default().push(Making { object, maker, makes }),
                    None if makes.faults.is_empty() => {}
                    None => all.stray.entry(namespace).or_default().push(Making { object, maker, makes }),
                }
            }
        }
        all
    }
}

/// The kinds that name their Cluster.
pub(super) fn naming() -> impl Iterator<Item = &'static Maker> {
    cluster::makers().iter().filter(|maker| maker.belongs != Belongs::ControlPlane)
}

/// The identities, Secrets and ConfigMaps that machines and failure domains of any Cluster name, each with the object that
/// names it; none where some of them cannot be read.
pub fn named<'a>(fleet: &Fleet, snapshot: &'a Snapshot) -> Option<Vec<(&'a Object, Vec<cluster::Named>)>> {
    let kinds: BTreeSet<GroupKind> = cluster::machines()
        .flat_map(|machine| [GroupKind::new(machine.group, machine.kind), cluster::template_kind(machine)])
        .collect();
    let mut all = Vec::new();
    for object in kinds.iter().flat_map(|kind| snapshot.all(kind)) {
        let (known, is_template) = cluster::of_machines(&object.key.kind)?;
        let own = object.key.namespace.clone().unwrap_or_else(|| fleet.system_namespace.clone());
        let body = if is_template { cluster::of_made(&object.body).ok()? } else { &object.body };
        if object.is_mistyped() {
            return None;
        }
        all.push((object, cluster::names(known, body, &own).ok()?));
    }
    Some(all)
}
