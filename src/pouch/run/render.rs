//! Render: plans every region, and stages what changed.
//!
//! The unit of work is one region. The first pass plans all of them, decides what changed and lets the brake speak; the
//! second seals what will be written. A region is closed and judged once. The plans of a few regions are kept from one
//! pass to the other; of a fleet that has more, the second packs again, so that memory does not grow with it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use pouch_core::claim::Asked;
use pouch_core::config::{Acceptance, RegionConfig, RegionState};
use pouch_core::finding::Finding;
use pouch_core::hash::sha256_hex;
use pouch_core::judge::case::{Case, Verdict};
use pouch_core::judge::cases;
use pouch_core::layout::delivery::argocd::shared_decryptors;
use pouch_core::layout::manifest::State;
use pouch_core::layout::{fleet_files, path};
use pouch_core::region::content::Content;
use pouch_core::region::input::Terms;
use pouch_core::region::plan::{RegionPlan, bundle_yaml, plan};
use pouch_core::region::published::Published;
use pouch_core::report::summary::{self, Outcome};
use pouch_core::world::World;
use rayon::prelude::*;

use super::{Report, Run, check_regions, govern, rekey, seal};
use crate::error::Failure;
use crate::harden::wiped;
use crate::shelf::{Look, NewFile, NewFiles, Shelf};
use crate::survey::Survey;

/// How many files the plans may have that are kept from the first pass to the second: at a few kilobytes each,
/// what is published included, some 100 MiB.
const MOST_KEPT: usize = 20_000;

/// What all regions of a run share.
struct Shared<'a> {
    run: &'a Run<'a>,
    survey: &'a Survey,
    world: World<'a>,
}

impl<'a> Shared<'a> {
    fn terms(&self, region: &'a RegionConfig) -> Terms<'a> {
        let Run { keys, allowances, selection, .. } = *self.run;
        Terms { world: self.world, region, keys, allowances, selection, sources: &self.survey.sources }
    }
}

/// One region after the first pass.
struct Planned<'a> {
    config: &'a RegionConfig,
    record: summary::Region,
    findings: Vec<Finding>,
    accepted: Vec<Acceptance>,
    wanted: Vec<Acceptance>,
    credentials: summary::Credentials,
    /// The cases of a region that will be written.
    cases: Vec<Case>,
    kept: Option<Kept>,
}

/// What the first pass found out of a region that will be written.
struct Kept {
    published: Published,
    plan: RegionPlan,
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
///
/// # Errors
/// As [`render`].
pub fn preview(run: &Run<'_>, survey: &Survey, published: &dyn Look) -> Result<Report, Failure> {
    work(run, survey, published, None)
}

/// Compares with what is `published`, and stages what changed on the `shelf`, if there is one.
fn work(run: &Run<'_>, survey: &Survey, published: &dyn Look, shelf: Option<&dyn Shelf>) -> Result<Report, Failure> {
    check_regions(run.fleet, published)?;
    let mut findings: Vec<Finding> = survey.facts_findings.clone();
    findings.extend(shared_decryptors(run.fleet.regions.values()));
    let shared = Shared { run, survey, world: survey.world(run.fleet) };
    let mut credentials = summary::Credentials::default();
    for asked in survey.facts.asked().iter().filter(|asked| asked.claim.is_none()) {
        let broken = asked.findings.iter().any(Finding::stops_claim);
        *(if broken { &mut credentials.broken } else { &mut credentials.unpublished }) += 1;
        findings.extend(asked.findings.iter().cloned());
    }

    let regions: Vec<&RegionConfig> =
        run.fleet.regions.values().filter(|region| run.selection.takes_up(region)).collect();
    let progress = run.session.ui.progress("comparing", u64::try_from(regions.len()).unwrap_or_default());
    // Without a shelf there is no second pass.
    let room = AtomicUsize::new(shelf.map_or(0, |_| MOST_KEPT));
    let planned: Result<Vec<Planned<'_>>, Failure> = regions
        .par_iter()
        .map(|region| {
            let planned = wiped(|| first_pass(&shared, region, published, &room));
            progress.step();
            planned
        })
        .collect();
    let mut planned = planned?;
    drop(progress);

    if let Some(shelf) = shelf {
        let written = planned.iter_mut().filter(|planned| is_written(planned.record.outcome));
        let written = written.map(|planned| (planned.config, &*planned.cases, planned.kept.take())).collect();
        stage(&shared, written, shelf)?;
    }

    let (mut accepted, mut wanted) = (Vec::new(), Vec::new());
    for planned in &mut planned {
        findings.append(&mut planned.findings);
        accepted.append(&mut planned.accepted);
        wanted.append(&mut planned.wanted);
        credentials.admitted += planned.credentials.admitted;
        credentials.refused += planned.credentials.refused;
        credentials.broken += planned.credentials.broken;
        credentials.paused += planned.credentials.paused;
    }
    let regions = planned.into_iter().map(|planned| planned.record).collect();
    findings.extend(survey.findings.iter().cloned());
    let findings = govern(run.fleet, findings);
    Ok(Report { regions, credentials: Some(credentials), findings, accepted, wanted })
}

fn is_written(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Published | Outcome::Withdrawn)
}

