//! Input: what deciding about one region needs.

use alloc::vec::Vec;

use super::allowances::{Allowances, Selection};
use super::published::Published;
use crate::config::{Fleet, RegionConfig};
use crate::layout::Layout;
use crate::layout::manifest::{Manifest, SourceIdentity};
use crate::name::ObjectKey;
use crate::recipient::Recipient;
use crate::reuse::{Context, KeyRing};
use crate::world::World;

/// What deciding about one region needs, beside what is published of it.
#[derive(Clone, Copy)]
pub struct Terms<'a> {
    /// What all regions share.
    pub world: World<'a>,
    /// The region.
    pub region: &'a RegionConfig,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// What the user lets through.
    pub allowances: &'a Allowances,
    /// What the run is about.
    pub selection: &'a Selection,
    /// What is known of the sources, for the manifest.
    pub sources: &'a [SourceIdentity],
}

/// The terms, and what is published of the region.
#[derive(Clone, Copy)]
pub(super) struct Input<'a> {
    pub(super) terms: Terms<'a>,
    pub(super) world: World<'a>,
    pub(super) region: &'a RegionConfig,
    pub(super) published: &'a Published,
}

impl<'a> Input<'a> {
    pub(super) fn new(terms: Terms<'a>, published: &'a Published) -> Self {
        Self { terms, world: terms.world, region: terms.region, published }
    }

    /// Whether the region is sealed anew as a whole or left alone.
    pub(super) fn rekeys(&self) -> bool {
        self.terms.selection.rekeys(self.region)
    }
}

impl<'a> Terms<'a> {
    /// Whether the region's Secrets are all to be sealed anew.
    pub(super) fn reseals(&self) -> bool {
        self.selection.rekeys(self.region) || self.allowances.reseals(self.region)
    }

    /// Whether the user asked for something special for the region, so that what is published must be examined.
    pub(super) fn are_special(&self) -> bool {
        self.allowances.adopts(self.region) || self.allowances.removes_foreign(self.region) || self.reseals()
    }

    /// Where the region's bundle stands.
    pub(super) fn layout(&self) -> Layout<'a> {
        Layout::of(self.world.fleet, self.region)
    }

    /// What the tag of an object's file is made over.
    pub(super) fn context(&self, lands: &'a ObjectKey, recipients: &'a [Recipient]) -> Context<'a> {
        Context { fleet: &self.world.fleet.name, directory: &self.region.directory, landing: lands, recipients }
    }
}

/// The manifest of a region's empty bundle.
pub(super) fn empty_manifest(fleet: &Fleet, region: &RegionConfig) -> Manifest {
    Manifest {
        directory: region.directory.clone(),
        fleet: fleet.name.clone(),
        recipients: region.recipients.clone(),
        sources: Vec::new(),
        objects: Vec::new(),
        files: Vec::new(),
    }
}
