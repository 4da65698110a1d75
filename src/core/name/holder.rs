//! Holder: who has quotas of his own.
//!
//! That is a namespace, and apart from it what others bring there: templates that are rendered for it, each group of guests
//! of its Clusters, and what rules take for want of a namespace. Who writes the one has no say in the others, and uses up
//! nothing of theirs.

use core::fmt;

use super::{Claimant, Name, Namespace};

/// Who has quotas of his own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Holder {
    /// The namespace of the claimants.
    pub namespace: Namespace,
    /// Which of them.
    pub part: Part,
}

/// A part of what the claimants of a namespace have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Part {
    /// What it claims itself.
    Own,
    /// What templates make for it.
    Templates,
    /// What a group delivers to the guests of its Clusters.
    Guests(Name),
    /// What rules take that has no namespace, and counts in that of the system.
    Rules,
}

impl Holder {
    /// Whose a claimant is, where this is the namespace of the system.
    pub fn of(by: &Claimant, system: &Namespace) -> Self {
        let part = match by {
            Claimant::Template { .. } => Part::Templates,
            Claimant::Guests { group, .. } => Part::Guests(group.clone()),
            Claimant::SyncRule { namespace, .. } if namespace == system => Part::Rules,
            Claimant::SyncRule { .. }
            | Claimant::Cluster { .. }
            | Claimant::ResourceSet { .. }
            | Claimant::Credential { .. }
            | Claimant::Other { .. } => Part::Own,
        };
        Self { namespace: by.namespace().clone(), part }
    }
}

/// For people: `namespace team-a`, `group pull of guests of namespace team-a`.
impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { namespace, part } = self;
        match part {
            Part::Own => write!(f, "namespace {namespace}"),
            Part::Templates => write!(f, "ManagedResources for namespace {namespace}"),
            Part::Guests(group) => write!(f, "group {group} of guests of namespace {namespace}"),
            Part::Rules => write!(f, "ResourceSyncRules of namespace {namespace}"),
        }
    }
}
