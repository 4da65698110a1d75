//! Two bundles on one cluster, and commits that are older than what the region has.

use serde_json::Value;

use super::{apply, changes, inventory, region};
use crate::delivered::{Delivered, odd};
use crate::objects::TENANT;
use crate::support::fleet::{Fleet, Ran};

/// A second bundle beside the first.
struct Second {
    fleet: &'static str,
    region: &'static str,
}

/// Renders a second bundle beside the first.
fn second(region: &Delivered, of: &Second, names: &[&str]) {
    let fleet = &region.fleet;
    let config = fleet
        .read("pouch.yaml")
        .replace("{name: acme}", &format!("{{name: {}}}", of.fleet))
        .replace("  eu: {", &format!("  {}: {{", of.region))
        .replace("path: manifests", "path: m2");
    let line = |line: &str| {
        if line.starts_with("output:") { "output: {path: out2}\n".to_owned() } else { format!("{line}\n") }
    };
    let config: String = config.lines().map(line).collect();
    fleet.write("second.yaml", config);
    for name in ["a", "x", "y"] {
        let objects: Vec<Value> = odd(name, 1);
        for (index, object) in objects.iter().enumerate() {
            let file = format!("m2/{name}-{index}.json");
            if names.contains(&name) {
                fleet.write(&file, object.to_string().replace("\"eu\"", &format!("\"{}\"", of.region)));
            } else if fleet.has(&file) {
                fleet.remove(&file);
            }
        }
    }
    rendered(fleet, of.region);
}

/// Applies the second bundle to the same cluster.
fn apply_second(region: &Delivered, more: &[&str]) -> Ran {
    let fixed = ["deliver", "out2", "--identity=eu.agekey", "--kubeconfig=kubeconfig", "--context=admin"];
    region.fleet.run(&[&fixed[..], &["--inventory-namespace=default"], more].concat())
}

fn rendered(fleet: &Fleet, region: &str) {
    let ran = fleet.run(&["render", "-f", "second.yaml", "--output-dir", "out2"]);
    if ran.code == 4 {
        let digest = ran.acceptance("--accept-deletions", region);
        fleet.run(&["render", "-f", "second.yaml", "--output-dir", "out2", "--accept-deletions", &digest]).ends(0);
    } else {
        ran.ends(0);
    }
}

#[test]
fn two_fleets_leave_each_others_objects_alone() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("a", 1), odd("b", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let other = Second { fleet: "other", region: "eu" };
    second(&region, &other, &["x", "y"]);
    let before = region.versions();
    let ran = apply_second(&region, &[]).ends(5);
    assert!(ran.stderr.contains("wrong cluster: admin has bundle acme.eu"), "{}", ran.stderr);
    assert_eq!(region.versions(), before);
    let ran = apply_second(&region, &["--shared-cluster"]).ends(0);
    assert_eq!(changes(&ran), ["added Secret team-a/x", "added Secret team-a/y"]);
    region.take(&odd("b", 1));
    region.publish();
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/b"]);
    second(&region, &other, &["x"]);
    assert_eq!(changes(&apply_second(&region, &[]).ends(0)), ["withdrawn Secret team-a/y"]);
    assert_eq!(inventory(&region), ["Secret team-a/a"]);
    for (name, is_there) in [("a", true), ("b", false), ("x", true), ("y", false)] {
        let found = region.get(&format!("/api/v1/namespaces/{TENANT}/secrets/{name}"));
        assert_eq!(!found.is_null(), is_there, "{name}");
    }
}

#[test]
fn an_older_commit_is_refused_unless_it_is_wanted() {
    let Some(mut region) = region() else { return };
    region.put(&odd("a", 1));
    region.publish();
    region.put(&odd("a", 2));
    region.publish();
    apply(&region, &[]).ends(0);
    let before = region.versions();
    let origin = region.origin().path();
    let fixed = ["deliver", origin.to_str().unwrap(), "--rev=main~1", "--region=eu", "--identity=eu.agekey"];
    let reach = ["--kubeconfig=kubeconfig", "--context=admin", "--inventory-namespace=default"];
    let ran = region.fleet.run(&[&fixed[..], &reach].concat()).ends(5);
    assert!(ran.stderr.contains(" is older than ") && ran.stderr.contains(", which the region has"), "{}", ran.stderr);
    assert_eq!(region.versions(), before);
    region.fleet.run(&[&fixed[..], &reach, &["--rollback"]].concat()).ends(0);
    assert_ne!(region.versions(), before);
    // Back to the newer one, which needs no word.
    apply(&region, &[]).ends(0);
    region.is_exact();
}

