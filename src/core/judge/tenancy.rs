//! Tenancy: what admits a claim's namespace to what the claim reaches (DESIGN §2.4).
//!
//! These are admitted: objects of the Credential's own namespace; cluster-scoped identities that admit the namespace by
//! their provider's own meaning, at every hop; Secrets of the system namespace through such an identity; for a managed
//! claim what stands in the system namespace, which its source Credential may use; and what a grant names. Whatever admits,
//! each object leads no further than the [reach] of its source. [`admission`] says which rule admits. Everything else is
//! refused.

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use super::grant::last_resort;
use crate::admission::reach::{self, Beyond, Reach};
use crate::admission::{self, Asker, Rule, Sought, admits, of_identity, of_namespaced, tenancy_of};
use crate::capi::tenancy::Tenancy;
use crate::capi::{Admits, Slip};
use crate::claim::Claim;
use crate::closure::{Closure, Member, Role, sought, sought_by_all};
use crate::config::{RegionConfig, Resolution};
use crate::finding::{Code, Finding};
use crate::name::{Namespace, Region};
use crate::node::Node;
use crate::object::Object;
use crate::selector::NAME_LABEL;
use crate::world::World;
use crate::world::cluster::ClusterFacts;

/// Checks every member of a closure.
pub fn check(world: &World<'_>, region: &RegionConfig, claim: &Claim, closure: &Closure) -> Vec<Finding> {
    closure.members.iter().flat_map(|member| of_member(world, region, claim, closure, member)).collect()
}

/// Checks one member of a closure.
pub fn of_member(
    world: &World<'_>,
    region: &RegionConfig,
    claim: &Claim,
    closure: &Closure,
    member: &Member,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let claim = member.acting(claim);
    // What a group of guests delivers, the configuration names. A kind that is not published is refused as such; an assumed
    // identity admits all namespaces.
    let is_open = member.role == Role::Assumed || Asker::from(claim).delivers(&member.read);
    if is_open || !world.fleet.publishes_for(&claim.by, claim.region(), &member.read.kind) {
        return findings;
    }
    findings.extend(beyond(world, claim, closure, member));
    if !findings.is_empty() {
        return findings;
    }
    let object = world.snapshot.get(&member.read);
    let sought = sought(closure, member);
    let identity = |object| identity(world, region, claim, object, &sought);
    match &member.read.namespace {
        // Whoever uses a copy on the region is no concern of the rule.
        None if claim.copied().is_some() => {
            let found = object.and_then(identity);
            findings.extend(found.filter(|finding| finding.code != Code::UnusableInNamespace));
        }
        Some(namespace) if claim.copied().is_some() => {
            findings.extend(namespaced(world, claim, closure, member, namespace));
        }
        None => findings.extend(object.and_then(identity)),
        Some(namespace) => {
            findings.extend(namespaced(world, claim, closure, member, namespace));
            // Wherever the object was read: its provider asks it where it lands, and for a Cluster wherever it stands.
            if !claim.by.is_credential() || member.lands.namespace.as_ref() == Some(claim.by.namespace()) {
                findings.extend(object.and_then(|object| unusable(world, region, claim, object)));
            }
        }
    }
    findings
}

/// The rule by which a claim may use a member of its closure; none where nothing admits it, or nobody knows.
pub fn rule_of(world: &World<'_>, claim: &Claim, closure: &Closure, member: &Member) -> Option<Rule> {
    if member.role == Role::Assumed || !world.fleet.publishes_for(&claim.by, claim.region(), &member.read.kind) {
        return None;
    }
    let claim = member.acting(claim);
    let is_in_reach = sought_by_all(closure, member).all(|sought| reach::of(world, claim, &sought).is_within());
    admission::rule(world, claim, &sought(closure, member)).filter(|_| is_in_reach)
}

