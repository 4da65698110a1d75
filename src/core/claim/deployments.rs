//! Deployments: which ClusterDeployments use which Credential.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::finding::{Code, Finding};
use crate::k0rdent;
use crate::name::{Claimant, GroupKind, Namespace, ObjectKey};
use crate::nearest::edits;
use crate::node::Node;
use crate::object::finding_of;
use crate::snapshot::Snapshot;

/// The field that was probably meant to name the Credential.
fn mistyped_credential(spec: &Node) -> Option<&str> {
    spec.entries().iter().map(|(key, _)| &**key).find(|key| edits(key, "credential").is_some())
}

/// Which ClusterDeployments use which Credential.
#[derive(Default)]
pub struct Deployments {
    users: BTreeMap<Claimant, Users>,
    /// Namespaces that hold a ClusterDeployment whose Credential is unknown.
    doubtful: BTreeSet<Namespace>,
}

/// The ClusterDeployments that use one Credential.
struct Users {
    first: ObjectKey,
    /// True if one of them wants it propagated.
    wants: bool,
}

/// The kind of what uses Credentials.
pub fn kind() -> GroupKind {
    GroupKind::new(k0rdent::GROUP, "ClusterDeployment")
}

impl Deployments {
    /// Reads the ClusterDeployments of the snapshot.
    pub fn collect(snapshot: &Snapshot) -> (Self, Vec<Finding>) {
        let mut findings = Vec::new();
        let mut users: BTreeMap<Claimant, Users> = BTreeMap::new();
        let mut doubtful = BTreeSet::new();
        for object in snapshot.all(&kind()) {
            let Some(namespace) = &object.key.namespace else { continue };
            let spec = object.at(&["spec"]);
            let named = spec.and_then(|spec| spec.at(&["credential"]));
            let is_odd = spec.is_some_and(|spec| !spec.is_map()) || named.is_some_and(|name| name.as_str().is_none());
            let is_open = named.is_none() && !object.is_mistyped();
            let mistyped = spec.filter(|_| is_open).and_then(mistyped_credential);
            if let Some(field) = mistyped {
                let message = format!("spec of {} has no field {field:?}, so its Credential is unknown", object.key);
                let finding = Finding::new(Code::Mistyped, message).about(&object.key).at(&object.origin);
                findings.push(finding.help("Did you mean credential?"));
            }
            findings
                .extend(object.faults.iter().filter(|it| it.code == Code::Mistyped).map(|it| finding_of(it, object)));
            let is_odd = is_odd || mistyped.is_some();
            if is_odd || !object.faults.is_empty() {
                doubtful.insert(namespace.clone());
            }
            let Some(name) = named.and_then(Node::as_str) else { continue };
            let credential = Claimant::credential(namespace.clone(), name.into());
            let wants = object.at(&["spec", "propagateCredentials"]).and_then(Node::as_bool).unwrap_or(true);
            let known = users.entry(credential);
            known.or_insert_with(|| Users { first: object.key.clone(), wants: false }).wants |= wants;
        }
        (Self { users, doubtful }, findings)
    }

    /// The first ClusterDeployment that names a Credential.
    pub fn first_of(&self, credential: &Claimant) -> Option<&ObjectKey> {
        self.users.get(credential).map(|users| &users.first)
    }

    /// The code that says why a Credential that is gone counts as used, if it does: a ClusterDeployment names it, or
    /// nobody can tell.
    pub fn keep(&self, credential: &Claimant, snapshot: &Snapshot) -> Option<Code> {
        let namespace = credential.namespace();
        if self.users.contains_key(credential) {
            Some(Code::CredentialInUse)
        } else if snapshot.unread_in(&kind(), Some(namespace)).is_some() || self.doubtful.contains(namespace) {
            Some(Code::DeletionUnproved)
        } else {
            None
        }
    }

    /// Whether some ClusterDeployment that names the Credential wants it propagated.
    pub fn propagate(&self, credential: &Claimant) -> bool {
        self.users.get(credential).is_some_and(|users| users.wants)
    }
}
