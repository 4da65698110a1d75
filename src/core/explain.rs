//! Explain: why an object is, or is not, where it is.
//!
//! A view of one region's plan: of the cases that a question is about, each step with the field that names it, the rule
//! that admits it, where it stands and where it lands. Nothing is decided here.

mod facts;
pub mod graph;
mod guests;
mod question;
pub mod record;
mod rule;
mod template;
pub mod text;

#[cfg(test)]
mod tests;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::admission::Rule;
use crate::claim::{Asked, Claim, Edit, parcel};
use crate::closure::{Closure, Member, Role};
use crate::config::Fleet;
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::judge::case::{Case, Verdict};
use crate::judge::rule_of;
use crate::k0rdent;
use crate::layout::manifest::{Manifest, ManifestObject, ObjectState};
use crate::name::step::shown;
use crate::name::{Claimant, GroupKind, Name, ObjectKey};
use crate::object::Object;
use crate::recipient::Recipient;
use crate::region::change::{Action, Change};
use crate::region::plan::{RegionPlan, Ruled};
use crate::region::published::Published;
use crate::report::summary::{FindingRecord, ObjectRecord, Outcome, SilencedRecord};
use crate::silence::Silenced;
use crate::snapshot::Lookup;
use crate::world::definition::Defined;
use crate::world::{Granting, World};
pub use question::{Missed, Question, may_name};
use record::{
    BundledRecord, ClaimRecord, DefinitionRecord, Explanation, Fate, PlaceRecord, Read, RegionRecord, RuleRecord,
    State, StepRecord, TemplateRecord, Why,
};

/// The answer to a question, for people and machines.
pub fn explanation(fleet: &Fleet, question: &Question, answer: Answer) -> Explanation {
    let Answer { regions, claims, objects, rule, template, missed: _ } = answer;
    let readers = regions.iter().flat_map(|region| region.recipients.iter().chain(&region.recipients_held));
    let recipient_names = fleet.readers.named(readers.chain(objects.iter().flat_map(|object| &object.recipients)));
    Explanation {
        api_version: "pouch/v1alpha1",
        kind: "Explanation",
        fleet: fleet.name.to_string(),
        question: question.to_string(),
        closure_only: question.narrow(fleet).is_some(),
        rule,
        template,
        regions,
        claims,
        objects,
        recipient_names,
    }
}

/// What one region, or what stands in none, says to a question.
#[derive(Default)]
pub struct Answer {
    /// The regions that say something.
    pub regions: Vec<RegionRecord>,
    /// The claims that it is about.
    pub claims: Vec<ClaimRecord>,
    /// The objects of bundles that it is about.
    pub objects: Vec<BundledRecord>,
    /// The rule that it is about.
    pub rule: Option<RuleRecord>,
    /// The template that it is about.
    pub template: Option<TemplateRecord>,
    /// What is asked about, if it was not read.
    pub missed: Option<Missed>,
}

impl Answer {
    /// Adds what another region says.
    pub fn add(&mut self, more: Self) {
        self.regions.extend(more.regions);
        self.claims.extend(more.claims);
        self.objects.extend(more.objects);
        self.rule = more.rule.or(self.rule.take());
        self.template = more.template.or(self.template.take());
        self.missed = more.missed.or(self.missed.take());
    }

    /// Sets apart what annotations silence.
    pub fn hush(&mut self, silenced: &[Silenced]) {
        if silenced.is_empty() {
            return;
        }
        let records: Vec<SilencedRecord> = silenced.iter().map(SilencedRecord::from).collect();
        let mut alike: BTreeMap<(&str, Option<&str>), Vec<&SilencedRecord>> = BTreeMap::new();
        for record in &records {
            let FindingRecord { message, credential, .. } = &record.finding;
            alike.entry((message, credential.as_deref())).or_default().push(record);
        }
        for claim in &mut self.claims {
            for finding in core::mem::take(&mut claim.findings) {
                let alike = alike.get(&(finding.message.as_str(), finding.credential.as_deref()));
                match alike.and_then(|alike| alike.iter().find(|record| record.finding == finding)) {
                    Some(record) => claim.silenced.push((*record).clone()),
                    None => claim.findings.push(finding),
                }
            }
        }
    }

