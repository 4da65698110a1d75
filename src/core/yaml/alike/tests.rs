//! The reader that remembers beside the one that does not.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::yaml::read::documents;

/// Reads a text as one document with a reader that may know others; says whether it did without the parser.
#[track_caller]
fn agree(reader: &mut Reader, text: &str) -> bool {
    let document = Document::whole(text);
    let plain = read::read(&document, &mut Interner::new());
    let alike = reader.like_others(text);
    if let Some(alike) = &alike {
        assert!(plain.as_ref().ok() == Some(alike), "the readers differ on:\n{text}");
    }
    let read = reader.read(&document);
    assert!(read.as_ref().ok() == plain.as_ref().ok() && read.as_ref().err() == plain.as_ref().err(), "{text}");
    alike.is_some()
}

/// Reads `of` three times, and then `other`; says whether both differ in their words alone.
#[track_caller]
fn check(of: &str, other: &str, is_alike: bool) {
    let mut reader = Reader::new();
    (0..3).for_each(|_| _ = agree(&mut reader, of));
    assert_eq!(agree(&mut reader, other), is_alike, "{of}\n{other}");
}

#[test]
fn words_change_and_nothing_else() {
    for (of, other, is_alike) in [
        ("a: b\n", "a: c\n", true),
        ("a: b\n", "a: b-c.d_e/f=\n", true),
        ("a: b\n", "a: 3x\n", true),
        ("a: QQ==\n", "a: /+w=\n", true),
        ("a: \"b\"\n", "a: \"long word\"\n", false),
        ("a: \"b\"\n", "a: \"longer\"\n", true),
        ("a: 'it''s'\n", "a: 'he''d'\n", true),
        ("a: b c, d (e)\n", "a: f g, h (i)\n", true),
        ("a:\n- b\n- c: d\n", "a:\n- x\n- c: z\n", true),
        ("a: {b: c, d: [e, f]}\n", "a: {b: 1x, d: [g, h]}\n", true),
        ("a: {}\n", "a: {}\n", true),
        ("a: |\n  b c\n  d\n", "a: |\n  e f\n  long\n", true),
        ("a: b # c\n", "a: d # e\n", true),
        ("a:\n  b\n  c\n", "a:\n  d\n  e\n", true),
        ("---\na: b\n", "---\na: c\n", true),
        ("--- a\n", "--- c\n", true),
        ("a: b:c\n", "a: d:e\n", true),
        // A word that is no text is not like one that is.
        ("a: b\n", "a: true\n", false),
        ("a: b\n", "a: 1\n", false),
        ("a: b\n", "a: 1e3\n", false),
        ("a: b\n", "a: ~\n", false),
        ("a: b\n", "a: .inf\n", false),
        ("a: 1\n", "a: 2\n", false),
        // Two words may make something else together.
        ("a: ~b\n", "a: ~c\n", true),
        ("a: b+c\n", "a: 1+2\n", true),
        // What begins otherwise may mean something else.
        ("a: b\n", "a: -\n", false),
        ("a: b\n", "a: -b\n", false),
        ("a: b\n", "a: .b\n", false),
        // Keys are no words.
        ("a: b\n", "c: b\n", false),
        ("{a: b}\n", "{c: b}\n", false),
        ("\"a\": b\n", "\"c\": b\n", false),
        ("{\"a\":\"b\"}\n", "{\"a\":\"c\"}\n", true),
        ("{\"a\":\"b\"}\n", "{\"c\":\"b\"}\n", false),
        ("{a, b}\n", "{c, d}\n", false),
        ("? a\n: b\n", "? c\n: d\n", false),
        // Nor is the header of a block scalar.
        ("a: |1\n  b\n", "a: |2\n  b\n", false),
        ("a: |+\n  b\n\n", "a: |-\n  b\n\n", false),
        ("a: >-\n  b\n", "a: >+\n  b\n", false),
        // What names something else of the text is left to the parser, and so is what the parser refuses.
        ("a: &b c\nd: *b\n", "a: &e c\nd: *e\n", false),
        ("a: !!str b\n", "a: !!int b\n", false),
        ("a: \"\\x41\"\n", "a: \"\\x42\"\n", false),
        ("a: %b\n", "a: %c\n", false),
        ("a: `b\n", "a: `c\n", false),
        ("a: b: c\n", "a: d: e\n", false),
        ("a: b\na: c\n", "a: d\na: e\n", false),
        ("a: [b\n", "a: [c\n", false),
        ("a:\tb\n", "a:\tc\n", false),
        ("a: é b\n", "a: é c\n", false),
        // A mark is told from what a text says.
        ("a: pouchMark000000\n", "a: pouchMark000001\n", false),
        ("a: b\n", "a: pouchMark000001\n", true),
        ("a: b pouchMark\n", "a: c d\n", false),
    ] {
        check(of, other, is_alike);
    }
}

