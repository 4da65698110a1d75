//! A law of the management cluster as a region: what was published there and is read back changes nothing, wherever else
//! objects stand, and what is there already is never published.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::case::{Document, Scene, show};
use super::laws::{published, resolution, unique_documents};
use super::node;
use super::stages::{Desk, Wishes};
use crate::finding::{Code, Finding};
use crate::name::{Claimant, ObjectKey};
use crate::region::change::Change;
use crate::region::published::Published;

/// The management cluster and a git source; each object stands where a bit says, or in both.
fn scene(mode: &str, values: Vec<Value>, (places, cluster_first): (u64, bool)) -> Scene {
    let all = json!({"namespaces": ["*"], "clusterScoped": true});
    let git = json!({"name": "git", "provides": all});
    let hub = json!({"name": "hub", "cluster": {"context": "hub"}, "provides": all});
    let sources = if cluster_first { json!([hub, git]) } else { json!([git, hub]) };
    let regions = json!({"eu": {"management": true}, "us": {}});
    let config = json!({"resolution": mode, "companions": "follow", "regions": regions, "sources": sources});
    let mut documents = Vec::new();
    for (mut value, line) in values.into_iter().zip(1_u32..) {
        if value["spec"]["region"] == "eu" {
            value["spec"].as_object_mut().unwrap().remove("region");
        }
        let place = places.rotate_right(line.wrapping_mul(2)) & 3;
        for (source, _) in [("git", 0), ("hub", 1)].iter().filter(|(_, bit)| place == 2 || place & 1 == *bit) {
            documents.push(Document { source: (*source).to_string(), node: node(&value), line });
        }
    }
    Scene { config, documents, incomplete: Vec::new(), run: json!({}) }
}

/// What a consumer makes of a published object, with another content than any source has.
fn brought(desk: &Desk, key: &ObjectKey, from: &ObjectKey) -> Document {
    let version = &desk.snapshot.get(from).unwrap().version;
    let mut value = json!({"apiVersion": key.kind.api_version(version), "kind": key.kind.kind.as_str(),
        "metadata": {"name": key.name.as_str(), "labels": {"app.kubernetes.io/managed-by": "pouch"}},
        "data": {"other": "b3RoZXI="}});
    if let Some(namespace) = &key.namespace {
        value["metadata"]["namespace"] = namespace.as_str().into();
    }
    Document { source: "hub".to_string(), node: node(&value), line: 9_999 }
}

/// The claimants in whose way something stands.
fn occupied(desk: &Desk) -> BTreeSet<Claimant> {
    let nothing = Published::nothing();
    let (plan, heard) = desk.plan(&desk.fleet.regions["eu"], &nothing, &Wishes::default());
    let is_occupied = |finding: &Finding| finding.code == Code::Occupied;
    let cases = heard.iter().zip(&plan.rulings);
    let occupied = cases.filter(|(case, ruled)| case.findings.iter().chain(&ruled.added).any(is_occupied));
    occupied.map(|(case, _)| case.claim.by.clone()).collect()
}

/// `Kind namespace/name` of a document.
fn named(document: &Document) -> String {
    let text = |path: &[&str]| document.node.str_at(path).unwrap_or_default().to_string();
    let (kind, name) = (text(&["kind"]), text(&["metadata", "name"]));
    match document.node.str_at(&["metadata", "namespace"]) {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_read_back_changes_nothing(
        mode in resolution(), documents in unique_documents(), places in any::<(u64, bool)>(),
    ) {
        let mut scene = scene(mode, documents, places);
        let desk = Desk::new(&scene);
        let base = published(&desk, "eu");
        // Where pouch replaces what is in somebody's way, for another who has the object itself, he finds the place pouch's then.
        let occupied = occupied(&desk);
        let in_git: BTreeSet<String> =
            scene.documents.iter().filter(|document| document.source == "git").map(named).collect();
        let objects = base.manifest().map(|manifest| manifest.objects.clone()).unwrap_or_default();
        let mut there = Vec::new();
        for object in &objects {
            let Some(from) = object.read_key() else { continue };
            prop_assert!(from != object.key || in_git.contains(&show(&from)), "{from} would be its own source");
            there.push((show(&object.key), brought(&desk, &object.key, &from)));
        }
        // What pouch published stands there now, in the place of what stood there.
        let replaced = |document: &Document| {
            document.source == "hub" && there.iter().any(|(name, _)| *name == named(document))
        };
        scene.documents.retain(|document| !replaced(document));
        scene.documents.extend(there.into_iter().map(|(_, document)| document));
        let desk = Desk::new(&scene);
        let region = &desk.fleet.regions["eu"];
        let (again, _) = desk.plan(region, &base, &Wishes::default());
        let is_of_occupied = |change: &Change| change.claimants.iter().all(|by| occupied.contains(by));
        let is_same = again.is_published || !occupied.is_empty();
        prop_assert!(
            again.changes.iter().all(is_of_occupied) && again.holds.is_empty() && is_same,
            "{:?} {:?}",
            again.changes,
            again.holds
        );
    }
}
