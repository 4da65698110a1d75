//! The namespaces of a region, as they are told: the configuration, Namespaces of [sources](Telling) that say which it
//! has, and a look into the region that lists them. Any look says which labels those have that it asked for, and which are
//! absent.

use alloc::collections::BTreeMap;

use super::cluster::{ClusterFacts, Sight};
use super::looks::Looks;
use crate::claim::template::{Labels, Namespaces, Telling};
use crate::config::{Fleet, RegionConfig};
use crate::finding::{Code, Fault};
use crate::name::{GroupKind, Namespace, Region};
use crate::object::{Object, finding_of};
use crate::snapshot::Snapshot;

/// The namespaces of each region that takes templates.
pub(super) fn gather(
    fleet: &Fleet,
    snapshot: &Snapshot,
    clusters: &BTreeMap<Region, ClusterFacts>,
    looks: &Looks,
) -> BTreeMap<Region, Namespaces> {
    let taking = fleet.regions.values().filter(|region| fleet.renders(region));
    let of = |region: &RegionConfig| {
        let mut namespaces = of(fleet, snapshot, region, clusters.get(&region.name));
        // Whoever may look sees what there is: a list that a source has from before proves nothing gone meanwhile.
        if region.look().is_some() && looks.why_closed().is_some() {
            namespaces.absent.clear();
            namespaces.complete = false;
            namespaces.is_older = true;
        }
        namespaces
    };
    taking.map(|region| (region.name.clone(), of(region))).collect()
}

