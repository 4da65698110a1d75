//! An object held to its schema.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use core::cmp::Ordering;

use super::super::identity::{missing, none_of, say, unknown, wrong_type};
use super::super::nulls::below;
use super::{Bound, Schema, Type};
use crate::finding::Fault;
use crate::node::{Key, Node};
use crate::object::Object;

/// Fields of every object, which no schema describes.
const OF_EVERY_OBJECT: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The least number that is no integer of 64 bits to an API server, nor is what is above it.
const TOO_LARGE: f64 = 9_223_372_036_854_775_808.0;

impl Schema {
    /// Faults of an object of the kind, as it is published: its `spec`, without what is null in it.
    pub fn check(&self, object: &Object) -> Vec<Fault> {
        let kind = object.key.kind.kind.as_str();
        let mut faults = Vec::new();
        let spec = object.at(&["spec"]);
        match (spec, self.field("spec")) {
            (Some(node), Some(schema)) => schema.check_value(node, "spec", kind, &mut faults),
            (Some(_), None) if !self.open => {
                say(
                    &mut faults,
                    format!("{kind} has no field spec"),
                    "Only `spec` is published of the kind.".to_owned(),
                );
            }
            _ => {}
        }
        let is_there = |key: &str| (key == "spec" && spec.is_some()) || OF_EVERY_OBJECT.contains(&key);
        for key in self.lacking(is_there) {
            missing(key, &mut faults);
        }
        faults
    }

    fn check_value(&self, node: &Node, at: &str, kind: &str, faults: &mut Vec<Fault>) {
        if matches!(node, Node::Null) && self.nullable {
            return;
        }
        if !self.of.fits(node) {
            return wrong_type(at, node, self.of.name(), faults);
        }
        self.check_words(node, at, faults);
        match node {
            Node::Map(entries) => self.check_map(entries, at, kind, faults),
            Node::List(items) => self.check_list(items, at, kind, faults),
            Node::Text(text) => self.check_text(text, at, faults),
            _ => self.check_number(node, at, faults),
        }
    }

    fn check_map(&self, entries: &[(Key, Node)], at: &str, kind: &str, faults: &mut Vec<Fault>) {
        let present = || entries.iter().filter(|(_, value)| !matches!(value, Node::Null));
        self.check_count(present().count(), at, ["field", "fields"], faults);
        for (key, value) in entries {
            match (self.field(key), &self.others) {
                // An API server drops a null field, known or not.
                _ if matches!(value, Node::Null) => {}
                (Some(field), _) => field.check_value(value, &below(at, key), kind, faults),
                (None, Some(others)) => others.check_value(value, &below(at, key), kind, faults),
                (None, None) if self.open => {}
                (None, None) => unknown(self.fields.iter().map(|(key, _)| &**key), key, at, kind, faults),
            }
        }
        for key in self.lacking(|key| present().any(|(name, _)| **name == *key)) {
            missing(&below(at, key), faults);
        }
    }

    /// The required fields that are not there and that no API server fills in.
    fn lacking(&self, is_there: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
        let is_filled = |key: &str| self.field(key).is_some_and(|field| field.has_default);
        self.required.iter().map(|key| &**key).filter(move |key| !is_there(key) && !is_filled(key))
    }

