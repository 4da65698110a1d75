//! Changes: published against new, by object and entry, and what the brake says to them.

use alloc::string::String;
use alloc::vec::Vec;

use super::fields::FieldChange;
use crate::config::Acceptance;
use crate::finding::Finding;
use crate::layout::Leaf;
use crate::name::{Claimant, ObjectKey};
use crate::reuse::EntryChange;

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
    Withdrawn,
}

impl Action {
    /// The word for people and JSON.
    pub fn word(self) -> &'static str {
        match self {
            Action::Added => "added",
            Action::Changed => "changed",
            Action::Resealed => "resealed",
            Action::Withdrawn => "withdrawn",
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
    /// Entries of a changed Secret that do not stay as they are, sorted by name.
    pub entries: Vec<(String, EntryChange)>,
    /// Fields of a changed object that is not sealed, in the order of their paths.
    pub fields: Vec<FieldChange>,
    /// The claimants that need it; if it is withdrawn, those that needed it.
    pub claimants: Vec<Claimant>,
}

/// An object that stays, and that others need than before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sharing {
    /// The object on the region.
    pub key: ObjectKey,
    /// Claimants that need it now and did not before.
    pub joined: Vec<Claimant>,
    /// Claimants that needed it and no longer do.
    pub left: Vec<Claimant>,
}

/// A leaf that is split, or in more parts than before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Split {
    /// The leaf.
    pub leaf: Leaf,
    /// In how many parts it is.
    pub parts: u32,
    /// How many files move, as they are.
    pub files: usize,
}

/// An object, or an entry of a Secret, that somebody loses.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Loss {
    /// The object.
    pub key: ObjectKey,
    /// The entry of a Secret that stays.
    pub entry: Option<String>,
    /// The SHA-256 of the published file in lower-case hex.
    pub sha256: String,
}

/// What holds a region.
#[derive(Clone, Debug)]
pub struct Hold {
    /// The finding that reports it.
    pub finding: Finding,
    /// The acceptance that lets it through, if one does.
    pub lifted_by: Option<Acceptance>,
    /// The claimants that would lose something, sorted.
    pub claimants: Vec<Claimant>,
    /// What they would lose, sorted.
    pub losses: Vec<Loss>,
}

impl Hold {
    /// A hold that no acceptance lets through.
    pub fn fast(finding: Finding) -> Self {
        Self { finding, lifted_by: None, claimants: Vec::new(), losses: Vec::new() }
    }

    /// A hold that this acceptance lets through, and by which nobody would lose anything.
    pub fn lifted_by(finding: Finding, acceptance: Acceptance) -> Self {
        Self { lifted_by: Some(acceptance), ..Self::fast(finding) }
    }
}
