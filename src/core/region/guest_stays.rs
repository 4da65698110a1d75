//! Why what is published for guest clusters stays although its group is made anew.
//!
//! A payload is asked for itself: by what it holds, and by what would take its place.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::carry;
use super::content::Order;
use super::given::rule_of;
use super::input::Input;
use super::pack::Wanted;
use crate::claim::{Claim, Delivered, parcel};
use crate::closure::{Member, Rank};
use crate::config::GuestGroup;
use crate::finding::{Class, Code, Finding, Severity};
use crate::judge::case::{Ruling, Verdict};
use crate::layout::manifest::{Guest, ManifestObject, NeededBy, ReadFrom, Reason};
use crate::name::step::Step;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Scope};
use crate::snapshot::Lookup;

/// What stays of groups that are made anew.
#[derive(Default)]
pub(super) struct Staying {
    /// What rules take and waits because another object has its place.
    taken: BTreeMap<Claimant, BTreeSet<Place>>,
    /// What rules put somewhere all the same, by the rule.
    given: BTreeMap<Claimant, BTreeSet<(Name, Place)>>,
}

/// Where an object was read, and whether it is a Secret.
type Place = (Option<Namespace>, Name, bool);

fn place(read: &ObjectKey) -> Place {
    (read.namespace.clone(), read.name.clone(), read.kind.is_secret())
}

impl Staying {
    /// Takes from what is wanted what rules put where something stays, and says so. What of that is published elsewhere stays as
    /// well, and may be where more would land.
    pub(super) fn take(
        &mut self,
        input: &Input<'_>,
        wanted: &mut Wanted,
        stays: impl Fn(&Self, &ManifestObject, &NeededBy) -> bool,
    ) -> Vec<Finding> {
        let mut findings = Vec::new();
        loop {
            let (left, taken) = untaken(input, core::mem::take(wanted), |object, by| stays(self, object, by));
            *wanted = left;
            if taken.is_empty() {
                return findings;
            }
            findings.extend(told(input, &taken));
            for Taken { by, read, .. } in taken {
                self.taken.entry(by.whole().into_owned()).or_default().insert(place(&read));
            }
            self.given.clear();
            for (order, names) in wanted.values() {
                for (by, rule) in names.iter().filter_map(|needed_by| Some((&needed_by.by, rule_of(needed_by)?))) {
                    let given = self.given.entry(by.whole().into_owned()).or_default();
                    given.insert((rule.clone(), place(&order.read)));
                }
            }
        }
    }

    /// Why something of a group stays as published although the group itself is made anew, if it does.
    pub(super) fn why(
        &self,
        input: &Input<'_>,
        ruling: &Ruling<'_>,
        siblings: &[&Ruling<'_>],
        object: &ManifestObject,
        needed_by: &NeededBy,
    ) -> Option<Reason> {
        let (guest, from) = object.guest.as_ref().zip(object.from.as_ref())?;
        let place = (from.namespace.clone(), from.name.clone(), guest.key.kind.is_secret());
        let (by, rule) = (ruling.case.claim.by.whole(), rule_of(needed_by));
        let is_given =
            |rule: &Name| self.given.get(&*by).is_some_and(|given| given.contains(&(rule.clone(), place.clone())));
        let is_taken = self.taken.get(&*by).is_some_and(|taken| taken.contains(&place));
        // Of a chain that nobody can read, a rule may be what led there.
        let is_opaque = matches!(needed_by.through.first(), Some(Step::Opaque(_)));
        let is_taken = is_taken && (is_opaque || rule.is_some_and(|rule| !is_given(rule)));
        let taken = is_taken.then_some(Code::ConflictingContent);
        let waits = taken.or_else(|| waits(input, ruling, siblings, needed_by, guest, from)).map(Reason::of);
        waits.or_else(|| carry::made_before_a_strange_look(input, ruling, object))
    }
}

/// Why a payload waits: its object does, or what would take its place, or it may be one that was not read.
fn waits(
    input: &Input<'_>,
    ruling: &Ruling<'_>,
    siblings: &[&Ruling<'_>],
    needed_by: &NeededBy,
    guest: &Guest,
    from: &ReadFrom,
) -> Option<Code> {
    let delivered = ruling.case.claim.delivered()?;
    let is_it = |read: &ObjectKey| from.is_of(read) && read.kind.is_secret() == guest.key.kind.is_secret();
    // Another rule may take it now.
    let mut waiting = siblings.iter().flat_map(|ruling| ruling.case.closure.waiting.iter().chain(&ruling.waiting));
    if let Some((_, code)) = waiting.find(|(read, _)| is_it(read)) {
        return Some(*code);
    }
    if let Some(code) = instead(input, siblings, guest) {
        return Some(code);
    }
    let unseen = delivered.unseen.as_ref()?.code;
    let group = input.terms.world.fleet.group_of(&ruling.case.claim.by)?;
    let rule = rule_of(needed_by);
    let of = rule.filter(|rule| group.rules.contains(*rule));
    let is_its = |by: &Option<Arc<Claim>>| {
        let by = by.as_ref().and_then(|claim| claim.by.rule());
        of.is_none_or(|rule| by == Some(rule))
    };
    let mut items = delivered.items.iter();
    let is_made = needed_by.through.first().is_some_and(|step| step.template().is_some());
    // A template that is not known is broken.
    let is_known = is_made || items.any(|item| is_it(&item.read) && is_its(&item.rule));
    (!is_known && !is_told(input, group, rule, guest, from)).then_some(unseen)
}

/// Why what the configuration puts somewhere in guests cannot be delivered there yet, if that is so: in the place of what is
/// published there.
pub(super) fn instead(input: &Input<'_>, siblings: &[&Ruling<'_>], published: &Guest) -> Option<Code> {
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
            return Some(Code::SecretTypeChanged);
        }
        let mut found = ruling.findings().filter(|finding| finding.object.as_ref() == Some(&member.read));
        found.find(|finding| finding.stops_claim()).map(|finding| finding.code)
    };
    closure.awaited.get(lands).copied().or_else(|| closure.members.iter().filter(is_it).find_map(wrong))
}

