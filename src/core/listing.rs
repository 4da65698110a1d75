//! Short lists for messages: the first things by name, the rest by number; and numbers of things.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt::Display;

/// `a, b and 3 more`: names at most `most` things of `count`; empty if there are none.
pub fn few<T: Display>(things: impl IntoIterator<Item = T>, count: usize, most: usize) -> String {
    and_more(things.into_iter().take(most).map(|thing| thing.to_string()).collect(), count)
}

/// The most characters of a list in a message, so that the message has no more than 300.
const WIDTH: usize = 100;

/// Like [`few`], and of these the first that fit into 100 characters: for messages with lists of names as long as may be.
pub fn few_that_fit<T: Display>(things: impl IntoIterator<Item = T>, count: usize, most: usize) -> String {
    let (mut named, mut width) = (Vec::new(), 0_usize);
    for thing in things.into_iter().take(most).map(|thing| thing.to_string()) {
        width = width.saturating_add(thing.chars().count()).saturating_add(2);
        if !named.is_empty() && width > WIDTH {
            break;
        }
        named.push(thing);
    }
    and_more(named, count)
}

fn and_more(named: Vec<String>, count: usize) -> String {
    match count.saturating_sub(named.len()) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// `1 file` or `3 files`: a number with its noun, `one` for one thing and `many` for others.
pub fn counted(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// `a, b, c`: all things by name.
pub fn all<T: Display>(things: impl IntoIterator<Item = T>) -> String {
    let named: Vec<String> = things.into_iter().map(|thing| thing.to_string()).collect();
    named.join(", ")
}

/// ` (and 3 more)`: the number of those beside the first, to stand behind it; empty if there are no others.
pub fn beside_first(count: usize) -> String {
    match count.saturating_sub(1) {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    }
}

/// The beginning of a text that has more than so many characters.
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => String::from(text),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_told_from_many() {
        for (number, expect) in [(0, "0 entries"), (1, "1 entry"), (2, "2 entries")] {
            assert_eq!(counted(number, "entry", "entries"), expect);
        }
    }

    #[test]
    fn a_list_is_short_whatever_its_names_are() {
        let long = ["a".repeat(60), "b".repeat(60), String::from("c")];
        assert_eq!(few_that_fit(&long, 3, 5), format!("{} and 2 more", long[0]));
        assert_eq!(few_that_fit(["x".repeat(200)], 1, 5), "x".repeat(200));
        assert_eq!(few_that_fit(["a", "b", "c"], 7, 2), "a, b and 5 more");
        assert!(few_that_fit(0..400, 400, 400).len() < 120);
    }

    #[test]
    fn the_first_is_not_counted_again() {
        for (count, expect) in [(0, ""), (1, ""), (2, " (and 1 more)")] {
            assert_eq!(beside_first(count), expect);
        }
    }

    #[test]
    fn all_are_named() {
        for (things, expect) in [(&[][..], ""), (&[1], "1"), (&[1, 2], "1, 2")] {
            assert_eq!(all(things), expect);
        }
    }

    #[test]
    fn what_is_too_long_ends_early() {
        for (text, expect) in [("", ""), ("né", "né"), ("néa", "né…")] {
            assert_eq!(cut(text, 2), expect);
        }
    }

    #[test]
    fn the_rest_is_counted() {
        for (things, expect) in
            [(&["a"][..], "a"), (&["a", "b"], "a, b"), (&["a", "b", "c"], "a, b and 1 more"), (&[], "")]
        {
            assert_eq!(few(things, things.len(), 2), expect);
        }
    }
}
