//! What the tests of this stage share.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::path::{self, BundlePath};
use crate::config::Globs;
use crate::finding::{Origin, Place};
use crate::name::GroupKind;
use crate::node::Node;
use crate::object::{Keep, Object, ObjectKey, admit};
use crate::scope::Scopes;
use crate::yaml::emit::Tree;

/// A tree as JSON, so that tests compare what is said and not how the emitter quotes it.
pub(super) fn json(tree: &Tree<'_>) -> Value {
    match tree {
        Tree::Null => Value::Null,
        Tree::Bool(value) => (*value).into(),
        Tree::Int(value) => (*value).into(),
        Tree::Uint(value) => (*value).into(),
        Tree::Float(value) => (*value).into(),
        Tree::Text(text) | Tree::Plain(text) => text.to_string().into(),
        Tree::Secret(text) => text.to_string().into(),
        Tree::List(items) => items.iter().map(json).collect(),
        Tree::Map(entries) => {
            Value::Object(entries.iter().map(|(key, value)| (key.to_string(), json(value))).collect::<Map<_, _>>())
        }
    }
}

/// JSON as a document.
pub(super) fn node(value: &Value) -> Node {
    match value {
        Value::Null => Node::Null,
        Value::Bool(value) => Node::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(value) => Node::Int(value),
            None => number.as_f64().map_or(Node::Null, Node::Float),
        },
        Value::String(text) => Node::text(text),
        Value::Array(items) => Node::List(items.iter().map(node).collect()),
        Value::Object(fields) => {
            Node::map(fields.iter().map(|(key, value)| (key.as_str().into(), node(value))).collect())
        }
    }
}

/// Which metadata a test's object keeps.
pub(super) struct Kept(pub(super) Globs);

impl Keep for Kept {
    fn label(&self, key: &str) -> bool {
        self.0.matches(key)
    }

    fn annotation(&self, key: &str) -> bool {
        self.0.matches(key)
    }
}

/// An object as admission makes it from a document.
pub(crate) fn object(document: &Value, keep: &[&str]) -> Object {
    let keep = Globs::new(&keep.iter().map(|glob| String::from(*glob)).collect::<Vec<_>>()).expect("globs");
    let origin = Origin { source: "test".into(), place: Place::Whole };
    admit(node(document), origin, &Scopes::new(), None, &Kept(keep)).expect("an object")
}

/// The paths of a small bundle.
pub(super) fn object_paths(directory: &str) -> BTreeSet<BundlePath> {
    let keys = [
        ObjectKey::secret("kcm-system".into(), "aws".into()),
        ObjectKey::secret("team-a".into(), "aws".into()),
        ObjectKey::config_map("team-a".into(), "aws-resource-template".into()),
        ObjectKey::namespace(&"team-a".into()),
        ObjectKey::new(GroupKind::new("x.io", "Cluster"), None, "aws".into()),
        ObjectKey::new(GroupKind::new("x.io", "Spaced"), Some("team-a".into()), "aws".into()),
    ];
    keys.iter().map(|key| path::of_object(&directory.into(), key)).collect()
}
