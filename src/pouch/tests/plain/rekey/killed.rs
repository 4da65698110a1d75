//! Killed at its system calls: every region is sealed for the old recipients or for the new ones, whole, and the same
//! command again finishes it.

use std::fs;
use std::process::Command;

use sha2::{Digest as _, Sha256};

use super::*;
use crate::support::fleet::{Ran, copy};
use crate::support::strace::{Call, Strace, Watched, calls, listing, spoiling, spread};

/// Two regions of which one gets a second recipient, and the old state of both.
struct Case {
    fleet: Fleet,
    old: Tree,
    accepted: String,
}

impl Case {
    fn new() -> Self {
        let fleet = published(6);
        let second = new_identity(&fleet, "keys/second.txt");
        configured(&fleet, "eu", &[EU, &second]);
        let accepted = fleet.run(&["rekey", "--dry-run"]).ends(0).acceptance("--accept-recipients", "eu");
        copy(&fleet.path("bundles"), &fleet.path("old"));
        fs::create_dir(fleet.path("out")).unwrap();
        let old = fleet.tree("bundles");
        Self { fleet, old, accepted }
    }

    /// From the sources, or from what is published.
    fn rekey(&self, from_published: bool) -> Command {
        let mut arguments = vec!["rekey", "--accept-recipients", &self.accepted];
        arguments.extend(["--metrics", "out/pouch.prom", "--summary", "out/summary.json"]);
        if from_published {
            arguments.extend(["--identity", "keys/eu.txt", "--identity", "keys/us.txt"]);
        }
        let mut command = self.fleet.command(&arguments);
        command.env("RAYON_NUM_THREADS", "2");
        command
    }

    fn restore(&self) {
        fs::remove_dir_all(self.fleet.path("bundles")).unwrap();
        copy(&self.fleet.path("old"), &self.fleet.path("bundles"));
    }

    /// Each region has all of its sealed files from before or none of them, and a manifest that lists what is there.
    /// Says which are new.
    fn renewed(&self, when: &str) -> [bool; 2] {
        let now = self.fleet.tree("bundles");
        ["eu", "us"].map(|region| {
            let folder = format!("regions/{region}/");
            let of = |tree: &Tree| -> Tree {
                tree.iter().filter(|(path, _)| path.starts_with(&folder)).map(|(a, b)| (a.clone(), b.clone())).collect()
            };
            let (here, before) = (of(&now), of(&self.old));
            assert!(here.keys().eq(before.keys()), "{when}: {:?}", here.keys());
            let sealed = here.iter().filter(|(path, _)| is_sealed(path));
            let count = sealed.clone().count();
            let same = sealed.filter(|(path, bytes)| before[*path] == **bytes).count();
            assert!(same == 0 || same == count, "{when}: {region} has {same} of {count} files from before");
            let manifest = String::from_utf8(here[&format!("{folder}bundle.yaml")].clone()).unwrap();
            for (path, bytes) in
                here.iter().filter(|(path, bytes)| *bytes != b"folder" && !path.ends_with("bundle.yaml"))
            {
                let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                assert!(manifest.contains(&hash), "{when}: {path} is not what the manifest says");
            }
            same == 0
        })
    }

    /// The same command finishes it, with the new identity where the region has it already.
    fn goes_on(&self, from_published: bool, when: &str) {
        let mut again = self.rekey(from_published);
        if from_published {
            again.args(["--identity", "keys/second.txt"]);
        }
        let ran = Ran::from(again.output().unwrap());
        assert_eq!(ran.code, 0, "{when}: {}{}", ran.stdout, ran.stderr);
        assert_eq!(self.renewed(when), [true, true], "{when}");
        let now = self.fleet.tree("bundles");
        assert!(now.keys().eq(self.old.keys()), "{when}: left behind: {:?}", now.keys());
        let left: Vec<String> = ["out", "tmp"].iter().flat_map(|folder| self.fleet.tree(folder).into_keys()).collect();
        assert_eq!(left, ["pouch.prom", "summary.json"], "{when}");
        for reader in ["keys/eu.txt", "keys/second.txt"] {
            assert_eq!(opened(&self.fleet, &self.old, "eu", "keys/eu.txt"), opened(&self.fleet, &now, "eu", reader));
        }
        self.fleet.run(&["verify"]).ends(0);
    }
}

/// Kills at most so many, and gives how many it were.
fn killed_at_calls(most: usize, seed: usize) -> Option<usize> {
    let strace = Strace::find()?;
    let case = Case::new();
    let (mut kills, mut points, mut torn) = (0, 0, 0);
    for from_published in [false, true] {
        let list = case.fleet.path("calls");
        assert!(
            strace
                .around(Watched::Alone, &listing(&list), &case.rekey(from_published))
                .output()
                .unwrap()
                .status
                .success()
        );
        case.restore();
        let all = calls(&list).into_iter().enumerate();
        let all: Vec<Call> = all.filter(|(at, call)| call.changes() || at % 8 == 0).map(|(_, call)| call).collect();
        points += all.len();
        for call in spread(&all, most / 2, seed) {
            let when = format!("killed at {call:?}, from what is published: {from_published}");
            let options = spoiling(&call.name, &format!("signal=KILL:when={}", call.nth));
            let ended = strace.around(Watched::Alone, &options, &case.rekey(from_published)).output().unwrap();
            kills += usize::from(!ended.status.success());
            let [eu, us] = case.renewed(&when);
            torn += usize::from(eu != us);
            case.goes_on(from_published, &when);
            case.restore();
        }
    }
    eprintln!("rekey: {points} points, {kills} kills, {torn} between two regions");
    Some(kills)
}

#[test]
fn killed_at_any_call_every_region_is_old_or_new_and_the_same_command_finishes() {
    let Some(kills) = killed_at_calls(30, 1) else { return };
    assert!(kills >= 20, "only {kills} kills");
}

#[test]
#[ignore = "takes minutes; scripts/soak/run --kills"]
fn killed_at_hundreds_of_calls_every_region_is_old_or_new_and_the_same_command_finishes() {
    let Some(kills) = killed_at_calls(300, 3) else { return };
    assert!(kills >= 200, "only {kills} kills");
}
