//! The namespace in which a controller reads the Secret that an identity names without one.

use alloc::vec::Vec;

use super::{Lookup, Snapshot};
use crate::config::{Fleet, Provides, grants_for};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey};
use crate::object::Object;
use crate::{capi, kinds};

impl Snapshot {
    /// The namespace in which the controller of an identity's kind reads an object, for a claimant.
    ///
    /// The configuration says it. Else k0rdent runs all controllers in the system namespace, and for a Cluster without
    /// Credential clusterctl's namespace of the provider counts, if the object is there and a source has it that may provide
    /// what belongs to all; the system namespace, if it is proved not to be.
    pub fn controller_namespace(
        &self,
        fleet: &Fleet,
        by: &Claimant,
        of: &GroupKind,
        target: (&GroupKind, &Name),
    ) -> Namespace {
        if let Some(said) = fleet.controllers.get(of) {
            return said.clone();
        }
        let system = || fleet.system_namespace.clone();
        let Some(own) = capi::controller_namespace(of).map(Namespace::from).filter(|_| !by.is_credential()) else {
            return system();
        };
        let key = ObjectKey::new(target.0.clone(), Some(own.clone()), target.1.clone());
        if !self.may_have(fleet, by, &key) {
            return system();
        }
        match self.stands(&key) {
            Lookup::Absent => system(),
            Lookup::Found(_) if !self.is_trusted(fleet, &key) => system(),
            Lookup::Found(_) | Lookup::Unread(_) | Lookup::Unasked => own,
        }
    }

    /// Returns true if a source of a claimant may provide an object, or a grant names it: of others nothing is asked. Of a
    /// claimant that is not there, nobody knows the source.
    fn may_have(&self, fleet: &Fleet, by: &Claimant, key: &ObjectKey) -> bool {
        let mut sources = kinds::claimant(by)
            .into_iter()
            .flat_map(|claimant| self.agreeing(&claimant).map(|copy| copy.origin.source.clone()).collect::<Vec<_>>());
        let first = sources.next();
        first
            .is_none_or(|first| fleet.may_provide(&first, key) || sources.any(|source| fleet.may_provide(&source, key)))
            || grants_for(&fleet.grants, by, key).next().is_some()
    }

    /// Returns true if an object, where it is known, stands in a source that may provide what belongs to all, or is named
    /// there one by one: a tenant who may write in any namespace chooses no Secret of a controller.
    pub fn is_trusted(&self, fleet: &Fleet, key: &ObjectKey) -> bool {
        let trusts = |object: &Object| is_trusted(fleet, key, object);
        self.get(key).is_none() || self.agreeing(key).any(trusts)
    }
}

fn is_trusted(fleet: &Fleet, key: &ObjectKey, object: &Object) -> bool {
    let is_named = |provides: &Provides| {
        provides.objects.iter().any(|objects| objects.are(&key.kind, key.namespace.as_ref(), key.name.as_str()))
    };
    let source = fleet.sources.iter().find(|source| source.name == object.origin.source);
    source.is_some_and(|source| source.provides.cluster_scoped || is_named(&source.provides))
}
