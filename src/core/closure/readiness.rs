//! Readiness: would k0rdent's own controller find what pouch publishes?
//!
//! pouch resolves more layouts than k0rdent does. Where k0rdent's code (`domain/k0rdent.md` §2, the
//! same from v1.5 to v1.12) fails or looks elsewhere, the Credential never becomes ready, and its
//! ClusterDeployments are refused, however well the region is served. That is worth a warning.

use alloc::string::String;
use alloc::vec::Vec;

use super::member::Closure;
use super::reference::{Field, dotted, need_of, text_at};
use crate::capi::{Need, aws};
use crate::claim::Claim;
use crate::finding::{Code, Finding};
use crate::k0rdent::provider_interface::ReferencePath;
use crate::k0rdent::root::Root;
use crate::name::{Namespace, ObjectKey, Scope};
use crate::node::Key;
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;

/// Warns where k0rdent's own rules would leave the Credential unready.
pub fn check(world: &World<'_>, claim: &Claim, root: &Root, closure: &mut Closure) {
    // Where k0rdent copies nothing, nothing of it can fail.
    let is_copied = world.copied_by(claim.region(), &root.kind, &root.version).is_some();
    let is_detached = world.fleet.regions.get(claim.region()).is_some_and(|region| region.push_disabled) && !is_copied;
    if is_detached || !claim.by.is_credential() || closure.findings.iter().any(Finding::stops_claim) {
        return;
    }
    // On its own cluster k0rdent copies only what rules hand out, and otherwise looks where identityRef says.
    let is_used_in_place =
        !claim.is_handed_out() && world.fleet.regions.get(claim.region()).is_some_and(|region| region.management);
    let distribution = if is_used_in_place { Distribution::Works } else { distribution_fails(world, claim, root) };
    let failure = match distribution {
        Distribution::Fails(failure) => Some(failure),
        Distribution::Works => unready(world, claim, root, closure),
        Distribution::Unasked(key) => {
            // A Secret or ConfigMap whose content nobody needs is not worth reading; then nothing is said.
            let is_content = key.kind.is_secret() || key.kind.is_config_map();
            if !is_content || world.snapshot.is_aside(&key) {
                closure.wanted.push(key);
            }
            None
        }
    };
    let Some(Failure { why, cure }) = failure else { return };
    let message = format!("k0rdent will not report the Credential as ready: {why}");
    if is_used_in_place {
        let help = cure.map(|cure| format!("{cure}.")).unwrap_or_default();
        return closure.find(claim, Finding::new(Code::CredentialNeverReady, message).at(&claim.origin).help(help));
    }
    let cure = cure.map(|cure| format!("{cure}; or reduce")).unwrap_or_else(|| "Reduce".into());
    let help = format!(
        "{cure} the region's ProviderInterfaces to clusterIdentityKinds and set `k0rdentPushDisabled: true` for the region."
    );
    closure.find(claim, Finding::new(Code::CredentialNeverReady, message).at(&claim.origin).help(help));
}

/// Why k0rdent fails, and what helps beside leaving the distribution to pouch.
struct Failure {
    why: String,
    cure: Option<String>,
}

fn fails(why: String, cure: Option<String>) -> Distribution {
    Distribution::Fails(Failure { why, cure })
}

/// The failure of a lookup. What is in no namespace can have no copy in another one.
fn looks_for(world: &World<'_>, key: &ObjectKey) -> Distribution {
    let system = &world.fleet.system_namespace;
    let is_copy = key.namespace.as_ref() == Some(system);
    let cure = is_copy.then(|| format!("Put a copy of {} {} into namespace {system} as well", key.kind.kind, key.name));
    fails(format!("it looks for {key}"), cure)
}

/// What `CopyClusterIdentities` does.
enum Distribution {
    /// It returns no error.
    Works,
    /// It returns an error; this is why.
    Fails(Failure),
    /// That depends on an object that no source was asked for.
    Unasked(ObjectKey),
}

