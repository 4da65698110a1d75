//! Explain: which document in the sources makes a withdrawal, where one does.
//!
//! What is withdrawn because its document is gone needs no word. But a slip of the hand renames a Credential, moves it or
//! points it elsewhere, and then the document is still there: it is named, so that nothing goes unnoticed.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::input::Input;
use super::pack::Pack;
use crate::claim::guest::acting;
use crate::claim::sync_rule::object_of;
use crate::claim::{Asked, CONFIGURED, Start};
use crate::closure::Member;
use crate::finding::{Code, Finding, Origin, Severity};
use crate::judge::case::{Ruling, Verdict};
use crate::k0rdent;
use crate::kinds;
use crate::layout::manifest::{ManifestObject, NeededBy};
use crate::name::step::{Step, behind_claimant};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey};
use crate::nearest::edits;
use crate::object::Object;

/// The most claimants whose withdrawals are explained; of more than that, none is a slip of the hand.
const MOST: usize = 16;

/// Names the documents that make withdrawals, by claimant.
pub(super) fn withdrawals(input: &Input<'_>, rulings: &[Ruling<'_>], packed: &Pack) -> Vec<Finding> {
    let Some(manifest) = input.published.manifest() else { return Vec::new() };
    let mut lost: BTreeMap<&Claimant, Vec<&ManifestObject>> = BTreeMap::new();
    for object in manifest.objects.iter().filter(|object| goes(packed, object) && !object.is_delivery()) {
        for needed_by in &object.needed_by {
            lost.entry(&needed_by.by).or_default().push(object);
        }
    }
    if lost.is_empty() {
        return Vec::new();
    }
    let published: BTreeSet<ObjectKey> = manifest.objects.iter().filter_map(ManifestObject::read_key).collect();
    let claimants: BTreeSet<&Claimant> = manifest.claimants();
    let world = input.terms.world;
    let explain = |(by, objects): (&Claimant, Vec<&ManifestObject>)| {
        let ruling = rulings.iter().find(|ruling| ruling.case.claim.by == *by);
        let finding = match ruling {
            // Its own findings say why.
            Some(ruling) if ruling.verdict != Verdict::Admitted || ruling.case.closure.open.is_some() => return None,
            Some(ruling) if by.group().is_some() => not_made_for_guests(input, ruling, &objects)?,
            Some(ruling) => {
                let claim = &ruling.case.claim;
                let (by, origin, starts) = (&claim.by, &claim.origin, claim.starts());
                unnamed(by, origin, starts, &objects)
                    .unwrap_or_else(|| no_longer_needed(input, ruling, &objects, &published))
            }
            None if by.group().is_some() && rulings.iter().any(|it| it.case.claim.by.whole() == by.whole()) => {
                // What the configuration names no more, it says itself.
                let names = |rule: &Name| world.fleet.group_of(by).is_some_and(|group| group.rules.contains(rule));
                not_taken(input, &acting(world.fleet, by)?, names)?
            }
            None => gone(input, by, &objects, &claimants)?,
        };
        Some(finding.claimed_by(by).in_region(&input.terms.to.region.name))
    };
    lost.into_iter().take(MOST).filter_map(explain).collect()
}

/// Returns true if a published object leaves. The cause of a hand-over is told when that begins, while it can still be undone.
pub(super) fn goes(packed: &Pack, object: &ManifestObject) -> bool {
    match packed.objects.get(&object.key) {
        None => true,
        Some(packed) => packed.is_handover() && !object.state.is_handover(),
    }
}

