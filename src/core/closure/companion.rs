//! Companions: the two objects without which `propagateCredentials` does not work on a region.
//!
//! k0rdent does not distribute them (k0rdent/kcm#2836). Sveltos reads ConfigMap
//! `<identity>-resource-template` and hard-codes the name of Secret `<identity>-secret`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

use super::landing::Places;
use super::open::{Sought, is_open, is_shut};
use super::{Closure, Member, Role, Via, View};
use crate::claim::Claim;
use crate::config::{Companions, Grant};
use crate::finding::{Code, CredentialName, Finding, Severity};
use crate::k0rdent;
use crate::name::{GroupKind, Name, Namespace};
use crate::node::Node;
use crate::object::ObjectKey;
use crate::snapshot::{Lookup, Snapshot, Unread};

/// Which ClusterDeployments use which Credential.
#[derive(Default)]
pub struct Deployments {
    propagate: BTreeMap<CredentialName, bool>,
    /// Namespaces with one that does not say, or cannot be believed, which it uses.
    doubtful: BTreeSet<Namespace>,
}

impl Deployments {
    /// Reads the ClusterDeployments of the snapshot.
    pub fn collect(snapshot: &Snapshot) -> Self {
        let mut propagate: BTreeMap<CredentialName, bool> = BTreeMap::new();
        let mut doubtful = BTreeSet::new();
        for object in snapshot.all(&GroupKind::new(k0rdent::GROUP, "ClusterDeployment")) {
            let Some(namespace) = &object.key.namespace else { continue };
            let spec = object.at(&["spec"]);
            let named = spec.and_then(|spec| spec.at(&["credential"]));
            let is_odd = spec.is_some_and(|spec| !spec.is_map()) || named.is_some_and(|name| name.as_str().is_none());
            if is_odd || !object.faults.is_empty() {
                doubtful.insert(namespace.clone());
            }
            let Some(name) = named.and_then(Node::as_str) else { continue };
            let credential = CredentialName { namespace: namespace.clone(), name: name.into() };
            let wants = object.at(&["spec", "propagateCredentials"]).and_then(Node::as_bool).unwrap_or(true);
            let known = propagate.entry(credential).or_default();
            *known = *known || wants;
        }
        Self { propagate, doubtful }
    }

    /// Whether some ClusterDeployment of a namespace may use a Credential, and nobody can tell.
    pub fn may_use_any(&self, namespace: &Namespace) -> bool {
        self.doubtful.contains(namespace)
    }

    /// Whether some ClusterDeployment names the Credential.
    pub fn use_credential(&self, credential: &CredentialName) -> bool {
        self.propagate.contains_key(credential)
    }

    /// Whether some ClusterDeployment that names it wants it propagated.
    pub fn propagate(&self, credential: &CredentialName) -> bool {
        self.propagate.get(credential).copied().unwrap_or(false)
    }
}

/// Adds the companions of a claim's identity.
pub fn add(view: &View<'_>, claim: &Claim, closure: &mut Closure) {
    if view.fleet.companions == Companions::None {
        return;
    }
    let Some(root) = closure.members.first().cloned() else { return };
    if !super::is_publishable(view.fleet, &root.read.kind) {
        return;
    }
    resource_template(view, claim, closure, &root);
    // Where the identity itself is a Secret, Sveltos reads that one.
    if !root.read.kind.is_secret() {
        propagation_secret(view, claim, closure, &root);
    }
}

fn resource_template(view: &View<'_>, claim: &Claim, closure: &mut Closure, root: &Member) {
    let name = Name::new(format!("{}-resource-template", claim.root.name));
    let own = claim.by.namespace.clone();
    let candidates: Vec<Namespace> = match &root.read.namespace {
        Some(namespace) => [namespace.clone()].into(),
        None => [claim.root.namespace.clone(), Some(own.clone()), Some(view.fleet.system_namespace.clone())]
            .into_iter()
            .flatten()
            .collect(),
    };
    let lands = ObjectKey::config_map(own, name.clone());
    let reads = candidates.into_iter().map(|namespace| ObjectKey::config_map(namespace, name.clone()));
    let is_open = |read: &ObjectKey| {
        let sought = Sought { read, role: Role::ResourceTemplate, referrer: Some(0) };
        is_open(view.fleet, claim, closure, &sought)
    };
    let (open, closed): (Vec<ObjectKey>, Vec<ObjectKey>) = reads.partition(is_open);
    let found = match (first_found(view.snapshot, open.into_iter()), closed.into_iter().next()) {
        (Found::Nowhere, Some(closed)) => Found::Closed(closed),
        (found, _) => found,
    };
    settle(view, claim, closure, Companion { found, lands, role: Role::ResourceTemplate });
}

