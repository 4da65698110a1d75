//! Made-up histories, and what is told of them beside what their whole states say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use super::{list, text};
use crate::exposure::model::Dice;
use crate::exposure::{bare, import};
use crate::support::fleet::Fleet;

/// Seconds between commits.
const STEP: i64 = 60;
const BEGIN: i64 = 1_700_000_000;

/// The number of each entry's value, and of its sealing.
type Entries = BTreeMap<String, (usize, usize)>;

/// A Secret as a commit has it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Secret {
    recipients: BTreeSet<usize>,
    /// Length and sealing by name.
    entries: Entries,
    tag: usize,
    place: &'static str,
    carried: bool,
    needed: BTreeSet<usize>,
    /// Whether the manifest lists it, and with its hash.
    listed: Option<bool>,
}

impl Secret {
    fn text(&self, name: &str) -> String {
        let mut text = format!("# pouch/v1 0123abcd {:0>43}\napiVersion: v1\ndata:\n", self.tag);
        for (entry, (length, seal)) in &self.entries {
            let data = "A".repeat(length.div_ceil(3) * 4 - (3 - length % 3) % 3) + &"=".repeat((3 - length % 3) % 3);
            writeln!(text, "  {entry}: ENC[AES256_GCM,data:{data},iv:{seal},tag:AA==,type:str]").unwrap();
        }
        write!(text, "kind: Secret\nmetadata:\n  name: {name}\n  namespace: team\nsops:\n  age:\n").unwrap();
        for recipient in &self.recipients {
            writeln!(text, "  - enc: x\n    recipient: age1model{recipient}").unwrap();
        }
        text + "  mac: ENC[none]\n"
    }
}

/// How a region's manifest is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Manifest {
    Ours,
    /// In another layout.
    Flow,
    Broken,
    Gone,
}

#[derive(Clone, Debug)]
struct Region {
    manifest: Manifest,
    secrets: BTreeMap<String, Secret>,
}

#[derive(Clone, Debug)]
struct State {
    root: &'static str,
    regions: BTreeMap<&'static str, Region>,
}

/// What a manifest says of an object: why it is carried over, who needs it, and whether the hash is that of the file.
type Said = (bool, BTreeSet<usize>, bool);

impl State {
    fn files(&self) -> Vec<(String, String)> {
        let mut files = vec![("README.md".to_owned(), "x\n".to_owned())];
        for (directory, region) in &self.regions {
            let base = format!("{}regions/{directory}", self.root);
            let (mut ours, mut flow) = (String::new(), Vec::new());
            // One region is of the format before.
            let is_former = *directory == "us";
            let format = if is_former { "v1alpha1" } else { "v1alpha2" };
            for (name, secret) in &region.secrets {
                let text = secret.text(name);
                let hash: String = Sha256::digest(&text).iter().map(|byte| format!("{byte:02x}")).collect();
                let path = format!("regions/{directory}/{}/{name}.yaml", secret.place);
                files.push((format!("{}{path}", self.root), text));
                let Some(is_right) = secret.listed else { continue };
                let hash = if is_right { hash } else { "0".repeat(64) };
                let state = if secret.carried { "carried\n  reason: changing" } else { "current" };
                let listed = |by: &_| match is_former {
                    true => format!("  - name: c{by}\n    namespace: team\n"),
                    false => format!(
                        "  - by:\n      kind: Credential\n      name: c{by}\n      namespace: team\n    through: []\n"
                    ),
                };
                let by: String = secret.needed.iter().map(listed).collect();
                let by = if by.is_empty() { " []\n".to_owned() } else { format!("\n{by}") };
                write!(
                    ours,
                    "- key:\n    kind: Secret\n    name: {name}\n    namespace: team\n  neededBy:{by}  path: {path}\n  \
                     sha256: \"{hash}\"\n  state: {state}\n"
                )
                .unwrap();
                let by: Vec<String> =
                    secret.needed.iter().map(|by| format!("{{name: c{by}, namespace: team}}")).collect();
                let state = if secret.carried { "carried, reason: changing" } else { "current" };
                flow.push(format!(
                    "{{key: {{kind: Secret, name: {name}, namespace: team}}, path: {path}, sha256: '{hash}', state: {state}, \
                     neededBy: [{}]}}",
                    by.join(", ")
                ));
            }
            let ours = if ours.is_empty() { "objects: []\n".to_owned() } else { format!("objects:\n{ours}") };
            let manifest = match region.manifest {
                Manifest::Ours => format!(
                    "apiVersion: pouch/{format}\nfiles: []\nfleet: acme\nkind: Bundle\nmetadata:\n  name: {directory}\n\
                     {ours}recipients: []\nsources: []\n"
                ),
                Manifest::Flow => format!(
                    "{{apiVersion: pouch/v1alpha1, kind: Bundle, fleet: acme, metadata: {{name: {directory}}}, objects: [{}]}}\n",
                    flow.join(", ")
                ),
                Manifest::Broken => "kind: [\n".to_owned(),
                Manifest::Gone => continue,
            };
            files.push((format!("{base}/bundle.yaml"), manifest));
        }
        files
    }

