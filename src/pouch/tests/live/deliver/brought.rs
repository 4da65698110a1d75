//! What may be deleted: what was really brought, and no more of it at once than the brake lets go.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{INVENTORY, apply, changes, inventory, patch, region};
use crate::delivered::{Delivered, azure, odd, openstack};
use crate::objects::{SYSTEM, TENANT};

fn secret(name: &str) -> String {
    format!("/api/v1/namespaces/{TENANT}/secrets/{name}")
}

#[test]
fn what_is_held_stays_whatever_comes_beside_it() {
    let Some(mut region) = region() else { return };
    let some = |names: &[String]| names.iter().flat_map(|name| odd(name, 1)).collect::<Vec<_>>();
    let names = |of: &str, count: usize| (0..count).map(|n| format!("{of}{n}")).collect::<Vec<_>>();
    region.put(&[some(&names("stay", 2)), some(&names("leave", 6))].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    region.take(&some(&names("leave", 6)));
    region.publish();
    let ran = apply(&region, &[]).ends(4);
    assert!(ran.stderr.contains("would lose 6 of the 8 objects"), "{}", ran.stderr);
    let digest = ran.acceptance("--accept-deletions", "eu");
    region.put(&some(&names("more", 11)));
    region.publish();
    for of in [8, 19] {
        let ran = apply(&region, &[]).ends(4);
        assert!(ran.stderr.contains(&format!("would lose 6 of the {of} objects")), "{}", ran.stderr);
    }
    // Nor do lines that somebody writes into the inventory.
    let lines: String = (0..60).map(|n| format!("{TENANT}/pad{n} 0123456789abcdef 1\n")).collect();
    let kept = region.get(INVENTORY)["data"]["objects.Secret"].as_str().unwrap().to_owned();
    patch(&region, INVENTORY, &json!({"data": {"objects.Secret": kept + &lines}}));
    apply(&region, &[]).ends(4);
    assert_eq!(changes(&apply(&region, &["--accept-deletions", &digest]).ends(0)).len(), 6);
    region.is_exact();

    // The acceptance was for those objects: others of the same names and content ask anew.
    region.put(&some(&names("leave", 6)));
    region.publish();
    apply(&region, &[]).ends(0);
    region.take(&some(&names("leave", 6)));
    region.publish();
    apply(&region, &["--accept-deletions", &digest]).ends(4);
}

/// A Secret as another hand made it there, from the same bundle by its label, and of another type.
fn foreign(region: &Delivered, name: &str) -> String {
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "type": "example.com/foreign",
        "metadata": {"name": name, "namespace": TENANT, "labels": {"app.kubernetes.io/managed-by": "pouch"}},
        "stringData": {"a": "b"}});
    region.server.apply(&foreign.to_string());
    region.get(&secret(name))["metadata"]["uid"].as_str().unwrap().to_owned()
}

#[test]
fn what_pouch_never_brought_is_neither_replaced_nor_deleted() {
    let Some(mut region) = region() else { return };
    region.fleet.configure("keep: 1}", "keep: 0}");
    region.server.kubectl_prints(["create", "namespace", TENANT], "");
    let uid = foreign(&region, "theirs");
    region.put(&[odd("theirs", 1), odd("ours", 1)].concat());
    region.publish();
    for _ in 0..2 {
        let ran = apply(&region, &[]).ends(3);
        assert!(ran.stderr.contains("error: Secret team-a/theirs has another type on the region, and pouch did not"));
        assert_eq!(region.get(&secret("theirs"))["metadata"]["uid"], uid.as_str());
    }
    region.take(&odd("theirs", 1));
    region.publish();
    let ran = apply(&region, &[]).ends(0);
    assert!(
        ran.stderr.contains("Secret team-a/theirs left the bundle, and was not brought by pouch: it stays"),
        "{}",
        ran.stderr
    );
    assert!(changes(&ran).is_empty(), "{}", ran.stdout);
    assert_eq!(region.get(&secret("theirs"))["metadata"]["uid"], uid.as_str());
    assert_eq!(inventory(&region), ["Secret team-a/ours"]);

    // Where a run was killed before it could note what it sent, the object says who applied it.
    patch(&region, INVENTORY, &json!({"data": {"objects.Secret": format!("{TENANT}/ours - -\n")}}));
    region.put(&odd("other", 1));
    region.publish();
    apply(&region, &[]).ends(0);
    patch(&region, INVENTORY, &json!({"data": {"objects.Secret": format!("{TENANT}/other - -\n{TENANT}/ours - -\n")}}));
    region.take(&odd("ours", 1));
    region.publish();
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/ours"]);
    assert_eq!(region.differences(), ["Secret team-a/theirs is too much"]);
}

