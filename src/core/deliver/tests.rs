use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::inventory::{Brought, Inventory, Needed, Unusable, mark, name};
use super::plan::{Answers, Broken, Let, Plan, is_for_taking, plan};
use super::release::{Pointers, after, may_go};
use super::whose::{Beginning, Misplaced, emit_own, misplaced};
use super::{Bundle, Live, Meta, fields_named, is_alike};
use crate::config::{Deletions, Percent};
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey, Region, Version};
use crate::node::{Interner, Node};
use crate::region::accounts::Whose;
use crate::verify::bundles::unpack::Unpacked;
use crate::yaml::read::{Document, read};

mod brake;

const CAPI: &str = "infrastructure.cluster.x-k8s.io";

/// The commit that a bundle was read from.
const COMMIT: &str = "c0ffee0000000000000000000000000000c0ffee";

/// `Secret a/b`, `Namespace a`, `AzureClusterIdentity a/b`.
fn key(text: &str) -> ObjectKey {
    let (kind, place) = text.split_once(' ').unwrap();
    let group = if ["Secret", "ConfigMap", "Namespace", "Pod"].contains(&kind) { "" } else { CAPI };
    let (namespace, name) = place.split_once('/').map_or((None, place), |(namespace, name)| (Some(namespace), name));
    ObjectKey::new(GroupKind::new(group, kind), namespace.map(Namespace::from), name.into())
}

fn node(text: &str) -> Node {
    read(&Document::whole(text), &mut Interner::new()).unwrap()
}

/// A bundle of such objects; behind the key stands who needs it (`for a,b`), and what an identity points to, or what a
/// Namespace says of itself (`-> x`).
fn bundle(objects: &[&str]) -> Unpacked {
    let part = |line: &&str| {
        let (object, says) = line.split_once(" -> ").unwrap_or((line, ""));
        let (object, claimants) = object.split_once(" for ").unwrap_or((object, ""));
        let claimants = claimants.split(',').filter(|name| !name.is_empty());
        let claimants = claimants.map(|name| Claimant::credential("n".into(), name.into())).collect();
        let key = key(object);
        let version = if key.kind.group == "" { "v1".to_string() } else { format!("{CAPI}/v1beta1") };
        let (kind, name) = (&key.kind.kind, &key.name);
        let more = match key.kind.is_namespace() {
            true => format!(", annotations: {{kustomize.toolkit.fluxcd.io/ssa: {says}}}, labels: {{env: prod}}}}"),
            false => format!("}}, spec: {{secretRef: {{name: '{says}'}}}}"),
        };
        let text = format!("{{apiVersion: {version}, kind: {kind}, metadata: {{name: {name}{more}}}");
        (key, "0123456789abcdef0123", text, claimants)
    };
    Unpacked::of(objects.iter().map(part).collect())
}

/// How an object is there: its resourceVersion, and marks.
fn live(says: &str) -> Live {
    match says {
        "-" => Live::Absent,
        "?" => Live::Unknown,
        _ => {
            let mut words = says.split(' ');
            let version = String::from(words.next().unwrap());
            let mut meta = Meta { uid: String::from("u"), version, is_ours: true, ..Meta::default() };
            for word in words {
                match word {
                    "theirs" => meta.is_ours = false,
                    "going" => meta.is_going = true,
                    "applied" => _ = meta.appliers.insert(String::from("pouch.acme.eu")),
                    "another's" => _ = meta.appliers.insert(String::from("pouch.acme.us")),
                    label => _ = meta.labels.insert(String::from("env"), String::from(label)),
                }
            }
            Live::Here(meta)
        }
    }
}

/// A budget that holds nothing of a few objects.
const GENEROUS: Deletions = Deletions { claimants: 9, keep: Percent(0), ..Deletions::DEFAULT };

struct Scene {
    unpacked: Unpacked,
    inventory: Inventory,
    live: BTreeMap<ObjectKey, Live>,
    silent: BTreeSet<String>,
    lacks: Vec<&'static str>,
    undefined: Vec<&'static str>,
    budget: Deletions,
    accepted: BTreeSet<String>,
}

