//! Unread: where something may stand that was not read.

use alloc::boxed::Box;

use super::asked::Asked;
use super::state::{State, Why};
use super::{Snapshot, Unread};
use crate::config::ProvidedObjects;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, SourceName};
use crate::object::Object;

impl Snapshot {
    /// The sources that may provide an object, each with its number.
    pub(super) fn providers(&self, key: &ObjectKey) -> impl Iterator<Item = (usize, &State)> {
        self.sources.iter().enumerate().filter(|(_, state)| state.provides.admits(key, &self.guarded))
    }

    fn source(&self, name: &SourceName) -> Option<&State> {
        self.sources.iter().find(|state| state.name == *name)
    }

    /// Whether no ResourceSyncRule takes an object from the sources that were not asked for it: they have it sealed, so that
    /// what rules see of it was read, or its metadata was looked at.
    pub fn is_ruled_out(&self, key: &ObjectKey) -> bool {
        self.unasked(key).all(|index| {
            let state = self.sources.get(index);
            let has_it = |copy: &Object| state.is_some_and(|state| state.name == copy.origin.source);
            let inquiry = state.and_then(|state| state.inquiry.as_ref());
            self.copies(key).any(has_it) || inquiry.is_some_and(|inquiry| inquiry.is_ruled_out(key))
        })
    }

    /// Whether a source may have objects of a kind that were not read.
    pub fn source_may_lack(&self, source: &SourceName, kind: &GroupKind) -> bool {
        let Some(state) = self.source(source) else { return true };
        let may_provide =
            state.provides.cluster_scoped || state.provides.objects.iter().any(|objects| objects.kind == *kind);
        may_provide && state.may_hold_kind(kind, None)
    }

    /// The first source of which not all objects of a kind were looked at that ResourceSyncRules may take.
    pub fn unmatched(&self, kind: &GroupKind) -> Option<Unread<'_>> {
        self.sources.iter().find_map(|state| {
            let reason = state.inquiry.as_ref()?.unmatched(kind)?;
            Some(Unread { source: &state.name, reason: Some(reason) })
        })
    }

    /// The first source with cluster-scoped objects that might have an unseen object under a key.
    pub fn trusted_unread(&self, key: &ObjectKey) -> Option<Unread<'_>> {
        let mut trusted = self.providers(key).filter(|(_, state)| state.provides.cluster_scoped);
        trusted.find_map(|(_, state)| state.unread(key))
    }

    /// Whether one source may hold an object that was not read, or that nobody asked it for.
    pub fn is_silent_on(&self, source: &SourceName, key: &ObjectKey) -> bool {
        self.source(source).is_some_and(|state| state.doubt(key).is_some())
    }

    /// Whether a source is the management cluster itself.
    pub fn is_home(&self, source: &SourceName) -> bool {
        self.home.is(source)
    }

    /// Whether a document that could not be read, or not as it stands, seems to be this very object. A source that is merely
    /// incomplete says nothing of one, and neither does a document of which nobody knows the kind.
    pub fn is_doubted(&self, key: &ObjectKey) -> bool {
        let doubts = self.providers(key).flat_map(|(_, state)| state.doubts(Asked::object(key)));
        doubts.into_iter().any(|doubt| matches!(doubt.why, Why::Meant | Why::Named | Why::Strayed))
    }

    /// Whether some source might hold an unseen object of `kind`, in whatever namespace.
    pub fn may_lack(&self, kind: &GroupKind) -> bool {
        self.sources.iter().any(|state| state.may_hold_kind(kind, None))
    }

    /// The first source that might hold an unseen object of `kind` in `namespace`.
    pub fn unread_in(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> Option<&SourceName> {
        self.incomplete_in(kind, namespace).next().map(|state| &state.name)
    }

    /// The first source with cluster-scoped objects that might hold one.
    pub fn trusted_unread_in(&self, kind: &GroupKind, namespace: &Namespace) -> Option<Unread<'_>> {
        let state = self.incomplete_in(kind, Some(namespace)).find(|state| state.provides.cluster_scoped)?;
        let reason =
            state.doubts(Asked { kind, namespace: Some(namespace), object: None }).find_map(|doubt| doubt.reason);
        Some(Unread { source: &state.name, reason })
    }

    /// The sources that might hold an unseen object of `kind` in `namespace`, whatever its name: some may provide only objects
    /// of certain names there. No namespace stands for kinds without.
    pub fn all_unread_in<'s>(
        &'s self,
        kind: &'s GroupKind,
        namespace: Option<&'s Namespace>,
    ) -> impl Iterator<Item = &'s SourceName> {
        let may =
            move |state: &&State| self.may_provide_some(state, kind, namespace) && state.may_hold_kind(kind, namespace);
        self.sources.iter().filter(may).map(|state| &state.name)
    }

    /// Returns true if a source might hold an unseen object of `kind` in `namespace` that names another one there. A
    /// document that could not be used counts only if that name stands in it.
    pub fn may_lack_naming(&self, source: &SourceName, kind: &GroupKind, namespace: &Namespace, name: &Name) -> bool {
        let key = ObjectKey::new(kind.clone(), Some(namespace.clone()), name.clone());
        self.source(source)
            .is_some_and(|state| self.may_provide_some(state, kind, Some(namespace)) && state.may_hold_naming(&key))
    }

    /// Returns true if a source might hold an unseen cluster-scoped object of `kind` that has a label with one of these
    /// values; without them, any counts. A document that could not be used counts only if such a value stands in it.
    pub fn may_lack_selected(&self, source: &SourceName, kind: &GroupKind, values: Option<&[Box<str>]>) -> bool {
        self.source(source)
            .is_some_and(|state| self.may_provide_some(state, kind, None) && state.may_hold_selected(kind, values))
    }

    fn may_provide_some(&self, state: &State, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        let key = ObjectKey::new(kind.clone(), namespace.cloned(), Name::from(""));
        let is_named = |it: &ProvidedObjects| it.kind == *kind && it.namespace.as_ref() == namespace;
        state.provides.admits(&key, &self.guarded) || state.provides.objects.iter().any(is_named)
    }

    fn incomplete_in(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> impl Iterator<Item = &State> {
        let key = ObjectKey::new(kind.clone(), namespace.cloned(), Name::from(""));
        let may = move |state: &&State| {
            state.provides.admits(&key, &self.guarded) && state.may_hold_kind(&key.kind, key.namespace.as_ref())
        };
        self.sources.iter().filter(may)
    }
}