    /// Puts it in order. What stands in no region is said at every place, and told once.
    pub fn settle(&mut self) {
        self.regions.sort_by(|one, other| one.name.cmp(&other.name));
        let by = |claim: &ClaimRecord| (claim.credential.clone(), claim.region.clone());
        self.claims.sort_by_cached_key(by);
        self.claims.dedup_by_key(|claim| by(claim));
        self.objects.sort_by(|one, other| one.region.cmp(&other.region).then_with(|| one.path.cmp(&other.path)));
        // What pouch makes for guest clusters stands in no source, and neither does what is called otherwise there.
        let is_group = |path: &String| Claimant::of_path(path).is_some_and(|by| by.group().is_some());
        let needed = self.objects.iter().flat_map(|object| &object.credentials);
        if self.claims.iter().map(|claim| &claim.credential).chain(needed).any(is_group) {
            self.missed = None;
        }
    }
}

/// One planned region.
pub struct Planned<'a> {
    /// What all stages share.
    pub world: &'a World<'a>,
    /// The region.
    pub to: &'a Destination<'a>,
    /// Its cases.
    pub cases: &'a [Case],
    /// What is published of it.
    pub published: &'a Published,
    /// The plan.
    pub plan: &'a RegionPlan,
    /// The same in a word.
    pub outcome: Outcome,
    /// Whether nobody looked into Secrets.
    pub is_blind: bool,
    /// Whether it is the plan of the claimant that is asked about, and of nothing else in the region.
    pub is_narrow: bool,
}

/// What a planned region says to a question.
pub fn of_region(question: &Question, planned: &Planned<'_>) -> Answer {
    let Planned { world, to, cases, published, plan, outcome, is_blind, is_narrow } = *planned;
    let bundle = Bundle { is_blind, is_narrow, ..Bundle::of(to, published, Some(plan), outcome) };
    let touched = if *question == Question::Changes { touched(plan) } else { BTreeSet::new() };
    let set = question.set();
    let claims = cases.iter().zip(&plan.rulings).filter_map(|(case, ruled)| {
        let steps = match question {
            Question::Claimant(_) | Question::Rule(_) | Question::Template(_) if question.names(&case.claim.by) => {
                Steps::All
            }
            Question::Claimant(by) if case.claim.by.group().is_some() => set.as_ref().map_or(Steps::By(by), Steps::To),
            Question::Claimant(_) | Question::Rule(_) | Question::Template(_) => return None,
            Question::Object(key) => Steps::To(key),
            Question::Region(_) => Steps::All,
            Question::Recipient(_) => return None,
            Question::Changes => {
                let is_stopped = ruled.verdict != Verdict::Admitted;
                (is_stopped || touched.contains(&case.claim.by)).then_some(Steps::All)?
            }
        };
        claim(world, &bundle, (case, ruled), &steps)
    });
    let mut answer = answer(question, &bundle, claims.collect());
    if let (Question::Region(_), Some(region)) = (question, answer.regions.first_mut()) {
        region.facts = facts::of(world, to);
        let held = plan.holds.iter().map(|hold| hold.finding.clone()).collect();
        region.held = records(to.fleet, held);
    }
    answer
}

/// The claimants that something of a plan happens to.
fn touched(plan: &RegionPlan) -> BTreeSet<&Claimant> {
    let sharing = plan.sharings.iter().flat_map(|sharing| sharing.joined.iter().chain(&sharing.left));
    plan.changes.iter().flat_map(|change| &change.claimants).chain(sharing).collect()
}

/// What a region that is left alone says to a question.
pub fn of_paused<'a>(
    question: &Question,
    to: &Destination<'_>,
    published: &Published,
    asked: impl Iterator<Item = &'a Asked>,
) -> Answer {
    let is_meant = |asked: &&Asked| match question {
        Question::Region(_) => true,
        _ => question.names(&asked.by),
    };
    let claims: Vec<ClaimRecord> =
        asked.filter(is_meant).map(|asked| unclaimed(to.fleet, asked, Fate::Paused)).collect();
    answer(question, &Bundle::of(to, published, None, Outcome::Paused), claims)
}

