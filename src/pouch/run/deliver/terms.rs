//! What is applied, and what came of it.

use std::collections::BTreeSet;

use pouch_core::config::Deletions;
use pouch_core::deliver::inventory;
use pouch_core::deliver::whose::{self, Beginning};
use pouch_core::finding::Finding;
use pouch_core::name::{Namespace, ObjectKey, Region};
use pouch_core::region::change::Action;
use pouch_core::verify::bundles::unpack::Unpacked;

use crate::cluster::request::Trial;
use crate::error::{Failure, Kind};

/// What is applied, and how.
pub struct Applying<'a> {
    /// The bundle in clear.
    pub unpacked: &'a Unpacked,
    /// The commit that it was read from, where it was one.
    pub revision: Option<&'a str>,
    /// The region, for people.
    pub region: &'a Region,
    /// The namespace of the inventory.
    pub kept_in: &'a Namespace,
    /// How many objects may be taken away at once.
    pub budget: Deletions,
    /// The digests of what may be taken away beyond that.
    pub accepted: &'a BTreeSet<String>,
    /// What the user says of a cluster that the bundle is applied to for the first time.
    pub beginning: Beginning,
    /// Whether the region is really changed.
    pub trial: Trial,
    /// Refuses a bundle unless it follows the commit that was applied last, as the inventory names it, if it does.
    pub follows: &'a dyn Fn(Option<&str>) -> Result<(), Failure>,
}

/// What came of it.
#[derive(Default)]
pub struct Outcome {
    /// What became of which object, in the order in which it happened.
    pub changes: Vec<(Action, ObjectKey)>,
    /// How many objects the bundle has, Namespaces not counted.
    pub objects: usize,
    /// How many of them were as they should be.
    pub unchanged: usize,
    /// How many objects could not be brought or taken away.
    pub failed: usize,
    /// What went wrong with single objects, or with several at once.
    pub troubles: Vec<(Option<ObjectKey>, Failure)>,
    /// What else there is to tell.
    pub notes: Vec<String>,
    /// Findings: kinds that the region lacks, and deletions that were held.
    pub findings: Vec<Finding>,
    /// Whether deletions were held.
    pub is_held: bool,
    /// What ended the run early.
    pub ended_by: Option<Failure>,
}

/// The key of the inventory of a bundle, in a namespace.
pub fn kept(unpacked: &Unpacked, namespace: &Namespace) -> ObjectKey {
    ObjectKey::config_map(namespace.clone(), inventory::name(&unpacked.fleet, &unpacked.directory))
}

impl Applying<'_> {
    /// The inventory's key.
    pub(super) fn kept(&self) -> ObjectKey {
        kept(self.unpacked, self.kept_in)
    }

    /// The key of what names the bundles of the cluster.
    pub(super) fn bundles(&self) -> ObjectKey {
        ObjectKey::config_map(self.kept_in.clone(), whose::bundles())
    }
}

impl Outcome {
    /// Whether something could not be asked or done because the region does not answer.
    pub fn is_unavailable(&self) -> bool {
        self.troubles.iter().any(|(_, trouble)| trouble.kind == Kind::Unavailable)
    }
}
