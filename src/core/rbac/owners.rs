//! Owners: which Credentials need the objects that a source was asked for.
//!
//! Reviewers read the owners beside each name. They decide no right: what was asked for has one, whoever needs it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::AskedByName;
use crate::claim::Claim;
use crate::claim::template::TemplateSpec;
use crate::closure::projection::may_read_companions;
use crate::closure::{close, of_root};
use crate::config::{Companions, Grant, Granted, Grantee, Resolution};
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{Claimant, Name, Namespace, ObjectKey};
use crate::world::{Granting, World};

/// Adds the owners to the objects that were asked for, and says why further names may be missing.
///
/// `source` is its index. Names may be missing behind whatever could not be read and is no Secret: Secrets lead
/// nowhere, so an unread Secret hides nothing, but nobody knows what stands behind an unread identity.
pub fn owners<'a>(
    world: &World<'_>,
    claims: impl Iterator<Item = &'a Claim>,
    source: usize,
    asked: &BTreeSet<ObjectKey>,
) -> (AskedByName, Vec<Finding>) {
    let mut owned: AskedByName = asked.iter().map(|key| (key.clone(), BTreeSet::new())).collect();
    let mut findings = Vec::new();
    // By kind, name and namespace of an absent companion, which is no member.
    let mut companions: BTreeMap<ObjectKey, BTreeSet<_>> = BTreeMap::new();
    for claim in claims {
        let closure = close(world, claim);
        // At home, what stands where a member lands is read too.
        for key in closure.members.iter().flat_map(|member| [&member.read, &member.lands]) {
            if let Some(by) = owned.get_mut(key) {
                by.insert(claim.by.clone());
            }
        }
        let template = world.facts.templates.spec_of(&claim.by);
        for datum in template.into_iter().flat_map(|template| &template.data) {
            if let Some(by) = owned.get_mut(&datum.object) {
                by.insert(claim.by.clone());
            }
        }
        let follows_companions = may_read_companions(world, claim);
        if let Some((root, asked)) = closure.members.first().zip(claim.root()).filter(|_| follows_companions) {
            for key in companions_of(world, &claim.by, (&asked.name, asked.namespace.as_ref()), &root.read) {
                companions.entry(key).or_default().insert(claim.by.clone());
            }
        }
        for key in granted(world, claim) {
            if owned.contains_key(&key) || world.snapshot.unasked(&key).any(|index| index == source) {
                owned.entry(key).or_default().insert(claim.by.clone());
            }
        }
        let unread = |finding: &Finding| {
            let secret = finding.object.as_ref().is_some_and(|key| key.kind.is_secret());
            finding.code == Code::Unread && !secret
        };
        findings.extend(closure.findings.into_iter().filter(unread));
    }
    for key in data(world, source) {
        owned.entry(key).or_default();
    }
    for (key, by) in companions {
        if let Some(owners) = owned.get_mut(&key) {
            owners.extend(by);
        }
    }
    (owned, findings)
}

/// What templates are given of a source, whoever they are for: that hangs on namespaces which only a look into the region
/// may know.
fn data(world: &World<'_>, source: usize) -> BTreeSet<ObjectKey> {
    let Some(source) = world.fleet.sources.get(source) else { return BTreeSet::new() };
    let is_granted = |(name, spec): (&Name, &TemplateSpec), key: &ObjectKey| {
        let is_for = |from: &Grantee| match from {
            Grantee::Template(template) => template == name,
            // One to a namespace is one to what is rendered for it.
            Grantee::Namespace(namespace) => spec.may_be_for(namespace),
            Grantee::Claimant(_) | Grantee::SyncRule(_) => false,
        };
        let names = |grant: &Grant| matches!(&grant.to, Granted::Object(granted) if granted == key);
        world.fleet.grants.iter().any(|grant| names(grant) && is_for(&grant.from))
    };
    let of = |(name, spec): (&Name, &TemplateSpec)| {
        let template = ObjectKey::new(kinds::managed_resource(), None, name.clone());
        let is_own = world.snapshot.agreeing(&template).any(|copy| copy.origin.source == source.name);
        let objects = spec.data.iter().map(|datum| datum.object.clone());
        let provides = |key: &ObjectKey| source.provides.admits(key, &world.fleet.guarded);
        objects.filter(|key| provides(key) && (is_own || is_granted((name, spec), key))).collect::<Vec<_>>()
    };
    world.facts.templates.specs.iter().flat_map(of).collect()
}

/// What a claim also asks for if its root is a Secret that is absent where the Credential says: a grant lets the claim
/// use the one in the system namespace.
///
/// Nobody read the Secret, so it may well be absent.
fn granted(world: &World<'_>, claim: &Claim) -> Vec<ObjectKey> {
    // Of what a Cluster names, nothing is looked for elsewhere.
    let Some(root) = claim.root() else { return Vec::new() };
    let places = of_root(world, claim, root, Resolution::Kcm);
    let system = places.read.namespace.clone();
    let Some(system) = system.filter(|_| root.kind.is_secret() && claim.resolution() != Resolution::Kcm) else {
        return Vec::new();
    };
    // What hangs on a placement that was not read may be asked for once it is.
    let may_be = |key: &ObjectKey| !matches!(world.granting(&claim.by, claim.region(), key), Granting::No);
    if !may_be(&places.read) {
        return Vec::new();
    }
    let template = ObjectKey::config_map(system, format!("{}-resource-template", root.name).as_str().into());
    let follows = world.fleet.companions == Companions::Follow && may_read_companions(world, claim);
    let companion = follows.then_some(template);
    // The template beside it is looked for only where a grant opens the template too.
    let companion = companion.filter(may_be);
    [places.read].into_iter().chain(companion).collect()
}

