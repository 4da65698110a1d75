//! Payloads of many sets, looked into once.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::json;

use crate::finding::{Code, Origin, Place};
use crate::judge::case::Case;
use crate::name::Region;
use crate::node::Node;
use crate::snapshot::{Reading, assemble};
use crate::testing::stages::Desk;
use crate::testing::{case, node};

const SETS: usize = 3000;

/// What is heard of thousands of sets that name the same payloads, which hold these texts.
fn heard(config_map: &str, secret: &str) -> Vec<Case> {
    let limits = json!({"credentialsPerNamespace": SETS});
    let fleet = case::fleet(&json!({"regions": {"eu": {"resourceSets": ["*/*"]}}, "limits": limits}));
    let set = |number: usize| {
        json!({"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet",
               "metadata": {"namespace": "team-a", "name": format!("s{number}")},
               "spec": {"clusterSelector": {"matchLabels": {"a": "b"}}, "strategy": "Reconcile",
                        "resources": [{"kind": "ConfigMap", "name": "open"}, {"kind": "Secret", "name": "sealed"}]}})
    };
    let payloads = [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": "team-a", "name": "open"},
               "data": {"a.yaml": config_map}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": "team-a", "name": "sealed"},
               "type": "addons.cluster.x-k8s.io/resource-set", "stringData": {"a.yaml": secret}}),
    ];
    let documents: Vec<Node> = (0..SETS).map(|number| node(&set(number))).chain(payloads.iter().map(node)).collect();
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.into_iter().zip(1..).map(|(document, line)| (document, place(line))).collect();
    let (snapshot, found) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    Desk::of(fleet, snapshot, found).heard(&Region::from("eu"))
}

/// Objects of a payload, of about a hundred bytes each.
fn objects(kind: &str, number: usize) -> String {
    let object = |n: usize| {
        format!(
            "---\napiVersion: example.com/v1\nkind: {kind}\nmetadata: {{name: o{n}, namespace: kube-system}}\nspec: {{some: text}}\n"
        )
    };
    (0..number).map(object).collect()
}

/// Reading the payloads again for each set would take minutes, and keeping their objects for each some gigabytes.
#[test]
fn what_many_sets_name_is_looked_into_once() {
    let heard = heard(&objects("A", 2000), &objects("B", 2000));
    assert_eq!(heard.len(), SETS);
    assert!(heard.iter().all(|case| case.findings.is_empty()), "{:?}", heard[0].findings);
}

/// Each of thousands of sets is told of a few of them.
#[test]
fn what_many_sets_are_told_is_bounded() {
    let heard = heard(&objects("A", 1000), &objects("A", 999).replace("text", "other"));
    let told = |case: &Case| case.findings.iter().filter(|finding| finding.code == Code::TwoWriters).count();
    let most = heard.iter().map(told).max();
    assert_eq!(most, Some(7));
    let text = heard.iter().flat_map(|case| &case.findings).find(|finding| finding.code == Code::TwoWriters);
    assert!(text.is_some_and(|finding| finding.message.contains("and 996 more")), "{text:?}");
}
