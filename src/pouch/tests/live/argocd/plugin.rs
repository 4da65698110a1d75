//! Argo CD with the plugin of `examples/argocd-plugin`: `pouch unpack` in a cmp-server.

use std::ffi::OsString;
use std::path::Path;

use serde_json::{Value, json};

use super::{APPLICATION, follow, no_value_in_sight, sync, synced};
use crate::delivered::{Delivered, aws, azure, hold, odd, openstack, role, vsphere};
use crate::objects::{SYSTEM, TENANT};
use crate::rig::argocd::{ArgoCd, Builds};
use crate::support::root;

fn all(state: u64) -> Vec<Value> {
    [
        aws("aws", state),
        role("role", "aws"),
        azure("azure", "azure-secret", state),
        vsphere("vsphere", state),
        openstack("openstack"),
        odd("odd", state),
    ]
    .concat()
}

pub fn builds(region: &Delivered) -> Builds {
    let folder = Path::new(env!("CARGO_BIN_EXE_pouch")).parent().expect("a folder").to_owned();
    let text = std::fs::read_to_string(root().join("examples/argocd-plugin/plugin.yaml")).unwrap();
    let plugin = crate::bundle::node(text.as_bytes());
    let plugin = plugin.str_at(&["data", "plugin.yaml"]).expect("the example is a ConfigMap").to_owned();
    region.fleet.private("eu.agekey", Delivered::identity());
    let path =
        std::env::join_paths(std::iter::once(folder).chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())))
            .unwrap();
    let environment = vec![("PATH", path), ("SOPS_AGE_KEY_FILE", OsString::from(region.fleet.path("eu.agekey")))];
    Builds { plugin: Some((plugin, environment)), programs: Vec::new(), environment: Vec::new() }
}

#[test]
fn a_region_is_what_its_sources_say() {
    let Some(mut region) = Delivered::new("argocd", "") else { return };
    region.put(&all(1));
    region.publish();
    let Some(argo) = ArgoCd::start(&region.server, Delivered::collections(), &builds(&region)) else { return };
    follow(&region);
    synced(&region, &argo);
    region.is_exact();
    let ran = region.verify_live(&[]).ends(0);
    assert_eq!(ran.stdout, "eu  as published  11 objects\n", "{}", ran.stderr);

    rotation(&mut region, &argo);
    removal(&mut region, &argo);
    another_type(&mut region, &argo);
    who_writes_to_the_branch(&mut region, &argo);
    a_key_of_another_region(&mut region, &argo);
    all_of_a_region(&mut region, &argo);
    no_value_in_sight(&argo);
}

