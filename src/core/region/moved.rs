//! Moved: leaves of a region that are split, or in more parts than before; and parts that hold too much all the same.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::change::Split;
use super::content::Content;
use super::input::{Input, Terms};
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Manifest, ManifestObject, ObjectState};
use crate::layout::path::{BundlePath, Leaf};
use crate::layout::split::{Part, Splits};

/// The leaves whose parts are others than the published ones.
pub(super) fn splits(input: &Input<'_>, manifest: &Manifest, files: &BTreeMap<BundlePath, Content>) -> Vec<Split> {
    // Of what stands there and nobody vouches for, only the parts stay; of nothing, nothing is told.
    let before = match input.published.manifest() {
        Some(before) => &before.splits,
        None if input.published.files.is_empty() => return Vec::new(),
        None => Splits::none(),
    };
    let (core, namespaces) = (Leaf::core(), Leaf::namespaces());
    let moves =
        |object: &&ManifestObject| matches!(files.get(&object.path), Some(Content::Kept(from)) if *from != object.path);
    let changed = manifest.splits.leaves().filter(|(leaf, of)| before.of(leaf) != Some(*of));
    let split = |(leaf, parts): (&Leaf, u32)| {
        let is_in = |object: &&ManifestObject| Leaf::home(&object.key.kind) == *leaf;
        let files = manifest.objects.iter().filter(is_in).filter(moves).count();
        Split { leaf: leaf.clone(), parts, files }
    };
    // That Namespaces stand apart is a part of what happens to the core.
    let is_of_core = before.of(&core).is_none();
    changed.filter(|(leaf, _)| !is_of_core || **leaf != namespaces).map(split).collect()
}

/// What is said of parts that hold more than their consumer builds in time: names decide which part an object is in, and
/// somebody may have chosen them.
pub(super) fn crowded(terms: &Terms<'_>, manifest: &Manifest) -> Option<Finding> {
    let most = terms.most_per_leaf().filter(|_| !manifest.splits.is_none())?;
    let mut parts: BTreeMap<Part, BTreeMap<&str, usize>> = BTreeMap::new();
    for object in manifest.objects.iter().filter(|object| object.state == ObjectState::Current) {
        if let Some(part) = Part::of_path(&manifest.directory, object.path.as_str()) {
            let count = parts.entry(part).or_default().entry(object.key.namespace_text()).or_default();
            *count = count.saturating_add(1);
        }
    }
    let full =
        parts.iter().map(|(part, of)| (of.values().sum::<usize>(), part, of)).filter(|(count, ..)| *count > most);
    let full: Vec<_> = full.collect();
    let (count, part, of) = full.iter().max_by_key(|(count, ..)| *count)?;
    let region = &terms.to.region.name;
    let others = match full.len().saturating_sub(1) {
        0 => String::new(),
        more => format!("; {more} more parts hold too many"),
    };
    let whose = match of.iter().max_by_key(|(_, count)| **count) {
        Some((namespace, count)) if !namespace.is_empty() => format!(", {count} of them in namespace {namespace}"),
        _ => String::new(),
    };
    let message =
        format!("part {part} of region {region} holds {count} objects{whose}; limits.objectsPerLeaf is {most}{others}");
    let help = "Names decide which part an object is in. If the consumer takes too long for it, lower \
                limits.objectsPerLeaf, which doubles the parts; if one namespace fills it, ask for other names there.";
    Some(Finding::new(Code::CrowdedPart, message).in_region(region).help(help))
}
