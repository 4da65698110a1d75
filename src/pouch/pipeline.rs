//! What commands share: survey the sources, draft every region, deliver what may be published.
//!
//! The unit of work is one region. The first pass drafts all of them, decides what changed and lets
//! the brake speak; the second seals what will be written. Drafts of a few regions are kept from one to the
//! other; of a fleet that has more the second pass drafts again, so that memory does not grow with it.

pub mod exposure;
mod openers;
pub mod proof;
pub mod rekey;
pub mod seal;
pub mod survey;
pub mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use pouch_core::bundle::argocd::shared_decryptors;
use pouch_core::bundle::draft::{Content, Draft, Input, Wishes, bundle_yaml, draft, unchanged};
use pouch_core::bundle::published::{Files, Published, fleet_of};
use pouch_core::bundle::{fleet_files, path, sha256_hex};
use pouch_core::claim::{Asked, claims};
use pouch_core::closure::View;
use pouch_core::closure::companion::Deployments;
use pouch_core::closure::definition::Definitions;
use pouch_core::config::{Fleet, RegionConfig, RegionState};
use pouch_core::finding::{Class, CredentialName, Finding, Severity, settle};
use pouch_core::judge::region::Case;
use pouch_core::judge::{Court, Verdict, cases};
use pouch_core::report::summary::{self, Outcome};
use pouch_core::reuse::KeyRing;
use rayon::prelude::*;

use crate::ambient::Ambient;
use crate::harden::wiped;
use crate::publish::{Look, NewFile, NewFiles, Shelf};
use crate::stop::Stop;
use crate::ui::Ui;
use survey::Survey;

pub use crate::failure::Failure;

/// What a run works with.
pub struct Run<'a> {
    /// The resolved configuration.
    pub fleet: &'a Fleet,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// What the user lets through.
    pub wishes: &'a Wishes,
    /// Environment, clock and entropy.
    pub ambient: &'a Ambient,
    /// Where words go.
    pub ui: &'a Ui,
    /// Whether the run should end.
    pub stop: &'a Stop,
}

/// What a run did and found.
pub struct Report {
    /// The regions, sorted by name.
    pub regions: Vec<summary::Region>,
    /// How the Credentials fared; none where no source was read.
    pub credentials: Option<summary::Credentials>,
    /// Everything found, settled.
    pub findings: Vec<Finding>,
}

impl Report {
    /// Whether some region is held by a brake.
    pub fn is_held(&self) -> bool {
        self.regions.iter().any(|region| region.outcome == Outcome::Held)
    }

    /// Whether some Credential is not published as asked, or a source was not read completely.
    pub fn is_partial(&self) -> bool {
        self.findings.iter().any(|finding| {
            finding.severity == Severity::Error
                && matches!(finding.code.class(), Class::Refused | Class::Broken | Class::Source)
        })
    }
}

/// What all regions of a run share.
struct Shared<'a> {
    run: &'a Run<'a>,
    survey: &'a Survey,
    definitions: Definitions,
    deployments: Deployments,
    court: Court<'a>,
    asked: BTreeMap<CredentialName, Asked>,
}

/// One region after the first pass.
struct Drafted<'a> {
    config: &'a RegionConfig,
    record: summary::Region,
    findings: Vec<Finding>,
    credentials: summary::Credentials,
    kept: Option<Kept>,
}

/// What the first pass found out of a region that will be written.
struct Kept {
    published: Published,
    draft: Draft,
}

/// How many files the drafts may have that are kept from the first pass to the second: at a few kilobytes each,
/// what is published included, some 100 MiB.
const MOST_KEPT: usize = 20_000;

