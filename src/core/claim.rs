//! Claims: who asks for which root, where.
//!
//! Today a Credential claims its identity for its region. Later AccessManagement, sync rules and
//! templates claim too, so nothing after this stage knows what a Credential is.

use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{CredentialName, Origin};
use crate::name::{GroupKind, Name, Namespace, Region, Version};

/// Where a claim's objects go.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Destination {
    /// A region's own cluster.
    Region(Region),
}

/// The object that a claim starts from, as the claimant wrote it.
#[derive(Clone, PartialEq, Eq, Debug)]
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

/// One request for a root and all that it needs, at a destination.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Who asks.
    pub by: CredentialName,
    /// Where that stands.
    pub origin: Origin,
    /// Where the objects go.
    pub to: Destination,
    /// What is asked for.
    pub root: Root,
}

/// A text in an object that is replaced before the object is published.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Edit {
    /// The path of keys to it.
    pub path: Vec<String>,
    /// What stands there afterwards.
    pub text: String,
}
