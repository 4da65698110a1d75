//! Sealing: one Secret as a SOPS file that Flux, KSOPS and `sops` open.
//!
//! [`seal`] takes values in and gives bytes out: data key, IVs, time and age stanzas come from the caller, so
//! that this module needs neither clock nor randomness and a test can fix them all. It checks the sealed
//! document before it returns it. [`Sealed`] reads whatever SOPS writes for age, with the MAC verified;
//! [`decrypt`] and [`open`] read only pouch's own files. Nothing here knows regions, tags, or how age wraps a
//! data key.
//!
//! The format: <https://github.com/getsops/sops> (`sops.go`, `aes/cipher.go`, `stores/`).

mod built;
pub mod cipher;
mod error;
mod format;
pub mod mac;
pub mod metadata;
pub mod read;
pub mod rule;

use alloc::borrow::{Cow, ToOwned as _};
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use zeroize::Zeroize as _;

use crate::node::Node;
use crate::recipient::Recipient;
use crate::secret::SecretBytes;
use crate::yaml::emit::{self, Tree};
use crate::yaml::order;
pub use built::BuiltError;
use cipher::{Cipher, CipherError};
pub use error::OpenError;
use mac::Mac;
use metadata::is_sealed_key;
pub use metadata::stanzas;
pub use read::Sealed;

/// Everything that sealing must get from its caller.
pub struct Ingredients<'a> {
    /// 32 fresh random bytes, used for this file and never again.
    pub data_key: &'a [u8; 32],
    /// Fresh random IVs: one per non-empty value, and one more for the MAC.
    pub ivs: &'a mut dyn Iterator<Item = [u8; 32]>,
    /// The time of sealing as `2026-11-21T07:51:52Z`, always UTC and to the second.
    pub last_modified: &'a str,
    /// Who must be able to open the file; sorted, each once, at least one.
    pub recipients: &'a [Recipient],
    /// For each of them, in the same order, an armored age file that holds the data key.
    pub stanzas: &'a [(Recipient, String)],
}

/// A sealed Secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedText {
    /// The file's text, without header lines.
    pub text: String,
    /// The entries of `data`, sorted by name, with the text that stands there now: `ENC[…]`, or
    /// nothing for an empty value.
    pub leaves: Vec<(String, String)>,
}

/// Why a document was not sealed. Each of these is a mistake of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// The document is no map.
    #[error("the document is not a map")]
    NotMap,
    /// The document has a `sops` block already.
    #[error("the document has a sops block already")]
    Sealed,
    /// A value under `data` is neither text nor null.
    #[error("a value to seal is not text")]
    NotText,
    /// A secret stands where it would stay readable.
    #[error("a secret stands outside of data and stringData")]
    Exposed,
    /// A text that stays readable starts as sealed values do, so that nobody could open the file again.
    #[error("a text outside of data and stringData looks sealed")]
    LooksSealed,
    /// SOPS cannot hash one of the numbers.
    #[error("a number is not finite, or an integer larger than 64 bits with sign")]
    Number,
    /// There are fewer IVs than values, or one came twice.
    #[error("the IVs ran out or repeated themselves")]
    Ivs,
    /// The time is not in the required form.
    #[error("the time of sealing is not written as 2026-11-21T07:51:52Z")]
    Time,
    /// There is not exactly one armored stanza per recipient.
    #[error("the stanzas are not one per recipient, or a recipient is missing or repeated")]
    Stanzas,
    /// A value is too long for the cipher.
    #[error("a value is too long for the cipher")]
    TooLong,
    /// The sealed document fails its own check.
    #[error("the sealed document does not pass its own check")]
    SelfCheck,
}

/// Seals a document: every text below a `data` or `stringData`, wherever on the path that key stands.
///
/// The tree is one of a sanitised Secret. Values come out in the order in which kustomize
/// writes their keys, so that the full MAC survives a build.
///
/// # Errors
/// Where the document or the ingredients are not as required, and where something in the result would stay
/// readable.
pub fn seal(document: Tree<'_>, ingredients: Ingredients<'_>) -> Result<SealedText, SealError> {
    let (sealed, leaves) = seal_tree(document, ingredients)?;
    let text = mem::take(&mut *emit::emit(&sealed));
    Ok(SealedText { text, leaves })
}

