//! Both readers on what the emitter writes, and on what is nearly that.

use alloc::borrow::ToOwned;

use proptest::prelude::*;

use super::*;
use crate::node::{Interner, Key};
use crate::yaml::emit::{Tree, emit};
use crate::yaml::read::{Document, documents, read as read_any};

/// What the reader of any YAML takes a text for; none if it refuses it, or it is not one document.
fn read_generally(text: &str) -> Option<Node> {
    let all: Vec<Document<'_>> = documents(text).collect();
    let [document] = &*all else { return None };
    read_any(document, &mut Interner::new()).ok()
}

/// Maps are equal in any order.
fn sorted(value: Value<'_>) -> Value<'_> {
    match value {
        Value::List(items) => Value::List(items.into_iter().map(sorted).collect()),
        Value::Map(entries) => {
            let mut entries: Vec<_> = entries.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            entries.sort_by(|(a, _), (b, _)| a.cmp(b));
            Value::Map(entries)
        }
        leaf => leaf,
    }
}

/// Both readers agree, or the strict one declines; says whether it read the text.
#[track_caller]
fn agree(text: &str) -> bool {
    let Some(strict) = read(text) else { return false };
    let any = read_generally(text);
    assert!(any.is_some(), "only the strict reader takes:\n{text}");
    assert!(any.as_ref().map(Value::of) == Some(sorted(strict)), "the readers differ on:\n{text}");
    true
}

#[test]
fn the_emitters_form_is_read_and_no_other() {
    for (text, is_read) in [
        ("a: b\n", true),
        ("# pouch/v1 x\na: b\n", true),
        ("a: []\nb: {}\nc: \"\"\n", true),
        ("a:\n- b\n- \"1\"\n- c: d\n  e:\n  - f\n- []\nb:\n  c: d\n", true),
        ("a:\n  b:\n    c: d\n  e: f\ng: h\n", true),
        ("a: \"x: y\"\nb: \"\\\"\\\\\\n\\x07\\u2028\\U0001fffe\"\n", true),
        ("\"1\": b\n\"a b\": c\na:b: c\n", true),
        ("a:\n- \"b c\": d\n- \"b: c\"\n", true),
        // Other forms of the same.
        ("a: 'b'\n", false),
        ("a: \"b\"\n", false),
        ("a: \"\\u0062c\"\n", false),
        ("a:  b\n", false),
        ("a: b", false),
        ("a: b \n", false),
        ("a: b # c\n", false),
        ("a: b\n# c\n", false),
        ("\na: b\n", false),
        ("a: b\n\n", false),
        ("a: b\r\n", false),
        ("---\na: b\n", false),
        ("a: b\n---\n", false),
        ("a: b\n...\n", false),
        ("{a: b}\n", false),
        ("a:\n  - b\n", false),
        ("a:\n   b: c\n", false),
        ("b: c\na: b\n", false),
        ("a9: b\na10: c\n", true),
        ("a10: b\na9: c\n", false),
        // Other things.
        ("", false),
        ("a\n", false),
        ("- a\n", false),
        ("a: b\na: c\n", false),
        ("a: b\n  c: d\n", false),
        ("a: b\n  c\n", false),
        ("a: b\n- c\n", false),
        ("a:\n", false),
        ("a:\n- b\n  c\n", false),
        ("a:\n- - b\n", false),
        ("a: true\n", false),
        ("a: 1\n", false),
        ("a: ~\n", false),
        ("a: &b c\n", false),
        ("a: !!str c\n", false),
        ("? a\n: b\n", false),
        ("<<: b\n", false),
        ("a: |-\n  b\n  c\n", false),
        ("a: >\n  b\n", false),
        ("a: \"b\n  c\"\n", false),
        ("a: \"\u{2028}\"\n", false),
        ("a: \"\u{feff}\"\n", false),
        ("a: \"\\a\"\n", false),
        ("a: \"\\x4\"\n", false),
        ("a: \"\\u\u{e9}0\"\n", false),
        ("a: \"\\ud800\"\n", false),
        ("a: \"\\+00000041\"\n", false),
        ("# a\u{7}\na: b\n", false),
        ("%YAML 1.2\n---\na: b\n", false),
    ] {
        assert_eq!(agree(text), is_read, "{text:?}");
    }
}

#[test]
fn what_is_too_deep_or_too_much_is_left_to_the_other_reader() {
    let deep = |levels: usize| {
        let lines = (0..levels).map(|level| format!("{}a:\n", "  ".repeat(level)));
        lines.chain([format!("{}a: b\n", "  ".repeat(levels))]).collect::<String>()
    };
    assert!(agree(&deep(MOST_LEVELS.saturating_sub(1))) && !agree(&deep(MOST_LEVELS)));
    // Each line has three values in seven bytes.
    let many = |count: usize| format!("a:\n{}", "- a: b\n".repeat(count));
    assert!(agree(&many(50_000)));
    assert!(read(&many(100_000)).is_none() && read_generally(&many(100_000)).is_none());
    let long = |count: usize| format!("{}: b\n", "k".repeat(count));
    assert!(agree(&long(LONG_KEY)) && !agree(&long(LONG_KEY.saturating_add(1))));
}

/// Texts of one line, mostly.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z/.-]{1,8}",
        "[a-z0-9:#\"\\\\ -]{0,8}",
        any::<String>(),
        "(yes|no|null|true|~|<<|- |: | #|[a-z])( |\n)?(:|#|[a-z])?",
    ]
}

