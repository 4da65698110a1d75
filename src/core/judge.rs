//! Judge: may the claim have what it reaches, and would the region take it?
//!
//! Namespaces are the boundary. What is not admitted is refused, never skipped; what cannot be
//! decided admits nobody. This file judges one claim by itself; [`region`] judges the claims of one
//! region against each other and against what is published. Judge knows nothing of YAML or sealing.

pub mod case;
mod chosen;
mod closed;
mod content;
mod contested;
mod copied;
mod grant;
mod guest_writers;
mod guests;
pub mod incumbents;
mod load;
mod outdated;
mod payloads;
pub mod place;
mod quota;
mod readable;
pub mod region;
mod room;
mod sharing;
mod tenancy;
mod unmatched;
mod unused;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::ToString as _;
use alloc::vec::Vec;

use crate::capi;
use crate::claim::{Asked, Claim, made, parcel, wait};
use crate::closure::{Closure, Member, Role, close};
use crate::destination::Destination;
use crate::expiry;
use crate::finding::{Code, Finding};
use crate::name::step::shown;
use crate::name::{Claimant, GroupKind, ObjectKey, Region, Scope};
use crate::object::{Object, finding_of};
use crate::validity;
use crate::world::World;
use crate::world::cluster::ClusterFacts;
use case::Case;
use closed::Needs;
pub use closed::{Closed, closed};
use content::{check_content, check_copy};
pub use outdated::outdated;
use sharing::Heard;
pub use tenancy::rule_of;
pub use unmatched::unmatched;
pub use unused::unused;

/// What was found of single objects, which many claims of a region may need.
#[derive(Default)]
struct Examined {
    objects: BTreeMap<ObjectKey, Vec<Finding>>,
    suspects: BTreeMap<ObjectKey, Vec<Finding>>,
    payloads: payloads::Payloads,
}

/// Judges one claim's closure by itself.
fn judge(world: &World<'_>, examined: &mut Examined, claim: &Claim, closure: &Closure) -> Vec<Finding> {
    let Some(to) = Destination::of(world.fleet, &claim.at) else { return Vec::new() };
    let region = to.region;
    let mut findings = Vec::new();
    if !region.namespaces.allowed.matches(claim.by.namespace().as_str()) {
        let (kind, namespace) = (claim.by.kind(), claim.by.namespace());
        let message = format!("region {} takes no {kind}s of namespace {namespace}", region.name);
        findings.push(Finding::new(Code::NamespaceNotAllowed, message).at(&claim.origin).help(format!(
            "Add the namespace to regions.{}.namespaces.allowed, if its {kind}s belong there.",
            region.name
        )));
    }
    findings.extend(guests::unserved(world, claim));
    for member in closure.members.iter().filter(|member| member.role != Role::Assumed) {
        let publishes = |kind: &GroupKind| world.fleet.publishes_for(&claim.by, claim.region(), kind);
        if !publishes(&member.read.kind) {
            findings.push(forbidden_kind(claim, &member.read));
            continue;
        }
        // What is there already goes nowhere: only whether the claim may use it is in question.
        if member.in_place {
            continue;
        }
        // Where a copy lands of which nobody knows what becomes of it, or that is of a kind that nobody knows, is not known.
        let copied = made(&member.edits);
        let is_known = publishes(&member.lands.kind) && (claim.copied().is_none() || copied.is_some());
        if is_known {
            findings.extend(place::check_of(&to, &claim.by, &member.lands));
        }
        if let Some(object) = world.snapshot.get(&member.read) {
            if let Some(parcel) = parcel(&member.edits) {
                findings.extend(guests::check(world, claim, object, member, parcel));
                continue;
            }
            match copied {
                Some(_) if !is_known => findings.push(copied::unknown_kind(world, object, &member.lands)),
                Some(made) => {
                    // Of a copy of a Secret, only names and metadata are other ones than those of the Secret.
                    findings.extend(match member.lands.kind.is_secret() {
                        true => check_copy(world, object, &made.object(object, &member.lands)),
                        false => check_object(world, &region.name, &made.object(object, &member.lands)),
                    });
                    findings.extend(copied::check(world, claim, object, &member.lands));
                }
                None => {
                    let of_object = examined.objects.entry(member.read.clone());
                    let mut found = of_object.or_insert_with(|| check_object(world, &region.name, object)).clone();
                    // There may be thousands of sets, and as much in each payload.
                    if claim.by.is_resource_set() {
                        payloads::kept_short(&mut found, payloads::MOST_OF_OBJECT);
                    }
                    findings.extend(found);
                }
            }
        }
    }
    findings.extend(tenancy::check(world, region, claim, closure));
    for finding in &mut findings {
        if finding.origin.is_none() {
            finding.origin = Some(claim.origin.clone());
        }
        finding.claimant = Some(claim.by.clone());
        finding.region = Some(claim.region().clone());
    }
    findings
}

