//! Documents: what the text of one file or stream holds.
//!
//! It splits, parses through the two doors, takes `List`s apart, and skips documents that are no objects. It
//! knows nothing of where the bytes came from beyond the path it puts into origins.

use std::sync::Arc;

use pouch_core::blank;
use pouch_core::finding::{Code, Finding, Origin, Place};
use pouch_core::json;
use pouch_core::kinds::Scopes;
use pouch_core::kustomize;
use pouch_core::listing::counted;
use pouch_core::name::{SourceName, split_api_version};
use pouch_core::node::{Key, Node};
use pouch_core::object::{kind_of, misplaced, nearest_to};
use pouch_core::snapshot::FaultLine;
use pouch_core::snapshot::index::Kept;
use pouch_core::sops::cipher::MARK;
use pouch_core::unread_words::{MAX_BYTES, UnreadWords};
use pouch_core::yaml::Flaw;
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::blamed::{blamed, misread};
use pouch_core::yaml::lines::{line_in, line_of, lines_of_items};
use pouch_core::yaml::read::{Document, documents, text_of};
use rayon::prelude::*;

use super::again::Spot;
use super::budget::Meter;
use super::indexer::Indexer;
use super::reading::{MOST_OF_FILE, Reading, SoFar};
use super::sealed::{self, Made, PartText, SealedFile, SealedPart, Written};
use crate::harden::wiped;

/// How many documents of one file a task parses; they share their keys, and how they are built.
const DOCUMENTS_PER_TASK: usize = 1024;

/// The most faults that a task of several tells.
const MOST_OF_TASK: usize = 64;

/// How many broken JSON values of one file are told, and passed over.
const MOST_BROKEN: usize = 16;

/// How deep `List`s may lie in each other.
const MOST_LISTS: usize = 4;

/// The start of a git-lfs file that stands for another file.
///
/// <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>
const LFS_POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// How a text is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// YAML documents.
    Yaml,
    /// JSON values, one after the other.
    Json,
    /// Either of them, possibly cut short.
    Stream,
}

impl Form {
    /// The form of a file, by its name.
    pub(super) fn of(path: &str) -> Self {
        if path.ends_with(".json") { Form::Json } else { Form::Yaml }
    }
}

/// A text and where it stands.
pub(super) struct Text<'a> {
    source: &'a SourceName,
    path: &'a Arc<str>,
    bytes: &'a [u8],
    form: Form,
    meter: &'a Meter<'a>,
    /// The index of the source; without one all documents are kept.
    indexer: Option<&'a Indexer<'a>>,
}

/// Reads all documents of a text. Long ones are parsed on several threads; the order stays.
pub(super) fn read(text: &Text<'_>, reader: &mut Reader) -> Reading {
    let mut reading = read_all(text, reader);
    if let Some(others) = reading.take_others() {
        // Without the number, which would make another finding of it for a baseline.
        let what = format!("{} has more faults than are told", text.path);
        let left = counted(others, "fault is", "faults are");
        let help = format!("{left} left out. Correct the others, or exclude the file if it is not a manifest.");
        reading.findings.push(text.finding(1, 1, what).help(help));
    }
    reading
}

