//! Quotas: how much the claims of a namespace, and all claims of a region, may have published.
//!
//! A holder over a quota harms only itself: claims that ask for more than they have published fail, and what they have stays. The
//! number of claims is judged before anything is built of them ([`too_many`]), and the rest when it is known what they need.
//! Failed claims take no room, and what broken claims keep does. Of objects that rules take, each by itself, as many get in as
//! there is room for.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::case::{Ruling, Verdict};
use super::incumbents::Incumbents;
use super::load::{Load, listed, sealed};
use super::room::{FEWER, Room, SPREAD, Terms};
use crate::claim::{Ask, Claim};
use crate::closure::Member;
use crate::config::RegionConfig;
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::holder::{Holder, Part, Writer};
use crate::name::{Claimant, ObjectKey};
use crate::world::World;

/// The most bytes that `bundle.yaml` takes to say which objects one namespace's claims need: with it, what is published
/// can be read back whoever asks for how much.
const MOST_LISTED: usize = 8 << 20;

/// The help where a rule takes more than there is room for.
const NARROW: &str = "Raise the limit, or let the rule take fewer objects of this writer.";

/// The holder of a claim's quota.
pub(super) fn whose(world: &World<'_>, claim: &Claim) -> Holder {
    match taken(claim) {
        Some(key) => world.fleet.holder(&claim.by, &key.kind),
        None => world.fleet.holder(&claim.by, &kinds::sync_rule()),
    }
}

/// The object that a rule takes by a claim.
fn taken(claim: &Claim) -> Option<&ObjectKey> {
    match &claim.ask {
        Ask::Copy(copied) => Some(&copied.read),
        Ask::Entry(items) => items.first().map(|item| &item.read),
        Ask::Root { .. } | Ask::Starts(_) | Ask::Render { .. } | Ask::Deliver { .. } => None,
    }
}

/// The holders that have more claims for a region than `limits.credentialsPerNamespace`, each with the finding of a claimant of
/// theirs that has nothing published. Of a group of guests, the configuration says how many claims there are.
pub(super) fn too_many(world: &World<'_>, to: &Destination<'_>) -> BTreeMap<Holder, Finding> {
    let limit = world.fleet.limits.credentials_per_namespace;
    let mut counts: BTreeMap<Holder, usize> = BTreeMap::new();
    for claim in world.facts.asked_for(to).filter_map(|asked| asked.claim.as_ref()) {
        if claim.by.group().is_none() {
            *counts.entry(whose(world, claim)).or_default() += 1;
        }
    }
    let finding = |(whose, count): (Holder, usize)| {
        let (namespace, who, by, region) = (&whose.namespace, called(world, &whose), written(&whose), &to.region.name);
        let message = format!(
            "namespace {namespace} has {count} {who}{by} for region {region}; limits.credentialsPerNamespace is {limit}"
        );
        let finding = Finding::new(Code::TooManyObjects, message).help(FEWER);
        (whose, finding)
    };
    counts.into_iter().filter(|(_, count)| *count > limit).map(finding).collect()
}

/// The name of a holder's claimants in messages.
fn called(world: &World<'_>, whose: &Holder) -> String {
    match &whose.part {
        Part::Templates => "ManagedResources".to_owned(),
        Part::Guests(group, _) => format!("payloads of group {group}"),
        Part::Rules(_) => "ResourceSyncRules".to_owned(),
        Part::Own if world.fleet.names_others() => "claimants".to_owned(),
        Part::Own => "Credentials".to_owned(),
    }
}

/// The tenant that writes what a holder has, in messages behind its claimants.
fn written(whose: &Holder) -> String {
    let writer: Option<&Writer> = match &whose.part {
        Part::Guests(_, writer) | Part::Rules(writer) => writer.as_ref(),
        Part::Own | Part::Templates => None,
    };
    writer.map(|writer| format!(" by {writer}")).unwrap_or_default()
}