/// Where the companions of a claim may stand, see `closure/companion.rs`.
fn companions_of(
    world: &World<'_>,
    by: &Claimant,
    (name, namespace): (&Name, Option<&Namespace>),
    read: &ObjectKey,
) -> impl Iterator<Item = ObjectKey> {
    let places: BTreeSet<_> = [read.namespace.as_ref(), namespace]
        .into_iter()
        .flatten()
        .cloned()
        .chain([by.namespace().clone(), world.fleet.system_namespace.clone()])
        .collect();
    let template = format!("{name}-resource-template");
    let secret = format!("{name}-secret");
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
    use crate::name::Claimant;
    use crate::snapshot::{Inquiry, assemble};
    use crate::testing::case::{Document, Scene, fleet, key, readings, show};
    use crate::testing::stages::Desk;
    use crate::testing::{node, yaml};
    use alloc::string::{String, ToString};
    use serde_json::json;

    fn world(documents: &[&str], incomplete: Vec<String>) -> Scene {
        let document = |text: &&str| Document { source: "all".into(), node: node(&yaml(text)), line: 1 };
        let documents = documents.iter().map(document).collect();
        Scene { config: json!({"companions": "follow"}), documents, incomplete, run: json!({}) }
    }

    const CREDENTIAL: &str = "{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, \
        metadata: {name: aws, namespace: team-a}, spec: {region: eu, identityRef: {kind: AWSClusterStaticIdentity, \
        apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, name: aws-main}}}";
    const IDENTITY: &str = "{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, \
        metadata: {name: aws-main}, spec: {secretRef: aws-main-keys, allowedNamespaces: {}}}";

    fn said(world: &Scene, keys: &[&str]) -> (Vec<String>, usize) {
        said_at(Desk::new(world), keys)
    }

    fn said_at(desk: Desk, keys: &[&str]) -> (Vec<String>, usize) {
        let keys = keys.iter().map(|text| key(text)).collect();
        let (owned, findings) = owners(&desk.world(), desk.facts.rendered(&desk.fleet), 0, &keys);
        let line = |(key, by): (&ObjectKey, &BTreeSet<_>)| {
            let by: Vec<String> = by.iter().map(Claimant::path).collect();
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

    #[test]
    fn data_of_a_template_is_what_a_grant_opens_to_it() {
        let template = "{apiVersion: automation.kubensync.com/v1alpha1, kind: ManagedResource, metadata: {name: pull}, \
            spec: {namespaceSelector: {regex: ^team}, template: {literal: 'a: b', \
            data: [{name: x, type: Secret, ref: {name: x, namespace: vault}}]}}}";
        let sources = json!([{"name": "all", "provides": {"namespaces": ["team-a"], "clusterScoped": true}},
            {"name": "vault", "provides": {"namespaces": ["vault"]}}]);
        let to = json!({"namespace": "vault", "kind": "Secret", "name": "x"});
        for (from, is_read) in [
            (json!({"template": "pull"}), true),
            (json!({"namespace": "team-a"}), true),
            (json!({"namespace": "other"}), false),
            (json!({"template": "other"}), false),
            (json!({"syncRule": "pull"}), false),
        ] {
            let mut world = world(&[template], vec![]);
            world.config = json!({"sources": sources, "regions": {"eu": {"templates": ["*"]}},
                "grants": [{"from": from, "to": to, "regions": ["eu"]}]});
            let desk = Desk::new(&world);
            assert_eq!(!data(&desk.world(), 1).is_empty(), is_read, "{from}");
        }
    }

    /// Where Secrets are not read, what follows from the absence of one must be foreseen.
    #[test]
    fn what_a_grant_opens_in_place_of_an_absent_secret_is_asked_for_too() {
        let credential = "{apiVersion: k0rdent.mirantis.com/v1beta1, kind: Credential, \
            metadata: {name: a, namespace: team-a}, \
            spec: {region: eu, identityRef: {apiVersion: v1, kind: Secret, name: az, namespace: team-a}}}";
        let grant = json!({"from": {"namespace": "team-a"}, "regions": ["eu"],
            "to": {"namespace": "kcm-system", "kind": "Secret", "name": "az"}});
        let of_template = json!({"from": {"namespace": "team-a"}, "regions": ["eu"],
            "to": {"namespace": "kcm-system", "kind": "ConfigMap", "name": "az-resource-template"}});
        let placed = json!({"from": {"namespace": "team-a"}, "regions": [{"placement": {"namespace": "fleet", "decisionKey": "app"}}],
            "to": {"namespace": "kcm-system", "kind": "Secret", "name": "az"}});
        let tied = json!({"eu": {"inventory": {"clusterProfile": {"namespace": "fleet", "name": "eu-1"}}}});
        for (grants, expect) in [
            (
                json!([grant, of_template]),
                &["ConfigMap kcm-system/az-resource-template: team-a/a", "Secret kcm-system/az: team-a/a"][..],
            ),
            (json!([grant]), &["Secret kcm-system/az: team-a/a"]),
            // The source has not listed the placement: once it has, the grant may hold.
            (json!([placed]), &["Secret kcm-system/az: team-a/a"]),
            (json!([]), &[]),
        ] {
            let mut world = world(&[credential], vec![]);
            world.config = json!({"companions": "follow", "grants": grants, "regions": tied});
            let fleet = fleet(&world.config);
            let mut readings = readings(&fleet, &world);
            readings[0].inquiry = Some(Inquiry::default());
            let (snapshot, found) = assemble(&fleet, readings);
            let (lines, _) = said_at(Desk::of(fleet, snapshot, found), &["Secret team-a/az"]);
            let own = "Secret team-a/az: team-a/a";
            assert_eq!(lines, expect.iter().copied().chain([own]).collect::<Vec<_>>());
        }
    }
}
