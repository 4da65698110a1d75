//! Mutation: what a rule makes of an object that it takes.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use super::seen::Seen;
use super::spec::{Pairs, Rule, Step};
use crate::finding::{Code, Fault};
use crate::kinds;
use crate::lenient::quoted;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Version};
use crate::node::{Key, Node};
use crate::object::Object;
pub use crate::object::steering::SYNC_DISABLED;
use crate::object::steering::steers;
use crate::selector::{is_label_key, is_label_value};
use crate::template::Value;

/// The annotation by which the registry's controller marks its copies.
pub const OWNER: &str = "cluster-registry.k8s.cisco.com/resource-owner-cluster-id";

/// What becomes of labels or annotations: a new text, or nothing.
pub type Changes = BTreeMap<Key, Option<Box<str>>>;

/// What a rule makes of an object, beside the place where it lands.
#[derive(Clone, PartialEq)]
pub struct Made {
    /// The version.
    pub version: Version,
    /// Labels that are not as the object has them.
    pub labels: Changes,
    /// Annotations that are not as the object has them.
    pub annotations: Changes,
    /// The fields that are read, if a patch changes one.
    pub body: Option<Node>,
}

/// Names no values.
impl fmt::Debug for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Made").field("version", &self.version).finish_non_exhaustive()
    }
}

/// A copy as a rule makes it.
#[derive(Clone, PartialEq, Debug)]
pub struct Mutated {
    /// Where it lands.
    pub lands: ObjectKey,
    /// What it says.
    pub made: Made,
}

/// What templates are told of the two clusters.
#[derive(Clone, Copy)]
pub struct Between<'a> {
    /// The source that the object stands in.
    pub cluster: &'a str,
    /// The region that it goes to.
    pub local: &'a str,
}

/// Whether an object is a copy that the registry's controller made: it belongs to another cluster, and is synchronised
/// from there.
pub fn is_copy(seen: &Seen<'_>) -> bool {
    seen.annotation(OWNER).is_some_and(|owner| owner.as_str() != Some(""))
}

/// What the steps of a rule make of an object; none where it is not to be written, by an annotation.
///
/// `is_open` says whether the object was not sealed, or has been opened.
///
/// # Errors
/// Where a patch cannot be applied, or what comes out cannot be published.
pub fn apply(
    object: &Object,
    rule: &Rule,
    steps: &[&Step],
    is_open: bool,
    between: Between<'_>,
) -> Result<Option<Mutated>, Fault> {
    let seen = Seen::of(object);
    let sum = |pick: fn(&Step) -> &Pairs| sum(steps.iter().map(|step| pick(step)));
    let (labels, annotations) = (sum(|step| &step.mutations.labels), sum(|step| &step.mutations.annotations));
    let (kind, version) = of_kind(rule, steps)?;
    let (labels_before, annotations_before) = (texts(seen.labels()), texts(seen.annotations()));
    let metadata = |labels: BTreeMap<Key, Box<str>>, annotations: BTreeMap<Key, Box<str>>| {
        let name = (Key::from("name"), Node::text(object.key.name.as_str()));
        let namespace =
            object.key.namespace.iter().map(|namespace| (Key::from("namespace"), Node::text(namespace.as_str())));
        let pairs = [(Key::from("labels"), of_texts(labels)), (Key::from("annotations"), of_texts(annotations))];
        Node::map([name].into_iter().chain(namespace).chain(pairs).collect())
    };
    let metadata = metadata(with(&labels_before, &labels), with(&annotations_before, &annotations));
    let fields = object.body.entries().iter().cloned();
    let mut document = Node::map(fields.chain([(Key::from("metadata"), metadata)]).collect());
    let overrides: Vec<_> = steps.iter().flat_map(|step| &step.mutations.overrides).collect();
    let is_of_body = overrides.iter().any(|it| !it.path.is_of_metadata());
    let is_template = overrides.iter().filter_map(|it| it.value.as_ref()).any(|value| value.is_template());
    // Of a Secret, templates see what stands open in a sealed file.
    let is_shut = |is_secret: bool| if is_secret { seen.is_sealed_somewhere() } else { is_of_body || is_template };
    if !is_open && (is_of_body || is_template) && is_shut(object.key.kind.is_secret()) {
        let help = "Give pouch the object in clear: its kind is no Secret, or only its values have to be sealed.";
        return Err(fault(String::from("an override needs what is sealed in the object"), help));
    }
    let data = if is_template { data(&document, &kind, &version, between) } else { Value::Nil };
    for it in overrides {
        let found = match &it.value {
            None => it.path.remove(&document),
            Some(value) => match value.render(&data) {
                Ok(value) => it.path.replace(&document, &value),
                Err((message, help)) => {
                    return Err(Fault::new(Code::InvalidObject, format!("{}.value: {message}", it.at), help));
                }
            },
        };
        document = found.map_err(|why| {
            fault(format!("{}: {why}", it.at), "Correct the path, or put `?` behind what may be absent.")
        })?;
    }
    let lands = lands(object, kind, &document)?;
    let pairs = |field: &str| document.at(&["metadata", field]).unwrap_or(&Node::Null);
    let mut annotations = changes(&annotations_before, pairs("annotations"), &annotations, "annotation")?;
    let labels = changes(&labels_before, pairs("labels"), &labels, "label")?;
    if pairs("annotations").get(SYNC_DISABLED).is_some() {
        if annotations_before.contains_key(SYNC_DISABLED) {
            return Ok(None);
        }
        let message = format!("the rule itself adds the annotation {SYNC_DISABLED}, and what has that is not copied");
        return Err(fault(
            message,
            "Take it out: pouch writes it on every copy. To end what the rule does, delete it.",
        ));
    }
    annotations.insert(Key::from(SYNC_DISABLED), Some("true".into()));
    let body = is_of_body.then(|| {
        let fields = kinds::fields(&object.key.kind);
        let kept = document.entries().iter().filter(|(key, _)| fields.contains(&&**key));
        Node::map(kept.cloned().collect())
    });
    Ok(Some(Mutated { lands, made: Made { version, labels, annotations, body } }))
}

