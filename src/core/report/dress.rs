//! Results as a terminal shows them: with the colours of findings, and of what becomes of things.
//!
//! Lines are told apart by the words that they begin with, so whatever writes a result for people need not know of
//! colours.

use alloc::format;
use alloc::string::String;

use super::text::Paint;
use crate::finding::Severity;

/// Words for what becomes of an object or a region, and their colours (ECMA-48, SGR).
const WORDS: [(&str, &str); 32] = [
    ("added", "32"),
    ("joined", "32"),
    ("published", "32"),
    ("would be published", "32"),
    ("applied", "32"),
    ("changed", "33"),
    ("resealed", "36"),
    ("sealed anew", "36"),
    ("handover", "36"),
    ("left", "36"),
    ("carried", "33"),
    ("held", "1;33"),
    ("would be held", "1;33"),
    ("withdrawn", "31"),
    ("would be withdrawn", "31"),
    ("removed", "31"),
    ("refused", "1;31"),
    ("broken", "1;31"),
    ("failed", "1;31"),
    ("would be sealed anew", "36"),
    ("proved", "32"),
    ("not proved", "1;31"),
    ("as published", "32"),
    ("not as published", "1;31"),
    ("recipients", "36"),
    ("retagged", "36"),
    ("altered", "31"),
    ("current", "2"),
    ("needed", "2"),
    ("as listed", "2"),
    ("unchanged", "2"),
    ("paused", "2"),
];

/// A result with colours, if any are wanted.
pub fn dressed(text: &str, paint: Paint) -> String {
    match paint {
        Paint::Plain => String::from(text),
        Paint::Colours => text.split_inclusive('\n').map(line).collect(),
    }
}

fn line(whole: &str) -> String {
    let (text, end) = whole.strip_suffix('\n').map_or((whole, ""), |text| (text, "\n"));
    let body = text.trim_start_matches(' ');
    let indent = " ".repeat(text.len().saturating_sub(body.len()));
    let of_name = || if indent.is_empty() { commit(body) } else { word(body) };
    let body = finding(body).or_else(|| mark(body)).or_else(|| behind(body)).or_else(of_name).or_else(|| heading(body));
    match body {
        Some(body) => format!("{indent}{body}{end}"),
        None => String::from(whole),
    }
}

/// What becomes of a region, or of something in it, behind its name.
fn behind(body: &str) -> Option<String> {
    let (name, rest) = body.split_once("  ")?;
    let rest_of = rest.trim_start_matches(' ');
    let gap = " ".repeat(rest.len().saturating_sub(rest_of.len()));
    Some(format!("{}  {gap}{}", Paint::Colours.with("1", name), word(rest_of)?))
}

/// The head of a commit: its name, when it was made, and its title.
fn commit(body: &str) -> Option<String> {
    const NAME: usize = 10;
    let (name, rest) = body.split_once("  ")?;
    let is_name = name.len() == NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| format!("{}  {rest}", Paint::Colours.with("33", name)))
}

/// A line over others.
fn heading(body: &str) -> Option<String> {
    body.ends_with(':').then(|| Paint::Colours.with("1", body))
}

/// The head of a finding: `error[code]: message`.
fn finding(body: &str) -> Option<String> {
    let (head, message) = body.split_once("]: ")?;
    let (kind, _) = head.split_once('[')?;
    let severity = [Severity::Error, Severity::Warning, Severity::Info].into_iter().find(|it| it.word() == kind)?;
    Some(format!("{}: {}", Paint::Colours.severity(severity, &format!("{head}]")), Paint::Colours.with("1", message)))
}

/// The other lines of a finding.
fn mark(body: &str) -> Option<String> {
    let mark = ["-->", "= help:", "="].into_iter().find(|mark| body.starts_with(&format!("{mark} ")))?;
    Some(format!("{}{}", Paint::Colours.with("1;34", mark), body.strip_prefix(mark)?))
}

/// A word for what becomes of something, and what follows it after more than one space.
fn word(body: &str) -> Option<String> {
    let is_whole = |rest: &str| rest.is_empty() || rest.starts_with("  ");
    let (word, code) = WORDS.into_iter().find(|(word, _)| body.strip_prefix(word).is_some_and(is_whole))?;
    Some(format!("{}{}", Paint::Colours.with(code, word), body.strip_prefix(word)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_dressed_by_their_first_words_and_say_the_same() {
        for (text, expect) in [
            ("  added      Secret a/b\n", "  \u{1b}[32madded\u{1b}[0m      Secret a/b\n"),
            (
                "eu  would be held  would be: 1 added\n",
                "\u{1b}[1meu\u{1b}[0m  \u{1b}[1;33mwould be held\u{1b}[0m  would be: 1 added\n",
            ),
            ("eu-west  published  8 objects\n", "\u{1b}[1meu-west\u{1b}[0m  \u{1b}[32mpublished\u{1b}[0m  8 objects\n"),
            ("eu       withdrawn\n", "\u{1b}[1meu\u{1b}[0m       \u{1b}[31mwithdrawn\u{1b}[0m\n"),
            ("  error[unread]: x\n", "  \u{1b}[1;31merror[unread]\u{1b}[0m: \u{1b}[1mx\u{1b}[0m\n"),
            ("    = help: do\n", "    \u{1b}[1;34m= help:\u{1b}[0m do\n"),
            ("    --> a:1:1", "    \u{1b}[1;34m-->\u{1b}[0m a:1:1"),
            ("  eu  changed     Secret a/b", "  \u{1b}[1meu\u{1b}[0m  \u{1b}[33mchanged\u{1b}[0m     Secret a/b"),
            ("eu  proved  8 objects\n", "\u{1b}[1meu\u{1b}[0m  \u{1b}[32mproved\u{1b}[0m  8 objects\n"),
            ("0123456789  today  eu: 1 change\n", "\u{1b}[33m0123456789\u{1b}[0m  today  eu: 1 change\n"),
            ("Published now:\n", "\u{1b}[1mPublished now:\u{1b}[0m\n"),
        ] {
            assert_eq!(dressed(text, Paint::Colours), expect);
            assert_eq!(dressed(text, Paint::Plain), text);
        }
        for text in ["added to\n", "  added to it\n", "a  b\n", "error[x] y\n", "==\n", "\n", "1 error\n"] {
            assert_eq!(dressed(text, Paint::Colours), text);
        }
    }
}