fn read_all(text: &Text<'_>, reader: &mut Reader) -> Reading {
    let mut reading = Reading::nothing();
    if text.meter.leaves_out() {
        let before = reading.so_far();
        let told = text_of(text.bytes).ok().filter(|words| words.len() <= MAX_BYTES);
        reading.unread_words.extend(told.map(UnreadWords::of));
        reading.torn.insert(text.path.clone());
        text.meter.holds(reading.held_since(before));
        if reading.unread_words.is_empty() || text.meter.passed().is_some() {
            reading.unread_words.clear();
            reading.complete = false;
        }
        return reading;
    }
    text.meter.file(text.bytes.len());
    if text.bytes.starts_with(LFS_POINTER) {
        let help = "Run git lfs pull, or keep manifests out of git-lfs.";
        reading.refuse(text.source, text.path, "is a git-lfs pointer, not the file itself", help);
        return reading;
    }
    if text.bytes.iter().all(|byte| *byte == 0) && text.form != Form::Stream {
        let finding = text.finding(1, 1, "the file is empty, which does not prove that its objects are gone");
        let help = "Check whether the program that wrote it failed. What was published from it stays until it is removed, or \
                    excluded.";
        reading.tear(text.path, "", finding.help(help));
        return reading;
    }
    match text_of(text.bytes) {
        Err(flaw) => text.tear(&String::from_utf8_lossy(text.bytes), text.unparsable(flaw), &mut reading),
        Ok(words) if text.form == Form::Json || (text.form == Form::Stream && is_json(words)) => {
            let mut broken = 0_usize;
            for value in values(words) {
                reading.keep_first(MOST_OF_FILE);
                if text.meter.is_too_much(value.text) {
                    text.meter.document();
                    reading.lacks(text.too_much(value.line, value.column));
                    continue;
                }
                let before = reading.so_far();
                match json::read(value.text, &mut reader.interner) {
                    Ok(node) if !text.meter.keeps(&node, value.text) => {}
                    Ok(node) => text.add(node, (value.line, value.line), (value.text, Written::Json), &mut reading),
                    // Only brackets separate the values: a broken one might hold whatever stands behind its beginning.
                    Err(flaw) => {
                        text.meter.document();
                        broken += 1;
                        if broken > MOST_BROKEN {
                            break;
                        }
                        let rest = if broken == 1 { words.get(value.start..).unwrap_or(words) } else { "" };
                        text.tear(rest, text.unparsable(value.place(flaw)), &mut reading);
                    }
                }
                if !text.meter.holds(reading.held_since(before)) {
                    break;
                }
            }
        }
        Ok(words) => read_yaml(text, words, reader, &mut reading),
    }
    reading
}

fn read_yaml(text: &Text<'_>, words: &str, reader: &mut Reader, reading: &mut Reading) {
    // Even without the last one they are more than may be then: the file is left out.
    let mut documents: Vec<Document<'_>> = documents(words).take(text.meter.most_documents()).collect();
    // A stream that ends within a line was cut short, and a value may have lost its tail: `hunter2`
    // cut to `hun` is still YAML. So its last document is not taken.
    let cut = (text.form == Form::Stream && !words.ends_with('\n')).then(|| documents.pop()).flatten();
    if documents.len() <= DOCUMENTS_PER_TASK {
        text.parse(&documents, MOST_OF_FILE, reader, reading);
    } else {
        let parse = |chunk: &[Document<'_>]| {
            let mut part = Reading::nothing();
            text.parse(chunk, MOST_OF_TASK, &mut Reader::new(), &mut part);
            part
        };
        let parts: Vec<Reading> = documents.par_chunks(DOCUMENTS_PER_TASK).map(|part| wiped(|| parse(part))).collect();
        reading.documents.reserve(documents.len());
        parts.into_iter().for_each(|part| reading.absorb(part));
    }
    if let Some(document) = cut {
        let finding = text.finding(document.line, 1, "the stream ends within a line, so it may be cut short");
        reading.lacks(
            finding.help(
                "Check whether the program that writes the stream failed; a complete stream ends in a line feed.",
            ),
        );
    }
}

impl<'a> Text<'a> {
    /// A text at a path of a source, in this form; what it costs is counted by the meter.
    pub(super) fn new(
        (source, path): (&'a SourceName, &'a Arc<str>),
        (form, bytes): (Form, &'a [u8]),
        meter: &'a Meter<'a>,
    ) -> Self {
        Self { source, path, bytes, form, meter, indexer: None }
    }

    /// The same text, of which an indexer says what is kept.
    pub(super) fn indexed(self, indexer: Option<&'a Indexer<'a>>) -> Self {
        Self { indexer, ..self }
    }
}

impl Text<'_> {
    fn at(&self, line: u32, column: u32) -> Origin {
        Origin { source: self.source.clone(), place: Place::File { path: self.path.clone(), line, column } }
    }

    fn finding(&self, line: u32, column: u32, what: impl Into<String>) -> Finding {
        Finding::new(Code::UnparsableDocument, what).at(&self.at(line, column))
    }

    fn wrong(&self, line: u32, column: u32, what: impl Into<String>) -> Finding {
        self.finding(line, column, what).help("Correct the document, or exclude the file if it is not a manifest.")
    }

