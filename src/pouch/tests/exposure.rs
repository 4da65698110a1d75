//! `pouch exposure`, through the built program: against a model of made-up histories, and on what pouch
//! itself published.
#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test starts programs and fails by panicking"
)]

#[path = "support/fleet.rs"]
mod fleet;
#[path = "support/origin.rs"]
mod origin;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::Stdio;

use fleet::{CANARY, EU, Fleet, US};
use origin::Origin;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// Chance that is the same each time.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: usize) -> usize {
        // <https://prng.di.unimi.it/splitmix64.c>
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(below).unwrap()).unwrap()
    }
}

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

/// What a commit of the model has of one region.
#[derive(Clone, Default)]
struct Region {
    recipients: BTreeSet<String>,
    secrets: BTreeMap<String, Secret>,
    /// Who needs which Secret.
    needed: BTreeMap<String, BTreeSet<String>>,
    /// Which of the two names its file has.
    moved: BTreeSet<String>,
}

#[derive(Clone)]
struct State {
    root: &'static str,
    regions: BTreeMap<&'static str, Region>,
}

impl State {
    fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("README.md".to_owned(), "Secret\n".to_owned())];
        for (directory, region) in &self.regions {
            let base = format!("{}/regions/{directory}", self.root);
            let mut manifest = format!(
                "# pouch/v1 0123abcd x\napiVersion: pouch/v1alpha1\nfiles: []\nfleet: acme\nkind: Bundle\nmetadata:\n  \
                 name: {directory}\nobjects:{}\n",
                if region.secrets.is_empty() { " []" } else { "" }
            );
            for (name, secret) in &region.secrets {
                let text = secret.text(name);
                let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
                write!(
                    manifest,
                    "- key:\n    group: \"\"\n    kind: Secret\n    name: {name}\n    namespace: team\n  neededBy:{}\n",
                    if region.needed[name].is_empty() { " []" } else { "" }
                )
                .unwrap();
                for by in &region.needed[name] {
                    writeln!(manifest, "  - kind: Credential\n    name: {by}\n    namespace: team\n    via: []")
                        .unwrap();
                }
                write!(manifest, "  path: x\n  sha256: \"{hash}\"\n  state: current\n").unwrap();
                let place = if region.moved.contains(name) { "elsewhere" } else { "core/secrets/team" };
                files.push((format!("{base}/{place}/{name}.sops.yaml"), text));
            }
            files.push((format!("{base}/bundle.yaml"), manifest + "recipients: []\nsources: []\n"));
        }
        files
    }
}

fn label(number: usize) -> String {
    format!("age1model{number}")
}

/// One change that people make to bundles.
fn change(state: &mut State, dice: &mut Dice, salt: usize) {
    let directory = ["eu", "us"][dice.next(2)];
    let kind = dice.next(10);
    if kind == 0 {
        state.root = ["bundles", "deploy/out"][dice.next(2)];
        return;
    }
    let region = state.regions.entry(directory).or_default();
    if region.recipients.is_empty() || kind == 1 || kind == 2 {
        region.recipients = (0..1 + dice.next(3)).map(|_| label(dice.next(5))).collect();
        for secret in region.secrets.values_mut() {
            (secret.recipients, secret.salt) = (region.recipients.clone(), salt);
        }
        return;
    }
    let name = format!("s{}", dice.next(4));
    match kind {
        3 => {
            region.secrets.remove(&name);
            region.needed.remove(&name);
            region.moved.remove(&name);
        }
        4 if region.secrets.contains_key(&name) => {
            if !region.moved.remove(&name) {
                region.moved.insert(name);
            }
        }
        5 if region.secrets.contains_key(&name) => {
            region.needed.insert(name, (0..dice.next(3)).map(|_| format!("c{}", dice.next(4))).collect());
        }
        6 => *region = Region { recipients: region.recipients.clone(), ..Region::default() },
        _ => {
            let entries = (0..1 + dice.next(2)).map(|_| (format!("e{}", dice.next(3)), 1 + dice.next(4))).collect();
            let secret = Secret { recipients: region.recipients.clone(), entries, salt };
            region.needed.entry(name.clone()).or_insert_with(|| BTreeSet::from([format!("c{}", dice.next(4))]));
            region.secrets.insert(name, secret);
        }
    }
}

/// A made-up history: each commit with its parents, by number.
struct Model {
    commits: Vec<(Vec<usize>, State)>,
    /// The last commit of `main`.
    tip: usize,
}

