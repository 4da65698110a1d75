//! Payloads: whether Cluster API would deliver what a ClusterResourceSet names, and what stands there in clear.
//!
//! Where Cluster API says nothing and delivers nothing, somebody has to. What stops a payload there breaks the claim: what
//! is published stays, and new clusters get that. Nothing here changes what is published of a payload.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::sharing::Heard;
use crate::capi::resource_set::{self, PAYLOAD_TYPE, ResourceSet};
use crate::claim::Claim;
use crate::closure::Closure;
use crate::finding::{Code, Finding};
use crate::guest_objects::{Found, GuestObject, LEAST_BYTES, Value, values};
use crate::listing::few;
use crate::name::{Claimant, Namespace, ObjectKey, is_template};
use crate::object::Object;
use crate::world::World;

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// How many places of what is in clear are told of one value.
const MOST_TOLD: usize = 5;

/// What is wrong with the payloads of a set.
pub(super) fn check(world: &World<'_>, claim: &Claim, closure: &Closure) -> Vec<Finding> {
    if !claim.by.is_resource_set() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for member in &closure.members {
        let Some(object) = world.snapshot.get(&member.read) else { continue };
        findings.extend(wrong_type(object));
        findings.extend(without_data(object));
        // What is there already goes nowhere.
        if !member.in_place {
            values(object).iter().for_each(|value| of_value(object, value, &mut findings));
        }
    }
    findings.into_iter().map(|finding| finding.claimed_by(&claim.by).in_region(claim.region())).collect()
}

/// A Secret of another type: Cluster API delivers nothing of a set that names one.
fn wrong_type(object: &Object) -> Option<Finding> {
    // Of a Secret that nobody looked at, the type is not known either.
    object.payload.as_ref()?;
    object.body.str_at(&["type"]).filter(|said| *said != PAYLOAD_TYPE)?;
    // Not quoted: what is no type may be a value.
    let message = format!(
        "{} is not of type {PAYLOAD_TYPE}, and Cluster API delivers nothing of a set that names such a Secret",
        object.key
    );
    let help = format!(
        "Write `type: {PAYLOAD_TYPE}`. Where the Secret is there already it has to be deleted first: types are immutable."
    );
    Some(Finding::new(Code::InvalidResourceSet, message).about(&object.key).at(&object.origin).help(help))
}

/// A ConfigMap whose entries were to be filled in.
fn without_data(object: &Object) -> Option<Finding> {
    let text = object.body.str_at(&["data"]).filter(|text| object.key.kind.is_config_map() && is_template(text));
    text?;
    let message = format!("data of {} is an unrendered template", object.key);
    Some(Finding::new(Code::UnrenderedTemplate, message).about(&object.key).at(&object.origin).help(RENDER))
}

/// What helps where a variable was left.
const RENDER: &str = "Give pouch what comes out of clusterctl, Flux or Helm, in which all variables are filled in.";

fn of_value(object: &Object, value: &Value<'_>, findings: &mut Vec<Finding>) {
    let Value { name, bytes, found } = value;
    let key = &object.key;
    let mut find = |code, message: String, help: &'static str| {
        findings.push(Finding::new(code, message).about(key).at(&object.origin).help(help));
    };
    if *bytes < LEAST_BYTES {
        let message = format!(
            "entry {name:?} of {key} has fewer than {LEAST_BYTES} bytes: Cluster API then delivers nothing of the payload, \
             and no condition says so"
        );
        find(Code::InvalidResourceSet, message, "Lengthen the entry with a comment, or take it out.");
    }
    if let Some(field) = found.unrendered {
        let message = format!("{field} is an unrendered template in entry {name:?} of {key}");
        find(Code::UnrenderedTemplate, message, RENDER);
    }
    if !key.kind.is_secret() {
        in_clear(object, value, findings);
    }
    let mut find = |code, message: String, help: &'static str| {
        findings.push(Finding::new(code, message).about(key).at(&object.origin).help(help));
    };
    let is_told = |found: &Found| !key.kind.is_secret() && found.unreadable.as_ref().is_some_and(|it| it.may_be_secret);
    if let Some(unreadable) = found.unreadable.as_ref().filter(|_| !is_told(found)) {
        let message = format!(
            "entry {name:?} of {key} cannot be read as manifests, line {}: {}; Cluster API may deliver nothing of the payload",
            unreadable.line, unreadable.what
        );
        find(Code::NothingDelivered, message, "Write YAML or JSON of whole objects; render it, if it is a template.");
    }
    if !found.unfilled.is_empty() {
        let named = few(&found.unfilled, found.unfilled.len(), MOST_NAMED);
        let message = format!("entry {name:?} of {key} holds a variable instead of a value, in {named}");
        find(Code::PlaceholderValue, message, "Write the value, or run what fills it in.");
    }
}

