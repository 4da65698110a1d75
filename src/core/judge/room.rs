//! Room: what a region has place for, and whose turn it is where that is less than all ask for.
//!
//! The smallest share comes next: of the sources that are tenants' own and of what belongs to all, and within one of
//! them of its namespaces. So a source with many namespaces gets no more than one with few. What is published keeps its place,
//! and so that none who comes first takes all, a part of the room is kept for every source.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::case::Ruling;
use super::incumbents::Incumbents;
use super::load::{Load, listed, sealed};
use crate::config::{RegionConfig, Source};
use crate::name::holder::Holder;
use crate::name::{ObjectKey, SourceName};
use crate::world::World;

/// The most bytes of `bundle.yaml`, by this estimate. It is read back up to 64 MiB.
const MOST_LISTED: usize = 48 << 20;

/// The most bytes of a region's sealed Secrets. A region is read back up to 1 GiB.
const MOST_SEALED: usize = 768 << 20;

/// The part of the room that is kept, in equal parts for all sources: a quarter.
const KEPT: usize = 4;

pub(super) const FEWER: &str = "Raise the limit, or remove Credentials that nobody needs.";
pub(super) const SPREAD: &str = "Remove Credentials that nobody needs, or spread them over more regions.";

/// The source whose share something uses up; none of what belongs to all.
pub(super) type Share<'a> = Option<&'a SourceName>;

/// The terms on which a region is shared.
pub(super) struct Terms<'a> {
    world: &'a World<'a>,
    region: &'a RegionConfig,
    /// All that it has room for.
    limit: Load,
    /// The room that is kept for each.
    kept: Load,
    /// Those that have shares: what belongs to all, and each source that is a tenant's own.
    shares: Vec<Share<'a>>,
}

impl<'a> Terms<'a> {
    pub(super) fn of(world: &'a World<'a>, region: &'a RegionConfig) -> Self {
        let limit = Load {
            objects: world.fleet.limits.most_objects(&region.delivery),
            sealed: MOST_SEALED,
            listed: MOST_LISTED,
        };
        let has_share = |source: &&Source| {
            let provides = &source.provides;
            let has_any = !provides.namespaces.patterns().is_empty() || !provides.objects.is_empty();
            let is_tenant = !provides.cluster_scoped && has_any;
            is_tenant && source.region.as_ref().is_none_or(|own| *own == region.name)
        };
        let own = world.fleet.sources.iter().filter(has_share).map(|source| Some(&source.name));
        let shares: Vec<Share<'_>> = [None].into_iter().chain(own).collect();
        let kept = if shares.len() > 1 { limit.divided(KEPT * shares.len()) } else { Load::default() };
        Self { world, region, limit, kept, shares }
    }

    /// The share that a holder uses up.
    pub(super) fn share(&self, whose: &Holder) -> Share<'a> {
        self.world.fleet.share_of_holder(whose)
    }

    /// Returns true if there is room for all of this, in whatever order they come.
    pub(super) fn has_room(&self, loads: &BTreeMap<Holder, Load>) -> bool {
        let mut of: BTreeMap<Share<'_>, Load> = BTreeMap::new();
        for (whose, load) in loads {
            let of = of.entry(self.share(whose)).or_default();
            *of = of.plus(*load);
        }
        let others = self.shares.iter().filter(|share| !of.contains_key(*share)).map(|_| self.kept);
        let all = of.values().map(|load| load.or(self.kept)).chain(others).fold(Load::default(), Load::plus);
        all.fits(self.limit)
    }
}

/// Claims that get room together or not at all.
struct Unit {
    rulings: Vec<usize>,
    /// The load beside what is there, by a first estimate.
    asks: Load,
}

/// The claims of one holder that ask for more.
struct Asking {
    /// The next to come last.
    units: Vec<Unit>,
    load: Load,
}

/// The turn of a holder among those of its source: of whose share would be the smallest.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    /// The part of the room that it would have.
    has: usize,
    /// The part of that for which it asks.
    asks: usize,
    whose: Holder,
}

/// The load of something beside what is there.
struct Growth {
    of_room: Load,
    of_share: Load,
    keys: BTreeMap<ObjectKey, usize>,
}

/// Objects, and what they take together.
#[derive(Default)]
struct Held {
    keys: BTreeSet<ObjectKey>,
    load: Load,
}

