//! `pouch verify`: are bundles what they should be, and is a region what its bundle says?

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use pouch_core::config::{Fleet, RegionConfig, RegionState};
use pouch_core::finding::crowd;
use pouch_core::layout::path;
use pouch_core::name::Region;
use pouch_core::page;
use pouch_core::region::published::Files;
use pouch_core::report::escape_json;
use pouch_core::report::summary::{About, FindingRecord, Summary, Verified};
use pouch_core::reuse::KeyRing;
use pouch_core::verify::bundles::{BundleTree, Measure};

use clap::ValueEnum;

use super::pages::Now;
use super::reach::ReachArgs;
use crate::cluster::{Cluster, Wanted};
use crate::error::{Ended, Failure, Kind};
use crate::run::is_fault;
use crate::run::live::{Compared, verify as compare};
use crate::run::standing::{self, Answer, Question};
use crate::run::told;
use crate::run::verify::{Proof, prove};
use crate::session::Session;
use crate::settings::{self, Opened, region_called};
use crate::shelf::Look as _;
use crate::shelf::directory::LookedAt;
use crate::shelf::output::Output;
use crate::shelf::plain_files;
use crate::shelf::standing::Asking;
use crate::shelf::target::Target;
use crate::survey::Reach;

/// Where bundles are looked for below a path, without a configuration that says it.
const OUTPUT: &str = "bundles";

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch verify                                what is published
  pouch verify --rev HEAD~1 .                 what a commit of this repository holds
  pouch verify --staged                       in a hook, before a commit
  pouch verify --identity keys/eu-west.txt    that the region can open it, too
  pouch verify --live --context eu-west --region eu-west
  pouch verify --live --region eu-west        reached as `cluster` of the region says
  pouch verify --live --all                   every region of which the configuration says how it is reached
  pouch verify --live --all -o html > regions.html

Exit codes: 0 nothing is wrong; 8 something is; 5 the branch, the repository or the cluster cannot be read; \
64 usage or configuration.";

/// Prove bundles without a cluster, or compare a region's cluster with its bundle
///
/// Without --live it proves that bundles in a folder, a revision or what is staged are whole, sealed to
/// exactly the recipients that they should be, apart from each other, and what Flux, Argo CD and kustomize
/// can use. No private key is needed; --identity proves more. Without a configuration it says what it
/// could not prove.
///
/// With --live it reads of the cluster what the bundle has, and says what is missing, what differs (by
/// name, never by value), what k0rdent still holds and what it left behind. Values of Secrets are compared
/// without decrypting anything, by the tags that the reuse key made; no region key is needed.
///
/// With --live --all it does so for every region that has `cluster` in the configuration, a few at a time, and prints one
/// table: since which commit the bundle is what it is, how much of it stands there, and how many Credentials are in
/// force. A region that cannot be reached is said so, and the others go on. --live --region NAME without a context does so
/// for that region alone.
///
/// Changes nothing, on the region or elsewhere.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// Compare with the region's cluster, which --context leads to or `cluster` of the region
    #[arg(long)]
    live: bool,
    /// With --live: compare every region of which the configuration says how its cluster is reached
    #[arg(long, requires = "live", conflicts_with_all = ["region", "kubeconfig", "context", "as_user"])]
    all: bool,
    /// With --live, as the configuration says that clusters are reached: the format of the answer
    #[arg(short, long, value_name = "FORMAT", default_value = "text", requires = "live")]
    output: Format,
    /// The region, by name or folder [default: all; required with --live if several are active]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// The folder that holds the bundles, or their repository; by default the branch of `output.git`, or else
    /// `output.path`
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// The same as PATH
    #[arg(long = "repo", value_name = "PATH", conflicts_with = "path")]
    repository: Option<PathBuf>,
    /// With --live, compare names and types only: no reuse key is read, and the bundle's manifest is believed
    #[arg(long, requires = "live")]
    no_values: bool,
    #[command(flatten)]
    bundles: BundleArgs,
    #[command(flatten)]
    reach: ReachArgs,
}

impl Args {
    /// The region, where the command line says it.
    pub fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }

    /// The folder or the repository, where the command line says it.
    fn path(&self) -> Option<&Path> {
        self.path.as_deref().or(self.repository.as_deref())
    }
}