    fn get(&self, (directory, name): &(String, String)) -> Option<(&Region, &Secret, String)> {
        let region = self.regions.get(directory.as_str())?;
        let secret = region.secrets.get(name)?;
        Some((region, secret, format!("{}{directory}/{}", self.root, secret.place)))
    }
}

fn change(state: &mut State, dice: &mut Dice, number: usize) {
    let directory = ["eu", "us"][dice.next(2)];
    let kind = dice.next(16);
    if kind == 0 {
        state.root = ["", "deploy/out/"][dice.next(2)];
        return;
    }
    let empty = Region { manifest: Manifest::Ours, secrets: BTreeMap::new() };
    let region = state.regions.entry(directory).or_insert(empty);
    let name = format!("s{}", dice.next(4));
    let entries = |dice: &mut Dice| -> BTreeMap<String, (usize, usize)> {
        (0..1 + dice.next(2)).map(|_| (format!("e{}", dice.next(3)), (1 + dice.next(4), number))).collect()
    };
    match (kind, region.secrets.get_mut(&name)) {
        (1, _) => region.manifest = [Manifest::Ours, Manifest::Flow, Manifest::Broken, Manifest::Gone][dice.next(4)],
        (2 | 3, _) => region.manifest = Manifest::Ours,
        (4, _) => {
            for secret in region.secrets.values_mut() {
                secret.recipients = (0..1 + dice.next(3)).map(|_| dice.next(4)).collect();
                secret.entries.values_mut().for_each(|(_, seal)| *seal = number);
                secret.tag = number;
            }
        }
        (5, Some(_)) => _ = region.secrets.remove(&name),
        (6, Some(secret)) => secret.place = ["core", "elsewhere"][dice.next(2)],
        (7, Some(secret)) => secret.needed = (0..dice.next(3)).map(|_| dice.next(4)).collect(),
        (8, Some(secret)) => secret.carried = !secret.carried,
        (9, Some(secret)) => secret.listed = [None, Some(true), Some(false)][dice.next(3)],
        (10, Some(secret)) => secret.tag = number,
        (11, Some(secret)) => {
            secret.entries.values_mut().for_each(|(_, seal)| *seal = number);
            secret.tag = number;
        }
        (_, Some(secret)) => {
            secret.entries = entries(dice);
            (secret.tag, secret.listed) = (number, Some(true));
        }
        (_, None) => {
            let secret = Secret {
                recipients: BTreeSet::from([dice.next(4)]),
                entries: entries(dice),
                tag: number,
                place: "core",
                carried: false,
                needed: BTreeSet::from([dice.next(4)]),
                listed: Some(true),
            };
            region.secrets.insert(name, secret);
        }
    }
}

/// A made-up history: each commit with its parents, by number.
struct Model {
    commits: Vec<(Vec<usize>, State)>,
}

impl Model {
    fn roll(seed: u64) -> Self {
        let mut dice = Dice(seed);
        let mut commits: Vec<(Vec<usize>, State)> = vec![(Vec::new(), State { root: "", regions: BTreeMap::new() })];
        let mut branches = vec![0_usize];
        for number in 1..60 {
            let branch = dice.next(branches.len());
            let tip = branches[branch];
            let mut state = commits[tip].1.clone();
            let mut parents = vec![tip];
            match dice.next(8) {
                0 if branches.len() < 3 => {
                    change(&mut state, &mut dice, number);
                    branches.push(number);
                    commits.push((parents, state));
                    continue;
                }
                1 if branches.len() > 1 => {
                    let other = branches[dice.next(branches.len())];
                    if other != tip {
                        parents.push(other);
                        let there = commits[other].1.regions.iter().next();
                        state.regions.extend(there.map(|(directory, region)| (*directory, region.clone())));
                    }
                }
                _ => {}
            }
            change(&mut state, &mut dice, number);
            commits.push((parents, state));
            branches[branch] = number;
        }
        Self { commits }
    }

