//! All claims of a snapshot, of every kind.

use alloc::vec::Vec;

use super::access::{self, Rules};
use super::{Asked, credential};
use crate::config::Fleet;
use crate::k0rdent;
use crate::name::Claimant;
use crate::snapshot::Snapshot;

/// What every Credential of the snapshot asks for, and every one that an AccessManagement rule makes,
/// sorted by claimant.
pub fn claims(fleet: &Fleet, snapshot: &Snapshot, rules: &Rules) -> Vec<Asked> {
    let access = rules.in_force(fleet, snapshot);
    let mut made = access.made();
    let mut asked = Vec::new();
    for object in snapshot.all(&access::credential_kind()) {
        let Some(namespace) = object.key.namespace.clone() else { continue };
        let by = Claimant::credential(namespace, object.key.name.clone());
        let is_copy = object.label(k0rdent::MANAGED_LABEL) == Some("true");
        asked.push(match (made.remove(&by), is_copy) {
            (Some(source), true) => access::managed(&access, by, source, Some(object)),
            (None, true) => access::unexplained(&access, by, object),
            (source, false) => {
                let mut own = credential::ask(fleet, object, by, false);
                source.into_iter().for_each(|source| access::not_applied(&mut own, object, source));
                own.settle();
                own
            }
        });
    }
    asked.extend(made.into_iter().map(|(by, source)| access::managed(&access, by, source, None)));
    asked.sort_by(|a, b| a.by.cmp(&b.by));
    asked
}
