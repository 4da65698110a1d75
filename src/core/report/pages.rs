//! Pages: what the documentation says of each code, from the program itself.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Class, Code};

const REFUSED: &str = include_str!("../../../docs/findings/refused.md");
const BROKEN: &str = include_str!("../../../docs/findings/broken.md");
const HELD: &str = include_str!("../../../docs/findings/held.md");
const SOURCE: &str = include_str!("../../../docs/findings/source.md");
const FAULT: &str = include_str!("../../../docs/findings/fault.md");
const NOTICE: &str = include_str!("../../../docs/findings/notice.md");

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
    let head = format!("\n## `{}`\n", code.text());
    let rest = all.split_once(&head).map(|(_, rest)| rest).unwrap_or_default();
    rest.split_once("\n## ").map_or(rest, |(page, _)| page).trim()
}

/// The page of a code as text: a line about the code, and its [page] without links.
pub fn text(code: Code) -> String {
    let head = format!("{} ({}, {})", code.text(), code.severity().word(), code.class().word());
    format!("{head}\n\n{}\n", without_links(page(code)))
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
    }

    #[test]
    fn links_are_words_and_code_stays() {
        let markdown = "a [b](c.md#d) e [f](g).\n```sh\n[x](y)\n```\n[h](i)";
        assert_eq!(without_links(markdown), "a b e f.\n```sh\n[x](y)\n```\nh");
    }
}
