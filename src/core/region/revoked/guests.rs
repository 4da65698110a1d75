//! Whether a group of guests may still have what is published for it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::given::{Slip, giver};
use super::super::guest_stays::{instead, is_told};
use super::super::siblings::delivered;
use super::{Admission, Revoked};
use crate::admission::{self, Namer, Sought};
use crate::claim::Claim;
use crate::config::GuestGroup;
use crate::finding::{Class, Code, Finding, Origin, Severity};
use crate::judge::place;
use crate::kinds;
use crate::layout::manifest::{Guest, Manifest, ManifestObject, NeededBy, ReadFrom};
use crate::listing::few;
use crate::name::{Claimant, Entry, ObjectKey};
use crate::region::input::Terms;
use crate::snapshot::Lookup;

/// A published object of a group: what gave it, what it was read from, and whether it is a Secret.
type Given<'m> = (&'m Entry, &'m ReadFrom, bool);

impl<'i> Admission<'_, 'i, '_> {
    fn is_named(&self, group: &GuestGroup, giver: &Entry) -> bool {
        match giver {
            Entry::Template(name) => group.templates.contains(name),
            Entry::Rule(name) => group.rules.contains(name),
            Entry::Object(read) => self.named.get(&group.name).is_some_and(|named| named.contains(read)),
        }
    }

    /// For each group that has something published which the configuration names no more: an entry that may be a slip in the
    /// name of that. No source is known to have what it names, or it gives nothing for something that is wrong, and nothing of
    /// it is published.
    pub(super) fn all_slips(&self, manifest: &'i Manifest) -> BTreeMap<Claimant, Slip> {
        let groups = &self.input.terms.world.fleet.guests;
        let mut published: BTreeMap<Claimant, Vec<Given<'_>>> = BTreeMap::new();
        for (object, needed_by) in manifest.objects.iter().flat_map(|it| it.needed_by.iter().map(move |by| (it, by))) {
            if needed_by.by.group().is_some()
                && let Some((giver, from)) = giver(object, needed_by).zip(object.from.as_ref())
            {
                let is_secret = object.guest.as_ref().is_some_and(|guest| guest.key.kind.is_secret());
                published.entry(needed_by.by.whole().into_owned()).or_default().push((giver, from, is_secret));
            }
        }
        let slip = |(by, published): (Claimant, Vec<Given<'_>>)| {
            let group = groups.get(by.group()?)?;
            let is_unnamed = published.iter().any(|(giver, ..)| !self.is_named(group, giver));
            let slip = is_unnamed.then(|| self.slip(group, &by, &published))??;
            Some((by, slip))
        };
        published.into_iter().filter_map(slip).collect()
    }

