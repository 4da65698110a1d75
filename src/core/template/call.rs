//! What a function takes: its parameters, and its arguments once they fit.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::budget::{Budget, OUTPUT, TOO_LONG};
use super::value::{Answer, Fault, List, Map, MapOf, NO_TEXT, Value};

/// A function.
pub(super) type Function = fn(&Args<'_>, &mut Budget) -> Answer;

/// A function's name, its parameters and what it does.
///
/// The parameters are letters: `A` anything, `T` a text, `S` a text or bytes, `I` an `int`, `F` a `float64`, `B` a
/// truth value, `M` a `map[string]any`, `O` anything that an index may open. Behind a `*`, the last one may stand any number of times, or be absent.
pub(super) type Row = (&'static str, &'static str, Function);

/// What one argument must be.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Param {
    Any,
    Text,
    Bytes,
    Int,
    Float,
    Bool,
    Map,
    /// Anything, also a map of which not all is known.
    Indexed,
}

/// How many arguments a function takes, and of what kind.
#[derive(Clone, Copy)]
pub(super) struct Params {
    letters: &'static str,
    wrapped: bool,
}

impl Params {
    pub(super) fn new(letters: &'static str) -> Self {
        Self { letters, wrapped: false }
    }

    /// The same of a function that Go calls as one of anything: constants do not take the type that is asked for.
    pub(super) fn wrapped(self) -> Self {
        Self { wrapped: true, ..self }
    }

    /// What type a constant at this place takes.
    pub(super) fn constant(self, at: usize) -> Param {
        if self.wrapped { Param::Any } else { self.at(at) }
    }

    /// The fewest and the most arguments.
    pub(super) fn count(self) -> (usize, usize) {
        match self.letters.strip_suffix('*') {
            Some(fixed) => (fixed.bytes().skip(1).count(), usize::MAX),
            None => (self.letters.len(), self.letters.len()),
        }
    }

    /// What the argument at this place must be.
    pub(super) fn at(self, at: usize) -> Param {
        let letters = self.letters.trim_end_matches('*').as_bytes();
        match letters.get(at).or(letters.last()) {
            Some(b'T') => Param::Text,
            Some(b'S') => Param::Bytes,
            Some(b'I') => Param::Int,
            Some(b'F') => Param::Float,
            Some(b'B') => Param::Bool,
            Some(b'M') => Param::Map,
            Some(b'O') => Param::Indexed,
            _ => Param::Any,
        }
    }
}

impl Param {
    /// Whether a value fits, by Go's rule: nothing is converted.
    pub(super) fn check(self, value: &Value) -> Result<(), Fault> {
        match (self, value) {
            (Self::Bytes, Value::Text(_) | Value::Bytes(_)) => Ok(()),
            (_, Value::Bytes(_)) => Err(NO_TEXT),
            (Self::Any | Self::Map, Value::Map(map)) if map.of.whole().is_err() => map.of.whole(),
            (Self::Any | Self::Indexed, _)
            | (Self::Text, Value::Text(_))
            | (Self::Int, Value::Int(_))
            | (Self::Float, Value::Float(_))
            | (Self::Bool, Value::Bool(_)) => Ok(()),
            (Self::Map, Value::Map(map)) if map.of == MapOf::Any => Ok(()),
            (Self::Text | Self::Bytes, _) => Err("takes a text (string) here, and was given something else"),
            (Self::Int, _) => Err("takes an int here, and was given something else"),
            (Self::Float, _) => Err("takes a float64 here, and was given something else"),
            (Self::Bool, _) => Err("takes a bool here, and was given something else"),
            (Self::Map, _) => Err(NO_MAP),
        }
    }
}

/// Arguments that fit a function's parameters.
pub(super) struct Args<'a>(pub(super) &'a [Value]);

/// Said if a table of functions is wrong.
const WRONG_TABLE: Fault = "was given too few arguments";

impl<'a> Args<'a> {
    pub(super) fn all(&self) -> &'a [Value] {
        self.0
    }

    /// The arguments from this place on.
    pub(super) fn from(&self, at: usize) -> &'a [Value] {
        self.0.get(at..).unwrap_or_default()
    }

    pub(super) fn any(&self, at: usize) -> Result<&'a Value, Fault> {
        self.0.get(at).ok_or(WRONG_TABLE)
    }

    pub(super) fn text(&self, at: usize) -> Result<&'a str, Fault> {
        text(self.any(at)?)
    }

    pub(super) fn int(&self, at: usize) -> Result<i64, Fault> {
        if let Value::Int(n) = self.any(at)? { Ok(*n) } else { Err(WRONG_TABLE) }
    }

    pub(super) fn float(&self, at: usize) -> Result<f64, Fault> {
        if let Value::Float(n) = self.any(at)? { Ok(*n) } else { Err(WRONG_TABLE) }
    }

    pub(super) fn bool(&self, at: usize) -> Result<bool, Fault> {
        if let Value::Bool(value) = self.any(at)? { Ok(*value) } else { Err(WRONG_TABLE) }
    }

    /// The list at this place.
    pub(super) fn list(&self, at: usize) -> Result<&'a Arc<List>, Fault> {
        list(self.any(at)?)
    }
}

const NO_MAP: Fault = "takes a map[string]any here, and was given something else";

/// A value that must be a text.
pub(super) fn text(value: &Value) -> Result<&str, Fault> {
    match value {
        Value::Text(text) => Ok(text),
        Value::Bytes(_) => Err(NO_TEXT),
        _ => Err("takes a text here, and was given something else"),
    }
}

/// A value that must be a list.
pub(super) fn list(value: &Value) -> Result<&Arc<List>, Fault> {
    if let Value::List(list) = value { Ok(list) } else { Err("takes a list here, and was given something else") }
}

/// A value that must be a map to anything.
pub(super) fn map(value: &Value) -> Result<&Arc<Map>, Fault> {
    match value {
        Value::Map(map) if map.of == MapOf::Any => Ok(map),
        Value::Map(map) => map.of.whole().and(Err(NO_MAP)),
        _ => Err(NO_MAP),
    }
}

/// A text as a value, unless it is too long.
pub(super) fn made(text: &str) -> Answer {
    if text.len() > OUTPUT { Err(TOO_LONG) } else { Ok(Value::text(text)) }
}

/// A size as Go's `int`.
pub(super) fn size(size: usize) -> Value {
    Value::Int(i64::try_from(size).unwrap_or(i64::MAX))
}

/// Items that are copied, each paid for.
pub(super) fn copied(items: &[Value], budget: &mut Budget) -> Result<Vec<Value>, Fault> {
    budget.steps(items.len())?;
    Ok(items.to_vec())
}
