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
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::cell::OnceCell;

use self::candidates::Candidates;
pub use self::sources::Told;
use self::sources::{Answer, Followed, Goal, Sight};
use super::{Ask, Asked, Claim, Copied, Edit};
use crate::config::{Fleet, RegionConfig, grants_for, is_name_of_guests};
use crate::destination::Place;
use crate::finding::{Code, Finding};
use crate::kinds;
use crate::name::{Claimant, GroupKind, Name, ObjectKey, Region, Scope};
use crate::nearest::edits;
use crate::object::{Object, finding_of};
use crate::snapshot::{Lookup, Snapshot};
use crate::sync_rule::mutation::{Between, apply};
use crate::sync_rule::spec::is_of_registry;
use crate::sync_rule::{Read, Rule, read};

/// The ResourceSyncRules that some region names, or some group of guests.
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
            if fleet.follows(object.key.name.as_str()) {
                let (standing, found) = standing(fleet, snapshot, object);
                findings.extend(found);
                rules.insert(object.key.name.clone(), standing);
            }
        }
        (Self(rules), findings)
    }

    /// The kind of which a rule takes objects, if it can be followed.
    pub fn kind(&self, rule: &Name) -> Option<&GroupKind> {
        match self.0.get(rule)? {
            Standing::Good(rule) => Some(&rule.kind),
            _ => None,
        }
    }

    /// What a rule is as a whole, if a region names it and it can be followed.
    pub fn told<'a>(&'a self, fleet: &'a Fleet, snapshot: &'a Snapshot, rule: &Name) -> Option<Told<'a>> {
        let Standing::Good(rule) = self.0.get(rule)? else { return None };
        Some(Told::of(fleet, snapshot, rule))
    }
}

