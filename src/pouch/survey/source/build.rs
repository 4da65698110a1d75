//! Builds: what kustomize makes of the kustomization of a folder, as a source (DESIGN §5).
//!
//! [`pouch_core::kustomize`] says which files kustomize is given; they are written into a private folder, and kustomize builds
//! that folder: with an empty PATH, with proxies that lead nowhere, without plugins, and within `limits.build`. An object that
//! comes out is held against the file that it comes from (`output`). Nothing is opened here that SOPS sealed. A build that
//! fails leaves the whole source unread: half of a build is none.

mod output;
mod program;
mod trees;

use std::collections::BTreeMap;
use std::sync::Arc;

use pouch_core::finding::{Origin, Place};
use pouch_core::kustomize::{Entry, SourceTree, Trouble, gather};
use pouch_core::name::SourceName;
use pouch_core::node::Node;
use pouch_core::snapshot::FaultLine;
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::emit::{Tree, emit};
use zeroize::Zeroizing;

use self::output::{Known, Output};
pub(super) use self::program::version;
pub(super) use self::trees::{Commit, Folder};
use super::budget::Meter;
use super::document::{self, Form, Text};
use super::reading::{Given, Reading, SourceError, folder_of};
use super::sealed::{Made, SealedFile};

/// A tree from which a build may be given files. Paths are from its root, without `.` and `..`.
pub(super) trait Files {
    /// What stands at a path; a symlink on the way counts as one at its end.
    fn look(&mut self, path: &str) -> Entry;

    /// The bytes of a regular file that has no more than so many.
    ///
    /// # Errors
    /// The reason why it cannot be read, to stand behind its path.
    fn bytes(&mut self, path: &str, most: u64) -> Result<Vec<u8>, String>;
}

/// What is built.
pub(super) struct Wanted<'a> {
    pub(super) source: &'a SourceName,
    /// The folder in the tree.
    pub(super) folder: &'a str,
    /// How a path of the tree is shown.
    pub(super) show: &'a dyn Fn(&str) -> String,
    /// Whether a sealed document may end in another namespace than it states.
    pub(super) relabel: bool,
}

/// Builds, and reads what comes out.
pub(super) fn read(wanted: &Wanted<'_>, files: &mut dyn Files, given: &Given<'_>) -> Result<Reading, SourceError> {
    let meter = Meter::new(given.means);
    let mut reached = Reached { wanted, files, meter: &meter, read: BTreeMap::new() };
    let gathered = gather(&mut reached, wanted.folder).map_err(|trouble| refused(wanted, &trouble))?;
    let known = Known::new(reached.read);
    let printed = program::build(wanted.source, &gathered, given)?;
    let mut output = Output { wanted, gathered: &gathered, known, meter: &meter, reading: Reading::nothing() };
    output.read(&printed, given.build.objects)?;
    let mut reading = output.reading();
    if let Some(passed) = meter.passed() {
        let message = format!("what kustomize builds of it is more than is read: {passed}");
        return Err(SourceError::new(wanted.source, message, "Build less of it, or raise the limit."));
    }
    reading.held = meter.held();
    // What stands before the name of a file at the top.
    Ok(reading.below(folder_of(&(wanted.show)("x"))))
}

fn refused(wanted: &Wanted<'_>, trouble: &Trouble) -> SourceError {
    let Trouble { path, line, message, help } = trouble;
    let line = line.map(|line| format!(":{line}")).unwrap_or_default();
    SourceError::new(wanted.source, format!("it cannot be built: {}{line}: {message}", (wanted.show)(path)), help)
}

/// A file of resources that a build reached.
struct FileRead {
    /// The path as it is shown.
    shown: Arc<str>,
    /// Kind, name and line of each document.
    documents: Vec<(String, String, u32)>,
    /// The documents that SOPS sealed.
    sealed: Vec<SealedFile>,
    /// What else is known of its documents.
    lines: BTreeMap<Origin, FaultLine>,
}

/// The files that a build reached.
struct Reached<'a> {
    wanted: &'a Wanted<'a>,
    files: &'a mut dyn Files,
    meter: &'a Meter<'a>,
    read: BTreeMap<String, FileRead>,
}

