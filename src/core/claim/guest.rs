//! Claims that groups of guest clusters make: one for each entry in each namespace.
//!
//! A group stands in the configuration, and so it is gone when it stands there no more. It asks for objects of the sources,
//! and for the ClusterResourceSets that deliver them: one payload for each object, and one for each namespace that the
//! objects need. What these are called follows from the group, its selector and the object alone, so that one that is added
//! moves none of the others.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::sync_rule::{self, SyncRules, Taken};
use super::template::{self, Known, Templates};
use super::{Ask, Asked, Claim, Copied, Edit, GuestSet, Item, Parcel};
use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::MOST_PAYLOADS;
use crate::config::{Fleet, GuestEntry, GuestGroup, RegionConfig, RegionState, Source, SourcePlace};
use crate::destination::{Destination, Place};
use crate::finding::{Code, Finding, Origin};
use crate::hash::{digits, sha256_start};
use crate::kinds;
use crate::listing::counted;
use crate::name::holder::Writer;
use crate::name::step::Step;
use crate::name::{Claimant, Entry, GroupKind, Name, Namespace, ObjectKey, Region, SourceName, TakenObject};
use crate::snapshot::{Lookup, Snapshot};

/// The most objects of one writer that one rule takes for a group, with those that are left out as they never leave: who
/// writes more takes nothing from the others.
const MOST_TAKEN: usize = 1000;

/// The claims of every entry of every group, in each of its namespaces.
pub(super) fn claims(fleet: &Fleet, snapshot: &Snapshot, synced: &SyncRules) -> Vec<Asked> {
    let mut asked = Vec::new();
    for group in fleet.guests.values() {
        let Some(region) = fleet.regions.get(&group.region) else { continue };
        let entries = entries(fleet, snapshot, synced, group, region);
        // What tenants write takes no namespace from what the configuration names.
        let named: usize = entries.iter().filter(|entry| entry.share.is_none()).map(Supply::count).sum();
        let most = most_namespaces(named);
        let Namespaces { named, served, beyond } = namespaces(fleet, snapshot, group, region, most);
        let too_many = too_many(group, most);
        let add = |(namespace, room): (Namespace, Room<'_>)| {
            let of_entry = |entry: &Supply| entry.ask(group, region, &namespace, room);
            entries.iter().filter_map(of_entry).collect::<Vec<_>>()
        };
        let named = named.into_iter().map(|namespace| (namespace, Room::Among(0)));
        let served = served.into_iter().map(|(namespace, at)| (namespace, Room::Among(at)));
        let beyond = beyond.into_iter().map(|namespace| (namespace, Room::Lacks(&too_many)));
        asked.extend(named.chain(served).chain(beyond).flat_map(add));
    }
    asked
}

/// The namespaces of one source in which so many objects are delivered.
fn most_namespaces(objects: usize) -> usize {
    MOST_NAMESPACES.min(MOST_TOGETHER.checked_div(objects).unwrap_or(MOST_NAMESPACES))
}

/// The room for a group in a namespace.
#[derive(Clone, Copy)]
enum Room<'f> {
    /// So many namespaces of the same source come before it.
    Among(usize),
    /// It is one of too many, as this says.
    Lacks(&'f Finding),
}

/// An entry of a group, or an object that a rule of it takes, and what it delivers in whatever namespace.
struct Supply {
    entry: Entry,
    ask: Ask,
    /// The faults of it.
    findings: Vec<Finding>,
    /// The share of its writer, if it is an object that a rule takes.
    share: Option<Share>,
}

/// The share of one who writes objects that a rule of a group takes.
#[derive(Clone)]
struct Share {
    /// In so many namespaces of a source it is delivered.
    most: usize,
    /// The finding in other namespaces; only one object of a writer has it.
    too_many: Option<Finding>,
}

impl Supply {
    /// The number of objects that it is known to give in a namespace.
    fn count(&self) -> usize {
        if let Ask::Entry(items) = &self.ask { items.len() } else { 0 }
    }

