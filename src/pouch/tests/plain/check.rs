//! `pouch check`: what `plan` finds, in the formats of the systems that show it.

use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::fleet::{Fleet, Ran};
use crate::support::{tool, tool_on_path};

/// A fleet in which something is refused, something broken and something worth a warning.
fn faulty() -> Fleet {
    let fleet = Fleet::with_credentials(3);
    fleet.run(&["render"]).ends(0);
    fleet.edit("manifests/eu-c0.yaml", "kind: Secret, name: c0,", "kind: Secret, name: gone,");
    fleet.edit(
        "manifests/eu-c1.yaml",
        "kind: Secret, name: c1, namespace: eu-team}",
        "kind: Secret, name: c1, namespace: us-team}",
    );
    fleet.write("bundles/regions/us/core/kustomization.yaml", "# somebody was here\n");
    fleet
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}\n{ran:?}"))
}

/// What a program says of its input.
fn said(program: &mut Command, input: &str) -> (bool, String) {
    let mut child = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.success(), format!("{output:?}"))
}

#[test]
fn it_finds_what_a_plan_finds_and_changes_nothing() {
    let fleet = faulty();
    let before = fleet.tree("bundles");
    fleet.run(&["plan", "--summary", "summary.json"]).ends(0);
    let planned: Value = serde_json::from_str(&fleet.read("summary.json")).unwrap();
    let found = json(&fleet.run(&["check", "-o", "json"]).ends(7));
    assert_eq!(planned["findings"], found["findings"]);
    assert_eq!((found["command"].as_str(), found["exitCode"].as_u64()), (Some("check"), Some(7)));
    let schema = include_str!("../../../../schemas/summary.schema.json");
    let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
    assert!(schema.is_valid(&found));
    assert_eq!(before, fleet.tree("bundles"));
}

#[test]
fn what_is_denied_ends_it_with_7_and_nothing_else_does() {
    let fleet = faulty();
    for (deny, code) in [("error", 7), ("warning", 7), ("info", 7), ("none", 0)] {
        fleet.run(&["check", "--deny", deny]).ends(code);
    }
    let ran = fleet.run(&["check"]).ends(7);
    assert!(ran.stdout.ends_with("\n2 errors, 1 warning\n"), "{ran:?}");
    let quiet = fleet.run(&["check", "-q"]).ends(7);
    assert!(quiet.stdout.ends_with("\n2 errors\n") && !quiet.stdout.contains("warning["), "{quiet:?}");
    // Cured but for the warning.
    fleet.edit("manifests/eu-c0.yaml", "name: gone,", "name: c0,");
    fleet.edit("manifests/eu-c1.yaml", "namespace: us-team}", "namespace: eu-team}");
    fleet.run(&["check"]).ends(0);
    fleet.run(&["check", "--deny", "warning"]).ends(7);
    fleet.run(&["render"]).ends(0);
    let fine = fleet.run(&["check", "--deny", "info"]);
    let infos = fleet.run(&["check", "-v"]).ends(0);
    assert_eq!(fine.code, if infos.stdout.is_empty() { 0 } else { 7 });
    let silent = fleet.run(&["check", "-q"]).ends(0);
    assert_eq!((silent.stdout.as_str(), silent.stderr.as_str()), ("", ""));
    fleet.run(&["check"]).ends(0).says("nothing found");
    // What a brake would hold is an error too.
    let fleet = Fleet::with_credentials(8);
    fleet.run(&["render"]).ends(0);
    (0..8).for_each(|n| fleet.delete("eu", &format!("c{n}")));
    assert!(fleet.run(&["check"]).ends(7).stdout.contains("error[deletions-held]"));
}

