//! Revoked: whether a claimant may still have what is carried over for it (DESIGN §2.7).
//!
//! A broken claim is not closed to the end, and a gone one not at all, so nothing else would notice that a rule, a
//! grant or an identity no longer admits the claimant. The manifest names claimant, object and origin; the rest is
//! judged from what was read. Nothing is asked of a source for it, and what is unread revokes nothing.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::given::{Named, Slip, named};
use super::input::{Input, Terms};
use super::siblings::Siblings;
use crate::admission::{self, Asker, Namer, Rule, Sought, Taking};
use crate::capi;
use crate::claim::sync_rule::object_of;
use crate::claim::{Claim, Edit};
use crate::closure::{self, projection};
use crate::config::Resolution;
use crate::finding::{Code, Finding};
use crate::judge::case::Ruling;
use crate::judge::region::immutable_changes;
use crate::judge::{check_object, place};
use crate::kinds;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy};
use crate::listing::few_that_fit;
use crate::name::step::{Step, is_handed_out};
use crate::name::{Claimant, GroupKind, ObjectKey};
use crate::object::Object;
use crate::selector::Truth;
use crate::snapshot::Lookup;
use crate::world::Granting;

mod guests;

/// What admission says now of what a manifest lists.
pub(super) struct Admission<'a, 'i, 'r> {
    input: &'i Input<'a>,
    claims: BTreeMap<&'i Claimant, &'i Claim>,
    /// The objects of each claimant, by the references that lead to them. What is handed over was reached by the same
    /// references as what took its place.
    reached: BTreeMap<(&'i Claimant, &'i [Step]), Vec<&'i ManifestObject>>,
    /// The rulings on groups of guests.
    of_guests: &'i Siblings<'i, 'r>,
    /// Of groups of guests that have what the configuration names no more: what it names now, and may be a slip in the name of
    /// that.
    slips: BTreeMap<Claimant, Slip>,
    named: Named<'i>,
}