/// Drafts every region and stages what changed on the shelf.
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
    let (definitions, found) = Definitions::collect(run.fleet, &survey.snapshot);
    let mut findings = found;
    findings.extend(shared_decryptors(run.fleet.regions.values()));
    let (court, found) = Court::open(run.fleet, &survey.snapshot);
    findings.extend(found);
    let shared = Shared {
        run,
        survey,
        definitions,
        deployments: Deployments::collect(&survey.snapshot),
        court,
        asked: claims(run.fleet, &survey.snapshot).into_iter().map(|asked| (asked.by.clone(), asked)).collect(),
    };
    let mut credentials = summary::Credentials::default();
    for asked in shared.asked.values().filter(|asked| asked.claim.is_none()) {
        let broken = asked.findings.iter().any(Finding::stops_claim);
        *(if broken { &mut credentials.broken } else { &mut credentials.unpublished }) += 1;
        findings.extend(asked.findings.iter().cloned());
    }
    let by_region = by_region(&shared.asked);

    let regions: Vec<&RegionConfig> = run.fleet.regions.values().filter(|region| run.wishes.take_up(region)).collect();
    let progress = run.ui.progress("comparing", u64::try_from(regions.len()).unwrap_or_default());
    // Without a shelf there is no second pass.
    let room = AtomicUsize::new(shelf.map_or(0, |_| MOST_KEPT));
    let drafted: Result<Vec<Drafted<'_>>, Failure> = regions
        .par_iter()
        .map(|region| {
            let drafted = wiped(|| first_pass(&shared, region, &by_region, published, &room));
            progress.step();
            drafted
        })
        .collect();
    let mut drafted = drafted?;
    drop(progress);

    if let Some(shelf) = shelf {
        let written = drafted.iter_mut().filter(|drafted| is_written(drafted.record.outcome));
        let written = written.map(|drafted| (drafted.config, drafted.kept.take())).collect();
        stage(&shared, written, &by_region, shelf)?;
    }

    for drafted in &mut drafted {
        findings.append(&mut drafted.findings);
        credentials.admitted += drafted.credentials.admitted;
        credentials.refused += drafted.credentials.refused;
        credentials.broken += drafted.credentials.broken;
        credentials.paused += drafted.credentials.paused;
    }
    let regions = drafted.into_iter().map(|drafted| drafted.record).collect();
    let mut report = Report { regions, credentials: Some(credentials), findings };
    report.findings.extend(survey.findings.iter().cloned());
    report.findings = govern(run.fleet, report.findings);
    Ok(report)
}

fn is_written(outcome: Outcome) -> bool {
    matches!(outcome, Outcome::Published | Outcome::Withdrawn)
}

/// Seals and stages regions, and the files of the whole fleet.
fn stage(
    shared: &Shared<'_>,
    regions: Vec<(&RegionConfig, Option<Kept>)>,
    by_region: &ByRegion<'_>,
    shelf: &dyn Shelf,
) -> Result<(), Failure> {
    let run = shared.run;
    let progress = run.ui.progress("sealing", u64::try_from(regions.len()).unwrap_or_default());
    let some = !regions.is_empty();
    let staged: Result<Vec<()>, Failure> = regions
        .into_par_iter()
        .map(|(region, kept)| {
            let staged = wiped(|| second_pass(shared, region, kept, by_region, shelf));
            progress.step();
            staged
        })
        .collect();
    staged?;
    drop(progress);
    if run.wishes.rekey.is_some() && !some {
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

/// Refuses to work beside a published region of this fleet that the configuration does not know.
fn check_regions(fleet: &Fleet, published: &dyn Look) -> Result<(), Failure> {
    for (name, manifest) in published.regions()? {
        let known = fleet.regions.values().any(|region| region.directory == *name);
        let ours = manifest.as_deref().and_then(fleet_of).is_some_and(|of| fleet.name == *of);
        if !known && ours {
            return Err(Failure::usage(
                format!(
                    "region-not-configured: regions/{name} is published, and no region of the configuration has it"
                ),
                "Set `state: retired` for the region to withdraw it, or set its directory if it was renamed.",
            ));
        }
    }
    Ok(())
}

fn by_region(asked: &BTreeMap<CredentialName, Asked>) -> BTreeMap<pouch_core::name::Region, Vec<&Asked>> {
    let mut by_region: BTreeMap<_, Vec<&Asked>> = BTreeMap::new();
    for asked in asked.values() {
        if let Some(claim) = &asked.claim {
            by_region.entry(claim.region().clone()).or_default().push(asked);
        }
    }
    by_region
}

type ByRegion<'a> = BTreeMap<pouch_core::name::Region, Vec<&'a Asked>>;

impl Shared<'_> {
    fn cases(&self, region: &RegionConfig, by_region: &ByRegion<'_>) -> Vec<Case> {
        let view = View {
            fleet: self.run.fleet,
            snapshot: &self.survey.snapshot,
            definitions: &self.definitions,
            deployments: &self.deployments,
        };
        let asked = by_region.get(&region.name).into_iter().flatten().copied();
        cases(&view, &self.court, asked)
    }

    fn input<'b>(&'b self, region: &'b RegionConfig, published: &'b Published) -> Input<'b> {
        Input {
            court: &self.court,
            definitions: &self.definitions,
            deployments: &self.deployments,
            asked: &self.asked,
            region,
            published,
            keys: self.run.keys,
            wishes: self.run.wishes,
            sources: &self.survey.sources,
        }
    }

    fn examine(&self, region: &RegionConfig, files: Files) -> Published {
        Published::examine(&self.run.fleet.name, &region.directory, files, self.run.keys)
    }
}

