//! Sharing: identities that more use than somebody may think of.
//!
//! Nothing here is wrong, and nothing stops: it is worth knowing before a credential leaks, or has to be withdrawn from
//! one of those who use it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::admission::tenancy_of;
use crate::capi::{self, Tenancy};
use crate::claim::Claim;
use crate::closure::{Closure, Role};
use crate::finding::{Code, Finding};
use crate::listing::few;
use crate::name::{Namespace, ObjectKey};
use crate::object::Object;
use crate::world::World;

/// How many namespaces a message names.
const MOST_NAMED: usize = 5;

/// A claim, what it needs, and what was found of it so far.
pub(super) struct Heard {
    pub(super) claim: Arc<Claim>,
    pub(super) closure: Closure,
    pub(super) findings: Vec<Finding>,
}

impl Heard {
    /// Returns true if something found stops the claim.
    pub(super) fn is_stopped(&self) -> bool {
        self.findings.iter().any(Finding::stops_claim)
    }
}

/// The identities of a closure that admit every namespace.
pub(super) fn open(world: &World<'_>, closure: &Closure) -> Vec<Finding> {
    let published = closure.members.iter().filter(|member| member.role != Role::Assumed);
    let objects = published.filter_map(|member| world.snapshot.get(&member.read));
    objects.filter_map(|object| open_to_all(world, object)).collect()
}

fn open_to_all(world: &World<'_>, object: &Object) -> Option<Finding> {
    // Of a kind that the configuration opens to all, no object says anything about it.
    let tenancy = tenancy_of(world.fleet, &object.key.kind).filter(|tenancy| *tenancy != Tenancy::All)?;
    if !capi::admits_everybody(tenancy, object.at(&["spec"])) {
        return None;
    }
    let message = format!("{} is open to every namespace of the region", object.key);
    let field = tenancy.form().map_or("allowedNamespaces", |form| form.field);
    let help = format!("If only some are to use it, name them in spec.{field}.");
    Some(Finding::new(Code::OpenToAll, message).about(&object.key).at(&object.origin).help(help))
}

/// Tells claims of one region that nothing stops of the namespaces whose Credentials name the same identity.
///
/// What AccessManagement hands out is meant to be shared, and the system namespace belongs to no tenant.
pub(super) fn shared(world: &World<'_>, heard: &mut [Heard]) {
    let mut users: BTreeMap<ObjectKey, BTreeSet<Namespace>> = BTreeMap::new();
    for (claim, root) in heard.iter().filter_map(|heard| root(world, heard)) {
        users.entry(root.clone()).or_default().insert(claim.by.namespace().clone());
    }
    users.retain(|_, namespaces| namespaces.len() > 1);
    if users.is_empty() {
        return;
    }
    for heard in heard {
        let Some((claim, root)) = root(world, heard) else { continue };
        let (Some(namespaces), Some(object)) = (users.get(root), world.snapshot.get(root)) else { continue };
        let named = few(namespaces, namespaces.len(), MOST_NAMED);
        let message = format!("{} is the identity of Credentials in several namespaces: {named}", object.key);
        let help = "If they are different tenants, an identity for each can be replaced or withdrawn alone.";
        let finding = Finding::new(Code::SharedIdentity, message).about(&object.key).at(&object.origin).help(help);
        let finding = finding.claimed_by(&claim.by).in_region(claim.region());
        heard.findings.push(finding);
    }
}

/// The identity that a tenant's claim names, unless something stops the claim.
fn root<'h>(world: &World<'_>, heard: &'h Heard) -> Option<(&'h Claim, &'h ObjectKey)> {
    let Heard { claim, closure, .. } = heard;
    // Clusters of one identity share it by design.
    let is_tenant =
        !claim.is_handed_out() && claim.by.is_credential() && *claim.by.namespace() != world.fleet.system_namespace;
    let root = closure.members.first().filter(|root| is_tenant && root.role == Role::Root)?;
    (!heard.is_stopped()).then_some((claim, &root.read))
}
