//! What a group of guest clusters needs: the objects that it delivers, and what pouch makes to deliver them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Closure, Member, Role, Via};
use super::{MAX_OBJECTS, assume, look_up};
use crate::capi::resource_set::resource_set_kind;
use crate::claim::guest::{Delivered, NEWEST, Own};
use crate::claim::{Claim, Edit};
use crate::finding::{Code, Finding};
use crate::name::{ObjectKey, Region, Version};
use crate::world::World;
use crate::world::cluster::ClusterFacts;

/// Looks up the objects of a group, and adds its sets. Nobody else has objects of such names, so what stands where they
/// land is not asked.
pub(super) fn deliver(world: &World<'_>, claim: &Claim, delivered: &Delivered, closure: &mut Closure) {
    for item in &delivered.items {
        let places = Places { read: item.read.clone(), lands: item.payload.clone() };
        let via = vec![Via { interface: None, field: item.field.clone() }];
        let edits = vec![Edit::Parcel(item.parcel.clone())];
        let member = Member { edits, ..Member::new(places, Role::Root, via, None) };
        let index = closure.members.len();
        closure.members.push(member.clone());
        if world.fleet.publishes(&member.read.kind) && !assume(world, claim, closure, index, &member) {
            look_up(world, claim, closure, &member);
        }
    }
    let namespaces = delivered.namespaces.iter().map(|(name, key)| (key.clone(), Own::Namespace(name.clone())));
    let version = version(world, claim.region());
    let sets = delivered.sets.iter().map(|set| {
        let key = ObjectKey::new(resource_set_kind(), Some(claim.by.namespace.clone()), set.name.clone());
        (key, Own::Set(set.clone(), version.clone()))
    });
    for (key, own) in namespaces.chain(sets) {
        let places = Places { read: key.clone(), lands: key };
        let edits = vec![Edit::Own(Arc::new(own))];
        closure.members.push(Member { edits, ..Member::new(places, Role::Own, Vec::new(), None) });
    }
    if closure.members.len() > MAX_OBJECTS {
        let message = format!("the group needs more than {MAX_OBJECTS} objects");
        let finding = Finding::new(Code::TooManyObjects, message).at(&claim.origin);
        closure.find(claim, finding.help("Divide the group."));
    }
}

/// The version in which a region has sets: the newest that pouch knows, unless it is known to serve only an older one.
fn version(world: &World<'_>, region: &Region) -> Version {
    const OLDER: &str = "v1beta1";
    let kind = resource_set_kind();
    let looked = world.cluster(region).and_then(ClusterFacts::looked).and_then(|looked| looked.kinds.get(&kind));
    let defined = || world.snapshot.definitions.get(&kind).map(|definition| &definition.served);
    let serves = |version: &str| match looked {
        Some(looked) => Some(looked.versions.contains(&Version::from(version))),
        None => defined().map(|served| served.contains(&Version::from(version))),
    };
    let is_old = serves(NEWEST) == Some(false) && serves(OLDER) == Some(true);
    Version::from(if is_old { OLDER } else { NEWEST })
}
