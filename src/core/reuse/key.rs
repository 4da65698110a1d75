//! The reuse key: 32 random bytes that only the renderer holds.
//!
//! Only subkeys derived from them are kept. They open nothing: a thief can try guesses against tags and forge
//! tags, but decrypts no file.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::hint;

use bech32::primitives::decode::CheckedHrpstring;
use bech32::{Bech32, ByteIterExt as _, Fe32IterExt as _, Hrp};
use hkdf::Hkdf;
use hmac::{Hmac, Mac as _};
use sha2::{Digest as _, Sha256};
use zeroize::Zeroizing;

use super::header::{Tagged, split};
use crate::hash;
use crate::listing::few;

/// HMAC-SHA-256 with its key already set up, so that a tag costs no derivation.
pub(super) type Keyed = Hmac<Sha256>;

const PREFIX: Hrp = Hrp::parse_unchecked("pouch-reuse-key-");
/// What a key's text starts with.
const SHOWN: &str = "POUCH-REUSE-KEY-1";
/// Length of a key's text: the start, 52 characters for 32 bytes, and the checksum.
const LENGTH: usize = 75;
/// How many previous keys are named.
const MOST_NAMED: usize = 5;
const SALT: &[u8] = b"pouch/v1";

/// Why text is no reuse key. The text itself is never part of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReuseKeyError {
    /// There is no text: an unset variable, an empty file.
    #[error("the reuse key is empty")]
    Empty,
    /// It does not start with `POUCH-REUSE-KEY-1`, or holds a character that cannot be part of one.
    #[error("this is no reuse key; those start with {SHOWN}, are written in capitals and hold no blank")]
    Form,
    /// It does not have the length of 32 bytes.
    #[error("the reuse key has {0} characters instead of {LENGTH}")]
    Length(usize),
    /// Its checksum does not fit, or it is not in its canonical form.
    #[error("the reuse key's checksum does not fit, so a character is wrong")]
    Checksum,
}

impl ReuseKeyError {
    /// What to do about it, in one sentence.
    pub fn help(self) -> &'static str {
        "Give the whole line as it was generated, or generate a new key; a password or a hash is no replacement."
    }
}

/// A reuse key, ready for use. It is neither shown nor copied.
pub struct ReuseKey {
    id: String,
    // On the heap, where the binary's allocator wipes what is left behind.
    states: Box<States>,
}

struct States {
    file: Keyed,
    entry: Keyed,
    manifest: Keyed,
    commit: Keyed,
    stamp: Keyed,
    artifact: Keyed,
    guest: Keyed,
}

