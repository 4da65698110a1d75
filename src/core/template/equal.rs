//! When values are equal, in the three ways that Go has.

use super::budget::Budget;
use super::value::{Fault, NO_TEXT, Value};
use core::cmp::Ordering;

/// `reflect.DeepEqual`: types count.
pub(super) fn deep(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, Fault> {
    budget.step()?;
    match (a, b) {
        (Value::Bytes(_), _) | (_, Value::Bytes(_)) => Err(NO_TEXT),
        (Value::List(a), Value::List(b)) => {
            if a.of != b.of || a.nil != b.nil || a.items.len() != b.items.len() {
                return Ok(false);
            }
            for (a, b) in a.items.iter().zip(&b.items) {
                if !deep(a, b, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (Value::Map(a), Value::Map(b)) => {
            a.of.whole()?;
            b.of.whole()?;
            if a.of != b.of || a.entries.len() != b.entries.len() {
                return Ok(false);
            }
            for (key, value) in &a.entries {
                match b.entries.get(key) {
                    Some(other) if deep(value, other, budget)? => {}
                    _ => return Ok(false),
                }
            }
            Ok(true)
        }
        // For Go, what holds NaN equals itself, but not its copy: that cannot be told apart here.
        (Value::Float(a), Value::Float(b)) if a.is_nan() && b.is_nan() => Err("compares NaN with NaN"),
        (a, b) => paid(a, b, budget),
    }
}

/// Whether two values are the same key of a map: types count, and lists and maps are no keys.
pub(super) fn key(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, Fault> {
    match (a, b) {
        (Value::Bytes(_), _) | (_, Value::Bytes(_)) => Err(NO_TEXT),
        (Value::List(_) | Value::Map(_), _) | (_, Value::List(_) | Value::Map(_)) => {
            Err("looks for a list or map among others, which Go cannot")
        }
        (a, b) => paid(a, b, budget),
    }
}

/// Long texts are compared byte by byte, however few they are.
fn paid(a: &Value, b: &Value, budget: &mut Budget) -> Result<bool, Fault> {
    if let (Value::Text(a), Value::Text(b)) = (a, b)
        && a.len() == b.len()
    {
        budget.work(a.len())?;
    }
    Ok(same(a, b))
}

fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Nil, Value::Nil) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) | (Value::Int64(a), Value::Int64(b)) => a == b,
        (Value::Uint(a), Value::Uint(b)) | (Value::Uint64(a), Value::Uint64(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Text(a), Value::Text(b)) => a == b,
        _ => false,
    }
}

/// Said by Go too.
const INCOMPATIBLE: Fault = "compares values of different types, or what cannot be compared";

/// The template function `eq` of two values.
pub(super) fn basic(a: &Value, b: &Value) -> Result<bool, Fault> {
    match (a, b) {
        (Value::Bytes(_), _) | (_, Value::Bytes(_)) => Err(NO_TEXT),
        (Value::Nil, Value::Nil) => Ok(true),
        // Compared with nil, what has a value is not equal; an empty list may be nil itself.
        (Value::Nil, Value::List(list)) | (Value::List(list), Value::Nil) => Ok(list.nil),
        (Value::Nil, _) | (_, Value::Nil) => Ok(false),
        (Value::Bool(a), Value::Bool(b)) => Ok(a == b),
        (Value::Float(a), Value::Float(b)) => Ok(a == b),
        (Value::Text(a), Value::Text(b)) => Ok(a == b),
        (a, b) => whole(a).zip(whole(b)).map(|(a, b)| a == b).ok_or(INCOMPATIBLE),
    }
}

/// What `lt` and its like compare.
pub(super) fn order(a: &Value, b: &Value) -> Result<Option<Ordering>, Fault> {
    match (a, b) {
        (Value::Bytes(_), _) | (_, Value::Bytes(_)) => Err(NO_TEXT),
        (Value::Float(a), Value::Float(b)) => Ok(a.partial_cmp(b)),
        (Value::Text(a), Value::Text(b)) => Ok(Some(a.cmp(b))),
        (a, b) => whole(a).zip(whole(b)).map(|(a, b)| Some(a.cmp(&b))).ok_or(INCOMPATIBLE),
    }
}

fn whole(value: &Value) -> Option<i128> {
    match value {
        Value::Int(n) | Value::Int64(n) => Some(i128::from(*n)),
        Value::Uint(n) | Value::Uint64(n) => Some(i128::from(*n)),
        _ => None,
    }
}
