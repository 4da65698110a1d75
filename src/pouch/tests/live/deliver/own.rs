//! Kinds that only the configuration knows, tenants that have the same names, and what others write into what apply keeps
//! for itself.

use serde_json::{Value, json};

use super::broken::{allow, refuse};
use super::{INVENTORY, apply, changes, inventory, patch, region};
use crate::delivered::{Delivered, azure, azure_in, odd, sealed, shows_nothing};
use crate::objects::{K0RDENT, TENANT, credential, reference};

const KINDS: &str = "kinds: [{group: example.com, kind: OwnIdentity, scope: Namespaced, allowedNamespaces: all}]\n";

/// No program could guess what the kind is called in paths.
const PLURAL: &str = "ownwords";

/// Where the names of the bundles are that were applied to the cluster.
const BUNDLES: &str = "/api/v1/namespaces/default/configmaps/pouch.bundles";

/// Has the region serve the kind.
fn define(region: &Delivered) {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.example.com")},
        "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "OwnIdentity", "plural": PLURAL, "singular": "ownword"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    region.server.apply(&crd.to_string());
    region.server.kubectl_prints(
        ["wait", "--for=condition=Established", "--timeout=30s", "crd", &format!("{PLURAL}.example.com")],
        "",
    );
}

/// A Credential with an identity of the kind, and its Secret.
fn own() -> [Value; 3] {
    let identity = json!({"apiVersion": "example.com/v1", "kind": "OwnIdentity",
        "metadata": {"namespace": TENANT, "name": "own"}, "spec": {"secretRef": {"name": "own-secret", "namespace": TENANT}}});
    let credential = credential(TENANT, "own", "eu", &reference(&identity));
    [credential, identity, sealed(TENANT, "own-secret", &["key"], 1)]
}

/// A region that has an object of the kind.
fn with_own() -> Option<Delivered> {
    let mut region = region()?;
    define(&region);
    region.fleet.configure("regions:\n", &format!("{KINDS}regions:\n"));
    let secret = json!({"group": "", "version": "v1", "kind": "Secret", "nameFieldPath": "spec.secretRef.name",
        "namespaceFieldPath": "spec.secretRef.namespace"});
    let interface = json!({"apiVersion": format!("{K0RDENT}/v1beta1"), "kind": "ProviderInterface",
        "metadata": {"name": "own"}, "spec": {"clusterIdentities": [
            {"group": "example.com", "version": "v1", "kind": "OwnIdentity", "references": [secret]}]}});
    region.fleet.write("manifests/own.json", interface.to_string());
    region.put(&[own().to_vec(), odd("odd", 1)].concat());
    region.publish();
    apply(&region, &["-f", "pouch.yaml"]).ends(0);
    assert_eq!(
        inventory(&region),
        ["OwnIdentity.example.com team-a/own", "Secret team-a/odd", "Secret team-a/own-secret"]
    );
    Some(region)
}

/// Takes the Credential, and all that the configuration and the sources say of its kind.
fn without_own(region: &mut Delivered) {
    region.take(&own());
    region.fleet.remove("manifests/own.json");
    region.fleet.configure(KINDS, "");
    region.publish();
}

