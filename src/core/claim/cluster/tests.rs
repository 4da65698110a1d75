//! What is behind many Clusters, read once.

use alloc::vec::Vec;

use serde_json::json;

use super::claims;
use crate::finding::{Code, Origin, Place};
use crate::node::Node;
use crate::snapshot::{Reading, assemble};
use crate::testing::{case, node, yaml};

const CLUSTERS: usize = 4000;

/// What four thousand Clusters of one ClusterClass ask for.
fn asked(class: &str, template: &str) -> Vec<super::Asked> {
    let fleet = case::fleet(&json!({"regions": {"eu": {"clusters": ["*/*"]}}}));
    let cluster = |number: usize| {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
               "metadata": {"namespace": "a", "name": format!("c{number}")},
               "spec": {"topology": {"classRef": {"name": "q"}}}})
    };
    let class = format!(
        "{{apiVersion: cluster.x-k8s.io/v1beta2, kind: ClusterClass, metadata: {{namespace: a, name: q}}, spec: {{infrastructure: \
         {{templateRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AzureASOManagedClusterTemplate, name: q}}}}, \
         patches: [{class}]}}}}"
    );
    let template = format!(
        "{{apiVersion: infrastructure.cluster.x-k8s.io/v1, kind: AzureASOManagedClusterTemplate, metadata: {{namespace: a, name: \
         q}}, spec: {{template: {{spec: {{resources: [{template}]}}}}}}}}"
    );
    let mut documents: Vec<Node> = (0..CLUSTERS).map(|number| node(&cluster(number))).collect();
    documents.extend([node(&yaml(&class)), node(&yaml(&template))]);
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.into_iter().zip(1..).map(|(document, line)| (document, place(line))).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    claims(&fleet, &snapshot)
}

/// Reading the patches and the resources again for each Cluster would take minutes.
#[test]
fn what_many_clusters_are_made_from_is_read_once() {
    let patch = |path: &str| {
        format!(
            "{{name: p, definitions: [{{selector: {{matchResources: {{infrastructureCluster: true}}}}, jsonPatches: [{{op: add, path: {path}}}]}}]}}"
        )
    };
    let resource = "{metadata: {annotations: {serviceoperator.azure.com/credential-from: s}}}";
    let many = |text: &str| [text].repeat(10_000).join(", ");
    let of_one = asked(&many(&patch("/spec/template/spec/version")), &many(resource));
    assert_eq!(of_one.len(), CLUSTERS);
    assert!(of_one.iter().all(|asked| asked.claim.as_ref().is_some_and(|claim| claim.starts().len() == 1)));
    let broken = asked(&many(&patch("[]")), resource);
    let is_told = |findings: &[crate::finding::Finding]| {
        (1..=16).contains(&findings.len()) && findings.iter().all(|finding| finding.code == Code::InvalidObject)
    };
    assert!(broken.iter().all(|asked| is_told(&asked.findings)), "{:?}", broken[0].findings);
}