#[test]
fn long_texts_and_lines_are_left_to_the_parser() {
    let long = |length: usize| format!("a: {}\n", "b".repeat(length));
    check("a: b\n", &long(990), true);
    check("a: b\n", &long(1000), false);
    check(&long(500), &long(1000), false);
    let many = |lines: usize| "- b\n".repeat(lines);
    check(&many(4000), &many(4000), true);
    check(&many(5000), &many(5000), false);
    // Marks are longer than words.
    let words = format!("a:{}\n", " b".repeat(300));
    check(&words, &words, false);
    // In braces a key may end lines later, if it ends soon.
    let spread = |word: &str| format!("{{\".k\" # {word}\n # {word}\n : a}}\n");
    check(&spread("word"), &spread("other"), true);
    check(&spread("word"), &spread(&"w".repeat(600)), false);
}

/// What is only to be read leaves nothing behind.
#[test]
fn what_is_forgotten_is_read_as_the_parser_reads_it() {
    let mut reader = Reader::new();
    let texts = ["a: b\n", "a: c\n", "a: 4711\n", "4711: b\n", "a: [\n"];
    let check = |reader: &mut Reader, text: &str| {
        let document = Document::whole(text);
        let plain = read::read(&document, &mut Interner::new());
        assert!(reader.read_and_forget(&document).ok() == plain.ok(), "{text}");
    };
    texts.iter().for_each(|text| check(&mut reader, text));
    assert!(reader.known.is_empty());
    (0..3).for_each(|_| _ = reader.read(&Document::whole("a: b\n")));
    texts.iter().for_each(|text| check(&mut reader, text));
    assert_eq!(reader.known.len(), 1);
}

#[test]
fn what_is_remembered_is_bounded() {
    let mut reader = Reader::new();
    for number in 0..2000 {
        let text = format!("{}a: b\n", format!("{number}: x\n- 7\n").repeat(40));
        agree(&mut reader, &text);
    }
    let bytes: usize = reader.known.keys().map(|between| between.len()).sum();
    assert!(bytes <= MOST_REMEMBERED && !reader.known.is_empty(), "{bytes}");
    assert!(!agree(&mut reader, "new: a\n") && !agree(&mut reader, "new: a\n"));
}

/// Parts of a text that are not words, and words that mean something.
fn part() -> impl Strategy<Value = String> {
    let odd = prop::sample::select(
        &[
            ": ", ":", "\n", "\n  ", "\n- ", "- ", " ", ", ", "{", "}", "[", "]", "\"", "'", "''", " #", "#", "|\n  ",
            ">\n  ", "|2\n   ", "|+\n  ", "~", "?", "? ", "@", "<", "<<: ", "--- ", "---\n", "...\n", "\n\n", "=", "+",
            ".", "-", "true", "null", "1", "0x1", "1e3", "1_0", ".inf", "&a ", "*a", "!!str ", "\\n", "\t", "é", "{}",
            "[]",
        ][..],
    );
    prop_oneof![
        3 => "[a-z][a-zA-Z0-9_./+=-]{0,5}",
        2 => "[a-c]: [a-z0-9]{1,3}\n",
        2 => "\n( ){0,3}[a-c]: ",
        1 => "[0-9+/=][a-z0-9.+_=-]{0,4}",
        1 => "[a-z]{300,700}",
        5 => odd.prop_map(ToString::to_string),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Texts in which each run of word characters is now one word, now another.
    #[test]
    fn any_text_is_read_as_the_parser_reads_it(
        parts in prop::collection::vec(part(), 1..12),
        words in prop::collection::vec("[a-zA-Z0-9+/=][a-zA-Z0-9_./+=-]{0,4}|true|null|y|1|1e3|~|0x1|-|[.]", 6..20),
    ) {
        let text: String = parts.concat();
        let mut reader = Reader::new();
        for round in 0..4_usize {
            let mut words = words.iter().cycle().skip(round);
            let mut other = String::new();
            let mut rest = &*text;
            while let Some(at) = rest.bytes().position(|byte| byte.is_ascii_alphanumeric()) {
                let (before, behind) = rest.split_at(at);
                let length = behind.bytes().position(|byte| class(byte) != Class::Word).unwrap_or(behind.len());
                let (word, behind) = behind.split_at(length);
                other.push_str(before);
                // Keys stay, or there would seldom be two texts that are alike.
                other.push_str(if round == 0 || behind.starts_with(':') { word } else { words.next().unwrap() });
                rest = behind;
            }
            other.push_str(rest);
            let all: Vec<Document<'_>> = documents(&other).collect();
            for document in all {
                agree(&mut reader, document.text);
            }
        }
    }
}
