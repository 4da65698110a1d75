//! `pouch verify` without a cluster: are bundles whole, sealed, separated and readable?

mod staged;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use pouch_core::config::Fleet;
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::layout::path::gitattributes;
use pouch_core::listing::counted;
use pouch_core::name::SourceName;
use pouch_core::report::summary::{FindingRecord, Proved, Summary};
use pouch_core::reuse::KeyRing;
use pouch_core::verify::bundles::{Above, Form, MOST_BYTES, Measure, Scope, Standing, Tree, directory_of, is_regions};

use super::super::publish::Branch;
use super::super::{Global, Opened, record, region_called};
use super::place::{further_up, no_bundles, roots};
use super::{Args, place};
use crate::ambient::Ambient;
use crate::error::{Failure, exit};
use crate::git::objects::standing::{Found, Mode, discover};
use crate::git::objects::{self, Budget, Id, Kind, ObjectsError, Store};
use crate::git::{self, Address, FETCHED, is_revision, program, signers};
use crate::run::verify::{Verdict, is_fault, prove};
use crate::settings;
use crate::shelf::directory::whole;
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

/// What was read, and from where.
struct Read {
    tree: Tree,
    /// What stands before a path where it is shown.
    shown: String,
    scope: Scope,
    /// The commit that was read, or that a work tree is held against.
    commit: Option<String>,
    /// Whether it is a work tree that is held against the commit.
    is_held: bool,
    /// What git and Flux are told of the output from further up.
    above: Vec<Above>,
    /// What was found on the way.
    findings: Vec<Finding>,
    /// Where bundles were looked for, for who has none.
    places: String,
}

/// What a run asks about.
struct Asking<'a> {
    args: &'a Args,
    opened: Option<&'a Opened>,
    /// The region's folder, where one is named.
    region: Option<String>,
    /// Where the output is, below what is named.
    output: &'a str,
    ambient: &'a Ambient,
    stop: &'a Stop,
}

