//! Tests of `manifest`.

extern crate std;

use super::super::path;
use super::read::{of_value, parse_any};
use super::*;
use crate::finding::Code;
use crate::hash::sha256_hex;
use crate::layout::path::BundlePath;
use crate::name::step::Step;
use crate::name::{Claimant, Directory, Entry, GroupKind, MadeBy, Namespace, ObjectKey, ReadFrom, TakenObject};
use crate::node::Node;
use crate::recipient::Recipient;
use crate::testing::{node, yaml};
use crate::yaml::written::tests::{changes, near};
use crate::yaml::written::{self, Value as Written};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::ToString as _;
use alloc::sync::Arc;
use proptest::prelude::*;
use serde_json::{Value, json};

const ONE: &str = "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f";
const TWO: &str = "age1henwn645drkd3fa34t27t2w2x0nsgw3w4h62gmg5x5xflyjpy38s5cncph";

fn recipient(text: &str) -> Recipient {
    Recipient::parse(text).expect("a recipient")
}

fn sample() -> Manifest {
    let directory = Directory::from("eu-west");
    let object = |key: ObjectKey, from, state, needed_by| ManifestObject {
        guest: None,
        read_at: key.kind.is_secret().then(|| ReadAt { source: "platform".into(), path: "aws.yaml".into() }),
        path: path::of_object(&directory, &key),
        sha256: sha256_hex(key.to_string().as_bytes()),
        key,
        from,
        state,
        recipients: vec![],
        needed_by,
    };
    let by = |name: &str, through| NeededBy { by: Claimant::credential("team-a".into(), name.into()), through };
    let field = |interface: Option<&str>, field: &str| Step::Field {
        interface: interface.map(Into::into),
        field: field.into(),
    };
    let identity = GroupKind::new("infrastructure.cluster.x-k8s.io", "AWSClusterStaticIdentity");
    Manifest {
        texts: [
            (Taker::Rule("pull".into()), "digest-of-a-rule".into()),
            (Taker::Group("web".into()), "digest-of-a-group".into()),
        ]
        .into(),
        rests_on: Some(BTreeMap::from([
            (ObjectKey::namespace(&"team-a".into()), ReadAt { source: "platform".into(), path: "b: c".into() }),
            (ObjectKey::secret("a".into(), "b".into()), ReadAt { source: "other".into(), path: "d.yaml".into() }),
        ])),
        cluster: None,
        splits: crate::layout::Splits::default(),
        fleet: "acme".into(),
        recipients: vec![recipient(TWO), recipient(ONE)],
        sources: vec![SourceIdentity { name: "platform".into(), identity: "0f-uid".into() }],
        objects: vec![
            object(
                ObjectKey::new(identity, None, "aws".into()),
                Some(ReadFrom { namespace: None, name: "aws".into(), made: None }),
                ObjectState::Carried(Reason::Broken(Code::MissingReference)),
                vec![by("b", vec![]), by("a", vec![])],
            ),
            object(
                ObjectKey::secret("kcm-system".into(), "aws".into()),
                Some(ReadFrom { namespace: Some("kcm-system".into()), name: "aws".into(), made: None }),
                ObjectState::Current,
                vec![by("a", vec![field(Some("aws"), "spec.identityRef"), field(None, "spec.secretRef")])],
            ),
            object(ObjectKey::namespace(&"team-a".into()), None, ObjectState::Current, vec![by("a", vec![])]),
        ],
        files: ["regions/eu-west/kustomization.yaml", "flux/eu-west/core.yaml", "argocd/eu-west/application.yaml"]
            .map(|text| ManifestFile { path: BundlePath::parse(text).expect("a path"), sha256: sha256_hex(b"") })
            .to_vec(),
        directory,
    }
}

/// The manifest that a document is.
fn of(node: &Node) -> Result<Manifest, Unusable> {
    of_value(&Written::of(node))
}

/// What a manifest is read back as.
fn json_read(manifest: &Manifest) -> Value {
    yaml(&emit(manifest))
}

fn document() -> Value {
    json_read(&sample())
}

