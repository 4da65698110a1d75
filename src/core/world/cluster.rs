//! Clusters: what is known of each region's cluster, and whether the objects that say it agree.
//!
//! The configuration ties a region to objects; they supply facts, and never a region. What cannot be read is unknown,
//! and what contradicts itself holds the region as it is published: nothing is withdrawn because of it.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::configured::told_otherwise;
use super::definition::Definitions;
use super::home::homeless;
use super::looks::Looks;
use super::trusted::{fits, says_otherwise, trusted};
use super::twins::{Mark, SAME_UID, Twin, twins};
use crate::config::{ArgoDestination, Delivery, Fleet, ProfileBy, ProfileTie, RegionConfig, RegionState};
use crate::finding::{Code, Fault, Finding, Origin};
use crate::inventory::argocd::{self, Registration, register};
use crate::inventory::looked::{self, Looked};
use crate::inventory::profile::{self, CLUSTER_ID, CLUSTER_SET, Profile, server};
use crate::inventory::providers::{self, ProviderFile};
use crate::inventory::registry::{self, Registered};
use crate::inventory::{Status, minor};
use crate::kinds::{MULTICLUSTER, POUCH};
use crate::listing::few;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region};
use crate::nearest::suggested;
use crate::node::Node;
use crate::object::{Object, admit, finding_of};
use crate::snapshot::{Lookup, Reason, Snapshot};

/// An object that a region is tied to.
pub enum Tied<T> {
    /// The configuration ties the region to none.
    Untied,
    /// The object, and what it says.
    To(ObjectKey, Origin, T),
    /// There is no such object, as this says.
    Absent(String),
    /// Which object it is, or whether there is one, is unknown, as this says.
    Unknown(String),
}

impl<T> Tied<T> {
    /// What the object says, if it is there.
    pub fn known(&self) -> Option<&T> {
        if let Tied::To(_, _, known) = self { Some(known) } else { None }
    }
}

/// What looking into a region's cluster gave.
pub enum Sight {
    /// Nobody looked, and no source says what a look would find.
    None,
    /// What was found, and where that stands.
    Seen(Looked, Origin),
    /// The cluster should have been looked into, and could not.
    Unread(Reason),
}

/// How every Argo CD calls the cluster that it runs on.
const OWN_CLUSTER: &str = "kubernetes.default.svc";

/// What Argo CD is told of a region's cluster.
pub enum ArgoRegistration {
    /// Nothing: no Argo CD delivers to the region, or somebody else makes the cluster known.
    Foreign,
    /// What its ClusterProfile and the provider file say.
    Described(Box<Registration>),
    /// That is not known now, or may not be written: what is published of it stays.
    Unknown,
}

/// What is known of a region's cluster.
pub struct ClusterFacts {
    /// The ClusterProfile.
    pub profile: Tied<Profile>,
    /// The Cluster of the cluster registry.
    pub registered: Tied<Registered>,
    /// What was seen in the cluster itself.
    pub sight: Sight,
    /// What its own ProviderInterfaces define; none where they were not seen.
    pub definitions: Option<Definitions>,
    /// What Argo CD is told of it.
    pub argocd: ArgoRegistration,
    /// Why the region stays as it is published.
    pub holds: Vec<Finding>,
    /// The marks that make it one cluster with other regions.
    pub twins: Vec<Twin>,
    /// Says why the region waits for its cluster; none where it does not.
    pub waits: Option<Finding>,
}

impl ClusterFacts {
    /// What was seen in the cluster.
    pub fn looked(&self) -> Option<&Looked> {
        if let Sight::Seen(looked, _) = &self.sight { Some(looked) } else { None }
    }

    /// The cluster's UID by those that describe it.
    fn told(&self) -> Option<&str> {
        let registered = self.registered.known().map(|registered| &*registered.id).filter(|id| !id.is_empty());
        registered.or_else(|| self.looked().and_then(|looked| looked.cluster.as_deref()))
    }

    /// Why the cluster could not be looked into, if that is so.
    pub fn unread(&self) -> Option<&Reason> {
        if let Sight::Unread(reason) = &self.sight { Some(reason) } else { None }
    }
}

