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
use crate::closure::{Closure, Member, Rank, version_of_sets};
use crate::destination::Destination;
use crate::finding::telling::Telling;
use crate::finding::{Code, Finding, Severity};
use crate::listing::counted;
use crate::name::ObjectKey;
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
    let bytes = size(object).saturating_add(AROUND);
    if bytes > MOST_BYTES {
        let message = format!("{} takes about {bytes} bytes in a payload, and one holds {MOST_BYTES}", object.key);
        let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
        findings.push(finding.help("Divide the object."));
    }
    findings
}

/// Sets aside what a rule takes, or a template makes, and cannot be delivered as it is: those who write an object that a rule
/// takes must not keep what the others have from arriving. What is not allowed is left out; else what is published of it stays.
/// Where nothing is left, the entry waits as a whole.
pub(super) fn set_aside(world: &World<'_>, claim: &Claim, closure: &mut Closure) -> Vec<Finding> {
    let (Some(delivered), Some(to)) = (claim.delivered(), Destination::of(world.fleet, &claim.at)) else {
        return Vec::new();
    };
    let mut aside: Vec<(ObjectKey, Verdict, Vec<Finding>)> = Vec::new();
    let mut findings = Vec::new();
    for (template, found) in core::mem::take(&mut closure.rendered) {
        match verdict(found.iter()) {
            // What it must not be given takes nothing from the others.
            Verdict::Refused => aside.push((template, Verdict::Refused, found)),
            Verdict::Admitted | Verdict::Broken => findings.extend(found),
        }
    }
    for waiting in &delivered.waiting {
        aside.push((waiting.read.clone(), Verdict::Broken, waiting.findings.clone()));
    }
    let all = core::mem::take(&mut closure.members);
    for member in all {
        let found = of_rule(world, &to, claim, closure, &member);
        match verdict(found.iter()) {
            Verdict::Admitted => closure.members.push(member),
            verdict => {
                // Of what a rule takes, whoever writes it says where it lands.
                let lands = parcel(&member.edits).filter(|_| member.rank() == Rank::Template);
                let why = found.iter().find(|finding| finding.stops_claim() && verdict == Verdict::Broken);
                closure.awaited.extend(lands.map(|parcel| parcel.lands.clone()).zip(why.map(|finding| finding.code)));
                aside.push((member.read, verdict, found));
            }
        }
    }
    contradicting(closure, &mut aside);
    // Of several that want one place, one that is published goes on.
    let is_left = !closure.members.is_empty() || !closure.contested.is_empty();
    if let Some(open) = &delivered.unseen {
        let message =
            format!("of {}, what is published stays, whether a rule still takes it or not: {}", claim.by, open.message);
        let told = Finding { message, ..open.clone().severity(Severity::Warning) };
        findings.push(if is_left { told } else { open.clone() });
    }
    let (mut telling, mut stopping, mut last) = (Telling::default(), 0_usize, None);
    for (read, verdict, found) in aside {
        let Some(first) = found.iter().find(|finding| finding.stops_claim()) else { continue };
        if verdict == Verdict::Broken {
            closure.waiting.insert(read.clone(), first.code);
        }
        if verdict == Verdict::Broken && !is_left {
            if stopping < MOST_TOLD {
                findings.extend(found);
            }
            stopping = stopping.saturating_add(1);
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

/// What is wrong with an object that a rule takes.
fn of_rule(world: &World<'_>, to: &Destination<'_>, claim: &Claim, closure: &Closure, member: &Member) -> Vec<Finding> {
    let mut findings = tenancy::of_member(world, to.region, claim, closure, member);
    match (world.snapshot.look_up(&member.read), parcel(&member.edits)) {
        (Lookup::Unread(unread), _) => findings.push(unread.finding(&member.read)),
        // A kind that is not published is a slip of the rule itself.
        (_, Some(parcel)) if world.fleet.publishes(&parcel.lands.kind) => {
            let object = world.snapshot.get(&member.read);
            findings.extend(object.map(|it| check(world, claim, it, member, parcel)).unwrap_or_default());
        }
        _ => {}
    }
    findings
}

/// Sets aside what an entry puts in one place: of two objects that a rule takes, or a template makes, it is unknown which is
/// meant.
fn contradicting(closure: &mut Closure, aside: &mut Vec<(ObjectKey, Verdict, Vec<Finding>)>) {
    let mut of: BTreeMap<&ObjectKey, Vec<&Member>> = BTreeMap::new();
    for member in &closure.members {
        of.entry(&member.lands).or_default().push(member);
    }
    let same = |one: &Member, other: &Member| one.read == other.read && one.edits == other.edits;
    let mut keep: BTreeMap<ObjectKey, Option<ObjectKey>> = BTreeMap::new();
    for (lands, members) in of {
        if members.len() < 2 {
            continue;
        }
        let Some((first, rest)) = members.split_first() else { continue };
        let stays = rest.iter().all(|other| same(first, other));
        keep.insert(lands.clone(), stays.then(|| first.read.clone()));
        if let (false, Rank::Template, Some(parcel)) = (stays, first.rank(), parcel(&first.edits)) {
            closure.awaited.insert(parcel.lands.clone(), Code::ConflictingContent);
        }
        for other in &members {
            let against = if same(first, other) { rest.iter().find(|it| !same(first, it)) } else { Some(first) };
            let Some(against) = against.filter(|_| !(stays && same(first, other))) else { continue };
            let in_guest = parcel(&other.edits).map(|parcel| &parcel.lands).unwrap_or(&other.lands);
            // Both say the same, so that it is told once.
            let (one, two) = ((&other.read).min(&against.read), (&other.read).max(&against.read));
            let message = format!(
                "{one} and {two} would both be {in_guest} in guests; one that is published goes on, and the other waits"
            );
            let finding = Finding::new(Code::ConflictingContent, message).about(&other.read);
            let finding = finding.help("Let one of them land elsewhere, or remove one.");
            aside.push((other.read.clone(), Verdict::Broken, vec![finding]));
        }
    }
    if keep.is_empty() {
        return;
    }
    for member in core::mem::take(&mut closure.members) {
        // One of them alone stays, if any does.
        let stays = match keep.get_mut(&member.lands) {
            None => true,
            Some(first) => first.take_if(|read| *read == member.read).is_some(),
        };
        if stays { closure.members.push(member) } else { closure.contested.push(member) }
    }
}

/// About how many bytes an object takes as text.
pub(super) fn size(object: &Object) -> usize {
    const PER_ENTRY: usize = 8;
    if let Some(payload) = &object.payload {
        let entries = payload.entries().iter();
        let sizes = entries.map(|(name, bytes)| name.len().saturating_add(bytes.len().div_ceil(3).saturating_mul(4)));
        return sizes.fold(0_usize, |sum, size| sum.saturating_add(size).saturating_add(PER_ENTRY));
    }
    node_size(&object.body)
}

fn node_size(node: &crate::node::Node) -> usize {
    use crate::node::Node;
    const AROUND: usize = 8;
    let below = match node {
        Node::Text(text) => text.len(),
        Node::List(items) => items.iter().map(node_size).fold(0, usize::saturating_add),
        Node::Map(entries) => {
            entries.iter().map(|(key, node)| key.len().saturating_add(node_size(node))).fold(0, usize::saturating_add)
        }
        _ => 0,
    };
    below.saturating_add(AROUND)
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
