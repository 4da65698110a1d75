//! What cannot be changed in place: deleted and made anew, but only where the region would make it.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::table::publish_all;
use super::{apply, changes, patch, region};
use crate::delivered::{Delivered, aws, odd, shows_nothing};
use crate::objects::{SYSTEM, TENANT};

const OTHER: &str = "example.com/other";

fn secret(name: &str) -> String {
    format!("/api/v1/namespaces/{TENANT}/secrets/{name}")
}

/// Publishes Secrets with another type, by way of a bundle without them that nobody applies.
fn retype(region: &mut Delivered, names: &[&str], kind: &str, state: u64) {
    let mut all = Vec::new();
    for name in names {
        let mut objects = odd(name, state);
        region.take(&objects);
        objects[1]["type"] = json!(kind);
        all.extend(objects);
    }
    publish_all(region);
    region.put(&all);
    region.publish();
}

/// A policy of the region that refuses what an expression does not say, in force when this returns.
fn policy(region: &Delivered, operations: &[&str], expression: &str, probe: &Value) {
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "types"}, "spec": {"failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": [""], "apiVersions": ["*"],
                "operations": operations, "resources": ["secrets"]}]},
            "validations": [{"expression": expression, "messageExpression": "'it has ' + string(object.data)"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "types"}, "spec": {"policyName": "types", "validationActions": ["Deny"]}});
    region.server.apply(&json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]}).to_string());
    let began = Instant::now();
    let flags = ["create", "--dry-run=server", "-f", "-"];
    while region.server.kubectl(flags, &probe.to_string()).status.success() {
        assert!(began.elapsed() < Duration::from_secs(60), "the policy is not in force");
        thread::sleep(Duration::from_millis(200));
    }
}

fn probe(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "type": OTHER, "metadata": {"name": name, "namespace": "default"}})
}

#[test]
fn nothing_is_deleted_that_the_region_would_not_make() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("one", 1), odd("two", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let before = region.get(&secret("one"))["metadata"]["uid"].clone();
    policy(&region, &["CREATE", "UPDATE"], &format!("object.type != '{OTHER}'"), &probe("any"));
    retype(&mut region, &["one"], OTHER, 2);
    for flags in [&["--dry-run"][..], &[]] {
        let ran = apply(&region, flags).ends(3);
        shows_nothing("what apply says", &ran.stderr);
        assert!(
            ran.stderr.contains("the region refuses it: Invalid (422); it has another type there, and stays as it was")
        );
        assert!(changes(&ran).is_empty(), "{}", ran.stdout);
        assert_eq!(region.get(&secret("one"))["metadata"]["uid"], before);
    }

    // A policy that no other name meets: what it costs is told.
    region.server.kubectl_prints(["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "types"], "");
    policy(&region, &["CREATE"], "object.metadata.name != 'one'", &probe("one"));
    let began = Instant::now();
    let ran = loop {
        let ran = apply(&region, &[]).ends(3);
        if ran.stderr.contains("is gone") || began.elapsed() > Duration::from_secs(60) {
            break ran;
        }
    };
    let told =
        "error: Secret team-a/one is gone: it was deleted to be made anew. Secret team-a/one: the region refuses it";
    assert!(ran.stderr.contains(told), "{}", ran.stderr);
    assert_eq!(changes(&ran), ["withdrawn Secret team-a/one"]);
    assert!(region.get(&secret("one")).is_null());
    region.server.kubectl_prints(["delete", "validatingadmissionpolicybinding,validatingadmissionpolicy", "types"], "");
    let began = Instant::now();
    while apply(&region, &[]).code != 0 {
        assert!(began.elapsed() < Duration::from_secs(60), "the policy is still in force");
    }
    region.is_exact();
}

#[test]
fn many_at_once_are_held() {
    let Some(mut region) = region() else { return };
    let names = ["a", "b", "c", "d", "e"];
    region.put(&names.iter().flat_map(|name| odd(name, 1)).collect::<Vec<_>>());
    region.publish();
    apply(&region, &[]).ends(0);
    let uids = region.uids();
    retype(&mut region, &names, OTHER, 2);
    let ran = apply(&region, &[]).ends(4);
    assert!(ran.stderr.contains("would have 5 of the 5 objects that were brought to it deleted and made anew"));
    assert_eq!(region.uids(), uids);
    let digest = ran.acceptance("--accept-deletions", "eu");
    let more: Vec<String> = (0..40).map(|n| format!("more{n}")).collect();
    region.put(&more.iter().flat_map(|name| odd(name, 1)).collect::<Vec<_>>());
    region.publish();
    apply(&region, &[]).ends(4);
    apply(&region, &["--dry-run"]).ends(4);
    apply(&region, &["--accept-deletions", &digest]).ends(0);
    region.is_exact();
    assert!(apply(&region, &[]).ends(0).stdout.contains("45 unchanged"));
}

#[test]
fn what_somebody_made_immutable_is_made_anew() {
    let Some(mut region) = region() else { return };
    region.put(&[aws("aws", 1), odd("odd", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let frozen = json!({"immutable": true});
    let template = format!("/api/v1/namespaces/{SYSTEM}/configmaps/aws-resource-template");
    for target in [&secret("odd"), &template] {
        patch(&region, target, &frozen);
    }
    region.put(&[aws("aws", 2), odd("odd", 2)].concat());
    region.publish();
    assert_eq!(changes(&apply(&region, &["--dry-run"]).ends(0)).len(), 3);
    assert_eq!(changes(&apply(&region, &[]).ends(0)).len(), 3);
    region.is_exact();
    // One that another hand made so is told, and left.
    region.server.kubectl_prints(["-n", TENANT, "delete", "secret", "odd"], "");
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "type": "example.com/odd", "immutable": true,
        "metadata": {"name": "x", "namespace": TENANT}});
    region.server.apply(&foreign.to_string());
    region.put(&odd("x", 1));
    region.publish();
    let ran = apply(&region, &[]).ends(3);
    assert!(
        ran.stderr.contains("error: Secret team-a/x is immutable on the region, and pouch did not bring it there"),
        "{}",
        ran.stderr
    );
    assert_eq!(changes(&ran), ["added Secret team-a/odd"]);
}