fn distribution_fails(world: &World<'_>, claim: &Claim, root: &Root) -> Distribution {
    // Without an exact match k0rdent distributes nothing, silently.
    let Some(definition) = world.copied_by(claim.region(), &root.kind, &root.version) else {
        return Distribution::Works;
    };
    let system = &world.fleet.system_namespace;
    let key = match (world.scope_of(&root.kind), &root.namespace) {
        (Some(Scope::Cluster), _) => ObjectKey::new(root.kind.clone(), None, root.name.clone()),
        (_, Some(_)) => ObjectKey::new(root.kind.clone(), Some(system.clone()), root.name.clone()),
        (_, None) => {
            let is_there = *claim.by.namespace() == *system;
            let cure = is_there.then(|| format!("Write `namespace: {system}` into identityRef"));
            return fails("identityRef has no namespace, and its kind is namespaced".into(), cure);
        }
    };
    if aws::is_controller_identity(&key) {
        return Distribution::Works;
    }
    match world.snapshot.look_up(&key) {
        Lookup::Found(object) => references_fail(world, claim, object, &definition.references),
        Lookup::Unasked => Distribution::Unasked(key),
        // Nobody knows, and a warning of something that may well work is worse than none.
        Lookup::Unread(_) => Distribution::Works,
        Lookup::Absent => looks_for(world, &key),
    }
}

/// Follows references one after the other, with two mistakes of k0rdent's own: the namespace of one is that of the next
/// that names none, and a field that was rewritten for one is read again for the next.
fn references_fail(world: &World<'_>, claim: &Claim, object: &Object, paths: &[ReferencePath]) -> Distribution {
    let mut namespace = world.fleet.system_namespace.clone();
    let mut rewritten: Vec<&[Key]> = Vec::new();
    for path in paths {
        let Some(name) = text(object, &path.name) else { return required(object, &path.name) };
        if let Some(field) = &path.namespace {
            namespace = match text(object, field) {
                Some(_) if rewritten.contains(&&**field) => claim.by.namespace().clone(),
                Some(namespace) => namespace.into(),
                None => return required(object, field),
            };
            rewritten.push(field);
        }
        match reference_fails(world, path, name, &namespace) {
            Distribution::Works => {}
            failure => return failure,
        }
    }
    Distribution::Works
}

/// The failure of a reference that k0rdent requires. Where the identity itself needs the field, its absence is an error that
/// says so.
fn required(object: &Object, path: &[Key]) -> Distribution {
    if need_of(object, path) == Some(Need::Needed) {
        return Distribution::Works;
    }
    fails(format!("it requires {} of {}", dotted(path), object.key), None)
}

fn reference_fails(world: &World<'_>, path: &ReferencePath, name: &str, namespace: &Namespace) -> Distribution {
    let is_cluster_scoped = world.scope_of(&path.kind) == Some(Scope::Cluster);
    let namespace = (!is_cluster_scoped).then(|| namespace.clone());
    let key = ObjectKey::new(path.kind.clone(), namespace, name.into());
    // The provider makes this one on the management cluster too.
    if aws::is_controller_identity(&key) {
        return Distribution::Works;
    }
    match world.snapshot.stands(&key) {
        Lookup::Found(_) | Lookup::Unread(_) => Distribution::Works,
        Lookup::Unasked => Distribution::Unasked(key),
        Lookup::Absent => looks_for(world, &key),
    }
}

/// Why the identity is not on the region where `identityRef` says, if it is not.
fn unready(world: &World<'_>, claim: &Claim, root: &Root, closure: &Closure) -> Option<Failure> {
    let landed = closure.members.first()?;
    if world.scope_of(&root.kind) == Some(Scope::Cluster) || landed.lands.namespace == root.namespace {
        return None;
    }
    let wanted = ObjectKey::new(root.kind.clone(), root.namespace.clone(), root.name.clone());
    // A Credential of that namespace, handed out or not, has k0rdent put the identity there.
    if root.namespace.as_ref().is_some_and(|there| world.brings(root, claim.region(), there)) {
        return None;
    }
    let is_management = world.fleet.regions.get(claim.region()).is_some_and(|region| region.management);
    let there = if is_management { "management cluster" } else { "region" };
    let why = format!("it looks for {wanted} on the {there}, but the object lands as {}", landed.lands);
    let cure =
        landed.lands.namespace.as_ref().map(|namespace| format!("Write `namespace: {namespace}` into identityRef"));
    Some(Failure { why, cure })
}

fn text<'a>(object: &'a Object, path: &[Key]) -> Option<&'a str> {
    if let Field::Text(text) = text_at(object, path) { Some(text) } else { None }
}
