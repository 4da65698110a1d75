//! Which bundle a command opens, with whose identity: proved first, or not handed on.

use std::collections::BTreeSet;
use std::fs::{self, FileType};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use pouch_core::capi::resource_set::is_resource_set;
use pouch_core::config::Fleet;
use pouch_core::finding::Finding;
use pouch_core::kinds::is_published;
use pouch_core::layout::manifest::ManifestObject;
use pouch_core::name::{Claimant, Directory, ObjectKey, Region};
use pouch_core::verify::bundles::unpack::Unpacked;
use pouch_core::verify::bundles::{BundleTree, Measure, TreeScope, open, regions};

use crate::error::Failure;
use crate::run::unpack::{is_expected, unpack};
use crate::session::Session;
use crate::settings::{Given, Opened, given, region_called, reuse_keys_at_hand};
use crate::shelf::output::Output;
use crate::shelf::standing::{Asking, Read};

/// Where bundles are looked for below a path, without a configuration that says it.
const OUTPUT: &str = "bundles";

/// What is said where only hashes were proved, which anybody can make.
const UNVOUCHED: &str = "nobody vouches for this bundle: whoever can write there can have all hashes fit. --allowed-signers \
                         demands a signed commit, and -f the configuration's reuse key";

/// Flags of commands that open one region's bundle.
#[derive(Debug, Default, clap::Args)]
pub struct BundleArgs {
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
}

/// What the published bundle of a region holds, unopened.
pub struct Listed {
    /// The region's folder.
    pub directory: Directory,
    /// Its objects.
    pub objects: BTreeSet<ObjectKey>,
}

/// Lists what the published bundle of a region holds.
///
/// # Errors
/// Where there is none, or it is not one that pouch published.
pub fn listed(session: &Session, opened: &Opened, called: Option<&str>) -> Result<Listed, Failure> {
    let fleet = &opened.settings.fleet;
    let args = BundleArgs::default();
    let found = args.read(session, Some(opened), None, region(Some(fleet), called, None)?)?;
    let keys = reuse_keys_at_hand(&opened.settings, &session.ambient)?;
    let keys = keys.as_ref().map(|(keys, _)| keys);
    let scope = TreeScope::Region(found.directory.clone());
    let Read { tree, shown, above, .. } = found.read;
    let measure = Measure { fleet: Some(fleet), keys, scope, shown, above };
    let (mut book, findings) = open(&measure, &tree);
    let Some(region) = book.regions.remove(&found.directory).filter(|region| region.authentic || keys.is_none()) else {
        session.ui.findings(&findings);
        let message = format!("there is no bundle of region {} that pouch published", found.directory);
        return Err(Failure::unavailable(message, "Publish it, and see what `pouch verify` says of it."));
    };
    let objects: BTreeSet<ObjectKey> = region.manifest.objects.iter().map(|object| object.key.clone()).collect();
    // The last group or template may have left the configuration, and its sets are still about to go.
    let may_own = |by: &Claimant| region.authentic || fleet.may_own_sets(by, &region.name);
    let is_own_set = |object: &ManifestObject| {
        is_resource_set(object.kind()) && object.needed_by.iter().any(|needed_by| may_own(&needed_by.by))
    };
    let is_ours = |object: &&ManifestObject| {
        let kind = object.kind();
        kind.is_namespace() || is_published(kind) || fleet.kinds.contains_key(kind) || is_own_set(object)
    };
    if let Some(object) = region.manifest.objects.iter().find(|object| !is_ours(object)) {
        let message = format!("the bundle holds {}, of a kind that pouch does not publish", object.key);
        return Err(Failure::unavailable(message, "Find out who put it there."));
    }
    Ok(Listed { directory: region.directory, objects })
}

/// A region's bundle.
pub struct InClear {
    /// The configuration, where there is one.
    pub opened: Option<Opened>,
    /// The region, by the configuration's name or its folder's.
    pub region: Region,
    /// The commit that it was read from, where it was one.
    pub commit: Option<String>,
    /// The manifests; none where something is wrong with the bundle, and the findings were told.
    pub unpacked: Option<Unpacked>,
    /// What was found about it, and told.
    pub findings: Vec<Finding>,
}

/// What a region's bundle is read with.
struct Found {
    fleet: Option<Fleet>,
    read: Read,
    directory: String,
    region: Region,
}

