//! One region's claims, judged against each other and against what is published.
//!
//! Who was there first stays: a newcomer never takes an object, a provider or a quota from a claim
//! that is published already.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Court, Verdict, verdict};
use crate::capi;
use crate::claim::{Claim, Edit, finding_of};
use crate::closure::{Closure, Member, Role};
use crate::config::RegionConfig;
use crate::finding::{Class, Code, Finding, Severity};
use crate::name::{Claimant, Name, Namespace, ObjectKey};
use crate::world::definition::{Defined, Definitions};

/// One claim with everything that is known of it.
#[derive(Debug)]
pub struct Case {
    /// The claim.
    pub claim: Claim,
    /// What it needs.
    pub closure: Closure,
    /// What is wrong or worth knowing, of every stage so far.
    pub findings: Vec<Finding>,
    /// What becomes of it.
    pub verdict: Verdict,
}

impl Case {
    /// Adds a finding and lets it count.
    pub fn find(&mut self, finding: Finding) {
        self.findings.push(finding.claimed_by(&self.claim.by).in_region(self.claim.region()));
        self.verdict = verdict(&self.findings);
    }

    /// The members that are published.
    pub fn published_members(&self) -> impl Iterator<Item = &Member> {
        self.closure.members.iter().filter(|member| member.role != Role::Assumed)
    }

    /// The code that made the claim broken, if it is; one of the class broken, which alone carries.
    pub fn broken_by(&self) -> Option<Code> {
        let breaks = |finding: &&Finding| finding.stops_claim() && finding.code.class() == Class::Broken;
        self.findings.iter().find(breaks).map(|finding| finding.code)
    }
}

/// What is published of a region, as far as judging needs it.
#[derive(Default)]
pub struct Incumbents {
    /// The claimants that have something published.
    pub claimants: BTreeSet<Claimant>,
    /// For every published object, the namespace and name that it was read from.
    pub sources: BTreeMap<ObjectKey, (Option<Namespace>, Name)>,
}

impl Incumbents {
    /// Supposes that every admitted claim is published already.
    pub fn suppose(cases: &[Case]) -> Self {
        let mut incumbents = Self::default();
        for case in cases.iter().filter(|case| case.verdict == Verdict::Admitted) {
            incumbents.claimants.insert(case.claim.by.clone());
        }
        incumbents
    }
}

/// Judges a region's claims against each other.
pub fn settle(
    court: &Court<'_>,
    definitions: &Definitions,
    region: &RegionConfig,
    incumbents: &Incumbents,
    cases: &mut [Case],
) {
    for case in cases.iter_mut() {
        provider(court, definitions, region, incumbents, case);
    }
    conflicts(court, incumbents, cases);
    caps(court, region, incumbents, cases);
}

/// The Region object does not list the identity's provider (DESIGN §2.2.7); plain Secrets are exempt.
fn provider(
    court: &Court<'_>,
    definitions: &Definitions,
    region: &RegionConfig,
    incumbents: &Incumbents,
    case: &mut Case,
) {
    let root = &case.claim.root;
    let (Some(facts), false) = (court.regions.get(&region.name), root.kind.is_secret()) else { return };
    let (Defined::Exactly(definition) | Defined::Nearest(definition)) = definitions.find(&root.kind, &root.version)
    else {
        return;
    };
    if facts.enables(definition) {
        return;
    }
    let newcomer = !incumbents.claimants.contains(&case.claim.by);
    let severity = if newcomer { Severity::Error } else { Severity::Warning };
    let message = format!("Region {} does not enable provider {} for {}", region.name, definition.interface, root.kind);
    let finding = Finding::new(Code::ProviderNotEnabled, message).severity(severity).at(&case.claim.origin);
    case.find(finding.help("Add the provider to spec.providers of the Region."));
}

type Content = (ObjectKey, Vec<Edit>);

/// Claims that need one object with different content.
fn conflicts(court: &Court<'_>, incumbents: &Incumbents, cases: &mut [Case]) {
    let mut wanted: BTreeMap<ObjectKey, Vec<(usize, Content)>> = BTreeMap::new();
    for (index, case) in cases.iter().enumerate().filter(|(_, case)| case.verdict == Verdict::Admitted) {
        for member in case.published_members() {
            let content = (member.read.clone(), member.edits.clone());
            wanted.entry(member.lands.clone()).or_default().push((index, content));
        }
    }
    let mut losers: Vec<(usize, Finding)> = Vec::new();
    for (lands, wants) in &wanted {
        let Some(((_, first), rest)) = wants.split_first() else { continue };
        if rest.iter().all(|(_, content)| same(court, first, content)) {
            continue;
        }
        let holder = incumbents.sources.get(lands);
        let holds = |content: &Content| {
            holder.is_some_and(|(namespace, name)| content.0.namespace == *namespace && content.0.name == *name)
        };
        let names: BTreeSet<String> =
            wants.iter().filter_map(|(index, _)| cases.get(*index)).map(|case| format!("{}", case.claim.by)).collect();
        let names: Vec<String> = names.into_iter().collect();
        for (index, _) in wants.iter().filter(|(_, content)| !holds(content)) {
            let message = format!("Credentials {} need {lands} with different content", names.join(" and "));
            let help = "Rename one of the objects, or let both Credentials name the same one.";
            losers.push((*index, Finding::new(Code::ConflictingContent, message).about(lands).help(help)));
        }
    }
    for (index, finding) in losers {
        if let Some(case) = cases.get_mut(index) {
            let origin = case.claim.origin.clone();
            case.find(finding.at(&origin));
        }
    }
}

