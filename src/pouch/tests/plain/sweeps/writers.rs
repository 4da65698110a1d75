//! Many writers of one branch, each as if on a machine of its own, and one that is plain git: nothing is lost, nothing
//! older comes after something newer, and the history is one line.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use pouch_core::region::published::document;
use pouch_core::sops;

use crate::support::fleet::{Fleet, Ran, secret};
use crate::support::origin::Origin;
use crate::support::root;

/// The value of a writer's Secret, which says how often it was changed.
fn value(round: usize) -> String {
    format!("value: round-{round:04}")
}

/// Changes a Secret at once: whoever reads it meanwhile sees the old one or the new one.
fn change(fleet: &Fleet, writer: usize, round: usize) {
    let name = format!("w{writer}");
    let path = fleet.path(&format!("manifests/eu-{name}-secret.yaml"));
    // What starts with a dot is not read.
    let new = fleet.path(&format!("manifests/.{name}"));
    fs::write(&new, secret("eu-team", &name, &value(round))).unwrap();
    fs::rename(new, path).unwrap();
}

/// A run of `publish` with a cache of its own, so that no lock on this machine keeps it from the others.
fn publish(fleet: &Fleet, writer: usize) -> Ran {
    let home = fleet.path(&format!("home-{writer}"));
    fs::create_dir_all(&home).unwrap();
    Ran::from(fleet.command(&["publish", "-q"]).env("HOME", home).output().unwrap())
}

/// The round that a commit publishes of each writer, as far as it changed them.
fn rounds(origin: &Origin<'_>, commit: &str, identity: &str) -> BTreeMap<String, usize> {
    let changed = origin.git(&["diff-tree", "-r", "--root", "--no-commit-id", "--name-only", commit]);
    let sealed = changed.lines().filter(|path| path.ends_with(".sops.yaml"));
    let read = sealed.filter_map(|path| {
        let name = path.rsplit('/').next()?.strip_suffix(".sops.yaml")?.to_owned();
        let text = origin.git(&["show", &format!("{commit}:{path}")]) + "\n";
        let document = document(text.as_bytes()).unwrap();
        let mut stanzas = sops::stanzas(&document).into_iter();
        let key = stanzas.find_map(|(_, stanza)| pouch::age::unwrap(&stanza, identity).ok())?;
        let values = sops::open(&document, &key).unwrap();
        let value = String::from_utf8(values.first()?.1.expose().to_vec()).unwrap();
        Some((name, value.strip_prefix("round-")?.parse().unwrap()))
    });
    read.collect()
}

/// Plain git: commits of a file of its own, each on top of what is there, until told to stop; gives how many came through.
fn plain_git(fleet: &Fleet, repository: &Path, over: &AtomicBool) -> usize {
    let script = "rm -rf plain; git clone -q repo.git plain; cd plain; echo $1 > other-$1; git add -A; \
                  git -c user.name=o -c user.email=o@example.com commit -qm other; git push -q origin HEAD:main";
    let mut through = 0;
    while !over.load(Ordering::SeqCst) {
        let mut command = Command::new("sh");
        command.args(["-ec", script, "sh", &through.to_string()]).current_dir(repository.parent().unwrap());
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("HOME", fleet.path("home"));
        through += usize::from(command.output().unwrap().status.success());
        // It is quicker than anybody who reads sources, and leaves them room.
        std::thread::sleep(std::time::Duration::from_millis(300));
    }
    through
}

/// So many writers, each of which changes its sources and publishes so often.
fn race(writers: usize, times: usize) {
    let fleet = Fleet::with_credentials(1);
    for writer in 0..writers {
        fleet.credential("eu", &format!("w{writer}"), "x");
        change(&fleet, writer, 0);
    }
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", "limits: {attempts: 10}\nreuseKey");
    origin.publish(&[]).ends(0);
    let over = AtomicBool::new(false);
    let through = std::thread::scope(|scope| {
        let plain = scope.spawn(|| plain_git(&fleet, &origin.path(), &over));
        let race = |writer: usize| {
            for round in 1..=times {
                change(&fleet, writer, round);
                let ran = publish(&fleet, writer);
                assert_eq!(ran.code, 0, "writer {writer}, round {round}: {}", ran.stderr);
            }
        };
        let all: Vec<_> = (0..writers).map(|writer| scope.spawn(move || race(writer))).collect();
        let ended: Vec<_> = all.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        over.store(true, Ordering::SeqCst);
        let through = plain.join().unwrap();
        ended.into_iter().for_each(|ended| ended.unwrap());
        through
    });
    origin.check();
    let history = origin.git(&["rev-list", "--reverse", "--parents", "main"]);
    let keys = fs::read_to_string(root().join("testdata/quickstart/keys/eu-west.txt")).unwrap();
    let identity = keys.lines().find(|line| line.starts_with("AGE-SECRET-KEY-1")).unwrap();
    let mut standing: BTreeMap<String, usize> = BTreeMap::new();
    let mut before: Option<&str> = None;
    for line in history.lines() {
        let (commit, parents) = line.split_once(' ').unwrap_or((line, ""));
        assert_eq!(parents, before.unwrap_or_default(), "the history is one line");
        before = Some(commit);
        for (name, round) in rounds(&origin, commit, identity) {
            let older = standing.insert(name.clone(), round);
            assert!(older.is_none_or(|older| older <= round), "{name}: {round} after {older:?}, in {commit}");
        }
    }
    let expect: BTreeMap<String, usize> = (0..writers).map(|writer| (format!("w{writer}"), times)).collect();
    standing.retain(|name, _| name.starts_with('w'));
    assert_eq!(standing, expect, "the last of every writer stands");
    let theirs = origin.files().iter().filter(|path| path.starts_with("other-")).count();
    assert_eq!(theirs, through, "nothing of plain git is lost");
    eprintln!("{writers} × {times}: {} commits, {through} of them by plain git", history.lines().count());
    publish(&fleet, 0).ends(0).says("");
    fleet.run(&["verify"]).ends(0);
}

#[test]
fn of_many_writers_nothing_is_lost_and_nothing_comes_back() {
    race(3, 6);
}

#[test]
#[ignore = "takes a quarter of an hour; scripts/soak/run --kills"]
fn of_hundreds_of_runs_nothing_is_lost_and_nothing_comes_back() {
    race(8, 50);
}
