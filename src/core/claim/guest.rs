//! Claims that groups of guest clusters make: one for each group and namespace.
//!
//! A group stands in the configuration, and so it is gone when it stands there no more. It asks for objects of the sources,
//! and for the ClusterResourceSets that deliver them: one payload for each object, and one for each namespace that the
//! objects need. What these are called follows from the group, its selector and the object alone, so that one that is added
//! moves none of the others.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::sync_rule::{self, SyncRules};
use super::{Asked, Claim, Delivered, Edit, GuestSet, Item, Parcel};
use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::{MOST_PAYLOADS, resource_set_kind};
use crate::config::{Fleet, GuestGroup, RegionConfig, RegionState, Resolution};
use crate::destination::{Address, Destination};
use crate::finding::{Code, Finding, Origin};
use crate::hash::{digits, sha256_start};
use crate::k0rdent::root::Root;
use crate::kinds;
use crate::name::{Claimant, Name, Namespace, ObjectKey, Region, SourceName};
use crate::snapshot::{Lookup, Snapshot};

/// What every group asks for in each of its namespaces.
pub(super) fn claims(fleet: &Fleet, snapshot: &Snapshot, synced: &SyncRules) -> Vec<Asked> {
    let mut asked = Vec::new();
    for group in fleet.guests.values() {
        let Some(region) = fleet.regions.get(&group.region) else { continue };
        let wares = wares((fleet, snapshot, synced), group, region);
        for namespace in namespaces(fleet, snapshot, group, region) {
            asked.push(ask(group, region, &wares, namespace));
        }
    }
    asked
}

/// What a group delivers, in whatever namespace.
struct Wares {
    /// What is read, what names it, where it lands, and what is rewritten.
    objects: Vec<Ware>,
    asks: BTreeMap<ObjectKey, Claim>,
    /// Why nobody knows all of it.
    findings: Vec<Finding>,
}

#[derive(Clone)]
struct Ware {
    read: ObjectKey,
    field: String,
    lands: ObjectKey,
    edits: Vec<Edit>,
}

fn wares(seen @ (_, snapshot, _): (&Fleet, &Snapshot, &SyncRules), group: &GuestGroup, region: &RegionConfig) -> Wares {
    let field = format!("guests.{}", group.name);
    let plain = group.objects.iter().map(|entry| Ware {
        read: entry.read.clone(),
        field: field.clone(),
        lands: entry.lands.clone(),
        edits: Vec::new(),
    });
    let mut wares = Wares { objects: plain.collect(), asks: BTreeMap::new(), findings: Vec::new() };
    for rule in &group.rules {
        let key = ObjectKey::new(kinds::sync_rule(), None, rule.clone());
        match sync_rule::for_guests(seen, rule, region) {
            None => wares.findings.push(match snapshot.look_up(&key) {
                Lookup::Unread(unread) => unread.finding(&key),
                _ => {
                    let message = format!("{field} names {key}, which no source with `clusterScoped` has");
                    Finding::new(Code::MissingReference, message).about(&key).help("Add the rule, or correct the name.")
                }
            }),
            Some(Err(findings)) => wares.findings.extend(findings),
            Some(Ok(asked)) => asked.into_iter().for_each(|asked| wares.add(&field, rule, asked)),
        }
    }
    wares
}

impl Wares {
    /// Adds what a rule takes.
    fn add(&mut self, field: &str, rule: &Name, asked: Asked) {
        self.findings.extend(asked.findings.iter().cloned());
        let Some(claim) = asked.claim.filter(|_| !asked.findings.iter().any(Finding::stops_claim)) else { return };
        let Some(copied) = &claim.copied else { return };
        let field = format!("{field}: ResourceSyncRule {rule}");
        let ware = Ware { read: copied.read.clone(), field, lands: copied.lands.clone(), edits: copied.edits.clone() };
        if let Some(other) = self.objects.iter().find(|other| other.lands == ware.lands) {
            if other.read != ware.read || other.edits != ware.edits {
                let message = format!("{} and {} would both be {} in guests", other.field, ware.field, ware.lands);
                let finding = Finding::new(Code::ConflictingContent, message).about(&ware.read);
                self.findings.push(finding.help("Let one of them land elsewhere, or remove one."));
            }
            return;
        }
        self.asks.insert(ware.read.clone(), claim);
        self.objects.push(ware);
    }
}