fn propagation_secret(view: &View<'_>, claim: &Claim, closure: &mut Closure, root: &Member) {
    let name = Name::new(format!("{}-secret", claim.root.name));
    let namespace = claim.root.namespace.clone().unwrap_or_else(|| claim.by.namespace.clone());
    let lands = ObjectKey::secret(namespace.clone(), name);
    if closure.members.iter().any(|member| member.lands == lands) {
        return;
    }
    // It is read where it lands and nowhere else: taking it from the system namespace would hand a
    // tenant's namespace on the region a Secret that its own cluster keeps from it.
    let read = match (&root.read.namespace, &root.lands.namespace) {
        (Some(read), Some(landed)) if read != landed => ObjectKey::secret(read.clone(), lands.name.clone()),
        _ => lands.clone(),
    };
    // Where the claim may not look it is nobody's to look for, and nobody else's to put there.
    let sought = Sought { read: &read, role: Role::PropagationSecret, referrer: Some(0) };
    let beyond = namespace != claim.by.namespace && !view.fleet.grants(&claim.by, claim.region(), &read);
    let found = match is_open(view.fleet, claim, closure, &sought) {
        _ if beyond => return,
        true => first_found(view.snapshot, [read].into_iter()),
        false => Found::Closed(read),
    };
    settle(view, claim, closure, Companion { found, lands, role: Role::PropagationSecret });
}

fn severity_of_missing(view: &View<'_>, claim: &Claim) -> Severity {
    if view.deployments.propagate(&claim.by) { Severity::Warning } else { Severity::Info }
}

enum Found<'a> {
    At(ObjectKey),
    Nowhere,
    Unknown(ObjectKey, Unread<'a>),
    Unasked(ObjectKey),
    /// It could only be where the claim may not look.
    Closed(ObjectKey),
}

fn first_found(snapshot: &Snapshot, keys: impl Iterator<Item = ObjectKey>) -> Found<'_> {
    for key in keys {
        match snapshot.look_up(&key) {
            Lookup::Found(_) => return Found::At(key),
            Lookup::Unread(unread) => return Found::Unknown(key, unread),
            Lookup::Unasked => return Found::Unasked(key),
            Lookup::Absent => {}
        }
    }
    Found::Nowhere
}

struct Companion<'a> {
    found: Found<'a>,
    lands: ObjectKey,
    role: Role,
}

fn settle(view: &View<'_>, claim: &Claim, closure: &mut Closure, companion: Companion<'_>) {
    let Companion { found, lands, role } = companion;
    match found {
        Found::At(read) => {
            let field = if role == Role::ResourceTemplate { "companion resource-template" } else { "companion secret" };
            let via = Via { interface: None, field: field.into() };
            closure.members.push(Member::new(Places { read, lands }, role, [via].into(), Some(0)));
        }
        Found::Unknown(key, unread) => closure.find(claim, unread.finding(&key)),
        Found::Unasked(key) => {
            let root = closure.members.first().and_then(|root| view.snapshot.get(&root.read));
            match root.is_some_and(|identity| is_shut(view.fleet, claim, identity)) {
                true => closure.closed = true,
                false => closure.want(claim, &key),
            }
        }
        Found::Closed(read) => {
            let message = format!(
                "{read} is not looked for, because Credentials of namespace {} may not use it; without it credentials \
                 do not reach workload clusters",
                claim.by.namespace
            );
            let help = format!(
                "If it exists and this use is intended, add to `grants`: `- {}`.",
                Grant::least(&claim.by, claim.region(), &read)
            );
            let finding = Finding::new(Code::MissingCompanion, message).severity(severity_of_missing(view, claim));
            closure.find(claim, finding.about(&lands).at(&claim.origin).help(help));
        }
        Found::Nowhere => {
            let severity = severity_of_missing(view, claim);
            let message = format!("{lands} is absent; without it credentials do not reach workload clusters");
            closure.find(
                claim,
                Finding::new(Code::MissingCompanion, message).severity(severity).about(&lands).at(&claim.origin).help(
                    "Add it beside the identity, or set propagateCredentials: false on the ClusterDeployments that use it.",
                ),
            );
        }
    }
}