impl BundleArgs {
    /// The bundle in clear, proved whole; tells what is wrong with it. `known` hears as soon as possible which region it is,
    /// and of which configuration.
    ///
    /// # Errors
    /// Where there is none, or the identities do not open all of it.
    pub fn open(&self, session: &Session, known: &dyn Fn(Option<&Fleet>, Option<Region>)) -> Result<InClear, Failure> {
        let Session { ui, ambient, .. } = session;
        let opened = match &self.path {
            Some(_) if !session.global.is_named => None,
            _ => Some(Opened::open(session)?),
        };
        let place = place(session, self.path.as_ref())?;
        let whole = opened.as_ref().map(|opened| &opened.settings.fleet);
        let region = region(whole, self.region.as_deref(), place.directory)?;
        known(whole, region.as_deref().map(|directory| name(whole, directory)));
        let keys = match &opened {
            Some(opened) => reuse_keys_at_hand(&opened.settings, ambient)?,
            None => None,
        };
        keys.iter().flat_map(|(_, warnings)| warnings).for_each(|warning| ui.warn(warning));
        let which = Given { files: &self.identity, command: self.identity_command.as_deref() };
        let identities = given(&which, session, &session.stop.flag())?;
        let found = self.read(session, opened.as_ref(), place.path.as_deref(), region)?;
        let scope = TreeScope::Region(found.directory.clone());
        let keys = keys.as_ref().map(|(keys, _)| keys);
        let Read { tree, shown, above, findings, commit, .. } = found.read;
        let measure = Measure { fleet: found.fleet.as_ref(), keys, scope, shown, above };
        let outcome = unpack(&measure, &tree, &found.directory, &identities, findings)?;
        let (expected, told): (Vec<Finding>, Vec<Finding>) = outcome.findings.into_iter().partition(is_expected);
        ui.findings(&told);
        if outcome.unpacked.is_some() {
            expected.iter().for_each(|finding| ui.detail(&finding.message));
            if keys.is_none() && self.allowed_signers.is_none() {
                ui.note(UNVOUCHED);
            }
        }
        let region = found.region;
        Ok(InClear { opened, region, commit, unpacked: outcome.unpacked, findings: told })
    }

    /// Where the command line says that bundles are.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Reads the region's bundle from where the command line says it is.
    fn read(
        &self,
        session: &Session,
        opened: Option<&Opened>,
        path: Option<&Path>,
        region: Option<String>,
    ) -> Result<Found, Failure> {
        let whole = opened.map(|opened| &opened.settings.fleet);
        let places = match opened {
            Some(opened) if self.path.is_none() && opened.settings.fleet.output.git.is_some() => {
                Some(Output::of(opened)?)
            }
            _ => None,
        };
        let target = match (&places, whole, &region) {
            (Some(places), Some(fleet), Some(region)) => places.target_of(&region_called(fleet, region)?.name),
            (Some(places), ..) => places.targets().first(),
            _ => None,
        };
        let asking = Asking {
            session,
            opened,
            path,
            target,
            rev: self.rev.as_deref(),
            staged: false,
            bundles_only: false,
            allowed_signers: self.allowed_signers.as_deref(),
            region: region.clone(),
            alone: true,
            output: whole.map_or(OUTPUT, |fleet| fleet.output.path.as_str()),
        };
        let read = asking.read()?;
        let directory = match region {
            Some(region) => region,
            None => only(&read.tree)?,
        };
        let fleet = target.map(|target| &target.fleet).or(whole).cloned();
        let region = name(fleet.as_ref(), &directory);
        Ok(Found { fleet, read, directory, region })
    }
}

/// Where the bundles are, and whose folder was named.
struct Named {
    path: Option<PathBuf>,
    directory: Option<String>,
}

/// Finds the output above a region's own folder.
fn place(session: &Session, path: Option<&PathBuf>) -> Result<Named, Failure> {
    let Some(path) = path else { return Ok(Named { path: None, directory: None }) };
    let whole = session.ambient.cwd().join(path);
    let manifest = whole.join("bundle.yaml");
    if !manifest.is_file() {
        // A link that leads nowhere is there, too.
        return match fs::symlink_metadata(&manifest) {
            Ok(meta) => Err(no_file(&path.join("bundle.yaml"), meta.file_type())),
            Err(_) => Ok(Named { path: Some(path.clone()), directory: None }),
        };
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

/// Says that something else than a file stands where a manifest should.
fn no_file(manifest: &Path, kind: FileType) -> Failure {
    let what = match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_symlink() => "a symlink that leads to no file",
        kind if kind.is_fifo() => "a FIFO",
        kind if kind.is_socket() => "a socket",
        _ => "a device",
    };
    let message = format!("{} is {what}: the manifest of a region's bundle is a file", manifest.display());
    Failure::unavailable(message, "Find out who put it there, and fetch the bundle again as it was published.")
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

/// What the region in a folder is called.
fn name(fleet: Option<&Fleet>, directory: &str) -> Region {
    let known = fleet.and_then(|fleet| region_called(fleet, directory).ok());
    known.map_or_else(|| Region::from(directory), |region| region.name.clone())
}

/// The only region that there is.
fn only(tree: &BundleTree) -> Result<String, Failure> {
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
