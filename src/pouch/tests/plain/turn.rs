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

/// A script for `git`: at each push to the branch, as long as one of these words is left in a file, others do this first.
fn at_each_push(fleet: &Fleet, times: usize, what: &str) -> String {
    fleet.write("left", "x\n".repeat(times));
    let (left, log) = (fleet.path("left"), fleet.path("log"));
    format!(
        "case \" $* \" in *' push '*) echo \"$*\" >> '{log}';; esac; \
         case \" $* \" in *' push '*:refs/heads/main*) if [ -s '{left}' ]; then sed -i 1d '{left}'; ( {what} ) >&2; fi;; esac",
        left = left.display(),
        log = log.display(),
    )
}

fn pushes(fleet: &Fleet, to: &str) -> usize {
    fleet.read("log").lines().filter(|line| line.contains(to)).count()
}

/// The message of a commit by which a run says that it goes next.
const GOES_NEXT: &str = "A run of pouch lost against others, and goes next";

/// The reference at which a run says that it goes next.
fn turn_reference() -> String {
    let digest = pouch_core::hash::sha256_hex(b"main\nbundles");
    format!("refs/pouch/acme/{}-turn", &digest[..16])
}

/// In a repository that others work in too, somebody may always be faster than a fleet is read.
#[test]
fn what_others_change_elsewhere_costs_no_second_reading() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    fleet.configure("reuseKey", "limits: {attempts: 1}\nreuseKey");
    // They also change a source, which this run has read already: the next will see it.
    let newer = format!("sed -i s/changed/newer/ '{}'", fleet.path("manifests/eu-c0-secret.yaml").display());
    let others = origin.other_writer(&format!("{newer}; cat /proc/sys/kernel/random/uuid >> elsewhere"));
    let script = at_each_push(&fleet, 5, &others);
    let ran = Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published");
    assert!(!ran.stderr.contains("starting over"), "{}", ran.stderr);
    assert_eq!((origin.commits(), pushes(&fleet, ":refs/heads/main")), (7, 6));
    origin.check();
    fleet.run(&["verify"]).ends(0);
    origin.publish(&[]).ends(0).outcome("eu", "published");
    origin.publish(&[]).ends(0).outcome("eu", "unchanged").says("nothing changed");
}

/// The control: what this run read is no longer the newest reading, or not all of what it builds on.
#[test]
fn what_others_change_of_what_was_read_starts_over() {
    let pouch = env!("CARGO_BIN_EXE_pouch");
    for (what, is_lost) in [
        ("echo x > .sourceignore", true),
        ("mkdir -p bundles/regions/zz; echo x > bundles/regions/zz/notes.txt", true),
        // Whoever has no key cannot say that he is a run.
        ("git commit -q --allow-empty -m 'x' -m 'Pouch-Seal: x'", false),
        ("git commit -q --amend -m rewritten; git push -q -f origin HEAD:main; echo x > y", true),
        ("echo x > sourceignore", false),
    ] {
        let fleet = Fleet::with_credentials(1);
        let origin = Origin::new(&fleet, "");
        origin.publish(&[]).ends(0);
        origin.commit_beside("echo x > z");
        fleet.secret("eu", "c0", "value: changed");
        let script = at_each_push(&fleet, 1, &origin.other_writer(what));
        let ran = Ran::from(origin.wrapped(&script, &["-v"]).output().unwrap());
        assert_eq!(ran.stderr.contains("starting over"), is_lost, "{what}: {}", ran.stderr);
        assert!([0, 8].contains(&ran.code), "{what}: {}", ran.stderr);
        origin.check();
    }
    // Another run of pouch, on another machine, of a newer state of the sources.
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let run = format!(
        "sed -i s/changed/newer/ '{}'; mkdir '{other}'; PATH='{path}' HOME='{other}' {pouch} publish -q",
        fleet.path("manifests/eu-c0-secret.yaml").display(),
        other = fleet.path("other").display(),
        path = std::env::var("PATH").unwrap(),
    );
    let script = at_each_push(&fleet, 1, &run);
    let ran = Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0);
    ran.says("starting over").outcome("eu", "unchanged");
    assert_eq!(origin.commits(), 2);
    // One that published nothing, and noted that it read something, while others changed something else.
    fleet.secret("eu", "c0", "value: changed-once-more");
    let noted = format!(
        "git --git-dir='{0}' update-ref {1} main; {2}",
        origin.path().display(),
        turn_reference().replace("-turn", ""),
        origin.other_writer("echo x > elsewhere"),
    );
    let script = at_each_push(&fleet, 1, &noted);
    let ran = Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0);
    ran.says("starting over").outcome("eu", "published");
}

