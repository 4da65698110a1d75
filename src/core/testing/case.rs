//! A case file: a configuration, objects, and what the stages say of them.
//!
//! `testdata/cases/README.md` describes the format. Everything here is test code: it may panic, and it
//! shows values, which are made up.

extern crate std;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::claim::guest::NEWEST;
use crate::claim::{Ask, Claim, Start};
use crate::config::resolve::{files_needed, resolve};
use crate::config::shape;
use crate::config::{Fleet, Source, SourcePlace};
use crate::finding::{Finding, Origin, Place};
use crate::json;
use crate::name::ObjectKey;
use crate::node::{Interner, Node};
use crate::snapshot::{Reading, Snapshot, assemble};
use crate::yaml::emit::Tree;
use crate::yaml::read;

/// Two recipients that are no low-order points; nobody keeps their identities.
pub(crate) const RECIPIENTS: [&str; 2] = [
    "age16mz6gm4kw7dzhhzv62rhzxl473pg77aqzs09a49zkzjv0f09ystqg4r53f",
    "age1t7rxyev2z3rw82stdlrrepyc39nvn86l5078zqkf5uasdy86jp6svpy7pa",
];

/// One document of a case, and the source that it stands in.
#[derive(Clone)]
pub(crate) struct Document {
    pub(crate) source: String,
    pub(crate) node: Node,
    pub(crate) line: u32,
}

/// What the sources hold at one time.
#[derive(Clone)]
pub(crate) struct Scene {
    pub(crate) config: Value,
    pub(crate) documents: Vec<Document>,
    /// Sources that were not read completely.
    pub(crate) incomplete: Vec<String>,
    /// What the run lets through or does, beside the configuration.
    pub(crate) run: Value,
}

/// A case file.
pub(crate) struct Case {
    pub(crate) path: PathBuf,
    text: String,
    /// The last one is looked at; those before it are published, one after the other.
    pub(crate) worlds: Vec<Scene>,
    /// Keys that the case looks up.
    pub(crate) looks: Vec<String>,
    pub(crate) expect: String,
}

fn at<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    value.get(key).filter(|value| !value.is_null())
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).into_iter().flatten();
    items.map(|item| item.as_str().expect("text").to_string()).collect()
}