/// Seals and stages regions, and the files of the whole fleet.
fn stage(
    shared: &Shared<'_>,
    regions: Vec<(&RegionConfig, &[Case], Option<Kept>)>,
    shelf: &dyn Shelf,
) -> Result<(), Failure> {
    let run = shared.run;
    let progress = run.session.ui.progress("sealing", u64::try_from(regions.len()).unwrap_or_default());
    let some = !regions.is_empty();
    let staged: Result<Vec<()>, Failure> = regions
        .into_par_iter()
        .map(|(region, cases, kept)| {
            let staged = wiped(|| second_pass(shared, region, (cases, kept), shelf));
            progress.step();
            staged
        })
        .collect();
    staged?;
    drop(progress);
    if run.selection.rekey.is_some() && !some {
        // Where nothing is sealed anew, no file of the fleet makes a commit either.
        return Ok(());
    }
    let in_use = run.fleet.regions.values().filter(|region| region.state != RegionState::Retired);
    let in_use: Vec<_> = in_use.map(|region| (&region.directory, &region.delivery)).collect();
    if !in_use.is_empty() {
        for (path, text) in fleet_files(&run.fleet.name, &run.fleet.output.path, in_use) {
            shelf.stage_shared(path.as_str(), text.as_bytes())?;
        }
    }
    Ok(())
}

/// Plans one region and decides what becomes of it.
fn first_pass<'a>(
    shared: &Shared<'a>,
    region: &'a RegionConfig,
    shelf: &dyn Look,
    room: &AtomicUsize,
) -> Result<Planned<'a>, Failure> {
    shared.run.session.stop.check()?;
    let record = summary::Region::new(&region.name, &region.directory, Outcome::Paused);
    let mut planned = Planned {
        config: region,
        record,
        findings: Vec::new(),
        accepted: Vec::new(),
        wanted: Vec::new(),
        credentials: summary::Credentials::default(),
        cases: Vec::new(),
        kept: None,
    };
    let asked = || shared.world.facts.asked_of(&region.name);
    if !region.is_rendered() {
        // Nothing comes of them, so nothing that they need was read.
        planned.credentials.paused = asked().count();
        planned.findings.extend(asked().flat_map(|asked: &Asked| asked.findings.iter().cloned()));
        return Ok(planned);
    }
    let files = shelf.read(&region.directory)?;
    let rekeys = shared.run.selection.rekeys(region);
    let mut cases = cases(&shared.world, asked());
    if rekeys && files.is_empty() {
        // What was never sealed is not sealed anew.
        planned.record.outcome = Outcome::Unchanged;
        for case in cases {
            planned.hear(case.verdict, case.findings);
        }
        return Ok(planned);
    }
    let (published, plan) = plan(&shared.terms(region), &cases, files);
    planned.record.outcome = match outcome(region, &plan) {
        // What is carried whole differs from nothing, and was not sealed anew.
        Outcome::Unchanged if rekeys && !plan.holds.is_empty() => Outcome::Held,
        outcome => outcome,
    };
    planned.note(region, &published, &plan, &mut cases);
    if is_written(planned.record.outcome) {
        planned.cases = cases;
        planned.kept = keeps(room, &published, &plan).then_some(Kept { published, plan });
    }
    Ok(planned)
}