impl Scene {
    /// The bundle, the inventory (`KEY@VERSION`, `KEY!` without a mark), and what is there (`KEY = HOW`).
    fn new(objects: &[&str], inventory: &[&str], there: &[&str]) -> Self {
        let mut kept = Inventory::empty(&"acme".into(), &"eu".into());
        for line in inventory {
            let (object, version) = line.split_once('@').unwrap_or((line, ""));
            let version = (!version.is_empty()).then(|| String::from(version));
            let mark = (!object.ends_with('!')).then(|| String::from("0123456789abcdef"));
            let object = object.trim_end_matches('!');
            kept.objects.insert(key(object), Brought { mark, version, needed: Needed::Unknown });
        }
        let there = there.iter().map(|line| line.split_once(" = ").unwrap());
        Self {
            unpacked: bundle(objects),
            inventory: kept,
            live: there.map(|(object, how)| (key(object), live(how))).collect(),
            silent: BTreeSet::new(),
            lacks: Vec::new(),
            undefined: Vec::new(),
            budget: Deletions::DEFAULT,
            accepted: BTreeSet::new(),
        }
    }

    fn decide<T>(&self, look: impl FnOnce(&Bundle<'_>, &Plan<'_>) -> T) -> T {
        let bundle = Bundle::new(&self.unpacked).unwrap();
        let kinds =
            ["AzureClusterIdentity", "AWSClusterStaticIdentity", "VSphereClusterIdentity", "FooClusterIdentity"];
        let served: BTreeMap<GroupKind, BTreeSet<Version>> = kinds
            .into_iter()
            .filter(|kind| !self.lacks.contains(kind))
            .map(|kind| (GroupKind::new(CAPI, kind), BTreeSet::from(["v1beta1".into()])))
            .collect();
        let undefined = self.undefined.iter().map(|kind| GroupKind::new(CAPI, kind)).collect();
        let called =
            &served.keys().map(|kind| (kind.clone(), format!("{}s", kind.kind.as_str().to_lowercase()))).collect();
        let answers =
            Answers { served: &served, called, undefined: &undefined, silent: &self.silent, live: &self.live };
        let region = Region::from("eu");
        let lets = Let { region: &region, budget: self.budget, accepted: &self.accepted };
        let plan = plan(&bundle, &self.inventory, None, &answers, &lets);
        look(&bundle, &plan)
    }

    /// The plan in words.
    #[track_caller]
    fn check(&self, expect: &[&str]) {
        let words = self.decide(|_, plan| {
            let mut words: Vec<String> = Vec::new();
            let mut add = |word: &str, keys: Vec<String>| {
                if !keys.is_empty() {
                    words.push(format!("{word} {}", keys.join(", ")));
                }
            };
            let one = |key: &ObjectKey| format!("{} {}", key.kind.kind, key.path());
            add("make", plan.make.iter().map(|sending| one(sending.key)).collect());
            add("label", plan.label.iter().map(|sending| one(sending.key)).collect());
            for phase in &plan.send {
                add("send", phase.iter().map(|sending| one(sending.key)).collect());
            }
            add("same", plan.same.iter().map(|key| one(key)).collect());
            add("lacking", plan.lacking.iter().map(|key| one(key)).collect());
            add("silent", plan.silent.iter().map(|key| one(key)).collect());
            add("another's", plan.of_others.keys().map(|key| one(key)).collect());
            add("withdraw", plan.goners.iter().map(|goner| one(&goner.key)).collect());
            add("give up", plan.given_up.iter().map(|(key, why)| format!("{} ({why:?})", one(key))).collect());
            if plan.held.is_some() {
                words.push(String::from("held"));
            }
            words
        });
        assert_eq!(words, expect);
    }
}

