//! What today's Credentials would lack under a draft of a configuration.
//!
//! Runs claims, closures and verdicts as a render does, and says which refusals a configuration can cure: by labels of
//! namespaces that identities select by, and by the narrowest grants. What it cannot cure is named with its finding.
//! Nothing is decided here that a render decides otherwise: the next draft is examined again.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::need::{Need, Sure};
use crate::admission::{Namer, Sought, of_namespaced};
use crate::capi::{self, Admits};
use crate::claim::Claim;
use crate::closure::Member;
use crate::config::{Fleet, Grant, RegionConfig, Resolution};
use crate::destination;
use crate::finding::{Code, Finding};
use crate::judge::case::{Case, Ruling};
use crate::judge::cases;
use crate::judge::incumbents::Incumbents;
use crate::judge::region::settle;
use crate::kinds;
use crate::name::{Claimant, Name, Namespace, ObjectKey, Region, is_dns_label, is_dns_subdomain};
use crate::node::Node;
use crate::object::Object;
use crate::selector::{NAME_LABEL, Selector};
use crate::snapshot::{Lookup, Snapshot};
use crate::world::looks::Looks;
use crate::world::{Facts, World};

/// What a draft lacks.
#[derive(Debug, Default)]
pub struct Examined {
    /// The Credentials of each region, by namespace.
    pub claimants: BTreeMap<Region, BTreeMap<Namespace, BTreeSet<Name>>>,
    /// The label keys that identities select by, for the namespaces that need them.
    pub selected: BTreeMap<Region, BTreeMap<Namespace, BTreeSet<String>>>,
    /// Secrets that k0rdent reads in the system namespace, and that are therefore not assumed to be where their
    /// Credentials say.
    pub elsewhere: BTreeSet<ObjectKey>,
    /// Grants that would cure a refusal and are not there yet.
    pub lacking: BTreeMap<Grant, Need>,
    /// Grants of the draft that some claim uses.
    pub used: BTreeSet<Grant>,
    /// The Credentials that would not be published, and the finding that says why.
    pub stopped: BTreeMap<Claimant, Finding>,
    /// Objects that the cluster would not show although a Credential may need them, and the finding that says why.
    pub unread: BTreeMap<ObjectKey, Finding>,
}

/// Examines a draft against what was read.
pub fn examine(fleet: &Fleet, snapshot: &Snapshot) -> Examined {
    let (facts, _) = Facts::gather(fleet, snapshot, &Looks::default());
    let world = World { fleet, snapshot, facts: &facts, now: 0 };
    let mut examined = Examined::default();
    for asked in facts.asked() {
        match (&asked.claim, asked.findings.iter().find(|finding| finding.stops_claim())) {
            (Some(claim), _) => {
                let namespaces = examined.claimants.entry(claim.region().clone()).or_default();
                namespaces.entry(claim.by.namespace().clone()).or_default().insert(Name::from(&*claim.by.name()));
            }
            (None, Some(finding)) => _ = examined.stopped.insert(asked.by.clone(), finding.clone()),
            (None, None) => {}
        }
        examined.note_unread(snapshot, &asked.findings);
    }
    for to in destination::all(fleet) {
        let (region, cases) = (to.region, cases(&world, &to, |_| true, BTreeSet::new));
        let mut rulings = Ruling::of(&cases);
        settle(&world, region, &Incumbents::default(), &mut rulings);
        for ruling in &rulings {
            examined.note(&world, region, ruling);
        }
    }
    examined
}

