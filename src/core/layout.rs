//! Layout: what a region's bundle looks like.
//!
//! Everything here turns decisions into bytes: which objects are published, where they land and how they are delivered
//! was settled before. The pieces:
//!
//! - [`path`]: where each file stands; follows from the region's folder and the object's key alone.
//! - [`style`]: how objects are marked for those who apply them.
//! - [`sanitise`]: an object rebuilt from an allow-list, with the labels and annotations that
//!   pouch adds.
//! - [`namespace`]: the Namespaces that pouch makes.
//! - [`kustomization`]: the `kustomization.yaml` of every folder.
//! - [`delivery`]: the objects that make a consumer apply the bundle.
//! - [`attributes`]: the `.gitattributes` that keeps git from changing bytes.
//! - [`manifest`]: `bundle.yaml`, which says what the bundle holds and why.
//!
//! A [`Layout`] is where one region's bundle stands: its paths and its open files are asked of it. None of this seals,
//! compares or reads a published tree, and none of it knows a Credential; what becomes of a region is
//! [`region`](crate::region)'s.
//!
//! `docs/bundle-format.md` describes the result for people who read or check bundles.

pub mod attributes;
pub mod delivery;
pub mod file;
pub mod kustomization;
pub mod manifest;
pub mod namespace;
pub mod path;
#[cfg(test)]
pub(crate) mod sample;
pub mod sanitise;
pub mod style;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString as _;

use crate::config::{ArgoCd, ArgoKind, Delivery, Fleet, RegionConfig};
use crate::name::{Directory, FleetName, ObjectKey};
pub use file::Files;
pub use path::{BundlePath, Leaf};
pub use style::{MANAGED_BY, MANAGED_BY_LABEL, Style};

/// Where a region's bundle stands, and how it is delivered from there: all that its paths and its open files follow
/// from, beside its objects.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region's folder.
    pub directory: &'a Directory,
    /// How the region is delivered to.
    pub delivery: &'a Delivery,
    /// `output.path` as the repository has it.
    pub output: &'a str,
}

impl<'a> Layout<'a> {
    /// The layout of a region of the configuration.
    pub fn of(fleet: &'a Fleet, region: &'a RegionConfig) -> Self {
        Self {
            fleet: &fleet.name,
            directory: &region.directory,
            delivery: &region.delivery,
            output: &fleet.output.path,
        }
    }

    /// The file of the manifest.
    pub fn manifest(&self) -> BundlePath {
        path::manifest(self.directory)
    }

    /// The file of an object.
    pub fn of_object(&self, key: &ObjectKey) -> BundlePath {
        path::of_object(self.directory, key)
    }

    /// For which consumer objects are annotated.
    pub fn style(&self) -> Style {
        Style::of(self.delivery)
    }

    /// Every open file but the manifest: the kustomizations, and what the delivery uses.
    ///
    /// `objects` are the paths of all objects, `kept` the leaves that were published before (a leaf stays as long as
    /// its region).
    pub fn files(&self, objects: &BTreeSet<BundlePath>, kept: &BTreeSet<Leaf>) -> Files {
        let Self { fleet, directory, delivery, output } = *self;
        let leaves = leaves(directory, objects, kept);
        let mut files = kustomization::files(directory, objects, &leaves);
        match delivery {
            Delivery::None => {}
            Delivery::Flux(flux) => files.extend(delivery::flux::files(directory, flux, output, &leaves)),
            Delivery::ArgoCd(argo) => files.extend(delivery::argocd::files(fleet, directory, argo, output, objects)),
        }
        files
    }
}

/// The files of the whole fleet; they follow from the configuration alone.
///
/// `regions` are those that are not retired.
pub fn fleet_files<'a>(
    fleet: &FleetName,
    output: &str,
    regions: impl IntoIterator<Item = (&'a Directory, &'a Delivery)>,
) -> Files {
    let in_set = |(directory, delivery): (&'a Directory, &'a Delivery)| match delivery {
        Delivery::ArgoCd(argo) if argo.kind == ArgoKind::ApplicationSet => Some((directory, argo)),
        _ => None,
    };
    let in_set: BTreeMap<&Directory, &ArgoCd> = regions.into_iter().filter_map(in_set).collect();
    let mut files = Files::from([(path::gitattributes(), attributes::TEXT.to_string())]);
    files.extend(delivery::argocd::application_set(fleet, output, &in_set));
    files
}

/// The leaves of a region: those of its objects and those that are kept.
pub fn leaves(directory: &Directory, objects: &BTreeSet<BundlePath>, kept: &BTreeSet<Leaf>) -> BTreeSet<Leaf> {
    objects.iter().filter_map(|path| Leaf::of_path(directory, path)).chain(kept.iter().cloned()).collect()
}