/// Every value changes, and of one Secret an entry goes and another comes.
fn rotation(region: &mut Delivered, argo: &ArgoCd) {
    region.put(&all(2));
    region.publish();
    synced(region, argo);
    region.is_exact();

    let mut secret = odd("odd", 3)[1].clone();
    secret["stringData"].as_object_mut().unwrap().remove("blank");
    secret["stringData"]["new"] = json!("entry");
    region.put(&[secret]);
    region.publish();
    synced(region, argo);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// What a Credential alone needed goes; what others need stays; Namespaces stay.
fn removal(region: &mut Delivered, argo: &ArgoCd) {
    region.put(&[azure("azure-2", "azure-secret", 2), odd("odd-2", 1)].concat());
    region.publish();
    synced(region, argo);
    region.is_exact();

    region.take(&azure("azure-2", "azure-secret", 2)[1..]);
    region.take(&odd("odd-2", 1));
    // The last of its kind.
    region.take(&vsphere("vsphere", 2));
    region.publish();
    synced(region, argo);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// The API server lets nobody change a Secret's type, so pouch publishes no such change; all else goes on, whatever holds
/// the Secret.
fn another_type(region: &mut Delivered, argo: &ArgoCd) {
    hold(region, &["example.com/held"]);
    let mut other = odd("odd", 3)[1].clone();
    other["type"] = json!("example.com/other");
    region.put(&[vec![other], aws("aws", 3)].concat());
    region.origin().publish(&[]).ends(3).says("error[immutable-field]: the type of Secret team-a/odd changes");
    synced(region, argo);
    let differences = region.differences();
    let is_of_it = |line: &String| line.starts_with("Secret team-a/odd ");
    assert!(!differences.is_empty() && differences.iter().all(is_of_it), "{differences:?}");
    region.verify_live(&[]).ends(0);
    region.put(&odd("odd", 3)[1..]);
    region.publish();
    synced(region, argo);
    region.is_exact();
    hold(region, &[]);
}

/// Whatever somebody else did to the bundle, the plugin gives nothing of it.
fn who_writes_to_the_branch(region: &mut Delivered, argo: &ArgoCd) {
    let path = "bundles/regions/eu/core/secrets/team-a/azure-secret.sops.yaml";
    let text = region.origin().git(&["show", &format!("main:{path}")]);
    let cut: Vec<&str> = text.lines().filter(|line| !line.starts_with("  clientSecret:")).collect();
    let plain = "apiVersion: v1\nkind: Secret\nmetadata: {name: azure-secret, namespace: team-a}\ndata: {a: Yg==}";
    for (edited, why) in [(&*cut.join("\n"), "does not match the manifest"), (plain, "holds a Secret in clear")] {
        region.fleet.write("edited", format!("{edited}\n"));
        region.origin().commit_beside(&format!("cp '{}' {path}", region.fleet.path("edited").display()));
        let said = sync(region, argo);
        assert!(said.conditions.iter().any(|condition| condition.contains(why)), "{said:#?}");
        region.is_exact();
        region.verify().ends(8);
        region.verify_live(&[]).ends(8);

        let ran = region.origin().publish(&[]);
        assert!(ran.stderr.contains("[not-as-published]"), "{}", ran.stderr);
        synced(region, argo);
        region.is_exact();
    }
}

/// What does not open changes nothing, and withdraws nothing.
fn a_key_of_another_region(region: &mut Delivered, argo: &ArgoCd) {
    let other = std::fs::read_to_string(root().join("testdata/quickstart/keys/us-east.txt")).unwrap();
    region.fleet.private("eu.agekey", other);
    region.put(&azure("azure", "azure-secret", 3));
    region.publish();
    let said = sync(region, argo);
    assert!(said.conditions.iter().any(|condition| condition.contains("opens nothing in regions/eu")), "{said:#?}");
    assert_eq!(region.differences().len(), 2, "the identity and its Secret as they were: {:?}", region.differences());
    region.verify_live(&[]).ends(8).says("error[differs-on-region]");

    region.fleet.private("eu.agekey", Delivered::identity());
    region.put(&odd("odd", 4));
    region.publish();
    synced(region, argo);
    region.is_exact();
    region.verify_live(&[]).ends(0);
}

/// Argo CD does not empty a region by itself; whoever deletes the Application deletes nothing else.
fn all_of_a_region(region: &mut Delivered, argo: &ArgoCd) {
    let before = region.versions();
    region.server.kubectl_prints(["-n", "argocd", "delete", "application", APPLICATION, "--timeout=60s"], "");
    region.is_exact();
    assert_eq!(region.versions(), before);
    follow(region);
    synced(region, argo);

    for closure in
        [aws("aws", 2), role("role", "aws"), azure("azure", "azure-secret", 3), openstack("openstack"), odd("odd", 4)]
    {
        region.take(&closure);
    }
    let held = region.origin().publish(&[]).ends(4);
    let line =
        held.stderr.lines().find_map(|line| line.strip_prefix("to let through all that is held: pouch publish "));
    region.origin().publish(&line.expect("it is held").split(' ').collect::<Vec<_>>()).ends(0);
    let said = sync(region, argo);
    assert!(
        said.conditions.iter().any(|condition| condition.contains("auto-sync will wipe out all resources")),
        "{said:#?}"
    );
    assert!(!region.differences().is_empty(), "all of it is gone already");
    region.verify_live(&[]).ends(8).says("error[left-behind]");

    // By hand it is, as `argocd app sync --prune` does.
    let said = argo.sync_by_hand(APPLICATION, &json!({"revision": "main", "prune": true}));
    assert_eq!(said.phase, "Succeeded", "{said:#?}");
    // What is pruned goes a moment after that; the Namespaces, which nobody deletes, keep nothing out of sync.
    argo.wait_until_synced(APPLICATION);
    assert_eq!(region.differences(), Vec::<String>::new());
    region.verify_live(&[]).ends(0);
    for namespace in [SYSTEM, TENANT] {
        assert_eq!(region.get(&format!("/api/v1/namespaces/{namespace}"))["status"]["phase"], "Active", "{namespace}");
    }
}