impl<'a, 'i, 'r> Admission<'a, 'i, 'r> {
    /// Gets ready to judge a manifest's objects again.
    pub(super) fn of(
        input: &'i Input<'a>,
        rulings: &'i [Ruling<'r>],
        of_guests: &'i Siblings<'i, 'r>,
        manifest: &'i Manifest,
    ) -> Self {
        let claims = rulings.iter().map(|ruling| (&ruling.case.claim.by, &*ruling.case.claim)).collect();
        let mut reached: BTreeMap<(&Claimant, &[Step]), Vec<&ManifestObject>> = BTreeMap::new();
        for object in &manifest.objects {
            for needed_by in &object.needed_by {
                reached.entry((&needed_by.by, needed_by.steps())).or_default().push(object);
            }
        }
        let (slips, named) = (BTreeMap::new(), named(input.terms.world.fleet));
        let admission = Self { input, claims, reached, of_guests, slips, named };
        Self { slips: admission.all_slips(manifest), ..admission }
    }

    /// Why a claimant may no longer have an object that it needed; none if it may, or nobody knows.
    pub(super) fn ends(&self, object: &ManifestObject, needed_by: &NeededBy) -> Option<Revoked> {
        let by = &needed_by.by;
        if by.group().is_some() {
            return self.undelivered(object, needed_by);
        }
        // A later release knows what admits claimants of other kinds.
        kinds::claimant(by)?;
        let Terms { world, to, .. } = self.input.terms;
        let revoked = |code, why: String| Some(Revoked { code, key: object.key.clone(), why });
        object.read_key()?;
        // What follows needs no rule, and holds while nobody can read one.
        let kind = &object.key.kind;
        if !world.fleet.publishes_for(by, &to.region.name, kind) {
            return revoked(Code::ForbiddenKind, format!("pouch does not publish objects of kind {kind}"));
        }
        if let Some(finding) = place::check_of(&to, by, &object.key).into_iter().next() {
            return revoked(finding.code, finding.message);
        }
        // What a template made stands in no source.
        if by.template().is_some() {
            let is_shut = object.key.namespace.as_ref() != Some(by.namespace())
                && matches!(world.lets_make(by, &to.region.name, &object.key), Granting::No);
            if is_shut {
                return revoked(Code::NotAdmitted, format!("no grant lets template {} make {}", by.name(), object.key));
            }
            let data = self.shut_data(object, by, needed_by)?;
            let why = admission::OF_ANOTHER_SOURCE;
            return revoked(Code::NotAdmitted, format!("it is made of {data}, which is not open to it: {why}"));
        }
        if by.rule().is_some()
            && object.key.namespace.as_ref().is_some_and(|namespace| *namespace != *by.namespace())
            && matches!(world.landing(by, &self.input.terms.to.region.name, &object.key), Granting::No)
        {
            return revoked(
                Code::NotAdmitted,
                format!("no grant names {} in another namespace than its own", object.key),
            );
        }
        self.of_chain(object, needed_by)
    }

    /// The reason for which the chain that led a claimant to an object leads there no more.
    fn of_chain(&self, object: &ManifestObject, needed_by: &NeededBy) -> Option<Revoked> {
        let Terms { world, .. } = self.input.terms;
        let revoked = |code, why: String| Some(Revoked { code, key: object.key.clone(), why });
        let by = &needed_by.by;
        let read = self.read_by(object, by)?;
        if !world.fleet.publishes(&read.kind) {
            return revoked(Code::ForbiddenKind, format!("pouch does not publish objects of kind {}", read.kind));
        }
        let claim = self.asker(by, &needed_by.through);
        if admission::is_out_of_reach(&world, claim, &read) {
            return revoked(
                Code::NotAdmitted,
                format!("no source of the rule has {read}, and no grant opens what another may have"),
            );
        }
        // The Credential alone leads to the objects of its projection.
        let is_projected = by.is_credential() && projection::is_named_by(&needed_by.through);
        let referrers = if is_projected { Vec::new() } else { self.referrers(object, needed_by) };
        let through = |namer: Namer<'_>| match read.namespace {
            None => revoked(Code::NotAdmitted, self.shut(claim, &read, namer)?),
            Some(_) => revoked(Code::NotAdmitted, self.closed(claim, &read, needed_by, namer)?),
        };
        if is_projected {
            return through(Namer::Claimant);
        }
        let ends = namers(&referrers, needed_by).find_map(through);
        ends.or_else(|| revoked(Code::NotAdmitted, self.led_astray(claim, &referrers, needed_by)?))
    }

    /// Explains that an object which led to this one may not be used, because its namer's source may not reach it.
    fn led_astray(&self, claim: Asker<'_>, referrers: &[Referrer<'_>], needed_by: &NeededBy) -> Option<String> {
        let (_, before) = needed_by.steps().split_last()?;
        let is_beyond = |read: &ObjectKey, namer: Namer<'_>| {
            admission::is_known_beyond(&self.input.terms.world, claim, &Sought { read, namer })
        };
        referrers.iter().find_map(|(referrer, read)| {
            let above =
                referrer.needed_by.iter().find(|above| above.by == needed_by.by && *above.steps() == *before)?;
            let further = self.referrers(referrer, above);
            match namers(&further, above).any(|namer| is_beyond(read, namer)) {
                true => {
                    Some(format!("{read}, which led there, is not open to {}: {}", claim.by, admission::OUT_OF_REACH))
                }
                false => self.led_astray(claim, &further, above),
            }
        })
    }

    /// Data that a template's object was made of, and that is not open to the template any more.
    fn shut_data(&self, object: &ManifestObject, by: &Claimant, needed_by: &NeededBy) -> Option<ObjectKey> {
        let Terms { world, to, .. } = self.input.terms;
        let template = kinds::claimant(by)?;
        // Where nobody knows which of several counts, or none from a source that is trusted with it does, nothing is known.
        let counts = world.snapshot.get(&template)?;
        let is_trusted = |copy: &Object| world.fleet.trusts_with_templates(&copy.origin.source, &to.region.name);
        if counts.faults.iter().any(|fault| fault.code.is_of_copies())
            || !world.snapshot.agreeing(&template).any(is_trusted)
            || !matches!(world.snapshot.look_up(&template), Lookup::Found(_))
        {
            return None;
        }
        object.read_key()?;
        let mut data = needed_by.through.iter().filter_map(Step::data);
        data.find(|data| closure::is_shut(&world, self.asker(by, &needed_by.through), data)).cloned()
    }

    /// What an object was read from for a claimant. A ResourceSyncRule may make another kind of it, so its own says which; of
    /// a rule that cannot be read nobody knows.
    fn read_by(&self, object: &ManifestObject, by: &Claimant) -> Option<ObjectKey> {
        let of_guest = |kind: &GroupKind| {
            let from = object.from.as_ref()?;
            Some(ObjectKey::new(kind.clone(), from.namespace.clone(), from.name.clone()))
        };
        let key = object.guest.as_ref().map_or_else(|| object.read_key(), |guest| of_guest(&guest.key.kind))?;
        if by.rule().is_none() {
            return Some(key);
        }
        let Terms { world, .. } = self.input.terms;
        // Of two that differ nobody knows which is meant, and so whose objects it may take.
        let rule = kinds::claimant(by).and_then(|rule| world.snapshot.get(&rule));
        if rule.is_some_and(|rule| rule.faults.iter().any(|fault| fault.code.is_of_copies())) {
            return None;
        }
        // Secrets are made of Secrets alone, whatever the rule says now.
        if key.kind.is_secret() {
            return Some(key);
        }
        Some(ObjectKey { kind: object_of(&world.facts.synced, world.snapshot, by)?.kind, ..key })
    }

    /// What a claimant was led to an object by. What is handed over was reached through what is handed over with it, if
    /// anything is, and else through what is still needed.
    fn referrers(&self, object: &ManifestObject, needed_by: &NeededBy) -> Vec<Referrer<'i>> {
        let Some((_, before)) = needed_by.steps().split_last() else { return Vec::new() };
        let all = self.reached.get(&(&needed_by.by, before)).map(Vec::as_slice).unwrap_or_default();
        let leads = |referrer: &&&ManifestObject| !referrer.key.kind.is_secret() && !referrer.key.kind.is_config_map();
        let in_state = |is_handover: bool| {
            let those = all.iter().filter(move |referrer| referrer.state.is_handover() == is_handover);
            those.filter(leads).filter_map(|referrer| Some((*referrer, referrer.read_key()?))).collect::<Vec<_>>()
        };
        match object.state.is_handover().then(|| in_state(true)) {
            Some(handed_over) if !handed_over.is_empty() => handed_over,
            _ => in_state(false),
        }
    }

    /// Why a namespaced object is not open to a claim, if it was read because of `namer`.
    fn closed(&self, claim: Asker<'_>, read: &ObjectKey, needed_by: &NeededBy, namer: Namer<'_>) -> Option<String> {
        let Terms { world, .. } = self.input.terms;
        let by = &needed_by.by;
        let sought = Sought { read, namer };
        let why = match admission::of_namespaced(&world, claim, &sought) {
            Some(Rule::ThroughIdentity) if world.grants(by, claim.region, read) => return None,
            None | Some(Rule::ThroughIdentity) if admission::undecided(&world, claim, &sought).is_some() => {
                return None;
            }
            Some(Rule::ThroughIdentity) => self.shut(claim, namer.referrer()?, Namer::Unknown)?,
            Some(_) => return None,
            None if admission::is_known_beyond(&world, claim, &sought) => {
                return Some(format!("{read} is not open to {by}: {}", admission::OUT_OF_REACH));
            }
            None if is_root(needed_by) || !matches!(namer, Namer::Unknown) => {
                format!("{read} is not open to {}s of namespace {}", by.kind(), by.namespace())
            }
            // What led here is not listed, so nobody knows what admitted it.
            None => return None,
        };
        let is_handed_out = || by.is_credential() && world.access().makes(by) != Truth::No;
        let in_system = read.namespace.as_ref() == Some(&world.fleet.system_namespace);
        if in_system && is_handed_out() { None } else { Some(why) }
    }

    /// Why an identity that was read is shut to a claim.
    fn shut(&self, claim: Asker<'_>, identity: &ObjectKey, namer: Namer<'_>) -> Option<String> {
        let world = &self.input.terms.world;
        let Lookup::Found(object) = world.snapshot.look_up(identity) else { return None };
        let sought = Sought { read: identity, namer };
        let is_unread = || object.faults.iter().any(|fault| fault.code.is_doubt());
        if is_unread() || admission::undecided(world, claim, &sought).is_some() {
            return None;
        }
        let why = admission::of_identity(world, claim, object, namer).err()?;
        // What another source has, or may not reach, is opened by what is known: no slip in the object leaves that open.
        let is_open = || object.is_mistyped() || admission::slip(world.fleet, object).is_some();
        let is_of_sources = [admission::OF_ANOTHER_SOURCE, admission::OUT_OF_REACH].contains(&why);
        if !is_of_sources && (is_open() || admission::is_unseen(world, claim, object)) {
            return None;
        }
        Some(format!("{identity} is not open to namespace {}: {why}", claim.by.namespace()))
    }

    /// A claimant as it claims now, or else as the chain to an object shows it.
    fn asker<'o>(&'o self, by: &'o Claimant, through: &[Step]) -> Asker<'o> {
        if let Some(claim) = self.claims.get(by) {
            return (*claim).into();
        }
        let world = &self.input.terms.world;
        let is_handed_out = is_handed_out(through) && world.access().makes(by) != Truth::No;
        let asker =
            Asker { by, region: &self.input.terms.to.region.name, source: None, is_handed_out, taking: Taking::Named };
        let maker = kinds::claimant(by).filter(|_| by.is_maker()).and_then(|key| world.snapshot.get(&key));
        let Some(maker) = maker else { return asker };
        let taking = if by.rule().is_some() { Taking::Copy(None) } else { Taking::Named };
        Asker { source: Some(&maker.origin.source), taking, ..asker }
    }

    /// What an identity that would be carried over is made from, and what is rewritten in it; none if its text cannot
    /// take the place of the published one.
    ///
    /// What the new text names must be in the bundle too, as `holds` tells: else clusters that work would stop, for
    /// want of an object that nobody withdrew.
    pub(super) fn new_text(
        &self,
        object: &ManifestObject,
        by: &Claimant,
        holds: impl Fn(&ObjectKey) -> bool,
    ) -> Option<(ObjectKey, Vec<Edit>)> {
        let kind = &object.key.kind;
        if kind.is_secret()
            || kind.is_config_map()
            || kind.is_namespace()
            || by.rule().is_some()
            || by.group().is_some()
        {
            return None;
        }
        let Input { terms: Terms { world, .. }, published } = *self.input;
        let read = object.read_key()?;
        let Lookup::Found(new) = world.snapshot.look_up(&read) else { return None };
        if check_object(&world, &self.input.terms.to.region.name, new).iter().any(Finding::stops_claim) {
            return None;
        }
        let resolution = match self.claims.get(by) {
            _ if read.namespace != object.key.namespace => Resolution::Kcm,
            Some(claim) => claim.resolution(),
            None if by.is_credential() => world.fleet.resolution,
            None => Resolution::AsWritten,
        };
        let (names, edits) = closure::names(&world, by, resolution, &read, new)?;
        let standing = published.document(&object.key);
        let fits = names.iter().all(|name| holds(name) || capi::aws::is_controller_identity(name))
            && standing.is_none_or(|standing| immutable_changes(&object.key, &standing, new).is_none());
        fits.then_some((read, edits))
    }
}

