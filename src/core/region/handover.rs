//! Hand-over: what a claim exchanged for something else stays published until consumers have followed (DESIGN §2.7).
//!
//! Consumers apply the parts of a bundle one after the other, and remove what left it before they come to the rest. If an
//! identity names another Secret from now on, the old one would be gone while the identity still names it. So it stays
//! for a while, as it is published, and goes with a later publish.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::history::History;
use super::input::Input;
use crate::finding::{Code, Finding};
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::listing::few;
use crate::name::{Claimant, Namespace};
use crate::recipient::Recipient;

/// Whether an object that those who needed it need no longer stays for a hand-over.
///
/// It is never worth a hold, and never keeps a recipient that was removed: what cannot stay just so goes at once.
pub(super) fn stays(input: &Input<'_>, history: &History, manifest: &Manifest, object: &ManifestObject) -> bool {
    let now = &input.to.region.recipients;
    let is_open_to_those_only = || {
        let readers = object.readers(manifest);
        readers.iter().all(|reader| now.contains(reader)) && is_shared(input, readers)
    };
    let is_over = || object.state.is_handover() && history.is_over(&object.key);
    input.world.fleet.limits.handover > 0
        && !input.rekeys()
        && input.published.bytes(&object.key).is_some()
        && (!object.key.kind.is_secret() || is_open_to_those_only())
        && !is_over()
}

/// Whether the region itself can open what is sealed for these readers.
pub(super) fn is_shared(input: &Input<'_>, readers: &[Recipient]) -> bool {
    let (now, escrow) = (&input.to.region.recipients, &input.world.fleet.escrow);
    readers == *now || now.iter().any(|own| !escrow.contains(own) && readers.contains(own))
}

/// An object, and those that needed it.
pub(super) type Exchanged<'m> = (&'m ManifestObject, BTreeSet<NeededBy>);

/// Of what was exchanged, as much as the region has room for beside the `objects` that stand in its bundle anyway: a
/// hand-over never makes a bundle that its consumer does not take. Namespaces that exchanged less come first, so that
/// nobody takes the room of all others.
pub(super) fn fitting<'m>(input: &Input<'_>, objects: usize, exchanged: Vec<Exchanged<'m>>) -> Vec<Exchanged<'m>> {
    let region = input.to.region;
    let most = input.world.fleet.limits.objects_per_region.unwrap_or_else(|| region.delivery.most_objects());
    let room = most.saturating_sub(objects);
    if exchanged.len() <= room {
        return exchanged;
    }
    let mut of: BTreeMap<Option<Namespace>, Vec<Exchanged<'m>>> = BTreeMap::new();
    for one in exchanged {
        let namespace = one.1.first().map(|needed_by| needed_by.by.namespace.clone());
        of.entry(namespace).or_default().push(one);
    }
    let mut all: Vec<Vec<Exchanged<'m>>> = of.into_values().collect();
    all.sort_by_key(Vec::len);
    let mut taken = 0_usize;
    all.retain(|one| {
        taken = taken.saturating_add(one.len());
        taken <= room
    });
    all.into_iter().flatten().collect()
}

/// What is said of objects that stay for a hand-over, and of those that needed them.
pub(super) fn findings<'m>(input: &Input<'_>, objects: impl Iterator<Item = &'m ManifestObject>) -> Vec<Finding> {
    const SHOWN: usize = 3;
    let time = duration(input.world.fleet.limits.handover);
    let finding = |object: &ManifestObject| {
        let key = &object.key;
        let claimants: BTreeSet<&Claimant> = object.needed_by.iter().map(|needed_by| &needed_by.by).collect();
        let message = format!(
            "{key} stays for a hand-over: it is no longer needed for {}, but consumers may not have followed yet",
            few(&claimants, claimants.len(), SHOWN)
        );
        let help = format!(
            "It goes with the first publish {time} after the one that exchanged it, or with the next render to a \
             directory."
        );
        let finding = Finding::new(Code::Handover, message).about(key).claimed_by(claimants.first()?);
        Some(finding.in_region(&input.to.region.name).help(help))
    };
    objects.filter(|object| object.state.is_handover()).filter_map(finding).collect()
}

/// A duration in the largest unit of the configuration that gives a whole number.
fn duration(seconds: u64) -> String {
    let units = [(86400, "d"), (3600, "h"), (60, "m")];
    let fits = |(unit, _): &(u64, &str)| seconds.is_multiple_of(*unit);
    let (unit, name) = units.into_iter().find(fits).unwrap_or((1, "s"));
    format!("{}{name}", seconds.checked_div(unit).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_they_are_configured() {
        for (seconds, text) in [(1, "1s"), (90, "90s"), (60, "1m"), (5400, "90m"), (3600, "1h"), (172_800, "2d")] {
            assert_eq!(duration(seconds), text);
        }
    }
}
