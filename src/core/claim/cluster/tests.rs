//! What is behind many Clusters, read once.

use alloc::vec::Vec;

use serde_json::json;

use super::super::wait;
use super::claims;
use crate::finding::{Code, Finding, Origin, Place};
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

/// The findings about two Clusters of vSphere beside a text that is no manifest; the failure domains of each have its
/// name for a label.
fn beside(broken: &str, is_whole: bool) -> Vec<(alloc::string::String, Code)> {
    let fleet = case::fleet(&json!({"regions": {"eu": {"clusters": ["*/*"]}}}));
    let objects = ["prod", "other"].into_iter().flat_map(|name| {
        let infrastructure = "infrastructure.cluster.x-k8s.io/v1beta1";
        let metadata = json!({"namespace": "a", "name": name});
        let cluster = json!({"apiVersion": "cluster.x-k8s.io/v1beta1", "kind": "Cluster", "metadata": metadata,
            "spec": {"infrastructureRef": {"apiVersion": infrastructure, "kind": "VSphereCluster", "name": name}}});
        let of_it = json!({"apiVersion": infrastructure, "kind": "VSphereCluster", "metadata": metadata,
            "spec": {"identityRef": {"kind": "VSphereClusterIdentity", "name": "vc"},
                "failureDomainSelector": {"matchLabels": {"example.com/site": format!("of_{name}")}}}});
        [node(&cluster), node(&of_it)]
    });
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = objects.zip(1..).map(|(document, line)| (document, place(line))).collect();
    let unread_words = vec![UnreadWords::of(broken)];
    let reading = Reading { documents, complete: is_whole, unread_words, ..Reading::default() };
    let (snapshot, _) = assemble(&fleet, vec![reading]);
    let asked = claims(&fleet, &snapshot);
    asked.iter().flat_map(|asked| asked.findings.iter().map(|found| (asked.by.name().into(), found.code))).collect()
}

#[test]
fn a_broken_file_casts_doubt_on_the_machines_of_clusters_whose_names_stand_in_it() {
    let of = |broken: &str| beside(broken, true);
    for kind in ["MachineDeployment", "MachineSet", "MachinePool", "Machine"] {
        assert!(of(&format!("kind: {kind}\nspec: {{clusterName: third, [")).is_empty(), "{kind}");
        let named = of(&format!("kind: {kind}\nspec: {{clusterName: prod, ["));
        assert_eq!(named, [("prod".into(), Code::MachinesWait)], "{kind}");
    }
    // The words of a page about machines are no machines of everybody.
    assert!(of("# A Machine is made by a MachineDeployment: see [").is_empty());
    assert!(of("kind: Service\nmetadata: {name: prod, [").is_empty());
}

#[test]
fn a_broken_file_casts_doubt_on_the_failure_domains_of_clusters_whose_labels_stand_in_it() {
    let of = |broken: &str| beside(broken, true);
    let zone = |labels: &str| of(&format!("kind: VSphereDeploymentZone\nmetadata: {{name: z, labels: {{{labels}}}, ["));
    assert_eq!(zone("example.com/site: of_prod"), [("prod".into(), Code::MachinesWait)]);
    assert!(zone("example.com/site: of_third").is_empty() && zone("example.com/site: prod").is_empty());
    assert!(of("# Each VSphereDeploymentZone has a site: see [").is_empty());
    // The control: what was not read at all may hold failure domains of all.
    assert_eq!(beside("", false).iter().filter(|(_, code)| *code == Code::MachinesWait).count(), 4);
}

/// Comparing each failure domain with each selector would take a minute.
#[test]
fn failure_domains_are_found_by_a_label() {
    const SITES: usize = 6000;
    let fleet = case::fleet(&json!({"regions": {"eu": {"clusters": ["*/*"]}}}));
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
    let mut documents = Vec::new();
    for number in 0..SITES {
        let (name, site) = (format!("c{number}"), json!({"site": format!("s{number}"), "all": "x"}));
        let object = |api: &str, kind: &str, metadata: serde_json::Value, spec: serde_json::Value| {
            node(&json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec}))
        };
        let metadata = || json!({"namespace": "a", "name": name});
        let to = json!({"infrastructureRef": {"apiVersion": INFRASTRUCTURE, "kind": "VSphereCluster", "name": name}});
        documents.push(object("cluster.x-k8s.io/v1beta1", "Cluster", metadata(), to));
        let selects = json!({"failureDomainSelector": {"matchLabels": {"site": site["site"]}}});
        documents.push(object(INFRASTRUCTURE, "VSphereCluster", metadata(), selects));
        let names = json!({"identityRef": {"kind": "VSphereClusterIdentity", "name": name}});
        documents.push(object(INFRASTRUCTURE, "VSphereDeploymentZone", json!({"name": name, "labels": site}), names));
    }
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.into_iter().zip(1..).map(|(document, line)| (document, place(line))).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    let asked = claims(&fleet, &snapshot);
    let is_its = |asked: &super::Asked| {
        let claim = asked.claim.as_ref();
        claim.is_some_and(|it| it.starts().len() == 1 && it.starts()[0].root.name.as_str() == &*asked.by.name())
    };
    assert!(asked.len() == SITES && asked.iter().all(is_its));
}

