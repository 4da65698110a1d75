//! File sources: a folder or one file, a git repository at a revision, standard input.
//!
//! [`read`] turns a source of the configuration into documents, each with the place where it stands, and says
//! whether the source was read *completely*: only a complete reading proves that what is not in it is absent
//! (DESIGN §2.6). Nothing outside the given path is read; a path that leads out, or is no plain file, is
//! refused by name. This module knows YAML, JSON and `List`, but not what the documents mean, so the readers of
//! the result judge what a source may provide.

pub mod decrypt;
mod directory;
mod document;
pub mod live;
mod revision;
mod stream;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pouch_core::config::{FileGlobs, Source, SourcePlace};
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::name::SourceName;
use pouch_core::node::Node;
use pouch_core::unread_words::Fragment;

pub use decrypt::SealedFile;

/// The largest file or stream that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// The most files, folders and links of one source that are looked at.
const MOST_ENTRIES: usize = 1_000_000;

/// What reading a source depends on beside the source itself.
#[derive(Clone)]
pub struct Given<'a> {
    /// The configuration's folder as the user typed it: paths in findings start with it.
    pub base: &'a Path,
    /// Files and folders that are skipped wherever a folder source holds them: the bundles that pouch itself
    /// writes.
    pub skip: &'a [PathBuf],
    /// The same for git sources: paths from the root of the repository's tree.
    pub skip_in_tree: &'a [String],
    /// The environment that the `git` program is started with, after it is cleaned.
    pub environment: &'a [(OsString, OsString)],
    /// How long one run of the `git` program may take.
    pub timeout: Duration,
    /// Set when the user asks pouch to stop: a running `git` is then ended.
    pub stop: Arc<AtomicBool>,
}

/// What one source holds.
#[derive(Default)]
pub struct Reading {
    /// The documents that are objects, in the order of their paths, then of the file.
    pub documents: Vec<(Node, Origin)>,
    /// Files that SOPS sealed, in the same order; their objects are not among `documents`.
    pub sealed: Vec<SealedFile>,
    /// Whether an object that is not among them is proved absent, except for what `fragments` might hold.
    pub complete: bool,
    /// Documents that could not be read.
    pub fragments: Vec<Fragment>,
    /// What was refused or could not be read.
    pub findings: Vec<Finding>,
    /// How many documents are no objects: no `apiVersion` and `kind`, or ones that configure
    /// kustomize or pouch.
    pub skipped: usize,
    /// A git source's repository, without user, query and fragment; none for the other kinds.
    pub identity: Option<String>,
    /// A git source's commit.
    pub revision: Option<String>,
}

impl Reading {
    /// A complete reading of nothing.
    fn nothing() -> Self {
        Self { complete: true, ..Self::default() }
    }

    /// Appends what another part of the same source holds.
    fn absorb(&mut self, part: Self) {
        self.documents.extend(part.documents);
        for file in part.sealed {
            decrypt::append(&mut self.sealed, file);
        }
        self.findings.extend(part.findings);
        self.skipped = self.skipped.saturating_add(part.skipped);
        self.complete &= part.complete;
        self.fragments.extend(part.fragments);
    }

    /// Notes something that keeps absence from being proved.
    fn lacks(&mut self, finding: Finding) {
        self.complete = false;
        self.findings.push(finding);
    }

    /// Notes a document that cannot be read: only what it might hold is in doubt.
    fn lacks_document(&mut self, text: &str, finding: Finding) {
        match Fragment::of(text) {
            Some(fragment) => self.fragments.push(fragment),
            None => self.complete = false,
        }
        self.findings.push(finding);
    }

    /// Notes a path that is not read.
    fn refuse(&mut self, source: &SourceName, path: &str, why: &str, help: &str) {
        let finding = Finding::new(Code::RefusedFile, format!("{path} {why}, and is not read"));
        self.lacks(finding.at(&start_of(source, path)).help(help));
    }

    /// Notes a path that could not be read.
    fn miss(&mut self, source: &SourceName, path: &str, why: &str, help: &str) {
        let finding = Finding::new(Code::UnreadableFile, format!("{path} cannot be read: {why}"));
        self.lacks(finding.at(&start_of(source, path)).help(help));
    }
}

/// Why a source cannot be reached at all: nothing of it is known, and nothing can be published.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("source {name}: {message}")]
pub struct SourceError {
    /// The source.
    pub name: SourceName,
    /// The problem, without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl SourceError {
    fn new(name: &SourceName, message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { name: name.clone(), message: message.into(), help: help.into() }
    }
}

/// Reads a source.
///
/// Standard input is read to its end; the configuration allows it once.
///
/// # Errors
/// Where the source cannot be reached at all: no such folder, repository, revision, or a stream that
/// fails. Whatever goes wrong further inside is a finding, and makes the reading incomplete.
pub fn read(source: &Source, given: &Given<'_>) -> Result<Reading, SourceError> {
    let reading = match &source.place {
        SourcePlace::Directory { path, files } => directory::read(&source.name, path, files, given),
        SourcePlace::Git { repository, reference, path, files } => {
            let wanted = revision::Wanted { repository, reference, path, files };
            revision::read(&source.name, &wanted, given)
        }
        SourcePlace::Stdin => stream::read(&source.name, std::io::stdin().lock()),
        SourcePlace::Cluster { .. } => {
            let message = "a cluster is asked piece by piece, and not read as a whole";
            return Err(SourceError::new(&source.name, message, "This is a bug in pouch; please report it."));
        }
    }?;
    Ok(reading)
}

