//! History: what the history of a branch says of one region (DESIGN §2.8).
//!
//! The shell reads it, and only where something of a region changes. A directory has no history: what stands there is
//! what its last run left.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::published::Published;
use crate::config::{Accept, Acceptance};
use crate::layout::manifest::Manifest;
use crate::name::{Namespace, Region};

/// What the history of a branch says of one region.
#[derive(Default)]
pub struct History {
    /// What pouch itself published last, if something else stands there now.
    pub own: Option<Published>,
    /// The authenticated manifests since which withdrawals may be counted, newest first: those of commits that carry an
    /// acceptance, and last the newest that is older than the window, or else the oldest.
    pub past: Vec<Past>,
    /// The acceptances that commits of the branch carry; they are spent.
    pub spent: BTreeSet<Acceptance>,
}

/// An authenticated manifest of the past, and what its commit accepted.
#[derive(Clone)]
pub struct Past {
    /// The manifest.
    pub manifest: Manifest,
    /// The acceptances in the commit's trailers.
    pub accepted: Vec<Acceptance>,
}

impl History {
    /// The manifest since which a namespace's withdrawals from a region are counted; none if what stands there is all
    /// that is known.
    pub(super) fn baseline(&self, region: &Region, namespace: Option<&Namespace>) -> Option<&Manifest> {
        let resets = |acceptance: &Acceptance| {
            let whose = acceptance.namespace.is_none() || acceptance.namespace.as_ref() == namespace;
            acceptance.what == Accept::Deletions && acceptance.region == *region && whose
        };
        let accepted = self.past.iter().find(|past| past.accepted.iter().any(resets));
        accepted.or(self.past.last()).map(|past| &past.manifest)
    }
}
