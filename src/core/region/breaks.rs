//! Breaks: claims of a region that the layout breaks, something that could not be read, or what stays in their place.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::carry::{Fate, Fates, fates};
use super::guest_stays;
use super::input::Input;
use super::revoked::Admission;
use super::siblings::Siblings;
use crate::claim::parcel;
use crate::closure::{Member, Rank};
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::k0rdent;
use crate::layout::Layout;
use crate::layout::manifest::{ManifestObject, NeededBy};
use crate::layout::path::{self, BundlePath, Leaf};
use crate::name::{Claimant, Entry, GroupKind, ObjectKey};
use crate::object::Object;

/// Who has something published, and the first of them for whom it stays: of all, and of those that make what they have.
struct Held<'m> {
    needers: BTreeSet<&'m Claimant>,
    first: Option<&'m Claimant>,
    maker: Option<&'m Claimant>,
}

impl<'m> Held<'m> {
    fn of(
        object: &'m ManifestObject,
        fates: &Fates,
        admission: &Admission<'_, '_, '_>,
        rulings: &[Ruling<'_>],
    ) -> Self {
        let is_made = |by: &Claimant| {
            let own = rulings.iter().find(|ruling| ruling.case.claim.by == *by);
            own.is_some_and(|own| own.case.published_members().any(|member| member.lands == object.key))
        };
        let is_kept = |needed_by: &NeededBy| match fates.of(needed_by) {
            Fate::Kept(_) => true,
            Fate::Partly(_) => !is_made(&needed_by.by),
            Fate::Fresh | Fate::Withdrawn(_) => false,
        };
        let stays = |needed_by: &&NeededBy| is_kept(needed_by) && admission.ends(object, needed_by).is_none();
        let staying = || object.needed_by.iter().filter(stays).map(|needed_by| &needed_by.by);
        let needers = object.needed_by.iter().map(|needed_by| &needed_by.by).collect();
        Self { needers, first: staying().next(), maker: staying().find(|by| by.is_maker()) }
    }
}

/// Breaks claims that put what somebody makes where a claimant has something published that stays, or anything where one
/// stays that was made: it is in nobody's closure now, and would be lost for good. Whether it broke any.
///
/// What breaks a claim gives what that has published a place to keep, so this is asked again until it breaks none.
pub(super) fn break_displaced(input: &Input<'_>, rulings: &mut [Ruling<'_>]) -> bool {
    let Some(manifest) = input.published.manifest() else { return false };
    // What is handed over goes by itself, whether its claimant is broken or not.
    let lasting = manifest.objects.iter().filter(|object| !object.state.is_handover());
    let is_made = |object: &&ManifestObject| object.needed_by.iter().any(|needed_by| needed_by.by.is_maker());
    let made: BTreeSet<&ObjectKey> = lasting.filter(is_made).map(|object| &object.key).collect();
    let puts = |by: &Claimant| by.is_maker() || by.entry().is_some_and(|entry| entry.object().is_none());
    if made.is_empty() && !rulings.iter().any(|ruling| puts(&ruling.case.claim.by)) {
        return false;
    }
    let of_guests = Siblings::of(rulings);
    let (fates, admission) = (fates(input, rulings, &of_guests), Admission::of(input, rulings, &of_guests, manifest));
    let in_guests = InGuests::of(input, &fates, &admission, &of_guests);
    let mut held: BTreeMap<&ObjectKey, Held<'_>> = BTreeMap::new();
    let mut broken: Vec<(usize, Finding)> = Vec::new();
    for (index, ruling) in rulings.iter().enumerate().filter(|(_, ruling)| ruling.is_admitted()) {
        let (by, is_maker) = (&ruling.case.claim.by, ruling.case.claim.by.is_maker());
        if by.group().is_some() {
            continue;
        }
        let mut contested = ruling.case.published_members().filter(|member| is_maker || made.contains(&member.lands));
        let found = contested.find_map(|member| {
            let object = input.published.object(&member.lands).filter(|object| !object.state.is_handover())?;
            let held = held.entry(&object.key).or_insert_with(|| Held::of(object, &fates, &admission, rulings));
            // What anybody else has is the object itself, which both may have.
            let holder = if is_maker { held.first } else { held.maker };
            holder.filter(|_| !held.needers.contains(by)).map(|holder| (&object.key, holder))
        });
        let Some((lands, holder)) = found else { continue };
        let does = if is_maker { "makes" } else { "needs" };
        let message =
            format!("{by} {does} {lands}, which is published for {holder} and stays as long as that is broken");
        let help = "Rename one of the objects, or mend the other claim; --withdraw ends what that one has.";
        let finding = Finding::new(Code::ConflictingContent, message).about(lands).at(&ruling.case.claim.origin);
        broken.push((index, finding.help(help)));
    }
    let mut any = !broken.is_empty();
    let waiting = |(index, member): (usize, &Member)| (index, member.rank(), member.read.clone(), displaced(member));
    let displaced: Vec<(usize, Rank, ObjectKey, Finding)> =
        in_guests.displaced(rulings).into_iter().map(waiting).collect();
    for (index, finding) in broken {
        if let Some(ruling) = rulings.get_mut(index) {
            ruling.find(finding);
        }
    }
    for (index, rank, read, finding) in displaced {
        let Some(ruling) = rulings.get_mut(index) else { continue };
        let finding = finding.at(&ruling.case.claim.origin);
        any |= match rank {
            Rank::Template => ruling.let_wait(&read, &finding),
            Rank::Rule | Rank::Entry => {
                ruling.find(finding);
                true
            }
        };
    }
    any
}

