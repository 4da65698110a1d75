//! A branch that was deleted: a first publication is one where nothing was published, and nowhere else.

use crate::support::fleet::{EU, Fleet, US};
use crate::support::origin::Origin;

const OTHER: &str = "age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph";

const FIRST: &[&str] = &["publish", "--first"];

/// Publishes, and deletes the branch; the repository keeps what pouch noted beside it.
fn deleted(fleet: &Fleet) -> Origin<'_> {
    let origin = Origin::new(fleet, "");
    // A real first publication takes one command, and says whom it is for.
    let first = fleet.run(FIRST).ends(0).outcome("eu", "published").outcome("us", "published");
    first.says(&format!("region eu has the recipients {EU}\n")).says(&format!("region us has the recipients {US}\n"));
    delete(&origin);
    origin
}

fn delete(origin: &Origin<'_>) {
    origin.git(&["update-ref", "-d", "refs/heads/main"]);
}

#[test]
fn a_deleted_branch_makes_no_key_one_that_was_there() {
    let fleet = Fleet::with_credentials(1);
    let origin = deleted(&fleet);
    let noted = origin.git(&["for-each-ref", "refs/pouch"]);
    assert!(!noted.is_empty());
    let (without, with) = (format!("[{US}]"), format!("[{US}, {OTHER}]"));
    fleet.configure(&without, &with);
    // However often it is tried, and beside a region that is published.
    for _ in 0..2 {
        let held = fleet.run(FIRST).ends(4).outcome("eu", "published").outcome("us", "held");
        held.says(&format!("region us has the recipients {OTHER}, {US}\n"))
            .says(&format!("region us would become readable for {OTHER}"));
        delete(&origin);
    }
    let held = fleet.run(FIRST).ends(4).acceptance("--accept-recipients", "us");
    fleet.run(&["publish"]).ends(4).outcome("us", "held");
    fleet.run(&["publish", "--accept-recipients", &held]).ends(0).outcome("us", "published");
    // It is one of those that are known now.
    delete(&origin);
    fleet.run(FIRST).ends(0).outcome("us", "published");
    // One that goes is held by nothing, and asked for when it comes back.
    delete(&origin);
    fleet.configure(&with, &without);
    fleet.run(FIRST).ends(0).outcome("us", "published");
    fleet.configure(&without, &with);
    delete(&origin);
    fleet.run(FIRST).ends(4).outcome("us", "held");
    origin.check();
}

#[test]
fn the_same_keys_are_published_to_after_a_deleted_branch() {
    let fleet = Fleet::with_credentials(1);
    let origin = deleted(&fleet);
    fleet.run(&["publish"]).ends(64).says("first-publication");
    let again = fleet.run(FIRST).ends(0).outcome("eu", "published").outcome("us", "published");
    again.says(&format!("region us has the recipients {US}\n"));
    origin.check();
}

/// Regions that the note does not know are held by nothing: a new one, and one that was withdrawn.
#[test]
fn a_region_that_was_not_published_is_new_after_a_deleted_branch() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.run(&["publish", "--first", "--region", "eu"]).ends(0);
    delete(&origin);
    fleet.configure(&format!("[{US}]"), &format!("[{US}, {OTHER}]"));
    fleet.run(FIRST).ends(0).outcome("us", "published");
    origin.check();
}

#[test]
fn without_a_note_a_deleted_branch_is_a_first_publication_that_says_its_keys() {
    let fleet = Fleet::with_credentials(1);
    let origin = deleted(&fleet);
    for line in origin.git(&["for-each-ref", "--format=%(refname)", "refs/pouch"]).lines() {
        origin.git(&["update-ref", "-d", line]);
    }
    fleet.configure(&format!("[{US}]"), &format!("[{US}, {OTHER}]"));
    fleet.run(FIRST).ends(0).says(&format!("region us has the recipients {OTHER}, {US}\n"));
}

/// Recipients that `rekey` seals for are noted, too.
#[test]
fn what_rekey_seals_for_is_noted() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.run(FIRST).ends(0);
    let (without, with) = (format!("[{US}]"), format!("[{US}, {OTHER}]"));
    fleet.configure(&without, &with);
    let digest = fleet.run(&["publish"]).ends(4).acceptance("--accept-recipients", "us");
    let rekey = ["rekey", "--region", "us", "--accept-recipients", &digest];
    fleet.run(&rekey).ends(0);
    delete(&origin);
    fleet.run(FIRST).ends(0).outcome("us", "published");
}
