//! Scope: is a kind namespaced or cluster-scoped?
//!
//! Known from CustomResourceDefinitions in the sources, from `kinds:` in the configuration, else from
//! the table of built-in kinds. What nobody knows stays unknown; nothing is guessed from an object.

use alloc::collections::BTreeMap;

use crate::config::Fleet;
use crate::name::{GroupKind, Scope};
use crate::{capi, k0rdent};

/// Whether objects of a kind may be published at all: a closed list (DESIGN §2.4).
pub fn is_publishable(fleet: &Fleet, kind: &GroupKind) -> bool {
    kind.is_secret() || kind.is_config_map() || capi::rules(kind).is_some() || fleet.kinds.contains_key(kind)
}

/// Whether every object of a kind is read, whoever asks for it; objects of other kinds are wanted by name.
pub fn is_listed(kind: &GroupKind) -> bool {
    kind.group == k0rdent::GROUP || kind.is_namespace() || kind.is("apiextensions.k8s.io", "CustomResourceDefinition")
}

/// What is known of scopes, beyond the built-in kinds.
#[derive(Default)]
pub struct Scopes {
    known: BTreeMap<GroupKind, Scope>,
}

impl Scopes {
    /// Makes a table that knows the built-in kinds only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Learns the scope of a kind; what is learnt wins over the built-in table.
    pub fn learn(&mut self, kind: GroupKind, scope: Scope) {
        self.known.insert(kind, scope);
    }

    /// The scope of `kind`, if known.
    pub fn of(&self, kind: &GroupKind) -> Option<Scope> {
        if let Some(scope) = self.known.get(kind) {
            return Some(*scope);
        }
        match (kind.group.as_str(), kind.kind.as_str()) {
            ("", "Secret" | "ConfigMap") => Some(Scope::Namespaced),
            ("", "Namespace") | ("apiextensions.k8s.io", "CustomResourceDefinition") => Some(Scope::Cluster),
            (k0rdent::GROUP, "Credential" | "ClusterDeployment") => Some(Scope::Namespaced),
            (k0rdent::GROUP, _) => Some(Scope::Cluster),
            _ => capi::rules(kind).map(|rules| rules.scope),
        }
    }
}
