//! Contested: objects of a guest cluster that two ClusterResourceSets may write.
//!
//! Payloads are compared, not sets: many sets may name one, and that is no contest. What two payloads say in the same words
//! is none either.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::payloads::Payloads;
use super::sharing::Heard;
use crate::capi::resource_set;
use crate::finding::{Code, Finding};
use crate::guest_objects::{GuestObject, Wording};
use crate::kinds;
use crate::listing::few;
use crate::name::{Claimant, Namespace, ObjectKey};
use crate::selector::Selector;
use crate::world::World;

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// The most payloads that are compared for one object, the most sets of one payload, and the most others that one set is
/// told of: of more, one slip made all of them.
const MOST_COMPARED: usize = 8;

/// A set that nothing stops.
struct Writer<'h> {
    /// Its place among those that were heard.
    at: usize,
    selector: Selector,
    payloads: Vec<&'h ObjectKey>,
}

/// Some objects: how many there are, and the first of them.
#[derive(Default)]
struct Several {
    count: usize,
    first: BTreeSet<GuestObject>,
}

impl Several {
    fn add<'o>(&mut self, count: usize, objects: impl IntoIterator<Item = &'o GuestObject>) {
        self.count += count;
        for object in objects {
            if self.first.len() < MOST_NAMED {
                self.first.insert(object.clone());
            }
        }
    }
}

/// What each set may write that another writes too, both by their places.
type Told = BTreeMap<usize, BTreeMap<usize, Several>>;

/// Tells of sets that may write one object of one cluster: each takes it from the other, or only the first to come writes
/// it.
pub(super) fn contested(world: &World<'_>, payloads: &Payloads, heard: &mut [Heard]) {
    let mut told = Told::new();
    for writers in writers(world, heard).values().filter(|writers| writers.len() > 1) {
        compare(payloads, writers, &mut told);
    }
    let names: BTreeMap<usize, Claimant> =
        told.keys().filter_map(|at| heard.get(*at).map(|heard| (*at, heard.claim.by.clone()))).collect();
    for (at, others) in told {
        let Some(Heard { claim, findings, .. }) = heard.get_mut(at) else { continue };
        let others: BTreeMap<&Claimant, Several> =
            others.into_iter().filter_map(|(other, objects)| Some((names.get(&other)?, objects))).collect();
        for (other, Several { count, first }) in others {
            let named = few(&first, count, MOST_NAMED);
            let message = format!(
                "{} and {other} may both write {named} into one cluster: their selectors can choose the same Cluster",
                claim.by
            );
            let help = "Narrow one of the selectors, or let one set alone write the object.";
            let mut finding = Finding::new(Code::TwoWriters, message).at(&claim.origin).help(help);
            finding.object = kinds::claimant(&claim.by);
            findings.push(finding.claimed_by(&claim.by).in_region(claim.region()));
        }
    }
}

/// The sets that may write something, by their namespaces, of which each has several.
fn writers<'h>(world: &World<'_>, heard: &'h [Heard]) -> BTreeMap<&'h Namespace, Vec<Writer<'h>>> {
    let is_writer = |heard: &Heard| heard.claim.by.is_resource_set() && !heard.is_stopped();
    let mut places: BTreeMap<&Namespace, Vec<usize>> = BTreeMap::new();
    for (at, heard) in heard.iter().enumerate().filter(|(_, heard)| is_writer(heard)) {
        places.entry(heard.claim.by.namespace()).or_default().push(at);
    }
    let of = |at: usize| {
        let Heard { claim, closure, .. } = heard.get(at)?;
        let set = resource_set::read(&world.snapshot.get(&kinds::claimant(&claim.by)?)?.body).ok()?;
        // An empty selector chooses no Cluster.
        let payloads = closure.members.iter().map(|member| &member.read).collect();
        (!set.selector.is_empty()).then_some(Writer { at, selector: set.selector, payloads })
    };
    let several = places.into_iter().filter(|(_, places)| places.len() > 1);
    several.map(|(namespace, places)| (namespace, places.into_iter().filter_map(of).collect())).collect()
}

/// Compares the sets of one namespace.
fn compare(payloads: &Payloads, writers: &[Writer<'_>], told: &mut Told) {
    let mut naming: BTreeMap<&ObjectKey, Vec<&Writer<'_>>> = BTreeMap::new();
    for writer in writers {
        for payload in &writer.payloads {
            let named = naming.entry(payload).or_default();
            if named.len() < MOST_COMPARED {
                named.push(writer);
            }
        }
    }
    // Most objects stand in one payload: only those of several are compared.
    let mut of_object: BTreeMap<&GuestObject, Vec<(&ObjectKey, Wording)>> = BTreeMap::new();
    for payload in naming.keys() {
        for (object, wording) in payloads.objects(payload) {
            let standing = of_object.entry(object).or_default();
            if standing.len() < MOST_COMPARED {
                standing.push((payload, *wording));
            }
        }
    }
    let mut pairs: BTreeMap<(&ObjectKey, &ObjectKey), Several> = BTreeMap::new();
    for (object, standing) in &of_object {
        for (at, (one, wording)) in standing.iter().enumerate() {
            for (other, others) in standing.iter().skip(at + 1) {
                if wording.is_none() || wording != others {
                    pairs.entry((one, other)).or_default().add(1, [*object]);
                }
            }
        }
    }
    for ((one, other), objects) in &pairs {
        let of = |payload| naming.get(payload).into_iter().flatten();
        // Of two sets that both name both, one comparison tells it.
        let mut compared = BTreeSet::new();
        for one in of(one) {
            for other in of(other) {
                let is_new = compared.insert((one.at.min(other.at), one.at.max(other.at)));
                if is_new && one.at != other.at && one.selector.may_overlap(&other.selector) {
                    tell(told, one.at, other.at, objects);
                    tell(told, other.at, one.at, objects);
                }
            }
        }
    }
}

fn tell(told: &mut Told, by: usize, other: usize, objects: &Several) {
    let others = told.entry(by).or_default();
    if others.len() < MOST_COMPARED || others.contains_key(&other) {
        others.entry(other).or_default().add(objects.count, &objects.first);
    }
}
