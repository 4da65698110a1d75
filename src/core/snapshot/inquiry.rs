//! Inquiry: what was asked of a source that is asked piece by piece, and what it said.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::asked::Asked;
use super::reason::Reason;
use crate::capi::cluster::{self, Belongs, cluster_kind};
use crate::capi::resource_set::resource_set_kind;
use crate::name::{GroupKind, Namespace, ObjectKey, Scope, Version};

/// The answers of a source that is asked piece by piece: some kinds as a whole, objects by name.
#[derive(Default)]
pub struct Inquiry {
    /// The kinds that were listed as a whole, with the reason where one could not be.
    pub listed: BTreeMap<GroupKind, Result<(), Reason>>,
    /// The other kinds that the source serves: their scope, and their versions, the preferred one first.
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

    /// The answer to a question; none where it was not asked.
    pub(super) fn answer(&self, asked: Asked<'_>) -> Option<&Result<(), Reason>> {
        self.listed.get(asked.kind).or_else(|| self.asked.get(asked.object?))
    }

    /// The reason why not all objects of a kind were inspected that rules may take, if there is one.
    pub(super) fn unmatched(&self, kind: &GroupKind) -> Option<&Reason> {
        self.matched.iter().filter(|((of, _), _)| of == kind).find_map(|(_, told)| told.as_ref().err())
    }

    /// Returns true if an object that was not asked for was inspected, and no rule takes it, if it is there.
    pub(super) fn is_ruled_out(&self, key: &ObjectKey) -> bool {
        let told = |namespace: Option<Namespace>| self.matched.get(&(key.kind.clone(), namespace));
        let own = key.namespace.clone().and_then(|namespace| told(Some(namespace)));
        matches!(own.or_else(|| told(None)), Some(Ok(())))
    }

    /// The same without single machines: controllers make and delete them all the time, so a cluster is not asked for
    /// them, and what they name, their templates do.
    pub(super) fn without_machines(mut self) -> Self {
        let single = cluster::makers().iter().filter(|maker| maker.belongs == Belongs::Machine);
        self.listed.extend(single.map(|maker| (maker.group_kind(), Ok(()))));
        self
    }

    /// The same where claimants of some kinds do not count, and none was asked for: nobody has to know which there are.
    pub(super) fn without_claimants(mut self, is_none: impl Fn(&GroupKind) -> bool) -> Self {
        for kind in [cluster_kind(), resource_set_kind()].into_iter().filter(is_none) {
            self.listed.insert(kind, Ok(()));
        }
        self
    }
}
