//! What tests share: YAML text as nodes and objects, and the data beside the project.

mod asked;
pub(crate) mod case;
mod laws;
pub(crate) mod stages;

extern crate std;

use alloc::boxed::Box;
use alloc::string::ToString as _;
use std::path::PathBuf;

use serde_json::Value;

use crate::finding::{Origin, Place};
use crate::node::{Key, Node};
use crate::object::{Keep, Object, admit};
use crate::scope::Scopes;

/// Reads one YAML document without the doors, which have tests of their own.
#[track_caller]
pub(crate) fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// Turns JSON into a node.
pub(crate) fn node(value: &Value) -> Node {
    match value {
        Value::Null => Node::Null,
        Value::Bool(value) => Node::Bool(*value),
        Value::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(value), _) => Node::Int(value),
            (None, Some(value)) => Node::Uint(value),
            (None, None) => Node::Float(number.as_f64().unwrap()),
        },
        Value::String(text) => Node::text(text),
        Value::Array(items) => Node::List(items.iter().map(node).collect::<Box<[Node]>>()),
        Value::Object(map) => {
            Node::map(map.iter().map(|(key, value)| (Key::from(key.as_str()), node(value))).collect())
        }
    }
}

struct KeepNothing;

impl Keep for KeepNothing {
    fn label(&self, _: &str) -> bool {
        false
    }

    fn annotation(&self, _: &str) -> bool {
        false
    }
}

/// Admits the object that one YAML document holds.
#[track_caller]
pub(crate) fn object(text: &str) -> Object {
    let origin = Origin { source: "test".into(), place: Place::Whole };
    let admitted = admit(node(&yaml(text)), origin, &Scopes::new(), None, &KeepNothing);
    admitted.unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

/// A path beside the project; `None`, said aloud, where this machine has not got it.
#[track_caller]
#[expect(clippy::disallowed_methods, reason = "where the data must be present, its absence is a failure")]
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let found = PathBuf::from(env!("CARGO_MANIFEST_DIR").to_string()).join("../../../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{path} is absent");
    std::eprintln!("skipped: ../shared/{path} is absent");
    None
}
