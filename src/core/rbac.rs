//! The rights that reading a live cluster takes, and those that [applying](mod@deliver) a bundle takes, as RBAC manifests:
//! no more than the configuration and today's Credentials need.
//!
//! [`inquiry`] says what is read; here each of its questions becomes a rule, with the reason above it. Secrets are
//! never listed or watched, and no rule has a `*`. This module refuses to know how a cluster is reached: it is told
//! what closures ask for, and how the cluster calls its resources.

pub mod deliver;
pub mod look;
pub mod namespaces;
pub mod owners;
mod write;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::mem;

use self::write::PolicyRule;
pub use self::write::{RbacManifest, Subject};
use crate::capi::cluster::{self, CLUSTERS};
use crate::capi::resource_set::resource_set_kind;
use crate::config::{Companions, Fleet, Source, SourcePlace};
use crate::inquiry::{self, ListedKind};
use crate::listing::few;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Scope, is_dns_label, is_dns_subdomain};
use crate::{capi, kinds};

/// The most bytes of names in one Role; further names go into another Role.
///
/// etcd takes 1.5 MiB a request, but `kubectl apply` keeps a copy of the object in an annotation, and
/// annotations are bounded to 256 KiB in all.
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration>
const MOST_BYTES: usize = 128 << 10;

/// The most Credentials that are named beside one object.
const MOST_TOLD: usize = 3;

/// How Secrets and ConfigMaps are named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Secrets {
    /// One by one, as today's Credentials need them.
    Names,
    /// All Secrets and ConfigMaps of the known namespaces.
    Namespaces,
}

/// The objects that closures ask a source for by name, and the Credentials that do; absent ones too.
pub type AskedByName = BTreeMap<ObjectKey, BTreeSet<Claimant>>;

/// What decides which rights are needed.
#[derive(Clone, Copy)]
pub struct Basis<'a> {
    /// The configuration.
    pub fleet: &'a Fleet,
    /// The cluster.
    pub source: &'a Source,
    /// How Secrets are named.
    pub secrets: Secrets,
    /// The kinds that are listed from the cluster: those of [`inquiry::listed`], and more where these ask for it.
    pub listed: &'a [ListedKind],
    /// What closures ask the source for.
    pub asked: &'a AskedByName,
    /// The resources of kinds, as the cluster's discovery calls them.
    pub plurals: &'a BTreeMap<GroupKind, String>,
    /// Who is given the rights.
    pub subject: &'a Subject,
}

/// Nothing that would suffice can be printed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Insufficient {
    /// No namespace is known whose Secrets could be read.
    #[error(
        "source {0} provides namespaces by patterns, and no Credential says which there are, so the rights on Secrets cannot be told"
    )]
    NoNamespace(String),
}

impl Insufficient {
    /// What to do about it.
    pub fn help(&self) -> &'static str {
        "Name the namespaces under `provides.namespaces` of the source, or run this again once there are Credentials."
    }
}

/// Makes the manifests: the cluster-wide role and its binding, then those of each namespace by name.
///
/// # Errors
/// If nothing is known that tells which rights on Secrets are needed.
pub fn manifests(terms: &Basis<'_>) -> Result<Vec<RbacManifest>, Insufficient> {
    let named = inquiry::namespaces(terms.fleet, &terms.source.provides);
    if terms.secrets == Secrets::Namespaces && named.is_none() && terms.asked.is_empty() {
        return Err(Insufficient::NoNamespace(terms.source.name.to_string()));
    }
    let name = role_name(terms);
    let mut manifests = write::role(&name, None, &split(cluster_rules(terms)), terms.subject);
    for (namespace, rules) in namespace_rules(terms, named.unwrap_or_default()) {
        manifests.extend(write::role(&name, Some(&namespace), &split(rules), terms.subject));
    }
    if let Some(first) = manifests.first_mut() {
        first.text.insert_str(0, &write::comment("", &head(terms)));
    }
    Ok(manifests)
}

/// The name of the roles; fleets and sources are DNS labels, so no other name ends in what [`write::role`] adds.
fn role_name(terms: &Basis<'_>) -> String {
    let is_cluster = |source: &&Source| matches!(source.place, SourcePlace::Cluster { .. });
    match terms.fleet.sources.iter().filter(is_cluster).count() {
        ..=1 => format!("pouch-{}", terms.fleet.name),
        _ => format!("pouch-{}-{}", terms.fleet.name, terms.source.name),
    }
}

