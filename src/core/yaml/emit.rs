//! The one YAML emitter: strings that YAML 1.1 and 1.2 readers agree on, one form for each tree.
//!
//! Its bytes go under HMAC tags and into git, so the form is part of the format: changing it re-seals
//! every published Secret and rewrites every bundle. The form: keys in kustomize's order (`order`), two
//! spaces of indent, list items in their parent's column (as kubectl writes), nothing folded, no
//! comments, no `---`. Refuses to know what it writes: [`Tree::Plain`] is the caller's word that a text
//! is safe.

mod tree;

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt::Write as _;

use zeroize::Zeroizing;

use super::order;
use super::read::is_printable;

pub use tree::{Tree, TreeMap};

/// Writes one document, ending in a line feed, without a `---` line.
pub fn emit(tree: &Tree<'_>) -> Zeroizing<String> {
    // Allocated at full size: where freed memory is wiped, each growth of a text costs a copy of it, and unused
    // room is wiped as well.
    let mut out = Zeroizing::new(String::with_capacity(room(tree, 0)));
    append(tree, &mut out);
    out
}

/// Adds what [`emit`] writes to a text without secrets, so that a long document need not be one tree: after a line
/// with a key, items are those of its list.
pub fn append(tree: &Tree<'_>, out: &mut String) {
    match tree {
        Tree::List(items) if !items.is_empty() => list(items, 0, out),
        Tree::Map(entries) if !entries.is_empty() => map(entries, 0, out),
        leaf => value(leaf, 0, out),
    }
}

/// Adds one line of a map, `name: text`, as [`append`] would, so that what is written a hundred thousand times need not
/// become a tree before. The cursor stands at the line's begin, the map at `column`, and the name needs no quotes.
pub fn line((name, text): (&str, &str), column: usize, out: &mut String) {
    pad(column, out);
    field((name, text), column, out);
}

/// The same where the cursor stands at `column` already.
pub fn field((name, text): (&str, &str), column: usize, out: &mut String) {
    out.push_str(name);
    out.push_str(": ");
    string(text, column, out);
}

/// Estimates how many bytes a tree takes; nearly always enough.
fn room(tree: &Tree<'_>, column: usize) -> usize {
    // A colon or dash, a blank, quotes, and the end of the line.
    let around = column + 6;
    let inner = column + 2;
    let own = match tree {
        // Each line of a block is indented.
        Tree::Text(words) | Tree::Plain(words) => words.len() + words.matches('\n').count() * inner,
        Tree::Secret(words) => words.len(),
        Tree::List(items) => items.iter().map(|item| room(item, inner)).sum(),
        Tree::Map(entries) => entries.iter().map(|(key, value)| key.len() + room(value, inner)).sum(),
        Tree::Null | Tree::Bool(_) | Tree::Int(_) | Tree::Uint(_) | Tree::Float(_) => 20,
    };
    around + own
}

/// Writes the items of a list that is not empty; the cursor stands at `column` of a line.
fn list(items: &[Tree<'_>], column: usize, out: &mut String) {
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            pad(column, out);
        }
        out.push_str("- ");
        let inner = column + 2;
        match item {
            Tree::List(items) if !items.is_empty() => list(items, inner, out),
            Tree::Map(entries) if !entries.is_empty() => map(entries, inner, out),
            leaf => value(leaf, column, out),
        }
    }
}

/// Writes the entries of a map that is not empty; the cursor stands at `column` of a line.
fn map(entries: &TreeMap<'_>, column: usize, out: &mut String) {
    // Nearly every map is in order already, and needs no memory for a second one.
    if order::is_arranged(entries.keys()) {
        all(entries.iter(), column, out);
    } else {
        all(order::arranged(entries.iter().collect(), |(name, _)| name).into_iter(), column, out);
    }
}

fn all<'t, 'a: 't>(entries: impl Iterator<Item = (&'t Cow<'a, str>, &'t Tree<'a>)>, column: usize, out: &mut String) {
    for (at, (name, tree)) in entries.enumerate() {
        if at > 0 {
            pad(column, out);
        }
        let explicit = key(name, column, out);
        out.push(':');
        let inner = column + 2;
        match tree {
            Tree::List(items) if !items.is_empty() => {
                // After an explicit key some readers want a list deeper than the key.
                let column = if explicit { inner } else { column };
                out.push('\n');
                pad(column, out);
                list(items, column, out);
            }
            Tree::Map(entries) if !entries.is_empty() => {
                out.push('\n');
                pad(inner, out);
                map(entries, inner, out);
            }
            leaf => {
                out.push(' ');
                value(leaf, column, out);
            }
        }
    }
}

/// Keys of this many bytes and more are written after `?`: readers look for the colon of any other key for
/// 1,024 characters. <https://yaml.org/spec/1.1/#simple%20key/>
pub(super) const LONG_KEY: usize = 1_000;

fn key(name: &str, column: usize, out: &mut String) -> bool {
    let start = out.len();
    if is_plain(name) {
        out.push_str(name)
    } else {
        quote(name, out)
    }
    let explicit = out.len().saturating_sub(start) > LONG_KEY;
    if explicit {
        out.insert_str(start, "? ");
        out.push('\n');
        pad(column, out);
    }
    explicit
}

