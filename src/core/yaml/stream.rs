//! Bytes → text → documents.
//!
//! A stream is cut here and not by the parser: serde-saphyr refuses more than 1,024 documents, a flaw
//! in one document must not hide the others, and each document gets a budget of its own. Knows of
//! YAML only the two markers, comments and directives.

use super::Flaw;

/// The most bytes that one document may have: 64 MiB.
pub const MAX_DOCUMENT_BYTES: usize = 64 << 20;

/// Reads bytes as text: UTF-8 without NUL; a leading byte order mark is dropped.
///
/// # Errors
/// A [`Flaw`] at the first byte that is no UTF-8, at the first NUL, or one that says UTF-16 or UTF-32.
pub fn text_of(bytes: &[u8]) -> Result<&str, Flaw> {
    // UTF-32's little-endian mark begins like UTF-16's, so it is asked for first.
    if bytes.starts_with(b"\xff\xfe\0\0") || bytes.starts_with(b"\0\0\xfe\xff") {
        return Err(Flaw::new(1, 1, "the file is UTF-32; it must be UTF-8"));
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Flaw::new(1, 1, "the file is UTF-16; it must be UTF-8"));
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let text = core::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).and_then(|valid| core::str::from_utf8(valid).ok());
        Flaw::after(valid.unwrap_or_default(), "a byte here is not UTF-8")
    })?;
    match text.split_once('\0') {
        Some((before, _)) => Err(Flaw::after(before, "there is a NUL byte here")),
        None => Ok(text),
    }
}

/// One document of a stream. It can hold a Secret's values and is not printable.
#[derive(Clone, Copy)]
pub struct Document<'a> {
    /// Its text, with its own `---` line and directives.
    pub text: &'a str,
    /// The line in the file, from one, of the first content that is neither blank nor comment.
    pub line: u32,
    /// The line in the file, from one, on which the text begins.
    pub first_line: u32,
}

impl<'a> Document<'a> {
    /// Treats a whole text as one document.
    pub fn whole(text: &'a str) -> Self {
        Self { text, line: 1, first_line: 1 }
    }

    /// How many lines of the file stand before `text`.
    pub(crate) fn lines_before(&self) -> usize {
        usize::try_from(self.first_line).unwrap_or(usize::MAX).saturating_sub(1)
    }
}

/// Cuts a stream into its documents; empty ones and those of comments alone are left out.
///
/// A marker is a line `---` or `...` in the first column with nothing or white space behind it. YAML
/// forbids such a line inside every kind of scalar, so that cutting needs no parsing.
/// <https://yaml.org/spec/1.2.2/#rule-c-forbidden>
pub fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    Documents { rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1 }
}

struct Documents<'a> {
    rest: &'a str,
    line: u32,
}

impl<'a> Iterator for Documents<'a> {
    type Item = Document<'a>;

    fn next(&mut self) -> Option<Document<'a>> {
        while !self.rest.is_empty() {
            let first_line = self.line;
            let (text, content) = self.cut();
            if let Some(line) = content {
                return Some(Document { text, line, first_line });
            }
        }
        None
    }
}