/// Drafts one region and decides what becomes of it.
fn first_pass<'a>(
    shared: &Shared<'_>,
    region: &'a RegionConfig,
    by_region: &ByRegion<'_>,
    shelf: &dyn Look,
    room: &AtomicUsize,
) -> Result<Drafted<'a>, Failure> {
    shared.run.stop.check()?;
    let mut record = summary::Region::new(&region.name, &region.directory, Outcome::Paused);
    let mut findings = Vec::new();
    let mut credentials = summary::Credentials::default();
    let mut cases = Vec::new();
    let mut kept = None;
    if !region.is_rendered() {
        // Nothing comes of them, so nothing that they need was read.
        let asked = by_region.get(&region.name).map(Vec::as_slice).unwrap_or_default();
        credentials.paused = asked.len();
        findings.extend(asked.iter().flat_map(|asked| asked.findings.iter().cloned()));
    } else {
        let unexamined = Published::unexamined(shelf.read(&region.directory)?);
        if shared.run.wishes.rekeys(region) && unexamined.files.is_empty() {
            // What was never sealed is not sealed anew.
            cases = shared.cases(region, by_region);
            record.outcome = Outcome::Unchanged;
        } else if let Some(same) = unchanged(&shared.input(region, &unexamined), || shared.cases(region, by_region)) {
            cases = same;
            record.outcome = Outcome::Unchanged;
            count_published(&mut record, &cases);
        } else {
            cases = shared.cases(region, by_region);
            let published = shared.examine(region, unexamined.files);
            let mut draft = draft(&shared.input(region, &published), &mut cases);
            record.outcome = match outcome(region, &draft, &published, shared.run.keys) {
                // What is carried whole differs from nothing, and was not sealed anew.
                Outcome::Unchanged if shared.run.wishes.rekeys(region) && !draft.holds.is_empty() => Outcome::Held,
                outcome => outcome,
            };
            count(&mut record, &draft);
            // Without a manifest that is vouched for, it is what the bundle says of itself.
            let before = published.manifest().or(published.claimed()).map(|manifest| &*manifest.recipients);
            record.compare_recipients(before.unwrap_or_default(), &region.recipients);
            findings.append(&mut draft.findings);
            findings.append(&mut draft.holds);
            if is_written(record.outcome) && keeps(room, &published, &draft) {
                kept = Some(Kept { published, draft });
            }
        }
    }
    for case in &mut cases {
        *match case.verdict {
            Verdict::Admitted => &mut credentials.admitted,
            Verdict::Refused => &mut credentials.refused,
            Verdict::Broken => &mut credentials.broken,
        } += 1;
        findings.append(&mut case.findings);
    }
    Ok(Drafted { config: region, record, findings, credentials, kept })
}

