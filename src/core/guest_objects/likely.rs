//! Likely: whether a document for a guest cluster is a Secret, nearly is one, or may be meant as one.
//!
//! What is no Secret to pouch may be one to whoever wrote it: a letter too much in its kind must not publish its values.

use crate::cleartext::{assigns_secret, is_telling};
use crate::name::{GroupKind, is_template};
use crate::nearest::edits;
use crate::node::{Key, Node};
use crate::object::kind_of;
use crate::secret::is_evident;

/// What a Secret has.
pub(super) struct Held {
    /// Whether there is a value in it.
    pub(super) holds: bool,
    /// True if a value is a placeholder, or a variable that nobody has filled in.
    pub(super) is_unfilled: bool,
}

const SECRET: &str = "Secret";

/// What a document has where Secrets have their values; none if it is no Secret, and cannot be meant as one.
///
/// By its kind, in whatever case, or nearly; by `stringData`, which no other kind has; without a usable kind, or with one of
/// the core group, by `data`, which only ConfigMaps have there.
pub(super) fn secret(document: &Node) -> Option<Held> {
    let GroupKind { group, .. } = kind_of(document);
    // The groups of definitions have a dot.
    let (is_core, is_built_in) = (group == "", !group.as_str().contains('.'));
    let kind = document.str_at(&["kind"]).unwrap_or_default();
    let is_secret = edits(kind, SECRET).is_some();
    let is_map = edits(kind, "ConfigMap").is_some();
    let is_value = |key: &str| match () {
        // All but what every Secret has in clear.
        () if is_secret && is_built_in => !matches!(key, "apiVersion" | "kind" | "metadata" | "type" | "immutable"),
        () if is_secret || kind.is_empty() || is_template(kind) || (is_core && !is_map) => is_data(key),
        () => edits(key, "stringData").is_some(),
    };
    let mut held = Held { holds: false, is_unfilled: false };
    let mut is_any = is_secret;
    for (_, node) in document.entries().iter().filter(|(key, _)| is_value(key)) {
        is_any = true;
        match node {
            Node::Map(entries) => entries.iter().for_each(|(_, value)| weigh(value, &mut held)),
            other => weigh(other, &mut held),
        }
    }
    is_any.then_some(held)
}

fn is_data(key: &str) -> bool {
    ["data", "stringData"].iter().any(|field| edits(key, field).is_some())
}

fn weigh(value: &Node, held: &mut Held) {
    match value {
        Node::Null => {}
        Node::Text(text) if text.is_empty() => {}
        Node::List(items) if items.is_empty() => {}
        Node::Map(entries) if entries.is_empty() => {}
        Node::Text(text) if is_variable(text) || is_evident(text) => held.is_unfilled = true,
        _ => held.holds = true,
    }
}

/// Whether a text is one variable, and nothing beside it: one that says what stands there by default holds that.
fn is_variable(text: &str) -> bool {
    let text = text.trim();
    let is_name = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    let is_path = |path: &str| {
        path.strip_prefix('.').is_some_and(|path| path.split('.').all(|part| is_name(&part.replace('-', "_"))))
    };
    let within = |begin: &str, end: &str| text.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end));
    within("${", "}").is_some_and(is_name) || within("{{", "}}").is_some_and(|inner| is_path(inner.trim()))
}

/// Whether a Secret that holds something stands somewhere in an object, as in the manifests that some kinds carry. The items
/// of a list are objects of their own.
pub(super) fn holds_secret_below(object: &Node) -> bool {
    object.entries().iter().filter(|entry| !is_items(entry)).any(|(_, node)| is_secret_or_below(node))
}

/// Whether an entry of an object is a list of objects, each of which is looked at by itself.
pub(super) fn is_items((key, node): &(Key, Node)) -> bool {
    &**key == "items" && matches!(node, Node::List(_))
}

fn is_secret_or_below(node: &Node) -> bool {
    let is_named = node.str_at(&["kind"]).is_some_and(|kind| edits(kind, SECRET).is_some());
    let has_data = || node.entries().iter().any(|(key, _)| is_data(key));
    let is_secret = || is_named && has_data() && secret(node).is_some_and(|held| held.holds);
    is_secret()
        || match node {
            Node::List(items) => items.iter().any(is_secret_or_below),
            Node::Map(entries) => entries.iter().any(|(_, node)| is_secret_or_below(node)),
            _ => false,
        }
}

/// Whether a text that is no object may hold a Secret: nobody can look into it.
pub(super) fn may_hold_secret(text: &str) -> bool {
    may_be_about_secrets(text) || is_telling(text) || assigns_secret(text)
}

/// Whether a text says `Secret`, or what only Secrets have.
pub(super) fn may_be_about_secrets(text: &str) -> bool {
    let mut words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.any(|word| word == SECRET || word.eq_ignore_ascii_case("stringData")) || says_secret(text)
}

/// Whether a line of a text says that it is of a kind that nearly is a Secret.
fn says_secret(text: &str) -> bool {
    let is_said = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '-', '{', '"', '\'', '?']);
        let (key, rest) = line.split_at_checked("kind".len()).unwrap_or_default();
        let value = rest.trim_start_matches([' ', '"', '\'']).strip_prefix(':');
        let mut words = value.unwrap_or_default().split_whitespace().filter(|word| !word.starts_with(['!', '&']));
        let word = words.next().unwrap_or_default().trim_matches(['"', '\'', '}', ',']);
        key.eq_ignore_ascii_case("kind") && edits(word, SECRET).is_some()
    };
    text.split(['\n', ',', '{']).any(is_said)
}