/// How an answer about all regions is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// For machines; `pouch schema standing` describes it
    Json,
    /// A page that needs nothing else, to read or to keep
    Html,
}

/// Flags of the proof of bundles.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Proving bundles")]
struct BundleArgs {
    /// Prove what a branch, tag or commit (also REV~3) holds, from git's objects instead of the work tree
    #[arg(long, value_name = "REV", conflicts_with = "live")]
    rev: Option<String>,
    /// Prove what is staged for the next commit, for hooks: refuse Secrets in clear in staged manifests that belong
    /// to no source, age identities and reuse keys in any staged file, and attributes that change bundles' bytes
    #[arg(long, conflicts_with_all = ["live", "rev", "allowed_signers"])]
    staged: bool,
    /// With --staged: look for Secrets in clear only where bundles are
    #[arg(long, requires = "staged")]
    bundles_only: bool,
    /// Check that the age identities in FILE open what is sealed for them, and nothing else; may be given several
    /// times
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    identity: Vec<PathBuf>,
    /// Require that an SSH key which FILE allows, as ssh-keygen reads it, signed the commit at REV; without REV the
    /// one at HEAD, which the work tree must then equal
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    allowed_signers: Option<PathBuf>,
    /// End with an error where the reuse key is missing, instead of proving less
    #[arg(long, conflicts_with = "live")]
    require_tags: bool,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let names_a_cluster = args.reach.names_a_cluster();
    if !args.live && names_a_cluster {
        return Err(Failure::usage(
            "a cluster is named, and without --live none is compared",
            "Add --live, or leave the flags out that say how a cluster is reached.",
        ));
    }
    if !args.live {
        return bundles(session, args);
    }
    // The context stood behind --live once.
    let is_former = args.path().is_some_and(|path| !session.ambient.cwd().join(path).exists());
    match args.all || (args.region.is_some() && !names_a_cluster && !is_former) {
        true => by_configuration(session, args),
        false => live(session, args),
    }
}

/// Compares a region's cluster with its bundle.
fn live(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Session { ambient, ui, stop, .. } = session;
    if args.reach.context().is_none() {
        // What stands behind --live was the context once.
        let typed = args.path().filter(|path| !session.ambient.cwd().join(path).exists());
        let context = typed.map_or_else(|| "CONTEXT".into(), |path| path.display().to_string());
        let help = format!(
            "Write --live --context {context}. Where `cluster` of the regions says how they are reached, --live --all \
             compares all of them, and --live --region NAME one."
        );
        return Err(Failure::usage("nothing says which cluster --live is to compare with", help));
    }
    if args.output != Format::Text {
        return Err(Failure::usage(
            "--output is for --live without --context",
            "Leave --output out, or say with `cluster` of the region how it is reached and leave --context out.",
        ));
    }
    let opened = Opened::open(session)?;
    let fleet = &opened.settings.fleet;
    let region = region(fleet, args.region.as_deref())?;
    let about = About::Region(region.name.to_string());
    session.know(Summary { about, ..told::summary(Some(fleet.name.to_string()), "verify", Ended::Done) });
    // A check that is weaker than the one wanted must be wanted by name: a key that is missing by
    // accident is an error as everywhere.
    let keys = match args.no_values {
        true => None,
        false => Some(opened.keys(session)?),
    };
    let files = files(session, args, &opened, region)?;
    let reach = args.reach.reach(ambient);
    let connect = || {
        let cluster = Cluster::connect(&reach.wanted, reach.patience, ambient, &stop.flag())?;
        ui.note(&format!("region {}: comparing with cluster {} at {}", region.name, cluster.context, cluster.server));
        if let Some(warning) = cluster.warning() {
            ui.warn(&warning);
        }
        Ok(cluster)
    };
    let verdict = compare(Compared { fleet, region, files, keys: keys.as_ref() }, connect, Some(ui))?;
    ui.findings(&verdict.findings);
    if !ui.is_quiet() || verdict.faults() > 0 {
        ui.prose(&verdict.line(region).into());
    }
    let ended = if verdict.faults() == 0 { Ended::Done } else { Ended::Fault };
    let summary = Summary {
        verified: Some(Verified {
            region: region.name.to_string(),
            directory: region.directory.to_string(),
            objects: verdict.objects,
            values: keys.is_some(),
            faults: verdict.faults(),
        }),
        findings: verdict.findings.iter().map(FindingRecord::from).collect(),
        about: About::Region(region.name.to_string()),
        ..told::summary(Some(fleet.name.to_string()), "verify", ended)
    };
    told::record(session, || summary, "The region was compared")?;
    Ok(ended)
}

