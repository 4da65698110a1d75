//! Companions: the two objects without which `propagateCredentials` does not work on a region.
//!
//! k0rdent does not distribute them (k0rdent/kcm#2836). Sveltos reads ConfigMap
//! `<identity>-resource-template` and hard-codes the name of Secret `<identity>-secret`.

use alloc::vec::Vec;

use super::landing::Places;
use super::member::{Closure, Member, Role};
use crate::admission::{self, Namer, Sought};
use crate::claim::Claim;
use crate::config::{Companions, Grant};
use crate::finding::{Code, Finding, Severity};
use crate::k0rdent::root::Root;
use crate::name::step::Step;
use crate::name::{Name, Namespace, ObjectKey};
use crate::snapshot::{Lookup, Snapshot, Unread};
use crate::world::World;

/// How a manifest says that an object is the template from which Sveltos propagates a credential.
pub const TEMPLATE: &str = "companion resource-template";

/// How a manifest says that an object is the Secret whose name Sveltos hard-codes.
pub const PROPAGATION_SECRET: &str = "companion secret";

/// Adds the companions of the identity that a claim asks for; beside a projection, only those that are there.
pub fn add(world: &World<'_>, claim: &Claim, asked: &Root, closure: &mut Closure) {
    if world.fleet.companions == Companions::None {
        return;
    }
    let Some(root) = closure.members.first().cloned() else { return };
    if !world.fleet.publishes(&root.read.kind) {
        return;
    }
    resource_template(world, claim, closure, asked, &root);
    // Where the identity itself is a Secret, Sveltos reads that one.
    if !root.read.kind.is_secret() {
        propagation_secret(world, claim, closure, asked, &root);
    }
}

fn resource_template(world: &World<'_>, claim: &Claim, closure: &mut Closure, asked: &Root, root: &Member) {
    let name = Name::new(format!("{}-resource-template", asked.name));
    let own = claim.by.namespace().clone();
    let candidates: Vec<Namespace> = match &root.read.namespace {
        Some(namespace) => [namespace.clone()].into(),
        None => [asked.namespace.clone(), Some(own.clone()), Some(world.fleet.system_namespace.clone())]
            .into_iter()
            .flatten()
            .collect(),
    };
    let lands = ObjectKey::config_map(own, name.clone());
    if closure.members.iter().any(|member| member.lands == lands) {
        return;
    }
    let reads = candidates.into_iter().map(|namespace| ObjectKey::config_map(namespace, name.clone()));
    let namer = Namer::Convention(&root.read);
    let is_open = |read: &ObjectKey| admission::of_namespaced(world, claim, &Sought { read, namer }).is_some();
    let (open, closed): (Vec<ObjectKey>, Vec<ObjectKey>) = reads.partition(is_open);
    if let Some(undecided) = closed.iter().find_map(|read| admission::undecided(world, claim, &Sought { read, namer }))
    {
        return closure.find(claim, undecided.at(&claim.origin));
    }
    let found = match (first_found(world.snapshot, open.into_iter()), closed.into_iter().next()) {
        (Nearby::Nowhere, Some(closed)) => Nearby::Closed(closed),
        (found, _) => found,
    };
    settle(world, claim, closure, Companion { found, lands, role: Role::ResourceTemplate });
}