/// As a job clones it: anew for every run, so that a commit which was taken off the branch is not there.
fn cloned(region: &Delivered, name: &str, more: &[&str], ends: i32) -> Ran {
    let clone = region.fleet.path(name);
    let url = format!("file://{}", region.origin().path().display());
    let words = ["clone", "--quiet", "--bare", "--single-branch", "--branch=main"];
    region.origin().git(&[&words[..], more, &[&url, clone.to_str().unwrap()]].concat());
    let fixed = ["deliver", name, "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig", "--context=admin"];
    region.fleet.run(&[&fixed[..], &["--inventory-namespace=default"]].concat()).ends(ends)
}

#[test]
fn a_commit_that_does_not_follow_is_refused_in_a_fresh_clone() {
    let Some(mut region) = region() else { return };
    for state in [1, 2, 3] {
        region.put(&odd("a", state));
        region.publish();
        if state == 2 {
            cloned(&region, "first.git", &[], 0);
        }
    }
    cloned(&region, "second.git", &[], 0);
    let newest = region.origin().tip().unwrap();
    let before = region.versions();

    region.origin().git(&["update-ref", "refs/heads/main", "main~1"]);
    let ran = cloned(&region, "older.git", &[], 5);
    assert!(ran.stderr.contains("which the repository does not know"), "{}", ran.stderr);
    // A folder between, which no commit is known of, makes nothing older newer.
    let folder = ["deliver", "bundles", "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig"];
    region.origin().run_beside(&format!("git checkout -q {newest}; cp -r bundles ../bundles"));
    region.fleet.run(&[&folder[..], &["--context=admin", "--inventory-namespace=default"]].concat()).ends(0);
    cloned(&region, "older-2.git", &[], 5).says("which the repository does not know");
    // What the configuration publishes to is asked for its history.
    let configured = ["deliver", "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig", "--context=admin"];
    let configured = [&configured[..], &["--inventory-namespace=default"]].concat();
    region.fleet.run(&configured).ends(5).says(" is older than ");
    assert_eq!(region.versions(), before);

    // Another history of the same tree.
    region.origin().git(&["update-ref", "refs/heads/main", &newest]);
    region.origin().run_beside(
        "git reset -q --soft HEAD~1; git -c commit.gpgsign=false commit -qm other; git push -qf origin HEAD:main",
    );
    region.fleet.run(&configured).ends(5).says(" does not descend from ");
    region.origin().git(&["update-ref", "refs/heads/main", &newest]);
    region.fleet.run(&configured).ends(0);

    // The tip alone does not say what came before it.
    region.put(&odd("a", 4));
    region.publish();
    cloned(&region, "shallow.git", &["--depth=1"], 5).says("is too shallow to tell");
    cloned(&region, "whole.git", &[], 0);
    // It is the very commit that the region has.
    cloned(&region, "shallow-2.git", &["--depth=1"], 0);
    region.is_exact();
}