#[test]
fn every_code_stands_for_a_reason_and_comes_back() {
    for code in Code::ALL {
        assert_eq!(Reason::of(*code).code(), *code);
    }
}

#[test]
fn two_claimants_of_one_name_are_two_where_their_kinds_differ() {
    let mut manifest = sample();
    let cluster = Claimant::Cluster { namespace: "team-a".into(), name: "a".into() };
    let credential = Claimant::credential("team-a".into(), "a".into());
    manifest.objects[1].needed_by =
        [&cluster, &credential].map(|by| NeededBy { by: by.clone(), through: vec![] }).to_vec();
    let read = of(&node(&json_read(&manifest))).expect("a manifest");
    let names: Vec<&Claimant> = read
        .objects
        .iter()
        .filter(|object| object.key == manifest.objects[1].key)
        .flat_map(|object| object.needed_by.iter().map(|needed_by| &needed_by.by))
        .collect();
    assert_eq!(names, [&cluster, &credential]);
    assert_ne!(cluster.to_string(), credential.to_string());
}

#[test]
fn a_manifest_says_what_is_there_and_why() {
    let value = document();
    assert_eq!(value["apiVersion"], "pouch/v1alpha2");
    assert_eq!(value["metadata"], json!({"name": "eu-west"}));
    assert_eq!(value["recipients"], json!([{"key": ONE}, {"key": TWO}]));
    assert_eq!(value["sources"], json!([{"identity": "0f-uid", "name": "platform"}]));
    let paths: Vec<&str> =
        value["files"].as_array().expect("a list").iter().filter_map(|f| f["path"].as_str()).collect();
    assert_eq!(
        paths,
        ["argocd/eu-west/application.yaml", "flux/eu-west/core.yaml", "regions/eu-west/kustomization.yaml"]
    );
    assert_eq!(
        value["objects"][0],
        json!({
            "key": {"group": "", "kind": "Namespace", "name": "team-a"},
            "neededBy": [{"by": {"kind": "Credential", "name": "a", "namespace": "team-a"}, "through": []}],
            "path": "regions/eu-west/core/namespaces/team-a.yaml",
            "sha256": sha256_hex(b"Namespace team-a"),
            "state": "current",
        })
    );
    assert_eq!(
        value["objects"][1],
        json!({
            "from": {"name": "aws", "namespace": "kcm-system", "path": "aws.yaml", "source": "platform"},
            "key": {"group": "", "kind": "Secret", "name": "aws", "namespace": "kcm-system"},
            "neededBy": [{
                "by": {"kind": "Credential", "name": "a", "namespace": "team-a"},
                "through": [{"field": "spec.identityRef", "providerInterface": "aws"}, {"field": "spec.secretRef"}],
            }],
            "path": "regions/eu-west/core/secrets/kcm-system/aws.sops.yaml",
            "sha256": sha256_hex(b"Secret kcm-system/aws"),
            "state": "current",
        })
    );
    assert_eq!(
        (&value["objects"][2]["state"], &value["objects"][2]["reason"]),
        (&json!("carried"), &json!("missing-reference"))
    );
}

#[test]
fn what_is_written_is_read_back_sorted() {
    let read = of(&node(&document())).expect("a manifest");
    let mut expect = sample();
    expect.recipients.sort();
    expect.objects.sort_by(|a, b| a.key.cmp(&b.key));
    expect.objects.iter_mut().for_each(|object| object.needed_by.sort());
    expect.files.sort();
    assert_eq!(read, expect);
    assert_eq!(json_read(&read), document());
}

