//! Claims that ResourceSyncRules make: one for each object that a rule takes to a region.
//!
//! The registry's controller runs on the cluster that copies are made on, and follows the rules that stand there. Here the
//! configuration says which rules count for which region. A rule is read from a source with `clusterScoped` alone: it
//! chooses among the objects of everybody. Where it cannot be told whether a rule takes an object, the claim is broken, so
//! that what is published stays.

mod candidates;
mod sources;
#[cfg(test)]
mod tests;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use self::candidates::Candidates;
use self::sources::{Features, Taken};
use super::{Asked, Claim, Copied, Edit};
use crate::config::{Fleet, Globs, RegionConfig, Resolution};
use crate::destination::Address;
use crate::finding::{Code, Finding};
use crate::k0rdent::root::Root;
use crate::kinds;
use crate::name::{Claimant, GroupKind, Name, ObjectKey, Region, Scope};
use crate::nearest::{did_you_mean, edits};
use crate::object::{Object, finding_of};
use crate::snapshot::{Lookup, Snapshot};
use crate::sync_rule::mutation::{Between, apply};
use crate::sync_rule::spec::is_of_registry;
use crate::sync_rule::{Read, Rule, read};

/// The ResourceSyncRules that some region names.
#[derive(Default)]
pub struct SyncRules(BTreeMap<Name, Standing>);

/// What a rule is.
enum Standing {
    /// It can be followed.
    Good(Rule),
    /// It cannot be read, as these say; what kind it takes, as far as that can be told.
    Bad(Vec<Finding>, Option<GroupKind>),
    /// It takes what the registry itself works with.
    Plumbing,
    /// It takes objects of a kind that is not published, as this says.
    Forbidden(Box<Finding>),
}

impl SyncRules {
    /// Reads the rules; the findings are about rules as a whole.
    pub fn read(fleet: &Fleet, snapshot: &Snapshot) -> (Self, Vec<Finding>) {
        let (mut rules, mut findings) = (BTreeMap::new(), Vec::new());
        if !fleet.names_sync_rules() {
            return (Self::default(), findings);
        }
        for object in snapshot.all(&kinds::sync_rule()) {
            if fleet.ruled(object.key.name.as_str()).next().is_some() {
                let (standing, found) = standing(fleet, snapshot, object);
                findings.extend(found);
                rules.insert(object.key.name.clone(), standing);
            }
        }
        findings.extend(fleet.regions.values().flat_map(|region| unnamed(snapshot, region)));
        (Self(rules), findings)
    }
}

fn standing(fleet: &Fleet, snapshot: &Snapshot, object: &Object) -> (Standing, Vec<Finding>) {
    let by = Claimant::sync_rule(&object.key.name, fleet.system_namespace.clone());
    let plumbing = || {
        let message =
            format!("{} takes what the cluster registry itself works with, and pouch leaves that alone", object.key);
        let help = "Nothing has to be done; take it out of the regions' `syncRules` to hear no more of it.";
        let finding = Finding::new(Code::PlumbingRule, message).about(&object.key).at(&object.origin).help(help);
        (Standing::Plumbing, vec![finding.claimed_by(&by)])
    };
    if is_of_registry(&object.body) {
        return plumbing();
    }
    let is_bare = |kind: &GroupKind| snapshot.scopes.of(kind) == Some(Scope::Cluster);
    let Read { rule, notes } = read(&object.body, object.key.name.as_str(), is_bare);
    let mut findings: Vec<Finding> = notes.iter().map(|fault| finding_of(fault, object)).collect();
    let mut own: Vec<Finding> = object.faults.iter().map(|fault| finding_of(fault, object)).collect();
    if let Lookup::Unread(unread) = snapshot.look_up(&object.key) {
        own.push(unread.finding(&object.key).at(&object.origin));
    }
    let standing = match rule {
        _ if own.iter().any(Finding::stops_claim) => Standing::Bad(own, kind_of(fleet, object)),
        Err(faults) => {
            let faults = faults.iter().map(|fault| finding_of(fault, object)).collect();
            Standing::Bad(faults, kind_of(fleet, object))
        }
        Ok(rule) if rule.is_plumbing() => return plumbing(),
        Ok(rule) if !fleet.publishes(&rule.kind) => not_published(fleet, object, &rule.kind),
        Ok(rule) => Standing::Good(rule),
    };
    for finding in &mut findings {
        finding.claimant = Some(by.clone());
    }
    (standing, findings)
}

