//! Pages: what the documentation says of each code, from the program itself.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::Tone;
use super::terminal::Paint;
use super::wrap::wrap;
use crate::finding::{Class, Code, Severity};

const REFUSED: &str = include_str!("../../../docs/findings/refused.md");
const BROKEN: &str = include_str!("../../../docs/findings/broken.md");
const HELD: &str = include_str!("../../../docs/findings/held.md");
const SOURCE: &str = include_str!("../../../docs/findings/source.md");
const FAULT: &str = include_str!("../../../docs/findings/fault.md");
const NOTICE: &str = include_str!("../../../docs/findings/notice.md");
const EXIT_CODES: &str = include_str!("../../../docs/exit-codes.md");

/// A page of the documentation, found by a word of the output.
#[derive(Clone, Copy)]
pub struct Page {
    /// The word.
    pub word: &'static str,
    /// The class of the finding, or the exit code of a run that is refused.
    kind: &'static str,
    severity: Severity,
    /// Markdown: severity and meaning, why, an example, and the cure.
    markdown: &'static str,
}

/// The words with which a run is refused before there are findings, and its exit code.
pub const REFUSALS: [(&str, &str); 2] = [("first-publication", "exit code 64"), ("unsigned-tip", "exit code 5")];

impl Page {
    /// The page of a code.
    pub fn of(code: Code) -> Self {
        Self { word: code.text(), kind: code.class().word(), severity: code.severity(), markdown: page(code) }
    }

    /// The page with this word: the code of a finding, also one of before the first release, or of a refusal.
    pub fn about(word: &str) -> Option<Self> {
        let refusal = || {
            let (word, kind) = REFUSALS.into_iter().find(|(refusal, _)| *refusal == word)?;
            Some(Self { word, kind, severity: Severity::Error, markdown: section(EXIT_CODES, word) })
        };
        Code::parse(word).map(Self::of).or_else(refusal)
    }

    fn head(&self) -> String {
        format!("{} ({}, {})", self.word, self.severity.word(), self.kind)
    }

    /// The page as text: a line about the word, and what is said without links.
    pub fn text(&self) -> String {
        format!("{}\n\n{}\n", self.head(), without_links(self.markdown))
    }

    /// The page as a terminal shows it: words as wide as it is, no marks of Markdown.
    pub fn plain(&self, paint: Paint, width: Option<usize>) -> String {
        let mut out = format!("{}\n\n", paint.with(self.severity.into(), &self.head()));
        let mut is_code = false;
        for line in without_links(self.markdown).lines() {
            match (line.strip_prefix("```"), is_code) {
                (Some(words), false) => {
                    is_code = true;
                    // A language, and then the file that the lines are of.
                    let file = words.split(' ').next_back().filter(|word| word.contains('.'));
                    out.push_str(&file.map(|file| format!("  {file}:\n")).unwrap_or_default());
                }
                (Some(_), true) => is_code = false,
                // What is meant to be copied stays as it is.
                (None, true) => out.push_str(&format!("    {line}\n")),
                (None, false) => {
                    let bare = line.trim_start_matches('#').trim_start_matches(' ');
                    match bare.len() < line.len() && line.starts_with('#') {
                        true => out.push_str(&paint.with(Tone::Strong, bare)),
                        false => out.push_str(&spans(&wrap(line, width).replace("\n    ", "\n"), paint)),
                    }
                    out.push('\n');
                }
            }
        }
        out
    }
}

/// What is said of a code, as Markdown: severity and meaning, why, an example, and the cure.
pub fn page(code: Code) -> &'static str {
    let all = match code.class() {
        Class::Refused => REFUSED,
        Class::Broken => BROKEN,
        Class::Held => HELD,
        Class::Source => SOURCE,
        Class::Fault => FAULT,
        Class::Notice => NOTICE,
    };
    section(all, code.text())
}

fn section(all: &'static str, word: &str) -> &'static str {
    let head = format!("\n## `{word}`\n");
    let rest = all.split_once(&head).map(|(_, rest)| rest).unwrap_or_default();
    rest.split_once("\n## ").map_or(rest, |(page, _)| page).trim()
}

/// A paragraph in which `**` and backticks are colours; without colours, code stays between backticks.
fn spans(text: &str, paint: Paint) -> String {
    let bold =
        |(nth, part): (usize, &str)| if nth % 2 == 1 { paint.with(Tone::Strong, part) } else { String::from(part) };
    let code = |(nth, part): (usize, &str)| match (nth % 2 == 1, paint) {
        (true, Paint::Colours) => paint.with(Tone::Code, part),
        (true, Paint::Plain) => format!("`{part}`"),
        (false, _) => part.split("**").enumerate().map(bold).collect(),
    };
    text.split('`').enumerate().map(code).collect()
}

/// Markdown whose links are words: where it is shown, the other pages are not beside it.
pub fn without_links(markdown: &str) -> String {
    let mut out = String::with_capacity(markdown.len());
    let mut is_code = false;
    let lines: Vec<&str> = markdown.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        if at > 0 {
            out.push('\n');
        }
        is_code ^= line.starts_with("```");
        let mut rest = *line;
        while let Some((before, label, after)) = link(rest).filter(|_| !is_code) {
            out.push_str(before);
            out.push_str(label);
            rest = after;
        }
        out.push_str(rest);
    }
    out
}

/// The first link of a line: what stands before it, its words, and what stands after it.
fn link(line: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = line.split_once("](")?;
    let (_, after) = rest.split_once(')')?;
    let (before, label) = before.rsplit_once('[')?;
    Some((before, label, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page() {
        for code in Code::ALL {
            let page = page(*code);
            assert!(page.starts_with("**") && page.contains(code.meaning()), "{}: {page}", code.text());
            assert!(!without_links(page).contains("]("), "{}", code.text());
        }
        for (word, kind) in REFUSALS {
            let text = Page::about(word).unwrap().text();
            assert!(text.starts_with(&format!("{word} (error, {kind})\n\n**")) && text.contains("**Cure.**"), "{text}");
        }
    }

    #[test]
    fn a_terminal_is_shown_words_and_no_marks() {
        for code in Code::ALL {
            let shown = Page::of(*code).plain(Paint::Plain, Some(60));
            assert!(!shown.contains("**") && !shown.contains("```"), "{shown}");
            let words = shown.lines().filter(|line| !line.starts_with("  "));
            assert!(words.clone().all(|line| line.len() <= 60 || line.contains('`')), "{shown}");
            let marked = Page::of(*code).plain(Paint::Colours, Some(60));
            assert!(
                marked.contains("\u{1b}[1m")
                    && marked.lines().all(|line| line.starts_with("  ") || !line.contains('`'))
            );
        }
        let shown = Page::of(Code::MissingReference).plain(Paint::Plain, Some(60));
        assert!(shown.starts_with("missing-reference (error, broken)\n\nError. A claim needs"), "{shown}");
        assert!(shown.contains("\n  manifests/aws.yaml:\n    -  secretRef: aws-key\n"), "{shown}");
    }

    #[test]
    fn links_are_words_and_code_stays() {
        let markdown = "a [b](c.md#d) e [f](g).\n```sh\n[x](y)\n```\n[h](i)";
        assert_eq!(without_links(markdown), "a b e f.\n```sh\n[x](y)\n```\nh");
    }
}