/// Each change makes the whole manifest unusable, and the message says where.
#[test]
fn nothing_else_is_believed() {
    let secret = "/objects/1";
    let cases: Vec<(&str, Value, &str)> = vec![
        ("/kind", json!("Fleet"), "apiVersion and kind"),
        ("/apiVersion", json!("v1"), "apiVersion and kind"),
        ("/apiVersion", json!(1), "apiVersion and kind"),
        ("/extra", json!(1), "unknown field \"extra\""),
        ("/metadata", json!({}), "metadata.name is missing"),
        ("/metadata", json!([]), "metadata is a list"),
        ("/metadata/name", json!("../x"), "no region's folder"),
        ("/metadata/name", json!("eu"), "path of Namespace team-a"),
        ("/metadata/labels", json!({}), "unknown field \"labels\""),
        ("/fleet", json!(1), "fleet is an integer"),
        ("/fleet", json!(null), "fleet is null"),
        ("/recipients", json!("x"), "recipients is not a list"),
        ("/recipients/0", json!(ONE), "recipients[0]: a recipient is text"),
        ("/recipients/0/key", json!("AGE-SECRET-KEY-1"), "recipients[0]: an entry is no recipient"),
        ("/recipients/0/name", json!(1), "recipients[0]: name is an integer"),
        ("/recipients", json!([{"key": TWO}, {"key": ONE}]), "recipients are not sorted"),
        ("/recipients", json!([{"key": ONE}, {"key": ONE}]), "recipients are not sorted"),
        ("/sources/0/identity", json!(null), "sources[0]: identity is null"),
        ("/sources/0/url", json!("x"), "sources[0]: a source has the unknown field"),
        ("/objects", json!({}), "objects is not a list"),
        ("/objects/1/key/name", json!("other"), "objects[1]: path of Secret kcm-system/other"),
        ("/objects/1/key/uid", json!("x"), "unknown field \"uid\""),
        ("/objects/1/key/namespace", json!(null), "key.namespace is null"),
        ("/objects/1/key", json!(null), "key is null"),
        ("/objects/1/from/source", json!(null), "objects[1]: from.source is null"),
        ("/objects/2/from/path", json!("x"), "objects[2]: from.source and from.path do not stand together"),
        ("/restsOn", json!({}), "restsOn is not a list"),
        ("/restsOn/0/kind", json!("Z"), "restsOn are not sorted"),
        ("/restsOn/0/kind", json!(1), "restsOn[0]: an entry.kind is an integer"),
        ("/restsOn/1/at", json!("x"), "restsOn[1]: an entry has the unknown field"),
        ("/restsOn/1/path", json!(null), "restsOn[1]: an entry.path is null"),
        ("/objects/1/path", json!("regions/eu-west/core/secrets/kcm-system/../../x"), "objects[1]: path of"),
        ("/objects/1/path", json!("regions/eu-east/core/secrets/kcm-system/aws.sops.yaml"), "objects[1]: path of"),
        ("/objects/1/sha256", json!("00"), "objects[1]: sha256"),
        ("/objects/1/sha256", json!(sha256_hex(b"").to_uppercase()), "objects[1]: sha256"),
        ("/objects/1/state", json!("stale"), "objects[1]: state"),
        ("/objects/1/state", json!("carried"), "objects[1]: state"),
        ("/objects/1/reason", json!("unread"), "objects[1]: state"),
        ("/objects/1/value", json!("x"), "objects[1]: an object has the unknown field"),
        ("/objects/1/from/kind", json!("Secret"), "objects[1]: from has the unknown field"),
        ("/objects/1/from", json!({"namespace": "a"}), "objects[1]: from.name is missing"),
        ("/objects/1/from", json!(null), "objects[1]: from is null"),
        ("/objects/1/neededBy/0/by/name", json!(1), "objects[1]: neededBy[0]: by.name is an integer"),
        ("/objects/1/neededBy/0/by/namespace", json!("a/b"), "by.namespace of a Credential is \"a/b\""),
        ("/objects/1/neededBy/0/by/namespace", json!(null), "by.namespace is null"),
        ("/objects/1/neededBy/0/by/x", json!("y"), "by has the unknown field \"x\""),
        (
            "/objects/1/neededBy/0/by",
            json!({"kind": "Credential", "rule": "a", "namespace": "a"}),
            "unknown field \"rule\"",
        ),
        ("/objects/1/neededBy/0/by", json!({"kind": "Machine", "count": 3}), "neither text, list nor map"),
        ("/objects/1/neededBy/0/by", json!("a"), "by.kind is missing"),
        ("/objects/1/neededBy/0/at", json!("a"), "at is not a map"),
        ("/objects/1/neededBy/0/through", json!("spec.secretRef"), "neededBy[0]: through is not a list"),
        ("/objects/1/neededBy/0/through/0", json!("spec.secretRef"), "through[0]: a step is text, not a map"),
        ("/objects/1/neededBy/0/through/0", json!({}), "through[0]: a step says not exactly one thing"),
        ("/objects/1/neededBy/0/through/0", json!({"rule": "a", "field": "b"}), "says not exactly one thing"),
        ("/objects/1/neededBy/0/through/0", json!({"accessRule": "kcm", "rule": "a"}), "says not exactly one thing"),
        ("/objects/1/neededBy/0/through/0", json!({"accessRule": 1}), "through[0]: accessRule is an integer"),
        ("/objects/1/from/template", json!(["a"]), "from.template is a list"),
        ("/objects/1/neededBy/0/through/0", json!({"rule": "a", "providerInterface": "b"}), "stands without a field"),
        ("/objects/1/neededBy/0/through/0", json!({"data": {"kind": "Secret"}}), "through[0]: data.group is missing"),
        ("/objects/1/neededBy/0/through/0", json!({"wormhole": 3}), "neither text, list nor map"),
        ("/objects/1/neededBy/0/through/0/field", json!(true), "neededBy[0]: through[0]: field is a boolean"),
        ("/files/0/path", json!("regions/eu-west/../x"), "files[0]: path is none"),
        ("/files/0/path", json!("/etc/passwd"), "files[0]: path is none"),
        ("/files/0/path", json!("argocd/eu/application.yaml"), "is no path of this region"),
        ("/files/0/path", json!("argocd/eu-west-2/application.yaml"), "is no path of this region"),
        ("/files/0/path", json!(".gitattributes"), "is no path of this region"),
        ("/files/2/path", json!("regions/eu-west/bundle.yaml"), "is something else"),
        ("/files/2/path", json!("regions/eu-west/core/secrets/kcm-system/aws.sops.yaml"), "is something else"),
        ("/files/1/path", json!("argocd/eu-west/application.yaml"), "files are not sorted"),
        ("/files/0/sha256", json!(1), "files[0]: sha256 is an integer"),
    ];
    assert!(document().pointer(secret).is_some());
    for (pointer, value, expect) in cases {
        let mut changed = document();
        let (parent, field) = pointer.rsplit_once('/').expect("a pointer");
        match changed.pointer_mut(parent).expect("a place") {
            Value::Array(items) => items[field.parse::<usize>().expect("an index")] = value,
            place => place[field] = value,
        }
        let message = of(&node(&changed)).expect_err(pointer).to_string();
        assert!(message.contains(expect), "{pointer}: {message}");
    }
    for (pointer, reordered) in [("/objects", [1, 0, 2]), ("/objects", [0, 0, 1]), ("/files", [2, 1, 0])] {
        let mut changed = document();
        let items = changed.pointer(pointer).expect("a list").clone();
        changed[pointer.trim_start_matches('/')] = reordered.iter().map(|at| items[*at].clone()).collect();
        assert!(of(&node(&changed)).is_err(), "{pointer} {reordered:?}");
    }
    for field in ["kind", "metadata", "fleet", "recipients", "sources", "objects", "files"] {
        let mut changed = document();
        changed.as_object_mut().expect("a map").remove(field);
        assert!(of(&node(&changed)).is_err(), "{field}");
    }
}

