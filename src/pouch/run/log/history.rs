//! Reads what the branches of a repository held, one commit after another.
//!
//! A manifest is read once for each of its versions, and of two versions only what differs is parsed; a file is read once,
//! however many commits have it. What they mean is the core's business.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use pouch_core::config::Fleet;
use pouch_core::exposure::sealed::SealedSecret;
use pouch_core::exposure::{Skipped, SkippedFile, directory_of};
use pouch_core::hash::sha256_hex;
use pouch_core::log::listing::{Version, changes};
use pouch_core::log::{Branch, BranchRecord, Commit, CommitName, Facts, File, Looked, Relisted, SourceRecord, Step};
use pouch_core::name::Directory;
use pouch_core::node::Interner;
use pouch_core::reuse::{self, KeyRing, commit_verifies, manifest_verifies};
use pouch_core::stamp::SourceStamp;
use rayon::prelude::*;

use crate::error::Failure;
use crate::git::history::line::{Ends, Made, Touched};
use crate::git::history::{Below, HistoryError};
use crate::git::objects::{self, Id, Kind};
use crate::harden::wiped;
use crate::run::exposure::history::{bytes, is_of_region};
use crate::shelf::target::clean;
use crate::stop::Stop;
use crate::text::{SEAL, SOURCE, trailers, values};

/// How many versions of a manifest, or files, one task reads.
const PER_TASK: usize = 256;

/// The most characters of a subject or a name that are kept.
const MOST_CHARS: usize = 120;

/// How many skipped files are named.
const MOST_NAMED: usize = 20;

/// The most sources of a commit that are kept.
const MOST_SOURCES: usize = 64;

/// A branch that is gone through.
pub struct Line {
    /// What it is called.
    pub name: String,
    /// Its name as commits prove it, if it is one of these.
    pub branches: BTreeSet<String>,
    /// Where it ends.
    pub tip: Id,
    /// The folders of regions that are published on other branches: what is here is a copy.
    pub elsewhere: BTreeSet<Directory>,
}

/// What branches held.
pub struct ReadLines {
    /// The facts.
    pub facts: Facts,
    /// What was looked at; which repository that is stays to be said.
    pub looked: Looked,
}

/// What could not be looked at.
#[derive(Default)]
struct PassedOver(BTreeSet<SkippedFile>);

impl PassedOver {
    fn add(&mut self, path: &str, why: &str) {
        self.0.insert(SkippedFile { path: path.to_owned(), why: why.to_owned() });
    }
}

/// Reads the history of branches of the repository at `path`. Manifests and commits are proved by `keys` for this fleet,
/// where there are some.
pub fn read(
    path: &Path,
    ends: &Ends,
    lines: &[Line],
    keys: Option<(&Fleet, &KeyRing)>,
    stop: &Stop,
) -> Result<ReadLines, Failure> {
    let (mut facts, mut looked, mut skipped) = (Facts::default(), Looked::default(), PassedOver::default());
    let mut contents: BTreeMap<Id, usize> = BTreeMap::new();
    for line in lines {
        let mut walked = Walked { line, keys, commits: Vec::new(), touched: Vec::new(), unproved: 0 };
        let counts = |path: &str, kind: Kind, _: Below| counts(path, kind);
        let too_deep = ends.walk(line.tip, &counts, stop, &mut |made, touched| walked.add(&made, touched))?;
        for path in too_deep {
            skipped.add(&path, "a folder there lies too deep");
        }
        let Walked { commits, touched, unproved, .. } = walked;
        let newest = commits.last().map(|commit| CommitName { id: commit.id.clone(), time: commit.time.clone() });
        looked.branches.push(BranchRecord {
            name: line.name.clone(),
            commit: newest.unwrap_or_default(),
            commits: commits.len(),
            unproved: keys.map(|_| unproved),
        });
        let steps = steps(path, &touched, keys, (&mut contents, &mut skipped), stop)?;
        facts.branches.push(Branch { name: line.name.clone(), commits, steps });
    }
    facts.files = files(path, &contents, stop)?;
    let PassedOver(files) = skipped;
    looked.skipped = Skipped { count: files.len(), files: files.into_iter().take(MOST_NAMED).collect() };
    Ok(ReadLines { facts, looked })
}

/// Whether something in a commit can have to do with bundles.
fn counts(path: &str, kind: Kind) -> bool {
    match kind {
        // Nobody knows what is behind a link or a submodule.
        Kind::Link | Kind::Submodule => {
            path == "regions" || path.ends_with("/regions") || directory_of(&format!("{path}/x")).is_some()
        }
        Kind::File | Kind::Folder => is_of_region(path),
    }
}

