//! What must never be printed: the values of Secrets.
//!
//! The types here have no `Debug`, `Display`, `Serialize` or `Clone`, compare without branching on
//! the content, and wipe themselves when dropped. The binary's allocator wipes the copies that
//! libraries make. What only stands for a value is told apart from one here, too.

mod placeholder;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::alphabet::STANDARD as STANDARD_ALPHABET;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig, STANDARD};
use subtle::ConstantTimeEq as _;
use zeroize::{Zeroize as _, Zeroizing};

use crate::name::spelt;
use crate::node::Key;
pub use placeholder::{alternates, begins_with_evident, is_evident, is_placeholder};

/// Whether the bytes hold the beginning of an age identity or of a reuse key, in either case that bech32
/// allows: a whole key or a part of one.
pub fn holds_key(bytes: &[u8]) -> bool {
    holds_any(bytes, &[b"AGE-SECRET-KEY-", b"AGE-PLUGIN-", b"POUCH-REUSE-KEY-"])
}

/// Whether the bytes hold such a key, or a private key in PEM.
pub fn holds_private_key(bytes: &[u8]) -> bool {
    holds_key(bytes) || holds_any(bytes, &[b"PRIVATE KEY-----", b"PRIVATE KEY BLOCK-----"])
}

fn holds_any(bytes: &[u8], marks: &[&[u8]]) -> bool {
    // Every mark has a dash, and few values do: only the bytes around a dash are compared.
    let is_dash = |byte: &u8| *byte == b'-';
    let stands_around = |dash: usize, mark: &[u8]| {
        let start = mark.iter().position(is_dash).and_then(|before| dash.checked_sub(before));
        let window = start.and_then(|start| bytes.get(start..start.checked_add(mark.len())?));
        window.is_some_and(|window| window.eq_ignore_ascii_case(mark))
    };
    let mut dashes = bytes.iter().enumerate().filter(|(_, byte)| is_dash(byte));
    dashes.any(|(at, _)| marks.iter().any(|mark| stands_around(at, mark)))
}

/// The bytes of one entry of a Secret.
pub struct SecretBytes(Box<[u8]>);

impl SecretBytes {
    /// Takes the bytes over.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self(bytes.into_boxed_slice())
    }

    /// The bytes, for sealing and tagging only.
    pub fn expose(&self) -> &[u8] {
        &self.0
    }

    /// The bytes as the API writes them: standard base64 with padding.
    pub fn to_base64(&self) -> Zeroizing<String> {
        Zeroizing::new(STANDARD.encode(&self.0))
    }

    /// How many bytes there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether both hold the same bytes; takes the same time wherever they differ.
    pub fn same(&self, other: &Self) -> bool {
        same_bytes(&self.0, &other.0)
    }
}

impl Drop for SecretBytes {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// Decodes base64 as Go's decoder does, which the API uses: line breaks and unused bits at the end are ignored.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    const AS_GO: GeneralPurpose =
        GeneralPurpose::new(&STANDARD_ALPHABET, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));
    let is_break = |byte: &u8| matches!(byte, b'\n' | b'\r');
    // Without an early exit the compiler can look at many bytes at once.
    if !text.as_bytes().iter().fold(false, |found, byte| found | is_break(byte)) {
        return AS_GO.decode(text).ok();
    }
    let joined: Zeroizing<Vec<u8>> = Zeroizing::new(text.bytes().filter(|byte| !is_break(byte)).collect());
    AS_GO.decode(&*joined).ok()
}

/// Whether two byte strings are equal, in time that depends on their lengths only.
pub fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.ct_eq(b).into()
}

/// The change of an entry of a published Secret.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EntryChange {
    /// Its value stays.
    Same,
    /// Its value changes.
    Changed,
    /// One or more of the short values change, and this may be one of them.
    PerhapsChanged,
    /// It was not published.
    Added,
    /// It is published and will be withdrawn.
    Withdrawn,
}

spelt!(EntryChange {
    Same "same",
    Changed "changed",
    PerhapsChanged "perhapsChanged",
    Added "added",
    Withdrawn "withdrawn"
});

/// All entries of one Secret, sorted by name.
pub struct Payload {
    entries: Box<[(Key, SecretBytes)]>,
    is_seen: bool,
}