fn standing(fleet: &Fleet, snapshot: &Snapshot, object: &Object) -> (Standing, Vec<Finding>) {
    let by =
        Claimant::SyncRule { namespace: fleet.system_namespace.clone(), rule: object.key.name.clone(), object: None };
    let plumbing = || {
        let message =
            format!("{} takes what the cluster registry itself works with, and pouch leaves that alone", object.key);
        let help = "Nothing has to be done; take it out of the regions' `syncRules` to hear no more of it, and to have \
                    withdrawn what it took before it was so.";
        let finding = Finding::new(Code::PlumbingRule, message).about(&object.key).at(&object.origin).help(help);
        (Standing::Plumbing, vec![finding.claimed_by(&by)])
    };
    let mut own: Vec<Finding> = object.faults.iter().map(|fault| finding_of(fault, object)).collect();
    if let Lookup::Unread(unread) = snapshot.look_up(&object.key) {
        own.push(unread.finding(&object.key).at(&object.origin));
    }
    // What is wrong with the document comes first: another one may say what is meant.
    if own.iter().any(Finding::stops_claim) {
        return (Standing::Bad(own, kind_of(fleet, object)), Vec::new());
    }
    if is_of_registry(&object.body) {
        return plumbing();
    }
    let is_bare = |kind: &GroupKind| snapshot.scopes.of(kind) == Some(Scope::Cluster);
    let Read { rule, notes } = read(&object.body, object.key.name.as_str(), is_bare);
    let mut findings: Vec<Finding> = notes.iter().map(|fault| finding_of(fault, object)).collect();
    let standing = match rule {
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

/// A rule for a kind that is not published, or that is nearly one that is. A name that is right says what was meant,
/// whatever the group.
fn not_published(fleet: &Fleet, object: &Object, kind: &GroupKind) -> Standing {
    let published = kinds::published().chain(fleet.kinds.keys().cloned());
    let mut near = published.filter(|known| {
        let is_near = |of: &str, is: &str| edits(of, is).is_some();
        let is_of_group = known.kind == kind.kind || is_near(known.group.as_str(), kind.group.as_str());
        is_of_group && is_near(known.kind.as_str(), kind.kind.as_str())
    });
    if let Some(meant) = near.next() {
        let message = format!("{} takes the kind {}, which is not known", object.key, kind.qualified());
        let help = format!("Did you mean {}? Until this is corrected, what the rule took stays.", meant.qualified());
        let finding = Finding::new(Code::Mistyped, message).about(&object.key).at(&object.origin).help(help);
        return Standing::Bad(vec![finding], None);
    }
    let message = format!("{} takes objects of kind {}, which pouch does not publish", object.key, kind.qualified());
    let help = "Take it out of the regions' `syncRules`; if the kind holds no secret in clear, declare it in `kinds`.";
    let finding = Finding::new(Code::ForbiddenKind, message).about(&object.key).at(&object.origin).help(help);
    Standing::Forbidden(Box::new(finding))
}

/// What every rule asks for that a region names.
pub(super) fn claims(fleet: &Fleet, snapshot: &Snapshot, rules: &SyncRules) -> Vec<Asked> {
    if rules.0.is_empty() {
        return Vec::new();
    }
    let features = OnceCell::new();
    let mut candidates = Candidates::new(snapshot);
    let mut asked = Vec::new();
    for (name, standing) in &rules.0 {
        let Some(object) = snapshot.get(&ObjectKey::new(kinds::sync_rule(), None, name.clone())) else { continue };
        // Only groups of guests may name it.
        if fleet.ruled(name.as_str()).next().is_none() {
            continue;
        }
        match standing {
            Standing::Plumbing => {}
            Standing::Bad(findings, _) => asked.push(whole(fleet, object, findings.clone())),
            Standing::Forbidden(finding) => asked.push(whole(fleet, object, vec![(**finding).clone()])),
            Standing::Good(rule) => {
                let followed = Followed { object, rule };
                asked.extend(unmatched(snapshot, followed).map(|finding| whole(fleet, object, vec![finding])));
                let mut sight = Sight::of(fleet, snapshot, &features, followed);
                let regions: Vec<&RegionConfig> = fleet.ruled(name.as_str()).collect();
                for key in candidates.of(rule) {
                    // What the rule says of an object is the same for every region.
                    let answers = sight.answers(key);
                    let ask = |region: &&RegionConfig| ask(fleet, snapshot, followed, region, Goal::Region, &answers);
                    asked.extend(regions.iter().filter_map(ask));
                }
            }
        }
    }
    asked
}

/// What a rule takes for guest clusters.
pub(super) struct Taken {
    /// The claims, one for each object; a few of them for objects of other sources that no grant can open, so that they are
    /// told of.
    pub(super) asked: Vec<Asked>,
    /// The finding that leaves open whether it takes more.
    pub(super) open: Option<Finding>,
}

/// How many objects are told of that a rule takes for guests and cannot use.
const MOST_FOREIGN: usize = 16;

/// What a rule takes for guest clusters of a region: what it would ask of the region, or why nobody knows. None if no source
/// has the rule.
pub(super) fn for_guests(
    fleet: &Fleet,
    snapshot: &Snapshot,
    rules: &SyncRules,
    name: &Name,
    region: &RegionConfig,
) -> Option<Result<Taken, Vec<Finding>>> {
    let object = snapshot.get(&ObjectKey::new(kinds::sync_rule(), None, name.clone()))?;
    let invalid = |message: String, help: &'static str| {
        let finding = Finding::new(Code::InvalidObject, message).about(&object.key).at(&object.origin);
        Some(Err(vec![finding.help(help)]))
    };
    let rule = match rules.0.get(name)? {
        Standing::Good(rule) => rule,
        Standing::Bad(findings, _) => return Some(Err(findings.clone())),
        Standing::Plumbing => {
            let message = format!(
                "{} takes what the cluster registry itself works with, and pouch leaves that alone",
                object.key
            );
            return invalid(message, "Take it out of the group.");
        }
        // It may be a slip, so what was taken before stays.
        Standing::Forbidden(finding) => {
            return invalid(finding.message.clone(), "Take it out of the group, or declare the kind in `kinds`.");
        }
    };
    let (features, followed) = (OnceCell::new(), Followed { object, rule });
    let mut sight = Sight::of(fleet, snapshot, &features, followed);
    let mut taken = Taken { asked: Vec::new(), open: unmatched(snapshot, followed) };
    let mut foreign = 0;
    // A payload in a payload would be one more with each run.
    let is_payload = |key: &ObjectKey| is_name_of_guests(&key.name) && snapshot.copies(key).any(|copy| copy.ours);
    for key in Candidates::new(snapshot).of(rule).into_iter().filter(|key| !is_payload(key)) {
        let answers = sight.answers(key);
        let Some(asked) = ask(fleet, snapshot, followed, region, Goal::Guests, &answers) else { continue };
        if !answers.iter().any(|answer| answer.is_own) && !may_be_granted(fleet, &asked.by, region, key) {
            // A few are told of; who writes a hundred thousand of them costs each namespace of the group no more than that.
            if foreign >= MOST_FOREIGN {
                continue;
            }
            foreign += 1;
        }
        taken.asked.push(asked);
    }
    Some(Ok(taken))
}

/// The finding for a cluster that does not show all objects of the kind: one that is not shown may be taken.
fn unmatched(snapshot: &Snapshot, Followed { object, rule }: Followed<'_>) -> Option<Finding> {
    let unread = snapshot.unmatched(&rule.kind)?;
    let what = format!("{} takes further objects from source {}", object.key, unread.source);
    Some(unread.leaves_open(&object.key, &what).at(&object.origin))
}

/// A rule that takes nothing, and why.
fn whole(fleet: &Fleet, object: &Object, findings: Vec<Finding>) -> Asked {
    let by =
        Claimant::SyncRule { namespace: fleet.system_namespace.clone(), rule: object.key.name.clone(), object: None };
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
    fleet: &Fleet,
    snapshot: &Snapshot,
    followed: Followed<'_>,
    region: &RegionConfig,
    goal: Goal,
    answers: &[Answer<'_, '_>],
) -> Option<Asked> {
    let Followed { object, rule } = followed;
    let answer = sources::deciding(fleet, snapshot, region, goal, answers)?;
    let (copy, key) = (answer.copy, &answer.copy.key);
    let namespace = key.namespace.clone().unwrap_or_else(|| fleet.system_namespace.clone());
    let by = Claimant::SyncRule { namespace, rule: object.key.name.clone(), object: Some(key.name.clone()) };
    let (lands, edits, findings) = match &answer.steps {
        // What the rule could not use anyway is no matter of the region: whoever writes it would make findings of every rule.
        Err(_) if !answer.is_own && !may_be_granted(fleet, &by, region, key) => return None,
        Err(doubt) => (key.clone(), Vec::new(), vec![*doubt.finding(copy, followed, region)]),
        Ok(steps) => {
            let is_open = !matches!(snapshot.look_up(key), Lookup::Unasked);
            let between = Between { cluster: copy.origin.source.as_str(), local: region.name.as_str() };
            match apply(copy, rule, steps, is_open, between) {
                Ok(None) => return None,
                Ok(Some(mutated)) => (mutated.lands, vec![Edit::Made(Arc::new(mutated.made))], Vec::new()),
                Err(fault) => (key.clone(), Vec::new(), vec![finding_of(&fault, object).about(key)]),
            }
        }
    };
    let copied = Copied {
        read: key.clone(),
        version: rule.version.clone(),
        source: Some(copy.origin.source.clone()),
        lands,
        edits,
    };
    Some(one(fleet, object, region, copied, findings))
}

/// What a rule asks for one object.
fn one(fleet: &Fleet, object: &Object, region: &RegionConfig, copied: Copied, findings: Vec<Finding>) -> Asked {
    let key = &copied.read;
    let namespace = key.namespace.clone().unwrap_or_else(|| fleet.system_namespace.clone());
    let by = Claimant::SyncRule { namespace, rule: object.key.name.clone(), object: Some(key.name.clone()) };
    let (at, origin) = (Place::Region(region.name.clone()), object.origin.clone());
    let claim = Claim { by: by.clone(), at, origin, ask: Ask::Copy(Box::new(copied)), through: Vec::new() };
    let origin = object.origin.clone();
    let mut asked = Asked { by, origin, region: Some(region.name.clone()), claim: Some(Arc::new(claim)), findings };
    asked.settle();
    asked
}

/// Whether some grant may open an object of another source to what a rule takes to a region.
fn may_be_granted(fleet: &Fleet, by: &Claimant, region: &RegionConfig, key: &ObjectKey) -> bool {
    grants_for(&fleet.grants, by, key)
        .any(|grant| grant.names(&region.name) || grant.regions.placements().next().is_some())
}

/// The object that a claimant takes, as far as its rule says of which kind that is. Of a rule that cannot be read that
/// counts only where there is such an object.
pub fn object_of(rules: &SyncRules, snapshot: &Snapshot, by: &Claimant) -> Option<ObjectKey> {
    let Claimant::SyncRule { namespace, rule, object } = by else { return None };
    let (kind, is_certain) = match rules.0.get(rule)? {
        Standing::Good(rule) => (&rule.kind, true),
        Standing::Bad(_, kind) => (kind.as_ref()?, false),
        Standing::Plumbing | Standing::Forbidden(_) => return None,
    };
    let namespace = match snapshot.scopes.of(kind) {
        Some(Scope::Cluster) => None,
        _ => Some(namespace.clone()),
    };
    let key = ObjectKey::new(kind.clone(), namespace, object.clone()?);
    (is_certain || snapshot.get(&key).is_some()).then_some(key)
}

/// The code that says why what a rule took to a region stays although the rule takes nothing by that name now, if it does.
pub(super) fn kept_by(
    fleet: &Fleet,
    snapshot: &Snapshot,
    rules: &SyncRules,
    by: &Claimant,
    region: &Region,
) -> Option<Code> {
    let Claimant::SyncRule { rule, object: Some(_), .. } = by else { return Some(Code::Unread) };
    // Of a rule that the region names no more, the configuration has said enough.
    let config = fleet.regions.get(region).filter(|region| region.sync_rules.matches(rule.as_str()))?;
    may_take(fleet, snapshot, rules, by, config, Goal::Region)
}

/// The code that says why it is open whether a rule takes an object, if it is: as it may for guest clusters of a region.
pub(super) fn may_take_for_guests(
    fleet: &Fleet,
    snapshot: &Snapshot,
    rules: &SyncRules,
    by: &Claimant,
    region: &RegionConfig,
) -> Option<Code> {
    may_take(fleet, snapshot, rules, by, region, Goal::Guests)
}

fn may_take(
    fleet: &Fleet,
    snapshot: &Snapshot,
    rules: &SyncRules,
    by: &Claimant,
    config: &RegionConfig,
    goal: Goal,
) -> Option<Code> {
    let rule = by.rule()?;
    let object = match snapshot.look_up(&ObjectKey::new(kinds::sync_rule(), None, rule.clone())) {
        Lookup::Unread(_) | Lookup::Unasked => return Some(Code::Unread),
        Lookup::Absent => return None,
        Lookup::Found(object) => object,
    };
    // Neither a kind that is not published nor one of the registry is a word about what was taken: it may be a slip.
    let Some(Standing::Good(good)) = rules.0.get(rule) else { return Some(Code::InvalidObject) };
    let Some(key) = object_of(rules, snapshot, by) else { return Some(Code::Unread) };
    match snapshot.look_up(&key) {
        Lookup::Unread(_) => Some(Code::Unread),
        Lookup::Unasked if snapshot.is_ruled_out(&key) => None,
        Lookup::Unasked => Some(Code::Unread),
        Lookup::Absent => None,
        Lookup::Found(_) => {
            let features = OnceCell::new();
            let answers = Sight::of(fleet, snapshot, &features, Followed { object, rule: good }).answers(&key);
            let answer = sources::deciding(fleet, snapshot, config, goal, &answers)?;
            // Where the rule's own sources have the object and say no, a copy that the rule could not use anyway leaves nothing
            // open: whoever writes that would keep what is taken away.
            let own =
                |copy: &Object| snapshot.agreeing(&object.key).any(|rule| rule.origin.source == copy.origin.source);
            let is_out = || !answer.is_own && !may_be_granted(fleet, by, config, &key);
            match &answer.steps {
                Err(_) => (!(is_out() && snapshot.copies(&key).any(own))).then_some(Code::Unread),
                // It takes it, and may have had no room for it.
                Ok(_) => (goal == Goal::Guests && !is_out()).then_some(Code::TooManyObjects),
            }
        }
    }
}