    fn slip(&self, group: &GuestGroup, by: &Claimant, published: &[Given<'_>]) -> Option<Slip> {
        let Terms { world, .. } = self.input.terms;
        let is_there = |key: &ObjectKey| matches!(world.snapshot.look_up(key), Lookup::Found(_));
        let gives = |giver: &Entry| published.iter().any(|(it, ..)| *it == giver);
        let is_published = |read: &ObjectKey| {
            published.iter().any(|(giver, from, is_secret)| match giver {
                Entry::Object(given) => given == read,
                Entry::Rule(_) => from.is_of(read) && *is_secret == read.kind.is_secret(),
                Entry::Template(_) => false,
            })
        };
        let objects = group.objects.iter().filter(|entry| !is_published(&entry.read));
        let objects = objects.map(|entry| Entry::Object(entry.read.clone()));
        let templates = group.templates.iter().map(|template| Entry::Template(template.clone()));
        let rules = group.rules.iter().map(|rule| Entry::Rule(rule.clone()));
        let all: Vec<Entry> = objects.chain(templates.chain(rules).filter(|giver| !gives(giver))).collect();
        let is_missing = |giver: &&Entry| match giver {
            Entry::Object(read) => !is_there(read),
            Entry::Template(template) => !world.facts.templates.specs.contains_key(template),
            Entry::Rule(rule) => !is_there(&ObjectKey::new(kinds::sync_rule(), None, rule.clone())),
        };
        // What is there may fail, and give nothing for that.
        let is_broken = |finding: &Finding| finding.stops_claim() && finding.code.class() == Class::Broken;
        let own = |entry: &Entry| {
            self.of_guests.of_group(by).iter().find(|ruling| ruling.case.claim.by.entry() == Some(entry)).copied()
        };
        let is_failing = |entry: &Entry| own(entry).is_some_and(|ruling| ruling.findings().any(is_broken));
        let fails = |giver: &&Entry| match giver {
            Entry::Object(_) | Entry::Template(_) => is_failing(giver),
            Entry::Rule(rule) => world.facts.synced.kind(rule).is_none(),
        };
        let is_unseen = |giver: &&Entry| {
            let delivered = own(giver).filter(|_| giver.rule().is_some()).and_then(|own| own.case.claim.delivered());
            delivered.is_some_and(|delivered| delivered.unseen.is_some() && delivered.items.is_empty())
        };
        let is_unread = |giver: &Entry| match giver {
            Entry::Object(read) => matches!(world.snapshot.look_up(read), Lookup::Unread(_) | Lookup::Unasked),
            _ => false,
        };
        let slip = |is_unseen| move |it: &Entry| Slip { named: it.clone(), is_unread: is_unseen || is_unread(it) };
        let wrong = all.iter().find(is_missing).or_else(|| all.iter().find(fails)).map(slip(false));
        wrong.or_else(|| all.iter().find(is_unseen).map(slip(true)))
    }

    /// Whether an object of a group is one that the configuration names no more, and what it names instead may be a slip.
    pub(in super::super) fn may_be_slip(&self, object: &ManifestObject, needed_by: &NeededBy) -> bool {
        self.slips.contains_key(&*needed_by.by.whole()) && self.is_unnamed(object, needed_by)
    }

    fn is_unnamed(&self, object: &ManifestObject, needed_by: &NeededBy) -> bool {
        let group = self.input.terms.world.fleet.group_of(&needed_by.by);
        let giver = giver(object, needed_by);
        group.zip(giver).is_some_and(|(group, giver)| !self.is_named(group, giver))
    }

    /// What is said of objects that stay although the configuration names them no more.
    pub(in super::super) fn slips<'m>(
        &self,
        kept: impl Iterator<Item = (&'m ManifestObject, &'m NeededBy)>,
    ) -> Vec<Finding> {
        const SHOWN: usize = 5;
        let mut unnamed: BTreeMap<Claimant, BTreeSet<&ObjectKey>> = BTreeMap::new();
        for (object, needed_by) in kept.filter(|(_, needed_by)| needed_by.by.group().is_some()) {
            if let Some(guest) = object.guest.as_ref().filter(|_| self.is_unnamed(object, needed_by)) {
                unnamed.entry(needed_by.by.whole().into_owned()).or_default().insert(&guest.key);
            }
        }
        let finding = |(by, objects): (Claimant, BTreeSet<&ObjectKey>)| {
            let withdraw = format!("`--withdraw {}` lets go of all that waits in the group", by.path());
            let (why, help) = match self.slips.get(&by) {
                Some(Slip { named, is_unread: false }) => (
                    format!(
                        "guests.{} names {named}, which gives nothing, and may be a slip in the name of it",
                        by.name()
                    ),
                    String::from("Correct the name, or take that entry out: then what is named no more goes."),
                ),
                Some(Slip { named, is_unread: true }) => (
                    format!("{named} gives nothing, as far as was read"),
                    format!("Correct the source: its own findings say what is wrong. {withdraw}."),
                ),
                None => (
                    String::from(
                        "something else in the group may give it still, or takes its place and cannot be delivered yet",
                    ),
                    format!("What is wrong with the group is told beside this. {withdraw}."),
                ),
            };
            let message = format!(
                "{by} keeps what the configuration names no more: {}; {why}",
                few(&objects, objects.len(), SHOWN)
            );
            let finding = Finding::new(Code::DeletionUnproved, message).severity(Severity::Warning).claimed_by(&by);
            finding.at(&Origin::configuration()).in_region(&self.input.terms.to.region.name).help(help)
        };
        unnamed.into_iter().map(finding).collect()
    }

