//! Every string that a YAML writer gets wrong, as a Secret's value, a field, a label, an entry's name:
//! read back by other people's programs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use pouch_core::json;
use pouch_core::node::Interner;
use pouch_core::yaml::emit::Tree;
use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::support::spoilt::{Fleet, base64};
use crate::support::{Kustomize, PyYaml, Sops, root, shared};

fn strings() -> Option<Vec<String>> {
    Some(serde_json::from_slice(&fs::read(shared("data/yaml/strings.json")?).unwrap()).unwrap())
}

fn render(fleet: &Fleet, objects: &[Value]) {
    let text: String = objects.iter().map(|object| format!("{object}\n")).collect();
    fleet.write("manifests/strings.json", text);
    fleet.render().ended(0);
}

fn credential(kind: &str, version: &str, name: &str) -> Value {
    json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "Credential",
        "metadata": {"name": name, "namespace": "team-b"},
        "spec": {"region": "eu-west", "identityRef": {"apiVersion": version, "kind": kind, "name": name, "namespace": "team-b"}}})
}

fn metadata(name: &str) -> Value {
    json!({"name": name, "namespace": "team-b"})
}

/// Our own reader (serde-saphyr behind it), as JSON.
fn ours(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap();
    let documents: Vec<_> = read::documents(&text).collect();
    assert_eq!(documents.len(), 1, "{}", path.display());
    let node = read::read(&documents[0], &mut Interner::new()).unwrap();
    json::value(&Tree::of(&node))
}

fn pyyaml(program: &PyYaml, path: &Path) -> Vec<Value> {
    let answer = program.read(path);
    assert!(answer.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&answer.stderr));
    serde_json::from_slice(&answer.stdout).unwrap()
}

/// What kustomize makes of a folder. It writes YAML 1.1, so the reader is the one of that version.
fn kustomize(program: &Kustomize, fleet: &Fleet, folder: &Path) -> Vec<Value> {
    let built = fleet.path("built.yaml");
    fs::write(&built, program.built(folder)).unwrap();
    PyYaml::find().map(|reader| pyyaml(&reader, &built)).unwrap_or_default()
}

#[test]
fn as_values_of_a_secret_they_come_out_as_they_went_in() {
    let Some(strings) = strings() else { return };
    let fleet = Fleet::new();
    let entries: BTreeMap<String, &String> =
        strings.iter().enumerate().map(|(at, text)| (format!("s{at}"), text)).collect();
    let encoded: BTreeMap<String, String> =
        strings.iter().enumerate().map(|(at, text)| (format!("d{at}"), base64(text.as_bytes()))).collect();
    render(
        &fleet,
        &[
            credential("Secret", "v1", "strings"),
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata("strings"), "stringData": entries, "data": encoded}),
        ],
    );
    let Some(sops) = Sops::find() else { return };
    let keys = root().join("testdata/quickstart/keys/eu-west.txt");
    let sealed = fleet.path("bundles/regions/eu-west/core/secrets/team-b/strings.sops.yaml");
    let opened = fleet.path("opened.yaml");
    fs::write(&opened, sops.opened(&sealed, &keys)).unwrap();
    let read = ours(&opened);
    let data = read["data"].as_object().unwrap();
    assert_eq!(data.len(), 2 * strings.len());
    for (at, text) in strings.iter().enumerate() {
        assert_eq!(data[&format!("s{at}")], base64(text.as_bytes()), "{text:?}");
        assert_eq!(data[&format!("d{at}")], base64(text.as_bytes()), "{text:?}");
    }
    if let Some(program) = PyYaml::find() {
        assert_eq!(pyyaml(&program, &opened), [read]);
    }
}

