//! Why what is published for guest clusters stays although its group is made anew.
//!
//! A payload is asked for itself: by what it holds, and by what would take its place.

use alloc::boxed::Box;

use super::carry;
use super::input::Input;
use super::revoked::Admission;
use super::siblings::Siblings;
use crate::claim::parcel;
use crate::closure::{Member, Rank};
use crate::finding::Code;
use crate::judge::case::{Ruling, Verdict};
use crate::layout::manifest::{Guest, ManifestObject, NeededBy, Reason};
use crate::name::{Claimant, Entry, Name, ObjectKey, ReadFrom, TakenObject};

/// The reason for which a part of what a group delivers stays as published while the rest goes on.
pub(super) fn waits(
    input: &Input<'_>,
    admission: &Admission<'_, '_, '_>,
    of_guests: &Siblings<'_, '_>,
    object: &ManifestObject,
    needed_by: &NeededBy,
) -> Option<Reason> {
    let by = &needed_by.by;
    let own = of_guests.own(by);
    let (guest, from) = object.guest.as_ref().zip(object.from.as_ref())?;
    let waiting = || match (own, by.entry()) {
        // What no entry has any more, another may still give.
        (None, _) => waiting(of_guests.reading(by, from), guest, from),
        (Some(_), Some(Entry::Object(_)) | None) => None,
        (Some(own), Some(Entry::Template(_) | Entry::Rule { .. })) => waiting(&[own], guest, from),
    };
    // A rule may take what an entry gave that the configuration has no more.
    let may_be_taken = || may_be_taken(input, by, guest, from).filter(|_| own.is_none() && from.made.is_none());
    let strange = || carry::made_before_a_strange_look(input, own?);
    let instead = || instead(input, of_guests.putting(by, &guest.key), guest).map(Reason::of);
    // What its own entry puts somewhere is nowhere else; a template may make several.
    let is_placed = own.is_some() && by.entry().is_some_and(|entry| entry.template().is_none());
    let may_be_given = || may_be_given(of_guests.open(by), needed_by).filter(|_| !is_placed);
    let why = waiting().or_else(may_be_taken).map(Reason::of).or_else(strange).or_else(instead).or_else(may_be_given);
    let why = why.or_else(|| admission.may_be_slip(object, needed_by).then_some(Reason::Unproved));
    why.filter(|reason| !input.terms.allowances.withdraws(by, reason.code()))
}

/// The code that says why it is open whether a rule of a group takes what a payload was read from, if it is.
fn may_be_taken(input: &Input<'_>, by: &Claimant, guest: &Guest, from: &ReadFrom) -> Option<Code> {
    let Claimant::Guests { namespace, group, .. } = by else { return None };
    let world = input.terms.world;
    let object = TakenObject { namespace: from.namespace.clone(), name: from.name.clone() };
    let taken = |rule: &Name| {
        let entry = Entry::Rule { rule: rule.clone(), object: Some(object.clone()) };
        Claimant::Guests { namespace: namespace.clone(), group: group.clone(), entry: Some(Box::new(entry)) }
    };
    // One that cannot be followed is broken as a whole. Secrets are made of Secrets alone.
    let kind = |rule: &Name| world.facts.synced.kind(rule);
    let may_make = |rule: &&Name| kind(rule).is_some_and(|kind| kind.is_secret() == guest.key.kind.is_secret());
    let mut rules = world.fleet.group_of(by)?.rules.iter().filter(may_make);
    rules.find_map(|rule| world.may_be_taken(&taken(rule)))
}

/// The code for which something that was read for a payload waits, for one of these.
fn waiting(rulings: &[&Ruling<'_>], guest: &Guest, from: &ReadFrom) -> Option<Code> {
    let is_it = |read: &ObjectKey| from.is_of(read) && read.kind.is_secret() == guest.key.kind.is_secret();
    rulings.iter().find_map(|ruling| {
        let mut waiting = ruling.case.closure.waiting.iter().chain(&ruling.waiting);
        let one = waiting.find(|(read, _)| is_it(read)).map(|(_, code)| *code);
        let mut members = ruling.case.closure.members.iter();
        let is_broken = ruling.verdict == Verdict::Broken;
        one.or_else(|| ruling.broken_by().filter(|_| is_broken && members.any(|member| is_it(&member.read))))
    })
}

/// Why what the configuration puts somewhere in guests cannot be delivered there yet, if that is so: in the place of what is
/// published there.
fn instead(input: &Input<'_>, siblings: &[&Ruling<'_>], published: &Guest) -> Option<Code> {
    siblings.iter().find_map(|ruling| is_instead(input, ruling, published))
}

fn is_instead(input: &Input<'_>, ruling: &Ruling<'_>, published: &Guest) -> Option<Code> {
    let (closure, lands) = (&ruling.case.closure, &published.key);
    let is_it = |member: &&Member| {
        let is_there = parcel(&member.edits).is_some_and(|parcel| parcel.lands == *lands);
        is_there && (member.rank() != Rank::Rule || ruling.waits_for_type(member))
    };
    let wrong = |member: &Member| {
        // Of a group that is broken nothing has been compared.
        let object = input.terms.world.snapshot.get(&member.read);
        let secret_type = object.map(|object| object.body.str_at(&["type"]).unwrap_or("Opaque"));
        let changes_type =
            published.secret_type.as_deref().zip(secret_type).is_some_and(|(before, after)| before != after);
        if ruling.waits_for_type(member) || !ruling.is_admitted() && changes_type {
            return Some(Code::ImmutableField);
        }
        let mut found = ruling.findings().filter(|finding| finding.object.as_ref() == Some(&member.read));
        found.find(|finding| finding.stops_claim()).map(|finding| finding.code)
    };
    closure.awaited.get(lands).copied().or_else(|| closure.members.iter().filter(is_it).find_map(wrong))
}

/// The reason for which an object stays that its entry has no more: another entry, which cannot be followed now, may give it. A
/// template that fails may give what a rule took or a template made; what the configuration named goes when it says so.
fn may_be_given(open: &[&Ruling<'_>], needed_by: &NeededBy) -> Option<Reason> {
    let is_named = needed_by.by.entry().is_some_and(|entry| entry.object().is_some());
    let may_give = |ruling: &&&Ruling<'_>| {
        let by = &ruling.case.claim.by;
        let is_template = by.entry().is_some_and(|entry| entry.template().is_some());
        !(needed_by.by.is_of(by) || is_template && is_named)
    };
    let ruling = open.iter().find(may_give)?;
    Some(ruling.broken_by().map_or(Reason::Unread, Reason::of))
}