/// A claim that is resolved without some of the objects that it needed.
fn no_longer_needed(
    input: &Input<'_>,
    ruling: &Ruling<'_>,
    objects: &[&ManifestObject],
    published: &BTreeSet<ObjectKey>,
) -> Finding {
    let claim = &ruling.case.claim;
    let similar = objects.iter().find_map(|object| {
        let key = object.read_key()?;
        let found = similar(input, &key, |object| !published.contains(&object.key))?;
        Some((key, found))
    });
    if let Some((key, found)) = similar {
        return renamed(&key, found);
    }
    // The document that referred to the first of them, or else that the claim starts from.
    let needed_by = objects.first().map(|object| &*object.needed_by).unwrap_or_default();
    let own = needed_by.iter().find(|needed_by| needed_by.by == claim.by);
    let through = own.map(NeededBy::steps).unwrap_or_default();
    let before = through.split_last().map(|(_, before)| before).unwrap_or_default();
    let is_referrer =
        |member: &&Member| behind_claimant(&member.through).iter().map(Step::path).eq(before.iter().map(Step::path));
    let members = &ruling.case.closure.members;
    // The payloads of a set stand beside each other.
    let first = members.first().filter(|_| !claim.by.is_resource_set());
    let referrer = members.iter().find(is_referrer).or(first);
    let referrer = referrer.and_then(|member| input.terms.world.snapshot.get(&member.read));
    let at = |origin: &Origin| format!("the {} at {origin}", claim.by.kind());
    let (origin, at) = match (referrer, through.is_empty()) {
        (Some(object), false) => (object.origin.clone(), format!("{} and {}", object.key, at(&claim.origin))),
        (referrer, _) => {
            let now = referrer.map(|object| format!("; it now starts from {}", object.key)).unwrap_or_default();
            (claim.origin.clone(), format!("{}{now}", at(&claim.origin)))
        }
    };
    let interfaces: BTreeSet<&Name> = through.iter().filter_map(Step::interface).collect();
    let interfaces: String = interfaces
        .into_iter()
        .filter_map(|name| {
            let kind = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
            let key = ObjectKey::new(kind, None, name.clone());
            input.terms.world.snapshot.get(&key).map(|object| format!(", by {key} at {}", object.origin))
        })
        .collect();
    let message = format!("{} no longer needed: see {at}{interfaces}", listed(objects));
    withdrawn(message, &origin).help("If this is unintended, correct the reference.")
}

/// A Cluster behind which a field named something, and is absent now.
fn unnamed(by: &Claimant, origin: &Origin, starts: &[Start], objects: &[&ManifestObject]) -> Option<Finding> {
    if by.is_credential() || by.template().is_some() {
        return None;
    }
    let lost = objects.iter().find_map(|object| {
        let own = object.needed_by.iter().find(|needed_by| needed_by.by == *by)?;
        let [step] = own.steps() else { return None };
        let field = step.path()?;
        let is_named = starts.iter().any(|start| start.field == field && !start.by_default);
        (!is_named && field != CONFIGURED).then_some((field, &object.key))
    });
    let (field, key) = lost?;
    let default = starts.iter().find(|start| start.field == field);
    let default = default.map_or(String::new(), |start| {
        format!(", so that its provider takes {} {}", start.root.kind.kind, start.root.name)
    });
    let message = format!("{field} named {key}, and is absent now{default}: {} no longer needed", listed(objects));
    let finding = withdrawn(message, origin).severity(Severity::Warning);
    Some(finding.help("If this is unintended, name it again."))
}