    /// Its claim in a namespace. In one of too many, an entry asks for nothing, and an object that a rule takes makes no claim.
    fn ask(&self, group: &GuestGroup, region: &RegionConfig, namespace: &Namespace, room: Room<'_>) -> Option<Asked> {
        let too_many = match (room, &self.share) {
            (Room::Lacks(_), Some(_)) => return None,
            (Room::Lacks(finding), None) => Some(finding),
            (Room::Among(at), Some(share)) if at >= share.most => Some(share.too_many.as_ref()?),
            (Room::Among(_), _) => None,
        };
        let ask = if too_many.is_some() { Ask::Entry(Arc::new([])) } else { self.ask.clone() };
        let findings = too_many.map_or(&*self.findings, core::slice::from_ref);
        let by = Claimant::Guests {
            namespace: namespace.clone(),
            group: group.name.clone(),
            entry: Some(Box::new(self.entry.clone())),
        };
        Some(asks(region, by, ask, findings))
    }
}

fn entries(
    fleet: &Fleet,
    snapshot: &Snapshot,
    synced: &SyncRules,
    group: &GuestGroup,
    region: &RegionConfig,
) -> Vec<Supply> {
    let base = group.base();
    let mut places: BTreeMap<&ObjectKey, Vec<Item>> = BTreeMap::new();
    for GuestEntry { read, lands, .. } in &group.objects {
        places.entry(read).or_default().push(item(&base, read, lands, &[], None));
    }
    let objects = places.into_iter().map(|(read, items)| Supply {
        entry: Entry::Object(read.clone()),
        ask: Ask::Entry(items.into()),
        findings: Vec::new(),
        share: None,
    });
    let rules = group.rules.iter().flat_map(|rule| taken(fleet, snapshot, synced, group, rule, region));
    let templates = group.templates.iter().map(|template| Supply {
        entry: Entry::Template(template.clone()),
        ask: Ask::Deliver { base: Name::from(&*base), rendered: None },
        findings: Vec::new(),
        share: None,
    });
    objects.chain(rules).chain(templates).collect()
}

/// The most namespaces that globs of a group fit by the Clusters of one source, and the most payloads in these: whoever writes
/// Clusters says how many namespaces there are, and takes nothing from those of another source.
const MOST_NAMESPACES: usize = 1000;
const MOST_TOGETHER: usize = 100_000;

/// What is said of a namespace beyond those.
fn too_many(group: &GuestGroup, most: usize) -> Finding {
    let message = format!(
        "globs of guests.{}.namespaces fit more namespaces with Clusters of one source than the {most} in which a group like \
         this one is delivered",
        group.name
    );
    let help = "Narrow the globs, or name the namespaces; what is published stays meanwhile.";
    Finding::new(Code::TooManyObjects, message).help(help)
}

/// Lets the templates that groups name be rendered: `namespaces` says what is known of a region's.
pub fn render<'n>(
    fleet: &Fleet,
    snapshot: &Snapshot,
    templates: &Templates,
    namespaces: impl Fn(&Region) -> Option<&'n template::Namespaces>,
    asked: &mut [Asked],
) {
    let delivers = |claim: &&mut Arc<Claim>| matches!(claim.ask, Ask::Deliver { .. });
    for claim in asked.iter_mut().filter_map(|asked| asked.claim.as_mut()).filter(delivers) {
        let Claim { by, ask, .. } = Arc::make_mut(claim);
        let Ask::Deliver { rendered, .. } = ask else { continue };
        let named = by.entry().and_then(Entry::template);
        let Some((name, group)) = named.zip(fleet.group_of(by)) else { continue };
        let Some(region) = fleet.regions.get(&group.region) else { continue };
        let known = Known { templates, namespaces: namespaces(&group.region) };
        let made = template::for_guests(fleet, snapshot, known, region, &group.name, name, by.namespace());
        *rendered = made.map(|made| made.map(Arc::new));
    }
}

/// The payload in a namespace of an object that lands somewhere in a guest.
pub fn payload_in(base: &Name, namespace: &Namespace, lands: &ObjectKey) -> ObjectKey {
    super::payload_key(namespace, lands, payload(base.as_str(), lands))
}

