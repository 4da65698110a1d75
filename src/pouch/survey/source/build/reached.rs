//! Reached: the files of a tree that a build is given, as they are read.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pouch_core::finding::{Origin, Place};
use pouch_core::kustomize::{Entry, SourceTree, Trouble};
use pouch_core::name::SourceName;
use pouch_core::node::{Key, Node};
use pouch_core::snapshot::FaultLine;
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::consumers;
use pouch_core::yaml::emit::{Tree, emit};
use zeroize::Zeroizing;

use super::super::budget::Meter;
use super::super::document::{self, Form, Text};
use super::super::nested;
use super::super::sealed::{self, Made, SealedFile, SealedPart};
use crate::ambient::Timer;

/// A tree from which a build may be given files. Paths are from its root, without `.` and `..`.
pub(in super::super) trait Files {
    /// Looks at a path; a symlink on the way counts as one at its end.
    fn look(&mut self, path: &str) -> Entry;

    /// Says what to do about a path that leads out of the tree, or to nothing in it.
    fn help(&self) -> &'static str;

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
    /// The number of the first of them: kustomize is given a number in the place of each block.
    pub(super) first: usize,
    /// Notes on its documents.
    pub(super) lines: BTreeMap<Origin, FaultLine>,
}

/// The files that a build reached.
pub(super) struct Reached<'a> {
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) files: &'a mut dyn Files,
    pub(super) meter: &'a Meter<'a>,
    /// How long a build may take, and since when.
    pub(super) clock: (Timer, Duration),
    pub(super) read: BTreeMap<String, FileRead>,
    /// Files with nothing in them, as they are shown.
    pub(super) empty: Vec<Arc<str>>,
    /// The number of sealed documents.
    pub(super) sealed: usize,
    /// Files that SOPS sealed as a whole: as they are shown, and their texts.
    pub(super) nested: Vec<(Arc<str>, Box<str>)>,
}

impl Reached<'_> {
    /// Does a piece of work, if there is time.
    fn in_time<T>(&mut self, work: impl FnOnce(&mut dyn Files) -> T) -> Option<T> {
        let (since, most) = &self.clock;
        let files = &mut *self.files;
        (since.elapsed() <= *most).then(|| self.meter.means().time.spend(|| work(files))).flatten()
    }
}

const LATE: &str = "is reached when there is no time left (limits.build.seconds, limits.sources.time)";

impl SourceTree for Reached<'_> {
    fn look(&mut self, path: &str) -> Entry {
        self.in_time(|files| files.look(path)).unwrap_or(Entry::Other(LATE))
    }

    fn help(&self) -> &'static str {
        self.files.help()
    }

    fn bytes(&mut self, path: &str) -> Result<Vec<u8>, Trouble> {
        let most = self.meter.means().most_of_file();
        let read = self.in_time(|files| files.bytes(path, most)).unwrap_or_else(|| Err(LATE.to_owned()));
        let bytes =
            read.map_err(|why| Trouble::new(path, format!("it {why}"), "Correct the file, or do not name it."))?;
        self.meter.file(bytes.len());
        match self.meter.passed() {
            None => Ok(bytes),
            Some(passed) => Err(Trouble::new(path, format!("the build takes too much: {passed}"), "Build less of it.")),
        }
    }

    fn nested(&mut self, path: &str, entry: &str, sealed: &[u8]) -> Result<Vec<u8>, Trouble> {
        if nested::OTHERS.iter().any(|end| entry.ends_with(end)) {
            let help =
                "Seal it as bytes, under the name of an entry without that end; or seal a manifest of the Secret.";
            return Err(Trouble::new(path, "a file of that form is not opened", help));
        }
        let wrong = |_| Trouble::new(path, "it is no UTF-8", "Seal it by sops, which writes UTF-8.");
        let text = str::from_utf8(sealed).map_err(wrong)?;
        self.nested.push((Arc::from((self.wanted.show)(path)), Box::from(text)));
        Ok(word(self.nested.len().saturating_sub(1)).into_bytes())
    }

    fn resources(&mut self, path: &str) -> Result<Zeroizing<String>, Trouble> {
        let bytes = Zeroizing::new(self.bytes(path)?);
        let shown: Arc<str> = Arc::from((self.wanted.show)(path));
        if bytes.iter().all(|byte| *byte == 0) {
            self.empty.push(shown);
            return Ok(Zeroizing::default());
        }
        let text = Text::new((self.wanted.source, &shown), (Form::of(&shown), &bytes), self.meter);
        let mut reading = document::read(&text, &mut Reader::new());
        if let Some(finding) = reading.findings.into_iter().next() {
            let line = finding.origin.as_ref().map(line_of);
            return Err(Trouble { line, ..Trouble::new(path, finding.message, finding.help) });
        }
        if reading.skipped > 0 {
            let help = "Remove the document, or do not name the file under `resources`.";
            return Err(Trouble::new(path, "a document in it is no object of a cluster", help));
        }
        let (mut written, mut told) = (Zeroizing::new(String::new()), Vec::new());
        for (node, origin) in std::mem::take(&mut reading.documents) {
            add((path, &origin), node, None, (&mut written, &mut told))?;
        }
        // A file that several folders name is one all the same.
        let first = self.read.get(path).map_or(self.sealed, |read| read.first);
        let mut number = first;
        for file in &reading.sealed {
            for part in &file.parts {
                let (node, origin) = only(path, part)?;
                add((path, origin), node.clone(), Some(number), (&mut written, &mut told))?;
                number = number.saturating_add(1);
            }
        }
        self.sealed = self.sealed.max(number);
        let sealed = std::mem::take(&mut reading.sealed);
        self.read.insert(path.to_owned(), FileRead { shown, documents: told, sealed, first, lines: reading.lines });
        Ok(written)
    }
}

