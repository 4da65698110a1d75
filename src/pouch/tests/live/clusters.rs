//! Clusters without Credential on a real API server: of k0rdent's management cluster, and of a region that has no k0rdent.

use serde_json::json;

use crate::rig::apiserver::ApiServer;
use crate::rights::{rules, says};
use crate::support::fleet::Fleet;

const INFRA: &str = "infrastructure.cluster.x-k8s.io";

const OBJECTS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: prod, namespace: team-a}
spec:
  paused: true
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: GCPCluster, name: prod}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: GCPCluster
metadata: {name: prod, namespace: team-a}
spec: {project: example, credentialsRef: {namespace: team-a, name: gcp}}
";

const SECRET: &str =
    "{apiVersion: v1, kind: Secret, metadata: {name: gcp, namespace: team-a}, stringData: {credentials: not-real}}";

const SEALED: &str = "bundles/regions/eu/core/secrets/team-a/gcp.sops.yaml";

fn crd(group: &str, version: &str, kind: &str) -> String {
    let lower = kind.to_lowercase();
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version = json!({"name": version, "served": true, "storage": true, "subresources": {"status": {}},
                         "schema": {"openAPIV3Schema": schema}});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{lower}s.{group}"),
                     "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"}},
        "spec": {"group": group, "scope": "Namespaced", "versions": [version],
                 "names": {"kind": kind, "plural": format!("{lower}s"), "singular": lower, "listKind": format!("{kind}List")}},
    })
    .to_string()
}

fn install(server: &ApiServer, fleet: &Fleet) {
    for (group, version, kind) in [("cluster.x-k8s.io", "v1beta2", "Cluster"), (INFRA, "v1beta1", "GCPCluster")] {
        let file = format!("crds/{kind}.yaml");
        fleet.write(&file, crd(group, version, kind));
        server.install_files(&[fleet.path(&file)]);
    }
}

#[test]
fn a_cluster_is_read_with_the_rights_that_are_printed_and_stays_where_they_are_taken_away() {
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    let fleet = Fleet::new();
    install(&server, &fleet);
    server.apply(OBJECTS);
    server.apply(SECRET);
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    server.kubeconfig(&fleet.path("kubeconfig"), "pouch");
    assert!(!fleet.run(&["rbac", "--context=admin", "--user=pouch"]).stdout.contains("cluster.x-k8s.io\"]"));
    fleet.configure("  eu: {", "  eu: {clusters: [team-a/*], ");

    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "1 claimant resolved, 0 refused, 0 broken").outcome("eu", "published");
    assert!(fleet.has(SEALED));
    let before = fleet.tree("bundles");
    // What a controller writes into the status changes nothing.
    fleet.render(&["--context=pouch"]).ends(0).outcome("eu", "unchanged");

    server.apply(&rules(&fleet, "gcpclusters"));
    says(&fleet, 3, "does not allow \"list\" on gcpclusters").says("Cluster team-a/prod");
    assert_eq!(fleet.tree("bundles").get(SEALED), before.get(SEALED));
    server.apply(&rules(&fleet, "clusters"));
    says(&fleet, 5, "does not allow \"list\" on clusters");
    assert_eq!(fleet.tree("bundles").get(SEALED), before.get(SEALED));
    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "1 claimant resolved, 0 refused, 0 broken");
    assert_eq!(fleet.tree("bundles"), before);
}

/// A Cluster of a ClusterClass that nobody has made yet: of a live cluster, too, its class and its templates are read, with the
/// patches that may write what they name.
#[test]
fn the_class_of_a_cluster_is_read_from_a_live_cluster() {
    const CLASS: &str = "\
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: quick, namespace: team-a}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: GCPClusterTemplate, name: quick}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: GCPClusterTemplate
metadata: {name: quick, namespace: team-a}
spec: {template: {spec: {project: example, credentialsRef: {namespace: team-a, name: gcp}}}}
";
    const PATCHES: &str = "  patches:
  - name: writes
    definitions:
    - selector: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: GCPClusterTemplate, matchResources: {infrastructureCluster: true}}
      jsonPatches: [{op: add, path: /spec/template/spec/credentialsRef, valueFrom: {variable: v}}]