    fn stream(&self, tip: usize) -> String {
        let mut out = String::new();
        for (number, (parents, state)) in self.commits.iter().enumerate() {
            let time = BEGIN + i64::try_from(number).unwrap() * STEP;
            write!(out, "commit refs/heads/c{number}\nmark :{}\ncommitter M <m@x> {time} +0000\ndata 0\n", number + 1)
                .unwrap();
            for (at, parent) in parents.iter().enumerate() {
                writeln!(out, "{} :{}", if at == 0 { "from" } else { "merge" }, parent + 1).unwrap();
            }
            out.push_str("deleteall\n");
            for (path, text) in state.files() {
                writeln!(out, "M 100644 inline {path}\ndata {}\n{text}", text.len()).unwrap();
            }
        }
        write!(out, "reset refs/heads/main\nfrom :{}\n\ndone\n", tip + 1).unwrap();
        out
    }
}

/// An object as people see it in a commit.
#[derive(Clone, PartialEq, Eq)]
struct Seen {
    secret: Secret,
    path: String,
    said: Option<Said>,
}

/// What became of the values: `changed`, `unknown` or `same`, and of which entries.
fn values(old: &Seen, new: &Seen) -> (&'static str, BTreeSet<(String, &'static str)>) {
    let as_listed = |seen: &Seen| seen.said.as_ref().is_some_and(|(_, _, is_right)| *is_right);
    let both_listed = as_listed(old) && as_listed(new);
    let names: BTreeSet<&String> = old.secret.entries.keys().chain(new.secret.entries.keys()).collect();
    let mut entries = BTreeSet::new();
    for name in names {
        let word = match (old.secret.entries.get(name), new.secret.entries.get(name)) {
            (None, Some(_)) => "added",
            (Some(_), None) => "withdrawn",
            (Some(a), Some(b)) if a == b => continue,
            (Some((a, _)), Some((b, _))) if a != b && both_listed => "changed",
            _ => "unknown",
        };
        entries.insert((name.clone(), word));
    }
    let word = match () {
        () if entries.is_empty() => "same",
        () if entries.iter().all(|(_, word)| *word == "unknown") => "unknown",
        () => "changed",
    };
    (word, entries)
}

