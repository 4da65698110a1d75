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

mod artifact;
mod commit;
mod context;
mod entry;
mod guest;
mod header;
mod key;
mod manifest;
mod stamp;

use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;
use sha2::{Digest as _, Sha256};

pub use crate::secret::EntryChange;
pub use artifact::{Packed, artifact_seal, artifact_verifies};
pub use commit::{Made, commit_line, commit_under, commit_verifies};
pub use context::Context;
use context::{add, add_context};
pub use entry::{EntryLeaf, compare_entries, compare_names, entry_tag, had, joint_tag, leaves, own_tags, pair};
pub use guest::guest_line;
use header::FIRST;
pub use header::{Tagged, is_key_id, is_newer, split};
pub use key::{KeyRing, ReuseKey, ReuseKeyError, Under};
pub use manifest::{manifest_line, manifest_verifies};
pub use stamp::{Place, stamp_digest, stamp_line, stamp_verifies};

use crate::secret::same_bytes;

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
    let mut bytes = header(keys.current()?, context, plain, body, entries).into_bytes();
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

#[cfg(test)]
mod tests;
