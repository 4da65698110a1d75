//! `--config-from`: the configuration of a commit, with the manifests of the work tree.

use std::process::Command;

use crate::support::fleet::{EU, Fleet};

const ESCROW: &str = "age18c37s9sq89v55vuffajkfcd3xj9m67sq3r2zcjktw0h2a4vuqqwsdn8mfl";

fn git(fleet: &Fleet, arguments: &[&str]) {
    let folder = fleet.path("");
    let words = ["-C", folder.to_str().unwrap(), "-c", "user.name=a", "-c", "user.email=a@example.com"];
    let output = Command::new("git").args(words).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn committed() -> Fleet {
    let fleet = Fleet::with_credentials(2);
    fleet.write("people/eu.txt", format!("{EU}\n"));
    fleet.configure(&format!("recipients: [{EU}]"), "recipientsFile: people/eu.txt");
    fleet.run(&["render"]).ends(0);
    git(&fleet, &["init", "--quiet", "--initial-branch=main"]);
    git(&fleet, &["add", "pouch.yaml", "manifests", "people"]);
    git(&fleet, &["commit", "--quiet", "-m", "one"]);
    fleet
}

#[test]
fn a_proposal_does_not_change_what_it_is_judged_by() {
    let fleet = committed();
    let plan = |more: &[&str]| fleet.run(&[&["plan", "--detailed-exitcode"], more].concat());
    // Somebody proposes to read along, and a Credential.
    fleet.write("people/eu.txt", format!("{EU}\n{ESCROW}\n"));
    fleet.configure("metadata: {name: acme}", "metadata: {name: theirs}");
    plan(&["--config-from", "main"]).ends(0).outcome("eu", "unchanged");
    fleet.configure("metadata: {name: theirs}", "metadata: {name: acme}");
    plan(&[]).ends(0).says("recipient-added");
    for way in [&["--config-from", "HEAD"][..], &["--config-from=HEAD"]] {
        git(&fleet, &["commit", "--quiet", "-am", "theirs"]);
        let held = plan(&[way, &["--no-values"]].concat()).says("recipient-added");
        let line = held.stderr.lines().find(|line| line.contains("to let through")).unwrap();
        assert!(line.contains("pouch render --accept-recipients eu="), "{line}");
        git(&fleet, &["reset", "--quiet", "--soft", "HEAD~1"]);
    }
    fleet.credential("eu", "late", "late");
    let ran = plan(&["--config-from", "HEAD"]).ends(2).outcome("eu", "would");
    assert!(ran.stdout.contains("added") && !ran.stderr.contains("recipient-added"), "{ran:?}");
    // A configuration that cannot be read any more, or is gone.
    fleet.write("pouch.yaml", "nothing: of the kind");
    plan(&[]).ends(64);
    plan(&["--config-from", "main"]).ends(2);
    fleet.remove("pouch.yaml");
    plan(&["--config-from", "main"]).ends(2);
    for command in ["check", "explain"] {
        let what: &[&str] = if command == "check" { &[] } else { &["eu-team/c0"] };
        fleet.run(&[&[command], what, &["--config-from", "main"]].concat()).ends(0);
    }
}

#[test]
fn what_no_commit_has_is_named() {
    let fleet = committed();
    let says = |words: &[&str], text: &str| {
        let ran = fleet.run(words).ends(64);
        assert!(ran.stderr.contains(text), "{}", ran.stderr);
    };
    says(&["plan", "--config-from", "mian"], "--config-from mian: there is no branch or commit mian");
    says(&["-f", "other.yaml", "plan", "--config-from", "main"], "main:other.yaml");
    // A fault of the committed file is shown where it is.
    let good = fleet.read("pouch.yaml");
    fleet.configure("kind: Fleet", "kind: Fleet\nregoins: {}");
    git(&fleet, &["commit", "--quiet", "-am", "two"]);
    fleet.write("pouch.yaml", &good);
    says(&["plan", "--config-from", "main"], "--> main:pouch.yaml:3:1");
    fleet.run(&["plan", "--config-from", "main~1"]).ends(0);
    // What is outside of the repository is in no commit.
    fleet.configure("people/eu.txt", "../people.txt");
    git(&fleet, &["commit", "--quiet", "-am", "three"]);
    says(&["plan", "--config-from", "main"], "outside of the repository");
    let alone = Fleet::with_credentials(1);
    let ran = alone.run(&["plan", "--config-from", "main"]).ends(64);
    assert!(ran.stderr.contains("git repository"), "{}", ran.stderr);
}
