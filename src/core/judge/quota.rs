//! Quotas: how much the claims of a namespace, and all claims of a region, may have published.
//!
//! A holder over a quota harms only itself: claims that ask for more than they have published fail, and what they have stays. The
//! number of claims is judged before anything is built of them ([`too_many`]), and the rest when it is known what they need.
//! Where a region has no room for all who ask for more, namespaces that ask for less come first, and what fails takes
//! no room.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::case::{Ruling, Verdict};
use super::incumbents::Incumbents;
use crate::claim::parcel;
use crate::closure::Member;
use crate::config::RegionConfig;
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::name::holder::{Holder, Part};
use crate::name::step::Step;
use crate::name::{Claimant, ObjectKey};
use crate::world::World;

/// The most bytes that `bundle.yaml` takes to say which objects one namespace's claims need: with it, what is published
/// can be read back whoever asks for how much.
const MOST_LISTED: usize = 8 << 20;

/// The most bytes of `bundle.yaml`, by this estimate. It is read back up to 64 MiB.
const MOST_LISTED_OF_REGION: usize = 48 << 20;

/// The most bytes of a region's sealed Secrets. A region is read back up to 1 GiB.
const MOST_SEALED_OF_REGION: usize = 768 << 20;

/// The bytes around the names in an object's entry of `bundle.yaml`, in the entry of one who needs it, and around the entry of a
/// group of guests there.
const AROUND_OBJECT: usize = 300;
const AROUND_NEED: usize = 96;
const AROUND_ENTRY: usize = 160;
const AROUND_STEP: usize = 48;
const AROUND_DATA: usize = 80;

const FEWER: &str = "Raise the limit, or remove Credentials that nobody needs.";
const SPREAD: &str = "Remove Credentials that nobody needs, or spread them over more regions.";

/// How much something takes.
#[derive(Clone, Copy, Default)]
struct Load {
    objects: usize,
    sealed: usize,
    listed: usize,
}

impl Load {
    fn plus(self, other: Self) -> Self {
        Self {
            objects: self.objects + other.objects,
            sealed: self.sealed + other.sealed,
            listed: self.listed + other.listed,
        }
    }
}

/// The holder of a claimant's quota.
pub(super) fn whose(world: &World<'_>, by: &Claimant) -> Holder {
    Holder::of(by, &world.fleet.system_namespace)
}

/// The holders that have more claims for a region than `limits.credentialsPerNamespace`, each with the finding of a claimant of
/// theirs that has nothing published. Of a group of guests, the configuration says how many claims there are.
pub(super) fn too_many(world: &World<'_>, to: &Destination<'_>) -> BTreeMap<Holder, Finding> {
    let limit = world.fleet.limits.credentials_per_namespace;
    let mut counts: BTreeMap<Holder, usize> = BTreeMap::new();
    for by in world.facts.asked_for(to).filter(|asked| asked.claim.is_some()).map(|asked| &asked.by) {
        if by.group().is_none() {
            *counts.entry(whose(world, by)).or_default() += 1;
        }
    }
    let finding = |(whose, count): (Holder, usize)| {
        let (namespace, who, region) = (&whose.namespace, called(world, &whose), &to.region.name);
        let message = format!(
            "namespace {namespace} has {count} {who} for region {region}; limits.credentialsPerNamespace is {limit}"
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
        Part::Guests(group) => format!("payloads of group {group}"),
        Part::Rules => "ResourceSyncRules".to_owned(),
        Part::Own if world.fleet.names_others() => "claimants".to_owned(),
        Part::Own => "Credentials".to_owned(),
    }
}

/// What quotas are judged by.
struct Court<'a> {
    world: &'a World<'a>,
    region: &'a RegionConfig,
    incumbents: &'a Incumbents,
    /// The published objects of each claimant; filled where a quota is exceeded.
    published: BTreeMap<&'a Claimant, BTreeSet<&'a ObjectKey>>,
}

/// The accounts that may be over a quota, and whether the region may be; none where all is well.
pub(super) fn exceeded(
    world: &World<'_>,
    region: &RegionConfig,
    rulings: &[Ruling<'_>],
) -> Option<(BTreeSet<Holder>, bool)> {
    let incumbents = &Incumbents::default();
    let court = Court { world, region, incumbents, published: BTreeMap::new() };
    // Upper bounds first: shared objects are counted for each claim.
    let loads = court.loads(rulings);
    let limits = &world.fleet.limits;
    let is_full = |load: &Load| {
        load.objects > limits.objects_per_namespace
            || load.sealed > limits.sealed_bytes_per_namespace.0
            || load.listed > MOST_LISTED
    };
    let all = loads.values().fold(Load::default(), |sum, load| sum.plus(*load));
    let is_crowded = all.objects > limits.most_objects(&region.delivery)
        || all.sealed > MOST_SEALED_OF_REGION
        || all.listed + all.objects * AROUND_OBJECT > MOST_LISTED_OF_REGION;
    let full = loads.iter().filter(|(_, load)| is_full(load));
    let full: BTreeSet<Holder> = full.map(|(whose, _)| whose.clone()).collect();
    (is_crowded || !full.is_empty()).then_some((full, is_crowded))
}

/// Applies quotas. Namespaces come first, so that one tenant's excess does not fill the region for the others.
pub(super) fn apply(world: &World<'_>, region: &RegionConfig, incumbents: &Incumbents, rulings: &mut [Ruling<'_>]) {
    let Some((full, is_crowded)) = exceeded(world, region, rulings) else { return };
    let mut court = Court { world, region, incumbents, published: BTreeMap::new() };
    court.published = incumbents.by_claimant();
    for whose in &full {
        court.of_holder(whose, rulings);
    }
    if is_crowded {
        court.of_region(rulings);
    }
}

