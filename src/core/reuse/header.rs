//! The header of a tagged file: a line with the key's id and a tag, and lines for entries.
//!
//! It is taken apart here; nothing is verified.

use core::str;

/// What the first line starts with, up to the key's id.
pub(super) const FIRST: &str = "# pouch/v1 ";
/// What every line of a header starts with, in this format and in later ones.
pub(super) const LEADING: &[u8] = b"# pouch";
/// Length of a file tag: HMAC-SHA-256 as base64url without padding.
const TAG_LENGTH: usize = 43;

/// A file taken apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tagged<'a> {
    /// The id of the key that the tags were made with, as the file says.
    pub key_id: &'a str,
    /// The file tag.
    pub file_tag: &'a str,
    /// All further lines of the header, line feeds included.
    pub entry_lines: &'a str,
    /// The sealed document.
    pub body: &'a [u8],
}

/// Takes a file apart; none where it does not open with the first line of this format. Nothing is
/// verified.
pub fn split(file: &[u8]) -> Option<Tagged<'_>> {
    let (key_id, file_tag, rest) = first_line(file)?;
    let mut body = rest;
    while body.starts_with(LEADING) {
        body = after_line(body);
    }
    let (lines, _) = rest.split_at_checked(rest.len().checked_sub(body.len())?)?;
    Some(Tagged { key_id, file_tag, entry_lines: str::from_utf8(lines).ok()?, body })
}

/// Whether a file opens with a header of a later format than this one.
pub fn is_newer(file: &[u8]) -> bool {
    let version = file.strip_prefix(b"# pouch/v").and_then(|rest| rest.split(|b| *b == b' ').next());
    version.and_then(|digits| str::from_utf8(digits).ok()?.parse::<u64>().ok()).is_some_and(|version| version > 1)
}

/// Key id and tag of the first line, and all bytes after it.
pub(super) fn first_line(file: &[u8]) -> Option<(&str, &str, &[u8])> {
    let rest = after_line(file);
    let (line, _) = file.split_at_checked(file.len().checked_sub(rest.len())?)?;
    let line = str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (id, tag) = line.strip_prefix(FIRST)?.split_once(' ')?;
    let tag_shaped = tag.len() == TAG_LENGTH && tag.bytes().all(is_base64url);
    (is_key_id(id) && tag_shaped).then_some((id, tag, rest))
}

/// Whether text has the form of a key's id: 8 hex digits, in lower case.
pub fn is_key_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_base64url(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_')
}

/// What follows the first line feed; nothing where there is none.
fn after_line(bytes: &[u8]) -> &[u8] {
    let mut parts = bytes.splitn(2, |b| *b == b'\n');
    parts.next();
    parts.next().unwrap_or_default()
}
