//! One sealed Secret: the object that its path says, in the one form that pouch writes, with nothing
//! readable in it, for the recipients that it should have.

use alloc::borrow::Cow;
use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use sha2::{Digest as _, Sha256};

use super::book::Book;
use super::document::{first_difference, first_line, header_lines, only_document};
use super::plain::is_readable;
use super::region::ProvedRegion;
use super::tree::Standing;
use super::{object, plain, stanza};
use crate::finding::{Code, Finding};
use crate::layout::manifest::ManifestObject;
use crate::name::ObjectKey;
use crate::name::Region as RegionName;
use crate::node::Node;
use crate::object::never_leaves;
use crate::recipient::Recipient;
use crate::reuse;
use crate::sops::cipher::{self, MARK};
use crate::sops::metadata::{self, is_sealed_key};
use crate::yaml::emit::{Tree, emit};

/// The fields of the `sops` block that pouch writes.
const BLOCK: [&str; 5] = ["age", "encrypted_regex", "lastmodified", "mac", "version"];

const HELP: &str = "Pouch does not write this. Find out who changed it, treat what is readable as leaked, and render \
                    the bundle anew.";

/// A sealed file, taken apart.
pub struct SealedFile {
    /// The region whose bundle it is in.
    pub region: RegionName,
    /// Its path.
    pub path: String,
    /// The object that it holds.
    pub key: ObjectKey,
    /// Pairs of the recipient that a stanza names and the armored age file.
    pub stanzas: Vec<(String, String)>,
    /// Who the manifest says can read it, if that is not who can read the bundle.
    pub(super) carried: Vec<Recipient>,
    pub(super) document: Node,
    /// Hashes of its ciphertexts, by which copies are found.
    pub(super) marks: Vec<[u8; 32]>,
}

/// What looking at one file gave.
pub struct Inspected {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// The file, if it is a sealed Secret in a region's bundle.
    pub sealed: Option<SealedFile>,
}

/// Looks at one.
pub(super) fn look(
    book: &Book<'_>,
    region: &ProvedRegion<'_>,
    entry: &ManifestObject,
    standing: &Standing,
    looked: &mut Inspected,
) {
    let path = entry.path.as_str();
    let find = |code: Code, line: usize, message: String| {
        book.measure.find(code, path, line, message).in_region(&region.name).about(&entry.key).help(HELP)
    };
    if let Some(line) = plain::holds_key(&standing.bytes) {
        let message = format!("{path} holds an age identity or a reuse key");
        looked.findings.push(find(Code::PlaintextSecret, line, message));
    }
    let (header, body) = match reuse::split(&standing.bytes) {
        Some(tagged) => (Some(tagged), tagged.body),
        None => (None, &*standing.bytes),
    };
    let document = match only_document(body) {
        Ok(document) => document,
        Err(line) => {
            match plain::look(path, &standing.bytes).filter(plain::Readable::is_clear) {
                Some(found) => looked.findings.push(find(found.code, found.line, format!("{path} {}", found.what))),
                None => {
                    let message = format!("{path} is not one document of YAML");
                    looked.findings.push(find(Code::NotSealed, line, message));
                }
            }
            return;
        }
    };
    let header_lines = header_lines(&standing.bytes, body);
    let text = core::str::from_utf8(body).unwrap_or_default();
    let line_of = |start: &str| {
        let line = first_line(text, |line| line.trim_start_matches([' ', '-']).starts_with(start)).unwrap_or(1);
        line + header_lines
    };
    looked.findings.extend(object::identity(book.measure, region, entry, &document, &standing.bytes));
    if let Some(why) = never_leaves(&document) {
        let message = format!("{path} is of a kind that pouch never publishes: {why}");
        looked.findings.push(find(Code::UntrustedBundle, line_of("type:"), message));
    }
    if document.at(&[metadata::KEY]).is_none() {
        let secret = ["data", "stringData"].iter().filter_map(|field| document.at(&[field])).any(is_readable);
        let (code, what) = match secret {
            true => (Code::PlaintextSecret, "holds a Secret in clear"),
            false => (Code::NotSealed, "has no sops block"),
        };
        looked.findings.push(find(code, line_of("data:"), format!("{path} {what}")));
        return;
    }
    if let Some((start, what)) = flaw(&document) {
        looked.findings.push(find(Code::NotSealed, line_of(&start), format!("{path} {what}")));
    } else if header.is_none_or(|header| !fits(header.entry_lines, &document)) {
        let message = format!("{path} does not begin with the tags that pouch writes for its entries");
        looked.findings.push(find(Code::NotSealed, 1, message));
    } else if let Some(line) = first_difference(&emit(&tree(&document)), text) {
        let line = line + header_lines;
        let message = format!("{path} holds more than its values, such as a comment, or is written in another form");
        looked.findings.push(find(Code::NotSealed, line, message));
    }
    looked.findings.extend(
        recipients(book, region, path, &document, (line_of("age:"), &entry.recipients.iter().cloned().collect()))
            .into_iter()
            .map(|finding: Finding| finding.in_region(&region.name).about(&entry.key)),
    );
    let stanzas = metadata::stanzas(&document);
    let mut marks: Vec<[u8; 32]> = stanzas.iter().map(|(_, armored)| Sha256::digest(armored).into()).collect();
    ciphertexts(&document, &mut marks);
    looked.sealed = Some(SealedFile {
        carried: entry.recipients.clone(),
        region: region.name.clone(),
        path: path.into(),
        key: entry.key.clone(),
        stanzas,
        document,
        marks,
    });
}