impl<'a> Court<'a> {
    /// Whose a ruling is.
    fn whose(&self, ruling: &Ruling<'_>) -> Holder {
        whose(self.world, &ruling.case.claim.by)
    }

    /// What the resolved claims of each take at most.
    fn loads(&self, rulings: &[Ruling<'_>]) -> BTreeMap<Holder, Load> {
        let mut loads: BTreeMap<Holder, Load> = BTreeMap::new();
        for ruling in rulings.iter().filter(|ruling| ruling.is_admitted()) {
            let load = loads.entry(self.whose(ruling)).or_default();
            for member in ruling.case.published_members() {
                let sealed = self.sealed(member);
                *load = load.plus(Load { objects: 1, sealed, listed: listed(ruling, member) });
            }
        }
        loads
    }

    /// About how many bytes a member's Secret takes once it is sealed.
    fn sealed(&self, member: &Member) -> usize {
        if !member.lands.kind.is_secret() {
            return 0;
        }
        let sealed = self.world.snapshot.get(&member.read).map(crate::object::Object::sealed_bytes).unwrap_or_default();
        // In a payload, base64 stands in base64.
        if parcel(&member.edits).is_some() { sealed / 3 * 4 } else { sealed }
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
            member.lands.kind.is_secret() && before.is_none_or(|before| self.sealed(member) > before)
        };
        ruling.case.published_members().any(is_more)
    }