#[test]
fn what_is_sent_follows_from_what_is_there() {
    let objects = [
        "Namespace n -> IfNotPresent",
        "Namespace m -> Merge",
        "ConfigMap n/c",
        "Secret n/s",
        "Secret n/t",
        "AzureClusterIdentity n/a -> s",
        "VSphereClusterIdentity v -> t",
    ];
    let nothing = ["Namespace n = -", "Namespace m = -", "ConfigMap n/c = -", "Secret n/s = -", "Secret n/t = -"];
    let identities = ["AzureClusterIdentity n/a = -", "VSphereClusterIdentity v = -"];
    Scene::new(&objects, &[], &[&nothing[..], &identities].concat()).check(&[
        "make Namespace n, Namespace m",
        "send ConfigMap n/c",
        "send Secret n/s, Secret n/t",
        "send AzureClusterIdentity n/a",
        "send VSphereClusterIdentity v",
    ]);
    // Nobody wrote to it since the same file was sent; to others somebody did, or nobody knows.
    let inventory = ["ConfigMap n/c@7", "Secret n/s@8", "Secret n/t", "AzureClusterIdentity n/a@9"];
    let there = [
        "Namespace n = 1 other",
        "Namespace m = 1 other",
        "ConfigMap n/c = 7",
        "Secret n/s = 9",
        "Secret n/t = 7",
        "AzureClusterIdentity n/a = 9 theirs",
        "VSphereClusterIdentity v = ?",
    ];
    Scene::new(&objects, &inventory, &there).check(&[
        "label Namespace m",
        "send Secret n/s, Secret n/t",
        "send AzureClusterIdentity n/a",
        "same ConfigMap n/c",
        "silent VSphereClusterIdentity v",
    ]);
    let there =
        ["Namespace n = 1", "Namespace m = 1 prod", "ConfigMap n/c = 7 going", "Secret n/s = 8", "Secret n/t = ?"];
    let mut scene = Scene::new(&objects, &inventory, &there);
    scene.lacks = Vec::from(["AzureClusterIdentity"]);
    scene.check(&[
        "send ConfigMap n/c",
        "same Secret n/s",
        "lacking AzureClusterIdentity n/a",
        "silent Secret n/t, VSphereClusterIdentity v",
    ]);
    // A group that does not answer serves the kind for all one knows.
    scene.silent.insert(String::from(CAPI));
    scene.check(&[
        "send ConfigMap n/c",
        "same Secret n/s",
        "silent Secret n/t, AzureClusterIdentity n/a, VSphereClusterIdentity v",
    ]);
}

#[test]
fn another_file_is_sent_whatever_stands_there() {
    let mut scene = Scene::new(&["Secret n/s"], &["Secret n/s@7"], &["Secret n/s = 7"]);
    scene.check(&["same Secret n/s"]);
    scene.inventory.objects.values_mut().for_each(|brought| brought.mark = Some(String::from("fedcba9876543210")));
    scene.check(&["send Secret n/s"]);
}

#[test]
fn what_goes_was_brought_and_is_labelled() {
    let inventory = [
        "Secret n/s",
        "Secret n/gone",
        "Secret n/taken",
        "Secret n/absent",
        "Secret n/unknown",
        "AzureClusterIdentity n/old",
        "AWSClusterStaticIdentity lacking",
        // Whoever can write the inventory may name what no bundle holds.
        "Namespace n",
        "Pod n/p",
    ];
    let there = [
        "Secret n/s = 1",
        "Secret n/gone = 1",
        "Secret n/taken = 1 theirs",
        "Secret n/absent = -",
        "Secret n/unknown = ?",
        "Secret n/foreign = 1",
        "AzureClusterIdentity n/old = 1",
        "Namespace n = 1",
        "Pod n/p = 1",
    ];
    let mut scene = Scene::new(&["Secret n/s"], &inventory, &there);
    scene.lacks = Vec::from(["AWSClusterStaticIdentity"]);
    scene.undefined = scene.lacks.clone();
    scene.budget = GENEROUS;
    scene.check(&[
        "send Secret n/s",
        "withdraw AzureClusterIdentity n/old, Secret n/gone",
        "give up Pod n/p (NotBrought), Secret n/taken (Unlabelled)",
    ]);
    let left: Vec<String> = scene.decide(|_, plan| plan.before.objects.keys().map(ObjectKey::path).collect());
    assert_eq!(left, ["n", "n/p", "n/gone", "n/s", "n/unknown", "n/old"]);
}

