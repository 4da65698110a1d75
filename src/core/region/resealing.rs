//! Resealing: the reasons that keep `rekey` from sealing a region anew from the sources.

use alloc::string::String;
use alloc::vec::Vec;

use super::input::Input;
use super::odd::foreign_file;
use super::published::State;
use super::{carry, unsigned};
use crate::claim::Asked;
use crate::finding::{Code, Finding};
use crate::judge::case::{Ruling, Verdict};
use crate::kinds;
use crate::layout::manifest::{Manifest, Reason};
use crate::name::Region;

/// The finding that leaves a region as it is.
pub fn impossible(region: &Region, message: String) -> Finding {
    Finding::new(Code::RekeyImpossible, message).in_region(region)
}

/// What to do if the sources do not give all that a region has published.
pub(super) const CURE: &str = "Cure the broken Credentials first, or pass --identity FILE to open what is published.";

/// The same for a Credential that is gone and in use.
const GONE_CURE: &str = "Delete the ClusterDeployments first, put the Credential back, or pass --identity FILE to open \
                         what is published.";

/// The same if something could not be told.
const UNREAD_CURE: &str =
    "Correct the source (its own findings say what is wrong), or pass --identity FILE to open what is published.";

/// What to do about a bundle that no reuse key vouches for, if it is to be sealed anew.
const UNSIGNED_CURE: &str = "If the reuse key changed, add the old one to `reuseKey.previous`; if the old one is lost, \
                             use `pouch rekey --new-reuse-key`.";

/// Gives a finding about what is published a help text with flags that `rekey` has.
pub(super) fn advised(input: &Input<'_>, finding: Finding) -> Finding {
    let is_ours = finding.code == Code::UnsignedBundle && input.terms.rekeys();
    if is_ours { finding.help(UNSIGNED_CURE) } else { finding }
}

/// Files that would be lost if a bundle replaces one that nobody vouches for: those that neither bundle has.
///
/// The brake counts every file where the layout has objects as an object, so such files are not reported twice.
pub(super) fn strange(input: &Input<'_>, made: &Manifest) -> Vec<Finding> {
    let region = input.terms.to.region;
    if !input.terms.rekeys()
        || input.terms.allowances.removes_foreign(&input.terms.to)
        || !matches!(input.published.state, State::Unsigned)
    {
        return Vec::new();
    }
    let directory = input.terms.to.directory();
    let found = input.published.strange(directory, made).into_iter();
    let found = found.filter(|path| unsigned::told(directory, path).is_none());
    found.map(|path| foreign_file(directory, path).in_region(&region.name)).collect()
}

/// Why an unsigned bundle cannot be replaced from these sources.
///
/// Without its manifest, nobody knows what a Credential that cannot be resolved now has published, and leaving it out
/// would withdraw it.
pub(super) fn unprovable(input: &Input<'_>, rulings: &[Ruling<'_>]) -> Option<Finding> {
    let region = &input.terms.to.region.name;
    if !input.terms.rekeys() || !matches!(input.published.state, State::Unsigned) {
        return None;
    }
    let broken = rulings.iter().find(|ruling| ruling.verdict == Verdict::Broken).map(|ruling| &ruling.case.claim.by);
    let nowhere = || {
        input.terms.world.facts.asked().iter().find(|asked| asked.claim.is_none() && Asked::broken_by(asked).is_some())
    };
    if let Some(by) = broken.or_else(|| nowhere().map(|asked| &asked.by)) {
        let message =
            format!("{by} is broken, and without the old reuse key nobody knows what it has in region {region}");
        return Some(impossible(region, message).help(CURE));
    }
    let snapshot = input.terms.world.snapshot;
    let unread = kinds::claimants()
        .filter(|kind| input.terms.world.fleet.reads(kind))
        .find_map(|kind| snapshot.unread_in(&kind, None));
    let Some(source) = unread else { return kept(input, rulings) };
    let message = format!(
        "source {source} was not read completely, and without the old reuse key nobody knows what it had in region \
         {region}"
    );
    Some(impossible(region, message).help("Correct the source: its own findings say what is wrong."))
}

/// The finding for a claimant whose objects would stay as published if the manifest could be believed.
///
/// These sources cannot make the objects anew, and leaving them out would withdraw them.
fn kept(input: &Input<'_>, rulings: &[Ruling<'_>]) -> Option<Finding> {
    let region = &input.terms.to.region.name;
    let (by, reason) = carry::first_carried(input, rulings, input.published.claimed()?)?;
    let (why, help) = match reason {
        Reason::InUse => ("is gone and ClusterDeployments still name it", GONE_CURE),
        Reason::Unproved => ("is gone, and whether ClusterDeployments still name it is unknown", UNREAD_CURE),
        Reason::Unread => ("may still exist: the objects that would tell were not read or not understood", UNREAD_CURE),
        Reason::Broken(_)
        | Reason::SeveralRegions
        | Reason::HeldDeletion
        | Reason::HeldValue
        | Reason::HandedOver
        | Reason::OwnOutput
        | Reason::RecipientRemoved
        | Reason::RecipientAdded => ("is broken", CURE),
    };
    let message = format!(
        "{by} {why}, and without the old reuse key what it has in region {region} cannot stay as \
         it is"
    );
    Some(impossible(region, message).claimed_by(&by).help(help))
}