/// Puts together what is known of each region's cluster.
pub fn gather(
    fleet: &Fleet,
    snapshot: &Snapshot,
    looks: &Looks,
    defined: &Definitions,
) -> (BTreeMap<Region, ClusterFacts>, Vec<Finding>) {
    let mut findings = Vec::new();
    let mut clusters: BTreeMap<Region, ClusterFacts> = BTreeMap::new();
    let profiles = profiles(fleet, snapshot);
    let mut files = ProviderFiles::default();
    for region in fleet.regions.values() {
        let profile = tied_profile(snapshot, &profiles, region, &mut findings);
        let registered = tied_registered(snapshot, region, &mut findings);
        let sight = sight((fleet, snapshot), region, looks, &mut findings);
        let mut definitions = None;
        if let Sight::Seen(Looked { interfaces: Some(interfaces), .. }, origin) = &sight {
            let (own, found) = own_definitions(fleet, snapshot, interfaces, origin);
            findings.extend(found.into_iter().map(|finding| finding.in_region(&region.name)));
            findings.extend(defined_otherwise(region, &own, defined));
            definitions = Some(own);
        }
        let argocd = files.registration(fleet, region, &profile, &mut findings);
        let mut cluster = ClusterFacts {
            profile,
            registered,
            sight,
            definitions,
            argocd,
            holds: Vec::new(),
            twins: Vec::new(),
            waits: None,
        };
        if region.state == RegionState::Active {
            findings.extend(loose(region, &cluster));
            findings.extend(differing(region, &cluster));
            if let Some(looked) = cluster.looked() {
                findings.extend(told_otherwise(fleet, region, looked, cluster.definitions.as_ref()));
            }
            cluster.holds = contradictions(region, &cluster);
            cluster.holds.extend(homeless(region, cluster.told(), snapshot));
            cluster.waits = waits(region, &cluster);
        }
        clusters.insert(region.name.clone(), cluster);
    }
    for (region, twin) in twins(marks(fleet, snapshot.management_cluster(), &clusters)) {
        if let Some(cluster) = clusters.get_mut(&region) {
            cluster.twins.push(twin);
        }
    }
    findings.extend(unclaimed(&profiles, &clusters));
    findings.extend(untied(fleet));
    findings.extend(ownerless(fleet, snapshot));
    (clusters, findings)
}

/// The provider files of the configuration, each read once; none where one cannot be read, which the configuration refused.
#[derive(Default)]
struct ProviderFiles<'f>(BTreeMap<&'f str, Option<ProviderFile>>);

impl<'f> ProviderFiles<'f> {
    /// What Argo CD is told of a region's cluster.
    fn registration(
        &mut self,
        fleet: &Fleet,
        region: &'f RegionConfig,
        profile: &Tied<Profile>,
        findings: &mut Vec<Finding>,
    ) -> ArgoRegistration {
        let Delivery::ArgoCd(argo) = &region.delivery else { return ArgoRegistration::Foreign };
        let Some(cluster) = &argo.cluster else { return ArgoRegistration::Foreign };
        // Why nothing is known of the profile is told with the tie.
        let Tied::To(key, origin, profile) = profile else { return ArgoRegistration::Unknown };
        // What could not be read of it is told as well.
        if profile.is_doubtful {
            return ArgoRegistration::Unknown;
        }
        let file = cluster
            .providers
            .as_ref()
            .map(|file| self.0.entry(&file.path).or_insert_with(|| providers::read(&file.text).ok()).as_ref());
        if file == Some(None) {
            return ArgoRegistration::Unknown;
        }
        let keeps = |key: &str| fleet.keep.labels.matches(key);
        let faults = match register((&key.name, profile), file.flatten(), argo.informs, keeps) {
            Ok(registration) => return ArgoRegistration::Described(Box::new(registration)),
            Err(faults) => faults,
        };
        if region.state == RegionState::Active {
            findings.extend(faults.into_iter().map(|fault| {
                let message = format!(
                    "the cluster Secret of region {} for Argo CD stays as it is: {}",
                    region.name, fault.message
                );
                Finding::new(fault.code, message).about(key).at(origin).in_region(&region.name).help(fault.help)
            }));
        }
        ArgoRegistration::Unknown
    }
}

/// A ClusterProfile that a trusted source brings.
struct Described<'s> {
    object: &'s Object,
    profile: Profile,
    faults: Vec<Fault>,
}