/// What of a sealed document is not as pouch seals: the start of a line, and words.
fn flaw(document: &Node) -> Option<(String, String)> {
    let said = |start: &str, what: String| Some((String::from(start), what));
    let fields = ["apiVersion", "data", "kind", "metadata", "sops", "type"];
    if let Some((field, _)) = document.entries().iter().find(|(field, _)| !fields.contains(&&**field)) {
        return said(field, format!("has the field {field:?}, which pouch does not write in a Secret"));
    }
    if let Err(error) = metadata::check_own(document) {
        return said("sops:", error.to_string());
    }
    let block = document.at(&[metadata::KEY]).map(Node::entries).unwrap_or_default();
    if let Some((field, _)) = block.iter().find(|(field, _)| !BLOCK.contains(&&**field)) {
        return said(field, format!("has the field {field:?} in its sops block, which pouch does not write"));
    }
    if !document.str_at(&[metadata::KEY, "mac"]).is_some_and(cipher::is_sealed) {
        return said("mac:", String::from("has a MAC that is not sealed"));
    }
    let entries = document.at(&["data"]).map(Node::entries).unwrap_or_default();
    // A consumer would make something else than text of a value of another type.
    let is_text = |text: &str| cipher::is_sealed(text) && text.ends_with(",type:str]");
    let unsealed = |node: &Node| !matches!(node, Node::Text(text) if text.is_empty() || is_text(text));
    if let Some((name, _)) = entries.iter().find(|(_, node)| unsealed(node)) {
        return said(name, format!("has the entry {name:?}, which is not sealed"));
    }
    let metadata = document.at(&["metadata"]);
    let below = metadata.is_some_and(|metadata| has_key(metadata, &is_sealed_key));
    if below { said("metadata:", String::from("has a key data or stringData below metadata")) } else { None }
}

fn has_key(node: &Node, wanted: &impl Fn(&str) -> bool) -> bool {
    node.entries().iter().any(|(key, below)| wanted(key) || has_key(below, wanted))
}

/// Whether the header's lines are of this format and name the document's entries.
fn fits(lines: &str, document: &Node) -> bool {
    let entries = document.at(&["data"]).map(Node::entries).unwrap_or_default();
    lines.lines().all(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["#", "pouch/v1", "entry", name, tag] => {
                tag.len() == 11 && entries.iter().any(|(entry, node)| **entry == **name && node.as_str() != Some(""))
            }
            ["#", "pouch/v1", "entries", tag] => tag.len() == 11,
            _ => false,
        }
    })
}

/// The document as pouch writes it: sealed texts stand plain.
fn tree(document: &Node) -> Tree<'_> {
    fn sealed(node: &Node) -> Tree<'_> {
        match node {
            Node::Text(text) if text.starts_with(MARK) => Tree::Plain(Cow::Borrowed(text)),
            node => Tree::of(node),
        }
    }
    Tree::map(document.entries().iter().map(|(key, node)| {
        let tree = match (&**key, node) {
            ("data" | metadata::KEY, Node::Map(entries)) => {
                Tree::map(entries.iter().map(|(key, node)| (&**key, sealed(node))))
            }
            (_, node) => Tree::of(node),
        };
        (&**key, tree)
    }))
}

/// Holds the stanzas of a file against the recipients that it should have.
fn recipients(
    book: &Book<'_>,
    region: &ProvedRegion<'_>,
    path: &str,
    document: &Node,
    (line, carried): (usize, &BTreeSet<Recipient>),
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |what: String| {
        let finding = book.measure.find(Code::WrongRecipients, path, line, format!("{path} {what}"));
        findings.push(finding.help(HELP));
    };
    let items = document.at(&[metadata::KEY, "age"]).map(Node::items).unwrap_or_default();
    let mut said: BTreeSet<Recipient> = BTreeSet::new();
    for item in items {
        let (label, armored) = (item.str_at(&["recipient"]), item.str_at(&["enc"]));
        let (Some(label), Some(armored), 2) = (label, armored, item.entries().len()) else {
            find(String::from("has a stanza without recipient, or with more than that and its age file"));
            continue;
        };
        let Ok(recipient) = Recipient::parse(label) else {
            find(String::from("has a stanza whose recipient is none"));
            continue;
        };
        if let Some(flaw) = stanza::flaw(armored) {
            find(format!("has a stanza for {recipient} that {flaw}"));
        }
        if said.contains(&recipient) {
            find(format!("has two stanzas for {recipient}"));
        }
        said.insert(recipient);
    }
    findings.extend(book.recipients(region, path, line, &said.iter().collect(), path, carried));
    findings
}

/// Hashes of the sealed values.
fn ciphertexts(node: &Node, marks: &mut Vec<[u8; 32]>) {
    match node {
        Node::Text(text) if text.starts_with(MARK) => marks.push(Sha256::digest(text.as_bytes()).into()),
        Node::List(items) => items.iter().for_each(|item| ciphertexts(item, marks)),
        Node::Map(entries) => entries.iter().for_each(|(_, below)| ciphertexts(below, marks)),
        _ => {}
    }
}
