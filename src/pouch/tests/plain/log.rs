//! `pouch log`, through the built program: the life of what pouch itself published, and made-up histories beside a model.

mod hostile;
mod model;
mod proved;

use std::fs;

use serde_json::Value;

use crate::support::fleet::{CANARY, EU, Fleet, Ran};
use crate::support::origin::Origin;

/// Seconds of a day.
const DAY: i64 = 86_400;

/// When the histories of these tests begin.
const BEGIN: i64 = 1_700_000_000;

/// A fleet that publishes, with commits whose days a test says.
pub struct Life {
    pub fleet: Fleet,
}

impl Life {
    /// Two Credentials in each region, not yet published.
    pub fn new() -> Self {
        let fleet = Fleet::with_credentials(2);
        Origin::new(&fleet, "");
        Self { fleet }
    }

    /// Runs a command whose commits are made on a day.
    pub fn on(&self, day: i64, arguments: &[&str]) -> Ran {
        let mut command = self.fleet.command(arguments);
        command.env("SOURCE_DATE_EPOCH", (BEGIN + day * DAY).to_string());
        Ran::from(command.output().unwrap())
    }

    pub fn origin(&self) -> Origin<'_> {
        Origin::known(&self.fleet)
    }

    pub fn log(&self, arguments: &[&str]) -> Value {
        let ran = self.fleet.run(&[&["log", "-o", "json"], arguments].concat()).ends(0);
        let log = serde_json::from_str(&ran.stdout).unwrap();
        let schema = include_str!("../../../../schemas/log.schema.json");
        let schema = jsonschema::validator_for(&serde_json::from_str(schema).unwrap()).unwrap();
        assert!(schema.is_valid(&log), "{:?}", schema.iter_errors(&log).next());
        log
    }

    /// Does something where the reuse key is not at hand.
    pub fn without_key<T>(&self, act: impl FnOnce() -> T) -> T {
        let [key, away] = ["reuse.key", "reuse.away"].map(|name| self.fleet.path(name));
        fs::rename(&key, &away).unwrap();
        let done = act();
        fs::rename(away, key).unwrap();
        done
    }

    /// The answer of who has the repository and the configuration alone.
    pub fn log_without_key(&self, arguments: &[&str]) -> Value {
        self.without_key(|| self.log(arguments))
    }

    /// All of it: `c0` gets a longer value, `c1` one of the same length; everything is sealed anew, then for one more; `c0`
    /// breaks and is mended; `c1` is withdrawn and put back.
    pub fn whole() -> Self {
        let life = Self::new();
        let fleet = &life.fleet;
        life.on(0, &["publish", "--first"]).ends(0);
        fleet.secret("eu", "c0", &format!("value: {CANARY}-longer-than-before"));
        life.on(10, &["publish"]).ends(0);
        fleet.secret("eu", "c1", &format!("value: {}", format!("{CANARY}-eu-1").to_uppercase()));
        life.on(20, &["publish"]).ends(0);
        life.on(30, &["rekey", "--region", "eu"]).ends(0);
        fleet.run(&["init", "-f", "pair/pouch.yaml", "--region", "eu"]);
        let recipient = fleet.read("pair/keys/eu.txt").lines().next().unwrap().replace("# public key: ", "");
        fleet.configure(EU, &format!("{EU}, {recipient}"));
        let accepted = life.on(40, &["publish"]).ends(4).acceptance("--accept-recipients", "eu");
        life.on(40, &["publish", "--accept-recipients", &accepted]).ends(0);
        let [secret, credential] = ["c0-secret", "c1"].map(|name| fleet.read(&format!("manifests/eu-{name}.yaml")));
        fleet.remove("manifests/eu-c0-secret.yaml");
        life.on(50, &["publish"]).ends(3);
        fleet.write("manifests/eu-c0-secret.yaml", secret);
        fleet.remove("manifests/eu-c1.yaml");
        life.on(60, &["publish"]).ends(0);
        fleet.write("manifests/eu-c1.yaml", credential);
        life.on(70, &["publish"]).ends(0);
        life
    }
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}"))
}

/// The day of a commit.
fn day(commit: &Value) -> i64 {
    let time: jiff::Timestamp = text(&commit["time"]).parse().unwrap();
    (time.as_second() - BEGIN) / DAY
}