    fn check_list(&self, items: &[Node], at: &str, kind: &str, faults: &mut Vec<Fault>) {
        self.check_count(items.len(), at, ["item", "items"], faults);
        for (index, item) in items.iter().enumerate() {
            if let Some(schema) = &self.items {
                schema.check_value(item, &format!("{at}[{index}]"), kind, faults);
            }
        }
        let Some(keys) = &self.distinct else { return };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let told_by: Option<Vec<&str>> = match keys.is_empty() {
                true => item.as_str().map(|text| vec![text]),
                false => keys.iter().map(|key| item.str_at(&[key])).collect(),
            };
            if told_by.is_some_and(|told_by| !seen.insert(told_by)) {
                say(faults, format!("{at}[{index}] is there already"), "Remove one of the two.".to_owned());
            }
        }
    }

    fn check_text(&self, text: &str, at: &str, faults: &mut Vec<Fault>) {
        let is_empty = text.is_empty() && self.count.least.is_some_and(|least| least > 0);
        if is_empty {
            say(faults, format!("{at} is empty"), "Fill it in.".to_owned());
        } else {
            self.check_count(text.chars().count(), at, ["character", "characters"], faults);
        }
        if !is_empty && self.pattern.as_ref().is_some_and(|pattern| !pattern.matches(text)) {
            let help = "Write it as the provider's documentation shows.";
            say(faults, format!("{at} is not of the form that its CustomResourceDefinition wants"), help.to_owned());
        }
    }

    fn check_count(&self, count: usize, at: &str, [one, many]: [&str; 2], faults: &mut Vec<Fault>) {
        let of = |number: usize| if number == 1 { one } else { many };
        if let Some(least) = self.count.least.filter(|least| count < *least) {
            say(faults, format!("{at} has fewer than {least} {}", of(least)), "Add what is missing.".to_owned());
        }
        if let Some(most) = self.count.most.filter(|most| count > *most) {
            say(faults, format!("{at} has more than {most} {}", of(most)), "Shorten it.".to_owned());
        }
    }

    fn check_number(&self, node: &Node, at: &str, faults: &mut Vec<Fault>) {
        let is_below = |bound: &Bound, beyond: Ordering| {
            order(node, &bound.number).is_some_and(|order| order == beyond || (order.is_eq() && bound.is_excluded))
        };
        let (lowest, highest) = match self.of {
            Type::Int { is_short: true } => (i64::from(i32::MIN), i64::from(i32::MAX)),
            _ => (i64::MIN, i64::MAX),
        };
        let is_integer = matches!(self.of, Type::Int { .. });
        let is_beyond = |bound: i64, beyond: Ordering| order(node, &Node::Int(bound)) == Some(beyond);
        let is_large = matches!(node, Node::Float(number) if number.abs() >= TOO_LARGE);
        let fits =
            !is_integer || !(is_large || is_beyond(lowest, Ordering::Less) || is_beyond(highest, Ordering::Greater));
        let is_within = !self.least.as_ref().is_some_and(|least| is_below(least, Ordering::Less))
            && !self.most.as_ref().is_some_and(|most| is_below(most, Ordering::Greater));
        if !fits || !is_within {
            say(faults, format!("{at} is a number beyond the bounds of the field"), "Change the number.".to_owned());
        }
    }

    fn check_words(&self, node: &Node, at: &str, faults: &mut Vec<Fault>) {
        let Node::Text(text) = node else { return };
        let words: Vec<&str> = self.words.iter().filter_map(Node::as_str).collect();
        if !self.words.is_empty() && !words.contains(&&**text) {
            none_of(&words, text, at, faults);
        }
    }
}

impl Type {
    fn fits(self, node: &Node) -> bool {
        match self {
            Type::Any => true,
            Type::Map => node.is_map(),
            Type::List => matches!(node, Node::List(_)),
            Type::Text => matches!(node, Node::Text(_)),
            Type::Int { .. } => match node {
                Node::Float(number) => number % 1.0 == 0.0,
                other => matches!(other, Node::Int(_) | Node::Uint(_)),
            },
            Type::Number => matches!(node, Node::Int(_) | Node::Uint(_) | Node::Float(_)),
            Type::Bool => matches!(node, Node::Bool(_)),
            Type::IntOrText => matches!(node, Node::Int(_) | Node::Uint(_) | Node::Text(_)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Type::Any => "a value",
            Type::Map => "a map",
            Type::List => "a list",
            Type::Text => "text",
            Type::Int { .. } => "an integer",
            Type::Number => "a number",
            Type::Bool => "a boolean",
            Type::IntOrText => "an integer or text",
        }
    }
}

/// How two numbers stand to each other, where that can be told.
fn order(a: &Node, b: &Node) -> Option<Ordering> {
    let whole = |node: &Node| match node {
        Node::Int(number) => Some(i128::from(*number)),
        Node::Uint(number) => Some(i128::from(*number)),
        _ => None,
    };
    let real = |node: &Node| match node {
        Node::Float(number) => Some(*number),
        other => i32::try_from(whole(other)?).ok().map(f64::from),
    };
    match (whole(a), whole(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => real(a)?.partial_cmp(&real(b)?),
    }
}
