//! `pouch render` is killed while it writes: every folder is the old or the new one, and the next run
//! goes on without help.

use std::fs;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sha2::{Digest as _, Sha256};

use crate::support;
use crate::support::fleet::{Fleet, Tree, copy, tree};

const DELIVERIES: [&str; 4] = ["flux/eu", "flux/us", "argocd/eu", "argocd/us"];

/// A fleet whose sources changed since it was published: values, a few Credentials, and for one region
/// the consumer, so that files come and go beside the bundle too and its Secrets are all sealed anew.
struct Changed {
    fleet: Fleet,
    old: Tree,
    new: Tree,
    takes: Duration,
}

fn changed(credentials: usize) -> Changed {
    let fleet = Fleet::with_credentials(credentials);
    fleet.render(&[]).ends(0);
    copy(&fleet.path("bundles"), &fleet.path("old"));
    for region in ["eu", "us"] {
        fleet.delete(region, "c0");
        fleet.delete(region, "c1");
        fleet.credential(region, "added", "x");
        for n in (2..credentials).step_by(3) {
            fleet.secret(region, &format!("c{n}"), "value: changed");
        }
    }
    fleet.configure("delivery: flux}", "delivery: argocd}");
    let started = Instant::now();
    fleet.render(&[]).ends(0);
    let takes = started.elapsed();
    copy(&fleet.path("bundles"), &fleet.path("new"));
    let (old, new) = (fleet.tree("old"), fleet.tree("new"));
    Changed { fleet, old, new, takes }
}

/// The part of a tree below `folder`, which is missing where it is not there.
fn part(of: &Tree, folder: &str) -> Tree {
    let below = |path: &String| path == folder || path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
    of.iter().filter(|(path, _)| below(path)).map(|(path, bytes)| (path.clone(), bytes.clone())).collect()
}

fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Changed {
    fn restore(&self) {
        let bundles = self.fleet.path("bundles");
        let _ = fs::remove_dir_all(&bundles);
        copy(&self.fleet.path("old"), &bundles);
    }

    /// Every folder is the old or the new one, whole.
    #[track_caller]
    fn check_torn(&self, when: &str) {
        let now = self.fleet.tree("bundles");
        for folder in DELIVERIES {
            let here = part(&now, folder);
            let whole = here == part(&self.old, folder) || here == part(&self.new, folder);
            assert!(whole, "{when}: {folder} is neither old nor new: {:?}", here.keys());
        }
        for region in ["eu", "us"] {
            let folder = format!("regions/{region}");
            let here = part(&now, &folder);
            if here == part(&self.old, &folder) {
                continue;
            }
            // Sealing is random, so the new form is known by its paths and by what its manifest vouches for.
            let expect = part(&self.new, &folder);
            assert!(here.keys().eq(expect.keys()), "{when}: {folder} is neither old nor new: {:?}", here.keys());
            self.check_hashes(&here, &folder, when);
        }
    }

    #[track_caller]
    fn check_hashes(&self, here: &Tree, folder: &str, when: &str) {
        let manifest = String::from_utf8(here[&format!("{folder}/bundle.yaml")].clone()).unwrap();
        for (path, bytes) in here {
            if bytes == b"folder" || path.ends_with("/bundle.yaml") {
                continue;
            }
            assert!(manifest.contains(&hex(bytes)), "{when}: {path} does not match the manifest");
        }
    }

    /// The next run needs no help and ends where an undisturbed one ends.
    #[track_caller]
    fn check_converges(&self, when: &str) {
        let ran = self.fleet.render(&[]);
        assert_eq!(ran.code, 0, "{when}: {}{}", ran.stdout, ran.stderr);
        let now = self.fleet.tree("bundles");
        assert!(now.keys().eq(self.new.keys()), "{when}: {:?}", now.keys());
        for (path, bytes) in &now {
            let random = path.ends_with(".sops.yaml") || path.ends_with("/bundle.yaml");
            assert!(random || *bytes == self.new[path], "{when}: {path} differs");
        }
        for region in ["eu", "us"] {
            let folder = format!("regions/{region}");
            self.check_hashes(&part(&now, &folder), &folder, when);
        }
    }

    /// And after that nothing is left to do.
    #[track_caller]
    fn check_quiet(&self) {
        let ran = self.fleet.render(&[]).ends(0).outcome("eu", "unchanged").outcome("us", "unchanged");
        assert!(!ran.stderr.contains("tampered"), "{}", ran.stderr);
    }
}

