//! Packing: a region's objects against what is published of it: what is made anew, what stays for claims that are not, and what
//! is handed over.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::carry::{self, Fate, Fates};
use super::content::Order;
use super::guest_stays::{self, Staying};
use super::guests;
use super::handover::{self, Beside, Exchanged};
use super::history::History;
use super::home;
use super::input::Input;
use super::pack::{Pack, Wanted, fill, keep_of, let_stay, stay, wanted};
use super::revoked::{self, Admission, Revoked};
use crate::capi::resource_set::is_resource_set;
use crate::config::RegionState;
use crate::finding::Code;
use crate::judge::case::{Ruling, Verdict};
use crate::layout::manifest::{ManifestObject, NeededBy, ObjectState};
use crate::name::{Claimant, ObjectKey};
use crate::object::Object;

/// Packs what the claims want, against what is published.
pub(super) fn pack(input: &Input<'_>, history: &History, rulings: &[Ruling<'_>]) -> Pack {
    let mut pack = Pack::default();
    if input.terms.to.region.state == RegionState::Retired {
        return pack;
    }
    let mut wanted = wanted(rulings, input.terms.selection);
    if input.terms.selection.refresh.is_some() {
        // What exchanges one object for another in its place is the matter of a whole run.
        pack.findings.extend(Staying::default().take(input, &mut wanted, |_, _, _| true));
        stay(input, &mut wanted, &mut pack);
        let is_refreshed = |ruling: &&Ruling<'_>| input.terms.selection.refreshes(&ruling.case.claim.by);
        deliver(input, rulings.iter().filter(is_refreshed), &standing(input, &pack), &mut wanted);
    } else {
        let fates = carry::fates(input, rulings);
        carry_over(input, history, (&fates, rulings), &mut wanted, &mut pack);
    }
    guests::keep_versions(input.published, wanted.values_mut().map(|(order, _)| order));
    let mut unasked = Vec::new();
    let keep = |lands: &ObjectKey, text: &str, object: Option<&Object>| {
        Some(keep_of(input, lands, text, object, &mut unasked))
    };
    // The text of a Secret is only held against the tag of what is published.
    let is_read = |lands: &ObjectKey| input.published.bytes(lands).is_some();
    // Here `keep` never gives up, so there is always a pack.
    _ = fill(&input.terms, wanted, &mut pack, (is_read, keep));
    pack.unasked = unasked;
    pack
}

/// Lets groups that are made anew deliver what stays of them as well.
fn deliver<'r>(
    input: &Input<'_>,
    rulings: impl Iterator<Item = &'r Ruling<'r>>,
    staying: &Staying<'_>,
    wanted: &mut Wanted,
) {
    for ruling in rulings.filter(|ruling| ruling.case.claim.by.group().is_some() && ruling.is_admitted()) {
        let Some((before, now)) = staying.delivering(input, ruling, wanted) else { continue };
        before.for_each(|own| _ = wanted.remove(own));
        for own in now {
            let needed_by = BTreeSet::from([NeededBy::of(&ruling.case.claim.by, &own.through)]);
            wanted.entry(own.lands.clone()).or_insert_with(|| (Order::of(&own), needed_by));
        }
    }
}

/// The payloads that stay in a limited run although it makes their groups anew.
fn standing<'m>(input: &Input<'m>, pack: &Pack) -> Staying<'m> {
    let mut standing = Staying::default();
    let objects = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    let stays = |object: &&ManifestObject| pack.objects.get(&object.key).is_some_and(|packed| !packed.is_handover());
    for object in objects.iter().filter(stays) {
        let of_guests = object.needed_by.iter().filter(|needed_by| needed_by.by.group().is_some());
        of_guests.for_each(|needed_by| standing.add(&needed_by.by, object, Code::Unread));
    }
    standing
}

