//! Compare: a pack against the published tree, by object and entry, and what the brake makes of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::accounts::{self, accounts};
use super::brake::{self, Braked, BundleName, Load, added_recipients};
use super::change::{Action, Change, Hold, Reason, Sealing, Sharing, Values};
use super::delivered::{Delivered, Left};
use super::fields::differences;
use super::guests;
use super::history::History;
use super::input::Input;
use super::pack::{Keep, Pack, Packed};
use super::privileges::Privileges;
use super::published::{State, document};
use super::sealing::{Sealed, sealed};
use super::unsigned::{self, Evidence};
use super::values;
use crate::claim::made;
use crate::closure::Rank;
use crate::config::{Deletions, Limits, Percent, RegionState};
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::judge::region::immutable_changes;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::name::{Claimant, ObjectKey};
use crate::node::Node;

/// Breaks claims whose objects differ from the published ones where they must not, or are not read back by consumers.
pub(super) fn break_immutable(input: &Input<'_>, rulings: &mut [Ruling<'_>], pack: &Pack) -> bool {
    let mut broken: Vec<(&ObjectKey, &ObjectKey, Finding)> = Vec::new();
    let is_of_guests = |packed: &Packed| matches!(packed, Packed::Fresh { guest: Some(_), .. });
    let delivers = pack.objects.values().any(is_of_guests);
    let before = if delivers { guests::Before::of(input.published) } else { guests::Before::default() };
    for (lands, packed) in &pack.objects {
        if let Packed::Fresh { guest: Some(guest), order, needed_by, .. } = packed {
            let by = needed_by.first().map(|needed_by| &needed_by.by);
            let changed = before.changed_type(input, order, by, guest);
            broken.extend(changed.map(|finding| (lands, &order.read, finding)));
        }
        if let (Packed::Fresh { order, .. }, Some(trouble)) = (packed, pack.unreadable.get(lands)) {
            let message = format!("{lands} holds {trouble}, which kustomize cannot read back");
            let finding = Finding::new(Code::InvalidObject, message).about(lands);
            let origin = input.terms.world.snapshot.get(&order.read).map(|object| &object.origin);
            let finding = origin.map_or(finding.clone(), |origin| finding.at(origin));
            broken.push((lands, &order.read, finding.help(trouble.cure())));
            continue;
        }
        let Packed::Fresh { order, keep: Keep::Changed, .. } = packed else { continue };
        let Some(new) = order.source(input.terms.world.snapshot, &input.terms.envelopes()) else { continue };
        if let Some(finding) = guests::too_large(order, &new) {
            broken.push((lands, &order.read, finding));
            continue;
        }
        let Some(document) = input.published.document(lands) else { continue };
        let made = made(&order.edits).filter(|_| !lands.kind.is_secret()).map(|made| made.object(&new, lands));
        let new = made.as_ref().unwrap_or(&new);
        broken.extend(immutable_changes(lands, &document, new).map(|finding| (lands, &order.read, finding)));
    }
    let mut any = false;
    for ruling in rulings.iter_mut().filter(|ruling| ruling.is_admitted()) {
        for (lands, read, finding) in &broken {
            let closure = &ruling.case.closure;
            let here = || closure.members.iter().filter(|member| member.lands == **lands);
            // Several may want one place: it is about the one that has it.
            match here().find(|member| member.read == **read).or_else(|| here().next()) {
                None => {}
                // One object that a template makes keeps nothing from the others.
                Some(member) if member.rank() == Rank::Template => any |= ruling.let_wait(&member.read, finding),
                Some(_) => {
                    ruling.find(finding.clone());
                    any = true;
                }
            }
        }
    }
    any
}