fn head(terms: &Basis<'_>) -> Vec<String> {
    let mut lines = vec![
        format!("What pouch may read of source {} for fleet {}.", terms.source.name, terms.fleet.name),
        match terms.listed.iter().any(|listed| listed.kind.is_secret()) {
            false => "It writes nothing, watches nothing and never lists Secrets. Discovery (GET /apis/GROUP) has no rule here:",
            true => "It writes nothing and watches nothing. Discovery (GET /apis/GROUP) has no rule here:",
        }
        .to_owned(),
        "by default the ClusterRole system:discovery gives it to everybody who is authenticated.".to_owned(),
        "A Role can be made only where its namespace exists; --with-namespaces prints the Namespaces, too.".to_owned(),
    ];
    match terms.secrets {
        Secrets::Names => lines.extend([
            "Secrets and ConfigMaps are named as today's Credentials need them. After a Credential is added, or refers to"
                .to_owned(),
            "something else, print and apply this again: until then it is broken (`unread`), and keeps what it has published.".to_owned(),
        ]),
        Secrets::Namespaces => lines.extend([
            "All Secrets of the namespaces below can be read one by one, by whoever knows or guesses their names.".to_owned(),
            "Credentials in other namespaces need more: print and apply this again.".to_owned(),
        ]),
    }
    if terms.asked.keys().any(|key| !can_exist(key)) {
        lines.push("Names that no object can have are left out, whatever refers to them.".to_owned());
    }
    lines
}

fn cluster_rules(terms: &Basis<'_>) -> Vec<PolicyRule> {
    let Basis { fleet, source, .. } = *terms;
    let listed = terms.listed.iter().filter(|listed| listed.namespaces.is_none());
    let mut rules: Vec<PolicyRule> = listed.flat_map(|listed| list_rules(terms, &listed.kind)).collect();
    let looked_at = inquiry::identity_namespaces(fleet, source);
    let why = "The UID of kube-system tells this cluster from another; the system namespace must exist.".to_owned();
    rules.push(PolicyRule {
        names: Some(looked_at.iter().map(|name| (name.to_string(), String::new())).collect()),
        ..rule(terms, &GroupKind::new("", "Namespace"), "get", vec![why])
    });
    if source.provides.cluster_scoped {
        let kinds = identity_kinds(terms, &reached(terms), None);
        rules.extend(kinds.into_iter().map(|kind| identity_rule(terms, &kind, None)));
    }
    rules
}

fn namespace_rules(terms: &Basis<'_>, named: Vec<Namespace>) -> BTreeMap<Namespace, Vec<PolicyRule>> {
    let Basis { fleet, source, secrets, asked, .. } = *terms;
    let mut places: BTreeMap<Namespace, Vec<PolicyRule>> = BTreeMap::new();
    for listed in terms.listed {
        for namespace in listed.namespaces.iter().flatten() {
            places.entry(namespace.clone()).or_default().extend(list_rules(terms, &listed.kind));
        }
    }
    let mut namespaces: BTreeSet<Namespace> = named.into_iter().collect();
    namespaces.extend(asked.keys().filter(|key| can_exist(key)).filter_map(|key| key.namespace.clone()));
    if secrets == Secrets::Namespaces && source.provides.cluster_scoped {
        // References without a namespace of their own lead to the system namespace, or to that of a controller.
        namespaces.extend(fleet.guarded.iter().cloned());
    }
    let reached = reached(terms);
    for namespace in namespaces {
        let mut rules = places.remove(&namespace).unwrap_or_default();
        let kinds = identity_kinds(terms, &reached, Some(&namespace));
        rules.extend(kinds.into_iter().map(|kind| identity_rule(terms, &kind, Some(&namespace))));
        for kind in ["ConfigMap", "Secret"].map(|kind| GroupKind::new("", kind)) {
            rules.extend(match secrets {
                Secrets::Names => named_rule(terms, &kind, &namespace),
                Secrets::Namespaces => all_rule(terms, &kind),
            });
        }
        places.insert(namespace, rules);
    }
    places.retain(|_, rules| !rules.is_empty());
    places
}

/// The rules for a kind that is listed. Of kinds that are published only metadata is: those that a ResourceSyncRule may take
/// are read one by one, and nobody knows before which these are.
fn list_rules(terms: &Basis<'_>, kind: &GroupKind) -> Vec<PolicyRule> {
    if !terms.fleet.publishes(kind) {
        return vec![list_rule(terms, kind)];
    }
    let whole = match kind.is_secret() {
        true => "ResourceSyncRules take some of them; whoever has these two rights can read the values of all.",
        false => "ResourceSyncRules take some of them.",
    };
    let list =
        rule(terms, kind, "list", vec!["Their names and labels say which ResourceSyncRules may take.".to_owned()]);
    vec![list, rule(terms, kind, "get", vec![whole.to_owned()])]
}