/// One document that does not parse, and everybody who needs it.
#[test]
fn what_follows_is_told_below_its_cause() {
    let fleet = Fleet::with_credentials(2);
    let shared = fleet.read("manifests/eu-c0.yaml");
    for n in 0..12 {
        fleet.write(&format!("manifests/many-{n}.yaml"), shared.replacen("name: c0,", &format!("name: many-{n},"), 1));
    }
    fleet.run(&["render"]).ends(0);
    let secret = fleet.read("manifests/eu-c0-secret.yaml");
    fleet.write("manifests/eu-c0-secret.yaml", format!("{secret}broken: {{\n"));
    let ran = fleet.run(&["check"]).ends(7);
    let says = " Credentials keep what they have, because source manifests was not read completely: eu-team/c0, ";
    assert!(ran.stdout.starts_with("error[unparsable-document]: ") && ran.stdout.contains(says), "{ran:?}");
    assert!(!ran.stdout.contains("error[unread]"), "{ran:?}");
    let all = json(&fleet.run(&["check", "-o", "json"]).ends(7));
    let all = all["findings"].as_array().unwrap().iter().filter(|it| it["severity"] == "error").count();
    let counted = format!("\n1 error ({all} findings, counted by Credential and region)\n");
    assert!(all > 13 && ran.stdout.ends_with(&counted), "{ran:?}");
    assert!(fleet.run(&["check", "-v"]).ends(7).stdout.contains("error[unread]"));
    assert_eq!(fleet.run(&["check", "-o", "github"]).ends(7).stdout.lines().count(), 1);
    for format in ["markdown", "html"] {
        let shown = fleet.run(&["plan", "-o", format]).ends(0).stdout;
        assert_eq!(shown.matches(" Credentials keep what they have").count(), 1, "{format}: {shown}");
    }
    // Gone for good: one fault, whoever asks for it.
    fleet.remove("manifests/eu-c0-secret.yaml");
    let ran = fleet.run(&["check"]).ends(7);
    assert_eq!(ran.stdout.matches("error[missing-reference]").count(), 1, "{ran:?}");
    assert!(ran.stdout.contains(" and 12 other places\n  = 13 Credentials, region eu: eu-team/c0, "), "{ran:?}");
}

#[test]
fn sarif_keeps_its_schema_and_explains_its_rules() {
    let Some(checker) = tool("sarif-check") else { return };
    let fleet = faulty();
    let log = fleet.run(&["check", "-o", "sarif", "-v"]).ends(7);
    let (fine, why) = said(&mut Command::new(&checker), &log.stdout);
    assert!(fine, "{why}");
    // The checker sees a fault.
    assert!(!said(&mut Command::new(&checker), &log.stdout.replace("\"ruleId\"", "\"rulId\"")).0);
    assert!(!said(&mut Command::new(&checker), &log.stdout.replace("\"startLine\": 1", "\"startLine\": 0")).0);
    let log = json(&log);
    let run = &log["runs"][0];
    let rules: Vec<&str> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    for result in run["results"].as_array().unwrap() {
        assert!(rules.contains(&result["ruleId"].as_str().unwrap()));
        let uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"].as_str().unwrap();
        assert!(fleet.has(uri), "{uri}");
    }
    let help = run["tool"]["driver"]["rules"][0]["help"]["markdown"].as_str().unwrap();
    assert!(help.contains("**Cure.**"), "{help}");
    // An empty one is valid too.
    let fleet = Fleet::with_credentials(1);
    let none = fleet.run(&["check", "-o", "sarif"]).ends(0);
    let (fine, why) = said(&mut Command::new(&checker), &none.stdout);
    assert!(fine, "{why}");
}

#[test]
fn other_systems_read_their_formats() {
    let fleet = faulty();
    let Some(python) = tool_on_path("python3") else { return };
    let count = "import sys, xml.etree.ElementTree as e; r = e.fromstring(sys.stdin.buffer.read()); \
                 assert int(r.get('tests')) == len(r.findall('.//testcase')) == 3, r.attrib; \
                 assert int(r.get('failures')) == len(r.findall('.//failure')) == 2, r.attrib";
    let junit = fleet.run(&["check", "-o", "junit"]).ends(7);
    let (fine, why) = said(Command::new(&python).args(["-c", count]), &junit.stdout);
    assert!(fine, "{why}");
    // https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format
    let issues = json(&fleet.run(&["check", "-o", "codequality"]).ends(7));
    let issues = issues.as_array().unwrap();
    assert_eq!(issues.len(), 3);
    for issue in issues {
        let is_text = |key: &str| issue[key].as_str().is_some_and(|text| !text.is_empty());
        assert!(["description", "check_name", "fingerprint"].into_iter().all(is_text), "{issue:#}");
        assert!(["info", "minor", "major", "critical", "blocker"].contains(&issue["severity"].as_str().unwrap()));
        assert!(fleet.has(issue["location"]["path"].as_str().unwrap()), "{issue:#}");
        assert!(issue["location"]["lines"]["begin"].as_u64().unwrap() >= 1);
    }
    let github = fleet.run(&["check", "-o", "github"]).ends(7);
    assert_eq!(github.stdout.lines().filter(|line| line.starts_with("::error file=")).count(), 2);
    assert_eq!(github.stdout.lines().filter(|line| line.starts_with("::warning file=pouch.yaml,line=1,")).count(), 1);
}

