//! A ManagedResource as a whole: for which namespaces of regions, and for which guest clusters, it is rendered.

use alloc::string::ToString as _;
use alloc::vec::Vec;

use super::guests;
use super::record::{PlaceRecord, TemplateRecord};
use crate::claim::{Asked, Claim};
use crate::config::{RegionConfig, RegionState};
use crate::kinds;
use crate::name::{Entry, Name, ObjectKey};
use crate::world::World;

/// The record of a template; none if it was not read, and nobody knows of it.
pub(super) fn of(world: &World<'_>, name: &Name) -> Option<TemplateRecord> {
    let key = ObjectKey::new(kinds::managed_resource(), None, name.clone());
    let object = guests::known(world, &key)?;
    let takes =
        |region: &&RegionConfig| region.state != RegionState::Retired && region.templates.matches(name.as_str());
    let asked = world.facts.asked().iter().filter(|asked| asked.claim.is_some());
    let namespaces = asked.filter(|asked| asked.by.template() == Some(name)).count();
    let (groups, unselected): (Vec<_>, Vec<_>) =
        guests::naming(world, Entry::Template(name.clone())).partition(|(_, claim)| claim.rendered().is_some());
    let paths = |named: Vec<(&Asked, &Claim)>| named.into_iter().map(|(asked, _)| asked.by.whole().path()).collect();
    Some(TemplateRecord {
        name: name.to_string(),
        place: object.map(|object| PlaceRecord::from(&object.origin)),
        regions: world.fleet.regions.values().filter(takes).map(|region| region.name.to_string()).collect(),
        namespaces,
        groups: paths(groups),
        unselected: paths(unselected),
    })
}
