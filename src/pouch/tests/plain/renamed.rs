//! Names of before the first release: each is answered with the one in its place.

use pouch_core::finding::{Class, Code};
use pouch_core::name::{Directory, FleetName};
use pouch_core::renamed::{CODES, COMMANDS, FLAGS, KEYS, Renamed};
use pouch_core::report::pages::REFUSALS;
use pouch_core::reuse::{ReuseKey, manifest_line};

use crate::support::fleet::Fleet;
use crate::support::root;

const BEGIN: &str = "<!-- names: begin -->\n";
const END: &str = "<!-- names: end -->\n";

/// The table of the CHANGELOG; `POUCH_REWRITE=1` writes it.
#[test]
fn the_changelog_says_what_each_name_is_now() {
    let path = root().join("CHANGELOG.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (table, after) = rest.split_once(END).unwrap();
    let row = |what: &str, renamed: &Renamed| {
        let name = |name: &str| name.replace('*', "NAME");
        format!("| {what} | `{}` | `{}` |\n", name(renamed.old), name(renamed.new))
    };
    let rows = [("command", &COMMANDS[..]), ("flag", &FLAGS), ("key", &KEYS), ("code", &CODES)];
    let rows = rows.into_iter().flat_map(|(what, all)| all.iter().map(move |renamed| row(what, renamed)));
    let expect = format!("| | before | now |\n|---|---|---|\n{}", rows.collect::<String>());
    if std::env::var_os("POUCH_REWRITE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expect}{END}{after}")).unwrap();
    } else {
        assert_eq!(table, expect, "run it once with POUCH_REWRITE=1");
    }
}

/// The words that are typed for placeholders.
const TYPED: [(&str, &str); 7] = [
    ("AGE", "90d"),
    ("CONTEXT", "admin"),
    ("DIR", "bundles"),
    ("FILE", "x.txt"),
    ("NAMESPACE/NAME", "eu-team/c0"),
    ("REGION", "eu"),
    ("SOURCE=STATE", "manifests=0123456789abcdef0123456789abcdef01234567"),
];

#[test]
fn an_old_command_or_flag_is_answered_with_the_new_one() {
    let fleet = Fleet::new();
    fleet.configure("output: {path: bundles}", "output: {path: bundles, git: {repository: repo.git}}");
    // `render` took a folder where Credentials stand now, whether or not it is there.
    fleet.write("bundles/x", "");
    for renamed in COMMANDS {
        fleet.run(&[renamed.old]).ends(64).says(&format!("is called {} now", renamed.new));
        fleet.run(&["help", renamed.old]).ends(64).says(&format!("`pouch {}`", renamed.new));
    }
    for renamed in FLAGS {
        let typed = |word: &str| {
            TYPED
                .iter()
                .find(|(placeholder, _)| *placeholder == word)
                .map_or(word.to_owned(), |(_, typed)| (*typed).to_owned())
        };
        let words: Vec<String> = renamed.old.split(' ').map(typed).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let ran = fleet.run(&words).ends(64);
        let new = renamed.new.split(' ').find(|word| !renamed.old.split(' ').any(|old| old == *word));
        assert!(ran.stderr.contains(new.unwrap_or(renamed.new)), "{}: {}", renamed.old, ran.stderr);
        // Nothing is done, twice either.
        assert!(fleet.run(&[&words[..], &words[1..]].concat()).ends(64).stdout.is_empty());
        assert!(!fleet.path("bundles/regions").exists());
    }
}

#[test]
fn old_fields_are_answered_all_at_once_beside_other_faults() {
    let fleet = Fleet::new();
    fleet.configure("k0rdentPushDisabled: true, delivery: flux}", "detached: true, gate: [Ready], zebra: 1}");
    fleet.configure("output: {path: bundles}", "output: {path: bundles, git: {stamp: false}}\nkeep: {}\ndelivery: {}");
    fleet.configure("reuseKey:", "limits: {handover: 1h, deletions: {free: 1, objects: 2}}\nreuseKey:");
    let ran = fleet.run(&["check"]).ends(64);
    for renamed in KEYS {
        let new = renamed.new.replace('*', "eu");
        let says = |word: &str| ran.stderr.contains(&format!("the field is {word} `{new}`"));
        assert!(says("called") || says("replaced by"), "{new}: {}", ran.stderr);
    }
    assert!(ran.stderr.contains("unknown field \"zebra\"") && ran.stderr.contains("repository"), "{}", ran.stderr);
}

#[test]
fn an_old_code_is_read_as_the_one_that_it_is_now() {
    let fleet = Fleet::with_credentials(1);
    let lines: String = CODES.iter().map(|renamed| format!("  {}: error\n", renamed.old)).collect();
    fleet.configure("regions:", &format!("findings:\n{lines}regions:"));
    fleet.run(&["check"]).ends(0);
    for renamed in CODES {
        let page = fleet.run(&["help", renamed.old]).ends(0);
        assert!(page.stdout.starts_with(&format!("{} (", renamed.new)), "{}", page.stdout);
        assert_eq!(page.stdout, fleet.run(&["help", renamed.new]).ends(0).stdout);
    }
    for (word, exit) in REFUSALS {
        let page = fleet.run(&["help", word]).ends(0).stdout;
        assert!(page.starts_with(&format!("{word} (error, {exit})\n")), "{page}");
    }
}

