//! Inventory: which objects describe a region's cluster, and how the cluster is looked into.
//!
//! The configuration ties a region to objects; an object never ties itself.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region};
use crate::yaml::emit::Tree;

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

impl Inventory {
    /// What is said of the cluster of a region of this name, where anything is.
    pub(super) fn fields(&self, name: &Region) -> Vec<(&'static str, Tree<'_>)> {
        let Inventory { region: tied, profile, registry, gate, look } = self;
        fn texts(pairs: &BTreeMap<String, String>) -> Tree<'_> {
            Tree::map(pairs.iter().map(|(key, value)| (key.as_str(), Tree::text(value.as_str()))))
        }
        let profile = profile.as_ref().map(|tie| {
            let by = match &tie.by {
                ProfileBy::Name(name) => ("name", Tree::text(name.as_str())),
                ProfileBy::Properties(properties) => ("property", texts(properties)),
                ProfileBy::Labels(labels) => ("labels", texts(labels)),
            };
            let manager = tie.manager.as_ref().map(|manager| ("manager", Tree::text(manager.as_str())));
            let fields = [("namespace", Tree::text(tie.namespace.as_str())), by];
            ("clusterProfile", Tree::map(fields.into_iter().chain(manager)))
        });
        let registry = registry.as_ref().map(|name| ("registryCluster", Tree::text(name.as_str())));
        let tied = (tied != name).then(|| ("region", Tree::text(tied.as_str())));
        let objects: Vec<_> = tied.into_iter().chain(profile).chain(registry).collect();
        let objects = (!objects.is_empty()).then(|| ("inventory", Tree::map(objects)));
        let gate = gate.iter().map(|condition| Tree::text(condition.as_str())).collect();
        let gate = (!self.gate.is_empty()).then(|| ("gate", Tree::List(gate)));
        let look = look.as_ref().map(|look| {
            let fields = match look {
                Look::Providers(file) => vec![("providers", Tree::text(file.as_str()))],
                Look::Kubeconfig { kubeconfig, context } => {
                    let fields = [("kubeconfig", kubeconfig), ("context", context)];
                    let given = fields.into_iter().filter_map(|(key, text)| Some((key, Tree::text(text.as_deref()?))));
                    given.collect()
                }
            };
            ("cluster", Tree::map(fields))
        });
        objects.into_iter().chain(gate).chain(look).collect()
    }
}
