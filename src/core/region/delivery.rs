//! Delivery: sets, and payloads of Namespaces, from the payloads of groups of guests that are made or stay.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::content::Order;
use super::envelope::{delivering, made};
use super::guests::{is_set, published_set};
use super::handover;
use super::history::History;
use super::input::{Input, Terms};
use super::pack::{self, Pack, Packed, Wanted, standing_state};
use crate::capi::resource_set::{ResourceSet, Strategy};
use crate::claim::guest::{self, named_by};
use crate::claim::{GuestSet, Own, parcel};
use crate::closure::version_of_sets;
use crate::config::{ClusterSelector, GuestGroup, RegionState};
use crate::judge::case::Ruling;
use crate::layout::manifest::{Guest, Manifest, ManifestObject, NeededBy, ObjectState, Reason};
use crate::name::{Claimant, GroupKind, Name, ObjectKey, split_api_version};

/// The objects that the resolved claims want published, with those that deliver them.
pub(super) fn wanted(terms: &Terms<'_>, rulings: &[Ruling<'_>]) -> Wanted {
    let mut wanted = pack::wanted(rulings, terms.selection);
    deliver(terms, rulings, &Pack::default(), &mut wanted);
    wanted
}

/// Lets groups deliver what they have: what is wanted, and what stays of it as published.
///
/// A payload that is handed over is no longer delivered: its claimant has another.
pub(super) fn deliver(terms: &Terms<'_>, rulings: &[Ruling<'_>], pack: &Pack, wanted: &mut Wanted) {
    let made_anew = made_anew(rulings).filter(|by| terms.selection.refreshes(by));
    let bases: BTreeMap<&Name, String> =
        terms.world.fleet.guests.values().map(|group| (&group.name, group.base())).collect();
    let of_group = |by: &Claimant| Some((by.whole().into_owned(), (bases.get(by.group()?)?.clone(), BTreeMap::new())));
    let mut of: BTreeMap<Claimant, (String, BTreeMap<Name, ObjectKey>)> = made_anew.filter_map(of_group).collect();
    if of.is_empty() {
        return;
    }
    let mut add = |needed_by: &BTreeSet<NeededBy>, payload: &ObjectKey, lands: &ObjectKey| {
        for NeededBy { by, .. } in needed_by {
            let is_current = |base: &String| is_of(&payload.name, base);
            if let Some((_, payloads)) = of.get_mut(&*by.whole()).filter(|(base, _)| is_current(base)) {
                payloads.insert(payload.name.clone(), lands.clone());
            }
        }
    };
    for (lands, (order, needed_by)) in &*wanted {
        parcel(&order.edits).into_iter().for_each(|parcel| add(needed_by, lands, &parcel.lands));
    }
    for Kept { object, guest, needed_by, reason } in staying(pack) {
        if reason != Some(Reason::HandedOver) {
            add(needed_by, &object.key, &guest.key);
        }
    }
    let version = version_of_sets(&terms.world, &terms.to.region.name);
    for (by, (_, payloads)) in of {
        let Some(group) = terms.world.fleet.group_of(&by) else { continue };
        let needed_by = BTreeSet::from([NeededBy::of(&by, &[named_by(&by)])]);
        for order in delivering(group, by.namespace(), &payloads, version.as_ref()) {
            wanted.insert(order.lands.clone(), (order, needed_by.clone()));
        }
    }
}

