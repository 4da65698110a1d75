//! Compare: a pack against the published tree, by object and entry, and what the brake makes of it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::brake::{self, Braked, Load, added_recipients};
use super::change::{Action, Change, Hold};
use super::content::Order;
use super::input::Input;
use super::pack::{Keep, Pack, Packed};
use super::published::State;
use super::unsigned::{self, Evidence};
use crate::config::{Delivery, Limits, RegionState};
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::judge::region::{Forced, immutable_changes};
use crate::layout::manifest::NeededBy;
use crate::name::{Claimant, ObjectKey};

/// Breaks claims whose objects differ from the published ones where they must not.
pub(super) fn break_immutable(input: &Input<'_>, rulings: &mut [Ruling<'_>], pack: &Pack) -> bool {
    let forced = if matches!(input.to.delivery(), Delivery::Flux(_)) { Forced::Yes } else { Forced::No };
    let mut broken: Vec<(ObjectKey, Finding)> = Vec::new();
    for (lands, packed) in &pack.objects {
        let Packed::Fresh { order, keep: Keep::Changed, .. } = packed else { continue };
        let Some(new) = input.world.snapshot.get(&order.read) else { continue };
        let Some(document) = input.published.document(lands) else { continue };
        broken.extend(immutable_changes(lands, &document, new, forced).map(|finding| (lands.clone(), finding)));
    }
    let mut any = false;
    for ruling in rulings.iter_mut().filter(|ruling| ruling.is_admitted()) {
        for (lands, finding) in &broken {
            if ruling.case.closure.members.iter().any(|member| member.lands == *lands) {
                ruling.find(finding.clone());
                any = true;
            }
        }
    }
    any
}

/// What changes, by object and entry.
pub(super) fn compare(input: &Input<'_>, pack: &Pack) -> Vec<Change> {
    let mut changes = Vec::new();
    for (lands, packed) in &pack.objects {
        let (text, claimants) = match packed {
            Packed::Carried { .. }
            | Packed::Fresh { keep: Keep::Kept | Keep::Retagged(_), .. }
            | Packed::Namespace { keep: Keep::Kept, .. } => continue,
            Packed::Fresh { text, needed_by, .. } => (text, claimants(needed_by)),
            Packed::Namespace { text, .. } => (text, Vec::new()),
        };
        let action = match (input.published.object(lands), packed) {
            (None, _) => match unvouched(input, lands, text.as_bytes()) {
                Some(action) => action,
                None => continue,
            },
            (Some(_), Packed::Fresh { keep: Keep::Resealed, .. }) => Action::Resealed,
            (Some(_), _) => Action::Changed,
        };
        let lost_entries = match packed {
            Packed::Fresh { order, .. } if lands.kind.is_secret() && action == Action::Changed => {
                lost_entries(input, order)
            }
            _ => Vec::new(),
        };
        changes.push(Change { key: lands.clone(), action, lost_entries, claimants });
    }
    let removed = |key: &ObjectKey, claimants| Change {
        key: key.clone(),
        action: Action::Removed,
        lost_entries: Vec::new(),
        claimants,
    };
    match input.published.manifest() {
        Some(manifest) => {
            let gone = manifest.objects.iter().filter(|object| !pack.objects.contains_key(&object.key));
            changes.extend(gone.map(|object| removed(&object.key, claimants(&object.needed_by))));
        }
        None => {
            let gone = evidence(input).map(|evidence| evidence.gone(input.to.directory(), pack.objects.keys()));
            changes.extend(gone.unwrap_or_default().iter().map(|key| removed(key, Vec::new())));
        }
    }
    changes.sort();
    changes
}

/// The claimants that need an object, each once.
fn claimants<'n>(needed_by: impl IntoIterator<Item = &'n NeededBy>) -> Vec<Claimant> {
    let mut claimants: Vec<Claimant> = needed_by.into_iter().map(|needed_by| needed_by.by.clone()).collect();
    claimants.dedup();
    claimants
}

/// What an unsigned region seems to have published; none for any other region.
fn evidence(input: &Input<'_>) -> Option<Evidence> {
    matches!(input.published.state, State::Unsigned).then(|| Evidence::of(input.published, input.to.directory()))
}

