//! `Ordered`: a document as SOPS sees it.
//!
//! SOPS counts values in the order in which they stand and by the types that its own parser gives
//! them, so neither may get lost: keys stay in their order, and an unquoted date is a time. Both doors
//! make it of files that SOPS sealed; nothing else needs it, and like a
//! [`Node`](crate::node::Node) it cannot be printed. It knows nothing of sealing.

use alloc::boxed::Box;

use crate::go_time::GoTime;
use crate::node::Key;

/// One value of a document, in the order and of the type that SOPS gives it.
#[derive(Clone, PartialEq)]
pub enum Ordered {
    /// `null`, `~` or nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above `i64::MAX`, which SOPS does not take.
    Uint(u64),
    /// A finite number.
    Float(f64),
    /// A time, unquoted in YAML.
    Time(GoTime),
    /// Text.
    Text(Box<str>),
    /// A sequence.
    List(Box<[Ordered]>),
    /// A mapping; keys stand once, in their order.
    Map(Box<[(Key, Ordered)]>),
}

impl Ordered {
    /// The value under `key`, if this is a map that has it; null counts as absent.
    pub fn get(&self, key: &str) -> Option<&Ordered> {
        let found = self.entries().iter().find(|(known, _)| **known == *key).map(|(_, value)| value);
        found.filter(|value| !matches!(value, Ordered::Null))
    }

    /// The text, if this is text.
    pub fn as_str(&self) -> Option<&str> {
        if let Ordered::Text(text) = self { Some(text) } else { None }
    }

    /// The items, if this is a list; else none.
    pub fn items(&self) -> &[Ordered] {
        if let Ordered::List(items) = self { items } else { &[] }
    }

    /// The entries, if this is a map; else none.
    pub fn entries(&self) -> &[(Key, Ordered)] {
        if let Ordered::Map(entries) = self { entries } else { &[] }
    }
}