/// Compares every region that can be looked into with its bundle, or the one that is named.
fn by_configuration(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let ui = &session.ui;
    let opened = Opened::open(session)?;
    let only = args.region.as_deref().map(|called| region(&opened.settings.fleet, Some(called))).transpose()?;
    let keys = match args.no_values {
        true => None,
        false => Some(opened.keys(session)?),
    };
    let reach = Reach { wanted: Wanted::default(), ..args.reach.reach(&session.ambient) };
    let asked = Question { opened: &opened, only, keys: keys.as_ref(), path: args.path(), reach: &reach };
    let Answer { standing: answer, findings, faults, unread } =
        session.timed("regions", || standing::standing(session, &asked))?;
    ui.findings(&findings);
    for region in &answer.regions {
        if let Some(unread) = &region.unread {
            ui.error(&format!("region {} was not compared: {}", region.name, unread.message), &unread.help);
        }
    }
    match args.output {
        Format::Text if ui.is_quiet() && faults == 0 && unread == 0 => {}
        Format::Text => ui.prose(&answer.text(session.global.verbose)),
        Format::Html => ui.result(&page::standing(&answer, Now::of(session).maker())),
        Format::Json => {
            let json = serde_json::to_string_pretty(&answer).map_err(|_| Failure::bug("an answer is no JSON"))?;
            ui.result(&format!("{}\n", escape_json(&json)));
        }
    }
    let ended = match (unread, faults) {
        (1.., _) => Ended::Partway(Kind::Unavailable),
        (0, 1..) => Ended::Fault,
        (0, 0) => Ended::Done,
    };
    let summary = || Summary {
        findings: findings.iter().map(FindingRecord::from).collect(),
        compared: Some(answer.counted()),
        ..told::summary(Some(answer.fleet.clone()), "verify", ended)
    };
    told::record(session, summary, "The regions were compared")?;
    Ok(ended)
}

/// What is published for the region: in the folder that is named, on the branch of `output.git`, or in the
/// output's folder.
fn files(session: &Session, args: &Args, opened: &Opened, region: &RegionConfig) -> Result<Files, Failure> {
    // All that can go wrong here is that the published state cannot be read.
    let unread = |error| Failure { kind: Kind::Unavailable, ..Failure::from(error) };
    let fleet = &opened.settings.fleet;
    let root = match args.path() {
        Some(directory) => session.ambient.cwd().join(directory),
        None if fleet.output.git.is_some() => {
            let output = Output::of(opened)?;
            let target = output.target_of(&region.name).ok_or_else(|| Failure::bug("the region has no place"))?;
            return output.open(session, target)?.read(&region.directory).and_then(plain_files).map_err(unread);
        }
        None => opened.output(),
    };
    if !root.is_dir() {
        let message = format!("there is no folder {}", root.display());
        let help = "Name the folder that holds the bundles, in a checkout of the branch that they are published to.";
        return Err(match args.path() {
            Some(_) => Failure::usage(message, help),
            None => Failure::unavailable(message, help),
        });
    }
    LookedAt::open(&root).and_then(|shelf| shelf.read(&region.directory)).and_then(plain_files).map_err(unread)
}

/// The region that is meant.
fn region<'a>(fleet: &'a Fleet, wanted: Option<&str>) -> Result<&'a RegionConfig, Failure> {
    let in_use: Vec<&RegionConfig> =
        fleet.regions.values().filter(|region| region.state != RegionState::Retired).collect();
    let names: Vec<&str> = in_use.iter().map(|region| region.name.as_str()).collect();
    let its_regions = format!("Regions that are not retired: {}.", names.join(", "));
    let Some(wanted) = wanted else {
        return match in_use.as_slice() {
            [region] => Ok(region),
            [] => Err(Failure::usage("the configuration has no region that is not retired", "")),
            _ => Err(Failure::usage("the configuration has several regions; --region says which", its_regions)),
        };
    };
    let region = region_called(fleet, wanted)?;
    match region.state {
        RegionState::Retired => {
            Err(Failure::usage(format!("region {} is retired, and has no bundle", region.name), its_regions))
        }
        RegionState::Active | RegionState::Paused => Ok(region),
    }
}

