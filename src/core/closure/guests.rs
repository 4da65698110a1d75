//! Closures of groups of guest clusters: the objects that an entry delivers.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Closure, Member, Role};
use super::template;
use crate::admission::{self, Namer, Sought};
use crate::capi::resource_set::resource_set_kind;
use crate::claim::guest::{self, NEWEST, OLDER};
use crate::claim::{Claim, Edit, Item, Parcel};
use crate::config::Grant;
use crate::finding::{Class, Code, Finding, Severity};
use crate::name::step::Step;
use crate::name::{Name, ObjectKey, Region, Version};
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;
use crate::world::cluster::{ClusterFacts, Sight};

/// The member for an object that goes to guests.
pub(super) fn member(claim: &Claim, item: &Item) -> Member {
    let places = Places { read: item.read.clone(), lands: item.payload_in(claim.by.namespace()) };
    let rule = item.rule.as_ref().and_then(|acting| acting.by.rule());
    let through = vec![rule.map_or_else(|| guest::named_by(&claim.by), |rule| Step::Rule(rule.clone()))];
    let edits = vec![Edit::Parcel(item.parcel.clone())];
    Member { edits, rule: item.rule.clone(), ..Member::new(places, Role::Root, through, None) }
}

/// The objects that a template makes for the guests. Its faults are noted.
pub(super) fn rendered(world: &World<'_>, claim: &Claim, base: &Name, closure: &mut Closure) -> Vec<Member> {
    let Some(acting) = claim.rendered() else { return Vec::new() };
    let mut own = Closure::default();
    match acting {
        Ok(acting) => template::close(world, acting, &mut own),
        Err(findings) => own.findings.clone_from(findings),
    }
    closure.wanted.append(&mut own.wanted);
    let findings = own.findings.into_iter().map(|it| it.claimed_by(&claim.by).in_region(claim.region()));
    closure.rendered = findings.collect();
    let Ok(acting) = acting else { return Vec::new() };
    let members = own.members.into_iter().map(|made| {
        let lands = guest::payload_in(base, claim.by.namespace(), &made.lands);
        let edits = vec![Edit::Parcel(Arc::new(Parcel { lands: made.lands, edits: Vec::new() }))];
        Member { lands, edits, rule: Some(acting.clone()), ..made }
    });
    members.collect()
}

/// Why an object is left out, if it is: whoever writes it may not take from all others what the group delivers. Where nobody
/// knows, it waits.
pub(super) fn left_out(world: &World<'_>, claim: &Claim, member: &Member) -> Option<Finding> {
    let read = &member.read;
    let object = world.snapshot.get(read);
    let left = |code, why: String| {
        let message = format!("{read} is left out of {}: {why}", claim.by);
        let finding = Finding::new(code, message).severity(Severity::Warning).about(read);
        match object {
            Some(object) => finding.at(&object.origin),
            None => finding.at(&claim.origin),
        }
    };
    if let Some(acting) = member.rule.as_deref().filter(|acting| is_shut(world, acting, read, object)) {
        let grant = Grant::least(&acting.by, claim.region(), read);
        let finding = left(Code::NotAdmitted, format!("it is not open to {}", acting.by));
        return Some(finding.help(format!("To deliver it, add to `grants`: `- {grant}`.")));
    }
    let why = never_leaves(world, read)?;
    let help = "Let the template make a Secret of another type.";
    Some(left(Code::ForbiddenType, format!("{why}, and never leaves")).help(help))
}

/// Why an object never leaves, where that is known.
fn never_leaves(world: &World<'_>, read: &ObjectKey) -> Option<&'static str> {
    let Lookup::Found(object) = world.snapshot.stands(read) else { return None };
    object.stays.filter(|_| !object.faults.iter().any(|fault| fault.code.is_doubt()))
}

/// Returns true if an object is known not to be open to the template that makes it.
fn is_shut(world: &World<'_>, acting: &Claim, read: &ObjectKey, object: Option<&Object>) -> bool {
    let is_doubtful = |object: &Object| {
        object.is_mistyped()
            || admission::slip(world.fleet, object).is_some()
            || admission::is_unseen(world, acting, object)
            || object.faults.iter().any(|fault| fault.code.class() == Class::Broken)
    };
    let sought = Sought { read, namer: Namer::Claimant };
    let is_open = match (&read.namespace, object) {
        (Some(_), _) => admission::of_namespaced(world, acting, &sought).is_some(),
        (None, Some(object)) => admission::of_identity(world, acting, object, sought.namer).is_ok(),
        (None, None) => true,
    };
    !is_open && !object.is_some_and(is_doubtful) && admission::undecided(world, acting, &sought).is_none()
}

/// The version in which a region has sets: the newest that pouch knows, unless it is known to serve only an older one. None
/// where nobody knows: what is published stays in its version then.
pub fn version(world: &World<'_>, region: &Region) -> Option<Version> {
    let kind = resource_set_kind();
    let cluster = world.cluster(region);
    if cluster.is_some_and(|cluster| matches!(cluster.sight, Sight::Unread(_))) {
        return None;
    }
    let looked = cluster.and_then(ClusterFacts::looked).and_then(|looked| looked.kinds.get(&kind));
    let served = match looked {
        Some(looked) => &looked.versions,
        None => &world.snapshot.definitions.get(&kind)?.served,
    };
    let serves = |version: &str| served.contains(&Version::from(version));
    Some(Version::from(if !serves(NEWEST) && serves(OLDER) { OLDER } else { NEWEST }))
}
