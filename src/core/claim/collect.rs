//! All claims of a snapshot, of every kind; and whether a claimant that makes none is gone.

use alloc::vec::Vec;

use super::access::{self, Access, Rules};
use super::deployments::Deployments;
use super::sync_rule::{self, SyncRules};
use super::{Asked, cluster, credential, guest, resource_set};
use crate::config::Fleet;
use crate::finding::Code;
use crate::name::{Claimant, Region};
use crate::selector::Truth;
use crate::snapshot::{Lookup, Snapshot};
use crate::{k0rdent, kinds};

/// What every Credential of the snapshot asks for, every one that an AccessManagement rule makes, every Cluster and every
/// ClusterResourceSet that a region takes, every ResourceSyncRule that a region names and every group of guest clusters,
/// sorted by claimant.
pub fn claims(fleet: &Fleet, snapshot: &Snapshot, rules: &Rules, synced: &SyncRules) -> Vec<Asked> {
    let access = rules.in_force(fleet, snapshot);
    let mut made = access.made();
    let kind = access::credential_kind();
    let mut asked = Vec::with_capacity(snapshot.all(&kind).count());
    for object in snapshot.all(&kind) {
        let Some(namespace) = object.key.namespace.clone() else { continue };
        let by = Claimant::credential(namespace, object.key.name.clone());
        let is_copy = object.label(k0rdent::MANAGED_LABEL) == Some("true");
        asked.push(match (made.remove(&by), is_copy) {
            (Some(source), true) => access::managed(&access, by, source, Some(object)),
            (None, true) => access::unexplained(&access, by, object),
            (source, false) => {
                let mut own = credential::ask(fleet, snapshot, object, by, None);
                source.into_iter().for_each(|source| access::not_applied(&mut own, object, source));
                own.settle();
                own
            }
        });
    }
    asked.extend(made.into_iter().map(|(by, source)| access::managed(&access, by, source, None)));
    asked.extend(cluster::claims(fleet, snapshot));
    asked.extend(sync_rule::claims(fleet, snapshot, synced));
    asked.extend(resource_set::claims(fleet, snapshot));
    asked.extend(guest::claims(fleet, snapshot, synced));
    asked.sort_by(|a, b| a.by.cmp(&b.by));
    asked.shrink_to_fit();
    asked
}

/// The code that says why what a claimant has published stays although it claims nothing for the region, if it does;
/// `asked` is what it asks for, if it is there.
pub fn kept_by(
    by: &Claimant,
    asked: Option<&Asked>,
    access: &Access<'_>,
    deployments: &Deployments,
    snapshot: &Snapshot,
    synced: &SyncRules,
    region: &Region,
) -> Option<Code> {
    if by.rule().is_some() {
        return sync_rule::kept_by(access.fleet(), snapshot, synced, by, region);
    }
    if by.group().is_some() {
        return guest::kept_by(access.fleet(), snapshot, by, region);
    }
    // A later release knows what claims of other kinds ask for.
    let Some(object) = kinds::claimant(by) else { return Some(Code::Unread) };
    // The claimant is there, but what it asks for cannot be told: a misspelt region is no order to delete.
    if let Some(code) = asked.and_then(Asked::broken_by) {
        return Some(code);
    }
    // Of a Cluster or a set that no region takes any more, the configuration has said enough.
    let may_be_taken = || match by.is_resource_set() {
        true => resource_set::may_be_taken(access.fleet(), by),
        false => cluster::may_be_taken(access.fleet(), by),
    };
    if !by.is_credential() && asked.is_none() && !may_be_taken() {
        return None;
    }
    // A rule may make the Credential, and nobody can tell: that is no proof that it is gone.
    let may_be_made = || by.is_credential() && asked.is_none() && access.makes(by) == Truth::Unknown;
    if matches!(snapshot.look_up(&object), Lookup::Unread(_) | Lookup::Unasked) || may_be_made() {
        return Some(Code::Unread);
    }
    if by.is_credential() { deployments.keep(by, snapshot) } else { None }
}
