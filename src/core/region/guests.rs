//! What becomes of objects in guest clusters when their payloads change.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::content::Order;
use super::input::Input;
use super::published::Published;
use crate::capi::resource_set::MOST_PAYLOADS;
use crate::claim::{Edit, GuestSet, Own, guest};
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::layout::manifest::{Guest, Manifest, ManifestObject};
use crate::name::{Claimant, GroupKind, Name, ObjectKey, Version};

/// A Secret of another type than the one that was delivered: the API server of a guest keeps the old one, and Cluster API
/// says so in a log alone.
pub(super) fn changed_type(input: &Input<'_>, order: &Order, guest: &Guest) -> Option<Finding> {
    let before = input.published.object(&order.lands)?.guest.as_ref()?;
    if before.key != guest.key || before.secret_type == guest.secret_type {
        return None;
    }
    let message = format!(
        "the type of {} in guest clusters changes, and no API server lets it: the change would never arrive",
        guest.key
    );
    let finding = Finding::new(Code::SecretTypeChanged, message).about(&order.read);
    let finding = match input.world.snapshot.get(&order.read) {
        Some(object) => finding.at(&object.origin),
        None => finding,
    };
    Some(
        finding.help("Let it land under another name with `to`, or keep the type; until then what is published stays."),
    )
}

/// Why something of a group stays as published although the group itself is made anew, if it does: the object waits, or what
/// delivers it would go with it.
pub(super) fn waits(ruling: &Ruling<'_>, object: &ManifestObject) -> Option<Code> {
    let (waiting, delivered) = (&ruling.case.closure.waiting, ruling.case.claim.guest.as_ref()?);
    let (_, first) = waiting.first_key_value()?;
    // With another selector, what is published goes as a whole.
    object.key.name.as_str().strip_prefix(delivered.base.as_str())?;
    let Some((guest, from)) = object.guest.as_ref().zip(object.from.as_ref()) else { return Some(*first) };
    let is_it = |read: &ObjectKey| {
        read.namespace == from.namespace
            && read.name == from.name
            && read.kind.is_secret() == guest.key.kind.is_secret()
    };
    waiting.iter().find(|(read, _)| is_it(read)).map(|(_, code)| *code)
}

/// Lets the sets of a group name what stays of its payloads, so that it is delivered to new clusters too.
///
/// `staying` are payloads that stay, with who needs them; says whether anything changed.
pub(super) fn name_staying<'p>(
    sets: &mut [(&mut Order, &Claimant)],
    staying: impl Iterator<Item = (&'p ObjectKey, &'p Claimant)>,
) -> BTreeSet<ObjectKey> {
    let mut more: BTreeMap<ObjectKey, Vec<(GroupKind, Name)>> = BTreeMap::new();
    for (key, by) in staying {
        let own = sets.iter().filter(|(_, of)| *of == by).filter_map(|(order, _)| Some((&order.lands, set(order)?.0)));
        let own: Vec<(&ObjectKey, &GuestSet)> = own.collect();
        let named = (key.kind.clone(), key.name.clone());
        let Some(home) = guest::set_of(own.iter().map(|(_, set)| *set), &key.name) else { continue };
        if home.payloads.contains(&named) || home.payloads.len() >= MOST_PAYLOADS {
            continue;
        }
        let lands = own.iter().find(|(_, set)| set.name == home.name).map(|(lands, _)| (*lands).clone());
        more.entry(lands.unwrap_or_else(|| key.clone())).or_default().push(named);
    }
    for (order, _) in sets {
        let Some(added) = more.get(&order.lands) else { continue };
        let Some((set, version)) = set(order) else { continue };
        let mut set = set.clone();
        // Where they would stand if they were new.
        set.payloads.extend(added.iter().take(MOST_PAYLOADS.saturating_sub(set.payloads.len())).cloned());
        set.payloads.sort_by(|a, b| a.1.cmp(&b.1));
        order.edits = vec![Edit::Own(Arc::new(Own::Set(set, version.clone())))];
    }
    more.into_keys().collect()
}

/// The set that an order makes, if it makes one.
pub(super) fn set(order: &Order) -> Option<(&GuestSet, &Version)> {
    order.edits.iter().find_map(|edit| match edit {
        Edit::Own(own) => match &**own {
            Own::Set(set, version) => Some((set, version)),
            Own::Namespace(_) => None,
        },
        _ => None,
    })
}

/// Lets a manifest say of payloads that stay what was said of them, where nobody looked at their values.
pub(super) fn keep_hashes(manifest: &mut Manifest, published: &Published) {
    for object in &mut manifest.objects {
        let Some(guest) = object.guest.as_mut().filter(|guest| guest.sha256.is_none()) else { continue };
        let before = published.object(&object.key).and_then(|before| before.guest.as_ref());
        guest.sha256 = before.and_then(|before| before.sha256.clone());
    }
}
