//! Own values: whether a text that is published in the open holds a value of a Secret.
//!
//! Only `data` is sealed. A label, an annotation or a name may hold a copy of what stands there, as it is or in a form that
//! tools write: escaped as in JSON, as in a URL, in base64, in hexadecimal digits, or two of these inside each other. Values
//! are borrowed where they stand; what is decoded of a text is wiped. A value counts if it is long enough not to be in other
//! texts by chance: that bound depends on what its entry is called.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::OnceCell;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use zeroize::Zeroizing;

use super::{Meaning, assigned, is_secret, is_telling, looks_like_a_name, meaning};
use crate::object::Object;
use crate::object::steering::SYNC_DISABLED;
use crate::secret::{Payload, holds_private_key};

/// The least bytes of a value whose entry says that it is secret. Shorter ones are in any text.
const LEAST_SECRET: usize = 6;

/// The least bytes of any other value that does not read like a name, a place or an address, and of a part of a value.
const LEAST: usize = 8;

/// From so many bytes on a value counts whatever it reads like, and inside a longer word too. The reuse key gives such a value
/// a tag of its own for the same reason: it is not guessed.
const LONG: usize = 16;

/// The number of forms inside each other that are undone.
const DEPTH: usize = 2;

/// The most parts of one value.
const MOST_PARTS: usize = 1024;

/// Returns true if a value counts, by the name of its entry, its bytes, and its text if it is one.
type Judge = fn(&str, &[u8], Option<&str>) -> bool;

/// The values of Secrets, by which texts are judged. They stand where they stood.
#[derive(Default)]
pub struct Values<'a> {
    /// Sorted, and none begins with another one.
    long: Vec<&'a [u8]>,
    /// Those that count as a whole word only, sorted.
    short: Vec<&'a [u8]>,
}

impl<'a> Values<'a> {
    /// The values of Secrets that were read; those whose values were not looked at have none.
    pub fn of(secrets: impl Iterator<Item = &'a Object>) -> Self {
        Self::that(counts, secrets)
    }

    /// As [`of`](Self::of), without values that read like a name where their entry does not say that they are secret.
    pub fn sure(secrets: impl Iterator<Item = &'a Object>) -> Self {
        Self::that(is_sure, secrets)
    }

    fn that(judge: Judge, secrets: impl Iterator<Item = &'a Object>) -> Self {
        let mut all = Self::default();
        let payloads = secrets.filter_map(|secret| secret.payload.as_ref()).filter(|payload| payload.is_seen());
        for (name, value) in payloads.flat_map(Payload::entries) {
            all.add(judge, name, value.expose().trim_ascii());
        }
        for list in [&mut all.long, &mut all.short] {
            list.sort_unstable();
            list.dedup();
        }
        // Where the longer one is found, the shorter one is, too.
        all.long.dedup_by(|longer, shorter| longer.starts_with(shorter));
        all
    }

    fn add(&mut self, judge: Judge, name: &str, value: &'a [u8]) {
        let text = str::from_utf8(value).ok();
        if judge(name, value, text) {
            self.put(value);
        }
        // Of a kubeconfig, a file of a CLI or a manifest, what it says of itself that it is secret.
        let parts = text.into_iter().flat_map(assigned).filter(|(key, part)| is_secret(key, part));
        for (_, part) in parts.filter(|(_, part)| (LEAST..value.len()).contains(&part.len())).take(MOST_PARTS) {
            self.put(part.as_bytes());
        }
    }

    fn put(&mut self, value: &'a [u8]) {
        if value.len() < LONG { &mut self.short } else { &mut self.long }.push(value);
    }

    /// Returns true if there are none that count.
    pub fn is_empty(&self) -> bool {
        self.long.is_empty() && self.short.is_empty()
    }

    /// Returns true if a text holds one of them.
    pub fn stand_in(&self, text: &str) -> bool {
        let least = if self.short.is_empty() { LONG } else { LEAST_SECRET };
        !self.is_empty() && holds(text.as_bytes(), least, DEPTH, &|bytes| self.are_in(bytes))
    }

    fn are_in(&self, bytes: &[u8]) -> bool {
        (0..bytes.len()).any(|at| {
            let rest = bytes.get(at..).unwrap_or_default();
            // Of those that are no more than the rest, only the last can begin it.
            let before = self.long.partition_point(|value| *value <= rest).checked_sub(1);
            let is_long = before.and_then(|at| self.long.get(at)).is_some_and(|value| rest.starts_with(value));
            is_long || (!self.short.is_empty() && self.is_short_at(bytes, at))
        })
    }

