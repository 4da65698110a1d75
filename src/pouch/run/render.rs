//! Render: plans every region, and stages what changed.
//!
//! The unit of work is one region: it is closed, judged and planned once, and sealed and staged at once where nothing
//! holds it. What is staged is not visible until all of it is, so that memory holds the plans of as many regions as
//! there are threads, and a failure of one region publishes nothing of the others.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicUsize;

use pouch_core::claim::access::credential_key;
use pouch_core::claim::{Asked, Claim};
use pouch_core::config::{ArgoKind, Delivery, RegionConfig, RegionState};
use pouch_core::destination::{self, Destination};
use pouch_core::explain::{self, Question, may_name};
use pouch_core::finding::Finding;
use pouch_core::hash::sha256_hex;
use pouch_core::judge::case::{Case, Verdict};
use pouch_core::judge::{Closed, closed, judged, outdated, unmatched, unused};
use pouch_core::layout::delivery::argocd::{shared_decryptors, unverified};
use pouch_core::layout::manifest::{self, Manifest, ObjectState};
use pouch_core::layout::path::application_set;
use pouch_core::layout::{BundlePath, Layout, fleet_files};
use pouch_core::listing::few;
use pouch_core::name::{Claimant, Name, ObjectKey, SourceName};
use pouch_core::nearest::suggested;
use pouch_core::region::content::Content;
use pouch_core::region::history::{History, Past};
use pouch_core::region::input::Terms;
use pouch_core::region::made_for::MadeFor;
use pouch_core::region::odd::{self, Odd};
use pouch_core::region::plan::{Planned, RegionPlan, bundle_yaml, plan};
use pouch_core::region::published::{Files, Proved, Published, State};
use pouch_core::region::rests_on::stood_in;
use pouch_core::region::standing::Standing;
use pouch_core::report::summary::{self, Outcome};
use pouch_core::silence::Silences;
use pouch_core::snapshot::{Lookup, Snapshot};
use pouch_core::verify::bundles::{BundleTree, Measure, TreeScope, beside, strange_set};
use pouch_core::world::World;
use rayon::prelude::*;
use tracing::field::Empty;
use tracing::info_span;

use super::{Report, Run, SharedChange, Told, check_regions, rekey, seal};
use crate::error::Failure;
use crate::harden::wiped;
use crate::shelf::branch::BranchShelf;
use crate::shelf::target::Target;
use crate::shelf::{Beside, Look, NewFile, NewFiles, Shelf, too_large};
use crate::survey::Survey;
use crate::survey::torn::Bundles;

/// What all regions of a run share.
struct Shared<'a> {
    run: &'a Run<'a>,
    survey: &'a Survey,
    world: World<'a>,
    made_for: &'a MadeFor,
    /// The claimants that are broken before they come to a region.
    astray: &'a BTreeSet<Claimant>,
    silences: &'a Silences<'a>,
    /// The number of pieces of information that the regions have so far.
    informed: &'a AtomicUsize,
}

impl<'a> Shared<'a> {
    fn terms<'t>(&'t self, to: Destination<'t>, cases: &'t [Case]) -> Terms<'t> {
        let Run { keys, allowances, selection, .. } = *self.run;
        let Survey { sources, unidentified, .. } = self.survey;
        let made_for = self.made_for;
        Terms { world: self.world, to, cases, keys, allowances, selection, sources, unidentified, made_for }
    }
}

/// The published state of one region.
struct Folders<'a> {
    run: &'a Run<'a>,
    to: Destination<'a>,
    published: &'a dyn Look,
    /// The part of it that was read before it was planned.
    all: Cell<Option<(Files, Odd)>>,
}

impl Folders<'_> {
    /// Returns true if nothing stands there. What was read for that is not read again.
    fn are_empty(&self) -> Result<bool, Failure> {
        let (files, odd) = self.published.read(self.to.directory())?;
        let are_empty = files.is_empty() && odd.is_nothing();
        self.all.set(Some((files, odd)));
        Ok(are_empty)
    }
}

