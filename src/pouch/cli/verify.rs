//! `pouch verify`: are bundles what they should be, and is a region what its bundle says?

mod bundles;
mod place;

use std::path::PathBuf;

use pouch_core::config::{Fleet, RegionConfig, RegionState};
use pouch_core::finding::{Finding, Severity};
use pouch_core::listing::counted;
use pouch_core::region::published::Files;
use pouch_core::report::summary::{FindingRecord, Summary, Verified};

use super::publish::Branch;
use super::reach::RegionReach;
use super::{Global, Opened, record, region_called};
use crate::ambient::Ambient;
use crate::cluster::Cluster;
use crate::error::{Failure, exit};
use crate::run::live::{Subject, Verdict, verify};
use crate::shelf::Look as _;
use crate::shelf::directory::look;
use crate::stop::Stop;
use crate::ui::Ui;

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
/// Changes nothing, on the region or elsewhere.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Compare with the cluster that this context of the kubeconfig leads to
    #[arg(long, value_name = "CONTEXT")]
    live: Option<String>,
    /// The region, by name or folder [default: all; with --live needed if more than one is not retired]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// The folder that holds the bundles, or their repository; by default the branch of `output.git`, or else
    /// `output.path`
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// With --live, compare names and types only: no reuse key is read, and the bundle's manifest is believed
    #[arg(long, requires = "live")]
    no_values: bool,
    #[command(flatten)]
    bundles: bundles::BundleArgs,
    #[command(flatten)]
    reach: RegionReach,
}

impl Args {
    /// The region, where the command line says it.
    pub fn region(&self) -> Option<&str> {
        self.region.as_deref()
    }
}

/// Runs the command.
///
/// # Errors
/// Where the bundle or the cluster cannot be read, or the command line leaves open which are meant.
pub fn run(args: &Args, global: &Global, ambient: &Ambient, ui: &Ui, stop: &Stop) -> Result<u8, Failure> {
    let Some(context) = args.live.as_deref() else { return bundles::run(args, global, ambient, ui, stop) };
    if context.is_empty() {
        return Err(Failure::usage("--live names no context", "Name the kubeconfig's context with --live CONTEXT."));
    }
    let opened = Opened::open(global, ambient)?;
    let fleet = &opened.settings.fleet;
    let region = region(fleet, args.region.as_deref())?;
    // A check that is weaker than the one wanted must be wanted by name: a key that is missing by
    // accident is an error as everywhere.
    let keys = match args.no_values {
        true => None,
        false => Some(opened.keys(ambient, ui)?),
    };
    let files = files(args, &opened, region, ambient, stop)?;
    let reach = args.reach.reach(context, ambient);
    let connect = || {
        let cluster = Cluster::connect(&reach.wanted, reach.patience, ambient, &stop.flag())?;
        ui.note(&format!("region {}: comparing with cluster {} at {}", region.name, cluster.context, cluster.server));
        if let Some(warning) = cluster.warning() {
            ui.warn(&warning);
        }
        Ok(cluster)
    };
    let verdict = verify(Subject { fleet, region, files, keys: keys.as_ref() }, connect, ui)?;
    ui.findings(&verdict.findings);
    ui.result(&outcome(region, &verdict));
    let code = if verdict.faults() == 0 { exit::OK } else { exit::FAULT };
    let summary = Summary {
        api_version: "pouch/v1alpha1",
        kind: "Summary",
        fleet: fleet.name.to_string(),
        command: "verify",
        exit_code: code,
        commit: None,
        credentials: None,
        regions: None,
        verified: Some(Verified {
            region: region.name.to_string(),
            directory: region.directory.to_string(),
            objects: verdict.objects,
            values: keys.is_some(),
            faults: verdict.faults(),
        }),
        proved: None,
        findings: verdict.findings.iter().map(FindingRecord::from).collect(),
    };
    record(&summary, global, ambient, "The region was compared")?;
    Ok(code)
}

/// What is published for the region: in the folder that is named, on the branch of `output.git`, or in the
/// output's folder.
fn files(
    args: &Args,
    opened: &Opened,
    region: &RegionConfig,
    ambient: &Ambient,
    stop: &Stop,
) -> Result<Files, Failure> {
    // All that can go wrong here is that the published state cannot be read.
    let unread = |error| Failure { code: exit::UNAVAILABLE, ..Failure::from(error) };
    let fleet = &opened.settings.fleet;
    let root = match &args.path {
        Some(directory) => ambient.cwd().join(directory),
        None if fleet.output.git.is_some() => {
            let branch = Branch::of(opened)?;
            return branch.open(ambient, stop)?.read(&region.directory).map_err(unread);
        }
        None => opened.settings.base.join(&fleet.output.path),
    };
    if !root.is_dir() {
        let message = format!("there is no folder {}", root.display());
        let help = "Name the folder that holds the bundles, in a checkout of the branch that they are published to.";
        return Err(match args.path {
            Some(_) => Failure::usage(message, help),
            None => Failure::unavailable(message, help),
        });
    }
    look(&root, &region.directory).map_err(unread)
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

/// One line for the region.
fn outcome(region: &RegionConfig, verdict: &Verdict) -> String {
    let objects = counted(verdict.objects, "object", "objects");
    let is_warning = |finding: &&Finding| finding.severity == Severity::Warning;
    let warnings = verdict.findings.iter().filter(is_warning).count();
    let mut line = match verdict.faults() {
        0 => format!("{}  as published  {objects}", region.name),
        faults => format!("{}  not as published  {objects}, {}", region.name, counted(faults, "fault", "faults")),
    };
    if warnings > 0 {
        line.push_str(&format!(", {}", counted(warnings, "warning", "warnings")));
    }
    line.push('\n');
    line
}
