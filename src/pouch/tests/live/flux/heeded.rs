//! What the configuration has Flux heed: whose rights it applies with, how long it waits for what, and how soon it tries
//! again.

use std::time::Duration;

use serde_json::{Value, json};

use super::{all_ready, set_up};
use crate::delivered::{Delivered, aws, azure};
use crate::objects::{CAPI, SYSTEM, TENANT};
use crate::rig::flux::Flux;

#[test]
fn what_flux_is_told_it_heeds() {
    let delivery = "{flux: {serviceAccountName: pouch, timeout: 31s, retryInterval: 1s, healthChecks: [{apiVersion: apps/v1, \
                    kind: Deployment, name: capz, namespace: kcm-system}]}}";
    let Some(mut region) = Delivered::new(delivery, "") else { return };
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    region.put(&[aws("aws", 1), azure("azure", "azure-secret", 1)].concat());
    region.publish();
    an_account_without_rights(&region, &flux);
    a_provider_that_is_not_there(&region, &flux);
    what_was_applied_and_is_not_ready(&mut region, &flux);
}

fn an_account_without_rights(region: &Delivered, flux: &Flux) {
    let said = flux.sync();
    let core = said.iter().find(|said| said.name == "eu-core").expect("there is a core");
    assert!(!core.ready && core.message.contains("\"system:serviceaccount:flux-system:pouch\" cannot"), "{said:#?}");
    assert_eq!(region.items_there(), 0);
    let binding = ["create", "clusterrolebinding", "pouch", "--clusterrole=cluster-admin"];
    let account = ["--serviceaccount=flux-system:pouch"];
    region.server.kubectl_prints([&binding[..], &account].concat(), "");
    // Nobody asks for it: a minute, if nobody told it.
    let took = flux.wait_for("eu-core");
    assert!(took < Duration::from_secs(30), "{took:?}");
}

/// Nine minutes and a half, if nobody told it; Flux takes what is less than half a minute for half a minute.
const LOOKS: &str = "Running health checks for revision";
const FOR: &str = "with a timeout of 31s";

/// Identities are applied, and not ready before it is there; Secrets do not wait for it.
fn a_provider_that_is_not_there(region: &Delivered, flux: &Flux) {
    let identities = format!("identity.{CAPI}");
    flux.wait_until_said(&identities, LOOKS);
    flux.wait_until_said(&identities, FOR);
    region.is_exact();
    let waits = |item: &&Value| item["status"]["conditions"].to_string().contains("\"Running health checks");
    assert_eq!(flux.kustomizations().iter().filter(waits).count(), 2, "those of identities");

    let labels = json!({"app": "capz"});
    let pod = json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
    let meta = json!({"name": "capz", "namespace": SYSTEM});
    let spec = json!({"replicas": 1, "selector": {"matchLabels": labels}, "template": pod});
    let deployment = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec});
    region.server.apply(&deployment.to_string());
    let condition = |kind: &str| json!({"type": kind, "status": "True", "reason": "NewReplicaSetAvailable"});
    let status = json!({"observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1, "conditions": [condition("Available"), condition("Progressing")]});
    set_status(region, ["-n", SYSTEM, "deployment", "capz"], &status);
    flux.wait_for(&identities);
}

/// With `wait`, what was applied is looked at.
fn what_was_applied_and_is_not_ready(region: &mut Delivered, flux: &Flux) {
    let checks = "healthChecks: [{apiVersion: apps/v1, kind: Deployment, name: capz, namespace: kcm-system}]";
    region.fleet.configure(checks, "wait: true");
    let ready = |status: &str| {
        json!({"conditions": [{"type": "Ready", "status": status, "lastTransitionTime": "2026-01-01T00:00:00Z",
            "reason": "Test", "message": "a test", "severity": "Error"}]})
    };
    let identity = ["-n", TENANT, "azureclusteridentity", "azure"];
    set_status(region, identity, &ready("False"));
    region.put(&aws("aws", 2));
    region.publish();
    assert!(flux.fetch().ready);
    let azure = format!("eu-azureclusteridentity.{CAPI}");
    flux.wait_until_said(&azure, LOOKS);
    flux.wait_until_said(&azure, FOR);
    region.is_exact();
    flux.wait_for(&format!("eu-awsclusterstaticidentity.{CAPI}"));
    set_status(region, identity, &ready("True"));
    flux.wait_for(&azure);
    all_ready(&flux.sync());
}

/// Says of an object what its controller would say.
fn set_status(region: &Delivered, [flag, namespace, kind, name]: [&str; 4], status: &Value) {
    let patch = json!({"status": status}).to_string();
    let command = [flag, namespace, "patch", kind, name, "--subresource=status", "--type=merge", "-p", &patch];
    region.server.kubectl_prints(command, "");
}
