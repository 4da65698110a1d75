//! The configuration as it stands on the page: every key and value with its line and column.
//!
//! The file is read into this tree, and fields from it, so that a fault found long after parsing can still be pointed at.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value as Json;

use super::error::{FieldPath, Spot, Step};
use crate::yaml::read::Spanned;

/// A place in a text; line and column count from one, columns in characters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where it stands, if the parser said so.
    pub at: Option<Position>,
    /// What it is.
    pub value: Value,
}

/// A key and where it stands.
#[derive(Clone, Debug)]
pub struct WrittenKey {
    /// Where it stands, if the parser said so.
    pub at: Option<Position>,
    /// The key.
    pub text: String,
}

/// What a value is.
#[derive(Clone, Debug)]
pub enum Value {
    /// Nothing.
    Null,
    /// A truth value.
    Bool(bool),
    /// An integer.
    Integer(i128),
    /// Any other number.
    Number,
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Written>),
    /// A map, in the order of the page.
    Map(Vec<(WrittenKey, Written)>),
}

impl Value {
    /// The name of the type, with an article.
    pub fn type_name(&self) -> &'static str {
        match self {
            Value::Null => "empty",
            Value::Bool(_) => "a truth value",
            Value::Integer(_) | Value::Number => "a number",
            Value::Text(_) => "text",
            Value::List(_) => "a list",
            Value::Map(_) => "a map",
        }
    }
}

impl Written {
    /// The same without places, for what reads values of a type.
    pub(super) fn to_json(&self) -> Json {
        match &self.value {
            // No field takes a number that is not whole.
            Value::Null | Value::Number => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Integer(number) => i64::try_from(*number).map_or(Json::Null, Json::from),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => items.iter().map(Self::to_json).collect(),
            Value::Map(entries) => entries.iter().map(|(key, value)| (key.text.clone(), value.to_json())).collect(),
        }
    }

    /// The field at `path`, if it is there.
    pub(super) fn at(&self, path: &FieldPath) -> Option<&Self> {
        path.steps().iter().try_fold(self, |here, step| match (step, &here.value) {
            (Step::Key(name), Value::Map(entries)) => {
                entries.iter().find(|(key, _)| key.text == *name).map(|(_, value)| value)
            }
            (Step::Index(index), Value::List(items)) => items.get(*index),
            _ => None,
        })
    }

    /// Returns true if a key or a text in it meets a condition.
    pub fn has_text(&self, is_it: fn(&str) -> bool) -> bool {
        match &self.value {
            Value::Text(text) => is_it(text),
            Value::List(items) => items.iter().any(|item| item.has_text(is_it)),
            Value::Map(entries) => entries.iter().any(|(key, value)| is_it(&key.text) || value.has_text(is_it)),
            Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Number => false,
        }
    }

    /// Where the field at `path` stands, or the nearest one above it that is there.
    pub fn position(&self, path: &FieldPath, spot: Spot) -> Option<Position> {
        let (mut here, mut key, mut exact) = (self, None, true);
        for step in path.steps() {
            let below = match (step, &here.value) {
                (Step::Key(name), Value::Map(entries)) => entries.iter().find(|(key, _)| key.text == *name),
                (Step::Index(index), Value::List(items)) => {
                    if let Some(item) = items.get(*index) {
                        (here, key) = (item, None);
                        continue;
                    }
                    None
                }
                _ => None,
            };
            let Some((name, value)) = below else {
                exact = false;
                break;
            };
            (here, key) = (value, Some(name));
        }
        // A field that is missing is best shown at the key of the map that lacks it.
        let wants_key = spot == Spot::Key || !exact || matches!(here.value, Value::Map(_));
        match key {
            Some(key) if wants_key => key.at,
            _ => here.at,
        }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (value, line, column) = Spanned::<Value>::deserialize(deserializer).map(parts)?;
        Ok(Self { at: position(line, column), value })
    }
}

impl<'de> Deserialize<'de> for WrittenKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (text, line, column) = Spanned::<String>::deserialize(deserializer).map(parts)?;
        Ok(Self { at: position(line, column), text })
    }
}

fn parts<T>(spanned: Spanned<T>) -> (T, u64, u64) {
    (spanned.value, spanned.referenced.line(), spanned.referenced.column())
}

fn position(line: u64, column: u64) -> Option<Position> {
    let (line, column) = (u32::try_from(line).ok()?, u32::try_from(column).ok()?);
    (line > 0 && column > 0).then_some(Position { line, column })
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into()))
    }

    fn visit_i128<E>(self, value: i128) -> Result<Value, E> {
        Ok(Value::Integer(value))
    }

    fn visit_u128<E>(self, value: u128) -> Result<Value, E> {
        Ok(i128::try_from(value).map_or(Value::Number, Value::Integer))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(String::from(text)))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = access.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}
