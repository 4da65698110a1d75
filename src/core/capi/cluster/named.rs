//! What an object behind a Cluster names: identities, Secrets, ConfigMaps.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::naming::{Choice, Choices, ClusterKind, Form, Naming, Within, Without};
use super::super::rules;
use super::super::rules::Path;
use super::reading::Reading;
use crate::finding::{Code, Fault};
use crate::lenient::{Told, quoted};
use crate::name::{GroupKind, Name, Namespace, Scope, Version, is_dns_label, is_dns_subdomain, is_template};
use crate::node::Node;

/// The most objects that one object behind a Cluster may name.
pub const MOST_NAMED: usize = 100;

/// What an object names, as far as it says.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Named {
    /// Group and kind.
    pub kind: GroupKind,
    /// A version of it.
    pub version: Version,
    /// The name.
    pub name: Name,
    /// The namespace that counts; none of a cluster-scoped kind.
    pub namespace: Option<Namespace>,
    /// The field.
    pub field: String,
    /// The entries that the provider reads of it.
    pub entries: Vec<Box<str>>,
    /// Whether the field is absent, and the provider takes this then.
    pub by_default: bool,
}

/// What an object names that a Cluster in the namespace `own` refers to; `body` has its `spec`.
///
/// # Errors
/// Where a field is not what the provider takes, or is nearly one that it reads; where a template is left in one.
pub fn names(known: &ClusterKind, body: &Node, own: &Namespace) -> Result<Vec<Named>, Vec<Fault>> {
    let mut reading = Reading::new();
    let fields: Vec<Path> = fields(known).collect();
    check_fields(&mut reading, body, &mut String::new(), &fields);
    let (mut found, mut told) = (Vec::new(), BTreeSet::new());
    for naming in known.names {
        let mut places = Places::new();
        collect(&mut reading, body, &mut String::new(), naming.field, &mut places);
        if places.lacks {
            match naming.without {
                Without::Name(name) => found.extend(by_default(naming, name, own)),
                Without::RefusedBeside if !places.lacks_last => {}
                Without::Nothing => {}
                Without::Refused | Without::RefusedBeside => reading.faults.add(
                    format!("{} is missing", dotted(naming.field)),
                    "Write it: the provider takes no such object without it.",
                ),
            }
        }
        for node in places.found {
            // Infrastructure in many parts may name one Secret in each.
            found.extend(one(&mut reading, naming, node, own).filter(|named| told.insert(named.clone())));
            if found.len() > MOST_NAMED {
                let message = format!("the object names more than {MOST_NAMED} others");
                reading.add(Code::TooManyObjects, message, "Divide the cluster.");
                return reading.settle(found);
            }
        }
    }
    reading.settle(found)
}

/// The fields of an object in which something is named.
pub fn fields(known: &ClusterKind) -> impl Iterator<Item = Path> {
    known.names.iter().map(|naming| naming.field)
}

/// A field as people write it.
pub fn dotted(field: Path) -> String {
    field.join(".").replace(".[]", "[]")
}

/// The field that names an identity, with the kind of the object that it stands in.
pub fn shown(known: &ClusterKind, named: &Named) -> String {
    format!("{} {}", known.kind, named.field)
}

/// What stands where something is named.
pub(super) struct Places<'n> {
    pub(super) found: Vec<&'n Node>,
    /// Whether nothing stands in some place.
    lacks: bool,
    /// Whether a map that it would stand in is there.
    lacks_last: bool,
}

impl Places<'_> {
    pub(super) fn new() -> Self {
        Places { found: Vec::new(), lacks: false, lacks_last: false }
    }
}

/// Does something one step further on the way to a field, and shows the step in the path.
fn within<T>(at: &mut String, key: &str, step: impl FnOnce(&mut String) -> T) -> T {
    let length = at.len();
    if key != LIST && !at.is_empty() {
        at.push('.');
    }
    at.push_str(key);
    let done = step(at);
    at.truncate(length);
    done
}

/// The step of a path that stands for every item of a list.
const LIST: &str = "[]";

/// Tells which keys on the way to the fields are nearly those that lead there: who mistypes a field means to name
/// something.
pub(super) fn check_fields(reading: &mut Reading, node: &Node, at: &mut String, fields: &[&[&str]]) {
    let mut nexts: Vec<&str> = Vec::new();
    for next in fields.iter().filter_map(|field| field.first()) {
        if !nexts.contains(next) {
            nexts.push(next);
        }
    }
    // The top of an object was looked at when it was admitted.
    if !at.is_empty() {
        reading.mistyped(node, at, &nexts);
    }
    for next in nexts {
        let behind = fields.iter().filter_map(|field| field.split_first()).filter(|(key, _)| **key == next);
        let behind: Vec<&[&str]> = behind.map(|(_, rest)| rest).filter(|rest| !rest.is_empty()).collect();
        if behind.is_empty() {
            continue;
        }
        let nodes = if next == LIST { node.items() } else { node.get(next).map_or(&[][..], core::slice::from_ref) };
        within(at, next, |at| nodes.iter().for_each(|node| check_fields(reading, node, at, &behind)));
    }
}

