//! Lines: where in a text a key stands.
//!
//! It knows block style alone, by indentation, and so only says where to look: the door decides what a document
//! says. Text in flow style has no answer.
//!
//! The reader keeps no places, since a line is asked for only where something is wrong, and of the items of a `List`.
//! Its events would have to be made once more for that, which takes twenty times as long, and could not begin in the
//! middle of a document, as the item of a `List` does.

use alloc::vec::Vec;

/// The line of a file that is a line of a text in it; the text begins in `first_line`, and lines count from one. Behind the
/// last line that has a number, it is that one.
pub fn line_in(first_line: u32, line: u32) -> u32 {
    line.saturating_add(first_line).saturating_sub(1)
}

/// The line, from one, of the key at a path; none if it is not found. The items of a list add nothing to a
/// path.
pub fn line_of(text: &str, path: &[&str]) -> Option<u32> {
    // For each key that is still open, how far it is indented.
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let indent = line.len().saturating_sub(line.trim_start_matches([' ', '-']).len());
        let Some(key) = line.get(indent..).and_then(key) else { continue };
        while open.last().is_some_and(|(depth, _)| *depth >= indent) {
            open.pop();
        }
        open.push((indent, key));
        if open.iter().map(|(_, key)| key).eq(path) {
            return Some(number);
        }
    }
    None
}

/// The line, from one, on which an item of a top-level key's list begins; none if it is not found. Items count
/// from zero.
pub fn line_of_item(text: &str, list: &str, item: usize) -> Option<u32> {
    lines_of_items(text, list).nth(item)
}

/// The lines, from one, on which the items of a top-level key's list begin.
pub fn lines_of_items(text: &str, list: &str) -> impl Iterator<Item = u32> {
    let lines = (1..).zip(text.lines()).skip_while(move |(_, line)| key(line) != Some(list)).skip(1);
    let indent = |line: &str| line.len().saturating_sub(line.trim_start_matches(' ').len());
    let is_item = move |line: &str| {
        let rest = line.get(indent(line)..).unwrap_or_default();
        rest == "-" || rest.starts_with("- ")
    };
    // The next key of the top level ends the list.
    let own = lines.take_while(move |(_, line)| is_item(line) || indent(line) > 0 || key(line).is_none());
    let mut depth = None;
    own.filter(move |(_, line)| is_item(line) && *depth.get_or_insert(indent(line)) == indent(line))
        .map(|(number, _)| number)
}

/// The key that a line begins with.
fn key(line: &str) -> Option<&str> {
    for quote in ['"', '\''] {
        if let Some(rest) = line.strip_prefix(quote) {
            return rest.split_once(quote).filter(|(_, rest)| rest.starts_with(':')).map(|(key, _)| key);
        }
    }
    let (key, rest) = line.split_once(':')?;
    let is_key = (rest.is_empty() || rest.starts_with(' ')) && !key.starts_with(['#', '{', '[', '&']);
    is_key.then(|| key.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_by_their_indent() {
        const TEXT: &str = "# data: no\napiVersion: v1\ndata:\n    \"a\": x\n    b.c: y\nlist:\n    - one: 1\n      two: 2\n\
            metadata:\n    name: a\n    data:\n        a: z\nsops:\n    age:\n        - enc: |\n            a:b\n          recipient: r\n    mac: m\n";
        for (path, line) in [
            (&["apiVersion"][..], Some(2)),
            (&["data"], Some(3)),
            (&["data", "a"], Some(4)),
            (&["data", "b.c"], Some(5)),
            (&["list", "two"], Some(8)),
            (&["metadata", "data", "a"], Some(12)),
            (&["sops", "mac"], Some(18)),
            (&["sops", "age", "recipient"], Some(17)),
            (&["a"], None),
            (&["data", "a", "b"], None),
        ] {
            assert_eq!(line_of(TEXT, path), line, "{path:?}");
        }
        assert_eq!(line_of("{data: {a: b}}\n", &["data", "a"]), None);
    }

    #[test]
    fn items_are_counted_by_their_dashes() {
        const FLUSH: &str =
            "# one\nfiles:\n- path: a\n  sub:\n  - x\n  - y\n\n- path: b\n-\n  path: c\nobjects:\n- path: d\n";
        const INDENTED: &str = "objects:\n    - a: |\n        - no\n    - b: 1\nfiles: []\n";
        for (text, list, item, line) in [
            (FLUSH, "files", 0, Some(3)),
            (FLUSH, "files", 1, Some(8)),
            (FLUSH, "files", 2, Some(9)),
            (FLUSH, "files", 3, None),
            (FLUSH, "objects", 0, Some(12)),
            (FLUSH, "objects", 1, None),
            (FLUSH, "path", 0, None),
            (INDENTED, "objects", 1, Some(4)),
            (INDENTED, "files", 0, None),
        ] {
            assert_eq!(line_of_item(text, list, item), line, "{list}[{item}]");
        }
    }
}