    fn too_much(&self, line: u32, column: u32) -> Finding {
        let finding = self.finding(line, column, "it may hold more values than the run has memory for");
        finding.help("Split it, exclude it, or raise limits.memory.")
    }

    fn unparsable(&self, flaw: Flaw) -> Finding {
        self.wrong(flaw.line, flaw.column, flaw.what)
    }

    /// Notes a part that cannot be read. A stream may have been cut short there; a file may have held more, and the bundle that
    /// was published of it says what.
    fn tear(&self, part: &str, finding: Finding, reading: &mut Reading) {
        match self.form {
            Form::Stream => reading.lacks(finding),
            Form::Yaml | Form::Json => reading.tear(self.path, part, finding),
        }
    }

    /// Notes a document that cannot be read.
    fn lacks(&self, document: &Document<'_>, flaw: Flaw, reading: &mut Reading) {
        let within = usize::try_from(flaw.line.saturating_sub(document.first_line)).unwrap_or(usize::MAX);
        let is_template = document.text.lines().nth(within).is_some_and(|line| line.contains("{{"));
        let finding = match conflict(document.text) {
            Some(at) => self
                .finding(line_in(document.first_line, at), 1, "there is a merge conflict here that was not resolved")
                .help("Resolve it: take one side, remove the lines with <<<<<<<, ======= and >>>>>>>, and commit the file."),
            None if is_template => self
                .finding(flaw.line, flaw.column, "there is an unrendered template here")
                .help("Render the template, with helm template for example, or exclude the file."),
            None => self.unparsable(blamed(document, flaw)),
        };
        self.tear(document.text, finding, reading);
    }

