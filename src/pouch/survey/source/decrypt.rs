//! Encrypted sources: files that SOPS sealed, opened when a closure wants what is in them.
//!
//! Reading a source sets sealed files aside; [`Vault`] holds those of one source with the identities that open
//! them, which open nothing else. A file is opened as a whole, because one MAC covers its documents. No program
//! is started and no service asked for a key. What the objects mean is not known here, and no value gets into a
//! reason.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pouch_core::ciphertext::sealed_value_below;
use pouch_core::config::{Fleet, SourceLimits};
use pouch_core::finding::{Code, Origin};
use pouch_core::json;
use pouch_core::kinds::Scopes;
use pouch_core::name::{ObjectKey, Scope, SourceName};
use pouch_core::node::{Interner, Key, Node};
use pouch_core::object::kind_of;
use pouch_core::snapshot::{Answer, Proof, Reason, SealedDocument, Snapshot};
use pouch_core::sops::cipher::MARK;
use pouch_core::sops::read::{fingerprints, key_fingerprint};
use pouch_core::sops::{BuiltError, OpenError, Sealed, cipher};
use pouch_core::yaml::Flaw;
use pouch_core::yaml::alike::Reader;
use pouch_core::yaml::read::{self as yaml, Document};
use rayon::prelude::*;

use super::again::{Texts, document, late};
use super::budget::Meter;
use super::document::{Form, Text};
use super::means::Means;
use super::nested;
use super::reading::Reading;
use super::sealed::{Made, Objects, SealedFile, SealedPart, Written};
use super::shut::{SEAL_AGAIN, locked, not_opened};
use crate::age::Identities;
use crate::harden::wiped;

/// Who opens the files of a source.
pub enum Opener {
    /// These identities.
    Identities(Identities),
    /// Nobody: the question does not depend on values. Nothing is then known of Secrets, and other objects are
    /// taken as they stand.
    Nobody,
    /// Nobody: the question is what would be done with a Secret, as far as names tell. These are readable, and what is
    /// sealed counts as unseen.
    Names,
}

/// The sealed files of one source, and who opens them.
pub struct Vault {
    source: SourceName,
    opener: Arc<Opener>,
    files: Vec<SealedFile>,
    texts: Texts,
    /// True if files of a source that may provide other objects open here, too.
    is_shared: bool,
    /// The file, document and object of each object, in the order in which the snapshot was given them.
    places: Vec<(usize, usize, usize)>,
}

/// What is known of an object in a sealed file.
pub enum Seen {
    /// A document like others: opened already, because its kind is listed, or from a source that opens none.
    Open(Node, Origin),
    /// A document that is opened when it is wanted, or that should be open and cannot be.
    Sealed(SealedDocument),
}

/// An opened file, document by document.
struct Opening {
    /// The objects as they stand.
    sealed: Vec<Objects>,
    /// The objects as they are opened, or why those of a document are not.
    open: Vec<Result<Objects, Reason>>,
    /// The fingerprint of the data key.
    proof: Proof,
}

type Opened = Result<Opening, Reason>;

