//! What becomes of a bundle's objects, one scene after the other on one region.

use serde_json::{Value, json};

use super::{INVENTORY, apply, changes, inventory, patch, region};
use crate::delivered::{Delivered, aws, azure, oci, odd, openstack, role, shows_nothing, vsphere};
use crate::kcm::{self, K0rdent, closures, old_copies};
use crate::objects::{SYSTEM, TENANT};
use crate::opened::opened_and_shut;
use crate::support::shared;

fn all(state: u64) -> Vec<Value> {
    [
        aws("aws", state),
        role("role", "aws"),
        azure("azure", "azure-secret", state),
        vsphere("vsphere", state),
        openstack("openstack"),
        oci("oci", state),
        odd("odd", state),
    ]
    .concat()
}

#[test]
fn a_region_is_what_its_sources_say() {
    let Some(mut region) = region() else { return };
    region.server.kubectl_prints(["delete", "crd", "ociclusteridentities.infrastructure.cluster.x-k8s.io"], "");
    a_kind_that_the_region_lacks(&mut region);
    nothing_is_sent_twice(&region);
    what_others_change_is_healed(&region);
    rotation(&mut region);
    removal(&mut region);
    another_type(&mut region);
    the_last_of_all(&mut region);
    opened_and_shut(&mut region, &|region| {
        apply(region, &[]).ends(0);
    });
}