/// The ClusterProfiles of the namespaces that regions are tied to, each read once.
///
/// Only what a source brings that may bring cluster-scoped objects counts: a tenant's own ClusterProfile describes nothing.
fn profiles<'s>(fleet: &Fleet, snapshot: &'s Snapshot) -> Vec<Described<'s>> {
    let ties = fleet.regions.values().filter_map(|region| region.inventory.cluster_profile.as_ref());
    let namespaces: BTreeSet<&Namespace> = ties.map(|tie| &tie.namespace).collect();
    let is_tied = |object: &&Object| object.key.namespace.as_ref().is_some_and(|it| namespaces.contains(it));
    let kind = profile_kind();
    let all = if namespaces.is_empty() { None } else { Some(snapshot.all(&kind)) };
    let trusted = all.into_iter().flatten().filter(is_tied).filter_map(|object| trusted(fleet, snapshot, &object.key));
    let read = |object: &'s Object| {
        let (profile, faults) = profile::read(object);
        Described { object, profile, faults }
    };
    trusted.map(read).collect()
}

/// The ClusterProfile that a region is tied to.
fn tied_profile(
    snapshot: &Snapshot,
    profiles: &[Described<'_>],
    region: &RegionConfig,
    findings: &mut Vec<Finding>,
) -> Tied<Profile> {
    let Some(tie) = &region.inventory.cluster_profile else { return Tied::Untied };
    let mut in_namespace = profiles.iter().filter(|it| it.object.key.namespace.as_ref() == Some(&tie.namespace));
    let described = match &tie.by {
        ProfileBy::Name(name) => {
            let key = ObjectKey::new(profile_kind(), Some(tie.namespace.clone()), name.clone());
            // A source that is trusted with less says nothing of it, and so casts no doubt either.
            if let Some(unread) = snapshot.trusted_unread(&key) {
                return Tied::Unknown(unread.why());
            }
            match in_namespace.find(|described| described.object.key == key) {
                Some(described) => described,
                None if snapshot.get(&key).is_some() => {
                    return Tied::Absent(format!("no source with clusterScoped has {key}"));
                }
                None => return Tied::Absent(format!("there is no {key}")),
            }
        }
        ProfileBy::Labels(_) | ProfileBy::Properties(_) => {
            let (found, others): (Vec<&Described<'_>>, Vec<&Described<'_>>) =
                in_namespace.partition(|it| fits(&tie.by, &it.profile));
            let unread = snapshot.trusted_unread_in(&profile_kind(), &tie.namespace);
            // What a slip took away may be what the tie asks for.
            let may_fit = |it: &&Described<'_>| it.object.is_mistyped() && !says_otherwise(&tie.by, &it.profile);
            match (found.as_slice(), unread) {
                (_, Some(unread)) => {
                    return Tied::Unknown(format!("source {} was not read completely", unread.source));
                }
                ([], None) => match others.iter().copied().find(may_fit) {
                    Some(described) => described,
                    None => return Tied::Absent(format!("no ClusterProfile of namespace {} fits", tie.namespace)),
                },
                ([described], None) => *described,
                (several, None) => {
                    let names: Vec<String> = several.iter().map(|it| it.object.key.name.to_string()).collect();
                    let names = named(&names);
                    return Tied::Unknown(format!(
                        "several ClusterProfiles of namespace {} fit: {names}",
                        tie.namespace
                    ));
                }
            }
        }
    };
    let Described { object, profile, faults } = described;
    findings.extend(object.faults.iter().chain(faults).map(|fault| finding_of(fault, object).in_region(&region.name)));
    if object.is_mistyped() {
        return Tied::Unknown(format!("{} is mistyped", object.key));
    }
    Tied::To(object.key.clone(), object.origin.clone(), profile.clone())
}

fn tied_registered(snapshot: &Snapshot, region: &RegionConfig, findings: &mut Vec<Finding>) -> Tied<Registered> {
    let Some(key) = region.inventory.registry() else { return Tied::Untied };
    match snapshot.look_up(&key) {
        Lookup::Found(object) => {
            let (registered, faults) = registry::read(object);
            let told = object.faults.iter().chain(&faults).map(|fault| finding_of(fault, object));
            findings.extend(told.map(|finding| finding.in_region(&region.name)));
            Tied::To(key, object.origin.clone(), registered)
        }
        Lookup::Absent => Tied::Absent(format!("there is no {key}")),
        Lookup::Unread(unread) => Tied::Unknown(unread.why()),
        Lookup::Unasked => Tied::Unknown(format!("{key} was not asked for")),
    }
}

/// What was seen in a region's cluster: now, or by an earlier look that a source has.
fn sight(
    (fleet, snapshot): (&Fleet, &Snapshot),
    region: &RegionConfig,
    looks: &Looks,
    findings: &mut Vec<Finding>,
) -> Sight {
    let key = ObjectKey::new(facts_kind(), None, Name::from(region.name.as_str()));
    let found = match looks.of(&region.name) {
        Some(Ok(object)) => {
            findings.extend(older(region, object, snapshot.get(&key)));
            object
        }
        Some(Err(reason)) => return Sight::Unread(reason.clone()),
        None => match snapshot.look_up(&key) {
            Lookup::Found(object) => object,
            Lookup::Unread(unread) if is_expected(snapshot, &key) => {
                return Sight::Unread(Reason::new(
                    unread.why(),
                    "Correct the source: its own findings say what is wrong.",
                ));
            }
            Lookup::Absent | Lookup::Unread(_) | Lookup::Unasked => match nearly(fleet, snapshot, region) {
                // Facts with nearly this region's name are probably meant to be its own.
                Some(near) => {
                    let help = format!("Did you mean {}? Correct metadata.name.", region.name);
                    return Sight::Unread(Reason::new(format!("there are RegionFacts {near} instead"), help));
                }
                None => {
                    let closed = looks.why_closed().filter(|_| region.look().is_some());
                    return closed.map_or(Sight::None, |reason| Sight::Unread(reason.clone()));
                }
            },
        },
    };
    let read = if found.faults.is_empty() { looked::read(found) } else { Err(found.faults.clone()) };
    match read {
        Ok(looked) => Sight::Seen(looked, found.origin.clone()),
        Err(faults) => {
            let told = faults.iter().map(|fault| finding_of(fault, found).in_region(&region.name));
            findings.extend(told);
            let why = format!("{} cannot be read", found.key);
            Sight::Unread(Reason::new(why, "Correct it; `pouch facts` prints it as it should be."))
        }
    }
}

/// Whether the sources seem to have RegionFacts: an incomplete source alone does not say so, and who uses none should not
/// wait for it.
fn is_expected(snapshot: &Snapshot, key: &ObjectKey) -> bool {
    snapshot.is_doubted(key) || snapshot.all(&key.kind).next().is_some()
}

fn facts_kind() -> GroupKind {
    GroupKind::new(POUCH, looked::KIND)
}

/// RegionFacts of no region of the configuration, whose name is nearly that of this one.
fn nearly(fleet: &Fleet, snapshot: &Snapshot, region: &RegionConfig) -> Option<String> {
    let kind = facts_kind();
    let mut names = snapshot.all(&kind).map(|object| object.key.name.as_str());
    let is_free = |name: &str| !fleet.regions.contains_key(&Region::from(name));
    let near = |name: &str| suggested(name, [region.name.as_str()]).is_some();
    names.find(|name| is_free(name) && near(name)).map(String::from)
}

/// Tells of RegionFacts that belong to no region.
fn ownerless(fleet: &Fleet, snapshot: &Snapshot) -> Vec<Finding> {
    let kind = facts_kind();
    let is_loose = |object: &&Object| !fleet.regions.contains_key(&Region::from(object.key.name.as_str()));
    let tell = |object: &Object| {
        let near = suggested(object.key.name.as_str(), fleet.regions.keys().map(Region::as_str));
        let message = format!("{} belongs to no region of the configuration", object.key);
        let help = near.map_or_else(
            || String::from("Remove it, or correct metadata.name."),
            |near| format!("Did you mean {near}?"),
        );
        Finding::new(Code::UnreadableObject, message).about(&object.key).at(&object.origin).help(help)
    };
    snapshot.all(&kind).filter(is_loose).map(tell).collect()
}

/// Tells of RegionFacts in the sources that say another cluster or release than a look.
fn older(region: &RegionConfig, seen: &Object, kept: Option<&Object>) -> Option<Finding> {
    let kept = kept?;
    let (Ok(now), Ok(then)) = (looked::read(seen), looked::read(kept)) else { return None };
    if now.cluster == then.cluster && now.kubernetes == then.kubernetes {
        return None;
    }
    let message =
        format!("{} in the sources differ from what was seen of region {} now, which counts", kept.key, region.name);
    let finding = Finding::new(Code::FactDiffers, message).about(&kept.key).at(&kept.origin).in_region(&region.name);
    Some(finding.help("Print the facts again with `pouch facts`, or remove them from the sources."))
}

/// Tells of kinds that a region's own ProviderInterfaces define otherwise: k0rdent goes by them there, and pouch does not.
fn defined_otherwise(region: &RegionConfig, own: &Definitions, fleet: &Definitions) -> Option<Finding> {
    let kinds: Vec<String> = own.differing(fleet).map(ToString::to_string).collect();
    if kinds.is_empty() {
        return None;
    }
    let message = format!(
        "the ProviderInterfaces of region {} define otherwise than the sources what these refer to: {}",
        region.name,
        named(&kinds)
    );
    let help = "What is published follows the sources; correct the one that is wrong.";
    Some(Finding::new(Code::FactDiffers, message).in_region(&region.name).help(help))
}

/// What a region's own ProviderInterfaces define.
fn own_definitions(
    fleet: &Fleet,
    snapshot: &Snapshot,
    interfaces: &[Node],
    origin: &Origin,
) -> (Definitions, Vec<Finding>) {
    let admitted = |document: &Node| admit(document.clone(), origin.clone(), &snapshot.scopes, None, fleet).ok();
    let objects: Vec<Object> = interfaces.iter().filter_map(admitted).collect();
    Definitions::of_region(fleet, snapshot, &objects)
}

pub(super) fn profile_kind() -> GroupKind {
    GroupKind::new(MULTICLUSTER, "ClusterProfile")
}

/// Tells of a tie that leads to nothing.
fn loose(region: &RegionConfig, cluster: &ClusterFacts) -> Vec<Finding> {
    let ties = [("clusterProfile", why_not(&cluster.profile)), ("registryCluster", why_not(&cluster.registered))];
    let tell = |(field, why): (&str, Option<(&str, bool)>)| {
        let (why, is_absent) = why?;
        let what = if is_absent { "absent" } else { "unknown" };
        let message = format!("region {} is tied to a {field} that is {what}: {why}", region.name);
        let help = format!(
            "Correct `regions.{}.inventory.{field}`, or give the object to a source with `provides.clusterScoped`.",
            region.name
        );
        Some(Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help))
    };
    ties.into_iter().filter_map(tell).collect()
}

