//! Cures that are flags: what a help line says to pass is passed, as it is printed, and the finding is gone.
//!
//! Help lines that are edits are done by the core's own test.

use std::process::Command;

use crate::rekey::new_identity;
use crate::support::fleet::{EU, Fleet, Ran, US};
use crate::support::origin::Origin;

/// The help lines of a finding, or of the error that ended a run.
fn help(ran: &Ran, code: &str) -> Vec<String> {
    let mut lines = ran.stderr.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let is_it = line.contains(&format!("[{code}]")) || line.contains(&format!("error: {code}:"));
        if !is_it {
            continue;
        }
        let block: Vec<&str> = lines.by_ref().take_while(|line| !line.trim().is_empty()).collect();
        let helps = block.into_iter().skip_while(|line| !line.contains("help: "));
        found.push(helps.collect::<Vec<_>>().join(" "));
    }
    assert!(!found.is_empty(), "no {code} in:\n{}", ran.stderr);
    found
}

/// The flags that the help lines of a finding say to pass, with their values.
#[track_caller]
fn flags(ran: &Ran, code: &str) -> Vec<String> {
    let mut flags = Vec::new();
    for help in help(ran, code) {
        let mut words = help.split_whitespace();
        let mut before = "";
        while let Some(word) = words.next() {
            let of_rekey = std::mem::replace(&mut before, word.trim_matches('`')) == "rekey";
            let word = word.trim_start_matches('`');
            // What another command takes is another way out.
            if !word.starts_with("--") || of_rekey {
                continue;
            }
            let flag = word.trim_end_matches(['.', ',', ';', ':', '`']);
            let mut one = vec![flag.to_owned()];
            if flag == word {
                one.extend(words.next().map(|value| value.trim_end_matches(['.', ',', ';', ':', '`']).to_owned()));
            }
            // Of two flags that let one thing through, the first is enough.
            if !flags.contains(&one) {
                flags.push(one);
            }
        }
    }
    assert!(!flags.is_empty(), "{code} names no flag:\n{}", ran.stderr);
    flags.concat()
}

/// What a run says that has a finding, before anything is done about it: a second run says the same.
#[track_caller]
fn found(run: impl Fn(&[&str]) -> Ran, code: &str, ends: i32) -> Vec<String> {
    run(&[]).ends(ends).says(code);
    flags(&run(&[]).ends(ends), code)
}

/// Passes what the help lines of a finding say, and nothing else: it is gone, then and in the next run.
#[track_caller]
fn cures(run: impl Fn(&[&str]) -> Ran, code: &str, (before, after): (i32, i32)) {
    let flags = found(&run, code, before);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    eprintln!("--- {code}: {flags:?}");
    for flags in [&*flags, &[]] {
        let ran = run(flags).ends(after);
        assert!(!ran.stderr.contains(code), "{code} stays with {flags:?}:\n{}", ran.stderr);
    }
}

const OTHER: &str = "age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph";

