//! Layout: every file of a region besides its objects and its manifest.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;

use super::manifest::{Manifest, ManifestObject};
use super::path::{self, BundlePath, Leaf};
use super::{argocd, flux, kustomization};
use crate::config::{ArgoCd, ArgoKind, Delivery, Fleet, RegionConfig, RegionState};
use crate::name::Directory;

/// The kustomizations and delivery objects of a region.
///
/// A leaf stays as long as its region does, emptied if need be: only so does its consumer prune what
/// it held.
pub fn files(
    fleet: &Fleet,
    region: &RegionConfig,
    objects: &[ManifestObject],
    published: Option<&Manifest>,
) -> BTreeMap<BundlePath, String> {
    let directory = &region.directory;
    let paths: BTreeSet<BundlePath> = objects.iter().map(|object| object.path.clone()).collect();
    let before = published.into_iter().flat_map(|manifest| {
        let objects = manifest.objects.iter().map(|object| &object.path);
        objects.chain(manifest.files.iter().map(|file| &file.path))
    });
    let leaves: BTreeSet<Leaf> = paths.iter().chain(before).filter_map(|path| Leaf::of_path(directory, path)).collect();
    let mut files = kustomization::files(directory, &paths, &leaves);
    match &region.delivery {
        Delivery::None => {}
        Delivery::Flux(config) => files.extend(flux::files(directory, config, &fleet.output.path, &leaves)),
        Delivery::ArgoCd(config) => {
            files.extend(argocd::files(&fleet.name, directory, config, &fleet.output.path, &paths));
        }
    }
    files
}

/// Files that belong to no region: they follow from the configuration alone.
pub fn shared(fleet: &Fleet) -> BTreeMap<BundlePath, String> {
    let mut files = BTreeMap::from([(path::gitattributes(), String::from("* -text\n"))]);
    let set = |region: &RegionConfig| match &region.delivery {
        Delivery::ArgoCd(argo) if argo.kind == ArgoKind::ApplicationSet && region.state != RegionState::Retired => {
            Some(argo.clone())
        }
        _ => None,
    };
    let sets: BTreeMap<&Directory, ArgoCd> =
        fleet.regions.values().filter_map(|region| Some((&region.directory, set(region)?))).collect();
    let sets: BTreeMap<&Directory, &ArgoCd> = sets.iter().map(|(directory, argo)| (*directory, argo)).collect();
    files.extend(argocd::application_set(&fleet.name, &fleet.output.path, &sets));
    files
}