/// Why nothing is known of an object that a region is tied to, and whether that is because it is absent.
fn why_not<T>(tied: &Tied<T>) -> Option<(&str, bool)> {
    match tied {
        Tied::Untied | Tied::To(..) => None,
        Tied::Absent(why) => Some((why, true)),
        Tied::Unknown(why) => Some((why, false)),
    }
}

/// Tells where the releases that two objects or a look say differ, and none is proved wrong.
fn differing(region: &RegionConfig, cluster: &ClusterFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut differs = |message: String, help: String| {
        findings.push(Finding::new(Code::FactDiffers, message).in_region(&region.name).help(help));
    };
    let of_profile = cluster.profile.known().and_then(|profile| profile.kubernetes.as_deref());
    let of_registry = cluster.registered.known().and_then(|registered| registered.kubernetes.as_deref());
    let of_cluster = cluster.looked().and_then(|looked| looked.kubernetes.as_deref());
    let versions =
        [("its ClusterProfile", of_profile), ("the registry", of_registry), ("the cluster itself", of_cluster)];
    let told: Vec<(&str, &str, u32)> =
        versions.iter().filter_map(|(who, version)| Some((*who, (*version)?, minor((*version)?)?))).collect();
    if let (Some(first), Some(other)) =
        (told.first(), told.iter().find(|(.., told_minor)| told.first().is_some_and(|f| f.2 != *told_minor)))
    {
        let message = format!(
            "region {} runs Kubernetes {} by {}, and {} by {}",
            region.name, first.1, first.0, other.1, other.0
        );
        differs(message, "Wait for an upgrade to end; if there is none, check that both are of one cluster.".into());
    }
    findings
}