impl Examined {
    /// Notes the objects that nobody knows because they could not be read.
    ///
    /// Not every finding called unread is about one: what a rule selects may be unclear although everything was read.
    fn note_unread<'f>(&mut self, snapshot: &Snapshot, findings: impl IntoIterator<Item = &'f Finding>) {
        for finding in findings.into_iter().filter(|finding| finding.code == Code::Unread) {
            let Some(key) = &finding.object else { continue };
            if matches!(snapshot.look_up(key), Lookup::Unread(_)) {
                self.unread.entry(key.clone()).or_insert_with(|| finding.clone());
            }
        }
    }

    fn note(&mut self, world: &World<'_>, region: &RegionConfig, ruling: &Ruling<'_>) {
        let case = ruling.case;
        let claim = &case.claim;
        self.note_unread(world.snapshot, ruling.findings());
        for member in &case.closure.members {
            let keys = world.snapshot.get(&member.read).map(|object| selected(object, claim, region));
            for key in keys.unwrap_or_default() {
                let namespaces = self.selected.entry(region.name.clone()).or_default();
                namespaces.entry(claim.by.namespace().clone()).or_default().insert(key);
            }
            let grant = Grant::least(&claim.by, &region.name, &member.read);
            if world.fleet.grants.contains(&grant) {
                self.used.insert(grant);
            }
        }
        if read_by_k0rdent(world, case) {
            self.elsewhere.extend(case.closure.members.first().map(|root| root.read.clone()));
        }
        for finding in ruling.findings() {
            let Some((key, need)) = curable(world, case, finding) else { continue };
            let grant = Grant::least(&claim.by, &region.name, &key);
            if is_writable(&claim.by, &key) && !world.fleet.grants.contains(&grant) {
                self.lacking.insert(grant, need);
            }
        }
        if !ruling.is_admitted() {
            let stops = ruling.findings().filter(|finding| finding.stops_claim());
            // A finding that a grant would cure says least about why the Credential stops, so it comes last.
            if let Some(finding) = stops.min_by_key(|finding| finding.code == Code::NotAdmitted) {
                self.stopped.insert(claim.by.clone(), finding.clone());
            }
        }
    }
}

/// The label keys that decide whether an identity admits the claim's namespace, if no labels are configured for it.
fn selected(identity: &Object, claim: &Claim, region: &RegionConfig) -> Vec<String> {
    let namespace = claim.by.namespace();
    let Some(rules) = capi::rules(&identity.key.kind).filter(|_| !region.namespaces.labels.contains_key(namespace))
    else {
        return Vec::new();
    };
    if !matches!(capi::admits(rules.tenancy, identity.at(&["spec"]), namespace, None), Admits::Unknown(_)) {
        return Vec::new();
    }
    let places: [&[&str]; 2] = [&["spec", "allowedNamespaces", "selector"], &["spec", "namespaceSelector"]];
    let selectors = places.iter().filter_map(|path| identity.at(path)).filter_map(|node| Selector::read(node).ok());
    let keys = selectors.flat_map(|selector| selector.keys().map(String::from).collect::<Vec<_>>());
    keys.filter(|key| key != NAME_LABEL).collect()
}

/// Whether a Secret that is assumed to be where its Credential says stands in the system namespace: k0rdent looks
/// nowhere else, and says that the Credential is ready.
fn read_by_k0rdent(world: &World<'_>, case: &Case) -> bool {
    let claim = &case.claim;
    let Some(root) = case.closure.members.first() else { return false };
    if claim.resolution() == Resolution::Kcm || !root.read.kind.is_secret() {
        return false;
    }
    let own = claim.by.namespace();
    root.read.namespace.as_ref() == Some(own) && *own != world.fleet.system_namespace && is_ready(world, claim)
}

/// Whether k0rdent says that the Credential is ready; it says nothing of a Credential that a rule has yet to make.
fn is_ready(world: &World<'_>, claim: &Claim) -> bool {
    let object = kinds::claimant(&claim.by).and_then(|key| world.snapshot.get(&key));
    let ready = object.and_then(|object| object.at(&["status", "ready"]));
    ready.and_then(Node::as_bool) == Some(true)
}