/// What works nowhere, most likely, in the Secrets of a claim that nothing stops: a claim that is stopped has other
/// worries, and not all of its objects may have been read.
fn suspects(world: &World<'_>, examined: &mut Examined, claim: &Claim, closure: &Closure) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for member in closure.members.iter().filter(|member| member.read.kind.is_secret()) {
        let Some(secret) = world.snapshot.get(&member.read) else { continue };
        let suspect = examined.suspects.entry(member.read.clone()).or_insert_with(|| {
            let (suspect, expired) = (validity::suspect::check(secret), expiry::check(secret, world.now));
            suspect.iter().chain(&expired).map(|fault| finding_of(fault, secret)).collect()
        });
        let mut suspect = suspect.clone();
        if claim.by.is_resource_set() {
            // A payload is a text of lines.
            suspect.retain(|finding| finding.code != Code::TrailingLineFeed);
            payloads::kept_short(&mut suspect, payloads::MOST_OF_OBJECT);
        }
        findings.append(&mut suspect);
        findings.extend(missing_entries(world, closure, member, secret));
    }
    findings.extend(sharing::open(world, closure));
    findings.extend(too_long(world, claim));
    findings.into_iter().map(|finding| finding.claimed_by(&claim.by).in_region(claim.region())).collect()
}

/// How many characters the namespace and the name of a Credential have at most together, so that k0rdent's label
/// `k0rdent.mirantis.com/credential.NAMESPACE.NAME` has no more than 63 after the slash.
const LONGEST_IN_LABEL: usize = 51;

/// k0rdent labels what it copies to a region with the names of the Credential. The API refuses a label that is too long,
/// and with it the copy.
fn too_long(world: &World<'_>, claim: &Claim) -> Option<Finding> {
    let (Claim { by, origin, .. }, root) = (claim, claim.root()?);
    let is_copied = world.copied_by(claim.region(), &root.kind, &root.version).is_some();
    let length = by.namespace().as_str().len() + by.name().len();
    if !is_copied || length <= LONGEST_IN_LABEL {
        return None;
    }
    let message = format!(
        "the namespace and name of the Credential have {length} characters, and k0rdent's label for what it copies takes \
         {LONGEST_IN_LABEL}"
    );
    let help = "Shorten the name; or leave the copies to pouch, and set `k0rdentPushDisabled: true` for the region.";
    Some(Finding::new(Code::NameTooLong, message).at(origin).help(help))
}

/// The entries of a Secret that the identity's provider reads and that are not there, or empty.
fn missing_entries(world: &World<'_>, closure: &Closure, member: &Member, secret: &Object) -> Option<Finding> {
    if !member.entries.is_empty() {
        let by = shown(&member.through).unwrap_or_default();
        return lacking(secret, member.entries.iter().map(|name| &**name), &format!("the provider of {by}"));
    }
    let referrer = member.referrer.and_then(|index| closure.members.get(index))?;
    let identity = world.snapshot.get(&referrer.read).filter(|_| member.role == Role::Reference)?;
    let names = capi::entries(capi::rules(&identity.key.kind)?, &identity.body, member.through.last()?.path()?);
    lacking(secret, names.iter().copied(), &identity.key.to_string())
}

/// The finding for entries that are missing or empty, of those that somebody reads.
fn lacking<'n>(secret: &Object, names: impl Iterator<Item = &'n str>, reader: &str) -> Option<Finding> {
    let payload = secret.payload.as_ref()?;
    let missing: Vec<&str> = names.filter(|name| !payload.may_have(name)).collect();
    if missing.is_empty() {
        return None;
    }
    let message = format!("{} has no {}, which {reader} reads", secret.key, missing.join(" and no "));
    let help = "Add what is missing; its names are those of the provider, and letters count as they are written.";
    Some(Finding::new(Code::MissingEntry, message).about(&secret.key).at(&secret.origin).help(help))
}

fn forbidden_kind(claim: &Claim, key: &ObjectKey) -> Finding {
    Finding::new(Code::ForbiddenKind, format!("pouch does not publish objects of kind {}", key.kind))
        .about(key)
        .at(&claim.origin)
        .help("If the kind is an identity of a provider that pouch does not know, declare it in `kinds`.")
}

/// What is wrong with an object that goes to a region: faults, content that must not leave, content that an API rejects.
pub fn check_object(world: &World<'_>, region: &Region, object: &Object) -> Vec<Finding> {
    let mut findings = check_content(world, object);
    if !object.key.kind.is_secret() {
        findings.extend(check_served(world, region, object));
    }
    findings
}

/// What is wrong with the version and the scope of an object for a region.
fn check_served(world: &World<'_>, region: &Region, object: &Object) -> Vec<Finding> {
    let mut findings = Vec::new();
    if !is_served(world, region, object) {
        let looked = world.cluster(region).and_then(ClusterFacts::looked);
        let served = looked.and_then(|looked| looked.kinds.get(&object.key.kind));
        let (message, help) = match served {
            Some(served) if served.versions.is_empty() => (
                format!("region {region} has no kind {}, which {} is of", object.key.kind, object.key),
                "Enable its provider on the region; what is published stays meanwhile.",
            ),
            _ => (
                format!("{} is written in {}, which the region does not serve", object.key, object.version),
                "Write it in a version that is served; pouch does not convert versions.",
            ),
        };
        findings.push(Finding::new(Code::VersionNotServed, message).about(&object.key).at(&object.origin).help(help));
    }
    findings.extend(other_scope(world, region, object));
    findings
}

