//! Ciphertext that was left where a value should be: what SOPS sealed and nobody opened.
//!
//! It is known by how it starts, and nothing of sealing is known here. A text that speaks of ciphertext further
//! on is a text like others.

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

use crate::node::Node;

/// What every value starts with that SOPS sealed.
pub const CIPHERTEXT_MARK: &str = "ENC[AES256_GCM,";

/// The most characters of a path that are said: keys may have any length.
const MOST_WORDS: usize = 400;

/// Whether a value is ciphertext. Blanks, a byte order mark and quotes before it come from copying, and nothing
/// that is meant starts with them and goes on so.
pub fn is_ciphertext(value: &[u8]) -> bool {
    let mut rest = value;
    while let Some(inner) = rest
        .strip_prefix(b"\xEF\xBB\xBF")
        .or_else(|| rest.split_first().filter(|(first, _)| is_around(**first)).map(|(_, inner)| inner))
    {
        rest = inner;
    }
    rest.starts_with(CIPHERTEXT_MARK.as_bytes())
}

fn is_around(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'')
}

/// The path of the first ciphertext at or below a place.
pub fn ciphertext_below(path: &str, node: &Node) -> Option<String> {
    let found = match node {
        Node::Text(text) => is_ciphertext(text.as_bytes()).then(|| path.to_owned()),
        Node::List(items) => items.iter().find_map(|item| ciphertext_below(path, item)),
        Node::Map(entries) => entries.iter().find_map(|(key, value)| ciphertext_below(&join(path, key), value)),
        _ => None,
    };
    found.map(|path| path.chars().take(MOST_WORDS).collect())
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_known_by_how_it_starts() {
        for text in
            ["ENC[AES256_GCM,data:qg==", " ENC[AES256_GCM,", "\n\t\"ENC[AES256_GCM,", "\u{feff}'ENC[AES256_GCM,"]
        {
            assert!(is_ciphertext(text.as_bytes()), "{text:?}");
        }
        for text in [
            "",
            " ",
            "ENC[",
            "ENC[PKCS7,x]",
            "a ENC[AES256_GCM,",
            "-ENC[AES256_GCM,",
            "enc[aes256_gcm,",
            "x: ENC[AES256_GCM,",
        ] {
            assert!(!is_ciphertext(text.as_bytes()), "{text:?}");
        }
    }
}
