//! The namespace in which a controller reads the Secret that an identity names without one.

use alloc::vec::Vec;

use super::{Lookup, Snapshot};
use crate::config::{Fleet, grants_for};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey};
use crate::object::Object;
use crate::{capi, kinds};

impl Snapshot {
    /// The namespace in which the controller of an identity's kind reads an object, for a claimant.
    ///
    /// The configuration says it; else it is the system namespace. For a Cluster without Credential, an object that is
    /// proved not to be there is read from clusterctl's namespace of the provider: so nothing there takes the place of
    /// one in the system namespace, and where the namespace is missing or shut, only what is nowhere else waits.
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
        let system = fleet.system_namespace.clone();
        let Some(own) = by_default(fleet, by, of) else { return system };
        let key = |namespace: &Namespace| ObjectKey::new(target.0.clone(), Some(namespace.clone()), target.1.clone());
        let own_key = key(&own);
        let is_own = matches!(self.stands(&key(&system)), Lookup::Absent)
            && self.may_have(fleet, by, &own_key)
            && !matches!(self.stands(&own_key), Lookup::Absent);
        if is_own { own } else { system }
    }

    /// The copy of an object in clusterctl's namespace of an identity's provider that is not read, because the system
    /// namespace has the object.
    pub fn passed_over(&self, fleet: &Fleet, by: &Claimant, of: &GroupKind, read: &ObjectKey) -> Option<&Object> {
        let namespace = by_default(fleet, by, of).filter(|own| read.namespace.as_ref() != Some(own))?;
        let key = ObjectKey { namespace: Some(namespace), ..read.clone() };
        self.get(&key).filter(|_| self.may_have(fleet, by, &key))
    }

    /// Returns true if a source of a claimant may provide an object, or a grant names it: of others nothing is asked.
    /// Of a claimant that is not there, the source is unknown.
    fn may_have(&self, fleet: &Fleet, by: &Claimant, key: &ObjectKey) -> bool {
        let mut sources = kinds::claimant(by)
            .into_iter()
            .flat_map(|claimant| self.agreeing(&claimant).map(|copy| copy.origin.source.clone()).collect::<Vec<_>>());
        let first = sources.next();
        first
            .is_none_or(|first| fleet.may_provide(&first, key) || sources.any(|source| fleet.may_provide(&source, key)))
            || grants_for(&fleet.grants, by, key).next().is_some()
    }
}

/// The namespace in which clusterctl installs the controller of an identity's kind, where it may count: for a Cluster,
/// and unless the configuration says another one.
fn by_default(fleet: &Fleet, by: &Claimant, of: &GroupKind) -> Option<Namespace> {
    let is_open = !by.is_credential() && !fleet.controllers.contains_key(of);
    capi::controller_namespace(of).map(Namespace::from).filter(|own| is_open && *own != fleet.system_namespace)
}