/// Each event as `DAY WHAT NAME VALUES ENTRIES`, oldest first, with what else it says.
pub fn told(log: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for commit in list(&log["commits"]).iter().rev() {
        for event in list(&commit["events"]).iter().filter(|event| event["object"]["kind"] == "Secret") {
            let mut line = format!("{} {} {}", day(commit), text(&event["what"]), text(&event["object"]["name"]));
            if event["again"] == true {
                line.push_str(" again");
            }
            if let Some(values) = event["values"].as_str() {
                line.push_str(&format!(" {values}"));
            }
            for entry in list(&event["entries"]) {
                line.push_str(&format!(" {}={}", text(&entry["name"]), text(&entry["change"])));
            }
            if let Some(reason) = event["reason"].as_str() {
                line.push_str(&format!(" ({reason})"));
            }
            for (sign, field) in [("+", "recipientsAdded"), ("-", "recipientsRemoved")] {
                line.push_str(&list(&event[field]).iter().map(|_| format!(" {sign}")).collect::<String>());
            }
            lines.push(line);
        }
    }
    lines
}

/// `NAME ROTATED CHANGED PERHAPS` of each Secret that is published now.
fn ages(log: &Value) -> Vec<String> {
    let line = |secret: &Value| {
        let perhaps = secret.get("perhapsRotated").map_or(String::from("-"), |commit| day(commit).to_string());
        let name = format!("{}/{}", text(&secret["directory"]), text(&secret["name"]));
        format!("{name} {} {} {perhaps}", day(&secret["rotated"]), secret["changed"])
    };
    list(&log["secrets"]).iter().map(line).collect()
}

#[test]
fn a_credential_s_whole_life_is_told() {
    let life = Life::whole();
    let log = life.log_without_key(&["eu-team/c0"]);
    assert_eq!(
        told(&log),
        [
            "0 published c0 +",
            "10 changed c0 changed value=changed",
            "30 resealed c0 unknown value=unknown",
            "40 recipients c0 unknown value=unknown +",
            "50 carried c0 (missing-reference)",
            "60 current c0",
        ]
    );
    assert_eq!(ages(&log), ["eu/c0 10 true 40"]);
    let log = life.log_without_key(&["secret", "c1", "-n", "eu-team"]);
    assert_eq!(
        told(&log),
        [
            "0 published c1 +",
            "20 resealed c1 unknown value=unknown",
            "30 resealed c1 unknown value=unknown",
            "40 recipients c1 unknown value=unknown +",
            "60 withdrawn c1",
            "70 published c1 again unknown value=unknown + +",
        ]
    );
    assert_eq!(ages(&log), ["eu/c1 0 false 70"]);
    for event in list(&log["commits"]).iter().flat_map(|commit| list(&commit["events"])) {
        assert_eq!(
            (&event["credentials"][0], &event["region"], &event["fleet"]),
            (&"eu-team/c1".into(), &"eu".into(), &"acme".into())
        );
    }
    // Where nobody changed anything, nothing is told.
    assert_eq!(told(&life.log(&["us-team/c0"])), ["0 published c0 +"]);
    // The whole and a region are the same, without the other region.
    let (all, eu) = (told(&life.log(&[])), told(&life.log(&["region", "eu"])));
    assert_eq!(all.len(), eu.len() + 2);
    assert_eq!(eu.len(), 12);
}

#[test]
fn with_values_it_is_known_since_when_they_are_published() {
    let life = Life::whole();
    let log = life.log(&["eu-team/c0", "--values"]);
    let expected = [
        "0 published c0 +",
        "10 changed c0 changed value=changed",
        "30 resealed c0 same",
        "40 recipients c0 same +",
        "50 carried c0 (missing-reference)",
        "60 current c0",
    ];
    assert_eq!(told(&log), expected);
    assert_eq!(ages(&log), ["eu/c0 10 true -"]);
    let log = life.log(&["eu-team/c1", "--values"]);
    let expected = [
        "0 published c1 +",
        "20 changed c1 changed value=changed",
        "30 resealed c1 same",
        "40 recipients c1 same +",
        "60 withdrawn c1",
        "70 published c1 again same + +",
    ];
    assert_eq!(told(&log), expected);
    assert_eq!(ages(&log), ["eu/c1 20 true -"]);
    assert!(list(&log["commits"]).iter().all(|commit| commit["proved"] == true), "{log}");
    assert_eq!(log["looked"]["branches"][0]["unproved"], 0);
}

