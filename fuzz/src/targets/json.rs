//! The JSON door, beside serde_json's own reading and beside the YAML door.

use pouch_core::json::{self, SHALLOW, Shape};
use pouch_core::node::{Interner, Node};
use pouch_core::yaml::read::{Document, read};
use serde_json::Value;

use super::input::quotes_nothing;
use super::yaml::comes_back;

/// Any text.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let value: Option<Value> = serde_json::from_str(text).ok();
    let node = match json::read(text, &mut Interner::new()) {
        Ok(node) => node,
        Err(flaw) => {
            quotes_nothing(&flaw);
            let twice = flaw.what.contains("second time");
            assert!(value.is_none() || twice, "valid JSON was refused: {flaw}");
            return;
        }
    };
    assert!(same(&node, &value.expect("what we take is JSON")), "serde_json sees something else");
    comes_back(&node);
    let shaped = json::read_shaped(text, &mut Interner::new(), &Shape::All).expect("a shape refuses nothing more");
    assert!(height(&node) > SHALLOW || shaped == node, "the shape of everything leaves something out");
    // JSON that the YAML door takes as well must say the same there.
    if let Ok(other) = read(&Document::whole(text), &mut Interner::new()) {
        assert!(agree(&other, &node), "the two doors disagree");
    }
}

/// Whether both doors say the same. `-0` is an integer to YAML's readers and, for its sign, a float to
/// serde_json; Kubernetes takes either for zero.
fn agree(yaml: &Node, json: &Node) -> bool {
    match (yaml, json) {
        (Node::Int(0), Node::Float(value)) => *value == 0.0,
        (Node::List(a), Node::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b)),
        (Node::Map(a), Node::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.0 == b.0 && agree(&a.1, &b.1))
        }
        (yaml, json) => yaml == json,
    }
}

fn same(node: &Node, value: &Value) -> bool {
    match (node, value) {
        (Node::Null, Value::Null) => true,
        (Node::Bool(ours), Value::Bool(theirs)) => ours == theirs,
        (Node::Int(ours), Value::Number(theirs)) => theirs.as_i64() == Some(*ours),
        (Node::Uint(ours), Value::Number(theirs)) => *ours > i64::MAX as u64 && theirs.as_u64() == Some(*ours),
        (Node::Float(ours), Value::Number(theirs)) => theirs.is_f64() && theirs.as_f64() == Some(*ours),
        (Node::Text(ours), Value::String(theirs)) => **ours == **theirs,
        (Node::List(ours), Value::Array(theirs)) => {
            ours.len() == theirs.len() && ours.iter().zip(theirs).all(|(ours, theirs)| same(ours, theirs))
        }
        (Node::Map(ours), Value::Object(theirs)) => {
            let sorted = ours.windows(2).all(|pair| pair[0].0 < pair[1].0);
            let all = ours.iter().all(|(key, ours)| theirs.get(&**key).is_some_and(|theirs| same(ours, theirs)));
            sorted && ours.len() == theirs.len() && all
        }
        _ => false,
    }
}

fn height(node: &Node) -> usize {
    let highest = |heights: &mut dyn Iterator<Item = usize>| heights.max().unwrap_or(0) + 1;
    match node {
        Node::List(items) => highest(&mut items.iter().map(height)),
        Node::Map(entries) => highest(&mut entries.iter().map(|(_, value)| height(value))),
        _ => 1,
    }
}