/// `Kind namespace/name` or `Kind name`, as the case files write an object.
fn short(node: &Node) -> String {
    let name = node.str_at(&["metadata", "name"]).unwrap_or("?");
    let kind = node.str_at(&["kind"]).unwrap_or("?");
    match node.str_at(&["metadata", "namespace"]) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

impl Case {
    pub(crate) fn load(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let mut case = Case {
            path: path.into(),
            worlds: Vec::new(),
            looks: Vec::new(),
            expect: String::new(),
            text: text.clone(),
        };
        let mut source = "all".to_string();
        let mut names = Interner::new();
        let mut then_line = u32::MAX;
        for document in read::documents(&text) {
            let line = document.line;
            let node = read::read(&document, &mut names).unwrap_or_else(|flaw| panic!("{}: {flaw}", path.display()));
            let marker = node.entries().first().map(|(key, _)| key.to_string()).unwrap_or_default();
            let value = json::value(&Tree::of(&node));
            match (case.worlds.last_mut(), &*marker) {
                (None, _) => {
                    let world = Scene { config: value, documents: Vec::new(), incomplete: Vec::new(), run: json!({}) };
                    case.worlds.push(world);
                }
                (Some(world), "source") => {
                    source = value["source"].as_str().unwrap().to_string();
                    assert!(world.config["sources"].is_array(), "{}: no sources in the config", path.display());
                }
                (Some(world), "incomplete") => world.incomplete = texts(at(&value, "incomplete")),
                (Some(world), "then") => {
                    let mut next = world.clone();
                    let then = &value["then"];
                    merge(&mut next.config, then.get("config").cloned().unwrap_or(json!({})));
                    let without = texts(at(then, "without"));
                    let before = next.documents.len();
                    next.documents.retain(|document| !without.contains(&short(&document.node)));
                    assert_eq!(before - next.documents.len(), without.len(), "{}: `without`", path.display());
                    next.incomplete = texts(at(then, "incomplete"));
                    next.run = then.clone();
                    source = "all".to_string();
                    then_line = line;
                    case.worlds.push(next);
                }
                (Some(_), "look") => case.looks = texts(at(&value, "look")),
                (Some(_), "expect") => {
                    // An expectation that nobody has written yet is null.
                    case.expect = value["expect"].as_str().unwrap_or_default().to_string();
                }
                (Some(world), _) => {
                    let new = short(&node);
                    // Behind a `then` an object replaces the one of before.
                    world.documents.retain(|document| {
                        document.line > then_line || then_line > line || short(&document.node) != new
                    });
                    world.documents.push(Document { source: source.clone(), node, line });
                }
            }
        }
        assert!(!case.worlds.is_empty(), "{}: is empty", path.display());
        case
    }

    /// Compares, or writes what is said into the file.
    #[expect(clippy::disallowed_methods, reason = "one switch rewrites the expectations")]
    pub(crate) fn settle(&self, said: &str, wrong: &mut Vec<String>) {
        if self.expect == said {
            return;
        }
        if std::env::var_os("POUCH_REWRITE").is_some() {
            let head = self.text.split("\n---\nexpect:").next().unwrap().trim_end();
            let mut text = format!("{head}\n---\nexpect: |\n");
            for line in said.lines() {
                text.push_str(format!("  {line}").trim_end());
                text.push('\n');
            }
            fs::write(&self.path, text).unwrap();
            return;
        }
        wrong.push(format!("{}\nexpected:\n{}\nsaid:\n{said}", self.path.display(), self.expect));
    }
}

/// Lays `over` on `under`, map by map; null removes.
fn merge(under: &mut Value, over: Value) {
    match (under, over) {
        (Value::Object(under), Value::Object(over)) => {
            for (key, value) in over {
                if value.is_null() {
                    under.remove(&key);
                } else {
                    merge(under.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (under, over) => *under = over,
    }
}

/// The configuration of a case: what it says over what every case shares.
pub(crate) fn fleet(config: &Value) -> Fleet {
    let mut whole = json!({
        "apiVersion": "pouch/v1alpha1",
        "kind": "Fleet",
        "metadata": {"name": "acme"},
        "companions": "none",
        "sources": [{"name": "all"}],
        "reuseKey": {"env": "POUCH_REUSE_KEY"},
    });
    if config.get("regions").is_none() {
        merge(&mut whole, json!({"regions": {"eu": {}}}));
    }
    merge(&mut whole, config.clone());
    for source in whole["sources"].as_array_mut().unwrap() {
        if source.get("cluster").is_some() {
            continue;
        }
        let path = source["name"].clone();
        source.as_object_mut().unwrap().entry("directory").or_insert(json!({"path": path}));
    }
    for (index, region) in whole["regions"].as_object_mut().unwrap().values_mut().enumerate() {
        if !region.is_object() {
            *region = json!({});
        }
        let mut full = json!({"namespaces": {"allowed": ["*"]}, "k0rdentPushDisabled": true});
        if region.get("recipients").is_none() {
            merge(&mut full, json!({"recipients": [RECIPIENTS[index]]}));
        }
        merge(&mut full, region.take());
        *region = full;
    }
    let text = whole.to_string();
    let typed = shape::read(&text).unwrap_or_else(|unfit| panic!("{unfit:?}"));
    assert!(files_needed(&typed.file).is_empty());
    resolve(&typed, &BTreeMap::new()).unwrap_or_else(|errors| panic!("{errors:?}"))
}

/// The documents of each source, in the order of the configuration.
pub(crate) fn readings(fleet: &Fleet, world: &Scene) -> Vec<Reading> {
    let reading = |source: &Source| {
        let own = world.documents.iter().filter(|document| source.name == *document.source);
        let place = |line| Place::File { path: "case".into(), line, column: 1 };
        let documents = own.map(|document| {
            let origin = Origin { source: source.name.clone(), place: place(document.line) };
            (document.node.clone(), origin)
        });
        Reading {
            documents: documents.collect(),
            weighed: Vec::new(),
            sealed: Vec::new(),
            complete: !world.incomplete.iter().any(|name| source.name == **name),
            unread_words: Vec::new(),
            root: (!matches!(source.place, SourcePlace::Cluster { .. })).then(String::new),
            stood: BTreeSet::new(),
            inquiry: None,
            // Each context is a cluster of its own.
            cluster: match &source.place {
                SourcePlace::Cluster { context, .. } => context.clone(),
                _ => None,
            },
            lines: BTreeMap::new(),
        }
    };
    for document in &world.documents {
        assert!(fleet.sources.iter().any(|source| source.name == *document.source), "no source {}", document.source);
    }
    fleet.sources.iter().map(reading).collect()
}

/// The snapshot of a world.
pub(crate) fn snapshot(fleet: &Fleet, world: &Scene) -> (Snapshot, Vec<Finding>) {
    assemble(fleet, readings(fleet, world))
}

/// A key as the case files write it: `Kind.group namespace/name`, the group left out where it is known.
pub(crate) fn key(text: &str) -> ObjectKey {
    let (kind, rest) = text.split_once(' ').unwrap();
    let group = match kind {
        "Secret" | "ConfigMap" | "Namespace" => "",
        "Credential" | "ProviderInterface" | "Region" | "ClusterDeployment" | "AccessManagement" => {
            crate::k0rdent::GROUP
        }
        "ClusterResourceSet" => crate::capi::resource_set::ADDONS,
        _ => crate::capi::GROUP,
    };
    let (namespace, name) = match rest.split_once('/') {
        Some((namespace, name)) => (Some(namespace.into()), name),
        None => (None, rest),
    };
    ObjectKey::new(crate::name::GroupKind::new(group, kind), namespace, name.into())
}

/// `Kind namespace/name`: groups say nothing here.
pub(crate) fn show(key: &ObjectKey) -> String {
    match &key.namespace {
        Some(namespace) => format!("{} {namespace}/{}", key.kind.kind, key.name),
        None => format!("{} {}", key.kind.kind, key.name),
    }
}

/// `severity[code] message`, one line each, sorted and once.
pub(crate) fn show_findings(indent: &str, findings: Vec<Finding>, out: &mut String) {
    for finding in crate::finding::settle(findings) {
        // The length that messages have in a terminal, a log and a forge's annotation.
        assert!(finding.message.chars().count() <= 300, "{}", finding.message);
        let line = format!("{indent}{}[{}] {}\n", finding.severity.word(), finding.code.text(), finding.message);
        if !out.ends_with(&line) {
            out.push_str(&line);
        }
    }
}

/// The case files of a stage, sorted by name.
pub(crate) fn of_stage(stage: &str) -> Vec<Case> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../testdata/cases").join(stage);
    let mut paths: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    paths.sort();
    paths.iter().map(|path| Case::load(path)).collect()
}

/// What a claim asks for: the identity, or the first of several, or what its claimant is.
pub(crate) fn asked_for(claim: &Claim) -> String {
    let (kind, version, place) = match (&claim.ask, claim.starts().first()) {
        (Ask::Root { root, .. }, _) | (_, Some(Start { root, .. })) => {
            let namespace = root.namespace.as_ref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
            (root.kind.kind.clone(), root.version.to_string(), format!("{namespace}{}", root.name))
        }
        (Ask::Copy(copied), _) => (copied.read.kind.kind.clone(), copied.version.to_string(), copied.read.path()),
        (Ask::Entry(items), _) => match &**items {
            [first, ..] => (first.read.kind.kind.clone(), "v1".into(), first.read.path()),
            [] => return claim.by.to_string(),
        },
        (Ask::Deliver { .. }, _) => ("ClusterResourceSet".into(), NEWEST.into(), claim.by.place()),
        (Ask::Render { .. } | Ask::Starts(_), _) => return claim.by.to_string(),
    };
    format!("{kind} {version} {place}")
}
