//! What findings tell of what is shut.

use super::*;
use crate::destination::Destination;
use crate::judge::cases;
use crate::testing::case::{Document, Scene};
use crate::testing::stages::Desk;
use crate::testing::{node, yaml};
use alloc::collections::BTreeSet;
use serde_json::json;

/// What a Credential's findings say together, as they are and as they are told.
fn said(identity: &str, documents: &[&str]) -> (String, String) {
    let credential = format!(
        "{{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, metadata: {{name: c, namespace: us-team}}, \
         spec: {{region: eu, identityRef: {identity}}}}}"
    );
    let document = |text: &&str| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
    let documents = documents.iter().chain(&[&*credential]).map(document).collect();
    let desk = Desk::new(&Scene { config: json!({}), documents, incomplete: Vec::new(), run: json!({}) });
    let world = desk.world();
    let to = Destination::of(&desk.fleet, &desk.facts.asked()[0].claim.as_ref().unwrap().at).unwrap();
    let [case] = &*cases(&world, &to, |_| true, BTreeSet::new) else { panic!("not one case") };
    let private = Private::of(&world, &case.claim, &case.closure);
    let said = |told: bool| -> Vec<&str> {
        let findings = case.findings.iter().filter(|finding| !told || !private.is_told_by(finding));
        findings.map(|finding| &*finding.message).collect()
    };
    (said(false).join("\n"), said(true).join("\n"))
}

#[test]
fn findings_tell_no_more_of_what_is_shut_than_the_chain() {
    let secret = "{apiVersion: v1, kind: Secret, metadata: {name: s, namespace: eu-team}, type: kubernetes.io/tls, data: {a: YQ==}}";
    let (all, told) = said("{apiVersion: v1, kind: Secret, name: s, namespace: eu-team}", &[secret]);
    assert!(all.contains("tls.crt"), "{all}");
    assert_eq!(told, "Secret eu-team/s is not open to Credentials of namespace us-team");
    let azure = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, \
        metadata: {name: az, namespace: eu-team}, spec: {type: ServicePrincipal, tenantID: t, clientID: c, \
        clientSecret: {name: hidden, namespace: eu-team}, allowedNamespaces: {}}}";
    let identity = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: az, \
        namespace: eu-team}";
    let (all, told) = said(identity, &[azure]);
    assert!(all.contains("eu-team/hidden"), "{all}");
    assert!(told.contains("eu-team/az is not open to") && !told.contains("hidden"), "{told}");
}

#[test]
fn a_name_is_not_one_that_begins_with_it() {
    for (sentence, expect) in [("x names a/s", true), ("a/s, a/s2", true), ("a/s2", false), ("a/s.b", false)] {
        assert_eq!(mentions(sentence, "a/s"), expect, "{sentence}");
    }
}
