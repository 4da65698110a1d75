//! What goes wrong: bundles, single objects, runs that are killed.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use super::{INVENTORY, apply, apply_all, changes, flags, inventory, patch, region};
use crate::delivered::{Delivered, aws, azure, odd, shows_nothing, vsphere};
use crate::objects::{SYSTEM, TENANT};
use crate::support::root;

#[test]
fn nothing_is_applied_of_a_bundle_that_is_not_proved() {
    let Some(mut region) = region() else { return };
    region.put(&aws("aws", 1));
    region.publish();
    let fixed = flags(&region);
    let other: Vec<String> = fixed
        .iter()
        .map(|flag| if flag.starts_with("--identity") { "--identity=other.agekey".to_owned() } else { flag.clone() })
        .collect();
    let stranger = fs::read_to_string(root().join("testdata/quickstart/keys/us-east.txt")).unwrap();
    region.fleet.private("other.agekey", stranger);
    let other: Vec<&str> = other.iter().map(String::as_str).collect();
    let ran = region.fleet.run(&other).ends(64);
    assert!(ran.stderr.contains("opens nothing"), "{}", ran.stderr);

    region.origin().commit_beside(
        "f=bundles/regions/eu/core/secrets/kcm-system/aws-secret.sops.yaml; sed -i 's/SecretAccessKey/Other/' $f; git add $f",
    );
    let ran = apply(&region, &[]).ends(8);
    assert!(ran.stderr.contains("nothing was applied"), "{}", ran.stderr);
    assert_eq!(region.items_there(), 0);
    assert!(region.get(INVENTORY).is_null());
}

/// A Secret of this name, or of this namespace and name, that a policy is asked about.
fn probe(place: &str) -> (&str, &str, String) {
    let (namespace, name) = place.split_once('/').unwrap_or(("default", place));
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace}});
    (namespace, name, secret.to_string())
}

/// A region that refuses objects of one name, or of one namespace and name, by a policy of its own.
pub(super) fn refuse(region: &Delivered, place: &str) {
    let (namespace, name, probe) = probe(place);
    let elsewhere =
        if place.contains('/') { format!(" || object.metadata.namespace != '{namespace}'") } else { String::new() };
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "no"}, "spec": {"failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": ["", "infrastructure.cluster.x-k8s.io"],
                "apiVersions": ["*"], "operations": ["CREATE", "UPDATE"], "resources": ["*"]}]},
            "validations": [{"expression": format!("object.metadata.name != '{name}'{elsewhere}"),
                "messageExpression": "'it has ' + string(object)"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "no"}, "spec": {"policyName": "no", "validationActions": ["Deny"]}});
    region.server.apply(&json!({"apiVersion": "v1", "kind": "List", "items": [policy, binding]}).to_string());
    let began = Instant::now();
    let flags = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    while region.server.kubectl(flags, &probe).status.success() {
        assert!(began.elapsed() < Duration::from_secs(60), "the policy is not in force");
        thread::sleep(Duration::from_millis(200));
    }
}

pub(super) fn allow(region: &Delivered, place: &str) {
    let both = "validatingadmissionpolicybinding,validatingadmissionpolicy";
    region.server.kubectl_prints(["delete", both, "no"], "");
    let began = Instant::now();
    let (_, _, probe) = probe(place);
    let flags = ["apply", "--server-side", "--dry-run=server", "-f", "-"];
    while !region.server.kubectl(flags, &probe).status.success() {
        assert!(began.elapsed() < Duration::from_secs(60), "the policy is still in force");
        thread::sleep(Duration::from_millis(200));
    }
}