/// Why a region's ties cannot all be right.
fn contradictions(region: &RegionConfig, cluster: &ClusterFacts) -> Vec<Finding> {
    let mut holds = Vec::new();
    let mut hold = |message: String, help: String| {
        holds.push(Finding::new(Code::ContradictoryTies, message).in_region(&region.name).help(help));
    };
    if let (Tied::To(key, _, profile), Some(ProfileTie { manager: Some(manager), .. })) =
        (&cluster.profile, &region.inventory.cluster_profile)
        && profile.manager != *manager
    {
        hold(
            format!(
                "{key} is managed by {:?}, and the tie of region {} says {manager:?}",
                profile.manager, region.name
            ),
            format!("If that is intended, correct `manager` in `regions.{}.inventory.clusterProfile`.", region.name),
        );
    }
    if let (Some(registered), Some(uid)) =
        (cluster.registered.known(), cluster.looked().and_then(|looked| looked.cluster.as_deref()))
        && !registered.id.is_empty()
        && registered.id != uid
    {
        hold(
            format!("region {} is cluster {} by the registry, and {uid} when looked into", region.name, registered.id),
            format!("Correct `inventory.registryCluster` or `cluster` of `regions.{}`.", region.name),
        );
    }
    if let (Some(profile), Delivery::ArgoCd(argo)) = (cluster.profile.known(), &region.delivery)
        && let ArgoDestination::Server(url) = &argo.destination
        && !url.contains(OWN_CLUSTER)
    {
        let servers = profile.servers();
        if !servers.is_empty() && !servers.contains(&server(url)) {
            let servers: Vec<String> = servers.into_iter().collect();
            hold(
                format!(
                    "Argo CD's destination of region {} is {url}, and its ClusterProfile names {}",
                    region.name,
                    named(&servers)
                ),
                "Correct `delivery.argocd.destination.server` or `inventory.clusterProfile`.".into(),
            );
        }
    }
    holds
}

