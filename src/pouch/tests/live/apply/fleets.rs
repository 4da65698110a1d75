//! Two bundles on one cluster, and commits that are older than what the region has.

use serde_json::Value;

use super::{apply, changes, inventory, region};
use crate::delivered::{Delivered, odd};
use crate::objects::TENANT;
use crate::support::fleet::Fleet;

/// Renders a second fleet of one Secret beside the first, and applies it to the same region.
fn second(region: &Delivered, names: &[&str]) -> crate::support::fleet::Ran {
    let fleet = &region.fleet;
    let config =
        fleet.read("pouch.yaml").replace("{name: acme}", "{name: other}").replace("path: manifests", "path: m2");
    let line = |line: &str| {
        if line.starts_with("output:") { "output: {path: out2}\n".to_owned() } else { format!("{line}\n") }
    };
    let config: String = config.lines().map(line).collect();
    fleet.write("second.yaml", config);
    for name in ["x", "y"] {
        let objects: Vec<Value> = odd(name, 1);
        for (index, object) in objects.iter().enumerate() {
            let file = format!("m2/{name}-{index}.json");
            if names.contains(&name) {
                fleet.write(&file, object.to_string());
            } else if fleet.has(&file) {
                fleet.remove(&file);
            }
        }
    }
    rendered(fleet);
    fleet.run(&[
        "apply",
        "out2",
        "--identity=eu.agekey",
        "--kubeconfig=kubeconfig",
        "--context=admin",
        "--inventory-namespace=default",
    ])
}

fn rendered(fleet: &Fleet) {
    let ran = fleet.run(&["render", "-f", "second.yaml", "out2"]);
    if ran.code == 4 {
        let digest = ran.acceptance("--accept-deletions", "eu");
        fleet.run(&["render", "-f", "second.yaml", "out2", "--accept-deletions", &digest]).ends(0);
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
    assert_eq!(changes(&second(&region, &["x", "y"]).ends(0)), ["added Secret team-a/x", "added Secret team-a/y"]);
    region.take(&odd("b", 1));
    region.publish();
    assert_eq!(changes(&apply(&region, &[]).ends(0)), ["withdrawn Secret team-a/b"]);
    assert_eq!(changes(&second(&region, &["x"]).ends(0)), ["withdrawn Secret team-a/y"]);
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
    let fixed = ["apply", origin.to_str().unwrap(), "--rev=main~1", "--region=eu", "--identity=eu.agekey"];
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
fn cloned(region: &Delivered, name: &str, more: &[&str], ends: i32) -> crate::support::fleet::Ran {
    let clone = region.fleet.path(name);
    let url = format!("file://{}", region.origin().path().display());
    let words = ["clone", "--quiet", "--bare", "--single-branch", "--branch=main"];
    region.origin().git(&[&words[..], more, &[&url, clone.to_str().unwrap()]].concat());
    let fixed = ["apply", name, "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig", "--context=admin"];
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
    let folder = ["apply", "bundles", "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig"];
    region.origin().run_beside(&format!("git checkout -q {newest}; cp -r bundles ../bundles"));
    region.fleet.run(&[&folder[..], &["--context=admin", "--inventory-namespace=default"]].concat()).ends(0);
    cloned(&region, "older-2.git", &[], 5).says("which the repository does not know");
    // What the configuration publishes to is asked for its history.
    let configured = ["apply", "--region=eu", "--identity=eu.agekey", "--kubeconfig=kubeconfig", "--context=admin"];
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