#[test]
fn in_the_open_they_are_read_by_everybody_as_they_were_written() {
    let Some(mut strings) = strings() else { return };
    // In the open that one is a finding of its own: `inline-secret`.
    let all = strings.len();
    strings.retain(|text| !text.contains("PRIVATE KEY"));
    assert_eq!(strings.len(), all - 1);
    // kustomize cannot read these back or loses them, so they are refused: `invalid-object`.
    let (refused, strings): (Vec<String>, Vec<String>) =
        strings.into_iter().partition(|text| text.contains(['\u{7f}', '\u{85}', '\u{2028}', '\u{fffe}']));
    assert!(!refused.is_empty());
    let fleet = Fleet::new();
    fleet.configure("regions:\n", "keepMetadata: {labels: ['l*'], annotations: ['s*']}\nkinds: [{group: example.com, kind: OwnIdentity, scope: Namespaced, allowedNamespaces: all}]\nregions:\n");
    let entries: BTreeMap<String, &String> =
        strings.iter().enumerate().map(|(at, text)| (format!("s{at}"), text)).collect();
    // As a key, kustomize writes `<<` without quotes, which merges in every reader of YAML 1.1.
    let keys: serde_json::Map<String, Value> =
        strings.iter().filter(|text| *text != "<<").map(|text| (text.clone(), json!(text))).collect();
    let label = |text: &str| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
        let ends = |b: Option<&u8>| b.is_none_or(u8::is_ascii_alphanumeric);
        text.len() <= 63 && text.bytes().all(inner) && ends(text.as_bytes().first()) && ends(text.as_bytes().last())
    };
    let labels: BTreeMap<String, &String> =
        strings.iter().enumerate().filter(|(_, text)| label(text)).map(|(at, text)| (format!("l{at}"), text)).collect();
    assert!(labels.len() > 40, "{}", labels.len());
    let mut template = metadata("strings-resource-template");
    template["annotations"] = json!({"projectsveltos.io/template": "true"});
    let mut own = metadata("strings");
    own["labels"] = json!(labels);
    own["annotations"] = json!(entries);
    render(
        &fleet,
        &[
            json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "ProviderInterface", "metadata": {"name": "own"},
            "spec": {"clusterIdentities": [{"group": "example.com", "version": "v1", "kind": "OwnIdentity"}]}}),
            credential("OwnIdentity", "example.com/v1", "strings"),
            json!({"apiVersion": "example.com/v1", "kind": "OwnIdentity", "metadata": own, "spec": {"values": strings, "keys": keys}}),
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": template, "data": entries}),
        ],
    );
    let region = fleet.path("bundles/regions/eu-west");
    let identity = region.join("identities/ownidentity.example.com/team-b/strings.yaml");
    let map = region.join("core/configmaps/team-b/strings-resource-template.yaml");
    let as_written = |identity: &Value, map: &Value, reader: &str| {
        assert_eq!(identity["spec"]["values"], json!(strings), "{reader}");
        assert_eq!(identity["spec"]["keys"], json!(keys), "{reader}");
        for (name, text) in &labels {
            assert_eq!(identity["metadata"]["labels"][name], json!(text), "{reader}");
        }
        for (name, text) in &entries {
            assert_eq!(identity["metadata"]["annotations"][name], json!(text), "{reader}");
        }
        assert_eq!(map["data"], json!(entries), "{reader}");
    };
    as_written(&ours(&identity), &ours(&map), "serde-saphyr");
    if let Some(program) = PyYaml::find() {
        as_written(&pyyaml(&program, &identity)[0], &pyyaml(&program, &map)[0], "PyYAML");
    }
    if let Some(program) = Kustomize::find() {
        let built = kustomize(&program, &fleet, &region.join("open"));
        let of = |kind: &str| built.iter().find(|object| object["kind"] == kind);
        if let (Some(identity), Some(map)) = (of("OwnIdentity"), of("ConfigMap")) {
            as_written(identity, map, "kustomize");
        }
    }
}

/// As names they are valid or they are a finding; a valid one is published under itself.
#[test]
fn as_names_they_are_valid_or_refused() {
    let Some(strings) = strings() else { return };
    let fleet = Fleet::new();
    let mut objects = String::new();
    for text in &strings {
        objects += &format!("{}\n", credential("Secret", "v1", text));
        objects += &format!(
            "{}\n",
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata(text), "stringData": {"v": "x"}})
        );
    }
    fleet.write("manifests/strings.json", objects);
    fleet.render().ended(3);
    fleet.render_json().ended(3);
    fleet.render_coloured().ended(3);
    let folder = fleet.path("bundles/regions/eu-west/core/secrets/team-b");
    let mut published: Vec<String> = Vec::new();
    for entry in fs::read_dir(&folder).unwrap().flatten() {
        let object = ours(&entry.path());
        published.push(object["metadata"]["name"].as_str().unwrap().to_owned());
    }
    published.sort();
    let valid = |text: &str| {
        let label = |label: &str| {
            let inner = label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            inner && !label.is_empty() && !label.starts_with('-') && !label.ends_with('-')
        };
        text.len() <= 253 && text.split('.').all(label)
    };
    let mut wanted: Vec<String> = strings.iter().filter(|text| valid(text)).cloned().collect();
    wanted.push("good-plain".to_owned());
    wanted.sort();
    wanted.dedup();
    assert!(wanted.len() > 20, "{wanted:?}");
    assert_eq!(published, wanted);
    if let Some(program) = Kustomize::find() {
        let built = kustomize(&program, &fleet, &fleet.path("bundles/regions/eu-west/core/secrets"));
        let mut names: Vec<String> =
            built.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect();
        names.retain(|name| !name.starts_with("good-a"));
        names.sort();
        if !built.is_empty() {
            assert_eq!(names, wanted);
        }
    }
}
