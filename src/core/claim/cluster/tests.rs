//! What is behind many Clusters, read once.

use alloc::vec::Vec;

use serde_json::json;

use super::claims;
use crate::finding::{Code, Origin, Place};
use crate::node::Node;
use crate::snapshot::{Reading, assemble};
use crate::testing::{case, node, yaml};
use crate::unread_words::UnreadWords;

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

#[test]
fn what_many_machines_name_is_asked_for_once() {
    const MACHINES: usize = 2_000;
    let fleet = case::fleet(&json!({"regions": {"eu": {"clusters": ["*/*"]}}}));
    let object = |api: &str, kind: &str, name: &str, spec: serde_json::Value| {
        node(&json!({"apiVersion": api, "kind": kind, "metadata": {"namespace": "a", "name": name}, "spec": spec}))
    };
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
    let to = |kind: &str, name: &str| json!({"apiVersion": INFRASTRUCTURE, "kind": kind, "name": name});
    let own = json!({"identityRef": {"name": "own", "cloudName": "c"}});
    let mut documents = vec![
        object("cluster.x-k8s.io/v1beta1", "Cluster", "c", json!({"infrastructureRef": to("OpenStackCluster", "c")})),
        object(INFRASTRUCTURE, "OpenStackCluster", "c", own),
    ];
    for number in 0..MACHINES {
        let name = format!("m{number}");
        let spec = json!({"clusterName": "c", "infrastructureRef": to("OpenStackMachine", &name)});
        documents.push(object("cluster.x-k8s.io/v1beta1", "Machine", &name, spec));
        // Two and two share a cloud.
        let spec = json!({"identityRef": {"name": format!("m{}", number / 2), "cloudName": "c"}});
        documents.push(object(INFRASTRUCTURE, "OpenStackMachine", &name, spec));
    }
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.into_iter().zip(1..).map(|(document, line)| (document, place(line))).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    let asked = claims(&fleet, &snapshot);
    assert_eq!(asked[0].claim.as_ref().map(|claim| claim.starts().len()), Some(1 + MACHINES / 2));
}

/// The findings about two Clusters of vSphere beside a text that is no manifest.
fn beside(broken: &str, config: serde_json::Value) -> Vec<(alloc::string::String, Code)> {
    let fleet = case::fleet(&config);
    let objects = ["prod", "other"].into_iter().flat_map(|name| {
        let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta1";
        let metadata = json!({"namespace": "a", "name": name});
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": metadata,
            "spec": {"infrastructureRef": {"apiVersion": infrastructure, "kind": "VSphereCluster", "name": name}}});
        let of_it = json!({"apiVersion": infrastructure, "kind": "VSphereCluster", "metadata": metadata,
            "spec": {"identityRef": {"kind": "VSphereClusterIdentity", "name": "vc"}}});
        [node(&cluster), node(&of_it)]
    });
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = objects.zip(1..).map(|(document, line)| (document, place(line))).collect();
    let unread_words = Vec::from([UnreadWords::of(broken)]);
    let reading = Reading { documents, complete: true, unread_words, ..Reading::default() };
    let (snapshot, _) = assemble(&fleet, vec![reading]);
    let asked = claims(&fleet, &snapshot);
    asked.iter().flat_map(|asked| asked.findings.iter().map(|found| (asked.by.name().into(), found.code))).collect()
}

#[test]
fn a_broken_file_casts_doubt_on_the_machines_of_clusters_whose_names_stand_in_it() {
    let config = || json!({"regions": {"eu": {"clusters": ["*/*"]}}});
    let of = |broken: &str| beside(broken, config());
    for kind in ["MachineDeployment", "MachineSet", "MachinePool", "Machine"] {
        assert!(of(&format!("kind: {kind}\nspec: {{clusterName: third, [")).is_empty(), "{kind}");
        let named = of(&format!("kind: {kind}\nspec: {{clusterName: prod, ["));
        assert_eq!(named, [("prod".into(), Code::Unread)], "{kind}");
    }
    // The words of a page about machines are no machines of everybody.
    assert!(of("# A Machine is made by a MachineDeployment: see [").is_empty());
    assert!(of("kind: Service\nmetadata: {name: prod, [").is_empty());
}