/// A branch while it is gone through.
struct Walked<'l> {
    line: &'l Line,
    keys: Option<(&'l Fleet, &'l KeyRing)>,
    commits: Vec<Commit>,
    touched: Vec<(usize, Touched)>,
    unproved: usize,
}

impl Walked<'_> {
    fn add(&mut self, made: &Made, touched: Vec<Touched>) {
        let proved = self.keys.map(|keys| {
            // What is merged as it is, is what pouch made.
            let as_it_is = made.merged.iter().filter(|merged| merged.tree == made.tree);
            let is_proved = std::iter::once(made).chain(as_it_is).any(|made| self.proves(keys, made));
            // Of a key that is not at hand nobody knows.
            let known = |value: &str| value.split(' ').next().is_some_and(|id| keys.1.with_id(id).next().is_some());
            if !is_proved && values(trailers(&made.message), SEAL).any(known) {
                self.unproved = self.unproved.saturating_add(1);
            }
            is_proved
        });
        let mut sources = sources(&made.message);
        if sources.is_empty() {
            sources = made.merged.iter().flat_map(|merged| self::sources(&merged.message)).collect();
        }
        let number = self.commits.len();
        self.commits.push(Commit {
            id: made.id.clone(),
            seconds: made.seconds,
            time: time(made),
            author: cut(&made.author),
            subject: cut(made.message.trim_start().lines().next().unwrap_or_default()),
            sources,
            proved,
            merged: made.merged.iter().map(|made| CommitName { id: made.id.clone(), time: time(made) }).collect(),
        });
        let elsewhere = |path: &str| directory_of(path).is_some_and(|found| self.line.elsewhere.contains(&found));
        let here = touched.into_iter().filter(|touched| !elsewhere(&touched.path));
        self.touched.extend(here.map(|touched| (number, touched)));
    }

    /// Whether a commit's last line proves that pouch made it.
    fn proves(&self, (fleet, keys): (&Fleet, &KeyRing), made: &Made) -> bool {
        let Made { parent, tree, seconds, message, .. } = made;
        let path = clean(&fleet.output.path);
        let mut branches = self.line.branches.iter();
        branches.any(|branch| {
            let made = reuse::Made { branch, path: &path, parent, tree, seconds: *seconds };
            commit_verifies(keys, &fleet.name, made, message)
        })
    }
}

/// The states of sources that a message names.
fn sources(message: &str) -> Vec<SourceRecord> {
    let named = values(trailers(message), SOURCE).filter_map(SourceStamp::of_trailer).take(MOST_SOURCES);
    named.map(|source| SourceRecord { name: cut(&source.name), state: source.state.to_string() }).collect()
}

fn time(made: &Made) -> String {
    Timestamp::from_second(made.seconds).unwrap_or(Timestamp::MAX).to_string()
}

fn cut(text: &str) -> String {
    text.chars().take(MOST_CHARS).collect()
}

/// The region's folder whose manifest a path is.
fn manifest_of(path: &str) -> Option<Directory> {
    let directory = directory_of(path)?;
    let before = path.strip_suffix(&format!("regions/{directory}/bundle.yaml"))?;
    (before.is_empty() || before.ends_with('/')).then_some(directory)
}

/// A version of a manifest: the number of the commit that brought it, and its content.
type Brought = (usize, Option<Id>);

/// What each commit of a branch changed. `contents` gets the files that manifests list.
fn steps(
    path: &Path,
    touched: &[(usize, Touched)],
    keys: Option<(&Fleet, &KeyRing)>,
    (contents, skipped): (&mut BTreeMap<Id, usize>, &mut PassedOver),
    stop: &Stop,
) -> Result<Vec<Step>, Failure> {
    let mut manifests: BTreeMap<&Arc<str>, (Directory, Vec<Brought>)> = BTreeMap::new();
    for (commit, Touched { path, now }) in touched {
        match now {
            Some((Kind::Link, _)) => skipped.add(path, "it is a symlink, and none is followed"),
            Some((Kind::Submodule, _)) => skipped.add(path, "it is a submodule, which is a repository of its own"),
            _ => {}
        }
        if let Some(directory) = manifest_of(path) {
            let (_, versions) = manifests.entry(path).or_insert_with(|| (directory, Vec::new()));
            versions.push((*commit, now.and_then(|(kind, id)| (kind == Kind::File).then_some(id))));
        }
    }
    let mut tasks: Vec<Task<'_>> = Vec::new();
    for (manifest, (directory, versions)) in &manifests {
        let mut before = None;
        for versions in versions.chunks(PER_TASK) {
            tasks.push(Task { manifest, directory, before, versions });
            before = versions.last().and_then(|(_, id)| *id);
        }
    }
    let done: Result<Vec<Done>, Failure> =
        tasks.par_iter().map(|task| wiped(|| task.relisted(path, keys, stop))).collect();
    let mut steps: BTreeMap<usize, Step> = BTreeMap::new();
    let mut listed: BTreeSet<String> = BTreeSet::new();
    for (task, Done { relisted, faults }) in tasks.iter().zip(done?) {
        let root = task.manifest.strip_suffix(&*format!("regions/{}/bundle.yaml", task.directory)).unwrap_or_default();
        for (commit, one) in relisted {
            listed.extend(one.change.listed.as_ref().map(|listed| format!("{root}{}", listed.path)));
            steps.entry(commit).or_default().listings.push(one);
        }
        faults.into_iter().for_each(|why| skipped.add(task.manifest, why));
    }
    for (commit, Touched { path, now }) in touched.iter().filter(|(_, touched)| listed.contains(&*touched.path)) {
        let next = contents.len();
        let content = now.and_then(|(kind, id)| (kind == Kind::File).then(|| *contents.entry(id).or_insert(next)));
        steps.entry(*commit).or_default().files.push((path.clone(), content));
    }
    Ok(steps.into_iter().map(|(commit, step)| Step { commit, ..step }).collect())
}