/// What changes, by object and entry.
pub(super) fn compare(input: &Input<'_>, pack: &Pack) -> Vec<Change> {
    let mut changes = Vec::new();
    let privileged = Privileges::new(input, pack);
    let claimed = input.published.claimed().into_iter().flat_map(|manifest| &*manifest.objects);
    let claimed: BTreeMap<&ObjectKey, &ManifestObject> = claimed.map(|object| (&object.key, object)).collect();
    for (lands, packed) in &pack.objects {
        let (text, claimants) = match packed {
            Packed::Carried { .. }
            | Packed::Fresh { keep: Keep::Kept | Keep::Retagged(_), .. }
            | Packed::Namespace { keep: Keep::Kept, .. } => continue,
            Packed::Fresh { text, needed_by, .. } => (text, claimants(needed_by)),
            Packed::Namespace { text, .. } => (text, Vec::new()),
        };
        let action = match (input.published.object(lands), packed) {
            (None, _) => match unvouched(input, claimed.get(lands).copied(), text.as_bytes()) {
                Some(action) => action,
                None => continue,
            },
            (Some(_), Packed::Fresh { order, keep, .. }) if lands.kind.is_secret() => {
                let Sealed { action, lost_entries, entries, fields, sealing } =
                    sealed(input, order, *keep == Keep::Resealed);
                let (key, sealing, guest) = (lands.clone(), Some(sealing), guest_of(packed));
                let change =
                    Change { lost_entries, entries, fields, sealing, guest, ..Change::of(&key, action, claimants) };
                changes.push(change);
                continue;
            }
            (Some(_), _) => Action::Changed,
        };
        let (fields, privileges) = match action {
            Action::Changed => {
                let both = input.published.document(lands).zip(document(text.as_bytes()));
                let told = |(before, after): (Node, Node)| {
                    (differences(&before, &after), privileged.changed(lands, &before, &after))
                };
                both.map(told).unwrap_or_default()
            }
            Action::Added => (Vec::new(), privileged.added(lands, text.as_bytes(), &claimants)),
            _ => (Vec::new(), Vec::new()),
        };
        // Of what nobody vouches for, nothing is compared.
        let asked = input.terms.rekeys().then_some(Reason::Asked);
        let reasons = || asked.into_iter().chain([Reason::Unvouched]).collect();
        let sealing = (action == Action::Resealed).then(|| Sealing { values: Values::Unknown, reasons: reasons() });
        let guest = guest_of(packed);
        changes.push(Change { fields, privileges, sealing, guest, ..Change::of(lands, action, claimants) });
    }
    let removed = |key: &ObjectKey, claimants| Change::of(key, Action::Withdrawn, claimants);
    match input.published.manifest() {
        Some(manifest) => {
            let gone: Vec<&ManifestObject> =
                manifest.objects.iter().filter(|object| !pack.objects.contains_key(&object.key)).collect();
            let is_of_guests = gone.iter().any(|object| object.guest.is_some());
            let delivered = is_of_guests.then(|| Delivered::of(input, pack));
            changes.extend(gone.into_iter().map(|object| {
                let why = pack.gone.get(&object.key).copied();
                let claimants = claimants(&object.needed_by);
                let privileges = privileged.withdrawn(&object.key, &claimants);
                let change = Change { why, privileges, ..removed(&object.key, claimants) };
                let Some((delivered, guest)) = delivered.as_ref().zip(object.guest.as_ref()) else { return change };
                match delivered.left(input.published, &object.key, &guest.key) {
                    // What another payload delivers does not just stay there.
                    Left::Delivered => change,
                    left => Change { guest: Some(guest.key.clone()), elsewhere: left == Left::ToSome, ..change },
                }
            }));
        }
        None => {
            let gone = evidence(input).map(|evidence| evidence.gone(input.terms.to.directory(), pack.objects.keys()));
            changes.extend(gone.unwrap_or_default().iter().map(|key| removed(key, Vec::new())));
        }
    }
    changes.sort();
    changes
}

/// What a payload is in guest clusters.
fn guest_of(packed: &Packed) -> Option<ObjectKey> {
    match packed {
        Packed::Fresh { guest, .. } => guest.as_ref().map(|guest| guest.key.clone()),
        Packed::Carried { .. } | Packed::Namespace { .. } => None,
    }
}

/// The claimants that need an object, each once.
fn claimants<'n>(needed_by: impl IntoIterator<Item = &'n NeededBy>) -> Vec<Claimant> {
    let mut claimants: Vec<Claimant> = needed_by.into_iter().map(|needed_by| needed_by.by.clone()).collect();
    claimants.dedup();
    claimants
}

/// What an unsigned region seems to have published; none for any other region.
fn evidence(input: &Input<'_>) -> Option<Evidence> {
    matches!(input.published.state, State::Unsigned).then(|| Evidence::of(input.published, input.terms.to.directory()))
}

/// What becomes of an object that no reuse key vouches for, by what the bundle says of it; none if the published text is
/// the same.
///
/// This is only reported, and decides nothing.
fn unvouched(input: &Input<'_>, told: Option<&ManifestObject>, text: &[u8]) -> Option<Action> {
    let stands = told.and_then(|object| Some((object, input.published.files.get(object.path.as_str())?)));
    match stands {
        None => Some(Action::Added),
        Some((object, _)) if object.key.kind.is_secret() => Some(Action::Resealed),
        Some((_, bytes)) => (bytes.as_slice() != text).then_some(Action::Changed),
    }
}