fn of(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig, cluster: Option<&ClusterFacts>) -> Namespaces {
    let mut namespaces = Namespaces::default();
    let sight = cluster.map(|cluster| &cluster.sight);
    namespaces.is_seen = region.look().is_some() || sight.is_some_and(|sight| !matches!(sight, Sight::None));
    let mut telling = match namespaces.is_seen {
        true => Telling::described(fleet, snapshot, region),
        false => Telling::implied(fleet, snapshot, region),
    };
    let kind = GroupKind::new("", "Namespace");
    // Whichever of several copies counts elsewhere, those of the sources that say what the region has do so here.
    let tells = |copy: &&Object| {
        let source = &copy.origin.source;
        telling.sources.contains(source) || (region.management && snapshot.is_home(source))
    };
    for object in snapshot.all(&kind) {
        let copies = || snapshot.copies(&object.key).filter(tells);
        let Some(first) = copies().next() else { continue };
        let stops = |fault: &Fault| fault.code != Code::Shadowed && finding_of(fault, object).stops_claim();
        let is_faulty = copies().any(|copy| copy.labels != first.labels || copy.faults.iter().any(stops));
        // What stands there may not be what was meant, or what counts.
        let known = if is_faulty { Labels::default() } else { Labels::of(first) };
        let name = Namespace::new(object.key.name.shared());
        if copies().any(|copy| copy.origin.position().is_some()) {
            namespaces.told.insert(name.clone());
        }
        namespaces.known.insert(name, known);
    }
    telling.have_some = !namespaces.known.is_empty();
    // The configuration's own labels count beside all others, whatever these say.
    let configured = region.namespaces.labels.keys();
    for name in configured {
        namespaces.known.entry(name.clone()).or_insert_with(|| Labels { known: BTreeMap::new(), complete: true });
    }
    for (name, labels) in &mut namespaces.known {
        if telling.is_doubted(snapshot, name) {
            *labels = Labels::default();
        }
    }
    // A look that may not list asks only for namespaces that somebody names: whom it happens to see says nothing of which
    // there are, and what it does not see nothing of what is gone. But it alone says which labels there are.
    namespaces.is_unread = cluster.and_then(ClusterFacts::unread).is_some();
    let mut is_listed_there = false;
    if namespaces.is_seen {
        let seen = cluster.and_then(ClusterFacts::looked);
        let looked = seen.map(|looked| &looked.namespaces);
        is_listed_there = seen.is_some_and(|looked| looked.lists_namespaces);
        let there = looked.into_iter().flatten().filter(|(_, labels)| is_listed_there && labels.is_some());
        for (name, _) in there {
            if !namespaces.known.contains_key(name) {
                namespaces.known.insert(name.clone(), Labels::default());
                namespaces.listed.insert(name.clone());
            }
        }
        for (name, labels) in &mut namespaces.known {
            *labels = match looked.and_then(|looked| looked.get(name)) {
                Some(Some(seen)) => Labels { known: seen.clone(), complete: true },
                // Nobody has given labels yet to what is not there.
                Some(None) => Labels { known: BTreeMap::new(), complete: true },
                // Whoever names it may know more than a list that was printed before.
                None => Labels::default(),
            };
        }
        let absent = looked.into_iter().flatten().filter(|(_, labels)| labels.is_none());
        namespaces.absent = absent.map(|(name, _)| name.clone()).collect();
    }
    for (name, labels) in &region.namespaces.labels {
        if let Some(known) = namespaces.known.get_mut(name) {
            known.known.extend(labels.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
    }
    // Namespaces of a source that describes no region add to the list, and close none.
    let is_listed = if telling.describe { telling.have_some } else { !region.namespaces.labels.is_empty() };
    namespaces.complete = if namespaces.is_seen { is_listed_there } else { is_listed };
    namespaces.telling = telling;
    namespaces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Claimant;
    use crate::snapshot::Reason;
    use crate::testing::case::{Document, Scene, fleet, snapshot};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    /// A plan of a proposal looks into no region, and the list in git may be older than what the region has.
    #[test]
    fn where_looks_are_closed_a_list_from_before_proves_nothing_gone() {
        let texts = [
            "{apiVersion: automation.kubensync.com/v1alpha1, kind: ManagedResource, metadata: {name: pull}, spec: \
             {namespaceSelector: {regex: ^dev-}, template: {literal: '{apiVersion: v1, kind: Secret, metadata: {name: x}}'}}}",
            "{apiVersion: automation.kubensync.com/v1alpha1, kind: ManagedResource, metadata: {name: labelled}, spec: \
             {namespaceSelector: {labelSelector: {matchLabels: {team: a}}}, template: {literal: 'a: b'}}}",
            "{apiVersion: pouch/v1alpha1, kind: RegionFacts, metadata: {name: eu}, spec: {clusterUID: u-1, namespacesListed: \
             true, namespaces: [{name: kube-system, labels: {}}, {name: dev-a, labels: {}}]}}",
        ];
        let document = |text: &str| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
        let scene = Scene {
            config: yaml(
                "{regions: {eu: {cluster: {kubeconfig: eu}, templates: ['*'], namespaces: {allowed: ['*']}}}}",
            ),
            documents: texts.into_iter().map(document).collect(),
            incomplete: alloc::vec::Vec::new(),
            run: yaml("{}"),
        };
        let kept_of = |looks: &Looks, name: &str, namespace: &str| {
            let fleet = fleet(&scene.config);
            let (snapshot, found) = snapshot(&fleet, &scene);
            let desk = Desk::looked(fleet, snapshot, found, looks);
            let by = Claimant::Template { namespace: namespace.into(), template: name.into() };
            let is_asked = desk.facts.asked_by(&by).is_some();
            (is_asked, desk.world().kept_by(&by, &desk.fleet.regions[&Region::from("eu")], None))
        };
        let kept = |looks: &Looks, namespace: &str| kept_of(looks, "pull", namespace);
        let closed = Looks::closed(Reason::new("no region is looked into", ""));
        assert_eq!(kept(&Looks::default(), "dev-b"), (false, None));
        assert_eq!(kept(&closed, "dev-b"), (false, Some(Code::Unread)));
        assert!(kept(&closed, "dev-a").0, "what it has is there all the same");
        // Its labels may be other ones by now.
        assert_eq!(kept_of(&Looks::default(), "labelled", "dev-a"), (false, None));
        assert_eq!(kept_of(&closed, "labelled", "dev-a"), (false, Some(Code::Unread)));
    }
}