    /// Reads documents, of whose faults so many are told at most.
    fn parse(&self, documents: &[Document<'_>], most: usize, reader: &mut Reader, reading: &mut Reading) {
        for document in documents {
            let before = reading.so_far();
            if self.meter.is_too_much(document.text) {
                self.meter.document();
                reading.lacks(self.too_much(document.line, 1));
                continue;
            }
            match reader.read(document) {
                Ok(node) if !self.meter.keeps(&node, document.text) => {}
                Ok(node) => {
                    let lines = (document.line, document.first_line);
                    self.add(node, lines, (document.text, Written::Yaml), reading);
                }
                Err(flaw) => {
                    self.meter.document();
                    self.lacks(document, flaw, reading);
                }
            }
            // What costs too much is dropped: more of it is of no use.
            if !self.meter.holds(reading.held_since(before)) {
                break;
            }
            reading.keep_first(most);
        }
    }

    /// Adds a document; one that SOPS sealed keeps its text, because only the text has the order of its keys.
    /// `lines` are the lines where the document and its text start.
    fn add(&self, node: Node, lines: (u32, u32), (text, written): (&str, Written), reading: &mut Reading) {
        let (line, first_line) = lines;
        let Some(mac) = sealed::mac(&node) else {
            return self.take(node, line, (text, first_line), Some(written), reading);
        };
        let mut part = Reading::nothing();
        self.take(sealed::shortened(node), line, (text, first_line), None, &mut part);
        self.meter.holds(part.held_since(SoFar::default()) + text.len());
        let documents = std::mem::take(&mut part.documents);
        reading.absorb(part);
        let again = self.indexer.and_then(|_| self.spot(text, written)).map(|spot| spot.text);
        let text = PartText::Here(text.into(), again);
        let part = SealedPart { text, line, first_line, documents, made: Made::Text, closed: None };
        let file = SealedFile { path: self.path.clone(), written, mac, parts: vec![part] };
        sealed::append(&mut reading.sealed, file);
    }

    /// Notes the place of a misplaced field of an object, which begins in a line with its own text, or else of a blank that is no
    /// space.
    fn locate(&self, node: &Node, (line, own): (u32, &str), reading: &mut Reading) {
        let (kind, scopes) = (kind_of(node), Scopes::new());
        let misplaced = misplaced(node, &kind, &scopes);
        if misplaced.is_none() && own.is_ascii() {
            return;
        }
        let found = misplaced.as_ref().and_then(|misplaced| line_of(own, &misplaced.path));
        let blank = (!own.is_ascii()).then(|| blank::nearest(own, found.unwrap_or(1))).flatten();
        let (message, spot) = match (misplaced, found, blank) {
            (None, _, Some((spot, said))) => (said, spot),
            (Some(misplaced), None, Some((spot, said))) if misplaced.fault(&kind).message.ends_with(&said) => {
                (said, spot)
            }
            (Some(misplaced), Some(line), blank) => {
                let column = blank.map(|(spot, _)| spot).filter(|spot| spot.line == line).map_or(1, |spot| spot.column);
                (misplaced.fault(&kind).message, blank::Spot { line, column })
            }
            _ => return,
        };
        let note = FaultLine { message, line: line_in(line, spot.line), column: spot.column };
        reading.lines.insert(self.at(line, 1), note);
    }

    /// Keeps an object. An indexer says what of it, where it is a whole document that can be read again by itself.
    fn keep(&self, node: Node, line: u32, document: Option<(&str, Written)>, reading: &mut Reading) {
        reading.objects += 1;
        let origin = self.at(line, 1);
        let indexed = self.indexer.zip(document.and_then(|(text, written)| self.spot(text, written)));
        let Some((indexer, spot)) = indexed else { return reading.documents.push((node, origin)) };
        match indexer.keep(node, origin) {
            Kept::Whole(node, origin) => reading.documents.push((node, origin)),
            Kept::Weighed(weighed) => {
                reading.weighed.push(weighed);
                reading.spots.push(spot);
            }
            Kept::Nothing => {}
        }
    }

    /// The place of a part of the text.
    fn spot(&self, part: &str, written: Written) -> Option<Spot> {
        let from = part.as_ptr().addr().checked_sub(self.bytes.as_ptr().addr())?;
        let to = from.checked_add(part.len()).filter(|to| *to <= self.bytes.len())?;
        let text = u32::try_from(from).ok()?..u32::try_from(to).ok()?;
        Some(Spot { path: self.path.clone(), text, is_json: written == Written::Json })
    }

    /// Sorts a document into objects, skipped documents and findings.
    ///
    /// `text` is the document's, and the line where that starts: items of a `List` have lines of their own. How it is
    /// written is said of one that can be read again as it stands.
    pub(super) fn take(
        &self,
        node: Node,
        line: u32,
        (text, first_line): (&str, u32),
        written: Option<Written>,
        reading: &mut Reading,
    ) {
        let name = self.path.rsplit(['/', ':']).next().unwrap_or_default();
        if kustomize::NAMES.contains(&name) && kustomize::needs_build(&node) {
            reading.unbuilt.insert(self.path.clone());
        }
        let head = Head::of(&node);
        // A List has no name.
        let is_whole = head.as_ref().is_ok_and(|head| head.is_list(&node) || is_named(&node));
        if !is_whole && let Some(flaw) = misread(&Document { text, line, first_line }, has_name) {
            return reading.lacks_object(&node, self.unparsable(flaw));
        }
        match head {
            _ if node == Node::Null => {}
            Ok(head) if head.is_passed_over() => reading.skipped += 1,
            Ok(head) if head.is_list(&node) => {
                let list = head.owned();
                let lines = lines_of_items(text, "items").map(|line| line_in(first_line, line));
                self.take_list(node, &list, ((line, lines.collect()), (text, first_line)), 1, reading);
            }
            Ok(_) => {
                let before = usize::try_from(line.saturating_sub(first_line)).unwrap_or(usize::MAX);
                let start: usize = text.split_inclusive('\n').take(before).map(str::len).sum();
                self.locate(&node, (line, text.get(start..).unwrap_or_default()), reading);
                self.keep(node, line, written.map(|written| (text, written)), reading);
            }
            // An error page, or the words of a broken tool, in the place of a manifest: it proves no absence.
            Err(Headless::Other) if matches!(node, Node::Text(_)) => {
                let finding = self.finding(line, 1, "it is text, and no manifest");
                let finding = finding.help("Write the manifest that should be there, or exclude the file.");
                self.tear(text, finding, reading);
            }
            Err(Headless::Other) if !holds_objects(&node) => reading.skipped += 1,
            Err(Headless::Other) => {
                let what = "it is a sequence of objects, which kubectl would not take either";
                let finding = self.finding(line, 1, what);
                reading.findings.push(finding.help("Write them as documents of their own, or as the items of a List."));
                reading.unread_words.extend(node.items().iter().map(UnreadWords::of_document));
            }
            Err(Headless::Broken(what)) => reading.lacks_object(&node, self.wrong(line, 1, what)),
        }
    }

    fn take_list(
        &self,
        list: Node,
        head: &ListHead,
        ((line, lines), text): ((u32, Vec<u32>), (&str, u32)),
        depth: usize,
        reading: &mut Reading,
    ) {
        let wrong = |what: String| self.wrong(line, 1, what);
        if list.at(&["metadata", "continue"]).is_some_and(|token| *token != Node::text(""))
            || list.at(&["metadata", "remainingItemCount"]).is_some_and(|count| *count != Node::Int(0))
        {
            let what = "the List is one page of several: its metadata says that more follows";
            let finding = self.finding(line, 1, what);
            reading.lacks(finding.help("List without a limit, or give all the pages as one."));
        }
        if let Some(key) = beside_items(&list) {
            let (text, first_line) = text;
            let line = line_of(text, &[&key]).map_or(line, |it| line_in(first_line, it));
            // Not quoted: it may be the name of an entry, or a value that lost its name.
            let what = format!("the {} has a field beside its items, so that an item lacks one", head.kind);
            let help = "Indent the line below the item that it belongs to. Until then no item is used, and what is \
                        published by them stays.";
            reading.findings.push(self.finding(line, 1, what).help(help));
            let items = list.get("items").map(Node::items).unwrap_or_default();
            return reading.unread_words.extend(items.iter().map(UnreadWords::of_document));
        }
        let Some(items) = into_items(list) else {
            let what = format!("the items of {} are missing or no sequence", head.kind);
            return self.tear(text.0, wrong(what), reading);
        };
        // In flow style, and where the text does not show them, items stand where their list does.
        let lines = if lines.len() == items.len() { lines } else { Vec::new() };
        let mut rest = Lines { text: text.0, line: text.1 };
        for (at, item) in items.into_iter().enumerate() {
            let item = head.complete(item);
            let line = lines.get(at).copied().unwrap_or(line);
            let wrong = |what: String| self.wrong(line, 1, what);
            match Head::of(&item) {
                Ok(inner) if inner.is_passed_over() => reading.skipped += 1,
                Ok(inner) if inner.is_list(&item) && depth < MOST_LISTS => {
                    let inner = inner.owned();
                    self.take_list(item, &inner, ((line, Vec::new()), ("", line)), depth + 1, reading);
                }
                Ok(inner) if inner.is_list(&item) => {
                    let what = format!("more than {MOST_LISTS} Lists are nested in each other");
                    self.tear(text.0, wrong(what), reading);
                }
                Ok(_) if sealed::mac(&item).is_some() => {
                    reading.sealed.push(SealedFile::item(self.path, line, (item, self.at(line, 1))));
                }
                Ok(_) => {
                    if !lines.is_empty() {
                        _ = rest.until(line);
                        let own = rest.clone().until(lines.get(at.saturating_add(1)).copied().unwrap_or(u32::MAX));
                        self.locate(&item, (line, own), reading);
                    }
                    self.keep(item, line, None, reading);
                }
                Err(Headless::Broken(what)) => {
                    reading.lacks_object(&item, wrong(format!("item {at} of the List: {what}")));
                }
                Err(Headless::Other) => {
                    reading.lacks_object(&item, wrong(format!("item {at} of the List has no apiVersion and kind")));
                }
            }
            reading.keep_first(MOST_OF_FILE);
        }
    }
}

/// What a document says it is.
struct Head<'a> {
    api_version: &'a str,
    kind: &'a str,
}