/// The nodes at a path; `null` counts as absent, and what cannot be on the way is a fault.
pub(super) fn collect<'n>(
    reading: &mut Reading,
    node: &'n Node,
    at: &mut String,
    path: &[&str],
    places: &mut Places<'n>,
) {
    match (path.split_first(), node) {
        (None, Node::Null) => (places.lacks, places.lacks_last) = (true, true),
        (Some(_), Node::Null) => places.lacks = true,
        (None, node) => places.found.push(node),
        (Some((&LIST, rest)), Node::List(items)) => {
            places.lacks |= items.is_empty();
            within(at, LIST, |at| items.iter().for_each(|item| collect(reading, item, at, rest, places)));
        }
        (Some((&LIST, _)), other) => {
            let Told = reading.faults.wrong_type(at, other, "a list");
        }
        (Some((key, rest)), Node::Map(_)) => match node.get(key) {
            Some(next) => within(at, key, |at| collect(reading, next, at, rest, places)),
            None => {
                places.lacks = true;
                places.lacks_last |= rest.is_empty();
            }
        },
        (Some(_), other) => {
            let shown = if at.is_empty() { "the object" } else { at };
            let Told = reading.faults.wrong_type(shown, other, "a map");
        }
    }
}

fn by_default(naming: &Naming, name: &str, own: &Namespace) -> Option<Named> {
    let choice = match &naming.choices {
        Choices::One(choice) => choice,
        Choices::By { of, .. } => of.first()?,
    };
    let entries = choice.entries.iter().map(|entry| Box::from(entry.name)).collect();
    Some(Named { by_default: true, ..made(naming, choice, name, own.clone(), entries) })
}

fn made(naming: &Naming, choice: &Choice, name: &str, namespace: Namespace, entries: Vec<Box<str>>) -> Named {
    let kind = GroupKind::new(choice.group, choice.kind);
    let known = rules(&kind);
    let namespace = Some(namespace).filter(|_| known.is_none_or(|rules| rules.scope == Scope::Namespaced));
    let newest = known.and_then(|rules| rules.versions.first());
    let version = Version::from(newest.map_or("v1", |served| served.version));
    Named { kind, version, name: name.into(), namespace, field: dotted(naming.field), entries, by_default: false }
}

/// What one place names; none where the fault was added, or nothing is named there.
fn one(reading: &mut Reading, naming: &Naming, node: &Node, own: &Namespace) -> Option<Named> {
    let at = dotted(naming.field);
    let default = match naming.form {
        Form::Text => {
            let Choices::One(choice) = &naming.choices else { return None };
            let name = reading.faults.needed(node, &at, &[])?;
            let name = reading.named(name, &at, is_dns_subdomain)?;
            let entries = choice.entries.iter().map(|entry| Box::from(entry.name)).collect();
            return Some(made(naming, choice, name, own.clone(), entries));
        }
        Form::Map => None,
        Form::MapNamed(default) => Some(default),
    };
    check_keys(reading, naming, node, &at);
    let choice = choice(reading, &naming.choices, node, &at)?;
    if choice.kind.is_empty() {
        return None;
    }
    let name = match default {
        Some(default) => reading.faults.walk_to_text(node, &at, &["name"]).ok()?.unwrap_or(default),
        None => reading.faults.needed(node, &at, &["name"])?,
    };
    let name = reading.named(name, &format!("{at}.name"), is_dns_subdomain)?;
    let namespace = match naming.namespace {
        Within::Own => None,
        Within::SaidOrOwn => reading.faults.walk_to_text(node, &at, &["namespace"]).ok()?,
        Within::Said => Some(reading.faults.needed(node, &at, &["namespace"])?),
    };
    let namespace = match namespace {
        None => own.clone(),
        Some(text) => reading.named(text, &format!("{at}.namespace"), is_dns_label)?.into(),
    };
    let entries = choice.entries.iter().map(|entry| {
        let said = if entry.by.is_empty() { None } else { reading.faults.text(node, &at, entry.by) };
        Box::from(said.unwrap_or(entry.name))
    });
    let entries = entries.collect();
    Some(made(naming, &choice, name, namespace, entries))
}

/// Tells which keys of a map that names something are nearly those that are read of it.
fn check_keys(reading: &mut Reading, naming: &Naming, node: &Node, at: &str) {
    let mut known = vec!["name"];
    known.extend((naming.namespace != Within::Own).then_some("namespace"));
    let entries = match &naming.choices {
        Choices::One(choice) => choice.entries,
        Choices::By { key, .. } => {
            known.push(key);
            &[]
        }
    };
    let by = entries.iter().map(|entry| entry.by);
    known.extend(by.clone().filter_map(|by| by.first().copied()));
    reading.mistyped(node, at, &known);
    for (last, before) in by.filter_map(<[&str]>::split_last).filter(|(_, before)| !before.is_empty()) {
        if let Some(node) = node.at(before) {
            reading.mistyped(node, &format!("{at}.{}", before.join(".")), &[last]);
        }
    }
}

fn choice(reading: &mut Reading, choices: &Choices, node: &Node, at: &str) -> Option<Choice> {
    let (key, first_by_default, of) = match choices {
        Choices::One(choice) => return Some(*choice),
        Choices::By { key, first_by_default, of } => (*key, *first_by_default, *of),
    };
    let said = match reading.faults.walk_to_text(node, at, &[key]).ok()? {
        None if first_by_default => return of.first().copied(),
        None => reading.faults.needed(node, at, &[key])?,
        Some(said) => said,
    };
    let found = of.iter().find(|choice| choice.word == said).copied();
    if found.is_none() {
        let words: Vec<&str> = of.iter().map(|choice| choice.word).collect();
        let field = format!("{at}.{key}");
        let message = format!("{field} cannot be {}", quoted(said));
        reading.faults.add_of(&field, is_template(said), message, &format!("Write one of: {}.", words.join(", ")));
    }
    found
}
