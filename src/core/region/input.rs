//! Input: what deciding about one region needs.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::allowances::{Allowances, Selection};
use super::envelope::Envelopes;
use super::made_for::MadeFor;
use super::published::Published;
use crate::destination::Destination;
use crate::judge::case::Case;
use crate::layout::manifest::{Manifest, SourceIdentity, Texts};
use crate::layout::{Layout, Splits};
use crate::name::{ObjectKey, SourceName};
use crate::recipient::Recipient;
use crate::reuse::{Context, KeyRing};
use crate::world::World;
use crate::world::cluster::ClusterFacts;

/// What deciding about one region needs, beside what is published of it.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// What all regions share.
    pub world: World<'a>,
    /// Where the bundle goes.
    pub to: Destination<'a>,
    /// The claims there, judged.
    pub cases: &'a [Case],
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// What the user lets through.
    pub allowances: &'a Allowances,
    /// What the run is about.
    pub selection: &'a Selection,
    /// What is known of the sources, for the manifest.
    pub sources: &'a [SourceIdentity],
    /// Sources of which this cannot be known now: what the published manifest says of them stays.
    pub unidentified: &'a BTreeSet<SourceName>,
    /// The clusters that bundles were made for, of regions that seem to be one.
    pub made_for: &'a MadeFor,
}

/// The terms, and what is published of the region.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) terms: Terms<'a>,
    pub(super) published: &'a Published,
}

impl<'a> Terms<'a> {
    /// Whether the region is sealed anew as a whole or left alone.
    pub(super) fn rekeys(&self) -> bool {
        self.selection.rekeys(&self.to)
    }

    /// Whether the region's Secrets are all to be sealed anew.
    pub(super) fn reseals(&self) -> bool {
        self.rekeys() || self.allowances.reseals(&self.to)
    }

    /// Whether the user asked for something special for the region, so that what is published must be examined.
    pub(super) fn are_special(&self) -> bool {
        self.allowances.replaces_unsigned(&self.to) || self.allowances.removes_foreign(&self.to) || self.reseals()
    }

    /// Returns true if something about the region's cluster may hold it.
    pub(super) fn are_held(&self) -> bool {
        let cluster = self.world.cluster(&self.to.region.name);
        cluster.is_some_and(|it| it.waits.is_some() || !it.holds.is_empty() || !it.twins.is_empty())
    }

    /// The cluster that the region's bundle is made for: the one that was looked into, else the one that the published
    /// manifest says, whatever became of the facts. A bundle never forgets its cluster.
    pub(super) fn cluster(&self, published: Option<&str>) -> Option<String> {
        let cluster = self.world.cluster(&self.to.region.name);
        let seen = cluster.and_then(ClusterFacts::looked).and_then(|looked| looked.cluster.clone());
        seen.or_else(|| published.map(String::from))
    }

    /// Where the region's bundle stands where every leaf is whole.
    pub(super) fn layout(&self) -> Layout<'a> {
        Layout::of(&self.to)
    }

    /// The splits of a bundle in which these objects are there to stay; `published` are those of what it replaces.
    ///
    /// A run that is about some claimants moves nothing of the others.
    pub(super) fn splits<'k>(&self, published: Option<&Splits>, keys: impl Iterator<Item = &'k ObjectKey>) -> Splits {
        match published {
            Some(splits) if self.selection.is_partial() => splits.clone(),
            _ => published.unwrap_or(Splits::none()).grown(keys, self.most_per_leaf()),
        }
    }

    /// The most objects that a leaf should hold; none where its consumer takes the region as a whole, or nothing is said.
    pub(super) fn most_per_leaf(&self) -> Option<usize> {
        self.world.fleet.limits.objects_per_leaf.filter(|_| self.to.delivery().is_by_leaf())
    }

    /// What envelopes for guest clusters are made with.
    pub(super) fn envelopes(&self) -> Envelopes<'a> {
        Envelopes { fleet: self.world.fleet, directory: self.to.directory(), key: self.keys.current() }
    }

    /// What the tag of an object's file is made over.
    pub(super) fn context(&self, lands: &'a ObjectKey, recipients: &'a [Recipient]) -> Context<'a> {
        Context { fleet: &self.world.fleet.name, directory: self.to.directory(), landing: lands, recipients }
    }
}

/// The manifest of a destination's empty bundle.
pub(super) fn empty_manifest(to: &Destination<'_>) -> Manifest {
    Manifest {
        directory: to.directory().clone(),
        fleet: to.fleet.name.clone(),
        recipients: to.region.recipients.clone(),
        sources: Vec::new(),
        cluster: None,
        splits: Splits::default(),
        objects: Vec::new(),
        files: Vec::new(),
        texts: Texts::new(),
        rests_on: Some(BTreeMap::new()),
    }
}
