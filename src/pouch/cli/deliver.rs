//! `pouch deliver`: brings a region its bundle, where neither Flux nor Argo CD does.

use std::collections::BTreeSet;
use std::path::Path;

use pouch_core::config::{Deletions, Fleet};
use pouch_core::deliver::whose::Beginning;
use pouch_core::finding::Code;
use pouch_core::name::{Namespace, ObjectKey, Region, is_dns_label};
use pouch_core::report::summary::{About, FailureRecord, FindingRecord, Summary};

use super::bundle::{BundleArgs, InClear};
use super::reach::ReachArgs;
use crate::cluster::Cluster;
use crate::cluster::request::Trial;
use crate::error::{Ended, Failure, Kind};
use crate::git::descent::{Kinship, kinship};
use crate::run::deliver::{Applying, Outcome, apply, kept, record, told};
use crate::run::told as records;
use crate::session::{Session, Tolerate};
use crate::shelf::repository;

/// How many messages about single objects are shown.
const MOST: usize = 50;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch deliver bundles --region eu-west --identity keys/eu-west.txt --context eu-west
  pouch deliver /srv/fleet.git --rev main --region eu-west --allowed-signers signers --dry-run
  pouch deliver /var/run/fleet --region eu-west --identity /keys/age.agekey    in a Pod of the region

Exit codes: 0 the region is as the bundle says; 3 some objects were refused, their kind is not there, or \
others keep more in them; 4 withdrawals \
were held, all else was applied; 5 the region or the bundle cannot be reached; 8 something is wrong with the bundle, and \
nothing was applied; 64 usage, or an identity that does not open it; 1 anything else.";