#[test]
fn a_newer_format_is_told_apart() {
    for (version, newer) in
        [("pouch/v1beta1", true), ("pouch/v2", true), ("pouch/v1alpha3", true), ("v1", false), ("other/v2", false)]
    {
        // What else a newer format says is unknown, so nothing of it is judged.
        let value = json!({"apiVersion": version, "kind": "Bundle", "novelty": []});
        let flaw = of(&node(&value)).expect_err(version);
        assert_eq!(matches!(&flaw, Unusable::Newer(found) if found == version), newer, "{flaw}");
    }
}

/// What another release writes of claimants, chains and reasons breaks no reader, and is written again.
#[test]
fn what_another_release_writes_is_opaque() {
    let mut changed = document();
    let entry =
        json!({"kind": "Entry", "group": "pull", "namespace": "team-a", "object": {"kind": "Secret", "name": "a"}});
    changed["objects"][1]["neededBy"][0]["by"] = entry.clone();
    changed["objects"][1]["neededBy"][0]["at"] = json!({"guest": "pull", "namespace": "team-a", "clusters": "0a"});
    changed["objects"][1]["neededBy"][0]["through"][1] = json!({"wormhole": {"to": "b"}});
    changed["objects"][2]["reason"] = json!("no-such-code");
    changed["recipients"][0]["name"] = json!("alice");
    let read = of(&node(&changed)).expect("a manifest");
    assert_eq!(read.recipients, [recipient(ONE), recipient(TWO)]);
    let needed_by = &read.objects[1].needed_by[0];
    assert_eq!((needed_by.by.kind(), needed_by.by.namespace().as_str()), ("Entry", "team-a"));
    assert_eq!(needed_by.through[1], Step::Opaque("wormhole:\n  to: b\n".into()));
    assert_eq!(
        (&read.objects[2].state, read.objects[2].state.reason()),
        (&ObjectState::Other("no-such-code".into()), None)
    );
    let again = json_read(&read);
    assert_eq!(again["objects"][1]["neededBy"][0]["by"], entry);
    assert_eq!(again["objects"][2]["reason"], "no-such-code");
    assert_eq!(again["objects"][1]["neededBy"][0]["through"][1], json!({"opaque": "wormhole:\n  to: b\n"}));
}

