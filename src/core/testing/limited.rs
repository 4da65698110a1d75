//! A law of limited runs: `-n`, `--region` and Credentials limit what is refreshed, never what exists.
//!
//! After any history, a limited run changes only what is selected and removes nothing, and a whole run after it makes what
//! a whole run without it makes. Sealing draws no lots here, so that all of it can be compared byte for byte.

extern crate std;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::case::{Document, Scene};
use super::stages::{Desk, Wishes, keys, publish};
use super::tenants::{Dice, Fleet, HONEST};
use super::{node, yaml};
use crate::capi::resource_set::is_resource_set;
use crate::layout::manifest::ManifestObject;
use crate::name::{Claimant, ObjectKey};
use crate::region::allowances::{Refresh, Selection};
use crate::region::history::{History, Past};
use crate::region::published::{Files, Published};

/// One state of the sources, and a region that is published from it.
struct Bench {
    desk: Desk,
}

impl Bench {
    fn of(fleet: &Fleet) -> Self {
        Self { desk: Desk::new(&fleet.scene(false)) }
    }

    fn examine(&self, files: &Files) -> Published {
        let directory = &self.desk.fleet.regions["eu"].directory;
        Published::examine(&self.desk.fleet.name, directory, files.clone(), &keys())
    }

    /// What stands there after a run; none where the region is held as a whole. `then` is the beginning of the window.
    fn run(&self, before: &Files, then: &Files, refresh: Option<Refresh>) -> Option<Files> {
        let standing = self.examine(before);
        let mut history = History::default();
        if let (Some(manifest), Some(now)) = (self.examine(then).manifest(), standing.manifest()) {
            let file = |path: &crate::layout::BundlePath| Ok::<_, ()>(then.get(path.as_str()).cloned());
            history.past = Vec::from([Past::of(manifest.clone(), Vec::new(), now, file).unwrap()]).into();
        }
        let (allowances, _) = Wishes::default();
        let wishes = (allowances, Selection { refresh, ..Selection::default() });
        let region = &self.desk.fleet.regions["eu"];
        let (plan, _) = self.desk.plan_after(region, &standing, &history, &wishes);
        plan.holds.is_empty().then(|| publish(&self.desk, region, plan, &standing))
    }

    /// The objects of a bundle, without their Namespaces.
    fn objects(&self, files: &Files) -> BTreeMap<ObjectKey, (ManifestObject, Vec<u8>)> {
        let published = self.examine(files);
        let objects = published.manifest().map(|manifest| manifest.objects.clone()).unwrap_or_default();
        let objects = objects.into_iter().filter(|object| !object.key.kind.is_namespace());
        objects.map(|object| (object.key.clone(), (object.clone(), files[object.path.as_str()].clone()))).collect()
    }
}

fn selection(dice: &mut Dice) -> Refresh {
    let mut refresh = Refresh::default();
    match dice.next(4) {
        0 => _ = refresh.regions.insert("eu".into()),
        1 | 2 => _ = refresh.namespaces.insert((*dice.pick(&HONEST)).into()),
        _ => {
            let (namespace, name) = (*dice.pick(&HONEST), *dice.pick(&["x", "y", "z", "keeper", "lent"]));
            refresh.claimants.insert(Claimant::credential(namespace.into(), name.into()));
        }
    }
    refresh
}

/// How often a limited run changed something, left something alone that a whole run changes, and was held.
#[derive(Default, Debug)]
struct Counts {
    changed: usize,
    left: usize,
    held: usize,
}

fn history(seed: u64, counts: &mut Counts) {
    let mut dice = Dice::of(seed);
    let mut fleet = Fleet::new();
    let nothing = Files::new();
    let mut files = Bench::of(&fleet).run(&nothing, &nothing, None).unwrap();
    for _ in 0..4 {
        (0..=dice.next(3)).for_each(|_| fleet.change(&mut dice));
        let bench = Bench::of(&fleet);
        let refresh = selection(&mut dice);
        let whole = bench.run(&files, &files, None);
        let Some(limited) = bench.run(&files, &files, Some(refresh.clone())) else {
            counts.held += 1;
            continue;
        };
        let (before, after) = (bench.objects(&files), bench.objects(&limited));
        let wants = Selection { refresh: Some(refresh.clone()), ..Selection::default() };
        for (key, (object, bytes)) in &before {
            let (now, new) = after.get(key).unwrap_or_else(|| panic!("{seed}: {key} is gone with {refresh:?}"));
            let is_selected = now.needed_by.iter().any(|by| wants.refreshes(&by.by));
            // Whoever else can read a file that stays is told of truthfully where recipients changed.
            let state = if now.recipients.is_empty() { now.state.clone() } else { object.state.clone() };
            let told = ManifestObject { recipients: object.recipients.clone(), state, ..now.clone() };
            assert!(is_selected || (told == *object && new == bytes), "{seed}: {key} changed with {refresh:?}");
        }
        for (key, (object, _)) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
            assert!(object.needed_by.iter().all(|by| wants.refreshes(&by.by)), "{seed}: {key} is new with {refresh:?}");
        }
        let then_whole = bench.run(&limited, &files, None);
        assert!(then_whole == whole, "{seed}: a whole run makes something else after {refresh:?}");
        counts.changed += usize::from(limited != files);
        counts.left += usize::from(Some(&limited) != whole.as_ref());
        files = whole.unwrap_or(files);
    }
}