fn fault(message: String, help: &'static str) -> Fault {
    Fault::new(Code::InvalidObject, message, help)
}

/// What several steps add and take away: the last that adds wins, and what is taken away goes in the end.
fn sum<'s>(steps: impl Iterator<Item = &'s Pairs>) -> Pairs {
    let mut all = Pairs::default();
    for pairs in steps {
        all.add.extend(pairs.add.clone());
        all.remove.extend(pairs.remove.iter().cloned());
    }
    for key in &all.remove {
        all.add.remove(key);
    }
    all
}

fn of_kind(rule: &Rule, steps: &[&Step]) -> Result<(GroupKind, Version), Fault> {
    let (mut group, mut kind) = (rule.kind.group.as_str(), rule.kind.kind.as_str());
    let mut version = rule.version.as_str();
    for mutations in steps.iter().map(|step| &step.mutations) {
        group = mutations.group.as_deref().unwrap_or(group);
        kind = mutations.kind.as_deref().unwrap_or(kind);
        version = mutations.version.as_deref().unwrap_or(version);
    }
    let made = GroupKind::new(group, kind);
    if made != rule.kind && (made.is_secret() || rule.kind.is_secret()) {
        let message = format!("groupVersionKind makes a {made} of a {}, and only Secrets are sealed", rule.kind);
        return Err(fault(message, "Leave Secrets what they are."));
    }
    // No API server has a second version of the core group, and one object in it would stop all others.
    if made.group == "" && version != "v1" {
        let message = format!("groupVersionKind puts a {made} into version {}", quoted(version));
        return Err(fault(message, "The core group has v1 alone."));
    }
    Ok((made, version.into()))
}

/// Pairs of which the value is text, as nearly all are.
fn texts(pairs: &Node) -> BTreeMap<Key, Box<str>> {
    let text = |(key, node): &(Key, Node)| match node {
        Node::Text(text) => Some((key.clone(), text.clone())),
        Node::Null => Some((key.clone(), Box::default())),
        _ => None,
    };
    pairs.entries().iter().filter_map(text).collect()
}

fn of_texts(pairs: BTreeMap<Key, Box<str>>) -> Node {
    Node::map(pairs.into_iter().map(|(key, text)| (key, Node::Text(text))).collect())
}

fn with(before: &BTreeMap<Key, Box<str>>, mutated: &Pairs) -> BTreeMap<Key, Box<str>> {
    let mut after = before.clone();
    after.extend(mutated.add.iter().map(|(key, text)| (Key::from(&**key), Box::from(&**text))));
    for key in &mutated.remove {
        after.remove(&**key);
    }
    after
}

/// What is not as it was, and what is added whether or not it was so.
fn changes(before: &BTreeMap<Key, Box<str>>, after: &Node, added: &Pairs, what: &str) -> Result<Changes, Fault> {
    let mut changes = Changes::new();
    let keys: BTreeSet<&Key> = before.keys().chain(after.entries().iter().map(|(key, _)| key)).collect();
    for key in keys {
        let now = match after.get(key) {
            None => None,
            Some(Node::Text(text)) => Some(text),
            Some(_) => {
                return Err(fault(format!("the {what} {} would be no text", quoted(key)), "Correct the override."));
            }
        };
        if before.get(key) == now && !added.add.contains_key(&**key) {
            continue;
        }
        if let Some(text) = now {
            check(key, text, what)?;
        }
        changes.insert(key.clone(), now.cloned());
    }
    Ok(changes)
}

/// Refuses what a rule may not put on a copy.
fn check(key: &str, text: &str, what: &str) -> Result<(), Fault> {
    let domain = key.split_once('/').map_or("", |(domain, _)| domain);
    let is_of_registry = domain == "k8s.cisco.com" || domain.ends_with(".k8s.cisco.com");
    if steers(key) || domain == "pouch" || (is_of_registry && key != SYNC_DISABLED) {
        let message = format!("the {what} {} would steer what reads the bundle", quoted(key));
        return Err(fault(message, "Leave it to pouch, or to the region."));
    }
    if !is_label_key(key) || (what == "label" && !is_label_value(text)) {
        let message = format!("the {what} {} is none that the API server takes", quoted(key));
        return Err(fault(message, "Correct the rule."));
    }
    Ok(())
}

