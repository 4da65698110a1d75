//! A lost reuse key: nothing that is published can be proved any more.

use pouch_core::reuse::ReuseKey;

use super::*;

pub fn lose(fleet: &Fleet) {
    fleet.private("reuse.key", ReuseKey::to_text(&[7; 32]));
}

#[test]
fn regions_are_adopted_from_the_sources_when_somebody_says_so() {
    let fleet = published(3);
    let before = fleet.tree("bundles");
    lose(&fleet);
    fleet.run(&["rekey"]).ends(4).says("unsigned-bundle").says("--new-reuse-key");
    assert_eq!(fleet.tree("bundles"), before);
    let ran = fleet.run(&["rekey", "--new-reuse-key"]).ends(0).outcome("eu", "published").outcome("us", "published");
    assert!(ran.stdout.contains("resealed") && !ran.stdout.contains("added"), "{}", ran.stdout);
    let after = fleet.tree("bundles");
    for region in ["eu", "us"] {
        let file = identity_file(region);
        prove(&fleet, &before, &after, region, (&file, &file), &[own(region)]);
    }
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
}

#[test]
fn with_an_identity_what_stands_there_is_taken_over() {
    let fleet = published(3);
    fleet.remove("manifests/eu-c1-secret.yaml");
    fleet.render(&[]).ends(3);
    let before = fleet.tree("bundles");
    lose(&fleet);
    without_sources(&fleet);
    let files = ["--identity", "keys/eu.txt", "--identity", "keys/us.txt"];
    fleet.run(&[&["rekey"][..], &files].concat()).ends(4).says("unsigned-bundle");
    fleet.run(&[&["rekey", "--new-reuse-key"][..], &files].concat()).ends(0);
    let after = fleet.tree("bundles");
    for region in ["eu", "us"] {
        let file = identity_file(region);
        prove(&fleet, &before, &after, region, (&file, &file), &[own(region)]);
    }
    std::fs::rename(fleet.path("manifests-gone"), fleet.path("manifests")).unwrap();
    fleet.render(&[]).ends(3).outcome("eu", "unchanged").outcome("us", "unchanged");
}

/// Without a manifest that is vouched for, nobody knows what a broken Credential has published: to leave it
/// out would withdraw it.
#[test]
fn nothing_is_withdrawn_by_losing_a_key() {
    let fleet = published(8);
    let before = fleet.tree("bundles");
    lose(&fleet);
    // Broken.
    std::fs::rename(fleet.path("manifests/eu-c1-secret.yaml"), fleet.path("away")).unwrap();
    let ran = fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(4).outcome("eu", "held");
    ran.says("rekey-impossible").says("Credential eu-team/c1 is broken");
    std::fs::rename(fleet.path("away"), fleet.path("manifests/eu-c1-secret.yaml")).unwrap();
    // Not read.
    fleet.write("manifests/torn.yaml", "kind: [");
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(4).says("was not read completely");
    fleet.remove("manifests/torn.yaml");
    // In no region any more, for a slip of the pen.
    let text = fleet.read("manifests/eu-c1.yaml");
    fleet.write("manifests/eu-c1.yaml", text.replace("region: eu", "region: eux"));
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(4).says("Credential eu-team/c1 is broken");
    fleet.write("manifests/eu-c1.yaml", &text);
    // Gone: the budget counts by what the bundle says of itself.
    for n in 1..8 {
        fleet.delete("eu", &format!("c{n}"));
    }
    let ran = fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(4).says("deletions-held");
    assert_eq!(fleet.tree("bundles"), before);
    let accepted = ran.acceptance("--accept-deletions", "eu");
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu", "--accept-deletions", &accepted]).ends(0);
    assert_eq!(opened(&fleet, &fleet.tree("bundles"), "eu", "keys/eu.txt").len(), 1);
}

/// By its own word it has the same objects; whether values change, nobody can tell.
#[test]
fn what_nobody_vouches_for_is_told_as_what_it_says_of_itself() {
    let fleet = published(2);
    lose(&fleet);
    let plan = fleet.run(&["plan"]).ends(0).stdout;
    let why = "(because no reuse key vouches for what is published; whether values change is not told)";
    assert!(plan.contains(&format!("resealed   Credential eu-team/c0: Secret eu-team/c0 {why}\n")), "{plan}");
    assert!(!plan.contains("added"), "{plan}");
    let asked = fleet.run(&["rekey", "--new-reuse-key", "--dry-run"]).ends(0).stdout;
    let why = "(because that was asked for and no reuse key vouches for what is published; whether values change";
    assert!(asked.contains(why), "{asked}");
}

#[test]
fn who_joins_is_asked_for_by_what_the_bundle_says_of_itself() {
    for way in [&[][..], &["--identity", "keys/eu.txt"]] {
        let fleet = published(2);
        lose(&fleet);
        let second = new_identity(&fleet, "keys/second.txt");
        configured(&fleet, "eu", &[EU, &second]);
        let command = [&["rekey", "--new-reuse-key", "--region", "eu"], way].concat();
        let accepted = fleet.run(&command).ends(4).acceptance("--accept-recipients", "eu");
        fleet.run(&[&command[..], &["--accept-recipients", &accepted]].concat()).ends(0);
    }
}

/// A key that leaked is replaced, with everything sealed under it, in one run.
#[test]
fn a_leaked_key_gives_way_with_the_old_one_as_previous() {
    let fleet = published(2);
    let before = fleet.tree("bundles");
    std::fs::rename(fleet.path("reuse.key"), fleet.path("old.key")).unwrap();
    lose(&fleet);
    fleet.configure("{file: reuse.key}", "{file: reuse.key, previous: [{file: old.key}]}");
    fleet.run(&["rekey"]).ends(0);
    let after = fleet.tree("bundles");
    prove(&fleet, &before, &after, "eu", ("keys/eu.txt", "keys/eu.txt"), &[EU]);
    fleet.configure(", previous: [{file: old.key}]", "");
    fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
}

/// Whatever stands beside a bundle that nobody vouches for is somebody's: from the sources as with an
/// identity, in a folder as on a branch, whether the bundle still says what it has or not.
#[test]
fn files_of_others_are_held_and_named_until_they_may_go() {
    const NOTES: &str = "bundles/regions/eu/mine/notes.txt";
    let held = |fleet: &Fleet, way: &[&str]| {
        let before = fleet.tree("bundles");
        let command = [&["rekey", "--new-reuse-key", "--region", "eu"], way].concat();
        fleet.run(&command).ends(4).says("error[foreign-file]").says("regions/eu/mine/notes.txt").outcome("eu", "held");
        assert_eq!(fleet.tree("bundles"), before);
        fleet.run(&[&command[..], &["--remove-foreign", "eu"]].concat()).ends(0).outcome("eu", "published");
        assert!(!fleet.path(NOTES).exists());
        assert_eq!(opened(fleet, &fleet.tree("bundles"), "eu", "keys/eu.txt").len(), 2);
    };
    for way in [&[][..], &["--identity", "keys/eu.txt"]] {
        let fleet = published(2);
        lose(&fleet);
        fleet.write(NOTES, "mine");
        held(&fleet, way);
    }
    // Nothing says what is pouch's any more.
    let fleet = published(2);
    lose(&fleet);
    fleet.write("bundles/regions/eu/bundle.yaml", "torn");
    fleet.run(&["rekey", "--new-reuse-key", "--region", "eu"]).ends(0);
    lose(&fleet);
    fleet.write("bundles/regions/eu/bundle.yaml", "torn");
    fleet.write(NOTES, "mine");
    held(&fleet, &[]);
}
