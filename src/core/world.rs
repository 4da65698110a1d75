//! The world: what all stages of a run share, put together once and borrowed by everything after.
//!
//! [`Facts`] are what the listed objects say together; objects that closures ask for by name add nothing to
//! them. A [`World`] is the configuration, the snapshot and the facts. It knows nothing of closures.

pub mod cluster;
mod configured;
pub mod definition;
mod home;
pub mod looks;
mod namespaces;
pub mod placement;
pub mod trusted;
pub mod twins;

use alloc::borrow::Cow;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::claim::access::{Access, Rules};
use crate::claim::collect::{claims, kept_by};
use crate::claim::deployments::Deployments;
use crate::claim::sync_rule::SyncRules;
use crate::claim::template::{self, Known, Led, Namespaces, Templates};
use crate::claim::{Asked, Claim, guest};
use crate::config::{Fleet, Grant, Granted, Grantee, Placement, RegionConfig, Source, grants_for, grants_to_make};
use crate::destination::{Destination, Place};
use crate::finding::{Code, Finding};
use crate::k0rdent;
use crate::k0rdent::provider_interface::Definition;
use crate::k0rdent::region::RegionFacts;
use crate::k0rdent::root::Root;
use crate::kinds;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, Region, Scope, Version};
use crate::object::finding_of;
use crate::snapshot::Snapshot;
use cluster::{ClusterFacts, Sight};
use definition::Definitions;
use looks::Looks;
use placement::{Listed, Placements};

/// What the listed objects of a snapshot say together.
pub struct Facts {
    /// What refers to what, by the sources alone. A region's own ProviderInterfaces do not count: its API server is trusted
    /// with less, and a reference in one of them would have a Secret sent there that nobody meant to send.
    pub definitions: Definitions,
    /// Which ClusterDeployments use which Credential.
    pub deployments: Deployments,
    /// What Region objects say, by their names.
    regions: BTreeMap<Region, RegionFacts>,
    /// What is known of each region's cluster.
    pub clusters: BTreeMap<Region, ClusterFacts>,
    /// Which regions placements list.
    pub placements: Placements,
    /// The namespaces of each region that takes templates.
    namespaces: BTreeMap<Region, Namespaces>,
    /// What the templates say that regions take.
    pub templates: Templates,
    /// Names of Secrets that hold a Region's kubeconfig, in whatever namespace.
    pub kubeconfigs: BTreeSet<Name>,
    rules: Rules,
    /// The ResourceSyncRules that regions name.
    pub synced: SyncRules,
    /// What every claimant asks for, sorted by claimant.
    asked: Vec<Asked>,
    /// The places in `asked` of a destination's claims.
    by_place: BTreeMap<Place, Vec<usize>>,
    /// The identities that k0rdent copies, each to a namespace of a region.
    brought: BTreeSet<(GroupKind, Name, Region, Namespace)>,
}