#[test]
fn people_are_told_the_last_of_it_and_all_of_it_when_they_ask() {
    let life = Life::whole();
    let shown = |arguments: &[&str]| life.fleet.run(&[&["log"], arguments].concat()).ends(0).stdout;
    let credential = life.without_key(|| shown(&["eu-team/c0"]));
    for says in [
        "8 commits of main, up to ",
        "  eu  changed     Secret eu-team/c0: value; for eu-team/c0\n",
        "  eu  resealed    Secret eu-team/c0: sealed anew; whether a value changed cannot be told; for eu-team/c0\n",
        "  eu  carried     Secret eu-team/c0: stays as it was: missing-reference; for eu-team/c0\n",
        "Published now:\n  eu  Secret eu-team/c0: up to ",
        "d, changed 2023-11-24 in ",
        "; sealed again 2023-12-24 in ",
    ] {
        assert!(credential.contains(says), "no {says:?} in:\n{credential}");
    }
    assert!(!credential.contains("eu-team/c1") && !credential.contains("us-team"), "{credential}");
    let position = |text: &str| credential.find(text).unwrap();
    assert!(position("2024-01-13") < position("2023-11-14"), "the newest first:\n{credential}");
    let markdown = shown(&["eu-team/c1", "--values", "-o", "markdown"]);
    for says in [
        "### pouch log of `Credential eu-team/c1`\n",
        "By `pouch`, proved to be pouch's.",
        "- `eu  changed     Secret eu-team/c1: value; for eu-team/c1`\n",
        "#### Published now\n\n- `eu  Secret eu-team/c1: ",
    ] {
        assert!(markdown.contains(says), "no {says:?} in:\n{markdown}");
    }
    // More commits than a person takes in.
    for day in 80..95 {
        life.fleet.secret("us", "c0", &format!("value: {}", "x".repeat(usize::try_from(day).unwrap())));
        life.on(day, &["publish"]).ends(0);
    }
    let (brief, whole) = (shown(&[]), shown(&["-v"]));
    assert!(brief.ends_with("and 3 older commits; -v tells all\n"), "{brief}");
    assert!(!brief.contains("2 regions: 6 changes") && whole.contains("2 regions: 6 changes"), "{whole}");
}

/// A value that is put back as it was sealed is as old as it was, and a new entry makes no other one younger.
#[test]
fn nothing_but_another_value_makes_a_secret_young() {
    let life = Life::new();
    life.on(0, &["publish", "--first"]).ends(0);
    life.fleet.secret("eu", "c0", &format!("value: {CANARY}-longer-than-before"));
    life.on(10, &["publish"]).ends(0);
    assert_eq!(ages(&life.log(&["eu-team/c0"])), ["eu/c0 10 true -"]);
    life.fleet.secret("eu", "c1", &format!("value: {CANARY}-eu-1, more: of-another-kind"));
    life.on(20, &["publish"]).ends(0);
    life.fleet.secret("eu", "c1", &format!("value: {CANARY}-eu-1, more: of-another-kind-and-longer"));
    life.on(30, &["publish"]).ends(0);
    // Without a key nobody can tell that the first entry stayed, and with one it is as old as the Secret.
    assert_eq!(ages(&life.log_without_key(&["eu-team/c1"])), ["eu/c1 0 false 30"]);
    assert_eq!(ages(&life.log(&["eu-team/c1"])), ["eu/c1 0 false -"]);
    let with_values = ages(&life.log(&["eu-team/c1", "--values"]));
    assert!(with_values[0].starts_with("eu/c1 0 false "), "{with_values:?}");
    life.origin().commit_beside("git checkout -q HEAD~3 -- bundles");
    assert_eq!(ages(&life.log(&["eu-team/c0"])), ["eu/c0 0 false -"]);
}