    /// Holds one to his quotas.
    fn of_holder(&self, whose: &Holder, rulings: &mut [Ruling<'_>]) {
        let mut needs = 0;
        let mut objects: BTreeMap<&ObjectKey, &Member> = BTreeMap::new();
        let is_theirs = |ruling: &&Ruling<'_>| ruling.is_admitted() && self.whose(ruling) == *whose;
        for ruling in rulings.iter().filter(is_theirs) {
            for member in ruling.case.published_members() {
                objects.insert(&member.lands, member);
                needs += listed(ruling, member);
            }
        }
        let (count, limits, region) = (objects.len(), &self.world.fleet.limits, &self.region.name);
        let sealed = objects.values().map(|member| self.sealed(member)).sum::<usize>();
        let namespace = &whose.namespace;
        let who = called(self.world, whose);
        let (first, rest) = who.split_at_checked(1).unwrap_or_default();
        type Grows<'s, 'a> = fn(&'s Court<'a>, &Ruling<'_>) -> bool;
        let quotas: [(usize, usize, Grows<'_, 'a>, String, &str); 3] = [
            (
                count,
                limits.objects_per_namespace,
                Self::is_wider,
                format!(
                    "{}{rest} of namespace {namespace} need {count} objects in region {region}; \
                     limits.objectsPerNamespace is {}",
                    first.to_ascii_uppercase(),
                    limits.objects_per_namespace
                ),
                FEWER,
            ),
            (
                sealed,
                limits.sealed_bytes_per_namespace.0,
                Self::is_heavier,
                format!(
                    "Secrets for namespace {namespace} take {sealed} bytes in region {region} once they are sealed; \
                     limits.sealedBytesPerNamespace is {}",
                    limits.sealed_bytes_per_namespace.0
                ),
                FEWER,
            ),
            (
                needs,
                MOST_LISTED,
                Self::is_wider,
                format!(
                    "to say what {who} of namespace {namespace} need takes {needs} bytes in bundle.yaml of region \
                     {region}; it has room for {MOST_LISTED}"
                ),
                SPREAD,
            ),
        ];
        for (has, limit, grows, message, help) in quotas {
            if has <= limit {
                continue;
            }
            let theirs = |ruling: &&mut Ruling<'_>| is_theirs(&&**ruling) && grows(self, ruling);
            for ruling in rulings.iter_mut().filter(theirs) {
                fail(ruling, message.clone(), help);
            }
        }
    }

    /// Lets in who asks for more as long as the region has room, those first whose namespaces ask for less.
    fn of_region(&self, rulings: &mut [Ruling<'_>]) {
        let mut room = Room { court: self, keys: BTreeSet::new(), load: Load::default() };
        let mut asking: BTreeMap<Holder, Vec<usize>> = BTreeMap::new();
        for (index, ruling) in rulings.iter().enumerate() {
            let by = &ruling.case.claim.by;
            if ruling.is_admitted() && (self.is_wider(ruling) || self.is_heavier(ruling)) {
                asking.entry(self.whose(ruling)).or_default().push(index);
            } else if ruling.is_admitted() {
                room.take(ruling);
            }
            if ruling.verdict == Verdict::Broken || ruling.is_admitted() {
                let stays = self.published.get(by).into_iter().flatten();
                stays.for_each(|key| room.add(key, self.incumbents.bytes(key).unwrap_or_default()));
            }
        }
        let mut order: Vec<(usize, Holder, Vec<usize>)> = Vec::new();
        for (whose, indexes) in asking {
            let theirs = indexes.iter().filter_map(|index| rulings.get(*index));
            let keys: BTreeSet<&ObjectKey> =
                theirs.flat_map(|ruling| ruling.case.published_members()).map(|member| &member.lands).collect();
            let new = keys.into_iter().filter(|key| !room.keys.contains(*key)).count();
            order.push((new, whose, indexes));
        }
        order.sort();
        let mut failed: Vec<(usize, String, &str)> = Vec::new();
        for (_, _, indexes) in order {
            let mut with = room.clone();
            indexes.iter().filter_map(|index| rulings.get(*index)).for_each(|ruling| with.take(ruling));
            match with.lacks() {
                None => room = with,
                Some((message, help)) => failed.extend(indexes.into_iter().map(|index| (index, message.clone(), help))),
            }
        }
        drop(room);
        for (index, message, help) in failed {
            if let Some(ruling) = rulings.get_mut(index) {
                fail(ruling, message, help);
            }
        }
    }
}

/// What a region holds.
#[derive(Clone)]
struct Room<'c, 'a> {
    court: &'c Court<'a>,
    keys: BTreeSet<ObjectKey>,
    load: Load,
}

impl Room<'_, '_> {
    fn add(&mut self, key: &ObjectKey, sealed: usize) {
        if self.keys.insert(key.clone()) {
            let names = key.name.as_str().len() + key.namespace_text().len();
            let listed = names * 3 + AROUND_OBJECT;
            self.load = self.load.plus(Load { objects: 1, sealed, listed });
        }
    }

    fn take(&mut self, ruling: &Ruling<'_>) {
        for member in ruling.case.published_members() {
            let sealed = self.court.sealed(member);
            // A Secret that grows takes what it grows by.
            let before = self.court.incumbents.bytes(&member.lands).unwrap_or_default();
            let more = if self.keys.contains(&member.lands) { sealed.saturating_sub(before) } else { 0 };
            self.load = self.load.plus(Load { objects: 0, sealed: more, listed: listed(ruling, member) });
            self.add(&member.lands, sealed);
        }
    }

    /// What the region has no room for, and what to do.
    fn lacks(&self) -> Option<(String, &'static str)> {
        let Load { objects, sealed, listed, .. } = self.load;
        let (region, limits) = (&self.court.region.name, &self.court.world.fleet.limits);
        let delivery = &self.court.region.delivery;
        let limit = limits.most_objects(delivery);
        if objects > limit {
            let message = match limits.objects_per_region {
                Some(_) => format!("region {region} would hold {objects} objects; limits.objectsPerRegion is {limit}"),
                None => format!(
                    "region {region} would hold {objects} objects, and {} takes {limit} at most",
                    delivery.consumer()
                ),
            };
            return Some((message, FEWER));
        }
        if sealed > MOST_SEALED_OF_REGION {
            let message = format!(
                "region {region} would hold {sealed} bytes of sealed Secrets, of at most {MOST_SEALED_OF_REGION}"
            );
            return Some((message, SPREAD));
        }
        let message = || {
            format!(
                "bundle.yaml of region {region} would have about {listed} bytes, of at most {MOST_LISTED_OF_REGION}"
            )
        };
        (listed > MOST_LISTED_OF_REGION).then(|| (message(), SPREAD))
    }
}

/// About how many bytes `bundle.yaml` takes to say that a claim needs a member.
fn listed(ruling: &Ruling<'_>, member: &Member) -> usize {
    let by = &ruling.case.claim.by;
    let names = by.name().len() + by.namespace().as_str().len();
    let step = |step: &Step| {
        let said = match step {
            Step::Field { interface, field } => {
                interface.as_ref().map_or(0, |interface| interface.as_str().len()) + field.len()
            }
            Step::AccessRule(name) | Step::Rule(name) | Step::Template(name) => name.as_str().len(),
            Step::Data(key) => {
                let kind = key.kind.group.as_str().len() + key.kind.kind.as_str().len();
                kind + key.path().len() + AROUND_DATA
            }
            Step::Opaque(words) => words.len(),
        };
        said + AROUND_STEP
    };
    let steps = member.through.iter().map(step).sum::<usize>();
    let entry = if by.entry().is_some() { AROUND_ENTRY } else { 0 };
    names + steps + AROUND_NEED + entry
}

fn fail(ruling: &mut Ruling<'_>, message: String, help: &'static str) {
    let finding = Finding::new(Code::TooManyObjects, message).at(&ruling.case.claim.origin);
    ruling.find(finding.help(help));
}
