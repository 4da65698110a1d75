//! Output: the objects that kustomize prints, each held against the file that it comes from.
//!
//! An origin that kustomize writes is for messages alone: a writer of the tree can write one. kustomize is given a number in
//! the place of each `sops` block, which says of which document an object was built, wherever it claims to come from. That its
//! values are those of that document is proved when it is opened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pouch_core::finding::{Origin, Place};
use pouch_core::kustomize::Gathered;
use pouch_core::listing::few;
use pouch_core::node::Node;
use pouch_core::object::kind_of;
use pouch_core::snapshot::{FaultLine, Reason};
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::read::{documents, text_of};

use super::super::budget::Meter;
use super::super::document::{Form, Text};
use super::super::nested;
use super::super::reading::{Reading, SourceError};
use super::super::sealed::{self, Made, PartText, SealedFile, SealedPart, Written, names_no_namespace};
use super::reached::{FileRead, Wanted, without_origin, word};

/// The place of a document: the number of its file, and its number there.
type Spot = (usize, usize);

/// What is known of the files that were built.
pub(super) struct Known {
    /// The files by their paths in the tree.
    paths: BTreeMap<String, usize>,
    files: Vec<Seen>,
    sealed: Vec<SealedFile>,
    /// The documents that SOPS sealed, by their numbers.
    numbers: BTreeMap<String, Spot>,
    /// The namespaces that they state.
    stated: BTreeMap<Spot, Option<Box<str>>>,
    lines: BTreeMap<Origin, FaultLine>,
    /// The nested file of each value that stands for one.
    words: BTreeMap<String, usize>,
    nested: Vec<(Arc<str>, Box<str>)>,
}

/// A file of resources.
struct Seen {
    shown: Arc<str>,
    documents: Vec<(String, String, u32)>,
}

impl Known {
    pub(super) fn new(read: BTreeMap<String, FileRead>, nested: Vec<(Arc<str>, Box<str>)>) -> Self {
        let mut known = Self {
            paths: BTreeMap::new(),
            files: Vec::new(),
            sealed: Vec::new(),
            numbers: BTreeMap::new(),
            stated: BTreeMap::new(),
            lines: BTreeMap::new(),
            words: (0..nested.len()).map(|number| (nested::encoded(&word(number)), number)).collect(),
            nested,
        };
        for (path, FileRead { shown, documents, sealed, first, lines }) in read {
            known.paths.insert(path, known.files.len());
            known.files.push(Seen { shown, documents });
            known.lines.extend(lines);
            let mut number = first;
            for file in sealed {
                known.add(file, &mut number);
            }
        }
        known
    }

    /// Adds a sealed file, of whose objects none is built yet, and whose documents are counted on from this number.
    fn add(&mut self, mut file: SealedFile, number: &mut usize) {
        let at = self.sealed.len();
        for (document, part) in file.parts.iter_mut().enumerate() {
            let spot = (at, document);
            for (node, _) in std::mem::take(&mut part.documents) {
                let namespace = node.str_at(&["metadata", "namespace"]).filter(|_| !names_no_namespace(&node));
                self.stated.insert(spot, namespace.map(Box::from));
            }
            part.made = Made::Built { moved: false };
            self.numbers.insert(number.to_string(), spot);
            *number = number.saturating_add(1);
        }
        self.sealed.push(file);
    }
}

/// What kustomize printed, as it is read.
pub(super) struct Output<'a> {
    pub(super) wanted: &'a Wanted<'a>,
    pub(super) gathered: &'a Gathered,
    pub(super) known: Known,
    pub(super) meter: &'a Meter<'a>,
    pub(super) reading: Reading,
}

