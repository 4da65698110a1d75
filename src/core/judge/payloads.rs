//! Payloads: whether Cluster API would deliver what a ClusterResourceSet names, and what stands there in clear.
//!
//! Where Cluster API says nothing and delivers nothing, somebody has to. What stops a payload there breaks the claim: what
//! is published stays, and new clusters get that. Nothing here changes what is published of a payload. Thousands of sets may
//! name one payload: it is looked into once.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::resource_set::{self, PAYLOAD_TYPE, is_resource_set};
use crate::claim::Claim;
use crate::claim::resource_set::lints;
use crate::closure::Closure;
use crate::finding::{Code, Finding};
use crate::guest_objects::{Found, GuestObject, LEAST_BYTES, Value, Wording, values};
use crate::listing::few;
use crate::name::{ObjectKey, is_template};
use crate::object::{Object, finding_of, findings_of};
use crate::validity;
use crate::world::World;

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// How many places of what is in clear are told of one value.
const MOST_TOLD: usize = 5;

/// How many findings are told of the payloads of one set.
const MOST_OF_SET: usize = 64;

/// How many findings are told of one payload.
pub(super) const MOST_OF_OBJECT: usize = 16;

/// Keeps some findings of many; those that stop a claim are the last to go.
pub(super) fn kept_short(findings: &mut Vec<Finding>, most: usize) {
    if findings.len() > most {
        findings.sort_by_key(|finding| !finding.stops_claim());
        findings.truncate(most);
    }
}

/// What was seen of the payloads of a region's sets.
#[derive(Default)]
pub(super) struct Payloads {
    seen: BTreeMap<ObjectKey, Seen>,
}

/// What was seen of one payload.
struct Seen {
    /// What is wrong with it wherever it goes.
    always: Vec<Finding>,
    /// What is wrong with its values.
    values: Vec<Finding>,
    /// The objects that it would write.
    objects: BTreeMap<GuestObject, Wording>,
}

impl Payloads {
    /// The faults of the payloads of a set, or of the sets that a template makes and of their payloads.
    pub(super) fn check(&mut self, world: &World<'_>, claim: &Claim, closure: &Closure) -> Vec<Finding> {
        let is_set = claim.by.is_resource_set();
        if !is_set && (claim.by.template().is_none() || claim.is_for_guests()) {
            return Vec::new();
        }
        let (named, mut findings) = if is_set { (BTreeSet::new(), Vec::new()) } else { made_sets(world, closure) };
        for member in &closure.members {
            let Some(object) = world.snapshot.get(&member.read) else { continue };
            if !is_set {
                if named.contains(&member.lands) {
                    findings.extend(of_made(object));
                }
                continue;
            }
            let seen = self.seen.entry(member.read.clone()).or_insert_with(|| see(object));
            findings.extend(seen.always.iter().cloned());
            // What is there already goes nowhere.
            if !member.in_place {
                findings.extend(seen.values.iter().cloned());
            }
        }
        kept_short(&mut findings, MOST_OF_SET);
        findings.into_iter().map(|finding| finding.claimed_by(&claim.by).in_region(claim.region())).collect()
    }

    /// The objects that a payload would write.
    pub(super) fn objects(&self, key: &ObjectKey) -> impl Iterator<Item = (&GuestObject, &Wording)> {
        self.seen.get(key).into_iter().flat_map(|seen| &seen.objects)
    }
}

/// The payloads of the sets that a template makes, and what is wrong with these sets. A set delivers whatever has the name of
/// a payload: so the template has to make each, or a set could take what is another's into the clusters that it chooses.
fn made_sets(world: &World<'_>, closure: &Closure) -> (BTreeSet<ObjectKey>, Vec<Finding>) {
    let own: BTreeSet<&ObjectKey> = closure.members.iter().map(|member| &member.lands).collect();
    let (mut named, mut findings) = (BTreeSet::new(), Vec::new());
    for member in closure.members.iter().filter(|member| is_resource_set(&member.lands.kind)) {
        let Some(object) = world.snapshot.get(&member.read) else { continue };
        match resource_set::read(&object.body) {
            Ok(set) => {
                findings.extend(lints(object, &set));
                for (kind, name) in set.payloads {
                    let payload = ObjectKey::new(kind, member.lands.namespace.clone(), name);
                    findings.extend((!own.contains(&payload)).then(|| not_made(object, &payload)));
                    named.insert(payload);
                }
            }
            Err(faults) => findings.extend(findings_of(&faults, object)),
        }
    }
    (named, findings)
}