/// The kind that a rule takes that cannot be read otherwise, if it is one that is published.
fn kind_of(fleet: &Fleet, object: &Object) -> Option<GroupKind> {
    let text = |field: &str| object.body.str_at(&["spec", "groupVersionKind", field]);
    let kind = GroupKind::new(text("group").unwrap_or_default(), text("kind")?);
    fleet.publishes(&kind).then_some(kind)
}

/// A rule for a kind that is not published, or that is nearly one that is.
fn not_published(fleet: &Fleet, object: &Object, kind: &GroupKind) -> Standing {
    let published = kinds::published().chain(fleet.kinds.keys().cloned());
    let mut near = published.filter(|known| {
        let group = edits(known.group.as_str(), kind.group.as_str());
        group.is_some() && edits(known.kind.as_str(), kind.kind.as_str()).is_some()
    });
    if let Some(meant) = near.next() {
        let message = format!("{} takes the kind {kind}, which is not known", object.key);
        let help = format!("Did you mean {meant}? Until this is corrected, what the rule took stays.");
        let finding = Finding::new(Code::Mistyped, message).about(&object.key).at(&object.origin).help(help);
        return Standing::Bad(vec![finding], None);
    }
    let message = format!("{} takes objects of kind {kind}, which pouch does not publish", object.key);
    let help = "Take it out of the regions' `syncRules`; if the kind holds no secret in clear, declare it in `kinds`.";
    let finding = Finding::new(Code::ForbiddenKind, message).about(&object.key).at(&object.origin).help(help);
    Standing::Forbidden(Box::new(finding))
}

/// Tells of what a region names that no rule is called by. A region may well have none of `*` yet.
fn unnamed<'a>(snapshot: &'a Snapshot, region: &'a RegionConfig) -> impl Iterator<Item = Finding> + 'a {
    let kind = kinds::sync_rule();
    let is_known = !snapshot.may_lack(&kind);
    let names: Vec<&Name> = snapshot.all(&kind).map(|rule| &rule.key.name).collect();
    region.sync_rules.patterns().iter().filter_map(move |pattern| {
        let globs = Globs::new(core::slice::from_ref(pattern)).unwrap_or_default();
        if !is_known || pattern == "*" || names.iter().any(|name| globs.matches(name.as_str())) {
            return None;
        }
        let message =
            format!("no ResourceSyncRule in the sources matches {pattern:?} of regions.{}.syncRules", region.name);
        let near = did_you_mean(pattern, names.iter().map(|name| name.as_str()));
        let help = format!(
            "{near}Correct the entry, or the source: only one with `clusterScoped` can have rules. What a rule took by it is \
             withdrawn, under the brake."
        );
        Some(Finding::new(Code::UnmatchedEntry, message).in_region(&region.name).help(help))
    })
}

/// What every rule asks for that a region names.
pub(super) fn claims(fleet: &Fleet, snapshot: &Snapshot, rules: &SyncRules) -> Vec<Asked> {
    if rules.0.is_empty() {
        return Vec::new();
    }
    let features = Features::of(fleet, snapshot);
    let mut candidates = Candidates::new(snapshot);
    let mut asked = Vec::new();
    for (name, standing) in &rules.0 {
        let Some(object) = snapshot.get(&ObjectKey::new(kinds::sync_rule(), None, name.clone())) else { continue };
        match standing {
            Standing::Plumbing => {}
            Standing::Bad(findings, _) => asked.push(whole(fleet, object, findings.clone())),
            Standing::Forbidden(finding) => asked.push(whole(fleet, object, vec![(**finding).clone()])),
            Standing::Good(rule) => {
                // What a cluster does not show may be taken, and nobody would miss it.
                if let Some(unread) = snapshot.unmatched(&rule.kind) {
                    let what = format!("{} takes further objects from source {}", object.key, unread.source);
                    let finding = unread.leaves_open(&object.key, &what).at(&object.origin);
                    asked.push(whole(fleet, object, vec![finding]));
                }
                let found = candidates.of(rule);
                for region in fleet.ruled(name.as_str()) {
                    let ask = |key: &ObjectKey| ask((fleet, snapshot, &features), (object, rule), region, key);
                    asked.extend(found.iter().filter_map(|key| ask(key)));
                }
            }
        }
    }
    asked
}

/// A rule that takes nothing, and why.
fn whole(fleet: &Fleet, object: &Object, findings: Vec<Finding>) -> Asked {
    let by = Claimant::sync_rule(&object.key.name, fleet.system_namespace.clone());
    let mut regions = fleet.ruled(object.key.name.as_str()).map(|region| &region.name);
    let region = match (regions.next(), regions.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    };
    let mut asked = Asked { by, origin: object.origin.clone(), region, claim: None, findings };
    asked.settle();
    asked
}