impl Payload {
    /// Takes entries over; of equal names the last stays (that is how `stringData` wins).
    pub fn new(mut entries: Vec<(Key, SecretBytes)>) -> Self {
        entries.reverse();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries.dedup_by(|later, first| later.0 == first.0);
        Self { entries: entries.into_boxed_slice(), is_seen: true }
    }

    /// The same names, and no values: nobody looked at them.
    #[must_use]
    pub fn unseen(self) -> Self {
        let names = self.entries.into_iter().map(|(name, _)| (name, SecretBytes::new(Vec::new())));
        Self { entries: names.collect(), is_seen: false }
    }

    /// Whether the values are those of the Secret, and not only the names.
    pub fn is_seen(&self) -> bool {
        self.is_seen
    }

    /// Whether there is an entry of this name with a value, or may be one where nobody looked.
    pub fn may_have(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !self.is_seen || !value.is_empty())
    }

    /// The entries, sorted by name.
    pub fn entries(&self) -> &[(Key, SecretBytes)] {
        &self.entries
    }

    /// The entry called `name`.
    pub fn get(&self, name: &str) -> Option<&SecretBytes> {
        let at = self.entries.binary_search_by(|(key, _)| (**key).cmp(name)).ok()?;
        self.entries.get(at).map(|(_, bytes)| bytes)
    }

    /// Whether both have the same entries with the same bytes.
    pub fn same(&self, other: &Self) -> bool {
        self.is_seen == other.is_seen
            && self.entries.len() == other.entries.len()
            && self.entries.iter().zip(&other.entries).all(|(a, b)| a.0 == b.0 && a.1.same(&b.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(entries: &[(&str, &str)]) -> Payload {
        Payload::new(entries.iter().map(|(k, v)| (Key::from(*k), SecretBytes::new(v.as_bytes().to_vec()))).collect())
    }

    #[test]
    fn later_entries_win_as_string_data_does() {
        let folded = payload(&[("b", "1"), ("a", "old"), ("a", "new")]);
        assert_eq!(folded.get("a").map(|v| v.expose().to_vec()), Some(b"new".to_vec()));
        assert_eq!(folded.entries().iter().map(|(k, _)| &**k).collect::<Vec<_>>(), vec!["a", "b"]);
    }

    #[test]
    fn base64_is_read_as_go_reads_it() {
        for (text, expect) in [
            ("QQ==", Some("A")),
            ("QR==", Some("A")),
            ("Q\nQ=\r=", Some("A")),
            ("QUJ=", Some("AB")),
            ("", Some("")),
            ("QQ=", None),
            ("QQ", None),
            ("Q Q=", None),
            ("-_==", None),
        ] {
            assert_eq!(from_base64(text), expect.map(|text| text.as_bytes().to_vec()), "{text:?}");
        }
    }

    #[test]
    fn keys_are_found_wherever_they_stand() {
        for (text, key, private) in [
            ("AGE-SECRET-KEY-", true, true),
            ("-- age-Secret-key-1q", true, true),
            ("x-AGE-AGE-PLUGIN-", true, true),
            ("pouch-reuse-key-", true, true),
            ("-----BEGIN RSA PRIVATE KEY-----", false, true),
            ("PGP PRIVATE KEY BLOCK-----\n", false, true),
            ("AGE-SECRET-KEY", false, false),
            ("GE-SECRET-KEY-", false, false),
            ("SECRET-KEY-", false, false),
            ("-----BEGIN PUBLIC KEY-----", false, false),
            ("", false, false),
        ] {
            assert_eq!((holds_key(text.as_bytes()), holds_private_key(text.as_bytes())), (key, private), "{text}");
        }
    }

    #[test]
    fn payloads_compare_by_name_and_bytes() {
        assert!(payload(&[("a", "1")]).same(&payload(&[("a", "1")])));
        assert!(!payload(&[("a", "1")]).same(&payload(&[("a", "2")])));
        assert!(!payload(&[("a", "1")]).same(&payload(&[("b", "1")])));
        assert!(!payload(&[("a", "1")]).same(&payload(&[("a", "1"), ("b", "")])));
    }
}
