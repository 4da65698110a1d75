//! Twins: regions that are one cluster, by something that no two clusters share.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::finding::{Code, Finding};
use crate::listing::few;
use crate::name::Region;

/// Something of a cluster that no other has.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mark {
    /// The thing that is the same where two regions have it.
    pub(super) what: &'static str,
    pub(super) text: String,
}

/// A mark that the cluster itself says, so that it can say another's.
pub(super) const SAME_UID: &str = "the same cluster UID";

/// A mark that a region has in common with others.
pub struct Twin {
    /// The UID, if that is the mark: what is published of the regions may tell whose it is.
    pub uid: Option<String>,
    /// The regions that have it, this one among them.
    pub regions: BTreeSet<Region>,
    /// The finding about this region.
    pub finding: Finding,
}

/// Finds what regions have in common, each with every mark.
pub(super) fn twins(marks: Vec<(&Region, Mark)>) -> Vec<(Region, Twin)> {
    const SHOWN: usize = 5;
    let mut by_mark: BTreeMap<Mark, BTreeSet<&Region>> = BTreeMap::new();
    marks.into_iter().for_each(|(region, mark)| _ = by_mark.entry(mark).or_default().insert(region));
    let mut twins = Vec::new();
    for (Mark { what, text }, regions) in by_mark.into_iter().filter(|(_, regions)| regions.len() > 1) {
        let names: Vec<String> = regions.iter().map(ToString::to_string).collect();
        let named = few(names.iter(), names.len(), SHOWN);
        let message = format!("regions {named} are one cluster, as they have {what}: {text}");
        let help = "Tie each region to a cluster of its own, or let one region go.";
        let regions: BTreeSet<Region> = regions.into_iter().cloned().collect();
        let twin = |region: &Region| Twin {
            uid: (what == SAME_UID).then(|| text.clone()),
            regions: regions.clone(),
            finding: Finding::new(Code::ContradictoryTies, message.clone()).in_region(region).help(help),
        };
        twins.extend(regions.iter().map(|region| (region.clone(), twin(region))));
    }
    twins
}
