//! What is known of a source beyond the objects that it gave.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::mistyped::Meant;
use super::reason::Reason;
use super::unopened::{Unopened, Word};
use crate::config::Provides;
use crate::name::{GroupKind, Namespace, ObjectKey, Scope, SourceName, Version};
use crate::unread_words::UnreadWords;

/// What is known of a source that is asked piece by piece: some kinds as a whole, objects by name.
#[derive(Default)]
pub struct Inquiry {
    /// The kinds that were listed as a whole, with the reason where one could not be.
    pub listed: BTreeMap<GroupKind, Result<(), Reason>>,
    /// What the source serves of other kinds: their scope, and their versions, the preferred one first.
    pub served: BTreeMap<GroupKind, (Scope, Vec<Version>)>,
    pub(super) asked: BTreeMap<ObjectKey, Result<(), Reason>>,
}

/// What is known of a source beyond the objects that it gave.
pub(super) struct State {
    pub(super) name: SourceName,
    pub(super) provides: Provides,
    pub(super) overrides: bool,
    pub(super) lacks: Lacks,
    pub(super) sealed: Unopened,
    /// Objects that documents could be meant to be.
    pub(super) meant: Vec<Meant>,
}

impl State {
    pub(super) fn word(&self, key: &ObjectKey) -> Word<'_> {
        let meant = || self.meant.iter().find(|meant| meant.may_be(key));
        let meant = || meant().map(|meant| Word::Unread(Some(&meant.reason)));
        self.sealed.word(key).or_else(meant).unwrap_or_else(|| self.lacks.word(key))
    }

    /// Whether some object of a kind might be in a namespace unseen.
    pub(super) fn may_hold_kind(&self, kind: &GroupKind, namespace: Option<&Namespace>) -> bool {
        let may_be = |meant: &Meant| meant.may_be_in(kind, namespace.map(Namespace::as_str));
        self.meant.iter().any(may_be) || self.lacks.may_hold_kind(kind)
    }
}

/// What a source might hold beyond what was read.
pub(super) enum Lacks {
    Nothing,
    Anything,
    Words(Vec<UnreadWords>),
    Unasked(Inquiry),
}

impl Lacks {
    pub(super) fn word(&self, key: &ObjectKey) -> Word<'_> {
        match self {
            Lacks::Nothing => Word::Absent,
            Lacks::Anything => Word::Unread(None),
            Lacks::Words(unread_words) => {
                let (kind, name) = (key.kind.kind.as_str(), key.name.as_str());
                match unread_words.iter().any(|words| words.may_hold(kind, name)) {
                    true => Word::Unread(None),
                    false => Word::Absent,
                }
            }
            Lacks::Unasked(inquiry) => match inquiry.listed.get(&key.kind).or_else(|| inquiry.asked.get(key)) {
                Some(Ok(())) => Word::Absent,
                Some(Err(reason)) => Word::Unread(Some(reason)),
                None => Word::Unasked,
            },
        }
    }

    /// Whether some object of a kind might be there unseen.
    pub(super) fn may_hold_kind(&self, kind: &GroupKind) -> bool {
        match self {
            Lacks::Nothing => false,
            Lacks::Anything => true,
            Lacks::Words(unread_words) => unread_words.iter().any(|words| words.may_hold_kind(kind.kind.as_str())),
            Lacks::Unasked(inquiry) => !matches!(inquiry.listed.get(kind), Some(Ok(()))),
        }
    }
}

/// Whether a source may provide an object (DESIGN §2.4).
pub(super) fn may_provide(provides: &Provides, key: &ObjectKey, system_namespace: &Namespace) -> bool {
    match &key.namespace {
        None => provides.cluster_scoped,
        Some(namespace) if namespace == system_namespace => provides.cluster_scoped,
        Some(namespace) => provides.namespaces.matches(namespace.as_str()),
    }
}
