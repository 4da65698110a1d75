//! Reading what SOPS sealed: a file's documents, with the MAC verified.
//!
//! [`Sealed::new`] takes the documents of one file and judges their `sops` block; [`Sealed::open`] gives them
//! back readable and without the block. It reads whatever SOPS writes for age, under any rule, and refuses by
//! name what it does not support. How a stanza gives a data key is not known here.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::str;

use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::built::{BuiltError, filled};
use super::cipher::{self, Cipher, Type};
pub use super::format::MAX_STANZAS;
use super::mac::Mac;
use super::metadata::KEY;
use super::rule::{EncryptionRule, FIELDS};
use super::{CipherError, OpenError};
use crate::go_time::GoTime;
use crate::node::{Key, Node};
use crate::secret::same_bytes;

/// The longest armored stanza of a file, in bytes; those of age have some 400, those for post-quantum
/// recipients 3,000.
const MAX_STANZA_BYTES: usize = 16 << 10;

/// Identifies a sealed value: the start of the SHA-256 of its text without the type, which no tag covers.
pub type Fingerprint = [u8; 16];

/// The fingerprints of a document's sealed values, whatever its rule says.
pub fn fingerprints(document: &Node) -> Vec<Fingerprint> {
    fn add(node: &Node, found: &mut Vec<Fingerprint>) {
        match node {
            Node::Text(text) if text.starts_with(cipher::MARK) => {
                let sealed = text.rsplit_once(",type:").map_or(&**text, |(sealed, _)| sealed);
                found.extend(Sha256::digest(sealed.as_bytes()).first_chunk().copied());
            }
            Node::List(items) => items.iter().for_each(|item| add(item, found)),
            Node::Map(entries) => entries.iter().for_each(|(_, value)| add(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (_, value) in document.entries().iter().filter(|(key, _)| **key != *KEY) {
        add(value, &mut found);
    }
    found
}

/// Identifies a data key: tells whether two files have the same one, and opens nothing.
pub type KeyFingerprint = [u8; 32];

/// The fingerprint of a data key.
pub fn key_fingerprint(data_key: &[u8; 32]) -> KeyFingerprint {
    Sha256::new_with_prefix("pouch/v1 data-key").chain_update(data_key).finalize().into()
}

/// The documents of one sealed file.
pub struct Sealed {
    documents: Vec<Node>,
    rule: EncryptionRule,
    last_modified: String,
    mac: Box<str>,
    mac_only_encrypted: bool,
    stanzas: Vec<(String, String)>,
}

impl Sealed {
    /// Takes the documents of a file as SOPS reads them: several where it is a YAML stream. The block of the
    /// first counts, as in SOPS; the others hold copies of it.
    ///
    /// # Errors
    /// Where the first document has no block, the block cannot be followed, or no stanza of age wraps its data
    /// key.
    pub fn new(documents: Vec<Node>) -> Result<Self, OpenError> {
        let block = documents.first().and_then(|document| document.at(&[KEY])).ok_or(OpenError::NoBlock)?;
        let Node::InOrder(_) = block else { return Err(OpenError::NoBlock) };
        if block.at(&["key_groups"]).is_some_and(|groups| !groups.items().is_empty()) {
            return Err(OpenError::KeyGroups);
        }
        let mut fields = [None; 6];
        for (field, name) in fields.iter_mut().zip(FIELDS) {
            *field = text(block, name)?;
        }
        let rule = EncryptionRule::new(fields)?;
        text(block, "version")?.filter(|version| !version.is_empty()).ok_or(OpenError::NoVersion)?;
        let last_modified = match block.at(&["lastmodified"]) {
            Some(Node::Time(moment)) => Some(*moment),
            other => other.and_then(Node::as_str).and_then(GoTime::rfc3339),
        };
        let last_modified = last_modified.ok_or(OpenError::Time)?.to_the_second().to_string();
        let mac = text(block, "mac")?.filter(|mac| !mac.is_empty()).ok_or(OpenError::NoMac)?.into();
        let mac_only_encrypted = match block.at(&["mac_only_encrypted"]) {
            None => false,
            Some(Node::Bool(value)) => *value,
            Some(_) => return Err(OpenError::Field("mac_only_encrypted")),
        };
        let stanzas = stanzas(block)?;
        if documents.iter().any(|document| !matches!(document, Node::InOrder(_) | Node::Null)) {
            return Err(OpenError::NotMap);
        }
        Ok(Self { documents, rule, last_modified, mac, mac_only_encrypted, stanzas })
    }

    /// Recipients and armored age files, as [`metadata::stanzas`](super::metadata::stanzas).
    pub fn stanzas(&self) -> &[(String, String)] {
        &self.stanzas
    }

    /// Whether the MAC covers sealed values only, so that anybody may have written the others.
    pub fn mac_only_encrypted(&self) -> bool {
        self.mac_only_encrypted
    }

    /// Opens all documents.
    ///
    /// # Errors
    /// Where a value is not sealed as the rule says or not with this data key, and where the MAC is that of
    /// other values.
    pub fn open(&self, data_key: &[u8; 32]) -> Result<Vec<Node>, OpenError> {
        let mac = if self.mac_only_encrypted { Mac::of_sealed_values() } else { Mac::default() };
        let mut opening = Opening { file: self, cipher: Cipher::new(data_key), mac };
        let mut opened = Vec::with_capacity(self.documents.len());
        for document in &self.documents {
            let bare = document.entries().iter().filter(|(key, _)| **key != *KEY);
            opened.push(opening.map(bare, &mut String::new(), false)?);
        }
        let (written, kind) = opening.cipher.open(&self.mac, &self.last_modified).map_err(OpenError::SealedMac)?;
        if kind != Type::Str {
            return Err(OpenError::SealedMac(CipherError::Type));
        }
        let sum = opening.mac.finish();
        if same_bytes(sum.as_bytes(), &written) { Ok(opened) } else { Err(OpenError::Mac) }
    }

    /// The values of an object that was built of the document with this number; `open` is the opened one.
    ///
    /// # Errors
    /// Where the object has a value that the document does not have there, or one that is not sealed as it should be.
    pub fn fill(&self, number: usize, built: &Node, open: &Node) -> Result<Node, BuiltError> {
        let sealed = self.documents.get(number).unwrap_or(&Node::Null);
        filled(built, sealed, open, &self.rule)
    }
}

fn text<'a>(block: &'a Node, name: &'static str) -> Result<Option<&'a str>, OpenError> {
    match block.at(&[name]) {
        None => Ok(None),
        Some(Node::Text(text)) => Ok(Some(text)),
        Some(_) => Err(OpenError::Field(name)),
    }
}

fn stanzas(block: &Node) -> Result<Vec<(String, String)>, OpenError> {
    let entries = match block.at(&["age"]) {
        None => &[],
        Some(Node::List(items)) => &**items,
        Some(_) => return Err(OpenError::Field("age")),
    };
    if entries.is_empty() {
        return Err(OpenError::NoAge);
    }
    if entries.len() > MAX_STANZAS {
        return Err(OpenError::TooManyStanzas);
    }
    let both = |entry: &Node| {
        let recipient = text(entry, "recipient").ok()??;
        let armored = text(entry, "enc").ok()??;
        (armored.len() <= MAX_STANZA_BYTES).then(|| (recipient.to_owned(), armored.to_owned()))
    };
    entries.iter().map(|entry| both(entry).ok_or(OpenError::Field("age"))).collect()
}

struct Opening<'a> {
    file: &'a Sealed,
    cipher: Cipher,
    mac: Mac,
}

impl Opening<'_> {
    /// `path` has a colon after every key; items of a list add nothing to it. `marked` says whether the
    /// rule marks a key on it.
    fn map<'e>(
        &mut self,
        entries: impl Iterator<Item = &'e (Key, Node)>,
        path: &mut String,
        marked: bool,
    ) -> Result<Node, OpenError> {
        let mut opened = Vec::new();
        for (key, value) in entries {
            let length = path.len();
            path.push_str(key);
            path.push(':');
            let value = self.value(value, path, marked || self.file.rule.marks(key))?;
            // A comment becomes a value only among the items of a list.
            let value = value.ok_or_else(|| OpenError::Type(path.clone()))?;
            path.truncate(length);
            opened.push((key.clone(), value));
        }
        Ok(Node::map(opened))
    }

    /// Opens a value; none if it was a comment.
    fn value(&mut self, value: &Node, path: &mut String, marked: bool) -> Result<Option<Node>, OpenError> {
        let sealed = match value {
            Node::InOrder(entries) => return self.map(entries.iter(), path, marked).map(Some),
            Node::List(items) => {
                let mut opened = Vec::with_capacity(items.len());
                for item in items {
                    opened.extend(self.value(item, path, marked)?);
                }
                return Ok(Some(Node::List(opened.into_boxed_slice())));
            }
            Node::Null => return Ok(Some(Node::Null)),
            Node::Text(text) if text.is_empty() => return Ok(Some(Node::text(""))),
            Node::Text(text) => Some(text).filter(|text| text.starts_with(cipher::MARK)),
            _ => None,
        };
        match (sealed, self.file.rule.seals(marked, sealed.is_some())) {
            (Some(sealed), true) => self.sealed(sealed, path),
            (None, false) => self.clear(value, path).map(Some),
            (None, true) => Err(OpenError::NotSealed(path.clone())),
            (Some(_), false) => Err(OpenError::SealedInClear(path.clone())),
        }
    }

    fn clear(&mut self, value: &Node, path: &str) -> Result<Node, OpenError> {
        let node = match value {
            Node::Bool(value) => Node::Bool(*value),
            Node::Int(value) => Node::Int(*value),
            Node::Float(value) => Node::Float(*value),
            Node::Time(moment) => Node::text(&moment.to_string()),
            Node::Text(text) => Node::text(text),
            Node::Uint(_) | Node::Null | Node::List(_) | Node::Map(_) | Node::InOrder(_) => {
                return Err(OpenError::Type(path.to_owned()));
            }
        };
        if !self.file.mac_only_encrypted {
            self.count(&node);
        }
        Ok(node)
    }

    fn sealed(&mut self, sealed: &str, path: &str) -> Result<Option<Node>, OpenError> {
        let (plain, kind) = self.cipher.open(sealed, path).map_err(|error| OpenError::Value(path.to_owned(), error))?;
        let wrong = || OpenError::Type(path.to_owned());
        if kind == Type::Comment {
            return Ok(None);
        }
        let text = str::from_utf8(&plain).map_err(|_| wrong())?;
        // As in SOPS, the value is counted, and not the text that it was made of.
        let node = match kind {
            Type::Str | Type::Bytes => Some(Node::text(text)),
            Type::Int => text.parse().ok().map(Node::Int),
            Type::Float => text.parse().ok().filter(|value: &f64| value.is_finite()).map(Node::Float),
            Type::Bool => match text {
                "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(Node::Bool(true)),
                "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(Node::Bool(false)),
                _ => None,
            },
            Type::Time => GoTime::rfc3339(text).map(|moment| Node::text(&Zeroizing::new(moment.to_string()))),
            Type::Comment => None,
        };
        let node = node.ok_or_else(wrong)?;
        self.count(&node);
        Ok(Some(node))
    }

    fn count(&mut self, leaf: &Node) {
        match leaf {
            Node::Text(text) => self.mac.bytes(text.as_bytes()),
            Node::Bool(value) => self.mac.boolean(*value),
            Node::Int(value) => self.mac.integer(*value),
            Node::Float(value) => self.mac.number(*value),
            Node::Null | Node::Uint(_) | Node::Time(_) | Node::List(_) | Node::Map(_) | Node::InOrder(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