/// An object that goes to guests, and what becomes of it.
fn item(base: &str, read: &ObjectKey, lands: &ObjectKey, edits: &[Edit], rule: Option<Arc<Claim>>) -> Item {
    let parcel = Arc::new(Parcel { lands: lands.clone(), edits: edits.to_vec() });
    Item { read: read.clone(), payload: payload(base, lands), parcel, rule }
}

/// A rule of a group as a whole, which says whether it can be followed, and the objects that it takes, in any namespace.
fn taken(
    fleet: &Fleet,
    snapshot: &Snapshot,
    synced: &SyncRules,
    group: &GuestGroup,
    rule: &Name,
    region: &RegionConfig,
) -> Vec<Supply> {
    let (base, key) = (group.base(), ObjectKey::new(kinds::sync_rule(), None, rule.clone()));
    let whole = |findings| Supply {
        entry: Entry::Rule { rule: rule.clone(), object: None },
        ask: Ask::Entry(Arc::new([])),
        findings,
        share: None,
    };
    let Taken { asked, open } = match sync_rule::for_guests(fleet, snapshot, synced, rule, region) {
        Some(Ok(taken)) => taken,
        Some(Err(found)) => return vec![whole(found)],
        None => {
            let finding = match snapshot.look_up(&key) {
                Lookup::Unread(unread) => unread.finding(&key),
                _ => {
                    let message =
                        format!("guests.{} names {key}, which no source with `clusterScoped` has", group.name);
                    let finding = Finding::new(Code::MissingReference, message).about(&key).at(&group.origin_of(&key));
                    finding.help(format!("{}Add the rule, or correct the name.", snapshot.did_you_mean(&key, true)))
                }
            };
            return vec![whole(vec![finding])];
        }
    };
    let mut all = vec![whole(open.into_iter().collect())];
    let mut of: BTreeMap<Option<Writer>, Vec<Asked>> = BTreeMap::new();
    for asked in asked {
        let Some(Copied { read, .. }) = asked.claim.as_ref().and_then(|claim| claim.copied()) else { continue };
        let writer = fleet.taken_from(read.namespace.as_ref(), &read.kind, &read.name);
        of.entry(writer).or_default().push(asked);
    }
    let of_writer = |(writer, asked): (Option<Writer>, _)| delivered(&base, group, rule, writer.as_ref(), asked);
    all.extend(of.into_iter().flat_map(of_writer));
    all
}

/// Delivers objects of one writer that a rule takes: as many as a group delivers by one rule, and the first one beyond, which
/// says so. The others keep what is published of them, as the rule takes them.
fn delivered(base: &str, group: &GuestGroup, rule: &Name, writer: Option<&Writer>, asked: Vec<Asked>) -> Vec<Supply> {
    let (count, key) = (asked.len(), ObjectKey::new(kinds::sync_rule(), None, rule.clone()));
    let of = writer.map(|writer| format!(" of {writer}")).unwrap_or_default();
    let most = most_namespaces(count.min(MOST_TAKEN));
    let mut too_many = Some({
        let message = format!(
            "globs of guests.{}.namespaces fit more namespaces with Clusters of one source than the {most} in which the \
             {} that {key} takes{of} are delivered",
            group.name,
            counted(count, "object", "objects")
        );
        let help = "Narrow the globs or the rule, or name the namespaces; what is published stays meanwhile.";
        Finding::new(Code::TooManyObjects, message).help(help)
    });
    let one = |(at, Asked { claim, findings, .. }): (usize, Asked)| {
        let claim = claim?;
        let Copied { read, lands, edits, .. } = claim.copied()?.clone();
        let object = TakenObject { namespace: read.namespace.clone(), name: read.name.clone() };
        let entry = Entry::Rule { rule: rule.clone(), object: Some(object) };
        let share = Share { most, too_many: too_many.take().map(|finding| finding.about(&read)) };
        if at < MOST_TAKEN {
            let items = Arc::new([item(base, &read, &lands, &edits, Some(claim))]);
            return Some(Supply { entry, ask: Ask::Entry(items), findings, share: Some(share) });
        }
        let message = format!(
            "{key} takes {count} objects{of}, and a group {MOST_TAKEN} of one writer by one rule; the last {} are left out",
            count - MOST_TAKEN
        );
        let finding = Finding::new(Code::TooManyObjects, message).about(&read);
        let help = "Narrow the rule, or remove labels of objects; what is published stays meanwhile.";
        let ask = Ask::Entry(Arc::new([]));
        Some(Supply { entry, ask, findings: vec![finding.help(help)], share: Some(share) })
    };
    asked.into_iter().take(MOST_TAKEN + 1).enumerate().filter_map(one).collect()
}