impl Model {
    fn roll(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let empty = State { root: "bundles", regions: BTreeMap::new() };
        let mut commits: Vec<(Vec<usize>, State)> = vec![(Vec::new(), empty)];
        let mut branches = vec![0_usize];
        for number in 1..30 {
            let branch = dice.next(branches.len());
            let tip = branches[branch];
            let mut state = commits[tip].1.clone();
            let mut parents = vec![tip];
            match dice.next(6) {
                0 if branches.len() < 4 => {
                    branches.push(number);
                    change(&mut state, &mut dice, number);
                    commits.push((parents, state));
                    continue;
                }
                1 if branches.len() > 1 => {
                    let other = branches[dice.next(branches.len())];
                    if other != tip {
                        parents.push(other);
                        // A region of the other side, so that a merge brings what no first parent had.
                        if let Some((directory, region)) = commits[other].1.regions.iter().next() {
                            state.regions.insert(directory, region.clone());
                        }
                    }
                }
                _ => {}
            }
            change(&mut state, &mut dice, number);
            commits.push((parents, state));
            branches[branch] = number;
        }
        Self { tip: branches[0], commits }
    }

    /// What `git fast-import` takes. Every commit that has no child on its branch is kept by a reference.
    fn stream(&self) -> String {
        let mut out = String::new();
        for (number, (parents, state)) in self.commits.iter().enumerate() {
            let time = 1_700_000_000 + number * 60;
            write!(
                out,
                "commit refs/heads/c{number}\nmark :{}\ncommitter M <m@example.com> {time} +0000\ndata 0\n",
                number + 1
            )
            .unwrap();
            for (at, parent) in parents.iter().enumerate() {
                writeln!(out, "{} :{}", if at == 0 { "from" } else { "merge" }, parent + 1).unwrap();
            }
            out.push_str("deleteall\n");
            for (path, text) in state.files() {
                writeln!(out, "M 100644 inline {path}\ndata {}\n{text}", text.len()).unwrap();
            }
        }
        write!(out, "reset refs/heads/main\nfrom :{}\n\ndone\n", self.tip + 1).unwrap();
        out
    }

    /// What each recipient could read, worked out from whole states; `since` is the first commit that counts.
    fn expected(
        &self,
        counted: &BTreeSet<usize>,
        times: &dyn Fn(usize) -> String,
    ) -> BTreeMap<(String, String, String), Told> {
        let mut told: BTreeMap<(String, String, String), Told> = BTreeMap::new();
        for number in counted {
            for (directory, region) in &self.commits[*number].1.regions {
                for (name, secret) in &region.secrets {
                    for recipient in &secret.recipients {
                        let key = (recipient.clone(), (*directory).to_owned(), name.clone());
                        let told = told.entry(key).or_default();
                        if told.first.is_empty() {
                            told.first = times(*number);
                        }
                        told.last = times(*number);
                        told.still |= *number == self.tip;
                        told.versions.insert(secret.clone());
                        told.credentials.extend(region.needed[name].iter().map(|by| format!("team/{by}")));
                    }
                }
            }
        }
        let now = &self.commits[self.tip].1.regions;
        for ((recipient, directory, name), told) in &mut told {
            let region = now.get(directory.as_str());
            let published = region.and_then(|region| region.secrets.get(name));
            let reads = |secret: &&Secret| secret.recipients.contains(recipient);
            told.removed = !region.into_iter().flat_map(|region| region.secrets.values()).any(|secret| reads(&secret));
            let names: BTreeSet<&String> = told.versions.iter().flat_map(|version| version.entries.keys()).collect();
            let verdict = |entry: &String| {
                let today = published.and_then(|secret| secret.entries.get(entry));
                let then = || told.versions.iter().filter_map(|version| version.entries.get(entry));
                match today {
                    Some(_) if published.filter(reads).is_some() => "readable",
                    None => "gone",
                    Some(length) if then().all(|then| then != length) => "changed",
                    Some(_) => "unknown",
                }
            };
            told.entries = names.into_iter().map(|entry| (entry.clone(), verdict(entry).to_owned())).collect();
        }
        told
    }
}

/// What is told of one recipient and one Secret.
#[derive(Default, Clone, PartialEq, Eq)]
struct Told {
    first: String,
    last: String,
    still: bool,
    removed: bool,
    versions: BTreeSet<Secret>,
    credentials: BTreeSet<String>,
    entries: BTreeMap<String, String>,
}

