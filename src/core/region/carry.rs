//! Carry: what becomes of the claimants that have something published (DESIGN §2.7).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::input::Input;
use super::ledger::Gone;
use super::siblings::Siblings;
use crate::capi::cluster;
use crate::claim::deployments;
use crate::claim::guest::{self, acting};
use crate::claim::sync_rule::object_of;
use crate::claim::template::Led;
use crate::finding::{Cause, Code, Finding, Severity};
use crate::judge::case::{Ruling, Verdict};
use crate::kinds;
use crate::layout::manifest::{Manifest, ManifestObject, NeededBy, Reason};
use crate::listing::few;
use crate::name::step::Step;
use crate::name::{Claimant, Entry, GroupKind, Name, ObjectKey, SourceName};
use crate::snapshot::{Lookup, Unread};
use crate::world::cluster::ClusterFacts;

/// What becomes of one claimant's published objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fate {
    /// The claim is resolved anew; objects that it no longer needs are withdrawn.
    Fresh,
    /// The claim is resolved again, and may need more than that: what it had before stays as published, for this reason.
    Partly(Reason),
    /// The objects stay as published, for this reason.
    Kept(Reason),
    /// The objects are withdrawn, under the brake.
    Withdrawn(Gone),
}

/// The fate of every claimant in the published manifest.
pub(super) struct Fates(BTreeMap<Claimant, Fate>);

impl Fates {
    /// The fate of what one claimant of the manifest has by one chain.
    pub(super) fn of(&self, by: &NeededBy) -> Fate {
        match self.0.get(&by.by).copied().unwrap_or(Fate::Kept(Reason::Unread)) {
            Fate::Partly(reason) if !may_be_of_machines(by, reason) => Fate::Fresh,
            fate @ (Fate::Partly(_) | Fate::Fresh | Fate::Kept(_) | Fate::Withdrawn(_)) => fate,
        }
    }

    /// The claimants that go because the region takes nothing of their namespace.
    pub(super) fn shut_out(&self, input: &Input<'_>) -> impl Iterator<Item = &Claimant> {
        let goes = |fate: &Fate| matches!(fate, Fate::Withdrawn(_));
        self.0.iter().filter(move |(by, fate)| goes(fate) && is_shut_out(input, by)).map(|(by, _)| by)
    }

