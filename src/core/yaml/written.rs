//! What [`emit`](super::emit) wrote → its tree, borrowed: the strict inverse of the one emitter.
//!
//! Manifests of whole regions are in the emitter's form, and reading them as YAML at large would be most of what a run
//! costs in which a little changed: one of 20,000 files takes 24 ms here, and 150 ms there. So this reader knows that form only. Whatever else there is, valid YAML or not, it
//! declines, and [`read`](super::read) decides: it never takes a text for anything but what that reader takes it for.
//! To that end each line is held against what the emitter would have written, and not only understood.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::emit::{LONG_KEY, is_literal, is_plain, is_visible, quote};
use super::order;
use super::read::{MAX_DOCUMENT_BYTES, most_values};
use crate::node::Node;

/// A value of a document that holds no secret, with its text where it stands.
#[derive(Clone, PartialEq, Debug)]
pub enum Value<'t> {
    /// Text.
    Text(Cow<'t, str>),
    /// A sequence.
    List(Vec<Value<'t>>),
    /// A mapping; each key stands once.
    Map(Vec<(Cow<'t, str>, Value<'t>)>),
    /// Anything else: the name of its type.
    Other(&'static str),
}

impl<'t> Value<'t> {
    /// A document that was read otherwise, borrowed.
    pub fn of(node: &'t Node) -> Self {
        match node {
            Node::Text(text) => Value::Text(Cow::Borrowed(text)),
            Node::List(items) => Value::List(items.iter().map(Value::of).collect()),
            Node::Map(entries) => {
                Value::Map(entries.iter().map(|(key, value)| (Cow::Borrowed(&**key), Value::of(value))).collect())
            }
            other => Value::Other(other.type_name()),
        }
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Value<'t>> {
        let Value::Map(entries) = self else { return None };
        entries.iter().find(|(known, _)| known == key).map(|(_, value)| value)
    }

    /// The name of the value's type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
            Value::Other(name) => name,
        }
    }
}

/// The most levels of lists and maps that are followed.
const MOST_LEVELS: usize = 16;

/// The room for the entries of a map.
const ROOM: usize = 8;

/// Reads a document that [`emit`](super::emit) wrote of maps, lists and texts of one line, behind lines of comment at
/// most; none for any other.
pub fn read(text: &str) -> Option<Value<'_>> {
    if text.len() > MAX_DOCUMENT_BYTES {
        return None;
    }
    let mut rest = text;
    while rest.starts_with('#') {
        let (comment, behind) = rest.split_once('\n')?;
        if !comment.bytes().all(|b| matches!(b, b' '..=b'~')) {
            return None;
        }
        rest = behind;
    }
    let mut reader = Reader { rest, values_left: most_values(text) };
    let root = reader.map(0, 0)?;
    reader.rest.is_empty().then_some(root)
}

struct Reader<'t> {
    /// What is not read yet.
    rest: &'t str,
    values_left: usize,
}