/// The claimants of groups of guests of which something is made.
fn made_anew<'r>(rulings: &'r [Ruling<'_>]) -> impl Iterator<Item = &'r Claimant> {
    let admitted = rulings.iter().filter(|ruling| ruling.is_admitted()).map(|ruling| &ruling.case.claim.by);
    admitted.filter(|by| by.group().is_some())
}

/// Lets stay, of what is published to deliver others, what no group makes and what still delivers something. A limited run
/// lets all of it stay.
pub(super) fn let_stay(
    input: &Input<'_>,
    history: &History,
    rulings: &[Ruling<'_>],
    wanted: &mut Wanted,
    pack: &mut Pack,
) {
    let manifest = input.published.manifest().filter(|_| input.terms.to.region.state != RegionState::Retired);
    let Some(manifest) = manifest else { return };
    let admitted = made_anew(rulings).map(|by| by.whole().into_owned()).collect();
    let delivery = Delivery { input, history, manifest, admitted };
    let is_left = |object: &&ManifestObject| object.is_delivery() && !wanted.contains_key(&object.key);
    // What is delivered comes before what names it.
    let (sets, payloads): (Vec<_>, Vec<_>) = manifest.objects.iter().filter(is_left).partition(|object| is_set(object));
    for object in payloads.into_iter().chain(sets) {
        let needed_by: BTreeSet<NeededBy> = object.needed_by.iter().cloned().collect();
        if input.terms.selection.refresh.is_some() {
            let state = standing_state(input, manifest, object);
            pack::let_stay(input, pack, manifest, object, needed_by, state);
            continue;
        }
        match delivery.of(object, wanted, pack) {
            Delivers::Nothing => {}
            Delivers::Renewed(order) => _ = wanted.insert(object.key.clone(), (*order, needed_by)),
            Delivers::AsPublished(reason) => {
                pack::let_stay(input, pack, manifest, object, needed_by, ObjectState::Carried(reason));
            }
        }
    }
}

/// The fate of something published that delivers others, and that no group makes again.
enum Delivers {
    /// It goes: nothing that it delivers is there any more.
    Nothing,
    /// It stays as published, for this reason.
    AsPublished(Reason),
    /// It is made again with what is left of its payloads.
    Renewed(Box<Order>),
}

/// The facts that decide it.
struct Delivery<'d> {
    input: &'d Input<'d>,
    history: &'d History,
    manifest: &'d Manifest,
    /// The groups of which something is made.
    admitted: BTreeSet<Claimant>,
}

impl Delivery<'_> {
    fn of(&self, object: &ManifestObject, wanted: &Wanted, pack: &Pack) -> Delivers {
        let by = object.needed_by.iter().map(|needed_by| &needed_by.by).find(|by| by.group().is_some());
        let Some(by) = by.map(Claimant::whole) else { return Delivers::Nothing };
        let group = self.input.terms.world.fleet.group_of(&by).filter(|_| self.admitted.contains(&*by));
        // What is delivered by the selector of now is in the sets of now.
        let is_made_by = |group: &GuestGroup| object.key.name.as_str().starts_with(&*group.base());
        let is_replaced = group.is_some_and(is_made_by);
        let handed_over = || match handover::stays(self.input, self.history, self.manifest, object) {
            true => Delivers::AsPublished(Reason::HandedOver),
            false => Delivers::Nothing,
        };
        if let Some(Guest { key, .. }) = &object.guest {
            let of_namespaces = base_of(&object.key.name).and_then(|base| base.strip_suffix(guest::OF_NAMESPACES));
            let lands_there = |it: &Kept<'_>| {
                it.object.key.namespace == object.key.namespace
                    && it.guest.key.namespace_text() == key.name.as_str()
                    && base_of(&it.object.key.name) == of_namespaces
            };
            return match reason(staying(pack).filter(lands_there)) {
                None => Delivers::Nothing,
                Some(Reason::HandedOver) => handed_over(),
                Some(_) if is_replaced => handed_over(),
                Some(reason) => Delivers::AsPublished(reason),
            };
        }
        // Of a set that cannot be read, it is unknown what it names.
        let Some(set) = published_set(self.input.published, &object.key) else {
            let own = staying(pack).filter(|it| it.needed_by.iter().any(|needed_by| needed_by.by.whole() == by));
            return reason(own).filter(|_| !is_replaced).map_or(Delivers::Nothing, Delivers::AsPublished);
        };
        let named: Vec<ObjectKey> = set.payloads.iter().map(|(kind, name)| beside(&object.key, kind, name)).collect();
        let stays = |key: &ObjectKey| match pack.objects.get(key) {
            Some(Packed::Carried { state, .. }) => state.reason().filter(|reason| *reason != Reason::OwnOutput),
            Some(Packed::Fresh { .. } | Packed::Namespace { .. }) | None => None,
        };
        let is_there = |key: &ObjectKey| wanted.contains_key(key) || stays(key).is_some();
        let stays = first_reason(named.iter().filter_map(stays)).filter(|it| *it != Reason::HandedOver && !is_replaced);
        match stays {
            None if named.iter().any(is_there) => handed_over(),
            None => Delivers::Nothing,
            Some(reason) => {
                let renewed = self.of_what_is_left(&object.key, set, is_there);
                renewed.map_or(Delivers::AsPublished(reason), |order| Delivers::Renewed(Box::new(order)))
            }
        }
    }

    /// Orders a published set again with what is left of its payloads, as `is_left` tells.
    ///
    /// Cluster API skips a payload that is not there and calls the set applied, so a set names nothing that has gone.
    fn of_what_is_left(
        &self,
        key: &ObjectKey,
        set: ResourceSet,
        is_left: impl Fn(&ObjectKey) -> bool,
    ) -> Option<Order> {
        let body = self.input.published.document(key)?;
        let (_, version) = split_api_version(body.str_at(&["apiVersion"])?);
        let is_left = |(kind, name): &(GroupKind, Name)| is_left(&beside(key, kind, name));
        let renewed = GuestSet {
            name: key.name.clone(),
            clusters: ClusterSelector::read(body.at(&["spec", "clusterSelector"])?)?,
            once: set.strategy == Strategy::ApplyOnce,
            payloads: set.payloads.into_iter().filter(is_left).collect(),
        };
        Some(made(key, Own::Set(renewed, Some(version.into()))))
    }
}

/// A payload of an object that stays as published.
struct Kept<'p> {
    object: &'p ManifestObject,
    guest: &'p Guest,
    needed_by: &'p BTreeSet<NeededBy>,
    /// The reason for it, if it is not current.
    reason: Option<Reason>,
}

/// The payloads of objects that stay as published.
fn staying(pack: &Pack) -> impl Iterator<Item = Kept<'_>> {
    pack.objects.values().filter_map(|packed| match packed {
        Packed::Carried { object, needed_by, state } => {
            let guest = object.guest.as_ref().filter(|_| object.from.is_some())?;
            let reason = state.reason();
            (reason != Some(Reason::OwnOutput)).then_some(Kept { object, guest, needed_by, reason })
        }
        Packed::Fresh { .. } | Packed::Namespace { .. } => None,
    })
}

/// The reason for which the first of these payloads stays; one that is handed over says least.
fn reason<'p>(payloads: impl Iterator<Item = Kept<'p>>) -> Option<Reason> {
    first_reason(payloads.filter_map(|it| it.reason))
}

fn first_reason(reasons: impl Iterator<Item = Reason>) -> Option<Reason> {
    reasons.min_by_key(|reason| *reason == Reason::HandedOver)
}

/// The key of a payload that a set names.
fn beside(set: &ObjectKey, kind: &GroupKind, name: &Name) -> ObjectKey {
    ObjectKey::new(kind.clone(), set.namespace.clone(), name.clone())
}

/// The beginning of a payload's name.
fn base_of(payload: &Name) -> Option<&str> {
    payload.as_str().rsplit_once('-').map(|(base, _)| base)
}

fn is_of(payload: &Name, base: &str) -> bool {
    base_of(payload) == Some(base)
}