    /// Findings about claimants that no finding of their own explains; `staying` are those of which something is
    /// carried over.
    pub(super) fn findings(
        &self,
        input: &Input<'_>,
        rulings: &[Ruling<'_>],
        staying: &BTreeSet<&Claimant>,
    ) -> Vec<Finding> {
        let heard: BTreeSet<&Claimant> = rulings.iter().map(|ruling| &ruling.case.claim.by).collect();
        // What keeps one object of a group keeps all of them.
        let mut told: BTreeSet<Claimant> = BTreeSet::new();
        let explain = |(by, fate): (&Claimant, &Fate)| match fate {
            Fate::Kept(reason) => {
                let by = Some(by).filter(|by| staying.contains(by))?;
                let taken = (*reason == Reason::Unread).then(|| open_source(input, by)).flatten();
                let whole = if taken.is_some() { by.written() } else { by.whole() };
                let told_of = || match taken {
                    Some(because) => told_of_open(input, &whole, because),
                    None => told_of_kept(input, &whole, *reason),
                };
                told_of().filter(|_| by.group().is_none() || told.insert(whole.into_owned()))
            }
            // If the Credential could be read, its claim says so itself.
            Fate::Withdrawn(_) => (is_shut_out(input, by) && !is_heard_of(input, by)).then(|| told_shut_out(input, by)),
            Fate::Fresh | Fate::Partly(_) => None,
        };
        self.0.iter().filter(|(by, _)| !heard.contains(by)).filter_map(explain).collect()
    }
}

/// The findings about Clusters of whose machines something stays although nothing else says why.
pub(super) fn of_doubts(rulings: &[Ruling<'_>], staying: &BTreeSet<&Claimant>) -> Vec<Finding> {
    let claims = rulings.iter().map(|ruling| &ruling.case.claim).filter(|claim| staying.contains(&claim.by));
    let doubts = claims.filter_map(|claim| Some((claim, claim.all_starts()?.doubt.as_ref()?)));
    doubts.map(|(claim, doubt)| Finding::clone(doubt).claimed_by(&claim.by).in_region(claim.region())).collect()
}

fn told_shut_out(input: &Input<'_>, by: &Claimant) -> Finding {
    let region = &input.terms.to.region.name;
    let message = format!("region {region} takes no {}s of namespace {}", by.kind(), by.namespace());
    let finding = Finding::new(Code::NamespaceNotAllowed, message).claimed_by(by).in_region(region);
    let because = untold(input, by).map(Cause::Source);
    Finding { because, ..finding.help("If this is unintended, add the namespace to the region's namespaces.allowed.") }
}

/// The source that leaves open whether a rule of a group of guests still takes what it took, if that is open and due to a source.
fn open_source(input: &Input<'_>, by: &Claimant) -> Option<Option<SourceName>> {
    let world = &input.terms.world;
    world.may_be_taken(by)?;
    let object = acting(world.fleet, by).and_then(|acting| object_of(&world.facts.synced, world.snapshot, &acting));
    Some(match object.map(|key| world.snapshot.look_up(&key)) {
        Some(Lookup::Unread(unread)) => Some(unread.source.clone()),
        _ => None,
    })
}

/// The finding about a rule of a group of guests that may still take what it took.
fn told_of_open(input: &Input<'_>, by: &Claimant, because: Option<SourceName>) -> Option<Finding> {
    let why = because.as_ref().map(|source| format!(": source {source} was not read completely")).unwrap_or_default();
    let message = format!("whether {by} still takes all that it took is unknown{why}; that stays");
    let finding = Finding::new(Code::DeletionUnproved, message).claimed_by(by).help(CORRECT);
    let finding = finding.in_region(&input.terms.to.region.name);
    Some(Finding { because: because.map(Cause::Source), ..finding })
}

/// The help where a source leaves something open.
const CORRECT: &str = "Correct the source: its own findings say what is wrong.";

/// The finding about a claimant whose objects stay although it is not known to ask for them.
fn told_of_kept(input: &Input<'_>, by: &Claimant, reason: Reason) -> Option<Finding> {
    let world = &input.terms.world;
    // No Namespace leads anywhere beside a look.
    let is_strange = || world.kept_by(by, input.terms.to.region, None).is_none() && is_of_strange_look(input, by);
    let unread_in = |kind: &GroupKind| world.snapshot.unread_in(kind, Some(by.namespace())).cloned();
    let (code, message, help, because) = match reason {
        Reason::InUse => (
            Code::CredentialInUse,
            format!("{by} is gone and ClusterDeployments still name it; its objects stay"),
            "Delete the ClusterDeployments first, or put the Credential back.",
            None,
        ),
        Reason::Unproved => (
            Code::DeletionUnproved,
            format!("{by} is gone; whether ClusterDeployments still name it is unknown"),
            "Correct the source: its own findings say what is wrong. Until then the objects stay.",
            unread_in(&deployments::kind()),
        ),
        Reason::Unread => {
            let because = kinds::claimant(by).and_then(|key| unread_in(&key.kind));
            let (message, help) = match () {
                () if is_strange() => (
                    format!(
                        "{by} may be gone by a look into a cluster that the published bundle does not know; its objects stay"
                    ),
                    STRANGE,
                ),
                () if by.group().is_some() => {
                    let because = untold(input, by).map(|source| format!(": source {source} was not read completely"));
                    let because = because.unwrap_or_default();
                    (format!("whether {by} still has Clusters is unknown{because}; its objects stay"), CORRECT)
                }
                () if let Some(source) = guarded_since(input, by) => (
                    format!(
                        "{by} stands in source {source} as before, which may provide nothing in namespace {} any more: it is \
                         one of controllers now; its objects stay",
                        by.namespace()
                    ),
                    "Give the source clusterScoped, or move the Credential. If it is to go, pass `--withdraw NAMESPACE/NAME`.",
                ),
                () => {
                    let because = unread_because(input, by);
                    (format!("whether {by} still exists is unknown{because}; its objects stay"), CORRECT)
                }
            };
            (Code::DeletionUnproved, message, help, because)
        }
        Reason::SeveralRegions if by.group().is_some() => {
            let because = untied(input, by)
                .map(|source| format!(": source {source} has some, and does not say of which region"))
                .unwrap_or_default();
            let message = format!("whether {by} still has Clusters is unknown{because}; its objects stay");
            (Code::SeveralRegions, message, "Say `region` of the source, or name the namespace in the group.", None)
        }
        Reason::SeveralRegions
        | Reason::Broken(_)
        | Reason::HeldDeletion
        | Reason::HeldValue
        | Reason::HandedOver
        | Reason::OwnOutput
        | Reason::RecipientRemoved
        | Reason::RecipientAdded => return None,
    };
    let finding = Finding::new(code, message).claimed_by(by).in_region(&input.terms.to.region.name).help(help);
    let because = because.or_else(|| untold(input, by));
    Some(Finding { because: because.map(Cause::Source), ..finding })
}

/// Whether a claimant asks for something; one of a template asks for each region by itself.
fn is_heard_of(input: &Input<'_>, by: &Claimant) -> bool {
    match by.template().is_some() {
        true => input.terms.world.facts.asks_for(by, &input.terms.to.region.name),
        false => input.terms.world.facts.asked_by(by).is_some(),
    }
}

/// Decides the fate of every claimant in the published manifest.
pub(super) fn fates(input: &Input<'_>, rulings: &[Ruling<'_>], siblings: &Siblings<'_, '_>) -> Fates {
    let by_name = by_claimant(rulings);
    let mut fates = BTreeMap::new();
    for object in input.published.manifest().map(|manifest| &*manifest.objects).unwrap_or_default() {
        for needed_by in &object.needed_by {
            let ruling = by_name.get(&needed_by.by).copied();
            let asked = |by: &Claimant, reason: Reason| input.terms.allowances.withdraws(by, reason.code());
            fates.entry(needed_by.by.clone()).or_insert_with_key(|by| match fate(input, ruling, siblings, needed_by) {
                Fate::Kept(reason) if asked(by, reason) => Fate::Withdrawn(Gone::Asked),
                fate @ (Fate::Kept(_) | Fate::Partly(_) | Fate::Fresh | Fate::Withdrawn(_)) => fate,
            });
        }
    }
    Fates(fates)
}

/// The first claimant of a manifest whose objects would stay as published, and why.
pub(super) fn first_carried(
    input: &Input<'_>,
    rulings: &[Ruling<'_>],
    manifest: &Manifest,
) -> Option<(Claimant, Reason)> {
    let (by_name, siblings) = (by_claimant(rulings), Siblings::of(rulings));
    let mut claimants: BTreeMap<&Claimant, &NeededBy> = BTreeMap::new();
    for needed_by in manifest.objects.iter().flat_map(|object| &object.needed_by) {
        claimants.entry(&needed_by.by).or_insert(needed_by);
    }
    claimants.into_iter().find_map(|(by, needed_by)| {
        let ruling = by_name.get(by).copied();
        match fate(input, ruling, &siblings, needed_by) {
            Fate::Kept(reason) => Some((by.clone(), reason)),
            Fate::Partly(reason) => keeps_more(ruling?, reason, manifest).then(|| (by.clone(), reason)),
            Fate::Fresh | Fate::Withdrawn(_) => None,
        }
    })
}

/// Returns true if a claimant has something in a manifest that is not made again for it.
fn keeps_more(ruling: &Ruling<'_>, reason: Reason, manifest: &Manifest) -> bool {
    let made: BTreeSet<&ObjectKey> = ruling.case.published_members().map(|member| &member.lands).collect();
    let is_its = |object: &&ManifestObject| {
        let mut its = object.needed_by.iter().filter(|it| it.by == ruling.case.claim.by);
        its.any(|it| may_be_of_machines(it, reason))
    };
    manifest.objects.iter().filter(is_its).any(|object| !made.contains(&object.key))
}

/// Returns false if what waits for machines does not concern what a claimant has by a chain: the objects behind the Cluster
/// name it, and no machine does.
fn may_be_of_machines(needed_by: &NeededBy, reason: Reason) -> bool {
    match needed_by.through.first() {
        Some(Step::Field { field, .. }) if reason.code() == Code::MachinesWait => cluster::is_named_by_machines(field),
        _ => true,
    }
}

fn by_claimant<'r, 'c>(rulings: &'r [Ruling<'c>]) -> BTreeMap<&'c Claimant, &'r Ruling<'c>> {
    rulings.iter().map(|ruling| (&ruling.case.claim.by, ruling)).collect()
}