/// The objects that stay and that others need than before; `changes` names those that are told of anyway.
pub(super) fn sharings(input: &Input<'_>, manifest: &Manifest, changes: &[Change]) -> Vec<Sharing> {
    let told: BTreeSet<&ObjectKey> =
        changes.iter().filter(|change| change.action != Action::Withdrawn).map(|change| &change.key).collect();
    let sharing = |now: &ManifestObject| {
        let before = &input.published.object(&now.key)?.needed_by;
        if *before == now.needed_by {
            return None;
        }
        let only = |these: &[NeededBy], those: &[NeededBy]| {
            let mut only = claimants(these);
            only.retain(|claimant| !those.iter().any(|needed_by| needed_by.by == *claimant));
            only
        };
        let joined = if told.contains(&now.key) { Vec::new() } else { only(&now.needed_by, before) };
        let sharing = Sharing { key: now.key.clone(), joined, left: only(before, &now.needed_by) };
        (!sharing.joined.is_empty() || !sharing.left.is_empty()).then_some(sharing)
    };
    manifest.objects.iter().filter_map(sharing).collect()
}

/// What the brake says of the region.
pub(super) fn hold(
    input: &Input<'_>,
    pack: &Pack,
    rulings: &[Ruling<'_>],
    changes: &[Change],
    history: &History,
) -> Braked {
    let region = input.terms.to.region;
    // If the key that vouched for the objects is lost, `rekey` still counts what stands there: that can hold a region,
    // and lets nothing through. --replace-unsigned asks for neither.
    let counted = evidence(input).filter(|_| input.terms.rekeys());
    let (accounts, added) = match (input.published.manifest(), &counted) {
        (Some(before), _) => {
            (accounts(input, pack, changes, history), added_recipients(&before.recipients, &region.recipients))
        }
        (None, Some(evidence)) => {
            let account = accounts::unvouched(input, evidence, changes);
            ([account].into(), unsigned::added_recipients(input.published, region))
        }
        (None, None) => (Vec::new(), added_recipients(&history.noted, &region.recipients)),
    };
    let retired = region.state == RegionState::Retired;
    let line = |key: &ObjectKey| brake::line(key, &input.published.sha256(key).unwrap_or_default());
    let unasked: Vec<String> = pack.unasked.iter().map(line).collect();
    let replaced = values::replaced(input, pack, rulings, changes);
    let bundle = BundleName { fleet: &input.terms.world.fleet.name, directory: input.terms.to.directory() };
    let load = Load {
        accounts: &accounts,
        added_recipients: if retired { &[] } else { &added },
        readers: Some(&input.terms.world.fleet.readers),
        unasked_reseals: &unasked,
        replaced: &replaced,
        secrets: pack.objects.keys().filter(|key| key.kind.is_secret()).count(),
        is_whole: retired || input.terms.rekeys(),
        ..Load::of(bundle, &region.name, &history.spent)
    };
    let limits = &input.terms.world.fleet.limits;
    let mut braked = match counted.is_some_and(|evidence| !evidence.is_whole) {
        false => brake::hold(&load, limits, &input.terms.allowances.accepted),
        // A manifest that is lost, or leaves out what stands there, has been meddled with: then there is no budget.
        true => {
            let none = Deletions { claimants: 0, percent: Percent(0), most: 0, ..limits.deletions };
            let none = Limits { deletions: none, ..limits.clone() };
            let mut braked = brake::hold(&load, &none, &input.terms.allowances.accepted);
            braked.deletions.iter_mut().for_each(meddled);
            braked
        }
    };
    let is_left = |(key, packed): (&ObjectKey, &Packed)| {
        !key.kind.is_namespace() && !key.kind.is_config_map() && !packed.is_handover()
    };
    // With nothing to count against, a region whose bundle is replaced could be emptied unseen.
    if !pack.objects.iter().any(is_left) && !retired && matches!(input.published.state, State::Unsigned) {
        let message = format!("region {} would be written again with nothing in it", region.name);
        let finding = Finding::new(Code::DeletionsHeld, message).in_region(&region.name);
        braked.holds.push(Hold::fast(
            finding.help("Correct the sources first. If the region should be empty, retire it or move its files away."),
        ));
    }
    braked
}

/// Says why a withdrawal within the budget is held all the same.
fn meddled(hold: &mut Hold) {
    hold.finding
        .message
        .push_str("; its bundle.yaml does not list what is published, so every withdrawal must be accepted");
}
