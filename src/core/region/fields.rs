//! Fields: how an object that stands open in a bundle differs from its published copy.
//!
//! Only of objects that are not sealed: what is shown here stands in the bundle for everybody who can read it.

use alloc::borrow::ToOwned as _;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::listing::cut;
use crate::node::Node;

/// How many fields of one object are told.
const MOST_FIELDS: usize = 100;

/// How many characters of a value are told.
const MOST_CHARS: usize = 120;

/// One field that differs.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FieldChange {
    /// The path, such as `spec.allowedNamespaces.list[0]`.
    pub path: String,
    /// What is published; none where it has no such field.
    pub before: Option<String>,
    /// What is to be published; none where the field goes.
    pub after: Option<String>,
}

/// The fields that differ between two documents, at most 100, in the order of their paths.
pub fn differences(before: &Node, after: &Node) -> Vec<FieldChange> {
    let mut fields = Vec::new();
    compare("", Some(before), Some(after), &mut fields);
    fields
}

fn compare(path: &str, before: Option<&Node>, after: Option<&Node>, fields: &mut Vec<FieldChange>) {
    if fields.len() >= MOST_FIELDS || before == after {
        return;
    }
    match (before, after) {
        (Some(one @ Node::Map(_)), Some(other @ Node::Map(_))) => {
            let keys: BTreeSet<&str> = one.entries().iter().chain(other.entries()).map(|(key, _)| &**key).collect();
            for key in keys {
                compare(&below(path, key), one.get(key), other.get(key), fields);
            }
        }
        (Some(Node::List(one)), Some(Node::List(other))) => {
            for at in 0..one.len().max(other.len()) {
                compare(&format!("{path}[{at}]"), one.get(at), other.get(at), fields);
            }
        }
        (before, after) => {
            let (before, after) = (before.map(shown), after.map(shown));
            fields.push(FieldChange { path: path.to_owned(), before, after });
        }
    }
}

/// The path of a key: names as they are, whatever else in brackets.
fn below(path: &str, key: &str) -> String {
    let is_name = !key.is_empty() && key.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    match (is_name, path.is_empty()) {
        (true, true) => key.to_owned(),
        (true, false) => format!("{path}.{key}"),
        (false, _) => format!("{path}[{key:?}]"),
    }
}

/// A value in a line.
fn shown(node: &Node) -> String {
    let text = match node {
        Node::Null => String::from("null"),
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::Uint(value) => value.to_string(),
        Node::Float(value) => value.to_string(),
        Node::Time(value) => value.to_string(),
        Node::Text(text) => format!("{text:?}"),
        Node::List(items) => {
            let items: Vec<String> = items.iter().take(MOST_FIELDS).map(shown).collect();
            format!("[{}]", items.join(", "))
        }
        Node::Map(entries) | Node::InOrder(entries) => {
            let entries: Vec<String> =
                entries.iter().take(MOST_FIELDS).map(|(key, value)| format!("{key}: {}", shown(value))).collect();
            format!("{{{}}}", entries.join(", "))
        }
    };
    cut(&text, MOST_CHARS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::region::published::document;

    fn told(before: &str, after: &str) -> Vec<String> {
        let [before, after] = [before, after].map(|text| document(text.as_bytes()).unwrap());
        let word = |value: Option<String>| value.unwrap_or_else(|| "-".to_owned());
        let line = |field: FieldChange| format!("{}: {} {}", field.path, word(field.before), word(field.after));
        differences(&before, &after).into_iter().map(line).collect()
    }

    #[test]
    fn each_field_that_differs_is_told_once() {
        let before = "a: 1\nb: {c: x, d: [1, 2]}\ne: gone\n'x/y': {z: true}\n";
        let after = "a: 1\nb: {c: w, d: [1, 3, 4]}\nf: {g: new}\n'x/y': {z: false}\n";
        let expected = [
            "b.c: \"x\" \"w\"",
            "b.d[1]: 2 3",
            "b.d[2]: - 4",
            "e: \"gone\" -",
            "f: - {g: \"new\"}",
            "[\"x/y\"].z: true false",
        ];
        assert_eq!(told(before, after), expected);
        assert!(told(before, before).is_empty());
        assert_eq!(told("a: {b: 1}", "a: [1]"), ["a: {b: 1} [1]"]);
    }

    #[test]
    fn what_is_told_is_bounded_and_one_line() {
        let long = format!("a: \"{}\\nb\"", "é".repeat(1000));
        let [one] = &*told("a: x", &long) else { panic!() };
        assert!(one.ends_with('…') && one.chars().count() < 140 && !one.contains('\n'), "{one}");
        let many = |value: u32| (0..500).map(|n| format!("k{n}: {value}\n")).collect::<String>();
        assert_eq!(told(&many(1), &many(2)).len(), MOST_FIELDS);
    }
}
