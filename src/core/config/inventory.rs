//! Inventory: which objects describe a region's cluster, and how the cluster is looked into.
//!
//! The configuration ties a region to objects; an object never ties itself.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region};

/// Which objects describe a region's cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inventory {
    /// k0rdent's Region; by default the one with the region's own name.
    pub region: Region,
    /// The ClusterProfile.
    pub profile: Option<ProfileTie>,
    /// The Cluster of the cluster registry.
    pub registry: Option<Name>,
    /// The conditions without which the region stays as it is published.
    pub gate: BTreeSet<String>,
    /// How the cluster is looked into.
    pub look: Option<Look>,
}

impl Inventory {
    /// That of a region of which the configuration says nothing.
    pub fn of(region: Region) -> Self {
        Self { region, profile: None, registry: None, gate: BTreeSet::new(), look: None }
    }

    /// The key of the Cluster of the cluster registry.
    pub fn registry(&self) -> Option<ObjectKey> {
        let kind = GroupKind::new(crate::kinds::REGISTRY, "Cluster");
        self.registry.as_ref().map(|name| ObjectKey::new(kind, None, name.clone()))
    }
}

/// Which ClusterProfile describes a region's cluster.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileTie {
    /// The namespace, which is one inventory.
    pub namespace: Namespace,
    /// Which of those in it.
    pub by: ProfileBy,
    /// Who must manage it.
    pub manager: Option<String>,
}

/// What tells one ClusterProfile of an inventory from the others.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileBy {
    /// Its name.
    Name(Name),
    /// Its properties: those of exactly one.
    Properties(BTreeMap<String, String>),
    /// Its labels: those of exactly one.
    Labels(BTreeMap<String, String>),
}

/// How a region's cluster is looked into.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Look {
    /// By a context of a kubeconfig.
    Kubeconfig {
        /// The kubeconfig, relative to the configuration; none for the usual places.
        kubeconfig: Option<String>,
        /// The context; none if there is only one to choose.
        context: Option<String>,
    },
    /// As its ClusterProfile says, by a plugin of this provider file, which is relative to the configuration.
    Providers(String),
}