#[test]
fn what_holds_a_branch_is_let_through_by_what_its_help_says() {
    let fleet = Fleet::with_credentials(6);
    fleet.configure("reuseKey", "limits: {deletions: {claimants: 2}}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    let publish = |flags: &[&str]| fleet.run(&[&["publish"], flags].concat());
    cures(publish, "first-publication", (64, 0));

    (0..5).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    cures(publish, "deletions-held", (4, 0));

    fleet.configure(&format!("[{US}]"), &format!("[{US}, {OTHER}]"));
    cures(publish, "recipient-added", (4, 0));

    origin.commit_beside("echo x > bundles/regions/eu/core/notes.txt");
    cures(publish, "foreign-file", (4, 0));
    origin.commit_beside("echo x > bundles/regions/eu/core/notes.txt");
    let verify = |flags: &[&str]| match flags {
        [] => fleet.run(&["verify"]),
        flags => fleet.run(&[&["publish"], flags].concat()),
    };
    cures(verify, "unlisted-file", (8, 0));

    // What is carried over for a broken claim stays readable, and cannot stay where the whole key is exchanged.
    fleet.configure(&format!("[{US}, {OTHER}]"), &format!("[{US}]"));
    fleet.remove("manifests/us-c0-secret.yaml");
    cures(publish, "revocation-incomplete", (3, 3));
    fleet.remove("manifests/us-c1-secret.yaml");
    let second = new_identity(&fleet, "second.txt");
    fleet.configure(&format!("[{US}]"), &format!("[{second}]"));
    let accepted = flags(&publish(&[]).ends(4), "recipient-added");
    let accepted: Vec<&str> = accepted.iter().map(String::as_str).collect();
    let publish_accepted = |flags: &[&str]| match flags {
        [] => publish(&accepted),
        flags => publish(&[&accepted, flags].concat()),
    };
    cures(publish_accepted, "carry-impossible", (4, 3));
}

#[test]
fn what_holds_a_folder_is_let_through_by_what_its_help_says() {
    let fleet = Fleet::with_credentials(2);
    let render = |flags: &[&str]| fleet.run(&[&["render", "--output-dir", "out"], flags].concat());
    render(&[]).ends(0);
    for name in ["c0", "c1"] {
        let path = format!("out/regions/eu/core/secrets/eu-team/{name}.sops.yaml");
        fleet.write(&path, fleet.read(&path) + "\n");
    }
    cures(render, "reseal-held", (4, 0));
    fleet.write("out/regions/eu/bundle.yaml", fleet.read("out/regions/eu/bundle.yaml") + "\n");
    cures(render, "unsigned-bundle", (4, 0));
    fleet.write("out/regions/us/mine.yaml", "a: b\n");
    cures(render, "foreign-file", (4, 0));

    // A region cannot be sealed anew from sources that lack something; what is published can be opened.
    fleet.private("key.txt", include_str!("../../../../testdata/quickstart/keys/eu-west.txt"));
    fleet.remove("manifests/eu-c0-secret.yaml");
    let rekey = |flags: &[&str]| {
        let flags: Vec<&str> = flags.iter().map(|flag| if *flag == "FILE" { "key.txt" } else { flag }).collect();
        fleet.run(&[&["rekey", "out", "--region", "eu"], &*flags].concat())
    };
    let flags = found(rekey, "rekey-impossible", 4);
    assert_eq!(flags, ["--identity", "FILE"]);
    let ran = rekey(&["--identity", "FILE"]).ends(0).outcome("eu", "published");
    assert!(!ran.stderr.contains("rekey-impossible"), "{}", ran.stderr);
}

#[test]
fn another_source_is_let_through_by_what_its_help_says() {
    let fleet = Fleet::with_credentials(1);
    for name in ["one.git", "two.git"] {
        let script = format!(
            "git init -q -b main {name} && cp manifests/* {name} && cd {name} && git add -A && \
             git -c user.name=o -c user.email=o@x -c commit.gpgsign=false commit -qm x"
        );
        let mut command = Command::new("sh");
        command.args(["-ec", &script]).current_dir(fleet.path(".")).env("GIT_CONFIG_GLOBAL", "/dev/null");
        assert!(command.status().unwrap().success());
    }
    let git = |name: &str| format!("git: {{repository: {name}, ref: {{branch: main}}}}");
    fleet.configure("directory: {path: manifests}", &git("one.git"));
    let render = |flags: &[&str]| fleet.run(&[&["render", "--output-dir", "out"], flags].concat());
    render(&[]).ends(0);
    fleet.configure(&git("one.git"), &git("two.git"));
    let flags = found(render, "source-changed", 4);
    assert_eq!(flags.len(), 4, "one for each region: {flags:?}");
    cures(render, "source-changed", (4, 0));
}

/// Without the flag nothing above would be cured, and a flag for something else cures nothing.
#[test]
fn a_flag_for_something_else_cures_nothing() {
    let fleet = Fleet::with_credentials(6);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    (0..5).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    fleet.configure(&format!("[{EU}]"), &format!("[{EU}, {OTHER}]"));
    let held = origin.publish(&[]).ends(4);
    let flags = flags(&held, "recipient-added");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let ran = origin.publish(&flags).ends(4).says("deletions-held");
    assert!(!ran.stderr.contains("recipient-added"), "{}", ran.stderr);
}