/// Proves bundles without a cluster.
fn bundles(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let ui = &session.ui;
    let opened = configuration(session, args)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let region = match (fleet, &args.region) {
        (Some(fleet), Some(called)) => Some(region_called(fleet, called)?.directory.to_string()),
        (_, called) => called.clone(),
    };
    let keys = keys(session, args, opened.as_ref())?;
    let identities = settings::all_identities(&args.bundles.identity, session)?;
    let output = fleet.map_or(OUTPUT, |fleet| fleet.output.path.as_str());
    let places = match &opened {
        Some(opened) if args.path().is_none() && !args.bundles.staged && opened.settings.fleet.output.git.is_some() => {
            Some(Output::of(opened)?)
        }
        _ => None,
    };
    let targets = places.as_ref().map(|places| of_region(places.bases(), fleet, args.region.as_deref()));
    let targets: Vec<Option<&Target>> = targets.map_or(vec![None], |targets| targets.into_iter().map(Some).collect());
    let (mut proofs, mut commits, mut searched, mut failures) = (Vec::new(), Vec::new(), String::new(), Vec::new());
    for target in targets {
        let asking = Asking {
            session,
            opened: opened.as_ref(),
            path: args.path(),
            target,
            rev: args.bundles.rev.as_deref(),
            staged: args.bundles.staged,
            bundles_only: args.bundles.bundles_only,
            allowed_signers: args.bundles.allowed_signers.as_deref(),
            region: region.clone(),
            alone: false,
            output,
        };
        let read = match asking.read() {
            Ok(read) => read,
            Err(failure) => {
                failures.push(failure);
                continue;
            }
        };
        if let Some(commit) = &read.commit {
            let words = if read.is_held { "holding the work tree against" } else { "looking at" };
            ui.note(&format!("{words} commit {commit}"));
        }
        let here = match (target, &opened) {
            (None, Some(opened)) => found_in(opened, &read.tree, args)?,
            _ => None,
        };
        let fleet = target.map(|target| &target.fleet).or(here.as_ref()).or(fleet);
        let measure = Measure { fleet, keys: keys.as_ref(), scope: read.scope, shown: read.shown, above: read.above };
        proofs.push(prove(&measure, &read.tree, &identities, read.findings));
        commits.extend(read.commit);
        searched = read.places;
    }
    // What cannot be read is worse than what was found, and what was found is told all the same.
    let worst = failures.iter().map(|failure| failure.kind).max();
    let Some(verdict) = Proof::together(proofs) else {
        let last = failures.pop();
        failures.iter().for_each(|failure| ui.error(&failure.message, &failure.help));
        return Err(last.unwrap_or_else(|| nothing(args)));
    };
    failures.iter().for_each(|failure| ui.error(&failure.message, &failure.help));
    ui.findings(&verdict.findings);
    for (recipient, regions) in &verdict.belongs {
        let names: Vec<&str> = regions.iter().map(|region| region.as_str()).collect();
        match names.as_slice() {
            [] if verdict.openers.contains(recipient) => {
                ui.warn(&format!(
                    "no region that was proved is for {recipient}, but its identity opens files all the same"
                ));
            }
            [] => ui.warn(&format!("no region that was proved is for {recipient}, so its identity opened nothing")),
            names => ui.note(&format!("{recipient} belongs to {}", names.join(", "))),
        }
    }
    let faults = crowd::count(verdict.findings.iter().filter(|finding| is_fault(finding)));
    let is_strange = !verdict.belongs.is_empty() && verdict.belongs.values().all(Vec::is_empty);
    if is_strange && faults == 0 && !verdict.regions.is_empty() {
        return Err(Failure::usage(
            "the identities of --identity open none of the regions that were proved",
            "Give the identity of a region, or an escrow identity. `bundle.yaml` lists who can read each bundle.",
        ));
    }
    if !ui.is_quiet() || faults > 0 {
        ui.prose(&verdict.lines());
    }
    if verdict.regions.is_empty() && faults == 0 {
        if !args.bundles.staged {
            // Nothing found is no proof: a misspelt region, or bundles of another fleet alone.
            return Err(nothing(args));
        }
        ui.note(&format!("no bundle is staged in {searched}"));
    }
    let ended = if faults == 0 { Ended::Done } else { Ended::Fault };
    let ended = worst.map_or(ended, Ended::Partway);
    let commit = if let [commit] = &*commits { Some(commit.clone()) } else { None };
    told::record(session, || verdict.summary(commit, ended), "The bundles were looked at")?;
    Ok(ended)
}

