//! Proposals: what stands at a branch that proposes something to another one, and what becomes of it.
//!
//! A proposal is one commit on the tip of its base, made anew whenever the base or the commit's tree would be another.
//! Only what pouch itself proposed, or what the base has, is ever written over or removed.

use std::path::Path;

use pouch_core::name::FleetName;
use pouch_core::reuse::{KeyRing, Made, commit_verifies};

use crate::git::ancestors::{Ancestor, ancestors};
use crate::git::objects::{Id, ObjectsError, Store};
use crate::shelf::target::Target;
use crate::text::PROPOSAL;
use crate::text::{trailers, values};

/// What stands at the branch.
pub(super) struct Proposal {
    /// The commit.
    pub id: Id,
    /// The id of its parent; empty where it has none, or several.
    parent: String,
    tree: String,
    /// Whether it is what pouch proposed there.
    pub is_own: bool,
}

impl Proposal {
    /// Looks at what stands at a branch; `reference` is its tip in the repository at `path`, `prefix` the output's folder.
    pub(super) fn of(
        (path, store): (&Path, &Store),
        (reference, target, prefix): (&str, &Target, &str),
        (fleet, keys): (&FleetName, &KeyRing),
    ) -> Result<Option<Self>, ObjectsError> {
        let id = store.commit(reference)?;
        let Some(tip) = ancestors(path, id, 1)?.0.pop() else { return Ok(None) };
        let Ancestor { parent, tree, seconds, message, .. } = tip;
        // It continues the history of its base, where it is to be merged.
        let made = Made { branch: &target.base, path: prefix, parent: &parent, tree: &tree, seconds };
        // Pouch publishes to other branches too, and those have histories that nobody may lose.
        let is_named = values(trailers(&message), PROPOSAL).any(|branch| branch == target.branch);
        let is_own = is_named && commit_verifies(keys, fleet, made, &message);
        Ok(Some(Self { id, parent, tree, is_own }))
    }

    /// Whether it proposes this tree on this base.
    pub(super) fn is(&self, tree: &str, base: &str) -> bool {
        self.tree == tree && self.parent == base
    }
}

/// What is done at a branch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Nothing: what is published is as it should be, and nothing is proposed.
    Nothing,
    /// Nothing: this commit proposes it already.
    Stands(String),
    /// Nothing is to be proposed, but the branch stays: it has this commit, which pouch did not make.
    Stays(String),
    /// This commit is pushed.
    Push(String),
    /// The branch is removed: what it proposed is published, or no longer wanted.
    Remove,
}