/// Whether the region takes no Credentials of the claimant's namespace.
///
/// The manifest names the namespace, so nothing needs to be read, and breaking a source keeps nothing.
fn is_shut_out(input: &Input<'_>, by: &Claimant) -> bool {
    !input.terms.to.region.namespaces.allowed.matches(by.namespace().as_str())
}

fn fate(input: &Input<'_>, ruling: Option<&Ruling<'_>>, siblings: &Siblings<'_, '_>, needed_by: &NeededBy) -> Fate {
    let by = &needed_by.by;
    let kept = |ruling: &Ruling<'_>| Fate::Kept(ruling.broken_by().map_or(Reason::Unread, Reason::of));
    if let Some(ruling) = ruling {
        return match ruling.verdict {
            Verdict::Admitted => ruling.case.closure.open.map_or(Fate::Fresh, |code| Fate::Partly(Reason::of(code))),
            Verdict::Refused => Fate::Withdrawn(Gone::Refused),
            Verdict::Broken => kept(ruling),
        };
    }
    // An entry that the configuration has no more is judged by its objects, and so is what a rule takes no more. A former bundle
    // lists a group as a whole: which entry had an object is unknown, so one that is broken keeps all.
    if let all @ [_, ..] = siblings.of_group(by) {
        let is_broken = |ruling: &&&Ruling<'_>| ruling.verdict == Verdict::Broken;
        let broken = match by.entry() {
            None => all.iter().find(is_broken).copied(),
            // Whether an object was read is told by the object.
            Some(_) => {
                siblings.own(&by.written()).filter(|whole| whole.broken_by().is_some_and(|it| it != Code::Unread))
            }
        };
        let is_open = || input.terms.world.may_be_taken(by).map(|code| Fate::Kept(Reason::of(code)));
        return broken.map(kept).or_else(is_open).unwrap_or(Fate::Fresh);
    }
    if (kinds::claimant(by).is_some() || by.group().is_some()) && is_shut_out(input, by) {
        return Fate::Withdrawn(Gone::Refused);
    }
    let kept = input.terms.world.kept_by(by, input.terms.to.region, led(input, needed_by));
    let unproved = || (is_of_strange_look(input, by) || guarded_since(input, by).is_some()).then_some(Code::Unread);
    kept.or_else(unproved).map_or(Fate::Withdrawn(Gone::Gone), |code| Fate::Kept(Reason::of(code)))
}