#[test]
fn who_lost_twice_goes_next_and_leaves_nothing() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let turn = turn_reference();
    for (losses, asks) in [(1, 0), (2, 2), (3, 2)] {
        fleet.write("log", "");
        fleet.secret("eu", "c0", &format!("value: changed-{losses}"));
        let others = origin.other_writer("cat /proc/sys/kernel/random/uuid >> bundles/README.md");
        let script = at_each_push(&fleet, losses, &others);
        Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published");
        assert_eq!((pushes(&fleet, ":refs/heads/main"), pushes(&fleet, &turn)), (losses + 1, asks), "{losses}");
        assert!(!origin.git(&["for-each-ref"]).contains(&turn), "{losses}");
    }
    // Neither does a run that gives up, nor one that does not wait for others ask.
    fleet.configure("reuseKey", "limits: {attempts: 3}\nreuseKey");
    for (flags, asks) in [(&[][..], 2), (&["--no-wait"], 0)] {
        fleet.write("log", "");
        fleet.secret("eu", "c0", &format!("value: changed-{asks}-again"));
        let others = origin.other_writer("cat /proc/sys/kernel/random/uuid >> bundles/README.md");
        Ran::from(origin.wrapped(&at_each_push(&fleet, 3, &others), flags).output().unwrap()).ends(6);
        assert_eq!((pushes(&fleet, ":refs/heads/main"), pushes(&fleet, &turn)), (3, asks));
        assert!(!origin.git(&["for-each-ref"]).contains(&turn));
    }
}

#[test]
fn nobody_waits_for_long_for_a_run_that_goes_next_and_does_not_go() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", "limits: {git: {settle: 2s}}\nreuseKey");
    origin.publish(&[]).ends(0);
    let turn = turn_reference();
    let take = || {
        let people = ["-c", "user.name=o", "-c", "user.email=o@x"];
        let made = origin.git(&[&people[..], &["commit-tree", "-m", GOES_NEXT, "main^{tree}"]].concat());
        origin.git(&["update-ref", &turn, &made]);
    };
    let waits = "another run lost at branch main of ";
    take();
    // Who only looks, or does not want to wait, does not.
    assert!(!fleet.run(&["plan"]).ends(0).stderr.contains(waits));
    assert!(!fleet.run(&["publish", "--no-wait"]).ends(0).stderr.contains(waits));
    // It is given up while somebody waits.
    let reference = origin.path();
    let name = turn.clone();
    let gives_up = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        let mut git = std::process::Command::new("git");
        git.arg("--git-dir").arg(reference).args(["update-ref", "-d", &name]).status().unwrap()
    });
    fleet.secret("eu", "c0", "value: changed");
    fleet.run(&["publish"]).ends(0).outcome("eu", "published").says(waits);
    assert!(gives_up.join().unwrap().success());
    // It never is: one run waits as long as the configuration says, and takes it away.
    take();
    fleet.secret("eu", "c0", "value: changed-again");
    fleet.run(&["publish"]).ends(0).outcome("eu", "published").says(waits);
    assert!(!origin.git(&["for-each-ref"]).contains(&turn));
    assert!(!fleet.run(&["publish"]).ends(0).stderr.contains(waits));
}

/// At its reference there may be what no run of pouch wrote, or a name for something else. None of it is waited for or
/// removed; the controls are the tests beside this one.
#[test]
fn what_stands_for_no_turn_stays_where_it_is() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", "limits: {git: {settle: 1s}}\nreuseKey");
    origin.publish(&[]).ends(0);
    let turn = turn_reference();
    let people = ["-c", "user.name=o", "-c", "user.email=o@x"];
    let made = |message| origin.git(&[&people[..], &["commit-tree", "-m", message, "main^{tree}"]].concat());
    let (real, other) = (made(GOES_NEXT), made("something else"));
    for (number, (commit, is_name)) in [(&real, true), (&other, true), (&other, false)].into_iter().enumerate() {
        let theirs = if is_name { "refs/heads/theirs" } else { &turn };
        origin.git(&["update-ref", theirs, commit]);
        if is_name {
            origin.git(&["symbolic-ref", &turn, theirs]);
        }
        fleet.secret("eu", "c0", &format!("value: changed-{number}"));
        let ran = fleet.run(&["publish"]).ends(0).outcome("eu", "published");
        assert!(!ran.stderr.contains("goes next"), "{number}: {}", ran.stderr);
        // Nor where the run asks for its turn itself.
        fleet.write("log", "");
        fleet.secret("eu", "c0", &format!("value: lost-{number}"));
        let others = origin.other_writer("cat /proc/sys/kernel/random/uuid >> bundles/README.md");
        let script = at_each_push(&fleet, 2, &others);
        Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published");
        assert_eq!(origin.git(&["rev-parse", theirs, &turn]), format!("{commit}\n{commit}"), "{number}");
        if is_name {
            origin.git(&["symbolic-ref", "--delete", &turn]);
        }
    }
}

