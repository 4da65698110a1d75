//! What reading a source gives, and what all ways of reading share.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use pouch_core::config::{BuildLimits, FileGlobs, Source, SourcePlace};
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::listing::few;
use pouch_core::name::SourceName;
use pouch_core::node::Node;
use pouch_core::snapshot::{Admitted, FaultLine};
use pouch_core::unread_words::UnreadWords;

use super::again::{Files, Library, Spot};
use super::indexer::Indexer;
use super::means::Means;
use super::sealed::{self, SealedFile};
use crate::child::Room;
use crate::error::Failure;
use crate::git;
use crate::git::kept::Kept;
use crate::git::program::Deadlines;
use crate::survey::last::Last;
use crate::survey::time::Time;

/// The most faults of one file, or of the paths of one source, that are told one by one.
pub(super) const MOST_OF_FILE: usize = 1000;

/// The most kustomizations that are named.
const MOST_UNBUILT: usize = 3;

/// What reading a source depends on beside the source itself.
#[derive(Clone)]
pub struct Given<'a> {
    /// The configuration's folder as the user typed it: paths in findings start with it.
    pub base: &'a Path,
    /// Files and folders that are passed over wherever a folder source holds them: the bundles that
    /// pouch itself writes.
    pub skip: &'a [PathBuf],
    /// The same for git sources: paths from the root of the repository's tree.
    pub skip_in_tree: &'a [String],
    /// The environment that the `git` program is started with, after it is cleaned.
    pub environment: &'a [(OsString, OsString)],
    /// How long one run of the `git` program may take, and how long it may say nothing.
    pub deadlines: Deadlines,
    /// Set when the user asks pouch to stop: a running `git` is then ended.
    pub stop: Arc<AtomicBool>,
    /// The cost that reading the source may have.
    pub means: Means<'a>,
    /// What a build may cost.
    pub build: &'a BuildLimits,
    /// The part of this machine that the `git` program may take.
    pub room: Room,
    /// Finds what is kept of a remote repository, if anything may be.
    pub kept: &'a (dyn Fn(&str) -> Option<Kept> + Sync),
    /// What was read of earlier, of which nothing older is read.
    pub last: Option<&'a Last>,
    /// The index of the source; without one all documents are kept.
    pub indexer: Option<&'a Indexer<'a>>,
}

/// What one source holds.
#[derive(Default)]
pub struct Reading {
    /// The documents that are objects, in the order of their paths, then of the file.
    pub documents: Vec<(Node, Origin)>,
    /// Documents that were weighed by an index.
    pub weighed: Vec<Admitted>,
    /// The place of each of these.
    pub(super) spots: Vec<Spot>,
    /// The number of objects.
    pub objects: usize,
    /// The files that hold what was put aside.
    pub library: Option<Library>,
    /// Files that SOPS sealed, in the same order; their objects are not among `documents`.
    pub sealed: Vec<SealedFile>,
    /// Whether what is not among them is proved absent, but for what `unread_words` might hold.
    pub complete: bool,
    /// Documents that could not be read.
    pub unread_words: Vec<UnreadWords>,
    /// Files that could not be read to their ends: they may have held more than their words tell.
    pub torn: BTreeSet<Arc<str>>,
    /// Kustomizations that make other objects than stand in the files.
    pub(super) unbuilt: BTreeSet<Arc<str>>,
    /// The beginning of all paths of its files; none of a stream.
    pub root: Option<String>,
    /// What was refused or could not be read.
    pub findings: Vec<Finding>,
    /// The number of faults of one file that are not among them.
    others: usize,
    /// The lines of misplaced fields, by the document that has one.
    pub lines: BTreeMap<Origin, FaultLine>,
    /// About how many bytes of memory all of it takes.
    pub held: usize,
    /// How many documents are no objects: no `apiVersion` and `kind`, or ones that configure
    /// kustomize or pouch.
    pub skipped: usize,
    /// The release of kustomize that built it.
    pub kustomize: Option<String>,
    /// A git source's repository, without user, query and fragment; none for the other kinds.
    pub identity: Option<String>,
    /// A git source's commit.
    pub revision: Option<String>,
    /// By which reference the commit was found, by its full name.
    pub reference: String,
}

/// The numbers of what a reading holds.
#[derive(Clone, Copy, Default)]
pub(super) struct SoFar {
    documents: usize,
    weighed: usize,
    unread_words: usize,
    findings: usize,
    lines: usize,
}

impl Reading {
    /// A complete reading of nothing.
    pub(super) fn nothing() -> Self {
        Self { complete: true, ..Self::default() }
    }

