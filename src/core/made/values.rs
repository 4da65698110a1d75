//! What a template is given: the namespace, and its data; with the values of Secrets, and with stand-ins for them.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::claim::Claim;
use crate::claim::template::{Datum, DatumKind, TemplateSpec};
use crate::cleartext::inline_secrets;
use crate::config::Fleet;
use crate::finding::{Code, Finding, Place};
use crate::hash::sha256_hex;
use crate::name::{Name, ObjectKey};
use crate::node::{Key, Node};
use crate::object::Object;
use crate::selector::NAME_LABEL;
use crate::template::Value;
use crate::world::World;

/// The data of one template, whatever it is rendered for.
pub(super) struct Given<'a> {
    /// With the values; none where nobody looked at some.
    pub(super) values: Option<Value>,
    /// With stand-ins.
    pub(super) stand_ins: Value,
    /// Which stand-in is for which value.
    pub(super) pairs: Pairs<'a>,
    /// Whether some of it are values of Secrets.
    pub(super) has_secrets: bool,
}

/// The values of Secrets, by what stands in for them.
#[derive(Default)]
pub(super) struct Pairs<'a>(BTreeMap<String, &'a [u8]>);

impl<'a> Pairs<'a> {
    /// The first stand-in in a text: what is before it, its value if that is a text, and what is behind it.
    pub(super) fn next<'t>(&self, text: &'t str) -> Option<(&'t str, Option<&'a str>, &'t str)> {
        text.match_indices(BEGINNING).find_map(|(at, _)| {
            let (before, rest) = text.split_at_checked(at)?;
            let (stand_in, behind) = rest.split_at_checked(LENGTH)?;
            Some((before, core::str::from_utf8(self.0.get(stand_in)?).ok(), behind))
        })
    }
}

/// The most entries of all Secrets that a template is given.
const MOST_ENTRIES: usize = 1024;

/// How each stand-in begins: it is base64 of [`WORD`].
const BEGINNING: &str = "c3RhbmQtaW4t";
const WORD: &str = "stand-in-";

/// How long each is.
const LENGTH: usize = 24;

impl<'a> Given<'a> {
    pub(super) fn of(
        fleet: &Fleet,
        (spec, data): (&TemplateSpec, &[(&Datum, &'a Object)]),
    ) -> Result<Self, Box<Finding>> {
        let (mut values, mut stand_ins, mut pairs) = (Some(Vec::new()), Vec::new(), Pairs::default());
        let mut has_secrets = false;
        // Each is hashed and copied anew for some namespaces.
        let entries: usize = data.iter().filter_map(|(_, object)| Some(object.payload.as_ref()?.entries().len())).sum();
        if entries > MOST_ENTRIES {
            let message = format!("the Secrets among its data have {entries} entries, more than {MOST_ENTRIES}");
            let finding = Finding::new(Code::InvalidObject, message).help("Give it Secrets with fewer entries.");
            return Err(Box::new(finding));
        }
        for (datum, object) in data {
            if let Some(field) = inline_secrets(object).into_iter().next() {
                let message = format!("{} has what looks like a secret in {field}, in plain sight", object.key);
                let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
                return Err(Box::new(finding.help("Move it to a Secret, and give that to the template.")));
            }
            let (value, stand_in) = match datum.kind {
                DatumKind::Secret => {
                    has_secrets = true;
                    secret(spec, datum, object, &mut pairs)
                }
                DatumKind::ConfigMap => same(config_map(object)),
                DatumKind::Object => same(whole(fleet, object)),
            };
            match (&mut values, value) {
                (Some(values), Some(value)) => values.push((datum.name.clone(), value)),
                (values, _) => *values = None,
            }
            stand_ins.push((datum.name.clone(), stand_in));
        }
        Ok(Self { values: values.map(Value::map), stand_ins: Value::map(stand_ins), pairs, has_secrets })
    }
}

/// What a template is rendered with: a namespace, and its data.
pub(super) fn root(namespace: &Value, data: &Value) -> Value {
    Value::fields([(Arc::from("Namespace"), namespace.clone()), (Arc::from("Data"), data.clone())])
}

fn same(value: Value) -> (Option<Value>, Value) {
    (Some(value.clone()), value)
}

/// A namespace of a region, as far as it is known: nobody keeps its annotations.
pub(super) fn namespace(world: &World<'_>, claim: &Claim) -> Value {
    let name = claim.by.namespace().as_str();
    let own = [(Arc::from(NAME_LABEL), Value::text(name))];
    let known = world.namespaces(claim.region()).and_then(|known| known.known.get(claim.by.namespace()));
    let labels =
        known.into_iter().flat_map(|labels| &labels.known).map(|(key, value)| (Arc::from(&**key), Value::text(value)));
    let labels = Value::texts(own.into_iter().chain(labels));
    let annotations = Value::texts([]);
    let fields = [("Name", Value::text(name)), ("Labels", labels), ("Annotations", annotations)];
    Value::fields(fields.map(|(key, value)| (Arc::from(key), value)))
}

/// A Secret's values, if they were looked at, and what stands in for them. As KubeNSync gives the data of Secrets and
/// ConfigMaps, both are maps to anything, which sprout's functions on maps take: labels are a map to texts, which they refuse.
///
/// <https://github.com/eryalito/kubensync-operator/blob/29d638c/internal/reconciler/data_parser.go>
fn secret<'a>(spec: &TemplateSpec, datum: &Datum, object: &'a Object, pairs: &mut Pairs<'a>) -> (Option<Value>, Value) {
    let pair = |name: &str| Value::text(&stand_in(&object.key, name));
    // Nobody looked even at the names of the entries: those that the template asks for are taken to be there.
    let Some(payload) = &object.payload else {
        let names = asked_for(&spec.literal, &datum.name);
        return (None, Value::map(names.into_iter().map(|name| (Key::from(name), pair(name))).collect::<Vec<_>>()));
    };
    let stand_ins = payload.entries().iter().map(|(name, _)| (name.clone(), pair(name)));
    let stand_ins = Value::map(stand_ins.collect::<Vec<_>>());
    if !payload.is_seen() {
        return (None, stand_ins);
    }
    let own = payload.entries().iter();
    pairs.0.extend(own.map(|(name, value)| (stand_in(&object.key, name), value.expose())));
    let values = payload.entries().iter().map(|(name, bytes)| (name.clone(), Value::bytes(bytes.expose())));
    (Some(Value::map(values.collect::<Vec<_>>())), stand_ins)
}

/// What a template may ask a Secret for: its quoted texts, and the fields behind the datum.
fn asked_for<'t>(literal: &'t str, datum: &str) -> BTreeSet<&'t str> {
    const MOST: usize = 256;
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let quoted = literal.split(['"', '`']).skip(1).filter(|text| !text.is_empty() && text.chars().all(is_word));
    let behind = format!(".{datum}.");
    let fields = literal.match_indices(&*behind).filter_map(|(at, sign)| {
        let field = literal.get(at..)?.strip_prefix(sign)?;
        field.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().filter(|field| !field.is_empty())
    });
    quoted.chain(fields).take(MOST).collect()
}