impl Standing for Folders<'_> {
    type Error = Failure;

    fn proved(&self) -> Option<Proved<'_>> {
        // What is sealed anew as a whole is read as a whole.
        match self.run.selection.rekeys(&self.to) {
            true => None,
            false => self.published.proved(self.to.directory(), &self.run.query_newest(self.to.region)),
        }
    }

    fn read(&self) -> Result<(Files, Odd), Failure> {
        self.all.take().map_or_else(|| Ok(self.published.read(self.to.directory())?), Ok)
    }

    fn is_last(&self) -> Result<bool, Failure> {
        Ok(self.published.is_last(self.to.directory(), &self.run.query_newest(self.to.region))?)
    }

    fn history(&self) -> Result<History, Failure> {
        Ok(self.published.history(self.to.directory(), &self.run.query(self.to.region)?)?)
    }

    fn past(&self, last: &Manifest) -> Result<Vec<Past>, Failure> {
        Ok(self.published.past(self.to.directory(), &self.run.query(self.to.region)?, last)?)
    }

    fn over(&self, last: &Manifest) -> Result<BTreeSet<ObjectKey>, Failure> {
        Ok(self.published.over(self.to.directory(), &self.run.query_over(self.to.region)?, last)?)
    }
}

/// Plans every region and stages what changed on the shelf.
///
/// # Errors
/// Where nothing may be published at all: the shelf cannot be read, it holds a region that the
/// configuration does not know, or the run should end.
pub fn render(run: &Run<'_>, survey: &Survey, shelf: &dyn Shelf) -> Result<Report, Failure> {
    work(run, survey, shelf, Some(shelf))
}

/// Says what [`render`] would do. Nothing is sealed.
pub fn preview(run: &Run<'_>, survey: &Survey, published: &dyn Look) -> Result<Report, Failure> {
    work(run, survey, published, None)
}

/// The most names of a message.
const NAMED: usize = 8;

/// Refuses names of Credentials that are proved absent, and warns of others of which nothing was read, so that nothing of
/// them is refreshed.
fn check_names(run: &Run<'_>, survey: &Survey) -> Result<(), Failure> {
    let Some(refresh) = &run.selection.refresh else { return Ok(()) };
    let ui = &run.session.ui;
    if refresh.labels.is_some() && refresh.labelled.is_empty() {
        ui.warn("no Credential that was read has the labels of --selector, so nothing is refreshed");
    }
    if run.is_narrow() {
        return Ok(());
    }
    let asked = survey.facts.asked();
    let unread: Vec<&Claimant> = refresh.claimants.iter().filter(|by| survey.facts.asked_by(by).is_none()).collect();
    let known: Vec<String> =
        if unread.is_empty() { Vec::new() } else { asked.iter().map(|asked| asked.by.path()).collect() };
    let mut absent = Vec::new();
    for by in unread {
        let near = suggested(&by.path(), known.iter().map(String::as_str));
        if is_absent(survey, by) {
            let near = near.map(|near| format!(" (did you mean {near}?)")).unwrap_or_default();
            absent.push(format!("{by}{near}"));
            continue;
        }
        let meant = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        ui.warn(&format!("no {by} was read, so nothing of it is refreshed{meant}"));
    }
    if !absent.is_empty() {
        let help = "Write NAMESPACE/NAME of Credentials that the sources have. If one was removed on purpose, a run without names \
                    withdraws what it had.";
        return Err(Failure::usage(format!("no source has {}", few(&absent, absent.len(), NAMED)), help));
    }
    for namespace in &refresh.namespaces {
        if !asked.iter().any(|asked| asked.by.namespace() == namespace) {
            ui.warn(&format!("no Credential of namespace {namespace} was read, so nothing of it is refreshed"));
        }
    }
    Ok(())
}