/// Its CRD comes late, and stops its own kind only.
fn a_kind_that_the_region_lacks(region: &mut Delivered) {
    let crd = shared("data/crds/identities/infrastructure.cluster.x-k8s.io_ociclusteridentities.yaml");
    region.put(&all(1));
    region.publish();
    let ran = apply(region, &["--dry-run"]).ends(3);
    assert!(
        ran.stdout
            .starts_with("eu  would be applied in part  12 of 13 objects, 12 added, 1 failed, 1 namespace made\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(region.items_there(), 0, "a dry run changed something");
    assert!(region.get(INVENTORY).is_null() && region.get("/api/v1/namespaces/team-a").is_null());

    let ran = apply(region, &[]).ends(3);
    assert!(
        ran.stderr.contains("error[kind-not-on-region]: the region serves no OCIClusterIdentity"),
        "{}",
        ran.stderr
    );
    assert!(
        ran.stdout.starts_with("eu  applied in part  12 of 13 objects, 12 added, 1 failed, 1 namespace made\n"),
        "{}",
        ran.stdout
    );
    assert_eq!(region.differences(), ["OCIClusterIdentity team-a/oci is missing"]);
    shows_nothing("what apply says", &format!("{}{}", ran.stdout, ran.stderr));
    shows_nothing("the inventory", &region.get(INVENTORY).to_string());

    region.server.install_files(&[crd.expect("the others were there")]);
    let ran = apply(region, &[]).ends(0);
    assert_eq!(changes(&ran), ["added OCIClusterIdentity team-a/oci"]);
    region.is_exact();
    let ran = region.verify_live(&[]).ends(0);
    assert_eq!(ran.stdout, "eu  as published  13 objects\n", "{}", ran.stderr);
    assert_eq!(inventory(region).len(), 13);
}

/// A run that finds all as it should be writes nothing, the inventory neither.
fn nothing_is_sent_twice(region: &Delivered) {
    let before = (region.versions(), region.get(INVENTORY));
    for flags in [&[][..], &["--dry-run"]] {
        let ran = apply(region, flags).ends(0);
        assert!(ran.stdout.ends_with("applied  13 objects, 13 unchanged\n"), "{}", ran.stdout);
    }
    assert_eq!((region.versions(), region.get(INVENTORY)), before);
}

/// Values, entries and labels that somebody changed or removed on the region.
fn what_others_change_is_healed(region: &Delivered) {
    let secret = format!("/api/v1/namespaces/{SYSTEM}/secrets/aws-secret");
    patch(region, &secret, &json!({"data": {"AccessKeyID": "b3RoZXI=", "SecretAccessKey": null}}));
    patch(region, &format!("/api/v1/namespaces/{TENANT}/secrets/odd"), &json!({"metadata": {"labels": null}}));
    let dry = apply(region, &["--dry-run"]).ends(0);
    let expect = ["changed Secret kcm-system/aws-secret", "changed Secret team-a/odd"];
    assert_eq!(changes(&dry), expect);
    assert_eq!(region.differences().len(), 4, "{:?}", region.differences());
    assert_eq!(changes(&apply(region, &[]).ends(0)), expect);
    region.is_exact();
    what_others_add_is_told(region);
}

/// What another field manager adds stays, in every run, and says so.
fn what_others_add_is_told(region: &Delivered) {
    let secret = format!("/api/v1/namespaces/{SYSTEM}/secrets/aws-secret");
    let role = "/apis/infrastructure.cluster.x-k8s.io/v1beta2/awsclusterroleidentities/role";
    patch(region, &secret, &json!({"data": {"extra": "b3RoZXI="}}));
    patch(region, role, &json!({"spec": {"allowedNamespaces": {"list": ["evil"]}}}));
    for flags in [&["--dry-run"][..], &[], &[]] {
        let ran = apply(region, flags).ends(3);
        for told in ["Secret kcm-system/aws-secret has data.extra on the region", "has spec.allowedNamespaces.list on"]
        {
            assert!(ran.stderr.contains(told), "{}", ran.stderr);
        }
        assert_eq!(ran.stderr.matches("error[stale-entry]").count(), 2, "{}", ran.stderr);
    }
    patch(region, &secret, &json!({"data": {"extra": null}}));
    patch(region, role, &json!({"spec": {"allowedNamespaces": {"list": null}}}));
    apply(region, &[]).ends(0);
    region.is_exact();
}

/// Every value changes, and of one Secret an entry goes and another comes.
fn rotation(region: &mut Delivered) {
    region.put(&all(2));
    region.publish();
    apply(region, &[]).ends(0);
    region.is_exact();
    let mut secret = odd("odd", 3)[1].clone();
    secret["stringData"].as_object_mut().unwrap().remove("blank");
    secret["stringData"]["new"] = json!("entry");
    region.put(&[secret]);
    region.publish();
    let ran = apply(region, &[]).ends(0);
    assert_eq!(changes(&ran), ["changed Secret team-a/odd"]);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// What a Credential alone needed goes; what others need stays, and what is not in the inventory too.
fn removal(region: &mut Delivered) {
    region.put(&[azure("azure-2", "azure-secret", 2), odd("odd-2", 1)].concat());
    region.publish();
    apply(region, &[]).ends(0);
    region.is_exact();
    let foreign = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "foreign", "namespace": TENANT,
        "labels": {"app.kubernetes.io/managed-by": "pouch"}}});
    region.server.apply(&foreign.to_string());
    region.take(&azure("azure-2", "azure-secret", 2)[1..]);
    region.take(&odd("odd-2", 1));
    region.publish();
    let expect = ["withdrawn AzureClusterIdentity team-a/azure-2", "withdrawn Secret team-a/odd-2"];
    // Two Credentials of five are more than goes without a person.
    let digest = apply(region, &["--dry-run"]).ends(4).acceptance("--accept-deletions", "eu");
    let accepted = ["--accept-deletions", &digest];
    assert_eq!(changes(&apply(region, &[&["--dry-run"], &accepted[..]].concat()).ends(0)), expect);
    assert_eq!(region.differences().len(), 3, "{:?}", region.differences());
    assert_eq!(changes(&apply(region, &accepted).ends(0)), expect);
    assert_eq!(region.differences(), ["Secret team-a/foreign is too much"]);
    region.server.kubectl_prints(["-n", TENANT, "delete", "secret", "foreign"], "");
    region.is_exact();
}

/// The API server lets nobody change a Secret's type, so it is made anew; what keeps it is told, and stalls nothing.
fn another_type(region: &mut Delivered) {
    let secret = format!("/api/v1/namespaces/{TENANT}/secrets/odd");
    let uid = region.get(&secret)["metadata"]["uid"].clone();
    let mut other = odd("odd", 4);
    region.take(&other);
    region.publish();
    other[1]["type"] = json!("example.com/other");
    region.put(&[other.clone(), aws("aws", 4)].concat());
    region.publish();
    patch(region, &secret, &json!({"metadata": {"finalizers": ["example.com/held"]}}));
    for (flags, changed) in [(&["--dry-run"][..], 2), (&[], 2)] {
        let ran = apply(region, flags).ends(3);
        assert!(ran.stderr.contains("error: Secret team-a/odd has another type on the region, and example.com/held"));
        assert_eq!(ran.stderr.matches("error: ").count(), 1, "{}", ran.stderr);
        assert_eq!(changes(&ran).len(), changed, "{}", ran.stdout);
    }
    assert!(!region.differences().is_empty() && region.get(&secret)["metadata"]["deletionTimestamp"].is_null());
    patch(region, &secret, &json!({"metadata": {"finalizers": null}}));
    assert_eq!(changes(&apply(region, &["--dry-run"]).ends(0)), ["changed Secret team-a/odd"]);
    assert_eq!(region.get(&secret)["metadata"]["uid"], uid);
    assert_eq!(changes(&apply(region, &[]).ends(0)), ["changed Secret team-a/odd"]);
    region.is_exact();
    assert_ne!(region.get(&secret)["metadata"]["uid"], uid);
}

