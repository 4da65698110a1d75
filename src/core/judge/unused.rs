//! Identities in files that no Credential names.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::capi::{self, aws, cluster};
use crate::claim::{Asked, Claim};
use crate::finding::{Code, Finding, Place};
use crate::kinds::K0RDENT;
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, split_api_version};
use crate::object::Object;
use crate::snapshot::OfMachine;
use crate::world::World;

/// The identities in files that nothing names by kind and name, in whatever namespace; and what stands in files and
/// only machines name, where Credentials say what is published: k0rdent follows no machine.
///
/// Nothing is said where a Credential may be unseen. A live cluster is only asked for identities that are named.
pub fn unused(world: &World<'_>) -> Vec<Finding> {
    let Some(named) = named(world) else { return Vec::new() };
    let snapshot = world.snapshot;
    let kinds: BTreeSet<GroupKind> =
        cluster::machines().flat_map(|machine| [machine.group_kind(), cluster::template_kind(machine)]).collect();
    let machines = kinds.iter().flat_map(|kind| snapshot.all(kind));
    let machines: Vec<OfMachine> = machines.filter_map(|machine| OfMachine::of(world.fleet, machine)).collect();
    let machines = || machines.iter().chain(&snapshot.of_machines);
    let in_unread: BTreeSet<&Name> = machines().flat_map(|machine| &machine.in_unread).collect();
    // Many machines name one object, and one of them is enough.
    let mut by_machine: BTreeMap<(&GroupKind, Option<&Namespace>, &Name), (&ObjectKey, &str)> = BTreeMap::new();
    for (machine, it) in machines().flat_map(|machine| machine.named.iter().map(|it| (&machine.machine, it))) {
        by_machine.entry((&it.kind, it.namespace.as_ref(), &it.name)).or_insert((machine, &it.field));
    }
    let secrets = by_machine.keys().filter(|(kind, ..)| kind.is_secret());
    let secrets =
        secrets.map(|(kind, namespace, name)| ObjectKey::new((*kind).clone(), namespace.cloned(), (*name).clone()));
    let secrets: Vec<&Object> = secrets.filter_map(|key| snapshot.get(&key)).collect();
    let is_unused = |identity: &&Object| {
        let is_named = named.contains(&(identity.key.kind.clone(), identity.key.name.clone()))
            || in_unread.contains(&identity.key.name);
        // The provider makes this one itself, and its own file may only narrow it.
        let is_assumed = aws::is_controller_identity(&identity.key);
        matches!(identity.origin.place, Place::File { .. }) && !is_named && !is_assumed
    };
    let asked = world.facts.asked().iter().filter(|asked| asked.by.is_credential());
    let with_credentials: BTreeSet<&Namespace> = asked.map(|asked| asked.by.namespace()).collect();
    let tell = |identity: &Object| {
        let ObjectKey { kind, namespace, name, .. } = &identity.key;
        let message = format!("no Credential names {}, so nothing new of it is published", identity.key);
        let told =
            |message: String| Finding::new(Code::UnusedIdentity, message).about(&identity.key).at(&identity.origin);
        let Some((machine, field)) = by_machine.get(&(kind, namespace.as_ref(), name)) else {
            return Some(told(message).help(unnamed(world, kind)));
        };
        // Without Credentials, none is expected.
        let is_expected = machine.namespace.as_ref().is_some_and(|it| with_credentials.contains(it));
        let message = format!("{message}; {machine} names it in {field}");
        is_expected.then(|| told(message).help(OF_MACHINES))
    };
    identities(world).chain(secrets).filter(is_unused).filter_map(tell).collect()
}

/// The help about what machines name.
const OF_MACHINES: &str = "If a region is to have it, write a Credential for it beside the other ones. If a region takes the Cluster by \
                           its `clusters`, what its machines name is followed.";

/// The help about an identity of a kind that nothing names.
fn unnamed(world: &World<'_>, kind: &GroupKind) -> &'static str {
    // A live cluster is asked for machines only where a region takes their Clusters.
    let mut machines = cluster::naming_kind(kind);
    let may_be_named = machines.any(|machine| {
        let kinds = [machine.group_kind(), cluster::template_kind(machine)];
        kinds.iter().any(|kind| world.snapshot.may_lack(kind))
    });
    match may_be_named {
        true => {
            "If a Credential was to name it, correct that. Machines that were not read may name it: keep it for them."
        }
        false => "Remove it if nothing else uses it, or correct the Credential that was to name it.",
    }
}

fn identities<'a>(world: &World<'a>) -> impl Iterator<Item = &'a Object> {
    let of_capi = capi::all().map(|rules| rules.group_kind());
    let kinds: BTreeSet<GroupKind> = of_capi.chain(world.fleet.kinds.keys().cloned()).collect();
    let snapshot = world.snapshot;
    kinds.into_iter().flat_map(move |kind| snapshot.all(&kind).collect::<Vec<_>>())
}

/// The objects that something names by kind and name, machines left out; none where not everything that may name some
/// is known.
fn named(world: &World<'_>) -> Option<BTreeSet<(GroupKind, Name)>> {
    let credential = GroupKind::new(K0RDENT, "Credential");
    if world.snapshot.may_lack(&credential) {
        return None;
    }
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
        return None;
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
    identities(world).for_each(|identity| named.extend(of_identity(world, identity)));
    Some(named)
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

#[cfg(test)]
mod tests;
