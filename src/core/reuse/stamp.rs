//! The first line of a stamp: proof that pouch wrote it, for this fleet and these bundles.

use alloc::string::String;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::Mac as _;

use super::context::add;
use super::header::{FIRST, first_line};
use super::key::{KeyRing, ReuseKey};
use crate::name::FleetName;
use crate::secret::same_bytes;

/// Where the bundles are that a stamp is about.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The fleet.
    pub fleet: &'a FleetName,
    /// The branch.
    pub branch: &'a str,
    /// The output's path in it.
    pub path: &'a str,
}

/// Makes the first line of a stamp, line feed included; `rest` is all that follows it.
pub fn stamp_line(key: &ReuseKey, place: Place<'_>, rest: &[u8]) -> String {
    format!("{FIRST}{} {}\n", key.id(), tag(key, place, rest))
}

/// Verifies a stamp under any key of the ring, and returns the bytes after its first line; none if a byte differs, or
/// if it was written for another place.
pub fn stamp_verifies<'f>(keys: &KeyRing, place: Place<'_>, file: &'f [u8]) -> Option<&'f [u8]> {
    let (id, written, rest) = first_line(file)?;
    let fits = |key| same_bytes(tag(key, place, rest).as_bytes(), written.as_bytes());
    keys.with_id(id).any(|(key, _)| fits(key)).then_some(rest)
}

/// A digest that only the holder of the key can make or compare.
pub fn stamp_digest(key: &ReuseKey, text: &[u8]) -> String {
    let mut tag = key.stamp();
    add(&mut tag, b"digest");
    add(&mut tag, text);
    URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes())
}

fn tag(key: &ReuseKey, place: Place<'_>, rest: &[u8]) -> String {
    let mut tag = key.stamp();
    add(&mut tag, b"stamp");
    for part in [place.fleet.as_str().as_bytes(), place.branch.as_bytes(), place.path.as_bytes(), rest] {
        add(&mut tag, part);
    }
    URL_SAFE_NO_PAD.encode(tag.finalize().into_bytes())
}
