//! Judge: may the claim have what it reaches, and would the region take it?
//!
//! Namespaces are the boundary. What is not admitted is refused, never skipped; what cannot be
//! decided admits nobody. This file judges one claim by itself; [`region`] judges the claims of one
//! region against each other and against what is published. Judge knows nothing of YAML or sealing.

pub mod grant;
pub mod place;
pub mod readable;
pub mod region;
pub mod tenancy;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi;
use crate::claim::{Access, Claim, finding_of};
use crate::cleartext::inline_secrets;
use crate::closure::{Closure, Role, is_publishable};
use crate::config::Fleet;
use crate::finding::{Class, Code, Finding};
use crate::k0rdent::region::RegionFacts;
use crate::k0rdent::{self};
use crate::name::{GroupKind, Name, ObjectKey, Region, is_dns_label, is_dns_subdomain};
use crate::object::Object;
use crate::snapshot::Snapshot;

/// What becomes of a claim.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Verdict {
    /// Its closure is published.
    Admitted,
    /// It is not allowed: what it published is withdrawn, under the brake.
    Refused,
    /// It cannot be resolved now: what it published is carried over.
    Broken,
}

/// What judging needs besides the claim: the same for all claims.
pub struct Court<'a> {
    /// The configuration.
    pub fleet: &'a Fleet,
    /// What was read.
    pub snapshot: &'a Snapshot,
    /// What Region objects say, by region.
    pub regions: BTreeMap<Region, RegionFacts>,
    /// What AccessManagement rules make.
    pub access: Access<'a>,
    /// Names of Secrets that hold a Region's kubeconfig, whatever namespace they stand in.
    pub kubeconfigs: BTreeSet<Name>,
}

impl<'a> Court<'a> {
    /// Reads the Region objects and the AccessManagement of the snapshot.
    pub fn open(fleet: &'a Fleet, snapshot: &'a Snapshot) -> (Self, Vec<Finding>) {
        let (access, mut findings) = Access::open(fleet, snapshot);
        let mut court = Self { fleet, snapshot, regions: BTreeMap::new(), access, kubeconfigs: BTreeSet::new() };
        for object in snapshot.all(&GroupKind::new(k0rdent::GROUP, "Region")) {
            // Whatever else is wrong with the object, what it says of these is believed.
            court.kubeconfigs.extend(k0rdent::region::kubeconfig_secrets(object));
            match k0rdent::region::read(object) {
                Ok(facts) => _ = court.regions.insert(Region::new(object.key.name.shared()), facts),
                Err(faults) => findings.extend(faults.iter().map(|fault| finding_of(fault, object))),
            }
        }
        (court, findings)
    }
}

/// The verdict that a claim's findings make: refused before broken, broken before admitted.
///
/// A refusal withdraws, so it needs every input of its rule. Where that is the object's own content and
/// a later source might have another one, or what it says cannot be believed because it is sealed and does
/// not open, the claim counts as broken and what it published stays. A
/// namespaced object is out of reach whatever it holds. Anything else that was not read changes nothing,
/// or a tenant could keep what is taken from it by breaking a file of its own, or by reaching for what
/// pouch itself may not read.
pub fn verdict(findings: &[Finding]) -> Verdict {
    let stops = |class| findings.iter().filter(move |finding| finding.stops_claim() && finding.code.class() == class);
    let is_unread = |refusal: &Finding| {
        let by_content = match (refusal.code, &refusal.object) {
            (Code::NotAdmitted, Some(object)) => object.namespace.is_none(),
            (_, object) => object.is_some(),
        };
        let doubts = |code| matches!(code, Code::Unread | Code::UndecryptableSource | Code::CopiedCiphertext);
        by_content && findings.iter().any(|f| doubts(f.code) && f.object == refusal.object)
    };
    if stops(Class::Refused).any(|refusal| !is_unread(refusal)) {
        Verdict::Refused
    } else if findings.iter().any(Finding::stops_claim) {
        Verdict::Broken
    } else {
        Verdict::Admitted
    }
}

/// Judges one claim's closure by itself.
pub fn judge(court: &Court<'_>, claim: &Claim, closure: &Closure) -> Vec<Finding> {
    let Some(region) = court.fleet.regions.get(claim.region()) else { return Vec::new() };
    let mut findings = Vec::new();
    if !region.allowed.matches(claim.by.namespace.as_str()) {
        let message = format!("region {} takes no Credentials of namespace {}", region.name, claim.by.namespace);
        findings.push(Finding::new(Code::NamespaceNotAllowed, message).at(&claim.origin).help(format!(
            "Add the namespace to regions.{}.namespaces.allowed, if its Credentials belong there.",
            region.name
        )));
    }
    for member in closure.members.iter().filter(|member| member.role != Role::Assumed) {
        if !is_publishable(court.fleet, &member.read.kind) {
            findings.push(forbidden_kind(claim, &member.read));
            continue;
        }
        findings.extend(place::check(court, region, &member.lands));
        if let Some(object) = court.snapshot.get(&member.read) {
            findings.extend(check_object(court, object));
        }
    }
    findings.extend(tenancy::check(court, region, claim, closure));
    for finding in &mut findings {
        if finding.origin.is_none() {
            finding.origin = Some(claim.origin.clone());
        }
        finding.credential = Some(claim.by.clone());
        finding.region = Some(claim.region().clone());
    }
    findings
}