---
";
    let Some(server) = ApiServer::start() else { return };
    let fleet = Fleet::new();
    install(&server, &fleet);
    for (group, version, kind) in
        [("cluster.x-k8s.io", "v1beta2", "ClusterClass"), (INFRA, "v1beta1", "GCPClusterTemplate")]
    {
        let file = format!("crds/{kind}.yaml");
        fleet.write(&file, crd(group, version, kind).replace("clusterclasss", "clusterclasses"));
        server.install_files(&[fleet.path(&file)]);
    }
    server.apply("{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}");
    server.apply(
        "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: prod, namespace: team-a}, spec: {topology: \
         {classRef: {name: quick}, version: v1.33.0}}}",
    );
    server.apply(CLASS);
    server.apply(SECRET);
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let sources = "directory: {path: manifests}, provides: {namespaces: ['*'], clusterScoped: true}}, \
         {name: eu, cluster: {kubeconfig: kubeconfig, context: admin}, region: eu, provides: {namespaces: [team-a]}";
    fleet.configure("directory: {path: manifests}", sources);
    fleet.configure("  eu: {", "  eu: {clusters: ['*/*'], ");
    fleet.write("manifests/.gitkeep", "");
    let explained = || fleet.run(&["explain", "cluster/team-a/prod"]).ends(0).stdout;
    let told = explained();
    assert!(told.contains("GCPCluster spec.credentialsRef"), "{told}");
    server.apply(&CLASS.replacen("---\n", PATCHES, 1));
    let told = explained();
    assert!(told.contains("patch writes of ClusterClass team-a/quick may write"), "{told}");
}

/// What stands on the region already is not sent there, and what pouch brought is not read back.
#[test]
fn the_cluster_of_a_region_describes_its_clusters_without_k0rdent() {
    let Some(server) = ApiServer::start() else { return };
    let fleet = Fleet::new();
    install(&server, &fleet);
    server.apply(OBJECTS);
    server.apply(SECRET);
    server.kubeconfig(&fleet.path("kubeconfig"), "admin");
    let sources = "directory: {path: manifests}, provides: {namespaces: ['*'], clusterScoped: true}}, \
         {name: eu, cluster: {kubeconfig: kubeconfig, context: admin}, region: eu, provides: {namespaces: ['*']}";
    fleet.configure("directory: {path: manifests}", sources);
    fleet.configure("  eu: {", "  eu: {clusters: ['*/*'], ");
    fleet.write("manifests/.gitkeep", "");
    fleet.render(&[]).ends(0);
    assert!(!fleet.has(SEALED));
    let told = fleet.run(&["explain", "cluster/team-a/prod"]).ends(0).stdout;
    assert!(told.contains("GCPCluster spec.credentialsRef"), "{told}");

    // The same Secret in git is another source's: a grant opens it.
    server.kubectl_prints(["delete", "secret", "-n", "team-a", "gcp"], "");
    fleet.write("manifests/gcp.yaml", SECRET);
    fleet.render(&[]).ends(3).says("it stands in another source than its claimant");
    let config = fleet.read("pouch.yaml");
    // One to whatever the Cluster names does not: who rules the region chooses that.
    let granted = |to: &str| {
        fleet.write("pouch.yaml", format!("{config}grants: [{{from: {{cluster: team-a/prod}}, {to}regions: [eu]}}]\n"));
    };
    granted("");
    fleet.render(&[]).ends(3).says("it stands in another source than its claimant");
    granted("to: {namespace: team-a, kind: Secret, name: gcp}, ");
    fleet.render(&[]).ends(0).outcome("eu", "published");
    assert!(fleet.has(SEALED));
    // The region has what pouch brought: it is no source.
    let labelled = SECRET.replace("name: gcp,", "name: gcp, labels: {app.kubernetes.io/managed-by: pouch},");
    server.apply(&labelled.replace("not-real", "brought"));
    fleet.render(&[]).ends(0).outcome("eu", "unchanged");
    fleet.remove("manifests/gcp.yaml");
    fleet.render(&[]).ends(3);
    assert!(fleet.has(SEALED));
}