/// Refuses what a rule opens and an object names whose source may not reach it: each that names it must.
fn beyond(world: &World<'_>, claim: &Claim, closure: &Closure, member: &Member) -> Vec<Finding> {
    if admission::rule(world, claim, &sought(closure, member)).is_none() {
        return Vec::new();
    }
    let refuse = |Beyond { namer, source }: Beyond<'_>| {
        let (read, source) = (&member.read, &source.name);
        let message = format!(
            "{read} is not open to {}s of namespace {}: {namer} of source {source} names it, and {source} may not reach it",
            claim.by.kind(),
            claim.by.namespace()
        );
        let cure =
            format!("If you trust everybody who writes source {source} with it, add it to the source's `provides`.");
        let help = format!("{cure} {}", last_resort(claim, read));
        Finding::new(Code::NotAdmitted, message).about(read).at(&claim.origin).help(help)
    };
    let found = sought_by_all(closure, member).filter_map(|sought| match reach::of(world, claim, &sought) {
        Reach::Within => None,
        Reach::Beyond(beyond) => Some(refuse(beyond)),
        Reach::Unknown(finding) if finding.origin.is_some() => Some(*finding),
        Reach::Unknown(finding) => Some(finding.at(&claim.origin)),
    });
    found.collect()
}

/// A cluster-scoped identity: its own rule decides, unless the Credential is in the system namespace.
fn identity(
    world: &World<'_>,
    region: &RegionConfig,
    claim: &Claim,
    object: &Object,
    sought: &Sought<'_>,
) -> Option<Finding> {
    let why = match of_identity(world, claim, object, sought.namer) {
        Ok(Rule::Identity) => return None,
        // The region's own provider asks the identity alone.
        Ok(_) => return unusable(world, region, claim, object),
        Err(why) => why,
    };
    // What a mistyped field meant to say is not known; the fault breaks the claim, and takes nothing away.
    if object.is_mistyped() {
        return None;
    }
    let namespace = claim.by.namespace();
    if let Some(slip) = admission::slip(world.fleet, object) {
        return Some(mistyped(object, namespace, &slip));
    }
    if admission::is_unseen(world, claim, object) {
        return Some(unseen(world, claim, object, &region.name));
    }
    if let Some(undecided) = admission::undecided(world, claim, sought) {
        return Some(undecided.at(&object.origin));
    }
    let message = format!("{} is not open to namespace {namespace}: {why}", object.key);
    let resort = last_resort(claim, &object.key);
    let help = match why == admission::OF_ANOTHER_SOURCE {
        true => format!("Give the {}'s own source an identity for it. {resort}", claim.by.kind()),
        false => format!("{} {resort}", admit(world, object, claim, &region.name)),
    };
    Some(Finding::new(Code::NotAdmitted, message).about(&object.key).at(&object.origin).help(help))
}

/// Whom a selector admits hangs on labels of the region that were not seen.
fn unseen(world: &World<'_>, claim: &Claim, object: &Object, region: &Region) -> Finding {
    let namespace = claim.by.namespace();
    let unread = world.cluster(region).and_then(ClusterFacts::unread);
    let (why, help) = match unread {
        Some(reason) => (reason.why.clone(), reason.help.clone()),
        None => (
            format!("nothing that was seen of region {region} says which labels the namespace has there"),
            format!(
                "Print the facts again, or grant the right to get the namespace there (`pouch rbac --region {region}`), or \
                 write the labels into regions.{region}.namespaces.labels."
            ),
        ),
    };
    let message = format!("whether {} is open to namespace {namespace} is unknown: {why}", object.key);
    Finding::new(Code::Unread, message).about(&object.key).at(&object.origin).help(help).without_facts_of(region)
}

/// Who may use an identity is mistyped, so nobody knows: that takes nothing away, and opens nothing.
fn mistyped(object: &Object, namespace: &Namespace, slip: &Slip) -> Finding {
    const LONGEST: usize = 63;
    let typed: String = slip.typed.chars().take(LONGEST).collect();
    let (at, key) = (&slip.at, &object.key);
    let what = match slip.is_key {
        true => format!("{at} has no field {typed:?}"),
        false => format!("{at} cannot be {typed:?}"),
    };
    let message = format!("whether {key} is open to namespace {namespace} is unknown: {what}");
    let help = format!("Did you mean {}? Until this is corrected, what is published by it stays.", slip.meant);
    Finding::new(Code::Mistyped, message).about(key).at(&object.origin).help(help)
}