fn asks(region: &RegionConfig, by: Claimant, ask: Ask, findings: &[Finding]) -> Asked {
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
    asked.findings.extend(findings.iter().cloned());
    asked.claim =
        Some(Arc::new(Claim { by, at: Place::Region(region.name.clone()), origin, ask, through: Vec::new() }));
    for finding in asked.findings.iter_mut().filter(|finding| finding.origin.is_none()) {
        finding.origin = Some(Origin::configuration());
    }
    asked.settle();
    asked
}

/// The version of sets that is written where nothing is known of the region, and nothing published says it.
pub const NEWEST: &str = "v1beta2";

/// The version of sets of a region that has no newer one.
pub const OLDER: &str = "v1beta1";

/// The namespaces of a group.
#[derive(Default)]
struct Namespaces {
    /// Those that are named.
    named: BTreeSet<Namespace>,
    /// Others that a glob fits and that are known to be there, each with the number of those that come before it in a source.
    served: BTreeMap<Namespace, usize>,
    /// Those of them that are too many.
    beyond: BTreeSet<Namespace>,
}

fn namespaces(
    fleet: &Fleet,
    snapshot: &Snapshot,
    group: &GuestGroup,
    region: &RegionConfig,
    most: usize,
) -> Namespaces {
    let mut namespaces = Namespaces { named: group.named().collect(), ..Namespaces::default() };
    if !group.has_globs() {
        return namespaces;
    }
    let ground = Destination { fleet, region }.ground();
    let may_land = |name: &Namespace| ground.forbids(&ObjectKey::namespace(name)).is_empty();
    let fits = |name: &&Namespace| {
        !namespaces.named.contains(*name)
            && group.namespaces.matches(name.as_str())
            && region.namespaces.allowed.matches(name.as_str())
            && may_land(name)
    };
    let (mut served, mut beyond) = (BTreeMap::<_, usize>::new(), BTreeSet::new());
    for of_source in told(fleet, snapshot, group).into_values() {
        let mut fitting = of_source.iter().filter(fits).cloned();
        for (at, name) in fitting.by_ref().take(most).enumerate() {
            let first = served.entry(name).or_insert(at);
            *first = at.min(*first);
        }
        beyond.extend(fitting);
    }
    beyond.retain(|name| !served.contains_key(name));
    (namespaces.served, namespaces.beyond) = (served, beyond);
    namespaces
}

/// The namespaces of a group's region that are known to have Clusters.
pub fn known(fleet: &Fleet, snapshot: &Snapshot, group: &GuestGroup) -> BTreeSet<Namespace> {
    told(fleet, snapshot, group).into_values().flatten().collect()
}

/// The same by the source that has them.
fn told<'s>(
    fleet: &Fleet,
    snapshot: &'s Snapshot,
    group: &GuestGroup,
) -> BTreeMap<&'s SourceName, BTreeSet<Namespace>> {
    let of = |name: &SourceName| fleet.source(name);
    let mut told: BTreeMap<&SourceName, BTreeSet<Namespace>> = BTreeMap::new();
    let kind = cluster_kind();
    for copy in snapshot.all(&kind).flat_map(|object| snapshot.copies(&object.key)) {
        let source = &copy.origin.source;
        if of(source).is_some_and(|source| group.is_told_by(source)) {
            told.entry(source).or_default().extend(copy.key.namespace.clone());
        }
    }
    told
}