impl ReuseKey {
    /// Takes the text of a key, with at most one line break after it, as a file has.
    ///
    /// # Errors
    /// Where the text is anything else than `POUCH-REUSE-KEY-1…` with 32 bytes, the empty text
    /// included: an empty HMAC key would be accepted by the cipher and make guessable tags.
    pub fn parse(text: &str) -> Result<Self, ReuseKeyError> {
        let text = text.strip_suffix('\n').map_or(text, |line| line.strip_suffix('\r').unwrap_or(line));
        if text.is_empty() {
            return Err(ReuseKeyError::Empty);
        }
        if !text.starts_with(SHOWN) || !text.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'0'..=b'9' | b'-')) {
            return Err(ReuseKeyError::Form);
        }
        if text.len() != LENGTH {
            return Err(ReuseKeyError::Length(text.len()));
        }
        let checked = CheckedHrpstring::new::<Bech32>(text).map_err(|_| ReuseKeyError::Checksum)?;
        if checked.hrp() != PREFIX {
            return Err(ReuseKeyError::Form);
        }
        let mut bytes = Zeroizing::new([0_u8; 32]);
        for (to, from) in bytes.iter_mut().zip(checked.byte_iter()) {
            *to = from;
        }
        // Four spare bits at the end: set ones would make another text for the same key.
        if *Self::to_text(&bytes) != text {
            return Err(ReuseKeyError::Checksum);
        }
        Self::derive(&bytes)
    }

    /// The text of a key, for generating one of 32 fresh random bytes.
    pub fn to_text(bytes: &[u8; 32]) -> Zeroizing<String> {
        let symbols = bytes.iter().copied().bytes_to_fes().with_checksum::<Bech32>(&PREFIX).chars();
        let mut text = Zeroizing::new(String::with_capacity(LENGTH));
        text.extend(symbols.map(|c| c.to_ascii_uppercase()));
        text
    }

    fn derive(bytes: &[u8; 32]) -> Result<Self, ReuseKeyError> {
        let hkdf = Hkdf::<Sha256>::new(Some(SALT), bytes);
        let subkey = |info: &[u8]| {
            let mut subkey = Zeroizing::new([0_u8; 32]);
            // Neither call refuses 32 bytes; the error stands in for what cannot happen.
            hkdf.expand(info, subkey.as_mut()).map_err(|_| ReuseKeyError::Form)?;
            Keyed::new_from_slice(subkey.as_ref()).map_err(|_| ReuseKeyError::Form)
        };
        let states = States {
            file: subkey(b"file")?,
            entry: subkey(b"entry")?,
            manifest: subkey(b"manifest")?,
            commit: subkey(b"commit")?,
            stamp: subkey(b"stamp")?,
            artifact: subkey(b"artifact")?,
            guest: subkey(b"guest")?,
        };
        let digest = Sha256::new_with_prefix(b"pouch/v1 key-id").chain_update(bytes).finalize();
        let id = hash::digits(&digest).take(8).collect();
        Ok(Self { id, states: Box::new(states) })
    }

    /// Eight hexadecimal digits that name the key and reveal nothing of it.
    pub fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn file(&self) -> Keyed {
        self.states.file.clone()
    }

    pub(super) fn entry(&self) -> Keyed {
        self.states.entry.clone()
    }

    pub(super) fn manifest(&self) -> Keyed {
        self.states.manifest.clone()
    }

    pub(super) fn commit(&self) -> Keyed {
        self.states.commit.clone()
    }

    pub(super) fn stamp(&self) -> Keyed {
        self.states.stamp.clone()
    }

    pub(super) fn artifact(&self) -> Keyed {
        self.states.artifact.clone()
    }

    pub(super) fn guest(&self) -> Keyed {
        self.states.guest.clone()
    }
}

impl Drop for ReuseKey {
    fn drop(&mut self) {
        let blank = || <Keyed as hmac::digest::KeyInit>::new(&hmac::digest::Key::<Keyed>::default());
        *self.states = States {
            file: blank(),
            entry: blank(),
            manifest: blank(),
            commit: blank(),
            stamp: blank(),
            artifact: blank(),
            guest: blank(),
        };
        // The compiler may leave out writing that nobody reads.
        hint::black_box(&self.states);
    }
}

/// Which key a tag was made with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Under {
    /// The current one.
    Current,
    /// A previous one, whose tags are still believed and no longer made.
    Previous,
}

/// The current key and its predecessors, or none of them.
pub struct KeyRing {
    current: Option<ReuseKey>,
    previous: Vec<ReuseKey>,
}

impl KeyRing {
    /// The key that tags are made with, and those that older tags are verified with as well.
    pub fn new(current: ReuseKey, previous: Vec<ReuseKey>) -> Self {
        Self { current: Some(current), previous }
    }

    /// Of somebody who has no key and only looks: manifests and commits are taken at their word, Secrets and stamps
    /// prove nothing, and no tag can be made.
    pub fn blind() -> Self {
        Self { current: None, previous: Vec::new() }
    }

    /// Whether there is no key.
    pub fn is_blind(&self) -> bool {
        self.current.is_none()
    }

    /// The key that tags are made with; none where there is none.
    pub fn current(&self) -> Option<&ReuseKey> {
        self.current.as_ref()
    }

