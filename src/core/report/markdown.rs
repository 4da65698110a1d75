//! Documents in Markdown, for a comment on a pull request or an issue.
//!
//! Words of anybody's belong into code: there neither HTML nor Markdown counts, and GitHub makes no mention, link or emoji
//! of them. <https://github.github.com/gfm/#code-spans>

use alloc::string::String;

use super::document::{Block, Document, Text, Tone};
use super::escape;
use crate::listing::counted;

/// The longest comment that GitHub takes, in characters.
const MOST: usize = 65_536;

/// The room that is kept for the last words.
const LAST_WORDS: usize = 256;

/// A document that is no longer than a comment may be; it ends with how many lines there was no room for, and the command
/// that shows all.
pub fn markdown(document: &Document, whole: &str) -> String {
    let mut out = String::new();
    const ROOM: usize = MOST - LAST_WORDS;
    let mut room = ROOM;
    let mut is_folded = false;
    for (at, block) in document.blocks().iter().enumerate() {
        let line = line(block);
        let Some(left) = room.checked_sub(line.chars().count()) else {
            // Once a line is left out, none follows that would seem to belong to another one.
            let rest = document.blocks().iter().skip(at);
            let rest = rest.filter(|block| !matches!(block, Block::EndOfFold)).count();
            out.push_str(if is_folded { END_OF_FOLD } else { "" });
            out.push_str(&format!("\n… and {} more. `{whole}` tells all.\n", counted(rest, "line", "lines")));
            break;
        };
        match block {
            Block::Fold(_) => is_folded = true,
            Block::EndOfFold => is_folded = false,
            _ => {}
        }
        room = left;
        out.push_str(&line);
    }
    out
}

/// The end of what is folded: <https://html.spec.whatwg.org/multipage/interactive-elements.html#the-details-element>
const END_OF_FOLD: &str = "\n</details>\n\n";

fn line(block: &Block) -> String {
    match block {
        Block::Heading(level, text) => format!("{} {}\n\n", "#".repeat(*level), spans(text)),
        Block::Paragraph(text) => format!("{}\n\n", spans(text)),
        Block::Line(text) => format!("{}\n", spans(text)),
        Block::Item(depth, text) => format!("{}- {}\n", "  ".repeat(*depth), spans(text)),
        Block::Blank => String::from("\n"),
        // Inside of it Markdown counts again after an empty line.
        Block::Fold(text) => format!("<details><summary>{}</summary>\n\n", spans(text)),
        Block::EndOfFold => String::from(END_OF_FOLD),
    }
}

fn spans(text: &Text) -> String {
    let span = |tone, words: &str| match tone {
        Tone::Code => code(words),
        Tone::Strong => format!("**{}**", escape(words)),
        _ => escape(words),
    };
    text.spans().iter().map(|it| span(it.tone, &it.words)).collect()
}

/// A code span: of as many backticks as no run inside has.
fn code(text: &str) -> String {
    let text = escape(text);
    let runs = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(runs) + "`";
    // One space at each end is not shown, and keeps a backtick or a space of the text's own apart.
    let is_bare = !text.is_empty() && !text.starts_with(['`', ' ']) && !text.ends_with(['`', ' ']);
    let pad = if is_bare { "" } else { " " };
    format!("{fence}{pad}{text}{pad}{fence}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_whatever_stands_in_it() {
        for (text, expected) in [
            ("a", "`a`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            (" a", "`  a `"),
            ("", "`  `"),
            ("a\n<b>@c", "`a\\u{a}<b>@c`"),
        ] {
            assert_eq!(code(text), expected);
        }
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let mut out = Document::default();
        (0..9000).for_each(|_| out.item(0, "0123456789"));
        let text = markdown(&out, "pouch plan");
        assert!(text.chars().count() <= MOST, "{}", text.chars().count());
        let told = text.matches("0123456789").count();
        assert!(text.ends_with(&format!("… and {} lines more. `pouch plan` tells all.\n", 9000 - told)), "{text}");
    }

    #[test]
    fn what_is_folded_ends_where_there_is_no_more_room_too() {
        let folded = |lines: usize| {
            let mut out = Document::default();
            out.fold("old ones", |out| (0..lines).for_each(|_| out.item(0, "0123456789")));
            markdown(&out, "pouch plan")
        };
        assert_eq!(folded(1), "<details><summary>old ones</summary>\n\n- 0123456789\n\n</details>\n\n");
        let cut = folded(9000);
        assert!(cut.chars().count() <= MOST && cut.contains("\n</details>\n\n\n… and "));
    }
}