/// Returns true if the sources were read completely enough to prove that they have no such Credential.
fn is_absent(survey: &Survey, by: &Claimant) -> bool {
    let key = credential_key(by.namespace(), &Name::from(&*by.name()));
    by.is_credential() && matches!(survey.snapshot.look_up(&key), Lookup::Absent)
}

/// Compares with what is `published`, and stages what changed on the `shelf`, if there is one.
fn work(run: &Run<'_>, survey: &Survey, published: &dyn Look, shelf: Option<&dyn Shelf>) -> Result<Report, Failure> {
    let put_back = check_regions(run, published)?;
    let selection = run.selection.read(&survey.world(run.fleet));
    let run = &Run { selection: &selection, ..*run };
    check_names(run, survey)?;
    let mut findings: Vec<Finding> = survey.facts_findings.clone();
    findings.extend(shared_decryptors(run.fleet));
    findings.extend(unverified(run.fleet));
    findings.extend(outdated(run.fleet, survey.now));
    let silences = Silences::read(run.fleet, &survey.snapshot);
    findings.extend(silences.findings.iter().cloned());
    let (mut credentials, mut elsewhere) = (summary::Credentials::default(), summary::Credentials::default());
    let is_unpublished = |asked: &&Asked| asked.claim.is_none() && run.selection.refreshes(&asked.by);
    let mut astray = BTreeSet::new();
    for asked in survey.facts.asked().iter().filter(is_unpublished) {
        let broken = asked.findings.iter().any(Finding::stops_claim);
        *(if broken { &mut elsewhere.broken } else { &mut elsewhere.unpublished }) += 1;
        astray.extend(broken.then(|| asked.by.clone()));
        findings.extend(asked.findings.iter().cloned());
    }
    let (world, silences, informed) = (survey.world(run.fleet), &silences, &AtomicUsize::new(0));
    let made_for = &MadeFor::ask(&world, |region| standing_bundle(run, published, region))?;
    let shared = Shared { run, survey, world, made_for, astray: &astray, silences, informed };

    let is_meant = |to: &Destination<'_>| {
        // What is published for a claimant somewhere else is part of the answer.
        let has = |question: &Question| match question {
            Question::Claimant(by) => published.manifest(to.directory().as_str()).map_or(true, |it| may_name(it, by)),
            _ => false,
        };
        run.question.is_none_or(|question| question.takes_up(&shared.world, to) || has(question))
    };
    let destinations = ("rendering", run.destinations().filter(is_meant));
    // What is found of the whole fleet answers no question about a part of it, and nothing waits for it.
    let is_whole = selection.refresh.is_none() && run.question.is_none_or(|question| *question == Question::Changes);
    let (told, idle) = rayon::join(
        || {
            run.each(destinations, |to| {
                let span = info_span!("region", region = to.region.name.as_str(), objects = Empty, sealed = Empty);
                let told = span.in_scope(|| wiped(|| one_region(&shared, to, published, shelf)));
                if let Ok(Told { record, .. }) = &told {
                    span.record("objects", record.objects).record("sealed", record.sealed);
                }
                told
            })
        },
        || if is_whole { [unused(&shared.world), unmatched(&shared.world)].concat() } else { Vec::new() },
    );
    let told = told?;
    findings.extend(idle);
    // Where nothing is sealed anew, no file of the fleet makes a commit either.
    let is_due = run.selection.rekey.is_none() || told.iter().any(|told| is_written(told.record.outcome));
    let mut shared_changes = Vec::new();
    let files = fleet_files(run.here(), listed(run, published, &told)?);
    let is_left_over = |set: &BundlePath| is_due && is_whole && !files.contains_key(set);
    let set = Some(application_set(&run.fleet.name)).filter(is_left_over);
    for (path, text) in files.into_iter().filter(|_| is_due) {
        let is_new = published.shared_differs(path.as_str(), text.as_bytes())?;
        if let Some(shelf) = shelf {
            shelf.stage_shared(path.as_str(), text.as_bytes())?;
        }
        shared_changes.extend(is_new.then_some(SharedChange::Written(path)));
    }
    let (measure, tree) = beside_of(run, published)?;
    findings.extend(beside(&measure, &tree));
    if let Some(set) = set
        && let Some(bytes) = published.shared(set.as_str())?
    {
        match strange_set(&measure, &run.fleet.name, &bytes) {
            Some(finding) => findings.push(finding),
            None => {
                if let Some(shelf) = shelf {
                    shelf.stage_removal(set.as_str())?;
                }
                shared_changes.push(SharedChange::Removed(set));
            }
        }
    }

    told.iter().for_each(|told| credentials.add(&told.credentials));
    credentials.kept = told.iter().flat_map(|told| &told.kept).collect::<BTreeSet<_>>().len();
    findings.extend(survey.findings.iter().cloned());
    let mut report = Report {
        credentials: Some(credentials),
        elsewhere,
        put_back,
        shared_changes,
        no_values: run.keys.is_blind(),
        kustomize: survey.kustomize.clone(),
        in_part: run.selection.refresh.is_some(),
        ..Report::of(run.fleet, told, findings)
    };
    report.hear(silences);
    if let Some(question) = run.question {
        let unclaimed = survey.facts.asked().iter().filter(|asked| asked.claim.is_none() && question.is_about(asked));
        report.explained.claims.extend(unclaimed.map(|asked| explain::elsewhere(run.fleet, asked)));
        report.explained.missed = question.missed(&shared.world);
        report.explained.rule = question.rule(&shared.world);
        report.explained.template = question.template(&shared.world);
        report.explained.hush(&report.silenced);
    }
    Ok(report)
}