/// Marks that no two clusters share, of each active region. `management` is the UID of the management cluster, as its source
/// has it.
fn marks<'c>(
    fleet: &Fleet,
    management: Option<&str>,
    clusters: &'c BTreeMap<Region, ClusterFacts>,
) -> Vec<(&'c Region, Mark)> {
    let mut marks = Vec::new();
    for (region, cluster) in clusters {
        let active = fleet.regions.get(region).filter(|config| config.state == RegionState::Active);
        let Some(RegionConfig { delivery, directory, management: is_management, .. }) = active else { continue };
        let mut mark = |what, text: String| marks.push((region, Mark { what, text }));
        // Argo CD finds a cluster by its server alone, whatever else the Secrets say that have it.
        if let Delivery::ArgoCd(argo) = delivery {
            let told = match (&cluster.argocd, &argo.destination) {
                (ArgoRegistration::Described(told), _) => Some(server(&told.way.cluster.server)),
                (_, ArgoDestination::Server(url)) if !url.contains(OWN_CLUSTER) => {
                    Some(server(&argo.destination.filled(directory)))
                }
                (_, ArgoDestination::Server(_) | ArgoDestination::Name(_)) => None,
            };
            told.into_iter()
                .for_each(|server| mark("the same server for Argo CD", format!("{}, {server}", argo.namespace)));
        }
        if let Tied::To(key, _, profile) = &cluster.profile {
            mark("the same ClusterProfile", key.to_string());
            // Profiles of two inventories may have one name, and the Secret for Argo CD has it too.
            if let (Delivery::ArgoCd(argo), false) = (delivery, matches!(cluster.argocd, ArgoRegistration::Foreign)) {
                mark("the same Secret for Argo CD", format!("{}/{}", argo.namespace, argocd::name(&key.name)));
            }
            for access in &profile.access {
                mark("the same server", profile::mark(&access.cluster));
            }
            // The ID is unique within a set only.
            if let (Some(id), Some(set)) = (profile.properties.get(CLUSTER_ID), profile.properties.get(CLUSTER_SET)) {
                mark("the same cluster.clusterset.k8s.io", format!("{id} in the ClusterSet {set}"));
            }
        }
        let registered = cluster.registered.known().map(|registered| registered.id.clone());
        let read = management.filter(|_| *is_management).map(String::from);
        let seen = cluster.looked().and_then(|looked| looked.cluster.clone());
        let uids = registered.into_iter().chain(seen).chain(read).filter(|uid| !uid.is_empty());
        uids.for_each(|uid| mark(SAME_UID, uid));
    }
    marks
}

/// Some names, and how many more there are.
fn named(names: &[String]) -> String {
    const SHOWN: usize = 5;
    few(names.iter(), names.len(), SHOWN)
}