/// What never changes by its nature makes no Secret old whose secrets were rotated.
#[test]
fn a_secret_is_as_old_as_its_secrets() {
    let life = Life::new();
    let entries = |password: &str| format!("username: somebody-with-a-name, password: {password}");
    let set = |name: &str, body: &str| life.fleet.secret("eu", name, body);
    set("c0", &entries("as-it-was-in-the-beginning"));
    set("c1", "url: https://somewhere.example.org, token: as-it-was-in-the-beginning");
    life.on(0, &["publish", "--first"]).ends(0);
    set("c0", &entries("longer-than-it-was-in-the-beginning"));
    set("c1", "url: https://somewhere.example.org, token: longer-than-it-was-in-the-beginning");
    life.on(10, &["publish"]).ends(0);
    let now = jiff::Timestamp::now().as_second();
    let since = |day: i64| format!("{}d", (now - BEGIN) / DAY - day);
    let of = |name: &str, more: &[&str]| life.log(&[&[name, "--values"], more].concat())["secrets"][0].clone();
    let user = of("eu-team/c0", &[]);
    assert_eq!(user["oldest"], serde_json::json!(["password"]));
    let told = |secret: &Value| -> Vec<String> {
        let entry = |entry: &Value| {
            format!("{} {} {} {}", text(&entry["name"]), entry["counts"], day(&entry["rotated"]), entry["changed"])
        };
        list(&secret["entries"]).iter().map(entry).collect()
    };
    assert_eq!(told(&user), ["password true 10 true", "username false 0 false"]);
    assert_eq!(told(&of("eu-team/c1", &[])), ["token true 10 true", "url true 0 false"]);
    assert_eq!(told(&of("eu-team/c1", &["--not-secret", "url"])), ["token true 10 true", "url false 0 false"]);
    // Where nothing else is left, everything counts.
    let all = of("eu-team/c1", &["--not-secret", "url", "--not-secret", "token"]);
    assert_eq!(told(&all), ["token true 10 true", "url true 0 false"]);
    let older = since(5);
    let ask = |more: &[&str], code: i32| {
        let all = [&["log", "region", "eu", "--values", "--deny", "warning", "--older-than", &older], more].concat();
        life.fleet.run(&all).ends(code).stdout
    };
    let listed = ask(&[], 7);
    for says in [
        "eu: 1 Secret not known to be rotated for ",
        &format!("Secret eu-team/c1: {}, url first published 2023-11-14 in ", since(0)),
        &format!("; token {}, changed 2023-11-24 in ", since(10)),
        "\nurl was never known to change, and other entries of the same Secret were. If such an entry is no secret, leave it \
         out: --not-secret url\n",
    ] {
        assert!(listed.contains(says), "no {says:?} in:\n{listed}");
    }
    assert!(ask(&["-o", "markdown"], 7).contains("leave it out: --not-secret url"));
    assert!(ask(&["--not-secret", "url"], 0).contains("\nWhatever is published now of region eu was rotated"));
    let life = life.fleet.run(&["log", "eu-team/c0", "--values"]).ends(0).stdout;
    let says = format!("Secret eu-team/c0: {}, password changed 2023-11-24 in ", since(10));
    assert!(life.contains(&says) && life.contains(&format!("; no secret: username {}; for ", since(0))), "{life}");
}

#[test]
fn what_was_not_rotated_is_listed_and_denied() {
    let life = Life::whole();
    let now = jiff::Timestamp::now().as_second();
    let days = |day: i64| (now - BEGIN) / DAY - day;
    let names = |log: Value| -> Vec<String> {
        assert!(log.get("commits").is_none(), "{log}");
        list(&log["secrets"])
            .iter()
            .map(|secret| format!("{}/{}", text(&secret["directory"]), text(&secret["name"])))
            .collect()
    };
    let listed = |older: i64, more: &[&str]| names(life.log(&[&["--older-than", &format!("{older}d")], more].concat()));
    let listed_without_key = |older: i64| names(life.log_without_key(&["--older-than", &format!("{older}d")]));
    // By region, oldest first. What nobody can tell counts as not rotated.
    assert_eq!(listed_without_key(days(60)), ["eu/c1", "eu/c0", "us/c0", "us/c1"]);
    assert_eq!(listed_without_key(days(5)), ["eu/c1", "us/c0", "us/c1"]);
    for more in [&["--values"][..], &[]] {
        assert_eq!(listed(days(5), more), ["us/c0", "us/c1"]);
        assert_eq!(listed(days(15), more), ["eu/c0", "us/c0", "us/c1"]);
    }
    assert_eq!(listed(days(5), &["eu-team/c0"]), [""; 0]);
    assert_eq!(listed(days(5), &["region", "us"]), ["us/c0", "us/c1"]);
    let ask = |older: i64, more: &[&str], code: i32| {
        let older = format!("{older}d");
        life.fleet.run(&[&["log", "--older-than", &older, "--deny", "warning"], more].concat()).ends(code).stdout
    };
    let told = life.without_key(|| ask(days(5), &[], 7));
    for says in ["\neu: 1 Secret not known to be rotated for ", "\nus: 2 Secrets not known", "  Secret us-team/c0: "] {
        assert!(told.contains(says), "no {says:?} in:\n{told}");
    }
    let told = ask(days(-1), &[], 0);
    assert!(told.contains("Every Secret that is published now was rotated or first published less than "), "{told}");
    let told = ask(days(5), &["eu-team/c0"], 0);
    assert!(told.contains("Whatever is published now of Credential eu-team/c0 was rotated"), "{told}");
    ask(days(5), &["-o", "markdown"], 7);
    ask(days(5), &["-o", "json"], 7);
}
