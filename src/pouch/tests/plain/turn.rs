//! Runs on one machine that publish to one branch: one after the other, or not at all, as asked.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::fleet::{Fleet, Ran};
use crate::support::origin::Origin;

/// A run that takes its time before it pushes, and has a home folder to lock in.
fn slow(fleet: &Fleet, origin: &Origin<'_>) -> Child {
    std::fs::create_dir_all(fleet.path("home")).unwrap();
    let flag = fleet.path("pushing");
    let script = format!("case \" $* \" in *' push '*) touch '{}'; sleep 3;; esac", flag.display());
    let child = origin.wrapped(&script, &[]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while !flag.exists() {
        assert!(began.elapsed() < Duration::from_secs(60), "the first run does not push");
        std::thread::sleep(Duration::from_millis(25));
    }
    child
}

fn ended(child: Child) -> Ran {
    Ran::from(child.wait_with_output().unwrap())
}

#[test]
fn the_second_run_waits_for_the_first_and_says_so() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let first = slow(&fleet, &origin);
    let second = fleet.run(&["publish", "--first"]).ends(0).outcome("eu", "unchanged");
    second.says("another pouch on this machine is writing to branch main").says("waiting");
    let first = ended(first).ends(0).outcome("eu", "published");
    assert!(!first.stderr.contains("waiting"), "{}", first.stderr);
    assert_eq!(origin.commits(), 1);
    // The file of the lock stays, says nothing of the repository, and holds nobody up.
    let locks = fleet.tree("home/.cache/pouch/locks");
    assert!(locks.len() == 1 && locks.keys().all(|name| name.len() == 64), "{:?}", locks.keys());
    let third = fleet.run(&["publish", "--no-wait"]).ends(0);
    assert!(!third.stderr.contains("waiting"), "{}", third.stderr);
}

#[test]
fn who_does_not_want_to_wait_ends_at_once() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let first = slow(&fleet, &origin);
    let began = Instant::now();
    fleet.run(&["publish", "--first", "--no-wait"]).ends(1).says("another pouch is writing to branch main");
    assert!(began.elapsed() < Duration::from_secs(2));
    fleet.run(&["publish", "--first", "--wait", "200ms"]).ends(1).says("another pouch is writing");
    fleet.run(&["publish", "--wait", "1s", "--no-wait"]).ends(64);
    fleet.run(&["publish", "--wait", "soon"]).ends(64).says("--no-wait");
    // Another branch is another turn, and so is a machine that has no place to lock in.
    fleet.write("other.yaml", fleet.read("pouch.yaml").replace("branch: main", "branch: other"));
    fleet.run(&["publish", "-f", "other.yaml", "--first", "--no-wait"]).ends(0);
    let mut homeless = fleet.command(&["publish", "--first", "--no-wait", "-v"]);
    let ran = Ran::from(homeless.env("HOME", fleet.path("nowhere")).output().unwrap());
    ran.ends(0).says("not kept apart");
    ended(first).ends(0);
}

/// The system unlocks what a killed run had locked.
#[test]
fn a_killed_run_keeps_nobody_waiting() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let mut first = slow(&fleet, &origin);
    first.kill().unwrap();
    first.wait().unwrap();
    fleet.run(&["publish", "--first", "--no-wait"]).ends(0);
}
