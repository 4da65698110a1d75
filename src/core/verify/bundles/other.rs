//! Bundles of other fleets, which may stand beside ours: they are named, and what their own manifests list is left
//! alone.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::manifest::listed_by;
use super::measure::Measure;
use super::tree::BundleTree;
use crate::config::Fleet;
use crate::finding::{Code, Finding};
use crate::layout::form::Form;
use crate::layout::path;
use crate::name::FleetName;

/// What another fleet has in a folder of `regions/`, by its own manifest.
pub(super) struct Other {
    pub(super) fleet: FleetName,
    /// Its manifest, and what that lists.
    pub(super) paths: BTreeSet<String>,
}

/// What another fleet has in a folder that no region of this fleet has.
///
/// Its manifest is believed only so far as to leave alone what it lists, and must be a proper manifest for that:
/// anybody may name a fleet.
pub(super) fn other(fleet: &Fleet, tree: &BundleTree, folder: &str) -> Option<Other> {
    let own = format!("regions/{folder}/bundle.yaml");
    let standing = tree.get(&own).filter(|standing| standing.form == Form::Plain)?;
    let (_, manifest) = listed_by(folder, &standing.bytes).ok()?;
    if manifest.fleet == fleet.name {
        return None;
    }
    let objects = manifest.objects.iter().map(|object| &object.path);
    let listed = objects.chain(manifest.files.iter().map(|file| &file.path)).map(|path| String::from(path.as_str()));
    Some(Other { fleet: manifest.fleet.clone(), paths: listed.chain([own]).collect() })
}

/// Reports the bundles of other fleets, which are not verified.
pub(super) fn unproved(measure: &Measure<'_>, tree: &BundleTree, others: &BTreeMap<String, Other>) -> Vec<Finding> {
    let mut folders: BTreeMap<&FleetName, Vec<String>> = BTreeMap::new();
    for (folder, other) in others.iter().filter(|(folder, _)| measure.scope.has(folder)) {
        folders.entry(&other.fleet).or_default().push(format!("regions/{folder}"));
    }
    for (fleet, folders) in &mut folders {
        let set = path::application_set(fleet);
        folders.extend(tree.contains_key(set.as_str()).then(|| String::from(set.as_str())));
    }
    let say = |(fleet, folders): (&FleetName, Vec<String>)| {
        let path = folders.first().map(|first| format!("{first}/bundle.yaml")).unwrap_or_default();
        let folders = folders.join(", ");
        let message = format!("{folders}: its manifest says that this belongs to fleet {fleet}, so it was not proved");
        measure.find(Code::OtherFleet, &path, 1, message).help(
            "Verify that fleet's bundles with its own configuration. If you know of no such fleet, find out who put \
             them there.",
        )
    };
    folders.into_iter().map(say).collect()
}
