//! Laws of keeping bytes, on made-up fleets and in one process: what changes is sealed anew, and nothing
//! else; and no tag tells that two values are equal.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::rc::Rc;
use std::sync::Mutex;

use pouch::ambient::Ambient;
use pouch::error::Failure;
use pouch::run::render::render;
use pouch::run::{Report, Run};
use pouch::session::{Global, Session};
use pouch::settings::{self, Settings};
use pouch::shelf::{Beside, Look, NewFile, NewFiles, Shelf, ShelfError, folders};
use pouch::stop::Stop;
use pouch::survey::source::live::Values;
use pouch::survey::{Reach, Surveyor, survey};
use pouch_core::config::Accept;
use pouch_core::finding::Code;
use pouch_core::name::Directory;
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::region::change::Action;
use pouch_core::region::odd::Odd;
use pouch_core::region::published::{self, Files};
use pouch_core::report::summary::Outcome;
use pouch_core::reuse::ReuseKey;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::fleet::{EU as ONE, Fleet, US as TWO, credential};
use crate::support::tree;

const OTHER: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
const SECRETS: usize = 6;

/// Bundles in memory.
#[derive(Default)]
pub(super) struct Memory(pub(super) Mutex<Files>);

impl Look for Memory {
    fn regions(&self) -> Result<BTreeSet<String>, ShelfError> {
        let files = self.0.lock().unwrap();
        let region = |path: &String| Some(path.strip_prefix("regions/")?.strip_suffix("/bundle.yaml")?.to_owned());
        Ok(files.keys().filter_map(region).collect())
    }

    fn manifest(&self, folder: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        Ok(self.0.lock().unwrap().get(&format!("regions/{folder}/bundle.yaml")).cloned())
    }

    fn shared_differs(&self, path: &str, bytes: &[u8]) -> Result<bool, ShelfError> {
        Ok(self.0.lock().unwrap().get(path).is_none_or(|standing| standing != bytes))
    }

    fn beside(&self, _: &BTreeSet<&Directory>) -> Result<Beside, ShelfError> {
        Ok(Beside::default())
    }

    fn shared(&self, path: &str) -> Result<Option<Vec<u8>>, ShelfError> {
        Ok(self.0.lock().unwrap().get(path).cloned())
    }

    fn read(&self, directory: &Directory) -> Result<(Files, Odd), ShelfError> {
        let files = self.0.lock().unwrap();
        let files = files.iter().filter(|(path, _)| is_of(path, directory));
        Ok((files.map(|(path, bytes)| (path.clone(), bytes.clone())).collect(), Odd::default()))
    }
}

impl Shelf for Memory {
    fn stage(&self, directory: &Directory, new: NewFiles, published: &published::Published) -> Result<(), ShelfError> {
        let mut files = self.0.lock().unwrap();
        files.retain(|path, _| !is_of(path, directory));
        files.extend(new.into_iter().map(|(path, file)| {
            let bytes = match file {
                NewFile::Bytes(bytes) => bytes,
                NewFile::Kept(from) => published.files[from.as_str()].clone(),
            };
            (path.as_str().to_owned(), bytes)
        }));
        Ok(())
    }