#[test]
fn kinds_that_only_a_configuration_knew_go_by_what_their_objects_say() {
    let there = ["Secret n/s = 1", "FooClusterIdentity n/brought = 1 applied", "FooClusterIdentity n/named = 1"];
    let inventory = ["Secret n/s", "FooClusterIdentity n/brought", "FooClusterIdentity n/named"];
    Scene::new(&["Secret n/s"], &inventory, &there).check(&[
        "send Secret n/s",
        "withdraw FooClusterIdentity n/brought",
        "give up FooClusterIdentity n/named (NotBrought)",
    ]);
}

#[test]
fn what_a_kind_is_called_is_noted_where_only_the_configuration_knows_it() {
    let mut scene = Scene::new(
        &["FooClusterIdentity foo", "AWSClusterStaticIdentity aws"],
        &[],
        &["FooClusterIdentity foo = -", "AWSClusterStaticIdentity aws = -"],
    );
    let called =
        |scene: &Scene, kind: &str| scene.decide(|_, plan| plan.before.kinds.get(&GroupKind::new(CAPI, kind)).cloned());
    assert_eq!(called(&scene, "FooClusterIdentity"), Some(Some(String::from("fooclusteridentitys"))));
    assert_eq!(called(&scene, "AWSClusterStaticIdentity"), Some(None));
    // It is not forgotten while the kind is not served.
    scene.inventory = scene.decide(|_, plan| plan.before.clone());
    scene.lacks = Vec::from(["FooClusterIdentity"]);
    assert_eq!(called(&scene, "FooClusterIdentity"), Some(Some(String::from("fooclusteridentitys"))));
}

#[test]
fn what_another_bundle_brought_is_left() {
    let there = ["Secret n/s = 1 another's", "Secret n/t = 1 applied", "Secret n/u = -"];
    let scene = Scene::new(&["Secret n/s", "Secret n/t", "Secret n/u"], &["Secret n/s"], &there);
    scene.check(&["send Secret n/t, Secret n/u", "another's Secret n/s"]);
}

#[test]
fn a_cluster_is_nobodys_before_a_bundle_is_applied_to_it() {
    let named = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|name| String::from(*name)).collect() };
    let check = |there: &str, names: &[&str], beginning: Beginning, expect: Option<Misplaced>| {
        let scene = Scene::new(&["Secret n/s"], &[], &[there]);
        let map = names.iter().map(|name| format!("{name}: ''")).collect::<Vec<_>>().join(", ");
        let named = super::whose::named(&node(&format!("{{data: {{{map}}}}}")));
        let found = scene.decide(|bundle, _| misplaced(bundle, &named, &scene.live, beginning));
        assert_eq!(found, expect, "{there}, {names:?}");
    };
    let (plain, shares) = (Beginning::default(), Beginning { shares: true, anew: false });
    let secret = key("Secret n/s");
    check("Secret n/s = -", &[], plain, None);
    check("Secret n/s = 1", &["acme.eu"], plain, None);
    for others in [&["acme.us"][..], &["other.eu", "acme.eu"]] {
        let named = named(others.get(..1).unwrap());
        check("Secret n/s = -", others, plain, Some(Misplaced::Others(named)));
        check("Secret n/s = -", others, shares, None);
    }
    let of_another = Misplaced::Object(secret.clone(), String::from("acme.us"));
    check("Secret n/s = 1 another's", &[], plain, Some(of_another));
    check("Secret n/s = 1 another's", &[], shares, None);
    for beginning in [plain, shares] {
        check("Secret n/s = 1 applied", &[], beginning, Some(Misplaced::Elsewhere(secret.clone())));
        check("Secret n/s = 1 applied", &[], Beginning { anew: true, ..beginning }, None);
    }
    // Each bundle adds its own name, and no other.
    let own = scene_text();
    assert_eq!(own.at(&["data"]).map(|data| data.entries().len()), Some(1));
    assert_eq!(
        (own.str_at(&["data", "acme.eu"]), own.str_at(&["metadata", "name"])),
        (Some(""), Some("pouch.bundles"))
    );
}

