//! The objects that machines name, whether or not the machines themselves are kept.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use crate::capi::cluster::{self, Named};
use crate::config::Fleet;
use crate::name::{Name, ObjectKey};
use crate::object::Object;

/// The objects that a machine, a template of machines or a failure domain names.
pub struct OfMachine {
    /// The machine.
    pub machine: ObjectKey,
    /// The identities, Secrets and ConfigMaps.
    pub named: Vec<Named>,
    /// The names in one that cannot be read: each may be that of an identity.
    pub in_unread: BTreeSet<Name>,
}

impl OfMachine {
    /// Reads it; none of an object of another kind.
    pub fn of(fleet: &Fleet, object: &Object) -> Option<Self> {
        let (known, is_template) = cluster::of_machines(&object.key.kind)?;
        let own = object.key.namespace.as_ref().unwrap_or_else(|| fleet.controller_of(known));
        let body = if is_template { cluster::of_made(&object.body).ok() } else { Some(&object.body) };
        let named = body.and_then(|body| cluster::names(known, body, own).ok()).filter(|_| !object.is_mistyped());
        let in_unread = if named.is_some() { BTreeSet::new() } else { cluster::names_in(&object.body) };
        Some(Self { machine: object.key.clone(), named: named.unwrap_or_default(), in_unread })
    }
}