/// Gives what tells which objects the bundles that stand there say were read in files.
pub fn telling<'r>(run: &'r Run<'r>, published: &'r dyn Look) -> Box<Bundles<'r>> {
    Box::new(|source, files| stood(run, published, (source, files)))
}

/// Gives the objects that the bundles at all these places say were read in files.
///
/// # Errors
/// Where it cannot be told what is published.
pub fn stood_at(run: &Run<'_>, places: &[(&Target, &BranchShelf)], in_files: InFiles<'_>) -> Result<Stood, Failure> {
    let all = places.iter().map(|(target, shelf)| stood(&run.at(target), *shelf, in_files));
    let all: Option<Vec<_>> = all.collect::<Result<_, _>>()?;
    Ok(all.map(|all| all.into_iter().flatten().collect()))
}

/// A source, and files of it by their paths below its own.
pub type InFiles<'a> = (&'a SourceName, &'a BTreeSet<&'a str>);

/// The objects that stood in files; none where that cannot be told.
pub type Stood = Option<BTreeSet<ObjectKey>>;

/// Gives the objects that the bundles of all regions say were read in files; none where one of them is not believed.
fn stood(run: &Run<'_>, published: &dyn Look, (source, files): InFiles<'_>) -> Result<Stood, Failure> {
    let mut all = BTreeSet::new();
    for region in run.fleet.regions.values() {
        let Some(standing) = standing_bundle(run, published, region)? else { continue };
        // What pouch published last is carried over, and it may say more.
        if !published.is_last(&region.directory, &run.query_newest(region))? {
            return Ok(None);
        }
        // Without a key, nothing is published.
        match standing.manifest().or(standing.claimed().filter(|_| run.keys.is_blind())) {
            Some(manifest) => all.append(&mut stood_in(manifest, source, files, &run.fleet.system_namespace)),
            None if matches!(standing.state, State::Nothing) && standing.odd.is_nothing() => {}
            None => return Ok(None),
        }
    }
    Ok(Some(all))
}

/// Gives what stands in a region's folders: of a bundle its manifest alone; none of a region that is published elsewhere.
fn standing_bundle(run: &Run<'_>, published: &dyn Look, region: &RegionConfig) -> Result<Option<Published>, Failure> {
    if run.target.is_some_and(|target| !target.regions.contains(&region.name)) {
        return Ok(None);
    }
    let to = Destination { fleet: run.fleet, region };
    let (files, odd) = match published.manifest(to.directory().as_str())? {
        Some(bytes) => (Files::from([(Layout::of(&to).manifest().to_string(), bytes)]), Odd::default()),
        None => published.read(to.directory())?,
    };
    Ok(Some(Published::examine(&run.fleet.name, to.directory(), files, run.keys).with(odd)))
}