/// Who moves it all the time makes a run wait for a few times that long, by the clock, however slow the server is.
#[test]
fn nobody_waits_for_long_for_many_that_go_next() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.configure("reuseKey", "limits: {git: {settle: 1s}}\nreuseKey");
    origin.publish(&[]).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let moved = format!(
        "case \" $* \" in *' ls-remote '*) sleep 0.5; git --git-dir='{0}' -c user.name=o -c user.email=o@x \
         -c user.useConfigOnly=true commit-tree -m '{2}' $(date +%N | git --git-dir='{0}' hash-object -w --stdin | \
         sed 's/.*/100644 blob &\tturn/' | git --git-dir='{0}' mktree) | xargs git --git-dir='{0}' update-ref {1};; esac",
        origin.path().display(),
        turn_reference(),
        GOES_NEXT,
    );
    let began = Instant::now();
    Ran::from(origin.wrapped(&moved, &[]).output().unwrap()).ends(0).outcome("eu", "published");
    // Four seconds, and what a run takes on a machine that is busy; not the half hour of `--wait`.
    assert!(began.elapsed() < Duration::from_secs(120), "{:?}", began.elapsed());
}

/// Below a merge that somebody pushes there may be a whole history, which nobody needs.
#[test]
fn what_is_followed_is_little() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    let days_ago = |days: u64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        (now - days * 86400).to_string()
    };
    origin.commit_beside(&format!(
        "export GIT_COMMITTER_DATE='{} +0000'; for i in $(seq 150); do head -c 50000 /dev/urandom > big; git add -A; \
         git -c commit.gpgsign=false commit -qm x; done; rm big; echo y > z",
        days_ago(5)
    ));
    let mut first = fleet.command(&["publish", "--first"]);
    Ran::from(first.env("SOURCE_DATE_EPOCH", days_ago(3)).output().unwrap()).ends(0);
    fleet.secret("eu", "c0", "value: changed");
    let merge = "git checkout -q -b side HEAD~3; echo x > elsewhere; git add -A; git commit -qm side; git checkout -q -; \
                 git merge -q --no-ff -m merge side; git push -q origin HEAD:main";
    let other = origin.other_writer("XX");
    let other = other.split("XX").next().unwrap().to_owned() + merge;
    std::fs::remove_dir_all(fleet.path("home/.cache")).unwrap();
    let sizes = format!(
        "case \" $* \" in *' push '*|*' fetch '*) du -sk '{}' | cut -f1 >> '{}';; esac",
        fleet.path("tmp").display(),
        fleet.path("sizes").display()
    );
    let script = format!("{}; {sizes}", at_each_push(&fleet, 1, &other));
    let ran = Ran::from(origin.wrapped(&script, &["-v"]).output().unwrap()).ends(0).outcome("eu", "published");
    assert!(!ran.stderr.contains("starting over"), "{}", ran.stderr);
    let most = fleet.read("sizes").lines().map(|line| line.parse::<u64>().unwrap()).max().unwrap();
    assert!(most < 3500, "{most} KB of 7500");
}

/// Others may have made many commits since pouch's last one.
#[test]
fn what_others_change_is_followed_also_far_from_the_last_commit() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    origin.commit_beside(
        "for i in $(seq 50); do git -c commit.gpgsign=false commit -q --allow-empty -m x; done; echo x > y",
    );
    fleet.secret("eu", "c0", "value: changed");
    let script = at_each_push(&fleet, 1, &origin.other_writer("echo x > elsewhere"));
    let ran = Ran::from(origin.wrapped(&script, &[]).output().unwrap()).ends(0).outcome("eu", "published");
    assert!(!ran.stderr.contains("starting over"), "{}", ran.stderr);
}

