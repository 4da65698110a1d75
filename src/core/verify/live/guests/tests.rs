//! Tests of what is said of guests by the words of Cluster API.

use core::cell::RefCell;

use super::super::compare::tests::{Shelf, ring};
use super::*;
use crate::layout::manifest::Guest;
use crate::name::Claimant;
use crate::testing::{node, yaml};

const HASH: &str = "90dca7339f5e6ff4a1a0c5d2e6f0c3b6f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5";

const PAYLOAD: &str = "{apiVersion: v1, kind: Secret, type: addons.cluster.x-k8s.io/resource-set, \
    metadata: {name: pouch-pull-1, namespace: team-a, labels: {MINE}}, stringData: {objects.yaml: a-value-of-more-than-sixteen-bytes}}";

const SET: &str = "{apiVersion: addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet, \
    metadata: {name: pouch-pull, namespace: team-a, labels: {MINE}}, spec: {clusterSelector: {matchLabels: {pull: 'yes'}}, \
    resources: [{kind: Secret, name: pouch-pull-1}], strategy: Reconcile}}";

/// The Cluster that the set chooses, ready.
const READY: &str = "{metadata: {labels: {pull: 'yes'}}, status: {initialization: {infrastructureProvisioned: true}}}";

fn shelf(documents: &[&str], hash: Option<&str>) -> Shelf {
    let mut shelf = Shelf::new(documents);
    for object in &mut shelf.manifest.objects {
        for needed_by in &mut object.needed_by {
            needed_by.by = Claimant::Guests { namespace: "team-a".into(), group: "pull".into(), entry: None };
        }
        object.guest = object.key.kind.is_secret().then(|| Guest {
            key: ObjectKey::secret("kube-system".into(), "pull".into()),
            secret_type: Some("Opaque".into()),
            sha256: hash.map(String::from),
        });
    }
    shelf.sign(&ring(1));
    shelf
}

/// What is said, and what the region's line says of guests, where a Cluster is so, and Cluster API notes that of sets.
fn looked(documents: &[&str], hash: Option<&str>, cluster: &str, bindings: &str) -> (String, String) {
    let keyed = |group: &str, kind: &str, text: &str| {
        let key = ObjectKey::new(GroupKind::new(group, kind), Some("team-a".into()), "one".into());
        (key, node(&yaml(text)))
    };
    let change = |answers: &mut Answers| {
        answers.clusters = Vec::from([keyed("cluster.x-k8s.io", "Cluster", cluster)]);
        let binding = format!("spec: {{bindings: [{bindings}]}}");
        answers.bindings = Vec::from([keyed("addons.cluster.x-k8s.io", "ClusterResourceSetBinding", &binding)]);
    };
    let line = RefCell::new(String::new());
    let said = shelf(documents, hash).answered(Some(&ring(1)), documents, change, |(bundle, answers)| {
        let delivery = compare(bundle, &answers);
        line.replace(delivery.told().unwrap_or_default());
        delivery.findings
    });
    (said, line.into_inner())
}

/// What Cluster API notes of the payload in the set.
fn of_set(set: &str, noted: &str) -> String {
    format!("{{clusterResourceSetName: {set}, resources: [{noted}]}}")
}

fn applied(hash: &str, applied: bool) -> String {
    format!("{{kind: Secret, name: pouch-pull-1, hash: 'sha256:{hash}', applied: {applied}}}")
}

/// What is said where a Cluster is so, and Cluster API notes that of the payload.
fn said(cluster: &str, noted: &str) -> String {
    let bindings = if noted.is_empty() { String::new() } else { of_set("pouch-pull", noted) };
    looked(&[PAYLOAD, SET], Some(HASH), cluster, &bindings).0
}

#[test]
fn a_payload_has_arrived_only_where_cluster_api_notes_its_hash() {
    const OLDER: &str = "{metadata: {labels: {pull: 'yes'}}, status: {infrastructureReady: true}}";
    for (cluster, noted, expect) in [
        (READY, applied(HASH, true), ""),
        (OLDER, applied(HASH, true), ""),
        (READY, String::new(), "no ClusterResourceSetBinding notes the set for it"),
        (READY, String::from("{kind: Secret, name: other}"), "the ClusterResourceSetBinding does not note Secret"),
        (READY, applied(HASH, false), "notes that Secret team-a/pouch-pull-1 was not applied"),
        (READY, applied(&HASH.replace('9', "8"), true), "notes an older Secret team-a/pouch-pull-1"),
        ("{metadata: {labels: {pull: 'yes'}}}", String::new(), "infrastructure is not provisioned"),
        ("{metadata: {labels: {pull: 'no'}}}", String::new(), ""),
        ("{metadata: {labels: {pull: 'yes'}, deletionTimestamp: '2026-01-01T00:00:00Z'}}", String::new(), ""),
    ] {
        let said = said(cluster, &noted);
        match expect {
            "" => assert_eq!(said, "", "{cluster} {noted}"),
            _ => assert!(
                said.starts_with("not-in-guest: Cluster team-a/one has not got Secret kube-system/pull")
                    && said.contains(expect),
                "{cluster} {noted}: {said}"
            ),
        }
    }
}

#[test]
fn a_set_that_names_what_the_bundle_lacks_proves_nothing() {
    let (said, line) = looked(&[SET], Some(HASH), READY, &of_set("pouch-pull", &applied(HASH, true)));
    let expect = "not-in-guest: ClusterResourceSet team-a/pouch-pull names Secret \
                  team-a/pouch-pull-1, which the bundle does not have: Cluster API skips";
    assert!(said.starts_with(expect), "{said}");
    assert_eq!(line, "delivered to 0 of 1 Cluster");
}