/// What quotas are judged by.
struct Court<'a> {
    world: &'a World<'a>,
    region: &'a RegionConfig,
    incumbents: &'a Incumbents,
    /// The published objects of each claimant; filled where they matter.
    published: BTreeMap<&'a Claimant, BTreeSet<&'a ObjectKey>>,
    /// The holder of each ruling.
    whose: Vec<Holder>,
}

/// The accounts that may be over a quota, and whether the region may be.
struct Exceeded {
    full: BTreeSet<Holder>,
    is_crowded: bool,
}

/// Returns true if claims are within all quotas, whatever is published of them.
pub(super) fn is_within(world: &World<'_>, region: &RegionConfig, rulings: &[Ruling<'_>]) -> bool {
    Court::new(world, region, &Incumbents::default(), rulings).exceeded(rulings).is_none()
}

/// Applies quotas. Namespaces come first, so that one tenant's excess does not fill the region for the others.
pub(super) fn apply(world: &World<'_>, region: &RegionConfig, incumbents: &Incumbents, rulings: &mut [Ruling<'_>]) {
    let mut court = Court::new(world, region, incumbents, rulings);
    // What a broken claim keeps counts as well: else who breaks what he has would get as much again.
    if rulings.iter().any(|ruling| ruling.verdict == Verdict::Broken) {
        court.published = incumbents.by_claimant();
    }
    let Some(Exceeded { full, is_crowded }) = court.exceeded(rulings) else { return };
    if court.published.is_empty() {
        court.published = incumbents.by_claimant();
    }
    for whose in &full {
        court.of_holder(whose, rulings);
    }
    if is_crowded {
        court.of_region(rulings);
    }
}