#[test]
fn what_one_object_is_refused_stops_no_other_and_breaks_nothing() {
    let Some(mut region) = region() else { return };
    region.put(&[azure("azure", "old-secret", 1), vsphere("vsphere", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    // The identity moves to a renamed Secret, which the region refuses: both stay as they were.
    refuse(&region, "new-secret");
    region.take(&azure("azure", "old-secret", 1)[..1]);
    region.put(&[azure("azure", "new-secret", 2), vsphere("vsphere", 2)].concat());
    region.publish();
    let ran = apply(&region, &[]).ends(3);
    shows_nothing("what apply says", &ran.stderr);
    assert!(
        ran.stderr.contains("error: Secret team-a/new-secret: the region refuses it: Invalid (422)"),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("waits for Secret team-a/new-secret"), "{}", ran.stderr);
    assert!(ran.stderr.contains("Secret team-a/old-secret left the bundle, and stays"), "{}", ran.stderr);
    assert_eq!(changes(&ran), ["changed Secret kcm-system/vsphere-secret"]);
    let old = format!("/api/v1/namespaces/{TENANT}/secrets/old-secret");
    assert!(!region.get(&old).is_null());
    let identity = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/team-a/azureclusteridentities/azure";
    assert_eq!(region.get(identity)["spec"]["clientSecret"]["name"], "old-secret");
    allow(&region, "new-secret");

    // The identity itself is refused: the Secret that it still names stays.
    refuse(&region, "azure");
    let ran = apply(&region, &[]).ends(3);
    assert_eq!(changes(&ran), ["added Secret team-a/new-secret"]);
    assert!(!region.get(&old).is_null());
    allow(&region, "azure");
    apply(&region, &[]).ends(0);
    region.is_exact();
}

#[test]
fn an_identity_that_finalizers_keep_keeps_its_secret() {
    let Some(mut region) = region() else { return };
    region.put(&[azure("azure", "azure-secret", 1), odd("odd", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let identity = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/team-a/azureclusteridentities/azure";
    patch(&region, identity, &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    region.take(&azure("azure", "azure-secret", 1));
    region.publish();
    for _ in 0..2 {
        let ran = apply(&region, &[]).ends(3);
        assert!(ran.stderr.contains("example.com/held"), "{}", ran.stderr);
        assert!(ran.stderr.contains("error[left-behind]: Secret team-a/azure-secret"), "{}", ran.stderr);
        assert!(!region.get(&format!("/api/v1/namespaces/{TENANT}/secrets/azure-secret")).is_null());
    }
    patch(&region, identity, &json!({"metadata": {"finalizers": null}}));
    apply(&region, &[]).ends(0);
    region.is_exact();
    assert_eq!(inventory(&region), ["Secret team-a/odd"]);
}

#[test]
fn what_somebody_else_took_over_stays() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("a", 1), odd("b", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let label = json!({"metadata": {"labels": {"app.kubernetes.io/managed-by": "me"}}});
    patch(&region, &format!("/api/v1/namespaces/{TENANT}/secrets/a"), &label);
    region.take(&odd("a", 1));
    region.publish();
    let ran = apply(&region, &[]).ends(0);
    assert!(ran.stderr.contains("Secret team-a/a left the bundle, and does not carry pouch's label any more"));
    assert!(changes(&ran).is_empty());
    assert_eq!(inventory(&region), ["Secret team-a/b"]);
}

#[test]
fn an_inventory_that_is_not_ours_is_not_guessed_at() {
    let Some(mut region) = region() else { return };
    region.put(&odd("a", 1));
    region.publish();
    apply(&region, &[]).ends(0);
    patch(&region, INVENTORY, &json!({"data": {"objects.Secret": "team-a/a what is this?"}}));
    apply(&region, &[]).ends(5).says("is not written as pouch writes it");
    patch(&region, INVENTORY, &json!({"data": {"objects.Secret": null, "directory": "us"}}));
    apply(&region, &[]).ends(5).says("belongs to another fleet or region");
    patch(&region, INVENTORY, &json!({"data": {"directory": "eu", "objects.Secret": "team-a/.. - -\n"}}));
    apply(&region, &[]).ends(5).says("is not written as pouch writes it");
    // Kinds that no bundle holds are never looked at.
    let forged =
        json!({"data": {"objects.Secret": null, "objects.Namespace": "/team-a - -", "objects.Pod": "team-a/p - -"}});
    patch(&region, INVENTORY, &forged);
    apply(&region, &[]).ends(0);
    patch(&region, INVENTORY, &json!({"immutable": true}));
    region.put(&odd("b", 1));
    region.publish();
    let before = region.versions();
    apply(&region, &[]).ends(5).says("the inventory, ConfigMap default/pouch.acme.eu, is immutable");
    assert_eq!(region.versions(), before);
    assert!(!region.get(&format!("/api/v1/namespaces/{TENANT}"))["status"]["phase"].is_null());
}

#[test]
fn the_inventory_stands_in_the_system_namespace() {
    let Some(mut region) = region() else { return };
    region.put(&odd("a", 1));
    region.publish();
    let fixed = flags(&region);
    let words: Vec<&str> = fixed.iter().map(String::as_str).filter(|flag| !flag.starts_with("--inventory")).collect();
    for flags in [&["--inventory-namespace=nowhere"][..], &["--inventory-namespace=nowhere", "--dry-run"]] {
        let ran = region.fleet.run(&[&words[..], flags].concat()).ends(64).says("nowhere is not on");
        assert!(!ran.stdout.contains("in part") && region.get("/api/v1/namespaces/team-a").is_null(), "{}", ran.stdout);
    }
    region.fleet.run(&words).ends(0);
    let kept = format!("/api/v1/namespaces/{SYSTEM}/configmaps/pouch.acme.eu");
    assert!(!region.get(&kept).is_null());
    region.verify_live(&[]).ends(0);
}

/// Whenever a run is killed, the next one brings everything, and leaves nothing behind.
#[test]
fn the_next_run_finishes_what_a_killed_one_began() {
    let Some(mut region) = region() else { return };
    let names: Vec<String> = (0..40).map(|n| format!("s{n}")).collect();
    let some = |state: u64| names.iter().flat_map(|name| odd(name, state)).collect::<Vec<_>>();
    region.put(&some(1));
    region.publish();
    let began = Instant::now();
    apply(&region, &["--dry-run"]).ends(0);
    let whole = began.elapsed();
    let mut killed = 0;
    for step in 1..=9_u32 {
        region.put(&some(u64::from(step) + 1));
        region.put(&aws(&format!("aws-{step}"), 1));
        if step > 1 {
            region.take(&aws(&format!("aws-{}", step - 1), 1));
        }
        let held = region.origin().publish(&[]);
        assert_eq!(held.code, 0, "{}", held.stderr);
        let fixed = flags(&region);
        let mut child = region.fleet.command(&fixed.iter().map(String::as_str).collect::<Vec<_>>());
        let mut child = child.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()).spawn().unwrap();
        thread::sleep(whole * step / 7);
        killed += u32::from(child.try_wait().unwrap().is_none());
        child.kill().unwrap();
        child.wait().unwrap();
        if step % 3 == 0 {
            apply_all(&region);
            region.is_exact();
            assert_eq!(inventory(&region).len(), region.items_there());
        }
    }
    assert!(killed > 3, "only {killed} of 9 runs were killed on the way");
    region.verify_live(&[]).ends(0);
}

#[test]
fn a_namespace_that_is_being_deleted_is_told() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("a", 1), aws("aws", 1)].concat());
    region.publish();
    region.server.kubectl_prints(["create", "namespace", TENANT], "");
    region.server.kubectl_prints(["delete", "namespace", TENANT, "--wait=false"], "");
    let ran = apply(&region, &[]).ends(3);
    assert!(
        ran.stderr.contains("error: Secret team-a/a: its namespace is being deleted on the region"),
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
}
