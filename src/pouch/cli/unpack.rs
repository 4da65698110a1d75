//! `pouch unpack`: a region's bundle in clear, for whoever applies it without Flux or KSOPS.

use std::fs;
use std::path::{Path, PathBuf};

use pouch_core::config::Fleet;
use pouch_core::listing::counted;
use pouch_core::verify::bundles::{Measure, regions};

use crate::error::{Ended, Failure};
use crate::run::unpack::{is_expected, unpack};
use crate::session::Session;
use crate::settings::{Given, Opened, given, region_called, reuse_keys_at_hand};
use crate::shelf::output::Output;
use crate::shelf::standing::Asking;

/// Where bundles are looked for below a path, without a configuration that says it.
const OUTPUT: &str = "bundles";

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch unpack . --region eu-west --identity keys/eu-west.txt | kubectl apply --server-side -f -
  pouch unpack bundles/regions/eu-west --identity-command ./print-identity
  pouch unpack /srv/fleet.git --rev main --region eu-west --allowed-signers signers

Exit codes: 0 all of it was printed; 8 something is wrong with the bundle, and nothing was printed; 5 it cannot be
read; 64 usage, or an identity that does not open it.";

/// Print a region's bundle in clear, as manifests in the order to apply them
///
/// Nothing is printed unless all of it is right: the manifest lists every file, every file is what the
/// manifest says, every Secret opens and its MAC holds. Nothing is written to disk. It is what a plugin of
/// Argo CD runs, what a region without Flux or Argo CD applies, and what is left when all else is lost.
///
/// Beside PATH no configuration is looked for, as whoever writes there could have put one there: name it with
/// -f to have the reuse key vouch for the bundle as well.
#[derive(Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The region's folder (with bundle.yaml), the folder that holds the bundles, or their repository; by
    /// default what the configuration publishes
    #[arg(value_name = "PATH")]
    path: Option<PathBuf>,
    /// The region, by name or folder [default: that of PATH, or the only one]
    #[arg(long, value_name = "NAME")]
    region: Option<String>,
    /// What a branch, tag or commit holds, from git's objects instead of the work tree
    #[arg(long, value_name = "REV", requires = "path")]
    rev: Option<String>,
    /// A file with the region's age identity; may be given several times [default: SOPS_AGE_KEY_FILE,
    /// SOPS_AGE_KEY, SOPS_AGE_KEY_CMD]
    #[arg(long, value_name = "FILE")]
    identity: Vec<PathBuf>,
    /// A command that prints the identity; its words are split as a shell does, and no shell runs
    #[arg(long, value_name = "COMMAND")]
    identity_command: Option<String>,
    /// Require that an SSH key which FILE allows, as ssh-keygen reads it, signed the commit
    #[arg(long, value_name = "FILE", requires = "path")]
    allowed_signers: Option<PathBuf>,
    /// Print to a terminal
    #[arg(long)]
    force: bool,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    let Session { ui, ambient, .. } = session;
    if ambient.stdout_is_terminal() && !args.force {
        return Err(Failure::usage(
            "this prints Secrets in clear, and standard output is a terminal",
            "Pipe it to what applies it, such as `kubectl apply --server-side -f -`; --force prints it here.",
        ));
    }
    let opened = configuration(session, args)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let place = place(session, args)?;
    let region = region(fleet, args.region.as_deref(), place.directory)?;
    let keys = match &opened {
        Some(opened) => reuse_keys_at_hand(&opened.settings, ambient)?,
        None => None,
    };
    keys.iter().flat_map(|(_, warnings)| warnings).for_each(|warning| ui.warn(warning));
    let which = Given { files: &args.identity, command: args.identity_command.as_deref() };
    let identities = given(&which, session, &session.stop.flag())?;
    let places = match &opened {
        Some(opened) if args.path.is_none() && opened.settings.fleet.output.git.is_some() => Some(Output::of(opened)?),
        _ => None,
    };
    let target = match (&places, fleet, &region) {
        (Some(places), Some(fleet), Some(region)) => places.target_of(&region_called(fleet, region)?.name),
        (Some(places), ..) => places.targets().first(),
        _ => None,
    };
    let asking = Asking {
        session,
        opened: opened.as_ref(),
        path: place.path.as_deref(),
        target,
        rev: args.rev.as_deref(),
        staged: false,
        bundles_only: false,
        allowed_signers: args.allowed_signers.as_deref(),
        region: region.clone(),
        alone: true,
        output: fleet.map_or(OUTPUT, |fleet| fleet.output.path.as_str()),
    };
    let read = asking.read()?;
    let directory = match region {
        Some(region) => region,
        None => only(&read.tree)?,
    };
    let fleet = target.map(|target| &target.fleet).or(fleet);
    let scope = pouch_core::verify::bundles::TreeScope::Region(directory.clone());
    let keys = keys.as_ref().map(|(keys, _)| keys);
    let measure = Measure { fleet, keys, scope, shown: read.shown, above: read.above };
    let outcome = unpack(&measure, &read.tree, &directory, &identities, read.findings)?;
    let (expected, told): (Vec<_>, Vec<_>) = outcome.findings.into_iter().partition(is_expected);
    ui.findings(&told);
    let Some(unpacked) = outcome.unpacked else {
        ui.error("nothing was printed, because something is wrong with the bundle", "");
        return Ok(Ended::Fault);
    };
    expected.iter().for_each(|finding| ui.detail(&finding.message));
    ui.result(&unpacked.text);
    ui.detail(&format!("region {directory}: {}", counted(unpacked.objects, "object", "objects")));
    Ok(Ended::Done)
}

