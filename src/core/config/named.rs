//! Named: objects that the configuration names by kind and namespace, and kinds that it may name.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::error::{Faults, FieldPath, quoted, suggest};
use super::kind::ExtraKind;
use crate::kinds::{Scopes, is_published, published};
use crate::name::{GroupKind, Namespace, Scope};

/// The kinds that an entry may name: those that are published, and some that only say which objects are.
pub(super) struct KnownKinds<'a> {
    pub(super) kinds: &'a BTreeMap<GroupKind, ExtraKind>,
    pub(super) also: fn(&GroupKind) -> bool,
}

/// Checks that a kind is known, and that a namespace is as its scope wants it: naming a kind does not make it
/// publishable.
pub(super) fn placed(
    kind: &GroupKind,
    namespace: Option<&Namespace>,
    known: &KnownKinds<'_>,
    path: &FieldPath,
    faults: &mut Faults,
) {
    let KnownKinds { kinds, also } = *known;
    let built_in = || Scopes::new().of(kind).filter(|_| is_published(kind) || also(kind));
    let scope = kinds.get(kind).map(|extra| extra.scope).or_else(built_in);
    match (scope, namespace) {
        (None, _) => {
            let message = format!("pouch publishes no objects of kind {}", quoted(&kind.qualified()));
            faults.add(&path.key("kind"), message, suggest_kind(kind.kind.as_str(), kinds));
        }
        (Some(Scope::Namespaced), None) => {
            let message = format!("the namespace is missing, and objects of kind {} have one", kind.kind);
            faults.add(path, message, "Write `namespace`.");
        }
        (Some(Scope::Cluster), Some(_)) => {
            let message = format!("objects of kind {} have no namespace", kind.kind);
            faults.add(&path.key("namespace"), message, "Remove the field.");
        }
        (Some(_), _) => {}
    }
}

/// Suggests the group under which a kind is published, else lists the kinds there are.
fn suggest_kind(typed: &str, kinds: &BTreeMap<GroupKind, ExtraKind>) -> String {
    let all: Vec<GroupKind> = published().chain(kinds.keys().cloned()).collect();
    if let Some(found) = all.iter().find(|kind| kind.kind == typed) {
        return format!("Write `group: {:?}`.", found.group.as_str());
    }
    let names: Vec<&str> = all.iter().map(|kind| kind.kind.as_str()).collect();
    suggest(typed, names)
}
