//! `pouch exposure`, through the built program: against a model of made-up histories, and on what pouch
//! itself published.

pub mod model;
mod owner;
mod reach;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use serde_json::Value;

use crate::support::fleet::{CANARY, EU, Fleet, US};
use crate::support::origin::Origin;

/// A Secret as a commit of the model has it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Secret {
    recipients: BTreeSet<String>,
    /// Lengths by name.
    entries: BTreeMap<String, usize>,
    salt: usize,
}

impl Secret {
    fn text(&self, name: &str) -> String {
        let mut text =
            format!("# pouch/v1 0123abcd {:0>43}\n# pouch/v1 entries AAAAAAAAAAA\napiVersion: v1\ndata:\n", self.salt);
        for (entry, length) in &self.entries {
            let data = "A".repeat(length.div_ceil(3) * 4 - (3 - length % 3) % 3) + &"=".repeat((3 - length % 3) % 3);
            writeln!(text, "  {entry}: ENC[AES256_GCM,data:{data},iv:{},tag:AA==,type:str]", self.salt).unwrap();
        }
        write!(text, "kind: Secret\nmetadata:\n  name: {name}\n  namespace: team\nsops:\n  age:\n").unwrap();
        for recipient in &self.recipients {
            writeln!(text, "  - enc: |\n      {}\n    recipient: {recipient}", self.salt).unwrap();
        }
        text + "  mac: ENC[none]\n  version: \"3.9.0\"\n"
    }
}