impl Vault {
    /// Takes the sealed files of a source, and gives what is known of the objects in them. Where a source that may provide other
    /// objects shares an identity with this one, nothing is opened that names no namespace: it could be moved there as it is,
    /// and would be another's.
    pub fn new(
        fleet: &Fleet,
        source: &SourceName,
        (opener, is_shared): (Arc<Opener>, bool),
        (files, texts): (Vec<SealedFile>, Texts),
    ) -> (Self, Vec<Seen>) {
        let mut vault = Self { source: source.clone(), opener, files, texts, is_shared, places: Vec::new() };
        let listed = |(node, _): &(Node, Origin)| fleet.lists(&kind_of(node));
        let now: BTreeSet<usize> = (0..vault.files.len())
            .filter(|file| {
                vault.files.get(*file).is_some_and(|file| file.parts.iter().any(|p| p.documents.iter().any(listed)))
            })
            .collect();
        let opened = vault.open_all(&now);
        let (mut seen, scopes) = (Vec::new(), Scopes::new());
        for (number, file) in vault.files.iter_mut().enumerate() {
            let opened = opened.get(&number);
            for (at, part) in file.parts.iter_mut().enumerate() {
                for (index, (node, origin)) in part.take_documents().into_iter().enumerate() {
                    let kind = kind_of(&node);
                    let is_listed = fleet.lists(&kind);
                    let is_moved = is_listed && vault.is_shared && scopes.of(&kind) == Some(Scope::Namespaced);
                    let unbound = (is_moved && part.is_unbound(&node)).then(|| unbound(part.made));
                    let shown = part.closed.clone().or_else(|| would_show(&node)).or(unbound);
                    let open = match opened {
                        Some(Ok(opening)) => found(&opening.open, at, &node),
                        Some(Err(reason)) => Err(reason.clone()),
                        None => Ok(None),
                    };
                    let trouble = open.as_ref().err().cloned().or_else(|| shown.clone());
                    if let (true, None, Ok(Some((node, origin)))) = (is_listed, &shown, open) {
                        seen.push(Seen::Open(node, origin));
                        continue;
                    }
                    vault.places.push((number, at, index));
                    let trouble = trouble.or_else(|| is_listed.then(changed));
                    let leaves = fingerprints(&node);
                    seen.push(Seen::Sealed(SealedDocument { document: node, origin, file: number, leaves, trouble }));
                }
            }
        }
        (vault, seen)
    }

    /// Whether the files are opened at all.
    pub fn opens(&self) -> bool {
        matches!(*self.opener, Opener::Identities(_))
    }

    /// Whether the vault holds no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Opens objects; `index` is the source's own.
    pub fn answer(&self, snapshot: &Snapshot, index: usize, keys: BTreeSet<ObjectKey>) -> Vec<(ObjectKey, Answer)> {
        let place = |key: &ObjectKey| self.places.get(snapshot.sealed_document(index, key)?).copied();
        let files = keys.iter().filter(|key| !self.leaves(key)).filter_map(place).map(|(file, _, _)| file).collect();
        let opened = self.open_all(&files);
        let answer = |key: ObjectKey| {
            let answer = place(&key).and_then(|place| self.of(place, &key, &opened));
            (key, answer.unwrap_or_else(|| Answer::Sealed(changed())))
        };
        keys.into_iter().map(answer).collect()
    }

    /// Drops the texts that can be read again, but those of files in doubt: the author of a copy could else stop the
    /// original by changing the copy all the time.
    pub fn put_aside(&mut self, is_in_doubt: impl Fn(usize) -> bool) {
        for (_, file) in self.files.iter_mut().enumerate().filter(|(number, _)| !is_in_doubt(*number)) {
            file.parts.iter_mut().for_each(|part| self.texts.put_aside(part));
        }
    }

    /// Opens files in doubt to see whether their MAC verifies, and returns nothing of their content. How long that takes does
    /// not count: one that nobody looked at would be taken for a copy.
    pub fn prove(&self, files: &BTreeSet<usize>) -> BTreeMap<usize, Proof> {
        let opened = self.open_each(files, |file| wiped(|| self.open(file))).into_iter();
        opened.map(|(number, opened)| (number, opened.ok().and_then(|opening| opening.proof))).collect()
    }

    /// Returns true for an object of which nothing is known without its values, which are not read.
    fn leaves(&self, key: &ObjectKey) -> bool {
        matches!(*self.opener, Opener::Nobody) && key.kind.is_secret()
    }

    fn of(&self, place: (usize, usize, usize), key: &ObjectKey, opened: &BTreeMap<usize, Opened>) -> Option<Answer> {
        if self.leaves(key) {
            let why = "it is encrypted, and values of Secrets were not asked for";
            return Some(Answer::Unread(Reason::new(why, "This run reads no Secrets.")));
        }
        let (file, at, index) = place;
        let opening = match opened.get(&file)? {
            Ok(opening) => opening,
            Err(reason) => return Some(Answer::Sealed(reason.clone())),
        };
        let (node, origin) = opening.sealed.get(at)?.get(index)?;
        Some(match &*self.opener {
            Opener::Names if key.kind.is_secret() => Answer::Unseen(without_block(node), origin.clone()),
            Opener::Nobody | Opener::Names => Answer::Found(without_block(node), origin.clone()),
            Opener::Identities(_) => {
                let (opened, origin) = match found(&opening.open, at, node) {
                    Ok(found) => found?,
                    Err(reason) => return Some(Answer::Sealed(reason)),
                };
                let part = self.files.get(file)?.parts.get(at)?;
                if self.is_shared && key.namespace.is_some() && part.is_unbound(&opened) {
                    return Some(Answer::Sealed(unbound(part.made)));
                }
                Answer::Found(without_sealed_notes(opened, node), origin)
            }
        })
    }

