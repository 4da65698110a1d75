//! What many rules cost over many objects: how often something is compared.

use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Origin, Place};
use crate::node::Node;
use crate::snapshot::{Reading, assemble};
use crate::sync_rule::matching::compared;
use crate::testing::case::fleet;
use crate::testing::{node, yaml};
use crate::world::Facts;
use crate::world::looks::Looks;

fn of_rule(number: usize) -> Node {
    let entry = match number % 4 {
        0 => format!("{{objectKey: {{namespace: team-{}, name: s{number}}}}}", number % 100),
        1 => format!("{{labels: [{{matchLabels: {{app: a{number}}}}}]}}"),
        2 => format!(
            "{{namespaces: [team-{}], labels: [{{matchExpressions: [{{key: none, operator: Exists}}]}}]}}",
            number % 100
        ),
        _ => format!("{{objectKey: {{name: s{number}}}, content: [{{key: type, value: Opaque}}]}}"),
    };
    node(&yaml(&format!(
        "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {{name: r{number}}}\n\
         spec: {{groupVersionKind: {{version: v1, kind: Secret}}, rules: [{{match: [{entry}]}}]}}\n"
    )))
}

fn of_secret(number: usize) -> Node {
    let pairs = |pairs: &[(&str, String)]| {
        Node::map(pairs.iter().map(|(key, text)| ((*key).into(), Node::text(text))).collect())
    };
    let metadata = Node::map(vec![
        ("name".into(), Node::text(&format!("s{number}"))),
        ("namespace".into(), Node::text(&format!("team-{}", number % 100))),
        ("labels".into(), pairs(&[("app", format!("a{}", number % 5000)), ("tier", String::from("web"))])),
    ]);
    Node::map(vec![
        ("apiVersion".into(), Node::text("v1")),
        ("kind".into(), Node::text("Secret")),
        ("metadata".into(), metadata),
    ])
}

#[test]
fn many_rules_are_not_compared_with_every_object() {
    let (rules, secrets) = (100, 10_000);
    let fleet = fleet(&yaml("{regions: {eu: {syncRules: ['*']}}}"));
    let documents = (0..rules).map(of_rule).chain((0..secrets).map(of_secret));
    let origin = || Origin { source: "all".into(), place: Place::File { path: "x".into(), line: 1, column: 1 } };
    let documents: Vec<(Node, Origin)> = documents.map(|document| (document, origin())).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    compared::since();
    let (facts, findings) = Facts::gather(&fleet, &snapshot, &Looks::default());
    let compared = compared::since();
    assert!(findings.is_empty(), "{findings:?}");
    let taken = facts.asked().iter().filter(|asked| asked.claim.is_some()).count();
    // A quarter of the rules has a namespace of 100 objects each, the others have a name, or a label that few have.
    assert!(taken >= rules / 2 && compared >= taken && compared <= 3000, "{taken} claims by {compared} comparisons");
}

/// A rule that no label narrows is compared with every object once, and with the features of a source once: not for each
/// region, and not for each object.
#[test]
fn features_are_looked_at_once_for_a_rule_and_a_source() {
    let (features, secrets) = (10_000, 10_000);
    let fleet = fleet(&yaml("{regions: {eu: {syncRules: ['*']}, us: {syncRules: ['*']}}}"));
    let rule = node(&yaml(
        "apiVersion: clusterregistry.k8s.cisco.com/v1alpha1\nkind: ResourceSyncRule\nmetadata: {name: all}\n\
         spec: {clusterFeatureMatch: [{featureName: none}], groupVersionKind: {version: v1, kind: Secret}, \
         rules: [{match: [{labels: [{matchExpressions: [{key: none, operator: DoesNotExist}]}]}]}]}\n",
    ));
    let map = |entries: &[(&str, Node)]| {
        Node::map(entries.iter().map(|(key, value)| ((*key).into(), value.clone())).collect())
    };
    let feature = |number: usize| {
        let name = Node::text(&format!("f{number}"));
        map(&[
            ("apiVersion", Node::text("clusterregistry.k8s.cisco.com/v1alpha1")),
            ("kind", Node::text("ClusterFeature")),
            ("metadata", map(&[("name", name.clone())])),
            ("spec", map(&[("featureName", name)])),
        ])
    };
    let documents = [rule].into_iter().chain((0..features).map(feature)).chain((0..secrets).map(of_secret));
    let origin = || Origin { source: "all".into(), place: Place::File { path: "x".into(), line: 1, column: 1 } };
    let documents: Vec<(Node, Origin)> = documents.map(|document| (document, origin())).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    compared::since();
    let (facts, findings) = Facts::gather(&fleet, &snapshot, &Looks::default());
    assert!(findings.is_empty() && facts.asked().is_empty(), "{findings:?}");
    assert_eq!(compared::since(), features + secrets);
}