/// Runs the command.
///
/// # Errors
/// Where the bundles or what they are judged by cannot be read.
pub fn run(args: &Args, global: &Global, ambient: &Ambient, ui: &Ui, stop: &Stop) -> Result<u8, Failure> {
    let opened = configuration(args, global, ambient)?;
    let fleet = opened.as_ref().map(|opened| &opened.settings.fleet);
    let region = match (fleet, &args.region) {
        (Some(fleet), Some(called)) => Some(region_called(fleet, called)?.directory.to_string()),
        (_, called) => called.clone(),
    };
    let keys = keys(args, opened.as_ref(), ambient, ui)?;
    let identities = settings::all_identities(&args.bundles.identity, ambient, ui)?;
    let output = fleet.map_or(OUTPUT, |fleet| fleet.output.path.as_str());
    let read = Asking { args, opened: opened.as_ref(), region, output, ambient, stop }.read()?;
    if let Some(commit) = &read.commit {
        let words = if read.is_held { "holding the work tree against" } else { "looking at" };
        ui.note(&format!("{words} commit {commit}"));
    }
    let measure = Measure { fleet, keys: keys.as_ref(), scope: read.scope, shown: read.shown, above: read.above };
    let verdict = prove(&measure, &read.tree, &identities, read.findings);
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
    let faults = verdict.findings.iter().filter(|finding| is_fault(finding)).count();
    let is_strange = !verdict.belongs.is_empty() && verdict.belongs.values().all(Vec::is_empty);
    if is_strange && faults == 0 && !verdict.regions.is_empty() {
        return Err(Failure::usage(
            "the identities of --identity open none of the regions that were proved",
            "Give the identity of a region, or an escrow identity. `bundle.yaml` lists who can read each bundle.",
        ));
    }
    ui.result(&outcomes(&verdict));
    if verdict.regions.is_empty() && faults == 0 {
        if !args.bundles.staged {
            // Nothing found is no proof: a misspelt region, or bundles of another fleet alone.
            return Err(nothing(args));
        }
        ui.note(&format!("no bundle is staged in {}", read.places));
    }
    let code = if faults == 0 { exit::OK } else { exit::FAULT };
    let summary = summary(fleet, &verdict, read.commit, code);
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

impl Asking<'_> {
    /// Reads the bundles from where the command line says they are.
    fn read(&self) -> Result<Read, Failure> {
        let Self { args, opened, output, .. } = *self;
        let (start, typed) = match (&args.path, opened) {
            (Some(path), _) => (self.ambient.cwd().join(path), path.clone()),
            (None, Some(opened)) => (opened.settings.base.join(output), opened.typed.join(output)),
            (None, None) => (self.ambient.cwd().to_owned(), PathBuf::new()),
        };
        if args.path.as_deref().is_some_and(|path| !start.exists() && is_remote(path)) {
            return Err(Failure::usage(
                "PATH is a URL, but pouch verify reads only what is on this machine",
                "Clone the repository first, `git clone --bare URL` is enough, and name the clone.",
            ));
        }
        // What the configuration names may have gone; what somebody types he may have mistyped.
        if let Some(path) = args.path.as_deref().filter(|_| !start.exists()) {
            return Err(Failure::usage(
                format!("{} is not there", path.display()),
                "Name the folder that holds the bundles, or the repository.",
            ));
        }
        // What the configuration names is the output, and what somebody types may be the folder above.
        let output = if args.path.is_none() && opened.is_some() { "" } else { output };
        if args.bundles.staged {
            return self.index(&start, output);
        }
        if let (None, Some(opened)) = (&args.path, opened.filter(|opened| opened.settings.fleet.output.git.is_some())) {
            return self.branch(opened);
        }
        let repository = objects::open(&start);
        if args.bundles.rev.is_some() || repository.as_ref().is_ok_and(Store::is_bare) {
            let (store, way) = discover(&start).map_err(|error| unreadable(&error))?;
            let reference = self.reference(&store)?;
            return self.commit(&store, &reference, &reference, &roots(&way, output), &way);
        }
        let roots = roots("", output);
        let has = |root: &str, tops: &[&str]| Ok(tops.iter().any(|top| start.join(root).join(top).is_dir()));
        let Some(chosen) = place::choose(&roots, opened.is_some(), has)? else {
            return Err(match repository {
                Err(error @ (ObjectsError::Partial(_) | ObjectsError::Owner(_))) => unreadable(&error),
                _ => no_bundles(&typed.display().to_string(), output),
            });
        };
        let folder = start.join(chosen.root);
        // All that can go wrong here is that the published state cannot be read.
        let tree = whole::read(&folder).map_err(|error| Failure { code: exit::UNAVAILABLE, ..Failure::from(error) })?;
        let shown = |root: &str| {
            let shown = typed.join(root);
            let shown = if shown.as_os_str().is_empty() { String::new() } else { format!("{}/", shown.display()) };
            plainly(&shown)
        };
        let decoy = chosen.other.map(|other| place::decoy(&shown(other), &shown(chosen.root)));
        let shown = shown(chosen.root);
        let (commit, mut findings) = match &args.bundles.allowed_signers {
            Some(file) => {
                let (commit, findings) = self.held(&folder, &tree, &shown, file)?;
                (Some(commit), findings)
            }
            None => (None, Vec::new()),
        };
        let is_held = commit.is_some();
        let above = self.above(&folder)?;
        findings.extend(decoy);
        Ok(Read { tree, shown, scope: self.scope(), commit, is_held, above, findings, places: String::new() })
    }

    /// What stands in the attributes of a work tree further up than a folder.
    ///
    /// # Errors
    /// Where it cannot be read: what is there would count.
    fn above(&self, folder: &Path) -> Result<Vec<Above>, Failure> {
        let (store, way) = match discover(folder) {
            Err(ObjectsError::NoRepository(_)) => return Ok(Vec::new()),
            other => other.map_err(|error| unreadable(&error))?,
        };
        let Some(top) = store.root() else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        for (name, path, way) in further_up(&way) {
            let path = top.join(path);
            let shown = path.strip_prefix(self.ambient.cwd()).unwrap_or(&path).display().to_string();
            let failed = |why: &dyn std::fmt::Display| {
                let message = format!("{shown} cannot be read, and may change what of the bundles is delivered: {why}");
                Failure::unavailable(message, "Make it readable, or move it away.")
            };
            let meta = match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                other => other.map_err(|error| failed(&error.kind()))?,
            };
            if meta.is_symlink() {
                found.extend(Above::link(name, shown, way));
            } else if meta.is_file() {
                if meta.len() > MOST_BYTES {
                    return Err(failed(&format!("it is larger than {MOST_BYTES} bytes")));
                }
                let bytes = std::fs::read(&path).map_err(|error| failed(&error.kind()))?;
                found.push(Above { name, shown, way, bytes });
            }
        }
        Ok(found)
    }

    fn scope(&self) -> Scope {
        self.region.clone().map_or(Scope::Whole, Scope::Region)
    }

    /// The branch, tag or commit that is meant.
    fn reference(&self, store: &Store) -> Result<String, Failure> {
        if let Some(rev) = &self.args.bundles.rev {
            if !is_revision(rev) {
                let help = "Give the name of a branch or tag, a whole commit id, or an ancestor such as main~3.";
                return Err(Failure::usage(format!("--rev {rev:?} cannot name a branch, tag or commit"), help));
            }
            return Ok(rev.clone());
        }
        let known = match store.commit("HEAD") {
            Ok(_) => return Ok("HEAD".to_owned()),
            Err(ObjectsError::NoReference { known, .. }) => known,
            Err(error) => return Err(unreadable(&error)),
        };
        let configured = self.opened.and_then(|opened| opened.settings.fleet.output.git.as_ref());
        if let Some(branch) = configured.map(|git| &git.branch).filter(|branch| store.commit(branch).is_ok()) {
            return Ok(branch.clone());
        }
        let head = store.head_branch().unwrap_or_else(|| "nothing".to_owned());
        let help = match known.first() {
            Some(first) => format!("Pass --rev, such as --rev {first}."),
            None => "It has no branch and no tag yet.".to_owned(),
        };
        Err(Failure::usage(format!("the repository's HEAD names {head}, which does not exist"), help))
    }

    /// Reads the branch that the configuration publishes to, as it stands where it is pushed to.
    fn branch(&self, opened: &Opened) -> Result<Read, Failure> {
        if self.args.bundles.rev.is_some() {
            return Err(Failure::usage(
                "--rev names a revision of PATH, but no PATH is given; of output.git only the branch's tip is proved",
                "Name a clone of the repository: pouch verify PATH --rev REV.",
            ));
        }
        let branch = Branch::of(opened)?;
        let folder = branch.copy(self.ambient, self.stop)?;
        let store = objects::open(folder.path()).map_err(|error| unreadable(&error))?;
        self.commit(&store, FETCHED, branch.name(), &roots(self.output, ""), "")
    }

    /// Reads the tree of a commit: the first of `roots` that holds bundles.
    fn commit(
        &self,
        store: &Store,
        reference: &str,
        called: &str,
        roots: &[String],
        way: &str,
    ) -> Result<Read, Failure> {
        let commit = store.commit(reference).map_err(|error| unreadable(&error))?;
        let folder = |root: &str| {
            store.check_way(commit, root).map_err(|error| unreadable(&error))?;
            match store.at(commit, root) {
                Ok(entry) => Ok(Some(entry.id).filter(|_| entry.kind == Kind::Folder)),
                Err(ObjectsError::NoPath(_)) => Ok(None),
                Err(error) => Err(unreadable(&error)),
            }
        };
        let has = |root: &str, tops: &[&str]| {
            Ok(folder(root)?.is_some_and(|id| tops.iter().any(|top| has_folder(store, id, top))))
        };
        let place = if way.is_empty() { called.to_owned() } else { format!("{called}:{way}") };
        let missing = || no_bundles(&place, if roots.len() > 1 { self.output } else { "" });
        let place::Chosen { root, other } = place::choose(roots, self.opened.is_some(), has)?.ok_or_else(missing)?;
        let id = folder(root)?.ok_or_else(missing)?;
        let found = store.everything(id).map_err(|error| unreadable(&error))?;
        let tree = tree(store, found)?;
        let shown = |root: &str| format!("{called}:{root}{}", if root.is_empty() { "" } else { "/" });
        let mut findings: Vec<Finding> = match &self.args.bundles.allowed_signers {
            Some(file) => self.signed(store, commit, file, called)?.into_iter().collect(),
            None => Vec::new(),
        };
        findings.extend(other.map(|other| place::decoy(&shown(other), &shown(root))));
        let shown = shown(root);
        let mut above = Vec::new();
        for (name, path, way) in further_up(root) {
            let entry = match store.at(commit, &path) {
                Ok(entry) if entry.kind == Kind::File => entry,
                Ok(entry) if entry.kind == Kind::Link => {
                    above.extend(Above::link(name, format!("{called}:{path}"), way));
                    continue;
                }
                Ok(_) | Err(ObjectsError::NoPath(_)) => continue,
                Err(error) => return Err(unreadable(&error)),
            };
            let bytes = store.blob(entry.id, MOST_BYTES).map_err(|error| unreadable(&error))?;
            above.push(Above { name, shown: format!("{called}:{path}"), way, bytes });
        }
        let commit = Some(commit.to_string());
        Ok(Read { tree, shown, scope: self.scope(), commit, is_held: false, above, findings, places: String::new() })
    }

    /// Holds a work tree's bundles against the commit that they are checked out from, and has that looked at.
    fn held(&self, folder: &Path, tree: &Tree, shown: &str, allowed: &Path) -> Result<(String, Vec<Finding>), Failure> {
        let (store, way) = discover(folder).map_err(|error| unreadable(&error))?;
        let commit = store.commit(&self.reference(&store)?).map_err(|error| unreadable(&error))?;
        let mut findings: Vec<Finding> = self.signed(&store, commit, allowed, "HEAD")?.into_iter().collect();
        store.check_way(commit, &way).map_err(|error| unreadable(&error))?;
        let committed = match store.at(commit, &way) {
            Ok(entry) if entry.kind == Kind::Folder => {
                let found = store.everything(entry.id).map_err(|error| unreadable(&error))?;
                self::tree(&store, found)?
            }
            Ok(_) | Err(ObjectsError::NoPath(_)) => Tree::new(),
            Err(error) => return Err(unreadable(&error)),
        };
        let asked = |path: &&String| match &self.region {
            Some(region) => directory_of(path).is_some_and(|directory| directory == region),
            None => is_regions(path) || **path == *gitattributes().as_str(),
        };
        // Modes are no part of this: a work tree's are not always told.
        let form = |standing: &Standing| if standing.form == Form::Executable { Form::Plain } else { standing.form };
        let differs = |path: &&String| match (tree.get(*path), committed.get(*path)) {
            (Some(one), Some(other)) => one.bytes != other.bytes || form(one) != form(other),
            _ => true,
        };
        let paths: BTreeSet<&String> = tree.keys().chain(committed.keys()).filter(asked).filter(differs).collect();
        if let Some(first) = paths.first() {
            let rest = match paths.len() {
                1 => String::new(),
                count => format!(", and so do {} more", count.saturating_sub(1)),
            };
            let message = format!("{first} differs from commit {commit}{rest}, so its signature is not theirs");
            let place = Place::File { path: format!("{shown}{first}").into(), line: 1, column: 1 };
            let finding = Finding::new(Code::UntrustedCommit, message);
            let finding = finding.at(&Origin { source: SourceName::from("bundles"), place });
            findings.push(finding.help("Check out what was signed, or commit and sign this; `git status` lists it."));
        }
        Ok((commit.to_string(), findings))
    }

    /// Has git say who signed the commit.
    fn signed(&self, store: &Store, commit: Id, file: &Path, called: &str) -> Result<Option<Finding>, Failure> {
        let allowed = self.ambient.cwd().join(file);
        let format = "It has lines such as `me@example.com ssh-ed25519 AAAA…`; ssh-keygen(1) has the format.";
        if !allowed.is_file() {
            return Err(Failure::usage(format!("there is no file of allowed signers at {}", file.display()), format));
        }
        let text = std::fs::read(&allowed).map_err(|error| {
            Failure::usage(format!("{} cannot be read: {}", file.display(), error.kind()), "Check its permissions.")
        })?;
        if !signers::is_usable(&String::from_utf8_lossy(&text)) {
            let message = format!("{} has no line of an allowed signer: who, and then the public key", file.display());
            return Err(Failure::usage(message, format));
        }
        let git = program::git(&self.ambient.environment()).stopped_by(self.stop.flag());
        let answer = signers::verify(git, store.path(), &commit.to_string(), &allowed).map_err(|error| {
            Failure::unavailable(error.to_string(), error.help(&store.path().display().to_string()))
        })?;
        let Err(words) = answer else { return Ok(None) };
        let message = match store.is_signed(commit).map_err(|error| unreadable(&error))? {
            true => format!("commit {commit} at {called} is not signed by an allowed signer; git says: {words}"),
            false => format!("commit {commit} at {called} is not signed"),
        };
        let finding = Finding::new(Code::UntrustedCommit, message);
        Ok(Some(finding.help(
            "Find out who made the commit. If it is fine, add its signer to the file of allowed signers, or have the \
             next commit signed.",
        )))
    }
}