/// Where the copy lands.
fn lands(object: &Object, kind: GroupKind, document: &Node) -> Result<ObjectKey, Fault> {
    let text = |field: &str| match document.at(&["metadata", field]) {
        Some(Node::Text(text)) if !text.is_empty() => Ok(Some(&**text)),
        None => Ok(None),
        Some(_) => Err(fault(format!("metadata.{field} of the copy would be no name"), "Correct the override.")),
    };
    let (name, namespace) = (text("name")?, text("namespace")?);
    let name = name.unwrap_or(object.key.name.as_str());
    let namespace = namespace.map(Namespace::from);
    if namespace.is_some() != object.key.namespace.is_some() {
        let help = "A namespace is for objects that have one: take the override out.";
        return Err(fault(String::from("an override gives a namespace to what has none"), help));
    }
    Ok(ObjectKey::new(kind, namespace, Name::from(name)))
}

/// What templates may use: the object without the values of a Secret, and the names of the two clusters.
fn data(document: &Node, kind: &GroupKind, version: &Version, between: Between<'_>) -> Value {
    let metadata = document.get("metadata").unwrap_or(&Node::Null);
    let text = |field: &str| Value::text(metadata.str_at(&[field]).unwrap_or_default());
    let pairs = |field: &str| {
        let entries = metadata.get(field).map(Node::entries).unwrap_or_default();
        Value::texts(entries.iter().map(|(key, node)| (key.clone(), Value::text(node.as_str().unwrap_or_default()))))
    };
    let api_version = kind.api_version(version);
    let head = [("apiVersion", Value::text(&api_version)), ("kind", Value::text(kind.kind.as_str()))];
    let body = document.entries().iter().map(|(key, node)| (key.clone(), Value::of_node(node)));
    let whole = || head.clone().into_iter().map(|(key, value)| (Key::from(key), value)).chain(body.clone());
    let methods = [
        ("Name", text("name")),
        ("GetName", text("name")),
        ("Namespace", text("namespace")),
        ("GetNamespace", text("namespace")),
        ("Labels", pairs("labels")),
        ("GetLabels", pairs("labels")),
        ("Annotations", pairs("annotations")),
        ("GetAnnotations", pairs("annotations")),
        ("Kind", Value::text(kind.kind.as_str())),
        ("GetKind", Value::text(kind.kind.as_str())),
        ("GetAPIVersion", Value::text(&api_version)),
        ("Object", Value::map(whole())),
    ];
    let object = methods.into_iter().map(|(key, value)| (Key::from(key), value)).chain(whole());
    let cluster = |name: &str| Value::fields(["Name", "GetName"].map(|key| (Key::from(key), Value::text(name))));
    Value::fields([
        (Key::from("Object"), Value::fields(object)),
        (Key::from("Cluster"), cluster(between.cluster)),
        (Key::from("LocalCluster"), cluster(between.local)),
    ])
}

impl Made {
    /// Applies changes to what was kept.
    pub fn changed<'a>(
        changes: &'a Changes,
        kept: impl Iterator<Item = (&'a Key, &'a str)>,
    ) -> BTreeMap<&'a str, &'a str> {
        let mut all: BTreeMap<&str, &str> = kept.map(|(key, text)| (&**key, text)).collect();
        for (key, text) in changes {
            match text {
                Some(text) => _ = all.insert(key, text),
                None => _ = all.remove(&**key),
            }
        }
        all
    }

    /// The paths of what is not as the object has it.
    pub fn paths(&self) -> Vec<String> {
        let pairs = |field: &str, changes: &Changes| {
            changes.keys().map(|key| format!("metadata.{field}[{key}]")).collect::<Vec<String>>()
        };
        let mut paths = pairs("annotations", &self.annotations);
        paths.extend(pairs("labels", &self.labels));
        paths.extend(self.body.iter().flat_map(Node::entries).map(|(key, _)| key.to_string()));
        paths
    }

    /// The object as the rule makes it, without the values of a Secret, so that it can be judged.
    pub fn object(&self, from: &Object, lands: &ObjectKey) -> Object {
        let pairs = |kept: &[(Key, Box<str>)], changes: &Changes| {
            let all = Self::changed(changes, kept.iter().map(|(key, text)| (key, &**text)));
            all.into_iter().map(|(key, text)| (Key::from(key), Box::from(text))).collect()
        };
        Object {
            key: lands.clone(),
            version: self.version.clone(),
            origin: from.origin.clone(),
            labels: pairs(&from.labels, &self.labels),
            annotations: pairs(&from.annotations, &self.annotations),
            silence: None,
            matched: None,
            deleting: from.deleting,
            made: from.made,
            ours: from.ours,
            backed_up: from.backed_up,
            body: self.body.clone().unwrap_or_else(|| from.body.clone()),
            payload: None,
            aside: None,
            faults: from.faults.clone(),
            stays: from.stays,
            create_only: from.create_only,
        }
    }
}
