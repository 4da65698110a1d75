//! Layout: the shape of what a region receives.
//!
//! Everything here turns decisions into bytes: which objects are published, where they land and how they are delivered
//! was settled before. The pieces:
//!
//! - [`path`]: where each file stands; follows from the region's folder and the object's key alone.
//! - [`sanitise`]: an object rebuilt from an allow-list, with the labels and annotations that
//!   pouch adds.
//! - [`namespace`]: the Namespaces that pouch makes.
//! - [`kustomization`]: the `kustomization.yaml` of every folder.
//! - [`delivery`]: the Flux and Argo CD objects that make a consumer apply the bundle.
//! - [`attributes`]: the `.gitattributes` that keeps git from changing bytes.
//! - [`manifest`]: `bundle.yaml`, which says what the bundle holds and why.
//!
//! None of these seals, compares or reads a published tree, and none knows a Credential. What becomes of a region is
//! decided in [`region`](crate::region).
//!
//! `docs/bundle-format.md` describes the result for people who read or check bundles.

pub mod attributes;
pub mod delivery;
pub mod kustomization;
pub mod manifest;
pub mod namespace;
pub mod path;
#[cfg(test)]
pub(crate) mod sample;
pub mod sanitise;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};

use crate::config::{ArgoCd, ArgoKind, Delivery};
use crate::name::{Directory, FleetName};
use crate::yaml::emit::{Tree, emit};
pub use path::{BundlePath, Leaf};

/// Open files by path: everything but objects and the manifest.
pub type Files = BTreeMap<BundlePath, String>;

/// The label that says who writes an object.
pub const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The value of [`MANAGED_BY_LABEL`].
pub const MANAGED_BY: &str = "pouch";

/// For which consumer objects are annotated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Style {
    /// For none in particular.
    Plain,
    /// For Flux's kustomize-controller.
    Flux,
    /// For Argo CD.
    ArgoCd,
}

impl Style {
    /// The style of a region's delivery.
    pub fn of(delivery: &Delivery) -> Self {
        match delivery {
            Delivery::None => Style::Plain,
            Delivery::Flux(_) => Style::Flux,
            Delivery::ArgoCd(_) => Style::ArgoCd,
        }
    }
}

/// Every open file of one region: its kustomizations and what its delivery uses.
///
/// `objects` are the paths of all its objects, `kept` the leaves that were published before (a leaf
/// stays as long as its region), `output` is `output.path` as the repository has it.
pub fn region_files(
    fleet: &FleetName,
    directory: &Directory,
    delivery: &Delivery,
    output: &str,
    objects: &BTreeSet<BundlePath>,
    kept: &BTreeSet<Leaf>,
) -> Files {
    let leaves = leaves(directory, objects, kept);
    let mut files = kustomization::files(directory, objects, &leaves);
    match delivery {
        Delivery::None => {}
        Delivery::Flux(flux) => files.extend(delivery::flux::files(directory, flux, output, &leaves)),
        Delivery::ArgoCd(argo) => files.extend(delivery::argocd::files(fleet, directory, argo, output, objects)),
    }
    files
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

/// The text of an open file.
fn text(tree: &Tree<'_>) -> String {
    core::mem::take(&mut *emit(tree))
}
