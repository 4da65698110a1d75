//! Findings about identities that nothing names, or machines alone.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::unused;
use crate::finding::{Origin, Place};
use crate::snapshot::{Reading, assemble};
use crate::testing::indexed::put_aside;
use crate::testing::stages::Desk;
use crate::testing::{case, node, yaml};

const IDENTITY: &str = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereClusterIdentity, metadata: {name: vc2}, \
    spec: {secretName: vc2}}";

const CREDENTIAL: &str = "{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, metadata: {name: vc, namespace: team-a}, spec: \
    {region: eu, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereClusterIdentity, name: vc1}}}";

const MACHINES: &str = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: VSphereMachineTemplate, metadata: {name: cp, \
    namespace: team-a}, spec: {template: {spec: {identityRef: {kind: VSphereClusterIdentity, name: vc2}}}}}";

/// The findings about some documents in a folder.
fn said(config: &Value, documents: &[&str]) -> Vec<String> {
    let fleet = case::fleet(config);
    let source = fleet.sources[0].name.clone();
    let place = |line| Origin { source: source.clone(), place: Place::File { path: "case".into(), line, column: 1 } };
    let documents = documents.iter().zip(1..).map(|(text, line)| (node(&yaml(text)), place(line))).collect();
    // Files are read by an index, which keeps only what some stage asks for.
    let mut reading = Reading { documents, complete: true, ..Reading::default() };
    put_aside(&fleet, &fleet.sources[0], &mut reading);
    let (snapshot, found) = assemble(&fleet, vec![reading]);
    let desk = Desk::of(fleet, snapshot, found);
    unused(&desk.world())
        .into_iter()
        .map(|found| format!("{}: {} ({})", found.code.text(), found.message, found.help))
        .collect()
}

#[test]
fn an_identity_that_machines_name_is_never_to_be_removed() {
    let config = json!({"regions": {"eu": {}}});
    let alone = said(&config, &[IDENTITY, CREDENTIAL]);
    assert!(alone.len() == 1 && alone[0].starts_with("unused-identity") && alone[0].contains("Remove it"), "{alone:?}");
    // Without a region that takes Clusters, too.
    let named = said(&config, &[IDENTITY, CREDENTIAL, MACHINES]);
    let names = "VSphereMachineTemplate team-a/cp names it in spec.identityRef";
    let is_told = named[0].contains(names) && named[0].contains("write a Credential") && !named[0].contains("emove");
    assert!(named.len() == 1 && is_told, "{named:?}");
    // Where what machines name stands in no file, nothing is to be done with it here.
    assert!(said(&config, &[CREDENTIAL, MACHINES]).is_empty());
    // Where another Credential names it, it is published; without any, no Credential is expected.
    let second = CREDENTIAL.replace("name: vc,", "name: vd,").replace("vc1", "vc2");
    assert!(said(&config, &[IDENTITY, CREDENTIAL, &second, MACHINES]).is_empty());
    assert!(said(&config, &[IDENTITY, MACHINES]).is_empty());
    // A template that cannot be read may name what stands in its text, and nothing else.
    let mistyped = MACHINES.replace("identityRef", "identityref");
    let other = IDENTITY.replace("vc2", "vc3");
    let told = said(&config, &[IDENTITY, CREDENTIAL, &other, &mistyped]);
    assert!(told.len() == 1 && told[0].contains("VSphereClusterIdentity vc3"), "{told:?}");
    // Of many machines that name one, one finding tells.
    let third = MACHINES.replace("name: cp,", "name: w,");
    assert_eq!(said(&config, &[IDENTITY, CREDENTIAL, MACHINES, &third]).len(), 1);
}

#[test]
fn what_machines_that_were_not_read_may_name_is_not_to_be_removed() {
    // Files and a cluster: of the cluster nothing was listed.
    let files = json!({"name": "files", "directory": {"path": "manifests"}, "provides": {"namespaces": ["*"], "clusterScoped": true}});
    let cluster = json!({"name": "hub", "cluster": {"context": "hub"}, "provides": {"namespaces": ["*"]}});
    let both = json!({"sources": [files, cluster], "regions": {"eu": {}}});
    let fleet = case::fleet(&both);
    let origin = |line| Origin {
        source: fleet.sources[0].name.clone(),
        place: Place::File { path: "case".into(), line, column: 1 },
    };
    let aws = IDENTITY.replace("VSphereClusterIdentity", "AWSClusterStaticIdentity").replace("secretName", "secretRef");
    let documents = [IDENTITY, CREDENTIAL, &aws];
    let documents = documents.iter().zip(1..).map(|(text, line)| (node(&yaml(text)), origin(line))).collect();
    let of_files = Reading { documents, complete: true, ..Reading::default() };
    let mut inquiry = crate::snapshot::Inquiry::default();
    for listed in crate::inquiry::listed(&fleet, &fleet.sources[1]) {
        inquiry.listed.insert(listed.kind, Ok(()));
    }
    let of_cluster = Reading { complete: true, inquiry: Some(inquiry), ..Reading::default() };
    let (snapshot, found) = assemble(&fleet, vec![of_files, of_cluster]);
    let desk = Desk::of(fleet, snapshot, found);
    let told = unused(&desk.world());
    let help = |kind: &str| {
        let of = told.iter().find(|found| found.object.as_ref().is_some_and(|key| key.kind.kind == kind));
        of.map(|found| found.help.clone()).unwrap_or_default()
    };
    assert!(help("VSphereClusterIdentity").contains("keep it for them"), "{told:?}");
    // No machine names an identity of AWS.
    assert!(help("AWSClusterStaticIdentity").starts_with("Remove it"), "{told:?}");
}
