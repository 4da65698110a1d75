//! Blanks of other kinds than the space, such as the no-break space, where a space should be.
//!
//! Word processors and web pages write them, and people do not see them. To YAML they are letters: a key begins with one, or
//! a colon before one ends no key.

use alloc::format;
use alloc::string::String;

/// A place in a text, from one; columns count characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Spot {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Returns true if a character is a blank, and not one that YAML knows. Those that begin a line are left alone.
fn is_odd(c: char) -> bool {
    c.is_whitespace() && !c.is_ascii() && !matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Says which other blank a text has, if it has one: `there is a no-break space (U+00A0) where a blank should be`.
pub fn told(text: &str) -> Option<String> {
    let odd = text.chars().find(|c| is_odd(*c))?;
    let name = match odd {
        '\u{a0}' => "a no-break space",
        '\u{202f}' => "a narrow no-break space",
        '\u{3000}' => "an ideographic space",
        _ => "another kind of space",
    };
    Some(format!("there is {name} (U+{:04X}) where a blank should be", u32::from(odd)))
}

/// A text with spaces for all other blanks; none if it has none.
pub fn corrected(text: &str) -> Option<String> {
    text.contains(is_odd).then(|| text.replace(is_odd, " "))
}

/// The place of another blank where YAML would want one: in this line of a text or else before it, or else behind it; and
/// what is said of it.
pub fn nearest(text: &str, line: u32) -> Option<(Spot, String)> {
    let mut found = None;
    for (number, row) in (1_u32..).zip(text.split('\n')) {
        if number > line && found.is_some() {
            break;
        }
        found = in_row(row).map(|(column, said)| (Spot { line: number, column }, said)).or(found);
    }
    found
}

/// The column of another blank where a line wants one: in its indentation, beside a mark of YAML, or at its end.
fn in_row(row: &str) -> Option<(u32, String)> {
    let is_wanted = |at: usize, odd: char| {
        let (before, behind) = row.split_at_checked(at).unwrap_or_default();
        let before = before.trim_end();
        let behind = behind.get(odd.len_utf8()..).unwrap_or_default().trim_start();
        before.chars().all(|c| c == '-' || c.is_whitespace())
            || before.ends_with([':', ',', '{', '[', '?'])
            || behind.is_empty()
            || behind.starts_with([':', '#'])
    };
    let (at, _) = row.char_indices().find(|(at, c)| is_odd(*c) && is_wanted(*at, *c))?;
    let before = row.get(..at).unwrap_or_default().chars().count();
    Some((u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1), told(row.get(at..).unwrap_or_default())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_is_found_where_yaml_wants_a_space() {
        for (text, line, expect) in [
            ("a:\n\u{a0}\u{a0}b: 1\n", 2, Some((2, 1))),
            ("a:\u{a0}1\n", 1, Some((1, 3))),
            ("é:\u{a0}1\n", 1, Some((1, 3))),
            ("a\u{a0}: 1\n", 1, Some((1, 2))),
            ("a: 1\u{a0}\n", 1, Some((1, 5))),
            ("a: 1\u{a0}# b\n", 1, Some((1, 5))),
            ("-\u{a0}1\n", 1, Some((1, 2))),
            ("  - -\u{3000}1\n", 1, Some((1, 6))),
            ("{a:\u{a0}1,\u{a0}b: 2}\n", 1, Some((1, 4))),
            // The line itself, the last one before it, the first one behind it.
            ("a:\u{a0}1\nb:\u{a0}1\nc: 1\nd:\u{a0}1\n", 2, Some((2, 3))),
            ("a:\u{a0}1\nb:\u{a0}1\nc: 1\nd:\u{a0}1\n", 3, Some((2, 3))),
            ("a: 1\nb: 1\nc:\u{a0}1\nd:\u{a0}1\n", 1, Some((3, 3))),
            ("a: one\u{a0}two\n", 1, None),
            ("a: 1 \n\t\n", 1, None),
            ("a: 1\u{2028}\n", 1, None),
        ] {
            let found = nearest(text, line).map(|(spot, _)| (spot.line, spot.column));
            assert_eq!(found, expect, "{text:?} {line}");
        }
    }

    #[test]
    fn a_blank_is_called_what_it_is() {
        assert_eq!(told("a\u{a0}b").as_deref(), Some("there is a no-break space (U+00A0) where a blank should be"));
        assert!(told("\u{2003}").is_some_and(|said| said.contains("another kind of space (U+2003)")));
        assert_eq!(told("a b\t"), None);
        assert_eq!((corrected("a:\u{a0}\u{3000}b").as_deref(), corrected("a: b")), (Some("a:  b"), None));
    }
}
