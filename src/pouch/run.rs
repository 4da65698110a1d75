//! Run: what commands share once their sources are read.

pub mod again;
pub mod anew;
pub mod artifacts;
pub mod deliver;
pub mod exposure;
mod history;
pub mod init;
pub mod keyfiles;
pub mod keygen;
pub mod live;
pub mod log;
pub mod metrics;
pub mod places;
pub mod publish;
pub mod rekey;
pub mod render;
pub mod seal;
pub mod standing;
pub mod told;
pub mod unpack;
pub mod verify;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};

use pouch_core::config::{Acceptance, Fleet, RegionConfig, RegionState};
use pouch_core::destination::{self, Destination};
use pouch_core::explain::{Answer, Question};
use pouch_core::finding::{Class, Counts, Finding, Severity, crowd, settle};
use pouch_core::layout::BundlePath;
use pouch_core::name::{Claimant, Directory};
use pouch_core::recipient::Recipient;
use pouch_core::region::allowances::{Allowances, Selection};
use pouch_core::region::change::Hold;
use pouch_core::region::published::fleet_of;
use pouch_core::report::authors::SourceAuthors;
use pouch_core::report::since::Since;
use pouch_core::report::summary::{self, Outcome};
use pouch_core::reuse::{KeyRing, ReuseKey, manifest_verifies};
use pouch_core::silence::{Heard, Silenced, Silences};
use pouch_core::stamp::MOST_FINDINGS;
use rayon::prelude::*;

use crate::error::{Ended, Failure};
use crate::session::{Session, Tolerate};
use crate::shelf::target::Target;
use crate::shelf::{HistoryQuery, Look};

/// What a run works with.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// Environment, clock, entropy, where words go, and whether the run should end.
    pub session: &'a Session,
    /// The resolved configuration.
    pub fleet: &'a Fleet,
    /// The reuse keys.
    pub keys: &'a KeyRing,
    /// What the user lets through.
    pub allowances: &'a Allowances,
    /// What the run is about.
    pub selection: &'a Selection,
    /// The place that is published to; none where all regions stand in one folder.
    pub target: Option<&'a Target>,
    /// What is to be explained of a run that only looks.
    pub question: Option<&'a Question>,
    /// True if pieces of information are told, which are counted otherwise.
    pub informs: bool,
}

impl<'a> Run<'a> {
    /// A run for all places, that is asked nothing, and tells what the session tells.
    pub fn new(
        session: &'a Session,
        fleet: &'a Fleet,
        keys: &'a KeyRing,
        (allowances, selection): (&'a Allowances, &'a Selection),
    ) -> Self {
        Self { session, fleet, keys, allowances, selection, target: None, question: None, informs: session.informs() }
    }