impl Held {
    /// The load of an object beside these, with the bytes of its file, and the bytes before.
    fn more(&self, key: &ObjectKey, sealed: usize, before: usize) -> Load {
        match self.keys.contains(key) {
            // A Secret that grows takes what it grows by.
            true => Load { sealed: sealed.saturating_sub(before), ..Load::default() },
            false => Load::of(key, sealed),
        }
    }

    fn add(&mut self, key: &ObjectKey, load: Load) {
        self.load = self.load.plus(load);
        self.keys.insert(key.clone());
    }
}

/// The objects that a region holds, by share and by holder.
pub(super) struct Room<'a> {
    terms: &'a Terms<'a>,
    incumbents: &'a Incumbents,
    all: Held,
    of: BTreeMap<Share<'a>, Held>,
    holders: BTreeMap<Holder, Held>,
}

/// The reason for which a claim gets no room.
pub(super) struct Lack {
    /// The claim, by its ruling.
    pub(super) ruling: usize,
    /// The sentence that says what there is no room for.
    pub(super) message: String,
    /// The cure.
    pub(super) help: &'static str,
}

impl<'a> Room<'a> {
    pub(super) fn new(terms: &'a Terms<'a>, incumbents: &'a Incumbents) -> Self {
        Self { terms, incumbents, all: Held::default(), of: BTreeMap::new(), holders: BTreeMap::new() }
    }

    /// Adds an object that is published and stays.
    pub(super) fn stays(&mut self, whose: &Holder, key: &ObjectKey) {
        let bytes = self.incumbents.bytes(key).unwrap_or_default();
        self.add(whose, key, bytes);
    }

    fn add(&mut self, whose: &Holder, key: &ObjectKey, bytes: usize) {
        let before = self.incumbents.bytes(key).unwrap_or_default();
        let of = self.of.entry(self.terms.share(whose)).or_default();
        for held in [&mut self.all, of, self.holders.entry(whose.clone()).or_default()] {
            let load = held.more(key, bytes, before);
            held.add(key, load);
        }
    }

    /// Adds what a claim has that asks for no more than it has published.
    pub(super) fn take(&mut self, whose: &Holder, ruling: &Ruling<'_>) {
        for member in ruling.case.published_members() {
            self.add(whose, &member.lands, sealed(self.terms.world, member));
            let listed = Load { listed: listed(ruling, member), ..Load::default() };
            self.all.load = self.all.load.plus(listed);
            let of = self.of.entry(self.terms.share(whose)).or_default();
            of.load = of.load.plus(listed);
        }
    }

