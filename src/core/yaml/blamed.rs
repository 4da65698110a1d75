//! Blamed: whether a document cannot be read, or is something else, because of blanks that are no spaces.
//!
//! That is proved: the document is read once more with spaces for them.

use alloc::borrow::Cow;

use super::Flaw;
use super::lines::line_in;
use super::read::read;
use super::stream::Document;
use crate::blank;
use crate::node::{Interner, Node};

/// A flaw of a document, or the blank that is the cause of it.
pub fn blamed(document: &Document<'_>, flaw: Flaw) -> Flaw {
    let place = |flaw: &Flaw| (flaw.line, flaw.column);
    let is_cause = match spaced(document) {
        None => false,
        Some(Ok(_)) => true,
        Some(Err(later)) => place(&later) > place(&flaw),
    };
    if is_cause { nearest(document, flaw.line).unwrap_or(flaw) } else { flaw }
}

/// The blank because of which a document is not what it should be, if it would be that with spaces.
pub fn misread(document: &Document<'_>, is_right: impl Fn(&Node) -> bool) -> Option<Flaw> {
    spaced(document)?.ok().filter(is_right)?;
    nearest(document, document.line)
}

fn spaced(document: &Document<'_>) -> Option<Result<Node, Flaw>> {
    let text = blank::corrected(document.text)?;
    Some(read(&Document { text: &text, ..*document }, &mut Interner::new()))
}

fn nearest(document: &Document<'_>, line: u32) -> Option<Flaw> {
    let within = line.saturating_sub(document.first_line).saturating_add(1);
    let (spot, said) = blank::nearest(document.text, within)?;
    Some(Flaw { line: line_in(document.first_line, spot.line), column: spot.column, what: Cow::Owned(said) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::{String, ToString as _};

    fn said(text: &str) -> String {
        let document = Document { text, line: 11, first_line: 11 };
        match read(&document, &mut Interner::new()) {
            Ok(_) => "read".into(),
            Err(flaw) => blamed(&document, flaw).to_string(),
        }
    }

    #[test]
    fn a_blank_is_blamed_where_a_space_would_do() {
        const BLANK: &str = "there is a no-break space (U+00A0) where a blank should be";
        for (text, expect) in [
            ("a: b\nc:\u{a0}d\ne: f\n", "line 12, column 3: "),
            ("a:\n\u{a0}\u{a0}b: c\n  d: e\n", "line 12, column 1: "),
            ("a:\n  b:\n\u{a0}\nc: d\n", "line 13, column 1: "),
            ("a: b\nc:\u{a0}d\ne: f\ng: h\ng: i\n", "line 12, column 3: "),
        ] {
            assert_eq!(said(text), format!("{expect}{BLANK}"), "{text:?}");
        }
        // Another fault before it, and a blank that does no harm.
        for text in ["a: b\na: c\nd:\u{a0}e\nf: g\n", "a: b\u{a0}\nc: d\nc: e\n", "a: one\u{a0}two\nb: {\n"] {
            assert!(!said(text).contains(BLANK) && said(text) != "read", "{text:?}: {}", said(text));
        }
        assert_eq!(said("a: one\u{a0}two\n"), "read");
    }

    #[test]
    fn a_document_that_would_be_right_with_spaces_is_misread() {
        let is_right = |node: &Node| node.at(&["kind"]).is_some();
        let misread = |text| misread(&Document::whole(text), is_right).map(|flaw| (flaw.line, flaw.column));
        assert_eq!(misread("a: b\nkind\u{a0}: c\n"), Some((2, 5)));
        assert_eq!(misread("kind:\u{a0}c\n"), Some((1, 6)));
        assert_eq!((misread("kid:\u{a0}c\n"), misread("kid: c\n")), (None, None));
    }
}