/// A version of an object in which its file is another than before: the commit, what became of the values, and the
/// entries.
type Version = (usize, BTreeSet<(String, &'static str)>, Entries);

/// All versions of an object.
struct Age {
    first: usize,
    versions: Vec<Version>,
}

impl Age {
    /// Of an entry as one of the versions has it: the last commit that is known to have changed it, whether one did, and the
    /// last that may have. What is sealed as it was before is as old as it was then.
    fn of(&self, name: &str, at: usize) -> (usize, bool, usize) {
        let sealed = |at: usize| self.versions[at].2.get(name);
        let first = (0..=at).find(|earlier| sealed(*earlier) == sealed(at)).unwrap();
        let (number, words, _) = &self.versions[first];
        match words.iter().find(|(entry, _)| entry == name).map(|(_, word)| *word) {
            Some("changed") => (*number, true, *number),
            Some("unknown") => {
                let (known, changed, _) = self.of(name, first - 1);
                (known, changed, *number)
            }
            Some(_) => (self.first, false, *number),
            None => (self.first, false, self.first),
        }
    }

    /// Of the entry that is oldest, and of each.
    fn oldest<'n>(&self, names: impl Iterator<Item = &'n String>) -> String {
        let all: Vec<(usize, bool, usize)> = names.map(|name| self.of(name, self.versions.len() - 1)).collect();
        let (known, changed, _) = all.iter().min_by_key(|(known, changed, _)| (*known, *changed)).unwrap();
        let least = all.iter().map(|(.., last)| *last).min().filter(|least| least > known);
        let of_each = all.iter().map(|(known, changed, last)| each(*known, *changed, (last > known).then_some(*last)));
        format!("{known} {changed} {least:?}: {}", of_each.collect::<Vec<_>>().join(", "))
    }
}

/// The age of an entry.
fn each(known: usize, changed: bool, perhaps: Option<usize>) -> String {
    format!("{known} {changed} {perhaps:?}")
}

/// The events of one object along a line of commits, worked out from whole states; and its age if it stands.
fn expected(model: &Model, line: &[usize], place: &(String, String)) -> (Vec<String>, Option<String>) {
    let mut events = Vec::new();
    let (mut standing, mut last): (Option<Seen>, Option<Seen>) = (None, None);
    let mut age: Option<Age> = None;
    for number in line {
        let now = model.commits[*number].1.get(place).and_then(|(region, secret, path)| {
            let is_read = matches!(region.manifest, Manifest::Ours | Manifest::Flow);
            let said = secret.listed.filter(|_| is_read);
            let said = said.map(|is_right| (secret.carried, secret.needed.clone(), is_right));
            let was_there = standing.as_ref().is_some_and(|seen| seen.path == path);
            (said.is_some() || was_there).then(|| Seen { secret: secret.clone(), path, said })
        });
        let right = |seen: &Seen| seen.said.as_ref().is_some_and(|(_, _, is_right)| *is_right);
        let carried = |seen: &Seen| seen.said.as_ref().is_some_and(|(carried, ..)| *carried);
        let mut told = |what: &str| events.push(format!("{number} {what}"));
        match (&standing, &now) {
            (None, None) => {}
            (Some(_), None) => told("withdrawn"),
            (None, Some(new)) => {
                match &last {
                    Some(last) => {
                        let (word, entries) = values(last, new);
                        age.as_mut().unwrap().versions.push((*number, entries.clone(), new.secret.entries.clone()));
                        told(&format!("published again {word} {entries:?}"));
                    }
                    None => {
                        let first = (*number, BTreeSet::new(), new.secret.entries.clone());
                        age = Some(Age { first: *number, versions: vec![first] });
                        told("published");
                    }
                }
                if carried(new) {
                    told("carried");
                }
                if !right(new) {
                    told("altered");
                }
            }
            (Some(old), Some(new)) => {
                if old.secret.text("") != new.secret.text("") {
                    let (word, entries) = values(old, new);
                    age.as_mut().unwrap().versions.push((*number, entries.clone(), new.secret.entries.clone()));
                    let what = match () {
                        () if word == "changed" => "changed",
                        () if old.secret.recipients != new.secret.recipients => "recipients",
                        () if old.secret.entries != new.secret.entries => "resealed",
                        () => "retagged",
                    };
                    told(&format!("{what} {word} {entries:?}"));
                }
                match (carried(old), carried(new)) {
                    (false, true) => told("carried"),
                    (true, false) if new.said.is_some() => told("current"),
                    _ => {}
                }
                match (right(old), right(new)) {
                    (true, false) => told("altered"),
                    (false, true) => told("asListed"),
                    _ => {}
                }
                if let (Some((_, then, _)), Some((_, now, _))) = (&old.said, &new.said)
                    && then != now
                {
                    told(&format!("needed +{:?} -{:?}", now - then, then - now));
                }
            }
        }
        last = now.clone().or(last);
        standing = now;
    }
    let seen = standing.filter(|seen| !seen.secret.entries.is_empty());
    (events, age.zip(seen).map(|(age, seen)| age.oldest(seen.secret.entries.keys())))
}

fn number(commit: &serde_json::Value) -> usize {
    let time: jiff::Timestamp = text(&commit["time"]).parse().unwrap();
    usize::try_from((time.as_second() - BEGIN) / STEP).unwrap()
}

type Answer = BTreeMap<(String, String), (Vec<String>, Option<String>)>;

/// The answer in the model's words.
fn told(fleet: &Fleet, arguments: &[&str]) -> (Answer, serde_json::Value) {
    let ran = fleet.run(&[&["log", "-o", "json", "--repo", "model.git"], arguments].concat()).ends(0);
    let log: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let mut answer = Answer::new();
    for commit in list(&log["commits"]).iter().rev() {
        let mut of_commit: Vec<(usize, (String, String), String)> = Vec::new();
        for event in list(&commit["events"]) {
            let what = text(&event["what"]);
            let mut line = format!("{} {what}", number(commit));
            if event["again"] == true {
                line.push_str(" again");
            }
            if let Some(values) = event["values"].as_str() {
                let entry =
                    |entry: &serde_json::Value| (text(&entry["name"]).to_owned(), text(&entry["change"]).to_owned());
                let entries: BTreeSet<(String, String)> = list(&event["entries"]).iter().map(entry).collect();
                write!(line, " {values} {entries:?}").unwrap();
            }
            if what == "needed" {
                let names = |field: &str| -> BTreeSet<usize> {
                    list(&event[field])
                        .iter()
                        .map(|by| text(by).strip_prefix("team/c").unwrap().parse().unwrap())
                        .collect()
                };
                write!(line, " +{:?} -{:?}", names("credentialsAdded"), names("credentialsRemoved")).unwrap();
            }
            let place = (text(&event["directory"]).to_owned(), text(&event["object"]["name"]).to_owned());
            // In the order in which the model tells them.
            let order =
                ["withdrawn", "published", "changed", "recipients", "resealed", "retagged", "carried", "current"];
            let order = order.iter().position(|word| *word == what).unwrap_or(if what == "needed" { 20 } else { 10 });
            of_commit.push((order, place, line));
        }
        of_commit.sort();
        for (_, place, line) in of_commit {
            answer.entry(place).or_default().0.push(line);
        }
    }
    for secret in list(&log["secrets"]) {
        let place = (text(&secret["directory"]).to_owned(), text(&secret["name"]).to_owned());
        let age = |of: &serde_json::Value| {
            each(number(&of["rotated"]), of["changed"].as_bool().unwrap(), of.get("perhapsRotated").map(number))
        };
        let entries: Vec<String> = list(&secret["entries"]).iter().map(age).collect();
        let age = format!("{}: {}", age(secret), entries.join(", "));
        assert!(answer.entry(place).or_default().1.replace(age).is_none());
    }
    (answer, log)
}

#[test]
fn the_life_told_of_any_history_is_what_its_states_say() {
    let mut words: BTreeMap<String, usize> = BTreeMap::new();
    let mut merges = 0;
    for seed in 0..40 {
        let model = Model::roll(seed);
        let tip = model.commits.len() - 1;
        let fleet = bare();
        import(&fleet, &model.stream(tip));
        let mut line = vec![tip];
        while let Some(parent) = model.commits[line[line.len() - 1]].0.first() {
            line.push(*parent);
        }
        line.reverse();
        merges += line.iter().filter(|number| model.commits[**number].0.len() > 1).count();
        let mut all = Answer::new();
        for directory in ["eu", "us"] {
            for name in 0..4 {
                let place = (directory.to_owned(), format!("s{name}"));
                let told = expected(&model, &line, &place);
                if !told.0.is_empty() {
                    all.insert(place, told);
                }
            }
        }
        let (answer, log) = told(&fleet, &[]);
        for place in all.keys().chain(answer.keys()) {
            let of_place = |commit: &usize| (*commit, model.commits[*commit].1.get(place));
            let states = || line.iter().map(of_place).collect::<Vec<_>>();
            assert_eq!(answer.get(place), all.get(place), "seed {seed} {place:?}\n{:?}", states());
        }
        assert_eq!(log["looked"]["branches"][0]["commits"], line.len());
        for told in all.values().flat_map(|(events, _)| events) {
            let word: Vec<&str> = told.split(' ').skip(1).take(3).collect();
            *words.entry(word.join(" ").split(" {").next().unwrap().to_owned()).or_default() += 1;
        }
        // One region, one Secret and one Credential: of everything, what is about them.
        let eu: Answer =
            all.iter().filter(|((region, _), _)| region == "eu").map(|(a, b)| (a.clone(), b.clone())).collect();
        if !eu.is_empty() {
            assert_eq!(told(&fleet, &["region", "eu"]).0, eu);
        }
        let one: Answer =
            all.iter().filter(|((_, name), _)| name == "s1").map(|(a, b)| (a.clone(), b.clone())).collect();
        if !one.is_empty() {
            assert_eq!(told(&fleet, &["secret", "team/s1"]).0, one);
        }
    }
    let wanted =
        ["published again unknown", "changed changed", "recipients unknown", "resealed unknown", "retagged same"];
    assert!(wanted.iter().all(|word| words.contains_key(*word)) && merges > 20, "{words:?} {merges}");
}