/// The finding for an object that a rule or template puts where something else is published that stays.
fn displaced(member: &Member) -> Finding {
    let lands = parcel(&member.edits).map_or(&member.lands, |parcel| &parcel.lands);
    let message = format!("{} waits: another object is published as {lands} in guests, and that stays", member.read);
    let finding = Finding::new(Code::ConflictingContent, message).about(&member.read);
    finding.help("Let one of them land elsewhere, or remove one.")
}

/// A published object and one who needs it.
#[derive(Clone, Copy)]
struct Has<'d> {
    object: &'d ManifestObject,
    needed_by: &'d NeededBy,
}

/// A place in guests: the group that may have something there, and what that is called.
type InGuest<'d> = (Claimant, &'d ObjectKey);

/// The objects that are published for groups of guests, by their places there.
struct InGuests<'d, 'a, 'i, 'r> {
    input: &'d Input<'a>,
    fates: &'d Fates,
    admission: &'d Admission<'a, 'i, 'r>,
    of_guests: &'d Siblings<'i, 'r>,
    published: BTreeMap<InGuest<'d>, Vec<Has<'d>>>,
}

impl<'d, 'a, 'i, 'r> InGuests<'d, 'a, 'i, 'r> {
    fn of(
        input: &'d Input<'a>,
        fates: &'d Fates,
        admission: &'d Admission<'a, 'i, 'r>,
        of_guests: &'d Siblings<'i, 'r>,
    ) -> Self {
        let mut published: BTreeMap<_, Vec<_>> = BTreeMap::new();
        let objects = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
        for object in objects.iter().filter(|object| object.from.is_some() && !object.state.is_handover()) {
            let Some(guest) = &object.guest else { continue };
            for needed_by in object.needed_by.iter().filter(|needed_by| needed_by.by.group().is_some()) {
                let place = (needed_by.by.whole().into_owned(), &guest.key);
                published.entry(place).or_default().push(Has { object, needed_by });
            }
        }
        Self { input, fates, admission, of_guests, published }
    }