/// Whether a draft is kept for the second pass: as long as there is room for so many files.
fn keeps(room: &AtomicUsize, published: &Published, draft: &Draft) -> bool {
    let objects = draft.files.len().max(published.files.len());
    room.try_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(objects)).is_ok()
}

fn outcome(region: &RegionConfig, draft: &Draft, published: &Published, keys: &KeyRing) -> Outcome {
    if draft.is_published(published, keys) {
        Outcome::Unchanged
    } else if !draft.holds.is_empty() {
        Outcome::Held
    } else if region.state == RegionState::Retired {
        Outcome::Withdrawn
    } else {
        Outcome::Published
    }
}

fn count(record: &mut summary::Region, draft: &Draft) {
    use pouch_core::bundle::manifest::State;
    for object in draft.manifest.objects.iter().filter(|object| !object.key.kind.is_namespace()) {
        record.objects += 1;
        if object.state != State::Current {
            record.carried += 1;
        } else if object.key.kind.is_secret() {
            match draft.files.get(&object.path) {
                Some(Content::Seal(_)) => record.sealed += 1,
                _ => record.kept += 1,
            }
        }
    }
    record.changes = draft.changes.iter().map(summary::ChangeRecord::from).collect();
}

/// The counts of a region that is published as its claims want it.
fn count_published(record: &mut summary::Region, cases: &[Case]) {
    let admitted = cases.iter().filter(|case| case.verdict == Verdict::Admitted);
    let landed: BTreeSet<_> = admitted.flat_map(Case::published_members).map(|member| &member.lands).collect();
    record.objects = landed.len();
    record.kept = landed.iter().filter(|key| key.kind.is_secret()).count();
}

/// Seals what is to be sealed of one region, and stages its files. It is drafted again where nothing was kept,
/// and where something else stands in its folders by now.
fn second_pass(
    shared: &Shared<'_>,
    region: &RegionConfig,
    kept: Option<Kept>,
    by_region: &ByRegion<'_>,
    shelf: &dyn Shelf,
) -> Result<(), Failure> {
    shared.run.stop.check()?;
    let files = shelf.read(&region.directory)?;
    let Kept { published, draft } = match kept.filter(|kept| kept.published.files == files) {
        Some(kept) => kept,
        None => {
            let published = shared.examine(region, files);
            let draft = draft(&shared.input(region, &published), &mut shared.cases(region, by_region));
            Kept { published, draft }
        }
    };
    let Draft { files, mut manifest, holds, .. } = draft;
    if !holds.is_empty() {
        // Nothing held it a moment ago, so somebody wrote to the region's folders since.
        let message = format!("the folders of region {} changed while pouch was reading them", region.name);
        return Err(Failure::unavailable(message, "See who else writes there, and run pouch again."));
    }
    let sealer = seal::Sealer::new(shared.run.ambient, &region.recipients)?;
    // A fleet may have one region, and sealing is most of the work: so threads share it within a region.
    let task = |(path, content): (path::BundlePath, Content)| match content {
        Content::Bytes(bytes) => Ok((path, NewFile::Bytes(bytes), None)),
        Content::Kept(from) => Ok((path, NewFile::Kept(from), None)),
        Content::Seal(order) => {
            shared.run.stop.check()?;
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
    if shared.run.wishes.rekeys(region) {
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

/// Applies the configuration's severities, and settles what is left.
pub fn govern(fleet: &Fleet, findings: Vec<Finding>) -> Vec<Finding> {
    let governed = findings.into_iter().filter_map(|mut finding| {
        match fleet.severities.get(&finding.code) {
            None => {}
            Some(None) => return None,
            Some(Some(severity)) => finding.severity = *severity,
        }
        Some(finding)
    });
    settle(governed.collect())
}
