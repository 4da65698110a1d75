//! Why what is published for guest clusters stays although its group is made anew.
//!
//! A payload is asked for itself: by what it holds, and by what would take its place. Sets, and payloads of Namespaces, are made
//! of nothing that was read: they stay as long as they deliver something that does.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::carry;
use super::content::Order;
use super::guests;
use super::input::Input;
use crate::capi::resource_set::{MOST_PAYLOADS, is_resource_set};
use crate::claim::{guest, parcel};
use crate::closure::{Member, own_of_guests};
use crate::config::GuestGroup;
use crate::finding::{Class, Code};
use crate::judge::case::Ruling;
use crate::layout::manifest::{Guest, ManifestObject, ReadFrom};
use crate::name::{Claimant, Name, ObjectKey};
use crate::snapshot::{Lookup, template_of};
use crate::world::World;

/// What stays of groups that are made anew.
#[derive(Default)]
pub(super) struct Staying<'m>(BTreeMap<&'m Claimant, Vec<(&'m ManifestObject, Code)>>);

/// Whether pouch makes an object for groups of guests, and reads it from nowhere.
pub(super) fn is_own(object: &ManifestObject) -> bool {
    object.from.is_none() && object.needed_by.iter().any(|needed_by| needed_by.by.is_guest())
}

/// The objects of a manifest in an order in which what delivers others comes after these.
pub(super) fn in_order(objects: &[ManifestObject]) -> impl Iterator<Item = &ManifestObject> {
    let all = |rank: u8| objects.iter().filter(move |object| self::rank(object) == rank);
    (0..=2).flat_map(all)
}

fn rank(object: &ManifestObject) -> u8 {
    match is_own(object) {
        false => 0,
        true if !is_resource_set(&object.key.kind) => 1,
        true => 2,
    }
}

impl<'m> Staying<'m> {
    /// Notes what stays for a group.
    pub(super) fn add(&mut self, by: &'m Claimant, object: &'m ManifestObject, code: Code) {
        self.0.entry(by).or_default().push((object, code));
    }

    /// Why something of a group stays as published although the group itself is made anew, if it does. `sets` are those that are
    /// made anew for the group.
    pub(super) fn why<'o>(
        &self,
        input: &Input<'_>,
        ruling: &Ruling<'_>,
        object: &ManifestObject,
        sets: impl Iterator<Item = &'o Order> + Clone,
    ) -> Option<Code> {
        if let Some((guest, from)) = object.guest.as_ref().zip(object.from.as_ref()) {
            let waits = waits(input, ruling, object, (guest, from));
            return waits.or_else(|| carry::made_before_a_strange_look(input, ruling, object));
        }
        let mut staying = self.0.get(&ruling.case.claim.by)?.iter();
        if let Some(guest) = &object.guest {
            let base = base_of(&object.key.name)?.strip_suffix(guest::OF_NAMESPACES)?;
            let is_in = |(payload, _): &&(&ManifestObject, Code)| {
                let lands = payload.guest.as_ref().and_then(|guest| guest.key.namespace.as_ref());
                lands.is_some_and(|lands| lands.as_str() == guest.key.name.as_str())
                    && base_of(&payload.key.name) == Some(base)
            };
            return staying.find(is_in).map(|(_, code)| *code);
        }
        let named = guests::published_set(input.published, &object.key)?.payloads;
        // A set that is full names no more.
        let is_homeless = |name: &Name| {
            let made = sets.clone().filter_map(|order| Some(guests::set(order)?.0));
            guest::set_of(made, name).is_none_or(|set| set.payloads.len() >= MOST_PAYLOADS)
        };
        let delivers = |(payload, _): &&(&ManifestObject, Code)| {
            named.iter().any(|(kind, name)| *kind == payload.key.kind && *name == payload.key.name)
                && is_homeless(&payload.key.name)
        };
        staying.find(delivers).map(|(_, code)| *code)
    }
}

/// What the name of a payload begins with.
fn base_of(payload: &Name) -> Option<&str> {
    payload.as_str().rsplit_once('-').map(|(base, _)| base)
}