/// What a region says beside the claims: objects of its bundle that the question is about, and that no claim leads to.
fn answer(question: &Question, bundle: &Bundle<'_>, claims: Vec<ClaimRecord>) -> Answer {
    // The chain of a claim tells of its own objects; for a region that nobody looks at there is none.
    let told: BTreeSet<&str> =
        claims.iter().filter(|claim| !claim.steps.is_empty()).map(|claim| &*claim.credential).collect();
    let is_told = |object: &ManifestObject| object.needed_by.iter().any(|needed| told.contains(&*needed.by.path()));
    let set = question.set();
    let is_set = |object: &ManifestObject| {
        set.as_ref() == Some(&object.key) && object.needed_by.iter().any(|needed| needed.by.group().is_some())
    };
    let in_guests = |object: &ManifestObject, key: &ObjectKey| object.guest.as_ref().is_some_and(|it| it.key == *key);
    let is_meant = |object: &&ManifestObject| match question {
        Question::Claimant(_) | Question::Rule(_) | Question::Template(_) => {
            let is_named = || object.needed_by.iter().any(|needed| question.names(&needed.by));
            // What pouch makes for a group is no step of a claim.
            (object.is_delivery() || !is_told(object)) && (is_named() || is_set(object))
        }
        Question::Object(key) => {
            object.key == *key || object.read_key().as_ref() == Some(key) || in_guests(object, key)
        }
        Question::Region(_) => !is_told(object) && !object.needed_by.is_empty(),
        Question::Recipient(recipient) => {
            object.key.kind.is_secret() && bundle.readers(object).iter().any(|reader| reader == recipient)
        }
        // What goes is told by the summary.
        Question::Changes => false,
    };
    let objects: Vec<BundledRecord> =
        bundle.objects.values().copied().filter(is_meant).map(|object| bundled(bundle, object)).collect();
    let is_named = match question {
        Question::Region(_) | Question::Changes => true,
        Question::Recipient(recipient) => bundle.recipients().contains(recipient),
        _ => false,
    };
    let says = is_named || !claims.is_empty() || !objects.is_empty();
    Answer { regions: says.then(|| region(bundle)).into_iter().collect(), claims, objects, ..Answer::default() }
}

/// A claimant of which nothing is published, or for a region that nobody looks at.
fn unclaimed(fleet: &Fleet, asked: &Asked, verdict: Fate) -> ClaimRecord {
    ClaimRecord {
        credential: asked.by.path(),
        place: PlaceRecord::from(&asked.origin),
        verdict,
        region: asked.region.as_ref().map(ToString::to_string),
        recipients: Vec::new(),
        recipients_held: Vec::new(),
        steps: Vec::new(),
        kept: Vec::new(),
        withdrawn: Vec::new(),
        published: Vec::new(),
        findings: records(fleet, asked.findings.clone()),
        silenced: Vec::new(),
    }
}

fn records(fleet: &Fleet, findings: Vec<Finding>) -> Vec<FindingRecord> {
    fleet.govern(findings).iter().map(FindingRecord::from).collect()
}

/// A claimant that names no region, or none that is known.
pub fn elsewhere(fleet: &Fleet, asked: &Asked) -> ClaimRecord {
    let is_broken = asked.findings.iter().any(Finding::stops_claim);
    unclaimed(fleet, asked, if is_broken { Fate::Judged(Verdict::Broken) } else { Fate::Unpublished })
}