/// The brake holds what would empty the region, and lets everything else go on. Namespaces stay.
fn the_last_of_all(region: &mut Delivered) {
    for gone in [vsphere("vsphere", 2), oci("oci", 2), openstack("openstack"), role("role", "aws"), odd("odd", 4)] {
        region.take(&gone);
    }
    region.put(&aws("aws", 5));
    publish_all(region);
    let ran = apply(region, &[]).ends(4);
    assert!(ran.stderr.contains("error[deletions-held]: region eu would lose 8 of the 13 objects"), "{}", ran.stderr);
    assert_eq!(changes(&ran).len(), 2, "all else was applied: {}", ran.stdout);
    assert_eq!(inventory(region).len(), 13);
    let digest = ran.acceptance("--accept-deletions", "eu");
    apply(region, &["--accept-deletions", "eu=0123456789abcdef"]).ends(4);
    let ran = apply(region, &["--accept-deletions", &digest]).ends(0);
    assert_eq!(changes(&ran).len(), 8, "{}", ran.stdout);
    region.is_exact();

    region.take(&aws("aws", 5));
    region.take(&azure("azure", "azure-secret", 2));
    publish_all(region);
    let ran = apply(region, &["--tolerate=brake"]).ends(0);
    assert!(ran.stderr.contains("which is all of them"), "{}", ran.stderr);
    let digest = ran.acceptance("--accept-deletions", "eu");
    apply(region, &["--accept-deletions", &digest]).ends(0);
    assert_eq!(region.items_there(), 0);
    assert!(inventory(region).is_empty());
    for namespace in [SYSTEM, TENANT] {
        assert_eq!(region.get(&format!("/api/v1/namespaces/{namespace}"))["status"]["phase"], "Active", "{namespace}");
    }
}

/// Publishes, and accepts whatever the brake on the bundle's side holds.
pub(super) fn publish_all(region: &Delivered) {
    let mut ran = region.origin().publish(&[]);
    while ran.code == 4 {
        let said =
            ran.stderr.lines().find_map(|line| line.strip_prefix("to let through all that is held: pouch publish "));
        let flags: Vec<&str> = said.expect("it says how").split(' ').collect();
        ran = region.origin().publish(&flags);
    }
    ran.ends(0);
}

#[test]
fn copies_of_k0rdent_are_taken_over_in_place() {
    let Some(mut region) = region() else { return };
    old_copies().iter().for_each(|closure| K0rdent(&region.server).push(closure));
    let copies = closures(1).concat();
    kcm::mark(&region.server, &copies);
    let kept = kcm::kept(&region.server, &copies);
    region.put(&closures(2).concat());
    region.publish();
    let taken = apply(&region, &[]).ends(3);
    assert_eq!(kcm::kept(&region.server, &copies), kept, "something was made anew, or taken from controllers");
    let ran = region.verify_live(&[]).ends(8);
    // What k0rdent's field manager alone owns stays, as with every consumer.
    let told = |code: &str| ran.stderr.matches(&format!("error[{code}]")).count();
    assert_eq!(ran.stderr.matches("error[").count(), told("stale-entry"), "{}", ran.stderr);
    // Of entries apply tells as much; what verify tells of finalizers and labels it does not know.
    for ran in [&taken, &apply(&region, &[]).ends(3)] {
        assert_eq!(ran.stderr.matches("error[stale-entry]").count(), told("stale-entry"), "{}", ran.stderr);
    }
    kcm::again(&region);
    // The resourceVersions are those of the run before: nothing is sent again.
    let ran = apply(&region, &[]).ends(3);
    assert!(changes(&ran).is_empty(), "{}", ran.stdout);
}
