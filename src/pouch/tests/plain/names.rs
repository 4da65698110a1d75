//! Every run says by name what becomes of whose objects, and what it would take to let through what is held.

use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::fleet::{Fleet, Ran, credential};
use crate::support::origin::Origin;
use crate::support::terminal::at_a_terminal;

/// A recipient that no region has.
const ESCROW: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";

const LONG: &str = "a value that stays as it is";

/// A file name for the summary of a run.
const SUMMARY: &str = "summary.json";

fn summary(fleet: &Fleet) -> Value {
    serde_json::from_str(&fleet.read(SUMMARY)).unwrap()
}

/// The lines below a region's own, trimmed, with one space for several.
fn names(ran: &Ran, region: &str) -> Vec<String> {
    let lines = ran.stdout.lines().skip_while(|line| line.split(' ').next() != Some(region)).skip(1);
    let below = lines.take_while(|line| line.starts_with("  "));
    below.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn each_credential_is_named_with_what_becomes_of_it() {
    let fleet = Fleet::with_credentials(5);
    fleet.secret("eu", "c1", &format!("long: a value of more than sixteen bytes, other: {LONG}, a: '1', b: '2'"));
    let ran = fleet.render(&[]).ends(0);
    assert_eq!(names(&ran, "eu")[..2], ["added Namespace eu-team", "added Credential eu-team/c0: Secret eu-team/c0"]);

    fleet.delete("eu", "c0");
    fleet.secret("eu", "c1", &format!("long: another of more than sixteen, other: {LONG}, a: '1', b: '3', new: x"));
    fleet.remove("manifests/eu-c2-secret.yaml");
    fleet.credential("eu", "c9", "value");
    let ran = fleet.run(&["render", "--summary", SUMMARY]).ends(3);
    assert_eq!(
        names(&ran, "eu"),
        [
            "withdrawn Credential eu-team/c0: Secret eu-team/c0 (its claimant is gone)",
            "carried Credential eu-team/c2: Secret eu-team/c2 (missing-reference)",
            "added Credential eu-team/c9: Secret eu-team/c9",
            "changed Credential eu-team/c1: Secret eu-team/c1 [perhaps a, perhaps b, long, new added]",
        ]
    );
    assert_eq!(names(&ran, "us"), [""; 0]);
    let eu = &summary(&fleet)["regions"][0];
    assert_eq!(eu["credentials"], json!({"admitted": 4, "refused": 0, "broken": 1, "paused": 0}));
    let change = |name: &str| eu["changes"].as_array().unwrap().iter().find(|change| change["object"]["name"] == name);
    assert_eq!(change("c0").unwrap()["credentials"], json!(["eu-team/c0"]));
    assert_eq!(change("c0").unwrap()["why"], "gone");
    let entry = |name: &str, change: &str| json!({"name": name, "change": change});
    assert_eq!(
        change("c1").unwrap()["entries"],
        json!([
            entry("a", "perhapsChanged"),
            entry("b", "perhapsChanged"),
            entry("long", "changed"),
            entry("new", "added")
        ])
    );
    assert_eq!(eu["carriedObjects"][0]["reason"], "missing-reference");
    assert_eq!(
        eu["stopped"],
        json!([{"credential": "eu-team/c2", "verdict": "broken", "codes": ["missing-reference"]}])
    );
}

/// A Credential that shares what is published already changes no object, and is named all the same.
#[test]
fn who_joins_and_leaves_a_shared_object_is_named() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.write("manifests/also.yaml", credential("eu", "eu-team", "also", ["v1", "Secret", "c1"]));
    let ran = fleet.render(&[]).ends(0).outcome("eu", "published");
    assert_eq!(names(&ran, "eu"), ["joined Credential eu-team/also: Secret eu-team/c1"]);
    fleet.remove("manifests/also.yaml");
    let ran = fleet.run(&["render", "--summary", SUMMARY]).ends(0).outcome("eu", "published");
    assert_eq!(names(&ran, "eu"), ["left Credential eu-team/also: Secret eu-team/c1"]);
    assert_eq!(summary(&fleet)["regions"][0]["sharings"][0]["left"], json!(["eu-team/also"]));
}

#[test]
fn a_long_list_is_cut_behind_what_is_withdrawn_and_whole_where_it_is_asked_for() {
    let fleet = Fleet::with_credentials(3);
    fleet.render(&[]).ends(0);
    for n in 10..40 {
        fleet.credential("eu", &format!("a{n}"), "value");
    }
    fleet.credential("us", "c0", "changed");
    fleet.delete("eu", "c0");
    let short = fleet.run(&["render", "--output-dir", "out", "--summary", SUMMARY]).ends(0);
    let told = names(&short, "eu");
    assert_eq!(told.len(), 21, "{told:?}");
    assert_eq!(told[20], "and 13 more: 13 added");
    assert_eq!(summary(&fleet)["regions"][0]["changes"].as_array().unwrap().len(), 33);
    let held = fleet.render(&["-v"]).ends(0);
    let told = names(&held, "eu");
    assert_eq!(
        (told.len(), &*told[0]),
        (31, "withdrawn Credential eu-team/c0: Secret eu-team/c0 (its claimant is gone)"),
        "{told:?}"
    );
}

#[test]
fn with_v_a_line_names_all_that_it_is_about() {
    let fleet = Fleet::with_credentials(1);
    let entries = |value: &str| (0..15).map(|n| format!("e{n:02}: {value}")).collect::<Vec<String>>().join(", ");
    fleet.secret("eu", "c0", &entries("a"));
    fleet.render(&[]).ends(0);
    fleet.secret("eu", "c0", &entries("b"));
    let short = fleet.run(&["plan"]).ends(0).stdout;
    assert!(short.contains("e09 and 5 more]") && !short.contains("e10"), "{short}");
    let all = fleet.run(&["plan", "-v"]).ends(0).stdout;
    assert!(all.contains("e14]") && !all.contains("more"), "{all}");
}

