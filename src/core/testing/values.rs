//! Tests that a tenant with a source of his own decides nothing about the values of others.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::case::{Document, Scene, of_stage};
use super::node;
use super::stages::{Desk, Wishes, keys, publish};
use crate::finding::Code;
use crate::layout::manifest::{ObjectState, Reason};
use crate::region::published::Published;

/// Gives what is held of the values in the namespaces of the platform, each with what lets it through.
fn held(before: &Scene, after: &Scene) -> BTreeSet<String> {
    let desk = Desk::new(before);
    let region = desk.fleet.regions.values().next().unwrap();
    let nothing = Published::nothing();
    let (plan, _) = desk.plan(region, &nothing, &Wishes::default());
    let files = publish(&desk, region, plan, &nothing);
    let published = Published::examine(&desk.fleet.name, &region.directory, files, &keys());
    let desk = Desk::new(after);
    let (plan, _) = desk.plan(region, &published, &Wishes::default());
    assert!(plan.holds.is_empty());
    let is_other = |namespace: &str| namespace != "team-t";
    let holds = plan.withheld.iter().filter(|hold| hold.finding.code == Code::ResealHeld);
    let asked = holds.filter(|hold| hold.claimants.iter().any(|by| is_other(by.namespace().as_str())));
    let objects = plan.manifest.objects.iter().filter(|object| is_other(object.key.namespace_text()));
    let kept = objects.filter(|object| object.state == ObjectState::Carried(Reason::HeldValue));
    let digests = asked.map(|hold| hold.lifted_by.as_ref().unwrap().digest.clone());
    digests.chain(kept.map(|object| object.key.name.as_str().into())).collect()
}

#[test]
fn what_a_tenant_does_decides_nothing_about_the_values_of_others() {
    let name = "values-of-others-stay-in-a-source-of-their-own.yaml";
    let case = of_stage("region").into_iter().find(|case| case.path.ends_with(name)).unwrap();
    let [before, after] = &*case.worlds else { panic!("two worlds") };
    let of_tenant = |document: &Document, kind: &str| {
        document.source == "team" && (kind.is_empty() || document.node.str_at(&["kind"]) == Some(kind))
    };
    let object = |kind: &str, name: &str, rest: Value| {
        let version = if kind == "Secret" { "v1" } else { "k0rdent.mirantis.com/v1beta1" };
        let mut all = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": "team-t"}});
        all.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        Document { source: "team".into(), node: node(&all), line: 1 }
    };
    let secret = |name: &str| object("Secret", name, json!({"stringData": {"key": "another value of the tenant"}}));
    let identity = json!({"apiVersion": "v1", "kind": "Secret", "name": "more"});
    let more = || object("Credential", "more", json!({"spec": {"region": "eu", "identityRef": identity}}));
    let without = |scene: &Scene, kind: &str| {
        let mut scene = scene.clone();
        scene.documents.retain(|document| !of_tenant(document, kind));
        scene
    };
    let with = |mut scene: Scene, added: Vec<Document>| {
        scene.documents.extend(added);
        scene
    };
    let does = |after: &Scene| -> Vec<(&str, Scene)> {
        let unread = |scene: Scene| Scene { incomplete: vec!["team".into()], ..scene };
        vec![
            ("keeps", after.clone()),
            ("rotates", with(without(after, "Secret"), vec![secret("a")])),
            ("loses a Secret", without(after, "Secret")),
            ("loses all", without(after, "")),
            ("is unread", unread(without(after, ""))),
            ("adds", with(after.clone(), vec![secret("more"), more()])),
        ]
    };
    for (what, scene) in does(after) {
        let (held, of_keeping) = (held(before, &scene), held(before, after));
        // Both Secrets have one name, and one digest lets them through.
        assert!(held == of_keeping && held.len() == 2, "{what}: {held:?}");
    }
    // The control: one of the platform's own stays, and nothing is held, whatever the tenant does.
    let mut rotated = before.clone();
    let is_it = |document: &Document| {
        document.node.str_at(&["kind"]) == Some("Secret")
            && document.node.str_at(&["metadata", "namespace"]) == Some("team-a")
    };
    rotated.documents.retain(|document| !is_it(document));
    rotated.documents.extend(after.documents.iter().filter(|document| is_it(document)).cloned());
    for (what, scene) in does(&rotated) {
        assert!(held(before, &scene).is_empty(), "{what}");
    }
}
