//! Roots: the object that a claim starts from, as its claimant names it.

use crate::name::{GroupKind, Name, Namespace, Version};

/// The object that a claim starts from, as the claimant wrote it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Root {
    /// Group and kind.
    pub kind: GroupKind,
    /// The version that the reference names.
    pub version: Version,
    /// The name.
    pub name: Name,
    /// The namespace that the reference names, if any.
    pub namespace: Option<Namespace>,
}