fn is_written(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Published | Outcome::Withdrawn)
}

/// What stands in the output beside the regions' folders, and what it is measured by.
fn beside_of<'a>(run: &Run<'a>, published: &dyn Look) -> Result<(Measure<'a>, BundleTree), Failure> {
    let Beside { tree, above, shown } =
        published.beside(&destination::all(run.here()).map(|to| to.directory()).collect())?;
    let measure = Measure { fleet: Some(run.here()), keys: Some(run.keys), scope: TreeScope::Whole, shown, above };
    Ok((measure, tree))
}

/// Which regions an ApplicationSet lists: those that have a bundle when the run is done, whether it was about them or not.
///
/// Where each region is proposed by itself, those too that are proposed beside it: one text merges without a conflict.
fn listed<'r>(
    run: &Run<'r>,
    published: &dyn Look,
    told: &[Told],
) -> Result<impl Fn(&RegionConfig) -> bool + use<'r>, Failure> {
    let is_proposed = run.target.is_some_and(|target| target.proposal().is_some());
    let mut has_bundle = BTreeSet::new();
    let is_in_set = |to: &Destination<'_>| match to.delivery() {
        Delivery::ArgoCd(argo) => argo.kind == ArgoKind::ApplicationSet,
        _ => false,
    };
    for region in destination::all(run.here()).filter(is_in_set).map(|to| to.region) {
        let done = told.iter().find(|told| *told.record.name == *region.name.as_str()).map(|told| told.record.outcome);
        let has = match done {
            Some(Outcome::Published) => true,
            Some(Outcome::Withdrawn) => false,
            // Where the manifest alone is lost, the region is held, and its consumer goes on.
            _ => {
                published.manifest(region.directory.as_str())?.is_some()
                    || !published.read(&region.directory)?.0.is_empty()
            }
        };
        if has || (is_proposed && region.state == RegionState::Active) {
            has_bundle.insert(region.name.clone());
        }
    }
    Ok(move |region: &RegionConfig| has_bundle.contains(&region.name))
}

