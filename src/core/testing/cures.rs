//! Cures that cure: what a help line says is done, and the finding is gone.
//!
//! Every finding of the cases whose help line is an edit of the configuration or of an object is tried. An edit that leads to
//! another object, or to the next mistake, may bring another finding; the same one never stays.

extern crate std;

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::case::{Document, Scene, of_stage};
use super::stages::Desk;
use crate::finding::{Code, Finding, Place};
use crate::json;
use crate::node::{Interner, Node};
use crate::yaml::emit::Tree;

/// What each kind of edit begins with, and how many findings of the cases it cures at least.
const EDITS: [(&str, usize); 10] = [
    ("add to `grants`: `- ", 10),
    ("Write `apiVersion: ", 1),
    ("Did you mean ", 150),
    ("set `k0rdentPushDisabled: true`", 5),
    ("Write `namespace: ", 1),
    ("write `allowedNamespaces: ", 4),
    ("write `namespaceSelector: ", 0),
    (" too, add `", 2),
    ("Put a copy of ", 1),
    ("set `findings: ", 1),
];

/// All that the stages find in a world.
fn found(scene: &Scene) -> Vec<Finding> {
    let desk = Desk::new(scene);
    let mut found = desk.findings.clone();
    found.extend(desk.facts.asked().iter().flat_map(|asked| asked.findings.clone()));
    for region in desk.fleet.regions.keys() {
        found.extend(desk.heard(region).into_iter().flat_map(|case| case.findings));
    }
    found.retain(|finding| {
        desk.fleet.severities.get(&finding.code).is_none_or(|level| level.severity() == Some(finding.severity))
    });
    found
}

/// The text between the mark and the next backtick, bracket or question mark.
fn behind<'a>(help: &'a str, mark: &str, end: &str) -> Option<&'a str> {
    help.split_once(mark)?.1.split_once(end).map(|(text, _)| text)
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Changes the document that a finding is about, as JSON.
fn change(scene: &mut Scene, line: u32, edit: impl Fn(&mut Value)) {
    let document = scene.documents.iter_mut().find(|document| document.line == line).expect("the document");
    let mut value = json::value(&Tree::of(&document.node));
    edit(&mut value);
    document.node = node(&value);
}

fn node(value: &Value) -> Node {
    json::read(&value.to_string(), &mut Interner::new()).unwrap()
}

/// Gives a key another name, wherever it stands.
fn rename(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::Object(map) => {
            if let Some(inner) = map.remove(from) {
                map.insert(to.to_string(), inner);
            }
            map.values_mut().for_each(|inner| rename(inner, from, to));
        }
        Value::Array(items) => items.iter_mut().for_each(|inner| rename(inner, from, to)),
        _ => {}
    }
}

/// Replaces a text, wherever it stands.
fn replace(value: &mut Value, from: &str, to: &str) {
    match value {
        Value::String(text) if text == from => *text = to.to_string(),
        Value::Object(map) => map.values_mut().for_each(|inner| replace(inner, from, to)),
        Value::Array(items) => items.iter_mut().for_each(|inner| replace(inner, from, to)),
        _ => {}
    }
}

