//! Changes: published against new, by object and entry, and what the brake says to them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::config::Acceptance;
use crate::finding::Finding;
use crate::name::{Claimant, ObjectKey};

/// What happens to one object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Action {
    /// It was not published.
    Added,
    /// Its content differs.
    Changed,
    /// The same Secret, sealed anew.
    Resealed,
    /// It is withdrawn.
    Removed,
}

impl Action {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Action::Added => "added",
            Action::Changed => "changed",
            Action::Resealed => "resealed",
            Action::Removed => "removed",
        }
    }
}

/// One object that differs from the published one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Change {
    /// The object on the region.
    pub key: ObjectKey,
    /// What happens to it.
    pub action: Action,
    /// Entries of a Secret that leave it or become empty.
    pub lost_entries: Vec<String>,
    /// The claimants that need it; if it is removed, those that needed it.
    pub claimants: Vec<Claimant>,
}

/// What holds a region.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The finding that reports it.
    pub finding: Finding,
    /// The acceptance that lets it through, if one does.
    pub lifted_by: Option<Acceptance>,
}

impl Hold {
    /// A hold that no acceptance lets through.
    pub fn fast(finding: Finding) -> Self {
        Self { finding, lifted_by: None }
    }
}
