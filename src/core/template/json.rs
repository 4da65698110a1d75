//! JSON as Go writes and reads it.

use alloc::string::{String, ToString as _};

use super::budget::{Budget, Growing};
use super::number;
use super::value::{Answer, Fault, ListOf, MapOf, NO_TEXT, Value};
use crate::json;
use crate::node::{Interner, Node};

/// How it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// `<`, `>` and `&` are escaped.
    Safe,
    /// The same, on lines of its own.
    Pretty,
    /// They are not.
    Raw,
}

/// Writes a value.
pub(super) fn write(value: &Value, style: Style, budget: &mut Budget) -> Result<String, Fault> {
    let mut out = Growing::default();
    add(value, style, 0, &mut out, budget)?;
    Ok(out.done())
}

fn add(value: &Value, style: Style, level: usize, out: &mut Growing, budget: &mut Budget) -> Result<(), Fault> {
    budget.step()?;
    match value {
        Value::Nil => out.push("null"),
        Value::Bool(value) => out.push(if *value { "true" } else { "false" }),
        Value::Int(n) | Value::Int64(n) => out.push(&format!("{n}")),
        Value::Uint(n) | Value::Uint64(n) => out.push(&format!("{n}")),
        Value::Float(n) => out.push(&number::json(*n)?),
        Value::Text(text) => quoted(text, style, out),
        Value::Bytes(_) => Err(NO_TEXT),
        Value::List(list) if list.nil => out.push("null"),
        Value::List(list) if list.items.is_empty() => out.push("[]"),
        Value::List(list) => {
            let deeper = level + 1;
            out.push("[")?;
            for (at, item) in list.items.iter().enumerate() {
                out.push(if at == 0 { "" } else { "," })?;
                line(style, deeper, out)?;
                add(item, style, deeper, out, budget)?;
            }
            line(style, level, out)?;
            out.push("]")
        }
        Value::Map(map) if map.of.whole().is_err() => map.of.whole(),
        Value::Map(map) if map.entries.is_empty() => out.push("{}"),
        Value::Map(map) => {
            let deeper = level + 1;
            out.push("{")?;
            for (at, (key, value)) in map.entries.iter().enumerate() {
                out.push(if at == 0 { "" } else { "," })?;
                line(style, deeper, out)?;
                quoted(key, style, out)?;
                out.push(if style == Style::Pretty { ": " } else { ":" })?;
                add(value, style, deeper, out, budget)?;
            }
            line(style, level, out)?;
            out.push("}")
        }
    }
}

fn line(style: Style, level: usize, out: &mut Growing) -> Result<(), Fault> {
    if style != Style::Pretty {
        return Ok(());
    }
    out.push("\n")?;
    out.repeat("  ", level)
}

fn quoted(text: &str, style: Style, out: &mut Growing) -> Result<(), Fault> {
    out.push("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => out.push("\\\"")?,
            '\\' => out.push("\\\\")?,
            '\u{8}' => out.push("\\b")?,
            '\u{c}' => out.push("\\f")?,
            '\n' => out.push("\\n")?,
            '\r' => out.push("\\r")?,
            '\t' => out.push("\\t")?,
            '<' | '>' | '&' if style != Style::Raw => out.push(&format!("\\u{:04x}", u32::from(letter)))?,
            '\0'..='\u{1f}' | '\u{2028}' | '\u{2029}' => out.push(&format!("\\u{:04x}", u32::from(letter)))?,
            letter => out.letter(letter)?,
        }
    }
    out.push("\"")
}

/// Reads a text: numbers become floats, as in Go.
pub(super) fn read(text: &str, budget: &mut Budget) -> Answer {
    let read = json::read(text, &mut Interner::new());
    of(&read.map_err(|_| "was given what is no JSON, or has a key twice")?, budget)
}

fn of(node: &Node, budget: &mut Budget) -> Answer {
    budget.step()?;
    match node {
        Node::Null => Ok(Value::Nil),
        Node::Bool(value) => Ok(Value::Bool(*value)),
        Node::Int(n) => Ok(Value::Float(number::float(*n))),
        Node::Uint(n) => Ok(Value::Float(number::float_of(*n))),
        Node::Float(n) => Ok(Value::Float(*n)),
        Node::Time(moment) => Ok(Value::text(&moment.to_string())),
        Node::Text(text) => Ok(Value::text(text)),
        Node::List(items) => {
            let items = items.iter().map(|item| of(item, budget));
            Value::made(ListOf::Any, items.collect::<Result<_, _>>()?)
        }
        Node::Map(entries) | Node::InOrder(entries) => {
            let entries = entries.iter().map(|(key, entry)| Ok((key.clone(), of(entry, budget)?)));
            Value::made_map(MapOf::Any, entries.collect::<Result<_, Fault>>()?)
        }
    }
}
