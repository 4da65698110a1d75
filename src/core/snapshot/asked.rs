//! Asked: what a source is asked for.

use crate::name::{GroupKind, Namespace, ObjectKey};

/// The question to a source.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) kind: &'a GroupKind,
    /// The namespace; none is any, or that of a kind without.
    pub(super) namespace: Option<&'a Namespace>,
    /// The one object; none for all of the kind in the namespace.
    pub(super) object: Option<&'a ObjectKey>,
}

impl<'a> Asked<'a> {
    pub(super) fn object(key: &'a ObjectKey) -> Self {
        Self { kind: &key.kind, namespace: key.namespace.as_ref(), object: Some(key) }
    }
}