/// Does what a help line says; none if it is no edit of this kind that can be done here.
fn cured(scene: &Scene, finding: &Finding, mark: &str) -> Option<Scene> {
    let mut scene = scene.clone();
    let help = &*finding.help;
    let line = match finding.origin.as_ref().map(|origin| &origin.place) {
        Some(Place::File { line, .. }) => *line,
        _ => 0,
    };
    let stands = scene.documents.iter().any(|document| document.line == line);
    let region = || finding.region.as_ref().map(|region| region.to_string());
    match mark {
        "add to `grants`: `- " => {
            let grant = yaml(behind(help, mark, "`")?);
            match &mut scene.config["grants"] {
                Value::Array(grants) => grants.push(grant),
                grants => *grants = json!([grant]),
            }
        }
        "set `k0rdentPushDisabled: true`" if help.contains(mark) => {
            let region = region()?;
            if !scene.config["regions"].is_object() {
                scene.config["regions"] = json!({ region.as_str(): {} });
            }
            if !scene.config["regions"][&region].is_object() {
                scene.config["regions"][&region] = json!({});
            }
            scene.config["regions"][&region]["k0rdentPushDisabled"] = json!(true);
            // The other half of it is done on the region, and seen by the next look.
            for document in scene.documents.iter_mut().filter(|it| it.node.str_at(&["kind"]) == Some("RegionFacts")) {
                let mut value = json::value(&Tree::of(&document.node));
                value["spec"]["providerInterfaces"] = json!([]);
                document.node = node(&value);
            }
        }
        "set `findings: " => scene.config["findings"] = yaml(behind(help, mark, "`")?),
        "Put a copy of " => {
            let (what, namespace) = behind(help, mark, " as well")?.split_once(" into namespace ")?;
            let (kind, name) = what.split_once(' ')?;
            let is_it = |document: &&Document| {
                document.node.str_at(&["kind"]) == Some(kind)
                    && document.node.str_at(&["metadata", "name"]) == Some(name)
            };
            let original = scene.documents.iter().find(is_it)?;
            let mut value = json::value(&Tree::of(&original.node));
            value["metadata"]["namespace"] = json!(namespace);
            let copy = Document { node: node(&value), line: 9000, ..original.clone() };
            scene.documents.push(copy);
        }
        "Write `apiVersion: " if stands => {
            let text = behind(help, mark, "`")?;
            change(&mut scene, line, |value| value["spec"]["identityRef"]["apiVersion"] = json!(text));
        }
        "Write `namespace: " if stands => {
            let text = behind(help, mark, "`")?;
            change(&mut scene, line, |value| value["spec"]["identityRef"]["namespace"] = json!(text));
        }
        "write `allowedNamespaces: " | "write `namespaceSelector: " if stands => {
            let field = mark.split(['`', ':']).nth(1)?;
            let written = yaml(behind(help, mark, "`")?);
            change(&mut scene, line, |value| value["spec"][field] = written.clone());
        }
        " too, add `" if stands => {
            let (name, path) = behind(help, mark, "`.")?.split_once("` to `")?;
            let path = format!("/{}", path.replace('.', "/"));
            change(&mut scene, line, |value| {
                let list = value.pointer_mut(&path).and_then(Value::as_array_mut).expect("the list");
                list.push(json!(name));
            });
        }
        "Did you mean " if stands => {
            let meant = behind(help, mark, "?")?.trim_matches('`');
            if let Some((_, field)) = finding.message.split_once("has no field ") {
                let field: String = field.trim_matches('"').split('"').next()?.to_string();
                change(&mut scene, line, |value| rename(value, &field, meant));
            } else if let Some(rest) = finding.message.strip_prefix("there is no kind ") {
                rest.split_once(" in ")?;
                change(&mut scene, line, |value| {
                    let version = value["apiVersion"].as_str().unwrap().rsplit('/').next().unwrap().to_string();
                    let version = version.rsplit(".com").next().unwrap().rsplit(".io").next().unwrap().to_string();
                    match meant.contains('.') || meant.contains(':') {
                        true if meant.starts_with("apiVersion: ") => {
                            value["apiVersion"] = json!(meant.trim_start_matches("apiVersion: "))
                        }
                        true if meant.chars().next().unwrap().is_uppercase() => {
                            let (kind, group) = meant.split_once('.').unwrap();
                            value["kind"] = json!(kind);
                            value["apiVersion"] = json!(format!("{group}/{version}"));
                        }
                        true => value["apiVersion"] = json!(format!("{meant}/{version}")),
                        false => value["kind"] = json!(meant),
                    }
                });
            } else if finding.message.contains(" provides no objects of namespace ") {
                let namespace = meant.strip_prefix("namespace ")?;
                change(&mut scene, line, |value| value["metadata"]["namespace"] = json!(namespace));
            } else if finding.code == Code::MissingReference {
                let typed = finding.object.as_ref()?;
                let name = meant.rsplit(['/', ' ']).next()?;
                // What names it may be another document than the claim's.
                for document in &mut scene.documents {
                    let mut value = json::value(&Tree::of(&document.node));
                    replace(&mut value["spec"], typed.name.as_str(), name);
                    document.node = node(&value);
                }
            } else {
                return None;
            }
        }
        _ => return None,
    }
    Some(scene)
}

#[test]
fn what_a_help_line_says_makes_its_finding_go() {
    let mut done: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for case in ["claim", "closure", "judge", "region", "sources"].iter().flat_map(|stage| of_stage(stage)) {
        let scene = case.worlds.last().unwrap();
        for finding in found(scene) {
            for (mark, _) in EDITS {
                let Some(scene) = finding.help.contains(mark).then(|| cured(scene, &finding, mark)).flatten() else {
                    continue;
                };
                let stays = |other: &Finding| other.message == finding.message && other.claimant == finding.claimant;
                match found(&scene).iter().any(stays) {
                    true => wrong.push(format!("{}: {mark}: {finding:?}", case.path.display())),
                    false => *done.entry(mark).or_default() += 1,
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} stay:\n{}", wrong.len(), wrong.join("\n"));
    let few: Vec<_> = EDITS.iter().filter(|(mark, least)| done.get(mark).copied().unwrap_or(0) < *least).collect();
    assert!(few.is_empty(), "too few were tried: {few:?} of {done:?}");
}

/// Without the edit the finding stays, and the test above would see it.
#[test]
fn a_finding_stays_where_nothing_is_done() {
    let cases = of_stage("judge");
    let findings = cases.iter().map(|case| (found(&case.worlds[0]), found(&case.worlds[0])));
    assert!(
        findings.clone().any(|(first, _)| !first.is_empty()) && findings.clone().all(|(first, again)| first == again)
    );
}
