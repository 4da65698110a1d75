//! Whose an object is: which Credentials need what a source was asked for.
//!
//! Reviewers read it beside each name. It decides no right: what was asked for has one, whoever's it is.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::Asked;
use crate::claim::Claim;
use crate::closure::{View, close};
use crate::finding::{Code, Finding};
use crate::object::ObjectKey;

/// Adds the Credentials to what was asked for; and says what keeps the names from being all of them.
///
/// That is whatever could not be read and is no Secret: Secrets lead nowhere, so that nobody read them
/// says nothing, but what stands behind an identity that was not read is not known.
pub fn owners<'a>(
    view: &View<'_>,
    claims: impl Iterator<Item = &'a Claim>,
    asked: &BTreeSet<ObjectKey>,
) -> (Asked, Vec<Finding>) {
    let mut owned: Asked = asked.iter().map(|key| (key.clone(), BTreeSet::new())).collect();
    let mut findings = Vec::new();
    // By kind, name and namespace of an absent companion, which is no member.
    let mut companions: BTreeMap<ObjectKey, BTreeSet<_>> = BTreeMap::new();
    for claim in claims {
        let closure = close(view, claim);
        for member in &closure.members {
            if let Some(by) = owned.get_mut(&member.read) {
                by.insert(claim.by.clone());
            }
        }
        if let Some(root) = closure.members.first() {
            for key in companions_of(view, claim, &root.read) {
                companions.entry(key).or_default().insert(claim.by.clone());
            }
        }
        let unread = |finding: &Finding| {
            let secret = finding.object.as_ref().is_some_and(|key| key.kind.is_secret());
            finding.code == Code::Unread && !secret
        };
        findings.extend(closure.findings.into_iter().filter(unread));
    }
    for (key, by) in companions {
        if let Some(owners) = owned.get_mut(&key) {
            owners.extend(by);
        }
    }
    (owned, findings)
}

/// Where the companions of a claim may stand, see [`companion`](crate::closure::companion).
fn companions_of(view: &View<'_>, claim: &Claim, root: &ObjectKey) -> impl Iterator<Item = ObjectKey> {
    let places: BTreeSet<_> = [root.namespace.clone(), claim.root.namespace.clone()]
        .into_iter()
        .flatten()
        .chain([claim.by.namespace.clone(), view.fleet.system_namespace.clone()])
        .collect();
    let template = format!("{}-resource-template", claim.root.name);
    let secret = format!("{}-secret", claim.root.name);
    places.into_iter().flat_map(move |namespace| {
        [
            ObjectKey::config_map(namespace.clone(), template.as_str().into()),
            ObjectKey::secret(namespace, secret.as_str().into()),
        ]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inquiry;
    use crate::testing::case::{Document, World, key, show};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};
    use alloc::string::{String, ToString};
    use alloc::vec;
    use serde_json::json;

    fn world(documents: &[&str], incomplete: Vec<String>) -> World {
        let document = |text: &&str| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
        let documents = documents.iter().map(document).collect();
        World { config: json!({"companions": "follow"}), documents, incomplete, run: json!({}) }
    }

    const CREDENTIAL: &str = "{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, \
        metadata: {name: aws, namespace: team-a}, spec: {region: eu, identityRef: {kind: AWSClusterStaticIdentity, \
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, name: aws-main}}}";
    const IDENTITY: &str = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, \
        metadata: {name: aws-main}, spec: {secretRef: aws-main-keys, allowedNamespaces: {}}}";

    fn said(world: &World, keys: &[&str]) -> (Vec<String>, usize) {
        let desk = Desk::new(world);
        let asked = crate::claim::claims(&desk.fleet, &desk.snapshot);
        let keys = keys.iter().map(|text| key(text)).collect();
        let (owned, findings) = owners(&desk.view(), inquiry::claims(&asked), &keys);
        let line = |(key, by): (&ObjectKey, &BTreeSet<_>)| {
            let by: Vec<String> = by.iter().map(ToString::to_string).collect();
            format!("{}: {}", show(key), by.join(", "))
        };
        (owned.iter().map(line).collect(), findings.len())
    }

    #[test]
    fn each_name_says_whose_it_is() {
        let keys = [
            "AWSClusterStaticIdentity aws-main",
            "ConfigMap team-a/aws-main-resource-template",
            "ConfigMap kcm-system/aws-main-resource-template",
            "Secret kcm-system/aws-main-keys",
            "Secret team-a/aws-main-secret",
            "Secret team-a/elsewhere",
        ];
        let (lines, unread) = said(&world(&[CREDENTIAL, IDENTITY], vec![]), &keys);
        let expect = [
            "ConfigMap kcm-system/aws-main-resource-template: team-a/aws",
            "ConfigMap team-a/aws-main-resource-template: team-a/aws",
            "Secret kcm-system/aws-main-keys: team-a/aws",
            "Secret team-a/aws-main-secret: team-a/aws",
            "Secret team-a/elsewhere: ",
            "AWSClusterStaticIdentity aws-main: team-a/aws",
        ];
        assert_eq!((lines, unread), (expect.map(String::from).to_vec(), 0));
    }

    #[test]
    fn an_identity_that_was_not_read_is_told_and_a_secret_is_not() {
        let incomplete = || vec!["all".to_string()];
        assert_eq!(said(&world(&[CREDENTIAL], incomplete()), &[]).1, 2, "the identity and the ConfigMap");
        assert_eq!(said(&world(&[CREDENTIAL, IDENTITY], incomplete()), &[]).1, 1, "the ConfigMap alone");
    }
}