/// The source in which a claimant still stands as it was published, if it is ignored there because its namespace has become
/// one of controllers.
fn guarded_since<'i>(input: &Input<'i>, by: &Claimant) -> Option<&'i SourceName> {
    let world = &input.terms.world;
    let key = kinds::claimant(by).filter(|_| world.fleet.guarded.contains(by.namespace()))?;
    let source = &world.snapshot.ignored(&key)?.source;
    let provides = &world.fleet.source(source)?.provides;
    let rests_on = input.published.manifest()?.rests_on.as_ref()?;
    let is_there = rests_on.get(&key).is_some_and(|at| at.source == *source);
    (is_there && provides.namespaces.matches(by.namespace().as_str())).then_some(source)
}

/// The Namespace that led a template to what is published, if one did.
fn led<'i>(input: &Input<'i>, needed_by: &NeededBy) -> Option<Led<'i>> {
    let key = ObjectKey::namespace(needed_by.by.namespace());
    let rests_on = input.published.manifest().and_then(|manifest| manifest.rests_on.as_ref());
    let by = rests_on.and_then(|rests_on| rests_on.get(&key)).map(|at| &at.source);
    needed_by.through.iter().any(|step| step.data() == Some(&key)).then_some(Led { by })
}

/// Whether only a look says that a claimant claims nothing any more, and the published bundle does not know the cluster that
/// was looked into: it may be another one.
fn is_of_strange_look(input: &Input<'_>, by: &Claimant) -> bool {
    is_look_strange(input) && input.terms.world.hangs_on_look(by, input.terms.to.region)
}

