//! Values that an API takes, and a provider most likely does not: what nobody means to publish.
//!
//! Only that something is the matter is told, never a part of the value.

use alloc::vec::Vec;

use zeroize::Zeroizing;

use crate::finding::{Code, Fault, crowd};
use crate::object::Object;
use crate::secret::{self, SecretBytes, from_base64};

/// How long a value is at least that could be base64 of something.
const LEAST_ENCODED: usize = 16;

/// How many bytes a value has at most that is looked at. Certificates and whole files have more, and there are many.
const MOST_LOOKED_AT: usize = 1024;

/// What documentation and templates write in place of a value.
const PLACEHOLDERS: &[&[u8]] = &[b"EXAMPLE_", b"changeme", b"CHANGEME", b"change-me", b"<your-", b"<YOUR_"];

/// What is suspect about the values of a Secret.
pub fn check(object: &Object) -> Vec<Fault> {
    let entries = object.payload.iter().flat_map(|payload| payload.entries());
    let mut faults = entries.filter_map(|(name, value)| suspect(name, value)).collect();
    crowd::few(&mut faults);
    faults
}

fn suspect(name: &str, value: &SecretBytes) -> Option<Fault> {
    let bytes = value.expose();
    if bytes.len() > MOST_LOOKED_AT {
        return None;
    }
    if is_placeholder(bytes) {
        let message = format!("entry {name:?} holds a placeholder instead of a value");
        return Some(Fault::new(Code::PlaceholderValue, message, "Write the value, or run what fills it in."));
    }
    if is_encoded_twice(bytes) {
        let message = format!("entry {name:?} is base64 of base64");
        let help = "Under `data` encode the value once, and under `stringData` not at all.";
        return Some(Fault::new(Code::EncodedTwice, message, help));
    }
    if ends_in_line_feed(bytes) {
        let message = format!("entry {name:?} is one line, and ends in a line feed that is part of the value");
        let help = "Encode it without (`printf %s`, `echo -n`), or write `|-` instead of `|` in YAML.";
        return Some(Fault::new(Code::TrailingLineFeed, message, help));
    }
    None
}

/// Returns true if a value has words that stand for one, is such words in brackets, or is a variable that nobody has filled
/// in.
fn is_placeholder(bytes: &[u8]) -> bool {
    let has = |word: &[u8]| bytes.windows(word.len()).any(|window| window == word);
    let trimmed = bytes.trim_ascii();
    let is_variable = trimmed.starts_with(b"${") && trimmed.ends_with(b"}");
    let is_bracketed = || core::str::from_utf8(bytes).is_ok_and(secret::is_placeholder);
    is_variable || is_bracketed() || PLACEHOLDERS.iter().any(|word| has(word))
}

/// Whether a value is base64 of readable text. A random key in base64 makes none.
fn is_encoded_twice(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'\n');
    if text.len() < LEAST_ENCODED || !text.iter().all(is_base64) {
        return false;
    }
    let decoded = core::str::from_utf8(text).ok().and_then(from_base64).map(Zeroizing::new);
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    decoded.is_some_and(|decoded| decoded.len() >= LEAST_ENCODED / 2 && decoded.iter().all(is_text))
}

/// Whether a value is one line with a line feed. Text of several lines ends in one by right.
fn ends_in_line_feed(bytes: &[u8]) -> bool {
    let line = bytes.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    line.is_some_and(|line| !line.is_empty() && !line.contains(&b'\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(value: &str) -> Option<Code> {
        suspect("key", &SecretBytes::new(value.into())).map(|fault| fault.code)
    }

    #[test]
    fn what_nobody_means_is_told_and_what_looks_like_it_is_not() {
        for (value, expected) in [
            ("EXAMPLE_KEY", Some(Code::PlaceholderValue)),
            ("please changeme now", Some(Code::PlaceholderValue)),
            ("${AWS_SECRET_ACCESS_KEY}", Some(Code::PlaceholderValue)),
            ("${A}\n", Some(Code::PlaceholderValue)),
            ("<token>", Some(Code::PlaceholderValue)),
            ("„<my-secret>“", Some(Code::PlaceholderValue)),
            ("«token»", Some(Code::PlaceholderValue)),
            ("＜…＞", Some(Code::PlaceholderValue)),
            ("<Tr0ub4dor&3>", None),
            ("<a>b</a>", None),
            ("p${a", None),
            ("template ${a} of ${b} text", None),
            ("bm90LWEtcmVhbC1rZXktYXQtYWxs", Some(Code::EncodedTwice)),
            ("bm90LWEtcmVhbC1rZXktYXQtYWxs\n", Some(Code::EncodedTwice)),
            // A key of AWS, an UUID, a word, a number, hex.
            ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzzzzzzKEY", None),
            ("11111111-2222-3333-4444-555555555555", None),
            ("AKIAIOSFODNN7ZZZZZZZ", None),
            ("0123456789abcdef0123456789abcdef", None),
            ("value\n", Some(Code::TrailingLineFeed)),
            ("value\r\n", Some(Code::TrailingLineFeed)),
            ("\n", None),
            ("", None),
            ("one\ntwo\n", None),
            ("value", None),
        ] {
            assert_eq!(code(value), expected, "{value:?}");
        }
        assert_eq!(code(&format!("EXAMPLE_{}", "x".repeat(MOST_LOOKED_AT))), None);
    }
}