/// Plans one region, and seals and stages what is to be written of it.
fn one_region<'a>(
    shared: &Shared<'a>,
    to: Destination<'a>,
    published: &dyn Look,
    shelf: Option<&dyn Shelf>,
) -> Result<Told, Failure> {
    let region = to.region;
    shared.run.session.stop.check()?;
    let mut told = Told::new(&to, Outcome::Paused);
    let asked = || shared.world.facts.asked_for(&to);
    if !region.is_rendered() {
        // Nothing comes of these claims, so nothing that they need was read.
        let paused = asked().count();
        told.credentials.paused = paused;
        told.record.credentials = Some(summary::RegionCredentials { paused, ..Default::default() });
        told.findings.extend(asked().flat_map(|asked: &Asked| asked.findings.iter().cloned()));
        if !shared.astray.is_empty() {
            let bytes = published.manifest(to.directory().as_str())?.unwrap_or_default();
            told.kept = those_of(manifest::claimants_in(&bytes).iter(), shared.astray);
        }
        if let Some(question) = shared.run.question {
            let (files, _) = published.read(to.directory())?;
            let standing = Published::examine(&to.fleet.name, to.directory(), files, shared.run.keys);
            told.explained = explain::of_paused(question, &to, &standing, asked());
        }
        return Ok(told);
    }
    let rekeys = shared.run.selection.rekeys(&to);
    // Of the others nothing was asked that they need.
    let is_meant = |asked: &Asked| !shared.run.is_narrow() || shared.run.selection.refreshes(&asked.by);
    // Of those that nothing vouches for, more may be built than are published, and nothing else.
    let named = || {
        let bytes = published.manifest(to.directory().as_str()).ok().flatten().unwrap_or_default();
        manifest::claimants_in(&bytes)
    };
    let mut closed = closed(&shared.world, &to, is_meant, named);
    let view = contents(shared, &mut closed)?;
    let shared = &Shared { world: World { snapshot: &view, ..shared.world }, ..*shared };
    let cases = judged(&shared.world, closed);
    let stands = Folders { run: shared.run, to, published, all: Cell::new(None) };
    if rekeys && stands.are_empty()? {
        // What was never sealed is not sealed anew.
        told.record.outcome = Outcome::Unchanged;
        for case in cases {
            told.hear(&case.claim, case.verdict, case.findings);
        }
        return Ok(told);
    }
    let Planned { standing, history, mut plan } = plan(&shared.terms(to, &cases), &stands)?;
    // What pouch published last counts, whatever stands there now.
    let own = history.last(&standing);
    told.record.outcome = match outcome(region, &plan) {
        // What is carried whole differs from nothing, and was not sealed anew.
        Outcome::Unchanged if rekeys && !plan.holds.is_empty() => Outcome::Held,
        outcome => outcome,
    };
    told.record.credentials = Some(summary::RegionCredentials::default());
    told.keep(&plan, own, &cases, shared);
    if let Some(question) = shared.run.question {
        let planned = explain::Planned {
            world: &shared.world,
            to: &to,
            cases: &cases,
            published: own,
            plan: &plan,
            is_blind: shared.run.keys.is_blind(),
            outcome: told.record.outcome,
            is_narrow: shared.run.is_narrow(),
        };
        told.explained = explain::of_region(question, &planned);
    }
    if is_written(told.record.outcome) {
        told.record.restored = restored(&standing, own, &plan);
    }
    told.note((own, &mut plan), (cases, shared.run));
    let before = own.manifest().map(|manifest| manifest.recipients.clone());
    let after = match region.state {
        RegionState::Retired => Vec::new(),
        RegionState::Active | RegionState::Paused => plan.manifest.recipients.clone(),
    };
    // In order here, beside other regions, they are soon in order together.
    told.findings = to.fleet.govern(std::mem::take(&mut told.findings));
    if !shared.run.informs {
        told.count_information(shared.silences, shared.informed);
    }
    // Those of all regions are kept to the end.
    told.findings.shrink_to_fit();
    if let Some(shelf) = shelf.filter(|_| is_written(told.record.outcome))
        && let Some(held) = write(shared, &to, (&standing, own, plan), shelf)?
    {
        told.record.outcome = Outcome::Held;
        told.findings.push(held);
    }
    told.recipients = if told.record.outcome == Outcome::Held { before } else { Some(after) };
    Ok(told)
}

/// Reads the contents that claims of a region need; they go with the view.
fn contents(shared: &Shared<'_>, closed: &mut Closed) -> Result<Snapshot, Failure> {
    let Shared { run, survey, world, .. } = shared;
    let mut view = survey.snapshot.view();
    loop {
        let unread = closed.unread(&view);
        if unread.is_empty() {
            return Ok(view);
        }
        run.session.stop.check()?;
        survey.libraries.read(world.fleet, &mut view, &unread);
        run.session.stop.check()?;
        closed.close_again(&World { snapshot: &view, ..*world });
    }
}

/// The claimants of a set that are among these, or that one of these belongs to.
fn those_of<'c>(all: impl Iterator<Item = &'c Claimant>, set: &BTreeSet<Claimant>) -> BTreeSet<Claimant> {
    let whom = |by: &Claimant| [by.clone(), by.written().into_owned(), by.whole().into_owned()];
    all.filter(|by| by.is_among(set)).flat_map(whom).filter(|by| set.contains(by)).collect()
}

