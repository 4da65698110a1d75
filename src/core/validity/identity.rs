//! Faults of an identity that a region's API would reject: fields, types, names.
//!
//! A table per kind, compared in tests with the providers' CRDs. Every message names fields and never a
//! value: a secret in the wrong place must not become a message.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::KindRules;
use crate::capi::shape::Shape;
use crate::capi::tenancy::Tenancy;
use crate::finding::{Code, Fault};
use crate::lenient::quoted;
use crate::listing::all;
use crate::name::{is_dns_label, is_dns_subdomain};
use crate::nearest::nearest;
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Selector, UnusableSelector};

/// The most faults that are reported for one object; the next ones would say the same.
const MOST_FAULTS: usize = 16;

/// The most fields that a help line lists, more than any built-in kind has.
const MOST_NAMES: usize = 24;

/// Faults of an object of a built-in kind that a region's API or the provider's webhook would reject.
pub fn check(rules: &KindRules, object: &Object) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_name(rules, object, &mut faults);
    let nothing = Node::empty_map();
    let spec = object.at(&["spec"]).unwrap_or(&nothing);
    check_shape(&Shape::Map(rules.spec), spec, "spec", rules.kind, &mut faults);
    check_webhook(rules, spec, &mut faults);
    faults
}

/// The faults of an object of a built-in kind that no schema knows of.
pub(super) fn check_beside_schema(rules: &KindRules, object: &Object) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_name(rules, object, &mut faults);
    check_webhook(rules, object.at(&["spec"]).unwrap_or(&Node::empty_map()), &mut faults);
    faults
}

fn check_name(rules: &KindRules, object: &Object, faults: &mut Vec<Fault>) {
    check_names(object, faults);
    if let Some(name) = rules.singleton.filter(|name| object.key.name != *name) {
        let message = format!("the only {} that can exist is called {name:?}", rules.kind);
        say(faults, message, format!("Call it {name}, or refer to that one."));
    }
}

/// Checks what the provider's webhook rejects although the CRD does not.
fn check_webhook(rules: &KindRules, spec: &Node, faults: &mut Vec<Fault>) {
    for path in rules.also_required {
        if spec.is_map() && spec.at(path.strip_prefix(&["spec"]).unwrap_or(path)).is_none() {
            missing(&path.join("."), faults);
        }
    }
    if rules.tenancy == Tenancy::Aws
        && let Some(Err(UnusableSelector::Refused(why))) =
            spec.at(&["allowedNamespaces", "selector"]).map(Selector::read)
    {
        let message = format!("spec.allowedNamespaces.selector is none that Kubernetes takes: {why}");
        say(faults, message, "Write it as a label selector.".to_owned());
    }
}

/// Checks an object's own names, which the API bounds for every kind.
pub(super) fn check_names(object: &Object, faults: &mut Vec<Fault>) {
    if !is_dns_subdomain(object.key.name.as_str()) {
        let help = "Use at most 253 lower-case letters, digits, dashes and dots, alphanumeric around each dot.";
        say(faults, "metadata.name is not a DNS-1123 subdomain".to_owned(), help.to_owned());
    }
    if object.key.namespace.as_ref().is_some_and(|namespace| !is_dns_label(namespace.as_str())) {
        let help = "Use at most 63 lower-case letters, digits and dashes, alphanumeric at both ends.";
        say(faults, "metadata.namespace is not a DNS-1123 label".to_owned(), help.to_owned());
    }
}

pub(super) fn say(faults: &mut Vec<Fault>, message: String, help: String) {
    if faults.len() < MOST_FAULTS {
        faults.push(Fault::new(Code::InvalidObject, message, help));
    }
}

pub(super) fn missing(field: &str, faults: &mut Vec<Fault>) {
    say(faults, format!("{field} is missing"), "Fill it in.".to_owned());
}

fn check_shape(shape: &Shape, node: &Node, at: &str, kind: &str, faults: &mut Vec<Fault>) {
    match (shape, node) {
        (Shape::Any, _) => {}
        (Shape::Map(fields), Node::Map(entries)) => {
            for (key, value) in entries {
                match fields.iter().find(|field| *field.name == **key) {
                    // In every field of these kinds the API treats null as absent.
                    Some(_) if matches!(value, Node::Null) => {}
                    Some(field) => check_shape(&field.shape, value, &format!("{at}.{}", field.name), kind, faults),
                    None => unknown(fields.iter().map(|field| field.name), key, at, kind, faults),
                }
            }
            for field in fields.iter().filter(|field| field.required && node.at(&[field.name]).is_none()) {
                missing(&format!("{at}.{}", field.name), faults);
            }
        }
        (Shape::List(inner), Node::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                check_shape(inner, item, &format!("{at}[{index}]"), kind, faults);
            }
        }
        (Shape::TextMap, Node::Map(entries)) => {
            for (key, value) in entries.iter().filter(|(_, value)| value.as_str().is_none()) {
                wrong_type(&format!("key {} of {at}", quoted(key)), value, "text", faults);
            }
        }
        (Shape::Text { least, most }, Node::Text(text)) => {
            let length = text.chars().count();
            if length < *least {
                say(faults, format!("{at} is empty"), "Fill it in.".to_owned());
            }
            if let Some(most) = most.filter(|most| length > *most) {
                say(faults, format!("{at} is longer than {most} characters"), "Shorten it.".to_owned());
            }
        }
        (Shape::OneOf(words), Node::Text(text)) if !words.contains(&&**text) => none_of(words, text, at, faults),
        (Shape::OneOf(_), Node::Text(_)) => {}
        (Shape::Int { least, most }, Node::Int(_) | Node::Uint(_)) => {
            if !matches!(node, Node::Int(value) if (*least..=*most).contains(value)) {
                say(faults, format!("{at} is not between {least} and {most}"), "Change the number.".to_owned());
            }
        }
        (shape, node) => wrong_type(at, node, shape.name(), faults),
    }
}

pub(super) fn none_of(words: &[&str], text: &str, at: &str, faults: &mut Vec<Fault>) {
    let help = match nearest(text, words.iter().copied()) {
        Some(word) => format!("Did you mean {word}?"),
        None => "Write one of them.".to_owned(),
    };
    say(faults, format!("{at} is not one of {}", words.join(", ")), help);
}

pub(super) fn wrong_type(at: &str, node: &Node, wanted: &str, faults: &mut Vec<Fault>) {
    let help = match (node, wanted) {
        (Node::Text(_), "a map") => "Write it as a map; after a colon YAML wants a space.",
        (_, "text") => "Quote the value, so that YAML reads it as text.",
        _ => "Write it as the provider's documentation shows.",
    };
    say(faults, format!("{at} is {}, not {wanted}", node.type_name()), help.to_owned());
}

pub(super) fn unknown<'n>(
    fields: impl Iterator<Item = &'n str> + Clone,
    key: &str,
    at: &str,
    kind: &str,
    faults: &mut Vec<Fault>,
) {
    if faults.len() >= MOST_FAULTS {
        return;
    }
    let help = match nearest(key, fields.clone()) {
        Some(name) => format!("Did you mean {name}?"),
        None => format!("Remove it; {at} has {}.", all(fields.take(MOST_NAMES))),
    };
    say(faults, format!("{at} has no field {} in {kind}", quoted(key)), help);
}
