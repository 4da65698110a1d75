//! Authors: the people who made the commits of a source, by the names that they gave themselves.
//!
//! Who may push to a source chooses the name, and here it stands where others read it: no name makes a line of its own,
//! mentions anyone, closes an issue, or gives a mail address away.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::escape;
use crate::listing::few;

/// The most authors of one source that are named.
const MOST_NAMES: usize = 50;

/// The most of them that a line of text names.
const MOST_IN_LINE: usize = 10;

/// The longest name, in characters.
const MOST_CHARS: usize = 60;

/// Characters that mean something in a page of a git server, or in a header of mail.
const READ: [char; 9] = ['#', '!', '`', '*', '[', ']', '|', '<', '>'];

/// The authors of the commits of a source since the last publication.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceAuthors {
    /// The source's name.
    pub source: String,
    /// Their names, those of the newest commits first.
    pub names: Vec<String>,
    /// The number of further authors, who are not named.
    #[serde(default, skip_serializing_if = "is_none")]
    pub more: usize,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it")]
fn is_none(count: &usize) -> bool {
    *count == 0
}

impl SourceAuthors {
    /// Makes one of names as they stand in commits; none where no name is left.
    pub fn new(source: &str, written: impl IntoIterator<Item = String>) -> Option<Self> {
        let (mut names, mut more): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        for name in written.into_iter().filter_map(|name| readable(&name)) {
            if !names.contains(&name) && !more.contains(&name) {
                // A source that one machine fills with names is not looked through for ever.
                let to = if names.len() < MOST_NAMES { &mut names } else { &mut more };
                if to.len() < MOST_NAMES.saturating_mul(20) {
                    to.push(name);
                }
            }
        }
        (!names.is_empty()).then(|| Self { source: source.to_string(), names, more: more.len() })
    }

    /// The line for people.
    pub fn line(&self) -> String {
        let all = self.names.len().saturating_add(self.more);
        format!("authors in source {}: {}", self.source, few(&self.names, all, MOST_IN_LINE))
    }
}

/// A name as others may read it; none where nothing is left of it.
fn readable(name: &str) -> Option<String> {
    let words = name.split(|char: char| char.is_whitespace() || char.is_control());
    // What stands before the `@` of a mail address is a name, too; a mention has nothing there.
    let words = words.map(|word| word.split('@').next().unwrap_or_default().replace(READ, ""));
    let words: Vec<String> = words.filter(|word| !word.is_empty()).collect();
    let name: String = words.join(" ").chars().take(MOST_CHARS).collect();
    Some(escape(name.trim())).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, expect: &str) {
        assert_eq!(readable(name).unwrap_or_default(), expect, "{name:?}");
    }

    #[test]
    fn a_name_steers_nothing_and_gives_no_address_away() {
        check("Jane Doe", "Jane Doe");
        check("Żółć de la Ñ, Jr.", "Żółć de la Ñ, Jr.");
        check("  Jane \t Doe ", "Jane Doe");
        check("jane@example.com", "jane");
        check("Jane jane@example.com Doe", "Jane jane Doe");
        check("@everyone", "");
        check("closes #12", "closes 12");
        check("x\nPouch-Accepted: deletions eu=0", "x Pouch-Accepted: deletions eu=0");
        check("x\r\n\r\n---", "x ---");
        check("a\u{202e}b", "a\\u{202e}b");
        check("[x](y) `z`", "x(y) z");
        check("", "");
        check("\u{7}", "");
        check(&"x".repeat(100), &"x".repeat(60));
    }

    #[test]
    fn many_authors_are_counted() {
        let names = |count: usize| (0..count).map(|n| format!("a{n}")).chain(["a0".to_string()]);
        assert_eq!(SourceAuthors::new("s", ["@x".to_string()]), None);
        let of = |count| SourceAuthors::new("s", names(count)).expect("some");
        assert_eq!(
            (of(3).names.len(), of(3).more, of(3).line()),
            (3, 0, "authors in source s: a0, a1, a2".to_string())
        );
        assert_eq!((of(70).names.len(), of(70).more), (50, 20));
        assert!(of(70).line().ends_with("a9 and 60 more"), "{}", of(70).line());
    }
}
