//! Reads what stood in a repository's history.
//!
//! A file is read once, however many commits and paths have it; a manifest once for each path, because what it
//! says is for one folder. What they mean is the core's business.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use jiff::Timestamp;
use pouch_core::config::Fleet;
use pouch_core::exposure::listed_by::ListedBy;
use pouch_core::exposure::sealed::SealedSecret;
use pouch_core::exposure::{Commit, History, Looked, Skipped, SkippedFile, Stood, directory_of};
use pouch_core::name::Directory;
use pouch_core::node::Interner;
use pouch_core::reuse::{KeyRing, manifest_verifies};
use rayon::prelude::*;

use crate::error::Failure;
use crate::git::history::{self, Below, HistoryError, Moment, Since, Span, Wanted};
use crate::git::objects::{self, Id, Kind, ObjectsError, Store};
use crate::harden::wiped;
use crate::session::Session;
use crate::stop::Stop;

/// The largest file that is read, in bytes; the API takes no Secret beyond 1 MiB.
const MOST_BYTES: u64 = 16 << 20;

/// How many files one task reads. Versions of one manifest are mostly alike, so that many together are quick.
const FILES_PER_TASK: usize = 128;

/// How many skipped files are named.
const MOST_NAMED: usize = 20;

/// What a repository's history holds.
pub struct ReadHistory {
    /// The facts.
    pub facts: History,
    /// What was looked at.
    pub looked: Looked,
    /// What those manifests say that a tag of the keys proves; nothing without keys.
    pub proved: ListedBy,
}

/// Reads the history of the repository at `path`, which messages call `called`. Manifests are proved by
/// `keys` for this fleet, where there are some.
pub fn read(
    path: &Path,
    called: String,
    wanted: &Wanted<'_>,
    keys: Option<(&Fleet, &KeyRing)>,
    session: &Session,
) -> Result<ReadHistory, Failure> {
    let Session { ui, stop, .. } = session;
    let progress = ui.progress("walking", 0);
    progress.say(&called);
    let history = history::read(path, wanted, &counts, stop).map_err(|error| unread(error, wanted))?;
    drop(progress);
    let mut skipped: BTreeSet<SkippedFile> = BTreeSet::new();
    let mut skip =
        |path: &str, why: &str| _ = skipped.insert(SkippedFile { path: path.to_owned(), why: why.to_owned() });
    for span in &history.files {
        match span.kind {
            Kind::Link => skip(&span.path, "it is a symlink, and none is followed"),
            Kind::Submodule => skip(&span.path, "it is a submodule, which is a repository of its own"),
            Kind::File | Kind::Folder => {}
        }
    }
    let files: Vec<&Span> = history.files.iter().filter(|span| span.kind == Kind::File).collect();
    let (mut manifests, secrets): (Vec<&Span>, Vec<&Span>) =
        files.into_iter().partition(|span| is_manifest(&span.path) && is_of_region(&span.path));

    let ids: BTreeSet<Id> = secrets.iter().map(|span| span.id).collect();
    let ids: Vec<Id> = ids.into_iter().collect();
    let sealed = sealed(path, &ids, stop)?;
    let mut stood = Vec::new();
    let is_commit = |number: usize| history.commits.get(number).is_some_and(|moment| moment.is_commit);
    let of_commits = secrets.iter().filter(|span| is_commit(span.first));
    let known: BTreeSet<(Option<Directory>, Id)> = of_commits.map(|span| (directory_of(&span.path), span.id)).collect();
    let placed: BTreeSet<Id> =
        secrets.iter().filter(|span| directory_of(&span.path).is_some()).map(|span| span.id).collect();
    for span in &secrets {
        match (sealed.get(&span.id), directory_of(&span.path)) {
            // What leads to a part of a commit's folders says less of it than the commit does.
            (Some(Ok(_)), Some(directory))
                if !span.now && !is_commit(span.first) && known.contains(&(Some(directory.clone()), span.id)) => {}
            (Some(Ok(files)), Some(directory)) => stood.extend(files.iter().map(|file| Stood {
                directory: directory.clone(),
                file: file.clone(),
                first: span.first,
                last: span.last,
                now: span.now,
            })),
            // A part of what a commit has, as nearly always.
            (_, None) if placed.contains(&span.id) => {}
            (Some(Ok(files)), None) if !files.is_empty() => {
                skip(&span.path, "it holds a Secret, and a reference leads to it without a folder of a region");
            }
            // A page of words that speaks of Secrets is none.
            (Some(Err(why)), _) if is_document(&span.path) || is_lone(&span.path) => skip(&span.path, why),
            _ => {}
        }
    }

    // Versions of one manifest in the order in which they came.
    manifests.sort_by(|a, b| (&a.path, a.first, a.id).cmp(&(&b.path, b.first, b.id)));
    let (vouched, proved, faults) = vouched(path, &manifests, keys, stop)?;
    for (path, why) in faults {
        skip(&path, why);
    }
    for path in history.too_deep {
        skip(&path, "a folder there lies too deep");
    }
    let looked = Looked {
        repository: called,
        current: history.current,
        commit: history.current_commit.and_then(|number| history.commits.get(number)).map(commit).unwrap_or_default(),
        commits: history.commits.len(),
        references: history.references,
        since: None,
        skipped: Skipped { count: skipped.len(), files: skipped.into_iter().take(MOST_NAMED).collect() },
    };
    let facts = History { commits: history.commits.iter().map(commit).collect(), stood, vouched };
    Ok(ReadHistory { facts, looked, proved })
}