/// An object that led to another, and what was read of it.
type Referrer<'i> = (&'i ManifestObject, ObjectKey);

/// The origins of the reference to an object, as it was needed.
fn namers<'r>(referrers: &'r [Referrer<'_>], needed_by: &NeededBy) -> impl Iterator<Item = Namer<'r>> + use<'r> {
    let is_companion =
        |step: &Step| step.path().is_some_and(|path| [closure::TEMPLATE, closure::PROPAGATION_SECRET].contains(&path));
    let namer = match needed_by.through.last().is_some_and(is_companion) {
        true => Namer::Convention,
        false => Namer::Object,
    };
    // The objects behind a Cluster may name something else by now.
    let is_named = is_root(needed_by) && needed_by.by.is_credential();
    let other = if is_named { Namer::Claimant } else { Namer::Unknown };
    let others = referrers.is_empty().then_some(other);
    referrers.iter().map(move |(_, read)| namer(read)).chain(others)
}

/// Whether a claimant names an object itself, or an object behind a Cluster does.
fn is_root(needed_by: &NeededBy) -> bool {
    needed_by.steps().len() <= usize::from(!needed_by.by.is_credential())
}

/// Why an object is withdrawn although its claimant's claim is broken, or the claimant gone and in use.
pub(super) struct Revoked {
    code: Code,
    key: ObjectKey,
    why: String,
}

/// The finding for one claimant's objects that are withdrawn.
pub(super) fn finding(input: &Input<'_>, by: &Claimant, revoked: &[Revoked]) -> Option<Finding> {
    const SHOWN: usize = 5;
    let first = revoked.first()?;
    let named = few_that_fit(revoked.iter().map(|revoked| revoked.key.to_string()), revoked.len(), SHOWN);
    let message = format!("{by} may no longer have {named}, broken or gone as it is: {}", first.why);
    let finding =
        Finding::new(first.code, message).about(&first.key).claimed_by(by).in_region(&input.terms.to.region.name);
    Some(finding.help("If this is unintended, admit it again; until then nothing of it is carried over."))
}
