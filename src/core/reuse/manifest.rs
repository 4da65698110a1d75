//! The first line of a bundle's manifest: proof that pouch wrote it, for this fleet and folder.

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use super::context::add;
use super::header::{FIRST, first_line};
use super::key::{KeyRing, ReuseKey};
use crate::name::{Directory, FleetName};
use crate::secret::same_bytes;

/// Makes the first line of a manifest, line feed included; `rest` is all that follows it.
pub fn manifest_line(key: &ReuseKey, fleet: &FleetName, directory: &Directory, rest: &[u8]) -> String {
    format!("{FIRST}{} {}\n", key.id(), tag(key, fleet, directory, rest))
}

/// Verifies a manifest under any key of the ring, and returns the bytes after its first line; none if a byte
/// differs, or if it was written for another fleet or folder. A blind ring takes it at its word.
pub fn manifest_verifies<'f>(
    keys: &KeyRing,
    fleet: &FleetName,
    directory: &Directory,
    file: &'f [u8],
) -> Option<&'f [u8]> {
    let (id, written, rest) = first_line(file)?;
    if keys.is_blind() {
        return Some(rest);
    }
    let fits = |key| same_bytes(tag(key, fleet, directory, rest).as_bytes(), written.as_bytes());
    keys.with_id(id).any(|(key, _)| fits(key)).then_some(rest)
}

fn tag(key: &ReuseKey, fleet: &FleetName, directory: &Directory, rest: &[u8]) -> String {
    let mut tag = key.manifest();
    add(&mut tag, fleet.as_str().as_bytes());
    add(&mut tag, directory.as_str().as_bytes());
    add(&mut tag, rest);
    URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes())
}