fn list_rule(terms: &Basis<'_>, kind: &GroupKind) -> PolicyRule {
    let why = match kind.kind.as_str() {
        "Cluster" if kind.group == CLUSTERS => {
            "Those that regions take without a Credential say which objects name identities."
        }
        _ if cluster::maker(kind).is_some() => "They say which machines a Cluster has.",
        _ if kinds::is_of_clusters(kind) || kinds::is_of_machines(kind) => "They name the identities of Clusters.",
        "ResourceSyncRule" => "They say which objects go to the regions that name them.",
        "ClusterFeature" => "ResourceSyncRules choose sources by them.",
        "ManagedResource" => "They say what is made for the namespaces of the regions that name them.",
        "ClusterResourceSet" => {
            "Those that regions take say which Secrets and ConfigMaps are delivered into guest clusters."
        }
        "ProviderInterface" => "They say which identity kinds there are, and what those refer to.",
        "Region" => "They say which Secrets are kubeconfigs of regions, which never leave.",
        "ClusterDeployment" => "A Credential that one of them names is not withdrawn, and some need companions.",
        "Credential" => "They say what goes to which region.",
        "AccessManagement" => "They hand Credentials of the system namespace to other namespaces.",
        "Namespace" if inquiry::has_namespaces(terms.fleet, terms.source) => {
            "ManagedResources select by their names and labels; so do rules of AccessManagement."
        }
        "Namespace" => "Rules of AccessManagement select by their labels; where all of them list names, this can go.",
        "PlacementDecision" => "They say in which regions grants hold.",
        _ => "All of them are read.",
    };
    rule(terms, kind, "list", vec![why.to_owned()])
}

/// A rule on all objects of a kind.
fn rule(terms: &Basis<'_>, kind: &GroupKind, verb: &'static str, mut why: Vec<String>) -> PolicyRule {
    let known = kinds::plural(kind).or_else(|| terms.plurals.get(kind).map(String::as_str));
    let resource = known.map_or_else(|| guessed(kind, &mut why), ToOwned::to_owned);
    PolicyRule { why, group: kind.group.as_str().to_owned(), resource, verbs: vec![verb], names: None }
}

/// The resource of a kind that nobody knows, which a reason says.
fn guessed(kind: &GroupKind, why: &mut Vec<String>) -> String {
    let resource = guessed_plural(kind);
    why.push(format!("That {kind} is called {resource} is a guess: `kubectl api-resources` tells."));
    resource
}

/// As Kubernetes guesses: `meta.UnsafeGuessKindToResource` of apimachinery.
fn guessed_plural(kind: &GroupKind) -> String {
    let singular = kind.kind.as_str().to_ascii_lowercase();
    match singular.strip_suffix('y') {
        Some(stem) => format!("{stem}ies"),
        None if singular.ends_with('s') => format!("{singular}es"),
        None => format!("{singular}s"),
    }
}

/// The objects of one kind in one place that are asked for, in the order of names.
fn asked_in<'a>(
    terms: &Basis<'a>,
    kind: &'a GroupKind,
    namespace: Option<&'a Namespace>,
) -> impl Iterator<Item = (&'a ObjectKey, &'a BTreeSet<Claimant>)> {
    let least = ObjectKey::new(kind.clone(), namespace.cloned(), Name::from(""));
    let here = terms.asked.range(least..);
    let here = here.take_while(move |(key, _)| key.kind == *kind && key.namespace.as_ref() == namespace);
    here.filter(|(key, _)| can_exist(key))
}

/// The identity kinds that today's Credentials reach.
fn reached(terms: &Basis<'_>) -> BTreeSet<GroupKind> {
    let kinds = terms.asked.keys().map(|key| &key.kind);
    kinds.filter(|kind| !kind.is_secret() && !kind.is_config_map()).cloned().collect()
}

/// The identity kinds that are read in a namespace, or the cluster-scoped ones.
///
/// With [`Secrets::Names`], the kinds of which an object is asked for there; else all that may be published.
fn identity_kinds(
    terms: &Basis<'_>,
    reached: &BTreeSet<GroupKind>,
    namespace: Option<&Namespace>,
) -> BTreeSet<GroupKind> {
    let scope = if namespace.is_some() { Scope::Namespaced } else { Scope::Cluster };
    match terms.secrets {
        Secrets::Names => {
            let here = |kind: &&GroupKind| asked_in(terms, kind, namespace).next().is_some();
            reached.iter().filter(here).cloned().collect()
        }
        Secrets::Namespaces => {
            let built_in = capi::all().filter(|rules| rules.scope == scope);
            let built_in = built_in.map(|rules| rules.group_kind());
            let extra = terms.fleet.kinds.iter().filter(|(_, extra)| extra.scope == scope);
            // Templates make sets on the management cluster, where others may have the names.
            let is_regional = terms.fleet.is_regional(terms.source);
            let is_home = terms.source.provides.cluster_scoped && scope == Scope::Namespaced && !is_regional;
            let sets = (is_home && terms.fleet.makes_resource_sets()).then(resource_set_kind);
            built_in.chain(extra.map(|(kind, _)| kind.clone())).chain(sets).collect()
        }
    }
}