/// The places of a region, or all.
fn of_region<'t>(targets: Vec<&'t Target>, fleet: Option<&Fleet>, called: Option<&str>) -> Vec<&'t Target> {
    let region = fleet.zip(called).and_then(|(fleet, called)| region_called(fleet, called).ok());
    let is_its = |target: &&Target| region.is_none_or(|region| target.fleet.regions.contains_key(&region.name));
    targets.into_iter().filter(is_its).collect()
}

/// The configuration of those regions whose bundles stand in a tree, where regions have places of their own; none where
/// all are in one.
fn found_in(opened: &Opened, tree: &BundleTree, args: &Args) -> Result<Option<Fleet>, Failure> {
    let called = args.region.as_deref();
    let fleet = &opened.settings.fleet;
    let Some(git) = &fleet.output.git else { return Ok(None) };
    let mut places: BTreeMap<(String, String), BTreeSet<Region>> = BTreeMap::new();
    for region in fleet.regions.values() {
        let place = git.place(&region.directory);
        places.entry((place.repository, place.base)).or_default().insert(region.name.clone());
    }
    if places.len() < 2 {
        return Ok(None);
    }
    let named = called.and_then(|called| region_called(fleet, called).ok());
    let stands = |region: &RegionConfig| tree.contains_key(path::manifest(&region.directory).as_str());
    let is_meant = |name: &Region| match named {
        Some(named) => named.name == *name,
        None => fleet.regions.get(name).is_some_and(&stands),
    };
    let mut meant = places.into_values().filter(|regions| regions.iter().any(is_meant));
    match (meant.next(), meant.next()) {
        (Some(regions), None) => Ok(Some(fleet.only(&regions))),
        (None, _) if args.bundles.staged => Ok(None),
        (None, _) => Err(nothing(args)),
        (Some(_), Some(_)) => Err(Failure::usage(
            "bundles stand here of regions that the configuration publishes to different repositories or branches",
            "Find out who put them beside each other. --region proves one of them.",
        )),
    }
}

fn nothing(args: &Args) -> Failure {
    let message = match &args.region {
        Some(region) => format!("there is no bundle of region {region}"),
        None => "there is no bundle of this fleet".to_owned(),
    };
    Failure::unavailable(message, "Nothing was proved. Name the folder or the revision that has it.")
}

/// The configuration. Who has only a bundle has none: where a path is named, it may be missing.
fn configuration(session: &Session, args: &Args) -> Result<Option<Opened>, Failure> {
    let may_miss = args.path().is_some() || args.bundles.staged;
    if may_miss { Opened::open_if_there(session) } else { Opened::open(session).map(Some) }
}

/// The reuse keys, if they are at hand. Consumers have none, and need none.
fn keys(session: &Session, args: &Args, opened: Option<&Opened>) -> Result<Option<KeyRing>, Failure> {
    let Some(opened) = opened else {
        return match args.bundles.require_tags {
            true => Err(Failure::usage(
                "--require-tags wants the reuse key, and there is no configuration that says where it is",
                "Name the configuration with -f.",
            )),
            false => Ok(None),
        };
    };
    if args.bundles.require_tags {
        return opened.keys(session).map(Some);
    }
    let Some((keys, warnings)) = settings::reuse_keys_at_hand(&opened.settings, &session.ambient)? else {
        return Ok(None);
    };
    warnings.iter().for_each(|warning| session.ui.warn(warning));
    Ok(Some(keys))
}
