//! Whether a group of guests may still have what is published for it.

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::given::{Slip, giver};
use super::super::guest_stays::waits;
use super::{Admission, Revoked};
use crate::admission;
use crate::claim::guest::acting;
use crate::config::GuestGroup;
use crate::finding::{Class, Code, Finding, Origin, Severity};
use crate::judge::case::Ruling;
use crate::judge::place;
use crate::kinds;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::listing::few;
use crate::name::{Claimant, Entry, ObjectKey, ReadFrom};
use crate::region::input::Terms;
use crate::snapshot::Lookup;

/// A published object of a group: what gave it, what it was read from, and whether it is a Secret.
type Given<'m> = (Cow<'m, Entry>, &'m ReadFrom, bool);

impl<'i> Admission<'_, 'i, '_> {
    fn is_named(&self, group: &GuestGroup, giver: &Entry) -> bool {
        match giver {
            Entry::Template(name) => group.templates.contains(name),
            Entry::Rule { rule, .. } => group.rules.contains(rule),
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
                published.entry(needed_by.by.whole().into_owned()).or_default().push((
                    giver.written(),
                    from,
                    is_secret,
                ));
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
        let is_there = |key: &ObjectKey| matches!(world.snapshot.stands(key), Lookup::Found(_));
        let gives = |giver: &Entry| published.iter().any(|(it, ..)| **it == *giver);
        let is_published = |read: &ObjectKey| {
            published.iter().any(|(giver, from, is_secret)| match &**giver {
                Entry::Object(given) => given == read,
                Entry::Rule { .. } => from.is_of(read) && *is_secret == read.kind.is_secret(),
                Entry::Template(_) => false,
            })
        };
        let objects = group.objects.iter().filter(|entry| !is_published(&entry.read));
        let objects = objects.map(|entry| Entry::Object(entry.read.clone()));
        let templates = group.templates.iter().map(|template| Entry::Template(template.clone()));
        let rules = group.rules.iter().map(|rule| Entry::Rule { rule: rule.clone(), object: None });
        let all: Vec<Entry> = objects.chain(templates.chain(rules).filter(|giver| !gives(giver))).collect();
        let is_missing = |giver: &&Entry| match giver {
            Entry::Object(read) => !is_there(read),
            Entry::Template(template) => !world.facts.templates.specs.contains_key(template),
            Entry::Rule { rule, .. } => !is_there(&ObjectKey::new(kinds::sync_rule(), None, rule.clone())),
        };
        // What is there may fail, and give nothing for that.
        let is_broken = |finding: &Finding| finding.stops_claim() && finding.code.class() == Class::Broken;
        let own = |entry: &Entry| {
            self.of_guests.of_group(by).iter().find(|ruling| ruling.case.claim.by.entry() == Some(entry)).copied()
        };
        let is_failing = |entry: &Entry| own(entry).is_some_and(|ruling| ruling.findings().any(is_broken));
        let fails = |giver: &&Entry| match giver {
            Entry::Object(_) | Entry::Template(_) => is_failing(giver),
            Entry::Rule { rule, .. } => world.facts.synced.kind(rule).is_none(),
        };
        let is_unseen = |giver: &&Entry| {
            let is_of = |ruling: &&&Ruling<'_>| ruling.case.claim.by.entry().is_some_and(|it| *it.written() == **giver);
            let kind = giver.rule().and_then(|rule| world.facts.synced.kind(rule));
            let is_unread = kind.is_some_and(|kind| world.snapshot.unread_in(kind, None).is_some());
            is_unread && self.of_guests.of_group(by).iter().filter(is_of).count() == 1
        };
        let is_unread = |giver: &Entry| match giver {
            Entry::Object(read) => matches!(world.snapshot.stands(read), Lookup::Unread(_) | Lookup::Unasked),
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

    /// Returns true for an object that a rule, which can be followed, takes no more.
    fn is_untaken(&self, by: &Claimant) -> bool {
        let whole = self.of_guests.own(&by.written()).filter(|whole| whole.is_admitted());
        let is_taken = || self.of_guests.own(by).is_some() || self.input.terms.world.may_be_taken(by).is_some();
        *by.written() != *by && whole.is_some() && !is_taken()
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
        let mut unnamed: BTreeMap<(Claimant, bool), BTreeSet<&ObjectKey>> = BTreeMap::new();
        for (object, needed_by) in kept.filter(|(_, needed_by)| needed_by.by.group().is_some()) {
            let is_untaken = self.is_untaken(&needed_by.by);
            if let Some(guest) = object.guest.as_ref().filter(|_| is_untaken || self.is_unnamed(object, needed_by)) {
                let by = needed_by.by.whole().into_owned();
                unnamed.entry((by, is_untaken)).or_default().insert(&guest.key);
            }
        }
        let finding = |((by, is_untaken), objects): ((Claimant, bool), BTreeSet<&ObjectKey>)| {
            let withdraw = format!("`--withdraw {}` lets go of all that waits in the group", by.path());
            let (why, help) = match self.slips.get(&by).filter(|_| !is_untaken) {
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
            let what = if is_untaken { "its rules take" } else { "the configuration names" };
            let message = format!("{by} keeps what {what} no more: {}; {why}", few(&objects, objects.len(), SHOWN));
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
        if let Lookup::Found(found) = world.snapshot.stands(&read)
            && let Some(why) = found.stays.filter(|_| !found.faults.iter().any(|fault| fault.code.is_doubt()))
        {
            return revoked(Code::ForbiddenType, format!("{read} never leaves its cluster: {why}"));
        }
        let group = world.fleet.group_of(by)?;
        let giver = giver(object, needed_by)?;
        match giver {
            _ if !self.is_named(group, giver) => {
                // What else may give it, or takes its place, says whether it stays.
                let stays = waits(self.input, self, self.of_guests, object, needed_by).is_some();
                let why = || format!("the configuration does not name {} for the group any more", giver.written());
                if stays { None } else { revoked(Code::NotAdmitted, why()) }
            }
            Entry::Object(_) => None,
            Entry::Rule { .. } => {
                let acting = acting(world.fleet, by)?;
                self.of_chain(object, &NeededBy { by: acting, through: needed_by.through.clone() })
            }
            Entry::Template(template) => {
                let by = Claimant::Template { namespace: by.namespace().clone(), template: template.clone() };
                let data = self.shut_data(object, &by, needed_by)?;
                let why = admission::OF_ANOTHER_SOURCE;
                revoked(Code::NotAdmitted, format!("it is made of {data}, which is not open to {by}: {why}"))
            }
        }
    }
}