fn region(bundle: &Bundle<'_>) -> RegionRecord {
    let Bundle { to, is_narrow, .. } = *bundle;
    // What holds the region holds it whatever others need; any other outcome depends on them.
    let outcome = Some(bundle.outcome).filter(|outcome| !is_narrow || *outcome == Outcome::Held);
    let (now, configured) = (bundle.recipients(), &to.region.recipients);
    RegionRecord {
        name: to.region.name.to_string(),
        directory: to.directory().to_string(),
        outcome,
        recipients: now.iter().map(ToString::to_string).collect(),
        recipients_held: configured.iter().filter(|it| !now.contains(it)).map(ToString::to_string).collect(),
        held: Vec::new(),
        facts: Vec::new(),
    }
}

/// A region's bundle as it is to be, what of it goes, and what changes in it, by object.
struct Bundle<'a> {
    to: &'a Destination<'a>,
    /// Who can read it.
    manifest: Option<&'a Manifest>,
    outcome: Outcome,
    /// What is published, or is to be.
    objects: BTreeMap<&'a ObjectKey, &'a ManifestObject>,
    changes: BTreeMap<&'a ObjectKey, &'a Change>,
    /// What of that each claimant needs, or needed.
    of: BTreeMap<&'a Claimant, BTreeSet<&'a ObjectKey>>,
    is_blind: bool,
    is_narrow: bool,
}

impl<'a> Bundle<'a> {
    fn of(to: &'a Destination<'a>, published: &'a Published, plan: Option<&'a RegionPlan>, outcome: Outcome) -> Self {
        // What is held, or left alone, stays what it is.
        let stays = outcome == Outcome::Held || plan.is_none();
        let (standing, planned) = (published.manifest(), plan.map(|plan| &plan.manifest));
        let manifest = if stays { standing.or(planned) } else { planned };
        let changes: BTreeMap<&ObjectKey, &Change> =
            plan.into_iter().flat_map(|plan| &plan.changes).map(|change| (&change.key, change)).collect();
        let listed = |manifest: Option<&'a Manifest>| manifest.map(|manifest| &*manifest.objects).unwrap_or_default();
        // What is only to be gives way to what stands there, where that stays; else what goes is added to what is to be.
        let (first, then) = if stays { (planned, standing) } else { (standing, planned) };
        let is_known = |object: &&ManifestObject| {
            stays || changes.get(&object.key).is_some_and(|change| change.action == Action::Withdrawn)
        };
        let both = listed(first).iter().filter(is_known).chain(listed(then));
        let objects: BTreeMap<&ObjectKey, &ManifestObject> = both.map(|object| (&object.key, object)).collect();
        let mut of: BTreeMap<&Claimant, BTreeSet<&ObjectKey>> = BTreeMap::new();
        for (key, object) in &objects {
            for needed in &object.needed_by {
                of.entry(&needed.by).or_default().insert(key);
            }
        }
        for (key, change) in &changes {
            for by in &change.claimants {
                of.entry(by).or_default().insert(key);
            }
        }
        Self { to, manifest, outcome, objects, changes, of, is_blind: false, is_narrow: false }
    }

    /// Who can read it now: whoever is configured, once it is published as it is to be.
    fn recipients(&self) -> &[Recipient] {
        let stands = self.manifest.filter(|_| matches!(self.outcome, Outcome::Held | Outcome::Paused));
        stands.map_or(&*self.to.region.recipients, |manifest| &*manifest.recipients)
    }

    /// Who can read an object's file.
    fn readers(&self, object: &'a ManifestObject) -> &[Recipient] {
        if object.recipients.is_empty() { self.recipients() } else { &object.recipients }
    }

    /// Who can read a Secret that a claimant has, or is to have.
    fn readers_of(&self, by: &Claimant) -> BTreeSet<&Recipient> {
        let keys = self.of.get(by).into_iter().flatten().filter(|key| key.kind.is_secret());
        let stays = |key: &&&ObjectKey| self.state(key) != Some(State::Changes(Action::Withdrawn));
        let objects = keys.filter(stays).filter_map(|key| self.objects.get(*key));
        objects.flat_map(|object| self.readers(object)).collect()
    }

