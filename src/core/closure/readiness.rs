//! Readiness: would k0rdent's own controller find what pouch publishes?
//!
//! pouch resolves more layouts than k0rdent does. Where k0rdent's code (`domain/k0rdent.md` §2, the
//! same from v1.5 to v1.12) fails or looks elsewhere, the Credential never becomes ready, and its
//! ClusterDeployments are refused, however well the region is served. That is worth a warning.

use alloc::format;
use alloc::string::String;

use super::member::Closure;
use super::reference::{Field, dotted, text_at};
use crate::capi::aws;
use crate::claim::Claim;
use crate::finding::{Code, Finding};
use crate::k0rdent::provider_interface::ReferencePath;
use crate::name::{Namespace, ObjectKey, Scope};
use crate::node::Key;
use crate::object::Object;
use crate::snapshot::Lookup;
use crate::world::World;

/// Warns where k0rdent's own rules would leave the Credential unready.
pub fn check(world: &World<'_>, claim: &Claim, closure: &mut Closure) {
    let detached = world.fleet.regions.get(claim.region()).is_some_and(|region| region.detached);
    if detached || !claim.by.is_credential() || closure.findings.iter().any(Finding::stops_claim) {
        return;
    }
    let why = match distribution_fails(world, claim) {
        Distribution::Fails(why) => Some(why),
        Distribution::Works => unready(world, claim, closure),
        Distribution::Unasked(key) => {
            // A Secret or ConfigMap whose content nobody needs is not worth reading; then nothing is said.
            if !key.kind.is_secret() && !key.kind.is_config_map() {
                closure.wanted.push(key);
            }
            None
        }
    };
    let Some(why) = why else { return };
    let message = format!("k0rdent will not report the Credential as ready: {why}");
    let system = &world.fleet.system_namespace;
    let help = format!(
        "Put a copy into namespace {system} as well; or reduce the region's ProviderInterfaces to clusterIdentityKinds \
         and set `detached: true` for the region."
    );
    closure.find(claim, Finding::new(Code::CredentialNeverReady, message).at(&claim.origin).help(help));
}

/// What `CopyClusterIdentities` does.
enum Distribution {
    /// It returns no error.
    Works,
    /// It returns an error; this is why.
    Fails(String),
    /// That depends on an object that no source was asked for.
    Unasked(ObjectKey),
}

fn distribution_fails(world: &World<'_>, claim: &Claim) -> Distribution {
    // Without an exact match k0rdent distributes nothing, silently.
    let Some(definition) = world.facts.definitions.exactly(&claim.root.kind, &claim.root.version) else {
        return Distribution::Works;
    };
    let system = &world.fleet.system_namespace;
    let key = match (world.scope_of(&claim.root.kind), &claim.root.namespace) {
        (Some(Scope::Cluster), _) => ObjectKey::new(claim.root.kind.clone(), None, claim.root.name.clone()),
        (_, Some(_)) => ObjectKey::new(claim.root.kind.clone(), Some(system.clone()), claim.root.name.clone()),
        (_, None) => {
            return Distribution::Fails("identityRef has no namespace, and its kind is namespaced".into());
        }
    };
    if aws::is_controller_identity(&key) {
        return Distribution::Works;
    }
    match world.snapshot.look_up(&key) {
        Lookup::Found(object) => {
            let mut outcomes = definition.references.iter().map(|path| reference_fails(world, object, path));
            outcomes.find(|outcome| !matches!(outcome, Distribution::Works)).unwrap_or(Distribution::Works)
        }
        Lookup::Unasked => Distribution::Unasked(key),
        // Nobody knows, and a warning of something that may well work is worse than none.
        Lookup::Unread(_) => Distribution::Works,
        Lookup::Absent => Distribution::Fails(format!("it looks for {key}")),
    }
}

fn reference_fails(world: &World<'_>, object: &Object, path: &ReferencePath) -> Distribution {
    let required = |path: &[Key]| Distribution::Fails(format!("it requires {} of {}", dotted(path), object.key));
    let Some(name) = text(object, &path.name) else { return required(&path.name) };
    let namespace = match &path.namespace {
        _ if world.scope_of(&path.kind) == Some(Scope::Cluster) => None,
        None => Some(world.fleet.system_namespace.clone()),
        Some(field) => match text(object, field) {
            Some(namespace) => Some(Namespace::from(namespace)),
            None => return required(field),
        },
    };
    let key = ObjectKey::new(path.kind.clone(), namespace, name.into());
    // The provider makes this one on the management cluster too.
    if aws::is_controller_identity(&key) {
        return Distribution::Works;
    }
    match world.snapshot.look_up(&key) {
        Lookup::Found(_) | Lookup::Unread(_) => Distribution::Works,
        Lookup::Unasked => Distribution::Unasked(key),
        Lookup::Absent => Distribution::Fails(format!("it looks for {key}")),
    }
}

/// Why the identity is not on the region where `identityRef` says, if it is not.
fn unready(world: &World<'_>, claim: &Claim, closure: &Closure) -> Option<String> {
    let landed = closure.members.first()?;
    if world.scope_of(&claim.root.kind) == Some(Scope::Cluster) || landed.lands.namespace == claim.root.namespace {
        return None;
    }
    let wanted = ObjectKey::new(claim.root.kind.clone(), claim.root.namespace.clone(), claim.root.name.clone());
    Some(format!("it looks for {wanted} on the region, but the object lands as {}", landed.lands))
}

fn text<'a>(object: &'a Object, path: &[Key]) -> Option<&'a str> {
    if let Field::Text(text) = text_at(object, path) { Some(text) } else { None }
}