impl Facts {
    /// Puts together what the snapshot says; the findings say what is wrong with it.
    pub fn gather(fleet: &Fleet, snapshot: &Snapshot, looks: &Looks) -> (Self, Vec<Finding>) {
        let (definitions, mut findings) = Definitions::collect(fleet, snapshot);
        let (rules, found) = Rules::read(snapshot);
        findings.extend(found);
        let (mut regions, mut kubeconfigs) = (BTreeMap::new(), BTreeSet::new());
        for object in snapshot.all(&GroupKind::new(k0rdent::GROUP, "Region")) {
            // Whatever else is wrong with the object, the names of its Secrets are believed.
            kubeconfigs.extend(k0rdent::region::kubeconfig_secrets(object));
            findings.extend(k0rdent::region::too_long(object).map(|fault| finding_of(&fault, object)));
            match k0rdent::region::read(object) {
                Ok(facts) => _ = regions.insert(Region::new(object.key.name.shared()), facts),
                Err(faults) => findings.extend(faults.iter().map(|fault| finding_of(fault, object))),
            }
        }
        let (synced, found) = SyncRules::read(fleet, snapshot);
        findings.extend(found);
        let mut asked = claims(fleet, snapshot, &rules, &synced);
        let (deployments, found) = Deployments::collect(snapshot);
        findings.extend(found);
        let (clusters, found) = cluster::gather(fleet, snapshot, looks, &definitions);
        findings.extend(found);
        let (placements, found) = placement::gather(fleet, snapshot, &clusters);
        findings.extend(found);
        findings.extend(fleet.regions.values().filter_map(|region| untied(region, &regions)));
        let namespaces = namespaces::gather(fleet, snapshot, &clusters, looks);
        let (templates, of_templates, found) = template::claims(fleet, snapshot, |region| namespaces.get(region));
        findings.extend(found);
        if !of_templates.is_empty() {
            asked.sort_by(|a, b| (&a.by, &a.region).cmp(&(&b.by, &b.region)));
            let behind = of_templates.first().map(|first| asked.partition_point(|asked| asked.by < first.by));
            let behind = asked.split_off(behind.unwrap_or(asked.len()));
            if asked.is_empty() {
                asked = of_templates
            } else {
                asked.extend(of_templates)
            }
            asked.extend(behind);
        }
        guest::render(fleet, snapshot, &templates, |region| namespaces.get(region), &mut asked);
        let mut by_place: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
        for (index, asked) in asked.iter().enumerate() {
            if let Some(claim) = &asked.claim {
                by_place.entry(claim.at.clone()).or_default().push(index);
            }
        }
        let brought = brought(fleet, &asked);
        let facts = Self {
            definitions,
            deployments,
            regions,
            clusters,
            placements,
            namespaces,
            templates,
            kubeconfigs,
            rules,
            synced,
            asked,
            by_place,
            brought,
        };
        (facts, findings)
    }

    /// What a Region object says, by its own name.
    pub fn region_named(&self, name: &Region) -> Option<&RegionFacts> {
        self.regions.get(name)
    }

    /// The namespaces of a region that takes templates, as far as they are known.
    pub fn namespaces(&self, region: &Region) -> Option<&Namespaces> {
        self.namespaces.get(region)
    }

    /// The namespaces of a region whose labels say which templates are for them; of those that it allows.
    pub fn asked_by_templates<'f>(&'f self, region: &'f RegionConfig) -> impl Iterator<Item = &'f Namespace> {
        let known = self.namespaces(&region.name).into_iter().flat_map(|namespaces| namespaces.known.keys());
        known.filter(|namespace| region.namespaces.allowed.matches(namespace.as_str()))
    }

    /// Whether a claimant asks for something for a region.
    pub fn asks_for(&self, by: &Claimant, region: &Region) -> bool {
        self.asked_of(by).any(|asked| asked.region.as_ref() == Some(region))
    }

    /// What every claimant asks for, sorted by claimant.
    pub fn asked(&self) -> &[Asked] {
        &self.asked
    }

    /// What one claimant asks for, if it is there.
    pub fn asked_by(&self, by: &Claimant) -> Option<&Asked> {
        self.asked_of(by).next()
    }

    /// The claims of one claimant, for each region: a ResourceSyncRule may take one object to several. A group of guests asks
    /// for each object that it names.
    pub fn asked_of(&self, by: &Claimant) -> impl Iterator<Item = &Asked> {
        let from = self.asked.partition_point(|asked| asked.by < *by);
        self.asked.iter().skip(from).take_while(move |asked| asked.by.is_of(by))
    }

    /// What is asked for at one destination, sorted by claimant.
    pub fn asked_for(&self, to: &Destination<'_>) -> impl Iterator<Item = &Asked> {
        self.by_place.get(&to.place()).into_iter().flatten().filter_map(|index| self.asked.get(*index))
    }

    /// The claims for regions that are rendered; for a paused region nothing is looked at.
    pub fn rendered(&self, fleet: &Fleet) -> impl Iterator<Item = &Claim> {
        let is_rendered = |claim: &&Claim| Destination::of(fleet, &claim.at).is_some_and(|to| to.region.is_rendered());
        self.asked.iter().filter_map(|asked| asked.claim.as_deref()).filter(is_rendered)
    }
}

/// Tells of a Region that the configuration names and that is not there.
fn untied(region: &RegionConfig, known: &BTreeMap<Region, RegionFacts>) -> Option<Finding> {
    let tied = region.tied();
    if *tied == region.name || known.contains_key(tied) {
        return None;
    }
    let message = format!("region {} is tied to Region {tied}, which no source has, or not to be read", region.name);
    let help = format!("Correct `regions.{}.inventory.region`, or the objects in the sources.", region.name);
    Some(Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help))
}