    /// What becomes of an object; none if it is neither published nor to be.
    fn state(&self, lands: &ObjectKey) -> Option<State> {
        if let Some(change) = self.changes.get(lands) {
            return Some(State::Changes(change.action));
        }
        self.objects.get(lands).map(|object| match &object.state {
            ObjectState::Current if self.is_blind && lands.kind.is_secret() => State::Unseen,
            ObjectState::Current => State::Unchanged,
            ObjectState::Carried(_) | ObjectState::Other(_) => State::Carried,
        })
    }

    /// What becomes of an object that a claim needs. Where the claim is the only one that was looked at and gets nothing,
    /// others decide what becomes of what it had: that is only said to be published.
    fn state_for(&self, verdict: Verdict, lands: &ObjectKey) -> Option<State> {
        match self.is_narrow && verdict != Verdict::Admitted {
            true => self.objects.contains_key(lands).then_some(State::Published),
            false => self.state(lands),
        }
    }

    /// Whether a claimant needs an object, or needed one that goes.
    fn has(&self, by: &Claimant, lands: &ObjectKey) -> bool {
        self.of.get(by).is_some_and(|objects| objects.contains(lands))
    }

    /// The reason for which an object is carried over or withdrawn, if it is.
    fn reason(&self, lands: &ObjectKey) -> Option<Why> {
        let why = self.changes.get(lands).and_then(|change| change.why);
        self.objects.get(lands).and_then(|object| match &object.state {
            // What is handed over went when that began.
            state if !state.is_handover() && why.is_some() => why.map(Why::Goes),
            ObjectState::Current => None,
            ObjectState::Carried(reason) => Some(Why::Stays(reason.code())),
            ObjectState::Other(reason) => Some(Why::Other(reason.clone())),
        })
    }
}

/// Which steps of a chain are told.
enum Steps<'q> {
    /// Every one.
    All,
    /// Those that lead to an object, by where it is read or lands, on the region or in a guest.
    To(&'q ObjectKey),
    /// Of a group of guest clusters, those that a rule or template of it leads to.
    By(&'q Claimant),
}

/// The record of a claim; none if it has none of the steps.
fn claim(
    world: &World<'_>,
    bundle: &Bundle<'_>,
    (case, ruled): (&Case, &Ruled),
    steps: &Steps<'_>,
) -> Option<ClaimRecord> {
    let Case { claim, closure, findings, .. } = case;
    let told = told(world, claim, closure, steps);
    let is_meant = match steps {
        Steps::All => true,
        Steps::To(_) => !told.is_empty(),
        // A template of which nothing comes is the group's all the same, whose findings may say why.
        Steps::By(by) => !told.is_empty() || guests::names_template(claim, by),
    };
    if !is_meant {
        return None;
    }
    // Members are told in the order of the closure, so that who names another one comes first.
    let at: BTreeMap<usize, usize> = told.iter().enumerate().map(|(at, index)| (*index, at)).collect();
    let member = |index: &usize| closure.members.get(*index);
    let chain = told.iter().filter_map(member).map(|member| {
        let named_by = member.referrer.and_then(|referrer| at.get(&referrer).copied());
        step(world, bundle, (claim, closure, ruled.verdict), (member, named_by))
    });
    let lands: BTreeSet<&ObjectKey> = told.iter().filter_map(member).map(|member| &member.lands).collect();
    let readers = bundle.readers_of(&claim.by);
    // What a broken claim has stays sealed as it is.
    let is_sealed = bundle.outcome == Outcome::Held && ruled.verdict == Verdict::Admitted && !readers.is_empty();
    let held = bundle.to.region.recipients.iter().filter(|it| is_sealed && !readers.contains(it));
    let (mut kept, mut withdrawn, mut published) = (Vec::new(), Vec::new(), Vec::new());
    let others = bundle.of.get(&claim.by).into_iter().flatten().filter(|key| !lands.contains(*key));
    for key in others.filter(|_| matches!(steps, Steps::All)) {
        match bundle.state(key) {
            // Whether others need it too, and the brake, was not asked.
            Some(_) if bundle.is_narrow => published.push(ObjectRecord::from(*key)),
            Some(State::Changes(Action::Withdrawn)) => withdrawn.push(ObjectRecord::from(*key)),
            Some(_) => kept.push(ObjectRecord::from(*key)),
            None => {}
        }
    }
    let private = Private::of(world, claim, closure);
    let open = findings.iter().chain(&ruled.added).filter(|finding| !private.is_told_by(finding));
    Some(ClaimRecord {
        credential: claim.by.path(),
        place: PlaceRecord::from(&claim.origin),
        verdict: Fate::Judged(ruled.verdict),
        region: Some(bundle.to.region.name.to_string()),
        recipients: readers.iter().map(ToString::to_string).collect(),
        recipients_held: held.map(ToString::to_string).collect(),
        steps: chain.collect(),
        kept,
        withdrawn,
        published,
        findings: records(world.fleet, open.cloned().collect()),
        silenced: Vec::new(),
    })
}

/// The members of a closure of which findings must not tell either.
struct Private<'c> {
    /// Those that may not be used, or of which nobody knows: that, and no more, is told.
    shut: Vec<&'c Member>,
    /// Those behind them: not even their names.
    behind: Vec<&'c Member>,
}