impl Told {
    /// Notes the broken claimants for which something stays.
    fn keep(&mut self, plan: &RegionPlan, own: &Published, cases: &[Case], shared: &Shared<'_>) {
        let stands = match self.record.outcome {
            Outcome::Held => own.manifest().or(own.claimed()),
            _ => Some(&plan.manifest),
        };
        let ruled = cases.iter().zip(&plan.rulings).filter(|(_, ruled)| ruled.verdict == Verdict::Broken);
        let of_region = ruled.map(|(case, _)| &case.claim.by).filter(|by| shared.run.selection.refreshes(by));
        let broken: BTreeSet<Claimant> = of_region.chain(shared.astray).cloned().collect();
        if !broken.is_empty() {
            self.kept = those_of(stands.into_iter().flat_map(Manifest::claimants), &broken);
        }
    }

    /// Counts a claim, and takes what was found of it.
    fn hear(&mut self, claim: &Claim, verdict: Verdict, findings: impl IntoIterator<Item = Finding>) {
        // A rule of guests as a whole is one that fails, and else nothing: each object that it takes is another.
        let is_counted = verdict != Verdict::Admitted || !claim.asks_for_nothing();
        let counts = self.record.credentials.get_or_insert_default();
        let (of_region, of_run) = match verdict {
            Verdict::Admitted => (&mut counts.admitted, &mut self.credentials.admitted),
            Verdict::Refused => (&mut counts.refused, &mut self.credentials.refused),
            Verdict::Broken => (&mut counts.broken, &mut self.credentials.broken),
        };
        *of_region += usize::from(is_counted);
        *of_run += usize::from(is_counted);
        let heard = self.findings.len();
        self.findings.extend(findings);
        let of_claim = self.findings.get(heard..).unwrap_or_default();
        self.record.stopped.extend(summary::StoppedRecord::of(&claim.by, verdict, of_claim.iter()));
    }

    /// Takes what is to be said of a plan.
    fn note(&mut self, (published, plan): (&Published, &mut RegionPlan), (cases, run): (Vec<Case>, &Run<'_>)) {
        count(&mut self.record, plan, run.keys.is_blind());
        if !plan.is_published || published.manifest().is_some() {
            // Without a manifest that is vouched for, it is what the bundle says of itself.
            let before = published.manifest().or(published.claimed()).map(|manifest| &*manifest.recipients);
            self.record.compare_recipients(before.unwrap_or_default(), &plan.manifest, &run.fleet.readers);
        }
        self.findings.append(&mut plan.findings);
        self.hold(plan.holds.drain(..).chain(plan.withheld.drain(..)));
        self.accepted.append(&mut plan.accepted);
        let ruled = cases.into_iter().zip(plan.rulings.drain(..));
        for (case, ruled) in ruled.filter(|(case, _)| run.selection.refreshes(&case.claim.by)) {
            self.hear(&case.claim, ruled.verdict, case.findings.into_iter().chain(ruled.added));
        }
    }
}

/// How many files of a bundle stay as pouch published them last, and stand there otherwise or not at all.
fn restored(standing: &Published, own: &Published, plan: &RegionPlan) -> usize {
    let Some(before) = own.manifest() else { return 0 };
    let hashes: BTreeMap<&BundlePath, &str> = before.files.iter().map(|file| (&file.path, &*file.sha256)).collect();
    let is_restored = |(path, content): &(&BundlePath, &Content)| match content {
        Content::Seal(_) => false,
        // Mostly both are the same, and there is no need to compare all that stands there with itself.
        Content::Kept(_) if std::ptr::eq(standing, own) => false,
        Content::Kept(from) => from == *path && standing.files.get(path.as_str()) != own.files.get(path.as_str()),
        Content::Bytes(bytes) => {
            standing.files.get(path.as_str()) != Some(bytes)
                && hashes.get(path).is_some_and(|hash| **hash == sha256_hex(bytes))
        }
    };
    plan.files.iter().filter(is_restored).count()
}

fn outcome(region: &RegionConfig, plan: &RegionPlan) -> Outcome {
    if plan.is_published {
        Outcome::Unchanged
    } else if !plan.holds.is_empty() {
        Outcome::Held
    } else if region.state == RegionState::Retired {
        Outcome::Withdrawn
    } else {
        Outcome::Published
    }
}

fn count(record: &mut summary::Region, plan: &RegionPlan, is_blind: bool) {
    for object in plan.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()) {
        record.objects += 1;
        if object.state.is_handover() {
            record.handover += 1;
        } else if object.state != ObjectState::Current {
            record.carried += 1;
        } else if object.key.kind.is_secret() {
            match plan.files.get(&object.path) {
                Some(Content::Seal(_)) => record.sealed += 1,
                _ if is_blind => record.unseen += 1,
                _ => record.kept += 1,
            }
        }
    }
    record.changes = plan.changes.iter().map(summary::ChangeRecord::from).collect();
    record.sharings = plan.sharings.iter().map(summary::SharingRecord::from).collect();
    record.splits = plan.splits.iter().map(summary::SplitRecord::from).collect();
    record.carried_objects = plan.manifest.objects.iter().filter_map(summary::CarriedRecord::of).collect();
}

