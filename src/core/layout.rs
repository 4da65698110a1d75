//! Layout: what a region's bundle looks like.
//!
//! Everything here turns decisions into bytes: which objects are published, where they land and how they are delivered
//! was settled before. The pieces:
//!
//! - [`path`]: where each file stands; follows from the region's folder, the object's key and the splits alone.
//! - [`split`]: leaves that hold too much for their consumer, in parts.
//! - [`style`]: how objects are marked for those who apply them.
//! - [`sanitise`]: an object rebuilt from an allow-list, with the labels and annotations that
//!   pouch adds.
//! - [`namespace`]: the Namespaces that pouch makes.
//! - [`kustomization`]: the `kustomization.yaml` of every folder.
//! - [`delivery`]: the objects that make a consumer apply the bundle.
//! - [`form`]: what else than plain files may stand where bundles are.
//! - [`attributes`]: the `.gitattributes` that keeps git from changing bytes.
//! - [`manifest`]: `bundle.yaml`, which says what the bundle holds and why.
//! - [`staged`]: a run that is staged and not yet published, so that another run can read what would become of what.
//!
//! A [`Layout`] is where a destination's bundle stands: its paths and its open files are asked of it. None of this seals,
//! compares or reads a published tree, and none of it knows a Credential; what becomes of a region is
//! [`region`](crate::region)'s.
//!
//! `docs/bundle-format.md` describes the result for people who read or check bundles.

pub mod attributes;
pub mod delivery;
pub mod file;
pub mod form;
pub mod kustomization;
pub mod manifest;
pub mod namespace;
pub mod path;
mod place;
#[cfg(test)]
pub(crate) mod sample;
pub mod sanitise;
pub mod split;
pub mod staged;
pub mod style;

use alloc::collections::BTreeSet;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use crate::config::{Delivery, Fleet, RegionConfig, RegionState};
use crate::destination;
pub use file::Files;
pub use path::{BundlePath, Leaf};
pub use place::Layout;
pub use split::Splits;
pub use style::{MANAGED_BY, MANAGED_BY_LABEL, Marks, Style};

impl Layout<'_> {
    /// Every open file but the manifest: the kustomizations, and what the delivery uses.
    ///
    /// `objects` are the paths of all objects, `kept` the leaves of kinds that were published before (a leaf stays as long as its region).
    pub fn files(&self, objects: &BTreeSet<BundlePath>, kept: &BTreeSet<Leaf>) -> Files {
        let of_object = |path: &BundlePath| Leaf::of_path(self.directory, path.as_str());
        let split = self.splits.leaves().map(|(leaf, _)| leaf).filter(|leaf| leaf.is_of_kind());
        let leaves = objects.iter().filter_map(of_object).chain(kept.iter().chain(split).cloned()).collect();
        let mut files = kustomization::files(self, objects, &leaves);
        match self.delivery {
            Delivery::None => {}
            Delivery::Flux(flux) => files.extend(delivery::flux::files(self, flux, &leaves)),
            Delivery::ArgoCd(argo) => files.extend(delivery::argocd::files(self, argo, objects)),
        }
        files
    }
}

/// The files of the whole fleet: what they say follows from the configuration alone.
///
/// `is_listed` says of a region that an ApplicationSet delivers whether the set has it: those have a bundle, and no
/// others, for Argo CD reports an Application without a folder as broken.
pub fn fleet_files(fleet: &Fleet, is_listed: impl Fn(&RegionConfig) -> bool) -> Files {
    let mut files = Files::new();
    if destination::all(fleet).any(|to| to.region.state != RegionState::Retired) {
        files.insert(path::gitattributes(), attributes::TEXT.to_string());
    }
    let listed = destination::all(fleet).filter(|to| is_listed(to.region));
    let layouts: Vec<Layout<'_>> = listed.map(|to| Layout::of(&to)).collect();
    files.extend(delivery::argocd::application_set(&fleet.name, &layouts));
    files
}