/// Tells of an object whose kind has another scope on a region: the region's API server refuses it, or its consumer puts it
/// into a namespace that nobody meant.
///
/// Who may use the object is judged by the scope that the sources say: a region's API server is trusted with less.
fn other_scope(world: &World<'_>, region: &Region, object: &Object) -> Option<Finding> {
    let served = world.cluster(region)?.looked()?.kinds.get(&object.key.kind)?;
    let is_other = served.is_other_scope(object.key.scope());
    let (key, kind) = (&object.key, &object.key.kind);
    let message = match served.scope {
        _ if !is_other => return None,
        Scope::Cluster => format!("region {region} has {kind} as a cluster-scoped kind, and {key} is in a namespace"),
        Scope::Namespaced => format!("region {region} has {kind} as a namespaced kind, and {key} is in no namespace"),
    };
    let cure = match (world.snapshot.definitions.contains_key(kind), world.fleet.kinds.contains_key(kind)) {
        (true, _) => "Let the CustomResourceDefinition in the sources and the one on the region say the same",
        (false, true) => "Correct `scope` of the kind in `kinds`, or the CustomResourceDefinition on the region",
        (false, false) => "Install the provider's own CustomResourceDefinition on the region",
    };
    let help = format!("{cure}; what is published stays meanwhile.");
    Some(Finding::new(Code::ScopeDiffers, message).about(key).at(&object.origin).help(help))
}

/// Whether a region serves the version that an object is written in.
///
/// What was seen on the region decides, else a CustomResourceDefinition in the sources, else the table of the configured
/// release; a version of which nobody knows counts as served.
fn is_served(world: &World<'_>, region: &Region, object: &Object) -> bool {
    let looked = world.cluster(region).and_then(ClusterFacts::looked);
    if let Some(served) = looked.and_then(|looked| looked.kinds.get(&object.key.kind)) {
        return served.versions.contains(&object.version);
    }
    if let Some(definition) = world.snapshot.definitions.get(&object.key.kind) {
        return definition.served.contains(&object.version);
    }
    capi::rules(&object.key.kind).is_none_or(|rules| capi::served(rules, &object.version, world.fleet.builtin))
}

/// Closes and judges those claims of one region that are meant, each by itself, as [`closed()`] and [`judged`] do.
pub fn cases(
    world: &World<'_>,
    to: &Destination<'_>,
    is_meant: impl Fn(&Asked) -> bool,
    published: impl FnOnce() -> BTreeSet<Claimant>,
) -> Vec<Case> {
    judged(world, closed(world, to, is_meant, published))
}

/// Judges a claim again without its machines, where it is stopped with them; `before` is what was found before it was closed.
///
/// Machines take nothing from their Cluster. If it is not stopped without them, the objects that it names itself are published,
/// and what is published for machines stays, judged object by object.
fn leave_out_machines(
    world: &World<'_>,
    examined: &mut Examined,
    own: &Claim,
    before: Vec<Finding>,
    heard: &mut Heard,
) {
    let mut closure = close(world, own);
    let mut findings = before;
    findings.append(&mut closure.findings);
    findings.extend(judge(world, examined, own, &closure));
    let known: BTreeSet<&Finding> = findings.iter().collect();
    let others = heard.findings.iter().filter(|finding| finding.stops_claim() && !known.contains(finding));
    let others: Vec<Finding> = others.cloned().collect();
    findings.extend(wait(others));
    (heard.closure, heard.findings) = (closure, findings);
}

/// Judges claims whose closures are known, each by itself.
pub fn judged(world: &World<'_>, closed: Closed) -> Vec<Case> {
    let mut examined = Examined::default();
    let hear = |Needs { claim, closure, mut findings }: Needs| {
        let Some(mut closure) = closure else { return Heard { claim, closure: Closure::default(), findings } };
        let before = findings.clone();
        findings.append(&mut closure.findings);
        findings.extend(guests::set_aside(world, &claim, &mut closure));
        findings.extend(judge(world, &mut examined, &claim, &closure));
        findings.extend(examined.payloads.check(world, &claim, &closure));
        let mut heard = Heard { claim, closure, findings };
        if let Some(own) = heard.claim.without_machines().filter(|_| heard.is_stopped()) {
            leave_out_machines(world, &mut examined, &own, before, &mut heard);
        }
        if !heard.is_stopped() {
            heard.findings.extend(suspects(world, &mut examined, &heard.claim, &heard.closure));
        }
        heard
    };
    let mut heard: Vec<Heard> = closed.0.into_iter().map(hear).collect();
    readable::readable(world, &mut heard);
    sharing::shared(world, &mut heard);
    contested::contested(world, &examined.payloads, &mut heard);
    guest_writers::contested(world, &examined.payloads, &mut heard);
    heard.into_iter().map(|Heard { claim, closure, findings }| Case::new(claim, closure, findings)).collect()
}