    /// The ids of all keys, the current one first.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.current.iter().chain(&self.previous).map(ReuseKey::id)
    }

    /// Why a file's tag does not verify, as far as the ids of keys tell, which are public.
    ///
    /// The text ends a sentence; it is empty if the file has no tag.
    pub fn unfit(&self, file: &[u8]) -> String {
        let Some(Tagged { key_id, .. }) = split(file) else { return String::new() };
        let Some(current) = &self.current else { return String::new() };
        if self.with_id(key_id).next().is_some() {
            return format!(": it names our key {key_id}, and was changed, or is of another fleet or folder");
        }
        let previous: Vec<&str> = self.previous.iter().map(ReuseKey::id).collect();
        let previous = match previous.is_empty() {
            true => String::new(),
            false => format!(", before it {}", few(&previous, previous.len(), MOST_NAMED)),
        };
        format!(": it names key {key_id}, and ours is {}{previous}", current.id())
    }

    /// All keys with this id, the current one first. Two may share one: an id has 32 bits.
    pub fn with_id<'a>(&'a self, id: &'a str) -> impl Iterator<Item = (&'a ReuseKey, Under)> {
        let previous = self.previous.iter().map(|key| (key, Under::Previous));
        self.current.iter().map(|key| (key, Under::Current)).chain(previous).filter(move |(key, _)| key.id() == id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString as _;

    const BYTES: [u8; 32] = [7; 32];

    #[test]
    fn a_key_is_read_back_from_its_text() {
        let text = ReuseKey::to_text(&BYTES);
        assert!(text.starts_with(SHOWN) && text.len() == LENGTH, "{}", text.len());
        let read = ReuseKey::parse(&text).ok().unwrap();
        for end in ["\n", "\r\n"] {
            assert_eq!(ReuseKey::parse(&format!("{}{end}", *text)).ok().unwrap().id(), read.id());
        }
    }

    #[test]
    fn the_derivation_is_the_documented_one() {
        // SHA-256 of the text and the 32 bytes, by another program.
        let key = ReuseKey::parse(&ReuseKey::to_text(&BYTES)).ok().unwrap();
        assert_eq!(key.id(), "6510f0cf");
        let tag = |mut keyed: Keyed| {
            keyed.update(b"x");
            keyed.finalize().into_bytes().iter().take(4).map(|b| format!("{b:02x}")).collect::<String>()
        };
        assert_eq!(tag(key.file()), "3af552cd");
        assert_eq!(tag(key.entry()), "81275915");
        assert_eq!(tag(key.manifest()), "f45c4597");
    }

    #[test]
    fn anything_else_is_refused_and_never_repeated() {
        let good = ReuseKey::to_text(&BYTES).to_string();
        #[track_caller]
        fn check(text: &str, expect: ReuseKeyError) {
            let error = ReuseKey::parse(text).err().unwrap();
            assert_eq!(error, expect, "{text}");
            assert!(error.help().contains("generate a new key"), "{}", error.help());
            let said = format!("{error} {error:?} {}", error.help());
            let payload = text.trim().trim_start_matches(SHOWN);
            assert!(payload.len() < 8 || !said.contains(payload), "{said}");
        }
        check("", ReuseKeyError::Empty);
        check("\n", ReuseKeyError::Empty);
        for text in [
            " ",
            "\n\n",
            "hunter2hunter2hunter2",
            "0707070707070707070707070707070707070707070707070707070707070707",
            "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
            "AGE-SECRET-KEY-1PRKM3XJARJQ5LWJYZP672PDUF370A9CEJ6XACKCX82FQYSVHZ2GS3CMTS3",
            "POUCH-REUSE-KEY-2QQQQQQQQQQQQQ",
            &good.to_lowercase(),
            &format!(" {good}"),
            &format!("{good} "),
            &format!("{good}\n\n"),
            &format!("\u{feff}{good}"),
            &format!("\"{good}\""),
            &good.replace("KEY-1", "KEY-1é"),
        ] {
            check(text, ReuseKeyError::Form);
        }
        check(SHOWN, ReuseKeyError::Length(17));
        let mut short = good.clone();
        short.pop();
        check(&short, ReuseKeyError::Length(74));
        check(&format!("{good}Q"), ReuseKeyError::Length(76));
        let long = bech32::encode_upper::<Bech32>(PREFIX, &[7; 33]).unwrap();
        check(&long, ReuseKeyError::Length(long.len()));
        let longer_prefix = Hrp::parse("pouch-reuse-key-1x").unwrap();
        check(&bech32::encode_upper::<Bech32>(longer_prefix, &[7; 31]).unwrap(), ReuseKeyError::Form);
        for at in 17..75 {
            let mut bent = good.clone();
            let other = if good.as_bytes()[at] == b'Q' { "P" } else { "Q" };
            bent.replace_range(at..=at, other);
            check(&bent, ReuseKeyError::Checksum);
        }
        let other_checksum = bech32::encode_upper::<bech32::Bech32m>(PREFIX, &BYTES).unwrap();
        check(&other_checksum, ReuseKeyError::Checksum);
    }
}
