//! Absent: why an object that a claim needs is in no source, and where one of its name stands.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::member::{Closure, Member, Role};
use super::{built, projection};
use crate::admission::Asker;
use crate::capi;
use crate::claim::Claim;
use crate::config::Grant;
use crate::finding::{Code, Finding};
use crate::name::step::shown;
use crate::name::{GroupKind, Namespace, ObjectKey};
use crate::object::Object;
use crate::snapshot::Elsewhere;
use crate::world::World;

/// Reports that a member is in no source, and what stands elsewhere.
pub(super) fn tell(world: &World<'_>, claim: &Claim, closure: &mut Closure, member: &Member) {
    let by = shown(&member.through).unwrap_or_else(|| "identityRef".to_owned());
    let by = format!("{by} names {}, which is in no source", member.read);
    let is_configured = Asker::from(claim).delivers(&member.read);
    let mut help = world.snapshot.cure_of_absence(&member.read, is_configured);
    help.extend(built::renamed(world, &member.read));
    if claim.by.is_resource_set() {
        help = format!("{help} Cluster API itself skips what is missing, and then says that all is applied.");
    }
    for at in hints(world, claim, &member.read) {
        help = format!("{help} {} stands at {}.", at.key, at.origin);
        let message = format!("{} is absent, and {} is there", member.read, at.key);
        let mut hint = Finding::new(Code::FoundElsewhere, message).about(&at.key).at(&at.origin);
        if projection::is_named_by(&member.through) {
            hint = hint.help(projection::cure(&at.key, claim.by.namespace()));
        }
        // Only an identity is looked for in the system namespace too, and only with a grant.
        if at.key.namespace.as_ref() == Some(&world.fleet.system_namespace) && member.role == Role::Root {
            hint = hint.help(format!(
                "To use that one, as k0rdent does, add to `grants`: `- {}`. The objects that it refers to \
                     there need grants of their own.",
                Grant::least(&claim.by, claim.region(), &at.key)
            ));
        }
        if let Some((identity, namespace)) = of_controllers(world, closure, member, &at.key) {
            hint = hint.help(said_in_kinds(identity, namespace.as_str()));
        }
        closure.find(claim, hint);
    }
    if let Some(elsewhere) = world.snapshot.elsewhere(&member.read) {
        let Elsewhere { maker, origin, named } = elsewhere;
        let would = if *named { "would make" } else { "may make (the names in it are sealed)" };
        let message =
            format!("{} is absent; {maker} {would} it on a cluster, but is not the Secret itself", member.read);
        let finding = Finding::new(Code::SealedElsewhere, message).about(&member.read).at(origin);
        closure.find(
            claim,
            finding.help(
                "Give pouch the Secret itself: read it from the cluster where it is made, or seal its manifest with \
                     SOPS and name an age identity under the source's `decryption`.",
            ),
        );
    }
    let referrer = member.referrer.and_then(|index| closure.members.get(index)).map(|m| m.read.clone());
    let group = world.fleet.group_of(&claim.by).filter(|_| Asker::from(claim).delivers(&member.read));
    let origin = match (referrer.and_then(|key| world.snapshot.get(&key)), group) {
        (Some(object), _) => object.origin.clone(),
        (None, Some(group)) => group.origin_of(&member.read),
        (None, None) => claim.origin.clone(),
    };
    let finding = Finding::new(Code::MissingReference, by).about(&member.read).at(&origin).help(help);
    closure.find(claim, finding);
}

/// The objects of this name that stand elsewhere than the absent one.
fn hints<'a>(world: &World<'a>, claim: &Claim, key: &ObjectKey) -> Vec<&'a Object> {
    let at = |namespace: &Namespace| {
        let other = ObjectKey::new(key.kind.clone(), Some(namespace.clone()), key.name.clone());
        (other != *key).then(|| world.snapshot.get(&other)).flatten()
    };
    if key.namespace.is_none() {
        return Vec::new();
    }
    let system = at(&world.fleet.system_namespace);
    let own = at(claim.by.namespace()).filter(|own| system.is_none_or(|system| system.key != own.key));
    // Secrets of identities stand where the controllers of their providers are.
    let controllers = capi::controller_namespaces().map(Namespace::from);
    let others = controllers.filter(|_| key.kind.is_secret()).filter(|it| it != claim.by.namespace());
    let others = others.filter(|it| *it != world.fleet.system_namespace);
    system.into_iter().chain(own).chain(others.filter_map(|namespace| at(&namespace))).collect()
}

/// The kind of identity whose controller may read a Secret where it stands, if `kinds` could say so, and the namespace.
fn of_controllers<'c>(
    world: &World<'_>,
    closure: &'c Closure,
    member: &Member,
    at: &'c ObjectKey,
) -> Option<(&'c GroupKind, &'c Namespace)> {
    let identity = &closure.members.get(member.referrer?)?.read.kind;
    let namespace = at.namespace.as_ref().filter(|it| **it != world.fleet.system_namespace)?;
    let is_known = capi::controller_namespaces().any(|it| it == namespace.as_str());
    (is_known && capi::controller_namespace(identity).is_some()).then_some((identity, namespace))
}

/// The help where the controller of an identity's kind may read Secrets in another namespace.
pub(super) fn said_in_kinds(identity: &GroupKind, namespace: &str) -> String {
    format!(
        "If the controller runs there, say so in `kinds`: `- {{group: {}, kind: {}, controllerNamespace: {namespace}}}`.",
        identity.group, identity.kind
    )
}
