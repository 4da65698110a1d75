//! Into a branch: one commit for all regions, or none.

use super::*;
use crate::support::origin::Origin;

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
        origin.other_writer("echo x > bundles/README.md")
    );
    let identities = ["rekey", "--identity", "keys/eu.txt", "--identity", "keys/us.txt"];
    let mut command = origin.wrapped_run(&script, &identities);
    let ran = crate::support::fleet::Ran::from(command.output().unwrap());
    ran.ends(0).says("another writer was faster");
    assert!(origin.files().contains(&"bundles/README.md".to_owned()));
    origin.publish(&[]).ends(0).says("nothing changed");
}

/// A misspelt branch is not made, and neither is a commit where nothing could be sealed anew.
#[test]
fn a_branch_without_bundles_is_no_success() {
    let fleet = unpublished(2);
    let origin = Origin::new(&fleet, "");
    let identity = ["--identity", "keys/eu.txt"];
    for way in [&[][..], &identity, &["--dry-run"], &["--new-reuse-key"]] {
        let ran = fleet.run(&[&["rekey"], way].concat()).ends(5).says("there is no branch main of ");
        ran.says("output.git");
        assert_eq!(origin.tip(), None);
    }
    // Somebody's branch, where pouch never published.
    let mut other = std::process::Command::new("sh");
    other.args(["-c", &origin.other_writer("echo x > note")]).current_dir(fleet.path("."));
    let _ = other.output().unwrap();
    let before = origin.tip();
    assert!(before.is_some());
    for way in [&[][..], &identity, &["--region", "us"]] {
        fleet.run(&[&["rekey"], way].concat()).ends(4).says("error[rekey-impossible]").says("branch main of ");
        assert_eq!(origin.tip(), before);
    }
    fleet.run(&["rekey", "--dry-run"]).ends(0).outcome("eu", "would").says("error[rekey-impossible]");
}

#[test]
fn files_of_others_stay_on_a_branch_too() {
    let fleet = unpublished(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    super::lost_key::lose(&fleet);
    let script = origin.other_writer("mkdir -p bundles/regions/eu/mine && echo x > bundles/regions/eu/mine/notes.txt");
    let _ = std::process::Command::new("sh").args(["-c", &script]).current_dir(fleet.path(".")).output().unwrap();
    let notes = "bundles/regions/eu/mine/notes.txt".to_owned();
    assert!(origin.files().contains(&notes));
    let before = origin.tip();
    let command = ["rekey", "--new-reuse-key", "--region", "eu"];
    fleet.run(&command).ends(4).says("error[foreign-file]").outcome("eu", "held");
    assert_eq!(origin.tip(), before);
    fleet.run(&[&command[..], &["--remove-foreign", "eu"]].concat()).ends(0);
    assert!(!origin.files().contains(&notes));
}

/// What pouch published last is sealed anew, and recipients are compared with that, whatever somebody put back.
#[test]
fn an_older_state_on_the_branch_is_neither_sealed_anew_nor_compared_with() {
    let fleet = unpublished(2);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let put_back = |state: &str| {
        let back = origin.git(&["commit-tree", &format!("{state}^{{tree}}"), "-p", "main", "-m", "back"]);
        origin.git(&["update-ref", "refs/heads/main", &back]);
    };
    let first = origin.tip().unwrap();
    fleet.secret("eu", "c0", "value: newer");
    origin.publish(&[]).ends(0);
    let identities = ["rekey", "--identity", "keys/eu.txt", "--identity", "keys/us.txt"];
    put_back(&first);
    fleet.run(&identities).ends(0).outcome("eu", "published").says("not-as-published");
    // Had the older value been sealed anew, this would publish the newer one again.
    origin.publish(&[]).ends(0).says("nothing changed");

    let second = new_identity(&fleet, "keys/second.txt");
    configured(&fleet, "eu", &[EU, &second]);
    let accepted = origin.publish(&[]).ends(4).acceptance("--accept-recipients", "eu");
    origin.publish(&["--accept-recipients", &accepted]).ends(0);
    let both = origin.tip().unwrap();
    configured(&fleet, "eu", &[EU]);
    origin.publish(&[]).ends(0);
    put_back(&both);
    configured(&fleet, "eu", &[EU, &second]);
    fleet.run(&identities).ends(4).outcome("eu", "held").says("recipient-added");
    // The control: as the last state of pouch's own it is no addition.
    origin.git(&["update-ref", "refs/heads/main", &both]);
    fleet.run(&identities).ends(0).outcome("eu", "published");
}