/// A claimant that is gone, or for another region, while a document says something of it.
fn gone(
    input: &Input<'_>,
    by: &Claimant,
    objects: &[&ManifestObject],
    claimants: &BTreeSet<&Claimant>,
) -> Option<Finding> {
    let world = input.terms.world;
    if by.rule().is_some() {
        return not_taken(input, by, |rule| input.terms.to.region.sync_rules.matches(rule.as_str()));
    }
    if by.group().is_some() {
        return without_clusters(input, by, objects, claimants);
    }
    // What a template asks for in another region says nothing of this one.
    if let Some(asked) = world.facts.asked_by(by).filter(|_| by.template().is_none()) {
        // What cannot be resolved says so itself.
        if asked.findings.iter().any(Finding::stops_claim) {
            return None;
        }
        let now = match &asked.region {
            None => "names no region any more".to_owned(),
            Some(region) if *region == input.terms.to.region.name => return unnamed(by, &asked.origin, &[], objects),
            Some(region) => format!("is for region {region} now"),
        };
        let message = format!("{by} {now}, so what it needs is no longer in region {}", input.terms.to.region.name);
        let help = match by.is_credential() {
            true => "If this is unintended, correct spec.region.",
            false if by.is_resource_set() => {
                "If this is unintended, correct `resourceSets` of the regions, or `region` of the source."
            }
            false => "If this is unintended, correct `clusters` of the regions, or `region` of the source.",
        };
        return Some(withdrawn(message, &asked.origin).help(help));
    }
    let key = kinds::claimant(by)?;
    let is_new = |object: &Object| {
        if by.template().is_some() {
            return !claimants.iter().any(|by| by.template() == Some(&object.key.name));
        }
        let namespace = object.key.namespace.clone();
        let name = object.key.name.clone();
        let claimant = namespace.map(|namespace| Claimant::new(by.kind(), namespace, name.as_str()));
        // What names another region, or is published here already, was not called otherwise before.
        let region = |asked: &Asked| asked.region.as_ref().is_none_or(|region| *region == input.terms.to.region.name);
        claimant.is_none_or(|by| !claimants.contains(&by) && world.facts.asked_by(&by).is_none_or(region))
    };
    if let Some(found) = similar(input, &key, is_new) {
        return Some(renamed(&key, found));
    }
    if by.template().is_some()
        && let Some(template) = world.snapshot.get(&key)
    {
        let message = format!(
            "{key} makes nothing for namespace {} any more: {} no longer needed",
            by.namespace(),
            listed(objects)
        );
        let help = "If this is unintended, see its namespaceSelector, the region's `templates`, and the labels of the namespace.";
        return Some(withdrawn(message, &template.origin).help(help));
    }
    if !by.is_credential() {
        return None;
    }
    // What rules hand out depends on the rules, on the source Credential and on the labels of the namespace.
    let source = ObjectKey { namespace: Some(world.fleet.system_namespace.clone()), ..key };
    let rules = ObjectKey::new(GroupKind::new(k0rdent::GROUP, "AccessManagement"), None, k0rdent::access::NAME.into());
    let namespace = ObjectKey::namespace(by.namespace());
    let near = || similar(input, &namespace, |_| true);
    let namespace = world.snapshot.get(&namespace).or_else(near);
    let (source, rules) = (world.snapshot.get(&source)?, world.snapshot.get(&rules)?);
    let others: Vec<String> = [Some(source), namespace]
        .into_iter()
        .flatten()
        .map(|object| format!("{} at {}", object.key, object.origin))
        .collect();
    let message = format!("{} does not hand out {by} any more; see also {}", rules.key, others.join(" and "));
    Some(
        withdrawn(message, &rules.origin)
            .help("If this is unintended, correct the rule, or the labels that it selects."),
    )
}

/// A ResourceSyncRule that takes an object no more, while both are there, or that is nearly called otherwise now; of one that the
/// configuration does not name, it says so itself.
fn not_taken(input: &Input<'_>, by: &Claimant, is_named: impl Fn(&Name) -> bool) -> Option<Finding> {
    let world = input.terms.world;
    let key = kinds::claimant(by)?;
    let Some(rule) = world.snapshot.get(&key) else {
        return similar(input, &key, |_| true).map(|found| renamed(&key, found));
    };
    let object = object_of(&world.facts.synced, world.snapshot, by).filter(|_| is_named(&rule.key.name))?;
    let object = world.snapshot.get(&object)?;
    let message = format!("{} takes {} no more, by what the two say now: see {}", rule.key, object.key, object.origin);
    let help =
        "If this is unintended, correct the rule, the metadata of the object, or the ClusterFeatures of its source.";
    Some(withdrawn(message, &rule.origin).about(&object.key).help(help))
}

