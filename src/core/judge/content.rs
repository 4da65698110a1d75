//! Content: what an object holds that must not leave, or that an API rejects, wherever the object goes.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi;
use crate::cleartext::inline_secrets;
use crate::cleartext::own::{OwnValues, stand_in_names};
use crate::finding::{Code, Finding, Severity};
use crate::name::{is_dns_label, is_dns_subdomain};
use crate::node::Key;
use crate::object::steering::steers;
use crate::object::{Object, finding_of};
use crate::validity;
use crate::world::World;

/// The most labels, and the most annotations, that are told of those that hold a value.
const MOST_TOLD: usize = 8;

/// What is wrong with an object, wherever it goes.
pub(super) fn check_content(world: &World<'_>, object: &Object) -> Vec<Finding> {
    let mut findings = check_held(world, object);
    findings.extend(check_metadata(object));
    findings.extend(own_values(object, object));
    findings
}

/// What is wrong with a copy of a Secret, which has labels and annotations of its own and the Secret's values.
pub(super) fn check_copy(world: &World<'_>, secret: &Object, copy: &Object) -> Vec<Finding> {
    let mut findings = check_held(world, secret);
    findings.extend(check_metadata(copy));
    findings.extend(own_values(secret, copy));
    findings
}

/// The places outside of `data` that hold a value of a Secret. A label or an annotation is left out of what is published. A
/// name or a type cannot be: it stops the claim.
fn own_values(secret: &Object, copy: &Object) -> Vec<Finding> {
    let Some(payload) = secret.payload.as_ref().filter(|payload| payload.is_seen()) else { return Vec::new() };
    let own = OwnValues::of(secret);
    let find = |message: String, help: &'static str| {
        Finding::new(Code::InlineSecret, message).about(&copy.key).at(&copy.origin).help(help)
    };
    let mut findings = Vec::new();
    for (field, pairs) in [("labels", &copy.labels), ("annotations", &copy.annotations)] {
        let holds = |(key, text): &&(Key, Box<str>)| !steers(key) && own.stand_in(key, text);
        for (key, _) in pairs.iter().filter(holds).take(MOST_TOLD) {
            let key = if own.values().stand_in(key) { "one whose key holds it" } else { &**key };
            let message = format!(
                "{} holds a value of its own in metadata.{field}, {key}, which is left out: only `data` is sealed",
                copy.key
            );
            let help = "Remove it from the object or from the rule, and replace the value if it was published so.";
            findings.push(find(message, help).severity(Severity::Warning));
        }
    }
    let names = [copy.key.name.as_str(), copy.key.namespace_text()].into_iter();
    // The message names nothing of it: the value may be the name.
    if stand_in_names(payload, names.chain(secret.body.str_at(&["type"]))) {
        let message = String::from(
            "a Secret holds a value of its own in its name, its namespace, its type or the name of an entry, which everybody \
             can read who reads the bundle",
        );
        let help = "Rename it, and replace the value: it stands in the open where the object stands.";
        findings.push(Finding::new(Code::InlineSecret, message).at(&copy.origin).help(help));
    }
    findings
}

/// What is wrong with the labels and annotations of an object.
fn check_metadata(object: &Object) -> impl Iterator<Item = Finding> {
    validity::metadata::check(object).into_iter().map(|fault| finding_of(&fault, object))
}

/// What is wrong with what an object holds, whatever its labels and annotations.
fn check_held(world: &World<'_>, object: &Object) -> Vec<Finding> {
    let mut findings: Vec<Finding> = object.faults.iter().map(|fault| finding_of(fault, object)).collect();
    let find = |code, message: String, help: &'static str| {
        Finding::new(code, message).about(&object.key).at(&object.origin).help(help)
    };
    if let Some(why) = object.stays {
        let message = format!("{} never leaves its cluster: {why}", object.key);
        findings.push(find(Code::ForbiddenType, message, "Refer to another Secret."));
    } else if object.key.kind.is_secret() && world.facts.kubeconfigs.contains(&object.key.name) {
        let message = format!("{} never leaves its cluster: it is named as the kubeconfig of a Region", object.key);
        findings.push(find(Code::ForbiddenType, message, "Refer to another Secret, or rename this one."));
    }
    let names = is_dns_subdomain(object.key.name.as_str())
        && object.key.namespace.as_ref().is_none_or(|namespace| is_dns_label(namespace.as_str()));
    if !names {
        let message = format!("{} has a name or namespace that the API refuses", object.key);
        findings.push(find(Code::InvalidObject, message, "Use lower-case letters, digits, dashes and dots."));
    }
    findings.extend(validity::faults(object).iter().map(|fault| finding_of(fault, object)));
    if object.key.kind.is_secret() {
        return findings;
    }
    for field in inline_secrets(object) {
        let message = format!("{} holds what looks like a secret in {field}, and only Secrets are sealed", object.key);
        findings.push(find(Code::InlineSecret, message, "Move the value into a Secret and refer to it."));
    }
    // What a mistyped field says is missing from all others.
    if !object.key.kind.is_config_map() && !object.is_mistyped() {
        let definition = world.snapshot.definitions.get(&object.key.kind);
        let schema = definition.and_then(|definition| definition.schemas.get(&object.version));
        let of_spec = validity::faults_of_spec(object, capi::rules(&object.key.kind), schema);
        findings.extend(of_spec.iter().map(|fault| finding_of(fault, object)));
    }
    findings
}
