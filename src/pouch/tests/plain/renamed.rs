//! Names of before the first release: each is answered with the one in its place.

use pouch_core::renamed::{COMMANDS, FLAGS, KEYS, Renamed};

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
    let rows = [("command", &COMMANDS[..]), ("flag", &FLAGS), ("key", &KEYS)];
    let rows = rows.into_iter().flat_map(|(what, all)| all.iter().map(move |renamed| row(what, renamed)));
    let expect = format!("| | before | now |\n|---|---|---|\n{}", rows.collect::<String>());
    if std::env::var_os("POUCH_REWRITE").is_some() {
        std::fs::write(&path, format!("{before}{BEGIN}{expect}{END}{after}")).unwrap();
    } else {
        assert_eq!(table, expect, "run it once with POUCH_REWRITE=1");
    }
}

/// The words that are typed for placeholders.
const TYPED: [(&str, &str); 6] = [
    ("AGE", "90d"),
    ("CONTEXT", "admin"),
    ("DIR", "bundles"),
    ("FILE", "x.txt"),
    ("NAMESPACE/NAME", "eu-team/c0"),
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
fn a_credential_and_a_folder_of_one_name_are_the_credential() {
    let fleet = Fleet::with_credentials(1);
    fleet.write("eu-team/c0/x", "");
    fleet.render(&["eu-team/c0"]).ends(0);
    assert!(fleet.path("bundles/regions/eu").exists() && !fleet.path("eu-team/c0/regions").exists());
}
