//! Reached: the files of a tree that a build is given, as they are read.

use std::collections::BTreeMap;
use std::sync::Arc;

use pouch_core::finding::{Origin, Place};
use pouch_core::kustomize::{Entry, SourceTree, Trouble};
use pouch_core::name::SourceName;
use pouch_core::node::Node;
use pouch_core::snapshot::FaultLine;
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::emit::{Tree, emit};
use zeroize::Zeroizing;

use super::super::budget::Meter;
use super::super::document::{self, Form, Text};
use super::super::sealed::{Made, SealedFile};

/// A tree from which a build may be given files. Paths are from its root, without `.` and `..`.
pub(in super::super) trait Files {
    /// What stands at a path; a symlink on the way counts as one at its end.
    fn look(&mut self, path: &str) -> Entry;

    /// The bytes of a regular file that has no more than so many.
    ///
    /// # Errors
    /// The reason why it cannot be read, to stand behind its path.
    fn bytes(&mut self, path: &str, most: u64) -> Result<Vec<u8>, String>;
}

/// What is built.
pub(in super::super) struct Wanted<'a> {
    pub(in super::super) source: &'a SourceName,
    /// The folder in the tree.
    pub(in super::super) folder: &'a str,
    /// How a path of the tree is shown.
    pub(in super::super) show: &'a dyn Fn(&str) -> String,
    /// Whether a sealed document may end in another namespace than it states.
    pub(in super::super) relabel: bool,
}

/// A file of resources that a build reached.
pub(super) struct FileRead {
    /// The path as it is shown.
    pub(super) shown: Arc<str>,
    /// Kind, name and line of each document.
    pub(super) documents: Vec<(String, String, u32)>,
    /// The documents that SOPS sealed.
    pub(super) sealed: Vec<SealedFile>,
    /// What else is known of its documents.
    pub(super) lines: BTreeMap<Origin, FaultLine>,
}

/// The files that a build reached.
pub(super) struct Reached<'a> {
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) files: &'a mut dyn Files,
    pub(super) meter: &'a Meter<'a>,
    pub(super) read: BTreeMap<String, FileRead>,
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
