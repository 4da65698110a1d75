//! Reuse: proof, without being able to decrypt, that a published file still says what it should.
//!
//! Sealing is randomised, so sealing again would change every file on every run. Each file therefore
//! opens with tags under a key that only the renderer holds. The file tag covers the plaintext, the
//! context and every byte of the file itself: because random ciphertext is part of it, equal values
//! never show as equal tags, a value that returns shows no former tag, and any edit of the file is
//! seen. A plain or salted hash would let anybody with the repository try passwords against it.
//!
//! ```text
//! # pouch/v1 <key-id> <file tag>
//! # pouch/v1 entry <name> <entry tag>
//! # pouch/v1 entries <joint tag>
//! ```
//!
//! Every field that goes into a tag is its length, as a big-endian u64, and its bytes; a list starts
//! with its count. Nothing here knows how to seal, or where a file lies.

mod entry;
mod key;
mod manifest;

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;
use sha2::{Digest as _, Sha256};

pub use entry::{Change, EntryLeaf, compare_entries, entry_tag, had, joint_tag, leaves, own_tags, pair};
use key::Keyed;
pub use key::{KeyRing, ReuseKey, ReuseKeyError, Under};
pub use manifest::{manifest_line, manifest_verifies};

use crate::name::{Directory, FleetName, ObjectKey};
use crate::recipient::Recipient;
use crate::secret::same_bytes;

/// The format that tags are bound to.
const FORMAT: &[u8] = b"pouch/v1";
/// What the first line starts with, up to the key's id.
const FIRST: &str = "# pouch/v1 ";
/// What every line of a header starts with, in this format and in later ones.
const LEADING: &[u8] = b"# pouch";
/// Length of a file tag: HMAC-SHA-256 as base64url without padding.
const TAG_LENGTH: usize = 43;

/// What a sealed file is for. A tag made for one context is worth nothing in another. The file's path is no
/// part of the context, so that moving a file re-seals nothing.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The region's folder.
    pub directory: &'a Directory,
    /// The object as it lands on the region.
    pub landing: &'a ObjectKey,
    /// Who can open the file, in any order.
    pub recipients: &'a [Recipient],
}

/// The parts of a sealed file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tagged<'a> {
    /// The id of the key that the tags were made with, as the file says.
    pub key_id: &'a str,
    /// The file tag.
    pub file_tag: &'a str,
    /// All further lines of the header, line feeds included.
    pub entry_lines: &'a str,
    /// The sealed document.
    pub body: &'a [u8],
}

/// Splits a file into its parts; none if its first line is not of this format. Nothing is verified.
pub fn split(file: &[u8]) -> Option<Tagged<'_>> {
    let (key_id, file_tag, rest) = first_line(file)?;
    let mut body = rest;
    while body.starts_with(LEADING) {
        body = after_line(body);
    }
    let (lines, _) = rest.split_at_checked(rest.len().checked_sub(body.len())?)?;
    Some(Tagged { key_id, file_tag, entry_lines: str::from_utf8(lines).ok()?, body })
}

/// Whether a file opens with a header of a later format than this one.
pub fn is_newer(file: &[u8]) -> bool {
    let version = file.strip_prefix(b"# pouch/v").and_then(|rest| rest.split(|b| *b == b' ').next());
    version.and_then(|digits| str::from_utf8(digits).ok()?.parse::<u64>().ok()).is_some_and(|version| version > 1)
}

/// Makes the header of a file: `plain` is the document as emitted before sealing, `body` the sealed
/// text, and `entries` its leaves with their values, in any order.
pub fn header(key: &ReuseKey, context: &Context<'_>, plain: &[u8], body: &[u8], entries: &[EntryLeaf<'_>]) -> String {
    let lines = entry::lines(key, context, entries);
    let tag = file_tag(key, context, plain, &lines, body);
    format!("{FIRST}{} {tag}\n{lines}", key.id())
}