/// The format before is read: claimants as they are, chains of references as they are, and words as words.
#[test]
fn the_format_before_is_read() {
    let mut former = document();
    former["apiVersion"] = json!("pouch/v1alpha1");
    former["recipients"] = json!([ONE, TWO]);
    let needed = |kind: &str, name: &str, field: &str| json!({"kind": kind, "namespace": "team-a", "name": name, "via": [{"field": field}]});
    former["objects"][0]["neededBy"] = json!([]);
    former["objects"][1]["neededBy"] = json!([
        needed("Cluster", "c", "AWSCluster spec.identityRef"),
        needed("Credential", "a", "spec.secretRef"),
        needed("Guest", "pull", "guests.pull: ResourceSyncRule all"),
        needed("ManagedResource", "login", "spec.template with Secret registry/pull"),
        {"kind": "ResourceSyncRule", "namespace": "team-a", "name": "all:x", "via": []},
    ]);
    former["objects"][2]["neededBy"] = json!([needed("Machine", "m", "spec.x")]);
    former["objects"][2]["recipients"] = json!(null);
    former["objects"][2].as_object_mut().expect("a map").remove("recipients");
    let read = of(&node(&former)).expect("a manifest");
    assert_eq!(read.recipients, [recipient(ONE), recipient(TWO)]);
    let opaque = |text: &str| vec![Step::Opaque(text.into())];
    let team = || Namespace::from("team-a");
    let all: Vec<(Claimant, Vec<Step>)> =
        read.objects[1].needed_by.iter().map(|it| (it.by.clone(), it.through.clone())).collect();
    assert_eq!(
        all,
        [
            (
                Claimant::Cluster { namespace: team(), name: "c".into() },
                vec![Step::field("AWSCluster spec.identityRef")]
            ),
            (Claimant::credential(team(), "a".into()), vec![Step::field("spec.secretRef")]),
            (
                Claimant::Guests { namespace: team(), group: "pull".into(), entry: None },
                opaque("guests.pull: ResourceSyncRule all")
            ),
            (
                Claimant::Template { namespace: team(), template: "login".into() },
                opaque("spec.template with Secret registry/pull")
            ),
            (Claimant::SyncRule { namespace: team(), rule: "all".into(), object: Some("x".into()) }, vec![]),
        ]
    );
    assert_eq!(read.objects[2].needed_by[0].by.kind(), "Machine");
    // Written again it is of the format of now, and says the same.
    let text = emit(&read);
    assert_eq!(parse(&text), Ok(read));
    assert!(text.starts_with("apiVersion: pouch/v1alpha2\n"), "{text}");
    // A format is one or the other.
    former["recipients"] = json!([{"key": ONE}]);
    assert!(of(&node(&former)).is_err());
}

