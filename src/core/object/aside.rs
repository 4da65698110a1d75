//! Aside: objects without their content, which is read again when it is needed.
//!
//! A source may have hundreds of thousands of Secrets for a run that needs ten. Of each is kept what identifies it, where it
//! stands, and a digest by which copies are compared. The digest has a key of its run alone, so
//! that passwords cannot be tried against it later.

use alloc::boxed::Box;
use alloc::string::ToString as _;
use alloc::sync::Arc;
use alloc::vec::Vec;

use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use zeroize::Zeroize as _;

use crate::node::{Key, Node};
use crate::secret::Payload;

/// The key of a run's digests.
#[derive(Clone)]
pub struct RunKey(Arc<Hmac<Sha256>>);

impl RunKey {
    /// Makes a key from random bytes; never none, as HMAC takes keys of any length.
    pub fn new(bytes: &[u8; 32]) -> Option<Self> {
        Hmac::new_from_slice(bytes).ok().map(|keyed| Self(Arc::new(keyed)))
    }

    /// A digest of bytes, for this run.
    pub fn digest(&self, bytes: &[u8]) -> Digest {
        let mut keyed = Hmac::clone(&self.0);
        keyed.update(bytes);
        let mut digest = [0; 16];
        digest.iter_mut().zip(keyed.finalize().into_bytes()).for_each(|(into, byte)| *into = byte);
        digest
    }
}

/// A digest with the key of a run, of 16 bytes.
pub type Digest = [u8; 16];

/// A stand-in for the content of an object.
pub(crate) struct Aside {
    key: RunKey,
    digest: Digest,
    /// The number of its document in its source.
    pub(crate) document: usize,
}

/// Everything by which two copies of an object are compared, their faults excepted.
pub(super) struct Content<'a> {
    pub(super) version: &'a str,
    pub(super) pairs: [&'a [(Key, Box<str>)]; 2],
    pub(super) deleting: bool,
    pub(super) create_only: bool,
    pub(super) body: &'a Node,
    pub(super) payload: Option<&'a Payload>,
}

impl Aside {
    /// A stand-in for a content, with a digest under a key.
    pub(super) fn of(content: &Content<'_>, key: &RunKey) -> Self {
        Self { key: key.clone(), digest: content.digest(key), document: 0 }
    }

    /// Returns true if this stands for a content.
    pub(super) fn is_of(&self, content: &Content<'_>) -> bool {
        self.digest == content.digest(&self.key)
    }

    /// Returns true if another one, of the same run, stands for the same content.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.digest == other.digest
    }
}

impl Content<'_> {
    fn digest(&self, key: &RunKey) -> Digest {
        let mut fed = Fed(Vec::with_capacity(512));
        fed.text(self.version);
        for pairs in self.pairs {
            fed.count(pairs.len());
            pairs.iter().for_each(|(name, value)| {
                fed.text(name);
                fed.text(value);
            });
        }
        fed.0.extend([self.deleting, self.create_only, self.payload.is_some()].map(u8::from));
        fed.node(self.body);
        if let Some(payload) = self.payload {
            fed.0.push(u8::from(payload.is_seen()));
            fed.count(payload.entries().len());
            payload.entries().iter().for_each(|(name, value)| {
                fed.text(name);
                fed.bytes(value.expose());
            });
        }
        key.digest(&fed.0)
    }
}

/// Bytes to be digested; each part says its length, so that no two objects are fed alike.
struct Fed(Vec<u8>);

impl Fed {
    fn count(&mut self, count: usize) {
        self.0.extend(u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes());
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.count(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Feeds a tree; nothing in it goes deeper than a document may.
    fn node(&mut self, node: &Node) {
        let kind = match node {
            Node::Null => 0,
            Node::Bool(false) => 1,
            Node::Bool(true) => 2,
            Node::Int(_) => 3,
            Node::Uint(_) => 4,
            Node::Float(_) => 5,
            Node::Time(_) => 6,
            Node::Text(_) => 7,
            Node::List(_) => 8,
            Node::Map(_) => 9,
            Node::InOrder(_) => 10,
        };
        self.0.push(kind);
        match node {
            Node::Null | Node::Bool(_) => {}
            Node::Int(number) => self.0.extend(number.to_be_bytes()),
            Node::Uint(number) => self.0.extend(number.to_be_bytes()),
            // Nought is equal to nought with a sign.
            Node::Float(number) => self.0.extend((number + 0.0).to_be_bytes()),
            Node::Time(time) => self.text(&time.to_string()),
            Node::Text(text) => self.text(text),
            Node::List(items) => {
                self.count(items.len());
                items.iter().for_each(|item| self.node(item));
            }
            Node::Map(entries) | Node::InOrder(entries) => {
                self.count(entries.len());
                for (key, value) in entries {
                    self.text(key);
                    self.node(value);
                }
            }
        }
    }
}

impl Drop for Fed {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