fn identity_rule(terms: &Basis<'_>, kind: &GroupKind, namespace: Option<&Namespace>) -> PolicyRule {
    let by: BTreeSet<&Claimant> = asked_in(terms, kind, namespace).flat_map(|(_, by)| by).collect();
    let why = match by.is_empty() {
        true => "Identities that Credentials may name.".to_owned(),
        false => format!("Identities, for {}.", credentials(by.into_iter())),
    };
    rule(terms, kind, "get", vec![why])
}

fn named_rule(terms: &Basis<'_>, kind: &GroupKind, namespace: &Namespace) -> Option<PolicyRule> {
    let whose = |by: &BTreeSet<Claimant>| match by.is_empty() {
        true => String::new(),
        false => format!("For {}.", credentials(by.iter())),
    };
    let names: BTreeMap<String, String> =
        asked_in(terms, kind, Some(namespace)).map(|(key, by)| (key.name.to_string(), whose(by))).collect();
    let mut why = vec![
        format!("The {kind}s that Credentials need. Companions that are not there stand here as well: that they are"),
        "absent must be proved, and without a right to the name the answer would be 403.".to_owned(),
    ];
    if terms.fleet.names_resource_sets() {
        why.push("So it is with what ClusterResourceSets name.".to_owned());
    }
    if terms.fleet.names_templates() {
        why.push(
            "So it is with the data of ManagedResources, and, of the management cluster, with what has the names"
                .to_owned(),
        );
        why.push("that they make there.".to_owned());
    }
    (!names.is_empty()).then(|| PolicyRule { names: Some(names), ..rule(terms, kind, "get", why) })
}

fn all_rule(terms: &Basis<'_>, kind: &GroupKind) -> Option<PolicyRule> {
    let refers = || terms.asked.keys().any(|key| key.kind == *kind);
    // Some providers of Clusters read ConfigMaps.
    let (sets, templates) = (terms.fleet.names_resource_sets(), terms.fleet.names_templates());
    let is_named = terms.fleet.names_clusters() || sets || templates;
    let has_companions = terms.fleet.companions != Companions::None;
    if kind.is_config_map() && !has_companions && !refers() && !is_named {
        return None;
    }
    let why = match kind.is_secret() {
        true if !has_companions && (sets || templates) => "What identities refer to.",
        true => "What identities refer to, and the companion `<identity>-secret`.",
        false if !has_companions && is_named => "What identities refer to.",
        false => "The companion `<identity>-resource-template`, and what identities refer to.",
    };
    let sets = sets.then(|| "What ClusterResourceSets name.".to_owned());
    let data = templates.then(|| "The data of ManagedResources.".to_owned());
    Some(rule(terms, kind, "get", [why.to_owned()].into_iter().chain(sets).chain(data).collect()))
}

/// Whether the API server would take an object of this name.
fn can_exist(key: &ObjectKey) -> bool {
    let namespace = key.namespace.as_ref().is_none_or(|namespace| is_dns_label(namespace.as_str()));
    namespace && is_dns_subdomain(key.name.as_str())
}

/// `Credential a/b`, or several of them, and how many more.
fn credentials<'a>(by: impl ExactSizeIterator<Item = &'a Claimant>) -> String {
    let all = by.len();
    let by: Vec<&Claimant> = by.collect();
    if by.iter().any(|by| !by.is_credential()) {
        return few(by.iter().map(|by| format!("{by}")), all, MOST_TOLD);
    }
    let noun = if all == 1 { "Credential" } else { "Credentials" };
    format!("{noun} {}", few(by.into_iter().map(Claimant::path), all, MOST_TOLD))
}

/// Divides rules among as many roles as their names need.
fn split(rules: Vec<PolicyRule>) -> Vec<Vec<PolicyRule>> {
    let (mut parts, mut part, mut bytes) = (Vec::new(), Vec::new(), 0);
    for mut rule in rules {
        let Some(names) = rule.names.take() else {
            part.push(rule);
            continue;
        };
        let mut some = BTreeMap::new();
        for (name, why) in names {
            // In JSON a name has quotes and a comma.
            let cost = name.len() + 3;
            if bytes + cost > MOST_BYTES {
                push_named(&mut part, &rule, mem::take(&mut some));
                parts.push(mem::take(&mut part));
                bytes = 0;
            }
            bytes += cost;
            some.insert(name, why);
        }
        push_named(&mut part, &rule, some);
    }
    parts.push(part);
    parts
}

/// Adds a rule for some names, if there are any: a rule without names would be for all of them.
fn push_named(part: &mut Vec<PolicyRule>, rule: &PolicyRule, names: BTreeMap<String, String>) {
    if !names.is_empty() {
        part.push(PolicyRule { names: Some(names), ..rule.clone() });
    }
}

#[cfg(test)]
mod tests;
