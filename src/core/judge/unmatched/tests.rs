//! Which entries match nothing.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::*;
use crate::finding::{Origin, Place};
use crate::snapshot::{Reading, assemble};
use crate::testing::case::{Document, Scene};
use crate::testing::stages::Desk;
use crate::testing::{case, node, yaml};

/// The messages for a region with some entries, where one Cluster and one set are in the sources.
fn said(region: &Value, complete: bool) -> Vec<String> {
    let fleet = case::fleet(&json!({"regions": {"eu": region}}));
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = [
        "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: prod, namespace: team-a}}",
        "{apiVersion: addons.cluster.x-k8s.io/v1beta2, kind: ClusterResourceSet, metadata: {name: addons, namespace: team-a}}",
    ];
    let documents = documents.iter().zip(1..).map(|(text, line)| (node(&yaml(text)), place(line))).collect();
    let (snapshot, found) = assemble(&fleet, vec![Reading { documents, complete, ..Reading::default() }]);
    let desk = Desk::of(fleet, snapshot, found);
    unmatched(&desk.world()).into_iter().map(|finding| format!("{} ({})", finding.message, finding.help)).collect()
}

#[test]
fn an_entry_that_matches_nothing_is_told() {
    assert!(said(&json!({"resourceSets": ["team-a/addons", "team-?/*", "*/*"]}), true).is_empty());
    assert!(said(&json!({"resourceSets": ["team-b/addons"]}), false).is_empty());
    let sets = said(&json!({"resourceSets": ["team-a/adons", "team-b/*"]}), true);
    assert_eq!(sets.len(), 2, "{sets:?}");
    assert!(
        sets[0].starts_with("no ClusterResourceSet in the sources matches \"team-a/adons\" of regions.eu.resourceSets"),
        "{sets:?}"
    );
    assert!(sets[0].contains("Did you mean team-a/addons?"), "{sets:?}");
    let clusters = said(&json!({"clusters": ["team-a/prod", "team-a/addons"]}), true);
    assert_eq!(clusters.len(), 1, "{clusters:?}");
    assert!(
        clusters[0].starts_with("no Cluster in the sources matches \"team-a/addons\" of regions.eu.clusters"),
        "{clusters:?}"
    );
}

/// What is told of entries of `templates`, where one ManagedResource is in a source.
fn said_of_templates(source: &str, is_whole: bool, patterns: &str) -> String {
    let template = yaml(
        "apiVersion: automation.kubensync.com/v1alpha1\nkind: ManagedResource\nmetadata: {name: pull}\n\
         spec: {namespaceSelector: {regex: .}, template: {literal: a}}\n",
    );
    let provides = "provides: {namespaces: ['*'], clusterScoped: true}";
    let scene = Scene {
        config: yaml(&format!(
            "{{sources: [{{name: all, {provides}}}, {{name: us, region: us, {provides}}}], \
             regions: {{us: {{management: true}}, eu: {{templates: [{patterns}]}}}}}}"
        )),
        documents: vec![Document { source: source.into(), node: node(&template), line: 1 }],
        incomplete: if is_whole { Vec::new() } else { vec!["all".into()] },
        run: yaml("{}"),
    };
    let found = unmatched(&Desk::new(&scene).world());
    found.iter().map(|finding| format!("{} {}", finding.message, finding.help)).collect::<String>()
}

#[test]
fn an_entry_that_no_template_is_called_by_is_told() {
    assert_eq!(said_of_templates("all", true, "pull, 'p*', '*', '**'"), "");
    let pul = "no ManagedResource in the sources matches \"pul\" of regions.eu.templates Did you mean pull?";
    let said = said_of_templates("all", true, "pul, pull");
    assert!(said.starts_with(pul) && said.contains("What templates made by it is withdrawn"), "{said}");
    // A template of the source that describes another region is none for this one.
    assert!(said_of_templates("us", true, "pull").contains("matches \"pull\""));
    // A template may be there that was not read.
    assert_eq!(said_of_templates("all", false, "pul"), "");
}