impl Planned<'_> {
    /// Counts a claim, and takes what was found of it.
    fn hear(&mut self, verdict: Verdict, findings: impl IntoIterator<Item = Finding>) {
        *match verdict {
            Verdict::Admitted => &mut self.credentials.admitted,
            Verdict::Refused => &mut self.credentials.refused,
            Verdict::Broken => &mut self.credentials.broken,
        } += 1;
        self.findings.extend(findings);
    }

    /// Takes what is to be said of a plan.
    fn note(&mut self, region: &RegionConfig, published: &Published, plan: &RegionPlan, cases: &mut [Case]) {
        count(&mut self.record, plan);
        if !plan.is_published || published.manifest().is_some() {
            // Without a manifest that is vouched for, it is what the bundle says of itself.
            let before = published.manifest().or(published.claimed()).map(|manifest| &*manifest.recipients);
            self.record.compare_recipients(before.unwrap_or_default(), &region.recipients);
        }
        self.findings.extend(plan.findings.iter().cloned());
        for hold in &plan.holds {
            self.findings.push(hold.finding.clone());
            self.wanted.extend(hold.lifted_by.clone());
        }
        self.accepted.extend(plan.accepted.iter().cloned());
        for (case, ruled) in cases.iter_mut().zip(&plan.rulings) {
            self.hear(ruled.verdict, ruled.added.iter().cloned());
            self.findings.extend(case.take_remarks());
            self.findings.extend(case.findings.iter().cloned());
        }
    }
}

/// Whether a plan is kept for the second pass: as long as there is room for so many files.
fn keeps(room: &AtomicUsize, published: &Published, plan: &RegionPlan) -> bool {
    let objects = plan.files.len().max(published.files.len());
    room.try_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(objects)).is_ok()
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

fn count(record: &mut summary::Region, plan: &RegionPlan) {
    for object in plan.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()) {
        record.objects += 1;
        if object.state != State::Current {
            record.carried += 1;
        } else if object.key.kind.is_secret() {
            match plan.files.get(&object.path) {
                Some(Content::Seal(_)) => record.sealed += 1,
                _ => record.kept += 1,
            }
        }
    }
    record.changes = plan.changes.iter().map(summary::ChangeRecord::from).collect();
}

/// Seals what is to be sealed of one region, and stages its files. It is packed again where no plan was kept,
/// and where something else stands in its folders by now.
fn second_pass(
    shared: &Shared<'_>,
    region: &RegionConfig,
    (cases, kept): (&[Case], Option<Kept>),
    shelf: &dyn Shelf,
) -> Result<(), Failure> {
    shared.run.session.stop.check()?;
    let files = shelf.read(&region.directory)?;
    let Kept { published, plan } = match kept.filter(|kept| kept.published.files == files) {
        Some(kept) => kept,
        None => {
            let (published, plan) = plan(&shared.terms(region), cases, files);
            Kept { published, plan }
        }
    };
    let RegionPlan { files, mut manifest, holds, .. } = plan;
    if !holds.is_empty() {
        // Nothing held it a moment ago, so somebody wrote to the region's folders since.
        let message = format!("the folders of region {} changed while pouch was reading them", region.name);
        return Err(Failure::unavailable(message, "See who else writes there, and run pouch again."));
    }
    let sealer = seal::Sealer::new(&shared.run.session.ambient, &region.recipients)?;
    // A fleet may have one region, and sealing is most of the work: so threads share it within a region.
    let task = |(path, content): (path::BundlePath, Content)| match content {
        Content::Bytes(bytes) => Ok((path, NewFile::Bytes(bytes), None)),
        Content::Kept(from) => Ok((path, NewFile::Kept(from), None)),
        Content::Seal(order) => {
            shared.run.session.stop.check()?;
            let bytes = sealer.seal(shared.run, &shared.survey.snapshot, region, &order)?;
            let hash = sha256_hex(&bytes);
            Ok((path, NewFile::Bytes(bytes), Some(hash)))
        }
    };
    let sealed: Result<Vec<Vec<_>>, Failure> = files
        .into_iter()
        .collect::<Vec<_>>()
        .into_par_iter()
        .chunks(seal::FILES_PER_TASK)
        .map(|files| wiped(|| files.into_iter().map(task).collect()))
        .collect();
    let mut hashes: BTreeMap<path::BundlePath, String> = BTreeMap::new();
    let mut new = NewFiles::new();
    for (path, file, hash) in sealed?.into_iter().flatten() {
        hashes.extend(hash.map(|hash| (path.clone(), hash)));
        new.insert(path, file);
    }
    if shared.run.selection.rekeys(region) {
        rekey::prove(&published.files, &manifest, &new)?;
    }
    for object in &mut manifest.objects {
        if let Some(sha256) = hashes.remove(&object.path) {
            object.sha256 = sha256;
        }
    }
    if !new.is_empty() {
        let text = bundle_yaml(&manifest, shared.run.keys);
        new.insert(path::manifest(&region.directory), NewFile::Bytes(text.into_bytes()));
    }
    shelf.stage(&region.directory, new, &published.files)?;
    Ok(())
}
