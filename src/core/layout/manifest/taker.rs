//! Takers: what takes many objects by a text of its own.

use crate::name::step::Step;
use crate::name::{Claimant, Entry, Name};

/// Something whose text decides which objects it takes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Taker {
    /// An AccessManagement, which hands out Credentials.
    AccessRule(Name),
    /// A group of guest clusters of the configuration.
    Group(Name),
    /// A ResourceSyncRule.
    Rule(Name),
    /// A ManagedResource.
    Template(Name),
}

impl Taker {
    /// The field of `bundle.yaml` that names it, and its name.
    pub fn field(&self) -> (&'static str, &Name) {
        match self {
            Self::AccessRule(name) => ("accessRule", name),
            Self::Group(name) => ("group", name),
            Self::Rule(name) => ("rule", name),
            Self::Template(name) => ("template", name),
        }
    }

    /// Those by whose text a claimant gets an object that it reaches by these steps.
    pub(super) fn of<'n>(by: &'n Claimant, through: &'n [Step]) -> impl Iterator<Item = Taker> + 'n {
        let own = match by {
            Claimant::SyncRule { rule, .. } => [Some(Self::Rule(rule.clone())), None],
            Claimant::Template { template, .. } => [Some(Self::Template(template.clone())), None],
            Claimant::Guests { group, entry, .. } => {
                let entry = entry.as_ref().and_then(|entry| match &**entry {
                    Entry::Rule { rule, .. } => Some(Self::Rule(rule.clone())),
                    Entry::Template(template) => Some(Self::Template(template.clone())),
                    Entry::Object(_) => None,
                });
                [Some(Self::Group(group.clone())), entry]
            }
            Claimant::Credential { .. } => {
                let rule = through.first().and_then(|step| match step {
                    Step::AccessRule(name) => Some(Self::AccessRule(name.clone())),
                    Step::Field { .. } | Step::Rule(_) | Step::Template(_) | Step::Data(_) | Step::Opaque(_) => None,
                });
                [rule, None]
            }
            Claimant::Cluster { .. } | Claimant::ResourceSet { .. } | Claimant::Other { .. } => [None, None],
        };
        own.into_iter().flatten()
    }
}