impl SourceTree for Reached<'_> {
    fn look(&mut self, path: &str) -> Entry {
        match self.meter.means().time.spend(|| self.files.look(path)) {
            Some(entry) => entry,
            None => Entry::Other("is reached too late: its source has no time left"),
        }
    }

    fn bytes(&mut self, path: &str) -> Result<Vec<u8>, Trouble> {
        let means = self.meter.means();
        let read = means.time.spend(|| self.files.bytes(path, means.most_of_file()));
        let read = read.unwrap_or_else(|| Err("is not read: its source has no time left".to_owned()));
        let bytes =
            read.map_err(|why| Trouble::new(path, format!("it {why}"), "Correct the file, or do not name it."))?;
        self.meter.file(bytes.len());
        match self.meter.passed() {
            None => Ok(bytes),
            Some(passed) => Err(Trouble::new(path, format!("the build takes too much: {passed}"), "Build less of it.")),
        }
    }

    fn resources(&mut self, path: &str) -> Result<Zeroizing<String>, Trouble> {
        let bytes = Zeroizing::new(self.bytes(path)?);
        let shown: Arc<str> = Arc::from((self.wanted.show)(path));
        let text = Text::new((self.wanted.source, &shown), (Form::of(&shown), &bytes), self.meter);
        let mut reading = document::read(&text, &mut Reader::new());
        if let Some(finding) = reading.findings.into_iter().next() {
            let line = finding.origin.and_then(|origin| match origin.place {
                Place::File { line, .. } => Some(line),
                Place::Cluster { .. } | Place::Whole => None,
            });
            return Err(Trouble { line, ..Trouble::new(path, finding.message, finding.help) });
        }
        if reading.skipped > 0 {
            let help = "Remove the document, or do not name the file under `resources`.";
            return Err(Trouble::new(path, "a document in it is no object of a cluster", help));
        }
        let mut written = Zeroizing::new(String::new());
        let mut documents = Vec::new();
        for (node, origin) in &reading.documents {
            documents.push((node, origin));
        }
        for file in &reading.sealed {
            judge(path, file)?;
            documents.extend(file.parts.iter().flat_map(|part| &part.documents).map(|(node, origin)| (node, origin)));
        }
        let mut told = Vec::with_capacity(documents.len());
        for (node, origin) in documents {
            written.push_str("---\n");
            written.push_str(&emit(&Tree::of(node)));
            let word = |path: &[&str]| node.str_at(path).unwrap_or_default().to_owned();
            let line = match origin.place {
                Place::File { line, .. } => line,
                Place::Cluster { .. } | Place::Whole => 1,
            };
            told.push((word(&["kind"]), word(&["metadata", "name"]), line));
        }
        let sealed = std::mem::take(&mut reading.sealed);
        self.read.insert(path.to_owned(), FileRead { shown, documents: told, sealed, lines: reading.lines });
        Ok(written)
    }
}

/// Refuses what SOPS sealed where no object of its own can come out, or kustomize would call it otherwise by its content.
fn judge(path: &str, file: &SealedFile) -> Result<(), Trouble> {
    const NOTES: [&str; 2] = ["kustomize.config.k8s.io/needs-hash", "kustomize.config.k8s.io/behavior"];
    for part in &file.parts {
        let wrong =
            |message: String, help: &str| Err(Trouble { line: Some(part.line), ..Trouble::new(path, message, help) });
        let [(node, _)] = &*part.documents else {
            let help = "Seal each manifest by itself, as a document of its own.";
            return wrong("a List is sealed as a whole, and kustomize takes its seal off".to_owned(), help);
        };
        if part.made == Made::Apart {
            let help = "Write it as a document of its own, as SOPS wrote it.";
            return wrong("an item of a List has a sops block of its own".to_owned(), help);
        }
        let notes = node.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
        if let Some((key, _)) = notes.iter().find(|(key, _)| NOTES.contains(&&**key)) {
            let help = "Remove the annotation, and seal the document again: the name would hang on what is sealed.";
            return wrong(format!("a sealed document has the annotation {key}"), help);
        }
    }
    Ok(())
}
