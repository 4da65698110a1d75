//! What is known of an identity kind: the row that each provider's file fills in.

use super::shape::Field;
use super::tenancy::Tenancy;
use crate::name::{GroupKind, Scope};
use crate::release::Release;

/// The API group of all built-in identity kinds.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";

/// A path of keys from the top of an object.
pub type Path = &'static [&'static str];

/// What is known of one identity kind.
#[derive(Debug)]
pub struct KindRules {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource, as API paths and RBAC rules name it.
    pub plural: &'static str,
    /// Whether its objects have a namespace.
    pub scope: Scope,
    /// Which namespaces may use one of its objects.
    pub tenancy: Tenancy,
    /// The versions that regions serve, newest first.
    pub versions: &'static [Served],
    /// The fields of `spec`.
    pub spec: &'static [Field],
    /// Fields that the provider's webhook asks for although its CRD does not.
    pub also_required: &'static [Path],
    /// The only name that an object may have.
    pub singleton: Option<&'static str>,
    /// Fields that cannot change once the object exists.
    pub immutable: &'static [Path],
    /// The Cluster API provider that serves it, such as `infrastructure-aws`.
    pub provider: &'static str,
    /// References that count for some objects only.
    pub conditional: &'static [Conditional],
    /// Entries that the provider reads of a Secret that is referred to.
    pub entries: &'static [Entries],
    /// The sessions in which the provider keeps what it read there, if it does not make new ones when that changes.
    pub session: Option<KeptSession>,
}

/// Sessions that a provider's controllers keep although the Secret has another value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeptSession {
    /// The provider, as people call it.
    pub provider: &'static str,
    /// The Deployment that runs its controllers.
    pub controller: &'static str,
    /// The controllers that make a new session by themselves.
    pub rebuilt: &'static str,
}

impl KindRules {
    /// The group and the kind.
    pub fn group_kind(&self) -> GroupKind {
        GroupKind::new(self.group, self.kind)
    }
}

/// Entries that a provider reads of a Secret.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entries {
    /// The reference, or the map that holds it.
    pub reference: Path,
    /// The types of identity that read them, as `spec.type` says; all if there are none.
    pub types: &'static [&'static str],
    /// The names of those that must not be missing.
    pub names: &'static [&'static str],
    /// Those of them, or of others that may stand beside them, that are no secret by their nature, such as a user's name.
    pub open: &'static [&'static str],
}

/// A served version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Served {
    /// Its name.
    pub version: &'static str,
    /// The first k0rdent release with it.
    pub since: Release,
}

impl Served {
    /// A version that every known release serves.
    pub(super) const fn always(version: &'static str) -> Self {
        Self { version, since: Release { minor: 0 } }
    }

    /// A version that came with a release 1.`minor`.
    pub(super) const fn since(version: &'static str, minor: u8) -> Self {
        Self { version, since: Release { minor } }
    }
}

/// A reference that counts only where a text beside it has one of some values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Conditional {
    /// The reference, or the map that holds it.
    pub reference: Path,
    /// The text that decides.
    pub given: Path,
    /// The values with which the reference counts.
    pub values: &'static [&'static str],
    /// A field whose presence makes the reference optional.
    pub unless: Option<Path>,
}