fn ask(group: &GuestGroup, region: &RegionConfig, wares: &Wares, namespace: Namespace) -> Asked {
    let by = Claimant::guest(namespace, group.name.clone());
    let origin = Origin::configuration();
    let mut asked = Asked {
        by: by.clone(),
        origin: origin.clone(),
        region: Some(region.name.clone()),
        claim: None,
        findings: Vec::new(),
    };
    if region.state == RegionState::Retired {
        let message = format!("region {} is retired; nothing is published for it", region.name);
        let help = "Name the region on which the Clusters stand now, or remove the group.";
        asked.findings.push(Finding::new(Code::RegionRetired, message).at(&origin).help(help));
        asked.settle();
        return asked;
    }
    let mut delivered = delivered(group, &by.namespace, &wares.objects);
    delivered.asks = wares.asks.clone();
    asked.findings.extend(wares.findings.iter().cloned());
    asked.claim = Some(Claim {
        by: by.clone(),
        origin,
        to: Address::Region(region.name.clone()),
        root: Root {
            kind: resource_set_kind(),
            version: NEWEST.into(),
            name: by.name.clone(),
            namespace: Some(by.namespace.clone()),
        },
        starts: Vec::new(),
        resolution: Resolution::AsWritten,
        managed: false,
        copied: None,
        guest: Some(Arc::new(delivered)),
    });
    for finding in asked.findings.iter_mut().filter(|finding| finding.origin.is_none()) {
        finding.origin = Some(Origin::configuration());
    }
    asked.settle();
    asked
}

/// The version of sets that is written where nothing is known of the region.
pub const NEWEST: &str = "v1beta2";

/// The namespaces of a group: those that are named, and those that a glob fits and that are known to be there.
fn namespaces(fleet: &Fleet, snapshot: &Snapshot, group: &GuestGroup, region: &RegionConfig) -> BTreeSet<Namespace> {
    let mut namespaces: BTreeSet<Namespace> = group.named().collect();
    if group.has_globs() {
        let ground = Destination { fleet, region }.ground();
        let may_land = |name: &Namespace| ground.forbids(&ObjectKey::namespace(name)).is_empty();
        let fits = |name: &Namespace| {
            group.namespaces.matches(name.as_str()) && region.allowed.matches(name.as_str()) && may_land(name)
        };
        namespaces.extend(known(fleet, snapshot, group).into_iter().filter(fits));
    }
    namespaces
}

/// The namespaces of a group's region that are known to have Clusters.
pub fn known(fleet: &Fleet, snapshot: &Snapshot, group: &GuestGroup) -> BTreeSet<Namespace> {
    let tells = |key: &ObjectKey| {
        let of = |name: &_| fleet.sources.iter().find(|source| source.name == *name);
        snapshot.copies(key).any(|copy| of(&copy.origin.source).is_some_and(|source| group.is_told_by(source)))
    };
    let mut known = BTreeSet::new();
    for object in snapshot.all(&cluster_kind()).filter(|object| tells(&object.key)) {
        known.extend(object.key.namespace.clone());
    }
    known
}

/// The code that says why what a group has published in a namespace stays although the group is not known to be for the
/// namespace, if it does.
pub(super) fn kept_by(fleet: &Fleet, snapshot: &Snapshot, by: &Claimant, region: &Region) -> Option<Code> {
    let group = fleet.guests.get(&by.name).filter(|group| group.region == *region)?;
    if !group.namespaces.matches(by.namespace.as_str()) {
        return None;
    }
    // Whether Clusters stand there is told by what was read.
    unread(fleet, snapshot, group, &by.namespace).map(|_| Code::Unread)
}

/// The first source that might tell of further Clusters of a group in a namespace.
pub fn unread(fleet: &Fleet, snapshot: &Snapshot, group: &GuestGroup, namespace: &Namespace) -> Option<SourceName> {
    let tells = |name: &&SourceName| {
        fleet.sources.iter().find(|source| source.name == **name).is_some_and(|source| group.is_told_by(source))
    };
    snapshot.all_unread_in(&cluster_kind(), namespace).find(tells).cloned()
}

