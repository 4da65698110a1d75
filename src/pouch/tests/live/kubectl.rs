//! Regions without a consumer: kubectl applies what is open, and what `pouch unpack` prints.

use std::process::Command;

use serde_json::json;

use crate::delivered::Delivered;
use crate::kcm::{self, K0rdent, closures, old_copies};
use crate::opened::opened_and_shut;
use crate::support::{printed, tool};

/// The published bundles in a folder of their own, in place of older ones.
fn check_out(region: &Delivered) -> String {
    let folder = region.fleet.path("checkout");
    let _ = std::fs::remove_dir_all(&folder);
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

    opened_and_shut(&mut region, &|region| apply_all(region, &check_out(region)));
}

#[test]
fn kubectl_takes_copies_of_k0rdent_over() {
    let Some(mut region) = Delivered::new("none", "") else { return };
    old_copies().iter().for_each(|closure| K0rdent(&region.server).push(closure));
    let copies = closures(1).concat();
    kcm::mark(&region.server, &copies);
    let kept = kcm::kept(&region.server, &copies);
    region.put(&closures(2).concat());
    region.publish();
    let bundle = check_out(&region);
    // As `docs/adoption` has it: otherwise kubectl takes k0rdent for an earlier kubectl, and what controllers of the same
    // name set for its own.
    let noted = ["annotate", "secrets", "--all-namespaces", "-l", "k0rdent.mirantis.com/managed=true"];
    region.server.kubectl_prints([&noted[..], &["kubectl.kubernetes.io/last-applied-configuration-"]].concat(), "");
    apply_open(&region, &bundle);
    apply_all(&region, &bundle);
    // What k0rdent's field manager alone wrote stays: its labels, and an entry that left the source.
    let labels = |line: &str| {
        [" labels k0rdent.mirantis.com/credential.", " labels example.com/owner"].iter().any(|part| line.contains(part))
    };
    let mut left = region.differences();
    left.retain(|line| !labels(line));
    let secrets = ["aws", "azure", "openstack", "vsphere"].map(|name| format!("{name}-secret"));
    let expected: Vec<String> =
        secrets.iter().map(|name| format!("Secret kcm-system/{name} data old differs")).collect();
    assert_eq!(left, expected);
    let ran = region.verify_live(&[]).ends(8);
    assert_eq!(ran.stderr.matches("error[stale-entry]").count(), 4, "{}", ran.stderr);
    assert!(!ran.stderr.contains("[cleartext-copy]"), "{}", ran.stderr);
    for name in &secrets {
        let patch = ["-n", "kcm-system", "patch", "secret", name, "--type=merge", "-p", "{\"data\":{\"old\":null}}"];
        region.server.kubectl_prints(patch, "");
    }
    region.verify_live(&[]).ends(0);
    // What k0rdent had pushed with the same value is of both, so that its next change wants the flag, and it alone.
    let rotated = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "openstack-secret", "namespace": "kcm-system"},
                         "data": {"clouds.yaml": "YW5vdGhlcg=="}});
    let apply = |more: &[&str]| {
        let flags = ["apply", "--server-side", "-f", "-"];
        region.server.kubectl(flags.iter().chain(more), &rotated.to_string())
    };
    let refused = String::from_utf8(apply(&[]).stderr).unwrap();
    assert!(refused.contains("conflict with \"manager\"") && refused.contains(".data.clouds.yaml"), "{refused}");
    assert!(apply(&["--force-conflicts"]).status.success() && apply(&[]).status.success());
    apply_all(&region, &bundle);
    assert_eq!(kcm::kept(&region.server, &copies), kept, "something was made anew, or taken from controllers");
    kcm::again(&region);
}