    fn open_all(&self, files: &BTreeSet<usize>) -> BTreeMap<usize, Opened> {
        let time = self.texts.time();
        self.open_each(files, |file| time.spend(|| wiped(|| self.open(file))).unwrap_or_else(|| Err(late(time))))
    }

    fn open_each(
        &self,
        files: &BTreeSet<usize>,
        open: impl Fn(&SealedFile) -> Opened + Sync,
    ) -> BTreeMap<usize, Opened> {
        let wanted: Vec<(usize, &SealedFile)> =
            files.iter().filter_map(|number| Some((*number, self.files.get(*number)?))).collect();
        wanted.into_par_iter().map(|(number, file)| (number, open(file))).collect()
    }

    fn open(&self, file: &SealedFile) -> Opened {
        let texts = self.texts.of(file)?;
        let Opener::Identities(identities) = &*self.opener else {
            let sealed = self.as_they_stand(file, &texts);
            let open = sealed.iter().map(|documents| Ok(bare(documents))).collect();
            return Ok(Opening { sealed, open, proof: None });
        };
        let (open, proof) = self.opened(file, &texts, identities)?;
        Ok(Opening { sealed: self.as_they_stand(file, &texts), open, proof })
    }

    /// The objects of a file as they stand, document by document.
    fn as_they_stand(&self, file: &SealedFile, texts: &[Cow<'_, str>]) -> Vec<Objects> {
        let mut reader = Reader::new();
        let mut objects = |(part, text): (&SealedPart, &Cow<'_, str>)| match part.made {
            Made::Apart | Made::Built { .. } | Made::Generated => part.documents.clone(),
            // They were read once, so none of them fails.
            Made::Text => document(text, file.written == Written::Json, &mut reader)
                .map(|node| self.taken(file, (part, text), node))
                .unwrap_or_default(),
        };
        file.parts.iter().zip(texts).map(&mut objects).collect()
    }

    /// The objects of a document.
    fn taken(&self, file: &SealedFile, (part, text): (&SealedPart, &str), node: Node) -> Objects {
        // It was counted as it stands.
        let means = Means { limits: &SourceLimits::DEFAULT, memory: usize::MAX, time: self.texts.time() };
        let meter = Meter::new(means);
        let mut reading = Reading::nothing();
        let of_file = Text::new((&self.source, &file.path), (Form::Yaml, b""), &meter);
        of_file.take(node, part.line, (text, part.first_line), None, &mut reading);
        reading.documents
    }

    /// The objects of a file as identities open them, and the fingerprint of its data key.
    fn opened(
        &self,
        file: &SealedFile,
        texts: &[Cow<'_, str>],
        identities: &Identities,
    ) -> Result<(Vec<Result<Objects, Reason>>, Proof), Reason> {
        if let [SealedPart { made: Made::Apart, closed: Some(reason), .. }] = &*file.parts {
            return Err(reason.clone());
        }
        if file.parts.iter().any(|part| part.made == Made::Generated) {
            return nested::opened(file, texts, identities);
        }
        let mut interner = Interner::new();
        let documents: Result<Vec<Node>, Flaw> = file
            .parts
            .iter()
            .zip(texts)
            .map(|(part, text)| {
                let read = match file.written {
                    Written::Yaml => yaml::read_ordered(&Document::whole(text), &mut interner),
                    Written::Json => json::read_ordered(text, &mut interner),
                };
                read.map_err(|flaw| Flaw { line: part.line_of_file(flaw.line), ..flaw })
            })
            .collect();
        let documents = documents
            .map_err(|flaw| Reason { line: Some(flaw.line), ..Reason::new(flaw.what.into_owned(), SEAL_AGAIN) })?;
        let not_opened = |error: OpenError| not_opened(&error, file.line_of(texts, &error));
        let sealed = Sealed::new(documents).map_err(not_opened)?;
        if sealed.mac_only_encrypted() {
            return Err(not_opened(OpenError::MacOnlyEncrypted));
        }
        let data_key = identities.unwrap(sealed.stanzas()).map_err(|error| locked(error, &sealed, identities, file))?;
        let nodes = sealed.open(&data_key).map_err(not_opened)?;
        let objects = file.parts.iter().zip(texts).zip(nodes).enumerate();
        let objects = objects.map(|(number, ((part, text), node))| match (part.made, &part.closed) {
            (_, Some(reason)) => Err(reason.clone()),
            (Made::Built { .. }, None) => built(&sealed, number, part, &node),
            (Made::Text | Made::Apart | Made::Generated, None) => Ok(self.taken(file, (part, text), node)),
        });
        Ok((objects.collect(), Some(key_fingerprint(&data_key))))
    }
}

/// The objects that were built of a document, with its values.
fn built(sealed: &Sealed, number: usize, part: &SealedPart, open: &Node) -> Result<Objects, Reason> {
    let filled = |(built, origin): &(Node, Origin)| {
        let filled = sealed.fill(number, built, open).map_err(|error| {
            let (code, help) = match error {
                BuiltError::Moved(_) => {
                    let help = "Leave sealed values where they were sealed: no patch or replacement may move one.";
                    (Code::UndecryptableSource, help)
                }
                BuiltError::Another(_) => {
                    let help = "Seal an object of its own for it: a build may put something before and behind the name, and no more.";
                    (Code::UndecryptableSource, help)
                }
                BuiltError::Mixed(_) => {
                    (Code::MixedSealing, "Seal that value in the document itself, or keep it in a Secret of its own.")
                }
            };
            Reason { code, ..Reason::new(error.to_string(), help) }
        });
        Ok((filled?, origin.clone()))
    };
    part.documents.iter().map(filled).collect()
}

/// What is known of the objects in sealed files of a source that opens none.
///
/// Objects of listed kinds, and items of a `List`, cannot be opened; the others are documents, and say so
/// themselves.
pub fn unopened(fleet: &Fleet, files: Vec<SealedFile>) -> impl Iterator<Item = Seen> {
    let no_key = || {
        let help = "Name an age identity under the source's `decryption`, or keep it in a file that is not encrypted.";
        Reason::new("no key is configured to open it", help)
    };
    let seen = move |(file, node, origin, closed): (usize, Node, Origin, Option<Reason>)| {
        let trouble = match closed {
            Some(reason) => reason,
            None if fleet.lists(&kind_of(&node)) => no_key(),
            None => return Seen::Open(node, origin),
        };
        Seen::Sealed(SealedDocument { document: node, origin, file, leaves: Vec::new(), trouble: Some(trouble) })
    };
    let documents = files.into_iter().enumerate().flat_map(|(number, file)| {
        file.parts.into_iter().flat_map(move |SealedPart { documents, closed, .. }| {
            documents.into_iter().map(move |(node, origin)| (number, node, origin, closed.clone()))
        })
    });
    documents.map(seen)
}

/// Why an object cannot be used although it opens: only the values of Secrets are published sealed, so a value
/// that is sealed elsewhere would come out readable, in a bundle or in a message about the object.
fn would_show(sealed: &Node) -> Option<Reason> {
    let is_secret = kind_of(sealed).is_secret();
    let stays_sealed = |key: &str| key == "sops" || (is_secret && matches!(key, "data" | "stringData"));
    let notes = sealed.at(&["metadata"]).map(Node::entries).unwrap_or_default();
    let notes = notes.iter().filter(|(key, _)| !(is_secret && NOTES.contains(&&**key)));
    let mut fields = sealed.entries().iter().filter(|(key, _)| **key != *"metadata" && !stays_sealed(key));
    let path = fields
        .find_map(|(key, value)| sealed_value_below(key, value))
        .or_else(|| notes.into_iter().find_map(|(key, value)| sealed_value_below(&format!("metadata.{key}"), value)))?;
    let why = format!("{path} is encrypted, but would be published or shown in clear");
    let help = match is_secret {
        true => "Seal only the entries of data and stringData: encrypted_regex ^(data|stringData)$.",
        false => "Keep the object in a file of its own that is not encrypted, or what is secret in a Secret.",
    };
    Some(Reason::new(why, help))
}

/// The fields of metadata that only describe an object: whoever seals them in a Secret does not want them seen,
/// and no Secret needs them.
const NOTES: [&str; 2] = ["annotations", "labels"];

/// An opened object without the labels and annotations that stand sealed in `sealed`.
fn without_sealed_notes(opened: Node, sealed: &Node) -> Node {
    let is_open = |field: &str, key: &str| {
        let text = sealed.at(&["metadata", field]).and_then(|notes| notes.get(key)).and_then(Node::as_str);
        !text.is_some_and(|text| text.starts_with(MARK))
    };
    let rest = |(field, notes): &(Key, Node)| {
        let kept = match notes {
            Node::Map(notes) if NOTES.contains(&&**field) => {
                Node::Map(notes.iter().filter(|(key, _)| is_open(field, key)).cloned().collect())
            }
            notes => notes.clone(),
        };
        (field.clone(), kept)
    };
    let field = |(key, value): &(Key, Node)| match value {
        Node::Map(metadata) if **key == *"metadata" => (key.clone(), Node::Map(metadata.iter().map(rest).collect())),
        value => (key.clone(), value.clone()),
    };
    match &opened {
        Node::Map(entries) => Node::Map(entries.iter().map(field).collect()),
        _ => opened,
    }
}

/// Says why an object is not opened that got its namespace from a source which shares an identity.
fn unbound(made: Made) -> Reason {
    let why = match made {
        Made::Built { .. } | Made::Generated => "its MAC does not bind it to the namespace that the build gives it",
        Made::Text | Made::Apart => "it names no namespace, so its MAC binds it to none",
    };
    let help = "Give each source an identity of its own; or write metadata.namespace, and seal it again.";
    Reason::new(format!("{why}, and another source has an identity that opens it"), help)
}

fn changed() -> Reason {
    Reason::new("decrypted, it is a different object than its readable part says", SEAL_AGAIN)
}

/// The opened object with the kind, namespace and name of `sealed`, among those of a document.
///
/// Positions would do but for comments among the items of a list, which are values as long as they are sealed.
fn found(parts: &[Result<Objects, Reason>], at: usize, sealed: &Node) -> Result<Option<(Node, Origin)>, Reason> {
    const HEAD: [&[&str]; 4] = [&["apiVersion"], &["kind"], &["metadata", "name"], &["metadata", "namespace"]];
    let same = |(node, _): &&(Node, Origin)| HEAD.iter().all(|path| node.at(path) == sealed.at(path));
    let Some(objects) = parts.get(at) else { return Ok(None) };
    objects.as_ref().map(|objects| objects.iter().find(same).cloned()).map_err(Clone::clone)
}

fn bare(documents: &[(Node, Origin)]) -> Objects {
    documents.iter().map(|(node, origin)| (without_block(node), origin.clone())).collect()
}

fn without_block(node: &Node) -> Node {
    let kept = node.entries().iter().filter(|(key, _)| **key != *"sops");
    Node::Map(kept.map(|(key, value)| (key.clone(), without_values(value))).collect())
}

/// A node with its sealed values emptied: else they would be a fault, since nobody opens them.
fn without_values(node: &Node) -> Node {
    match node {
        Node::Text(text) if text.starts_with(cipher::MARK) => Node::text(""),
        Node::List(items) => Node::List(items.iter().map(without_values).collect()),
        Node::Map(entries) => {
            Node::Map(entries.iter().map(|(key, value)| (key.clone(), without_values(value))).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_no_values_sees_none_and_no_fault() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\ndata: {one: 'ENC[AES256_GCM,data:qq==]', \
                    two: plain}\nsops: {mac: 'ENC[AES256_GCM,data:qq==]'}\n";
        let typed: Node = yaml::read(&Document::whole(text), &mut Interner::new()).unwrap();
        let bare = without_block(&typed);
        assert_eq!((bare.str_at(&["data", "one"]), bare.str_at(&["data", "two"])), (Some(""), Some("plain")));
        assert!(bare.get("sops").is_none() && bare.at(&["metadata", "name"]) == typed.at(&["metadata", "name"]));
    }
}
