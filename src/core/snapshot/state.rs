//! What is known of a source beyond the objects that it gave.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::doubts::Doubts;
use super::guesses::Guesses;
use super::reason::Reason;
use super::unopened::{Unopened, Word};
use crate::capi::cluster::cluster_kind;
use crate::capi::resource_set::resource_set_kind;
use crate::config::Provides;
use crate::name::{GroupKind, Namespace, ObjectKey, Scope, SourceName, Version};

/// What is known of a source that is asked piece by piece: some kinds as a whole, objects by name.
#[derive(Default)]
pub struct Inquiry {
    /// The kinds that were listed as a whole, with the reason where one could not be.
    pub listed: BTreeMap<GroupKind, Result<(), Reason>>,
    /// What the source serves of other kinds: their scope, and their versions, the preferred one first.
    pub served: BTreeMap<GroupKind, (Scope, Vec<Version>)>,
    pub(super) asked: BTreeMap<ObjectKey, Result<(), Reason>>,
    /// Where every object of a kind was looked at, and those were read that a ResourceSyncRule may take; no namespace stands
    /// for all that the source may provide.
    matched: BTreeMap<(GroupKind, Option<Namespace>), Result<(), Reason>>,
}

impl Inquiry {
    /// Notes what was answered about an object before the documents were put together.
    pub fn answered(&mut self, key: ObjectKey, told: Result<(), Reason>) {
        self.asked.insert(key, told);
    }

    /// Notes that all objects of a kind in a namespace were looked at for rules, or why not.
    pub fn matched(&mut self, kind: GroupKind, namespace: Option<Namespace>, told: Result<(), Reason>) {
        self.matched.insert((kind, namespace), told);
    }

    /// Why not all objects of a kind were looked at that rules may take, if that is so.
    fn unmatched(&self, kind: &GroupKind) -> Option<&Reason> {
        self.matched.iter().filter(|((of, _), _)| of == kind).find_map(|(_, told)| told.as_ref().err())
    }

    /// Whether an object that was not asked for was looked at, and no rule takes it, if it is there.
    fn is_ruled_out(&self, key: &ObjectKey) -> bool {
        let told = |namespace: Option<Namespace>| self.matched.get(&(key.kind.clone(), namespace));
        let own = key.namespace.clone().and_then(|namespace| told(Some(namespace)));
        matches!(own.or_else(|| told(None)), Some(Ok(())))
    }
}

impl Inquiry {
    /// The same where claimants of some kinds do not count, and none was asked for: nobody has to know which there are.
    pub(super) fn without_claimants(mut self, is_none: impl Fn(&GroupKind) -> bool) -> Self {
        for kind in [cluster_kind(), resource_set_kind()].into_iter().filter(is_none) {
            self.listed.insert(kind, Ok(()));
        }
        self
    }
}

/// What is known of a source beyond the objects that it gave.
pub(super) struct State {
    pub(super) name: SourceName,
    pub(super) provides: Provides,
    pub(super) overrides: bool,
    pub(super) lacks: Lacks,
    pub(super) sealed: Unopened,
    /// Objects that documents could be meant to be.
    pub(super) meant: Guesses,
    /// What changed each time while the source was read.
    pub(super) changing: BTreeMap<ObjectKey, Reason>,
}

impl State {
    pub(super) fn word(&self, key: &ObjectKey) -> Word<'_> {
        if let Some(reason) = self.changing.get(key) {
            return Word::Unread(Some(reason));
        }
        let meant = || self.meant.may_be(key).map(|reason| Word::Unread(Some(reason)));
        self.sealed.word(key).or_else(meant).unwrap_or_else(|| self.lacks.word(key))
    }

    /// Whether an object that was not asked for was looked at, and no rule takes it, if it is there.
    pub(super) fn is_ruled_out(&self, key: &ObjectKey) -> bool {
        self.lacks.inquiry.as_ref().is_some_and(|inquiry| inquiry.is_ruled_out(key))
    }

    /// Why not all objects of a kind were looked at that rules may take, if that is so.
    pub(super) fn unmatched(&self, kind: &GroupKind) -> Option<&Reason> {
        self.lacks.inquiry.as_ref()?.unmatched(kind)
    }

    /// Whether some object of a kind might be unseen in a namespace; none is any namespace.
    pub(super) fn may_hold_kind(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        let inquiry = self.lacks.inquiry.as_ref();
        self.may_lack(kind, namespace) || !inquiry.is_none_or(|it| matches!(it.listed.get(kind), Some(Ok(()))))
    }

    /// The same, of a source that is asked piece by piece as if all of the kind had been asked for.
    pub(super) fn may_lack(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        let is_there =
            |key: &ObjectKey| key.kind == *kind && (namespace.is_none() || key.namespace.as_ref() == namespace);
        let meant = || self.meant.may_be_in(kind, namespace);
        let Lacks { complete, doubts, .. } = &self.lacks;
        self.changing.keys().any(is_there) || meant() || !complete || doubts.may_hold_kind(kind, namespace)
    }
}

/// What a source might hold beyond what was read.
pub(super) struct Lacks {
    /// Whether nothing lacks but what stands in the other fields.
    pub(super) complete: bool,
    /// What documents that were not understood might hold.
    pub(super) doubts: Doubts,
    /// What was asked of a source that is asked piece by piece.
    pub(super) inquiry: Option<Inquiry>,
}

impl Lacks {
    pub(super) fn word(&self, key: &ObjectKey) -> Word<'_> {
        if !self.complete || self.doubts.may_hold(key) {
            return Word::Unread(None);
        }
        let Some(inquiry) = &self.inquiry else { return Word::Absent };
        match inquiry.listed.get(&key.kind).or_else(|| inquiry.asked.get(key)) {
            Some(Ok(())) => Word::Absent,
            Some(Err(reason)) => Word::Unread(Some(reason)),
            None => Word::Unasked,
        }
    }
}