fn propagation_secret(world: &World<'_>, claim: &Claim, closure: &mut Closure, asked: &Root, root: &Member) {
    let name = Name::new(format!("{}-secret", asked.name));
    let namespace = asked.namespace.clone().unwrap_or_else(|| claim.by.namespace().clone());
    let lands = ObjectKey::secret(namespace.clone(), name);
    if closure.members.iter().any(|member| member.lands == lands) {
        return;
    }
    // The Secret is read where it lands and nowhere else: taking it from the system namespace would hand a tenant's
    // namespace on the region a Secret that its own cluster keeps from it.
    let read = match (&root.read.namespace, &root.lands.namespace) {
        (Some(read), Some(landed)) if read != landed => ObjectKey::secret(read.clone(), lands.name.clone()),
        _ => lands.clone(),
    };
    // Where the claim may not look it is nobody's to look for, and nobody else's to put there.
    let sought = Sought { read: &read, namer: Namer::Convention(&root.read) };
    let beyond = namespace != *claim.by.namespace() && !world.grants(&claim.by, claim.region(), &read);
    if let Some(undecided) = admission::undecided(world, claim, &sought).filter(|_| beyond) {
        return closure.find(claim, undecided.at(&claim.origin));
    }
    let found = match admission::of_namespaced(world, claim, &sought).is_some() {
        _ if beyond => return,
        true => first_found(world.snapshot, [read].into_iter()),
        false => Nearby::Closed(read),
    };
    settle(world, claim, closure, Companion { found, lands, role: Role::PropagationSecret });
}

fn severity_of_missing(world: &World<'_>, claim: &Claim) -> Severity {
    if world.facts.deployments.propagate(&claim.by) { Severity::Warning } else { Severity::Info }
}

enum Nearby<'a> {
    At(ObjectKey),
    Nowhere,
    Unknown(ObjectKey, Unread<'a>),
    Unasked(ObjectKey),
    /// It could only be in a place where the claim may not look.
    Closed(ObjectKey),
}

fn first_found(snapshot: &Snapshot, keys: impl Iterator<Item = ObjectKey>) -> Nearby<'_> {
    for key in keys {
        match snapshot.stands(&key) {
            Lookup::Found(_) => return Nearby::At(key),
            Lookup::Unread(unread) => return Nearby::Unknown(key, unread),
            Lookup::Unasked => return Nearby::Unasked(key),
            Lookup::Absent => {}
        }
    }
    Nearby::Nowhere
}

struct Companion<'a> {
    found: Nearby<'a>,
    lands: ObjectKey,
    role: Role,
}

fn settle(world: &World<'_>, claim: &Claim, closure: &mut Closure, companion: Companion<'_>) {
    let Companion { found, lands, role } = companion;
    match found {
        Nearby::At(read) => {
            let field = if role == Role::ResourceTemplate { TEMPLATE } else { PROPAGATION_SECRET };
            let through = claim.through.iter().cloned().chain([Step::field(field)]).collect();
            closure.members.push(Member::new(Places { read, lands }, role, through, Some(0)));
        }
        Nearby::Unknown(key, unread) => closure.find(claim, unread.finding(&key)),
        Nearby::Unasked(key) => {
            let root = closure.members.first().and_then(|root| world.snapshot.get(&root.read));
            match root.is_some_and(|identity| admission::is_shut(world, claim, identity)) {
                true => closure.closed = true,
                false => closure.want(claim, &key),
            }
        }
        // A projection takes their place: none is missing.
        Nearby::Closed(_) | Nearby::Nowhere if claim.projection().is_some() => {}
        Nearby::Closed(read) => {
            let message = format!(
                "{read} is not looked for, because Credentials of namespace {} may not use it; without it credentials \
                 do not reach workload clusters",
                claim.by.namespace()
            );
            let help = format!(
                "If it exists and this use is intended, add to `grants`: `- {}`.",
                Grant::least(&claim.by, claim.region(), &read)
            );
            let finding = Finding::new(Code::MissingCompanion, message).severity(severity_of_missing(world, claim));
            closure.find(claim, finding.about(&lands).at(&claim.origin).help(help));
        }
        Nearby::Nowhere => {
            let severity = severity_of_missing(world, claim);
            let message = format!("{lands} is absent; without it credentials do not reach workload clusters");
            closure.find(
                claim,
                Finding::new(Code::MissingCompanion, message).severity(severity).about(&lands).at(&claim.origin).help(
                    "Add it beside the identity, or set propagateCredentials: false on the ClusterDeployments that use it.",
                ),
            );
        }
    }
}