impl<'c> Private<'c> {
    fn of(world: &World<'_>, claim: &Claim, closure: &'c Closure) -> Self {
        let told: BTreeSet<usize> = told(world, claim, closure, &Steps::All).into_iter().collect();
        let (known, behind): (Vec<_>, Vec<_>) =
            closure.members.iter().enumerate().partition(|(index, _)| told.contains(index));
        let is_shut = |member: &&Member| {
            let may_be_shut = member.read.namespace.is_some() && member.role != Role::Assumed;
            may_be_shut && rule_of(world, claim, closure, member).is_none()
        };
        Self {
            shut: known.into_iter().map(|(_, member)| member).filter(is_shut).collect(),
            behind: behind.into_iter().map(|(_, member)| member).collect(),
        }
    }

    /// Whether a finding says more of them than may be told.
    fn is_told_by(&self, finding: &Finding) -> bool {
        let is_about =
            |member: &&Member| finding.object.as_ref().is_some_and(|it| *it == member.read || *it == member.lands);
        let is_verdict = matches!(finding.code, Code::NotAdmitted | Code::Unread);
        let is_content = !is_verdict && self.shut.iter().any(&is_about);
        let is_behind = |member: &&Member| is_about(member) || mentions(&finding.message, &member.read.to_string());
        is_content || self.behind.iter().any(is_behind)
    }
}

/// Whether a sentence has a name in it that does not only begin another one.
fn mentions(sentence: &str, name: &str) -> bool {
    let goes_on = |rest: &str| rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.'));
    sentence.split(name).skip(1).any(|rest| !goes_on(rest))
}

/// The members that are told, by index. What is behind a step that nothing admits is nobody's business.
fn told(world: &World<'_>, claim: &Claim, closure: &Closure, steps: &Steps<'_>) -> Vec<usize> {
    let mut open: BTreeSet<usize> = BTreeSet::new();
    let mut told: BTreeSet<usize> = BTreeSet::new();
    for (index, member) in closure.members.iter().enumerate() {
        if member.referrer.is_some_and(|referrer| !open.contains(&referrer)) {
            continue;
        }
        let is_told = match steps {
            Steps::All => true,
            Steps::To(key) => {
                let in_guests = || parcel(&member.edits).is_some_and(|parcel| parcel.lands == **key);
                member.read == **key || member.lands == **key || in_guests()
            }
            Steps::By(by) => member.rule.as_ref().is_some_and(|rule| rule.by == **by),
        };
        if is_told {
            // And all that lead to it.
            let mut at = Some(index);
            while let Some(index) = at.filter(|index| told.insert(*index)) {
                at = closure.members.get(index).and_then(|member| member.referrer);
            }
        }
        if member.role == Role::Assumed || rule_of(world, claim, closure, member).is_some() {
            open.insert(index);
        }
    }
    told.into_iter().collect()
}

