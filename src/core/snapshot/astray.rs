//! Documents whose namespace is mistyped. Where a source has a default namespace, each would be another object, and the one
//! that was meant would look as if it were gone.

use alloc::boxed::Box;
use alloc::format;

use super::mistyped::Meant;
use crate::config::Source;
use crate::finding::{Code, Finding, Origin};
use crate::kinds::Scopes;
use crate::name::{GroupKind, Scope};
use crate::nearest::{edits, nearest};
use crate::node::Node;
use crate::object::FIELDS_OF_METADATA;

/// What is said of such a document, and what it could be: any object of its kind and name. It is read as none: in the
/// default namespace another one may be called the same.
pub(super) fn check(
    document: &Node,
    kind: &GroupKind,
    (source, scopes): (&Source, &Scopes),
    origin: &Origin,
) -> Option<Box<(Finding, Meant)>> {
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
    let mut beside = document.entries().iter().map(|(key, _)| &**key).filter(|key| edits(key, FIELD).is_some());
    const STAYS: &str = "Until this is corrected, what is published by this name stays.";
    let (typed, place, help) = match (within.next(), beside.next()) {
        (Some(typed), _) => (typed, "in metadata", format!("Did you mean {FIELD}? {STAYS}")),
        (None, Some(typed)) => (typed, "beside metadata", format!("Write it as {FIELD} below metadata. {STAYS}")),
        (None, None) => return None,
    };
    let called =
        metadata.str_at(&["name"]).map_or_else(|| format!("a {}", kind.kind), |name| format!("{} {name}", kind.kind));
    let message = format!(
        "{called} has no field {typed:?} {place}, and would stand in the default namespace {default} without a namespace"
    );
    let finding = Finding::new(Code::Mistyped, message).at(origin).help(help);
    Some(Box::new((finding, Meant::of(document, Some(kind.clone()), origin))))
}