/// A bundle of before says of what a group names only that the group has it: the object says which entry that is.
#[test]
fn what_a_group_names_is_told_by_the_object() {
    let whole = Claimant::Guests { namespace: "team-a".into(), group: "pull".into(), entry: None };
    let read_key = ObjectKey::secret("registry".into(), "token".into());
    let taken = TakenObject { namespace: read_key.namespace.clone(), name: read_key.name.clone() };
    let lands = ObjectKey::secret("kube-system".into(), "regcred".into());
    let mut manifest = sample();
    manifest.objects[1].guest = Some(Guest { key: lands, secret_type: Some("Opaque".into()), sha256: None });
    manifest.objects[1].from = Some(ReadFrom::of(&read_key));
    let of_first = |manifest: &Manifest| {
        let read = of(&node(&json_read(manifest))).expect("a manifest");
        let objects = read.objects.into_iter().filter(|object| object.guest.is_some());
        objects.flat_map(|object| object.needed_by).map(|it| it.by).collect::<Vec<_>>()
    };
    for (step, entry) in [
        (Step::field("guests.pull"), Some(Box::new(Entry::Object(read_key)))),
        (Step::Rule("all".into()), Some(Box::new(Entry::Rule { rule: "all".into(), object: Some(taken) }))),
        (Step::Template("login".into()), Some(Box::new(Entry::Template("login".into())))),
        (Step::Opaque("guests.pull".into()), None),
    ] {
        manifest.objects[1].needed_by = vec![NeededBy { by: whole.clone(), through: vec![step] }];
        let expected = Claimant::Guests { namespace: "team-a".into(), group: "pull".into(), entry };
        let first = of_first(&manifest);
        assert_eq!(first.iter().collect::<Vec<_>>(), [&expected]);
        // What is written again says it by itself.
        manifest.objects[1].needed_by[0].by = expected;
        assert_eq!(of_first(&manifest), first);
    }
}

#[test]
fn two_thousand_objects_are_read() {
    let mut manifest = sample();
    let one = manifest.objects.remove(1);
    manifest.objects = (0..2000)
        .map(|n| {
            let key = ObjectKey::secret("kcm-system".into(), format!("s-{n:04}").as_str().into());
            ManifestObject { path: path::of_object(&manifest.directory, &key), key, ..one.clone() }
        })
        .collect();
    assert_eq!(of(&node(&json_read(&manifest))).expect("a manifest").objects.len(), 2000);
}

#[test]
fn a_manifest_survives_its_own_text() {
    let text = format!("# pouch/v1 00000000 tag\n{}", emit(&sample()));
    let read = parse(&text).expect("a manifest");
    assert_eq!(emit(&read), emit(&sample()));
    for bad in ["", "---\n", "a: [", &format!("{text}---\n{text}"), &format!("{text}kind: Bundle\n")] {
        assert!(matches!(parse(bad), Err(Unusable::Malformed(..))), "{bad:?}");
    }
}

/// Words that stand in manifests, and some that need quotes.
fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z][a-z0-9.-]{0,12}", "[0-9][a-z0-9.-]{0,5}", Just("true".to_string()), Just("a: \"b\"".to_string())]
}

/// A claimant of any kind, also of one that this release does not know.
fn any_claimant(form: u8, namespace: Namespace, name: &str) -> Claimant {
    let kinds = ["Credential", "Cluster", "ClusterResourceSet", "Guest", "ManagedResource", "ResourceSyncRule"];
    match kinds.get(usize::from(form)) {
        Some(kind) => {
            let name = match form {
                3 => format!("pull/Secret/{name}"),
                5 => format!("rule:{name}"),
                _ => name.into(),
            };
            Claimant::new(kind, namespace, &name)
        }
        None => {
            let written = Tree::map([
                ("kind", Tree::text("Entry")),
                ("namespace", Tree::text(namespace.as_str())),
                ("object", Tree::map([("name", Tree::text(name))])),
            ]);
            let mut lines = String::new();
            append(&written, &mut lines);
            Claimant::Other {
                kind: "Entry".into(),
                namespace: namespace.clone(),
                name: "".into(),
                written: lines.into(),
            }
        }
    }
}

