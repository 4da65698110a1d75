//! Bundles of the format before: whatever a run is about, it leaves them as they are or writes them as of now, and nothing
//! else changes by that.

use pouch_core::name::{Directory, FleetName};
use pouch_core::reuse::{ReuseKey, manifest_line};

use crate::support::fleet::{Fleet, Tree, copy};
use crate::support::origin::Origin;

fn manifest(region: &str) -> String {
    format!("bundles/regions/{region}/bundle.yaml")
}

/// The manifest of a region, which only Credentials with Secrets need, as the format before wrote it.
fn in_former(fleet: &Fleet, region: &str, text: &str) -> String {
    let (_, body) = text.split_once('\n').unwrap();
    let mut former = body.to_owned();
    for (now, before) in [
        ("apiVersion: pouch/v1alpha2", "apiVersion: pouch/v1alpha1"),
        ("recipients:\n- key: ", "recipients:\n- "),
        ("  - by:\n      kind: Credential\n      name: ", "  - kind: Credential\n    name: "),
        ("\n      namespace: ", "\n    namespace: "),
        ("    through: []", "    via: []"),
    ] {
        assert!(former.contains(now), "{now}: {former}");
        former = former.replace(now, before);
    }
    let key = ReuseKey::parse(fleet.read("reuse.key").trim()).unwrap();
    manifest_line(&key, &FleetName::from("acme"), &Directory::from(region), former.as_bytes()) + &former
}

/// Two fleets that have published the same, one of them in the format before.
fn two() -> (Fleet, Fleet) {
    let (now, former) = (Fleet::with_credentials(6), Fleet::empty());
    now.render(&[]).ends(0);
    copy(&now.path("."), &former.path("."));
    former.private("reuse.key", now.read("reuse.key"));
    for region in ["eu", "us"] {
        former.write(&manifest(region), in_former(&now, region, &now.read(&manifest(region))));
    }
    (now, former)
}

/// What differs between the trees of two fleets.
fn differing(one: &Fleet, other: &Fleet) -> Vec<String> {
    let (one, other): (Tree, Tree) = (one.tree("bundles"), other.tree("bundles"));
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    one.into_iter().filter(|(path, bytes)| other[path] != *bytes).map(|(path, _)| path).collect()
}

#[test]
fn the_next_run_writes_the_manifests_of_now() {
    let (now, former) = two();
    assert_eq!(differing(&now, &former), ["regions/eu/bundle.yaml", "regions/us/bundle.yaml"]);
    let plan = former.run(&["plan"]).ends(0).stdout;
    assert!(plan.contains("eu  would be published  6 objects, none changed\n"), "{plan}");
    former.render(&[]).ends(0).outcome("eu", "published").outcome("us", "published");
    assert_eq!(differing(&now, &former), Vec::<String>::new());
    former.render(&[]).ends(0).outcome("eu", "unchanged");
}

#[test]
fn a_paused_region_keeps_the_format_that_it_has() {
    let (now, former) = two();
    let before = former.read(&manifest("eu"));
    for fleet in [&now, &former] {
        fleet.configure("eu: {", "eu: {state: paused, ");
        fleet.delete("eu", "c0");
        fleet.render(&[]).ends(0);
    }
    assert_eq!(former.read(&manifest("eu")), before);
    assert_eq!(differing(&now, &former), ["regions/eu/bundle.yaml"]);
    // It says the same as any other bundle: what went meanwhile goes, and what is handed over stays for a while.
    for fleet in [&now, &former] {
        fleet.configure("state: paused, ", "");
        fleet.render(&[]).ends(0).outcome("eu", "published");
    }
    assert_eq!(differing(&now, &former), Vec::<String>::new());
}

#[test]
fn a_region_that_is_held_keeps_the_format_that_it_has() {
    let (now, former) = two();
    let before = former.read(&manifest("eu"));
    for fleet in [&now, &former] {
        fleet.write("bundles/regions/eu/core/of-somebody-else.yaml", "x: 1\n");
        fleet.render(&[]).ends(4).says("foreign-file");
    }
    assert_eq!(former.read(&manifest("eu")), before);
    assert_eq!(differing(&now, &former), ["regions/eu/bundle.yaml"]);
}

#[test]
fn deletions_that_are_held_are_the_same_ones() {
    let (now, former) = two();
    let ran = [&now, &former].map(|fleet| {
        (0..4).for_each(|n| fleet.delete("eu", &format!("c{n}")));
        let held = fleet.render(&[]).ends(4).says("deletions-held");
        held.acceptance("--accept-deletions", "eu")
    });
    assert_eq!(ran[0], ran[1]);
    assert_eq!(differing(&now, &former), Vec::<String>::new());
    for fleet in [&now, &former] {
        fleet.render(&["--accept-deletions", &ran[0]]).ends(0).outcome("eu", "published");
    }
    assert_eq!(differing(&now, &former), Vec::<String>::new());
}

#[test]
fn an_upgrade_is_proposed_as_one_commit_of_manifests() {
    let fleet = Fleet::with_credentials(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    for region in ["eu", "us"] {
        let text = origin.git(&["show", &format!("main:{}", manifest(region))]) + "\n";
        fleet.write(&manifest(region), in_former(&fleet, region, &text));
    }
    origin.commit_beside(&format!("cp -r '{}' .", fleet.path("bundles").display()));
    let base = origin.tip().unwrap();
    fleet.configure("branch: main", "base: main, branch: pouch/all");
    origin.publish(&[]).ends(0).outcome("eu", "published").outcome("us", "published");
    let changed = origin.git(&["diff", "--name-only", "main", "pouch/all"]);
    assert_eq!(changed, [manifest("eu"), manifest("us")].join("\n"));
    assert_eq!(origin.git(&["rev-parse", "pouch/all^"]), base);
    assert!(origin.git(&["show", &format!("pouch/all:{}", manifest("eu"))]).contains("apiVersion: pouch/v1alpha2"));
    // Until it is merged, the same is proposed.
    fleet.run(&["publish"]).ends(0).says("already");
}
