//! Words: whether what kustomize says may quote a value.
//!
//! kustomize prints a patch that does not fit, and a line that is no YAML. What it was given is searched for in its words only
//! where there are some: a build that goes well says nothing.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use zeroize::Zeroizing;

use super::paths::WRITTEN;
use crate::node::{Interner, Node};
use crate::sops::cipher::MARK;
use crate::yaml::read::{self as yaml, documents};

/// Words with fewer bytes stand in a message by chance, and tell little.
const LEAST: usize = 6;

/// The fields of a kustomization that may hold values.
const HOLDERS: [&str; 4] = ["configMapGenerator", "patches", "patchesJson6902", "secretGenerator"];

/// The fields that name things, which a message must be able to tell.
const NAMES: [&str; 12] = [
    "apiVersion",
    "behavior",
    "envs",
    "files",
    "kind",
    "metadata",
    "name",
    "namespace",
    "op",
    "path",
    "target",
    "type",
];

/// Returns true if the words may quote a value of a Secret, a patch or a generator.
pub(super) fn may_quote(words: &str, files: &BTreeMap<String, Zeroizing<Vec<u8>>>) -> bool {
    let quotes = |line: &str| {
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '+' | '/' | '=' | '_' | '-' | '.');
        let longest = line.split(|c| !is_plain(c)).max_by_key(|word| word.len()).unwrap_or_default();
        longest.len() >= LEAST && words.contains(longest)
    };
    files.iter().any(|(path, bytes)| {
        let text = Zeroizing::new(String::from_utf8_lossy(bytes).into_owned());
        let mut interner = Interner::new();
        documents(&text).any(|document| match yaml::read(&document, &mut interner) {
            Ok(node) if path.ends_with(WRITTEN) => {
                HOLDERS.iter().filter_map(|field| node.get(field)).any(|value| holds(value, &quotes))
            }
            Ok(node) if node.str_at(&["kind"]).is_some_and(|kind| kind != "Secret") => false,
            Ok(node) => holds(&node, &quotes),
            Err(_) => document.text.lines().any(quotes),
        })
    })
}

fn holds(node: &Node, quotes: &impl Fn(&str) -> bool) -> bool {
    match node {
        Node::Text(text) => !text.starts_with(MARK) && text.lines().any(quotes),
        Node::List(items) => items.iter().any(|item| holds(item, quotes)),
        node => node.entries().iter().any(|(key, value)| !NAMES.contains(&&**key) && holds(value, quotes)),
    }
}