#[test]
fn a_kind_that_leaves_the_configuration_takes_its_objects_along() {
    let Some(mut region) = with_own() else { return };
    without_own(&mut region);
    let expect = ["withdrawn OwnIdentity.example.com team-a/own", "withdrawn Secret team-a/own-secret"];
    assert_eq!(changes(&apply(&region, &["--dry-run"]).ends(0)), expect);
    assert_eq!(changes(&apply(&region, &[]).ends(0)), expect);
    assert!(region.get(&format!("/apis/example.com/v1/namespaces/{TENANT}/{PLURAL}/own")).is_null());
    region.is_exact();
    assert_eq!(inventory(&region), ["Secret team-a/odd"]);

    // What the inventory names of such a kind, and nobody applied of this bundle, stays.
    let mut theirs = own()[1].clone();
    theirs["metadata"] =
        json!({"namespace": TENANT, "name": "theirs", "labels": {"app.kubernetes.io/managed-by": "pouch"}});
    region.server.apply(&theirs.to_string());
    let line = format!("{TENANT}/theirs 0123456789abcdef 1\n");
    patch(&region, INVENTORY, &json!({"data": {"objects.OwnIdentity.example.com": line}}));
    let ran = apply(&region, &[]).ends(0);
    assert!(
        changes(&ran).is_empty() && ran.stderr.contains("team-a/theirs left the bundle, and was not brought"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_kind_of_the_configuration_whose_definition_is_gone_holds_nothing() {
    let Some(mut region) = with_own() else { return };
    without_own(&mut region);
    region.server.kubectl_prints(["delete", "crd", &format!("{PLURAL}.example.com")], "");
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/own-secret"]);
    region.is_exact();
    assert_eq!(inventory(&region), ["Secret team-a/odd"]);
}

#[test]
fn only_those_wait_who_need_what_failed() {
    let Some(mut region) = region() else { return };
    let (ours, theirs) = (azure("ours", "same", 1), azure_in("team-b", "theirs", "same", 1));
    region.put(&[ours.clone(), theirs.clone(), odd("odd", 1)].concat());
    region.publish();
    region.server.kubectl_prints(["create", "namespace", "team-b"], "");
    refuse(&region, "team-b/same");
    let ran = apply(&region, &[]).ends(3);
    shows_nothing("what apply says", &ran.stderr);
    assert!(ran.stderr.contains("theirs waits for Secret team-b/same"), "{}", ran.stderr);
    assert_eq!(ran.stderr.matches("error: ").count(), 2, "{}", ran.stderr);
    assert_eq!(
        region.differences(),
        ["AzureClusterIdentity team-b/theirs is missing", "Secret team-b/same is missing"]
    );

    // And of what leaves, only what somebody may point to who is still there.
    allow(&region, "team-b/same");
    apply(&region, &[]).ends(0);
    region.take(&[ours, theirs].concat());
    region.publish();
    let identity = "/apis/infrastructure.cluster.x-k8s.io/v1beta1/namespaces/team-b/azureclusteridentities/theirs";
    patch(&region, identity, &json!({"metadata": {"labels": null}}));
    let digest = apply(&region, &[]).ends(4).acceptance("--accept-deletions", "eu");
    let ran = apply(&region, &["--accept-deletions", &digest]).ends(3);
    let told = "error[left-behind]: Secret team-b/same left the bundle, and stays: an identity that is still there";
    assert!(ran.stderr.contains(told) && !ran.stderr.contains("Secret team-a/same left"), "{}", ran.stderr);
    assert!(changes(&ran).contains(&"withdrawn Secret team-a/same".to_owned()), "{}", ran.stdout);
    // As the help says.
    patch(&region, "/api/v1/namespaces/team-b/secrets/same", &json!({"metadata": {"labels": null}}));
    apply(&region, &[]).ends(0);
}

#[test]
fn lines_of_the_inventory_go_whoever_wrote_them() {
    let Some(mut region) = region() else { return };
    // The only object of its kind is refused from the first run on, so its line never changed.
    refuse(&region, "azure");
    region.put(&[azure("azure", "azure-secret", 1), odd("odd", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(3);
    assert_eq!(inventory(&region).len(), 3);
    allow(&region, "azure");
    region.take(&azure("azure", "azure-secret", 1));
    region.publish();
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/azure-secret"]);
    assert_eq!(inventory(&region), ["Secret team-a/odd"]);
    // So do lines of another hand.
    let planted = json!({"data": {"objects.VSphereClusterIdentity.infrastructure.cluster.x-k8s.io": "/x - -\n"}});
    patch(&region, INVENTORY, &planted);
    apply(&region, &[]).ends(0);
    assert_eq!(inventory(&region), ["Secret team-a/odd"]);
    let before = region.get(INVENTORY);
    apply(&region, &[]).ends(0);
    assert_eq!(region.get(INVENTORY), before, "nothing is written where nothing changed");

    // Whose the cluster is, is written again where it was lost.
    region.server.kubectl_prints(["delete", "configmap", "pouch.bundles"], "");
    apply(&region, &["--dry-run"]).ends(0);
    assert!(region.get(BUNDLES).is_null());
    apply(&region, &[]).ends(0);
    assert_eq!(region.get(BUNDLES)["data"], json!({"acme.eu": ""}));
}