const OPENSTACK: &str = "openstackclusteridentities.infrastructure.cluster.x-k8s.io";

/// Has the API server serve a kind, or no version of it, and waits until it does.
fn serve(region: &Delivered, is_served: bool) {
    let patch = json!([{"op": "replace", "path": "/spec/versions/0/served", "value": is_served}]).to_string();
    region.server.kubectl_prints(["patch", "crd", OPENSTACK, "--type=json", "-p", &patch], "");
    let began = Instant::now();
    let target = "/apis/infrastructure.cluster.x-k8s.io/v1alpha1/openstackclusteridentities";
    let discovery = "/apis/infrastructure.cluster.x-k8s.io";
    let is_listed = || region.get(discovery).to_string().contains("v1alpha1");
    while region.get(target).is_null() == is_served || is_listed() != is_served {
        assert!(began.elapsed() < Duration::from_secs(60), "the kind is not served as it should be");
        thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn a_kind_that_is_not_served_just_now_is_not_forgotten() {
    let Some(mut region) = region() else { return };
    region.put(&[openstack("openstack"), odd("odd", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let kept = inventory(&region);
    serve(&region, false);
    region.take(&openstack("openstack"));
    region.publish();
    let secret = format!("/api/v1/namespaces/{SYSTEM}/secrets/openstack-secret");
    for _ in 0..2 {
        let ran = apply(&region, &[]).ends(3);
        assert!(ran.stderr.contains("the region serves no OpenStackClusterIdentity"), "{}", ran.stderr);
        assert!(changes(&ran).is_empty() && !region.get(&secret).is_null(), "{}", ran.stdout);
        assert_eq!(inventory(&region), kept);
    }
    serve(&region, true);
    assert_eq!(changes(&apply(&region, &[]).ends(0)).len(), 2);
    region.is_exact();

    // With its definition the identity is gone, and what it pointed to goes.
    region.put(&openstack("openstack"));
    region.publish();
    apply(&region, &[]).ends(0);
    region.server.kubectl_prints(["delete", "crd", OPENSTACK], "");
    region.take(&openstack("openstack"));
    region.publish();
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret kcm-system/openstack-secret"]);
    assert_eq!(inventory(&region), ["Secret team-a/odd"]);
    region.is_exact();
}

#[test]
fn an_identity_that_somebody_else_took_over_keeps_its_secret() {
    let Some(mut region) = region() else { return };
    region.put(&[azure("azure", "azure-secret", 1), odd("odd", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let identity = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/team-a/azureclusteridentities/azure";
    patch(&region, identity, &json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}}));
    region.take(&azure("azure", "azure-secret", 1));
    region.publish();
    for _ in 0..2 {
        let ran = apply(&region, &[]).ends(3);
        assert!(ran.stderr.contains("does not carry pouch's label any more: it stays"), "{}", ran.stderr);
        assert!(changes(&ran).is_empty() && !region.get(&secret("azure-secret")).is_null(), "{}", ran.stdout);
    }
    region.server.kubectl_prints(["-n", TENANT, "delete", "azureclusteridentity", "azure"], "");
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/azure-secret"]);
    region.is_exact();
}
