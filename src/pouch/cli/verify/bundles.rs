//! `pouch verify` without a cluster: are bundles whole, sealed, separated and readable?

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pouch_core::config::Fleet;
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::name::SourceName;
use pouch_core::proof::{Form, Measure, Scope, Standing, Tree, holds_key};
use pouch_core::report::summary::{FindingRecord, Proved, Summary};
use pouch_core::reuse::KeyRing;

use super::super::{Global, Opened, record};
use super::Args;
use crate::ambient::Ambient;
use crate::failure::{Failure, exit};
use crate::git::objects::standing::{Found, Mode, discover};
use crate::git::objects::{self, Kind, ObjectsError, Store};
use crate::git::{is_reference, program, signers};
use crate::pipeline::proof::{Verdict, is_fault, prove};
use crate::publish::directory::whole;
use crate::settings;
use crate::stop::Stop;
use crate::ui::Ui;

/// Where bundles are looked for below a path, without a configuration that says it.
const OUTPUT: &str = "bundles";

/// The configuration's usual name, which may be missing here.
const CONFIG: &str = "pouch.yaml";

/// Flags of the proof of bundles.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Proving bundles")]
pub struct BundleArgs {
    /// Prove what a branch, tag or commit holds, read from git's objects and not from the work tree
    #[arg(long, value_name = "REV", conflicts_with = "live")]
    rev: Option<String>,
    /// Prove what is staged for the next commit, and refuse Secrets and private keys in clear; for hooks
    #[arg(long, conflicts_with_all = ["live", "rev", "allowed_signers"])]
    staged: bool,
    /// Open with the age identities in FILE what is for them, and nothing else; may be given several times
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    identity: Vec<PathBuf>,
    /// The commit at REV (by default HEAD) must be signed by an SSH key that FILE allows, as ssh-keygen reads it
    #[arg(long, value_name = "FILE", conflicts_with = "live")]
    allowed_signers: Option<PathBuf>,
    /// End with an error where the reuse key is missing, instead of proving less
    #[arg(long, conflicts_with = "live")]
    require_tags: bool,
}

/// What was read, and from where.
struct Read {
    tree: Tree,
    /// What stands before a path where it is shown.
    shown: String,
    scope: Scope,
    /// What was found on the way.
    findings: Vec<Finding>,
}

/// Runs the command.
///
/// # Errors
/// Where the bundles or what they are judged by cannot be read.
pub fn run(args: &Args, global: &Global, ambient: &Ambient, ui: &Ui, stop: &Stop) -> Result<u8, Failure> {
    let opened = configuration(args, global, ambient)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    if let (Some(fleet), Some(region)) = (fleet, &args.region) {
        known(fleet, region)?;
    }
    let keys = keys(args, opened.as_ref(), ambient, ui)?;
    let identities = settings::all_identities(&args.bundles.identity, ambient, ui)?;
    let read = read(args, opened.as_ref(), ambient, stop)?;
    let measure = Measure { fleet, keys: keys.as_ref(), scope: read.scope, shown: read.shown };
    let verdict = prove(&measure, &read.tree, &identities, read.findings);
    ui.findings(&verdict.findings);
    for (recipient, regions) in &verdict.belongs {
        let names: Vec<&str> = regions.iter().map(|region| region.as_str()).collect();
        match names.as_slice() {
            [] => ui.warn(&format!("no region that was proved is for {recipient}, so its identity opened nothing")),
            names => ui.note(&format!("{recipient} belongs to {}", names.join(", "))),
        }
    }
    let faults = verdict.findings.iter().filter(|finding| is_fault(finding)).count();
    ui.result(&outcomes(&verdict));
    if verdict.regions.is_empty() && faults == 0 {
        if !args.bundles.staged {
            // Nothing found is no proof: a misspelt region, or bundles of another fleet alone.
            return Err(nothing(args));
        }
        ui.note("no bundle is staged");
    }
    let code = if faults == 0 { exit::OK } else { exit::FAULT };
    let summary = summary(fleet, &verdict, code);
    record(&summary, global, ambient, "The bundles were looked at")?;
    Ok(code)
}

fn nothing(args: &Args) -> Failure {
    let message = match &args.region {
        Some(region) => format!("there is no bundle of region {region}"),
        None => "there is no bundle of this fleet".to_owned(),
    };
    Failure::unavailable(message, "Nothing was proved. Name the folder or the revision that has it.")
}

/// The configuration. Who has only a bundle has none: where a path is named, it may be missing.
fn configuration(args: &Args, global: &Global, ambient: &Ambient) -> Result<Option<Opened>, Failure> {
    let may_miss = args.path.is_some() || args.bundles.staged;
    if may_miss && global.file == Path::new(CONFIG) && !ambient.cwd().join(CONFIG).exists() {
        return Ok(None);
    }
    Opened::open(global, ambient).map(Some)
}