    fn is_short_at(&self, bytes: &[u8], at: usize) -> bool {
        let inside = |length: &usize| is_word(bytes, at, *length);
        (LEAST_SECRET..LONG).filter(inside).any(|length| {
            let word = bytes.get(at..).and_then(|rest| rest.get(..length));
            word.is_some_and(|word| self.short.binary_search(&word).is_ok())
        })
    }
}

/// Returns true if a name of a Secret, or of one of its entries, is or holds one of its values that does not read like a name.
/// Of a Secret with thousands of entries the first ones are compared.
pub fn stand_in_names<'t>(secret: &'t Payload, names: impl Iterator<Item = &'t str>) -> bool {
    const MOST_ENTRIES: usize = 256;
    let entries = || secret.entries().iter().filter(|_| secret.is_seen()).take(MOST_ENTRIES);
    let holds = |name: &str| {
        entries().any(|(entry, value)| {
            let value = value.expose().trim_ascii();
            let text = str::from_utf8(value).ok();
            // What is longer than the name costs nothing.
            (LEAST..=name.len()).contains(&value.len())
                && is_part(value, name.as_bytes())
                && counts(entry, value, text)
                && !text.is_some_and(reads_like_a_name)
        })
    };
    names.chain(entries().map(|(name, _)| &**name)).any(holds)
}

fn is_part(value: &[u8], name: &[u8]) -> bool {
    let mut windows = name.windows(value.len()).enumerate();
    windows.any(|(at, window)| window == value && (value.len() >= LONG || is_word(name, at, value.len())))
}

/// Returns true if a part of a text is not the middle of a longer word.
fn is_word(bytes: &[u8], at: usize, length: usize) -> bool {
    let is_of_word = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_alphanumeric);
    let end = at.checked_add(length);
    let last = end.and_then(|end| end.checked_sub(1));
    let goes_on_before = is_of_word(at.checked_sub(1)) && is_of_word(Some(at));
    let goes_on_behind = is_of_word(last) && is_of_word(end);
    !goes_on_before && !goes_on_behind
}

/// Returns true if a value counts, by what its entry is called and by what it reads like.
fn counts(name: &str, value: &[u8], text: Option<&str>) -> bool {
    let plain = |text: &str| -> String { text.chars().filter(char::is_ascii_alphanumeric).collect() };
    // What stands there for a value.
    if value.len() < LEAST_SECRET || text.is_some_and(|text| plain(text).eq_ignore_ascii_case(&plain(name))) {
        return false;
    }
    let is_open = || text.is_some_and(|text| text.starts_with("-----BEGIN ") && !holds_private_key(value));
    match meaning(name) {
        Meaning::Secret => true,
        Meaning::SecretOrItsName => !text.is_some_and(looks_like_a_name),
        Meaning::Other if says_open(name) || is_open() => text.is_some_and(is_telling),
        Meaning::Other => value.len() >= LONG || (value.len() >= LEAST && !text.is_some_and(reads_like_a_name)),
    }
}

/// Returns true if a value counts where nothing less than the claim hangs on it.
fn is_sure(name: &str, value: &[u8], text: Option<&str>) -> bool {
    counts(name, value, text) && (meaning(name) == Meaning::Secret || !text.is_some_and(reads_like_a_name))
}

/// Returns true if the name of an entry says that its value is public: it names something, or says where it is.
fn says_open(name: &str) -> bool {
    const OPEN: [&str; 36] = [
        "account",
        "address",
        "bucket",
        "bundle",
        "ca",
        "cacrt",
        "cert",
        "certificate",
        "cloud",
        "cluster",
        "crt",
        "database",
        "domain",
        "email",
        "endpoint",
        "environment",
        "fingerprint",
        "host",
        "hostname",
        "id",
        "login",
        "name",
        "namespace",
        "path",
        "port",
        "project",
        "publickey",
        "realm",
        "region",
        "server",
        "tenant",
        "type",
        "uri",
        "url",
        "user",
        "zone",
    ];
    let lower: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    OPEN.iter().any(|open| lower.ends_with(open))
}

/// Returns true if a text reads like a name, a place or an address: words, and nothing random between them.
fn reads_like_a_name(text: &str) -> bool {
    let is_between = |c: char| matches!(c, '_' | '/' | ':' | ' ' | '@');
    let as_name: String = text.chars().map(|c| if is_between(c) { '-' } else { c.to_ascii_lowercase() }).collect();
    looks_like_a_name(as_name.trim_matches('-'))
}