fn forbidden_kind(claim: &Claim, key: &ObjectKey) -> Finding {
    Finding::new(Code::ForbiddenKind, format!("pouch does not publish objects of kind {}", key.kind))
        .about(key)
        .at(&claim.origin)
        .help("If the kind is an identity of a provider that pouch does not know, declare it in `kinds`.")
}

/// What is wrong with an object wherever it goes: faults, what must not leave, what an API rejects.
fn check_object(court: &Court<'_>, object: &Object) -> Vec<Finding> {
    let mut findings: Vec<Finding> = object.faults.iter().map(|fault| finding_of(fault, object)).collect();
    let find = |code, message: String, help: &str| {
        Finding::new(code, message).about(&object.key).at(&object.origin).help(help)
    };
    if let Some(why) = object.stays {
        let message = format!("{} never leaves its cluster: {why}", object.key);
        findings.push(find(Code::ForbiddenType, message, "Refer to another Secret."));
    } else if object.key.kind.is_secret() && court.kubeconfigs.contains(&object.key.name) {
        let message = format!("{} never leaves its cluster: it is named as the kubeconfig of a Region", object.key);
        findings.push(find(Code::ForbiddenType, message, "Refer to another Secret, or rename this one."));
    }
    let names = is_dns_subdomain(object.key.name.as_str())
        && object.key.namespace.as_ref().is_none_or(|namespace| is_dns_label(namespace.as_str()));
    if !names {
        let message = format!("{} has a name or namespace that the API refuses", object.key);
        findings.push(find(Code::InvalidObject, message, "Use lower-case letters, digits, dashes and dots."));
    }
    findings.extend(capi::config_map::check_size(object).iter().map(|fault| finding_of(fault, object)));
    if object.key.kind.is_config_map() {
        findings.extend(capi::config_map::check_config_map(object).iter().map(|fault| finding_of(fault, object)));
    }
    if object.key.kind.is_secret() {
        findings.extend(capi::secret::check_secret(object).iter().map(|fault| finding_of(fault, object)));
        return findings;
    }
    for field in inline_secrets(object) {
        let message = format!("{} holds what looks like a secret in {field}, and only Secrets are sealed", object.key);
        findings.push(find(Code::InlineSecret, message, "Move the value into a Secret and refer to it."));
    }
    if let Some(char) = readable::unreadable(object) {
        let message =
            format!("{} holds the character U+{:04X}, which kustomize cannot read back", object.key, u32::from(char));
        findings.push(find(Code::InvalidObject, message, "Remove the character, or keep the text in a Secret."));
    }
    if let Some(rules) = capi::rules(&object.key.kind) {
        findings.extend(capi::check(rules, object).iter().map(|fault| finding_of(fault, object)));
    }
    if !is_served(court, object) {
        let message = format!("{} is written in {}, which the region does not serve", object.key, object.version);
        let help = "Write it in a version that is served; pouch does not convert versions.";
        findings.push(find(Code::VersionNotServed, message, help));
    }
    findings
}

/// Whether a region serves the version that an object is written in: by a CustomResourceDefinition in
/// the sources, else by the table of the configured release; what nobody knows is taken as served.
fn is_served(court: &Court<'_>, object: &Object) -> bool {
    if let Some(definition) = court.snapshot.definitions.get(&object.key.kind) {
        return definition.served.contains(&object.version);
    }
    capi::rules(&object.key.kind).is_none_or(|rules| capi::served(rules, &object.version, court.fleet.builtin))
}

/// Closes and judges the claims of one region, each by itself.
pub fn cases<'a>(
    view: &crate::closure::View<'_>,
    court: &Court<'_>,
    asked: impl Iterator<Item = &'a crate::claim::Asked>,
) -> Vec<region::Case> {
    let hear = |asked: &crate::claim::Asked| {
        let claim = asked.claim.clone()?;
        let mut closure = crate::closure::close(view, &claim);
        let mut findings = asked.findings.clone();
        findings.append(&mut closure.findings);
        findings.extend(judge(court, &claim, &closure));
        let verdict = verdict(&findings);
        Some(region::Case { claim, closure, findings, verdict })
    };
    asked.filter_map(hear).collect()
}