    /// The reuse key that tags are made with.
    ///
    /// # Errors
    /// None that is known: who has no key only looks.
    fn key(&self) -> Result<&'a ReuseKey, Failure> {
        self.keys.current().ok_or_else(|| Failure::bug("something is to be made without a reuse key"))
    }

    /// Whether it is asked about a claimant, and only what that one needs was read.
    fn is_narrow(&self) -> bool {
        self.selection.refresh.is_some() && matches!(self.question, Some(Question::Claimant(_)))
    }

    /// The same for one place.
    #[must_use]
    pub fn at(self, target: &'a Target) -> Self {
        Self { target: Some(target), ..self }
    }

    /// The configuration of the regions whose bundles stand at the place.
    fn here(&self) -> &'a Fleet {
        self.target.map_or(self.fleet, |target| &target.fleet)
    }

    /// The destinations that the run is about.
    fn destinations(&self) -> impl Iterator<Item = Destination<'a>> {
        let Self { fleet, target, selection, .. } = *self;
        let is_here = move |to: &Destination<'_>| target.is_none_or(|target| target.regions.contains(&to.region.name));
        destination::all(fleet).filter(move |to| is_here(to) && selection.takes_up(to))
    }

    /// What is asked of the history of a region: what counts for withdrawals.
    fn query(&self, region: &'a RegionConfig) -> Result<HistoryQuery<'a>, Failure> {
        self.query_since(region, self.fleet.limits.deletions.window.0)
    }

    /// What is asked of the history of a region: which hand-overs are over.
    fn query_over(&self, region: &'a RegionConfig) -> Result<HistoryQuery<'a>, Failure> {
        self.query_since(region, self.fleet.limits.retain_replaced.0)
    }

    /// What is asked of the newest commits of a region's history, which no window bounds.
    fn query_newest(&self, region: &'a RegionConfig) -> HistoryQuery<'a> {
        self.query_from(region, self.session.time_of_run().as_second())
    }

    fn query_since(&self, region: &'a RegionConfig, window: u64) -> Result<HistoryQuery<'a>, Failure> {
        let window = i64::try_from(window).unwrap_or(i64::MAX);
        // The same clock as that of the commits that are counted.
        Ok(self.query_from(region, self.session.commit_time()?.as_second().saturating_sub(window)))
    }

    fn query_from(&self, region: &'a RegionConfig, since: i64) -> HistoryQuery<'a> {
        let Self { fleet, keys, allowances, .. } = *self;
        HistoryQuery {
            fleet: &fleet.name,
            region: &region.name,
            keys,
            since,
            whole: allowances.accepted.iter().any(|accepted| accepted.region == region.name),
            is_retired: region.state == RegionState::Retired,
        }
    }

    /// Does a piece of work for each destination, by as many threads as there are.
    fn each<T: Send>(
        &self,
        (label, destinations): (&'static str, impl Iterator<Item = Destination<'a>>),
        work: impl Fn(Destination<'a>) -> Result<T, Failure> + Sync,
    ) -> Result<Vec<T>, Failure> {
        let destinations: Vec<Destination<'a>> = destinations.collect();
        let progress = self.session.ui.progress(label, u64::try_from(destinations.len()).unwrap_or_default());
        let one = |to| work(to).inspect(|_| progress.step());
        destinations.into_par_iter().map(one).collect()
    }
}

/// Starts the threads that share the work.
///
/// # Errors
/// Where the system gives none.
pub fn threads() -> Result<(), Failure> {
    match rayon::ThreadPoolBuilder::new().build_global() {
        Ok(()) => Ok(()),
        // Without a cause, they are there already.
        Err(error) => match std::error::Error::source(&error) {
            None => Ok(()),
            Some(cause) => Err(Failure::failed(
                format!("no threads can be started: {cause}"),
                "Nothing is published. Allow the process more threads and memory (`ulimit -u`, `ulimit -v`, the limit of \
                 the container), or set RAYON_NUM_THREADS to a smaller number.",
            )),
        },
    }
}

/// What is told of one region.
struct Told {
    record: summary::Region,
    findings: Vec<Finding>,
    /// The number of those that are only counted.
    counted: Counts,
    accepted: Vec<Acceptance>,
    wanted: Vec<Acceptance>,
    credentials: summary::Credentials,
    /// The broken claimants that have something published in the region.
    kept: BTreeSet<Claimant>,
    /// The recipients of its bundle after the run, and none if that is withdrawn; not known of a region that was not
    /// compared.
    recipients: Option<Vec<Recipient>>,
    explained: Answer,
}

impl Told {
    fn new(to: &Destination<'_>, outcome: Outcome) -> Self {
        Self {
            record: summary::Region::new(&to.region.name, to.directory(), outcome),
            findings: Vec::new(),
            counted: Counts::new(),
            accepted: Vec::new(),
            wanted: Vec::new(),
            credentials: summary::Credentials::default(),
            kept: BTreeSet::new(),
            recipients: None,
            explained: Answer::default(),
        }
    }

    /// Only counts the pieces of information that nothing silences, unless all regions together have few: `found` is the
    /// number of those that they have so far.
    fn count_information(&mut self, silences: &Silences<'_>, found: &AtomicUsize) {
        let is_information = |finding: &Finding| {
            // One that names no region may be found in several.
            finding.severity == Severity::Info && finding.region.is_some() && silences.reason(finding).is_none()
        };
        let more = crowd::count(self.findings.iter().filter(|finding| is_information(finding)));
        if found.fetch_add(more, Ordering::Relaxed).saturating_add(more) <= MOST_FINDINGS {
            return;
        }
        for finding in self.findings.extract_if(.., |finding| is_information(finding)) {
            *self.counted.entry((finding.code, finding.severity)).or_default() += finding.count();
        }
    }

    /// Takes what holds the region.
    fn hold(&mut self, holds: impl IntoIterator<Item = Hold>) {
        for hold in holds {
            let record = summary::HoldRecord::from(&hold);
            // All that nothing lets through are alike but for their findings, and there may be as many as files.
            let says_more = record.flag.is_some() || !record.credentials.is_empty() || !record.losses.is_empty();
            if says_more || !self.record.holds.iter().any(|known| known.flag.is_none() && known.code == record.code) {
                self.record.holds.push(record);
            }
            self.findings.push(hold.finding);
            self.wanted.extend(hold.lifted_by);
        }
    }
}

/// What becomes of a file of the whole fleet.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SharedChange {
    /// It is written.
    Written(BundlePath),
    /// It is removed: no region needs it any more.
    Removed(BundlePath),
}

/// What a run did and found.
#[derive(Default)]
pub struct Report {
    /// The regions, sorted by name.
    pub regions: Vec<summary::Region>,
    /// The recipients of their bundles after the run, by folder, as far as they are known; none of a bundle that is
    /// withdrawn.
    pub recipients: BTreeMap<String, Vec<String>>,
    /// How the Credentials of these regions fared; none where no source was read.
    pub credentials: Option<summary::Credentials>,
    /// How those fared that are for no region, whichever regions these are.
    pub elsewhere: summary::Credentials,
    /// Everything found, settled.
    pub findings: Vec<Finding>,
    /// What of that is new, where it is held against a base.
    pub since: Option<Since>,
    /// The number of others, which are only counted because they are not told.
    pub counted: Counts,
    /// What was found and silenced by annotations of objects.
    pub silenced: Vec<Silenced>,
    /// What is found of silences of which there was no use at any place.
    pub unused_silences: BTreeSet<Finding>,
    /// The acceptances that let something through.
    pub accepted: Vec<Acceptance>,
    /// Those among them whose changes are published by now.
    pub spent: Vec<Acceptance>,
    /// The acceptances that would let through what is held.
    pub wanted: Vec<Acceptance>,
    /// Folders of withdrawn regions whose manifests somebody put back: the run leaves them as they are.
    pub put_back: BTreeSet<String>,
    /// The files of the whole fleet that a run changes.
    pub shared_changes: Vec<SharedChange>,
    /// The command that does what this one only says, where that is another one.
    pub done_by: Option<&'static str>,
    /// The answer to the question that the run was asked.
    pub explained: Answer,
    /// The authors of the commits of sources since what stood there was published, where the configuration wants them.
    pub authors: Vec<SourceAuthors>,
    /// Whether no Secret was looked into.
    pub no_values: bool,
    /// The release of kustomize that built sources.
    pub kustomize: Option<String>,
    /// Whether not all was looked at: the run was limited, or a place failed.
    pub in_part: bool,
}

impl Report {
    /// The report of these regions; `found` is what was found beside them.
    fn of(fleet: &Fleet, told: Vec<Told>, found: Vec<Finding>) -> Self {
        let mut report = Self { findings: found, ..Self::default() };
        report.findings.reserve_exact(told.iter().map(|told| told.findings.len()).sum());
        for mut told in told {
            report.findings.append(&mut told.findings);
            report.count(told.counted);
            report.accepted.append(&mut told.accepted);
            report.wanted.append(&mut told.wanted);
            let recipients = told.recipients.iter().flatten().map(|it| it.as_str().to_owned()).collect();
            report.recipients.extend(told.recipients.as_ref().map(|_| (told.record.directory.clone(), recipients)));
            report.regions.push(told.record);
            report.explained.add(told.explained);
        }
        report.findings = fleet.govern(report.findings);
        report
    }

    /// Notes that what it says is published: what was accepted of a region that moved is spent.
    pub fn spend(&mut self) {
        self.spent = self.used().cloned().collect();
    }

    /// The acceptances of regions that move. Where a region stays held for another reason, they let nothing through yet.
    pub fn used(&self) -> impl Iterator<Item = &Acceptance> {
        let is_moved = |region: &summary::Region| matches!(region.outcome, Outcome::Published | Outcome::Withdrawn);
        let moves = move |name: &str| self.regions.iter().any(|region| is_moved(region) && region.name == name);
        self.accepted.iter().filter(move |accepted| moves(accepted.region.as_str()))
    }

    fn count(&mut self, more: Counts) {
        for (kind, count) in more {
            *self.counted.entry(kind).or_default() += count;
        }
    }

    /// Takes out what annotations silence.
    fn hear(&mut self, silences: &Silences<'_>) {
        let Heard { told, silenced, unused } = silences.hear(std::mem::take(&mut self.findings));
        (self.findings, self.silenced, self.unused_silences) = (told, silenced, unused);
    }

    /// The report of several places as one.
    pub fn together(reports: Vec<Self>) -> Self {
        let mut all = Self::default();
        let unused = reports.iter().map(|report| report.unused_silences.clone());
        all.unused_silences = unused.reduce(|all, one| &all & &one).unwrap_or_default();
        for mut report in reports {
            all.silenced.append(&mut report.silenced);
            all.regions.append(&mut report.regions);
            all.recipients.append(&mut report.recipients);
            if let Some(more) = &report.credentials {
                all.credentials.get_or_insert_default().add(more);
            }
            all.elsewhere = report.elsewhere;
            all.findings.append(&mut report.findings);
            all.count(report.counted);
            all.accepted.append(&mut report.accepted);
            all.spent.append(&mut report.spent);
            all.wanted.append(&mut report.wanted);
            all.put_back.append(&mut report.put_back);
            all.shared_changes.append(&mut report.shared_changes);
            all.explained.add(report.explained);
            all.authors.append(&mut report.authors);
            all.no_values |= report.no_values;
            all.kustomize = all.kustomize.take().or(report.kustomize);
            all.in_part |= report.in_part;
        }
        all.regions.sort_by(|one, other| one.name.cmp(&other.name));
        all.findings = settle(all.findings);
        all.silenced.sort();
        all.silenced.dedup();
        all.authors.sort();
        all.authors.dedup();
        all
    }

    /// How all Credentials fared; none where no source was read.
    pub fn credentials(&self) -> Option<summary::Credentials> {
        let mut all = self.credentials.clone()?;
        all.add(&self.elsewhere);
        Some(all)
    }

    /// Whether some region is held by a brake, or withdrawals of it are.
    pub fn is_held(&self) -> bool {
        let is_held = |finding: &Finding| finding.code.class() == Class::Held;
        self.regions.iter().any(|region| region.outcome == Outcome::Held) || self.findings.iter().any(is_held)
    }

    /// Whether some Credential is not published as asked, or a source was not read completely.
    pub fn is_partial(&self) -> bool {
        self.findings.iter().any(|finding| {
            finding.severity == Severity::Error
                && matches!(finding.code.class(), Class::Refused | Class::Broken | Class::Source)
        })
    }

    /// Whether a run that is as planned would change anything that is published.
    pub fn would_change(&self) -> bool {
        let changes = |region: &summary::Region| matches!(region.outcome, Outcome::Published | Outcome::Withdrawn);
        !self.shared_changes.is_empty() || self.regions.iter().any(changes)
    }

    /// Whether `verify` would find a fault in what stands beside the regions.
    pub fn is_faulty(&self) -> bool {
        self.findings.iter().any(is_fault)
    }

    /// How a run ended that did this.
    pub fn ended(&self, session: &Session) -> Ended {
        if self.is_faulty() {
            Ended::Fault
        } else if self.is_held() && !session.tolerates(Tolerate::Brake) {
            Ended::Held
        } else if self.is_partial() && !session.tolerates(Tolerate::Partial) {
            Ended::Partial
        } else {
            Ended::Done
        }
    }
}

/// Whether a finding says that something is not as it should be.
pub fn is_fault(finding: &Finding) -> bool {
    finding.code.class() == Class::Fault && finding.severity == Severity::Error
}

/// Refuses to work beside a published region of this fleet that the configuration does not know: one whose manifest a
/// reuse key authenticates, and which pouch itself did not withdraw. What anybody else can put there is named, and stops
/// nobody.
///
/// Gives the folders of withdrawn regions whose manifests somebody put back.
pub fn check_regions(run: &Run<'_>, published: &dyn Look) -> Result<BTreeSet<String>, Failure> {
    let Run { fleet, keys, .. } = *run;
    let is_known = |name: &String| destination::all(fleet).any(|to| *to.directory() == **name);
    let mut put_back = BTreeSet::new();
    for name in published.regions()?.into_iter().filter(|name| !is_known(name)) {
        let directory = Directory::from(name.as_str());
        let ours = |manifest: Vec<u8>| manifest_verifies(keys, &fleet.name, &directory, &manifest).is_some();
        if !published.manifest(&name)?.is_some_and(ours) {
            continue;
        }
        if !published.is_withdrawn(&directory, &fleet.name, keys)? {
            return Err(Failure::usage(
                format!(
                    "region-not-configured: regions/{name} is published, and no region of the configuration has it"
                ),
                "Set `state: retired` for the region to withdraw it, or set its directory if it was renamed.",
            ));
        }
        put_back.insert(name);
    }
    Ok(put_back)
}

/// Whether a run would publish and no bundle there names the fleet.
pub fn is_first(fleet: &Fleet, published: &dyn Look) -> Result<bool, Failure> {
    if !destination::all(fleet).any(|to| to.region.state == RegionState::Active) {
        return Ok(false);
    }
    for name in published.regions()? {
        if published.manifest(&name)?.as_deref().and_then(fleet_of).is_some_and(|of| fleet.name == *of) {
            return Ok(false);
        }
    }
    Ok(true)
}