#[test]
fn without_a_hash_in_the_manifest_nobody_knows_what_arrived() {
    let noted = of_set("pouch-pull", &applied(HASH, true));
    let (said, line) = looked(&[PAYLOAD, SET], None, READY, &noted);
    assert!(said.starts_with("not-proved: whether Secret team-a/pouch-pull-1 arrived"), "{said}");
    assert_eq!(line, "delivered to 0 of 1 Cluster");
    // What was not applied is known all the same.
    let (said, _) = looked(&[PAYLOAD, SET], None, READY, &of_set("pouch-pull", &applied(HASH, false)));
    assert!(said.contains("notes that Secret team-a/pouch-pull-1 was not applied"), "{said}");
    assert_eq!(looked(&[PAYLOAD, SET], Some(HASH), READY, &noted), (String::new(), "delivered to 1 Cluster".into()));
}

/// Cluster API never writes it again, so the binding has the hash of what was there first.
#[test]
fn what_is_written_once_has_arrived_with_any_hash() {
    let once = SET.replace("Reconcile", "ApplyOnce");
    let other = HASH.replace('9', "8");
    let (said, line) = looked(&[PAYLOAD, &once], Some(HASH), READY, &of_set("pouch-pull", &applied(&other, true)));
    assert_eq!((said.as_str(), line.as_str()), ("", "delivered to 1 Cluster"));
    let (said, _) = looked(&[PAYLOAD, &once], Some(HASH), READY, &of_set("pouch-pull", &applied(&other, false)));
    assert!(said.contains("was not applied"), "{said}");
}

#[test]
fn the_line_says_to_how_many_clusters_and_of_sets_without_one() {
    const PENDING: &str = "{metadata: {labels: {pull: 'yes'}}}";
    const OTHER: &str = "{metadata: {labels: {pull: 'no'}}}";
    let line = |cluster: &str| looked(&[PAYLOAD, SET], Some(HASH), cluster, "").1;
    assert_eq!(line(PENDING), "delivered to 0 of 1 Cluster");
    assert_eq!(line(OTHER), "delivered to no Cluster, and no Cluster is there for team-a/pouch-pull");
    assert_eq!(looked(&[PAYLOAD], Some(HASH), READY, "").1, "");
}

/// Each is as the bundle says, and the guest has whichever was written last.
#[test]
fn two_sets_that_write_one_object_into_one_guest_are_told() {
    let (payload, set) = (PAYLOAD.replace("pull-1", "pull-2"), SET.replace("pouch-pull", "pouch-pull-old"));
    let set = set.replace("pouch-pull-old-1", "pouch-pull-2");
    let noted = [of_set("pouch-pull", &applied(HASH, true)), of_set("pouch-pull-old", &applied(HASH, true))].join(", ");
    let noted = noted.replace(
        "pouch-pull-old, resources: [{kind: Secret, name: pouch-pull-1",
        "pouch-pull-old, resources: [{kind: Secret, name: pouch-pull-2",
    );
    let (said, _) = looked(&[PAYLOAD, SET, &payload, &set], Some(HASH), READY, &noted);
    let expect = "two-writers: ClusterResourceSet team-a/pouch-pull and \
                  ClusterResourceSet team-a/pouch-pull-old both write Secret kube-system/pull";
    assert!(said.starts_with(expect) && said.lines().count() == 1, "{said}");
}

/// One reason is not told of what has another.
#[test]
fn each_payload_is_told_with_its_own_reason() {
    let payload = PAYLOAD.replace("pull-1", "pull-2");
    let set = SET.replace("name: pouch-pull-1}", "name: pouch-pull-1}, {kind: Secret, name: pouch-pull-2}");
    let noted =
        format!("{}, {}", applied(HASH, false), applied(&HASH.replace('9', "8"), true).replace("pull-1", "pull-2"));
    let (said, _) = looked(&[PAYLOAD, &payload, &set], Some(HASH), READY, &of_set("pouch-pull", &noted));
    let lines: Vec<&str> = said.lines().collect();
    assert_eq!(lines.len(), 2, "{said}");
    assert!(lines.iter().any(|line| line.contains("notes that Secret team-a/pouch-pull-1 was not applied")), "{said}");
    assert!(lines.iter().any(|line| line.contains("notes an older Secret team-a/pouch-pull-2")), "{said}");
}

/// A paused Cluster is written to all the same (seen with v1.14.2); a set that is paused writes nothing.
#[test]
fn a_set_that_is_paused_says_why_nothing_arrives() {
    let paused = SET.replace("labels: {MINE}", "labels: {MINE}, annotations: {cluster.x-k8s.io/paused: ''}");
    let (said, _) = looked(&[PAYLOAD, &paused], Some(HASH), READY, "");
    assert!(said.contains("the set is paused"), "{said}");
}

/// It has a finding of its own, and delivers nothing all the same.
#[test]
fn what_a_set_that_is_not_there_delivers_is_not_counted() {
    let line = RefCell::new(String::new());
    let ready = |answers: &mut Answers| {
        let key = ObjectKey::new(GroupKind::new("cluster.x-k8s.io", "Cluster"), Some("team-a".into()), "one".into());
        answers.clusters = Vec::from([(key, node(&yaml(READY)))]);
    };
    let said = shelf(&[PAYLOAD, SET], Some(HASH)).answered(Some(&ring(1)), &[PAYLOAD], ready, |(bundle, answers)| {
        let delivery = compare(bundle, &answers);
        line.replace(delivery.told().unwrap_or_default());
        delivery.findings
    });
    assert_eq!((said.as_str(), &*line.into_inner()), ("", "delivered to 0 of 1 Cluster"));
}