/// What to write into an identity, or into the configuration, so that the identity admits a namespace.
fn admit(world: &World<'_>, object: &Object, claim: &Claim, region: &Region) -> String {
    let namespace = claim.by.namespace();
    let Some(tenancy) = tenancy_of(world.fleet, &object.key.kind) else {
        return format!("Say in `kinds` who may use identities of kind {}.", object.key.kind);
    };
    let Some(form) = tenancy.form() else {
        return format!("Set `allowedNamespaces: all` for the kind {} in `kinds`.", object.key.kind.kind);
    };
    let by_name = format!("{{matchLabels: {{{NAME_LABEL}: {namespace}}}}}");
    let field = form.field;
    let one = match (form.lists(), form.is_selector()) {
        (true, _) => format!("{{list: [{namespace}]}}"),
        (false, true) => by_name,
        (false, false) => format!("{{selector: {by_name}}}"),
    };
    let written = object.at(&["spec", field]);
    let empty = |selector: &Node| {
        selector.is_map()
            && selector.entries().iter().all(|(_, node)| node.entries().is_empty() && node.items().is_empty())
    };
    if written.and_then(|written| written.at(&["selector"])).is_some_and(empty) {
        return format!("An empty selector admits nobody: write `{field}: {{}}` to admit all namespaces.");
    }
    let lists = form.lists() && written.and_then(|written| written.at(&["list"])).is_some_and(is_names);
    let selects = written.is_some_and(|written| form.is_selector() || written.at(&["selector"]).is_some());
    let labels = match selects {
        true => format!(" Or, if the namespace has the labels, write them into regions.{region}.namespaces.labels."),
        false => String::new(),
    };
    if lists {
        return format!("To admit {namespace} too, add `{namespace}` to `spec.{field}.list`.{labels}");
    }
    format!("To admit {namespace} alone, write `{field}: {one}` into its spec.{labels}")
}

/// Whether names can be added to what stands as a list.
fn is_names(list: &Node) -> bool {
    !list.items().is_empty() && list.items().iter().all(|item| item.as_str().is_some())
}

/// Warns of an identity that the Credential may refer to although nobody in its namespace can use the identity.
fn unusable(world: &World<'_>, region: &RegionConfig, claim: &Claim, object: &Object) -> Option<Finding> {
    let tenancy = tenancy_of(world.fleet, &object.key.kind)?;
    if tenancy == Tenancy::None && object.key.namespace.is_some() {
        return None;
    }
    let why = match admits(world, claim, object) {
        Admits::Yes => return None,
        Admits::No => "its allowedNamespaces does not admit it",
        Admits::Unknown(why) => why,
    };
    let message = format!("{} cannot be used by clusters in namespace {}: {why}", object.key, claim.by.namespace());
    Some(Finding::new(Code::UnusableInNamespace, message).about(&object.key).at(&object.origin).help(admit(
        world,
        object,
        claim,
        &region.name,
    )))
}

/// A namespaced object: the Credential's own namespace, or the system namespace through an identity.
fn namespaced(
    world: &World<'_>,
    claim: &Claim,
    closure: &Closure,
    member: &Member,
    namespace: &Namespace,
) -> Option<Finding> {
    let own = claim.by.namespace();
    let sought = sought(closure, member);
    if of_namespaced(world, claim, &sought).is_some() {
        return None;
    }
    if let Some(undecided) = admission::undecided(world, claim, &sought) {
        // Of copies that differ, one stands where the other is to be looked for.
        return Some(if undecided.origin.is_some() { undecided } else { undecided.at(&claim.origin) });
    }
    let help = |cure: &str| format!("{cure} {}", last_resort(claim, &member.read));
    let refuse = |message: String, cure: &str| {
        Some(Finding::new(Code::NotAdmitted, message).about(&member.read).at(&claim.origin).help(help(cure)))
    };
    if !admission::is_of_own_source(world, claim, &member.read) {
        let message = format!("{} is not open to {}: {}", member.read, claim.by, admission::OF_ANOTHER_SOURCE);
        return refuse(message, &format!("Put it into the source of the {}.", claim.by.kind()));
    }
    if !claim.by.is_credential() {
        let message = format!("{} is not open to Clusters of namespace {own}", member.read);
        return refuse(message, &format!("Put the object into namespace {own} and refer to it there."));
    }
    let message = format!("{} is not open to Credentials of namespace {own}", member.read);
    // As k0rdent does, an identity is read from the system namespace, wherever the Credential says.
    let moved = match (closure.resolution, member.referrer) {
        (Resolution::AsWritten, None) => {
            format!("Put the object into namespace {own} and say so in identityRef, or put")
        }
        (_, Some(_)) if *namespace != world.fleet.system_namespace => {
            format!("Put the object into namespace {own} and refer to it there, or put")
        }
        _ => "Put".to_owned(),
    };
    refuse(message, &format!("{moved} the Credential into namespace {namespace}."))
}
