//! Killed at system calls: pouch alone, a git alone, and all processes together.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;

use super::scene::{Scene, Way, When, Whose, can_end_together};
use crate::support::fleet::Ran;
use crate::support::strace::{Strace, spread};

/// How many kills came, by what was killed, and how many of them found the new state published.
type Counts = BTreeMap<String, (usize, usize)>;

/// Kills publishes that go one way, at most so often.
fn sweep(way: Way, most: usize, seed: usize) -> Option<Counts> {
    let strace = Strace::find()?;
    let scene = Scene::new(way)?;
    let calls = scene.calls(&strace);
    scene.is_quiet();
    let can_end_together = can_end_together();
    let mut all = Vec::new();
    for (whose, calls) in calls {
        for (at, call) in calls.into_iter().enumerate() {
            // Of those that only look, some; how much of chance ssh asks for is chance itself.
            if call.changes() || (at % 8 == 0 && call.name != "getrandom") {
                all.push((whose, call));
            }
        }
    }
    let (mut counts, mut locked) = (Counts::new(), 0);
    for (at, (whose, call)) in spread(&all, most, seed).iter().enumerate() {
        // By turns one process alone and all of the run together.
        let together = can_end_together && at % 2 == seed % 2;
        let when = When(format!("{way:?} {whose:?} {call:?} {together}"));
        let what = format!("signal=KILL:when={}", call.nth);
        let ended = scene.spoilt(&strace, (*whose, &call.name, &what), together).output().unwrap();
        let is_killed = match whose {
            Whose::Pouch => ended.status.signal() == Some(9) || ended.status.code() == Some(137),
            Whose::Git(_) => scene.fleet.has("spoilt"),
        };
        if together {
            scene.is_quiet();
        }
        let is_new = scene.is_new();
        if !is_killed || (*whose != Whose::Pouch && !together) {
            // It ended by itself: then it says how, and says the truth.
            let ran = Ran::from(ended);
            assert!(matches!(ran.code, 0 | 1 | 3 | 5), "{ran:?}");
            assert!(ran.code != 0 || is_new, "{ran:?}");
            assert!(ran.code == 0 || ran.stderr.contains("error"), "{ran:?}");
        }
        locked += usize::from(together && way == Way::Path && scene.is_unlocked_by_owner());
        // A git that died for a source leaves that source out, and the next run takes it in.
        scene.goes_on(if *whose == Whose::Pouch { 2 } else { 3 });
        if at % 10 == 0 {
            scene.is_done();
        }
        scene.restore();
        if is_killed {
            let name = match whose {
                Whose::Pouch => "pouch",
                Whose::Git(_) => "git",
            };
            let name = if together { format!("{name} with all") } else { format!("{name} alone") };
            let (kills, new) = counts.entry(name).or_default();
            *kills += 1;
            *new += usize::from(is_new);
        }
        drop(when);
    }
    eprintln!(
        "{way:?}: {} points, of them kills (and how many found the new state): {counts:?}, locks of killed servers: {locked}",
        all.len()
    );
    Some(counts)
}

fn kills(counts: &Counts) -> usize {
    counts.values().map(|(kills, _)| kills).sum()
}

/// Twenty of each way in the ordinary suite; the calls are spread over the whole run.
fn short(way: Way) {
    let Some(counts) = sweep(way, 20, 1) else { return };
    assert!(kills(&counts) >= 12, "{counts:?}");
}

#[test]
fn a_publish_killed_at_any_call_is_old_or_new_and_the_next_needs_no_help() {
    short(Way::Path);
}

#[test]
fn a_publish_by_http_killed_at_any_call_is_old_or_new_and_the_next_needs_no_help() {
    short(Way::Http);
}

#[test]
fn a_publish_by_ssh_killed_at_any_call_is_old_or_new_and_the_next_needs_no_help() {
    short(Way::Ssh);
}

#[test]
#[ignore = "takes a quarter of an hour; scripts/soak/run --kills"]
fn publishes_killed_at_hundreds_of_calls() {
    let sweeps = [Way::Path, Way::Http, Way::Ssh].map(|way| std::thread::spawn(move || sweep(way, 260, 3)));
    let counts: Vec<Counts> = sweeps.into_iter().filter_map(|sweep| sweep.join().unwrap()).collect();
    assert!(counts.iter().map(kills).sum::<usize>() >= 600, "{counts:?}");
}
