//! Identities in files that no Credential names.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use crate::capi::{self, aws};
use crate::claim::{Asked, Claim};
use crate::finding::{Code, Finding, Place};
use crate::kinds::K0RDENT;
use crate::name::{Claimant, GroupKind, Name, split_api_version};
use crate::object::Object;
use crate::world::World;

/// The identities in files that nothing names by kind and name, in whatever namespace.
///
/// Nothing is said where a Credential may be unseen. A live cluster is only asked for identities that are named.
pub fn unused(world: &World<'_>) -> Vec<Finding> {
    let credential = GroupKind::new(K0RDENT, "Credential");
    if world.snapshot.may_lack(&credential) {
        return Vec::new();
    }
    let of_capi = capi::all().map(|rules| GroupKind::new(rules.group, rules.kind));
    let kinds: BTreeSet<GroupKind> = of_capi.chain(world.fleet.kinds.keys().cloned()).collect();
    let identities = || kinds.iter().flat_map(|kind| world.snapshot.all(kind));
    // The payloads of a set are no identities, and what a template or a group is given is known.
    let is_other =
        |by: &Claimant| by.is_credential() || by.is_resource_set() || by.template().is_some() || by.group().is_some();
    let is_cluster = |asked: &&Asked| !is_other(&asked.by);
    let clusters = || world.facts.asked().iter().filter(is_cluster);
    // What the objects behind a Cluster name is not known as long as it is broken.
    if clusters().any(|asked| {
        asked.claim.as_ref().is_none_or(|claim| claim.starts().is_empty())
            && asked.findings.iter().any(Finding::stops_claim)
    }) {
        return Vec::new();
    }
    let mut named: BTreeSet<(GroupKind, Name)> = world.snapshot.all(&credential).filter_map(of_credential).collect();
    let starts = clusters().filter_map(|asked| asked.claim.as_deref()).flat_map(Claim::starts);
    named.extend(starts.map(|start| (start.root.kind.clone(), start.root.name.clone())));
    let copied = clusters().filter_map(|asked| asked.claim.as_ref()?.copied());
    named.extend(copied.map(|copied| (copied.read.kind.clone(), copied.read.name.clone())));
    let data = world.facts.templates.specs.values().flat_map(|template| &template.data);
    named.extend(data.map(|datum| (datum.object.kind.clone(), datum.object.name.clone())));
    let delivered = world.fleet.guests.values().flat_map(|group| &group.objects);
    named.extend(delivered.map(|entry| (entry.read.kind.clone(), entry.read.name.clone())));
    identities().for_each(|identity| named.extend(of_identity(world, identity)));
    let is_unused = |identity: &&Object| {
        let is_named = named.contains(&(identity.key.kind.clone(), identity.key.name.clone()));
        // The provider makes this one itself, and its own file may only narrow it.
        let is_assumed = aws::is_controller_identity(&identity.key);
        matches!(identity.origin.place, Place::File { .. }) && !is_named && !is_assumed
    };
    let tell = |identity: &Object| {
        let message = format!("no Credential names {}, so nothing new of it is published", identity.key);
        let help = "Remove it if nothing else uses it, or correct the Credential that was to name it.";
        Finding::new(Code::UnusedIdentity, message).about(&identity.key).at(&identity.origin).help(help)
    };
    identities().filter(is_unused).map(tell).collect()
}

fn of_credential(credential: &Object) -> Option<(GroupKind, Name)> {
    let reference = credential.at(&["spec", "identityRef"])?;
    let (group, _) = split_api_version(reference.str_at(&["apiVersion"])?);
    Some((GroupKind::new(group, reference.str_at(&["kind"])?), reference.str_at(&["name"])?.into()))
}

/// What an identity names: by the definition of its kind, and as AWS names the source of a role.
fn of_identity(world: &World<'_>, identity: &Object) -> Vec<(GroupKind, Name)> {
    let mut named = Vec::new();
    if let Some(definition) = world.facts.definitions.exactly(&identity.key.kind, &identity.version) {
        for reference in &definition.references {
            let path: Vec<&str> = reference.name.iter().map(|key| &**key).collect();
            named.extend(identity.body.str_at(&path).map(|name| (reference.kind.clone(), name.into())));
        }
    }
    if let Some(source) = identity.at(&["spec", "sourceIdentityRef"])
        && let (Some(kind), Some(name)) = (source.str_at(&["kind"]), source.str_at(&["name"]))
    {
        named.push((GroupKind::new(capi::GROUP, kind), name.into()));
    }
    named
}
