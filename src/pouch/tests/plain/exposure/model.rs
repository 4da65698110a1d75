//! Made-up histories, and what is told of them beside what their states say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::{Secret, asked, bare, import, label, list, text};

/// Chance that is the same each time.
pub struct Dice(pub u64);

impl Dice {
    pub fn next(&mut self, below: usize) -> usize {
        // <https://prng.di.unimi.it/splitmix64.c>
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(below).unwrap()).unwrap()
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
            // One region is of the format before.
            let is_former = *directory == "us";
            let format = if is_former { "v1alpha1" } else { "v1alpha2" };
            let mut manifest = format!(
                "# pouch/v1 0123abcd x\napiVersion: pouch/{format}\nfiles: []\nfleet: acme\nkind: Bundle\nmetadata:\n  \
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
                    let by = match is_former {
                        true => format!("  - kind: Credential\n    name: {by}\n    namespace: team\n    via: []"),
                        false => format!(
                            "  - by:\n      kind: Credential\n      name: {by}\n      namespace: team\n    through: []"
                        ),
                    };
                    writeln!(manifest, "{by}").unwrap();
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