/// What `rekey` does to an object that no reuse key vouches for, by what the bundle says of itself; none if the
/// published text is the same.
///
/// This is only reported, and decides nothing.
fn unvouched(input: &Input<'_>, lands: &ObjectKey, text: &[u8]) -> Option<Action> {
    let claimed = input.published.claimed().filter(|_| input.rekeys());
    let told = claimed.into_iter().flat_map(|manifest| &*manifest.objects).find(|object| object.key == *lands);
    let stands = told.and_then(|object| input.published.files.get(object.path.as_str()));
    match stands {
        None => Some(Action::Added),
        Some(_) if lands.kind.is_secret() => Some(Action::Resealed),
        Some(bytes) => (bytes.as_slice() != text).then_some(Action::Changed),
    }
}

/// Entries of a published Secret that the new one lacks or leaves empty.
fn lost_entries(input: &Input<'_>, order: &Order) -> Vec<String> {
    let Some(document) = input.published.document(&order.lands) else { return Vec::new() };
    let payload = input.world.snapshot.get(&order.read).and_then(|object| object.payload.as_ref());
    let kept = |name: &str| payload.and_then(|payload| payload.get(name)).is_some_and(|value| !value.is_empty());
    let data = document.at(&["data"]).map(crate::node::Node::entries).unwrap_or_default();
    data.iter()
        .filter(|(name, value)| value.as_str().is_some_and(|text| !text.is_empty()) && !kept(name))
        .map(|(name, _)| String::from(&**name))
        .collect()
}

/// What the brake says of the region.
pub(super) fn hold(input: &Input<'_>, pack: &Pack, changes: &[Change]) -> Braked {
    let region = input.to.region;
    let count = |keys: &mut dyn Iterator<Item = &ObjectKey>| keys.filter(|key| !key.kind.is_namespace()).count();
    // If the key that vouched for the objects is lost, `rekey` still counts what stands there: that can hold a region,
    // and lets nothing through. Whoever adopts a region asked for neither.
    let counted = evidence(input).filter(|_| input.rekeys());
    let (published, added) = match (input.published.manifest(), &counted) {
        (Some(before), _) => (
            count(&mut before.objects.iter().map(|object| &object.key)),
            added_recipients(&before.recipients, &region.recipients),
        ),
        (None, Some(evidence)) => (count(&mut evidence.keys()), unsigned::added_recipients(input.published, region)),
        (None, None) => (0, Vec::new()),
    };
    let stays = |change: &&Change| change.action != Action::Removed;
    let uncounted: Vec<Change>;
    let changes = match input.published.state {
        State::Unsigned if counted.is_none() => {
            uncounted = changes.iter().filter(stays).cloned().collect();
            &*uncounted
        }
        _ => changes,
    };
    let base = input.published.files.get(input.layout().manifest().as_str());
    let retired = region.state == RegionState::Retired;
    let load = Load {
        fleet: &input.world.fleet.name,
        region: &region.name,
        directory: input.to.directory(),
        base: base.map(Vec::as_slice).unwrap_or_default(),
        published,
        left: pack.objects.keys().filter(|key| !key.kind.is_namespace() && !key.kind.is_config_map()).count(),
        changes,
        added_recipients: if retired { &[] } else { &added },
        unasked_reseals: &pack.unasked,
        secrets: pack.objects.keys().filter(|key| key.kind.is_secret()).count(),
    };
    let limits = &input.world.fleet.limits;
    let mut braked = match counted.is_some_and(|evidence| !evidence.is_whole) {
        false => brake::hold(&load, limits, &input.allowances.accepted),
        // A manifest that is lost, or leaves out what stands there, has been meddled with: then there is no budget.
        true => {
            let none = Limits { free_deletions: 0, deletion_percent: 0, deletion_objects: 0, ..limits.clone() };
            let mut braked = brake::hold(&load, &none, &input.allowances.accepted);
            braked.holds.iter_mut().for_each(meddled);
            braked
        }
    };
    // With nothing to count against, an adopted region could be emptied unseen.
    if load.left == 0 && !retired && matches!(input.published.state, State::Unsigned) {
        let message = format!("region {} would be adopted with nothing in it", region.name);
        let finding = Finding::new(Code::DeletionsHeld, message).in_region(&region.name);
        braked.holds.push(Hold::fast(
            finding.help("Correct the sources first. If the region should be empty, retire it or move its files away."),
        ));
    }
    braked
}

/// Says why a withdrawal within the budget is held all the same.
fn meddled(hold: &mut Hold) {
    if hold.finding.code == Code::DeletionsHeld {
        hold.finding
            .message
            .push_str("; its bundle.yaml does not list what is published, so every withdrawal must be accepted");
    }
}