impl Output<'_> {
    /// Reads the objects.
    pub(super) fn read(&mut self, printed: &[u8], most: usize) -> Result<(), SourceError> {
        let wrong = |message: String, help: &str| SourceError::new(self.wanted.source, message, help);
        const REPORT: &str = "Run kustomize build in a checkout; if what it prints is sound, this is a bug in pouch.";
        let unread = |why: &str| wrong(format!("what kustomize prints cannot be read: {why}"), REPORT);
        let text = text_of(printed).map_err(|flaw| unread(&flaw.what))?;
        let mut reader = Reader::new();
        for (number, document) in documents(text).enumerate() {
            if number >= most {
                let help = "Build less of it, or raise the limit.";
                return Err(wrong(format!("kustomize makes more objects than limits.build.objects ({most})"), help));
            }
            let node = reader.read(&document).map_err(|flaw| unread(&flaw.what))?;
            if !self.meter.keeps(&node, document.text) {
                return Ok(());
            }
            let before = self.reading.so_far();
            self.add(node);
            self.meter.holds(self.reading.held_since(before));
        }
        Ok(())
    }

    fn add(&mut self, node: Node) {
        let (node, origin) = without_origin(node);
        let (path, line) = self.place(&node, origin.as_deref());
        let at = Place::File { path: path.clone(), line, column: 1 };
        let at = Origin { source: self.wanted.source.clone(), place: at };
        if let Some(file) = self.generated(&node, &at) {
            return self.reading.sealed.push(file);
        }
        let Some(mac) = sealed::mac(&node) else {
            let text = Text::new((self.wanted.source, &path), (Form::Yaml, b""), self.meter);
            return text.take(node, line, ("", line), None, &mut self.reading);
        };
        match self.known.numbers.get(&*mac).copied() {
            Some(spot) => self.seal(spot, node),
            None => {
                let why = "its sops block is that of no document that was built";
                let help = "Leave the sops block of a sealed document as SOPS wrote it.";
                let mut file = SealedFile::item(&path, line, (sealed::shortened(node), at));
                file.parts.iter_mut().for_each(|part| part.closed = Some(Reason::new(why, help)));
                self.reading.sealed.push(file);
            }
        }
    }

    /// A Secret that was generated of files that SOPS sealed, if it is one.
    fn generated(&self, node: &Node, at: &Origin) -> Option<SealedFile> {
        let is_secret = kind_of(node).is_secret();
        let file = |value: &str| self.known.words.get(value).copied();
        let (secret, files) = is_secret.then(|| nested::placed(node, file)).flatten()?;
        let files: Vec<&(Arc<str>, Box<str>)> =
            files.iter().filter_map(|number| self.known.nested.get(*number)).collect();
        let part = |(_, text): &&(Arc<str>, Box<str>)| SealedPart {
            text: PartText::Here(text.clone(), None),
            line: 1,
            first_line: 1,
            documents: Vec::new(),
            made: Made::Generated,
            closed: None,
        };
        let mut parts: Vec<SealedPart> = files.iter().map(part).collect();
        parts.first_mut()?.documents.push((secret, at.clone()));
        let (path, _) = files.first()?;
        Some(SealedFile { path: path.clone(), written: Written::Yaml, mac: Box::default(), parts })
    }

    /// Adds an object that was built of a sealed document.
    fn seal(&mut self, spot: Spot, node: Node) {
        let stated = self.known.stated.get(&spot).cloned().flatten();
        let (number, document) = spot;
        let Some(file) = self.known.sealed.get_mut(number) else { return };
        let node = sealed::marked(node, &file.mac);
        let path = file.path.clone();
        let Some(part) = file.parts.get_mut(document) else { return };
        let place = Place::File { path, line: part.line, column: 1 };
        let at = Origin { source: self.wanted.source.clone(), place };
        let namespace = node.str_at(&["metadata", "namespace"]).filter(|text| !text.is_empty());
        let is_elsewhere = stated.as_deref().is_some_and(|stated| Some(stated) != namespace);
        part.made = Made::Built { moved: stated.is_none() || is_elsewhere };
        let moved = is_elsewhere && !self.wanted.relabel;
        part.documents.push((node, at));
        if part.documents.len() > 1 {
            let objects: BTreeSet<String> = part.documents.iter().map(|(node, _)| named(node)).collect();
            let why = format!("several objects were built of one sealed document: {}", few(&objects, objects.len(), 3));
            part.closed = Some(Reason::new(why, "Seal a document for each object."));
        } else if moved {
            let stated = stated.as_deref().unwrap_or_default();
            let why = format!("it was sealed for namespace {stated}, and the build puts it into another");
            let help = "Remove metadata.namespace, and seal the document again; or say `relabel: true` for the source, if \
                        all who write its kustomizations may move its Secrets.";
            part.closed = Some(Reason::new(why, help));
        }
    }

    /// The path and line of the document that an object comes from, as far as kustomize tells.
    fn place(&self, node: &Node, origin: Option<&str>) -> (Arc<str>, u32) {
        let word = |name: &str| {
            let line = origin?.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
            self.gathered.path(line.trim())
        };
        let Some(path) = word("path").or_else(|| word("configuredIn")) else {
            return (Arc::from((self.wanted.show)(self.wanted.folder)), 1);
        };
        let Some(file) = self.known.paths.get(path).and_then(|number| self.known.files.get(*number)) else {
            return (Arc::from((self.wanted.show)(path)), 1);
        };
        let (kind, name) = (node.str_at(&["kind"]), node.str_at(&["metadata", "name"]).unwrap_or_default());
        let of_kind = || file.documents.iter().filter(|(its, _, _)| Some(&**its) == kind);
        // A build may have put something before and behind the name.
        let is_in = |(_, its, _): &&(String, String, u32)| name.contains(&**its);
        let found = of_kind()
            .find(|(_, its, _)| *its == name)
            .or_else(|| of_kind().filter(is_in).max_by_key(|(_, its, _)| its.len()));
        (file.shown.clone(), found.map_or(1, |(_, _, line)| *line))
    }

    /// All that was read.
    pub(super) fn reading(self) -> Reading {
        let Self { known: Known { sealed, lines, .. }, mut reading, .. } = self;
        let is_built = |file: &SealedFile| file.parts.iter().any(|part| !part.documents.is_empty());
        reading.sealed.extend(sealed.into_iter().filter(is_built));
        reading.lines.extend(lines);
        reading
    }
}

/// Kind and name of an object.
fn named(node: &Node) -> String {
    let word = |path: &[&str]| node.str_at(path).unwrap_or("?").to_owned();
    let namespace =
        node.str_at(&["metadata", "namespace"]).map(|namespace| format!("{namespace}/")).unwrap_or_default();
    format!("{} {namespace}{}", word(&["kind"]), word(&["metadata", "name"]))
}