/// An old flag is answered by the command that is typed, whatever else is on the line.
#[test]
fn an_old_flag_is_that_of_its_command() {
    let fleet = Fleet::with_credentials(1);
    fleet.run(&["log", "--older-than", "9d", "--deny"]).ends(64).says("Write `pouch log --deny warning`");
    fleet.run(&["log", "--older-than", "9d", "--deny", "errr"]).ends(64).says("possible values");
    fleet.run(&["verify", "--live=ctx"]).ends(64).says("--live takes no value").says("--context CONTEXT");
    fleet.run(&["plan", "--adopt", "render"]).ends(64).says("Write `pouch plan --replace-unsigned REGION`");
    fleet.run(&["help", "invalid-credentail"]).ends(64).says("invalid-credential");
}

#[test]
fn durations_are_shown_as_they_were_typed() {
    let fleet = Fleet::new();
    fleet.configure("regions:", "limits: {retainReplaced: 90m, deletions: {window: 48h}}\nregions:");
    let shown = fleet.run(&["config"]).ends(0).stdout;
    assert!(shown.contains("retainReplaced: \"90m\"") && shown.contains("window: \"48h\""), "{shown}");
    fleet.configure("retainReplaced: 90m, deletions: {window: 48h}", "retainReplaced: 3600s");
    let shown = fleet.run(&["config"]).ends(0).stdout;
    assert!(shown.contains("retainReplaced: \"3600s\"") && shown.contains("window: \"24h\""), "{shown}");
    let version = fleet.run(&["--version"]).ends(0).stdout;
    assert!(version.starts_with(concat!("pouch ", env!("CARGO_PKG_VERSION"))), "{version}");
}

#[test]
fn two_old_codes_of_one_finding_say_the_same() {
    let fleet = Fleet::with_credentials(1);
    fleet.configure("regions:", "findings: {untied-profile: info, untied-region: warning, zebra: info}\nregions:");
    let ran = fleet.run(&["check"]).ends(64).says("zebra").says("Write one line: `untied: info` or `untied: warning`.");
    assert!(ran.stderr.contains("findings.untied-region"), "{}", ran.stderr);
    fleet.configure("untied-profile: info, untied-region: warning, zebra: info", "untied-profile: off, untied: off");
    fleet.run(&["check"]).ends(0);
}

/// A manifest that says why an object stays by another word than today's is as good, and no reason for a commit.
#[test]
fn an_old_reason_in_a_bundle_is_read_as_the_one_of_now() {
    let fleet = Fleet::with_credentials(2);
    fleet.render(&[]).ends(0);
    fleet.edit("manifests/eu-c0-secret.yaml", "kind: Secret", "kind: Secret\ntype: example.com/other");
    fleet.render(&[]).ends(3).says("immutable-field").outcome("eu", "published");
    fleet.render(&[]).ends(3).outcome("eu", "unchanged");
    let path = "bundles/regions/eu/bundle.yaml";
    let (now, body) = (fleet.read(path), |text: &str| text.split_once('\n').unwrap().1.to_owned());
    let key = ReuseKey::parse(fleet.read("reuse.key").trim()).unwrap();
    let vouched = |text: &str| {
        let line = manifest_line(&key, &FleetName::from("acme"), &Directory::from("eu"), text.as_bytes());
        line + text
    };
    let old = body(&now).replace("reason: immutable-field", "reason: secret-type-changed");
    assert_ne!(old, body(&now));
    fleet.write(path, vouched(&old));
    let stands = fleet.tree("bundles");
    fleet.run(&["plan", "--detailed-exitcode"]).ends(0);
    fleet.render(&[]).ends(3).outcome("eu", "unchanged");
    fleet.run(&["verify"]).ends(0);
    assert_eq!(fleet.tree("bundles"), stands);
    // What is changed anyway is written in the words of now.
    fleet.credential("eu", "c2", "new");
    fleet.render(&[]).ends(3).outcome("eu", "published");
    assert!(fleet.read(path).contains("reason: immutable-field") && !fleet.read(path).contains("secret-type-changed"));
    // A word that never was one is another thing.
    let strange = body(&fleet.read(path)).replace("immutable-field", "secret-type-chnaged");
    fleet.write(path, vouched(&strange));
    fleet.render(&[]).ends(3).outcome("eu", "published");
    // Nothing vouches for a word that another program wrote.
    fleet.write(path, fleet.read(path).replace("reason: immutable-field", "reason: secret-type-changed"));
    fleet.render(&[]).ends(4).says("unsigned-bundle");
}

/// A code decides the same as before.
#[test]
fn no_code_changed_its_class_by_its_name() {
    let class = |code: &str| Code::parse(code).map(Code::class);
    for renamed in CODES {
        let expected = match renamed.new {
            "forbidden-place" => Class::Refused,
            "invalid-object" | "immutable-field" => Class::Broken,
            "unreadable-object" => Class::Source,
            "missing-on-region" => Class::Fault,
            _ => Class::Notice,
        };
        assert_eq!(class(renamed.old), Some(expected), "{}", renamed.old);
    }
}

#[test]
fn a_credential_and_a_folder_of_one_name_are_the_credential() {
    let fleet = Fleet::with_credentials(1);
    fleet.write("eu-team/c0/x", "");
    fleet.render(&["eu-team/c0"]).ends(0);
    assert!(fleet.path("bundles/regions/eu").exists() && !fleet.path("eu-team/c0/regions").exists());
}
