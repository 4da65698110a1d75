//! What a rule asks of a field: a path, and the text or number that must stand there.
//!
//! The registry's controller reads such a path as GJSON. Here it is keys and indices alone: what a query says is too easily
//! something else than was meant. Nothing below the values of a Secret can be asked for, as what is published, or not,
//! would answer guesses.
//! <https://github.com/tidwall/gjson/blob/master/SYNTAX.md>

use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::seen::Seen;
use crate::kinds;
use crate::lenient::quoted;
use crate::name::GroupKind;
use crate::node::Node;
use crate::object::COPIES;
use crate::selector::Truth;

/// A field, and what it must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct Content {
    path: Vec<Box<str>>,
    value: Wanted,
}

#[derive(Clone, PartialEq, Debug)]
enum Wanted {
    Text(Box<str>),
    Number(i64),
}

/// What is wrong, and what helps.
pub type Wrong = (String, &'static str);

impl Content {
    /// Reads an entry of `content` of a rule for objects of a kind.
    ///
    /// # Errors
    /// Where it has a query, or asks for what pouch does not read, or does not tell.
    pub fn read(key: &str, value: &Node, kind: &GroupKind) -> Result<Self, Wrong> {
        let path = parts(key)?;
        let value = match value {
            Node::Text(text) => Wanted::Text(text.clone()),
            Node::Int(number) => Wanted::Number(*number),
            other => {
                return Err((format!("value is {}, not text or an integer", other.type_name()), "Quote it."));
            }
        };
        let names: Vec<&str> = path.iter().map(|part| &**part).collect();
        let fields: &[&str] = if kind.is_secret() { &["type"] } else { kinds::fields(kind) };
        match *names {
            ["data" | "stringData", ..] if kind.is_secret() => Err((
                String::from("key leads into the values of a Secret, and what is published would answer guesses"),
                "Match by labels, or by `type`.",
            )),
            ["metadata", "annotations", name, ..] if COPIES.contains(&name) => Err((
                String::from("key leads into an annotation that holds a copy of the object"),
                "Match by something else.",
            )),
            ["apiVersion" | "kind"]
            | ["metadata", "name" | "namespace"]
            | ["metadata", "labels" | "annotations", _] => Ok(Self { path, value }),
            [first, ..] if fields.contains(&first) => Ok(Self { path, value }),
            _ => Err((
                format!("pouch does not read {} of a {}", quoted(key), kind.kind),
                "Match by metadata, `spec`, or of a Secret by `type`.",
            )),
        }
    }

    /// Whether it asks for a `type`.
    pub(super) fn is_type(&self, kind: &str) -> bool {
        self.path.iter().map(|part| &**part).eq(["type"]) && self.value == Wanted::Text(kind.into())
    }

    /// Whether it asks for a field beside the metadata and the kind.
    pub(super) fn is_of_body(&self) -> bool {
        self.path.first().is_none_or(|first| !matches!(&**first, "apiVersion" | "kind" | "metadata"))
    }

    /// Whether an object holds it.
    pub(super) fn holds(&self, seen: &Seen<'_>) -> Truth {
        let names: Vec<&str> = self.path.iter().map(|part| &**part).collect();
        let text = |text: Option<&str>| self.is(text.map(Node::text).as_ref());
        match *names {
            ["apiVersion"] => text(Some(&seen.api_version)),
            ["kind"] => text(Some(seen.key.kind.kind.as_str())),
            ["metadata", "name"] => text(Some(seen.key.name.as_str())),
            ["metadata", "namespace"] => text(seen.key.namespace.as_ref().map(|namespace| namespace.as_str())),
            ["metadata", "labels", _] if is_unknown(seen.labels()) => Truth::Unknown,
            ["metadata", "annotations", _] if is_unknown(seen.annotations()) => Truth::Unknown,
            ["metadata", "labels", name] => self.is(seen.label(name)),
            ["metadata", "annotations", name] => self.is(seen.annotation(name)),
            _ => self.is(self.at(seen.body)),
        }
    }

    /// What stands at the path, in the fields of an object.
    pub fn at<'n>(&self, body: &'n Node) -> Option<&'n Node> {
        self.path.iter().try_fold(body, |node, part| match node {
            // GJSON takes leading noughts.
            Node::List(items) if part.bytes().all(|b| b.is_ascii_digit()) => items.get(part.parse::<usize>().ok()?),
            Node::List(_) => None,
            node => node.get(part),
        })
    }

    /// Whether a value is the one that is asked for. What stands there sealed is not known.
    pub fn is(&self, node: Option<&Node>) -> Truth {
        let holds = match (node, &self.value) {
            (Some(Node::Text(text)), _) if Seen::is_sealed(text) => return Truth::Unknown,
            (Some(Node::Text(text)), Wanted::Text(wanted)) => text == wanted,
            (Some(Node::Int(number)), Wanted::Text(wanted)) => number.to_string() == **wanted,
            (Some(Node::Uint(number)), Wanted::Text(wanted)) => number.to_string() == **wanted,
            (Some(Node::Float(number)), Wanted::Text(wanted)) => number.to_string() == **wanted,
            (Some(Node::Bool(value)), Wanted::Text(wanted)) => value.to_string() == **wanted,
            (Some(Node::Int(number)), Wanted::Number(wanted)) => number == wanted,
            (Some(Node::Float(number)), Wanted::Number(wanted)) => number.to_string() == wanted.to_string(),
            _ => false,
        };
        if holds { Truth::Yes } else { Truth::No }
    }
}

/// Whether nobody knows what labels or annotations an object has: they are no map.
fn is_unknown(pairs: &Node) -> bool {
    !pairs.is_map() && *pairs != Node::Null
}

/// The number that a part of a path is; none where it has another form.
pub(super) fn index(part: &str) -> Option<usize> {
    let is_plain = part == "0" || (!part.starts_with('0') && part.bytes().all(|b| b.is_ascii_digit()));
    is_plain.then(|| part.parse().ok()).flatten()
}

/// The parts of a path, in which a backslash takes a character as it is.
fn parts(key: &str) -> Result<Vec<Box<str>>, Wrong> {
    const HELP: &str =
        "Write keys and indices joined by dots, with a backslash before a character that means something else.";
    let (mut parts, mut part, mut is_new) = (Vec::new(), String::new(), true);
    let mut chars = key.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => part.extend(chars.next()),
            '.' if part.is_empty() => return Err((String::from("key has an empty part"), HELP)),
            '.' => {
                parts.push(core::mem::take(&mut part).into_boxed_str());
                is_new = true;
                continue;
            }
            '*' | '?' | '#' | '|' => return Err((format!("key has a query: {c:?}"), HELP)),
            '@' | '!' | '{' | '[' if is_new => return Err((format!("key has a query: {c:?}"), HELP)),
            c => part.push(c),
        }
        is_new = false;
    }
    if part.is_empty() {
        return Err((String::from("key has an empty part"), HELP));
    }
    parts.push(part.into_boxed_str());
    Ok(parts)
}
