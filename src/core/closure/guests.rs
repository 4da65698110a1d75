//! What a group of guest clusters needs: the objects that it delivers, and what pouch makes to deliver them.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Member, Role, Via};
use crate::admission::{self, Sought};
use crate::capi::resource_set::resource_set_kind;
use crate::claim::guest::NEWEST;
use crate::claim::{Claim, Delivered, Edit, Item, Own};
use crate::config::Grant;
use crate::finding::{Class, Code, Finding, Severity};
use crate::name::{GroupKind, Name, ObjectKey, Region, Version};
use crate::object::Object;
use crate::world::World;
use crate::world::cluster::ClusterFacts;

/// The objects that a group delivers. Nobody else has objects of such names as they land under, so what stands there is not
/// asked.
pub(super) fn items(delivered: &Delivered) -> Vec<Member> {
    let member = |item: &Item| {
        let places = Places { read: item.read.clone(), lands: item.payload.clone() };
        let via = vec![Via { interface: None, field: item.field.clone() }];
        let edits = vec![Edit::Parcel(item.parcel.clone())];
        Member { edits, ..Member::new(places, Role::Root, via, None) }
    };
    delivered.items.iter().map(member).collect()
}

/// Why an object that a ResourceSyncRule takes is left out, if it is: whoever writes it may not take from all others what the
/// group delivers. Where nobody knows, it stays, and breaks the group.
pub(super) fn left_out(world: &World<'_>, claim: &Claim, read: &ObjectKey) -> Option<Finding> {
    let acting = claim.acting(read);
    if claim.delivers(read) || !acting.by.is_sync_rule() {
        return None;
    }
    let object = world.snapshot.get(read);
    let is_doubtful = |object: &Object| {
        object.is_mistyped()
            || admission::slip(world.fleet, object).is_some()
            || admission::is_unseen(world, acting, object)
            || object.faults.iter().any(|fault| fault.code.class() == Class::Broken)
    };
    let sought = Sought { read, template: false, referrer: None, source: None };
    let is_open = match (&read.namespace, object) {
        (Some(_), _) => admission::of_namespaced(world, acting, &sought).is_some(),
        (None, Some(object)) => admission::of_identity(world, acting, object).is_ok(),
        (None, None) => true,
    };
    let is_known = !object.is_some_and(is_doubtful) && admission::undecided(world, acting, read).is_none();
    let left = |code, why: String| {
        let message = format!("{read} is left out of {}: {why}", claim.by);
        let finding = Finding::new(code, message).severity(Severity::Warning).about(read);
        Some(match object {
            Some(object) => finding.at(&object.origin),
            None => finding.at(&claim.origin),
        })
    };
    if !is_open && is_known {
        let finding = left(Code::NotAdmitted, format!("it is not open to {}", acting.by));
        let grant = Grant::least(&acting.by, claim.region(), read);
        return finding.map(|finding| finding.help(format!("To deliver it, add to `grants`: `- {grant}`.")));
    }
    let why = object.and_then(|object| object.stays)?;
    left(Code::ForbiddenType, format!("{why}, and never leaves")).map(|it| it.help("Narrow the rule."))
}

/// What pouch makes to deliver them, but for what is left out.
pub(super) fn own(
    world: &World<'_>,
    claim: &Claim,
    delivered: &Delivered,
    left_out: &BTreeSet<ObjectKey>,
) -> Vec<Member> {
    let namespaces = delivered.namespaces.iter().map(|(name, key)| (key.clone(), Own::Namespace(name.clone())));
    let version = version(world, claim.region());
    let is_there = |(kind, name): &(GroupKind, Name)| {
        let key = ObjectKey::new(kind.clone(), Some(claim.by.namespace.clone()), name.clone());
        !left_out.contains(&key)
    };
    let fitting = delivered.sets.iter().map(|set| {
        let mut set = set.clone();
        set.payloads.retain(is_there);
        set
    });
    // The API server refuses a set without payloads.
    let sets = fitting.filter(|set| !set.payloads.is_empty()).map(|set| {
        let key = ObjectKey::new(resource_set_kind(), Some(claim.by.namespace.clone()), set.name.clone());
        (key, Own::Set(set, version.clone()))
    });
    let member = |(key, own): (ObjectKey, Own)| {
        let places = Places { read: key.clone(), lands: key };
        let edits = vec![Edit::Own(Arc::new(own))];
        let via = vec![Via { interface: None, field: format!("guests.{}", claim.by.name) }];
        Member { edits, ..Member::new(places, Role::Own, via, None) }
    };
    namespaces.chain(sets).map(member).collect()
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