/// Refuses a region that the configuration does not have.
fn known(fleet: &Fleet, wanted: &str) -> Result<(), Failure> {
    if fleet.regions.values().any(|region| region.name == *wanted || region.directory == *wanted) {
        return Ok(());
    }
    let names: Vec<&str> = fleet.regions.keys().map(|name| name.as_str()).collect();
    let help = format!("Its regions are {}.", names.join(", "));
    Err(Failure::usage(format!("the configuration has no region {wanted}"), help))
}

/// The reuse keys, if they are at hand. Consumers have none, and need none.
fn keys(args: &Args, opened: Option<&Opened>, ambient: &Ambient, ui: &Ui) -> Result<Option<KeyRing>, Failure> {
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
        return opened.keys(ambient, ui).map(Some);
    }
    let Some((keys, warnings)) = settings::reuse_keys_at_hand(&opened.settings, ambient)? else { return Ok(None) };
    warnings.iter().for_each(|warning| ui.warn(warning));
    Ok(Some(keys))
}

/// Reads the bundles from where the command line says they are.
fn read(args: &Args, opened: Option<&Opened>, ambient: &Ambient, stop: &Stop) -> Result<Read, Failure> {
    let output = opened.map_or(OUTPUT, |opened| opened.settings.fleet.output.path.as_str());
    let (start, typed) = match (&args.path, opened) {
        (Some(path), _) => (ambient.cwd().join(path), path.clone()),
        (None, Some(opened)) => (opened.settings.base.join(output), opened.typed.join(output)),
        (None, None) => (ambient.cwd().to_owned(), PathBuf::new()),
    };
    let scope = args.region.clone().map_or(Scope::Whole, Scope::Region);
    let BundleArgs { rev, staged, allowed_signers, .. } = &args.bundles;
    if *staged {
        // Where there are no bundles yet, they will be in the output.
        let output_itself = args.path.is_none() && opened.is_some();
        return index(&start, if output_itself { "" } else { output }, scope, ambient);
    }
    let is_bare = || objects::open(&start).is_ok_and(|store| store.is_bare());
    if rev.is_some() || allowed_signers.is_some() || is_bare() {
        return commit(args, &start, output, scope, ambient, stop);
    }
    let roots = [PathBuf::new(), PathBuf::from(output)];
    let Some(root) = roots.iter().find(|root| start.join(root).join("regions").is_dir()) else {
        return Err(no_bundles(&typed.display().to_string(), output));
    };
    // All that can go wrong here is that the published state cannot be read.
    let tree =
        whole::read(&start.join(root)).map_err(|error| Failure { code: exit::UNAVAILABLE, ..Failure::from(error) })?;
    let shown = typed.join(root);
    let shown = if shown.as_os_str().is_empty() { String::new() } else { format!("{}/", shown.display()) };
    Ok(Read { tree, shown: plainly(&shown), scope, findings: Vec::new() })
}

/// A path without what says nothing: a leading `./` and doubled slashes.
fn plainly(path: &str) -> String {
    path.trim_start_matches("./").replace("//", "/")
}

fn no_bundles(place: &str, output: &str) -> Failure {
    let place = if place.is_empty() { "." } else { place };
    Failure::unavailable(
        format!("there are no bundles in {place}, nor in {output} below it: neither has a folder `regions`"),
        "Name the folder that holds the bundles, or the repository; --rev names a revision of it.",
    )
}

fn unreadable(error: &ObjectsError) -> Failure {
    let help = match error {
        ObjectsError::NoRepository(_) => {
            "Name a repository on this machine, bare or with a work tree; clone it first if it is elsewhere.".to_owned()
        }
        ObjectsError::Owner(path) => {
            format!("Check that you trust its owner, then: git config --global --add safe.directory {path}")
        }
        ObjectsError::NoReference { known, .. } if !known.is_empty() => {
            format!("Correct --rev; there are {}.", known.iter().take(8).cloned().collect::<Vec<_>>().join(", "))
        }
        _ => "Check the repository with git fsck.".to_owned(),
    };
    Failure::unavailable(error.to_string(), help)
}