fn any_step((interface, text, form): (Option<String>, String, u8)) -> Step {
    match form {
        0 => Step::Field { interface: interface.as_deref().map(Into::into), field: text },
        1 => Step::Rule(text.as_str().into()),
        2 => Step::Template(text.as_str().into()),
        3 => Step::Data(ObjectKey::new(
            GroupKind::new("", "ConfigMap"),
            interface.as_deref().map(Into::into),
            text.as_str().into(),
        )),
        4 => Step::AccessRule(text.as_str().into()),
        _ => Step::Opaque(text),
    }
}

/// Any manifest of the fields that make the form: names, places, states, references.
fn any_manifest() -> impl Strategy<Value = Manifest> {
    let through = proptest::collection::vec((proptest::option::of(word()), word(), 0..6_u8), 0..3);
    let needed = proptest::collection::vec(("[a-z][a-z0-9-]{0,5}[a-z]", word(), through, 0..7_u8), 0..3);
    let object = (word(), proptest::option::of(word()), word(), 0..4_u8, needed, any::<u64>());
    let head = (word(), proptest::collection::vec((word(), word()), 0..3), 0..3_usize);
    (head, proptest::collection::vec(object, 0..5)).prop_map(|((fleet, sources, readers), objects)| {
        let directory = Directory::from("eu-west");
        let mut manifest = Manifest { fleet: fleet.as_str().into(), directory: directory.clone(), ..sample() };
        manifest.recipients.truncate(readers);
        manifest.sources = sources
            .into_iter()
            .map(|(name, identity)| SourceIdentity { name: name.as_str().into(), identity })
            .collect();
        manifest.objects = objects
            .into_iter()
            .map(|(kind, namespace, name, form, needed, seed)| {
                let kind = if form == 0 { GroupKind::new("x.y", &kind) } else { GroupKind::new("", "Secret") };
                let namespace = namespace.as_deref().map(Into::into);
                let key = ObjectKey::new(kind, namespace.clone(), name.as_str().into());
                let by = |(namespace, name, all, form): (String, String, Vec<_>, u8)| NeededBy {
                    by: any_claimant(form, namespace.as_str().into(), &name),
                    through: all.into_iter().map(any_step).collect(),
                };
                let is_carried = form > 1;
                let made = (form == 2).then(|| MadeBy {
                    template: name.as_str().into(),
                    lands: key.namespace.clone(),
                    directory: directory.as_str().into(),
                    in_guests: false,
                });
                ManifestObject {
                    guest: None,
                    read_at: (form == 3).then(|| ReadAt { source: name.as_str().into(), path: name.as_str().into() }),
                    path: path::of_object(&directory, &key),
                    from: (form != 1).then(|| ReadFrom {
                        namespace,
                        name: name.as_str().into(),
                        made: made.map(Arc::new),
                    }),
                    sha256: sha256_hex(&seed.to_le_bytes()),
                    state: if is_carried { ObjectState::Carried(Reason::Unread) } else { ObjectState::Current },
                    recipients: if form == 3 { Vec::from([recipient(ONE)]) } else { Vec::new() },
                    needed_by: needed.into_iter().map(by).collect(),
                    key,
                }
            })
            .collect();
        manifest
    })
}

proptest! {
    /// Objects are written line by line; the emitter writes a tree that says the same to the same byte.
    #[test]
    fn a_tree_of_it_has_the_same_text(manifest in any_manifest()) {
        let text = emit(&manifest);
        let read = node(&yaml(&text));
        prop_assert_eq!(&*crate::yaml::emit::emit(&Tree::of(&read)), text.as_str());
    }

    /// Whatever is written is read without the help of the general reader, and near it both say the same, errors too.
    #[test]
    fn what_is_written_is_read_by_the_short_way(manifest in any_manifest(), changes in changes()) {
        let text = emit(&manifest);
        prop_assert!(written::read(&text).is_some(), "{text}");
        for text in near(&text, &changes) {
            prop_assert_eq!(parse(&text), parse_any(&text), "{}", text);
        }
    }
}