/// How sure it is that a Credential uses the object `key` today, which is the identity or what `referrer` names.
///
/// k0rdent says so of what it reads itself (`domain/k0rdent.md` §2.4). Whoever can write a Credential can name anything
/// in it, so a name alone says nothing.
fn sureness(world: &World<'_>, case: &Case, key: &ObjectKey, referrer: Option<&ObjectKey>) -> Sure {
    let claim = &case.claim;
    let reads = |key: &ObjectKey| key.namespace.as_ref().is_none_or(|it| *it == world.fleet.system_namespace);
    // k0rdent reads only what a definition of exactly this version refers to, and nothing that those objects refer to.
    let is_defined =
        claim.root().is_some_and(|root| world.facts.definitions.exactly(&root.kind, &root.version).is_some());
    let is_read = match referrer {
        None => reads(key),
        Some(referrer) => reads(referrer) && case.closure.members.first().is_some_and(|root| root.read == *referrer),
    };
    match is_ready(world, claim) {
        false => Sure::NotReady,
        true if is_defined && is_read => Sure::Certain,
        true => Sure::NotRead,
    }
}

/// The object that a grant would open, and why, if a grant would cure a finding.
fn curable(world: &World<'_>, case: &Case, finding: &Finding) -> Option<(ObjectKey, Need)> {
    let key = finding.object.as_ref()?;
    let root = case.closure.members.first()?;
    match finding.code {
        Code::NotAdmitted => {
            let member = case.closure.members.iter().find(|member| member.read == *key)?;
            let referrer = member.referrer.and_then(|index| case.closure.members.get(index)).map(|it| &it.read);
            Some((key.clone(), Need { sure: sureness(world, case, key, referrer), why: reached(case, member) }))
        }
        // The object may be where k0rdent looks; pouch looks there only if a grant says so.
        Code::MissingReference if *key == root.read && case.claim.resolution() == Resolution::AsWritten => {
            let system = &world.fleet.system_namespace;
            let elsewhere = root.read.namespace.as_ref().is_some_and(|namespace| namespace != system);
            // Secrets are not looked at, so none is said to be absent.
            let how = if key.kind.is_secret() { "was not looked at" } else { "is absent" };
            let why = format!("its identityRef names {}, which {how}; k0rdent looks in {system} only", root.read);
            let key = ObjectKey::new(key.kind.clone(), Some(system.clone()), key.name.clone());
            let sure = sureness(world, case, &key, None);
            elsewhere.then_some((key, Need { sure, why }))
        }
        // What the template says, clusters get by the credential's propagation; k0rdent's own does not bring it.
        Code::MissingCompanion => {
            let namespace =
                root.read.namespace.as_ref().or(case.claim.root().and_then(|root| root.namespace.as_ref()))?;
            let read = ObjectKey::new(key.kind.clone(), Some(namespace.clone()), key.name.clone());
            // Nobody looked whether the Secret is there; if it is not, nothing is missing.
            let (sure, what) = match key.kind.is_config_map() {
                true => (Sure::Propagation, "template"),
                false => (Sure::IfThere, "propagation Secret"),
            };
            let sought = Sought { read: &read, namer: Namer::Convention(&root.read) };
            let closed = of_namespaced(world, &*case.claim, &sought).is_none();
            let why = format!("credential propagation looks there for the {what} of {}", root.read);
            closed.then_some((read, Need { sure, why }))
        }
        _ => None,
    }
}

fn reached(case: &Case, member: &Member) -> String {
    let referrer = member.referrer.and_then(|index| case.closure.members.get(index));
    match (member.through.last(), referrer) {
        (Some(step), Some(referrer)) if step.interface().is_some() => {
            format!("{step} of {} names it", referrer.read)
        }
        (Some(step), _) => format!("it is its {step}"),
        (None, _) => "its identityRef names it".to_string(),
    }
}

/// Whether a configuration takes the names; no cluster has other names, so those need no grant.
fn is_writable(by: &Claimant, key: &ObjectKey) -> bool {
    let place = key.namespace.as_ref().is_none_or(|namespace| is_dns_label(namespace.as_str()));
    let who = is_dns_label(by.namespace().as_str()) && is_dns_subdomain(&by.name());
    let kind = kinds::is_published(&key.kind);
    place && who && kind && is_dns_subdomain(key.name.as_str())
}
