//! File sources: a folder or one file, a git repository at a revision, standard input.
//!
//! [`read`] turns a source of the configuration into documents, each with the place where it stands, and says
//! whether the source was read *completely*: only a complete reading proves that what is not in it is absent
//! (DESIGN §2.6). Nothing outside the given path is read; a path that leads out, or is no plain file, is
//! refused by name. This module knows YAML, JSON and `List`, but not what the documents mean, so the readers of
//! the result judge what a source may provide.

mod again;
mod beneath;
mod budget;
mod build;
pub mod decrypt;
mod directory;
mod document;
mod indexer;
pub mod live;
mod means;
mod nested;
mod reading;
mod revision;
mod sealed;
mod shut;
mod stream;

use pouch_core::config::{Content, Source, SourcePlace};
use pouch_core::stamp::SourceStamp;

pub use self::again::{Again, Library, Texts};
pub use self::indexer::Indexer;
pub use self::means::{MAX_FILE_BYTES, Means};
pub use self::reading::{Given, Reading, SourceError};
pub use self::revision::Fetched;
pub use self::sealed::SealedFile;
use crate::git;

/// Returns true if a source is read of a server by git.
pub fn is_fetched(source: &Source) -> bool {
    match &source.place {
        SourcePlace::Git { repository, .. } => matches!(git::address(repository), Ok(git::Address::Remote(_))),
        _ => false,
    }
}

/// Fetches what a source reads of a server; nothing where it reads of none. It may be done for several sources at once.
pub fn fetch_ahead(source: &Source, given: &Given<'_>) -> Option<Result<Fetched, SourceError>> {
    revision::fetch_ahead(&source.name, &at_revision(source)?, given)
}

/// Reads a source; `ahead` is what was fetched of it already.
///
/// Standard input is read to its end; the configuration allows it once.
///
/// # Errors
/// Where the source cannot be reached at all: no such folder, repository, revision, or a stream that
/// fails. Whatever goes wrong further inside is a finding, and makes the reading incomplete.
pub fn read(
    source: &Source,
    given: &Given<'_>,
    ahead: Option<Result<Fetched, SourceError>>,
) -> Result<Reading, SourceError> {
    let mut reading = match &source.place {
        SourcePlace::Directory { path, content: Content::Files(files) } => {
            directory::read(&source.name, path, files, given)
        }
        SourcePlace::Directory { path, content: Content::Kustomization } => {
            directory::build(&source.name, path, source.relabel, given)
        }
        SourcePlace::Git { repository, reference, path, content, directory, limits: _ } => {
            let (relabel, directory) = (source.relabel, directory.as_ref());
            let wanted = revision::Wanted { repository, reference, path, content, relabel, directory };
            revision::read(&source.name, &wanted, given, ahead)
        }
        SourcePlace::Stdin => stream::read(&source.name, std::io::stdin().lock(), given.means, given.indexer),
        SourcePlace::Cluster { .. } => {
            let message = "a cluster is asked piece by piece, and not read as a whole";
            return Err(SourceError::new(&source.name, message, "This is a bug in pouch; please report it."));
        }
    }?;
    reading.tell_unbuilt(&source.name);
    Ok(reading)
}

/// The state that a source is in now, without reading it; none where it cannot tell.
pub fn state(source: &Source, given: &Given<'_>) -> Option<SourceStamp> {
    revision::state(&source.name, &at_revision(source)?, given)
}

/// The version of what builds a source, if anything does and can tell.
pub fn builder(source: &Source, given: &Given<'_>) -> Option<String> {
    source.place.is_built().then(|| build::version(&source.name, given).ok()).flatten()
}

/// What is read of a repository, if the source is one.
fn at_revision(source: &Source) -> Option<revision::Wanted<'_>> {
    let SourcePlace::Git { repository, reference, path, content, directory, limits: _ } = &source.place else {
        return None;
    };
    let (relabel, directory) = (source.relabel, directory.as_ref());
    Some(revision::Wanted { repository, reference, path, content, relabel, directory })
}

/// The authors of the commits of a repository that lead to the first and not to the second; none where it cannot tell.
pub fn authors(source: &Source, given: &Given<'_>, (new, old): (&str, &str)) -> Option<Vec<String>> {
    revision::authors(&at_revision(source)?, given, (new, old))
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;
    use std::sync::{Arc, LazyLock};

    use pouch_core::config::{BuildLimits, FileGlobs, Globs, SourceLimits};

    use super::reading::Filter;
    use super::*;
    use crate::child::Room;
    use crate::git::program::Deadlines;
    use crate::survey::time::Time;

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
        if !reading.complete || !reading.unread_words.is_empty() {
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

    static BUILD: LazyLock<BuildLimits> = LazyLock::new(BuildLimits::default);

    static NO_END: LazyLock<Time> = LazyLock::new(Time::default);

    /// Means without an end of time.
    pub(super) fn means(limits: &SourceLimits, memory: usize) -> Means<'_> {
        Means { limits, memory, time: &NO_END }
    }

    /// The usual limits, as much memory as there is, and no end of time.
    pub(super) fn all() -> Means<'static> {
        const DEFAULT: &SourceLimits = &SourceLimits::DEFAULT;
        means(DEFAULT, usize::MAX)
    }

    pub(super) fn given(base: &Path) -> Given<'_> {
        Given {
            base,
            skip: &[],
            skip_in_tree: &[],
            environment: &[],
            deadlines: Deadlines::of(60, 60),
            stop: Arc::default(),
            means: all(),
            build: &BUILD,
            room: Room::default(),
            kept: &|_| None,
            last: None,
            indexer: None,
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