    /// Appends what another part of the same source holds.
    pub(super) fn absorb(&mut self, part: Self) {
        self.documents.extend(part.documents);
        self.weighed.extend(part.weighed);
        self.spots.extend(part.spots);
        self.objects += part.objects;
        self.library = self.library.take().or(part.library);
        for file in part.sealed {
            sealed::append(&mut self.sealed, file);
        }
        self.findings.extend(part.findings);
        self.others += part.others;
        self.lines.extend(part.lines);
        self.held = self.held.saturating_add(part.held);
        self.skipped += part.skipped;
        self.complete &= part.complete;
        self.torn.extend(part.torn);
        self.unbuilt.extend(part.unbuilt);
        self.unread_words.extend(part.unread_words);
    }

    /// The same, of files whose paths all begin with `root`.
    pub(super) fn below(self, root: String) -> Self {
        Self { root: Some(root), ..self }
    }

    /// The numbers of what it holds by now.
    pub(super) fn so_far(&self) -> SoFar {
        let Self { documents, weighed, unread_words, findings, lines, .. } = self;
        SoFar {
            documents: documents.len(),
            weighed: weighed.len(),
            unread_words: unread_words.len(),
            findings: findings.len(),
            lines: lines.len(),
        }
    }

    /// About how many bytes of memory are taken by what came since, and by what is made of it later.
    pub(super) fn held_since(&self, before: SoFar) -> usize {
        // Measured over 100,000 of each.
        const DOCUMENT: usize = 4000;
        const WEIGHED: usize = 1200;
        const UNREAD: usize = 200;
        const FINDING: usize = 600;
        let documents = self.documents.get(before.documents..).unwrap_or_default();
        let words = self.unread_words.get(before.unread_words..).unwrap_or_default();
        let more = |now: usize, before: usize| now.saturating_sub(before);
        documents.iter().map(|(document, _)| document.size().held() + DOCUMENT).sum::<usize>()
            + words.iter().map(|words| words.held() + UNREAD).sum::<usize>()
            + more(self.weighed.len(), before.weighed) * WEIGHED
            + (more(self.findings.len(), before.findings) + more(self.lines.len(), before.lines)) * FINDING
    }

    /// Keeps the first faults of a file and the last one, which may say that the file was cut short; the others are counted.
    pub(super) fn keep_first(&mut self, most: usize) {
        if self.findings.len() <= most {
            return;
        }
        let last = self.findings.pop();
        self.others += self.findings.len().saturating_sub(most.saturating_sub(1));
        self.findings.truncate(most.saturating_sub(1));
        self.findings.extend(last);
    }

    /// The number of faults of a file that are not told, from now on none.
    pub(super) fn take_others(&mut self) -> Option<usize> {
        self.keep_first(MOST_OF_FILE);
        Some(std::mem::take(&mut self.others)).filter(|others| *others > 0)
    }

    /// Says that more paths are not read than are told, if that is so.
    pub(super) fn tell_other_paths(&mut self, source: &SourceName, top: &str) {
        if let Some(others) = self.take_others() {
            let message = format!("{top} has more paths that are not read than are told");
            let help = format!("{others} are left out. Correct the others, or exclude what is not a manifest.");
            self.lacks(Finding::new(Code::RefusedFile, message).at(&whole(source)).help(help));
        }
    }

    /// Says that files are read as they are although a kustomization changes what they say, if that is so.
    pub(super) fn tell_unbuilt(&mut self, source: &SourceName) {
        if self.unbuilt.is_empty() {
            return;
        }
        let paths = few(self.unbuilt.iter(), self.unbuilt.len(), MOST_UNBUILT);
        let message = format!("the files are read one by one, and a kustomization changes what they say: {paths}");
        let help = "Add `build: kustomize` to the source, beside `path`, and let `path` be the folder of the kustomization that is \
                    delivered. If the files are meant as they are, exclude \"*kustomization.yaml\".";
        self.findings.push(Finding::new(Code::UnbuiltKustomization, message).at(&whole(source)).help(help));
    }

    /// Takes the files of what was put aside.
    pub(super) fn file(&mut self, files: impl Files + 'static) {
        if !self.spots.is_empty() || self.sealed.iter().any(SealedFile::is_again) {
            self.library = Some(Library::new(files, std::mem::take(&mut self.spots)));
        }
    }

    /// The paths of files that are read again.
    pub(super) fn again(&self) -> BTreeSet<&str> {
        let sealed = self.sealed.iter().filter(|file| file.is_again()).map(|file| &*file.path);
        self.spots.iter().map(|spot| &*spot.path).chain(sealed).collect()
    }

    /// Notes something that keeps absence from being proved.
    pub(super) fn lacks(&mut self, finding: Finding) {
        self.complete = false;
        self.findings.push(finding);
    }

    /// Notes a document of a file that cannot be read, with its text: what that might hold is in doubt, and what stood in the
    /// file when it was published.
    pub(super) fn tear(&mut self, file: &Arc<str>, text: &str, finding: Finding) {
        self.torn.insert(Arc::clone(file));
        self.unread_words.push(UnreadWords::of(text));
        self.findings.push(finding);
    }