#[test]
fn a_limited_run_changes_what_is_selected_and_removes_nothing() {
    let mut counts = Counts::default();
    (0..150).for_each(|seed| history(seed, &mut counts));
    assert!(counts.changed > 50 && counts.left > 50, "{counts:?}");
}

/// A group of guests that delivers what a rule takes: each Secret by its name and value.
fn guests(mutations: &str, secrets: impl Iterator<Item = (String, &'static str)>) -> Bench {
    let rule = format!(
        "{{apiVersion: clusterregistry.k8s.cisco.com/v1alpha1, kind: ResourceSyncRule, metadata: {{name: a}}, \
         spec: {{groupVersionKind: {{version: v1, kind: Secret}}, \
         rules: [{{match: [{{labels: [{{matchLabels: {{pull: \"yes\"}}}}]}}], mutations: {mutations}}}]}}}}"
    );
    let secret = |(name, value): (String, &str)| {
        format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: kube-public, labels: {{pull: \"yes\"}}}}, \
             data: {{k: \"{value}\"}}}}"
        )
    };
    let document = |text: String| Document { source: "all".into(), node: node(&yaml(&text)), line: 1 };
    let config = "{limits: {objectsPerNamespace: 1000}, guests: {g: {region: eu, namespaces: [team-a], \
                  clusterSelector: {matchLabels: {a: b}}, objects: [{syncRule: a}]}}}";
    let documents = core::iter::once(rule).chain(secrets.map(secret)).map(document).collect();
    Bench { desk: Desk::new(&Scene { config: yaml(config), documents, incomplete: Vec::new(), run: yaml("{}") }) }
}

const GOOD: &str = "dmFsdWU=";
const BAD: &str = "no base64!";

/// What is published of `before` after a limited run over `after`.
fn limited(before: &Bench, after: &Bench) -> (Files, Files) {
    let nothing = Files::new();
    let files = before.run(&nothing, &nothing, None).unwrap();
    let refresh = Refresh { namespaces: ["team-a".into()].into(), ..Refresh::default() };
    let limited = after.run(&files, &files, Some(refresh)).unwrap();
    (files, limited)
}

/// More than one set holds are delivered, and one of them waits: the sets name it all the same.
#[test]
fn a_limited_run_divides_sets_as_a_whole_run_does() {
    let bench = |waiting| {
        let value = move |number| if number == 150 { waiting } else { GOOD };
        guests("{}", (100..=200).map(|number| (format!("s{number}"), value(number))))
    };
    let bad = bench(BAD);
    let (before, after) = limited(&bench(GOOD), &bad);
    let sets = |files: &Files| {
        let sets = bad.objects(files).into_iter().filter(|(key, _)| is_resource_set(&key.kind));
        sets.map(|(key, (_, bytes))| (key, bytes)).collect::<Vec<_>>()
    };
    assert_eq!(sets(&before).len(), 2);
    assert!(sets(&after) == sets(&before));
}

/// Another object that a rule puts into the place of one that waits gets it in no limited run either.
#[test]
fn a_limited_run_lets_whoever_has_a_place_keep_it() {
    let to = "{overrides: [{type: replace, path: /metadata/name, value: more}]}";
    let secrets = |secrets: &[(&str, &'static str)]| {
        guests(to, secrets.iter().map(|(name, value)| (String::from(*name), *value)).collect::<Vec<_>>().into_iter())
    };
    let bad = secrets(&[("w", GOOD), ("x", BAD)]);
    let (before, after) = limited(&secrets(&[("x", GOOD)]), &bad);
    let payloads = |files: &Files| {
        let all = bad.objects(files).into_iter().filter(|(key, _)| key.kind.is_secret());
        all.map(|(key, (object, bytes))| (key, object.from, bytes)).collect::<Vec<_>>()
    };
    assert_eq!(payloads(&before).len(), 1);
    assert!(payloads(&after) == payloads(&before));
}