/// Carries over what broken claims have published and may still have, and adds these claims to objects that are fresh
/// anyway. What resolved claims exchanged for something else is handed over.
fn carry_over(
    input: &Input<'_>,
    history: &History,
    (fates, rulings): (&Fates, &[Ruling<'_>]),
    wanted: &mut Wanted,
    pack: &mut Pack,
) {
    let Some(manifest) = input.published.manifest() else { return };
    let admission = Admission::of(input, rulings, manifest);
    let mut ended: BTreeMap<&Claimant, Vec<Revoked>> = BTreeMap::new();
    let mut keeping: BTreeSet<&Claimant> = BTreeSet::new();
    let mut carried = Broken::new();
    let of_guests: BTreeMap<&Claimant, &Ruling<'_>> =
        rulings.iter().map(|ruling| (&ruling.case.claim.by, ruling)).filter(|(by, _)| by.group().is_some()).collect();
    let mut leaving: Vec<&ManifestObject> = Vec::new();
    let mut of_groups = Staying::default();
    // What delivers others comes after these, and sets come last.
    let (mut own, others): (Vec<&ManifestObject>, Vec<&ManifestObject>) =
        manifest.objects.iter().partition(|object| guest_stays::is_own(object));
    own.sort_by_key(|object| is_resource_set(&object.key.kind));
    // Why a part of what a group delivers stays as published while the rest goes on.
    let waits = |of_groups: &Staying<'_>, object: &ManifestObject, needed_by: &NeededBy| {
        let ruling = of_guests.get(&needed_by.by)?;
        let why = of_groups.why(input, ruling, (object, needed_by));
        let why = why.or_else(|| admission.may_be_slip(object, needed_by).then_some(Code::DeletionUnproved));
        why.filter(|code| !input.terms.allowances.withdraws(&needed_by.by, *code))
    };
    // Whoever has a place in guests keeps it while he waits.
    pack.findings.extend(of_groups.take(input, wanted, |of_groups, object, needed_by| {
        fates.of(needed_by) == Fate::Fresh
            && waits(of_groups, object, needed_by).is_some()
            && admission.ends(object, needed_by).is_none()
    }));
    for (objects, is_own) in [(others, false), (own, true)] {
        if is_own {
            deliver(input, of_guests.values().copied(), &of_groups, wanted);
        }
        for object in objects {
            let ManifestObject { key, state, needed_by: all, .. } = object;
            let mut names = BTreeSet::new();
            let mut why = None;
            let is_wanted = wanted.contains_key(key);
            // Who is named with what is handed over has another now, and whether he is broken makes its wait no longer.
            for needed_by in all.iter().filter(|_| !state.is_handover()) {
                let by = &needed_by.by;
                let code = match fates.of(needed_by) {
                    Fate::Carried(code) => code,
                    Fate::Fresh => match waits(&of_groups, object, needed_by).filter(|_| !is_wanted) {
                        Some(code) => code,
                        None => continue,
                    },
                    Fate::Withdrawn => continue,
                };
                match admission.ends(object, needed_by) {
                    Some(revoked) => ended.entry(by).or_default().push(revoked),
                    None => {
                        keeping.insert(by);
                        names.insert(needed_by.clone());
                        why.get_or_insert(code);
                    }
                }
            }
            let by = names.first().map(|needed_by: &NeededBy| needed_by.by.clone());
            let ruling = by.as_ref().and_then(|by| of_guests.get(by)).filter(|ruling| ruling.is_admitted());
            let going = ruling.and_then(|ruling| guest_stays::goes_on(ruling, object));
            match (by.zip(going), why) {
                _ if is_wanted => {
                    if let Some((_, needed_by)) = wanted.get_mut(key) {
                        needed_by.extend(names);
                    }
                }
                (Some((by, member)), Some(_)) => {
                    of_groups.go_on(&by, member);
                    let needed_by = BTreeSet::from([NeededBy::of(&by, &member.through)]);
                    wanted.entry(member.lands.clone()).or_insert_with(|| (Order::of(member), needed_by));
                    if member.lands != *key {
                        leaving.push(object);
                    }
                }
                (None, Some(code)) => {
                    let names_of = all.iter().filter(|needed_by| names.contains(needed_by));
                    names_of.for_each(|needed_by| of_groups.add(&needed_by.by, object, code));
                    carried.insert(key, (object, names, code));
                }
                (_, None) => leaving.push(object),
            }
        }
    }
    let is_left = |object: &ManifestObject, needed_by: &NeededBy| {
        let (by, fate) = (&needed_by.by, fates.of(needed_by));
        (fate == Fate::Fresh || object.state.is_handover() && fate != Fate::Withdrawn)
            && !input.terms.allowances.withdraw.contains(by)
            && admission.ends(object, needed_by).is_none()
    };
    let exchanged = leaving.iter().filter(|object| handover::stays(input, history, manifest, object));
    let mut exchanged: Vec<Exchanged<'_>> = exchanged
        .map(|object| (*object, object.needed_by.iter().filter(|it| is_left(object, it)).cloned().collect()))
        .collect();
    let kept =
        || carried.values().flat_map(|(object, names, _)| names.iter().map(move |needed_by| (*object, needed_by)));
    pack.findings.extend(admission.slips(kept()));
    pack.findings.extend(carry::of_strange_look(input, &of_guests, kept()));
    pack.findings.extend(fates.findings(input, rulings, &keeping));
    pack.findings.extend(ended.iter().filter_map(|(by, ended)| revoked::finding(input, by, ended)));
    leaving.retain(|object| !object.key.kind.is_namespace());
    let read = home::read_there(input, &leaving);
    pack.findings.extend(home::findings(input, manifest, &read));
    exchanged.retain(|(object, names)| !names.is_empty() && !read.contains_key(&object.key));
    // A set of which nothing is left delivers nothing.
    let left: BTreeSet<ObjectKey> = exchanged.iter().map(|(object, _)| object.key.clone()).collect();
    let is_there = |key: &ObjectKey| wanted.contains_key(key) || carried.contains_key(key) || left.contains(key);
    exchanged.retain(|(object, _)| guests::names_any(input.published, object, is_there));
    let mut handed_over: BTreeSet<&ObjectKey> = BTreeSet::new();
    if !exchanged.is_empty() {
        let fitting = handover::fitting(input, beside(input, wanted, &carried), exchanged);
        pack.left_out = fitting.left_out;
        for (object, names) in fitting.stays {
            handed_over.insert(&object.key);
            let_stay(input, pack, manifest, object, names, ObjectState::Carried(Code::Handover));
        }
    }
    let refused =
        rulings.iter().filter(|ruling| ruling.verdict == Verdict::Refused).map(|ruling| &ruling.case.claim.by);
    pack.refused.extend(refused.chain(ended.keys().copied()).chain(fates.shut_out(input)).cloned());
    let holds = |key: &ObjectKey| wanted.contains_key(key) || carried.contains_key(key);
    let stays = |key: &ObjectKey| holds(key) || handed_over.contains(key);
    let renewed: Wanted = carried
        .values()
        .filter_map(|(object, names, _)| {
            let by = &names.first()?.by;
            let order = if guests::is_set(object) {
                of_guests.get(by).filter(|ruling| ruling.is_admitted())?;
                guests::of_what_is_left(input, (by, &object.key), stays)?
            } else {
                let (read, edits) = admission.new_text(object, by, holds)?;
                Order { read, lands: object.key.clone(), edits }
            };
            Some((object.key.clone(), (order, names.clone())))
        })
        .collect();
    for object in leaving.iter().filter(|object| read.contains_key(&object.key)) {
        let names = object.needed_by.iter().cloned().collect();
        let_stay(input, pack, manifest, object, names, ObjectState::Carried(Code::OwnOutput));
    }
    for (object, names, code) in carried.into_values().filter(|(object, ..)| !renewed.contains_key(&object.key)) {
        let_stay(input, pack, manifest, object, names, ObjectState::Carried(code));
    }
    wanted.extend(renewed);
}

/// What broken claims have published, who of them may still have it, and why.
type Broken<'m> = BTreeMap<&'m ObjectKey, (&'m ManifestObject, BTreeSet<NeededBy>, Code)>;

/// What stands in the bundle whatever is handed over.
fn beside<'n>(input: &Input<'n>, wanted: &Wanted, carried: &Broken<'_>) -> Beside<'n> {
    let mut beside = Beside::new(&input.terms.world.fleet.system_namespace);
    for (lands, (order, needed_by)) in wanted {
        let object =
            order.source(input.terms.world.snapshot, &input.terms.envelopes()).filter(|_| lands.kind.is_secret());
        beside.add(needed_by, object.map(|object| object.sealed_bytes()).unwrap_or_default());
    }
    for (key, (_, names, _)) in carried {
        beside.add(names, input.published.bytes(key).filter(|_| key.kind.is_secret()).map_or(0, <[u8]>::len));
    }
    beside
}