fn same(court: &Court<'_>, a: &Content, b: &Content) -> bool {
    if a == b {
        return true;
    }
    match (court.snapshot.get(&a.0), court.snapshot.get(&b.0)) {
        (Some(x), Some(y)) => a.1 == b.1 && x.same_content(y),
        _ => false,
    }
}

/// Quotas: newcomers fail, the published stay. Namespaces come first, so that what one tenant has too
/// much of does not fill the region for the others.
fn caps(court: &Court<'_>, region: &RegionConfig, incumbents: &Incumbents, cases: &mut [Case]) {
    namespace_caps(court, region, incumbents, cases);
    region_cap(court, region, incumbents, cases);
}

fn namespace_caps(court: &Court<'_>, region: &RegionConfig, incumbents: &Incumbents, cases: &mut [Case]) {
    let limit = court.fleet.limits.objects_per_namespace;
    let mut by_namespace: BTreeMap<&Namespace, BTreeSet<&ObjectKey>> = BTreeMap::new();
    for case in cases.iter().filter(|case| case.verdict == Verdict::Admitted) {
        for member in case.published_members() {
            by_namespace.entry(&case.claim.by.namespace).or_default().insert(&member.lands);
        }
    }
    let full: BTreeMap<Namespace, usize> = by_namespace
        .into_iter()
        .filter(|(_, keys)| keys.len() > limit)
        .map(|(namespace, keys)| (namespace.clone(), keys.len()))
        .collect();
    for case in newcomers(incumbents, cases) {
        let namespace = &case.claim.by.namespace;
        let Some(count) = full.get(namespace) else { continue };
        let message = format!(
            "Credentials of namespace {namespace} need {count} objects in region {}; limits.objectsPerNamespace is {limit}",
            region.name
        );
        too_many(case, message);
    }
}

fn region_cap(court: &Court<'_>, region: &RegionConfig, incumbents: &Incumbents, cases: &mut [Case]) {
    let limit = court.fleet.limits.objects_per_region;
    let admitted = cases.iter().filter(|case| case.verdict == Verdict::Admitted);
    let all: BTreeSet<&ObjectKey> = admitted.flat_map(Case::published_members).map(|member| &member.lands).collect();
    let total = all.len();
    if total <= limit {
        return;
    }
    for case in newcomers(incumbents, cases) {
        let message = format!("region {} would hold {total} objects; limits.objectsPerRegion is {limit}", region.name);
        too_many(case, message);
    }
}

/// The admitted claims that have nothing published yet.
fn newcomers<'a>(incumbents: &'a Incumbents, cases: &'a mut [Case]) -> impl Iterator<Item = &'a mut Case> {
    cases.iter_mut().filter(|case| case.verdict == Verdict::Admitted && !incumbents.claimants.contains(&case.claim.by))
}

fn too_many(case: &mut Case, message: String) {
    let finding = Finding::new(Code::TooManyObjects, message).at(&case.claim.origin);
    case.find(finding.help("Raise the limit, or remove Credentials that nobody needs."));
}

/// What of an object a region's API does not let change, against the published copy.
///
/// `published` and `new` are whole documents; a Secret's values are not looked at.
pub fn immutable_changes(
    lands: &ObjectKey,
    published: &crate::node::Node,
    new: &crate::object::Object,
    forced: Forced,
) -> Option<Finding> {
    if lands.kind.is_secret() {
        let before = published.str_at(&["type"]).unwrap_or("Opaque");
        let after = new.body.str_at(&["type"]).unwrap_or("Opaque");
        if before == after || forced == Forced::Yes {
            return None;
        }
        let message = format!("the type of {lands} changes, and the region's API does not let it");
        let finding = Finding::new(Code::SecretTypeChanged, message).about(lands).at(&new.origin);
        return Some(finding.help("Give the Secret a new name, or remove it from the region first."));
    }
    let fault = capi::immutable_changes(capi::rules(&lands.kind)?, published, &new.body).into_iter().next()?;
    Some(finding_of(&fault, new))
}

/// Whether the region's delivery replaces objects whose immutable fields change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forced {
    /// It does: Flux, by the annotation on every Secret.
    Yes,
    /// It does not.
    No,
}