fn step(
    world: &World<'_>,
    bundle: &Bundle<'_>,
    (claim, closure, verdict): (&Claim, &Closure, Verdict),
    (member, named_by): (&Member, Option<usize>),
) -> StepRecord {
    let rule = rule_of(world, claim, closure, member);
    // Whether there is an object that the claim may not have is not told either.
    let is_shut = member.read.namespace.is_some() && rule.is_none();
    let (read, found) = match world.snapshot.stands(&member.read) {
        _ if is_shut => (Read::NotTold, None),
        Lookup::Found(object) => (Read::Found, Some(object)),
        Lookup::Absent => (Read::Absent, None),
        Lookup::Unread(_) | Lookup::Unasked => (Read::Unknown, None),
    };
    let is_published = member.is_published() && !is_shut;
    // Others may have what this claim may not.
    let state =
        bundle.state_for(verdict, &member.lands).filter(|_| is_published && bundle.has(&claim.by, &member.lands));
    StepRecord {
        object: ObjectRecord::from(&member.read),
        lands: ObjectRecord::from(&member.lands),
        role: member.role,
        named_by,
        field: match member.role {
            Role::Root if claim.by.is_credential() => Some(String::from("spec.identityRef")),
            _ => shown(&member.through),
        },
        rule,
        placement: placement(world, claim, member, rule),
        read,
        place: found.map(|object| PlaceRecord::from(&object.origin)),
        definition: found.and_then(|object| definition(world, &member.read.kind, object)),
        rewritten: member.edits.iter().flat_map(Edit::paths).collect(),
        guest: parcel(&member.edits).filter(|_| !is_shut).map(|parcel| ObjectRecord::from(&parcel.lands)),
        in_place: member.in_place && !is_shut,
        state,
        reason: state.and_then(|_| bundle.reason(&member.lands)),
        path: state.and_then(|_| bundle.objects.get(&member.lands)).map(|object| object.path.to_string()),
    }
}

/// The placement that a grant of a step goes by, or hangs on.
fn placement(world: &World<'_>, claim: &Claim, member: &Member, rule: Option<Rule>) -> Option<String> {
    match (rule, world.granting(&claim.by, claim.region(), &member.read)) {
        (Some(Rule::Grant), Granting::Yes(placement)) => placement.map(ToString::to_string),
        (None, Granting::Unknown(placement, _)) => Some(placement.to_string()),
        _ => None,
    }
}

/// Who says what an object of a kind refers to.
fn definition(world: &World<'_>, kind: &GroupKind, object: &Object) -> Option<DefinitionRecord> {
    let (Defined::Exactly(definition) | Defined::Nearest(definition)) =
        world.facts.definitions.find(kind, &object.version)
    else {
        return None;
    };
    if definition.references.is_empty() {
        return None;
    }
    let interface = GroupKind::new(k0rdent::GROUP, "ProviderInterface");
    let key = ObjectKey::new(interface, None, Name::new(definition.interface.clone()));
    let place = world.snapshot.get(&key).map(|interface| PlaceRecord::from(&interface.origin));
    Some(DefinitionRecord {
        provider_interface: definition.interface.to_string(),
        release: match &place {
            None => world.fleet.builtin.map(|release| release.name()),
            Some(_) => None,
        },
        place,
    })
}

fn bundled<'a>(bundle: &Bundle<'a>, object: &'a ManifestObject) -> BundledRecord {
    let mut credentials: Vec<String> = object.needed_by.iter().map(|needed| needed.by.path()).collect();
    credentials.dedup();
    BundledRecord {
        region: bundle.to.region.name.to_string(),
        object: ObjectRecord::from(&object.key),
        path: object.path.to_string(),
        state: match bundle.is_narrow {
            true => State::Published,
            false => bundle.state(&object.key).unwrap_or(State::Unchanged),
        },
        reason: bundle.reason(&object.key).filter(|_| !bundle.is_narrow),
        recipients: match object.key.kind.is_secret() {
            true => bundle.readers(object).iter().map(ToString::to_string).collect(),
            false => Vec::new(),
        },
        credentials,
    }
}