fn scene_text() -> Node {
    Scene::new(&["Secret n/s"], &[], &[]).decide(|bundle, _| node(&emit_own(bundle, &"kcm-system".into())))
}

#[test]
fn what_was_never_sent_does_not_go() {
    // An object of another hand may have the label too: those that Flux applies of the same bundle have it.
    let inventory = ["Secret n/s@1", "Secret n/refused!", "Secret n/killed!", "Secret n/both", "Secret n/brought"];
    let there = [
        "Secret n/s = 1",
        "Secret n/refused = 1",
        "Secret n/killed = 1 applied",
        "Secret n/both = 1 applied another's",
        "Secret n/brought = 1",
    ];
    let mut scene = Scene::new(&["Secret n/s"], &inventory, &there);
    scene.budget = GENEROUS;
    scene.check(&[
        "same Secret n/s",
        "withdraw Secret n/brought, Secret n/killed",
        "give up Secret n/both (OfAnother), Secret n/refused (NotBrought)",
    ]);
    let taken = |inventory: &str, there: &str| {
        let scene = Scene::new(&["Secret n/s"], &[inventory], &[there]);
        let Some(Live::Here(meta)) = scene.live.values().next() else { panic!("{there}") };
        scene.decide(|bundle, _| is_for_taking(bundle, &scene.inventory, &key("Secret n/s"), meta))
    };
    for (inventory, there, expect) in [
        ("Secret n/s", "Secret n/s = 1", true),
        ("Secret n/s", "Secret n/s = 1 theirs", false),
        ("Secret n/s", "Secret n/s = 1 another's", false),
        ("Secret n/s!", "Secret n/s = 1", false),
        ("Secret n/s!", "Secret n/s = 1 applied", true),
        ("Secret n/t", "Secret n/s = 1", false),
    ] {
        assert_eq!(taken(inventory, there), expect, "{inventory}, {there}");
    }
}

#[test]
fn what_may_be_there_unseen_is_not_forgotten() {
    let inventory = [
        "AWSClusterStaticIdentity unserved",
        "VSphereClusterIdentity unread",
        "AzureClusterIdentity n/unlabelled",
        "Secret n/s",
        "Secret n/unread",
    ];
    let there = [
        "ConfigMap n/c = -",
        "VSphereClusterIdentity unread = ?",
        "AzureClusterIdentity n/unlabelled = 1 theirs",
        "Secret n/s = 1",
        "Secret n/unread = ?",
    ];
    let mut scene = Scene::new(&["ConfigMap n/c"], &inventory, &there);
    scene.lacks = Vec::from(["AWSClusterStaticIdentity"]);
    scene.budget.most = 0;
    let paths = |keys: &mut dyn Iterator<Item = &ObjectKey>| -> Vec<String> { keys.map(ObjectKey::path).collect() };
    scene.decide(|_, plan| {
        assert_eq!(paths(&mut plan.staying()), ["n/unlabelled", "unserved", "unread"]);
        let left = ["n/c", "n/s", "n/unread", "unserved", "n/unlabelled", "unread"];
        assert_eq!(paths(&mut plan.before.objects.keys()), left);
    });
    scene.undefined = scene.lacks.clone();
    scene.decide(|_, plan| assert_eq!(paths(&mut plan.staying()), ["n/unlabelled", "unread"]));
}