/// The configuration, unless a path is named and it is not.
fn configuration(session: &Session, args: &Args) -> Result<Option<Opened>, Failure> {
    if args.path.is_none() || session.global.is_named { Opened::open(session).map(Some) } else { Ok(None) }
}

/// Where the bundles are, and whose folder was named.
struct Named {
    path: Option<PathBuf>,
    directory: Option<String>,
}

/// Finds the output above a region's own folder.
fn place(session: &Session, args: &Args) -> Result<Named, Failure> {
    let Some(path) = &args.path else { return Ok(Named { path: None, directory: None }) };
    let whole = session.ambient.cwd().join(path);
    if !whole.join("bundle.yaml").is_file() {
        return Ok(Named { path: Some(path.clone()), directory: None });
    }
    let strange = || {
        Failure::usage(
            format!("{} has a bundle.yaml, but is no region's folder below `regions`", path.display()),
            "Keep the folders as they were published, regions/NAME, and name that one.",
        )
    };
    let whole = fs::canonicalize(&whole).map_err(|_| strange())?;
    let above = whole.parent().filter(|above| above.file_name().is_some_and(|name| name == "regions"));
    let root = above.and_then(Path::parent).ok_or_else(strange)?;
    let directory = whole.file_name().and_then(|name| name.to_str()).ok_or_else(strange)?;
    Ok(Named { path: Some(root.to_owned()), directory: Some(directory.to_owned()) })
}

/// The region's folder, where somebody says which.
fn region(fleet: Option<&Fleet>, called: Option<&str>, folder: Option<String>) -> Result<Option<String>, Failure> {
    let called = match (fleet, called) {
        (Some(fleet), Some(called)) => Some(region_called(fleet, called)?.directory.to_string()),
        (_, called) => called.map(str::to_owned),
    };
    match (called, folder) {
        (Some(called), Some(folder)) if called != folder => Err(Failure::usage(
            format!("PATH is the folder of region {folder}, and --region says {called}"),
            "Leave one of the two out.",
        )),
        (called, folder) => Ok(called.or(folder)),
    }
}

/// The only region that there is.
fn only(tree: &pouch_core::verify::bundles::BundleTree) -> Result<String, Failure> {
    let found: Vec<&str> = regions(tree).collect();
    match found.as_slice() {
        [region] => Ok((*region).to_owned()),
        [] => Err(Failure::unavailable("there is no bundle", "Name the folder or the revision that has one.")),
        several => Err(Failure::usage(
            "there are bundles of several regions; --region says which",
            format!("There are: {}.", several.join(", ")),
        )),
    }
}
