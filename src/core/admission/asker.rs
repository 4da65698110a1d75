//! Askers: claimants as admission sees them, with all that it asks of them.
//!
//! A claim asks for what it asks for. A published object was asked for by a claimant that need not claim anything now; what
//! the manifest says of the two is asked again.

use crate::claim::{Ask, Claim};
use crate::name::{Claimant, Entry, ObjectKey, Region, SourceName};

/// A claimant that reaches for an object.
#[derive(Clone, Copy)]
pub struct Asker<'a> {
    /// The claimant.
    pub by: &'a Claimant,
    /// The region whose configuration the place of the object goes by.
    pub region: &'a Region,
    /// The source that the claimant stands in; none where it stands in the configuration, or is not there.
    pub source: Option<&'a SourceName>,
    /// True if an AccessManagement rule makes the claimant.
    pub is_handed_out: bool,
    /// The way in which it takes objects.
    pub taking: Taking<'a>,
}

/// The way in which an asker takes objects.
#[derive(Clone, Copy)]
pub enum Taking<'a> {
    /// It names them, or objects behind it do.
    Named,
    /// A ResourceSyncRule takes one, by the copy of this source, if that is known.
    Copy(Option<&'a SourceName>),
}

impl<'a> Asker<'a> {
    /// Returns true if the configuration lets it deliver an object to guest clusters, by naming it.
    pub fn delivers(self, read: &ObjectKey) -> bool {
        self.by.entry().and_then(Entry::object) == Some(read)
    }
}

impl<'a> From<&'a Claim> for Asker<'a> {
    fn from(claim: &'a Claim) -> Self {
        let taking = match &claim.ask {
            Ask::Root { .. } | Ask::Starts(_) | Ask::Render { .. } | Ask::Entry(_) | Ask::Deliver { .. } => {
                Taking::Named
            }
            Ask::Copy(copied) => Taking::Copy(copied.source.as_ref()),
        };
        Self {
            by: &claim.by,
            region: claim.region(),
            source: Some(&claim.origin.source).filter(|source| !source.as_str().is_empty()),
            is_handed_out: claim.is_handed_out(),
            taking,
        }
    }
}