/// Returns true if a document says which object it is.
fn has_name(node: &Node) -> bool {
    Head::of(node).is_ok() && is_named(node)
}

fn is_named(node: &Node) -> bool {
    node.str_at(&["metadata", "name"]).is_some()
}

/// The rest of a text, and the number of its first line.
#[derive(Clone)]
struct Lines<'t> {
    text: &'t str,
    line: u32,
}

impl<'t> Lines<'t> {
    /// Takes the lines before this one.
    fn until(&mut self, line: u32) -> &'t str {
        let whole = self.text;
        while self.line < line && !self.text.is_empty() {
            self.text = self.text.split_once('\n').map_or("", |(_, rest)| rest);
            self.line = self.line.saturating_add(1);
        }
        whole.get(..whole.len().saturating_sub(self.text.len())).unwrap_or_default()
    }
}

/// Why a document does not say what it is.
enum Headless {
    /// It means to be an object and is none; the text says why.
    Broken(String),
    /// It is something else, such as the values of a Helm chart.
    Other,
}

impl<'a> Head<'a> {
    /// A document without `apiVersion` and `kind` is somebody else's. A document with `metadata` that lacks
    /// only one of the two is an object with a mistake; skipping it would look as if the object were deleted.
    fn of(node: &'a Node) -> Result<Self, Headless> {
        let word = |field: &str| match node.at(&[field]) {
            None => Ok(None),
            Some(Node::Text(text)) if text.starts_with(MARK) => Err(Headless::Broken(sealed_head(field))),
            Some(Node::Text(text)) => Ok(Some(&**text).filter(|text| !text.is_empty())),
            Some(other) => Err(Headless::Broken(format!("{field} is {}, not text", other.type_name()))),
        };
        let lacks = |field: &str| match node.at(&["metadata"]) {
            Some(Node::Map(_)) => Headless::Broken(match nearest_to(field, node) {
                Some(typed) => format!("{field} is missing; it has {typed:?} instead"),
                None => format!("{field} is missing"),
            }),
            _ => Headless::Other,
        };
        match (word("apiVersion"), word("kind")) {
            (Ok(None), Ok(None)) => Err(Headless::Other),
            (Ok(Some(api_version)), Ok(Some(kind))) => {
                let sealed = |field: &str| node.str_at(&["metadata", field]).is_some_and(|text| text.starts_with(MARK));
                match ["name", "namespace"].into_iter().find(|field| sealed(field)) {
                    Some(field) => Err(Headless::Broken(sealed_head(&format!("metadata.{field}")))),
                    None => Ok(Self { api_version, kind }),
                }
            }
            (Ok(None), Ok(Some(_))) => Err(lacks("apiVersion")),
            (Ok(Some(_)), Ok(None)) => Err(lacks("kind")),
            (Ok(None), Err(_)) | (Err(_), Ok(None)) if node.at(&["metadata"]).is_none() => Err(Headless::Other),
            (Err(broken), _) | (_, Err(broken)) => Err(broken),
        }
    }