/// The code that says why what a group has published in a namespace stays although the group is not known to be for the
/// namespace, if it does.
pub(super) fn kept_by(fleet: &Fleet, snapshot: &Snapshot, by: &Claimant, region: &Region) -> Option<Code> {
    let group = fleet.group_of(by).filter(|group| group.region == *region)?;
    if !group.namespaces.matches(by.namespace().as_str()) {
        return None;
    }
    // Whether Clusters stand there is told by what was read.
    let unread = unread(fleet, snapshot, group, by.namespace()).map(|_| Code::Unread);
    unread.or_else(|| untied(fleet, snapshot, group, by.namespace()).map(|_| Code::SeveralRegions))
}

/// The ResourceSyncRule with an object that it took, as it would claim that for a region, if a claimant is such an object of a
/// group.
pub fn acting(fleet: &Fleet, by: &Claimant) -> Option<Claimant> {
    let Entry::Rule { rule, object: Some(TakenObject { namespace, name }) } = by.entry()? else { return None };
    let namespace = namespace.clone().unwrap_or_else(|| fleet.system_namespace.clone());
    Some(Claimant::SyncRule { namespace, rule: rule.clone(), object: Some(name.clone()) })
}

/// The code that says why it is open whether a rule of a group still takes what it took, if it is.
pub fn may_be_taken(fleet: &Fleet, snapshot: &Snapshot, synced: &SyncRules, by: &Claimant) -> Option<Code> {
    let (group, acting) = fleet.group_of(by).zip(acting(fleet, by))?;
    // Of a rule that the group names no more, the configuration has said enough.
    group.rules.iter().find(|rule| acting.rule() == Some(rule))?;
    sync_rule::may_take_for_guests(fleet, snapshot, synced, &acting, fleet.regions.get(&group.region)?)
}

/// A source with Clusters in a namespace that says of no region that it describes it, where there are several: they may be
/// those of the group. A live cluster is not asked for them, and may have some.
pub fn untied(fleet: &Fleet, snapshot: &Snapshot, group: &GuestGroup, namespace: &Namespace) -> Option<SourceName> {
    let kind = cluster_kind();
    let there = ObjectKey::new(kind.clone(), Some(namespace.clone()), Name::from("x"));
    let has = |source: &Source| {
        let mut clusters = snapshot.all(&kind).filter(|object| object.key.namespace.as_ref() == Some(namespace));
        clusters.any(|object| snapshot.copies(&object.key).any(|copy| copy.origin.source == source.name))
    };
    let may_have = |source: &Source| match source.place {
        SourcePlace::Cluster { .. } => source.provides.admits(&there, &fleet.guarded),
        _ => has(source),
    };
    let mut untied = fleet.sources.iter().filter(|source| source.region.is_none() && !group.is_told_by(source));
    untied.find(|source| may_have(source)).map(|source| source.name.clone())
}

/// The first source that might tell of further Clusters of a group in a namespace.
pub fn unread(fleet: &Fleet, snapshot: &Snapshot, group: &GuestGroup, namespace: &Namespace) -> Option<SourceName> {
    let tells = |name: &&SourceName| fleet.source(name).is_some_and(|source| group.is_told_by(source));
    snapshot.all_unread_in(&cluster_kind(), Some(namespace)).find(tells).cloned()
}

/// The field of the configuration in which a group stands.
pub fn named_by(group: &Claimant) -> Step {
    Step::field(format!("guests.{}", group.whole().name()))
}

/// How names of payloads with Namespaces, and of their sets, go on.
pub const OF_NAMESPACES: &str = "-namespaces";

/// The name of the payload of an object. It says nothing of the set, so that an object stays where it is when sets are
/// divided.
fn payload(base: &str, lands: &ObjectKey) -> Name {
    Name::from(format!("{base}-{}", Mark::of(lands).digits()).as_str())
}