    /// Why a group of guest clusters delivers an object no more, or its payload must not land where it does.
    pub(super) fn undelivered(&self, object: &ManifestObject, needed_by: &NeededBy) -> Option<Revoked> {
        let Terms { world, to, .. } = self.input.terms;
        let by = &needed_by.by;
        let revoked = |code, why: String| Some(Revoked { code, key: object.key.clone(), why });
        if let Some(finding) = place::check(&to, &object.key).into_iter().next() {
            return revoked(finding.code, finding.message);
        }
        let (guest, from) = (object.guest.as_ref()?, object.from.as_ref()?);
        if !world.fleet.publishes(&guest.key.kind) {
            return revoked(Code::ForbiddenKind, format!("pouch does not publish objects of kind {}", guest.key.kind));
        }
        let read = ObjectKey::new(guest.key.kind.clone(), from.namespace.clone(), from.name.clone());
        if let Lookup::Found(found) = world.snapshot.look_up(&read)
            && let Some(why) = found.stays.filter(|_| !found.faults.iter().any(|fault| fault.code.is_doubt()))
        {
            return revoked(Code::ForbiddenType, format!("{read} never leaves its cluster: {why}"));
        }
        let group = world.fleet.group_of(by)?;
        let giver = giver(object, needed_by)?;
        let is_named = self.is_named(group, giver);
        match giver {
            Entry::Object(_) if is_named => return None,
            Entry::Template(template) if is_named => {
                let by = Claimant::Template { namespace: by.namespace().clone(), template: template.clone() };
                let data = self.shut_data(object, &by, needed_by)?;
                let why = admission::OF_ANOTHER_SOURCE;
                return revoked(Code::NotAdmitted, format!("it is made of {data}, which is not open to {by}: {why}"));
            }
            _ => {}
        }
        // Of what rules take, that is known only as long as they take it.
        if !group.rules.is_empty() {
            match self.taken(group, guest, from, by, giver)? {
                Taken::Open => return None,
                Taken::Shut(why) => return revoked(Code::NotAdmitted, why),
                Taken::Unknown if is_named => return None,
                Taken::Unknown => {}
            }
        }
        // Where something else takes its place, and has another type, what is published says which one guests have.
        let takes_its_place = || instead(self.input, self.of_guests.of_group(by), guest);
        if self.slips.contains_key(&*by.whole()) || takes_its_place().is_some() {
            return None;
        }
        revoked(Code::NotAdmitted, format!("the configuration does not name {giver} for the group any more"))
    }

    /// What the rules of a group say now of an object; none where one of them cannot be followed and may be what gives it.
    fn taken(&self, group: &GuestGroup, guest: &Guest, from: &ReadFrom, by: &Claimant, giver: &Entry) -> Option<Taken> {
        let Terms { world, .. } = self.input.terms;
        let siblings = self.of_guests.of_group(by);
        let all = || delivered(siblings);
        all().next()?;
        let items = all().flat_map(|it| &it.items);
        let items = items.filter(|item| item.parcel.lands == guest.key && from.is_of(&item.read));
        let items = items.filter_map(|item| Some((&item.read, item.rule.as_ref()?)));
        let waiting = all().flat_map(|it| &it.waiting).filter(|it| from.is_of(&it.read));
        let waiting = waiting.map(|it| (&it.read, &it.rule));
        let is_open = |(read, rule): (&ObjectKey, &Arc<Claim>)| {
            let sought = Sought { read, namer: Namer::Claimant };
            read.namespace.is_none()
                || admission::of_namespaced(&world, &**rule, &sought).is_some()
                || admission::undecided(&world, &**rule, &sought).is_some()
        };
        let taken: Vec<(&ObjectKey, &Arc<Claim>)> = items.chain(waiting).collect();
        if taken.iter().copied().any(is_open) {
            return Some(Taken::Open);
        }
        // While a rule is not followed, or the object may be one that was not read, nobody knows.
        let is_followed = group.rules.iter().all(|rule| world.facts.synced.kind(rule).is_some());
        let is_whole = || all().all(|it| it.is_whole);
        let is_seen = all().all(|it| it.unseen.is_none()) || is_told(self.input, group, giver.rule(), guest, from);
        // No rule takes what a template made.
        let is_made = matches!(giver, Entry::Template(_));
        let unknown = (is_made || is_followed && is_seen).then_some(Taken::Unknown);
        let Entry::Rule(rule) = giver else { return unknown };
        // While the rule that took it is not followed, or a source was not read, others that match it say nothing.
        let by_own = |(_, it): &&(&ObjectKey, &Arc<Claim>)| it.by.rule() == Some(rule);
        let own = taken.iter().find(by_own).or_else(|| taken.first().filter(|_| is_whole()));
        if let Some((read, rule)) = own {
            return Some(Taken::Shut(format!("{read} is not open to {}", rule.by)));
        }
        let own = self.of_guests.own(by).and_then(|ruling| ruling.case.claim.delivered());
        if own.is_some_and(|own| own.shut.contains(&(from.namespace.clone(), from.name.clone()))) {
            let kind = world.facts.synced.kind(rule)?;
            let read = ObjectKey::new(kind.clone(), from.namespace.clone(), from.name.clone());
            if is_whole() || matches!(world.snapshot.look_up(&read), Lookup::Found(_)) {
                return Some(Taken::Shut(format!("{read} is of a source that no rule of the group may use")));
            }
        }
        unknown
    }
}

/// What the rules of a group say of an object.
enum Taken {
    /// One takes it, and may, or nobody knows whether it may.
    Open,
    /// What takes it may not, as this says.
    Shut(String),
    /// None is known to take it.
    Unknown,
}
