//! The JSON door: what an API server answers, and sources written in JSON.
//!
//! It makes the same tree as the YAML door and refuses the same things: a key twice in one map is an error,
//! because readers disagree on which one counts. The caller bounds the text; the tree is at most twelve times
//! as large.

use core::cell::Cell;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::node::{Dialect, Interner, Key, Node};
use crate::yaml::Flaw;
use crate::yaml::emit::Tree;

/// Reads one JSON document.
///
/// # Errors
/// A [`Flaw`] where the text is no JSON, has a key twice in one map, is nested deeper than 127 levels
/// or goes on after its end. Columns count bytes.
pub fn read(text: &str, interner: &mut Interner) -> Result<Node, Flaw> {
    // The library's own bound comes first.
    read_to(text, interner, usize::MAX, &Shape::All, Dialect::Kubectl)
}

/// Reads one JSON document as SOPS does: in its order, and an integer beyond 64 bits as a number.
///
/// # Errors
/// As [`read`].
pub fn read_ordered(text: &str, interner: &mut Interner) -> Result<Node, Flaw> {
    read_to(text, interner, usize::MAX, &Shape::All, Dialect::Sops)
}

fn read_to(
    text: &str,
    interner: &mut Interner,
    levels: usize,
    shape: &'static Shape,
    dialect: Dialect,
) -> Result<Node, Flaw> {
    let twice = Cell::new(false);
    let mut json = serde_json::Deserializer::from_str(text);
    let node = Seed { interner, twice: &twice, levels, shape, dialect }.deserialize(&mut json);
    node.and_then(|node| json.end().map(|()| node)).map_err(|error| flaw(&error, twice.get()))
}

/// A tree as a JSON value, for what is shown and never sealed: a secret becomes `null`.
pub fn value(tree: &Tree<'_>) -> serde_json::Value {
    match tree {
        Tree::Null | Tree::Secret(_) => serde_json::Value::Null,
        Tree::Bool(value) => (*value).into(),
        Tree::Int(value) => (*value).into(),
        Tree::Uint(value) => (*value).into(),
        Tree::Float(value) => (*value).into(),
        Tree::Text(text) | Tree::Plain(text) => text.as_ref().into(),
        Tree::List(items) => items.iter().map(value).collect(),
        Tree::Map(entries) => entries.iter().map(|(key, entry)| (String::from(&**key), value(entry))).collect(),
    }
}

/// A tree as JSON on lines of its own, for people to compare.
pub fn pretty(tree: &Tree<'_>) -> String {
    serde_json::to_string_pretty(&value(tree)).unwrap_or_default()
}

/// The library's error in our own words, because its words can quote the text.
fn flaw(error: &serde_json::Error, twice: bool) -> Flaw {
    let what = match error.classify() {
        _ if twice => "this key is here for the second time",
        serde_json::error::Category::Eof => "the document ends too early",
        _ => "this is not valid JSON, or is nested too deeply",
    };
    Flaw::new(error.line(), error.column(), what)
}

/// Reads the parts of a JSON document that a [`Shape`] names, and skips the rest.
///
/// Values nested deeper than [`SHALLOW`] levels become `null`, instead of making everything unreadable.
///
/// This is for lists of objects that others write and that are never passed on: nobody must be able to fill the
/// memory with settings that nobody reads, or to hide hundreds of items behind one.
///
/// # Errors
/// As [`read`], except for the depth.
pub fn read_shaped(text: &str, interner: &mut Interner, shape: &'static Shape) -> Result<Node, Flaw> {
    read_to(text, interner, SHALLOW, shape, Dialect::Kubectl)
}

/// How many levels [`read_shaped`] reads.
pub const SHALLOW: usize = 64;

/// Which parts of a document are read.
#[derive(Debug)]
pub enum Shape {
    /// All of it.
    All,
    /// These fields of a map; for a list, of each item.
    Fields(&'static [(&'static str, &'static Shape)]),
    /// The fields of a map that this chooses; for a list, of each item.
    Chosen(fn(&str) -> Option<&'static Shape>),
}

impl Shape {
    /// The shape of a field; none if the field is skipped.
    fn field(&self, key: &str) -> Option<&'static Shape> {
        match self {
            Shape::All => Some(&Shape::All),
            Shape::Fields(fields) => fields.iter().find(|(name, _)| *name == key).map(|(_, shape)| *shape),
            Shape::Chosen(choose) => choose(key),
        }
    }
}

struct Seed<'a> {
    interner: &'a mut Interner,
    twice: &'a Cell<bool>,
    /// How many levels may follow.
    levels: usize,
    shape: &'static Shape,
    dialect: Dialect,
}

