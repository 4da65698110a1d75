//! Packing: a region's objects against what is published of it: what is made anew, what stays for claims that are not, and what
//! is handed over.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::carry::{self, Fate, Fates};
use super::content::Order;
use super::delivery;
use super::guest_stays;
use super::guests;
use super::handover::{self, Beside};
use super::history::History;
use super::holding::Held;
use super::home;
use super::input::Input;
use super::ledger::{self, Disposition, Exchanged, Gone, Judge, Row, STEPS};
use super::pack::{Pack, Wanted, fill, keep_of, let_stay, standing_state, wanted};
use super::revoked::{self, Admission, Revoked};
use super::siblings::Siblings;
use crate::config::RegionState;
use crate::judge::case::{Ruling, Verdict};
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy, ObjectState, Reason};
use crate::name::{Claimant, ObjectKey};
use crate::object::Object;

/// Packs what the claims want, against what is published.
///
/// The brake's holds are known once that was done without it.
pub(super) fn pack(input: &Input<'_>, history: &History, rulings: &[Ruling<'_>], held: Option<&Held<'_>>) -> Pack {
    let mut pack = Pack::default();
    let mut wanted = match input.terms.to.region.state {
        RegionState::Retired => Wanted::new(),
        RegionState::Active | RegionState::Paused => wanted(rulings, input.terms.selection),
    };
    if let Some(manifest) = input.published.manifest() {
        let of_guests = Siblings::of(rulings);
        let fates = carry::fates(input, rulings, &of_guests);
        let admission = Admission::of(input, rulings, &of_guests, manifest);
        let mut claims = Claims {
            input,
            history,
            manifest,
            fates: &fates,
            admission: &admission,
            rulings,
            of_guests: &of_guests,
            held,
            wanted: &mut wanted,
            whole: BTreeMap::new(),
            ended: BTreeMap::new(),
            keeping: BTreeSet::new(),
            read: home::Read::new(),
            left_out: BTreeMap::new(),
        };
        let mut rows = ledger::rows(manifest);
        ledger::fold(&mut rows, &STEPS, &mut claims);
        claims.settle(&rows, &mut pack);
    }
    delivery::deliver(&input.terms, rulings, &pack, &mut wanted);
    delivery::let_stay(input, history, rulings, &mut wanted, &mut pack);
    guests::keep_versions(input.published, wanted.values_mut().map(|(order, _)| order));
    let mut unasked = Vec::new();
    let keep = |lands: &ObjectKey, text: &str, object: Option<&Object>| {
        Some(keep_of(input, lands, text, object, &mut unasked))
    };
    // The text of a Secret is only held against the tag of what is published.
    let is_read = |lands: &ObjectKey| input.published.bytes(lands).is_some();
    // Here `keep` never gives up, so there is always a pack.
    _ = fill(&input.terms, wanted, &mut pack, is_read, keep);
    pack.unasked = unasked;
    pack
}

/// The answer of a region's claims to what is published.
struct Claims<'p, 'w> {
    input: &'p Input<'p>,
    history: &'p History,
    manifest: &'p Manifest,
    fates: &'p Fates,
    admission: &'p Admission<'p, 'p, 'p>,
    rulings: &'p [Ruling<'p>],
    of_guests: &'p Siblings<'p, 'p>,
    held: Option<&'p Held<'p>>,
    wanted: &'w mut Wanted,
    /// The claimants of Secrets that the brake keeps whole, by the objects these would have become.
    whole: BTreeMap<ObjectKey, BTreeSet<NeededBy>>,
    /// The objects that claimants may no longer have and would keep.
    ended: BTreeMap<&'p Claimant, Vec<Revoked>>,
    /// The claimants that keep something.
    keeping: BTreeSet<&'p Claimant>,
    /// The objects that stay because they are read where they would be deleted.
    read: home::Read<'p>,
    /// The objects that are not handed over for want of room, and the reason.
    left_out: BTreeMap<ObjectKey, String>,
}

