//! Regions without a consumer: kubectl applies what is open, and what `pouch unpack` prints.

use std::process::Command;

use crate::delivered::Delivered;
use crate::kcm::{self, K0rdent, closures, old_copies};
use crate::support::{printed, tool};

/// The published bundles in a folder of their own.
fn check_out(region: &Delivered) -> String {
    let folder = region.fleet.path("checkout");
    let mut command = Command::new("sh");
    command.current_dir(region.origin().path());
    command.args(["-euc", "mkdir \"$1\" && git archive main | tar -x -C \"$1\"", "sh"]).arg(&folder);
    assert!(command.status().unwrap().success());
    folder.join("bundles/regions/eu").to_str().unwrap().to_owned()
}

fn apply_open(region: &Delivered, bundle: &str) {
    let folder = format!("{bundle}/open");
    region.server.kubectl_prints(["apply", "--server-side", "--force-conflicts", "-k", &folder], "");
}

fn apply_all(region: &Delivered, bundle: &str) {
    region.fleet.private("eu.agekey", Delivered::identity());
    // It prints values, which `Fleet::run` takes for a leak.
    let output = region.fleet.command(&["unpack", "--identity", "eu.agekey", bundle]).output().unwrap();
    let manifests = String::from_utf8(printed("pouch".as_ref(), &output)).unwrap();
    region.server.apply(&manifests);
}

#[test]
fn kubectl_brings_a_region_without_a_consumer_everything() {
    if tool("kubectl").is_none() {
        return;
    }
    let Some(mut region) = Delivered::new("none", "") else { return };
    region.put(&closures(1).concat());
    region.publish();
    let bundle = check_out(&region);
    apply_open(&region, &bundle);
    let differences = region.differences();
    let is_missing = |line: &String| line.starts_with("Secret ") && line.ends_with(" is missing");
    assert!(differences.len() == 4 && differences.iter().all(is_missing), "{differences:?}");
    apply_all(&region, &bundle);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

#[test]
fn kubectl_takes_copies_of_k0rdent_over() {
    let Some(mut region) = Delivered::new("none", "") else { return };
    old_copies().iter().for_each(|closure| K0rdent(&region.server).push(closure));
    let uids = kcm::uids(&region);
    region.put(&closures(2).concat());
    region.publish();
    let bundle = check_out(&region);
    apply_open(&region, &bundle);
    apply_all(&region, &bundle);
    // What k0rdent's field manager alone wrote stays: its labels, the note of kubectl and, where there is no such note
    // by which kubectl knows whose the entries were, an entry that left the source.
    let labels = |line: &str| line.contains(" labels k0rdent.mirantis.com/credential.");
    let notes =
        |line: &str| line.ends_with("-secret annotations kubectl.kubernetes.io/last-applied-configuration differs");
    let mut left = region.differences();
    left.retain(|line| !labels(line) && !notes(line));
    assert_eq!(left, ["Secret kcm-system/openstack-secret data old differs"]);
    let ran = region.verify_live(&[]).ends(8);
    assert_eq!(ran.stderr.matches("error[").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("error[stale-entry]"), "{}", ran.stderr);
    region.server.kubectl_prints(
        ["-n", "kcm-system", "patch", "secret", "openstack-secret", "--type=merge", "-p", "{\"data\":{\"old\":null}}"],
        "",
    );
    region.verify_live(&[]).ends(0);
    assert_eq!(kcm::uids(&region), uids, "something was made anew");
    kcm::again(&region);
}