/// Secrets in a ConfigMap, which is not sealed.
fn in_clear(object: &Object, Value { name, found, .. }: &Value<'_>, findings: &mut Vec<Finding>) {
    let key = &object.key;
    let mut find = |message: String| {
        let help = format!(
            "Move it into a Secret of type {PAYLOAD_TYPE}, and name that in `resources` of the set: it is delivered alike, \
             and sealed."
        );
        findings.push(Finding::new(Code::InlineSecret, message).about(key).at(&object.origin).help(help));
    };
    if !found.secrets.is_empty() {
        let named = few(&found.secrets, found.secrets.len(), MOST_NAMED);
        find(format!("{key} holds {named} in entry {name:?}, and only Secrets are sealed"));
    }
    for place in found.in_clear.iter().take(MOST_TOLD) {
        find(format!("{key} holds what looks like a secret in entry {name:?}, {place}, and only Secrets are sealed"));
    }
    if let Some(unreadable) = found.unreadable.as_ref().filter(|unreadable| unreadable.may_be_secret) {
        find(format!(
            "{key} seems to hold a Secret in entry {name:?}, which cannot be read, line {}: {}; only Secrets are sealed",
            unreadable.line, unreadable.what
        ));
    }
}

/// A set that nothing stops, and what it would write.
struct Writer<'h> {
    by: &'h Claimant,
    set: ResourceSet,
    /// By which payload.
    objects: BTreeMap<GuestObject, &'h ObjectKey>,
}

/// Tells of sets that may write one object of one cluster: each takes it from the other, or only the first to come writes
/// it.
pub(super) fn contested(world: &World<'_>, heard: &mut [Heard]) {
    let mut by_namespace: BTreeMap<&Namespace, Vec<Writer<'_>>> = BTreeMap::new();
    let mut sets: BTreeMap<&Namespace, usize> = BTreeMap::new();
    for (claim, ..) in heard.iter().filter(|(claim, ..)| claim.by.is_resource_set()) {
        let count = sets.entry(&claim.by.namespace).or_default();
        *count = count.saturating_add(1);
    }
    sets.retain(|_, count| *count > 1);
    for heard in heard.iter().filter(|(claim, ..)| sets.contains_key(&claim.by.namespace)) {
        if let Some(writer) = writer(world, heard) {
            by_namespace.entry(&writer.by.namespace).or_default().push(writer);
        }
    }
    let mut told: BTreeMap<Claimant, BTreeMap<Claimant, BTreeSet<GuestObject>>> = BTreeMap::new();
    for writers in by_namespace.values() {
        // Most objects have one writer: only those with several are compared.
        let mut of_object: BTreeMap<&GuestObject, Vec<&Writer<'_>>> = BTreeMap::new();
        for writer in writers {
            writer.objects.keys().for_each(|object| of_object.entry(object).or_default().push(writer));
        }
        for (object, writers) in of_object.into_iter().filter(|(_, writers)| writers.len() > 1) {
            for (one, other) in pairs(&writers).filter(|(one, other)| {
                one.objects.get(object) != other.objects.get(object)
                    && one.set.selector.may_overlap(&other.set.selector)
            }) {
                for (by, other) in [(one.by, other.by), (other.by, one.by)] {
                    let others = told.entry(by.clone()).or_default();
                    others.entry(other.clone()).or_default().insert(object.clone());
                }
            }
        }
    }
    for (claim, _, findings) in heard {
        for (other, objects) in told.get(&claim.by).into_iter().flatten() {
            let named = few(objects, objects.len(), MOST_NAMED);
            let message = format!(
                "{} and {other} may both write {named} into one cluster: their selectors can choose the same Cluster",
                claim.by
            );
            let help = "Narrow one of the selectors, or let one set alone write the object.";
            let finding =
                Finding::new(Code::TwoWriters, message).about(&key_of(&claim.by)).at(&claim.origin).help(help);
            findings.push(finding.claimed_by(&claim.by).in_region(claim.region()));
        }
    }
}

/// The set that a claimant is.
fn key_of(by: &Claimant) -> ObjectKey {
    ObjectKey::new(resource_set::resource_set_kind(), Some(by.namespace.clone()), by.name.clone())
}

fn writer<'h>(world: &World<'_>, (claim, closure, findings): &'h Heard) -> Option<Writer<'h>> {
    if !claim.by.is_resource_set() || findings.iter().any(Finding::stops_claim) {
        return None;
    }
    let set = resource_set::read(&world.snapshot.get(&key_of(&claim.by))?.body).ok()?;
    // An empty selector chooses no Cluster.
    if set.selector.is_empty() {
        return None;
    }
    let mut objects = BTreeMap::new();
    for member in &closure.members {
        let Some(object) = world.snapshot.get(&member.read) else { continue };
        for value in values(object) {
            objects.extend(value.found.objects.into_iter().map(|object| (object, &member.read)));
        }
    }
    Some(Writer { by: &claim.by, set, objects })
}

/// The most sets that are compared with each other for one object: of more, one slip made all of them.
const MOST_COMPARED: usize = 32;

/// Every two of some writers.
fn pairs<'w, 'h>(writers: &'w [&'w Writer<'h>]) -> impl Iterator<Item = (&'w Writer<'h>, &'w Writer<'h>)> {
    let writers = writers.get(..MOST_COMPARED).unwrap_or(writers);
    let behind = |at: usize| writers.iter().skip(at.saturating_add(1));
    writers.iter().enumerate().flat_map(move |(at, one)| behind(at).map(move |other| (*one, *other)))
}