#[test]
fn more_than_the_budget_is_held_until_it_is_accepted() {
    let check = |kept: usize, gone: usize, held: bool| {
        let names: Vec<String> = (0..kept + gone).map(|n| format!("Secret n/s{n:03}")).collect();
        let bundle: Vec<&str> = names.iter().take(kept).map(String::as_str).collect();
        let there: Vec<String> = names.iter().map(|name| format!("{name} = 1")).collect();
        let inventory: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut scene = Scene::new(&bundle, &inventory, &there.iter().map(String::as_str).collect::<Vec<_>>());
        let hold = scene.decide(|_, plan| plan.held.clone());
        assert_eq!(hold.is_some(), held, "{gone} of {}", kept + gone);
        let Some(hold) = hold else { return };
        let wanted = hold.lifted_by.unwrap();
        assert!(hold.finding.help.contains(&format!("--accept-deletions {wanted}.")));
        scene.accepted.insert(wanted.digest);
        assert!(scene.decide(|_, plan| plan.held.is_none()));
        // It fits this set alone.
        scene.live.values_mut().rev().take(1).for_each(|live| *live = Live::Absent);
        let with = scene.decide(|_, plan| plan.held.is_some());
        scene.accepted.clear();
        assert_eq!(scene.decide(|_, plan| plan.held.is_some()), with);
    };
    for (kept, gone, held) in
        [(1, 1, false), (1, 2, true), (20, 5, false), (19, 5, true), (90, 10, false), (90, 11, true), (0, 1, true)]
    {
        check(kept, gone, held);
    }
}