#[test]
fn killed_at_any_moment_it_leaves_old_or_new() {
    let case = changed(100);
    const KILLS: u32 = 60;
    let (mut early, mut late) = (0, 0);
    for n in 0..KILLS {
        case.restore();
        let delay = case.takes.mul_f64(f64::from(n) * 1.1 / f64::from(KILLS));
        let mut child = case.fleet.command(&["render", "-q"]).stdout(Stdio::null()).spawn().unwrap();
        std::thread::sleep(delay);
        let _ = child.kill();
        let ended = child.wait().unwrap();
        *if ended.success() { &mut late } else { &mut early } += 1;
        let when = format!("killed after {delay:?}");
        case.check_torn(&when);
        case.check_converges(&when);
        if n % 10 == 0 {
            case.check_quiet();
        }
    }
    assert!(early > 10, "{early} of {KILLS} runs were killed, {late} ended before");
}

/// The same at every call that changes a file, as far as it is hit: time alone rarely hits the moments
/// between two exchanges.
#[test]
fn killed_at_any_call_it_leaves_old_or_new() {
    // It comes with the system or not at all: no pin installs it, so its absence fails nowhere.
    let Some(strace) = support::find("strace", &std::env::var_os("PATH").unwrap_or_default()) else {
        eprintln!("SKIPPED no program strace in PATH");
        return;
    };
    let case = changed(12);
    let mut kills = 0;
    for call in ["rename", "renameat2", "unlink", "rmdir", "mkdir", "linkat", "openat", "write", "syncfs"] {
        let mut count = 1;
        for _ in 0..9 {
            case.restore();
            let inject = format!("inject={call}:signal=KILL:when={count}");
            let pouch = case.fleet.command(&["render", "-q"]);
            let mut traced = Command::new(&strace);
            traced.args(["-f", "-qqq", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e", &inject]);
            traced.arg(pouch.get_program()).args(pouch.get_args()).current_dir(case.fleet.path(""));
            let output = traced.output().unwrap();
            if output.status.success() {
                break;
            }
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            if said.contains("ptrace") || said.contains("Operation not permitted") {
                eprintln!("SKIPPED strace may not trace here: {said}");
                return;
            }
            kills += 1;
            let when = format!("killed at {call} number {count}");
            case.check_torn(&when);
            case.check_converges(&when);
            count += 1 + count / 3;
        }
        case.check_quiet();
    }
    assert!(kills > 25, "only {kills} kills");
}

/// A full disk ends the run and changes nothing.
#[test]
fn a_full_disk_leaves_the_old_state() {
    let case = changed(40);
    let small = case.fleet.path("small");
    fs::create_dir(&small).unwrap();
    let size: usize = case.old.values().map(|bytes| bytes.len().div_ceil(4096) * 4096).sum();
    let options = format!("size={}", size + size / 4);
    let mount = Command::new("mount").args(["-t", "tmpfs", "-o", &options, "tmpfs"]).arg(&small).output();
    if !mount.is_ok_and(|output| output.status.success()) {
        support::skipped("no right to mount a small file system");
        return;
    }
    copy(&case.fleet.path("old"), &small);
    let ran = case.fleet.render(&["small", "--reseal", "all"]);
    let after = tree(&small);
    let unmounted = Command::new("umount").arg(&small).status().unwrap();
    assert!(unmounted.success());
    ran.ends(1).says("cannot");
    assert_eq!(after.keys().collect::<Vec<_>>(), case.old.keys().collect::<Vec<_>>());
    assert_eq!(after, case.old, "the old state is untouched and nothing is left behind");
}