type Leaves = Vec<(String, String)>;

fn seal_tree<'t>(document: Tree<'t>, ingredients: Ingredients<'_>) -> Result<(Tree<'t>, Leaves), SealError> {
    let Ingredients { data_key, ivs, last_modified, recipients, stanzas } = ingredients;
    if !metadata::is_time(last_modified) {
        return Err(SealError::Time);
    }
    judge_stanzas(recipients, stanzas)?;
    match &document {
        Tree::Map(entries) if entries.contains_key(metadata::KEY) => return Err(SealError::Sealed),
        Tree::Map(_) => {}
        _ => return Err(SealError::NotMap),
    }
    let mut sealing = Sealing { cipher: Cipher::new(data_key), mac: Mac::default(), ivs, used: BTreeSet::new() };
    let mut sealed = sealing.tree(document, &mut String::new(), false)?;
    let sum = mem::take(&mut sealing.mac).finish();
    // For the MAC, the time takes the place of a path.
    let mac = sealing.text(sum.as_bytes(), last_modified)?;
    let leaves = judge_sealed(&sealed)?;
    if let Tree::Map(entries) = &mut sealed {
        entries.insert(metadata::KEY, metadata::write(stanzas, last_modified, mac));
    }
    Ok((sealed, leaves))
}

struct Sealing<'a> {
    cipher: Cipher,
    mac: Mac,
    ivs: &'a mut dyn Iterator<Item = [u8; 32]>,
    used: BTreeSet<[u8; 32]>,
}

impl Sealing<'_> {
    /// `path` has a colon after every key, as the additional data of a value wants it; items of a list
    /// add nothing to it.
    fn tree<'t>(&mut self, tree: Tree<'t>, path: &mut String, below: bool) -> Result<Tree<'t>, SealError> {
        match tree {
            Tree::Map(mut entries) => {
                for (key, value) in order::arranged(entries.iter_mut().collect(), |(key, _)| key) {
                    let length = path.len();
                    path.push_str(key);
                    path.push(':');
                    *value = self.tree(mem::replace(value, Tree::Null), path, below || is_sealed_key(key))?;
                    path.truncate(length);
                }
                Ok(Tree::Map(entries))
            }
            Tree::List(items) => {
                let sealed: Result<_, _> = items.into_iter().map(|item| self.tree(item, path, below)).collect();
                sealed.map(Tree::List)
            }
            Tree::Null => Ok(Tree::Null),
            Tree::Secret(_) if !below => Err(SealError::Exposed),
            Tree::Secret(text) => self.leaf(&text, path),
            Tree::Text(mut text) if below => {
                let sealed = self.leaf(&text, path);
                if let Cow::Owned(text) = &mut text {
                    text.zeroize();
                }
                sealed
            }
            Tree::Text(text) if text.starts_with(cipher::MARK) => Err(SealError::LooksSealed),
            Tree::Text(text) => {
                self.mac.bytes(text.as_bytes());
                Ok(Tree::Text(text))
            }
            _ if below => Err(SealError::NotText),
            Tree::Bool(value) => {
                self.mac.boolean(value);
                Ok(Tree::Bool(value))
            }
            Tree::Int(value) => {
                self.mac.integer(value);
                Ok(Tree::Int(value))
            }
            Tree::Float(value) if value.is_finite() => {
                self.mac.number(value);
                Ok(Tree::Float(value))
            }
            Tree::Float(_) | Tree::Uint(_) => Err(SealError::Number),
            Tree::Plain(_) => Err(SealError::Sealed),
        }
    }

    /// An empty value stays as it is: SOPS neither seals nor counts it.
    fn leaf<'t>(&mut self, text: &str, path: &str) -> Result<Tree<'t>, SealError> {
        if text.is_empty() {
            return Ok(Tree::text(""));
        }
        self.mac.bytes(text.as_bytes());
        self.text(text.as_bytes(), path).map(|sealed| Tree::Plain(sealed.into()))
    }

    fn text(&mut self, plain: &[u8], place: &str) -> Result<String, SealError> {
        let iv = self.ivs.next().ok_or(SealError::Ivs)?;
        // Two values under one IV would show their difference: no random source is trusted to prevent that.
        if !self.used.insert(iv) {
            return Err(SealError::Ivs);
        }
        self.cipher.seal(plain, &iv, place).map_err(|_| SealError::TooLong)
    }
}