/// What a rule asks for one object and one region, if it takes the object, or nobody knows.
fn ask(
    (fleet, snapshot, features): (&Fleet, &Snapshot, &Features<'_>),
    (object, rule): (&Object, &Rule),
    region: &RegionConfig,
    key: &ObjectKey,
) -> Option<Asked> {
    let place = (object, rule, region);
    let (lands, edits, findings) = match sources::taken(fleet, snapshot, features, place, key) {
        Taken::No => return None,
        Taken::Unknown(finding) => (key.clone(), Vec::new(), vec![*finding]),
        Taken::By { copy, steps } => {
            let is_open = !matches!(snapshot.look_up(key), Lookup::Unasked);
            let between = Between { cluster: copy.origin.source.as_str(), local: region.name.as_str() };
            match apply(copy, rule, &steps, is_open, between) {
                Ok(None) => return None,
                Ok(Some(mutated)) => (mutated.lands, vec![Edit::Made(Arc::new(mutated.made))], Vec::new()),
                Err(fault) => (key.clone(), Vec::new(), vec![finding_of(&fault, object).about(key)]),
            }
        }
    };
    let namespace = key.namespace.clone().unwrap_or_else(|| fleet.system_namespace.clone());
    let by = Claimant::synced(&object.key.name, namespace, &key.name);
    let root = Root {
        kind: key.kind.clone(),
        version: rule.version.clone(),
        name: key.name.clone(),
        namespace: key.namespace.clone(),
    };
    let claim = Claim {
        by: by.clone(),
        origin: object.origin.clone(),
        to: Address::Region(region.name.clone()),
        root,
        starts: Vec::new(),
        resolution: Resolution::AsWritten,
        managed: false,
        copied: Some(Copied { read: key.clone(), lands, edits }),
    };
    let origin = object.origin.clone();
    let mut asked = Asked { by, origin, region: Some(region.name.clone()), claim: Some(claim), findings };
    asked.settle();
    Some(asked)
}

/// The object that a claimant takes, as far as its rule says of which kind that is. Of a rule that cannot be read that
/// counts only where there is such an object.
pub fn object_of(rules: &SyncRules, snapshot: &Snapshot, by: &Claimant) -> Option<ObjectKey> {
    let (rule, object) = by.rule_and_object()?;
    let (kind, is_certain) = match rules.0.get(rule)? {
        Standing::Good(rule) => (&rule.kind, true),
        Standing::Bad(_, kind) => (kind.as_ref()?, false),
        Standing::Plumbing | Standing::Forbidden(_) => return None,
    };
    let namespace = match snapshot.scopes.of(kind) {
        Some(Scope::Cluster) => None,
        _ => Some(by.namespace.clone()),
    };
    let key = ObjectKey::new(kind.clone(), namespace, object?.into());
    (is_certain || snapshot.get(&key).is_some()).then_some(key)
}

/// The code that says why what a rule took to a region stays although the rule takes nothing by that name now, if it does.
pub(super) fn kept_by(
    (fleet, snapshot, rules): (&Fleet, &Snapshot, &SyncRules),
    by: &Claimant,
    region: &Region,
) -> Option<Code> {
    let Some((rule, Some(_))) = by.rule_and_object() else { return Some(Code::Unread) };
    // Of a rule that the region names no more, the configuration has said enough.
    if !fleet.regions.get(region).is_some_and(|region| region.sync_rules.matches(rule)) {
        return None;
    }
    match snapshot.look_up(&ObjectKey::new(kinds::sync_rule(), None, rule.into())) {
        Lookup::Unread(_) | Lookup::Unasked => return Some(Code::Unread),
        Lookup::Absent => return None,
        Lookup::Found(_) => {}
    }
    match rules.0.get(rule) {
        Some(Standing::Good(_)) => {}
        Some(Standing::Plumbing | Standing::Forbidden(_)) => return None,
        Some(Standing::Bad(..)) | None => return Some(Code::InvalidSyncRule),
    }
    let Some(key) = object_of(rules, snapshot, by) else { return Some(Code::Unread) };
    match snapshot.look_up(&key) {
        Lookup::Unread(_) => Some(Code::Unread),
        Lookup::Unasked if snapshot.is_ruled_out(&key) => None,
        Lookup::Unasked => Some(Code::Unread),
        Lookup::Found(_) | Lookup::Absent => None,
    }
}