#[derive(Clone, Debug)]
enum Made {
    Text(String),
    List(Vec<Made>),
    Map(Vec<(String, Made)>),
}

impl Made {
    fn node(&self) -> Node {
        match self {
            Made::Text(text) => Node::text(text),
            Made::List(items) => Node::List(items.iter().map(Made::node).collect()),
            Made::Map(entries) => {
                Node::map(entries.iter().map(|(key, value)| (Key::from(&**key), value.node())).collect())
            }
        }
    }
}

fn made() -> impl Strategy<Value = Made> {
    let tree = text().prop_map(Made::Text).prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Made::List),
            proptest::collection::vec((text(), inner), 0..5).prop_map(Made::Map),
        ]
    });
    proptest::collection::vec((text(), tree), 0..5).prop_map(Made::Map)
}

/// A small change of a text.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    Insert(&'static str),
    Remove(usize),
    SwapLines(usize),
    RepeatLine,
    Indent,
    Outdent,
}

fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let bits = [
        " ", "  ", "\n", "\n  ", "- ", ":", ": ", "\"", "'", "#", " #", "\\", "[", "]", "{", "}", ",", "&a ", "*a",
        "!", "|", ">", "%", "---\n", "...\n", "\t", "\r", "a", "1", "~", "<<: ", "?", "\u{85}", "\u{2028}", "\u{feff}",
        "e9",
    ];
    let what = prop_oneof![
        4 => prop::sample::select(bits.to_vec()).prop_map(Change::Insert),
        4 => (1..6_usize).prop_map(Change::Remove),
        1 => (1..4_usize).prop_map(Change::SwapLines),
        1 => Just(Change::RepeatLine),
        1 => Just(Change::Indent),
        1 => Just(Change::Outdent),
    ];
    (any::<prop::sample::Index>(), what)
}

/// The text with a change.
fn changed(text: &str, at: prop::sample::Index, change: &Change) -> String {
    if let Change::Insert(_) | Change::Remove(_) = change {
        let mut chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len() + 1);
        match change {
            Change::Insert(bit) => _ = chars.splice(at..at, bit.chars()),
            Change::Remove(count) => _ = chars.drain(at..(at + count).min(text.chars().count())),
            _ => {}
        }
        return chars.into_iter().collect();
    }
    let mut lines: Vec<String> = text.split_inclusive('\n').map(ToOwned::to_owned).collect();
    let at = at.index(lines.len().max(1));
    match change {
        _ if lines.is_empty() => {}
        Change::SwapLines(further) => {
            let other = (at + further) % lines.len();
            lines.swap(at, other);
        }
        Change::RepeatLine => lines.insert(at, lines[at].clone()),
        Change::Indent => lines[at].insert_str(0, "  "),
        _ => lines[at] = lines[at].strip_prefix("  ").unwrap_or(&lines[at]).to_owned(),
    }
    lines.concat()
}

/// Texts near one that the emitter wrote, itself first.
pub(crate) fn near(text: &str, changes: &[(prop::sample::Index, Change)]) -> Vec<String> {
    let mut all = Vec::from([text.to_owned()]);
    for (at, one) in changes {
        all.push(changed(all.last().map_or("", |text| text), *at, one));
    }
    all
}

/// Some small changes, for [`near`].
pub(crate) fn changes() -> impl Strategy<Value = Vec<(prop::sample::Index, Change)>> {
    proptest::collection::vec(change(), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn the_readers_agree_or_the_strict_one_declines(tree in made(), changes in changes()) {
        for text in near(&emit(&Tree::of(&tree.node())), &changes) {
            agree(&text);
        }
    }
}
