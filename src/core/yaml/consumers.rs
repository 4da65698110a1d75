//! Consumers: what those that apply a bundle do not read back as it is written.
//!
//! kustomize turns objects into JSON and reads that with a YAML reader, which refuses DEL, C1 controls and non-characters
//! that JSON leaves as they are ("control characters are not allowed", measured with kustomize 5.8.1): one such file stops
//! the build of the whole region, and Flux's error quotes the decrypted Secret. kustomize writes next line, line separator
//! and paragraph separator as they are, and its readers get a space instead. sops hands on what it decrypts in the same way.
//!
//! Both write a text of several lines that begins with a tab as a block which they do not take back: kustomize where it reads
//! the annotations of an object by themselves ("found a tab character where an indentation space is expected", measured
//! likewise), and sops where it writes what it decrypted: there the text is null (measured with sops 3.13.3).
//! Everywhere else such a text is read as it is.

use core::str;

use super::read;
use crate::node::{Interner, Node};

/// Why a file is not read back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// It holds a character that a consumer refuses or changes.
    Character(char),
    /// An annotation, or the type of a Secret, has several lines and begins with a tab.
    Tab,
    /// It is no YAML.
    Unparsable,
}

impl Trouble {
    /// The cure, as the help line of a finding says it.
    pub fn cure(self) -> &'static str {
        match self {
            Trouble::Character(_) | Trouble::Unparsable => {
                "Remove the character; of a Secret, only entries of `data` may hold it."
            }
            Trouble::Tab => "Begin the annotation, or the type of the Secret, with something else than a tab.",
        }
    }
}

impl core::fmt::Display for Trouble {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Trouble::Character(c) => write!(f, "the character U+{:04X}", u32::from(*c)),
            Trouble::Tab => f.write_str("a text of several lines that begins with a tab"),
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
    if !needs_parsing(file) {
        return None;
    }
    let mut names = Interner::new();
    for document in read::documents(text) {
        match read::read(&document, &mut names) {
            Ok(node) => {
                if let Some(c) = refused_in(&node) {
                    return Some(Trouble::Character(c));
                }
                if has_tab(&node) {
                    return Some(Trouble::Tab);
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

/// Returns true if a text may write a character by its number, or by a name of YAML's own, or has a tab.
fn needs_parsing(file: &[u8]) -> bool {
    let is_escape = |pair: &[u8]| matches!(pair, [b'\\', b'x' | b'u' | b'U' | b'N' | b'L' | b'P' | b'_' | b't']);
    file.contains(&b'\t') || (file.contains(&b'\\') && file.windows(2).any(is_escape))
}

/// Returns true if an annotation, or the type of a Secret, has several lines and begins with a tab.
fn has_tab(document: &Node) -> bool {
    let annotations = document.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    // The open part of a Secret does not say what it is of.
    let is_secret = document.str_at(&["kind"]).is_none_or(|kind| kind == "Secret");
    let secret_type = document.get("type").filter(|_| is_secret);
    let mut texts = annotations.iter().map(|(_, value)| value).chain(secret_type).filter_map(Node::as_str);
    texts.any(|text| text.starts_with('\t') && text.contains('\n'))
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

    #[test]
    fn no_text_of_several_lines_begins_with_a_tab_where_that_is_not_read_back() {
        let annotation = |text: &str| format!("metadata:\n  annotations:\n    a: {text}\n");
        for text in ["\"\\ta\\n\"", "\"\\t\\n\"", "\"\ta\\nb\"", "\"\\x09a\\nb\""] {
            assert_eq!(trouble(annotation(text).as_bytes()), Some(Trouble::Tab), "{text}");
            let typed = |kind: &str| trouble(format!("kind: {kind}\ntype: {text}\n").as_bytes());
            assert_eq!((typed("Secret"), typed("Foo")), (Some(Trouble::Tab), None), "{text}");
            let elsewhere = annotation(text).replace("annotations", "labels");
            assert_eq!(trouble(elsewhere.as_bytes()), None, "{text}");
        }
        for text in ["\"\\ta\"", "\"a\\n\\tb\"", "\" \\ta\\n\"", "\"\\n\\ta\""] {
            assert_eq!(trouble(annotation(text).as_bytes()), None, "{text}");
        }
    }
}