/// The word in the place of a nested file with this number.
pub(super) fn word(number: usize) -> String {
    format!("pouch-nested-{number}")
}

fn line_of(origin: &Origin) -> u32 {
    match origin.place {
        Place::File { line, .. } => line,
        Place::Cluster { .. } | Place::Whole => 1,
    }
}

/// Writes a document for kustomize; a sealed one has its number in the place of its block.
fn add(
    (path, origin): (&str, &Origin),
    node: Node,
    number: Option<usize>,
    (written, told): (&mut String, &mut Vec<(String, String, u32)>),
) -> Result<(), Trouble> {
    let line = line_of(origin);
    let wrong = |message: String, help: &str| Err(Trouble { line: Some(line), ..Trouble::new(path, message, help) });
    let (node, _) = without_origin(node);
    let notes = node.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    let is_own =
        |key: &str| key.starts_with("internal.config.kubernetes.io/") || (number.is_some() && NAMED.contains(&key));
    if let Some((key, _)) = notes.iter().find(|(key, _)| is_own(key)) {
        let help =
            "Remove the annotation: what kustomize would do for it hangs on what is sealed, or is its own affair.";
        return wrong(format!("a document has the annotation {key}"), help);
    }
    let node = match number {
        Some(number) => sealed::marked(node, &number.to_string()),
        None => node,
    };
    let text = Zeroizing::new(format!("---\n{}", *emit(&Tree::of(&node))));
    if let Some(trouble) = consumers::trouble(text.as_bytes()) {
        return wrong(format!("kustomize does not give back what it reads: {trouble}"), trouble.cure());
    }
    written.push_str(&text);
    let word = |path: &[&str]| node.str_at(path).unwrap_or_default().to_owned();
    told.push((word(&["kind"]), word(&["metadata", "name"]), line));
    Ok(())
}

/// Annotations for which kustomize calls an object otherwise by its content, or joins it with another.
const NAMED: [&str; 2] = ["kustomize.config.k8s.io/needs-hash", "kustomize.config.k8s.io/behavior"];

/// The object of a sealed document, of which one comes out.
fn only<'p>(path: &str, part: &'p SealedPart) -> Result<&'p (Node, Origin), Trouble> {
    let wrong = |message: &str, help: &str| Trouble { line: Some(part.line), ..Trouble::new(path, message, help) };
    match &*part.documents {
        [object] if part.made != Made::Apart => Ok(object),
        [_] => {
            let help = "Write it as a document of its own, as SOPS wrote it.";
            Err(wrong("an item of a List has a sops block of its own", help))
        }
        _ => {
            let help = "Seal each manifest by itself, as a document of its own.";
            Err(wrong("a List is sealed as a whole, and kustomize takes its seal off", help))
        }
    }
}

/// The annotation in which kustomize tells an origin.
///
/// <https://kubectl.docs.kubernetes.io/references/kustomize/kustomization/buildmetadata/>
const ORIGIN: &str = "config.kubernetes.io/origin";

/// An object without the annotation of its origin, and that.
pub(super) fn without_origin(node: Node) -> (Node, Option<String>) {
    let origin = node.str_at(&["metadata", "annotations", ORIGIN]).map(str::to_owned);
    if origin.is_none() {
        return (node, None);
    }
    let annotations = |(key, value): &(Key, Node)| {
        let rest: Vec<(Key, Node)> = value.entries().iter().filter(|(key, _)| **key != *ORIGIN).cloned().collect();
        (!rest.is_empty()).then(|| (key.clone(), Node::map(rest)))
    };
    let metadata = |(key, value): &(Key, Node)| match **key == *"annotations" {
        true => annotations(&(key.clone(), value.clone())),
        false => Some((key.clone(), value.clone())),
    };
    let field = |(key, value): &(Key, Node)| match **key == *"metadata" {
        true => (key.clone(), Node::map(value.entries().iter().filter_map(metadata).collect())),
        false => (key.clone(), value.clone()),
    };
    (Node::map(node.entries().iter().map(field).collect()), origin)
}
