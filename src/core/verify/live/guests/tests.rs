//! Tests of what is said of guests by the words of Cluster API.

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

fn shelf() -> Shelf {
    let mut shelf = Shelf::new(&[PAYLOAD, SET]);
    for object in &mut shelf.manifest.objects {
        for needed_by in &mut object.needed_by {
            needed_by.by = Claimant::guest("team-a".into(), "pull".into());
        }
        object.guest = object.key.kind.is_secret().then(|| Guest {
            key: ObjectKey::secret("kube-system".into(), "pull".into()),
            secret_type: Some("Opaque".into()),
            sha256: Some(HASH.into()),
        });
    }
    shelf.sign(&ring(1));
    shelf
}

/// What is said where a Cluster is so, and Cluster API notes that of the payload.
fn said(cluster: &str, noted: &str) -> String {
    let keyed = |group: &str, kind: &str, text: &str| {
        let key = ObjectKey::new(GroupKind::new(group, kind), Some("team-a".into()), "one".into());
        (key, node(&yaml(text)))
    };
    let change = |answers: &mut Answers| {
        answers.clusters = Vec::from([keyed("cluster.x-k8s.io", "Cluster", cluster)]);
        let binding = format!("spec: {{bindings: [{{clusterResourceSetName: pouch-pull, resources: [{noted}]}}]}}");
        let empty = "spec: {bindings: []}";
        let binding = if noted.is_empty() { empty } else { &binding };
        answers.bindings = Vec::from([keyed("addons.cluster.x-k8s.io", "ClusterResourceSetBinding", binding)]);
    };
    shelf().answered(Some(&ring(1)), &[PAYLOAD, SET], change, |(bundle, answers)| compare(bundle, &answers))
}

#[test]
fn a_payload_has_arrived_only_where_cluster_api_notes_its_hash() {
    const READY: &str =
        "{metadata: {labels: {pull: 'yes'}}, status: {initialization: {infrastructureProvisioned: true}}}";
    const OLDER: &str = "{metadata: {labels: {pull: 'yes'}}, status: {infrastructureReady: true}}";
    let applied = |hash: &str, applied: bool| {
        format!("{{kind: Secret, name: pouch-pull-1, hash: 'sha256:{hash}', applied: {applied}}}")
    };
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
        (
            "{metadata: {labels: {pull: 'yes'}}, spec: {paused: true}, status: {infrastructureReady: true}}",
            String::new(),
            "the Cluster is paused",
        ),
    ] {
        let said = said(cluster, &noted);
        match expect {
            "" => assert_eq!(said, "", "{cluster} {noted}"),
            _ => assert!(
                said.starts_with(
                    "not-in-guest: Cluster.cluster.x-k8s.io team-a/one has not got Secret kube-system/pull"
                ) && said.contains(expect),
                "{cluster} {noted}: {said}"
            ),
        }
    }
}