    /// The objects that rules and templates put where something else is published that stays, by the ruling. One that waits for
    /// that keeps the place that it has itself, and so on.
    fn displaced(&self, rulings: &'d [Ruling<'_>]) -> Vec<(usize, &'d Member)> {
        let mut wanting: BTreeMap<InGuest<'d>, Vec<(usize, &Member)>> = BTreeMap::new();
        let mut having: BTreeMap<&Claimant, Vec<&InGuest<'d>>> = BTreeMap::new();
        for (index, ruling) in rulings.iter().enumerate().filter(|(_, ruling)| ruling.is_admitted()) {
            let members =
                ruling.case.published_members().filter(|member| member.rule.is_some() && !ruling.holds(member));
            for (member, parcel) in members.filter_map(|member| Some((member, parcel(&member.edits)?))) {
                let place = (ruling.case.claim.by.whole().into_owned(), &parcel.lands);
                wanting.entry(place).or_default().push((index, member));
            }
        }
        for (place, before) in &self.published {
            before.iter().for_each(|has| having.entry(&has.needed_by.by).or_default().push(place));
        }
        let mut displaced: Vec<(usize, &Member)> = Vec::new();
        let mut seen: BTreeSet<(usize, &ObjectKey)> = BTreeSet::new();
        let mut add = |index: usize, member: &'d Member, displaced: &mut Vec<(usize, &'d Member)>| {
            if seen.insert((index, &member.lands)) {
                displaced.push((index, member));
            }
        };
        for (place, wants) in &wanting {
            let Some(before) = self.published.get(place) else { continue };
            for (index, member) in wants {
                if self.is_in_the_way(before, rulings.get(*index), member, |has| self.stays(has)) {
                    add(*index, member, &mut displaced);
                }
            }
        }
        let mut next = 0;
        while let Some((waiting, _)) = displaced.get(next).copied() {
            next += 1;
            let Some(by) = rulings.get(waiting).map(|ruling| &ruling.case.claim.by) else { continue };
            for place in having.get(by).into_iter().flatten() {
                let (Some(before), Some(wants)) = (self.published.get(*place), wanting.get(*place)) else { continue };
                let is_kept =
                    |has: &Has<'_>| has.needed_by.by == *by && self.admission.ends(has.object, has.needed_by).is_none();
                for (index, member) in wants.iter().filter(|(index, _)| *index != waiting) {
                    if self.is_in_the_way(before, rulings.get(*index), member, is_kept) {
                        add(*index, member, &mut displaced);
                    }
                }
            }
        }
        displaced
    }

    /// Returns true for a published object that stays although its claimant does not renew it. Only a whole run exchanges one
    /// object for another.
    fn stays(&self, has: &Has<'_>) -> bool {
        let Has { object, needed_by } = *has;
        if self.input.terms.selection.refresh.is_some() {
            return true;
        }
        let is_kept = match self.fates.of(needed_by) {
            Fate::Fresh if self.is_made_anew(object, needed_by) => false,
            Fate::Fresh => guest_stays::waits(self.input, self.admission, self.of_guests, object, needed_by).is_some(),
            Fate::Kept(_) | Fate::Partly(_) => true,
            Fate::Withdrawn(_) => false,
        };
        is_kept && self.admission.ends(object, needed_by).is_none()
    }

    /// Returns true if something else is published where a member lands, and stays as `stays` tells. What a template makes waits for
    /// what another one made: a rule gives way to it.
    fn is_in_the_way(
        &self,
        before: &[Has<'_>],
        ruling: Option<&Ruling<'_>>,
        member: &Member,
        stays: impl Fn(&Has<'_>) -> bool,
    ) -> bool {
        let by = ruling.map(|ruling| &ruling.case.claim.by);
        let is_it = |Has { object, needed_by }: &Has<'_>| {
            let rule = needed_by.by.entry().and_then(Entry::rule);
            let kind = rule.map(|rule| self.input.terms.world.facts.synced.kind(rule));
            // Of a rule that cannot be followed it is unknown of which kind it took something.
            let is_of_kind = match kind {
                None => true,
                Some(Some(kind)) => *kind == member.read.kind,
                Some(None) => member.read.kind.is_secret() || Some(&needed_by.by) == by,
            };
            let is_read = object.from.as_ref().is_some_and(|from| from.is_of(&member.read));
            is_read && member.read.kind.is_secret() == object.key.kind.is_secret() && is_of_kind
        };
        let is_equal = |has: &&Has<'_>| {
            member.rank() == Rank::Rule || has.needed_by.by.entry().is_some_and(|entry| entry.template().is_some())
        };
        !before.iter().any(is_it) && before.iter().filter(is_equal).any(stays)
    }

    fn is_made_anew(&self, object: &ManifestObject, needed_by: &NeededBy) -> bool {
        let own = self.of_guests.own(&needed_by.by).filter(|ruling| ruling.is_admitted());
        let (Some(own), Some(guest), Some(from)) = (own, &object.guest, &object.from) else { return false };
        own.case.published_members().any(|member| {
            let is_there = parcel(&member.edits).is_some_and(|parcel| parcel.lands == guest.key);
            is_there && from.is_of(&member.read) && !own.holds(member)
        })
    }
}

