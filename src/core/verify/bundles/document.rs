//! The one document of a file, and the line on which it is another than it should be.

use crate::node::{Interner, Node};
use crate::yaml::read;

/// Reads a file that is to hold one document; else the line at which it is not.
pub(super) fn only_document(bytes: &[u8]) -> Result<Node, usize> {
    let line = |line: u32| usize::try_from(line).unwrap_or(usize::MAX);
    let text = read::text_of(bytes).map_err(|flaw| line(flaw.line))?;
    let mut documents = read::documents(text);
    let document = documents.next().ok_or(1_usize)?;
    if let Some(second) = documents.next() {
        return Err(line(second.line));
    }
    read::read(&document, &mut Interner::new()).map_err(|flaw| line(flaw.line))
}

/// The first line, from one, in which two texts differ.
pub(super) fn first_difference(expected: &str, found: &str) -> Option<usize> {
    if expected == found {
        return None;
    }
    let same = expected.split('\n').zip(found.split('\n')).take_while(|(a, b)| a == b).count();
    Some(same + 1)
}

/// Finds the first line, from one, that fits.
pub(super) fn first_line(text: &str, fits: impl Fn(&str) -> bool) -> Option<usize> {
    Some(text.lines().position(fits)? + 1)
}

/// Counts the lines before a file's body.
pub(super) fn header_lines(file: &[u8], body: &[u8]) -> usize {
    let header = file.strip_suffix(body).unwrap_or_default();
    header.iter().filter(|byte| **byte == b'\n').count()
}