/// Reads the tree of a commit.
fn commit(
    args: &Args,
    start: &Path,
    output: &str,
    scope: Scope,
    ambient: &Ambient,
    stop: &Stop,
) -> Result<Read, Failure> {
    let reference = args.bundles.rev.as_deref().unwrap_or("HEAD");
    if !is_reference(reference) {
        let help = "Give the name of a branch or tag, or a whole commit id.";
        return Err(Failure::usage(format!("--rev {reference:?} cannot name a branch, tag or commit"), help));
    }
    let (store, way) = discover(start).map_err(|error| unreadable(&error))?;
    let commit = store.commit(reference).map_err(|error| unreadable(&error))?;
    let mut folder = None;
    for root in roots(&way, output) {
        match store.at(commit, &root) {
            Ok(entry) if entry.kind == Kind::Folder && has_regions(&store, entry.id) => {
                folder = Some((root, entry.id));
                break;
            }
            Ok(_) | Err(ObjectsError::NoPath(_)) => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    let place = if way.is_empty() { reference.to_owned() } else { format!("{reference}:{way}") };
    let (root, id) = folder.ok_or_else(|| no_bundles(&place, output))?;
    let found = store.everything(id).map_err(|error| unreadable(&error))?;
    let tree = tree(&store, found)?;
    let slash = if root.is_empty() { "" } else { "/" };
    let findings = match &args.bundles.allowed_signers {
        Some(file) => signed(&store, &commit.to_string(), file, reference, ambient, stop)?,
        None => Vec::new(),
    };
    Ok(Read { tree, shown: format!("{reference}:{root}{slash}"), scope, findings })
}

fn has_regions(store: &Store, folder: objects::Id) -> bool {
    store.in_folder(folder, "regions").is_ok_and(|entry| entry.kind == Kind::Folder)
}

/// Where bundles may be in a repository: at the way that was named, or at the output's path below it.
fn roots(way: &str, output: &str) -> [String; 2] {
    let parts = way.split('/').chain(output.split('/')).filter(|part| !part.is_empty() && *part != ".");
    [way.to_owned(), parts.collect::<Vec<_>>().join("/")]
}

/// The bytes of what was found.
fn tree(store: &Store, found: Vec<Found>) -> Result<Tree, Failure> {
    let mut tree = Tree::new();
    for Found { path, mode, id } in found {
        let form = match mode {
            Mode::File => Form::Plain,
            Mode::Executable => Form::Executable,
            Mode::Link => Form::Link,
            Mode::Submodule => Form::Submodule,
            Mode::Nameless => Form::Special,
        };
        let is_file = matches!(form, Form::Plain | Form::Executable);
        let most = if whole::is_regions(&path) { whole::MOST_BYTES } else { whole::MOST_ELSEWHERE };
        let bytes = match is_file.then(|| store.blob(id, most)) {
            None => Vec::new(),
            Some(Ok(bytes)) => bytes,
            Some(Err(ObjectsError::TooLarge(_))) if !whole::is_regions(&path) => continue,
            Some(Err(error)) => return Err(unreadable(&error)),
        };
        tree.insert(path, Standing { form, bytes });
    }
    Ok(tree)
}

/// Has git say who signed the commit.
fn signed(
    store: &Store,
    commit: &str,
    file: &Path,
    reference: &str,
    ambient: &Ambient,
    stop: &Stop,
) -> Result<Vec<Finding>, Failure> {
    let allowed = ambient.cwd().join(file);
    if !allowed.is_file() {
        return Err(Failure::usage(
            format!("there is no file of allowed signers at {}", file.display()),
            "Name one with lines such as `me@example.com ssh-ed25519 AAAA…`; ssh-keygen(1) has the format.",
        ));
    }
    let git = program::git(&ambient.environment()).stopped_by(stop.flag());
    let answer = signers::verify(git, store.path(), commit, &allowed)
        .map_err(|error| Failure::unavailable(error.to_string(), error.help()))?;
    let Err(words) = answer else { return Ok(Vec::new()) };
    let message = format!("commit {commit} at {reference} is not signed by an allowed signer; git says: {words}");
    let finding = Finding::new(Code::UntrustedCommit, message);
    Ok(Vec::from([finding.help(
        "See who made the commit. If it is fine, add its signer to the file of allowed signers, or have the next \
         commit signed.",
    )]))
}

/// Reads what is staged.
fn index(start: &Path, output: &str, scope: Scope, ambient: &Ambient) -> Result<Read, Failure> {
    let (store, way) = discover(start).map_err(|error| unreadable(&error))?;
    let Some(top) = store.root() else {
        return Err(Failure::usage("a bare repository has nothing staged", "Name a revision with --rev."));
    };
    // Git names the index that a commit is made from, relative to the root of the work tree.
    let file = ambient.var("GIT_INDEX_FILE").filter(|file| !file.is_empty()).map(|file| top.join(file));
    let found = store.index(file.as_deref()).map_err(|error| unreadable(&error))?;
    let staged: BTreeSet<String> =
        store.staged(file.as_deref()).map_err(|error| unreadable(&error))?.into_iter().collect();
    let mut findings = Vec::new();
    for Found { path, mode, id } in found.iter().filter(|found| staged.contains(&found.path)) {
        let is_file = matches!(mode, Mode::File | Mode::Executable);
        let bytes = match is_file.then(|| store.blob(*id, whole::MOST_ELSEWHERE)) {
            Some(Ok(bytes)) => bytes,
            Some(Err(ObjectsError::TooLarge(_))) | None => continue,
            Some(Err(error)) => return Err(unreadable(&error)),
        };
        if let Some(line) = holds_key(&bytes) {
            let line = u32::try_from(line).unwrap_or(u32::MAX);
            let place = Place::File { path: path.as_str().into(), line, column: 1 };
            let finding = Finding::new(Code::PlaintextSecret, format!("{path} holds an age identity or a reuse key"));
            let finding = finding.at(&Origin { source: SourceName::from("staged"), place });
            findings.push(finding.help("Take it out of the commit, and keep it where git ignores it."));
        }
    }
    let holds = |root: &String| {
        let regions = if root.is_empty() { "regions/".to_owned() } else { format!("{root}/regions/") };
        found.iter().any(|found| found.path.starts_with(&regions))
    };
    let roots = roots(&way, output);
    // Without bundles, a Secret that somebody commits where they will be is looked for all the same.
    let root = roots.iter().find(|root| holds(root)).or(roots.last()).cloned().unwrap_or_default();
    let below = if root.is_empty() { String::new() } else { format!("{root}/") };
    let inside = |path: &str| path.strip_prefix(&below).map(str::to_owned);
    let changed = staged.iter().filter_map(|path| directory(&inside(path)?)).filter(|directory| match &scope {
        Scope::Region(wanted) => directory == wanted,
        _ => true,
    });
    let scope = Scope::Changed(changed.collect());
    // A key that is staged was found already, by its path in the repository.
    let said: BTreeSet<String> = findings
        .iter()
        .filter_map(|finding| match &finding.origin.as_ref()?.place {
            Place::File { path, .. } => Some(path.to_string()),
            _ => None,
        })
        .collect();
    let within = found.into_iter().filter(|found| !said.contains(&found.path));
    let within = within.filter_map(|found| Some(Found { path: inside(&found.path)?, ..found })).collect();
    Ok(Read { tree: tree(&store, within)?, shown: below, scope, findings })
}

/// The region's folder that a path of the tree lies in.
fn directory(path: &str) -> Option<String> {
    let (_, rest) = path.split_once('/').filter(|_| whole::is_regions(path))?;
    rest.split_once('/').map(|(directory, _)| directory.to_owned())
}

/// One line for each region, and one for what is outside of them.
fn outcomes(verdict: &Verdict) -> String {
    let mut faults: BTreeMap<&str, usize> = BTreeMap::new();
    for finding in verdict.findings.iter().filter(|finding| is_fault(finding)) {
        *faults.entry(finding.region.as_ref().map_or("", |region| region.as_str())).or_default() += 1;
    }
    let mut text = String::new();
    for region in &verdict.regions {
        let faults = faults.remove(region.name.as_str()).unwrap_or_default();
        let word = if faults == 0 { "proved" } else { "not proved" };
        let _ = write!(text, "{}  {word}  {}", region.name, count(region.objects, "object"));
        let _ = write!(text, ", {}", count(region.secrets, "Secret"));
        if region.opened > 0 {
            let _ = write!(text, ", {} opened", region.opened);
        }
        text.push_str(&if faults == 0 { "\n".to_owned() } else { format!(", {}\n", count(faults, "fault")) });
    }
    for (region, faults) in faults {
        let place = if region.is_empty() { "elsewhere" } else { region };
        let _ = writeln!(text, "{place}  not proved  {}", count(faults, "fault"));
    }
    text
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

fn summary(fleet: Option<&Fleet>, verdict: &Verdict, code: u8) -> Summary {
    let faults_of = |name: &str| {
        let theirs = |finding: &&Finding| is_fault(finding) && finding.region.as_ref().is_some_and(|of| *of == *name);
        verdict.findings.iter().filter(theirs).count()
    };
    let proved = verdict.regions.iter().map(|region| Proved {
        region: region.name.to_string(),
        directory: region.directory.clone(),
        objects: region.objects,
        secrets: region.secrets,
        tags: region.tags,
        recipients: fleet.is_some(),
        opened: region.opened,
        faults: faults_of(region.name.as_str()),
    });
    let named = verdict.regions.first().map(|region| region.fleet.clone()).unwrap_or_default();
    Summary {
        api_version: "pouch/v1alpha1",
        kind: "Summary",
        fleet: fleet.map_or(named, |fleet| fleet.name.to_string()),
        command: "verify",
        exit_code: code,
        commit: None,
        credentials: None,
        regions: None,
        verified: None,
        proved: Some(proved.collect()),
        findings: verdict.findings.iter().map(FindingRecord::from).collect(),
    }
}
