//! What `pouch log` believes of a commit that says which values it replaced: a commit of pouch's own, and no other.

use std::fs;

use pouch_core::reuse::ReuseKey;

use super::{BEGIN, DAY, Life, ages, told};
use crate::support::fleet::{CANARY, EU};

/// Another value of the same length.
fn other(value: &str) -> String {
    format!("value: {}", value.to_uppercase())
}

impl Life {
    /// Both Credentials of a region, of which `c1` gets another value of the same length on day 20.
    fn rotated() -> Self {
        let life = Self::new();
        life.on(0, &["publish", "--first"]).ends(0);
        life.fleet.secret("eu", "c1", &other(&format!("{CANARY}-eu-1")));
        life.on(20, &["publish"]).ends(0);
        life
    }
}

#[test]
fn a_value_of_the_same_length_is_rotated_where_a_commit_of_pouch_proves_it() {
    let life = Life::rotated();
    let log = life.log(&["eu-team/c1"]);
    assert_eq!(told(&log), ["0 published c1 +", "20 changed c1 changed value=changed"]);
    assert_eq!(ages(&log), ["eu/c1 20 true -"]);
    let log = life.log_without_key(&["eu-team/c1"]);
    assert_eq!(told(&log), ["0 published c1 +", "20 resealed c1 unknown value=unknown"]);
    assert_eq!(ages(&log), ["eu/c1 0 false 20"]);
    let older = format!("{}d", (jiff::Timestamp::now().as_second() - BEGIN) / DAY - 10);
    let overdue = ["log", "region", "eu", "--older-than", &older];
    let listed = life.fleet.run(&overdue).ends(0).stdout;
    assert!(listed.contains("eu-team/c0") && !listed.contains("eu-team/c1"), "{listed}");
    assert!(!listed.contains("--values"), "all is known: {listed}");
    fs::remove_file(life.fleet.path("reuse.key")).unwrap();
    for format in ["text", "markdown"] {
        let listed = life.fleet.run(&[&overdue[..], &["-o", format]].concat()).ends(0).stdout;
        assert!(listed.contains("eu-team/c1"), "{listed}");
        let hint = "It is not known of 1 Secret whether a value changed since; --values compares them with the sources. \
                    Without the reuse key, no commit proves what it changed.";
        assert!(listed.contains(hint), "{listed}");
    }
}

/// An AWS key that was replaced today by one of the same length, as AWS makes them.
#[test]
fn an_aws_key_that_was_replaced_is_not_overdue() {
    let life = Life::new();
    let key = |letter: &str| format!("AccessKeyID: AKIA{}, SecretAccessKey: {}", letter.repeat(16), letter.repeat(40));
    life.fleet.secret("eu", "c0", &key("a"));
    life.on(0, &["publish", "--first"]).ends(0);
    life.fleet.secret("eu", "c0", &key("b"));
    let overdue = || life.fleet.run(&["log", "--older-than", "90d", "eu-team/c0"]).ends(0).stdout;
    assert!(overdue().contains("eu: 1 Secret not known to be rotated for 90d"), "{}", overdue());
    life.fleet.run(&["publish"]).ends(0);
    assert!(overdue().contains("Whatever is published now of Credential eu-team/c0 was rotated"), "{}", overdue());
}

#[test]
fn sealing_the_same_values_again_is_no_rotation() {
    let life = Life::new();
    life.on(0, &["publish", "--first"]).ends(0);
    life.on(10, &["rekey", "--region", "eu"]).ends(0);
    life.fleet.run(&["init", "-f", "pair/pouch.yaml", "--region", "eu"]);
    let recipient = life.fleet.read("pair/keys/eu.txt").lines().next().unwrap().replace("# public key: ", "");
    life.fleet.configure(EU, &format!("{EU}, {recipient}"));
    let accepted = life.on(20, &["publish"]).ends(4).acceptance("--accept-recipients", "eu");
    life.on(20, &["publish", "--accept-recipients", &accepted]).ends(0);
    // Another reuse key makes new tags around the same ciphertext.
    life.fleet.private("old.key", life.fleet.read("reuse.key"));
    life.fleet.private("reuse.key", ReuseKey::to_text(&[7; 32]));
    life.fleet.configure("{file: reuse.key}", "{file: reuse.key, previous: [{file: old.key}]}");
    life.on(30, &["publish"]).ends(0);
    let log = life.log(&["eu-team/c1"]);
    assert_eq!(
        told(&log),
        ["0 published c1 +", "10 resealed c1 same", "20 recipients c1 same +", "30 retagged c1 same"]
    );
    assert_eq!(ages(&log), ["eu/c1 0 false -"]);
    // Who has no key cannot tell it from a rotation.
    assert_eq!(ages(&life.log_without_key(&["eu-team/c1"])), ["eu/c1 0 false 20"]);
}

/// The commit of a rotation, made by somebody else with the same files and the same words, or by pouch on other ground.
#[test]
fn what_somebody_else_says_in_the_words_of_pouch_proves_nothing() {
    let copied = "git commit -q --amend -C HEAD --reset-author; git push -qf origin HEAD:main";
    let claimed = "git commit -q --allow-empty -m \"$(git log -1 --format=%B | sed 's/ value$/ value more/')\"; git push -q \
                   origin HEAD:main";
    for (script, expected) in
        [(None, "eu/c1 20 true -"), (Some(copied), "eu/c1 0 false"), (Some(claimed), "eu/c1 20 true -")]
    {
        let life = Life::rotated();
        if let Some(script) = script {
            life.origin().run_beside(&format!("git config commit.gpgsign false; {script}"));
        }
        let ages = ages(&life.log(&["eu-team/c1"]));
        assert!(ages[0].starts_with(expected), "{script:?}: {ages:?}");
    }
}

/// A file that somebody put in the place of the published one is not what pouch compared with.
#[test]
fn what_pouch_did_not_compare_with_is_not_proved() {
    for (is_altered, expected) in [(false, "eu/c1 20 true -"), (true, "eu/c1 0 false ")] {
        let life = Life::new();
        life.on(0, &["publish", "--first"]).ends(0);
        if is_altered {
            life.origin().commit_beside("echo '# x' >> bundles/regions/eu/core/secrets/eu-team/c1.sops.yaml");
        }
        life.fleet.secret("eu", "c1", &other(&format!("{CANARY}-eu-1")));
        life.on(20, &["publish"]).ends(0);
        let ages = ages(&life.log(&["eu-team/c1"]));
        assert!(ages[0].starts_with(expected), "{ages:?}");
        assert_eq!(ages[0].ends_with(" -"), !is_altered, "{ages:?}");
    }
}