/// Returns true if bytes, or what they say once forms are undone, are found. Forms of fewer than `least` bytes are left alone.
fn holds(bytes: &[u8], least: usize, depth: usize, is_found: &dyn Fn(&[u8]) -> bool) -> bool {
    if bytes.len() < least {
        return false;
    }
    let within = |decoded: Zeroizing<Vec<u8>>| match str::from_utf8(&decoded) {
        Ok(_) => holds(&decoded, least, depth.saturating_sub(1), is_found),
        Err(_) => is_found(&decoded),
    };
    is_found(bytes)
        || (depth > 0
            && (unescaped(bytes, b'\\').is_some_and(within)
                || unescaped(bytes, b'%').is_some_and(within)
                || runs(bytes, is_base64)
                    .any(|run| (0..4).any(|skip| from_base64(run, skip, least).is_some_and(within)))
                || runs(bytes, u8::is_ascii_hexdigit).any(|run| from_hex(run, least).is_some_and(within))))
}

/// The bytes with escapes undone as JSON has them, or as a URL has them; none without any.
fn unescaped(bytes: &[u8], sign: u8) -> Option<Zeroizing<Vec<u8>>> {
    bytes.contains(&sign).then_some(())?;
    let mut plain = Zeroizing::new(Vec::with_capacity(bytes.len()));
    let mut rest = bytes;
    while let Some((first, behind)) = rest.split_first() {
        let (byte, behind) = if *first == sign { escape(sign, behind) } else { (Some(*first), behind) };
        // A character that no escape of one byte gives is no part of what is looked for.
        plain.extend(byte);
        rest = behind;
    }
    Some(plain)
}

/// The byte that an escape stands for, and what follows it.
fn escape(sign: u8, behind: &[u8]) -> (Option<u8>, &[u8]) {
    let digits = |text: &[u8], length: usize| -> Option<u8> {
        let digits = text.get(..length).and_then(|digits| str::from_utf8(digits).ok())?;
        u8::try_from(u32::from_str_radix(digits, 16).ok()?).ok()
    };
    if sign == b'%' {
        return match (digits(behind, 2), behind.get(2..)) {
            (Some(byte), Some(rest)) => (Some(byte), rest),
            _ => (Some(sign), behind),
        };
    }
    match behind.split_first() {
        Some((b'u', rest)) => (digits(rest, 4), rest.get(4..).unwrap_or_default()),
        Some((b'n', rest)) => (Some(b'\n'), rest),
        Some((b'r', rest)) => (Some(b'\r'), rest),
        Some((b't', rest)) => (Some(b'\t'), rest),
        Some((other, rest)) => (Some(*other), rest),
        None => (Some(sign), behind),
    }
}

fn is_base64(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The longest parts of a text that have these bytes alone.
fn runs<'t>(bytes: &'t [u8], is_of: impl Fn(&u8) -> bool + 't) -> impl Iterator<Item = &'t [u8]> {
    bytes.split(move |byte| !is_of(byte)).filter(|run| !run.is_empty())
}

/// The bytes that base64 of either alphabet says, begun behind some bytes: what stands before it may look like it.
fn from_base64(run: &[u8], skip: usize, least: usize) -> Option<Zeroizing<Vec<u8>>> {
    const UNPADDED: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::RequireNone),
    );
    let run = run.get(skip..).filter(|run| run.len() / 4 * 3 + run.len() % 4 >= least)?;
    let standard = |byte: &u8| match byte {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    };
    let mut text: Zeroizing<Vec<u8>> = Zeroizing::new(run.iter().map(standard).collect());
    if text.len() % 4 == 1 {
        text.pop();
    }
    UNPADDED.decode(&*text).ok().map(Zeroizing::new)
}

fn from_hex(run: &[u8], least: usize) -> Option<Zeroizing<Vec<u8>>> {
    if run.len() / 2 < least {
        return None;
    }
    let pair = |pair: &[u8]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    Some(Zeroizing::new(run.chunks_exact(2).map_while(pair).collect()))
}

/// The labels or annotations of what is published of a Secret that hold one of its own values, in their key or in their text:
/// those are left out.
pub struct OwnValues<'a> {
    secret: &'a Object,
    values: OnceCell<Values<'a>>,
}

impl<'a> OwnValues<'a> {
    /// Those of an object, if it is a Secret that was read.
    pub fn of(secret: &'a Object) -> Self {
        Self { secret, values: OnceCell::new() }
    }

    /// Returns true if a label or an annotation holds one.
    pub fn stand_in(&self, key: &str, text: &str) -> bool {
        let is_read = self.secret.payload.as_ref().is_some_and(Payload::is_seen);
        // Most have a short text, which needs no values; and every copy has this one.
        is_read
            && key != SYNC_DISABLED
            && [key, text].iter().any(|text| text.len() >= LEAST_SECRET && self.values().stand_in(text))
    }

    /// The values that count.
    pub fn values(&self) -> &Values<'a> {
        self.values.get_or_init(|| Values::of([self.secret].into_iter()))
    }
}

#[cfg(test)]
mod tests;