/// Says why a region waits for its cluster, if it does.
fn waits(region: &RegionConfig, cluster: &ClusterFacts) -> Option<Finding> {
    if region.require_conditions.is_empty() {
        return None;
    }
    let wait = format!(
        "Wait until that is over, or empty `regions.{}.requireConditions`; nothing is withdrawn meanwhile.",
        region.name
    );
    let (why, help) = match (&cluster.profile, &cluster.registered) {
        (Tied::To(key, _, profile), _) if profile.deleting => (format!("{key} is being deleted"), wait),
        (_, Tied::To(key, _, registered)) if registered.deleting => (format!("{key} is being deleted"), wait),
        (_, Tied::To(key, _, registered)) if registered.disabled => {
            let help =
                format!("Enable it in the cluster registry, or empty `regions.{}.requireConditions`.", region.name);
            (format!("{key} is disabled"), help)
        }
        (profile, registered) => match why_not(profile).or_else(|| why_not(registered)) {
            Some((why, _)) => {
                (why.to_string(), format!("Correct `regions.{}.inventory`, or the sources.", region.name))
            }
            None => conditions(region, cluster)?,
        },
    };
    let message = format!("region {} waits for what it requires of its cluster: {why}", region.name);
    Some(Finding::new(Code::RegionGated, message).in_region(&region.name).help(help))
}

/// The required conditions that do not hold, and the cure; none where all do.
fn conditions(region: &RegionConfig, cluster: &ClusterFacts) -> Option<(String, String)> {
    let of_profile = cluster.profile.known().map(|profile| &profile.conditions);
    let of_registry = cluster.registered.known().map(|registered| &registered.conditions);
    let said = |condition: &String| {
        let of_profile = of_profile.and_then(|conditions| conditions.get(condition));
        of_profile.or_else(|| of_registry.and_then(|conditions| conditions.get(condition)))
    };
    let mut why = Vec::new();
    let mut missing = None;
    for condition in &region.require_conditions {
        match said(condition) {
            Some(Status::True) => {}
            Some(Status::False) => why.push(format!("{condition} is False")),
            Some(Status::Unknown) => why.push(format!("{condition} is Unknown")),
            None => {
                missing = missing.or(Some(condition));
                why.push(format!("there is no condition {condition}"));
            }
        }
    }
    if why.is_empty() {
        return None;
    }
    let has = of_profile.into_iter().chain(of_registry).flat_map(BTreeMap::keys).map(String::as_str);
    let meant = missing.and_then(|condition| suggested(condition, has));
    let help = match (meant, missing) {
        (Some(meant), _) => format!("Did you mean {meant}? Correct `regions.{}.requireConditions`.", region.name),
        (None, Some(_)) => format!(
            "Correct `regions.{}.requireConditions`. If `pouch facts` printed the object, print it again: it has the conditions that the \
             region required then.",
            region.name
        ),
        (None, None) => format!(
            "Wait until the cluster is well, or take the condition out of `regions.{}.requireConditions`; nothing is withdrawn meanwhile.",
            region.name
        ),
    };
    Some((named(&why), help))
}

/// Tells of regions that are tied to no ClusterProfile, where others are. The management cluster is told by its source.
fn untied(fleet: &Fleet) -> Vec<Finding> {
    let active = || fleet.regions.values().filter(|region| region.state == RegionState::Active);
    if !active().any(|region| region.inventory.cluster_profile.is_some()) {
        return Vec::new();
    }
    let tell = |region: &RegionConfig| {
        let message = format!("region {} is tied to no ClusterProfile, and other regions are", region.name);
        let help = format!(
            "If a cluster manager has one for its cluster, name it in `regions.{}.inventory.clusterProfile`.",
            region.name
        );
        Finding::new(Code::Untied, message).in_region(&region.name).help(help)
    };
    active().filter(|region| region.inventory.cluster_profile.is_none() && !region.management).map(tell).collect()
}

/// Tells of ClusterProfiles of a tied namespace that no region is tied to.
fn unclaimed(profiles: &[Described<'_>], clusters: &BTreeMap<Region, ClusterFacts>) -> Vec<Finding> {
    let tied = clusters.values().filter_map(|cluster| match &cluster.profile {
        Tied::To(key, ..) => Some(key),
        _ => None,
    });
    let tied: BTreeSet<&ObjectKey> = tied.collect();
    let tell = |object: &Object| {
        let message = format!("no region is tied to {}", object.key);
        let help = "If it is a region, add it to `regions` and tie it by `inventory.clusterProfile`.";
        Finding::new(Code::Untied, message).about(&object.key).at(&object.origin).help(help)
    };
    profiles.iter().map(|described| described.object).filter(|object| !tied.contains(&object.key)).map(tell).collect()
}