impl<'a> Court<'a> {
    fn new(world: &'a World<'a>, region: &'a RegionConfig, incumbents: &'a Incumbents, rulings: &[Ruling<'_>]) -> Self {
        let whose = rulings.iter().map(|ruling| whose(world, &ruling.case.claim)).collect();
        Self { world, region, incumbents, published: BTreeMap::new(), whose }
    }

    /// The accounts that may be over a quota, and whether the region may be; none where all is well.
    fn exceeded(&self, rulings: &[Ruling<'_>]) -> Option<Exceeded> {
        // Upper bounds first: shared objects are counted for each claim.
        let loads = self.loads(rulings);
        let limits = &self.world.fleet.limits;
        let most = Load {
            objects: limits.objects_per_namespace,
            sealed: limits.sealed_bytes_per_namespace.0,
            listed: MOST_LISTED,
        };
        let is_crowded = !Terms::of(self.world, self.region).has_room(&loads);
        let full = loads.into_iter().filter(|(_, load)| !load.fits(most));
        let full: BTreeSet<Holder> = full.map(|(whose, _)| whose).collect();
        (is_crowded || !full.is_empty()).then_some(Exceeded { full, is_crowded })
    }

    /// Each ruling with its index, and whose it is.
    fn each<'r, 'c>(&'r self, rulings: &'r [Ruling<'c>]) -> impl Iterator<Item = (usize, &'r Holder, &'r Ruling<'c>)> {
        let both = self.whose.iter().zip(rulings).enumerate();
        both.map(|(index, (whose, ruling))| (index, whose, ruling))
    }

    /// The objects that a broken claim keeps.
    fn kept(&self, ruling: &Ruling<'_>) -> impl Iterator<Item = &'a ObjectKey> {
        let kept = self.published.get(&ruling.case.claim.by).filter(|_| ruling.verdict == Verdict::Broken);
        kept.into_iter().flatten().copied()
    }

    /// The load of each: of resolved claims at most, and of what broken ones keep.
    fn loads(&self, rulings: &[Ruling<'_>]) -> BTreeMap<Holder, Load> {
        let mut loads: BTreeMap<Holder, Load> = BTreeMap::new();
        for (_, whose, ruling) in self.each(rulings) {
            let kept = self.kept(ruling).map(|key| Load::of(key, self.bytes(key)));
            let mut load = kept.fold(Load::default(), Load::plus);
            if ruling.is_admitted() {
                let members = ruling.case.published_members();
                load = members.map(|member| Load::of_member(self.world, ruling, member)).fold(load, Load::plus);
            }
            match loads.get_mut(whose) {
                Some(of) => *of = of.plus(load),
                None => _ = loads.insert(whose.clone(), load),
            }
        }
        loads
    }

    /// The bytes of a published Secret's file.
    fn bytes(&self, key: &ObjectKey) -> usize {
        self.incumbents.bytes(key).filter(|_| key.kind.is_secret()).unwrap_or_default()
    }

    fn has(&self, ruling: &Ruling<'_>, lands: &ObjectKey) -> bool {
        self.published.get(&ruling.case.claim.by).is_some_and(|keys| keys.contains(lands))
    }

    /// Whether a claim asks for objects that it has not published.
    fn is_wider(&self, ruling: &Ruling<'_>) -> bool {
        ruling.case.published_members().any(|member| !self.has(ruling, &member.lands))
    }

    /// Whether a claim asks for Secrets that it has not published, or for larger ones.
    fn is_heavier(&self, ruling: &Ruling<'_>) -> bool {
        let is_more = |member: &Member| {
            let before = self.incumbents.bytes(&member.lands).filter(|_| self.has(ruling, &member.lands));
            member.lands.kind.is_secret() && before.is_none_or(|before| sealed(self.world, member) > before)
        };
        ruling.case.published_members().any(is_more)
    }

    /// Holds one to his quotas.
    fn of_holder(&self, whose: &Holder, rulings: &mut [Ruling<'_>]) {
        let (mut needs, mut kept) = (0, BTreeSet::new());
        let mut objects: BTreeMap<&ObjectKey, usize> = BTreeMap::new();
        for (_, _, ruling) in self.each(rulings).filter(|(_, of, _)| *of == whose) {
            kept.extend(self.kept(ruling));
            for member in ruling.case.published_members().filter(|_| ruling.is_admitted()) {
                objects.insert(&member.lands, sealed(self.world, member));
                needs += listed(ruling, member);
            }
        }
        for key in kept {
            objects.entry(key).or_insert_with(|| self.bytes(key));
        }
        let (count, limits, region) = (objects.len(), &self.world.fleet.limits, &self.region.name);
        let sealed_bytes = objects.values().sum::<usize>();
        drop(objects);
        let namespace = &whose.namespace;
        let (who, by) = (called(self.world, whose), written(whose));
        let (first, rest) = who.split_at_checked(1).unwrap_or_default();
        let fewer = if whose.part.is_taken() { NARROW } else { FEWER };
        let quotas: [Quota<'_, 'a>; 3] = [
            Quota {
                has: count,
                limit: limits.objects_per_namespace,
                grows: Self::is_wider,
                by: Self::new_objects,
                message: format!(
                    "{}{rest} of namespace {namespace}{by} need {count} objects in region {region}; \
                     limits.objectsPerNamespace is {}",
                    first.to_ascii_uppercase(),
                    limits.objects_per_namespace
                ),
                help: fewer,
            },
            Quota {
                has: sealed_bytes,
                limit: limits.sealed_bytes_per_namespace.0,
                grows: Self::is_heavier,
                by: Self::new_bytes,
                message: format!(
                    "Secrets for namespace {namespace}{by} take {sealed_bytes} bytes in region {region} once they are sealed; \
                     limits.sealedBytesPerNamespace is {}",
                    limits.sealed_bytes_per_namespace.0
                ),
                help: fewer,
            },
            Quota {
                has: needs,
                limit: MOST_LISTED,
                grows: Self::is_wider,
                by: |_, ruling| ruling.case.published_members().map(|member| listed(ruling, member)).sum(),
                message: format!(
                    "to say what {who} of namespace {namespace}{by} need takes {needs} bytes in bundle.yaml of region \
                     {region}; it has room for {MOST_LISTED}"
                ),
                help: SPREAD,
            },
        ];
        for quota in quotas.into_iter().filter(|quota| quota.has > quota.limit) {
            let theirs = self.each(rulings).filter(|(_, of, ruling)| *of == whose && ruling.is_admitted());
            let grows = theirs.filter(|(_, _, ruling)| (quota.grows)(self, ruling));
            let mut growing: Vec<(usize, usize)> =
                grows.map(|(index, _, ruling)| (index, (quota.by)(self, ruling))).collect();
            if whose.part.is_taken() {
                // Each is an object by itself, and the last ones are too many.
                growing.sort_by_key(|(index, _)| rulings.get(*index).map(|ruling| &ruling.case.claim.by));
                let all: usize = growing.iter().map(|(_, by)| by).sum();
                let mut room = quota.limit.saturating_sub(quota.has.saturating_sub(all));
                growing.retain(|(_, by)| match room.checked_sub(*by) {
                    Some(left) => {
                        room = left;
                        false
                    }
                    None => true,
                });
            }
            for (index, _) in growing {
                self.fail(rulings.get_mut(index), &quota.message, quota.help);
            }
        }
    }

    /// The objects of a claim that it has not published.
    fn new_objects(&self, ruling: &Ruling<'_>) -> usize {
        ruling.case.published_members().filter(|member| !self.has(ruling, &member.lands)).count()
    }

    /// The bytes of a claim's Secrets.
    fn new_bytes(&self, ruling: &Ruling<'_>) -> usize {
        ruling.case.published_members().map(|member| sealed(self.world, member)).sum()
    }

    /// Lets in who asks for more as long as the region has room.
    fn of_region(&self, rulings: &mut [Ruling<'_>]) {
        let terms = Terms::of(self.world, self.region);
        let mut room = Room::new(&terms, self.incumbents);
        let mut asking: BTreeMap<Holder, Vec<usize>> = BTreeMap::new();
        for (index, whose, ruling) in self.each(rulings) {
            let by = &ruling.case.claim.by;
            if ruling.is_admitted() && (self.is_wider(ruling) || self.is_heavier(ruling)) {
                asking.entry(whose.clone()).or_default().push(index);
            } else if ruling.is_admitted() {
                room.take(whose, ruling);
            }
            if ruling.verdict == Verdict::Broken || ruling.is_admitted() {
                let stays = self.published.get(by).into_iter().flatten();
                stays.for_each(|key| room.stays(whose, key));
            }
        }
        for lack in room.let_in(rulings, asking) {
            self.fail(rulings.get_mut(lack.ruling), &lack.message, lack.help);
        }
    }

    /// Breaks a claim for want of room. What a rule takes is named, with its place: that is where its writer looks.
    fn fail(&self, ruling: Option<&mut Ruling<'_>>, message: &str, help: &'static str) {
        let Some(ruling) = ruling else { return };
        let claim = &ruling.case.claim;
        let finding = Finding::new(Code::TooManyObjects, message.to_owned()).help(help);
        let is_taken = || whose(self.world, claim).part.is_taken();
        let finding = match taken(claim).filter(|_| is_taken()).and_then(|key| self.world.snapshot.get(key)) {
            Some(object) => finding.about(&object.key).at(&object.origin),
            None => finding.at(&claim.origin),
        };
        ruling.find(finding);
    }
}

/// One of a holder's quotas.
struct Quota<'s, 'a> {
    /// The amount that the holder would have.
    has: usize,
    limit: usize,
    /// Returns true for a claim that asks for more of it than it has published.
    grows: fn(&'s Court<'a>, &Ruling<'_>) -> bool,
    /// The amount that such a claim takes.
    by: fn(&'s Court<'a>, &Ruling<'_>) -> usize,
    message: String,
    help: &'static str,
}
