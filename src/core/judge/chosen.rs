//! Chosen: ClusterResourceSets that choose no Cluster of their own namespace, and would choose one of another.
//!
//! Cluster API looks for Clusters in the namespace of the set alone. Where some Cluster may be unseen, nothing is said.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::{self, ResourceSet};
use crate::claim::Asked;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::listing::few;
use crate::name::{Namespace, Region};
use crate::object::Object;
use crate::selector::{Label, Selector, Truth};
use crate::world::World;

/// How many Clusters a message names.
const MOST_NAMED: usize = 3;

/// A set, by its namespace.
struct Set<'w> {
    asked: &'w Asked,
    object: &'w Object,
    says: ResourceSet,
}

/// The sets that deliver to no Cluster, because those that they would choose are in other namespaces.
pub(super) fn astray(world: &World<'_>) -> Vec<Finding> {
    let kind = cluster_kind();
    if !world.fleet.names_resource_sets() || world.snapshot.may_lack(&kind) {
        return Vec::new();
    }
    let mut clusters: BTreeMap<&Namespace, Vec<&Object>> = BTreeMap::new();
    for cluster in world.snapshot.all(&kind) {
        cluster.key.namespace.iter().for_each(|namespace| clusters.entry(namespace).or_default().push(cluster));
    }
    let mut sets: BTreeMap<&Namespace, Vec<Set<'_>>> = BTreeMap::new();
    for asked in world.facts.asked().iter().filter(|asked| asked.by.is_resource_set() && asked.claim.is_some()) {
        let object = kinds::claimant(&asked.by).and_then(|key| world.snapshot.get(&key));
        let read = object.and_then(|object| Some((object, resource_set::read(&object.body).ok()?)));
        if let Some((object, says)) = read.filter(|(_, says)| !says.selector.is_empty()) {
            sets.entry(asked.by.namespace()).or_default().push(Set { asked, object, says });
        }
    }
    let is_chosen = |namespace: &Namespace, selector: &Selector| {
        clusters.get(namespace).into_iter().flatten().any(|cluster| chooses(selector, cluster) != Truth::No)
    };
    // Where each namespace has a set of its own, one without Clusters only has none yet.
    let has_own = |cluster: &Object, selector: &Selector| {
        let of_namespace = cluster.key.namespace.as_ref().and_then(|namespace| sets.get(namespace));
        of_namespace.into_iter().flatten().any(|set| set.says.selector == *selector)
    };
    let mut findings = Vec::new();
    for set in sets.values().flatten() {
        let (namespace, selector) = (set.asked.by.namespace(), &set.says.selector);
        let Some(region) = set.asked.region.as_ref().filter(|_| !is_chosen(namespace, selector)) else { continue };
        let is_meant = |cluster: &&&Object| {
            let is_of = world.fleet.may_take(&cluster.origin.source, region);
            is_of && chooses(selector, cluster) == Truth::Yes && !has_own(cluster, selector)
        };
        let meant: Vec<String> = clusters.values().flatten().filter(is_meant).map(|it| it.key.path()).collect();
        findings.extend((!meant.is_empty()).then(|| tell(set, region, &meant)));
    }
    findings
}

fn chooses(selector: &Selector, cluster: &Object) -> Truth {
    selector.matches(|key| cluster.label(key).map_or(Label::Absent, Label::Is))
}

fn tell(Set { asked, object, .. }: &Set<'_>, region: &Region, meant: &[String]) -> Finding {
    let message = format!(
        "clusterSelector chooses no Cluster of namespace {}, and a set delivers nothing to another: {} has the labels",
        asked.by.namespace(),
        few(meant, meant.len(), MOST_NAMED)
    );
    let help = "Put the set and its payloads into the namespace of the Cluster, or correct the selector.";
    let finding = Finding::new(Code::NothingDelivered, message).about(&object.key).at(&object.origin);
    finding.claimed_by(&asked.by).in_region(region).help(help)
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::testing::case::{Document, Scene};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};

    /// What is said of one set of namespace a, with these Clusters and others.
    fn said(others: &[&str]) -> Vec<String> {
        let set = "{apiVersion: addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet, metadata: {name: s, namespace: a}, \
            spec: {clusterSelector: {matchLabels: {x: z}}, strategy: Reconcile, resources: [{kind: Secret, name: p}]}}";
        let document = |text: &str| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
        let documents = [set].into_iter().chain(others.iter().copied()).map(document).collect();
        let config = yaml("{regions: {eu: {resourceSets: ['*/*']}}}");
        let desk = Desk::new(&Scene { config, documents, incomplete: Vec::new(), run: yaml("{}") });
        astray(&desk.world()).into_iter().map(|finding| finding.message).collect()
    }

    #[test]
    fn a_set_whose_cluster_is_in_another_namespace_is_told() {
        const ELSEWHERE: &str =
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: b, labels: {x: z}}}";
        const HERE: &str =
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: a, labels: {x: z}}}";
        const OTHER: &str =
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: d, namespace: b, labels: {x: w}}}";
        const THEIRS: &str = "{apiVersion: addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet, metadata: {name: s, \
            namespace: b}, spec: {clusterSelector: {matchLabels: {x: z}}, strategy: Reconcile, resources: [{kind: Secret, \
            name: p}]}}";
        let told = "clusterSelector chooses no Cluster of namespace a, and a set delivers nothing to another: b/c has the labels";
        assert_eq!(said(&[ELSEWHERE]), [told]);
        assert_eq!(said(&[ELSEWHERE, OTHER]), [told]);
        assert!(said(&[]).is_empty() && said(&[OTHER]).is_empty());
        assert!(said(&[ELSEWHERE, HERE]).is_empty(), "it chooses one of its own");
        assert!(said(&[ELSEWHERE, THEIRS]).is_empty(), "each namespace has its own set");
    }

    #[test]
    fn where_a_cluster_may_be_unseen_nothing_is_told() {
        let elsewhere =
            "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: b, labels: {x: z}}}";
        let lost = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {nmae: d, namespace: a}}";
        assert_eq!(said(&[elsewhere]).len(), 1);
        assert!(said(&[elsewhere, lost]).is_empty());
    }
}
