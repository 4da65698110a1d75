//! What becomes of a bundle's objects, one scene after the other on one region.

use serde_json::{Value, json};

use super::{all_ready, only_fails, set_up};
use crate::delivered::{Delivered, aws, azure, hold, oci, odd, openstack, role, shows_nothing, vsphere};
use crate::objects::{SYSTEM, TENANT};
use crate::rig::flux::Flux;
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
    let Some(mut region) = Delivered::new("flux", "") else { return };
    // Before Flux starts, as it remembers what a server serves.
    region.server.kubectl_prints(["delete", "crd", "ociclusteridentities.infrastructure.cluster.x-k8s.io"], "");
    let Some(flux) = set_up(&region, &[], &Value::Null) else { return };
    a_kind_that_the_region_lacks(&mut region, &flux);
    rotation(&mut region, &flux);
    removal(&mut region, &flux);
    another_type(&mut region, &flux);
    gone_and_back_with_another_type(&mut region, &flux);
    the_last_of_a_kind(&mut region, &flux);
    what_flux_leaves(&region, &flux);
}

/// Its CRD comes late, and stops its own kind only.
fn a_kind_that_the_region_lacks(region: &mut Delivered, flux: &Flux) {
    let file = "data/crds/identities/infrastructure.cluster.x-k8s.io_ociclusteridentities.yaml";
    let crd = shared(file).expect("the others were there");
    region.put(&all(1));
    region.publish();
    let said = flux.sync();
    let message = only_fails(&said, "eu-ociclusteridentity");
    assert!(message.contains("no matches for kind \"OCIClusterIdentity\""), "{message}");
    assert_eq!(region.differences(), ["OCIClusterIdentity team-a/oci is missing"]);
    let ran = region.verify_live(&[]).ends(8);
    assert!(
        ran.stderr.contains("error[kind-not-on-region]: the region serves no OCIClusterIdentity"),
        "{}",
        ran.stderr
    );

    region.server.install_files(&[crd]);
    all_ready(&flux.reconcile());
    region.is_exact();
    let ran = region.verify_live(&[]).ends(0);
    assert_eq!(ran.stdout, "eu  as published  13 objects\n", "{}", ran.stderr);
    shows_nothing("Flux's log", &flux.log());
}

/// Every value changes, and of one Secret an entry goes and another comes.
fn rotation(region: &mut Delivered, flux: &Flux) {
    region.put(&all(2));
    region.publish();
    let behind = region.verify_live(&[]).ends(8);
    assert!(behind.stderr.contains("error[differs-on-region]"), "{}", behind.stderr);
    all_ready(&flux.sync());
    region.is_exact();

    let mut secret = odd("odd", 3)[1].clone();
    secret["stringData"].as_object_mut().unwrap().remove("blank");
    secret["stringData"]["new"] = json!("entry");
    region.put(&[secret]);
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// What a Credential alone needed goes; what others need stays.
fn removal(region: &mut Delivered, flux: &Flux) {
    region.put(&[azure("azure-2", "azure-secret", 2), odd("odd-2", 1)].concat());
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();

    region.take(&azure("azure-2", "azure-secret", 2)[1..]);
    region.take(&odd("odd-2", 1));
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// The API server lets nobody change a Secret's type. Flux would delete the Secret and wait for its finalizers, and all
/// others with it; so pouch publishes no such change, and the claim keeps what it has.
fn another_type(region: &mut Delivered, flux: &Flux) {
    hold(region, &["example.com/held"]);
    let was = odd("odd", 3)[1].clone();
    let mut other = was.clone();
    other["type"] = json!("example.com/other");
    region.put(std::slice::from_ref(&was));
    region.publish();
    all_ready(&flux.sync());
    region.put(&[vec![other], aws("aws", 4)].concat());
    let ran = region.origin().publish(&[]).ends(3);
    assert!(ran.stderr.contains("error[immutable-field]: the type of Secret team-a/odd changes"), "{}", ran.stderr);
    all_ready(&flux.sync());
    assert_eq!(region.differences(), ["Secret team-a/odd type differs"]);
    region.verify_live(&[]).ends(0);
    region.put(&[was]);
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    hold(region, &[]);
}

/// The same in two publishes, of which neither tells that a type changes: first the Secret goes, then it comes with another
/// one. Flux makes it anew, which a finalizer would keep it from, and the core with it (`docs/findings/broken`).
fn gone_and_back_with_another_type(region: &mut Delivered, flux: &Flux) {
    let uid = |region: &Delivered| region.uids()["Secret team-a/odd"].clone();
    let was = uid(region);
    region.take(&odd("odd", 3));
    region.publish();
    let mut other = odd("odd", 5);
    other[1]["type"] = json!("example.com/other");
    region.put(&[other, aws("aws", 5)].concat());
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    assert_ne!(uid(region), was);
}

/// Emptied leaves are pruned like others; Namespaces stay.
fn the_last_of_a_kind(region: &mut Delivered, flux: &Flux) {
    region.take(&vsphere("vsphere", 2));
    region.take(&azure("azure", "azure-secret", 2));
    region.take(&oci("oci", 2));
    region.take(&odd("odd", 2));
    // All that a namespace has, at once.
    region.publish();
    all_ready(&flux.sync());
    region.is_exact();
    let ran = region.verify_live(&[]).ends(0);
    assert_eq!(ran.stdout, "eu  as published  6 objects\n", "{}", ran.stderr);
    for namespace in [SYSTEM, TENANT] {
        assert_eq!(region.get(&format!("/api/v1/namespaces/{namespace}"))["status"]["phase"], "Active", "{namespace}");
    }
}

/// Who deletes what brings the bundle deletes nothing that it brought.
fn what_flux_leaves(region: &Delivered, flux: &Flux) {
    let before = flux.kustomizations().len();
    assert!(before > 5, "{before}");
    region.server.kubectl_prints(["-n", "flux-system", "delete", "kustomization", "bundle", "--timeout=60s"], "");
    // Flux has asked for the deletion of the leaves by now. Each goes when its own finalizer has.
    region
        .server
        .kubectl_prints(["-n", "flux-system", "wait", "--for=delete", "kustomizations", "--all", "--timeout=60s"], "");
    let left: Vec<Value> = flux.kustomizations();
    assert!(left.is_empty(), "{left:?}");
    region.is_exact();
}
