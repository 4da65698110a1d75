//! ResourceSyncRules on a real API server: what they match is found by metadata, and read by name.

use serde_json::json;

use crate::rig::apiserver::ApiServer;
use crate::rights::{rules, says};
use crate::support::fleet::Fleet;

const GROUP: &str = "clusterregistry.k8s.cisco.com";

const RULES: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-b}}
---
apiVersion: clusterregistry.k8s.cisco.com/v1alpha1
kind: ResourceSyncRule
metadata: {name: by-label}
spec:
  clusterFeatureMatch: [{featureName: secrets}]
  groupVersionKind: {version: v1, kind: Secret}
  rules: [{match: [{namespaces: [team-a], labels: [{matchLabels: {pull: 'yes'}}], annotations: [{matchAnnotations: {stage: prod}}]}]}]
---
apiVersion: clusterregistry.k8s.cisco.com/v1alpha1
kind: ResourceSyncRule
metadata: {name: by-name}
spec:
  groupVersionKind: {version: v1, kind: Secret}
  rules: [{match: [{objectKey: {namespace: team-b, name: named}}]}]
---
apiVersion: clusterregistry.k8s.cisco.com/v1alpha1
kind: ClusterFeature
metadata: {name: secrets}
spec: {featureName: secrets}
";

fn labelled(name: &str, pull: &str) -> String {
    let metadata =
        json!({"name": name, "namespace": "team-a", "labels": {"pull": pull}, "annotations": {"stage": "prod"}});
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": {"token": "not-real"}}).to_string()
}

fn crd(kind: &str) -> String {
    let lower = kind.to_lowercase();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": "v1alpha1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.{GROUP}")},
        "spec": {"group": GROUP, "scope": "Cluster", "versions": [version],
                 "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower, "listKind": format!("{kind}List")}},
    })
    .to_string()
}

fn path(namespace: &str, name: &str) -> String {
    format!("bundles/regions/eu/core/secrets/{namespace}/{name}.sops.yaml")
}

#[test]
fn what_rules_match_is_read_with_the_rights_that_are_printed_and_stays_where_they_are_taken_away() {
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    let fleet = Fleet::new();
    for kind in ["ResourceSyncRule", "ClusterFeature"] {
        let file = format!("crds/{kind}.yaml");
        fleet.write(&file, crd(kind));
        server.install_files(&[fleet.path(&file)]);
    }
    server.apply(RULES);
    for (name, pull) in [("first", "yes"), ("second", "yes"), ("other", "no")] {
        server.apply(&labelled(name, pull));
    }
    server.apply(
        "{apiVersion: v1, kind: Secret, metadata: {name: named, namespace: team-b}, stringData: {token: not-real}}",
    );
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    server.kubeconfig(&fleet.path("kubeconfig"), "pouch");
    let before = fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout;
    assert!(before.contains("never lists Secrets") && !before.contains(GROUP), "{before}");
    fleet.configure("  eu: {", "  eu: {syncRules: ['*'], ");
    let printed = fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout;
    assert!(!printed.contains("never lists Secrets") && printed.contains("resourcesyncrules"), "{printed}");
    assert!(printed.contains("named"), "{printed}");

    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "3 claimants resolved, 0 refused, 0 broken").outcome("eu", "published");
    for (namespace, name, is_there) in
        [("team-a", "first", true), ("team-a", "second", true), ("team-a", "other", false), ("team-b", "named", true)]
    {
        assert_eq!(fleet.has(&path(namespace, name)), is_there, "{name}");
    }
    fleet.render(&["--context=pouch"]).ends(0).outcome("eu", "unchanged");
    let tree = fleet.tree("bundles");

    // Without the right to list Secrets, nobody knows what a label matches: it stays.
    server.apply(&rules(&fleet, "secrets"));
    says(&fleet, 3, "does not allow \"list\" on secrets");
    assert_eq!(fleet.tree("bundles").get(&path("team-a", "first")), tree.get(&path("team-a", "first")));
    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "3 claimants resolved, 0 refused, 0 broken");
    assert_eq!(fleet.tree("bundles"), tree);

    // What no longer matches goes, as does what is gone, and a named object that is gone.
    server.apply(&labelled("second", "no"));
    fleet.render(&["--context=pouch"]).ends(0);
    assert!(fleet.has(&path("team-a", "first")) && !fleet.has(&path("team-a", "second")));
    server.kubectl_prints(["delete", "secret", "-n", "team-b", "named"], "");
    fleet.render(&["--context=pouch"]).ends(0);
    assert!(!fleet.has(&path("team-b", "named")) && fleet.has(&path("team-a", "first")));

    // Nothing is read of values where none are asked for, and what is published stays.
    let ran = fleet.render(&["--context=pouch", "--no-values"]);
    assert!(fleet.has(&path("team-a", "first")), "{}", ran.stderr);
    // A feature that is gone is a no.
    server.kubectl_prints(["delete", "clusterfeature", "secrets"], "");
    fleet.render(&["--context=pouch", "-v"]).says("deletions-held");
    assert!(fleet.has(&path("team-a", "first")));
}
