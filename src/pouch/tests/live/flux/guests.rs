//! A management cluster that Flux brings what groups of guest clusters ask for, and whose Cluster API brings it into a guest.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, aws, odd};
use crate::guests::{get, pulled};
use crate::objects::TENANT;
use crate::rig::apiserver::ApiServer;
use crate::rig::cluster_api::ClusterApi;

const GROUP: &str = "guests: {pull: {region: eu, namespaces: [team-a], clusterSelector: {matchLabels: {pull: 'yes'}}, \
                     objects: [{template: pull}]}}\n";

/// What KubeNSync would render into a payload by hand.
fn template() -> Value {
    let literal = "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/dockerconfigjson\n\
                   metadata: {name: pull, namespace: kube-system}\n\
                   data: {of: '{{ .Namespace.Name | base64Encode }}', .dockerconfigjson: '{{ index .Data.s \".dockerconfigjson\" | base64Encode }}'}\n";
    let data = json!([{"name": "s", "type": "Secret", "ref": {"name": "pull", "namespace": "registry"}}]);
    let spec = json!({"namespaceSelector": {"regex": "^team-"}, "template": {"data": data, "literal": literal}});
    json!({"apiVersion": "automation.kubensync.com/v1alpha1", "kind": "ManagedResource", "metadata": {"name": "pull"},
           "spec": spec})
}

fn source(value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson",
           "metadata": {"name": "pull", "namespace": "registry"},
           "stringData": {".dockerconfigjson": json!({"auths": {value: {}}}).to_string()}})
}

#[test]
fn what_a_template_makes_reaches_a_guest_is_rotated_and_taken_away() {
    let Some(mut region) = Delivered::new("flux", "") else { return };
    let Some(guest) = ApiServer::start() else { return };
    let Some(manager) = ClusterApi::start(&region.server) else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    region.server.kubectl_prints(["create", "namespace", TENANT], "");
    manager.adopt(&region.server, (TENANT, "one"), &json!({"pull": "yes"}), &guest);
    region.fleet.configure("limits: {", &format!("{GROUP}limits: {{retainReplaced: 0s, "));
    // What stays, so that the region is never emptied.
    region.put(&[aws("aws", 1), odd("odd", 1)].concat());
    region.put(&[template(), source("first")]);
    let arrives = |region: &Delivered, value: &str| {
        region.publish();
        all_ready(&flux.sync());
        manager.wait("the pull secret", || pulled(&guest), |text| text.contains(value));
        let is_whole = |ran: &crate::support::fleet::Ran| ran.code == 0 && !ran.stderr.contains("not-in-guest");
        manager.wait("verify", || region.verify_live(&[]), is_whole);
    };
    arrives(&region, "first");
    let there = get(&guest, &["secret", "-n", "kube-system", "pull"]);
    assert_eq!(there["data"]["of"], STANDARD.encode(TENANT));
    region.put(&[source("second")]);
    arrives(&region, "second");

    // A group that goes leaves nothing of itself.
    region.fleet.configure("keep: 1}", "keep: 0}");
    region.fleet.configure(GROUP, "");
    let plan = region.fleet.run(&["plan"]);
    assert!(plan.stdout.contains("(in guests: Secret kube-system/pull, which stays there)"), "{}", plan.stdout);
    // Cluster API holds a set until it lets it go.
    manager.wait("publish", || region.origin().publish(&[]), |ran| ran.code == 0);
    all_ready(&flux.sync());
    let left = || get(&region.server, &["clusterresourcesets,secrets,configmaps", "-n", TENANT]);
    let ours =
        |left: &Value| left["items"].as_array().unwrap().iter().all(|item| !item.to_string().contains("pouch-pull-"));
    manager.wait("the sets to go", left, ours);
    assert!(pulled(&guest).contains("second"));
}
