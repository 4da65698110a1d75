//! Files that SOPS sealed, as they stand.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use pouch_core::finding::Origin;
use pouch_core::node::{Key, Node};
use pouch_core::object::Digest;
use pouch_core::snapshot::Reason;
use pouch_core::sops::OpenError;
use pouch_core::sops::metadata::KEY;
use pouch_core::sops::rule::FIELDS;
use pouch_core::yaml::lines::{line_in, line_of};

/// The objects of a document, each with its place.
pub(super) type Objects = Vec<(Node, Origin)>;

/// How a sealed file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// YAML documents under one MAC.
    Yaml,
    /// A JSON value.
    Json,
}

/// A file that SOPS sealed, or one of several that were joined: documents that share a MAC.
pub struct SealedFile {
    pub(super) path: Arc<str>,
    pub(super) written: Written,
    /// The sealed MAC, the same in all documents.
    pub(super) mac: Box<str>,
    pub(super) parts: Vec<SealedPart>,
}

/// One document of a sealed file.
pub(super) struct SealedPart {
    /// Its text, with keys in their order.
    pub(super) text: PartText,
    pub(super) line: u32,
    /// The line on which its text begins, comments and all.
    pub(super) first_line: u32,
    /// The objects in it, as they stand; none once they were looked at, where the text has them.
    pub(super) documents: Vec<(Node, Origin)>,
    /// Where they come from.
    pub(super) made: Made,
    /// Why they are not opened, where that is known before anybody tries.
    pub(super) closed: Option<Reason>,
}

/// Where the objects of a part come from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Made {
    /// Its text.
    Text,
    /// Somewhere else: an item of a `List` has no text of its own.
    Apart,
    /// A build of its text. The MAC does not say for which namespace one is sealed that is `moved`.
    Built { moved: bool },
    /// A build that has the text as an entry of a Secret, as the part before and behind it, too. Its object stands in the first.
    Generated,
}

/// The text of a part.
pub(super) enum PartText {
    /// The text itself, and its place in the file, in bytes, if it can be read again.
    Here(Box<str>, Option<Range<u32>>),
    /// Its place in the file, and its digest.
    Aside(Range<u32>, Digest),
}

impl SealedFile {
    /// Returns true if it can be read again.
    pub(super) fn is_again(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part.text, PartText::Here(_, None)))
    }

    /// An item of a `List` that has a block of its own.
    pub(super) fn item(path: &Arc<str>, line: u32, item: (Node, Origin)) -> Self {
        let text = PartText::Here(Box::default(), None);
        let why = "it is an item of a List and has a sops block of its own, and SOPS opens whole documents only";
        let help = "Write it as a document of its own, as SOPS wrote it, or seal the List as a whole.";
        let closed = Some(Reason::new(why, help));
        let part = SealedPart { text, line, first_line: line, documents: vec![item], made: Made::Apart, closed };
        Self { path: path.clone(), written: Written::Yaml, mac: Box::default(), parts: vec![part] }
    }

    /// The line of what does not open; none where the file has several documents, because nobody says in which
    /// of them it is, or is no YAML in block style.
    pub(super) fn line_of(&self, texts: &[Cow<'_, str>], error: &OpenError) -> Option<u32> {
        let (Written::Yaml, [part], [text]) = (self.written, &*self.parts, texts) else { return None };
        let path: Vec<&str> = match error {
            OpenError::NotSealed(path)
            | OpenError::SealedInClear(path)
            | OpenError::Value(path, _)
            | OpenError::Type(path) => path.trim_end_matches(':').split(':').collect(),
            OpenError::Field(field) => vec!["sops", field],
            OpenError::MacOnlyEncrypted => vec!["sops", "mac_only_encrypted"],
            OpenError::KeyGroups => vec!["sops", "key_groups"],
            OpenError::Time => vec!["sops", "lastmodified"],
            OpenError::Mac | OpenError::SealedMac(_) => vec!["sops", "mac"],
            // The first is as SOPS wrote it, as far as anybody can tell.
            OpenError::Rules => {
                let mut lines: Vec<u32> = FIELDS.iter().filter_map(|field| line_of(text, &["sops", field])).collect();
                lines.sort_unstable();
                return lines.get(1).or(lines.first()).map(|line| part.line_of_file(*line));
            }
            _ => vec!["sops"],
        };
        let line = line_of(text, &path).or_else(|| line_of(text, path.get(..1)?))?;
        Some(part.line_of_file(line))
    }
}

impl SealedPart {
    /// The objects in it, which go if its text has them, too.
    pub(super) fn take_documents(&mut self) -> Vec<(Node, Origin)> {
        match self.made {
            Made::Text => std::mem::take(&mut self.documents),
            Made::Apart | Made::Built { .. } | Made::Generated => self.documents.clone(),
        }
    }

    /// Returns true if the MAC says nothing of the namespace of an object in it; an empty one is none.
    pub(super) fn is_unbound(&self, document: &Node) -> bool {
        match self.made {
            Made::Built { moved } => moved,
            // SOPS binds a file that is no manifest to no namespace at all.
            Made::Generated => true,
            Made::Text | Made::Apart => names_no_namespace(document),
        }
    }

    /// A line of its text as one of the file.
    pub(super) fn line_of_file(&self, line: u32) -> u32 {
        line_in(self.first_line, line)
    }
}

/// Returns true if a document gets its namespace from its source.
pub(super) fn names_no_namespace(document: &Node) -> bool {
    document.str_at(&["metadata", "namespace"]).is_none_or(str::is_empty)
}

/// The sealed MAC of a document with a `sops` block, which tells whether two documents are of one file;
/// nothing for a document without a block.
pub(super) fn mac(document: &Node) -> Option<Box<str>> {
    let block = document.get("sops").filter(|block| block.is_map())?;
    Some(block.str_at(&["mac"]).unwrap_or_default().into())
}

/// The document with nothing of its block but the MAC: the rest stands in its text, where it is opened.
pub(super) fn shortened(document: Node) -> Node {
    let Node::Map(mut entries) = document else { return document };
    for (_, block) in entries.iter_mut().filter(|(key, _)| **key == *KEY) {
        *block = Node::Map(block.entries().iter().filter(|(key, _)| **key == *"mac").cloned().collect());
    }
    Node::Map(entries)
}

/// The document with this MAC in its block, and nothing else there.
pub(super) fn marked(document: Node, mac: &str) -> Node {
    let block = Node::Map(Box::new([(Key::from("mac"), Node::text(mac))]));
    let mut entries: Vec<(Key, Node)> = document.entries().iter().filter(|(key, _)| **key != *KEY).cloned().collect();
    entries.push((Key::from(KEY), block));
    Node::map(entries)
}

/// Adds a file, to the one before it if that is the beginning of the same.
pub(super) fn append(files: &mut Vec<SealedFile>, file: SealedFile) {
    match files.last_mut() {
        Some(last)
            if last.path == file.path
                && last.mac == file.mac
                && !file.mac.is_empty()
                && (last.written, file.written) == (Written::Yaml, Written::Yaml) =>
        {
            last.parts.extend(file.parts);
        }
        _ => files.push(file),
    }
}
