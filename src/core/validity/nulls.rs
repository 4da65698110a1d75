//! Nulls in what is published as it is written: where one says nothing, and where nobody knows what it says.
//!
//! An API server drops a null field of a custom resource, and pouch does not publish it. In a list it is an item that a
//! server refuses. In `matchLabels` it is a label without a value: dropped, it would leave a selector that fits more.
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting-and-nullable>

use alloc::string::String;
use alloc::vec::Vec;

use super::identity::say;
use crate::finding::Fault;
use crate::lenient::quoted;
use crate::node::Node;

/// Faults of the labels without a value that selectors in a `spec` ask for.
pub(super) fn in_selectors(spec: &Node, faults: &mut Vec<Fault>) {
    walk(spec, "spec", &mut |node, at| {
        for (key, value) in node.at(&["matchLabels"]).map(Node::entries).unwrap_or_default() {
            if matches!(value, Node::Null) {
                let message = format!("key {} of {at}.matchLabels is null, not text", quoted(key));
                say(faults, message, "Write the label's value, or `\"\"`; or remove the key.".into());
            }
        }
    });
}

/// Faults of the items of lists in a `spec` that are null.
pub(super) fn in_lists(spec: &Node, faults: &mut Vec<Fault>) {
    walk(spec, "spec", &mut |node, at| {
        for (index, _) in node.items().iter().enumerate().filter(|(_, item)| matches!(item, Node::Null)) {
            say(faults, format!("{at}[{index}] is null"), "Write the item, or remove it.".into());
        }
    });
}

/// Shows each map and list to `see`, with its path.
fn walk(node: &Node, at: &str, see: &mut impl FnMut(&Node, &str)) {
    see(node, at);
    for (key, value) in node.entries() {
        if matches!(value, Node::List(_) | Node::Map(_)) {
            walk(value, &below(at, key), see);
        }
    }
    for (index, item) in node.items().iter().enumerate() {
        if matches!(item, Node::List(_) | Node::Map(_)) {
            walk(item, &format!("{at}[{index}]"), see);
        }
    }
}

/// The path of a field, as messages show it.
pub(super) fn below(at: &str, key: &str) -> String {
    let is_plain = !key.is_empty() && key.len() <= 63 && key.bytes().all(|b| b.is_ascii_alphanumeric());
    if is_plain { format!("{at}.{key}") } else { format!("{at}.{}", quoted(key)) }
}
