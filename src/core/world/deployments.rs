//! Deployments: which ClusterDeployments use which Credential.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::k0rdent;
use crate::name::{Claimant, GroupKind, Namespace};
use crate::node::Node;
use crate::snapshot::Snapshot;

/// Which ClusterDeployments use which Credential.
#[derive(Default)]
pub struct Deployments {
    propagate: BTreeMap<Claimant, bool>,
    /// Namespaces that hold a ClusterDeployment whose Credential is unknown.
    doubtful: BTreeSet<Namespace>,
}

impl Deployments {
    /// Reads the ClusterDeployments of the snapshot.
    pub fn collect(snapshot: &Snapshot) -> Self {
        let mut propagate: BTreeMap<Claimant, bool> = BTreeMap::new();
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
            let credential = Claimant::credential(namespace.clone(), name.into());
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
    pub fn use_credential(&self, credential: &Claimant) -> bool {
        self.propagate.contains_key(credential)
    }

    /// Whether some ClusterDeployment that names the Credential wants it propagated.
    pub fn propagate(&self, credential: &Claimant) -> bool {
        self.propagate.get(credential).copied().unwrap_or(false)
    }
}