#[test]
fn one_command_line_lets_through_what_is_held_in_all_regions() {
    let fleet = Fleet::with_credentials(6);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    for region in ["eu", "us"] {
        for n in 0..5 {
            fleet.delete(region, &format!("c{n}"));
        }
    }
    fleet.configure("output:", &format!("escrowRecipients: [{ESCROW}]\noutput:"));
    let mistyped = "eu/eu-team=0123456789abcdef";
    let arguments = ["--summary", "a file.json", "--accept-deletions", mistyped];
    let held = origin.publish(&arguments).ends(4).says("claimants: us-team/c0, us-team/c1");
    let summary: Value = serde_json::from_str(&fleet.read("a file.json")).unwrap();
    let command = summary["acceptCommand"].as_str().unwrap();
    assert!(held.stderr.contains(&format!("to let through all that is held: {command}\n")), "{}", held.stderr);
    assert!(command.contains("'a file.json'") && !command.contains(mistyped), "{command}");
    let holds = summary["regions"][1]["holds"].as_array().unwrap();
    let hold = holds.iter().find(|hold| hold["flag"] == "--accept-deletions").unwrap();
    assert_eq!(hold["credentials"].as_array().unwrap().len(), 5);
    assert_eq!(hold["losses"][0]["object"]["name"], "c0");

    // The line is what a person pastes into a shell.
    fleet.write("bin/keep", "");
    symlink(env!("CARGO_BIN_EXE_pouch"), fleet.path("bin/pouch")).unwrap();
    let path = format!("{}:{}", fleet.path("bin").display(), std::env::var("PATH").unwrap());
    let mut shell = Command::new("sh");
    shell.args(["-ec", command]).current_dir(fleet.path("")).env("PATH", path);
    let output = shell.output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{command}\n{out}{err}");
    assert!(!err.contains("let nothing through") && !err.contains("held"), "{err}");
    assert!(!origin.files().iter().any(|path| path.ends_with("us-team/c0.sops.yaml")));
    origin.publish(&[]).ends(0).says("nothing changed");
}

#[test]
fn a_name_forges_no_line() {
    let fleet = Fleet::with_credentials(1);
    fleet.secret("eu", "c0", "a: b");
    fleet.render(&[]).ends(0);
    fleet.secret("eu", "c0", "a: c, \"x\\nus  published\": y");
    let ran = fleet.render(&[]);
    assert!(!ran.stdout.contains("\nus  published"), "{}", ran.stdout);
}

/// At a terminal findings are as wide as it is and end in no word; elsewhere a line is a line.
#[test]
fn findings_are_as_wide_as_the_terminal() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.edit("manifests/eu-c0.yaml", "kind: Secret, name: c0", "kind: Secret, name: a-name-that-is-in-no-source");
    let plain = |text: &str| {
        let mut out = String::new();
        for (nth, part) in text.replace('\r', "").split('\u{1b}').enumerate() {
            out.push_str(if nth == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) });
        }
        out
    };
    let piped = fleet.run(&["plan"]).ends(0).stderr;
    let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<String>>();
    assert!(piped.lines().any(|line| line.len() > 60), "{piped}");
    for columns in [48, 200] {
        let (code, seen) = at_a_terminal(fleet.command(&["plan"]).env("TERM", "dumb"), columns);
        let seen = plain(&seen);
        assert_eq!((code, words(&seen)), (Some(0), words(&piped)), "{seen}");
        let finding = seen.split_once("error[").unwrap().1.split_once("\n\n").unwrap().0;
        let widest = finding.lines().map(|line| line.chars().count()).max().unwrap();
        assert_eq!(widest <= 48, columns == 48, "{seen}");
    }
}

#[test]
fn codes_are_links_to_the_pages_that_help_prints() {
    let fleet = Fleet::with_credentials(1);
    fleet.remove("manifests/eu-c0-secret.yaml");
    let cache = fleet.path("cache");
    let at = |vars: &[(&str, &str)]| {
        let mut plan = fleet.command(&["plan"]);
        plan.env("TERM", "xterm").env("XDG_CACHE_HOME", &cache).env("FORCE_HYPERLINK", "1").envs(vars.iter().copied());
        at_a_terminal(&mut plan, 200).1
    };
    let seen = at(&[]);
    let (_, rest) = seen.split_once("\u{1b}]8;;file://").expect(&seen);
    let (place, rest) = rest.split_once("\u{1b}\\").unwrap();
    assert!(rest.starts_with("missing-reference\u{1b}]8;;\u{1b}\\"), "{seen:?}");
    let (host, path) = place.split_at(place.find('/').unwrap());
    assert!(!host.is_empty() && path.starts_with(cache.to_str().unwrap()), "{place}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), fleet.run(&["help", "missing-reference"]).ends(0).stdout);
    // Where links are not shown, or nothing but words is wanted, there is none.
    for without in [("FORCE_HYPERLINK", "0"), ("NO_COLOR", "1"), ("TERM", "dumb"), ("XDG_CACHE_HOME", "/dev/null")] {
        let seen = at(&[without]);
        assert!(seen.contains("missing-reference") && !seen.contains("]8;;"), "{without:?}: {seen:?}");
    }
    assert!(!fleet.run(&["plan"]).ends(0).stderr.contains('\u{1b}'));
}