impl<'t> Reader<'t> {
    /// The entries of a map in `column`, where the first key stands.
    fn map(&mut self, column: usize, level: usize) -> Option<Value<'t>> {
        self.count(level)?;
        let mut entries: Vec<(Cow<'t, str>, Value<'t>)> = Vec::with_capacity(ROOM);
        loop {
            let key = self.key()?;
            if entries.last().is_some_and(|(before, _)| !is_after(before, &key)) {
                return None;
            }
            let value = match self.rest.strip_prefix('\n') {
                Some(below) => {
                    self.rest = below;
                    match self.column() {
                        found if found == column && self.is_item(found) => self.list(column, level + 1)?,
                        found if found == column + 2 && !self.is_item(found) => {
                            self.rest = self.rest.get(found..)?;
                            self.map(found, level + 1)?
                        }
                        _ => return None,
                    }
                }
                None => {
                    self.rest = self.rest.strip_prefix(' ')?;
                    self.leaf()?
                }
            };
            entries.push((key, value));
            match self.column() {
                found if found == column && !self.is_item(found) && !self.rest.is_empty() => {
                    self.rest = self.rest.get(found..)?;
                }
                found if found <= column => return Some(Value::Map(entries)),
                _ => return None,
            }
        }
    }

    /// The items of a list in `column`; the first one's line begins here.
    fn list(&mut self, column: usize, level: usize) -> Option<Value<'t>> {
        self.count(level)?;
        let mut items = Vec::new();
        loop {
            self.rest = self.rest.get(column..)?.strip_prefix("- ")?;
            let is_key = {
                let line = self.rest.split('\n').next().unwrap_or_default();
                line.ends_with(':') || line.contains(": ")
            };
            // A text with a colon stands in quotes, which are no key.
            let is_map = is_key && (!self.rest.starts_with('"') || self.begins_with_quoted_key()?);
            items.push(match is_map {
                true => self.map(column + 2, level + 1)?,
                false => self.leaf()?,
            });
            match self.column() {
                found if found == column && self.is_item(found) => {}
                found if found <= column => return Some(Value::List(items)),
                _ => return None,
            }
        }
    }

    /// Whether a colon follows the text in quotes that begins here.
    fn begins_with_quoted_key(&self) -> Option<bool> {
        Some(self.rest.get(quoted_length(self.rest)?..)?.starts_with(':'))
    }

    /// How many blanks the line begins with.
    fn column(&self) -> usize {
        self.rest.bytes().take_while(|b| *b == b' ').count()
    }

    /// Whether an item of a list stands in `column` of the line.
    fn is_item(&self, column: usize) -> bool {
        self.rest.get(column..).is_some_and(|rest| rest.starts_with("- "))
    }

    /// A key and the colon behind it.
    fn key(&mut self) -> Option<Cow<'t, str>> {
        self.count(0)?;
        let length = match self.rest.starts_with('"') {
            true => quoted_length(self.rest)?,
            false => self.rest.match_indices(':').map(|(at, _)| at).find(|at| self.ends_key(*at))?,
        };
        let (text, rest) = self.rest.split_at_checked(length)?;
        if length > LONG_KEY {
            return None;
        }
        self.rest = rest.strip_prefix(':')?;
        scalar(text)
    }

    /// Whether the colon at an index ends a key.
    fn ends_key(&self, at: usize) -> bool {
        self.rest.as_bytes().get(at + 1).is_some_and(|b| matches!(b, b' ' | b'\n'))
    }

    /// A text or something empty, and the end of its line.
    fn leaf(&mut self) -> Option<Value<'t>> {
        self.count(0)?;
        let (text, rest) = self.rest.split_once('\n')?;
        self.rest = rest;
        Some(match text {
            "[]" => Value::List(Vec::new()),
            "{}" => Value::Map(Vec::new()),
            text => Value::Text(scalar(text)?),
        })
    }

    /// Counts a value on a level; the other reader has the same bound.
    fn count(&mut self, level: usize) -> Option<()> {
        self.values_left = self.values_left.checked_sub(1)?;
        (level < MOST_LEVELS).then_some(())
    }
}

/// Whether a key is written behind another one.
fn is_after(before: &str, key: &str) -> bool {
    before != key && order::is_arranged([before, key].into_iter())
}

/// How long the text in quotes is with which `rest` begins, quotes included.
fn quoted_length(rest: &str) -> Option<usize> {
    let mut is_escaped = false;
    let end = rest.bytes().skip(1).position(|b| {
        let is_end = b == b'\n' || (b == b'"' && !is_escaped);
        is_escaped = b == b'\\' && !is_escaped;
        is_end
    })?;
    let length = end + 2;
    rest.get(..length).is_some_and(|text| text.ends_with('"')).then_some(length)
}

/// What a scalar of one line says, if the emitter writes that so.
fn scalar(text: &str) -> Option<Cow<'_, str>> {
    let Some(quoted) = text.strip_prefix('"') else {
        return is_plain(text).then_some(Cow::Borrowed(text));
    };
    let inner = quoted.strip_suffix('"')?;
    if is_plain(inner) || !inner.chars().all(is_visible) {
        return None;
    }
    if !inner.contains(['"', '\\']) {
        return Some(Cow::Borrowed(inner));
    }
    let said = unescaped(inner)?;
    let mut again = String::with_capacity(text.len());
    quote(&said, &mut again);
    (again == text && !is_plain(&said) && !is_literal(&said)).then_some(Cow::Owned(said))
}

/// Takes the emitter's escapes back.
fn unescaped(inner: &str) -> Option<String> {
    let mut said = String::with_capacity(inner.len());
    let mut rest = inner.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            said.push(c);
            continue;
        }
        let digits = match rest.next()? {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            simple => {
                said.push(match simple {
                    '"' | '\\' => simple,
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    _ => return None,
                });
                continue;
            }
        };
        let (code, behind) = rest.as_str().split_at_checked(digits)?;
        said.push(char::from_u32(u32::from_str_radix(code, 16).ok()?)?);
        rest = behind.chars();
    }
    Some(said)
}

#[cfg(test)]
pub(crate) mod tests;