/// Puts payloads into sets: each with its name, and with what it is in a guest. Also gives the namespaces that are needed
/// there, and the payloads that make these.
pub fn sets(group: &GuestGroup, payloads: &BTreeMap<Name, ObjectKey>) -> (Vec<(Namespace, Name)>, Vec<GuestSet>) {
    let kind = |lands: &ObjectKey| GroupKind::new("", if lands.kind.is_secret() { "Secret" } else { "ConfigMap" });
    let placed =
        payloads.iter().map(|(name, lands)| (Mark::of(lands), (kind(lands), (*name).clone()))).collect::<Vec<_>>();
    let needed: BTreeSet<&Namespace> = payloads.values().filter_map(|lands| lands.namespace.as_ref()).collect();
    // A set that writes again would take from a namespace that is there already what others wrote on it, the labels that
    // say what may run there among them.
    let base = format!("{}{OF_NAMESPACES}", group.base());
    let made = |name: &Namespace| (name.clone(), payload(&base, &ObjectKey::namespace(name)));
    let namespaces: Vec<(Namespace, Name)> = needed.into_iter().filter(|name| !is_everywhere(name)).map(made).collect();
    let makers = namespaces.iter().map(|(namespace, name)| {
        (Mark::of(&ObjectKey::namespace(namespace)), (GroupKind::new("", "ConfigMap"), name.clone()))
    });
    let once = divided(group, &base, true, makers.collect());
    let sets = divided(group, &group.base(), false, placed);
    (namespaces, sets.into_iter().chain(once).collect())
}

fn divided(group: &GuestGroup, base: &str, once: bool, all: Vec<(Mark, (GroupKind, Name))>) -> Vec<GuestSet> {
    let set = |Part { name, payloads }: Part<(GroupKind, Name)>| GuestSet {
        name: Name::from(name.as_str()),
        clusters: group.clusters.clone(),
        once,
        payloads: payloads.into_iter().map(|(_, payload)| payload).collect(),
    };
    parts(base, all).into_iter().map(set).collect()
}

/// The namespaces that every cluster has of its own accord.
fn is_everywhere(namespace: &Namespace) -> bool {
    matches!(namespace.as_str(), "default" | "kube-system" | "kube-public" | "kube-node-lease")
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

    fn number(self) -> u64 {
        u64::from_be_bytes(self.0)
    }
}

/// How many bits of a [`Mark`] say in which part an object is: all, so that nobody finds names that fill a part on purpose.
const BITS: u32 = 64;

/// What one set holds, and its name.
struct Part<T> {
    name: String,
    payloads: Vec<(Mark, T)>,
}

/// Divides what one set cannot hold, each part with its name. A part that is full gives away its upper half: what stays
/// keeps the name, so that one object more moves half of a part at most, and nothing of the others.
fn parts<T>(base: &str, mut all: Vec<(Mark, T)>) -> Vec<Part<T>> {
    all.sort_by_key(|(mark, _)| *mark);
    let mut parts = Vec::new();
    let mut left = vec![(0_u64, BITS, all)];
    while let Some((start, bits, mut part)) = left.pop() {
        if part.is_empty() {
            continue;
        }
        let Some(bits) = bits.checked_sub(1).filter(|_| part.len() > MOST_PAYLOADS) else {
            parts.push(Part { name: name_of_part(base, start), payloads: part });
            continue;
        };
        let middle = start | 1 << bits;
        let upper = part.split_off(part.partition_point(|(mark, _)| mark.number() < middle));
        left.push((middle, bits, upper));
        left.push((start, bits, part));
    }
    parts
}

/// The name of a part: what it begins with, as far as that is no nought, and at least four digits of it.
fn name_of_part(base: &str, start: u64) -> String {
    const FEWEST: usize = 4;
    if start == 0 {
        return String::from(base);
    }
    let digits = format!("{start:016x}");
    let told = digits.trim_end_matches('0').len().max(FEWEST);
    format!("{base}-{}", digits.get(..told).unwrap_or(&digits))
}

#[cfg(test)]
mod tests;