/// An object that stays as published.
struct Stays<'p> {
    object: &'p ManifestObject,
    /// The claimants that it stays for.
    names: BTreeSet<NeededBy>,
    reason: Reason,
}

impl<'p> Claims<'p, '_> {
    /// Packs what stays by these rows, and says what is to be known of them.
    fn settle(mut self, rows: &[Row<'p>], pack: &mut Pack) {
        pack.gone = gone(rows);
        if self.is_retired() {
            return;
        }
        if self.is_limited() {
            self.leave_alone(rows, pack);
            return;
        }
        let staying = self.staying(rows);
        self.tell(&staying, pack);
        let renewed = self.renewed(&staying);
        for Stays { object, names, reason } in staying.into_values().filter(|it| !renewed.contains_key(&it.object.key))
        {
            let_stay(self.input, pack, self.manifest, object, names, ObjectState::Carried(reason));
        }
        self.wanted.extend(renewed);
        pack.left_out = core::mem::take(&mut self.left_out);
        let refused = self.rulings.iter().filter(|ruling| ruling.verdict == Verdict::Refused);
        let refused = refused.map(|ruling| &ruling.case.claim.by);
        let ended = self.ended.keys().copied();
        pack.refused.extend(refused.chain(ended).chain(self.fates.shut_out(self.input)).cloned());
    }

    /// The objects that stay as published and are not made again. One that is made again learns for whom else it stays.
    fn staying(&mut self, rows: &[Row<'p>]) -> BTreeMap<&'p ObjectKey, Stays<'p>> {
        let mut staying: BTreeMap<&ObjectKey, Stays<'p>> = BTreeMap::new();
        for rows in rows.chunk_by(|one, other| core::ptr::eq(one.object, other.object)) {
            let kept = || rows.iter().filter_map(|row| Some((row.becomes.kept()?, row)));
            let Some((reason, Row { object, .. })) = kept().min_by_key(|(reason, _)| rank(*reason)) else { continue };
            // Who is named with what is only handed over has lost it.
            let has = |it: Reason| it != Reason::HandedOver || reason == Reason::HandedOver;
            let names = kept().filter(|(it, _)| has(*it)).map(|(_, row)| row.needed_by.clone());
            let mut names: BTreeSet<NeededBy> = names.collect();
            if let Some(whole) = self.whole.get(&object.key) {
                names.retain(|name| !whole.iter().any(|now| now.by == name.by));
                names.extend(whole.iter().cloned());
            }
            match self.wanted.get_mut(&object.key) {
                Some((_, needed_by)) => needed_by.extend(names),
                None => _ = staying.insert(&object.key, Stays { object, names, reason }),
            }
        }
        staying
    }

    /// Lets everything stay as published that a limited run does not make anew, whoever needs it or needs it no longer.
    fn leave_alone(&mut self, rows: &[Row<'p>], pack: &mut Pack) {
        let mut of: BTreeMap<&ObjectKey, BTreeSet<NeededBy>> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.becomes == Disposition::NotSelected) {
            of.entry(&row.object.key).or_default().insert(row.needed_by.clone());
        }
        let mut held = self.staying(rows);
        let is_of_claims = |object: &&ManifestObject| !object.key.kind.is_namespace() && !object.is_delivery();
        for object in self.manifest.objects.iter().filter(is_of_claims) {
            let names = of.remove(&object.key).unwrap_or_default();
            match self.wanted.get_mut(&object.key) {
                Some((_, needed_by)) => needed_by.extend(names),
                None => {
                    let (more, state) = match held.remove(&object.key) {
                        Some(Stays { names, reason, .. }) => (names, ObjectState::Carried(reason)),
                        None => (BTreeSet::new(), standing_state(self.input, self.manifest, object)),
                    };
                    let names = names.into_iter().chain(more).collect();
                    let_stay(self.input, pack, self.manifest, object, names, state);
                }
            }
        }
    }

    /// Says what is to be known of what stays, and of what goes.
    fn tell(&self, staying: &BTreeMap<&ObjectKey, Stays<'p>>, pack: &mut Pack) {
        let kept = || {
            let kept = staying.values().filter(|stays| is_of_claim(stays.reason));
            kept.flat_map(|Stays { object, names, .. }| names.iter().map(move |needed_by| (*object, needed_by)))
        };
        pack.findings.extend(self.admission.slips(kept()));
        pack.findings.extend(carry::of_strange_look(self.input, self.of_guests, kept()));
        pack.findings.extend(carry::of_doubts(self.rulings, &self.keeping));
        pack.findings.extend(self.fates.findings(self.input, self.rulings, &self.keeping));
        pack.findings.extend(self.ended.iter().filter_map(|(by, ended)| revoked::finding(self.input, by, ended)));
        pack.findings.extend(home::findings(self.input, self.manifest, &self.read));
    }

    /// The objects kept for claims that can be made with their new text: identities that could be read.
    fn renewed(&self, staying: &BTreeMap<&ObjectKey, Stays<'p>>) -> Wanted {
        let is_had = |stays: &Stays<'_>| !matches!(stays.reason, Reason::OwnOutput | Reason::HandedOver);
        let holds = |key: &ObjectKey| self.wanted.contains_key(key) || staying.get(key).is_some_and(is_had);
        let kept = staying.values().filter(|stays| is_of_claim(stays.reason));
        let renew = |Stays { object, names, .. }: &Stays<'p>| {
            let (read, edits) = self.admission.new_text(object, &names.first()?.by, holds)?;
            Some((object.key.clone(), (Order { read, lands: object.key.clone(), edits }, names.clone())))
        };
        kept.filter_map(renew).collect()
    }
}

