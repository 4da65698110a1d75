//! The rights that applying a region's bundle takes.
//!
//! They follow from the kinds and the namespaces of the bundle. Names are left out: they change with every Credential,
//! and who may make Secrets in a namespace may not be held to names anyway.
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#referring-to-resources>

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::write::{self, PolicyRule, RbacManifest, Subject};
use super::{guessed, split};
use crate::capi;
use crate::deliver::{inventory, whose};
use crate::inquiry::IDENTITY_NAMESPACE;
use crate::kinds;
use crate::name::{Directory, FleetName, GroupKind, Namespace, ObjectKey};

/// What decides which rights are needed.
#[derive(Clone, Copy)]
pub struct DeliverBasis<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region's folder.
    pub directory: &'a Directory,
    /// What the bundle holds.
    pub objects: &'a BTreeSet<ObjectKey>,
    /// The namespace of the inventory.
    pub kept_in: &'a Namespace,
    /// Who is given the rights.
    pub subject: &'a Subject,
}

/// Makes the manifests: the cluster-wide role and its binding, then those of each namespace by name.
pub fn manifests(terms: &DeliverBasis<'_>) -> Vec<RbacManifest> {
    let name = format!("pouch-deliver-{}-{}", terms.fleet, terms.directory);
    let mut cluster: Vec<PolicyRule> = namespaces(terms);
    cluster.push(definitions());
    let mut places: BTreeMap<Namespace, Vec<PolicyRule>> = BTreeMap::new();
    places.insert(terms.kept_in.clone(), inventory_rules(terms));
    let kinds: BTreeSet<(Option<&Namespace>, &GroupKind)> = terms
        .objects
        .iter()
        .filter(|key| !key.kind.is_namespace())
        .map(|key| (key.namespace.as_ref(), &key.kind))
        .collect();
    for (namespace, kind) in kinds {
        let rule = rule(kind, &["create", "delete", "get", "patch"], None, Vec::new());
        match namespace {
            Some(namespace) => places.entry(namespace.clone()).or_default().push(rule),
            None => cluster.push(rule),
        }
    }
    let mut manifests = write::role(&name, None, &split(cluster), terms.subject);
    for (namespace, rules) in places {
        manifests.extend(write::role(&name, Some(&namespace), &split(rules), terms.subject));
    }
    if let Some(first) = manifests.first_mut() {
        first.text.insert_str(0, &write::comment("", &head(terms)));
    }
    manifests
}

fn head(terms: &DeliverBasis<'_>) -> Vec<String> {
    vec![
        format!("What `pouch deliver` may do on the region of {}, for fleet {}.", terms.directory, terms.fleet),
        "It lists and watches nothing. Discovery (GET /apis/GROUP) has no rule here: by default the ClusterRole".to_owned(),
        "system:discovery gives it to everybody who is authenticated.".to_owned(),
        "A Role can be made only where its namespace exists; --with-namespaces prints the Namespaces, too.".to_owned(),
        format!("`pouch deliver` needs --inventory-namespace={} unless that is what it takes by itself.", terms.kept_in),
        "The kinds and namespaces are those of the bundle as it is published now. Where it comes to hold others, print and"
            .to_owned(),
        "apply this again before; where it holds them no more, after the run that takes them away.".to_owned(),
    ]
}

fn namespaces(terms: &DeliverBasis<'_>) -> Vec<PolicyRule> {
    let kind = GroupKind::new("", "Namespace");
    let made = terms.objects.iter().filter(|key| key.kind.is_namespace());
    let names: BTreeMap<String, String> = made.map(|key| (key.name.to_string(), String::new())).collect();
    let own = BTreeMap::from([(IDENTITY_NAMESPACE.to_owned(), String::new())]);
    let which = "Its UID tells whether the cluster is the one that the bundle was made for.";
    let identity = rule(&kind, &["get"], Some(own), vec![which.to_owned()]);
    if names.is_empty() {
        return Vec::from([identity]);
    }
    let why = "Namespaces are made where they are missing, which no rule can hold to names, and are never deleted.";
    Vec::from([
        identity,
        rule(&kind, &["create"], None, vec![why.to_owned()]),
        rule(&kind, &["get", "patch"], Some(names), Vec::new()),
    ])
}

/// Definitions of the kinds that bundles can hold, those that left the bundle too.
fn definitions() -> PolicyRule {
    let kinds = capi::all();
    let names = kinds.map(|rules| (format!("{}.{}", rules.plural, capi::GROUP), String::new())).collect();
    let why = "Whether objects of a kind that is not served are gone, or only not to be seen.";
    rule(&GroupKind::new("apiextensions.k8s.io", kinds::DEFINITION), &["get"], Some(names), vec![why.to_owned()])
}

fn inventory_rules(terms: &DeliverBasis<'_>) -> Vec<PolicyRule> {
    let kind = GroupKind::new("", "ConfigMap");
    let name = inventory::name(terms.fleet, terms.directory).to_string();
    let why = "The inventory of what was applied, and the names of bundles; no rule can hold to names what is made.";
    Vec::from([
        rule(&kind, &["create"], None, vec![why.to_owned()]),
        rule(
            &kind,
            &["get", "patch"],
            Some(BTreeMap::from([(name, String::new()), (whose::bundles().to_string(), String::new())])),
            Vec::new(),
        ),
    ])
}

fn rule(
    kind: &GroupKind,
    verbs: &[&'static str],
    names: Option<BTreeMap<String, String>>,
    mut why: Vec<String>,
) -> PolicyRule {
    let resource = kinds::plural(kind).map_or_else(|| guessed(kind, &mut why), str::to_owned);
    PolicyRule { why, group: kind.group.as_str().to_owned(), resource, verbs: verbs.to_vec(), names }
}