/// Writes a scalar or an empty collection and ends the line; `column` is that of the parent.
fn value(tree: &Tree<'_>, column: usize, out: &mut String) {
    match tree {
        Tree::Null => out.push_str("null"),
        Tree::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        // Writing to a `String` does not fail.
        Tree::Int(value) => _ = write!(out, "{value}"),
        Tree::Uint(value) => _ = write!(out, "{value}"),
        Tree::Float(value) => float(*value, out),
        Tree::Text(text) => return string(text, column, out),
        Tree::Secret(text) => return string(text, column, out),
        Tree::Plain(text) if is_safe_marker(text) => out.push_str(text),
        Tree::Plain(text) => return string(text, column, out),
        Tree::List(_) => out.push_str("[]"),
        Tree::Map(_) => out.push_str("{}"),
    }
    out.push('\n');
}

/// Writes a text and ends the line; `column` is that of the parent.
pub fn string(text: &str, column: usize, out: &mut String) {
    if is_plain(text) {
        out.push_str(text);
    } else if is_literal(text) {
        // One trailing line feed is what `|` means, none is `|-`.
        let body = text.strip_suffix('\n');
        out.push_str(if body.is_some() { "|" } else { "|-" });
        for line in body.unwrap_or(text).split('\n') {
            out.push('\n');
            if !line.is_empty() {
                pad(column + 2, out);
                out.push_str(line);
            }
        }
    } else {
        quote(text, out);
    }
    out.push('\n');
}

/// The shortest digits that read back as the same number, in the one form that every reader takes
/// for a float: YAML 1.1 wants a point, and a sign in the exponent.
fn float(value: f64, out: &mut String) {
    if !value.is_finite() {
        return out.push_str("null");
    }
    let digits = format!("{value:?}");
    let (mantissa, exponent) = digits.split_once('e').map_or((&*digits, None), |(m, e)| (m, Some(e)));
    out.push_str(mantissa);
    if !mantissa.contains('.') {
        out.push_str(".0");
    }
    if let Some(exponent) = exponent {
        out.push_str(if exponent.starts_with('-') { "e" } else { "e+" });
        out.push_str(exponent);
    }
}

fn pad(column: usize, out: &mut String) {
    const BLANKS: &str = "                                ";
    let mut left = column;
    while left > 0 {
        let some = BLANKS.get(..left).unwrap_or(BLANKS);
        out.push_str(some);
        left = left.saturating_sub(some.len());
    }
}

/// Words that some reader does not take for text; compared without regard to case.
const WORDS: [&str; 13] =
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nil", "nan", "inf", "infinity"];

/// Whether no reader of YAML 1.1 or 1.2 takes `text` for anything but this text, unquoted and anywhere.
///
/// Text that begins with a letter, a slash or a relative path is no number, date, indicator or merge key.
pub(super) fn is_plain(text: &str) -> bool {
    // Every value of every manifest is asked about, so bytes are looked at and no patterns.
    let (starts_well, last) = match text.as_bytes() {
        [b'A'..=b'Z' | b'a'..=b'z' | b'/', .., last] => (true, *last),
        [b'.', b'/', .., last] | [b'.', b'.', b'/', .., last] => (true, *last),
        b"./" | b"../" => (true, b'/'),
        [only] => (only.is_ascii_alphabetic() || *only == b'/', *only),
        _ => return false,
    };
    starts_well
        && last != b':'
        && text.bytes().all(|b| matches!(b, b'A'..=b'Z' | b'a'..=b'z' | b'-'..=b':' | b'_' | b'+' | b'=' | b'@'))
        && !(text.len() <= LONGEST_WORD && WORDS.iter().any(|word| word.eq_ignore_ascii_case(text)))
}

/// The length of the longest of [`WORDS`].
const LONGEST_WORD: usize = 8;

/// Whether `ENC[…]` text can stand unquoted.
fn is_safe_marker(text: &str) -> bool {
    text.starts_with("ENC[")
        && text.bytes().all(|b| matches!(b, b' '..=b'~'))
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.ends_with([':', ' '])
}

/// Whether `text` can stand as a literal block without an indentation or keep indicator.
///
/// YAML keeps trailing blanks and more than one trailing line feed, but editors and git hooks take them away,
/// and tabs are taken for indentation; such text is quoted, where nothing is invisible.
pub(super) fn is_literal(text: &str) -> bool {
    let body = text.strip_suffix('\n').unwrap_or(text);
    text.contains('\n')
        && !body.is_empty()
        && !body.starts_with([' ', '\n'])
        && !body.ends_with('\n')
        && body.split('\n').all(|line| !line.ends_with(' '))
        && body.chars().all(|c| c == '\n' || is_visible(c))
}

pub(super) fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if is_visible(c) => out.push(c),
            c => {
                // Writing to a `String` does not fail.
                let code = u32::from(c);
                let _ = match code {
                    ..0x100 => write!(out, "\\x{code:02x}"),
                    0x100..0x1_0000 => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
        }
    }
    out.push('"');
}

/// Whether `c` may stand raw: YAML allows it, no reader takes it for a line break, and a reviewer of the file
/// sees it where it stands. Unicode's other format characters (zero width, direction, tags) are written as
/// escapes, against sources that look like something else (CVE-2021-42574).
pub(super) fn is_visible(c: char) -> bool {
    // Nearly all characters.
    if matches!(c, ' '..='~') {
        return true;
    }
    is_printable(c)
        && !matches!(c,
            '\t' | '\n' | '\r' | '\u{85}' | '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
        // The last two code points of every plane are no characters.
        && u32::from(c) & 0xfffe != 0xfffe
}

#[cfg(test)]
mod tests;