/// Why a history cannot be looked at. What `--since` names may have been meant as a time.
fn unread(error: HistoryError, wanted: &Wanted<'_>) -> Failure {
    let is_since = matches!(
        (&error, &wanted.since),
        (HistoryError::Objects(ObjectsError::NoReference { reference, .. }), Some(Since::Revision(since)))
            if reference == since && !wanted.revisions.contains(since)
    );
    let failure = Failure::from(error);
    if !is_since {
        return failure;
    }
    let help = "As a time, --since takes a date such as 2026-11-21, or 2026-11-21T07:51:52Z; both are UTC.";
    Failure { help: format!("{help} {}", failure.help), ..failure }
}

/// Whether something in a repository can have to do with bundles.
fn counts(path: &str, kind: Kind, below: Below) -> bool {
    match (kind, below) {
        // Nobody knows what is behind a link or a submodule, which may stand for the folder of one region or of
        // all.
        (Kind::Link | Kind::Submodule, _) => {
            path == "regions" || path.ends_with("/regions") || directory_of(&format!("{path}/x")).is_some()
        }
        (_, Below::Commit) => is_of_region(path),
        (_, Below::Reference) => is_of_region(path) || is_document(path) || is_lone(path),
    }
}

/// Whether a path is in the folder of a region.
pub(in crate::run) fn is_of_region(path: &str) -> bool {
    directory_of(path).is_some()
}

/// Whether a path is the id that stands for one.
fn is_lone(path: &str) -> bool {
    path.len() >= 40 && path.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn is_manifest(path: &str) -> bool {
    path.ends_with("/bundle.yaml")
}

fn is_document(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    [".yaml", ".yml", ".json"].iter().any(|ending| path.ends_with(ending))
}

fn commit(moment: &Moment) -> Commit {
    let time = moment.seconds.map(|seconds| Timestamp::from_second(seconds).unwrap_or(Timestamp::MAX).to_string());
    Commit { id: moment.id.clone(), time: time.unwrap_or_default(), or_before: moment.or_before }
}

type SealedFiles = Vec<Arc<SealedSecret>>;
/// The Secrets of a file, or why it is passed over.
type Contents = Result<SealedFiles, &'static str>;

/// The Secrets of each file.
fn sealed(path: &Path, ids: &[Id], stop: &Stop) -> Result<BTreeMap<Id, Contents>, Failure> {
    let task = |ids: &[Id]| -> Result<Vec<(Id, Contents)>, Failure> {
        // A repository belongs to one thread.
        let store = objects::open(path).map_err(HistoryError::from)?;
        let mut interner = Interner::new();
        let mut read = Vec::with_capacity(ids.len());
        for id in ids {
            stop.check()?;
            let secrets = bytes(&store, *id)?.and_then(|bytes| SealedSecret::read(&bytes, &mut interner));
            read.push((*id, secrets.map(|secrets| secrets.into_iter().map(Arc::new).collect())));
        }
        Ok(read)
    };
    let parts: Result<Vec<_>, Failure> = ids.par_chunks(FILES_PER_TASK).map(task).collect();
    Ok(parts?.into_iter().flatten().collect())
}

/// A file; or why it is passed over.
pub(in crate::run) fn bytes(store: &Store, id: Id) -> Result<Result<Vec<u8>, &'static str>, Failure> {
    match store.blob(id, MOST_BYTES) {
        Ok(bytes) => Ok(Ok(bytes)),
        Err(ObjectsError::TooLarge(_)) => Ok(Err("it is larger than 16 MiB")),
        Err(error) => Err(HistoryError::from(error).into()),
    }
}

type PassedOver = Vec<(Arc<str>, &'static str)>;

/// What manifests say, and what those of them say that the keys prove.
fn vouched(
    path: &Path,
    manifests: &[&Span],
    keys: Option<(&Fleet, &KeyRing)>,
    stop: &Stop,
) -> Result<(ListedBy, ListedBy, PassedOver), Failure> {
    let task = |spans: &[&Span]| -> Result<(ListedBy, ListedBy, PassedOver), Failure> {
        let store = objects::open(path).map_err(HistoryError::from)?;
        let mut interner = Interner::new();
        let (mut said, mut proved, mut faults) = (ListedBy::default(), ListedBy::default(), PassedOver::new());
        let (mut before, mut before_proved) = (None, None);
        for span in spans {
            stop.check()?;
            let outcome = bytes(&store, span.id)?.and_then(|bytes| {
                said.read(&bytes, &mut before, &mut interner)?;
                let verifies = |(fleet, keys): (&Fleet, &KeyRing)| {
                    let directory = directory_of(&span.path)?;
                    manifest_verifies(keys, &fleet.name, &directory, &bytes).map(|_| ())
                };
                match keys.and_then(verifies) {
                    Some(()) => proved.read(&bytes, &mut before_proved, &mut interner),
                    None => Ok(()),
                }
            });
            if let Err(why) = outcome {
                faults.push((span.path.clone(), why));
            }
        }
        Ok((said, proved, faults))
    };
    let parts: Result<Vec<_>, Failure> =
        manifests.par_chunks(FILES_PER_TASK).map(|spans| wiped(|| task(spans))).collect();
    let (mut said, mut proved, mut faults) = (ListedBy::default(), ListedBy::default(), PassedOver::new());
    for part in parts? {
        said.absorb(part.0);
        proved.absorb(part.1);
        faults.extend(part.2);
    }
    Ok((said, proved, faults))
}