#[test]
fn another_region_s_cluster_is_refused() {
    let Some(mut region) = region() else { return };
    region.put(&odd("a", 1));
    region.publish();
    apply(&region, &[]).ends(0);
    let us = Second { fleet: "acme", region: "us" };
    second(&region, &us, &["x"]);
    let before = region.versions();
    for flags in [&[][..], &["--dry-run"]] {
        apply_second(&region, flags).ends(5).says("wrong cluster: admin has bundle acme.eu");
    }
    // Without what names the bundles, objects say of which they are.
    region.server.kubectl_prints(["-n", "default", "delete", "configmap", "pouch.bundles"], "");
    second(&region, &us, &["a", "x"]);
    apply_second(&region, &[]).ends(5).says("wrong cluster: Secret team-a/a on admin was applied of bundle acme.eu");
    assert_eq!(region.versions(), before);

    // Two regions may share a cluster, but not an object.
    let ran = apply_second(&region, &["--shared-cluster"]).ends(3);
    assert!(ran.stderr.contains("error: Secret team-a/a was applied of another bundle, acme.eu"), "{}", ran.stderr);
    assert_eq!(changes(&ran), ["added Secret team-a/x"]);
    apply_second(&region, &[]).ends(3);
    second(&region, &us, &["x"]);
    apply_second(&region, &[]).ends(0);
    apply(&region, &[]).ends(0);
    assert!(!region.get(&format!("/api/v1/namespaces/{TENANT}/secrets/a")).is_null());
}

/// What docs/operations.md says of a fleet, or a folder, that gets another name.
#[test]
fn a_fleet_of_another_name_takes_over_what_it_brought() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("a", 1), odd("x", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    let uids = region.uids();
    second(&region, &Second { fleet: "other", region: "eu" }, &["a", "x"]);
    apply_second(&region, &["--shared-cluster"]).ends(3).says("was applied of another bundle, acme.eu");
    for name in ["a", "x"] {
        let patch = r#"[{"op": "replace", "path": "/metadata/managedFields", "value": [{}]}]"#;
        region.server.kubectl_prints(["-n", TENANT, "patch", "secret", name, "--type=json", "-p", patch], "");
    }
    let maps = ["pouch.acme.eu", "pouch.bundles"];
    region.server.kubectl_prints([&["-n", "default", "delete", "configmap"], &maps[..]].concat(), "");
    apply_second(&region, &[]).ends(0);
    assert!(changes(&apply_second(&region, &[]).ends(0)).is_empty());
    assert_eq!(region.uids(), uids);
    // From now on it may take away what the other one brought.
    second(&region, &Second { fleet: "other", region: "eu" }, &["a"]);
    assert_eq!(changes(&apply_second(&region, &[]).ends(0)), ["withdrawn Secret team-a/x"]);
}

#[test]
fn a_bundle_that_calls_itself_another_fleet_s_is_refused() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("a", 1), odd("b", 1)].concat());
    region.publish();
    apply(&region, &["--fleet=acme"]).ends(0);
    second(&region, &Second { fleet: "other", region: "eu" }, &["x"]);
    let before = region.versions();
    let manifest = "out2/regions/eu/bundle.yaml";
    let forge = |name: &str| {
        let text = region.fleet.read(manifest).replace("fleet: other", &format!("fleet: {name}"));
        region.fleet.write(manifest, text);
    };
    forge("third");
    apply_second(&region, &[]).ends(5).says("wrong cluster");
    // Its inventory is there: only who says which fleet is meant knows better.
    region.fleet.write(manifest, region.fleet.read(manifest).replace("fleet: third", "fleet: acme"));
    let ran = apply_second(&region, &["--fleet=other"]).ends(8);
    assert!(ran.stderr.contains("the bundle is of fleet acme, and --fleet says other"), "{}", ran.stderr);
    assert_eq!(region.versions(), before);
}

#[test]
fn a_second_inventory_is_not_begun_unasked() {
    let Some(mut region) = region() else { return };
    region.put(&[odd("a", 1), odd("b", 1)].concat());
    region.publish();
    apply(&region, &[]).ends(0);
    region.take(&odd("b", 1));
    region.publish();
    let fixed = super::flags(&region);
    let words: Vec<&str> = fixed.iter().map(String::as_str).filter(|flag| !flag.starts_with("--inventory")).collect();
    region
        .fleet
        .run(&words)
        .ends(5)
        .says("was applied of bundle acme.eu before, and its inventory is not in namespace");
    let ran = region.fleet.run(&[&words[..], &["--new-inventory"]].concat()).ends(0);
    assert!(changes(&ran).is_empty(), "{}", ran.stdout);
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/b"]);
}
