//! Placements: which regions the PlacementDecisions list that the configuration names.
//!
//! A placement lists ClusterProfiles, and the ties of the configuration turn these into regions. What was not read decides
//! nothing: it lets nobody in, and takes nothing away.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::cell::OnceCell;

use super::cluster::{ClusterFacts, Tied, profile_kind};
use super::trusted::{certain, says_otherwise, trusted_copies};
use crate::config::{Fleet, Placement, PlacementBy, ProfileBy, placements_of};
use crate::finding::{Code, Fault, Finding};
use crate::inventory::placement;
use crate::inventory::profile::Profile;
use crate::kinds::{DECISION_INDEX, DECISION_KEY, MULTICLUSTER};
use crate::listing::few;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region};
use crate::nearest::{edits, suggested};
use crate::object::{Object, finding_of};
use crate::snapshot::Snapshot;

/// What the placements of the configuration say.
#[derive(Default)]
pub struct Placements {
    placed: BTreeMap<Placement, Placed>,
    /// The slices of those that were read.
    slices: BTreeSet<ObjectKey>,
    /// Those that were not, with why.
    unread: BTreeMap<Placement, String>,
}

/// What one placement says: for each region that it lists or might list, whether it does. It does not list the others.
type Placed = BTreeMap<Region, Listed>;

/// Whether a placement lists a region.
pub enum Listed {
    /// It does.
    Yes,
    /// Nobody knows, as this says.
    Unknown(String),
}

impl Placements {
    /// Whether a placement lists a region; none where it is known not to.
    pub fn lists(&self, placement: &Placement, region: &Region) -> Option<&Listed> {
        self.placed.get(placement)?.get(region)
    }

    /// The PlacementDecisions of the placements that were read as a whole.
    pub fn slices(&self) -> impl Iterator<Item = &ObjectKey> {
        self.slices.iter()
    }

    /// The placements that were not read as a whole, each with why.
    pub fn unread(&self) -> impl Iterator<Item = (&Placement, &str)> {
        self.unread.iter().map(|(placement, why)| (placement, why.as_str()))
    }
}

/// The slices of a placement, as far as they are known.
enum Slices<'s> {
    /// All of them.
    Known(Vec<&'s Object>),
    /// Which there are, or what one of them lists, is unknown, as this says.
    Unknown(String),
}

/// A ClusterProfile, by namespace and name.
type ProfileName<'s> = (&'s str, &'s str);

/// Reads the placements that the configuration names, and says what is wrong with them.
pub fn gather(
    fleet: &Fleet,
    snapshot: &Snapshot,
    clusters: &BTreeMap<Region, ClusterFacts>,
) -> (Placements, Vec<Finding>) {
    let (mut placements, mut findings) = (Placements::default(), Vec::new());
    let mut told = BTreeSet::new();
    for placement in placements_of(&fleet.grants) {
        let known = slices(fleet, snapshot, placement, &mut findings);
        let known = match known {
            Slices::Known(slices) => {
                let listed = profiles(&slices, &mut told, &mut findings);
                if listed.is_ok() {
                    placements.slices.extend(slices.iter().map(|object| object.key.clone()));
                }
                listed
            }
            Slices::Unknown(why) => Err(why),
        };
        let placed = match known {
            Ok(profiles) => {
                findings.extend(untied(placement, &profiles, clusters));
                regions(fleet, snapshot, &profiles, clusters)
            }
            // Only a region that is tied to a ClusterProfile can be listed.
            Err(why) => {
                placements.unread.insert(placement.clone(), why.clone());
                let tied = clusters.iter().filter(|(_, cluster)| !matches!(cluster.profile, Tied::Untied));
                tied.map(|(region, _)| (region.clone(), Listed::Unknown(why.clone()))).collect()
            }
        };
        placements.placed.insert(placement.clone(), placed);
    }
    (placements, findings)
}

fn kind() -> GroupKind {
    GroupKind::new(MULTICLUSTER, "PlacementDecision")
}