/// A name counts as it is; a glob that no namespace with Clusters fits delivers nothing.
#[test]
fn a_glob_of_guests_that_fits_nothing_is_told() {
    let told = |namespaces: &str, cluster: &str| {
        let config = format!(
            "guests: {{pull: {{region: eu, namespaces: [{namespaces}], clusterSelector: {{matchLabels: {{a: b}}}}, \
             objects: [{{kind: Secret, namespace: r, name: pull}}]}}}}"
        );
        let cluster = format!(
            "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {{name: one, namespace: {cluster}}}}}"
        );
        let desk = Desk::new(&Scene {
            config: yaml(&config),
            documents: vec![Document { source: "all".into(), node: node(&yaml(&cluster)), line: 1 }],
            incomplete: Vec::new(),
            run: yaml("{}"),
        });
        unmatched(&desk.world()).into_iter().map(|finding| finding.message).collect::<Vec<String>>()
    };
    assert!(told("other", "team-a").is_empty() && told("'team-*'", "team-a").is_empty());
    let expect = "no namespace with Clusters of region eu is known that matches \"team-*\" of guests.pull.namespaces";
    assert_eq!(told("'team-*'", "other"), [expect]);
    // A name that is nearly one with Clusters may be a slip.
    let expect = "no Cluster of region eu is known in namespace team-aa of guests.pull.namespaces";
    assert_eq!(told("'*-x', team-aa", "team-a")[1..], [expect]);
    assert!(told("'team-*', team-aa", "team-a").is_empty() && told("'team-*', other", "team-a").is_empty());
}

#[test]
fn an_entry_that_no_rule_is_called_by_is_told() {
    let rule = yaml(
        "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {name: pull}\n\
         spec: {groupVersionKind: {version: v1, kind: Secret}, rules: [{match: [{namespaces: [a]}]}]}\n",
    );
    let told = |is_whole: bool, patterns: &str| {
        let scene = Scene {
            config: yaml(&format!("regions: {{eu: {{syncRules: [{patterns}]}}}}")),
            documents: vec![Document { source: "all".into(), node: node(&rule), line: 1 }],
            incomplete: if is_whole { Vec::new() } else { vec!["all".into()] },
            run: yaml("{}"),
        };
        let found = unmatched(&Desk::new(&scene).world());
        found.iter().map(|finding| format!("{} {}", finding.message, finding.help)).collect::<String>()
    };
    assert_eq!(told(true, "pull, 'p*', '*'"), "");
    let pul = "no ResourceSyncRule in the sources matches \"pul\" of regions.eu.syncRules Did you mean pull?";
    assert!(told(true, "pul, pull").starts_with(pul), "{}", told(true, "pul, pull"));
    assert!(told(true, "'x-*'").starts_with("no ResourceSyncRule in the sources matches \"x-*\""));
    // A rule may be there that was not read.
    assert_eq!(told(false, "pul"), "");
}

#[test]
fn what_a_group_of_guests_names_and_gives_nothing_is_told() {
    let rule = "{apiVersion: clusterregistry.k8s.cisco.com/v1alpha1, kind: ResourceSyncRule, metadata: {name: pull}, spec: \
         {groupVersionKind: {version: v1, kind: Secret}, rules: [{match: [{labels: [{matchLabels: {pull: 'yes'}}]}]}]}}";
    let template = "{apiVersion: automation.kubensync.com/v1alpha1, kind: ManagedResource, metadata: {name: pull}, spec: \
         {namespaceSelector: {regex: ^team}, template: {literal: '{apiVersion: v1, kind: Secret, metadata: {name: x}}'}}}";
    let told = |namespaces: &str, label: &str, incomplete: &[&str]| {
        let secret = format!(
            "{{apiVersion: v1, kind: Secret, metadata: {{name: x, namespace: a, labels: {{pull: '{label}'}}}}}}"
        );
        let document = |text: &str| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
        let desk = Desk::new(&Scene {
            config: yaml(&format!(
                "guests: {{g: {{region: eu, namespaces: [{namespaces}], clusterSelector: {{matchLabels: {{a: b}}}}, \
                 objects: [{{syncRule: pull}}, {{template: pull}}]}}}}"
            )),
            documents: [rule, template, &*secret].map(document).into(),
            incomplete: incomplete.iter().map(|name| String::from(*name)).collect(),
            run: yaml("{}"),
        });
        unmatched(&desk.world()).into_iter().map(|finding| finding.message).collect::<Vec<String>>()
    };
    assert!(told("team-a", "yes", &[]).is_empty());
    // For one of its namespaces is enough.
    assert!(told("other, team-a", "yes", &[]).is_empty());
    assert_eq!(told("team-a", "no", &[]), ["guests.g names ResourceSyncRule pull, which takes nothing"]);
    let none = "guests.g names ManagedResource pull, which is for none of its namespaces";
    assert_eq!(told("other", "yes", &[]), [none]);
    // Of the rule it is not known, as a source was not read.
    assert_eq!(told("other", "no", &["all"]), [none]);
}