    /// Whether this configures kustomize or pouch and is no object of a cluster.
    fn is_passed_over(&self) -> bool {
        match split_api_version(self.api_version).0 {
            "kustomize.config.k8s.io" => matches!(self.kind, "Kustomization" | "Component"),
            "pouch" => self.kind == "Fleet",
            _ => false,
        }
    }

    /// Whether this is a `List`, or a typed one such as `SecretList`: those have items and no name.
    fn is_list(&self, node: &Node) -> bool {
        (self.kind == "List" && self.api_version == "v1")
            || (self.kind.ends_with("List") && node.get("items").is_some() && node.at(&["metadata", "name"]).is_none())
    }

    fn owned(&self) -> ListHead {
        let item = self.kind.strip_suffix("List").filter(|kind| !kind.is_empty()).map(str::to_owned);
        ListHead { api_version: self.api_version.to_owned(), kind: self.kind.to_owned(), item }
    }
}

/// The message about a sealed field that identifies an object: only if it is readable can anybody know whether
/// the object is the one that is looked for.
fn sealed_head(field: &str) -> String {
    format!(
        "{field} is encrypted, so nobody can tell which object this is; seal with encrypted_regex ^(data|stringData)$"
    )
}

/// What a `List` says of its items.
struct ListHead {
    api_version: String,
    kind: String,
    item: Option<String>,
}

