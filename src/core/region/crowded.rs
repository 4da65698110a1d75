//! Crowded: what is said of regions, and of parts of their leaves, that hold more than they should.
//!
//! Nothing is taken away for it: claims that ask for more fail at quotas, and what is published stays. But a
//! consumer that comes to no end applies nothing, and somebody should know why.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::input::Terms;
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Manifest, ObjectState};
use crate::layout::split::Part;

/// What a bundle that is to be published holds too much of.
pub(super) fn crowded(terms: &Terms<'_>, manifest: &Manifest) -> Vec<Finding> {
    [region(terms, manifest), part(terms, manifest)].into_iter().flatten().collect()
}

/// A region may have become too large without any claim that asks for more: its delivery changed, or a limit.
fn region(terms: &Terms<'_>, manifest: &Manifest) -> Option<Finding> {
    let (region, limits) = (terms.to.region, &terms.world.fleet.limits);
    let most = limits.most_objects(&region.delivery);
    let count = manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()).count();
    if count <= most {
        return None;
    }
    let (limit, cure) = match limits.objects_per_region {
        Some(_) => (format!("limits.objectsPerRegion is {most}"), "Raise the limit, or spread"),
        None => (format!("{} takes {most} at most", region.delivery.consumer()), "Spread"),
    };
    let message = format!("region {} holds {count} objects, and {limit}", region.name);
    let help = format!(
        "{cure} its Credentials over more regions. Until then nobody gets more there, and what is published stays, but its \
         consumer may not come to the end of it."
    );
    Some(Finding::new(Code::CrowdedRegion, message).in_region(&region.name).help(help))
}

/// What is said of parts that hold more than their consumer builds in time: names decide which part an object is in, and
/// somebody may have chosen them.
fn part(terms: &Terms<'_>, manifest: &Manifest) -> Option<Finding> {
    let most = terms.most_per_leaf().filter(|_| !manifest.splits.is_none())?;
    let mut parts: BTreeMap<Part, BTreeMap<&str, usize>> = BTreeMap::new();
    for object in manifest.objects.iter().filter(|object| object.state == ObjectState::Current) {
        if let Some(part) = Part::of_path(&manifest.directory, object.path.as_str()) {
            *parts.entry(part).or_default().entry(object.key.namespace_text()).or_default() += 1;
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