    /// The load of claims beside what is there.
    fn growth(&self, share: Share<'a>, rulings: &[Ruling<'_>], indexes: &[usize]) -> Growth {
        let nothing = Held::default();
        let of = self.of.get(&share).unwrap_or(&nothing);
        let mut growth = Growth { of_room: Load::default(), of_share: Load::default(), keys: BTreeMap::new() };
        for ruling in indexes.iter().filter_map(|index| rulings.get(*index)) {
            for member in ruling.case.published_members() {
                let key = &member.lands;
                let (bytes, before) =
                    (sealed(self.terms.world, member), self.incumbents.bytes(key).unwrap_or_default());
                let need = Load { listed: listed(ruling, member), ..Load::default() };
                growth.of_room = growth.of_room.plus(need);
                growth.of_share = growth.of_share.plus(need);
                if growth.keys.insert(key.clone(), bytes).is_none() {
                    growth.of_room = growth.of_room.plus(self.all.more(key, bytes, before));
                    growth.of_share = growth.of_share.plus(of.more(key, bytes, before));
                }
            }
        }
        growth
    }

    /// Lets in claims that ask for more, by turns, as long as there is room, and gives those that find none.
    ///
    /// Claims of one holder fail together, but for objects that rules take: of these as many get in as there is room for.
    pub(super) fn let_in(&mut self, rulings: &[Ruling<'_>], asking: BTreeMap<Holder, Vec<usize>>) -> Vec<Lack> {
        let by = |index: &usize| rulings.get(*index).map(|ruling| &ruling.case.claim.by);
        let mut waiting: BTreeMap<Share<'a>, BTreeSet<Turn>> = BTreeMap::new();
        let mut all: BTreeMap<Holder, Asking> = BTreeMap::new();
        for (whose, mut indexes) in asking {
            let share = self.terms.share(&whose);
            indexes.sort_by_key(by);
            let units = match whose.part.is_taken() {
                true => indexes.into_iter().rev().map(|index| vec![index]).collect(),
                false => vec![indexes],
            };
            let unit = |rulings_of: Vec<usize>| {
                let asks = self.growth(share, rulings, &rulings_of).of_room;
                Unit { rulings: rulings_of, asks }
            };
            let load = self.holders.get(&whose).map(|held| held.load).unwrap_or_default();
            let asking = Asking { units: units.into_iter().map(unit).collect(), load };
            if let Some(turn) = self.turn(&whose, &asking) {
                waiting.entry(share).or_default().insert(turn);
            }
            all.insert(whose, asking);
        }
        let mut lacks = Vec::new();
        while let Some((share, turn)) = self.next(&all, &waiting) {
            let whose = turn.whose.clone();
            let turns = waiting.entry(share).or_default();
            turns.remove(&turn);
            let Some(asking) = all.get_mut(&whose) else { continue };
            let Some(unit) = asking.units.pop() else { continue };
            let growth = self.growth(share, rulings, &unit.rulings);
            match self.lacks(share, &growth) {
                None => {
                    asking.load = asking.load.plus(unit.asks);
                    for (key, bytes) in &growth.keys {
                        self.add(&whose, key, *bytes);
                    }
                }
                Some((message, help)) => {
                    lacks.extend(unit.rulings.into_iter().map(|ruling| Lack { ruling, message: message.clone(), help }))
                }
            }
            if let Some(turn) = self.turn(&whose, asking) {
                turns.insert(turn);
            }
        }
        lacks
    }

    /// The turn of a holder that asks for something more.
    fn turn(&self, whose: &Holder, asking: &Asking) -> Option<Turn> {
        let (asks, limit) = (asking.units.last()?.asks, self.terms.limit);
        let has = asking.load.plus(asks).part_of(limit);
        Some(Turn { has, asks: asks.part_of(limit), whose: whose.clone() })
    }

    /// The share that would be the smallest with what it asks for next, and whose turn it is in it.
    fn next(
        &self,
        all: &BTreeMap<Holder, Asking>,
        waiting: &BTreeMap<Share<'a>, BTreeSet<Turn>>,
    ) -> Option<(Share<'a>, Turn)> {
        let firsts = waiting.iter().filter_map(|(share, turns)| Some((*share, turns.first()?)));
        let with = |(share, turn): &(Share<'a>, &Turn)| {
            let has = self.of.get(share).map(|held| held.load).unwrap_or_default();
            let asks = all.get(&turn.whose).and_then(|asking| asking.units.last()).map(|unit| unit.asks);
            has.plus(asks.unwrap_or_default()).part_of(self.terms.limit)
        };
        firsts.min_by_key(with).map(|(share, turn)| (share, turn.clone()))
    }

    /// The message and the help if the region has no room.
    fn lacks(&self, share: Share<'a>, growth: &Growth) -> Option<(String, &'static str)> {
        let Terms { world, region, limit, kept, shares } = self.terms;
        let would = self.all.load.plus(growth.of_room);
        let unused = |other: &Share<'a>| kept.beyond(self.of.get(other).map(|held| held.load).unwrap_or_default());
        let kept = shares.iter().filter(|other| **other != share).map(unused).fold(Load::default(), Load::plus);
        let Load { objects, sealed, listed } = would.plus(kept);
        let but = |kept: usize| match kept {
            0 => String::new(),
            kept => format!(", beside {kept} that are kept for other sources"),
        };
        let name = &region.name;
        if objects > limit.objects {
            let (objects, but, limit) = (would.objects, but(kept.objects), limit.objects);
            let message = match world.fleet.limits.objects_per_region {
                Some(_) => {
                    format!("region {name} would hold {objects} objects{but}; limits.objectsPerRegion is {limit}")
                }
                None => format!(
                    "region {name} would hold {objects} objects{but}, and {} takes {limit} at most",
                    region.delivery.consumer()
                ),
            };
            return Some((message, FEWER));
        }
        if sealed > limit.sealed {
            let (sealed, but, limit) = (would.sealed, but(kept.sealed), limit.sealed);
            let message = format!("region {name} would hold {sealed} bytes of sealed Secrets{but}, of at most {limit}");
            return Some((message, SPREAD));
        }
        let message = || {
            let (listed, but, limit) = (would.listed, but(kept.listed), limit.listed);
            format!("bundle.yaml of region {name} would have about {listed} bytes{but}, of at most {limit}")
        };
        (listed > limit.listed).then(|| (message(), SPREAD))
    }
}