/// Verifies that `file` is exactly what was written for `plain` in `context`, and says under which key; none if
/// anything differs.
///
/// After [`Under::Current`] the bytes stay as they are, after [`Under::Previous`] they go through [`retag`].
pub fn verify(keys: &KeyRing, context: &Context<'_>, plain: &[u8], file: &[u8]) -> Option<Under> {
    let tagged = split(file)?;
    let (_, under) = keys.with_id(tagged.key_id).find(|(key, _)| {
        let tag = file_tag(key, context, plain, tagged.entry_lines, tagged.body);
        same_bytes(tag.as_bytes(), tagged.file_tag.as_bytes())
    })?;
    Some(under)
}

/// Whether a file's tag speaks against the file: the tag is missing, or its key is at hand and the tag does not
/// fit.
///
/// A file that was carried over since the reuse key changed may have a tag of a key that is gone; only the hash
/// in an authentic manifest can judge such a file.
pub fn contradicts(keys: &KeyRing, context: &Context<'_>, plain: &[u8], file: &[u8]) -> bool {
    let Some(tagged) = split(file) else { return true };
    let is_known = keys.with_id(tagged.key_id).next().is_some();
    is_known && verify(keys, context, plain, file).is_none()
}

/// Writes a new header under the current key for a file that verifies, its ciphertext untouched; none if it
/// does not verify. `entries` are the leaves of its own body ([`leaves`]) with their values.
pub fn retag(
    keys: &KeyRing,
    context: &Context<'_>,
    plain: &[u8],
    file: &[u8],
    entries: &[EntryLeaf<'_>],
) -> Option<Vec<u8>> {
    verify(keys, context, plain, file)?;
    let body = split(file)?.body;
    let mut bytes = header(&keys.current, context, plain, body, entries).into_bytes();
    bytes.extend_from_slice(body);
    Some(bytes)
}

fn file_tag(key: &ReuseKey, context: &Context<'_>, plain: &[u8], lines: &str, body: &[u8]) -> String {
    let mut tag = key.file();
    add_context(&mut tag, context);
    add(&mut tag, plain);
    add(&mut tag, &Sha256::digest(lines));
    add(&mut tag, &Sha256::digest(body));
    URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes())
}

fn add_context(tag: &mut Keyed, context: &Context<'_>) {
    let Context { fleet, directory, landing, recipients } = context;
    let ObjectKey { kind, namespace: _, name } = landing;
    add(tag, FORMAT);
    add(tag, fleet.as_str().as_bytes());
    add(tag, directory.as_str().as_bytes());
    for part in [kind.group.as_str(), kind.kind.as_str(), landing.namespace_text(), name.as_str()] {
        add(tag, part.as_bytes());
    }
    let mut recipients: Vec<&str> = recipients.iter().map(Recipient::as_str).collect();
    recipients.sort_unstable();
    add_count(tag, recipients.len());
    for recipient in recipients {
        add(tag, recipient.as_bytes());
    }
}

fn add(tag: &mut Keyed, field: &[u8]) {
    add_count(tag, field.len());
    tag.update(field);
}

fn add_count(tag: &mut Keyed, count: usize) {
    // No target has lengths beyond 64 bits.
    tag.update(&u64::try_from(count).unwrap_or(u64::MAX).to_be_bytes());
}

/// Key id and tag of the first line, and all bytes after it.
fn first_line(file: &[u8]) -> Option<(&str, &str, &[u8])> {
    let rest = after_line(file);
    let (line, _) = file.split_at_checked(file.len().checked_sub(rest.len())?)?;
    let line = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (id, tag) = line.strip_prefix(FIRST)?.split_once(' ')?;
    let tag_shaped = tag.len() == TAG_LENGTH && tag.bytes().all(is_base64url);
    (is_key_id(id) && tag_shaped).then_some((id, tag, rest))
}

/// Whether text has the form of a key's id: 8 hex digits, in lower case.
pub fn is_key_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_base64url(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')
}

/// The bytes after the first line feed; empty if there is none.
fn after_line(bytes: &[u8]) -> &[u8] {
    let mut parts = bytes.splitn(2, |b| *b == b'\n');
    parts.next();
    parts.next().unwrap_or_default()
}

#[cfg(test)]
mod tests;
