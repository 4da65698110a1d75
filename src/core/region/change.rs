//! Changes: published against new, by object and entry, and what the brake says to them.

use alloc::string::String;
use alloc::vec::Vec;

use super::fields::FieldChange;
use super::ledger::Gone;
use super::privileges::Privilege;
use crate::config::Acceptance;
use crate::finding::Finding;
use crate::layout::Leaf;
use crate::name::{Claimant, ObjectKey, spelt};
use crate::secret::EntryChange;

/// What happens to one object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Action {
    /// It was not published.
    Added,
    /// Its content differs.
    Changed,
    /// A Secret with the same type and values, sealed anew; or one that no reuse key vouches for.
    Resealed,
    /// It is withdrawn.
    Withdrawn,
}

spelt!(Action { Added "added", Changed "changed", Resealed "resealed", Withdrawn "withdrawn" });

/// What is known of the values of a published Secret that is sealed anew.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Values {
    /// Every one stays.
    Same,
    /// At least one changes.
    Changed,
    /// Whether one changes cannot be told.
    Unknown,
}

spelt!(Values { Same "same", Changed "changed", Unknown "unknown" });

/// Why a published Secret is sealed anew beside its values, or why these cannot be compared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Reason {
    /// The labels or annotations that steer its consumer are others.
    Delivery,
    /// Other labels or annotations differ.
    Metadata,
    /// Its `type` differs.
    Type,
    /// The region's recipients changed.
    Recipients,
    /// Somebody asked for it.
    Asked,
    /// No reuse key vouches for the bundle that it stands in.
    Unvouched,
    /// Its file is missing, or not the one that pouch published.
    File,
    /// Its file has no entry tags.
    NoTags,
    /// The tags in its file are of a reuse key that is not at hand.
    ReuseKey,
    /// No value was read.
    NoValues,
}

spelt!(Reason {
    Delivery "delivery",
    Metadata "metadata",
    Type "type",
    Recipients "recipients",
    Asked "asked",
    Unvouched "unvouched",
    File "file",
    NoTags "noTags",
    ReuseKey "reuseKey",
    NoValues "noValues"
});

/// What is known of a published Secret that is sealed anew.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sealing {
    /// What becomes of its values.
    pub values: Values,
    /// Why else it is sealed anew, and why its values cannot be compared; sorted.
    pub reasons: Vec<Reason>,
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
    /// What stands open in an object and changes, in the order of the paths: of a Secret, its type, labels and annotations.
    pub fields: Vec<FieldChange>,
    /// Who may use an identity from now on, and who no longer.
    pub privileges: Vec<Privilege>,
    /// What is known of a published Secret that is sealed anew.
    pub sealing: Option<Sealing>,
    /// What it is in guest clusters, if it is a payload; where it is withdrawn, that stays there.
    pub guest: Option<ObjectKey>,
    /// Whether it is withdrawn and another payload delivers that to some of the Clusters.
    pub elsewhere: bool,
    /// The reason for which it is withdrawn, if it is and all that needed it lose it for one reason.
    pub why: Option<Gone>,
    /// The claimants that need it; if it is withdrawn, those that needed it.
    pub claimants: Vec<Claimant>,
}

impl Change {
    /// What becomes in guests of what is withdrawn, in words.
    pub fn stays(&self) -> &'static str {
        match self.action {
            Action::Withdrawn if self.elsewhere => ", which stays where no other set delivers it",
            Action::Withdrawn => ", which stays there",
            _ => "",
        }
    }

    /// A change of which no more is known.
    pub(super) fn of(key: &ObjectKey, action: Action, claimants: Vec<Claimant>) -> Self {
        Self {
            key: key.clone(),
            action,
            lost_entries: Vec::new(),
            entries: Vec::new(),
            fields: Vec::new(),
            privileges: Vec::new(),
            sealing: None,
            guest: None,
            elsewhere: false,
            why: None,
            claimants,
        }
    }
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