/// Apply a region's bundle to its cluster, where neither Flux nor Argo CD does
///
/// The bundle is proved first, as by `pouch unpack`; if anything is wrong with it, nothing is applied. Then it is
/// applied on the server's side, as field manager `pouch.FLEET.REGION` and by force: Namespaces (made if they are not
/// there, never deleted), ConfigMaps, Secrets, and identities kind by kind. What one object is refused, or a kind that
/// the region lacks, stops nothing else. What was applied and left the bundle is deleted last, if it still has pouch's
/// label.
///
/// What was applied stands in a ConfigMap of the region, `pouch.FLEET.REGION`: names, no values. Nothing is sent that
/// nobody wrote to since the same file was sent. Run it again at any time: a killed run is finished by the next.
///
/// Without --kubeconfig, KUBECONFIG or ~/.kube/config it uses the service account of the Pod that it runs in.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    bundle: BundleArgs,
    /// Change nothing: the region only says what it would do
    #[arg(long)]
    dry_run: bool,
    /// Let these withdrawals through, by the digest that the finding prints
    #[arg(long, value_name = "[REGION=]DIGEST")]
    accept_deletions: Vec<String>,
    /// Apply a commit that is older than the one that was applied last, or is not known to descend from it
    #[arg(long)]
    rollback: bool,
    /// The fleet that the bundle must belong to
    #[arg(long, value_name = "NAME")]
    fleet: Option<String>,
    /// The first time: the cluster is shared with the bundles of other regions or fleets that it has
    #[arg(long)]
    shared_cluster: bool,
    /// The ConfigMap that says what was applied is lost: begin another one
    #[arg(long)]
    new_inventory: bool,
    /// The namespace of the ConfigMap that says what was applied [default: the system namespace, kcm-system]
    #[arg(long, value_name = "NAMESPACE")]
    inventory_namespace: Option<String>,
    #[command(flatten)]
    reach: ReachArgs,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Session { ui, ambient, stop, .. } = session;
    let trial = if args.dry_run { Trial::Dry } else { Trial::Real };
    let named = |fleet: Option<&Fleet>| args.fleet.clone().or_else(|| fleet.map(|fleet| fleet.name.to_string()));
    let known = |fleet: Option<&Fleet>, region: Option<Region>| {
        let about = region.map_or(About::OneRegion, |region| About::Region(region.to_string()));
        session.know(Summary { about, ..records::summary(named(fleet), args.name(), Ended::Done) });
    };
    known(None, None);
    let InClear { opened, region, commit, unpacked, findings } =
        session.timed("read", || args.bundle.open(session, &known))?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let summary = |ended| Summary {
        commit: commit.clone(),
        findings: findings.iter().map(FindingRecord::from).collect(),
        about: About::Region(region.to_string()),
        ..records::summary(unpacked.as_ref().map(|it| it.fleet.to_string()).or(named(fleet)), args.name(), ended)
    };
    let wrong = |message: &str, help: &str| {
        ui.error(message, help);
        let failure = Some(FailureRecord { message: message.to_owned(), help: help.to_owned() });
        let summary = || Summary { failure, fleet: named(fleet), ..summary(Ended::Fault) };
        records::record(session, summary, "Nothing was applied")?;
        Ok(Ended::Fault)
    };
    let Some(unpacked) = &unpacked else {
        return wrong("nothing was applied, because something is wrong with the bundle", "");
    };
    if let Some(fleet) = args.fleet.as_ref().filter(|fleet| unpacked.fleet.as_str() != **fleet) {
        let message =
            format!("the bundle is of fleet {}, and --fleet says {fleet}: nothing was applied", unpacked.fleet);
        return wrong(&message, "Find out who published it.");
    }
    if let Some(consumer) = unpacked.consumer {
        let message = format!("{consumer} applies the bundle of region {region}, so nothing was applied here");
        let help = "Two that apply one bundle take its objects from each other. If `pouch deliver` is to bring it, write \
                    `delivery: none` for the region and publish that.";
        return Err(Failure::usage(message, help));
    }
    session.know(summary(Ended::Done));
    let system = fleet.map_or("kcm-system", |fleet| fleet.system_namespace.as_str());
    let kept_in = args.inventory_namespace.as_deref().unwrap_or(system);
    if !is_dns_label(kept_in) {
        let message = format!("--inventory-namespace {kept_in:?} cannot be a namespace");
        return Err(Failure::usage(message, "Name one that is on the region, such as kcm-system."));
    }
    let accepted = args.accepted(region.as_str())?;
    let place = args.bundle.path().map(|path| ambient.cwd().join(path));
    let kept_in = Namespace::from(kept_in);
    let follows = |applied: Option<&str>| {
        let Some(commit) = commit.as_deref().filter(|_| !args.rollback) else { return Ok(()) };
        match (applied, &place) {
            (None, _) => Err(unnamed(&kept(unpacked, &kept_in), commit)),
            (Some(applied), _) if commit == applied => Ok(()),
            (Some(applied), Some(place)) => not_back(place, commit, applied),
            // What the configuration publishes to was read without its history.
            (Some(applied), None) => {
                let directory = &unpacked.directory;
                let whole = repository::find(session, None, opened.as_ref(), ("pouch deliver PATH", Some(directory)))?;
                not_back(&whole.path, commit, applied)
            }
        }
    };
    let reach = args.reach.reach(ambient);
    let cluster = Cluster::connect(&reach.wanted, reach.patience, ambient, &stop.flag())?;
    ui.note(&format!("region {region}: applying to cluster {} at {}", cluster.context, cluster.server));
    if let Some(warning) = cluster.warning() {
        ui.warn(&warning);
    }
    let subject = Applying {
        unpacked,
        revision: commit.as_deref(),
        region: &region,
        kept_in: &kept_in,
        budget: fleet.map_or(Deletions::DEFAULT, |fleet| fleet.limits.deletions),
        accepted: &accepted,
        beginning: Beginning { shares: args.shared_cluster, anew: args.new_inventory },
        trial,
        follows: &follows,
    };
    let outcome = session.timed("deliver", || apply(&subject, &cluster, session))?;
    ui.detail(&format!("cluster {}: {} requests", cluster.context, cluster.requests()));
    ui.findings(&outcome.findings);
    outcome.notes.iter().for_each(|note| ui.note(note));
    outcome.troubles.iter().take(MOST).for_each(|(_, trouble)| ui.error(&trouble.message, &trouble.help));
    if let Some(more) = outcome.troubles.len().checked_sub(MOST).filter(|more| *more > 0) {
        ui.error(&format!("{more} more objects were refused or failed"), "");
    }
    let is_fine = outcome.changes.is_empty() && outcome.troubles.is_empty() && outcome.ended_by.is_none();
    if !(ui.is_quiet() && is_fine && outcome.findings.is_empty()) {
        ui.prose(&told(&outcome, &region, trial));
    }
    let all = Summary { applied: Some(record(&outcome, &subject)), ..summary(Ended::Done) };
    let findings = all.findings.into_iter().chain(outcome.findings.iter().map(FindingRecord::from)).collect();
    let all = Summary { findings, ..all };
    // A run that ends early tells what it did until then, too.
    session.know(all.clone());
    let ended = ended(session, outcome)?;
    let done = if args.writes() { "What was done stands above" } else { "Nothing was to be changed" };
    records::record(session, || Summary { exit_code: ended.code(), ..all }, done)?;
    Ok(ended)
}

