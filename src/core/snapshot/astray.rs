//! Documents whose namespace is mistyped. Where a source has a default namespace, each would be another object, and the one
//! that was meant would look as if it were gone.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use super::mistyped::Meant;
use crate::config::{Fleet, Source};
use crate::finding::{Code, Finding, Origin, Severity};
use crate::kinds::Scopes;
use crate::name::{GroupKind, Scope};
use crate::nearest::nearest;
use crate::node::Node;
use crate::object::FIELDS_OF_METADATA;

/// A document whose namespace is mistyped.
pub(super) struct Astray {
    /// What is said of it.
    pub(super) finding: Finding,
    /// What it could be: the object of the namespace that was typed, or of the default one; any of its kind and name where
    /// that is no text. Empty where the default namespace was typed: then it is that object all the same.
    pub(super) could_be: Vec<Meant>,
}

/// What is said of such a document, if it is one. Where it could be several objects it is read as none: in the default
/// namespace another one may be called the same.
pub(super) fn check(
    document: &Node,
    kind: &GroupKind,
    (fleet, source, scopes): (&Fleet, &Source, &Scopes),
    origin: &Origin,
) -> Option<Box<Astray>> {
    let default = source.default_namespace.as_ref()?;
    let metadata = document.get("metadata")?;
    let is_said =
        metadata.get("namespace").is_some_and(|node| !matches!(node, Node::Null) && node.as_str() != Some(""));
    if is_said || scopes.of(kind) != Some(Scope::Namespaced) {
        return None;
    }
    const FIELD: &str = "namespace";
    let within = metadata.entries().iter().map(|(key, _)| &**key).filter(|key| !FIELDS_OF_METADATA.contains(key));
    let mut within = within.filter(|key| nearest(key, [FIELD, "name"]) == Some(FIELD));
    // Kinds of which pouch does not know the fields may have one that is called so.
    let beside = document.get(FIELD).filter(|node| node.as_str().is_some() && !fleet.kinds.contains_key(kind));
    let (typed, said, place, help) = match (within.next(), beside) {
        (Some(typed), _) => (typed, metadata.get(typed)?, "in metadata", format!("Did you mean {FIELD}?")),
        (None, Some(said)) => (FIELD, said, "beside metadata", format!("Write it as {FIELD} below metadata.")),
        (None, None) => return None,
    };
    let is_default = match said {
        Node::Null => true,
        said => said.as_str().is_some_and(|said| said.is_empty() || said == default.as_str()),
    };
    let called =
        metadata.str_at(&["name"]).map_or_else(|| format!("a {}", kind.kind), |name| format!("{} {name}", kind.kind));
    let message = format!(
        "{called} has no field {typed:?} {place}, and would stand in the default namespace {default} without a namespace"
    );
    let finding = Finding::new(Code::Mistyped, message).at(origin);
    if is_default {
        let finding = finding.severity(Severity::Warning).help(help);
        return Some(Box::new(Astray { finding, could_be: Vec::new() }));
    }
    let meant = Meant::of(document, Some(kind.clone()), origin);
    let could_be = match said.as_str() {
        Some(said) => [said, default.as_str()].map(|said| meant.in_namespace(said)).into(),
        None => [meant].into(),
    };
    let help = format!("{help} Until this is corrected, what is published by this name stays.");
    Some(Box::new(Astray { finding: finding.help(help), could_be }))
}
