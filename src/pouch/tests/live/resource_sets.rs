//! ClusterResourceSets on a real API server: listed with the rights that are printed, with payloads asked by name.

use serde_json::json;

use crate::rig::apiserver::ApiServer;
use crate::rights::{rules, says};
use crate::support::fleet::Fleet;

const SET: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
apiVersion: addons.cluster.x-k8s.io/v1beta2
kind: ClusterResourceSet
metadata: {name: addons, namespace: team-a}
spec:
  clusterSelector: {matchLabels: {addons: \"yes\"}}
  resources: [{kind: Secret, name: pull}, {kind: ConfigMap, name: net}]
  strategy: Reconcile
";

const PAYLOADS: &str = "\
apiVersion: v1
kind: Secret
type: addons.cluster.x-k8s.io/resource-set
metadata: {name: pull, namespace: team-a}
stringData: {pull.yaml: '{apiVersion: v1, kind: Secret, metadata: {name: pull, namespace: kube-system}, stringData: {a: not-real}}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: net, namespace: team-a}
data: {net.yaml: '{apiVersion: v1, kind: ConfigMap, metadata: {name: net, namespace: kube-system}, data: {mtu: \"1500\"}}'}
";

const SEALED: &str = "bundles/regions/eu/core/secrets/team-a/pull.sops.yaml";

/// As Cluster API's own has it: what is not in the schema is dropped.
fn install(server: &ApiServer, fleet: &Fleet) {
    let labels = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let payload = json!({"type": "object", "properties": {"kind": {"type": "string"}, "name": {"type": "string"}}});
    let spec = json!({"type": "object", "properties": {
        "clusterSelector": {"type": "object", "properties": {"matchLabels": labels}},
        "resources": {"type": "array", "items": payload},
        "strategy": {"type": "string"},
    }});
    let status = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": status}});
    let version = |name: &str, storage: bool| {
        json!({"name": name, "served": true, "storage": storage, "subresources": {"status": {}},
               "schema": {"openAPIV3Schema": schema}})
    };
    let names = json!({"kind": "ClusterResourceSet", "plural": "clusterresourcesets", "singular": "clusterresourceset",
                       "listKind": "ClusterResourceSetList"});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusterresourcesets.addons.cluster.x-k8s.io",
                     "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": "addons.cluster.x-k8s.io", "scope": "Namespaced", "names": names,
                 "versions": [version("v1beta1", false), version("v1beta2", true)]},
    });
    fleet.write("crds/sets.yaml", definition.to_string());
    server.install_files(&[fleet.path("crds/sets.yaml")]);
}

#[test]
fn a_set_is_read_with_the_rights_that_are_printed_and_stays_where_they_are_taken_away() {
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    let fleet = Fleet::new();
    install(&server, &fleet);
    server.apply(SET);
    server.apply(PAYLOADS);
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    server.kubeconfig(&fleet.path("kubeconfig"), "pouch");
    assert!(!fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout.contains("clusterresourcesets"));
    fleet.configure("  eu: {", "  eu: {resourceSets: [team-a/*], ");

    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "1 claimant resolved, 0 refused, 0 broken").outcome("eu", "published");
    assert!(fleet.has(SEALED) && fleet.has("bundles/regions/eu/core/configmaps/team-a/net.yaml"));
    let before = fleet.tree("bundles");
    fleet.render(&["--context=pouch"]).ends(0).outcome("eu", "unchanged");

    server.apply(&rules(&fleet, "clusterresourcesets"));
    says(&fleet, 5, "does not allow \"list\" on clusterresourcesets");
    assert_eq!(fleet.tree("bundles").get(SEALED), before.get(SEALED));
    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "1 claimant resolved, 0 refused, 0 broken");
    assert!(fleet.tree("bundles") == before);
}

/// What stands in the region's own cluster is there already; sets of it have their payloads from another source by grants.
#[test]
fn payloads_of_the_region_s_own_cluster_are_not_published_to_it() {
    let Some(server) = ApiServer::start() else { return };
    let fleet = Fleet::new();
    install(&server, &fleet);
    server.apply(SET);
    server.apply(PAYLOADS);
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let sources = "directory: {path: manifests}, provides: {namespaces: ['*'], clusterScoped: true}}, \
         {name: eu, cluster: {kubeconfig: kubeconfig, context: admin}, region: eu, provides: {namespaces: [team-a]}";
    fleet.configure("directory: {path: manifests}", sources);
    fleet.configure("  eu: {", "  eu: {resourceSets: ['*/*'], ");
    fleet.write("manifests/.gitkeep", "");
    let told = fleet.run(&["explain", "clusterresourceset/team-a/addons"]).ends(0).stdout;
    assert_eq!(told.matches("nowhere: it stands there already").count(), 2, "{told}");
    fleet.run(&["render"]).ends(0);
    assert!(!fleet.has(SEALED));
}