fn label(number: usize) -> String {
    format!("age1model{number}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Makes a bare repository `model.git` of a stream.
pub fn import(fleet: &Fleet, stream: &str) {
    let mut git = std::process::Command::new("git");
    git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let path = fleet.path("model.git");
    let init = ["init", "--quiet", "--bare", "--initial-branch=main"];
    assert!(git.args(init).arg(&path).status().unwrap().success());
    let mut git = std::process::Command::new("git");
    git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).arg("-C").arg(&path);
    let mut child = git.args(["fast-import", "--quiet", "--done"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stream.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
}

/// A fleet without configuration.
pub fn bare() -> Fleet {
    let fleet = Fleet::new();
    fleet.remove("pouch.yaml");
    fleet
}

fn asked(fleet: &Fleet, arguments: &[&str]) -> Value {
    let ran = fleet.run(&[&["exposure", "-o", "json"], arguments].concat()).ends(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

/// Publishes for `eu` to one recipient, then to another one instead, and then new values.
fn rotated() -> (Fleet, String) {
    let fleet = Fleet::with_credentials(3);
    let origin = Origin::new(&fleet, "");
    origin.publish(&[]).ends(0);
    fleet.run(&["init", "-f", "pair/pouch.yaml", "--region", "eu"]);
    let recipient = fleet.read("pair/keys/eu.txt").lines().next().unwrap().replace("# public key: ", "");
    fleet.configure(EU, &recipient);
    let held = origin.publish(&[]).ends(4);
    let accepted = held.acceptance("--accept-recipients", "eu");
    origin.publish(&["--accept-recipients", &accepted]).ends(0);
    // The same length, so that only tags can tell.
    fleet.secret("eu", "c1", &format!("value: {}", format!("{CANARY}-eu-1").to_uppercase()));
    fleet.delete("eu", "c2");
    origin.publish(&[]).ends(0);
    (fleet, recipient)
}

fn verdicts(answer: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    for reader in list(&answer["readers"]) {
        for secret in list(&reader["secrets"]) {
            let entries: Vec<String> = list(&secret["entries"])
                .iter()
                .map(|entry| format!("{} {}", text(&entry["name"]), text(&entry["verdict"])))
                .collect();
            let credentials: Vec<String> = list(&secret["credentials"]).iter().map(text).collect();
            lines.push(format!(
                "{}/{} {} {}",
                text(&secret["region"]),
                text(&secret["name"]),
                entries.join(","),
                credentials.join(",")
            ));
        }
    }
    lines
}

#[test]
fn a_removed_recipient_is_told_with_what_it_could_read() {
    let (fleet, recipient) = rotated();
    let (key, away) = (fleet.path("reuse.key"), fleet.path("reuse.away"));
    std::fs::rename(&key, &away).unwrap();
    let answer = asked(&fleet, &["--removed"]);
    let told = fleet.run(&["exposure", "--removed"]).ends(0).stdout;
    std::fs::rename(&away, &key).unwrap();
    assert_eq!(answer["readers"][0]["recipient"], EU);
    assert_eq!(
        verdicts(&answer),
        ["eu/c0 value unknown eu-team/c0", "eu/c1 value unknown eu-team/c1", "eu/c2 value gone eu-team/c2"]
    );
    assert!(told.contains("the value was changed since; --values compares it with the sources:"), "{told}");
    // The reuse key, and today's values with it, tell more; no private key is asked for.
    for more in [&[][..], &["--values"]] {
        let answer = asked(&fleet, &[&["--removed"], more].concat());
        assert_eq!(
            verdicts(&answer),
            ["eu/c0 value same eu-team/c0", "eu/c1 value changed eu-team/c1", "eu/c2 value gone eu-team/c2"]
        );
    }
    let answer = asked(&fleet, &["--recipient", &recipient]);
    assert_eq!(
        verdicts(&answer),
        ["eu/c0 value readable eu-team/c0", "eu/c1 value readable eu-team/c1", "eu/c2 value gone eu-team/c2"]
    );
    let ran = fleet.run(&["exposure", "--removed", "--values"]).ends(0);
    for says in
        ["Rotate, today's value could be read:\n    acme/eu Secret eu-team/c0: value\n", "Changed since", "(removed)"]
    {
        assert!(ran.stdout.contains(says), "{}", ran.stdout);
    }
    assert!(!ran.stdout.to_lowercase().contains(CANARY) && !ran.stdout.contains(US), "{}", ran.stdout);
    // Of nobody removed it does not say that nobody could read anything.
    let stayed = Fleet::with_credentials(1);
    Origin::new(&stayed, "").publish(&[]).ends(0);
    let ran = stayed.run(&["exposure", "--removed"]).ends(0);
    let says = "No recipient could read anything of a region of which it is no recipient any more.\n";
    assert!(ran.stdout.ends_with(says), "{}", ran.stdout);
    let never = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
    assert_eq!(asked(&fleet, &["--recipient", never])["never"][0], never);
}

#[test]
fn a_leaked_reuse_key_is_told_with_what_can_be_guessed() {
    let fleet = Fleet::with_credentials(1);
    let origin = Origin::new(&fleet, "");
    fleet.secret("eu", "c0", "pin: '1234', token: 0123456789abcdef0123");
    fleet.secret("us", "c0", "user: admin, pin: '1234'");
    origin.publish(&[]).ends(0);
    let answer = asked(&fleet, &["--reuse-key-leaked"]);
    let key = &answer["reuseKeys"][0];
    let told: Vec<String> = list(&key["secrets"])
        .iter()
        .flat_map(|secret| list(&secret["entries"]).iter().map(move |entry| (secret, entry)))
        .map(|(secret, entry)| {
            format!("{} {} {}", text(&secret["region"]), text(&entry["name"]), text(&entry["guess"]))
        })
        .collect();
    assert_eq!(told, ["eu pin alone", "eu token long", "us pin together", "us user together"]);
    let id = text(&key["keyId"]);
    assert_eq!(asked(&fleet, &[&format!("--reuse-key-leaked={id}")])["reuseKeys"][0]["keyId"], id.as_str());
    let unknown =
        fleet.run(&["exposure", "--reuse-key-leaked=00000000"]).ends(64).says(&format!("They have those of {id}."));
    assert!(unknown.stdout.is_empty(), "{}", unknown.stdout);
    let apart = fleet.run(&["exposure", "--reuse-key-leaked", &id]).ends(64);
    assert!(apart.stderr.contains(&format!("Did you mean --reuse-key-leaked={id}?")), "{}", apart.stderr);
    fleet.run(&["exposure", "--since", "2999-01-01"]).ends(64).says("yet to come");
    std::fs::create_dir(fleet.path("empty.git")).unwrap();
    origin.git(&["init", "--quiet", "--bare", &fleet.path("empty.git").display().to_string()]);
    let empty = fleet.run(&["exposure", "empty.git"]).ends(0);
    assert!(empty.stdout.contains("has no commit"), "{}", empty.stdout);
    let key = fleet.read("reuse.key");
    let ran = fleet.run(&["exposure", &format!("--reuse-key-leaked={}", key.trim())]).ends(64);
    assert!(!ran.stderr.contains(key.trim()), "{}", ran.stderr);
    fleet.run(&["exposure", "--reuse-key-leaked"]).ends(0);
}

#[test]
fn a_value_that_lives_on_under_another_name_is_told() {
    let fleet = Fleet::with_credentials(6);
    // Each run counts for itself.
    fleet.configure("reuseKey", "limits: {deletions: {claimants: 3, keep: 0, window: 0s}}\nreuseKey");
    let origin = Origin::new(&fleet, "");
    let value = |name: &str| format!("{CANARY}-long-enough-{name}");
    fleet.secret("eu", "c0", &format!("value: {}, other: {}", value("0"), value("other")));
    fleet.secret("eu", "c1", &format!("value: {}", value("1")));
    fleet.secret("eu", "c2", "user: admin, pin: '1234'");
    fleet.secret("eu", "c3", "pin: 'abcdef'");
    origin.publish(&[]).ends(0);
    // An entry gets another name; a Secret does, with a long value, with two short ones, with one, in two steps;
    // a value goes to another region; and one is another value at last.
    fleet.secret("eu", "c0", &format!("value: {}, renamed: {}", value("new"), value("other")));
    fleet.delete("eu", "c1");
    fleet.credential("us", "moved", &value("1"));
    fleet.delete("eu", "c2");
    fleet.credential("eu", "n2", "");
    fleet.secret("eu", "n2", "user: admin, pin: '1234'");
    let held = origin.publish(&[]);
    held.ends(0);
    fleet.delete("eu", "c3");
    fleet.credential("eu", "n3", "");
    fleet.secret("eu", "n3", "code: 'abcdef'");
    origin.publish(&[]).ends(0);

    let told = |arguments: &[&str]| -> BTreeSet<String> {
        let answer = asked(&fleet, &[&["--recipient", EU], arguments].concat());
        let secrets = list(&answer["readers"][0]["secrets"]).iter();
        let entries = secrets.flat_map(|secret| list(&secret["entries"]).iter().map(move |entry| (secret, entry)));
        let line = |(secret, entry): (&Value, &Value)| {
            let at = list(&entry["nowAt"]).iter();
            let at = at.map(|at| format!(" {}/{}:{}", text(&at["directory"]), text(&at["name"]), text(&at["entry"])));
            let (name, verdict) = (text(&entry["name"]), text(&entry["verdict"]));
            format!("{}:{name} {verdict}{}", text(&secret["name"]), at.collect::<String>())
        };
        entries.map(line).filter(|line| !line.ends_with("readable")).collect()
    };
    let without = ["c0:other gone", "c1:value gone", "c2:pin gone", "c2:user gone", "c3:pin gone"];
    assert_eq!(told(&[]), without.map(str::to_owned).into());
    let with = [
        "c0:other same eu/c0:renamed",
        "c1:value same us/moved:value",
        "c2:pin same eu/n2:pin",
        "c2:user same eu/n2:user",
        "c3:pin same eu/n3:code",
    ];
    assert_eq!(told(&["--values"]), with.map(str::to_owned).into());
    let ran = fleet.run(&["exposure", "--recipient", EU]).ends(0);
    assert!(ran.stdout.contains("perhaps elsewhere or under another name"), "{}", ran.stdout);
    let ran = fleet.run(&["exposure", "--recipient", EU, "--values"]).ends(0);
    for says in [
        "Rotate, today's value could be read:",
        "the value of value is today that of acme/us Secret us-team/moved: value",
    ] {
        assert!(ran.stdout.contains(says), "{}", ran.stdout);
    }
    assert!(!ran.stdout.contains(CANARY) && !ran.stdout.contains("abcdef"), "{}", ran.stdout);
    // A value that is another everywhere by now is one no more.
    fleet.secret("eu", "n3", "code: 'ghijkl'");
    assert!(told(&["--values"]).contains("c3:pin gone"));
}

#[test]
fn a_signal_while_fetching_leaves_no_child_and_no_folder() {
    check_signal_while_fetching("");
}

#[test]
fn a_git_that_hears_no_signal_is_ended_before_the_run_is() {
    check_signal_while_fetching("trap '' TERM; ");
}

/// Ends a run while a `git` runs that began with these commands.
#[track_caller]
fn check_signal_while_fetching(begins: &str) {
    let fleet = Fleet::new();
    let origin = Origin::new(&fleet, "");
    std::fs::create_dir(fleet.path("tmp")).unwrap();
    let script = format!("{begins}echo $$ > '{0}.part'; mv '{0}.part' '{0}'; sleep 30", fleet.path("pid").display());
    let mut command = origin.wrapped_run(&script, &["exposure", "https://127.0.0.1:1/nobody.git"]);
    command.env("TMPDIR", fleet.path("tmp")).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let mut tries = 0;
    while !fleet.has("pid") {
        tries += 1;
        assert!(tries < 200, "git is not started");
        std::thread::sleep(std::time::Duration::from_millis(25));
    }
    let fetched = || std::fs::read_dir(fleet.path("tmp")).unwrap().count();
    // The folder, and the lock beside it.
    assert_eq!(fetched(), 2);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(130), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fetched(), 0);
    let pid = fleet.read("pid").trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "git is still there");
}

/// What commits prove is a change, until a second one may have put the first value back, or somebody else made the commit.
#[test]
fn a_rotation_is_believed_once_and_from_pouch_alone() {
    let of_c1 = |fleet: &Fleet, more: &[&str]| {
        let all = verdicts(&asked(fleet, &[&["--removed"], more].concat()));
        all.into_iter().find(|line| line.starts_with("eu/c1 ")).unwrap()
    };
    let (fleet, _) = rotated();
    assert_eq!(of_c1(&fleet, &[]), "eu/c1 value changed eu-team/c1");
    fleet.secret("eu", "c1", &format!("value: {CANARY}-eu-1"));
    Origin::known(&fleet).publish(&[]).ends(0);
    assert_eq!(of_c1(&fleet, &[]), "eu/c1 value unknown eu-team/c1");
    assert_eq!(of_c1(&fleet, &["--values"]), "eu/c1 value same eu-team/c1");
    let (fleet, _) = rotated();
    Origin::known(&fleet).run_beside("export GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'; git commit -q --amend --no-edit --reset-author; git push -qf origin HEAD:main");
    assert_eq!(of_c1(&fleet, &[]), "eu/c1 value unknown eu-team/c1");
}
