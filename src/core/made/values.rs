//! What a template is given: the namespace, and its data; with the values of Secrets, and with stand-ins for them.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::claim::Claim;
use crate::claim::template::{Datum, DatumKind};
use crate::finding::{Code, Finding};
use crate::hash::sha256_hex;
use crate::name::{Name, ObjectKey};
use crate::node::{Key, Node};
use crate::object::Object;
use crate::selector::NAME_LABEL;
use crate::template::Value;
use crate::world::World;

/// The data of one template for one namespace.
pub(super) struct Values {
    /// With the values; none where nobody looked at some.
    pub(super) values: Option<Value>,
    /// With stand-ins.
    pub(super) stand_ins: Value,
}

impl Values {
    pub(super) fn of(world: &World<'_>, claim: &Claim, data: &[(&Datum, &Object)]) -> Result<Self, Box<Finding>> {
        let (mut values, mut stand_ins) = (Some(Vec::new()), Vec::new());
        for (datum, object) in data {
            let (value, stand_in) = match datum.kind {
                DatumKind::Secret => secret(object)?,
                DatumKind::ConfigMap => same(config_map(object)),
                DatumKind::Object => same(whole(object)),
            };
            match (&mut values, value) {
                (Some(values), Some(value)) => values.push((datum.name.clone(), value)),
                (values, _) => *values = None,
            }
            stand_ins.push((datum.name.clone(), stand_in));
        }
        let root = |data: Vec<(Key, Value)>| {
            Value::fields([(Arc::from("Namespace"), namespace(world, claim)), (Arc::from("Data"), Value::map(data))])
        };
        Ok(Self { values: values.map(root), stand_ins: root(stand_ins) })
    }
}

fn same(value: Value) -> (Option<Value>, Value) {
    (Some(value.clone()), value)
}

/// A namespace of a region, as far as it is known: nobody keeps its annotations.
fn namespace(world: &World<'_>, claim: &Claim) -> Value {
    let name = claim.by.namespace.as_str();
    let own = [(Arc::from(NAME_LABEL), Value::text(name))];
    let known = world.namespaces(claim.region()).and_then(|known| known.known.get(&claim.by.namespace));
    let labels = known.into_iter().flatten().map(|(key, value)| (Arc::from(&**key), Value::text(value)));
    let labels = Value::texts(own.into_iter().chain(labels));
    let annotations = Value::texts([]);
    let fields = [("Name", Value::text(name)), ("Labels", labels), ("Annotations", annotations)];
    Value::fields(fields.map(|(key, value)| (Arc::from(key), value)))
}

/// A Secret's values, if they were looked at, and what stands in for them.
fn secret(object: &Object) -> Result<(Option<Value>, Value), Box<Finding>> {
    let Some(payload) = &object.payload else {
        let message = format!("nobody looked at the entries of {}", object.key);
        let finding = Finding::new(Code::Unread, message).about(&object.key).at(&object.origin);
        return Err(Box::new(finding.help("Run without `--no-values`, with the right to read it.")));
    };
    let stand_ins = payload.entries().iter().map(|(name, _)| (name.clone(), stand_in(&object.key, name)));
    let values = payload.entries().iter().map(|(name, bytes)| (name.clone(), Value::bytes(bytes.expose())));
    let values = payload.is_seen().then(|| Value::texts(values.collect::<Vec<_>>()));
    Ok((values, Value::texts(stand_ins.collect::<Vec<_>>())))
}

/// A text of its own for each entry of a Secret. It is base64 of a text, so that it can be decoded once.
fn stand_in(key: &ObjectKey, entry: &str) -> Value {
    let place = format!("{key} {entry}");
    let mut text = String::from("stand-in-");
    text.extend(sha256_hex(place.as_bytes()).chars().take(9));
    Value::text(&STANDARD.encode(text))
}

fn config_map(object: &Object) -> Value {
    let entries = object.body.at(&["data"]).map(Node::entries).unwrap_or_default();
    let texts = entries.iter().filter_map(|(key, value)| Some((key.clone(), Value::text(value.as_str()?))));
    Value::texts(texts.collect::<Vec<_>>())
}

/// An object as far as pouch reads it: what identifies it, and the fields of its kind.
fn whole(object: &Object) -> Value {
    let Object { key, version, body, .. } = object;
    let text = |key: &str, text: &str| (Arc::from(key), Value::text(text));
    let name: &Name = &key.name;
    let namespace = key.namespace.iter().map(|namespace| text("namespace", namespace.as_str()));
    let labels = object.labels.iter().map(|(key, value)| (key.clone(), Value::text(value)));
    let labels = (!object.labels.is_empty()).then(|| (Arc::from("labels"), Value::map(labels.collect::<Vec<_>>())));
    let metadata = Value::map([text("name", name.as_str())].into_iter().chain(namespace).chain(labels));
    let api_version = key.kind.api_version(version);
    let own =
        [text("apiVersion", &api_version), text("kind", key.kind.kind.as_str()), (Arc::from("metadata"), metadata)];
    let fields = body.entries().iter().map(|(key, node)| (key.clone(), of_node(node)));
    Value::map(own.into_iter().chain(fields))
}

fn of_node(node: &Node) -> Value {
    match node {
        Node::Null => Value::Nil,
        Node::Bool(value) => Value::Bool(*value),
        Node::Int(number) => Value::Int64(*number),
        Node::Uint(number) => Value::Uint64(*number),
        Node::Float(number) => Value::Float(*number),
        Node::Text(text) => Value::text(text),
        Node::List(items) => Value::list(items.iter().map(of_node).collect()),
        Node::Map(entries) => Value::map(entries.iter().map(|(key, node)| (key.clone(), of_node(node)))),
    }
}
