//! Placements of a real API server: asked for only where the configuration names one, and what is not read of them
//! neither opens nor closes anything.

use serde_json::{Value, json};

use crate::requests::{are_harmless, lines};
use crate::rig::apiserver::ApiServer;
use crate::rig::proxy::Proxy;
use crate::rights::{rules, says};
use crate::support::fleet::Fleet;
use crate::support::shared;

const OBJECTS: &str = "\
{apiVersion: v1, kind: Namespace, metadata: {name: kcm-system}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: team-a}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: shared}}
---
{apiVersion: v1, kind: Namespace, metadata: {name: fleet}}
---
{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: shared}, stringData: {value: not-real}}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: s, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: v1, kind: Secret, name: s, namespace: shared}}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: s-us, namespace: team-a}
spec: {region: us, identityRef: {apiVersion: v1, kind: Secret, name: s, namespace: shared}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: eu-1, namespace: fleet}
spec: {clusterManager: {name: ocm}}
---
apiVersion: multicluster.x-k8s.io/v1alpha1
kind: ClusterProfile
metadata: {name: us-1, namespace: fleet}
spec: {clusterManager: {name: ocm}}
";

const GRANT: &str = "\
grants:
- from: {namespace: team-a}
  to: {namespace: shared, kind: Secret, name: s}
  regions: [us, {placement: {namespace: fleet, decisionKey: app}}]
";

fn slice(name: &str, profiles: &[&str]) -> String {
    let decisions: Vec<Value> =
        profiles.iter().map(|name| json!({"clusterProfileRef": {"name": name, "namespace": "fleet"}})).collect();
    json!({
        "apiVersion": "multicluster.x-k8s.io/v1alpha1",
        "kind": "PlacementDecision",
        "metadata": {"name": name, "namespace": "fleet", "labels": {"multicluster.x-k8s.io/decision-key": "app"}},
        "decisions": decisions,
    })
    .to_string()
}

#[test]
fn a_placement_is_asked_for_where_it_is_named_and_decides_nothing_where_it_was_not_read() {
    let Some(crds) = shared("data/crds/neighbours") else { return };
    let Some(server) = ApiServer::start() else { return };
    if !server.install_crds() {
        return;
    }
    let crd = |name: &str| crds.join(format!("multicluster.x-k8s.io_{name}.yaml"));
    server.install_files(&[crd("clusterprofiles")]);
    server.apply(OBJECTS);
    let fleet = Fleet::new();
    for (region, name) in [("eu", "eu-1"), ("us", "us-1")] {
        let tie = format!("  {region}: {{inventory: {{clusterProfile: {{namespace: fleet, name: {name}}}}}, ");
        fleet.configure(&format!("  {region}: {{"), &tie);
    }
    fleet.configure("directory: {path: manifests}", "cluster: {kubeconfig: kubeconfig}");
    let plain = fleet.read("pouch.yaml");
    fleet.write("pouch.yaml", format!("{plain}{GRANT}"));
    server.kubeconfig(&fleet.path("kubeconfig"), "pouch");

    // The kind is not served, which proves nothing: eu waits, and us goes on.
    server.apply(&rules(&fleet, "placementdecisions"));
    says(&fleet, 3, "serves no PlacementDecision").outcome("us", "published");
    server.install_files(&[crd("placementdecisions")]);
    says(&fleet, 3, "does not allow \"list\" on placementdecisions.multicluster.x-k8s.io in namespace fleet");
    assert!(!fleet.has("bundles/regions/eu/core/secrets/shared/s.sops.yaml"));

    // With the right to the list, no slice is no region.
    server.apply(&rules(&fleet, ""));
    says(&fleet, 3, "[unmatched-entry]").says("error[not-admitted]");
    server.apply(&slice("a-0", &["us-1"]));
    server.apply(&slice("a-1", &["eu-1"]));
    says(&fleet, 0, "2 Credentials resolved, 0 refused, 0 broken").outcome("eu", "published");
    let before = fleet.tree("bundles");

    // A right that is taken away takes nothing else away.
    server.kubectl_prints(["delete", "role", "-n", "fleet", "--all"], "");
    server.apply(&rules(&fleet, "placementdecisions"));
    says(&fleet, 3, "does not allow \"list\" on placementdecisions");
    assert!(
        before.iter().all(|(path, bytes)| {
            !path.contains("secrets/shared/s") || fleet.tree("bundles").get(path) == Some(bytes)
        })
    );
    server.apply(&rules(&fleet, ""));
    says(&fleet, 0, "2 Credentials resolved, 0 refused, 0 broken");
    assert_eq!(fleet.tree("bundles"), before);

    // What no slice lists any more is withdrawn, under the brake.
    server.apply(&slice("a-1", &[]));
    says(&fleet, 4, "1 of 1 Credentials of namespace team-a would lose 1 object in region eu")
        .outcome("us", "unchanged");

    // What a ClusterProfile says in its status is read, too.
    let status = json!({"status": {
        "conditions": [{"type": "Joined", "status": "True", "reason": "x", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "version": {"kubernetes": "v1.33.2"},
        "accessProviders": [{"name": "p", "cluster": {"server": "https://eu-1.example.com:6443"}}],
    }});
    let patch = ["patch", "clusterprofile", "-n", "fleet", "eu-1", "--subresource=status", "--type=merge", "-p"];
    server.kubectl_prints(patch.into_iter().chain([&*status.to_string()]), "");
    let said = fleet.run(&["explain", "region", "eu", "--context=admin"]).ends(0).stdout;
    for fact in ["server https://eu-1.example.com:6443", "Kubernetes v1.33.2"] {
        assert!(said.contains(&format!("{fact} (by ClusterProfile fleet/eu-1")), "{fact}\n{said}");
    }

    // Nobody asks for what the configuration does not name.
    let proxy = Proxy::to(server.endpoint("admin"));
    proxy.kubeconfig(&fleet.path("kubeconfig"), "admin");
    for (config, is_asked) in [(format!("{plain}{GRANT}"), true), (plain, false)] {
        fleet.write("pouch.yaml", config);
        proxy.calm();
        fleet.run(&["check", "--context=admin"]);
        let requests = proxy.requests();
        are_harmless(&requests);
        assert_eq!(lines(&requests).contains("placementdecisions"), is_asked, "{}", lines(&requests));
        assert!(lines(&requests).contains("/namespaces/fleet/clusterprofiles"), "{}", lines(&requests));
    }
}