/// A folder where git expects a file of its own is no reason to stop who neither checks out nor follows it.
#[test]
fn what_git_would_refuse_elsewhere_stops_nobody() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let odd = ["app/.gitattributes", "app/.gitmodules"];
    for folder in odd {
        origin.commit_beside(&format!("mkdir -p {folder}; echo x > {folder}/x"));
        fleet.run(&["publish"]).ends(0).outcome("eu", "unchanged");
    }
    origin.commit_beside("git rm -rq app");
    fleet.delete("eu", "c0");
    fleet.credential("eu", "another", "x");
    let ran = fleet.run(&["publish"]);
    assert!([0, 4].contains(&ran.code), "{}", ran.stderr);
    fleet.run(&["verify"]).ends(0);
    // Nor does what somebody puts in place of a note, who may not write to the branch.
    let note = turn_reference().replace("-turn", "");
    let empty = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
    origin.git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
    let broken = origin.git(&["-c", "core.fsck=ignore", "hash-object", "-t", "commit", "-w", "--literally", &{
        let path = fleet.path("broken");
        std::fs::write(&path, format!("tree {empty}\nauthor x\ncommitter x\n\nx\n")).unwrap();
        path.display().to_string()
    }]);
    origin.git(&["update-ref", &note, &broken]);
    fleet.secret("us", "c0", "value: changed");
    fleet.run(&["publish"]).ends(ran.code).outcome("us", "published");
}

/// Nor does what people write into the headers of commits and tags, beside the bundles or in front of them.
#[test]
fn what_stands_in_headers_of_others_stops_no_run() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    let make = |kind: &str, text: &str| {
        fleet.write("odd", text);
        let path = fleet.path("odd").display().to_string();
        origin.git(&["hash-object", "-t", kind, "-w", "--literally", &path])
    };
    for (number, header) in [
        "author A <a@x> 0000000005 +0000\ncommitter A <a@x> 0000000005 +0000\n\nm\n",
        "author A\ncommitter A\n\nm\n",
        "author A <a@x> 5 +0000\nauthor B <b@x> 5 +0000\ncommitter A <a@x> 5 99999\n\nm\n",
        "committer A <a@x 5\n\nm\n",
        "author A <a@x> 99999999999999999999 +0000\ncommitter A <a@x> 99999999999999999999 +0000\n\nm\n",
        "author A <a@x> 5 +0000\ncommitter A <a@x> 5 +0000\nodd \u{0}\n\nm\n",
    ]
    .into_iter()
    .enumerate()
    {
        origin.commit_beside(&format!("echo {number} > README"));
        let (tree, parent) = (origin.git(&["rev-parse", "main^{tree}"]), origin.git(&["rev-parse", "main"]));
        let odd = make("commit", &format!("tree {tree}\nparent {parent}\n{header}"));
        origin.git(&["update-ref", "refs/heads/main", &odd]);
        let tag = make("tag", &format!("object {odd}\ntype commit\ntag t{number}\ntagger A\n\nm\n"));
        origin.git(&["update-ref", &format!("refs/tags/t{number}"), &tag]);
        for is_behind in [false, true] {
            if is_behind {
                origin.commit_beside(&format!("echo {number} > BESIDE"));
            }
            fleet.secret("eu", "c0", &format!("value: of {number} {is_behind}"));
            fleet.run(&["publish"]).ends(0).outcome("eu", "published");
            fleet.run(&["publish"]).ends(0).outcome("eu", "unchanged");
            fleet.run(&["verify"]).ends(0);
            fleet.run(&["log"]).ends(0);
            fleet.run(&["exposure"]).ends(0);
        }
    }
}

/// A server that takes no such reference stops nobody.
#[test]
fn where_no_turn_can_be_taken_the_lease_decides() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    origin.hook("update", "case $1 in *-turn) exit 1;; esac");
    fleet.secret("eu", "c0", "value: changed");
    let others = origin.other_writer("cat /proc/sys/kernel/random/uuid >> bundles/README.md");
    let ran = Ran::from(origin.wrapped(&at_each_push(&fleet, 4, &others), &[]).output().unwrap()).ends(0);
    ran.outcome("eu", "published");
    assert_eq!(pushes(&fleet, ":refs/heads/main"), 5);
}