    fn stage_shared(&self, path: &str, bytes: &[u8]) -> Result<(), ShelfError> {
        self.0.lock().unwrap().insert(path.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn stage_removal(&self, path: &str) -> Result<(), ShelfError> {
        self.0.lock().unwrap().remove(path);
        Ok(())
    }
}

fn is_of(path: &str, directory: &Directory) -> bool {
    folders(directory).iter().any(|folder| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/')))
}

/// A region `eu` whose Credentials are Secrets, and beside it `us` with one, which nothing may touch.
#[derive(Clone, Debug)]
struct World {
    /// By `namespace/name`: the entries.
    secrets: BTreeMap<String, BTreeMap<String, String>>,
    recipients: Vec<&'static str>,
    directory: &'static str,
}

impl World {
    fn new() -> Self {
        Self::of(SECRETS)
    }

    /// With that many Secrets.
    fn of(secrets: usize) -> Self {
        let entries = |n: usize| {
            let long = format!("a-long-value-of-{n}");
            BTreeMap::from([
                ("long".to_owned(), long),
                ("short".to_owned(), "x".to_owned()),
                ("none".to_owned(), String::new()),
            ])
        };
        let secrets = (0..secrets).map(|n| (format!("eu-t/s{n}"), entries(n))).collect();
        Self { secrets, recipients: vec![ONE, TWO], directory: "eu" }
    }

    fn documents(&self) -> Vec<String> {
        let mut documents = Vec::new();
        let other = BTreeMap::from([("long".to_owned(), "a-long-value-of-0".to_owned())]);
        let all = self.secrets.iter().map(|(key, entries)| ("eu", key.as_str(), entries));
        for (region, key, entries) in all.chain([("us", "us-t/s0", &other)]) {
            let (namespace, name) = key.split_once('/').unwrap();
            let mut secret = format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}, namespace: {namespace}}}\nstringData:\n"
            );
            for (entry, value) in entries {
                _ = writeln!(secret, "  {entry}: {value:?}");
            }
            documents.push(secret);
            documents.push(credential(region, namespace, name, ["v1", "Secret", name]));
        }
        documents
    }

    fn config(&self) -> String {
        format!(
            "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
             sources: [{{name: m, directory: {{path: m}}}}]\nregions:\n\
             \x20 eu: {{recipients: [{}], directory: {}, namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n\
             \x20 us: {{recipients: [{OTHER}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true}}\n\
             reuseKey: {{env: KEY}}\nlimits: {{reseal: {{percent: 100}}}}\n",
            self.recipients.join(", "),
            self.directory,
        )
    }

    fn sealed(&self, key: &str) -> String {
        format!("regions/{}/core/secrets/{key}.sops.yaml", self.directory)
    }

    fn all_sealed(&self) -> BTreeSet<String> {
        self.secrets.keys().map(|key| self.sealed(key)).collect()
    }
}

/// A folder that worlds are written to, and the bundles that come of them.
struct Place {
    folder: Fleet,
    shelf: Memory,
    /// By text: to read a configuration takes longer than to render one of these worlds.
    configs: RefCell<BTreeMap<String, Rc<Settings>>>,
}

impl Place {
    fn new() -> Self {
        let place = Self { folder: Fleet::empty(), shelf: Memory::default(), configs: RefCell::default() };
        fs::create_dir(place.folder.path("m")).unwrap();
        place
    }

    fn files(&self) -> Files {
        self.shelf.0.lock().unwrap().clone()
    }

    fn put(&self, files: Files) {
        *self.shelf.0.lock().unwrap() = files;
    }

    /// Renders a world from files that hold its documents in this order.
    fn render_from(&self, world: &World, texts: &[String], allowances: &Allowances) -> Result<Report, Failure> {
        let root = &*self.folder.path("");
        let sources = root.join("m");
        for old in fs::read_dir(&sources).unwrap() {
            fs::remove_file(old.unwrap().path()).unwrap();
        }
        for (n, text) in texts.iter().enumerate() {
            fs::write(sources.join(format!("{n}.yaml")), text).unwrap();
        }
        let key = ReuseKey::to_text(&[7; 32]);
        let ambient = Ambient::fixed(root, jiff::Timestamp::UNIX_EPOCH, &[("KEY", &key)]);
        let load = || {
            fs::write(root.join("pouch.yaml"), world.config()).unwrap();
            Rc::new(settings::load(Path::new("pouch.yaml"), &ambient).unwrap())
        };
        let settings = Rc::clone(self.configs.borrow_mut().entry(world.config()).or_insert_with(load));
        let (keys, _) = settings::reuse_keys(&settings, &ambient).unwrap();
        let global = Global { quiet: true, ..Global::default() };
        let (session, reach) = (Session::new(global, ambient, Stop::never()), Reach::default());
        let selection = Selection::default();
        let run = Run::new(&session, &settings.fleet, &keys, (allowances, &selection));
        let surveyor = Surveyor::new(&session, &settings.fleet, root, (&[], &reach));
        render(&run, &survey(&surveyor, Values::Read)?, &self.shelf)
    }

    #[track_caller]
    fn render(&self, world: &World, allowances: &Allowances) -> Report {
        let report = self.render_from(world, &[world.documents().join("---\n")], allowances);
        report.unwrap_or_else(|failure| panic!("{}", failure.message))
    }

    /// Renders, says to the brake that what it holds is meant, and renders again.
    #[track_caller]
    fn accepted(&self, world: &World, allowances: &Allowances) -> Report {
        let report = self.render(world, allowances);
        if report.regions.iter().all(|region| region.outcome != Outcome::Held) {
            return report;
        }
        let mut allowances = allowances.clone();
        // What came from another folder; nothing of it is kept, so that no other step can hide behind this.
        if report.findings.iter().any(|finding| finding.code == Code::UnsignedBundle) {
            allowances.replace_unsigned.insert("eu".to_owned());
        }
        let meant = report.wanted.iter().filter(|wanted| wanted.what != Accept::Reseal);
        allowances.accepted.extend(meant.cloned());
        let report = self.render(world, &allowances);
        assert!(report.regions.iter().all(|region| region.outcome != Outcome::Held), "{:?}", report.findings);
        report
    }
}

/// Sealed files that are there in both states with other bytes, and those that came.
fn sealed_anew(before: &Files, after: &Files) -> BTreeSet<String> {
    let new = after.iter().filter(|(path, bytes)| path.ends_with(".sops.yaml") && before.get(*path) != Some(bytes));
    new.map(|(path, _)| path.clone()).collect()
}

/// Every tag in the headers of sealed files.
fn tags(files: &Files) -> Vec<String> {
    let sealed = files.iter().filter(|(path, _)| path.ends_with(".sops.yaml"));
    let texts = sealed.map(|(_, bytes)| String::from_utf8(bytes.clone()).unwrap());
    let tags = texts.flat_map(|text| {
        let lines: Vec<String> =
            text.lines().take_while(|line| line.starts_with("# pouch")).map(str::to_owned).collect();
        lines
    });
    tags.map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

/// One change to a fleet or to what is published of it.
#[derive(Clone, Debug)]
enum Step {
    Nothing,
    Value(Index, &'static str, String),
    EntryAdded(Index),
    EntryRemoved(Index),
    Renamed(Index),
    /// Into the other namespace, with its Credential.
    Moved(Index),
    SecretAdded,
    Recipients(Vec<&'static str>),
    /// The region gets this folder; what is published either goes along, or is removed.
    Directory(&'static str, Published),
    /// A byte of a published file: which Secret, where, and what it is exclusively-ored with.
    Touched(Index, Index, u8),
}

/// What becomes of a folder that is not the region's any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Published {
    GoesAlong,
    Removed,
}

fn step() -> impl Strategy<Value = Step> {
    let recipients = prop_oneof![Just(vec![ONE]), Just(vec![TWO]), Just(vec![ONE, TWO])];
    prop_oneof![
        2 => Just(Step::Nothing),
        4 => (any::<Index>(), prop_oneof![Just("long"), Just("short"), Just("none")], "[ -~]{0,24}")
            .prop_map(|(at, entry, value)| Step::Value(at, entry, value)),
        1 => any::<Index>().prop_map(Step::EntryAdded),
        1 => any::<Index>().prop_map(Step::EntryRemoved),
        1 => any::<Index>().prop_map(Step::Renamed),
        1 => any::<Index>().prop_map(Step::Moved),
        1 => Just(Step::SecretAdded),
        2 => recipients.prop_map(Step::Recipients),
        1 => (prop_oneof![Just("eu"), Just("eu2")], prop_oneof![Just(Published::GoesAlong), Just(Published::Removed)])
            .prop_map(|(directory, published)| Step::Directory(directory, published)),
        2 => (any::<Index>(), any::<Index>(), 1..=255_u8).prop_map(|(at, byte, with)| Step::Touched(at, byte, with)),
    ]
}

/// Takes a step; gives the sealed files that must be new after it.
fn take(step: &Step, world: &mut World, place: &Place) -> BTreeSet<String> {
    let keys: Vec<String> = world.secrets.keys().cloned().collect();
    let of = |at: &Index| keys[at.index(keys.len())].clone();
    match step {
        Step::Nothing => BTreeSet::new(),
        Step::Value(at, entry, value) => {
            let entries = world.secrets.get_mut(&of(at)).unwrap();
            let before = entries.insert((*entry).to_owned(), value.clone());
            if before.as_ref() == Some(value) { BTreeSet::new() } else { [world.sealed(&of(at))].into() }
        }
        Step::EntryAdded(at) => {
            let entries = world.secrets.get_mut(&of(at)).unwrap();
            // A name that is there already would be no change.
            let free = (0..).map(|n| format!("more-{n}")).find(|name| !entries.contains_key(name)).unwrap();
            entries.insert(free, String::new());
            [world.sealed(&of(at))].into()
        }
        Step::EntryRemoved(at) => {
            let entries = world.secrets.get_mut(&of(at)).unwrap();
            // The last one stays: without any it would be another object.
            if entries.len() < 2 {
                return BTreeSet::new();
            }
            entries.pop_last();
            [world.sealed(&of(at))].into()
        }
        Step::Renamed(at) => {
            let entries = world.secrets.remove(&of(at)).unwrap();
            let key = format!("{}x", of(at));
            world.secrets.insert(key.clone(), entries);
            [world.sealed(&key)].into()
        }
        Step::Moved(at) => {
            let entries = world.secrets.remove(&of(at)).unwrap();
            let key = match of(at).split_once('/').unwrap() {
                ("eu-t", name) => format!("eu-v/{name}"),
                (_, name) => format!("eu-t/{name}"),
            };
            world.secrets.insert(key.clone(), entries);
            [world.sealed(&key)].into()
        }
        Step::SecretAdded => {
            let key = format!("eu-t/added-{}", world.secrets.len());
            world.secrets.insert(key.clone(), BTreeMap::from([("long".to_owned(), "a-long-value-of-0".to_owned())]));
            [world.sealed(&key)].into()
        }
        Step::Recipients(recipients) => {
            let same = world.recipients == *recipients;
            world.recipients = recipients.clone();
            if same { BTreeSet::new() } else { world.all_sealed() }
        }
        Step::Directory(directory, _) if world.directory == *directory => BTreeSet::new(),
        Step::Directory(directory, published) => {
            let parts = |name: &str| [format!("/{name}/"), format!("metadata:\n  name: {name}\n")];
            let (old, new) = (parts(world.directory), parts(directory));
            let mut files = place.files();
            let moved: Files = files.extract_if(.., |path, _| path.contains(&old[0])).collect();
            if *published == Published::GoesAlong {
                files.extend(moved.into_iter().map(|(path, mut bytes)| {
                    // The manifest says that all of it was there ever since; only tags tell otherwise.
                    if path.ends_with("/bundle.yaml") {
                        let text = String::from_utf8(bytes).unwrap();
                        assert!(old.iter().all(|part| text.contains(part)), "{text}");
                        bytes = text.replace(&old[0], &new[0]).replace(&old[1], &new[1]).into_bytes();
                    }
                    (path.replace(&old[0], &new[0]), bytes)
                }));
            }
            place.put(files);
            world.directory = directory;
            world.all_sealed()
        }
        Step::Touched(at, byte, with) => {
            let path = world.sealed(&of(at));
            let mut files = place.files();
            let bytes = files.get_mut(&path).unwrap();
            let byte = byte.index(bytes.len());
            bytes[byte] ^= with;
            place.put(files);
            [path].into()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    /// Whatever happens to a fleet, one thing after the other: exactly what it concerns is sealed anew.
    #[test]
    fn one_change_seals_exactly_what_it_concerns(steps in prop::collection::vec(step(), 1..10)) {
        let (mut world, place) = (World::new(), Place::new());
        place.render(&world, &Allowances::default());
        let mut seen: BTreeSet<String> = tags(&place.files()).into_iter().collect();
        for step in steps {
            let published = place.files();
            let expect = take(&step, &mut world, &place);
            let before = place.files();
            place.accepted(&world, &Allowances::default());
            let after = place.files();
            prop_assert_eq!(sealed_anew(&before, &after), expect.clone(), "{:?}", step);
            // What was touched does not come back as it was, either.
            prop_assert_eq!(sealed_anew(&published, &after), expect.clone(), "{:?}", step);
            let all: BTreeSet<String> = after.keys().filter(|path| path.ends_with(".sops.yaml") && !path.contains("/us/")).cloned().collect();
            prop_assert_eq!(all, world.all_sealed(), "{:?} leaves something behind", step);
            if expect.is_empty() {
                prop_assert_eq!(&before, &after, "{:?}", step);
            }
            let of_us = |files: &Files| files.iter().filter(|(path, _)| path.contains("/us/")).map(|(p, b)| (p.clone(), b.clone())).collect::<Files>();
            prop_assert_eq!(of_us(&published), of_us(&after), "the other region");
            for tag in expect.iter().flat_map(|path| tags(&Files::from([(path.clone(), after[path].clone())]))) {
                prop_assert!(seen.insert(tag.clone()), "{} came twice after {:?}", tag, step);
            }
        }
    }
}

#[test]
fn every_byte_of_a_published_file_counts() {
    let (world, place) = (World::of(2), Place::new());
    place.render(&world, &Allowances::default());
    let sound = place.files();
    let path = world.sealed("eu-t/s1");
    for at in 0..sound[&path].len() {
        let mut touched = sound.clone();
        touched.get_mut(&path).unwrap()[at] ^= 1 << (at % 8);
        place.put(touched.clone());
        place.render(&world, &Allowances::default());
        let after = place.files();
        assert_eq!(sealed_anew(&touched, &after), [path.clone()].into(), "byte {at}");
        assert_ne!(after[&path], sound[&path], "byte {at}: healing is a new sealing");
        let others =
            |files: &Files| files.iter().filter(|(p, _)| **p != path && !p.ends_with("eu/bundle.yaml")).count();
        let same = sound.iter().filter(|(p, bytes)| after.get(*p) == Some(bytes)).count();
        assert_eq!(same, others(&sound), "byte {at}: nothing else changed");
    }
}

/// And every byte of the manifest: without it nothing is believed, and nothing is written.
#[test]
fn every_byte_of_a_manifest_counts() {
    let (world, place) = (World::of(1), Place::new());
    place.render(&world, &Allowances::default());
    let sound = place.files();
    let path = "regions/eu/bundle.yaml".to_owned();
    for at in 0..sound[&path].len() {
        let mut touched = sound.clone();
        touched.get_mut(&path).unwrap()[at] ^= 1 << (at % 7);
        place.put(touched.clone());
        let report = place.render(&world, &Allowances::default());
        assert_eq!(place.files(), touched, "byte {at}");
        assert_eq!(report.regions[0].outcome, Outcome::Held, "byte {at}");
    }
}

#[test]
fn a_thousand_orders_are_one_fleet() {
    let (world, place) = (World::of(4), Place::new());
    place.render(&world, &Allowances::default());
    let before = place.files();
    let documents = world.documents();
    let random =
        RefCell::new(proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha));
    let chance = |below: usize| usize::try_from(random.borrow_mut().next_u32()).unwrap() % below;
    for shuffle in 0..1_000 {
        let mut order = documents.clone();
        for last in (1..order.len()).rev() {
            order.swap(last, chance(last + 1));
        }
        let texts: Vec<String> =
            order.chunks(1 + chance(order.len())).map(|documents| documents.join("---\n")).collect();
        let report = place.render_from(&world, &texts, &Allowances::default()).ok().unwrap();
        // The bundle says in which files it all was.
        assert!(report.regions.iter().all(|region| region.changes.is_empty()), "shuffle {shuffle}");
        assert_eq!(tree::placeless(&place.files()), tree::placeless(&before), "shuffle {shuffle}");
    }
}

#[test]
fn a_value_that_returns_shows_no_former_tag() {
    let (mut world, place) = (World::new(), Place::new());
    let mut seen = BTreeSet::new();
    for round in 0..40 {
        let value = if round % 2 == 0 { "the-first-long-value" } else { "the-other-long-value" };
        for entries in world.secrets.values_mut() {
            entries.insert("long".to_owned(), value.to_owned());
            entries.insert("short".to_owned(), value.get(..5).unwrap().to_owned());
        }
        place.render(&world, &Allowances::default());
        for tag in tags(&place.files().into_iter().filter(|(path, _)| path.contains("/eu/")).collect()) {
            assert!(seen.insert(tag.clone()), "{tag} came twice, in round {round}");
        }
    }
    assert_eq!(seen.len(), 40 * SECRETS * 3);
}

/// The same Secret many times over, with the same value in each of its entries.
#[test]
fn equal_values_show_nothing_equal() {
    let (mut world, place) = (World::new(), Place::new());
    let long = |n: usize| (format!("e{n}"), "one-and-the-same-value".to_owned());
    let short = |n: usize| (format!("f{n}"), "same".to_owned());
    let entries: BTreeMap<String, String> = (0..4).map(long).chain((0..4).map(short)).collect();
    for secret in world.secrets.values_mut() {
        *secret = entries.clone();
    }
    place.render(&world, &Allowances::default());
    let files: Files = place.files().into_iter().filter(|(path, _)| path.contains("/eu/")).collect();
    let all = tags(&files);
    assert_eq!(all.len(), SECRETS * (1 + 4 + 1), "a file tag, one for each long value and one for the short ones");
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    let text: String = files.values().map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect();
    let leaves: Vec<&str> = text.split(": ENC[").skip(1).map(|rest| rest.split(']').next().unwrap()).collect();
    assert_eq!(leaves.len(), SECRETS * (8 + 1));
    for part in ["data:", "iv:", "tag:"] {
        let parts: Vec<&str> =
            leaves.iter().map(|leaf| leaf.split(part).nth(1).unwrap().split(',').next().unwrap()).collect();
        // Four bytes of ciphertext may meet by chance; nothing longer may.
        let long = parts.iter().filter(|part| part.len() > 8);
        let distinct: BTreeSet<&&str> = parts.iter().filter(|part| part.len() > 8).collect();
        assert_eq!(distinct.len(), long.count(), "{part}");
    }
}

/// A folder is part of what a tag is for: under another one nothing is kept, in the other region all is.
#[test]
fn another_directory_keeps_nothing() {
    let (mut world, place) = (World::new(), Place::new());
    place.render(&world, &Allowances::default());
    let old = place.files();
    world.directory = "eu2";
    let moved: Files = old.iter().map(|(path, bytes)| (path.replace("/eu/", "/eu2/"), bytes.clone())).collect();
    place.put(moved.clone());
    let report = place.render(&world, &Allowances::default());
    assert_eq!((report.regions[0].outcome, report.regions[1].outcome), (Outcome::Held, Outcome::Unchanged));
    assert_eq!(place.files(), moved, "a manifest vouches for its own folder only");
    place.render(&world, &Allowances { replace_unsigned: ["eu".to_owned()].into(), ..Allowances::default() });
    assert_eq!(sealed_anew(&moved, &place.files()), world.all_sealed());
}

#[test]
fn reseal_seals_one_region_or_all() {
    let (world, place) = (World::new(), Place::new());
    place.render(&world, &Allowances::default());
    let us = "regions/us/core/secrets/us-t/s0.sops.yaml".to_owned();
    for (region, expect) in [
        ("eu", world.all_sealed()),
        ("us", [us.clone()].into()),
        ("all", {
            let mut all = world.all_sealed();
            all.insert(us.clone());
            all
        }),
    ] {
        let before = place.files();
        let report = place.render(&world, &Allowances { reseal: [region.to_owned()].into(), ..Allowances::default() });
        assert_eq!(sealed_anew(&before, &place.files()), expect, "{region}");
        assert!(
            report.regions.iter().flat_map(|region| &region.changes).all(|change| change.action == Action::Resealed)
        );
    }
}
