//! What is expected in a place, in words for the person who wrote something else.
//!
//! Only for the files of our own formats, whose fields may be named. Values never are: people paste
//! keys into the wrong line.

use alloc::string::String;
use alloc::vec::Vec;

use crate::nearest::suggested;

/// Says that a field is unknown, and which one was probably meant.
pub(super) fn unknown_field(field: &str, expected: &[&'static str]) -> String {
    // A field is named as it was typed only where it looks like a name: a key or token pasted as a
    // field has no business in a log.
    let is_name = field.len() <= 40 && field.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.".contains(&b));
    let subject =
        if is_name && !field.is_empty() { format!("unknown field `{field}`") } else { "unknown field".into() };
    match (suggested(field, expected.iter().copied()), expected) {
        (Some(name), _) => format!("{subject}; did you mean `{name}`?"),
        (None, []) => format!("{subject}; there are no fields here"),
        (None, names) => format!("{subject}; the fields here are {}", listed(names)),
    }
}

/// Says that a word is not allowed, and which one was probably meant.
pub(super) fn unknown_word(word: &str, expected: &[&'static str]) -> String {
    match suggested(word, expected.iter().copied()) {
        Some(name) => format!("unknown word; did you mean `{name}`?"),
        None => format!("one of {} is expected here", listed(expected)),
    }
}

fn listed(names: &[&'static str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}

/// What serde or the parser wants, in our words.
pub(super) fn kind(expected: &str) -> &'static str {
    let names = |words: &[&str]| words.iter().any(|word| expected.contains(word));
    if names(&["bool"]) {
        "`true` or `false`"
    } else if names(&["sequence", "tuple", "array", "list"]) {
        "a list"
    } else if names(&["struct", "map"]) {
        "a map"
    } else if names(&["string", "str", "char", "scalar"]) {
        "text"
    } else if names(&["u8", "u16", "u32", "u64", "usize", "nonzero", "unsigned"]) {
        "a whole number from zero"
    } else if names(&["i8", "i16", "i32", "i64", "integer"]) {
        "a whole number"
    } else if names(&["f32", "f64", "float"]) {
        "a number"
    } else {
        "another value"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_offered_if_it_is_near() {
        let fields = &["recipients", "recipientsFile", "state"];
        assert_eq!(unknown_field("recipient", fields), "unknown field `recipient`; did you mean `recipients`?");
        assert_eq!(unknown_field("recipeints", fields), "unknown field `recipeints`; did you mean `recipients`?");
        assert_eq!(
            unknown_field("RecipientsFile", fields),
            "unknown field `RecipientsFile`; did you mean `recipientsFile`?"
        );
        assert_eq!(
            unknown_field("colour", fields),
            "unknown field `colour`; the fields here are `recipients`, `recipientsFile`, `state`"
        );
        assert_eq!(unknown_field("x", &[]), "unknown field `x`; there are no fields here");
    }

    #[test]
    fn what_is_no_name_is_not_shown() {
        let key = "AGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ";
        assert_eq!(unknown_field(key, &["a"]), "unknown field; the fields here are `a`");
        assert_eq!(unknown_field("a\u{1b}[0m", &["state"]), "unknown field; the fields here are `state`");
        assert_eq!(unknown_word("CANARY", &["active", "paused"]), "one of `active`, `paused` is expected here");
        assert_eq!(unknown_word("pause", &["active", "paused"]), "unknown word; did you mean `paused`?");
    }
}