/// How the run ended, the worst first.
fn ended(session: &Session, outcome: Outcome) -> Result<Ended, Failure> {
    if let Some(failure) = outcome.ended_by {
        return Err(failure);
    }
    if outcome.is_unavailable() {
        return Ok(Ended::Partway(Kind::Unavailable));
    }
    if outcome.is_held && !session.tolerates(Tolerate::Brake) {
        return Ok(Ended::Held);
    }
    let lacks = outcome.findings.iter().any(|finding| finding.code != Code::DeletionsHeld);
    let is_partial = lacks || !outcome.troubles.is_empty();
    Ok(if is_partial && !session.tolerates(Tolerate::Partial) { Ended::Partial } else { Ended::Done })
}

/// Refuses a commit where the inventory does not name the one that was applied last.
fn unnamed(inventory: &ObjectKey, commit: &str) -> Failure {
    let message = format!(
        "the inventory, {inventory}, does not name the commit that the region has (`revision`): {commit} may be older"
    );
    let help = "That is so if all was applied from a folder until now. Otherwise find out who changed the inventory. \
                --rollback applies this commit, which the inventory names from then on.";
    Failure::unavailable(message, help)
}

/// Refuses a commit that does not descend from the one which was applied last, or is not known to.
fn not_back(place: &Path, commit: &str, applied: &str) -> Result<(), Failure> {
    let (message, help) = match kinship(place, commit, applied) {
        Kinship::Follows => return Ok(()),
        Kinship::Precedes => {
            (format!("commit {commit} is older than {applied}, which the region has"), "Name a newer revision.")
        }
        Kinship::Apart => (
            format!("commit {commit} does not descend from {applied}, which the region has"),
            "It is of another branch, or somebody rewrote the history: find out who.",
        ),
        Kinship::Unknown { is_shallow: true } => (
            format!("the region has commit {applied}, and the clone is too shallow to tell whether {commit} is older"),
            "Clone the whole history, or fetch the rest: `git fetch --unshallow`.",
        ),
        Kinship::Unknown { is_shallow: false } => (
            format!("the region has commit {applied}, which the repository does not know: {commit} may be older"),
            "The clone is older than that, or the commit was taken off the branch: find out which.",
        ),
    };
    Err(Failure::unavailable(message, format!("{help} --rollback applies this one all the same.")))
}

impl Args {
    /// Whether the region is changed.
    pub fn writes(&self) -> bool {
        !self.dry_run
    }

    /// What the command is called in summary and metrics.
    pub fn name(&self) -> &'static str {
        if self.writes() { "deliver" } else { "deliver --dry-run" }
    }

    /// The digests that are let through.
    fn accepted(&self, region: &str) -> Result<BTreeSet<String>, Failure> {
        let digest = |value: &String| {
            let digest = match value.split_once('=') {
                Some((whose, digest)) if whose == region => digest,
                Some(_) => return Err(Failure::usage("--accept-deletions names another region", COPY)),
                None => value,
            };
            let is_digest = digest.len() == 16 && digest.bytes().all(|b| b.is_ascii_hexdigit());
            is_digest.then(|| digest.to_owned()).ok_or_else(|| {
                Failure::usage("--accept-deletions takes the 16 hex digits that the finding printed", COPY)
            })
        };
        self.accept_deletions.iter().map(digest).collect()
    }
}

const COPY: &str = "Copy the flag from the finding's help line.";