    /// Notes a document that was read and is no object: the object that it may be meant for is in doubt.
    pub(super) fn lacks_object(&mut self, document: &Node, finding: Finding) {
        self.unread_words.push(UnreadWords::of_document(document));
        self.findings.push(finding);
    }

    /// Notes a path that is not read.
    pub(super) fn refuse(&mut self, source: &SourceName, path: &str, why: &str, help: &str) {
        let finding = Finding::new(Code::RefusedFile, format!("{path} {why}, and is not read"));
        self.lacks(finding.at(&start_of(source, path)).help(String::from(help)));
    }

    /// Notes a path that could not be read.
    pub(super) fn miss(&mut self, source: &SourceName, path: &str, why: &str, help: &str) {
        let finding = Finding::new(Code::UnreadableFile, format!("{path} cannot be read: {why}"));
        self.lacks(finding.at(&start_of(source, path)).help(String::from(help)));
    }
}

/// Why a source cannot be reached at all: nothing of it is known.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("source {name}: {message}")]
pub struct SourceError {
    /// The source.
    pub name: SourceName,
    /// What is the matter, without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
    /// What is found.
    code: Code,
    /// True if this machine has too little of something, or this run: another source may have left more.
    pub is_for_want_of_room: bool,
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        match error.is_for_want_of_room {
            true => Failure::failed(error.to_string(), error.help),
            false => Failure::unavailable(error.to_string(), error.help),
        }
    }
}

impl SourceError {
    /// What takes the place of a source's reading: whatever the source may provide is unknown.
    pub(crate) fn reading(&self, source: &Source) -> Reading {
        let mut reading = Reading::nothing();
        if let SourcePlace::Git { repository, .. } = &source.place {
            reading.identity = Some(git::identity(repository));
        }
        let finding = Finding::new(self.code, self.to_string()).at(&whole(&self.name));
        reading.lacks(finding.help(self.help.clone()));
        reading
    }

    pub(super) fn new(name: &SourceName, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            name: name.clone(),
            message: message.into(),
            help: help.into(),
            code: Code::UnavailableSource,
            is_for_want_of_room: false,
        }
    }

    /// That it has no time left.
    pub(crate) fn late(name: &SourceName, time: &Time) -> Self {
        Self::new(name, time.over(), Time::HELP)
    }

    /// An older state was read than before.
    pub(super) fn stale(name: &SourceName, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { code: Code::StaleSource, ..Self::new(name, message, help) }
    }

    /// That there is too little space for what is fetched of it, or too little memory.
    pub(super) fn no_room(name: &SourceName, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { is_for_want_of_room: true, ..Self::new(name, message, help) }
    }
}

/// What a source says that holds files of which none counts: a typo in the globs must not look like a
/// source that was emptied.
pub(super) fn none_counts(source: &SourceName, top: &str, files: usize) -> Finding {
    let message = format!("{top} holds files ({files}), but include and exclude leave none of them");
    Finding::new(Code::UnreadableFile, message)
        .at(&whole(source))
        .help("Correct the globs; a source that is meant to be empty can be removed from the configuration.")
}

/// Which paths of a source count.
pub(super) struct Filter<'a> {
    files: &'a FileGlobs,
    hidden: bool,
}

impl<'a> Filter<'a> {
    /// Names that start with a dot count only where an include pattern itself names one: tools keep
    /// their own YAML there (`.github`, `.gitlab-ci.yml`, `.sops.yaml`), and a mounted ConfigMap keeps
    /// each file a second time under `..data`.
    pub(super) fn new(files: &'a FileGlobs) -> Self {
        let hidden = files.include.patterns().iter().any(|p| p.starts_with('.') || p.contains("/."));
        Self { files, hidden }
    }

    /// Whether a name counts at all. What git keeps for itself never does.
    pub(super) fn name(&self, name: &str) -> bool {
        name != ".git" && (self.hidden || !name.starts_with('.'))
    }

    /// Whether the file at `path`, relative to the source's, counts.
    pub(super) fn file(&self, path: &str) -> bool {
        self.files.include.matches(path) && !self.files.exclude.matches(path)
    }

    /// Whether anything below the folder at `path` can count.
    pub(super) fn folder(&self, path: &str) -> bool {
        !self.files.exclude.matches(path) && !self.files.exclude.matches(&format!("{path}/"))
    }
}

/// The beginning of a path before the name of its file.
pub(super) fn folder_of(path: &str) -> String {
    let end = path.rfind(['/', ':']).map_or(0, |at| at.saturating_add(1));
    path.get(..end).unwrap_or_default().to_owned()
}

/// The start of a file.
pub(super) fn start_of(source: &SourceName, path: &str) -> Origin {
    Origin { source: source.clone(), place: Place::File { path: Arc::from(path), line: 1, column: 1 } }
}

/// The source as a whole.
pub(super) fn whole(source: &SourceName) -> Origin {
    Origin { source: source.clone(), place: Place::Whole }
}
