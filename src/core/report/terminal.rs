//! Documents on a terminal, or as plain text: an indent is two columns, and tones are colours if any are wanted.

use alloc::string::String;

use super::document::{Block, Document, Text, Tone};
use super::escape;

/// The look of tones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Paint {
    /// Colours.
    Colours,
    /// None.
    Plain,
}

impl Paint {
    /// Dresses words, which are escaped already, in an SGR sequence (ECMA-48), if colours are wanted.
    pub fn with(self, tone: Tone, words: &str) -> String {
        match (self, code(tone)) {
            (Paint::Colours, Some(code)) => format!("\u{1b}[{code}m{words}\u{1b}[0m"),
            _ => String::from(words),
        }
    }
}

fn code(tone: Tone) -> Option<&'static str> {
    Some(match tone {
        Tone::Plain => return None,
        Tone::Strong => "1",
        Tone::Dim => "2",
        Tone::Mark => "1;34",
        Tone::Error | Tone::Refused | Tone::Broken => "1;31",
        Tone::Warning | Tone::Held => "1;33",
        Tone::Info => "1;36",
        Tone::Withdrawn => "31",
        Tone::Good | Tone::Added | Tone::Joined => "32",
        Tone::Commit | Tone::Changed | Tone::Carried => "33",
        Tone::Code | Tone::Resealed | Tone::Left | Tone::Handover => "36",
    })
}

/// The document as text, which ends in a line feed if there is any.
pub fn terminal(document: &Document, paint: Paint) -> String {
    let mut out = String::new();
    for block in document.blocks() {
        match block {
            Block::Heading(_, text) | Block::Paragraph(text) | Block::Line(text) => out.push_str(&line(text, paint)),
            Block::Item(depth, text) => {
                out.push_str(&"  ".repeat(*depth));
                out.push_str(&line(text, paint));
            }
            Block::Fold(text) => out.push_str(&line(text, paint)),
            Block::Blank | Block::EndOfFold => {}
        }
        out.push('\n');
    }
    out
}

fn line(text: &Text, paint: Paint) -> String {
    let mut out = String::new();
    for run in text.spans().chunk_by(|one, next| one.tone == next.tone) {
        let mut words = String::new();
        for span in run {
            let shown = escape(&span.words);
            words.push_str(&match &span.link {
                // OSC 8.
                Some(link) => format!("\u{1b}]8;;{link}\u{1b}\\{shown}\u{1b}]8;;\u{1b}\\"),
                None => shown,
            });
        }
        out.push_str(&paint.with(run.first().map_or(Tone::Plain, |span| span.tone), &words));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_the_colours_of_their_tones_and_say_the_same() {
        let name = || Text::of(Tone::Strong, "eu");
        for (text, depth, plain, colours) in [
            (
                Text::column(Tone::Added, "added", 9).then("Secret a/b"),
                1,
                "  added      Secret a/b\n",
                "  \u{1b}[32madded\u{1b}[0m      Secret a/b\n",
            ),
            (
                name().then("  ").and_column(Tone::Held, "would be held", 0).then("would be: 1 added"),
                0,
                "eu  would be held  would be: 1 added\n",
                "\u{1b}[1meu\u{1b}[0m  \u{1b}[1;33mwould be held\u{1b}[0m  would be: 1 added\n",
            ),
            (
                Text::of(Tone::Error, "error[")
                    .and(Tone::Error, "unread")
                    .linked(Some("file://x"))
                    .and(Tone::Error, "]"),
                0,
                "error[\u{1b}]8;;file://x\u{1b}\\unread\u{1b}]8;;\u{1b}\\]\n",
                "\u{1b}[1;31merror[\u{1b}]8;;file://x\u{1b}\\unread\u{1b}]8;;\u{1b}\\]\u{1b}[0m\n",
            ),
            (
                Text::of(Tone::Mark, "= help:").then(" do"),
                2,
                "    = help: do\n",
                "    \u{1b}[1;34m= help:\u{1b}[0m do\n",
            ),
            (Text::from("a\u{1b}[31m\nb"), 0, "a\\u{1b}[31m\\u{a}b\n", "a\\u{1b}[31m\\u{a}b\n"),
        ] {
            let mut document = Document::default();
            document.item(depth, text);
            assert_eq!(terminal(&document, Paint::Plain), plain);
            assert_eq!(terminal(&document, Paint::Colours), colours);
        }
    }
}