/// Breaks claims whose objects would share a file: long names that are cut, whose hashes have 64 bits, and kinds that
/// differ in case only. Both take somebody who looks for them.
pub(super) fn break_shared_paths(layout: &Layout<'_>, rulings: &mut [Ruling<'_>]) {
    let mut first: BTreeMap<BundlePath, &ObjectKey> = BTreeMap::new();
    let mut shared: BTreeMap<ObjectKey, ObjectKey> = BTreeMap::new();
    let members = || rulings.iter().flat_map(|ruling| ruling.case.published_members());
    let kinds: BTreeSet<&GroupKind> = members().map(|member| &member.lands.kind).collect();
    let leaves: BTreeSet<Leaf> = kinds.iter().map(|kind| Leaf::of(kind)).collect();
    let kinds_meet = leaves.len() < kinds.len();
    for member in members().filter(|member| kinds_meet || path::may_be_cut(&member.lands)) {
        let other = *first.entry(layout.of_object(&member.lands)).or_insert(&member.lands);
        if *other != member.lands {
            shared.insert(member.lands.clone(), other.clone());
            shared.insert(other.clone(), member.lands.clone());
        }
    }
    if shared.is_empty() {
        return;
    }
    for ruling in rulings.iter_mut().filter(|ruling| ruling.is_admitted()) {
        let met =
            ruling.case.published_members().find_map(|member| Some((member.lands.clone(), shared.get(&member.lands)?)));
        if let Some((lands, other)) = met {
            let message = format!("{lands} and {other} would be written to the same file");
            let finding = Finding::new(Code::ConflictingContent, message).about(&lands).at(&ruling.case.claim.origin);
            ruling.find(finding.help("Shorten the names, or change their first 160 bytes."));
        }
    }
}

/// Breaks claims that would lose something for want of a definition.
///
/// While a ProviderInterface may stand in what was not read, a narrower closure proves nothing.
pub(super) fn break_narrowed(input: &Input<'_>, rulings: &mut [Ruling<'_>]) {
    let interface = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
    let Some(source) = input.terms.world.snapshot.unread_in(&interface, None) else { return };
    let mut published: BTreeMap<&Claimant, Vec<&ObjectKey>> = BTreeMap::new();
    let objects = input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default();
    // That nobody needs what is handed over is known already.
    for object in objects.iter().filter(|object| !object.state.is_handover()) {
        for by in &object.needed_by {
            published.entry(&by.by).or_default().push(&object.key);
        }
    }
    // No ProviderInterface says what a group of guests delivers.
    let may_be = |ruling: &&mut Ruling<'_>| ruling.is_admitted() && ruling.case.claim.by.group().is_none();
    for ruling in rulings.iter_mut().filter(may_be) {
        let Some(before) = published.get(&ruling.case.claim.by) else { continue };
        let now: BTreeSet<&ObjectKey> = ruling.case.published_members().map(|member| &member.lands).collect();
        let Some(lost) = before.iter().find(|key| !now.contains(*key)) else { continue };
        let message = format!(
            "whether a ProviderInterface still asks for {lost} is unknown: source {source} was not read completely"
        );
        let finding = Finding::new(Code::Unread, message).about(lost).at(&ruling.case.claim.origin).because(source);
        ruling.find(finding.help("Correct the source: its own findings say what is wrong."));
    }
}

/// Breaks claims of the management cluster whose source there stands in the place of what is published.
///
/// pouch publishes nothing that was read from its own place, so the object there is pouch's, or is about to be: somebody
/// took its label away, or the consumer has yet to apply it. Withdrawing what is published would have the consumer delete
/// it. A Secret that nobody looked at is taken for pouch's, as its label is not seen.
pub(super) fn break_in_place(input: &Input<'_>, rulings: &mut [Ruling<'_>]) {
    let Some(manifest) = input.published.manifest() else { return };
    let published: BTreeSet<&ObjectKey> = manifest.objects.iter().map(|object| &object.key).collect();
    for ruling in rulings.iter_mut().filter(|ruling| ruling.is_admitted()) {
        let mut in_place = ruling.case.closure.members.iter().filter(|member| member.in_place);
        let Some(member) = in_place.find(|member| published.contains(&member.lands)) else { continue };
        let lands = &member.lands;
        let is_unseen = |object: &Object| lands.kind.is_secret() && object.payload.is_none();
        let (code, message) = if input.terms.world.snapshot.get(&member.read).is_some_and(is_unseen) {
            let presumed = "which nobody looked at, counts as pouch's and as no source; no other source has it";
            (Code::MissingReference, format!("{lands} is published, and the one on the management cluster, {presumed}"))
        } else {
            let without = "does not have pouch's label (taken away, or not applied yet), while no other source has it";
            (Code::Occupied, format!("{lands} is published, and the one on the management cluster {without}"))
        };
        let help = format!(
            "Put it back into the source that it came from; or pass --withdraw {} to withdraw it, which deletes it there.",
            ruling.case.claim.by.path()
        );
        ruling.find(Finding::new(code, message).about(lands).at(&ruling.case.claim.origin).help(help));
    }
}
