//! Consumers: what those that apply a bundle do not read back as it is written.
//!
//! kustomize turns objects into JSON and reads that with a YAML reader, which refuses DEL, C1 controls and non-characters
//! that JSON leaves as they are ("control characters are not allowed", measured with kustomize 5.8.1): one such file stops
//! the build of the whole region, and Flux's error quotes the decrypted Secret. kustomize writes next line, line separator
//! and paragraph separator as they are, and its readers get a space instead. sops hands on what it decrypts in the same way.

use core::str;

use super::read;
use crate::node::{Interner, Node};

/// Why a file is not read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It holds a character that a consumer refuses or changes.
    Character(char),
    /// It is no YAML.
    Unparsable,
}

impl core::fmt::Display for Trouble {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Trouble::Character(c) => write!(f, "the character U+{:04X}", u32::from(*c)),
            Trouble::Unparsable => f.write_str("text that is not YAML"),
        }
    }
}

/// Returns why consumers do not read a file back as it is written, if that is so.
pub fn trouble(file: &[u8]) -> Option<Trouble> {
    let Ok(text) = str::from_utf8(file) else { return Some(Trouble::Unparsable) };
    // Nearly every file is ASCII without escapes.
    let raw = || refused(text);
    if let Some(c) = Some(()).filter(|()| !is_plain(file)).and_then(|()| raw()) {
        return Some(Trouble::Character(c));
    }
    if !has_escapes(file) {
        return None;
    }
    let mut names = Interner::new();
    for document in read::documents(text) {
        match read::read(&document, &mut names) {
            Ok(node) => {
                if let Some(c) = refused_in(&node) {
                    return Some(Trouble::Character(c));
                }
            }
            Err(_) => return Some(Trouble::Unparsable),
        }
    }
    None
}

/// Returns true if all characters are visible ASCII or line feeds.
fn is_plain(file: &[u8]) -> bool {
    file.iter().all(|byte| *byte < 0x7f)
}

/// Returns true if a text may write a character by its number, or by a name of YAML's own.
fn has_escapes(file: &[u8]) -> bool {
    file.contains(&b'\\')
        && file.windows(2).any(|pair| matches!(pair, [b'\\', b'x' | b'u' | b'U' | b'N' | b'L' | b'P' | b'_']))
}

/// Returns the first character of a text that a consumer refuses or changes.
pub fn refused(text: &str) -> Option<char> {
    text.chars().find(|c| is_refused(*c))
}

/// Returns the first such character of the texts and keys of a document.
pub fn refused_in(node: &Node) -> Option<char> {
    match node {
        Node::Text(text) => refused(text),
        Node::List(items) => items.iter().find_map(refused_in),
        Node::Map(entries) => entries.iter().find_map(|(key, node)| refused(key).or_else(|| refused_in(node))),
        _ => None,
    }
}

/// Returns true if a YAML 1.1 reader refuses a character (<https://yaml.org/spec/1.1/#id868524>) that JSON does not escape.
///
/// The three line breaks of YAML 1.1 that no other reader has count as refused.
fn is_refused(c: char) -> bool {
    matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stops_kustomize_is_found_wherever_it_stands() {
        for (text, found) in [
            ("\\x7f", '\u{7f}'),
            ("\\x9b", '\u{9b}'),
            ("\\uFFFE", '\u{fffe}'),
            ("\\u2028", '\u{2028}'),
            ("\\N", '\u{85}'),
        ] {
            let found = Some(Trouble::Character(found));
            assert_eq!(trouble(format!("a: \"a{text}\"\n").as_bytes()), found);
            assert_eq!(trouble(format!("a: {{a: [\"{text}\"]}}\n").as_bytes()), found);
            assert_eq!(trouble(format!("a: {{\"{text}\": 1}}\n").as_bytes()), found);
        }
        assert_eq!(trouble("a: \u{81}\n".as_bytes()), Some(Trouble::Character('\u{81}')));
        assert_eq!(trouble(b"a: \xff\n"), Some(Trouble::Unparsable));
        assert_eq!(trouble("a: \"a\\x1b\\0\\uFEFF\u{e9}\"\n".as_bytes()), None);
        assert_eq!(trouble("a: |\n  C:\\users\\x\n".as_bytes()), None);
    }
}