impl<'a> Documents<'a> {
    /// Takes the text before the next marker, and the line where its content begins, if it has any.
    fn cut(&mut self) -> (&'a str, Option<u32>) {
        let (mut length, mut begun, mut content, mut directive) = (0_usize, false, None, None);
        for row in self.rest.split_inclusive('\n') {
            let start = behind_marker(row, "---");
            if start.is_some() && (begun || content.is_some()) {
                break;
            }
            let end = behind_marker(row, "...").is_some();
            if content.is_none() && !end {
                let row = start.unwrap_or(row).trim_ascii_start();
                if row.starts_with('%') && !begun && start.is_none() {
                    directive = directive.or(Some(self.line));
                } else if !row.is_empty() && !row.starts_with('#') {
                    content = Some(self.line);
                }
            }
            begun |= start.is_some();
            length += row.len();
            self.line = self.line.saturating_add(1);
            if end {
                break;
            }
        }
        let (text, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        // A directive that belongs to no document is a flaw, which the parser then names.
        (text, content.or(if begun { None } else { directive }))
    }
}

fn behind_marker<'a>(row: &'a str, marker: &str) -> Option<&'a str> {
    let behind = row.strip_prefix(marker)?;
    (behind.is_empty() || behind.starts_with([' ', '\t', '\r', '\n'])).then_some(behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::vec::Vec;

    #[track_caller]
    fn check(stream: &str, expect: &[(&str, u32)]) {
        let found: Vec<(&str, u32)> = documents(stream).map(|document| (document.text, document.line)).collect();
        assert_eq!(found, expect, "{stream:?}");
    }

    #[test]
    fn streams_are_cut_at_markers_and_nowhere_else() {
        check("", &[]);
        check("a: 1\n", &[("a: 1\n", 1)]);
        check("a: 1", &[("a: 1", 1)]);
        check("---\na: 1\n---\nb: 2\n", &[("---\na: 1\n", 2), ("---\nb: 2\n", 4)]);
        check("a: 1\r\n---\r\nb: 2\r\n", &[("a: 1\r\n", 1), ("---\r\nb: 2\r\n", 3)]);
        check("---\n---\n--- \n# nothing\n---\n\n", &[]);
        check("\n# head\n\na: 1\n", &[("\n# head\n\na: 1\n", 4)]);
        check("# head\n---\na: 1\n", &[("# head\n---\na: 1\n", 3)]);
        check("--- a\n--- # no\n--- b\n", &[("--- a\n", 1), ("--- b\n", 3)]);
        check("---\ta: 1\n", &[("---\ta: 1\n", 1)]);
        check("a: 1\n...\nb: 2\n...", &[("a: 1\n...\n", 1), ("b: 2\n...", 3)]);
        check(
            "%YAML 1.2\n---\na: 1\n...\n%YAML 1.1\n---\nb: 2\n",
            &[("%YAML 1.2\n---\na: 1\n...\n", 3), ("%YAML 1.1\n---\nb: 2\n", 7)],
        );
        check("%alone\n", &[("%alone\n", 1)]);
        check("\u{feff}---\na: 1\n", &[("---\na: 1\n", 2)]);
        check("a: |\n  ---\n  ...\n ---\nb: 1\n", &[("a: |\n  ---\n  ...\n ---\nb: 1\n", 1)]);
        check("---a: 1\n----\n....\n", &[("---a: 1\n----\n....\n", 1)]);
    }

    #[test]
    fn many_documents_are_no_trouble() {
        let stream: String = (0..5_000).map(|n| format!("---\nn: {n}\n")).collect();
        assert_eq!(documents(&stream).count(), 5_000);
        assert_eq!(documents(&stream).last().map(|document| document.line), Some(10_000));
    }

    #[test]
    fn bytes_are_text_or_say_where_they_are_not() {
        assert_eq!(text_of(b"a: 1\n"), Ok("a: 1\n"));
        assert_eq!(text_of(b"\xef\xbb\xbfa"), Ok("a"));
        assert_eq!(text_of(b""), Ok(""));
        let flaw = |line, column, what: &'static str| Err(Flaw::new(line, column, what));
        assert_eq!(text_of(b"a\n\xc3\xa9\xff"), flaw(2, 2, "a byte here is not UTF-8"));
        assert_eq!(text_of(b"a: \xed\xa0\x80"), flaw(1, 4, "a byte here is not UTF-8"));
        assert_eq!(text_of(b"a\nb: \0"), flaw(2, 4, "there is a NUL byte here"));
        assert_eq!(text_of(b"\xff\xfea\0"), flaw(1, 1, "the file is UTF-16; it must be UTF-8"));
        assert_eq!(text_of(b"\xfe\xff\0a"), flaw(1, 1, "the file is UTF-16; it must be UTF-8"));
        assert_eq!(text_of(b"\xff\xfe\0\0"), flaw(1, 1, "the file is UTF-32; it must be UTF-8"));
    }
}