#[test]
fn of_many_reasons_for_which_machines_wait_a_few_are_told() {
    let finding = |number: usize| {
        let machine = crate::testing::case::key(&alloc::format!("Secret n/m{number}"));
        Finding::new(Code::MissingReference, alloc::format!("{machine} is absent")).about(&machine)
    };
    let told = wait((0..100).map(finding).collect());
    assert!(told.iter().all(|finding| finding.code == Code::MachinesWait && !finding.stops_claim()));
    assert_eq!((told.len(), told[16].message.as_str()), (17, "what machines name waits for 84 other reasons"));
    // The same is told once, and what stops nothing stays what it is.
    let told = wait(vec![finding(1), finding(1), Finding::new(Code::OpenToAll, "open")]);
    assert_eq!(told.iter().map(|finding| finding.code).collect::<Vec<_>>(), [Code::MachinesWait, Code::OpenToAll]);
}

/// Of machines of Clusters that are elsewhere, each Cluster looks at one.
#[test]
fn of_many_that_may_make_machines_each_cluster_looks_at_a_few() {
    const MAKERS: usize = 20_000;
    let fleet = case::fleet(&json!({"regions": {"eu": {"clusters": ["*/*"]}}}));
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
    let object = |api: &str, kind: &str, name: &str, spec: serde_json::Value| {
        node(&json!({"apiVersion": api, "kind": kind, "metadata": {"namespace": "a", "name": name}, "spec": spec}))
    };
    let mut documents = Vec::new();
    for number in 0..CLUSTERS {
        let name = format!("c{number}");
        let to = json!({"infrastructureRef": {"apiVersion": INFRASTRUCTURE, "kind": "VSphereCluster", "name": name}});
        documents.push(object("cluster.x-k8s.io/v1beta1", "Cluster", &name, to));
        documents.push(object(INFRASTRUCTURE, "VSphereCluster", &name, json!({})));
    }
    for number in 0..MAKERS {
        let spec = json!({"clusterName": format!("x{number}-${{X}}"), "template": {"spec": {}}});
        documents.push(object("cluster.x-k8s.io/v1beta1", "MachineDeployment", &format!("m{number}"), spec));
    }
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.into_iter().zip(1..).map(|(document, line)| (document, place(line))).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    let asked = claims(&fleet, &snapshot);
    // What is beyond these may be meant for it: that is told where something stays.
    let is_open = |asked: &super::Asked| {
        let starts = asked.claim.as_ref().and_then(|claim| claim.all_starts());
        starts.is_some_and(|starts| starts.doubt.is_some()) && asked.findings.is_empty()
    };
    assert!(asked.len() == CLUSTERS && asked.iter().all(is_open), "{:?}", asked[0].findings);
}

/// A bundle rests on everything that makes machines of one template, whichever is looked at first.
#[test]
fn all_that_make_machines_of_one_template_are_rested_on() {
    let fleet = case::fleet(&json!({"regions": {"eu": {"clusters": ["*/*"]}}}));
    const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io/v1beta1";
    let object = |api: &str, kind: &str, name: &str, spec: serde_json::Value| {
        node(&json!({"apiVersion": api, "kind": kind, "metadata": {"namespace": "a", "name": name}, "spec": spec}))
    };
    let refers = |kind: &str| json!({"infrastructureRef": {"apiVersion": INFRASTRUCTURE, "kind": kind, "name": "c"}});
    let identity = json!({"identityRef": {"kind": "VSphereClusterIdentity", "name": "vs"}});
    let mut documents = vec![
        object("cluster.x-k8s.io/v1beta1", "Cluster", "c", refers("VSphereCluster")),
        object(INFRASTRUCTURE, "VSphereCluster", "c", json!({})),
        object(INFRASTRUCTURE, "VSphereMachineTemplate", "c", json!({"template": {"spec": identity}})),
        object(INFRASTRUCTURE, "VSphereMachineTemplate", "d", json!({"template": {"spec": {}}})),
    ];
    for (name, template) in [("one", "c"), ("two", "c"), ("none", "d")] {
        let to = json!({"apiVersion": INFRASTRUCTURE, "kind": "VSphereMachineTemplate", "name": template});
        let spec = json!({"clusterName": "c", "template": {"spec": {"infrastructureRef": to}}});
        documents.push(object("cluster.x-k8s.io/v1beta1", "MachineDeployment", name, spec));
    }
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.into_iter().zip(1..).map(|(document, line)| (document, place(line))).collect();
    let (snapshot, _) = assemble(&fleet, vec![Reading { documents, complete: true, ..Reading::default() }]);
    let asked = claims(&fleet, &snapshot);
    let starts = asked[0].claim.as_ref().and_then(|claim| claim.all_starts()).unwrap();
    let rested_on: Vec<&str> = starts.makers.iter().map(|key| key.name.as_str()).collect();
    assert_eq!(rested_on, ["one", "two"]);
}