/// Seals what is to be sealed of one region, and stages its files; or says why they are not staged.
fn write(
    shared: &Shared<'_>,
    to: &Destination<'_>,
    (standing, published, plan): (&Published, &Published, RegionPlan),
    shelf: &dyn Shelf,
) -> Result<Option<Finding>, Failure> {
    let RegionPlan { files, mut manifest, .. } = plan;
    let sealer = seal::Sealer::new(&shared.run.session.ambient, &to.region.recipients)?;
    let kept = |from: BundlePath| NewFile::kept(from, published, standing);
    let is_anew = shared.run.selection.rekeys(to) || shared.run.allowances.reseals(to);
    let task = |(path, content): (BundlePath, Content)| match content {
        Content::Bytes(bytes) => Ok((path, NewFile::Bytes(bytes), None)),
        Content::Kept(from) => Ok((path, kept(from), None)),
        Content::Seal(order) => {
            shared.run.session.stop.check()?;
            // What waits for somebody to look at it stays what it is.
            let proposed = if is_anew { None } else { shelf.proposed(&path) };
            let bytes = sealer.seal(shared.run, shared.world.snapshot, to, (&*order, proposed))?;
            let hash = sha256_hex(&bytes);
            Ok((path, NewFile::Bytes(bytes), Some(hash)))
        }
    };
    // A fleet may have one region, and sealing is most of the work: so threads share it within a region.
    let sealed: Result<Vec<Vec<_>>, Failure> = files
        .into_iter()
        .collect::<Vec<_>>()
        .into_par_iter()
        .chunks(seal::FILES_PER_TASK)
        .map(|files| wiped(|| files.into_iter().map(task).collect()))
        .collect();
    let mut hashes: BTreeMap<BundlePath, String> = BTreeMap::new();
    let mut new = NewFiles::new();
    for (path, file, hash) in sealed?.into_iter().flatten() {
        hashes.extend(hash.map(|hash| (path.clone(), hash)));
        new.insert(path, file);
    }
    if shared.run.selection.rekeys(to) {
        rekey::prove(&published.files, &manifest, &new)?;
    }
    for object in &mut manifest.objects {
        if let Some(sha256) = hashes.remove(&object.path) {
            object.sha256 = sha256;
        }
    }
    if !new.is_empty() {
        let text = bundle_yaml(&manifest, shared.run.key()?);
        new.insert(Layout::of(to).manifest(), NewFile::Bytes(text.into_bytes()));
    }
    if !shelf.still_holds(to.directory(), (&standing.files, &standing.odd))? {
        let message = format!("the folders of region {} changed while pouch was reading them", to.region.name);
        return Err(Failure::unavailable(message, "See who else writes there, and run pouch again."));
    }
    if let Some(why) = too_large(&new, standing) {
        return Ok(Some(odd::too_large(&to.region.name, &why)));
    }
    shelf.stage(to.directory(), new, standing)?;
    Ok(None)
}