/// The slices of a placement, by what sources bring that may bring cluster-scoped objects: a tenant's own slice lists
/// nothing.
fn slices<'s>(fleet: &Fleet, snapshot: &'s Snapshot, placement: &Placement, findings: &mut Vec<Finding>) -> Slices<'s> {
    let Placement { namespace, by } = placement;
    let unread = match by {
        PlacementBy::Name(name) => {
            let key = ObjectKey::new(kind(), Some(namespace.clone()), name.clone());
            snapshot.trusted_unread(&key)
        }
        PlacementBy::Key(_) => snapshot.trusted_unread_in(&kind(), namespace),
    };
    if let Some(unread) = unread {
        return Slices::Unknown(unread.why());
    }
    let is_meant = |object: &Object| match by {
        PlacementBy::Name(name) => object.key.name == *name,
        // A label that cannot be read may be this one.
        PlacementBy::Key(key) => match object.label(DECISION_KEY) {
            Some(label) => label == key,
            None => has_faults(object) || misspelt(object, key).is_some(),
        },
    };
    let all: Vec<Vec<&Object>> = of_kind(fleet, snapshot, namespace);
    let mut found = Vec::new();
    for copies in all.iter().filter(|copies| copies.iter().any(|copy| is_meant(copy))) {
        let Some(object) = copies.first() else { continue };
        if copies.iter().any(|copy| differs(fleet, object, copy)) {
            return Slices::Unknown(format!("{} says different things in different sources", object.key));
        }
        if has_faults(object) {
            findings.extend(faults(object).map(|fault| finding_of(fault, object)));
            return Slices::Unknown(format!("{} cannot be read", object.key));
        }
        if let PlacementBy::Key(key) = by
            && let Some(label) = misspelt(object, key)
        {
            let message = format!("label {label} is none that anybody reads");
            let help = format!("Did you mean {DECISION_KEY}?");
            findings.push(finding_of(&Fault::new(Code::UnreadableObject, message, help), object));
            return Slices::Unknown(format!("{} has label {label}, probably instead of {DECISION_KEY}", object.key));
        }
        // An overridden copy may have had the key.
        found.extend(Some(*object).filter(|object| is_meant(object)));
    }
    if found.is_empty() {
        let first = all.iter().filter_map(|copies| copies.first());
        let near = match by {
            PlacementBy::Key(key) => suggested(key, first.filter_map(|object| object.label(DECISION_KEY))),
            PlacementBy::Name(name) => suggested(name.as_str(), first.map(|object| object.key.name.as_str())),
        };
        findings.push(absent(fleet, placement, near));
    }
    match by {
        PlacementBy::Key(_) => lacks(&found).map_or(Slices::Known(found), Slices::Unknown),
        PlacementBy::Name(_) => Slices::Known(found),
    }
}

/// The label that stands where the decision key was probably meant to stand with this value, if one does.
fn misspelt<'o>(object: &'o Object, key: &str) -> Option<&'o str> {
    if object.label(DECISION_KEY).is_some() {
        return None;
    }
    let mut near =
        object.labels.iter().filter(|(label, value)| **value == *key && edits(label, DECISION_KEY).is_some());
    near.next().map(|(label, _)| &**label)
}

/// What is not there of a placement whose slices are numbered. A scheduler that writes them anew takes some away first; what
/// is behind the last one nobody can miss.
fn lacks(slices: &[&Object]) -> Option<String> {
    let numbers: BTreeSet<usize> = slices.iter().filter_map(|it| it.label(DECISION_INDEX)?.parse().ok()).collect();
    let (lacking, next) = numbers.iter().enumerate().find(|(place, number)| place != *number)?;
    Some(format!("there is a slice with {DECISION_INDEX} {next}, and none with {lacking}"))
}

/// The PlacementDecisions of a namespace, each with the copies of trusted sources.
fn of_kind<'s>(fleet: &Fleet, snapshot: &'s Snapshot, namespace: &Namespace) -> Vec<Vec<&'s Object>> {
    let kind = kind();
    let here = snapshot.all(&kind).filter(|object| object.key.namespace.as_ref() == Some(namespace));
    here.map(|object| trusted_copies(fleet, snapshot, &object.key)).collect()
}

/// What is wrong with a slice itself: that another source has another copy may be a tenant's doing.
fn faults(object: &Object) -> impl Iterator<Item = &Fault> {
    object.faults.iter().filter(|fault| fault.code != Code::Shadowed)
}

fn has_faults(object: &Object) -> bool {
    faults(object).next().is_some()
}

/// Whether a copy of a slice says something else, and is not overridden.
fn differs(fleet: &Fleet, counts: &Object, copy: &Object) -> bool {
    let number = |object: &Object| fleet.sources.iter().position(|source| source.name == object.origin.source);
    let overrides = number(counts).and_then(|number| fleet.sources.get(number)).is_some_and(|source| source.overrides);
    let is_same = copy.body == counts.body && copy.label(DECISION_KEY) == counts.label(DECISION_KEY);
    let is_overridden = overrides && number(copy) < number(counts);
    !is_same && !is_overridden
}

/// Tells of a placement of which there is no slice.
fn absent(fleet: &Fleet, placement: &Placement, near: Option<&str>) -> Finding {
    let message = format!("no source has a PlacementDecision of placement {placement}, so it lists no region");
    let any = ObjectKey::new(kind(), Some(placement.namespace.clone()), Name::from(""));
    let mut trusted = fleet.sources.iter().filter(|source| source.provides.cluster_scoped);
    let help = match near {
        Some(near) => format!("Did you mean {near}? Correct the placement in `grants`."),
        None if !trusted.any(|source| source.provides.admits(&any, &fleet.guarded)) => format!(
            "No source with `provides.clusterScoped` may provide objects of namespace {}: add it to `provides.namespaces` of one.",
            placement.namespace
        ),
        None => "Correct the placement in `grants`, or the objects in the sources.".to_string(),
    };
    Finding::new(Code::UnmatchedEntry, message).help(help)
}

