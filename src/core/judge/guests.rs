//! What groups of guest clusters deliver: whether it fits into a payload, and what is wrong with it.
//!
//! A guest is not the region: what lands in `kube-system` there is fair, and which versions it serves nobody knows here. The
//! payloads and sets land on the region, and are held to its rules.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::case::{Verdict, verdict};
use super::content::{check_content, check_copy};
use super::{copied, tenancy};
use crate::capi::resource_set::{MOST_BYTES, resource_set_kind};
use crate::claim::{Claim, Parcel, made, parcel};
use crate::closure::{Closure, Member, version_of_sets};
use crate::destination::Destination;
use crate::finding::telling::Telling;
use crate::finding::{Code, Finding, Severity};
use crate::kinds;
use crate::listing::counted;
use crate::name::{Entry, ObjectKey};
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;
use crate::world::cluster::ClusterFacts;

/// How many objects are named that a group leaves out, or that wait.
const MOST_TOLD: usize = 16;

/// What stands around the entries of an object.
const AROUND: usize = 1 << 10;

/// Checks an object that goes into a payload.
pub(super) fn check(
    world: &World<'_>,
    claim: &Claim,
    object: &Object,
    member: &Member,
    parcel: &Parcel,
) -> Vec<Finding> {
    let lands = &parcel.lands;
    if !world.fleet.publishes(&lands.kind) {
        return vec![copied::unknown_kind(world, object, lands)];
    }
    let mut findings = match made(&parcel.edits).map(|made| made.object(object, lands)) {
        Some(copy) if lands.kind.is_secret() => check_copy(world, object, &copy),
        Some(made) => check_content(world, &made),
        None => check_content(world, object),
    };
    if made(&parcel.edits).is_some() {
        findings.extend(copied::check(world, member.acting(claim), object, lands));
    }
    let bytes = size(object) + AROUND;
    if bytes > MOST_BYTES {
        let message = format!("{} takes about {bytes} bytes in a payload, and one holds {MOST_BYTES}", object.key);
        let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
        findings.push(finding.help("Divide the object."));
    }
    findings
}

/// Sets aside what a template makes and cannot be delivered as it is: one object must not keep the others from arriving. What is
/// not allowed is left out; else what is published of it stays. Where nothing is left, the entry waits as a whole.
pub(super) fn set_aside(world: &World<'_>, claim: &Claim, closure: &mut Closure) -> Vec<Finding> {
    let template = claim.by.entry().and_then(Entry::template).filter(|_| claim.rendered().is_some());
    let Some((template, to)) = template.zip(Destination::of(world.fleet, &claim.at)) else { return Vec::new() };
    let mut aside: Vec<(ObjectKey, Verdict, Vec<Finding>)> = Vec::new();
    let mut findings = Vec::new();
    let found = core::mem::take(&mut closure.rendered);
    match verdict(found.iter()) {
        Verdict::Refused => {
            let template = ObjectKey::new(kinds::managed_resource(), None, template.clone());
            aside.push((template, Verdict::Refused, found));
        }
        Verdict::Admitted | Verdict::Broken => findings.extend(found),
    }
    let all = core::mem::take(&mut closure.members);
    for member in all {
        let found = of_template(world, &to, claim, closure, &member);
        match verdict(found.iter()) {
            Verdict::Admitted => closure.members.push(member),
            verdict => {
                let lands = parcel(&member.edits);
                let why = found.iter().find(|finding| finding.stops_claim() && verdict == Verdict::Broken);
                closure.awaited.extend(lands.map(|parcel| parcel.lands.clone()).zip(why.map(|finding| finding.code)));
                aside.push((member.read, verdict, found));
            }
        }
    }
    contradicting(closure, &mut aside);
    let is_left = !closure.members.is_empty();
    let (mut telling, mut stopping, mut last) = (Telling::default(), 0, None);
    for (read, verdict, found) in aside {
        let Some(first) = found.iter().find(|finding| finding.stops_claim()) else { continue };
        if verdict == Verdict::Broken {
            closure.waiting.insert(read.clone(), first.code);
        }
        if verdict == Verdict::Broken && !is_left {
            if stopping < MOST_TOLD {
                findings.extend(found);
            }
            stopping += 1;
            continue;
        }
        let what = match verdict {
            Verdict::Broken => "waits, and what is published of it stays",
            _ => "is left out",
        };
        let message = match first.code {
            Code::ConflictingContent => format!("of {}, {}", claim.by, first.message),
            _ => format!("of {}, {read} {what}: {}", claim.by, first.message),
        };
        // Of two that want one place, both would say the same.
        if !findings.iter().any(|finding| finding.message == message) {
            let finding = Finding { message, ..first.clone().severity(Severity::Warning) };
            if telling.tells(&read) {
                findings.push(finding);
            } else {
                last = Some(finding);
            }
        }
    }
    if let (Some(others), Some(last)) = (telling.others(), last) {
        let message = format!("of {}, {} more wait or are left out", claim.by, counted(others, "object", "objects"));
        findings.push(Finding { message, object: None, ..last });
    }
    findings
}