fn judge_stanzas(recipients: &[Recipient], stanzas: &[(Recipient, String)]) -> Result<(), SealError> {
    let sorted = recipients.windows(2).all(|pair| matches!(pair, [a, b] if a < b));
    let one_each = recipients.iter().eq(stanzas.iter().map(|(recipient, _)| recipient));
    let armored = stanzas.iter().all(|(_, text)| metadata::is_stanza(text));
    if sorted && one_each && armored && !recipients.is_empty() { Ok(()) } else { Err(SealError::Stanzas) }
}

/// Checks the sealed document as a stranger would, and returns the leaves of the top-level `data`.
fn judge_sealed(sealed: &Tree<'_>) -> Result<Leaves, SealError> {
    judge_leaves(sealed, false)?;
    let Tree::Map(entries) = sealed else { return Err(SealError::SelfCheck) };
    let Some(Tree::Map(data)) = entries.get("data") else { return Ok(Vec::new()) };
    Ok(data
        .iter()
        .filter_map(|(name, leaf)| match leaf {
            Tree::Plain(text) | Tree::Text(text) => Some((name.clone().into_owned(), text.clone().into_owned())),
            _ => None,
        })
        .collect())
}

fn judge_leaves(tree: &Tree<'_>, below: bool) -> Result<(), SealError> {
    let good = match tree {
        Tree::Map(entries) => {
            return entries.iter().try_for_each(|(key, value)| judge_leaves(value, below || is_sealed_key(key)));
        }
        Tree::List(items) => return items.iter().try_for_each(|item| judge_leaves(item, below)),
        Tree::Null => true,
        Tree::Secret(_) => false,
        Tree::Plain(text) => below && cipher::is_sealed(text),
        Tree::Text(text) => !below || text.is_empty(),
        Tree::Bool(_) | Tree::Int(_) | Tree::Uint(_) | Tree::Float(_) => !below,
    };
    if good { Ok(()) } else { Err(SealError::SelfCheck) }
}

/// Opens a document that pouch sealed: the same tree without its `sops` block, every value readable, the
/// MAC verified.
///
/// Keys are taken in the order in which pouch writes them, because a sorted [`Node`] does not hold the file's own; the
/// MAC of a file in another order does not fit. [`Sealed`] opens the files of others.
///
/// # Errors
/// Where anything is not sealed as [`seal`] seals, or not with this data key.
pub fn decrypt(document: &Node, data_key: &[u8; 32]) -> Result<Node, OpenError> {
    metadata::check_own(document)?;
    let mut opened = Sealed::new(Vec::from([arranged(document)]))?.open(data_key)?;
    opened.pop().ok_or(OpenError::NoBlock)
}

/// A tree in the order in which pouch writes it.
fn arranged(node: &Node) -> Node {
    match node {
        Node::List(items) => Node::List(items.iter().map(arranged).collect()),
        Node::Map(entries) => {
            let entries = order::arranged(entries.iter().collect(), |(key, _)| key);
            Node::InOrder(entries.into_iter().map(|(key, value)| (key.clone(), arranged(value))).collect())
        }
        leaf => leaf.clone(),
    }
}

/// Opens a Secret and gives the entries of its `data`, decoded and sorted by name.
pub fn open(document: &Node, data_key: &[u8; 32]) -> Result<Vec<(String, SecretBytes)>, OpenError> {
    entries(&decrypt(document, data_key)?)
}

/// The entries of the `data` of a Secret that was opened, decoded and sorted by name.
pub fn entries(opened: &Node) -> Result<Vec<(String, SecretBytes)>, OpenError> {
    let entries = opened.at(&["data"]).map(Node::entries).unwrap_or_default();
    let decode = |(name, value): &(crate::node::Key, Node)| {
        let text = if matches!(value, Node::Null) { Some("") } else { value.as_str() };
        let bytes = text.and_then(|text| STANDARD.decode(text).ok());
        let bytes = bytes.ok_or_else(|| OpenError::NotBase64((**name).to_owned()))?;
        Ok(((**name).to_owned(), SecretBytes::new(bytes)))
    };
    entries.iter().map(decode).collect()
}

#[cfg(test)]
mod tests;