/// Whether the configuration grants the use of an object in a region.
#[derive(Clone, Copy)]
pub enum Granting<'a> {
    /// It does; by this placement, if it is not by the region's name.
    Yes(Option<&'a Placement>),
    /// It does if this placement lists the region, which nobody knows, as this says.
    Unknown(&'a Placement, &'a str),
    /// It does not.
    No,
}

/// What all stages after the survey share.
#[derive(Clone, Copy)]
pub struct World<'a> {
    /// The configuration.
    pub fleet: &'a Fleet,
    /// What was read.
    pub snapshot: &'a Snapshot,
    /// What the listed objects of the snapshot say together.
    pub facts: &'a Facts,
    /// When the run is, in seconds since 1970: what has expired by then is told, and nothing published depends on it.
    pub now: i64,
}

impl<'a> World<'a> {
    /// The scope of a kind; none where nobody knows, and the kind is taken as it is written.
    pub fn scope_of(&self, kind: &GroupKind) -> Option<Scope> {
        self.snapshot.scopes.of(kind)
    }

    /// Whether some grant lets a claimant use an object, by the key that is read, in a region.
    pub fn granting(&self, by: &Claimant, region: &Region, object: &ObjectKey) -> Granting<'a> {
        self.granted(by, region, object, !self.is_described(by))
    }

    /// The same, of grants to whole closures only if these `count`.
    fn granted(&self, by: &Claimant, region: &Region, object: &ObjectKey, count: bool) -> Granting<'a> {
        if self.fleet.grants.is_empty() {
            return Granting::No;
        }
        self.by_grants(region, || {
            grants_for(&self.fleet.grants, by, object).filter(|grant| count || grant.to != Granted::Closure)
        })
    }

    /// Whether some grant lets what a ResourceSyncRule makes land in another namespace than its claimant's: only one that
    /// names both the rule and the object as it lands. A grant to use an object is none to put another in its place.
    pub fn landing(&self, by: &Claimant, region: &Region, lands: &ObjectKey) -> Granting<'a> {
        let names = |grant: &&Grant| matches!(grant.from, Grantee::SyncRule(_)) && grant.to != Granted::Closure;
        self.by_grants(region, || grants_for(&self.fleet.grants, by, lands).filter(names))
    }

    /// Whether some grant lets a template make an object that its namespace alone does not: only one to the template does.
    pub fn lets_make(&self, by: &Claimant, region: &Region, object: &ObjectKey) -> Granting<'a> {
        self.by_grants(region, || grants_to_make(&self.fleet.grants, by, object))
    }

    /// Decides if some grant to a namespace of a source, or to a claimant there, names an object.
    pub fn granting_to(&self, source: &Source, region: &Region, object: &ObjectKey) -> Granting<'a> {
        let is_own = |namespace: &Namespace| source.provides.has_namespace(namespace, &self.fleet.guarded);
        let is_theirs = |grant: &&Grant| match (&grant.from, &grant.to) {
            (Grantee::Namespace(namespace), Granted::Object(key)) => key == object && is_own(namespace),
            (Grantee::Claimant(by), Granted::Object(key)) => key == object && is_own(by.namespace()),
            _ => false,
        };
        self.by_grants(region, || self.fleet.grants.iter().filter(is_theirs))
    }

    fn by_grants<I: Iterator<Item = &'a Grant>>(&self, region: &Region, grants: impl Fn() -> I) -> Granting<'a> {
        if grants().any(|grant| grant.names(region)) {
            return Granting::Yes(None);
        }
        let mut unknown = Granting::No;
        for placement in grants().flat_map(|grant| grant.regions.placements()) {
            match self.facts.placements.lists(placement, region) {
                Some(Listed::Yes) => return Granting::Yes(Some(placement)),
                Some(Listed::Unknown(why)) => unknown = Granting::Unknown(placement, why),
                None => {}
            }
        }
        unknown
    }

    /// The same, of grants that name the object.
    pub fn granting_by_name(&self, by: &Claimant, region: &Region, object: &ObjectKey) -> Granting<'a> {
        self.granted(by, region, object, false)
    }

    /// Whether some grant is known to do so that names the object.
    pub fn grants_by_name(&self, by: &Claimant, region: &Region, object: &ObjectKey) -> bool {
        matches!(self.granting_by_name(by, region, object), Granting::Yes(_))
    }

    /// Whether a claimant stands only where one region's Clusters are described. Whoever writes there chooses what its
    /// closure holds, so no grant opens that as a whole.
    fn is_described(&self, by: &Claimant) -> bool {
        let is_described = |key| self.snapshot.described(self.fleet, &key).is_some();
        self.fleet.describes_regions() && kinds::claimant(by).is_some_and(is_described)
    }

    /// Whether some grant is known to let a claimant use an object, by the key that is read, in a region.
    pub fn grants(&self, by: &Claimant, region: &Region, object: &ObjectKey) -> bool {
        matches!(self.granting(by, region, object), Granting::Yes(_))
    }

    /// What is known of a region's cluster.
    pub fn cluster(&self, region: &Region) -> Option<&'a ClusterFacts> {
        self.facts.clusters.get(region)
    }

    /// What k0rdent's Region says of a region, if there is one.
    pub fn region(&self, region: &Region) -> Option<&'a RegionFacts> {
        let config = self.fleet.regions.get(region);
        // What has the name of the management cluster by chance is another one.
        if config.is_some_and(|config| config.management) {
            return None;
        }
        self.facts.regions.get(config.map_or(region, |config| config.tied()))
    }

    /// The definition by which k0rdent itself copies an identity to a region: that of the region's own ProviderInterfaces,
    /// where they were seen. None where it copies nothing.
    pub fn copied_by(&self, region: &Region, kind: &GroupKind, version: &Version) -> Option<&'a Definition> {
        if let Some(own) = self.cluster(region).and_then(|cluster| cluster.definitions.as_ref()) {
            return own.exactly(kind, version);
        }
        let is_detached = self.fleet.regions.get(region).is_some_and(|region| region.push_disabled);
        if is_detached { None } else { self.facts.definitions.exactly(kind, version) }
    }

    /// Whether a namespace of a region has labels that should have been seen, and were not: the region could not be looked
    /// into, or nobody asked for this namespace.
    pub fn is_unseen(&self, region: &Region, namespace: &Namespace) -> bool {
        match self.cluster(region).map(|cluster| &cluster.sight) {
            None | Some(Sight::None) => false,
            Some(Sight::Unread(_)) => true,
            Some(Sight::Seen(looked, _)) => !looked.namespaces.contains_key(namespace),
        }
    }

    /// The labels of a namespace on a region: those that it was seen to have, and those that the configuration gives it.
    /// None where nobody knows. The management cluster may be a source itself, which has its namespaces.
    pub fn labels(&self, region: &Region, namespace: &Namespace) -> Option<Cow<'a, BTreeMap<String, String>>> {
        let configured = self.fleet.regions.get(region).and_then(|region| region.namespaces.labels.get(namespace));
        let cluster = self.cluster(region);
        let seen = cluster.and_then(ClusterFacts::looked).and_then(|looked| looked.namespaces.get(namespace));
        let is_home = self.fleet.regions.get(region).is_some_and(|region| region.management);
        if is_home && let Some(object) = self.snapshot.at_home(&ObjectKey::namespace(namespace)) {
            let pairs = object.labels.iter().map(|(key, value)| (String::from(&**key), String::from(&**value)));
            let configured = configured.into_iter().flatten().map(|(key, value)| (key.clone(), value.clone()));
            return Some(Cow::Owned(pairs.chain(configured).collect()));
        }
        match (configured, seen) {
            (None, None) => None,
            (Some(configured), None | Some(None)) => Some(Cow::Borrowed(configured)),
            (None, Some(None)) => Some(Cow::Owned(BTreeMap::new())),
            (None, Some(Some(seen))) => Some(Cow::Borrowed(seen)),
            (Some(configured), Some(Some(seen))) => {
                let mut labels = seen.clone();
                labels.extend(configured.iter().map(|(key, value)| (key.clone(), value.clone())));
                Some(Cow::Owned(labels))
            }
        }
    }

    /// The namespaces of a region whose labels some [look](Self::labels) or the configuration may say.
    pub fn labelled(&self, region: &Region) -> Vec<Namespace> {
        let config = self.fleet.regions.get(region);
        let configured = config.into_iter().flat_map(|region| region.namespaces.labels.keys());
        let looked = self.cluster(region).and_then(ClusterFacts::looked);
        let seen = looked.into_iter().flat_map(|looked| looked.namespaces.keys());
        let is_home = config.is_some_and(|region| region.management);
        let kind = ObjectKey::namespace(&self.fleet.system_namespace).kind;
        let home = is_home.then(|| self.snapshot.all(&kind)).into_iter().flatten();
        let home = home.map(|object| Namespace::from(object.key.name.as_str()));
        configured.chain(seen).cloned().chain(home).collect()
    }

    /// The namespaces of a region that takes templates, as far as they are known.
    pub fn namespaces(&self, region: &Region) -> Option<&'a Namespaces> {
        self.facts.namespaces.get(region)
    }

    /// The code that says why what a claimant has published stays although it claims nothing for the region, if it does; `led`
    /// is the Namespace that led to it, if one did.
    pub fn kept_by(&self, by: &Claimant, region: &RegionConfig, led: Option<Led<'_>>) -> Option<Code> {
        if by.template().is_some() {
            let known = self.known(region);
            return template::kept_by(self.fleet, self.snapshot, by, region, known, led);
        }
        let Facts { deployments, synced, .. } = self.facts;
        kept_by(by, self.facts.asked_by(by), &self.access(), deployments, self.snapshot, synced, &region.name)
    }

    /// The code that says why it is open whether a rule of a group of guests still takes what it took, if it is.
    pub fn may_be_taken(&self, by: &Claimant) -> Option<Code> {
        let code = guest::may_be_taken(self.fleet, self.snapshot, &self.facts.synced, by)?;
        // Where it is asked for, there was room.
        (code != Code::TooManyObjects || self.facts.asked_by(by).is_none()).then_some(code)
    }

    /// Whether a look into the region alone says that a claimant claims nothing there any more.
    pub fn hangs_on_look(&self, by: &Claimant, region: &RegionConfig) -> bool {
        let is_taken = by.template().is_some_and(|template| region.templates.matches(template.as_str()));
        is_taken && self.is_deselected_by_look(by, region)
    }

    /// Whether a look into the region alone says that a template, by what it is for a namespace, is not for that.
    pub fn is_deselected_by_look(&self, by: &Claimant, region: &RegionConfig) -> bool {
        template::hangs_on_look(self.snapshot, by, self.known(region))
    }

    fn known(&self, region: &RegionConfig) -> Known<'a> {
        Known { templates: &self.facts.templates, namespaces: self.namespaces(&region.name) }
    }

    /// Returns true if k0rdent copies an identity to a namespace of a region, because a Credential stands there, or a rule
    /// certainly makes one there.
    pub fn brings(&self, identity: &Root, region: &Region, namespace: &Namespace) -> bool {
        let (kind, name) = (identity.kind.clone(), identity.name.clone());
        self.facts.brought.contains(&(kind, name, region.clone(), namespace.clone()))
    }

    /// What AccessManagement hands out.
    pub fn access(&self) -> Access<'a> {
        self.facts.rules.in_force(self.fleet, self.snapshot)
    }
}

/// The identities that k0rdent copies for Credentials; on its own cluster it copies none for those that name no region.
fn brought(fleet: &Fleet, asked: &[Asked]) -> BTreeSet<(GroupKind, Name, Region, Namespace)> {
    let claims = asked.iter().filter_map(|asked| asked.claim.as_ref()).filter(|claim| claim.by.is_credential());
    let is_own = |region: &Region| fleet.regions.get(region).is_some_and(|region| region.management);
    claims
        .filter_map(|claim| {
            let root = claim.root().filter(|root| root.namespace.is_some() && !is_own(claim.region()))?;
            let (kind, name) = (root.kind.clone(), root.name.clone());
            Some((kind, name, claim.region().clone(), claim.by.namespace().clone()))
        })
        .collect()
}