/// Whether a path is no path but a repository elsewhere.
fn is_remote(path: &Path) -> bool {
    let Some(text) = path.to_str() else { return false };
    text.contains("://") || matches!(git::address(text), Ok(Address::Remote(_)))
}

/// A path without what says nothing: a leading `./` and doubled slashes.
fn plainly(path: &str) -> String {
    path.trim_start_matches("./").replace("//", "/")
}

fn unreadable(error: &ObjectsError) -> Failure {
    let help = match error {
        ObjectsError::NoRepository(_) => {
            "Name a repository on this machine, bare or with a work tree; clone it first if it is elsewhere.".to_owned()
        }
        ObjectsError::Strange { .. } => format!("Nothing was proved. {}", error.help()),
        error => error.help(),
    };
    match error {
        ObjectsError::NoRepository(_) | ObjectsError::NoReference { .. } => Failure::usage(error.to_string(), help),
        _ => Failure::unavailable(error.to_string(), help),
    }
}

fn has_folder(store: &Store, folder: Id, name: &str) -> bool {
    store.in_folder(folder, name).is_ok_and(|entry| entry.kind == Kind::Folder)
}

/// The bytes of what was found.
fn tree(store: &Store, found: Vec<Found>) -> Result<Tree, Failure> {
    let (mut tree, mut budget) = (Tree::new(), Budget::default());
    for Found { path, mode, id } in found {
        let form = match mode {
            Mode::File => Form::Plain,
            Mode::Executable => Form::Executable,
            Mode::Link => Form::Link,
            Mode::Submodule => Form::Submodule,
            Mode::Nameless => Form::Special,
        };
        let is_file = matches!(mode, Mode::File | Mode::Executable | Mode::Nameless);
        let standing = match is_file.then(|| store.blob(id, MOST_BYTES)) {
            None => Standing::odd(form),
            Some(Ok(bytes)) => Standing::file(&path, form, bytes),
            Some(Err(ObjectsError::TooLarge(_))) => Standing::odd(Form::Large),
            Some(Err(error)) => return Err(unreadable(&error)),
        };
        budget.keep(standing.bytes.len()).map_err(|error| unreadable(&error))?;
        whole::insert(&mut tree, path, standing);
    }
    Ok(tree)
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
        let _ = write!(text, "{}  {word}  {}", region.name, counted(region.objects, "object", "objects"));
        let _ = write!(text, ", {}", counted(region.secrets, "Secret", "Secrets"));
        if region.opened > 0 {
            let _ = write!(text, ", {} opened", region.opened);
        }
        text.push_str(&if faults == 0 {
            "\n".to_owned()
        } else {
            format!(", {}\n", counted(faults, "fault", "faults"))
        });
    }
    for (region, faults) in faults {
        let place = if region.is_empty() { "elsewhere" } else { region };
        let _ = writeln!(text, "{place}  not proved  {}", counted(faults, "fault", "faults"));
    }
    text
}

fn summary(fleet: Option<&Fleet>, verdict: &Verdict, commit: Option<String>, code: u8) -> Summary {
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
        commit,
        credentials: None,
        regions: None,
        verified: None,
        proved: Some(proved.collect()),
        findings: verdict.findings.iter().map(FindingRecord::from).collect(),
    }
}