/// The reason for which an object stays that its entry has no more: another entry, which cannot be followed now, may give it. A
/// template that fails may give what a rule took or a template made; what the configuration named goes when it says so.
pub(super) fn may_be_given(siblings: &[&Ruling<'_>], needed_by: &NeededBy) -> Option<Reason> {
    let is_named = matches!(needed_by.through.first(), Some(Step::Field { .. }));
    let may_give = |ruling: &&&Ruling<'_>| {
        let claim = &ruling.case.claim;
        let is_template = claim.by.entry().is_some_and(|entry| entry.template().is_some());
        let is_open = |delivered: &Arc<Delivered>| if is_template { !is_named } else { !delivered.is_whole };
        ruling.verdict == Verdict::Broken && claim.by != needed_by.by && claim.delivered().is_some_and(is_open)
    };
    let ruling = siblings.iter().find(may_give)?;
    Some(ruling.broken_by().map_or(Reason::Unread, Reason::of))
}

/// Whether it is known that no rule of a group takes what a payload holds, whatever else was not read: it was read as it stands,
/// or is not there. `rule` took it when it was published, if one did.
pub(super) fn is_told(
    input: &Input<'_>,
    group: &GuestGroup,
    rule: Option<&Name>,
    guest: &Guest,
    from: &ReadFrom,
) -> bool {
    let snapshot = input.terms.world.snapshot;
    let own = rule.filter(|rule| group.rules.contains(*rule));
    let rules = group.rules.iter().filter(|of| own.is_none_or(|own| own == *of));
    let kinds = rules.filter_map(|rule| input.terms.world.facts.synced.kind(rule));
    // Secrets are made of Secrets alone, and what an entry named is what it was; of what else a payload is made, rules say.
    let may_be = |kind: &&GroupKind| {
        let is_placed = match snapshot.scopes.of(kind) {
            Some(Scope::Cluster) => from.namespace.is_none(),
            Some(Scope::Namespaced) => from.namespace.is_some(),
            None => true,
        };
        let is_of_kind =
            if rule.is_some() { kind.is_secret() == guest.key.kind.is_secret() } else { **kind == guest.key.kind };
        is_placed && is_of_kind
    };
    kinds.filter(may_be).all(|kind| {
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

/// What waits for a group because another object has its place.
struct Taken {
    by: Claimant,
    read: ObjectKey,
    /// Where it would land.
    lands: ObjectKey,
}

/// What is wanted, without what rules put where another object is published that stays, as `stays` tells, and that.
fn untaken(
    input: &Input<'_>,
    mut wanted: Wanted,
    stays: impl Fn(&ManifestObject, &NeededBy) -> bool,
) -> (Wanted, Vec<Taken>) {
    let mut published: BTreeMap<(Claimant, &ObjectKey), Vec<(&ManifestObject, &NeededBy)>> = BTreeMap::new();
    let objects = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    for object in objects.iter().filter(|object| object.from.is_some() && !object.state.is_handover()) {
        for needed_by in object.needed_by.iter().filter(|needed_by| needed_by.by.group().is_some()) {
            let place = object
                .guest
                .as_ref()
                .map(|guest| ((needed_by.by.whole().into_owned(), &guest.key), (object, needed_by)));
            place.into_iter().for_each(|(place, it)| published.entry(place).or_default().push(it));
        }
    }
    let taken = |(order, names): &(Order, BTreeSet<NeededBy>)| {
        let mut of_guests = names.iter().filter(|needed_by| needed_by.by.group().is_some());
        let by = &of_guests.find(|needed_by| rule_of(needed_by).is_some())?.by;
        let lands = &parcel(&order.edits)?.lands;
        let before = published.get(&(by.whole().into_owned(), lands))?;
        let is_it = |(object, needed_by): &(&ManifestObject, &NeededBy)| {
            let kind = rule_of(needed_by).and_then(|rule| input.terms.world.facts.synced.kind(rule));
            object.from.as_ref().is_some_and(|from| from.is_of(&order.read))
                && order.read.kind.is_secret() == object.key.kind.is_secret()
                && kind.is_none_or(|kind| *kind == order.read.kind)
        };
        let is_other = !before.iter().any(is_it) && before.iter().any(|(object, by)| stays(object, by));
        is_other.then(|| Taken { by: by.clone(), read: order.read.clone(), lands: lands.clone() })
    };
    let mut waiting = Vec::new();
    wanted.retain(|_, one| {
        let taken = taken(one);
        let stays = taken.is_none();
        waiting.extend(taken);
        stays
    });
    (wanted, waiting)
}

fn told(input: &Input<'_>, taken: &[Taken]) -> Vec<Finding> {
    const MOST: usize = 16;
    let mut told: BTreeMap<&Claimant, usize> = BTreeMap::new();
    let finding = |Taken { by, read, lands, .. }: &'_ Taken| {
        let message =
            format!("of {by}, {read} waits: another object is published as {lands} in guests, and that stays");
        let finding = Finding::new(Code::ConflictingContent, message).severity(Severity::Warning).about(read);
        let finding = finding.claimed_by(by).in_region(&input.terms.to.region.name);
        finding.help("Let one of them land elsewhere, or remove one.")
    };
    let mut findings = Vec::new();
    for one in taken {
        let count = told.entry(&one.by).or_default();
        *count = count.saturating_add(1);
        findings.extend((*count <= MOST).then(|| finding(one)));
    }
    findings
}