fn not_made(set: &Object, payload: &ObjectKey) -> Finding {
    let message = format!("the set names {payload}, which the template does not make for this namespace");
    let help = "Let the template make each payload of its sets, or take the name out of `resources`.";
    Finding::new(Code::MissingReference, message).about(&set.key).at(&set.origin).help(help)
}

/// The faults of a payload that a template makes. What a Secret of it holds comes of values, and a finding names what it
/// finds: so nothing is said of that.
fn of_made(object: &Object) -> Vec<Finding> {
    let Seen { mut always, values, .. } = see(object);
    if !object.key.kind.is_secret() {
        always.extend(values);
    }
    always
}

fn see(object: &Object) -> Seen {
    let mut always: Vec<Finding> = wrong_type(object).into_iter().chain(without_data(object)).collect();
    let mut seen = Seen { always: Vec::new(), values: Vec::new(), objects: BTreeMap::new() };
    // What is too large, or could not be opened, is not looked into: something else stops it.
    let faults =
        object.faults.iter().chain(&validity::faults(object)).any(|fault| finding_of(fault, object).stops_claim());
    if !faults && always.is_empty() {
        let values = values(object);
        always.extend(without_entry(object, &values));
        for value in values {
            of_value(object, &value, &mut seen.values);
            seen.objects.extend(value.found.objects);
        }
    }
    kept_short(&mut seen.values, MOST_OF_OBJECT);
    seen.always = always;
    seen
}

/// A payload without entries: Cluster API takes that for an error, and delivers nothing of it.
fn without_entry(object: &Object, values: &[Value<'_>]) -> Option<Finding> {
    // Of a Secret that nobody looked at, no entry is known.
    let is_unseen = object.payload.as_ref().is_some_and(|secret| !secret.is_seen());
    if is_unseen || values.iter().any(|value| !value.is_binary) {
        return None;
    }
    let message =
        format!("{} has no entry in `data`: Cluster API delivers nothing of it, and no condition says so", object.key);
    let help =
        "Write the manifests under `data`, or under `stringData` of a Secret; until then what is published stays.";
    Some(Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin).help(help))
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
    Some(Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin).help(help))
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
    let Value { name, bytes, is_binary, found } = value;
    let key = &object.key;
    if *is_binary {
        return in_clear(object, value, findings);
    }
    let mut find = |code, message: String, help: &'static str| {
        findings.push(Finding::new(code, message).about(key).at(&object.origin).help(help));
    };
    if *bytes < LEAST_BYTES {
        let message = format!(
            "entry {name:?} of {key} has fewer than {LEAST_BYTES} bytes: Cluster API then delivers nothing of the payload, \
             and no condition says so"
        );
        find(Code::InvalidObject, message, "Lengthen the entry with a comment, or take it out.");
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
    if let Some(form) = found.undelivered {
        let message = format!(
            "entry {name:?} of {key} holds {form}: Cluster API delivers nothing of that, and no condition says so"
        );
        find(Code::NothingDelivered, message, "Write each object as a document of its own, with `---` between them.");
    }
    if !found.unfilled.is_empty() {
        let named = few(&found.unfilled, found.unfilled.len(), MOST_NAMED);
        let message =
            format!("entry {name:?} of {key} holds a variable or a placeholder instead of a value, in {named}");
        let help = match key.kind.is_secret() {
            true => "Write the value, or run what fills it in.",
            false => {
                "Move the manifest into a Secret before the value is filled in: in a ConfigMap that breaks the set."
            }
        };
        find(Code::PlaceholderValue, message, help);
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

#[cfg(test)]
mod tests;