/// Why a payload waits: its object does, or what would take its place, or it may be one that was not read.
fn waits(
    input: &Input<'_>,
    ruling: &Ruling<'_>,
    object: &ManifestObject,
    (guest, from): (&Guest, &ReadFrom),
) -> Option<Code> {
    let delivered = ruling.case.claim.guest.as_ref()?;
    let is_it = |read: &ObjectKey| from.is_of(read) && read.kind.is_secret() == guest.key.kind.is_secret();
    let mut waiting = ruling.case.closure.waiting.iter().chain(&ruling.waiting);
    if let Some((_, code)) = waiting.find(|(read, _)| is_it(read)) {
        return Some(*code);
    }
    if let Some(code) = instead(ruling, &guest.key) {
        return Some(code);
    }
    let unseen = delivered.unseen.first()?.code;
    // A template that is not known breaks the group.
    let is_known = template_of(&from.name).is_some() || delivered.items.iter().any(|item| is_it(&item.read));
    let group = input.world.fleet.guests.get(&ruling.case.claim.by.name)?;
    (!is_known && !is_told(input, group, (&object.key, from))).then_some(unseen)
}

/// Why what the configuration puts somewhere in guests cannot be delivered there yet, if that is so.
pub(super) fn instead(ruling: &Ruling<'_>, lands: &ObjectKey) -> Option<Code> {
    let closure = &ruling.case.closure;
    let is_it = |member: &&Member| is_put(member) && parcel(&member.edits).is_some_and(|parcel| parcel.lands == *lands);
    let wrong = |member: &Member| {
        if ruling.waits_for_type(member) {
            return Some(Code::SecretTypeChanged);
        }
        let mut found = ruling.findings().filter(|finding| finding.object.as_ref() == Some(&member.read));
        found.find(|finding| finding.stops_claim()).map(|finding| finding.code)
    };
    closure.awaited.get(lands).copied().or_else(|| closure.members.iter().filter(is_it).find_map(wrong))
}

/// Whether the configuration says that an object lands where it does, by its own name or that of the template that makes it.
/// Of what a rule takes, whoever writes it says so.
fn is_put(member: &Member) -> bool {
    member.rule.is_none() || template_of(&member.read.name).is_some()
}

/// Whether it is known that no rule of a group takes what a payload holds, whatever else was not read: it was read as it stands,
/// or is not there.
pub(super) fn is_told(input: &Input<'_>, group: &GuestGroup, (payload, from): (&ObjectKey, &ReadFrom)) -> bool {
    let snapshot = input.world.snapshot;
    // Secrets are made of Secrets alone; of what else a payload is made, the rules say.
    let kinds = input.world.facts.synced.kinds(&group.rules);
    kinds.filter(|kind| kind.is_secret() == payload.kind.is_secret()).all(|kind| {
        let read = ObjectKey::new(kind.clone(), from.namespace.clone(), from.name.clone());
        match snapshot.look_up(&read) {
            Lookup::Absent => true,
            Lookup::Found(found) => {
                !found.is_mistyped() && !found.faults.iter().any(|it| it.code.class() == Class::Broken)
            }
            Lookup::Unasked => snapshot.is_ruled_out(&read),
            Lookup::Unread(_) => false,
        }
    })
}

/// What goes on of a published payload that waits only because something else would land there too. With another selector it
/// goes on in another payload.
pub(super) fn goes_on<'r>(ruling: &'r Ruling<'_>, object: &ManifestObject) -> Option<&'r Member> {
    let (guest, from) = object.guest.as_ref().zip(object.from.as_ref())?;
    let is_it = |member: &&Member| {
        from.is_of(&member.read) && parcel(&member.edits).is_some_and(|parcel| parcel.lands == guest.key)
    };
    let mut contested = ruling.case.closure.contested.iter().filter(|member| !ruling.holds(member));
    contested.find(is_it)
}

/// What pouch makes to deliver one payload; sets that others have need not be those.
pub(super) fn delivering(world: &World<'_>, ruling: &Ruling<'_>, member: &Member) -> Vec<Member> {
    let claim = &ruling.case.claim;
    let own = |delivered| own_of_guests(world, claim, delivered, core::slice::from_ref(member));
    claim.guest.as_deref().map(own).unwrap_or_default()
}
