//! Into a branch: one commit for all regions, or none.

use super::*;
use crate::origin::Origin;

#[test]
fn all_regions_change_in_one_commit_and_a_dry_run_makes_none() {
    let fleet = unpublished(3);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let second = new_identity(&fleet, "keys/second.txt");
    configured(&fleet, "eu", &[EU, &second]);
    let before = origin.tip();
    let dry = fleet.run(&["rekey", "--dry-run"]).ends(0);
    let accepted = dry.acceptance("--accept-recipients", "eu");
    assert!(dry.stdout.contains("us  would be published  "), "{}", dry.stdout);
    assert_eq!(origin.tip(), before);

    let identities = ["--identity", "keys/eu.txt", "--identity", "keys/us.txt"];
    for way in [&[][..], &identities] {
        let commits = origin.commits();
        let ran = fleet.run(&[&["rekey", "--accept-recipients", &accepted], way].concat());
        ran.ends(0).says("main is at ").outcome("eu", "published").outcome("us", "published");
        origin.check();
        assert_eq!(origin.commits(), commits + 1);
        let changed = origin.changed();
        assert_eq!(changed.iter().filter(|path| is_sealed(path)).count(), 6);
        assert_eq!(changed.len(), 8, "{changed:?}");
        let message = origin.git(&["log", "-1", "--format=%B", "main"]);
        assert!(message.contains("- eu: published, 3 resealed") && message.contains("- us: published, 3 resealed"));
        assert!(!message.contains("Pouch-Source"), "no source of it has a revision: {message}");
        origin.publish(&[]).ends(0).says("nothing changed");
    }
    // A region that is held holds no other.
    configured(&fleet, "us", &[US, &new_identity(&fleet, "keys/third.txt")]);
    let commits = origin.commits();
    fleet.run(&["rekey"]).ends(4).outcome("us", "held").outcome("eu", "published");
    assert_eq!(origin.commits(), commits + 1);
    assert!(origin.changed().iter().all(|path| path.contains("regions/eu/")), "{:?}", origin.changed());
}

#[test]
fn another_writer_in_between_makes_it_start_over() {
    let fleet = unpublished(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let script = format!(
        "case \"$*\" in *\" push \"*) if mkdir '{0}' 2>/dev/null; then ( {1} ); fi;; esac",
        fleet.path("once").display(),
        origin.other_writer("echo x > note")
    );
    let identities = ["rekey", "--identity", "keys/eu.txt", "--identity", "keys/us.txt"];
    let mut command = origin.wrapped_run(&script, &identities);
    let ran = crate::fleet::Ran::from(command.output().unwrap());
    ran.ends(0).says("another writer was faster");
    assert!(origin.files().contains(&"note".to_owned()));
    origin.publish(&[]).ends(0).says("nothing changed");
}