/// The faults of an object that a template makes.
fn of_template(
    world: &World<'_>,
    to: &Destination<'_>,
    claim: &Claim,
    closure: &Closure,
    member: &Member,
) -> Vec<Finding> {
    let mut findings = tenancy::of_member(world, to.region, claim, closure, member);
    match (world.snapshot.look_up(&member.read), parcel(&member.edits)) {
        (Lookup::Unread(unread), _) => findings.push(unread.finding(&member.read)),
        (_, Some(parcel)) if world.fleet.publishes(&parcel.lands.kind) => {
            let object = world.snapshot.get(&member.read);
            findings.extend(object.map(|it| check(world, claim, it, member, parcel)).unwrap_or_default());
        }
        _ => {}
    }
    findings
}

/// Sets aside what a template puts in one place: of two objects it is unknown which is meant.
fn contradicting(closure: &mut Closure, aside: &mut Vec<(ObjectKey, Verdict, Vec<Finding>)>) {
    let mut of: BTreeMap<ObjectKey, Vec<Member>> = BTreeMap::new();
    for member in core::mem::take(&mut closure.members) {
        let others = of.entry(member.lands.clone()).or_default();
        if !others.iter().any(|other| other.read == member.read && other.edits == member.edits) {
            others.push(member.clone());
            closure.members.push(member);
        }
    }
    of.retain(|_, members| members.len() > 1);
    closure.members.retain(|member| !of.contains_key(&member.lands));
    for members in of.values() {
        let [first, other, ..] = &**members else { continue };
        let in_guest = parcel(&first.edits).map_or(&first.lands, |parcel| &parcel.lands);
        closure.awaited.insert(in_guest.clone(), Code::ConflictingContent);
        let message = format!("{} and {} would both be {in_guest} in guests", first.read, other.read);
        for member in members {
            let finding = Finding::new(Code::ConflictingContent, message.clone()).about(&member.read);
            let finding = finding.help("Let one of them land elsewhere, or remove one.");
            aside.push((member.read.clone(), Verdict::Broken, vec![finding]));
        }
    }
}

/// About how many bytes an object takes as text.
pub(super) fn size(object: &Object) -> usize {
    const PER_ENTRY: usize = 8;
    if let Some(payload) = &object.payload {
        let entries = payload.entries().iter();
        let base64 = |bytes: usize| bytes.div_ceil(3) * 4;
        return entries.map(|(name, bytes)| base64(bytes.len()) + name.len() + PER_ENTRY).sum();
    }
    object.body.size().written()
}

/// Checks whether the region serves the sets that deliver what a group claims.
pub(super) fn unserved(world: &World<'_>, claim: &Claim) -> Option<Finding> {
    let (region, kind) = (claim.region(), resource_set_kind());
    claim.by.group()?;
    let version = version_of_sets(world, region)?;
    let looked = world.cluster(region).and_then(ClusterFacts::looked);
    let served = looked.and_then(|looked| looked.kinds.get(&kind))?;
    if served.versions.contains(&version) {
        return None;
    }
    let message = format!("region {region} does not serve ClusterResourceSets in {version}");
    let finding = Finding::new(Code::VersionNotServed, message);
    Some(finding.help("Install or upgrade Cluster API there; what is published stays meanwhile."))
}
