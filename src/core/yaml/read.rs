//! Stand-in for the YAML door.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

use crate::node::{Interner, Node};
use crate::yaml::Flaw;

/// One document of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    /// Its text.
    pub text: &'a str,
    /// The line it starts on, from one.
    pub line: u32,
}

/// The text of a file.
///
/// # Errors
/// Where it is not UTF-8 or holds NUL.
pub fn text_of(bytes: &[u8]) -> Result<&str, Flaw> {
    let bad = |what: &str| Flaw { line: 1, column: 1, what: what.to_string() };
    let text = core::str::from_utf8(bytes).map_err(|_| bad("it is not UTF-8"))?;
    if text.contains('\0') { Err(bad("it holds a NUL")) } else { Ok(text) }
}

/// Splits a stream.
pub fn documents(text: &str) -> impl Iterator<Item = Document<'_>> {
    let mut found = Vec::new();
    let (mut start, mut at, mut line, mut first) = (0_usize, 0_usize, 1_u32, 1_u32);
    for part in text.split_inclusive('\n') {
        let next = at.saturating_add(part.len());
        if part.trim_end() == "---" {
            found.push(Document { text: text.get(start..at).unwrap_or_default(), line: first });
            start = next;
            first = line.saturating_add(1);
        }
        at = next;
        line = line.saturating_add(1);
    }
    found.push(Document { text: text.get(start..).unwrap_or_default(), line: first });
    found.into_iter().filter(|d| d.text.lines().any(|l| !l.trim().is_empty() && !l.starts_with('#')))
}

/// Reads one document.
///
/// # Errors
/// Where it is no YAML.
pub fn read(document: &Document<'_>, interner: &mut Interner) -> Result<Node, Flaw> {
    let options = serde_yaml::Options::default();
    serde_yaml::with_deserializer_from_str_with_options(document.text, options, |d| Seed(interner).deserialize(d))
        .map_err(|error| {
            let at = error.location();
            let line = at.and_then(|l| u32::try_from(l.line()).ok()).unwrap_or(1);
            let column = at.and_then(|l| u32::try_from(l.column()).ok()).unwrap_or(1);
            Flaw {
                line: document.line.saturating_add(line).saturating_sub(1),
                column,
                what: "it is no YAML that pouch reads".to_string(),
            }
        })
}

pub(crate) struct Seed<'a>(pub(crate) &'a mut Interner);

impl<'de> DeserializeSeed<'de> for Seed<'_> {
    type Value = Node;
    fn deserialize<D: Deserializer<'de>>(self, d: D) -> Result<Node, D::Error> {
        d.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Seed<'_> {
    type Value = Node;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }
    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }
    fn visit_some<D: Deserializer<'de>>(self, d: D) -> Result<Node, D::Error> {
        d.deserialize_any(self)
    }
    fn visit_bool<E>(self, v: bool) -> Result<Node, E> {
        Ok(Node::Bool(v))
    }
    fn visit_i64<E>(self, v: i64) -> Result<Node, E> {
        Ok(Node::Int(v))
    }
    fn visit_u64<E>(self, v: u64) -> Result<Node, E> {
        Ok(i64::try_from(v).map_or(Node::Uint(v), Node::Int))
    }
    fn visit_f64<E>(self, v: f64) -> Result<Node, E> {
        Ok(Node::Float(v))
    }
    fn visit_str<E>(self, v: &str) -> Result<Node, E> {
        Ok(Node::text(v))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(Seed(self.0))? {
            items.push(item);
        }
        Ok(Node::List(items.into()))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries: Vec<(crate::node::Key, Node)> = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if entries.iter().any(|(k, _)| **k == *key) {
                return Err(A::Error::custom("duplicate key"));
            }
            let key = self.0.key(&key);
            entries.push((key, map.next_value_seed(Seed(self.0))?));
        }
        Ok(Node::map(entries))
    }
}
