//! References: what a field of an object names.

use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::{self, Need};
use crate::k0rdent::provider_interface::ReferencePath;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, is_dns_label, is_dns_subdomain};
use crate::node::{Key, Node};
use crate::object::Object;

/// What a reference's fields hold.
pub enum Reference {
    /// A name, and where to look for it.
    To {
        /// Group and kind: the actual one where the object says so itself.
        kind: GroupKind,
        /// The name.
        name: Name,
        /// What the namespace field says.
        namespace: NamespaceField,
    },
    /// The name field is absent: then an optional reference names nothing.
    None,
    /// A field holds something that is no name: the field, and what it holds.
    Invalid(String, &'static str),
}

/// What a reference's namespace field says.
pub enum NamespaceField {
    /// The definition has no such field.
    NotDefined,
    /// The field is absent.
    Missing(String),
    /// The namespace.
    Says(Namespace),
}

/// Reads a reference's fields from an object.
pub fn follow(object: &Object, path: &ReferencePath) -> Reference {
    let name = match text_at(object, &path.name) {
        Field::Absent => return Reference::None,
        Field::Wrong(what) => return Reference::Invalid(dotted(&path.name), what),
        Field::Text(name) if is_dns_subdomain(name) => Name::from(name),
        Field::Text(_) => return Reference::Invalid(dotted(&path.name), "text that cannot be a Kubernetes name"),
    };
    let namespace = match &path.namespace {
        None => NamespaceField::NotDefined,
        Some(field) => match text_at(object, field) {
            Field::Absent => NamespaceField::Missing(dotted(field)),
            Field::Wrong(what) => return Reference::Invalid(dotted(field), what),
            Field::Text(namespace) if is_dns_label(namespace) => NamespaceField::Says(namespace.into()),
            Field::Text(_) => return Reference::Invalid(dotted(field), "text that cannot be a namespace"),
        },
    };
    Reference::To { kind: actual_kind(object, path), name, namespace }
}

/// The kind beside the name, if the object has one there, else the definition's (DESIGN §2.2.3).
fn actual_kind(object: &Object, path: &ReferencePath) -> GroupKind {
    let parent = path.name.split_last().map_or(&[][..], |(_, parent)| parent);
    // The object's own `kind` is no sibling of a field at its top.
    if parent.is_empty() {
        return path.kind.clone();
    }
    let mut sibling: Vec<&str> = parent.iter().map(|key| &**key).collect();
    sibling.push("kind");
    match object.body.str_at(&sibling) {
        Some(kind) if !kind.is_empty() => GroupKind { group: path.kind.group.clone(), kind: kind.into() },
        _ => path.kind.clone(),
    }
}

/// What stands at a path.
pub(super) enum Field<'a> {
    /// Nothing.
    Absent,
    /// Something that is no text, and what it is.
    Wrong(&'static str),
    /// Text.
    Text(&'a str),
}

/// The field at a path. Of the metadata an object keeps what identifies it, and no other path leads there.
pub(super) fn text_at<'a>(object: &'a Object, path: &[Key]) -> Field<'a> {
    let ObjectKey { namespace, name, .. } = &object.key;
    match path {
        [top, field] if **top == *"metadata" && **field == *"name" => return Field::Text(name.as_str()),
        [top, field] if **top == *"metadata" && **field == *"namespace" => {
            return namespace.as_ref().map_or(Field::Absent, |namespace| Field::Text(namespace.as_str()));
        }
        _ => {}
    }
    let mut node = &object.body;
    for key in path {
        match node {
            Node::Map(_) => match node.get(key) {
                None | Some(Node::Null) => return Field::Absent,
                Some(next) => node = next,
            },
            other => return Field::Wrong(other.type_name()),
        }
    }
    match node {
        Node::Text(text) => Field::Text(text),
        other => Field::Wrong(other.type_name()),
    }
}

/// A path as ProviderInterfaces write it.
pub fn dotted(path: &[Key]) -> String {
    let keys: Vec<&str> = path.iter().map(|key| &**key).collect();
    keys.join(".")
}

/// Tells if an identity of a kind with rules needs the object that a field refers to.
pub(super) fn need_of(object: &Object, path: &[Key]) -> Option<Need> {
    let path: Vec<&str> = path.iter().map(|key| &**key).collect();
    capi::rules(&object.key.kind).map(|rules| capi::need(rules, &object.body, &path))
}