/// A text of its own for each entry of a Secret. It is base64 of a text, so that it can be decoded once.
fn stand_in(key: &ObjectKey, entry: &str) -> String {
    let place = format!("{key} {entry}");
    let mut text = String::from(WORD);
    text.extend(sha256_hex(place.as_bytes()).chars().take(9));
    STANDARD.encode(text)
}

fn config_map(object: &Object) -> Value {
    let entries = object.body.at(&["data"]).map(Node::entries).unwrap_or_default();
    let texts = entries.iter().filter_map(|(key, value)| Some((key.clone(), Value::text(value.as_str()?))));
    Value::map(texts.collect::<Vec<_>>())
}

/// An object as far as pouch reads it: what identifies it, and the fields of its kind. What is not read looks nowhere as if
/// the object did not have it.
fn whole(fleet: &Fleet, object: &Object) -> Value {
    let Object { key, version, body, .. } = object;
    let text = |key: &str, text: &str| (Arc::from(key), Value::text(text));
    let name: &Name = &key.name;
    let namespace = key.namespace.iter().map(|namespace| text("namespace", namespace.as_str()));
    let labels = object.labels.iter().map(|(key, value)| (key.clone(), Value::text(value)));
    let labels =
        (!object.labels.is_empty()).then(|| (Arc::from("labels"), Value::part_of_map(labels.collect::<Vec<_>>())));
    let metadata = Value::part_of_map([text("name", name.as_str())].into_iter().chain(namespace).chain(labels));
    let api_version = key.kind.api_version(version);
    let own =
        [text("apiVersion", &api_version), text("kind", key.kind.kind.as_str()), (Arc::from("metadata"), metadata)];
    // Of what a cluster lists, a few fields are taken.
    let is_listed = matches!(object.origin.place, Place::Cluster { .. }) && fleet.lists(&key.kind);
    let field = |node: &Node| match node {
        Node::Map(entries) if is_listed => {
            Value::part_of_map(entries.iter().map(|(key, node)| (key.clone(), Value::of_node(node))))
        }
        node => Value::of_node(node),
    };
    let fields = body.entries().iter().map(|(key, node)| (key.clone(), field(node)));
    Value::part_of_map(own.into_iter().chain(fields))
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    /// However often a stand-in stands in a text, nothing is made of it that is as long as all the values would be.
    #[test]
    fn stand_ins_are_found_one_after_the_other() {
        let key = ObjectKey::secret("a".into(), Name::from("b"));
        let own = stand_in(&key, "k");
        assert!(own.len() == LENGTH && own.starts_with(BEGINNING));
        let pairs = Pairs([(own.clone(), &b"value"[..])].into());
        let text = format!("x{BEGINNING}y{own}{own}z");
        let Some((before, value, behind)) = pairs.next(&text) else { panic!("{text}") };
        assert_eq!((before, value, behind), (&*format!("x{BEGINNING}y"), Some("value"), &*format!("{own}z")));
        assert!(pairs.next(behind).is_some() && pairs.next("z").is_none() && pairs.next(BEGINNING).is_none());
    }

    /// Of a live Secret that nobody may look at, not even the entries are known.
    #[test]
    fn entries_that_a_template_asks_for_are_taken_to_be_there() {
        let literal = "a: \"{{ index .Data.pull \".docker\" }}{{ .Data.pull.user }}{{ index .Data.pull `pass` }}\"";
        assert_eq!(asked_for(literal, "pull").into_iter().collect::<Vec<_>>(), [".docker", "pass", "user"]);
    }
}
