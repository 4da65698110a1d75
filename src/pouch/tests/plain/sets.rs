//! ApplicationSets of a fleet: whom they list, and when they go.

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

const SET: &str = "bundles/argocd/acme-applicationset.yaml";

/// Two regions; `us` is delivered by an ApplicationSet, and `eu` too where `more` says so.
fn fleet(more: bool) -> Fleet {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("delivery: argocd}", "delivery: {argocd: {kind: ApplicationSet}}}");
    if more {
        fleet.configure("delivery: flux}", "delivery: {argocd: {kind: ApplicationSet}}}");
    }
    fleet
}

#[track_caller]
fn prints(ran: Ran, text: &str) {
    assert!(ran.stdout.contains(text), "no {text:?} in:\n{}", ran.stdout);
}

/// The regions that the set in the branch lists.
fn listed(origin: &Origin<'_>) -> Vec<String> {
    let text = origin.git(&["show", &format!("main:{SET}")]);
    let region = |line: &str| Some(line.trim().strip_prefix("path: bundles/regions/")?.to_owned());
    text.lines().filter_map(region).collect()
}

#[test]
fn a_set_lists_the_regions_that_have_a_bundle() {
    let fleet = fleet(true);
    let origin = Origin::new(&fleet, "");
    // One that is not published yet would be an Application without a folder.
    let planned = fleet.run(&["plan", "--region", "us"]).ends(0);
    prints(planned, "the fleet's file argocd/acme-applicationset.yaml would change");
    fleet.run(&["publish", "--first", "--region", "us"]).ends(0);
    assert_eq!(listed(&origin), ["us"]);
    prints(fleet.run(&["publish"]).ends(0), "the fleet's file argocd/acme-applicationset.yaml is written");
    assert_eq!(listed(&origin), ["eu", "us"]);
    fleet.run(&["verify"]).ends(0);
    // A run that is not about a region changes nothing of it, nor does a pause.
    fleet.run(&["publish", "--region", "us"]).ends(0).says("nothing changed");
    fleet.configure("  eu: {", "  eu: {state: paused, ");
    fleet.run(&["publish"]).ends(0).says("nothing changed");
    // Nor is a region gone whose withdrawal is held.
    fleet.configure("  eu: {state: paused, ", "  eu: {state: retired, ");
    let held = fleet.run(&["publish"]).ends(4);
    let accept = held.acceptance("--accept-deletions", "eu");
    fleet.run(&["publish", "--region", "us"]).ends(0).says("nothing changed");
    assert_eq!(listed(&origin), ["eu", "us"]);
    prints(
        fleet.run(&["publish", "--accept-deletions", &accept]).ends(0).outcome("eu", "withdrawn"),
        "the fleet's file argocd/acme-applicationset.yaml is written",
    );
    assert_eq!(listed(&origin), ["us"]);
    fleet.run(&["verify"]).ends(0);
}

#[test]
fn a_region_that_was_never_published_is_not_listed_however_it_is_configured() {
    let fleet = fleet(true);
    fleet.configure("  eu: {", "  eu: {state: paused, ");
    let origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    assert_eq!(listed(&origin), ["us"]);
    origin.commit_beside(&format!("sed 's|regions/us|regions/eu|; s|acme-us|acme-eu|' -i {SET}"));
    fleet.run(&["verify", "--region", "us"]).ends(0);
    fleet.run(&["verify", "repo.git"]).ends(8).says("acme-applicationset.yaml differs");
}

/// A region whose manifest is lost is held, and whoever watches the set must not take that for a region that is gone.
#[test]
fn a_lost_manifest_takes_no_region_out_of_the_set() {
    let fleet = fleet(true);
    fleet.render(&[]).ends(0);
    let before = fleet.read(SET);
    fleet.remove("bundles/regions/eu/bundle.yaml");
    let ran = fleet.render(&[]);
    assert!(ran.stdout.contains("eu  held"), "{}", ran.stdout);
    assert_eq!(fleet.read(SET), before);
    fleet.remove("bundles/regions/us/bundle.yaml");
    let ran = fleet.render(&[]);
    assert!(!ran.stdout.contains("applicationset"), "{}", ran.stdout);
    assert_eq!(fleet.read(SET), before);
}

#[test]
fn a_set_that_no_region_needs_is_removed_and_told() {
    let fleet = fleet(false);
    let origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first"]).ends(0);
    let before = origin.tip().unwrap();
    fleet.configure("delivery: {argocd: {kind: ApplicationSet}}}", "delivery: argocd}");
    prints(fleet.run(&["plan", "--detailed-exitcode"]).ends(2), "acme-applicationset.yaml would be removed");
    prints(
        fleet.run(&["publish"]).ends(0).outcome("us", "published"),
        "the fleet's file argocd/acme-applicationset.yaml is removed: no region needs it any more",
    );
    assert!(!origin.files().contains(&SET.to_owned()));
    fleet.run(&["verify"]).ends(0);
    fleet.run(&["publish"]).ends(0).says("nothing changed");
    // What pouch did not write is nobody's to remove.
    origin.commit_beside(&format!("git checkout -q {before} -- {SET}; sed 's/create-update/sync/' -i {SET}"));
    fleet.run(&["publish"]).ends(8).says("no region of the configuration is delivered by it");
    assert!(origin.files().contains(&SET.to_owned()));
}

#[test]
fn a_folder_loses_a_set_that_no_region_needs() {
    let fleet = fleet(true);
    fleet.render(&[]).ends(0);
    assert!(fleet.has(SET));
    fleet.configure("  eu: {", "  eu: {state: retired, ");
    fleet.configure("  us: {", "  us: {state: retired, ");
    let held = fleet.render(&[]).ends(4);
    assert!(fleet.has(SET));
    let accept = ["eu", "us"].map(|region| held.acceptance("--accept-deletions", region));
    prints(
        fleet.render(&["--accept-deletions", &accept[0], "--accept-deletions", &accept[1]]).ends(0),
        "the fleet's file argocd/acme-applicationset.yaml is removed",
    );
    assert!(!fleet.has("bundles/argocd") && fleet.has("bundles/.gitattributes"));
}