impl<'a> Seed<'a> {
    /// The seed for one level deeper.
    fn deeper(&mut self, shape: &'static Shape) -> Seed<'_> {
        // Without a level left, nothing is followed.
        let levels = self.levels.saturating_sub(1);
        Seed { interner: self.interner, twice: self.twice, levels, shape, dialect: self.dialect }
    }
}

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        match self.levels {
            // Skipped without recursion, however deep it is.
            0 => deserializer.deserialize_ignored_any(IgnoredAny).map(|IgnoredAny| Node::Null),
            _ => deserializer.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Int(value))
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Node, E> {
        match (i64::try_from(value), self.dialect) {
            (Ok(value), _) => Ok(Node::Int(value)),
            (Err(_), Dialect::Kubectl) => Ok(Node::Uint(value)),
            // Through the decimal form, which rounds as reading does.
            (Err(_), Dialect::Sops) => format!("{value}").parse().map(Node::Float).map_err(|_| E::custom("")),
        }
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Node, E> {
        Ok(Node::text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        let shape = self.shape;
        while let Some(item) = list.next_element_seed(self.deeper(shape))? {
            items.push(item);
        }
        Ok(Node::List(items.into_boxed_slice()))
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Node, A::Error> {
        if !matches!(self.shape, Shape::All) {
            return self.some_of(map);
        }
        let mut entries: Vec<(Key, Node)> = Vec::new();
        let mut seen = BTreeSet::new();
        while let Some(key) = map.next_key_seed(KeySeed(&mut *self.interner))? {
            // API servers sort keys, so comparing with the last key usually tells that a key is new.
            let in_order = seen.is_empty() && entries.last().is_none_or(|(last, _)| *last < key);
            if !in_order {
                if seen.is_empty() {
                    seen.extend(entries.iter().map(|(key, _)| key.clone()));
                }
                if !seen.insert(key.clone()) {
                    self.twice.set(true);
                    return Err(A::Error::custom(""));
                }
            }
            let value = map.next_value_seed(self.deeper(&Shape::All))?;
            entries.push((key, value));
        }
        if self.dialect == Dialect::Sops {
            return Ok(Node::InOrder(Box::from(entries)));
        }
        if !seen.is_empty() {
            entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        }
        Ok(Node::Map(Box::from(entries)))
    }
}

impl Seed<'_> {
    /// Reads the fields of a map that the shape names.
    fn some_of<'de, A: MapAccess<'de>>(mut self, mut map: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(Key, Node)> = Vec::new();
        // The keys of skipped fields are not kept either.
        while let Some(key) = map.next_key::<String>()? {
            let Some(shape) = self.shape.field(&key) else {
                let IgnoredAny = map.next_value()?;
                continue;
            };
            if entries.iter().any(|(earlier, _)| **earlier == *key) {
                self.twice.set(true);
                return Err(A::Error::custom(""));
            }
            let value = map.next_value_seed(self.deeper(shape))?;
            entries.push((self.interner.key(&key), value));
        }
        Ok(Node::map(entries))
    }
}

struct KeySeed<'a>(&'a mut Interner);

impl<'de> DeserializeSeed<'de> for KeySeed<'_> {
    type Value = Key;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Key, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for KeySeed<'_> {
    type Value = Key;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, text: &str) -> Result<Key, E> {
        Ok(self.0.key(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::{String, ToString as _};

    fn read_one(text: &str) -> Result<Node, Flaw> {
        read(text, &mut Interner::new())
    }

    #[test]
    fn values_keep_their_kind() {
        let text = r#"{"b":[1,-1,18446744073709551615,1.5,1.0,"x\u0000",true,null,[],{}],"a":{}}"#;
        let Ok(Node::Map(entries)) = read_one(text) else { panic!("a map") };
        assert_eq!(entries.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["a", "b"]);
        let expect = [
            Node::Int(1),
            Node::Int(-1),
            Node::Uint(u64::MAX),
            Node::Float(1.5),
            Node::Float(1.0),
            Node::text("x\0"),
            Node::Bool(true),
            Node::Null,
            Node::List(Box::default()),
            Node::empty_map(),
        ];
        assert!(entries[1].1.items() == expect);
    }

    /// Found by the fuzz target `json`: the library's quick reading is one off in the last digit.
    #[test]
    fn a_decimal_is_the_nearest_number() {
        for text in ["9007199254740993.0", "2.2250738585072011e-308", "0.1", "123456789.123456789e-200"] {
            let expect: f64 = text.parse().unwrap();
            assert!(read_one(text).is_ok_and(|node| node == Node::Float(expect)), "{text}");
        }
    }

    #[test]
    fn keys_are_sorted_and_shared() {
        let mut interner = Interner::new();
        let Ok(Node::List(items)) = read(r#"[{"c":1,"a":2,"b":3},{"a":0}]"#, &mut interner) else { panic!("a list") };
        let keys: Vec<&str> = items[0].entries().iter().map(|(key, _)| &**key).collect();
        assert_eq!(keys, ["a", "b", "c"]);
        assert!(Key::ptr_eq(&items[0].entries()[0].0, &items[1].entries()[0].0));
    }

    #[test]
    fn flaws_say_where_and_never_what() {
        let deep = "[".repeat(10_000);
        for (text, line, what) in [
            (r#"{"a":1,"a":"CANARY"}"#, 1, "this key is here for the second time"),
            ("{\"x\":{\"b\":1,\n\"a\":2,\n\"b\":\"CANARY\"}}", 3, "this key is here for the second time"),
            (r#"{"a":"CANARY"#, 1, "the document ends too early"),
            ("", 1, "the document ends too early"),
            ("{\"a\":\n CANARY}", 2, "this is not valid JSON, or is nested too deeply"),
            (r#"{"a":1} CANARY"#, 1, "this is not valid JSON, or is nested too deeply"),
            (r#"{1:2}"#, 1, "this is not valid JSON, or is nested too deeply"),
            (r#"["\ud800 CANARY"]"#, 1, "this is not valid JSON, or is nested too deeply"),
            ("[1e999]", 1, "this is not valid JSON, or is nested too deeply"),
            ("[NaN]", 1, "this is not valid JSON, or is nested too deeply"),
            ("[\"a\u{1}\"]", 1, "this is not valid JSON, or is nested too deeply"),
            (&deep, 1, "this is not valid JSON, or is nested too deeply"),
        ] {
            let Err(flaw) = read_one(text) else { panic!("{text:?} was read") };
            assert_eq!((flaw.line, &*flaw.what), (line, what), "{text:?}");
            assert!(!flaw.to_string().contains("CANARY"));
        }
    }

    #[test]
    fn a_value_says_what_was_read_and_no_secret() {
        let text = r#"{"a":{},"b":[1,-1,18446744073709551615,1.5,"x\u0000",true,null,[]]}"#;
        assert_eq!(read_one(text).map(|node| value(&Tree::of(&node)).to_string()), Ok(text.into()));
        let secret = Tree::Secret(zeroize::Zeroizing::new("CANARY".into()));
        assert_eq!(value(&Tree::map([("a", secret)])).to_string(), r#"{"a":null}"#);
    }

    #[test]
    fn order_is_kept_and_numbers_are_those_of_sops() {
        let text = r#"{"b":[1,-2,1.0,1e3,18446744073709551615,true,null,"2024-01-02"],"a":{}}"#;
        let Ok(Node::InOrder(entries)) = read_ordered(text, &mut Interner::new()) else { panic!("a map") };
        assert_eq!(entries.iter().map(|(key, _)| &**key).collect::<Vec<_>>(), ["b", "a"]);
        let expect = [
            Node::Int(1),
            Node::Int(-2),
            Node::Float(1.0),
            Node::Float(1000.0),
            Node::Float(18_446_744_073_709_551_615.0),
            Node::Bool(true),
            Node::Null,
            Node::text("2024-01-02"),
        ];
        assert!(entries[0].1.items() == expect);
    }

    #[test]
    fn a_key_twice_is_refused_at_every_level() {
        for text in [r#"{"a":1,"b":2,"a":"CANARY"}"#, r#"{"x":[{"a":1,"a":"CANARY"}]}"#, r#"{"a":"CANARY""#] {
            let Err(flaw) = read_ordered(text, &mut Interner::new()) else { panic!("{text} was read") };
            assert!(!flaw.what.contains("CANARY"), "{flaw}");
        }
    }

    #[test]
    fn a_duplicate_is_found_in_every_order() {
        for text in [r#"{"a":1,"b":1,"b":1}"#, r#"{"b":1,"a":1,"b":1}"#, r#"{"c":1,"a":1,"b":1,"a":1}"#] {
            assert!(read_one(text).is_err(), "{text}");
        }
        let many: String = (0..5_000).map(|n| format!("\"k{}\":0,", n * 7_919 % 5_000)).collect();
        assert!(read_one(&format!("{{{many}\"z\":0}}")).is_ok());
        assert!(read_one(&format!("{{{many}\"k77\":0}}")).is_err());
    }
}
