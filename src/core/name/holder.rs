//! Holder: who has quotas of his own.
//!
//! That is a namespace, and apart from it what others bring there: templates that are rendered for it, each group of guests
//! of its Clusters, and what rules take for want of a namespace. Who writes the one has no say in the others, and uses up
//! nothing of theirs. What a rule of the platform takes is weighed for the [`Writer`] of that, and not for the platform.

use core::fmt;

use super::{Claimant, Name, Namespace, SourceName};

/// The tenant that writes what a rule takes, or what a template makes for guests.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Writer {
    /// Those of a namespace.
    Namespace(Namespace),
    /// Those of a source, of what has no namespace or stands in that of the system.
    Source(SourceName),
}

/// For people: `namespace team-a`, `source team-a`.
impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Namespace(namespace) => write!(f, "namespace {namespace}"),
            Self::Source(source) => write!(f, "source {source}"),
        }
    }
}

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
    /// Deliveries of a group to the guests of its Clusters: of a writer, or what the configuration names.
    Guests(Name, Option<Writer>),
    /// Objects without a namespace that rules take, which count in that of the system: of a writer, or of the platform.
    Rules(Option<Writer>),
}

impl Part {
    /// Returns true if each claim of it is an object that a rule takes: some of them may have room where others have none.
    pub fn is_taken(&self) -> bool {
        match self {
            Self::Own | Self::Templates | Self::Guests(_, None) => false,
            Self::Guests(_, Some(_)) | Self::Rules(_) => true,
        }
    }
}

impl Holder {
    /// The holder of a claimant's quotas, where this is the namespace of the system, and this writes what a rule takes.
    pub fn of(by: &Claimant, system: &Namespace, writer: Option<Writer>) -> Self {
        let part = match by {
            Claimant::Template { .. } => Part::Templates,
            Claimant::Guests { group, .. } => Part::Guests(group.clone(), writer),
            Claimant::SyncRule { namespace, .. } if namespace == system => Part::Rules(writer),
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
            Part::Guests(group, None) => write!(f, "group {group} of guests of namespace {namespace}"),
            Part::Guests(group, Some(writer)) => {
                write!(f, "group {group} of guests of namespace {namespace} by {writer}")
            }
            Part::Rules(None) => write!(f, "ResourceSyncRules of namespace {namespace}"),
            Part::Rules(Some(writer)) => write!(f, "ResourceSyncRules of namespace {namespace} by {writer}"),
        }
    }
}
