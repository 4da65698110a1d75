//! Lines as wide as a terminal.
//!
//! A terminal breaks a long line wherever it ends, in the middle of words. Here it ends after a word, and goes on further
//! in. What is meant to be copied stays together: a place, what stands between backticks, a flag and its value.

use alloc::string::String;
use alloc::vec::Vec;

use unicode_width::UnicodeWidthChar as _;

/// The least width at which lines are broken; what is narrower is nothing to read in.
const LEAST: usize = 40;

/// How much further in a line goes on than it began.
const FURTHER: usize = 4;

/// Breaks the lines of a text that are wider than so many columns; none are where no width is known.
pub fn wrap(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|width| *width >= LEAST) else { return String::from(text) };
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        match columns(line) > width && !is_place(line) {
            true => broken(&mut out, line, width),
            false => out.push_str(line),
        }
    }
    out
}

fn broken(out: &mut String, line: &str, width: usize) {
    let start = line.bytes().take_while(|byte| *byte == b' ').count();
    let further = start.saturating_add(FURTHER);
    out.push_str(&" ".repeat(start));
    let mut at = start;
    let mut is_first = true;
    for piece in pieces(line.trim_start_matches(' ').trim_end_matches('\n')) {
        let wide = columns(&piece);
        match is_first {
            true => {}
            false if at.saturating_add(1).saturating_add(wide) > width => {
                out.push('\n');
                out.push_str(&" ".repeat(further));
                at = further;
            }
            false => {
                out.push(' ');
                at = at.saturating_add(1);
            }
        }
        is_first = false;
        out.push_str(&piece);
        at = at.saturating_add(wide);
    }
    if line.ends_with('\n') {
        out.push('\n');
    }
}

/// The parts of a line between which it may be broken.
fn pieces(line: &str) -> Vec<String> {
    let mut pieces: Vec<String> = Vec::new();
    let mut is_open = false;
    for word in line.split(' ') {
        // No line begins with what a CI system could obey.
        let follows =
            is_open || word.starts_with("::") || pieces.last().is_some_and(|last| is_flag(last) || last.is_empty());
        match pieces.last_mut().filter(|_| follows) {
            Some(last) => {
                last.push(' ');
                last.push_str(word);
            }
            None => pieces.push(String::from(word)),
        }
        if word.matches('`').count() % 2 == 1 {
            is_open = !is_open;
        }
    }
    pieces
}

/// Whether a line says where something stands.
fn is_place(line: &str) -> bool {
    let mut rest = line.trim_start();
    while let Some((_, after)) = rest.strip_prefix('\u{1b}').and_then(|dressed| dressed.split_once('m')) {
        rest = after;
    }
    rest.starts_with("-->")
}

/// Whether what follows may be a flag's value.
fn is_flag(piece: &str) -> bool {
    let last = piece.rsplit(' ').next().unwrap_or_default();
    last.starts_with("--") && last.ends_with(|char: char| char.is_ascii_alphanumeric())
}

/// How many columns a text takes; sequences that dress it (ECMA-48, SGR) or make it a link (OSC 8) take none.
fn columns(text: &str) -> usize {
    let mut count = 0_usize;
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        match char {
            '\u{1b}' => {
                // A link's own sequence ends with `ESC \`.
                let end = if chars.next() == Some(']') { '\\' } else { 'm' };
                while chars.next().is_some_and(|char| char != end) {}
            }
            char => count = count.saturating_add(char.width().unwrap_or_default()),
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_below_after_a_word() {
        let text = "error[x]: one two three four five six seven eight nine ten\n  = help: short\n";
        let expected = "error[x]: one two three four five six\n    seven eight nine ten\n  = help: short\n";
        assert_eq!(wrap(text, Some(40)), expected);
        assert_eq!(wrap(text, None), text);
        assert_eq!(wrap(text, Some(10)), text);
        // A wider word stands alone, and is whole.
        let long = "x".repeat(60);
        assert_eq!(wrap(&format!("  = help: a {long} b\n"), Some(40)), format!("  = help: a\n      {long}\n      b\n"));
    }

    #[test]
    fn what_is_copied_stays_together() {
        let wide = Some(44);
        let text = "  = help: Read the page, or run `pouch help missing-reference` now.\n";
        assert!(wrap(text, wide).contains("\n      `pouch help missing-reference` now.\n"), "{}", wrap(text, wide));
        let text = "  = help: If it is intended, pass --accept-deletions eu=0123456789abcdef.\n";
        assert!(wrap(text, wide).contains("\n      --accept-deletions eu=0123456789abcdef.\n"), "{}", wrap(text, wide));
        let place = format!("  --> {}:1:1 in a source\n", "a b".repeat(20));
        assert_eq!(wrap(&place, wide), place);
        let dressed = place.replace("-->", "\u{1b}[1;34m-->\u{1b}[0m");
        assert_eq!(wrap(&dressed, wide), dressed);
        let text = format!("  = {} ::error::x\n", "y".repeat(30));
        assert!(!wrap(&text, wide).contains("\n      ::"), "{}", wrap(&text, wide));
    }

    #[test]
    fn colours_take_no_room_and_wide_characters_two() {
        assert_eq!(columns("\u{1b}[1;31merror\u{1b}[0m"), 5);
        assert_eq!(columns("名前"), 4);
        assert_eq!(columns("e\u{301}"), 1);
    }

    /// Whatever stands in a text, no word of it is lost or parted, and nothing is wider than it must be.
    #[test]
    fn no_word_is_lost() {
        let words =
            ["a", "`b c", "d`", "--flag", "value", "longer-than-others", "名前", "e.", ",", "\u{1b}[1mf\u{1b}[0m"];
        let mut state = 7_usize;
        for _ in 0..2000 {
            let mut line = String::new();
            for _ in 0..state % 23 {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                line.push_str(words[(state >> 33) % words.len()]);
                line.push(' ');
            }
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let wrapped = wrap(&line, Some(40));
            let plain = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
            assert_eq!(plain(&wrapped), plain(&line));
        }
    }
}