#[test]
fn what_is_going_already_is_not_counted() {
    let names: Vec<String> = (0..9).map(|n| format!("Secret n/s{n}")).collect();
    let there: Vec<String> = names.iter().map(|name| format!("{name} = 1 going")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let there: Vec<&str> = there.iter().map(String::as_str).collect();
    let scene = Scene::new(&[], &names, &there);
    assert!(scene.decide(|_, plan| plan.held.is_none() && plan.goners.len() == 9));
}

#[test]
fn what_a_failed_identity_may_point_to_stays() {
    let inventory = ["Secret n/old", "Secret n/other", "AzureClusterIdentity n/gone", "ConfigMap n/c"];
    let there = ["Secret n/old = 1", "Secret n/other = 1", "AzureClusterIdentity n/gone = 1", "ConfigMap n/c = 1"];
    let mut scene = Scene::new(&["ConfigMap n/c"], &inventory, &there);
    scene.budget = GENEROUS;
    let go = |pointers: &Pointers| -> Vec<String> {
        scene.decide(|_, plan| {
            let goners = plan.goners.iter().filter(|goner| may_go(plan, goner, pointers, &BTreeSet::new()));
            goners.map(|goner| goner.key.path()).collect()
        })
    };
    let mut pointers = Pointers::default();
    assert_eq!(go(&pointers), ["n/gone", "n/old", "n/other"]);
    let identity = |namespace: &str| {
        let spec = format!("clientSecret: {{name: old, namespace: '{namespace}'}}, allowedNamespaces: {{list: [n]}}");
        node(&format!("{{spec: {{{spec}}}, status: {{s: other}}}}"))
    };
    // Of another namespace, it may point into one that it names; nobody keeps what is another's by its name alone.
    pointers.live(&key("AzureClusterIdentity m/a"), &identity("m"));
    assert_eq!(go(&pointers), ["n/gone", "n/old", "n/other"]);
    for (owner, namespace) in [("n/a", "m"), ("m/a", "n"), ("a", "m")] {
        let mut pointers = pointers.clone();
        pointers.live(&key(&format!("AzureClusterIdentity {owner}")), &identity(namespace));
        assert_eq!(go(&pointers), ["n/gone", "n/other"], "{owner}, {namespace}");
    }
    pointers.anything();
    assert!(go(&pointers).is_empty());
}

#[test]
fn an_identity_waits_for_what_it_points_to() {
    let check = |objects: &[&str], failed: &str, expect: &[Option<&str>]| {
        let object = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
        let there: Vec<String> = objects.iter().map(|line| format!("{} = -", object(line))).collect();
        let scene = Scene::new(objects, &[], &there.iter().map(String::as_str).collect::<Vec<_>>());
        scene.decide(|bundle, plan| {
            let broken = Broken::of(bundle, &BTreeSet::from([key(failed)]));
            let identities = plan.send.last().unwrap();
            let waits: Vec<Option<String>> =
                identities.iter().map(|sending| sending.points_to(bundle, &broken).map(ObjectKey::path)).collect();
            assert_eq!(waits.iter().map(Option::as_deref).collect::<Vec<_>>(), expect, "{objects:?}");
        });
    };
    check(
        &["Secret n/s", "AzureClusterIdentity n/a -> s", "AzureClusterIdentity n/b -> t"],
        "Secret n/s",
        &[Some("n/s"), None],
    );
    // Another tenant's Secret of that name is no reason to wait.
    let objects = [
        "Secret n/s for a",
        "Secret m/s for b,c",
        "AzureClusterIdentity n/a for a -> s",
        "AzureClusterIdentity n/b for b -> s",
        "AzureClusterIdentity n/c -> s",
    ];
    check(&objects, "Secret m/s", &[None, Some("m/s"), Some("m/s")]);
    check(&objects, "Secret n/s", &[Some("n/s"), None, Some("n/s")]);
}

#[test]
fn the_inventory_afterwards_is_what_happened() {
    let objects = ["Secret n/sent", "Secret n/failed", "Secret n/same"];
    let inventory = ["Secret n/failed@3", "Secret n/same@7", "Secret n/gone@1", "Secret n/left@1"];
    let there =
        ["Secret n/sent = -", "Secret n/failed = 4", "Secret n/same = 7", "Secret n/gone = 1", "Secret n/left = 1"];
    let mut scene = Scene::new(&objects, &inventory, &there);
    // The bundle is from a folder, and the one before it was from a commit.
    scene.inventory.revision = Some(String::from(COMMIT));
    scene.decide(|bundle, plan| {
        let before: Vec<String> = plan.before.objects.keys().map(ObjectKey::path).collect();
        assert_eq!(before, ["n/failed", "n/gone", "n/left", "n/same", "n/sent"]);
        let sent = BTreeMap::from([(key("Secret n/sent"), String::from("9"))]);
        let after = after(bundle, plan, &sent, &BTreeSet::from([key("Secret n/gone")]), &BTreeSet::new());
        let lines: Vec<(String, Option<&str>)> =
            after.objects.iter().map(|(key, brought)| (key.path(), brought.version.as_deref())).collect();
        let expect = [("n/failed", None), ("n/left", Some("1")), ("n/same", Some("7")), ("n/sent", Some("9"))];
        assert_eq!(lines, expect.map(|(path, version)| (String::from(path), version)));
        assert_eq!((after.bundle.as_str(), after.revision.as_deref()), ("d1", Some(COMMIT)));
    });
}

#[test]
fn an_inventory_comes_back_as_it_was_written() {
    let mut inventory = Inventory::empty(&"acme".into(), &"eu".into());
    let taken = Claimant::new("ResourceSyncRule", "n".into(), "r:a");
    let claimants = BTreeSet::from([Claimant::credential("n".into(), "c".into()), taken]);
    let known = Brought {
        mark: Some(mark("0123456789abcdef01")),
        version: Some(String::from("42")),
        needed: Needed::By(claimants),
    };
    for (object, brought) in [
        ("Secret n/a.b-c", known.clone()),
        ("ConfigMap n/c", Brought::default()),
        ("AWSClusterStaticIdentity aws", known),
    ] {
        inventory.objects.insert(key(object), brought);
    }
    inventory.objects.keys().for_each(|key| _ = inventory.kinds.insert(key.kind.clone(), None));
    // A kind that has no objects any more is written all the same: others may have written lines of it.
    inventory.kinds.insert(GroupKind::new(CAPI, "FooClusterIdentity"), Some(String::from("fooclusteridentities")));
    inventory.bundle = String::from("abc");
    inventory.revision = Some(String::from(COMMIT));
    let whose = Whose::of(&Claimant::credential("n".into(), "c".into()));
    inventory.held = [Whose::Anybody, Whose::Group("pull".into()), whose].into();
    let text = inventory.emit(&"kcm-system".into(), Some("7"));
    let read = |text: &str| Inventory::read(&node(text), &"acme".into(), &"eu".into());
    assert_eq!(read(&text).as_ref(), Ok(&inventory));
    let found = node(&text);
    let at = |path: &[&str]| found.str_at(path).unwrap_or_default().to_string();
    assert_eq!(at(&["metadata", "name"]), name(&"acme".into(), &"eu".into()).as_str());
    assert_eq!(
        (at(&["metadata", "namespace"]), at(&["metadata", "resourceVersion"])),
        ("kcm-system".into(), "7".into())
    );
    assert_eq!(at(&["data", "objects.Secret"]), "n/a.b-c 0123456789abcdef 42\n");
    assert_eq!(found.str_at(&["data", &format!("objects.FooClusterIdentity.{CAPI}")]), Some(""));
    for (from, to, expect) in [
        ("fleet: acme", "fleet: other", Unusable::Foreign),
        ("directory: eu", "directory: us", Unusable::Foreign),
        ("/aws ", "aws ", Unusable::Malformed),
        (" 42", " 42 43", Unusable::Malformed),
        ("n/c - -", "n/c -", Unusable::Malformed),
        ("n/c - -", "N/c - -", Unusable::Malformed),
        ("n/c - -", "n/../c - -", Unusable::Malformed),
        ("n/c - -", "n/c%2f - -", Unusable::Malformed),
        ("n/c - -", "n/.. - -", Unusable::Malformed),
        ("n/c - -", "n/C - -", Unusable::Malformed),
        ("Credential n\n", "Credential n n\n", Unusable::Malformed),
        ("    pull\n", "    p/ull\n", Unusable::Malformed),
        ("Credential n c", "Credential n", Unusable::Malformed),
        ("Credential n c", "Credential N c", Unusable::Malformed),
        ("    0,1\n", "    0,2\n", Unusable::Malformed),
        ("fooclusteridentities", "foo/../bar", Unusable::Malformed),
    ] {
        assert!(text.contains(from), "{from}");
        assert_eq!(read(&text.replace(from, to)), Err(expect), "{to}");
    }
    // What is no commit id names no commit, and what is one in another form does.
    for (written, expect) in [
        ("main", None),
        ("HEAD", None),
        ("c0ffee", None),
        ("c0ffee000000000000000000000000000000main", None),
        ("C0FFEE0000000000000000000000000000C0FFEE", Some("C0FFEE0000000000000000000000000000C0FFEE")),
    ] {
        let found = read(&text.replace(COMMIT, written)).unwrap();
        assert_eq!(found.revision.as_deref(), expect, "{written}");
    }
}

#[test]
fn names_of_inventories_are_those_of_one_bundle() {
    assert_ne!(name(&"a-b".into(), &"c".into()), name(&"a".into(), &"b-c".into()));
}

#[test]
fn a_refusal_names_fields_that_the_manifest_has() {
    let text = "{type: t, data: {key: c2VjcmV0}, spec: {list: [{name: x}], map: {a: b}}}";
    let check = |named: &str, expect: &[&str]| {
        let found: Vec<String> = fields_named(text, &[String::from(named)]).into_iter().collect();
        assert_eq!(found, expect, "{named}");
    };
    check("type", &["type"]);
    check("data[key]", &["data.key"]);
    check("data.c2VjcmV0", &["data"]);
    check("c2VjcmV0", &[]);
    check("spec.list[0].name", &["spec.list.name"]);
    check("spec.map.a.b", &["spec.map.a"]);
    check("", &[]);
}

#[test]
fn what_servers_note_makes_no_difference() {
    let one = "{kind: K, metadata: {name: n, resourceVersion: '1', labels: {a: b}}, data: {k: v}}";
    let check = |other: &str, expect: bool| assert_eq!(is_alike(&node(one), &node(other)), expect, "{other}");
    check(
        "{kind: K, metadata: {name: n, resourceVersion: '2', managedFields: [], labels: {a: b}}, data: {k: v}}",
        true,
    );
    check("{kind: K, metadata: {name: n, labels: {a: c}}, data: {k: v}}", false);
    check("{kind: K, metadata: {name: n, labels: {a: b}, annotations: {x: y}}, data: {k: v}}", false);
    check("{kind: K, metadata: {name: n, labels: {a: b}}, data: {k: w}}", false);
    check("{kind: K, metadata: {name: n, labels: {a: b}}}", false);
}
