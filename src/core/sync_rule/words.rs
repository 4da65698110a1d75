//! Words: the conditions of a rule, for whoever asks about it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use crate::json;
use crate::listing::cut;
use crate::node::Node;
use crate::yaml::emit::Tree;

/// The most entries that are told, and the most characters of each.
const MOST: usize = 100;
const LONGEST: usize = 1000;

/// The conditions of a rule as they are written: each entry of a `match` as JSON, on a line.
pub fn conditions(body: &Node) -> Vec<String> {
    let steps = body.at(&["spec", "rules"]).map(Node::items).unwrap_or_default();
    let entries = steps.iter().flat_map(|step| step.get("match").map(Node::items).unwrap_or_default());
    let mut told: Vec<String> =
        entries.clone().take(MOST).map(|entry| cut(&json::value(&Tree::of(entry)).to_string(), LONGEST)).collect();
    let left = entries.skip(MOST).count();
    told.extend((left > 0).then(|| format!("and {left} more")));
    told
}