/// Versions of one manifest, in the order in which they came.
struct Task<'t> {
    manifest: &'t Arc<str>,
    directory: &'t Directory,
    /// The version before them.
    before: Option<Id>,
    versions: &'t [Brought],
}

/// What versions list otherwise than those before, by commit, and why some cannot be used.
#[derive(Default)]
struct Done {
    relisted: Vec<(usize, Relisted)>,
    faults: BTreeSet<&'static str>,
}

impl Task<'_> {
    fn relisted(&self, path: &Path, keys: Option<(&Fleet, &KeyRing)>, stop: &Stop) -> Result<Done, Failure> {
        let Self { manifest, directory, versions, .. } = *self;
        let store = objects::open(path).map_err(HistoryError::from)?;
        let mut interner = Interner::new();
        let mut done = Done::default();
        let mut before: Option<Version> = None;
        if let Some(id) = self.before {
            let version = bytes(&store, id)?.and_then(|bytes| {
                let version = Version::read(&bytes, directory, None, &mut interner)?;
                changes(None, Some(&version), &mut interner).map(|_| version)
            });
            before = version.ok();
        }
        for (commit, id) in versions {
            stop.check()?;
            let mut is_proved = false;
            let found = match id {
                None => Ok(None),
                Some(id) => bytes(&store, *id)?.and_then(|bytes| {
                    is_proved = keys
                        .is_some_and(|(fleet, keys)| manifest_verifies(keys, &fleet.name, directory, &bytes).is_some());
                    let version = Version::read(&bytes, directory, before.as_ref(), &mut interner)?;
                    let found = changes(before.as_ref(), Some(&version), &mut interner)?;
                    Ok(Some((version, found)))
                }),
            };
            let found = found.unwrap_or_else(|why| {
                done.faults.insert(why);
                None
            });
            // What cannot be read lists nothing.
            let (version, found) = match found {
                Some((version, found)) => (Some(version), found),
                None => (None, changes(before.as_ref(), None, &mut interner).unwrap_or_default()),
            };
            done.relisted.extend(
                found.into_iter().map(|change| (*commit, Relisted { manifest: manifest.clone(), change, is_proved })),
            );
            before = version;
        }
        Ok(done)
    }
}

/// The contents of files, by number.
fn files(path: &Path, contents: &BTreeMap<Id, usize>, stop: &Stop) -> Result<Vec<File>, Failure> {
    let task = |ids: &[(&Id, &usize)]| -> Result<Vec<(usize, File)>, Failure> {
        // A repository belongs to one thread.
        let store = objects::open(path).map_err(HistoryError::from)?;
        let mut interner = Interner::new();
        let mut read = Vec::with_capacity(ids.len());
        for (id, number) in ids {
            stop.check()?;
            let file = bytes(&store, **id)?.map(|bytes| {
                let secrets = SealedSecret::read(&bytes, &mut interner).unwrap_or_default();
                File { sha256: sha256_hex(&bytes), secrets: secrets.into_iter().map(Arc::new).collect() }
            });
            // What is too large is not the file that a manifest lists.
            read.push((**number, file.unwrap_or_default()));
        }
        Ok(read)
    };
    let ids: Vec<(&Id, &usize)> = contents.iter().collect();
    let parts: Result<Vec<_>, Failure> = ids.par_chunks(PER_TASK).map(task).collect();
    let read: BTreeMap<usize, File> = parts?.into_iter().flatten().collect();
    Ok(read.into_values().collect())
}
