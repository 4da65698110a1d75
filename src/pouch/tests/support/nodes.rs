//! Documents as JSON has them.

use pouch_core::node::Node;
use serde_json::{Value, json};

/// A node as JSON has it.
pub fn as_json(node: &Node) -> Value {
    match node {
        Node::Null => Value::Null,
        Node::Bool(value) => json!(value),
        Node::Int(number) => json!(number),
        Node::Uint(number) => json!(number),
        Node::Float(number) => json!(number),
        Node::Text(text) => json!(text),
        Node::List(items) => items.iter().map(as_json).collect(),
        Node::Time(moment) => json!(moment.to_string()),
        Node::Map(entries) | Node::InOrder(entries) => {
            entries.iter().map(|(key, node)| (key.to_string(), as_json(node))).collect()
        }
    }
}
