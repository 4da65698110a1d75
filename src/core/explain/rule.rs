//! A ResourceSyncRule as a whole: what it takes, from which sources, and to which regions.

use alloc::collections::BTreeSet;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::guests;
use super::record::{PlaceRecord, RuleRecord, RuleSourceRecord};
use crate::claim::guest::acting;
use crate::claim::sync_rule::Told;
use crate::kinds;
use crate::name::{Entry, Name, ObjectKey, SourceName};
use crate::selector::Truth;
use crate::sync_rule::words::conditions;
use crate::world::World;

/// The record of a rule; none if it was not read, and nobody knows of it.
pub(super) fn of(world: &World<'_>, name: &Name) -> Option<RuleRecord> {
    let key = ObjectKey::new(kinds::sync_rule(), None, name.clone());
    let object = guests::known(world, &key)?;
    let told = world.facts.synced.told(world.fleet, world.snapshot, name);
    let kind = told.as_ref().map(|told| &told.rule.kind);
    Some(RuleRecord {
        name: name.to_string(),
        place: object.map(|object| PlaceRecord::from(&object.origin)),
        takes: told
            .as_ref()
            .map(|told| format!("{} ({})", told.rule.kind.kind, told.rule.kind.api_version(&told.rule.version))),
        // Of what cannot be followed nobody knows that no value of a Secret stands in it.
        conditions: object.filter(|_| told.is_some()).map(|object| conditions(&object.body)).unwrap_or_default(),
        sources: told.as_ref().map(sources).unwrap_or_default(),
        regions: world.fleet.ruled(name.as_str()).map(|region| region.name.to_string()).collect(),
        groups: guests::naming(world, Entry::Rule { rule: name.clone(), object: None })
            .map(|(asked, _)| asked.by.whole().path())
            .collect(),
        read: kind.map(|kind| world.snapshot.all(kind).count()),
        taken: taken(world, name),
    })
}

/// How many objects it takes, to whatever regions and guest clusters.
fn taken(world: &World<'_>, name: &Name) -> usize {
    let asked = world.facts.asked().iter().filter(|asked| asked.claim.is_some()).map(|asked| &asked.by);
    let taken = asked.filter_map(|by| match by.rule() == Some(name) {
        true => Some(by.clone()),
        false => acting(world.fleet, by).filter(|by| by.rule() == Some(name)),
    });
    taken.collect::<BTreeSet<_>>().len()
}

fn sources(told: &Told<'_>) -> Vec<RuleSourceRecord> {
    let record = |(name, answer): &(&SourceName, Truth)| RuleSourceRecord { name: name.to_string(), answer: *answer };
    told.sources.iter().map(record).collect()
}