/// The objects that a template makes no more for a group of guests.
fn not_made_for_guests(input: &Input<'_>, ruling: &Ruling<'_>, objects: &[&ManifestObject]) -> Option<Finding> {
    let (claim, closure) = (&ruling.case.claim, &ruling.case.closure);
    let template = claim.by.entry()?.template()?;
    input.terms.world.fleet.group_of(&claim.by).filter(|group| group.templates.contains(template))?;
    // Another payload may hold it now.
    let is_read = |object: &&&ManifestObject| {
        let from = object.from.as_ref();
        from.is_some_and(|from| closure.members.iter().any(|member| from.is_of(&member.read)))
    };
    let objects: Vec<&ManifestObject> = objects.iter().filter(|object| !is_read(object)).copied().collect();
    let guest = objects.iter().find_map(|object| object.guest.as_ref())?;
    let message = format!(
        "ManagedResource {template} makes {} no more for {}: {} no longer needed",
        guest.key,
        claim.by,
        listed(&objects)
    );
    let help = "If this is unintended, correct the template, or the labels of the namespace.";
    Some(withdrawn(message, &claim.origin).help(help))
}

/// A group of guests in a namespace that is nearly called like one that it names now, or that a glob fits and in which no Cluster
/// is known any more.
fn without_clusters(
    input: &Input<'_>,
    by: &Claimant,
    objects: &[&ManifestObject],
    claimants: &BTreeSet<&Claimant>,
) -> Option<Finding> {
    let group = input.terms.world.fleet.group_of(by).filter(|group| group.region == input.terms.to.region.name)?;
    if !group.namespaces.matches(by.namespace().as_str()) {
        let is_new = |named: &Namespace| {
            !claimants.iter().any(|other| other.group() == Some(&group.name) && other.namespace() == named)
        };
        let is_near = |named: &Namespace| edits(named.as_str(), by.namespace().as_str()).is_some() && is_new(named);
        let near = group.named().find(is_near)?;
        let message = format!(
            "guests.{} names namespace {near}, and {} no more, which is nearly called the same: {} no longer needed",
            group.name,
            by.namespace(),
            listed(objects)
        );
        let finding = withdrawn(message, &Origin::configuration()).severity(Severity::Warning);
        return Some(finding.help(format!("If this is a slip of the hand, write {} again.", by.namespace())));
    }
    if !input.terms.to.region.namespaces.allowed.matches(by.namespace().as_str()) {
        return None;
    }
    let message =
        format!("no Cluster is known in namespace {} any more: {} no longer needed", by.namespace(), listed(objects));
    let help = "If this is unintended, put the Clusters back into the source, or name the namespace in the group.";
    Some(withdrawn(message, &Origin::configuration()).help(help))
}

/// An object that nobody knew and whose key is nearly that of one that is gone.
fn similar<'a>(input: &Input<'a>, key: &ObjectKey, is_new: impl Fn(&Object) -> bool) -> Option<&'a Object> {
    if input.terms.world.snapshot.get(key).is_some() {
        return None;
    }
    let is_near = |object: &&Object| {
        let (name, namespace) = (object.key.name == key.name, object.key.namespace == key.namespace);
        match (name, namespace) {
            (true, _) => edits(object.key.namespace_text(), key.namespace_text()).is_some(),
            (_, true) => edits(object.key.name.as_str(), key.name.as_str()).is_some(),
            _ => false,
        }
    };
    input.terms.world.snapshot.all(&key.kind).filter(is_near).find(|object| is_new(object))
}

fn renamed(key: &ObjectKey, found: &Object) -> Finding {
    let message = format!("{key} is gone, and {} is nearly called the same, and was not published here", found.key);
    let help = format!("If this is a slip of the hand, call it {} again.", key.name);
    withdrawn(message, &found.origin).severity(Severity::Warning).about(&found.key).help(help)
}

/// The finding that a document in the sources makes a withdrawal.
pub(super) fn withdrawn(message: String, origin: &Origin) -> Finding {
    Finding::new(Code::Withdrawn, message).at(origin)
}

/// The objects as a message names them: the first, and how many more there are.
fn listed(objects: &[&ManifestObject]) -> String {
    match objects {
        [] => String::new(),
        [one] => format!("{} is", one.key),
        [first, rest @ ..] => format!("{} and {} more are", first.key, rest.len()),
    }
}