/// The reason for which objects go, of those of which every row goes for the same reason.
fn gone(rows: &[Row<'_>]) -> BTreeMap<ObjectKey, Gone> {
    let why = |rows: &[Row<'_>]| {
        let first = rows.first()?;
        let Disposition::Withdrawn(gone) = first.becomes else { return None };
        rows.iter().all(|row| row.becomes == first.becomes).then(|| (first.object.key.clone(), gone))
    };
    rows.chunk_by(|one, other| core::ptr::eq(one.object, other.object)).filter_map(why).collect()
}

/// The place of a reason among several to keep one object: the first says why it stays.
fn rank(reason: Reason) -> usize {
    match reason {
        Reason::Broken(_)
        | Reason::Unread
        | Reason::Unproved
        | Reason::SeveralRegions
        | Reason::InUse
        | Reason::RecipientRemoved
        | Reason::RecipientAdded => 0,
        Reason::OwnOutput => 1,
        Reason::HeldDeletion => 2,
        Reason::HeldValue => 3,
        Reason::HandedOver => 4,
    }
}

/// Returns true for a reason that a claim has to keep something.
fn is_of_claim(reason: Reason) -> bool {
    rank(reason) == 0
}

impl<'p> Judge<'p> for Claims<'p, '_> {
    fn is_retired(&self) -> bool {
        self.input.terms.to.region.state == RegionState::Retired
    }

    fn is_limited(&self) -> bool {
        self.input.terms.selection.refresh.is_some()
    }

    fn is_fresh(&self, key: &ObjectKey) -> bool {
        self.wanted.contains_key(key)
    }

    fn is_fresh_for(&self, row: &Row<'p>) -> bool {
        let wanted = self.wanted.get(&row.object.key);
        wanted.is_some_and(|(_, needed_by)| needed_by.iter().any(|now| now.by == row.needed_by.by))
    }

    fn claimed(&mut self, row: &Row<'p>) -> Disposition {
        let Row { object, needed_by, .. } = *row;
        let left = match self.input.terms.allowances.asks_to_withdraw(&needed_by.by) {
            true => Disposition::Withdrawn(Gone::Asked),
            false => Disposition::Left,
        };
        match self.fates.of(needed_by) {
            Fate::Withdrawn(gone) => Disposition::Withdrawn(gone),
            // Who is named with what is handed over has another now, and whether he is broken makes its wait no longer.
            _ if object.state.is_handover() => left,
            Fate::Kept(_) if self.is_of_another(row) => left,
            Fate::Kept(reason) => Disposition::Kept(reason),
            Fate::Fresh | Fate::Partly(_) if self.is_fresh_for(row) => Disposition::Fresh,
            Fate::Partly(reason) if self.input.terms.allowances.withdraws(&needed_by.by, reason.code()) => {
                Disposition::Withdrawn(Gone::Asked)
            }
            Fate::Partly(reason) => Disposition::Kept(reason),
            Fate::Fresh if self.is_fresh(&object.key) => left,
            Fate::Fresh => {
                let waits = guest_stays::waits(self.input, self.admission, self.of_guests, object, needed_by);
                waits.map_or(left, Disposition::Kept)
            }
        }
    }

    fn is_revoked(&mut self, row: &Row<'p>) -> bool {
        let Some(revoked) = self.admission.ends(row.object, row.needed_by) else { return false };
        if row.becomes.kept().is_some() {
            self.ended.entry(&row.needed_by.by).or_default().push(revoked);
        }
        true
    }

    fn note_kept(&mut self, row: &Row<'p>) {
        self.keeping.insert(&row.needed_by.by);
    }

    fn brake(&mut self) {
        let Some(held) = self.held else { return };
        held.take(self.wanted, |key| self.input.published.object(key));
        for key in held.whole() {
            self.whole.extend(self.wanted.remove(key).map(|(_, needed_by)| (key.clone(), needed_by)));
        }
    }

    fn held(&self, row: &Row<'p>) -> Option<Reason> {
        self.held?.reason(row)
    }

    fn own_output(&mut self, leaving: &[&'p ManifestObject]) -> BTreeSet<&'p ObjectKey> {
        self.read = home::read_there(self.input, leaving);
        self.read.keys().copied().collect()
    }

    fn handed_over(&mut self, mut exchanged: Exchanged<'p>, rows: &[Row<'p>]) -> Exchanged<'p> {
        exchanged.retain(|(object, _)| handover::stays(self.input, self.history, self.manifest, object));
        let is_kept = |row: &&Row<'_>| row.becomes.kept().is_some_and(is_of_claim);
        let mut kept: BTreeMap<&ObjectKey, BTreeSet<NeededBy>> = BTreeMap::new();
        for row in rows.iter().filter(is_kept).filter(|row| !self.is_fresh(&row.object.key)) {
            kept.entry(&row.object.key).or_default().insert(row.needed_by.clone());
        }
        if exchanged.is_empty() {
            return exchanged;
        }
        let fitting = handover::fitting(self.input, beside(self.input, self.wanted, &kept), exchanged);
        self.left_out = fitting.left_out;
        fitting.stays
    }
}

impl<'p> Claims<'p, '_> {
    /// Returns true if a payload is made from something else now, for another entry, or for one where a former bundle says only
    /// which group had it.
    fn is_of_another(&self, Row { object, needed_by, .. }: &Row<'_>) -> bool {
        let (Some(from), Some((order, _))) = (&object.from, self.wanted.get(&object.key)) else { return false };
        needed_by.by.is_group() || needed_by.by.group().is_some() && !from.is_of(&order.read)
    }
}

/// What stands in the bundle whatever is handed over.
fn beside<'n>(input: &Input<'n>, wanted: &Wanted, kept: &BTreeMap<&ObjectKey, BTreeSet<NeededBy>>) -> Beside<'n> {
    let mut beside = Beside::new(input.terms.world.fleet);
    for (lands, (order, needed_by)) in wanted {
        let object =
            order.source(input.terms.world.snapshot, &input.terms.envelopes()).filter(|_| lands.kind.is_secret());
        beside.add(&order.read.kind, needed_by, object.map(|object| object.sealed_bytes()).unwrap_or_default());
    }
    for (key, names) in kept {
        let kind = input.published.object(key).map_or(&key.kind, ManifestObject::kind);
        beside.add(kind, names, input.published.bytes(key).filter(|_| key.kind.is_secret()).map_or(0, <[u8]>::len));
    }
    beside
}
