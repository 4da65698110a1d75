//! Reads what stood in a repository's history, as exposure asks for it. What it means is the core's business.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use pouch_core::config::Fleet;
use pouch_core::exposure::{Commit, History, Looked, Stood};
use pouch_core::history::listed_by::{ListedBy, Vouched};
use pouch_core::history::steps::Steps;
use pouch_core::history::{File, directory_of};
use pouch_core::name::Directory;
use pouch_core::reuse::KeyRing;

use crate::error::Failure;
use crate::git::history::{self, Below, HistoryError, Moment, PassedOver, Since, Span, Wanted};
use crate::git::objects::{Id, Kind, ObjectsError};
use crate::run::history::{Manifest, Reading, counts, time, told};
use crate::session::Session;

/// What a repository's history holds.
pub struct ReadHistory {
    /// The facts.
    pub facts: History,
    /// What was looked at.
    pub looked: Looked,
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
    let history = history::read(path, wanted, &all_counts, stop).map_err(|error| unread(error, wanted))?;
    drop(progress);
    let mut skipped = history.passed;
    history.files.iter().for_each(|span| skipped.add_kind(&span.path, span.kind));
    let files: Vec<&Span> = history.files.iter().filter(|span| span.kind == Kind::File).collect();
    let (manifests, secrets): (Vec<&Span>, Vec<&Span>) =
        files.into_iter().partition(|span| is_manifest(&span.path) && directory_of(&span.path).is_some());

    let reading = Reading { path, keys, stop };
    let ids: BTreeSet<Id> = secrets.iter().map(|span| span.id).collect();
    let ids: Vec<Id> = ids.into_iter().collect();
    let contents: BTreeMap<Id, File> = ids.iter().copied().zip(reading.files(&ids)?).collect();
    let mut stood = Vec::new();
    let is_commit = |number: usize| history.commits.get(number).is_some_and(|moment| moment.is_commit);
    let of_commits = secrets.iter().filter(|span| is_commit(span.first));
    let known: BTreeSet<(Option<Directory>, Id)> = of_commits.map(|span| (directory_of(&span.path), span.id)).collect();
    let placed: BTreeSet<Id> =
        secrets.iter().filter(|span| directory_of(&span.path).is_some()).map(|span| span.id).collect();
    for span in &secrets {
        match (contents.get(&span.id).map(|file| &file.secrets), directory_of(&span.path)) {
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
                skipped.add(&span.path, "it holds a Secret, and a reference leads to it without a folder of a region");
            }
            // A page of words that speaks of Secrets is none.
            (Some(Err(why)), _) if is_document(&span.path) || is_lone(&span.path) => skipped.add(&span.path, why),
            _ => {}
        }
    }

    let (vouched, proved) = vouched(&reading, &manifests, &mut skipped)?;
    let looked = Looked {
        repository: called,
        current: history.current,
        commit: history.current_commit.and_then(|number| history.commits.get(number)).map(commit).unwrap_or_default(),
        commits: history.commits.len(),
        references: history.references,
        since: None,
        skipped: told(skipped),
    };
    let facts = History {
        commits: history.commits.iter().map(commit).collect(),
        stood,
        vouched,
        proved,
        steps: Steps::default(),
    };
    Ok(ReadHistory { facts, looked })
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

/// Decides whether something in a repository can have to do with bundles.
fn all_counts(path: &str, kind: Kind, below: Below) -> bool {
    let is_loose = below == Below::Reference && matches!(kind, Kind::File | Kind::Folder);
    counts(path, kind) || (is_loose && (is_document(path) || is_lone(path)))
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
    let time = moment.seconds.map(time).unwrap_or_default();
    Commit { id: moment.id.clone(), time, or_before: moment.or_before }
}

/// What manifests say, and what those of them say that the keys prove.
fn vouched(reading: &Reading<'_>, spans: &[&Span], skipped: &mut PassedOver) -> Result<(ListedBy, ListedBy), Failure> {
    let manifest = |span: &&Span| Manifest { path: span.path.clone(), commit: span.first, id: Some(span.id) };
    let mut manifests: Vec<Manifest> = spans.iter().map(manifest).collect();
    manifests.sort_by(|a, b| (&a.path, a.commit, a.id).cmp(&(&b.path, b.commit, b.id)));
    let (mut said, mut proved) = (ListedBy::default(), ListedBy::default());
    for part in reading.manifests::<Vouched>(&manifests, skipped)? {
        said.absorb(part.said);
        proved.absorb(part.proved);
    }
    Ok((said, proved))
}