#[test]
fn what_a_baseline_knows_does_not_count() {
    let fleet = faulty();
    fleet.run(&["check", "--write-baseline", "known.json"]).ends(0).says("known.json knows ");
    let none = fleet.run(&["check", "--baseline", "known.json", "--deny", "info"]).ends(0).says("left out");
    assert_eq!(none.stdout, "");
    // Lines may move.
    let text = fleet.read("manifests/eu-c0.yaml");
    fleet.write("manifests/eu-c0.yaml", format!("# One more line.\n{text}"));
    fleet.run(&["check", "--baseline", "known.json", "--deny", "info"]).ends(0);
    // Something new counts, and what is cured is said.
    fleet.edit("manifests/us-c2.yaml", "kind: Secret, name: c2,", "kind: Secret, name: gone,");
    fleet.edit("manifests/eu-c0.yaml", "name: gone,", "name: c0,");
    let new = fleet.run(&["check", "--baseline", "known.json"]).ends(7).says(" cured since known.json");
    assert!(new.stdout.contains("us-team/c2") && new.stdout.ends_with("\n1 error\n"), "{new:?}");
    for (text, why) in [
        ("{\"a\": \"<secret>\"}", "it is no baseline"),
        ("not json", "it is no baseline"),
        (
            "{\"apiVersion\": \"pouch/v2\", \"kind\": \"Baseline\", \"findings\": {}}",
            "a format that this release does not know",
        ),
    ] {
        fleet.write("known.json", text);
        let ran = fleet.run(&["check", "--baseline", "known.json"]).ends(64).says(why);
        assert!(!ran.stderr.contains("<secret>"), "{ran:?}");
    }
    fleet.run(&["check", "--baseline", "nowhere.json"]).ends(64).says("nowhere.json");
    fleet.run(&["check", "--write-baseline", "no/folder.json"]).ends(1).says("no/folder.json");
}

#[test]
fn every_code_is_explained_by_the_program() {
    let fleet = Fleet::new();
    let ran = fleet.run(&["help", "missing-reference"]).ends(0);
    assert!(ran.stdout.starts_with("missing-reference (error, broken)\n\n**Error.** "), "{ran:?}");
    assert!(ran.stdout.contains("**Cure.**"), "{ran:?}");
    assert!(fleet.run(&["help", "plan"]).ends(0).stdout.contains("Usage: pouch plan"));
    assert!(fleet.run(&["help"]).ends(0).stdout.contains("Usage: pouch "));
    for typed in ["MISSING-REFERENCE", "error[missing-reference]", "error[missing-reference]:"] {
        assert_eq!(fleet.run(&["help", typed]).ends(0).stdout, ran.stdout);
    }
    fleet.run(&["help", "missing-referense"]).ends(64).says("Did you mean missing-reference?");
    fleet.run(&["help", "x\u{1b}"]).ends(64).says("error: \"x\\u{1b}\" is no command");
    fleet.run(&["help", "nothing-like-it"]).ends(64).says("is no command");
    for (typed, command) in
        [("diff", "plan"), ("lint", "check"), ("status", "plan"), ("decrypt", "unpack"), ("validate", "check")]
    {
        let meant = fleet.run(&["help", typed]).ends(64).says(&format!("`pouch {command}"));
        assert_eq!(fleet.run(&[typed]).ends(64).stderr, meant.stderr);
    }
    for flag in ["--accept-source=eu=x", "--accept-deletions", "--withdraw", "--replace-unsigned"] {
        let name = flag.split('=').next().unwrap();
        let ran = fleet.run(&["check", flag, "eu"]).ends(64);
        ran.says(&format!("this command takes no {name}\n")).says("Give it to `pouch publish`");
    }
}

/// A job that reads lines of JSON reads also why nothing was done.
#[test]
fn a_mistyped_command_line_is_told_in_the_format_that_it_asks_for() {
    let fleet = Fleet::new();
    for (words, message) in [
        (&["--log-format", "json", "plan", "--nope"][..], "unexpected argument '--nope' found"),
        (&["pln", "--log-format=json"], "unrecognized subcommand 'pln'"),
        (&["lint", "--log-format=json"], "there is no command lint"),
        (&["check", "--replace-unsigned", "eu", "--log-format=json"], "this command takes no --replace-unsigned"),
        (&["explain", "--log-format", "json", "secret"], "a name is missing after `secret`"),
        (&["plan", "--log-format", "json", "AGE-SECRET-KEY-1CANARYCANARYCANARY"], "the command line holds a key"),
    ] {
        let ran = fleet.run(words).ends(64);
        let record: Value = serde_json::from_str(&ran.stderr).unwrap_or_else(|error| panic!("{error}\n{ran:?}"));
        assert_eq!(record["severity"], "error", "{ran:?}");
        assert!(record["message"].as_str().unwrap().contains(message), "{ran:?}");
    }
    let text = fleet.run(&["plan", "--nope", "--log-format", "text"]).ends(64);
    text.says("error: unexpected argument '--nope' found\n");
}