/// The finding about a source that holds files of which none counts: a typo in the globs must not look like a
/// source that was emptied.
fn none_counts(source: &SourceName, top: &str, files: usize) -> Finding {
    let message = format!("{top} holds files ({files}), but include and exclude leave none of them");
    Finding::new(Code::UnreadableFile, message)
        .at(&whole(source))
        .help("Correct the globs; a source that is meant to be empty can be removed from the configuration.")
}

/// Which paths of a source count.
struct Filter<'a> {
    files: &'a FileGlobs,
    hidden: bool,
}

impl<'a> Filter<'a> {
    /// Names that start with a dot count only where an include pattern itself names one: tools keep
    /// their own YAML there (`.github`, `.gitlab-ci.yml`, `.sops.yaml`), and a mounted ConfigMap keeps
    /// each file a second time under `..data`.
    fn new(files: &'a FileGlobs) -> Self {
        let hidden = files.include.patterns().iter().any(|p| p.starts_with('.') || p.contains("/."));
        Self { files, hidden }
    }

    /// Whether a name counts at all; `.git` never does.
    fn name(&self, name: &str) -> bool {
        name != ".git" && (self.hidden || !name.starts_with('.'))
    }

    /// Whether the file at `path`, relative to the source's, counts.
    fn file(&self, path: &str) -> bool {
        self.files.include.matches(path) && !self.files.exclude.matches(path)
    }

    /// Whether anything below the folder at `path` can count.
    fn folder(&self, path: &str) -> bool {
        !self.files.exclude.matches(path) && !self.files.exclude.matches(&format!("{path}/"))
    }
}

/// The start of a file.
fn start_of(source: &SourceName, path: &str) -> Origin {
    Origin { source: source.clone(), place: Place::File { path: Arc::from(path), line: 1, column: 1 } }
}

/// The source as a whole.
fn whole(source: &SourceName) -> Origin {
    Origin { source: source.clone(), place: Place::Whole }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use pouch_core::config::Globs;

    use super::*;

    /// One line per object (`kind name origin`) and per finding (`code origin`), then what is special.
    pub(super) fn summary(reading: &Reading) -> String {
        let mut out = String::new();
        for (node, origin) in &reading.documents {
            let word = |path: &[&str]| node.str_at(path).unwrap_or("-").to_owned();
            writeln!(out, "{} {} {origin}", word(&["kind"]), word(&["metadata", "name"])).unwrap();
        }
        for finding in &reading.findings {
            assert!(!finding.help.is_empty() && finding.help.ends_with('.'), "{finding:?}");
            assert!(!finding.message.ends_with('.') && !format!("{finding:?}").contains("CANARY"), "{finding:?}");
            writeln!(out, "{} {}", finding.code.text(), finding.origin.as_ref().unwrap()).unwrap();
        }
        if reading.skipped > 0 {
            writeln!(out, "skipped {}", reading.skipped).unwrap();
        }
        if !reading.complete || !reading.fragments.is_empty() {
            out.push_str("incomplete\n");
        }
        out
    }

    pub(super) fn globs(patterns: &[&str]) -> Globs {
        Globs::new(&patterns.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    pub(super) fn default_globs() -> FileGlobs {
        FileGlobs { include: globs(&["*.yaml", "*.yml", "*.json"]), exclude: globs(&[]) }
    }

    pub(super) fn given(base: &Path) -> Given<'_> {
        Given {
            base,
            skip: &[],
            skip_in_tree: &[],
            environment: &[],
            timeout: Duration::from_secs(60),
            stop: Arc::default(),
        }
    }

    pub(super) fn secret(name: &str) -> String {
        format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData: {{password: CANARY}}\n")
    }

    #[test]
    fn hidden_names_count_where_a_pattern_names_one() {
        let plain = default_globs();
        assert!(!Filter::new(&plain).name(".github") && Filter::new(&plain).name("a.yaml"));
        let hidden = FileGlobs { include: globs(&["deploy/.keys/*.yaml"]), exclude: globs(&[]) };
        assert!(Filter::new(&hidden).name(".keys") && !Filter::new(&hidden).name(".git"));
    }

    #[test]
    fn an_excluded_folder_is_not_entered() {
        let files = FileGlobs { include: globs(&["*"]), exclude: globs(&["vendor/**", "old", "*.bak"]) };
        let filter = Filter::new(&files);
        assert!(!filter.folder("vendor") && !filter.folder("old") && filter.folder("new"));
        assert!(!filter.file("vendor/a.yaml") && !filter.file("x/y.bak") && filter.file("old-not.yaml"));
    }
}