impl Told {
    fn line(&self, versions: usize) -> String {
        format!(
            "{} {} still={} removed={} versions={versions} {:?} {:?}",
            self.first, self.last, self.still, self.removed, self.credentials, self.entries
        )
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("no text: {value}")).to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The answer in the model's words.
fn told(answer: &Value) -> BTreeMap<(String, String, String), String> {
    let mut all = BTreeMap::new();
    for reader in list(&answer["readers"]) {
        for secret in list(&reader["secrets"]) {
            assert_eq!(secret["fleet"], "acme");
            let entries = list(&secret["entries"]).iter().map(|entry| (text(&entry["name"]), text(&entry["verdict"])));
            let one = Told {
                first: text(&secret["first"]["time"]),
                last: text(&secret["last"]["time"]),
                still: secret["still"] == true,
                removed: secret["removed"] == true,
                versions: BTreeSet::new(),
                credentials: list(&secret["credentials"]).iter().map(text).collect(),
                entries: entries.collect(),
            };
            let key = (text(&reader["recipient"]), text(&secret["directory"]), text(&secret["name"]));
            let versions = usize::try_from(secret["versions"].as_u64().unwrap()).unwrap();
            assert!(all.insert(key, one.line(versions)).is_none());
        }
    }
    all
}

/// Makes a bare repository `model.git` of a stream.
fn import(fleet: &Fleet, stream: &str) {
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
fn bare() -> Fleet {
    let fleet = Fleet::new();
    fleet.remove("pouch.yaml");
    fleet
}

fn asked(fleet: &Fleet, arguments: &[&str]) -> Value {
    let ran = fleet.run(&[&["exposure", "-o", "json"], arguments].concat()).ends(0);
    serde_json::from_str(&ran.stdout).unwrap()
}

fn time(number: usize) -> String {
    jiff::Timestamp::from_second(i64::try_from(1_700_000_000 + number * 60).unwrap()).unwrap().to_string()
}

#[test]
fn what_is_told_of_any_history_is_what_its_states_say() {
    let mut verdicts = BTreeSet::new();
    let mut merges = 0;
    for seed in 0..40 {
        let model = Model::roll(seed);
        let fleet = bare();
        import(&fleet, &model.stream());
        let all: BTreeSet<usize> = (0..model.commits.len()).collect();
        let expected = |counted: &BTreeSet<usize>| -> BTreeMap<_, String> {
            let lines = model.expected(counted, &time).into_iter();
            lines.map(|(key, told)| (key, told.line(told.versions.len()))).collect()
        };
        let answer = asked(&fleet, &["model.git"]);
        assert_eq!(told(&answer), expected(&all), "seed {seed}");
        assert_eq!(answer["looked"]["skipped"]["count"], 0, "{answer}");

        // One branch alone: the commits that lead to it.
        let mut reached = BTreeSet::new();
        let mut next = vec![model.tip];
        while let Some(number) = next.pop() {
            if reached.insert(number) {
                next.extend(&model.commits[number].0);
            }
        }
        assert_eq!(told(&asked(&fleet, &["model.git", "--rev", "main"])), expected(&reached), "seed {seed}");

        // Since a time: later commits, and what their parents had.
        let mut since: BTreeSet<usize> = (15..model.commits.len()).collect();
        let parents: Vec<usize> = since.iter().flat_map(|number| model.commits[*number].0.clone()).collect();
        since.extend(parents);
        since.insert(model.tip);
        assert_eq!(told(&asked(&fleet, &["model.git", "--since", &time(15)])), expected(&since), "seed {seed}");

        let removed = expected(&all).into_iter().filter(|(_, line)| line.contains("removed=true")).collect();
        assert_eq!(told(&asked(&fleet, &["model.git", "--removed"])), removed, "seed {seed}");
        let words = ["readable", "gone", "changed", "unknown"];
        verdicts.extend(words.into_iter().filter(|word| expected(&all).values().any(|line| line.contains(word))));
        merges += model.commits.iter().filter(|(parents, _)| parents.len() > 1).count();
    }
    assert!(verdicts.len() == 4 && merges > 40, "the histories are too alike: {verdicts:?}, {merges} merges");
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
    let answer = asked(&fleet, &["--removed"]);
    assert_eq!(answer["readers"][0]["recipient"], EU);
    assert_eq!(
        verdicts(&answer),
        ["eu/c0 value unknown eu-team/c0", "eu/c1 value unknown eu-team/c1", "eu/c2 value gone eu-team/c2"]
    );
    // Today's values and the reuse key tell more; no private key is asked for.
    let answer = asked(&fleet, &["--removed", "--values"]);
    assert_eq!(
        verdicts(&answer),
        ["eu/c0 value same eu-team/c0", "eu/c1 value changed eu-team/c1", "eu/c2 value gone eu-team/c2"]
    );
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
fn what_is_not_whole_or_not_there_is_refused() {
    let (fleet, _) = rotated();
    let git = |arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).env("HOME", fleet.path("home"));
        assert!(git.args(arguments).current_dir(fleet.path(".")).status().unwrap().success(), "{arguments:?}");
    };
    let url = format!("file://{}", fleet.path("repo.git").display());
    git(&["clone", "--quiet", "--depth=1", &url, "shallow"]);
    fleet.run(&["exposure", "shallow"]).ends(5).says("--unshallow");
    git(&["clone", "--quiet", "--depth=1", &url, "a shallow one"]);
    fleet.run(&["exposure", "a shallow one"]).ends(5).says("git -C 'a shallow one' fetch --unshallow");
    git(&["-C", "repo.git", "config", "uploadpack.allowFilter", "true"]);
    git(&["clone", "--quiet", "--filter=blob:none", "--bare", &url, "partial"]);
    fleet.run(&["exposure", "partial"]).ends(5).says("without --filter");
    // A whole clone says the same as the repository, and so does the URL.
    git(&["clone", "--quiet", &url, "whole"]);
    let expected = verdicts(&asked(&fleet, &["--removed"]));
    assert_eq!(verdicts(&asked(&fleet, &["whole", "--removed"])), expected);
    assert_eq!(verdicts(&asked(&fleet, &[&url, "--removed"])), expected);
    fleet.run(&["exposure", "nowhere"]).ends(64).says("no git repository");
    fleet.run(&["exposure", "--rev", "nowhere"]).ends(64).says("no branch, tag or commit nowhere");
    fleet.run(&["exposure", "--since", "main~1"]).ends(64);
    fleet.run(&["exposure", "--recipient", "age1x"]).ends(64);
    fleet.run(&["exposure", "--upload-pack=x"]).ends(64);
    fleet.run(&["exposure", "ext::sh -c x"]).ends(64);
    // A missing object is said, and is no absence; only what nobody has to read may be missing.
    let whole = fleet.run(&["exposure", "-o", "json"]).ends(0).stdout;
    let files = fleet.tree("repo.git/objects");
    let (mut said, mut spare) = (0, 0);
    for path in files.keys().filter(|path| path.len() == 41) {
        fleet.remove(&format!("repo.git/objects/{path}"));
        let ran = fleet.run(&["exposure", "-o", "json"]);
        if ran.code == 0 {
            assert_eq!(ran.stdout, whole, "without {path}");
            spare += 1;
        } else {
            ran.ends(5);
            said += 1;
        }
        fs_restore(&fleet, path, &files[path]);
    }
    assert!(said > spare, "{said} missing objects were said, {spare} were not needed");
}

fn fs_restore(fleet: &Fleet, path: &str, bytes: &[u8]) {
    std::fs::write(fleet.path(&format!("repo.git/objects/{path}")), bytes).unwrap();
}

#[test]
fn hostile_trees_are_passed_over_and_counted() {
    let fleet = bare();
    let good =
        Secret { recipients: BTreeSet::from([label(1)]), entries: BTreeMap::from([("e".to_owned(), 3)]), salt: 7 };
    let long = "x".repeat(17 << 20) + "Secret";
    let deep = "d/".repeat(100);
    let files: Vec<(&str, String, String)> = vec![
        ("100644", "a/regions/eu/core/secrets/team/good.sops.yaml".into(), good.text("good")),
        ("100644", "a/regions/eu/core/secrets/regions/good2.sops.yaml".into(), good.text("good2")),
        ("100644", "a/regions/eu/mal\\033[31mformed.yaml".into(), "kind: Secret\nkind: Secret\n".into()),
        ("120000", "a/regions/eu/link.sops.yaml".into(), "good.sops.yaml".into()),
        ("100644", "a/regions/eu/huge.yaml".into(), long),
        ("100644", "a/regions/eu/bytes.json".into(), "Secret \u{0}".into()),
        ("100644", "a/regions/eu/notes.txt".into(), "no Secret: [here".into()),
        ("100644", "a/regions/eu/bundle.yaml".into(), "kind: [".into()),
        ("100644", "a/regions/Not A Folder/x.sops.yaml".into(), good.text("nowhere")),
        ("100644", format!("a/regions/eu/{deep}x.sops.yaml"), good.text("deep")),
        (
            "100644",
            "a/regions/eu/plain.yaml".into(),
            "apiVersion: v1\nkind: Secret\nmetadata: {name: plain}\nstringData: {open: hunter2}\n".into(),
        ),
    ];
    let mut stream = "commit refs/heads/main\ncommitter M <m@example.com> 1 +0000\ndata 0\n".to_owned();
    for (mode, path, content) in files {
        writeln!(stream, "M {mode} inline \"{path}\"\ndata {}\n{content}", content.len()).unwrap();
    }
    for path in ["a/regions/eu/module", "a/regions/ap", "b/regions", "elsewhere"] {
        writeln!(stream, "M 160000 {} {path}", "1".repeat(40)).unwrap();
    }
    for path in ["a/regions/us", "c/regions", "a/regions/Not A Folder Either", "README"] {
        writeln!(stream, "M 120000 inline {path}\ndata 2\neu").unwrap();
    }
    stream.push_str("done\n");
    import(&fleet, &stream);
    let ran = fleet.run(&["exposure", "model.git"]).ends(0).says("could not be looked at");
    assert!(!ran.stderr.contains('\u{1b}') && !ran.stdout.contains('\u{1b}'), "{}", ran.stderr);
    assert!(!ran.stdout.contains("hunter2"), "{}", ran.stdout);
    let answer = asked(&fleet, &["model.git"]);
    let names: Vec<(String, String)> = list(&answer["readers"])
        .iter()
        .flat_map(|reader| list(&reader["secrets"]).iter().map(move |secret| (reader, secret)))
        .map(|(reader, secret)| (reader["recipient"].as_str().unwrap_or("everybody").to_owned(), text(&secret["name"])))
        .collect();
    let expected = [("everybody", "plain"), ("age1model1", "good"), ("age1model1", "good2")];
    assert_eq!(names, expected.map(|(who, what)| (who.to_owned(), what.to_owned())));
    let skipped: Vec<String> =
        list(&answer["looked"]["skipped"]["files"]).iter().map(|file| text(&file["path"])).collect();
    let expected = [
        "a/regions/ap",
        "a/regions/eu/bundle.yaml",
        "a/regions/eu/bytes.json",
        "a/regions/eu/huge.yaml",
        "a/regions/eu/link.sops.yaml",
        "a/regions/eu/mal\u{1b}[31mformed.yaml",
        "a/regions/eu/module",
        "a/regions/us",
        "b/regions",
        "c/regions",
    ];
    assert_eq!(skipped, expected);
    assert_eq!(answer["looked"]["skipped"]["count"], expected.len() + 1, "and a folder that is too deep");
}

#[test]
fn all_that_references_and_heads_lead_to_is_looked_at() {
    let fleet = bare();
    let hidden = ["tree", "dated", "nested", "pull", "stash", "head", "linked", "gone", "bisect", "part", "blob"];
    let mut stream = String::new();
    for name in ["main"].iter().chain(&hidden) {
        let secret =
            Secret { recipients: BTreeSet::from([label(1)]), entries: BTreeMap::from([("e".to_owned(), 3)]), salt: 7 };
        let text = secret.text(name);
        let data = format!("data {}\n{text}\n", text.len());
        let path = format!("bundles/regions/eu/{name}.sops.yaml");
        writeln!(
            stream,
            "commit refs/heads/{name}\ncommitter M <m@example.com> 1700000000 +0000\ndata 0\nM 100644 inline {path}\n{data}"
        )
        .unwrap();
    }
    import(&fleet, &(stream + "done\n"));
    let git = |folder: &str, arguments: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path))).current_dir(fleet.path(folder));
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_COMMITTER_DATE", "1600000000 +0000");
        git.args(["-c", "user.name=M", "-c", "user.email=m@example.com"]).args(arguments);
        assert!(git.output().unwrap().status.success(), "git {arguments:?}");
    };
    let bare = |arguments: &[&str]| git("model.git", arguments);
    bare(&["tag", "to-tree", "tree^{tree}"]);
    bare(&["tag", "-a", "-m", "x", "to-dated", "dated^{tree}"]);
    bare(&["tag", "-a", "-m", "x", "to-nested", "nested^{tree}"]);
    bare(&["tag", "-a", "-m", "x", "to-tag", "to-nested"]);
    bare(&["tag", "-d", "to-nested"]);
    bare(&["update-ref", "refs/pull/1/head", "pull"]);
    bare(&["update-ref", "refs/stash", "stash"]);
    bare(&["worktree", "add", "--detach", "../linked", "linked"]);
    bare(&["worktree", "add", "--detach", "../gone", "gone"]);
    git("linked", &["update-ref", "refs/bisect/bad", "bisect"]);
    std::fs::remove_dir_all(fleet.path("gone")).unwrap();
    bare(&["tag", "to-part", "part:bundles/regions/eu"]);
    bare(&["tag", "to-blob", "blob:bundles/regions/eu/blob.sops.yaml"]);
    // Parts of what a commit has, which say nothing more.
    bare(&["tag", "known-part", "main:bundles/regions"]);
    bare(&["tag", "known-blob", "main:bundles/regions/eu/main.sops.yaml"]);
    bare(&["update-ref", "--no-deref", "HEAD", "head"]);
    hidden.iter().for_each(|name| bare(&["update-ref", "-d", &format!("refs/heads/{name}")]));

    let names = |answer: &Value| -> BTreeSet<String> {
        let secrets = list(&answer["readers"]).iter().flat_map(|reader| list(&reader["secrets"]));
        secrets.map(|secret| text(&secret["name"])).collect()
    };
    let all: BTreeSet<String> = ["main"].iter().chain(&hidden[..9]).map(|name| (*name).to_owned()).collect();
    for repository in ["model.git", "linked"] {
        let answer = asked(&fleet, &[repository]);
        assert_eq!(names(&answer), all, "{repository}");
        let skipped: Vec<(String, String)> = list(&answer["looked"]["skipped"]["files"])
            .iter()
            .map(|file| (text(&file["path"]), text(&file["why"])))
            .collect();
        assert!(
            matches!(&*skipped, [(blob, why), (part, _)] if blob.len() == 40 && part == "part.sops.yaml" && why.contains("holds a Secret")),
            "{skipped:?}"
        );
        assert_eq!(answer["looked"]["references"], 14, "branch, pull, stash, tags, three heads and one of a bisection");
        for secret in list(&answer["readers"]).iter().flat_map(|reader| list(&reader["secrets"])) {
            let (time, or_before) = match text(&secret["name"]).as_str() {
                "tree" => ("", true),
                "dated" | "nested" => ("2020-09-13T12:26:40Z", true),
                _ => ("2023-11-14T22:13:20Z", false),
            };
            assert_eq!(
                (&secret["first"]["time"], secret["first"]["orBefore"] == true),
                (&time.into(), or_before),
                "{secret}"
            );
        }
    }
    fleet.run(&["exposure", "model.git"]).ends(0).says("2 files could not be looked at");
    assert_eq!(names(&asked(&fleet, &["model.git", "--rev", "main"])), BTreeSet::from(["main".to_owned()]));
    let tagged = asked(&fleet, &["model.git", "--rev", "to-tag"]);
    assert_eq!(
        (names(&tagged), &tagged["readers"][0]["secrets"][0]["still"]),
        (BTreeSet::from(["nested".to_owned()]), &true.into())
    );
    // What is gone held something that nobody can tell.
    bare(&["update-ref", "-d", "refs/tags/to-blob"]);
    let blob = fleet.read("model.git/HEAD").trim().to_owned();
    fleet.write("model.git/refs/heads/lost", &format!("{}\n", blob.chars().rev().collect::<String>()));
    fleet.run(&["exposure", "model.git"]).ends(5);
}

#[test]
fn a_value_that_lives_on_under_another_name_is_told() {
    let fleet = Fleet::with_credentials(6);
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
    let fleet = Fleet::new();
    let origin = Origin::new(&fleet, "");
    std::fs::create_dir(fleet.path("tmp")).unwrap();
    let script = format!("echo $$ > '{0}.part'; mv '{0}.part' '{0}'; sleep 30", fleet.path("pid").display());
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
    assert_eq!(fetched(), 1);
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT).unwrap();
    let ran = child.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(130), "{}", String::from_utf8_lossy(&ran.stderr));
    assert_eq!(fetched(), 0);
    let pid = fleet.read("pid").trim().parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
    assert!(rustix::process::test_kill_process(pid).is_err(), "git is still there");
}
