//! Words: the conditions of a rule, for whoever asks about it.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::json;
use crate::node::Node;
use crate::yaml::emit::Tree;

/// The most entries that are told.
const MOST: usize = 100;

/// The conditions of a rule as they are written: each entry of a `match` as JSON, on a line.
pub fn conditions(body: &Node) -> Vec<String> {
    let steps = body.at(&["spec", "rules"]).map(Node::items).unwrap_or_default();
    let entries = steps.iter().flat_map(|step| step.get("match").map(Node::items).unwrap_or_default());
    entries.take(MOST).map(|entry| json::value(&Tree::of(entry)).to_string()).collect()
}