/// The ClusterProfiles that slices list together, or why that is unknown.
fn profiles<'s>(
    slices: &[&'s Object],
    told: &mut BTreeSet<&'s ObjectKey>,
    findings: &mut Vec<Finding>,
) -> Result<BTreeSet<ProfileName<'s>>, String> {
    let mut profiles = BTreeSet::new();
    let mut unreadable = None;
    for object in slices {
        match placement::read(object) {
            Ok(more) => profiles.extend(more),
            Err(faults) => {
                // Several placements may have one slice.
                if told.insert(&object.key) {
                    findings.extend(faults.iter().map(|fault| finding_of(fault, object)));
                }
                unreadable = unreadable.or(Some(format!("{} cannot be read", object.key)));
            }
        }
    }
    unreadable.map_or(Ok(profiles), Err)
}

/// The regions that are tied to ClusterProfiles of a placement, or may be.
fn regions(
    fleet: &Fleet,
    snapshot: &Snapshot,
    profiles: &BTreeSet<ProfileName<'_>>,
    clusters: &BTreeMap<Region, ClusterFacts>,
) -> Placed {
    let taken = tied(clusters);
    // What is known beyond doubt of those that no region is tied to; most placements never ask.
    let free: OnceCell<Vec<(&str, Option<Profile>)>> = OnceCell::new();
    let read = || {
        let free = profiles.iter().filter(|profile| !taken.contains(*profile));
        let key = |(namespace, name): &ProfileName<'_>| {
            ObjectKey::new(profile_kind(), Some(Namespace::from(*namespace)), Name::from(*name))
        };
        free.map(|profile| (profile.0, certain(fleet, snapshot, &key(profile)))).collect()
    };
    let mut placed = Placed::new();
    for (region, config) in &fleet.regions {
        let (Some(cluster), Some(tie)) = (clusters.get(region), &config.inventory.cluster_profile) else { continue };
        // The ClusterProfiles of the placement that this region may be tied to.
        let namespace = tie.namespace.as_str();
        let may_be = || match &tie.by {
            ProfileBy::Name(name) => profiles.contains(&(namespace, name.as_str())),
            by @ (ProfileBy::Labels(_) | ProfileBy::Properties(_)) => {
                free.get_or_init(read).iter().any(|(of, profile)| {
                    *of == namespace && !profile.as_ref().is_some_and(|known| says_otherwise(by, known))
                })
            }
        };
        let listed = match &cluster.profile {
            Tied::Untied => None,
            Tied::To(key, ..) => profiles.contains(&named(key)).then_some(Listed::Yes),
            // A ClusterProfile that is gone takes nothing away: it may be made anew, and the placement still lists it.
            Tied::Absent(why) | Tied::Unknown(why) => may_be()
                .then(|| Listed::Unknown(format!("which ClusterProfile region {region} is tied to is unknown: {why}"))),
        };
        placed.extend(listed.map(|listed| (region.clone(), listed)));
    }
    placed
}

fn named(key: &ObjectKey) -> ProfileName<'_> {
    (key.namespace_text(), key.name.as_str())
}

/// The ClusterProfiles that regions are tied to.
fn tied(clusters: &BTreeMap<Region, ClusterFacts>) -> BTreeSet<ProfileName<'_>> {
    let keys = clusters.values().filter_map(|cluster| match &cluster.profile {
        Tied::To(key, ..) => Some(key),
        Tied::Untied | Tied::Absent(_) | Tied::Unknown(_) => None,
    });
    keys.map(named).collect()
}

/// Tells of ClusterProfiles of a placement that no region is tied to.
fn untied(
    placement: &Placement,
    profiles: &BTreeSet<ProfileName<'_>>,
    clusters: &BTreeMap<Region, ClusterFacts>,
) -> Option<Finding> {
    const SHOWN: usize = 5;
    let taken = tied(clusters);
    let untied: Vec<&ProfileName<'_>> = profiles.difference(&taken).collect();
    let names = untied.iter().map(|(namespace, name)| format!("{namespace}/{name}"));
    let names = few(names, untied.len(), SHOWN);
    let message = format!("placement {placement} lists ClusterProfiles that no region is tied to: {names}");
    let help = "If one of them is a region, add it to `regions` and tie it by `inventory.clusterProfile`.";
    (!untied.is_empty()).then(|| Finding::new(Code::Untied, message).help(help))
}