/// Puts objects into payloads and sets.
fn delivered(group: &GuestGroup, namespace: &Namespace, objects: &[Ware]) -> Delivered {
    let base = group.base();
    let set = |name: &str, once, payloads| {
        let clusters = group.clusters.clone();
        GuestSet { name: Name::from(name), clusters, once, payloads }
    };
    let placed = objects.iter().map(|object| (Mark::of(&object.lands), object.clone())).collect();
    let (mut items, mut sets, mut needed) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (name, placed) in parts(&base, placed) {
        let mut payloads = Vec::with_capacity(placed.len());
        for (mark, Ware { read, field, lands, edits }) in placed {
            needed.extend(lands.namespace.clone().filter(|namespace| !is_everywhere(namespace)));
            let key = payload(lands.kind.is_secret(), namespace, &format!("{name}-{}", mark.digits()));
            payloads.push((key.kind.clone(), key.name.clone()));
            items.push(Item { read, field, parcel: Arc::new(Parcel { lands, edits }), payload: key });
        }
        sets.push(set(&name, false, payloads));
    }
    // A set that writes again would take from a namespace that is there already what others wrote on it, the labels that
    // say what may run there among them.
    let base = format!("{base}-namespaces");
    let placed = needed.into_iter().map(|needed| (Mark::of(&ObjectKey::namespace(&needed)), needed)).collect();
    let mut namespaces = Vec::new();
    for (name, placed) in parts(&base, placed) {
        let mut payloads = Vec::with_capacity(placed.len());
        for (mark, needed) in placed {
            let key = payload(false, namespace, &format!("{name}-{}", mark.digits()));
            payloads.push((key.kind.clone(), key.name.clone()));
            namespaces.push((needed, key));
        }
        sets.push(set(&name, true, payloads));
    }
    let named = group.objects.iter().map(|entry| entry.read.clone()).collect();
    Delivered { named, asks: BTreeMap::new(), items, namespaces, sets }
}

/// Whether every cluster has a namespace of its own accord.
fn is_everywhere(namespace: &Namespace) -> bool {
    *namespace == "default" || namespace.as_str().starts_with("kube-")
}

fn payload(is_secret: bool, namespace: &Namespace, name: &str) -> ObjectKey {
    let key = if is_secret { ObjectKey::secret } else { ObjectKey::config_map };
    key(namespace.clone(), Name::from(name))
}

/// Where an object stands among all that there could be.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Mark([u8; 8]);

impl Mark {
    fn of(key: &ObjectKey) -> Self {
        let ObjectKey { kind, name, .. } = key;
        Self(sha256_start(format!("{}\n{}\n{}\n{name}", kind.group, kind.kind, key.namespace_text()).as_bytes()))
    }

    fn digits(self) -> String {
        digits(&self.0).collect()
    }

    /// The first bits of it.
    fn start(self) -> u32 {
        let [first, second, ..] = self.0;
        u32::from(first) << 8 | u32::from(second)
    }
}

/// How many bits of a [`Mark`] say in which part an object is.
const BITS: u32 = 16;

/// Divides what one set cannot hold, each part with its name. A part that is full gives away its upper half: what stays
/// keeps the name, so that one object more moves half of a part at most, and nothing of the others.
fn parts<T>(base: &str, mut all: Vec<(Mark, T)>) -> Vec<(String, Vec<(Mark, T)>)> {
    all.sort_by_key(|(mark, _)| *mark);
    let mut parts = Vec::new();
    let mut left = vec![(0_u32, BITS, all)];
    while let Some((start, bits, mut part)) = left.pop() {
        if part.is_empty() {
            continue;
        }
        if part.len() <= MOST_PAYLOADS || bits == 0 {
            // More of them than that in one place is what nobody finds by chance; the region's API refuses such a set.
            let name = if start == 0 { String::from(base) } else { format!("{base}-{start:04x}") };
            parts.push((name, part));
            continue;
        }
        let bits = bits.saturating_sub(1);
        let middle = start | 1 << bits;
        let upper = part.split_off(part.partition_point(|(mark, _)| mark.start() < middle));
        left.push((middle, bits, upper));
        left.push((start, bits, part));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(number: usize) -> (Mark, usize) {
        let key = ObjectKey::secret("team".into(), Name::new(format!("s{number}")));
        (Mark::of(&key), number)
    }

    fn placed(count: usize) -> BTreeMap<usize, String> {
        let parts = parts("base", (0..count).map(object).collect());
        for (name, part) in &parts {
            assert!(part.len() <= MOST_PAYLOADS, "{name}");
        }
        parts.into_iter().flat_map(|(name, part)| part.into_iter().map(move |(_, it)| (it, name.clone()))).collect()
    }

    #[test]
    fn one_object_more_moves_at_most_half_a_part() {
        assert!(placed(100).values().all(|name| name == "base"));
        let mut moves = 0;
        for count in 100..500 {
            let (before, after) = (placed(count), placed(count + 1));
            let moved = before.iter().filter(|(object, name)| after[object] != **name).count();
            assert!(moved <= 70, "{count}: {moved}");
            moves += usize::from(moved > 0);
        }
        assert!(moves <= 8, "{moves}");
    }
}
