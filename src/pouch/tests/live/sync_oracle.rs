//! ResourceSyncRules as the registry's real controller follows them, and as pouch does.
//!
//! Both read one source: what the controller copies to its cluster must be what pouch publishes to a region, but for the
//! deviations that docs/sync-rules.md names, each of which must be seen here.

mod deviations;
mod made;
mod mesh;
mod takeover;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use pouch_core::node::Interner;
use pouch_core::yaml::read::{Document, read};
use serde_json::{Map, Value, json};

use self::deviations::{Deviation, deviations};
use self::made::{RULES, STEPS, World, features, world};
use self::mesh::{DEFINED, Key, Mesh, OWN, OWNER, create};
use crate::support::fleet::{EU, Fleet};
use crate::support::nodes::as_json;
use crate::support::root;

/// For how long nothing is written once all is done. The controller tries again within seconds what failed.
const QUIET: Duration = Duration::from_secs(8);

/// What rules and objects are made from.
const SEED: u64 = 0x5eed_0018_0002;

/// What the controller writes onto its copies beside the mutations of the rule, and pouch does not.
const OF_CONTROLLER: [(&str, &str); 5] = [
    ("labels", OWNER),
    ("annotations", OWNER),
    ("labels", "cluster-registry.k8s.cisco.com/original-name"),
    ("labels", "cluster-registry.k8s.cisco.com/original-namespace"),
    ("annotations", "cluster-registry.k8s.cisco.com/original-group-version-kind"),
];
/// A copy of the whole object, its values included, which the library of the controller writes onto what it writes.
const LAST_APPLIED: &str = "banzaicloud.com/last-applied";
/// What pouch writes onto its copies, and the controller does not.
const OF_POUCH: [(&str, &str); 3] = [
    ("labels", "app.kubernetes.io/managed-by"),
    ("labels", "k0rdent.mirantis.com/managed"),
    ("annotations", "cluster-registry.k8s.cisco.com/resource-sync-disabled"),
];

/// A field of `spec` that is null: the controller copies it, and pouch leaves it out, because a CRD may refuse it.
const NULL: &str = "null";

/// What objects of the source have and no rule touches: the controller copies it, and pouch does not unless `keep` says so.
const OF_NOBODY: [(&str, &str); 2] =
    [("labels", "loose.example.com/label"), ("annotations", "loose.example.com/annotation")];

