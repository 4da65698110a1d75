//! Holding: what the brake and the check of values keep published, put back into a pack.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use super::accounts::{self, kept_by_somebody};
use super::change::Change;
use super::content::Order;
use super::guests;
use super::input::Input;
use super::pack::{Keep, Pack, Packed, add_namespaces, keepers, let_stay, needers, staying};
use crate::layout::Marks;
use crate::layout::manifest::{NeededBy, ObjectState, Reason};
use crate::layout::sanitise::sanitise;
use crate::name::{Claimant, Namespace};
use crate::yaml::emit::emit;

/// Keeps published what the brake holds.
pub(super) fn keep_held(input: &Input<'_>, pack: &mut Pack, held: &BTreeSet<Claimant>, changes: &[Change]) {
    let Some(manifest) = input.published.manifest() else { return };
    let left = accounts::left_by(manifest, pack, |by| held.contains(by));
    for object in manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()) {
        // What goes after a hand-over was exchanged or lost when that began.
        let is_lost = |needed_by: &&NeededBy| {
            !object.state.is_handover() && left.get(&needed_by.by).is_some_and(|left| left.contains(&object.key))
        };
        let names: BTreeSet<NeededBy> = object.needed_by.iter().filter(is_lost).cloned().collect();
        match pack.objects.get_mut(&object.key) {
            _ if names.is_empty() => {}
            Some(packed) if packed.is_handover() => {
                let_stay(input, pack, manifest, object, names, ObjectState::Carried(Reason::HeldDeletion));
            }
            Some(Packed::Fresh { needed_by, .. } | Packed::Carried { needed_by, .. }) => needed_by.extend(names),
            _ => let_stay(input, pack, manifest, object, names, ObjectState::Carried(Reason::HeldDeletion)),
        }
    }
    for change in changes.iter().filter(|change| !change.lost_entries.is_empty()) {
        let (Some(packed), Some(object)) = (pack.objects.get(&change.key), input.published.object(&change.key)) else {
            continue;
        };
        // What somebody else has and may change is not kept from him; who comes to it has nothing yet.
        if object.needed_by.iter().all(|by| held.contains(&by.by) || input.terms.allowances.withdraw.contains(&by.by)) {
            let names = needers(packed).cloned().collect();
            let_stay(input, pack, manifest, object, names, ObjectState::Carried(Reason::HeldDeletion));
        }
    }
    name_held(input, pack);
    _ = add_namespaces(&input.terms, pack, &mut |key, text, _| Some(Keep::of_open(input.published.bytes(key), text)));
}

/// Keeps all that these claimants have published, with its values, and nothing that they have not: what one refers to is of
/// the same place as what refers to it. What others need as well is not kept from them.
pub(super) fn keep_values(input: &Input<'_>, pack: &mut Pack, keeping: &BTreeSet<Claimant>) {
    let Some(manifest) = input.published.manifest() else { return };
    let is_keeping = |needed_by: &NeededBy| keeping.contains(&needed_by.by);
    let are_theirs = |packed: &Packed| keepers(packed).next().is_some() && keepers(packed).all(is_keeping);
    pack.objects.retain(|key, packed| input.published.object(key).is_some() || !are_theirs(packed));
    for object in kept_by_somebody(&manifest.objects).filter(|object| !object.key.kind.is_namespace()) {
        let mut names: BTreeSet<NeededBy> = object.needed_by.iter().filter(|by| is_keeping(by)).cloned().collect();
        match pack.objects.get_mut(&object.key) {
            Some(Packed::Namespace { .. }) => continue,
            Some(Packed::Fresh { needed_by, keep, .. }) => {
                // Who comes to it only now, keeps what he had instead.
                let (stay, come): (BTreeSet<_>, BTreeSet<_>) = core::mem::take(needed_by)
                    .into_iter()
                    .partition(|by| !is_keeping(by) || object.needed_by.contains(by));
                names.extend(stay);
                names = if names.is_empty() { come } else { names };
                if *keep == Keep::Kept || !names.iter().all(is_keeping) {
                    *needed_by = names;
                    continue;
                }
            }
            Some(Packed::Carried { needed_by, state, .. }) if !state.is_handover() => {
                needed_by.extend(names);
                continue;
            }
            Some(Packed::Carried { .. }) | None => {}
        }
        if !names.is_empty() {
            let_stay(input, pack, manifest, object, names, ObjectState::Carried(Reason::HeldValue));
        }
    }
    let used: BTreeSet<Namespace> = pack.objects.keys().filter_map(|key| key.namespace.clone()).collect();
    pack.objects.retain(|key, _| !key.kind.is_namespace() || used.iter().any(|name| *name == *key.name.as_str()));
    _ = add_namespaces(&input.terms, pack, &mut |key, text, _| Some(Keep::of_open(input.published.bytes(key), text)));
}

/// Names in the sets what stays of payloads where the brake has decided that.
fn name_held(input: &Input<'_>, pack: &mut Pack) {
    let (fresh, others): (Vec<_>, Vec<_>) = pack
        .objects
        .iter_mut()
        .partition(|(_, packed)| matches!(packed, Packed::Fresh { order, .. } if guests::set(order).is_some()));
    let mut sets: Vec<(&mut Order, &Claimant)> = Vec::new();
    let mut texts = Vec::new();
    for (_, packed) in fresh {
        if let Packed::Fresh { order, needed_by, text, keep, .. } = packed
            && let Some(by) = needed_by.first()
        {
            texts.push((order.lands.clone(), text, keep));
            sets.push((order, &by.by));
        }
    }
    if sets.is_empty() {
        return;
    }
    let changed = guests::name_staying(&mut sets, staying(others.into_iter().map(|(key, packed)| (key, &*packed))));
    let (marks, with) = (Marks::of(&input.terms.to), input.terms.envelopes());
    for ((order, _), (lands, text, keep)) in sets.iter().zip(texts).filter(|(_, (lands, ..))| changed.contains(lands)) {
        let Some(object) = order.source(input.terms.world.snapshot, &with) else { continue };
        *text = emit(&sanitise(&object, &lands, &order.edits, marks, None));
        *keep = Keep::of_open(input.published.bytes(&lands), text);
    }
}