/// The same of a template that a group of guests had rendered.
pub(super) fn made_before_a_strange_look(input: &Input<'_>, ruling: &Ruling<'_>) -> Option<Reason> {
    let claim = &ruling.case.claim;
    let template = claim.by.entry()?.template()?;
    // What a template makes no more for a namespace that it is for, goes.
    if claim.rendered().is_some() {
        return None;
    }
    let is_named = input.terms.world.fleet.group_of(&claim.by)?.templates.contains(template);
    let by = Claimant::Template { namespace: claim.by.namespace().clone(), template: template.clone() };
    let is_kept =
        is_named && is_look_strange(input) && input.terms.world.is_deselected_by_look(&by, input.terms.to.region);
    is_kept.then_some(Reason::Unread)
}

/// What is said of objects that stay for that.
pub(super) fn of_strange_look<'m>(
    input: &Input<'_>,
    siblings: &Siblings<'_, '_>,
    kept: impl Iterator<Item = (&'m ManifestObject, &'m NeededBy)>,
) -> Vec<Finding> {
    let mut of: BTreeMap<(&Claimant, &Name), BTreeSet<&ObjectKey>> = BTreeMap::new();
    for (object, needed_by) in kept {
        let ruling = siblings.own(&needed_by.by).filter(|ruling| ruling.is_admitted());
        let Some(ruling) = ruling.filter(|ruling| made_before_a_strange_look(input, ruling).is_some()) else {
            continue;
        };
        let template = needed_by.by.entry().and_then(Entry::template);
        if let Some((template, guest)) = template.zip(object.guest.as_ref()) {
            of.entry((&ruling.case.claim.by, template)).or_default().insert(&guest.key);
        }
    }
    let finding = |((by, template), objects): ((&Claimant, &Name), BTreeSet<&ObjectKey>)| {
        const SHOWN: usize = 5;
        let message = format!(
            "template {template} is for namespace {} no more, by a look into a cluster that the published bundle does not \
             know; what it made for {by} stays: {}",
            by.namespace(),
            few(&objects, objects.len(), SHOWN)
        );
        let finding = Finding::new(Code::DeletionUnproved, message).severity(Severity::Warning).claimed_by(by);
        finding.in_region(&input.terms.to.region.name).help(STRANGE)
    };
    of.into_iter().map(finding).collect()
}

/// What is to be done where a look into a strange cluster leaves something open.
const STRANGE: &str =
    "If the look says which cluster it saw, the bundle knows it from this run on. Else let RegionFacts say it.";

fn is_look_strange(input: &Input<'_>) -> bool {
    let before = input.published.manifest().and_then(|manifest| manifest.cluster.as_deref());
    let seen = input.terms.world.cluster(&input.terms.to.region.name).and_then(ClusterFacts::looked);
    let now = seen.and_then(|looked| looked.cluster.as_deref());
    now.is_none() || now != before
}

/// The source that leaves open whether a group still has Clusters.
fn untold(input: &Input<'_>, by: &Claimant) -> Option<SourceName> {
    let world = &input.terms.world;
    let group = world.fleet.group_of(by)?;
    guest::unread(world.fleet, world.snapshot, group, by.namespace())
}

/// The source with Clusters of which nobody knows whether they are the group's.
fn untied(input: &Input<'_>, by: &Claimant) -> Option<SourceName> {
    let world = &input.terms.world;
    guest::untied(world.fleet, world.snapshot, world.fleet.group_of(by)?, by.namespace())
}

/// The reason that a source gives by itself why a Cluster is unread, if it does: a kind that is not served has no finding of
/// its own.
fn unread_because(input: &Input<'_>, by: &Claimant) -> String {
    let key = kinds::claimant(by).filter(|_| !by.is_credential());
    let Some(Lookup::Unread(Unread { reason: Some(reason), .. })) =
        key.map(|key| input.terms.world.snapshot.look_up(&key))
    else {
        return String::new();
    };
    format!(": {}", reason.why)
}