/// A fleet whose sources are the rules of the sink in a folder and the source, and whose region is the sink.
fn fleet(mesh: &Mesh, rules: &[Value], more: &str) -> Fleet {
    let grant = |rule: &Value| {
        let name = rule["metadata"]["name"].as_str().unwrap();
        format!("  - {{from: {{syncRule: '{name}'}}, regions: [eu]}}\n")
    };
    let published = DEFINED.iter().filter(|(kind, _)| *kind != "Trinket");
    let kinds: Vec<String> =
        published.map(|(kind, scope)| format!("{{group: {OWN}, kind: {kind}, scope: {scope}}}")).collect();
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: oracle}}\nsources:\n\
         \x20 - {{name: rules, directory: {{path: rules}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n\
         \x20 - {{name: source, cluster: {{kubeconfig: kubeconfig, context: admin}}, provides: {{namespaces: ['*'], clusterScoped: true}}}}\n\
         regions:\n  eu: {{recipients: [{EU}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, syncRules: ['*']}}\n\
         companions: none\nsystemNamespace: default\nreuseKey: {{file: reuse.key}}\nkinds: [{kinds}]\n\
         keepMetadata: {{labels: [dev, rule, tell, tier, env, app.example.com/*], annotations: [stage, example.com/*]}}\n\
         limits: {{deletions: {{percent: 100, most: 1000, keep: 0}}}}\n\
         grants:\n{grants}{more}",
        kinds = kinds.join(", "),
        grants = rules.iter().map(grant).collect::<String>(),
    ));
    mesh.source.kubeconfig(&fleet.path("kubeconfig"), "admin");
    for rule in rules {
        fleet.write(&format!("rules/{}.yaml", rule["metadata"]["name"].as_str().unwrap()), rule.to_string());
    }
    let identity = std::fs::read_to_string(root().join("testdata/quickstart/keys/eu-west.txt")).unwrap();
    fleet.private("eu.agekey", identity);
    fleet
}

/// What the region is given, in clear.
fn unpacked(fleet: &Fleet) -> String {
    fleet.run(&["unpack", "bundles", "-f", "pouch.yaml", "--region=eu", "--identity=eu.agekey"]).ends(0).stdout
}

/// The same by kind and place.
fn published(fleet: &Fleet) -> BTreeMap<Key, Value> {
    let text = unpacked(fleet);
    let documents = text.split("---\n").filter(|text| !text.is_empty());
    let objects = documents.map(|text| as_json(&read(&Document::whole(text), &mut Interner::new()).unwrap()));
    objects.map(|object| (Key::of(&object), object)).filter(|(Key(kind, ..), _)| kind != "Namespace").collect()
}

/// Numbers that JSON has in one form and in another one are the same.
fn plain(value: &Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if !number.is_i64() && !number.is_u64() => json!(format!("{float:e}")),
            _ => value.clone(),
        },
        Value::Array(items) => items.iter().map(plain).collect(),
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        _ => value.clone(),
    }
}

/// Takes pairs out of labels or annotations, and returns those that were there.
fn without<'p>(meta: &mut Value, pairs: &[(&'p str, &'p str)]) -> BTreeSet<&'p str> {
    let mut there = BTreeSet::new();
    for (field, key) in pairs {
        if meta[field].as_object_mut().and_then(|pairs| pairs.remove(*key)).is_some() {
            there.insert(*key);
        }
    }
    there
}

/// What must be the same of a copy of the controller as of one that pouch publishes: all but what pouch never publishes.
fn of_theirs(copy: &Value, seen: &mut BTreeSet<&'static str>) -> Value {
    let mut copy = copy.clone();
    let own = [&OF_CONTROLLER[..], &[("annotations", LAST_APPLIED)], &OF_NOBODY].concat();
    seen.extend(without(&mut copy["metadata"], &own));
    // Of a declared kind pouch publishes `spec`.
    for field in ["status", "extra"] {
        if copy.as_object_mut().unwrap().remove(field).is_some() {
            seen.insert(field);
        }
    }
    if copy.get_mut("spec").is_some_and(|spec| leave_nulls_out(spec) > 0) {
        seen.insert(NULL);
    }
    content(&copy)
}

/// Takes null fields out of maps, at any depth, and returns how many there were.
fn leave_nulls_out(value: &mut Value) -> usize {
    match value {
        Value::Object(entries) => {
            let count = entries.len();
            entries.retain(|_, value| !value.is_null());
            count - entries.len() + entries.values_mut().map(leave_nulls_out).sum::<usize>()
        }
        Value::Array(items) => items.iter_mut().map(leave_nulls_out).sum(),
        _ => 0,
    }
}

/// The same of what pouch publishes: all of it but pouch's own marks, each of which has to be there.
#[track_caller]
fn of_ours(object: &Value, seen: &mut BTreeSet<&'static str>) -> Value {
    let mut object = object.clone();
    let own = without(&mut object["metadata"], &OF_POUCH);
    assert_eq!(own.len(), OF_POUCH.len(), "{object}: only {own:?}");
    seen.extend(own);
    content(&object)
}

/// What an object holds, but for which version the API answers in, which is its own matter.
fn content(object: &Value) -> Value {
    let meta = &object["metadata"];
    let mut fields: Map<String, Value> = object.as_object().unwrap().clone();
    fields.retain(|field, _| !["apiVersion", "metadata"].contains(&field.as_str()));
    let pairs = |field: &str| match &meta[field] {
        Value::Null => json!({}),
        pairs => pairs.clone(),
    };
    fields.insert(String::from("labels"), pairs("labels"));
    fields.insert(String::from("annotations"), pairs("annotations"));
    plain(&Value::Object(fields))
}

/// The versions in which an object of the API was written.
fn written_in(object: &Value) -> BTreeSet<&str> {
    let entries = object["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["apiVersion"].as_str()).collect()
}

/// The controller and pouch take the same objects by the same rules, and make the same of them.
#[test]
fn the_registrys_controller_and_pouch_make_the_same_copies() {
    let Some(mut mesh) = Mesh::start() else { return };
    let world = world(SEED);
    let deviations = deviations();
    let namespace = |name: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
    let names = world.namespaces.iter().map(String::as_str).chain(deviations::NAMESPACES);
    let namespaces: Vec<Value> = names.map(namespace).collect();
    for server in [&mesh.source, &mesh.sink] {
        create(server, &namespaces);
    }
    create(&mesh.source, &features());
    create(&mesh.source, &world.objects);
    let odd: Vec<Value> = deviations.iter().flat_map(|it| it.objects.clone()).collect();
    create(&mesh.source, &odd);
    let status = [
        "patch",
        "widget",
        "-n",
        "dev",
        "dev-status",
        "--subresource=status",
        "--type=merge",
        "-p",
        r#"{"status":{"a":"b"}}"#,
    ];
    mesh.source.kubectl_prints(status, "");
    let rules: Vec<Value> = world.rules.iter().chain(deviations.iter().map(|it| &it.rule)).cloned().collect();
    create(&mesh.sink, &rules);
    mesh.control();

    // While the controller takes its time for each rule, pouch renders.
    let to = format!("{{namespace: dev-other, group: {OWN}, kind: Widget, name: dev-granted}}");
    let granted = format!("  - {{from: {{syncRule: dev-granted}}, to: {to}, regions: [eu]}}\n");
    let fleet = fleet(&mesh, &rules, &granted);
    let ran = fleet.render(&["-v"]).ends(3);
    let ours = published(&fleet);
    let copies = settled(&mesh, &world, &deviations);

    let (mut seen, mut wrong) = (BTreeSet::new(), Vec::new());
    for key in copies.keys().chain(ours.keys()).filter(|key| !is_odd(key)).collect::<BTreeSet<_>>() {
        match (copies.get(key), ours.get(key)) {
            (Some(copy), Some(ours)) => {
                if written_in(copy) != BTreeSet::from([ours["apiVersion"].as_str().unwrap()]) {
                    wrong.push(format!("{key:?}: written in {:?}, not in {}", written_in(copy), ours["apiVersion"]));
                }
                let (theirs, ours) = (of_theirs(copy, &mut seen), of_ours(ours, &mut seen));
                if theirs != ours {
                    wrong.push(format!("{key:?}:\n  theirs {theirs}\n  ours   {ours}"));
                }
            }
            (Some(_), None) => wrong.push(format!("{key:?} is copied, and not published")),
            (None, _) => wrong.push(format!("{key:?} is published, and not copied")),
        }
    }
    let same = copies.keys().filter(|key| !is_odd(key)).count();
    for deviation in &deviations {
        wrong.extend(deviation.wrong((&copies, &ours), &ran.stderr, &mut seen));
    }
    // Where two rules make different things of one object, no end of it is in sight.
    let torn = std::cell::RefCell::new(Vec::new());
    mesh.wait("two rules write one copy in turn", || {
        let copy = mesh.get("/apis/oracle.example.com/v1/namespaces/dev/widgets/dev-torn").unwrap();
        let env = copy["metadata"]["labels"]["env"].clone();
        let mut torn = torn.borrow_mut();
        if torn.last() != Some(&env) {
            torn.push(env);
        }
        torn.len() > 3
    });
    assert!(wrong.is_empty(), "{} of them:\n{}\n", wrong.len(), wrong.join("\n"));
    // Each difference that is left out of the comparison was there, and what was compared is worth it.
    let left_out = OF_CONTROLLER.iter().chain(&OF_POUCH).chain(&OF_NOBODY).map(|(_, key)| *key);
    let missing: Vec<&str> =
        left_out.chain([LAST_APPLIED, NULL, "status", "extra"]).filter(|key| !seen.contains(key)).collect();
    assert_eq!(missing, [""; 0]);
    let refused = ran.stderr.matches("error[invalid-object]: spec.rules[").count();
    assert!(same >= 250 && refused >= 20 && RULES * (STEPS - 1) >= 200, "{same} copies, {refused} refused");
}

/// Whether a copy is of a rule that has something of its own to show.
fn is_odd(key: &Key) -> bool {
    key.2.starts_with("dev-")
}

/// The copies, once the controller has made all that it makes: none is new or written again for a while, but for what is
/// never done.
fn settled(mesh: &Mesh, world: &World, deviations: &[Deviation]) -> BTreeMap<Key, Value> {
    let tell: Vec<Key> =
        world.tell.iter().chain(deviations.iter().filter_map(|it| it.tell.as_ref())).map(Key::of).collect();
    mesh.wait("every rule is followed", || {
        let copies = mesh.copies();
        let count = |name: &str| copies.keys().filter(|key| key.2 == name).count();
        tell.iter().all(|key| copies.contains_key(key)) && deviations.iter().all(|it| count(it.name) >= it.copied)
    });
    mesh.wait("the rule with an invalid selector is seen", || mesh.said(deviations::INVALID));
    let last = std::cell::RefCell::new((BTreeMap::new(), Instant::now()));
    mesh.wait("nothing is written any more", || {
        let copies = mesh.copies();
        let written = |(key, copy): (&Key, &Value)| (key.clone(), copy["metadata"]["resourceVersion"].clone());
        let now: BTreeMap<Key, Value> =
            copies.iter().filter(|(key, _)| key.2 != deviations::TORN).map(written).collect();
        let mut last = last.borrow_mut();
        if last.0 != now {
            *last = (now, Instant::now());
        }
        last.1.elapsed() >= QUIET
    });
    mesh.copies()
}

impl Deviation {
    /// What is not as it should be.
    fn wrong(
        &self,
        (copies, ours): (&BTreeMap<Key, Value>, &BTreeMap<Key, Value>),
        told: &str,
        seen: &mut BTreeSet<&'static str>,
    ) -> Vec<String> {
        let of = |all: &BTreeMap<Key, Value>| -> Vec<Value> {
            all.iter().filter(|(key, _)| key.2 == self.name).map(|(_, object)| object.clone()).collect()
        };
        let (theirs, ours) = (of(copies), of(ours));
        let mut wrong = Vec::new();
        if (theirs.len(), ours.len()) != (self.copied, self.published) {
            wrong.push(format!("{}: {} copied, {} published", self.name, theirs.len(), ours.len()));
        }
        for (theirs, ours) in theirs.iter().zip(&ours) {
            let (theirs, ours) = (of_theirs(theirs, seen), of_ours(ours, seen));
            if (theirs != ours) != self.differs {
                wrong.push(format!("{}:\n  theirs {theirs}\n  ours   {ours}", self.name));
            }
        }
        // The rule is named by its file, or as a claimant.
        let names = [format!("rules/{}.yaml", self.name), format!("/{}:", self.name)];
        let about: Vec<&str> =
            told.split("\n\n").filter(|block| names.iter().any(|name| block.contains(name))).collect();
        let is_told = match self.told {
            "" => about.is_empty(),
            code => about.iter().any(|block| block.contains(&format!("[{code}]"))),
        };
        if !is_told {
            wrong.push(format!("{}: not told {:?} but {about:?}", self.name, self.told));
        }
        wrong
    }
}