impl ListHead {
    /// Gives an item of a typed list the `apiVersion` and `kind` that the API leaves out there.
    fn complete(&self, item: Node) -> Node {
        let Some(kind) = &self.item else { return item };
        let missing = |field: &str| item.at(&[field]).is_none_or(|value| *value == Node::text(""));
        let add: Vec<(Key, Node)> = [("apiVersion", &self.api_version), ("kind", kind)]
            .into_iter()
            .filter(|(field, _)| missing(field))
            .map(|(field, text)| (Key::from(field), Node::text(text)))
            .collect();
        match item {
            // Added fields stand first, and the first of equal keys stays: null gives way.
            Node::Map(entries) if !add.is_empty() => Node::map(add.into_iter().chain(entries.into_vec()).collect()),
            other => other,
        }
    }
}

/// A field that no list has, of one that has items.
fn beside_items(list: &Node) -> Option<Key> {
    const FIELDS: [&str; 5] = ["apiVersion", "items", "kind", "metadata", "sops"];
    let Some(Node::List(_)) = list.get("items") else { return None };
    list.entries().iter().map(|(key, _)| key).find(|key| !FIELDS.contains(&&***key)).cloned()
}

/// The items of a list; null, as Go writes an empty list, has none.
fn into_items(list: Node) -> Option<Vec<Node>> {
    let Node::Map(entries) = list else { return None };
    match entries.into_vec().into_iter().find(|(key, _)| **key == *"items") {
        Some((_, Node::List(items))) => Some(items.into_vec()),
        Some((_, Node::Null)) => Some(Vec::new()),
        _ => None,
    }
}

fn holds_objects(node: &Node) -> bool {
    node.items().iter().any(|item| Head::of(item).is_ok())
}

/// The line, from one, where git marked a conflict that stands in a text, if one does.
fn conflict(text: &str) -> Option<u32> {
    let is_mark = |line: &str| line.starts_with("<<<<<<< ") || line.starts_with(">>>>>>> ");
    (1..).zip(text.lines()).find(|(_, line)| is_mark(line)).map(|(number, _)| number)
}

/// Whether a stream is JSON: an object whose first key is quoted, and no second YAML document.
fn is_json(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let first = text.strip_prefix('{').map(|rest| rest.trim_start().starts_with(['"', '}']));
    first == Some(true) && !text.contains("\n---")
}

/// One of several JSON values, and where it starts.
#[derive(PartialEq, Eq, Debug)]
struct Value<'a> {
    text: &'a str,
    /// Where it starts, in bytes.
    start: usize,
    line: u32,
    column: u32,
}

impl Value<'_> {
    /// A position in the value as a position in the file.
    fn place(&self, flaw: Flaw) -> Flaw {
        let column =
            if flaw.line <= 1 { flaw.column.saturating_add(self.column).saturating_sub(1) } else { flaw.column };
        Flaw { line: line_in(self.line, flaw.line), column, ..flaw }
    }
}

/// Splits JSON values that stand one after the other, as `kubectl get -o json` in a loop writes them.
/// It looks at brackets and strings only; the door judges each value.
fn values(text: &str) -> Vec<Value<'_>> {
    let mut found = Vec::new();
    let (mut start, mut depth, mut quoted, mut escaped) = (None, 0_usize, false, false);
    let (mut line, mut column) = (1_u32, 1_u32);
    for (at, byte) in text.bytes().enumerate() {
        let blank = byte.is_ascii_whitespace() || matches!(byte, 0xEF | 0xBB | 0xBF);
        if start.is_none() && !blank {
            start = Some((at, line, column));
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let closes = matches!(byte, b'}' | b']') && !quoted && depth == 0;
        if let (Some((from, line, column)), true) = (start, closes) {
            let text = text.get(from..=at).unwrap_or_default();
            found.push(Value { text, start: from, line, column });
            start = None;
        }
        if byte == b'\n' {
            line = line.saturating_add(1);
            column = 1;
        } else if byte & 0xC0 != 0x80 {
            column = column.saturating_add(1);
        }
    }
    if let Some((from, line, column)) = start {
        let text = text.get(from..).unwrap_or_default();
        found.push(Value { text, start: from, line, column });
    }
    found
}

#[cfg(test)]
mod tests;
