//! Go's own functions, and sprout's `std` and `reflect`.

use core::cmp::Ordering;

use super::super::budget::{Budget, Growing};
use super::super::call::{Args, Row, made, size};
use super::super::equal;
use super::super::print;
use super::super::value::{Answer, Fault, MapOf, NOT_READ, ONLY_FIELDS, Value};
use super::list::OUT_OF_RANGE;

pub(in super::super) const ROWS: &[Row] = &[
    // The executor has these two in hand: they do not look at what follows once they know.
    ("and", "AA*", |args, _| Ok(args.any(0)?.clone())),
    ("or", "AA*", |args, _| Ok(args.any(0)?.clone())),
    ("not", "A", |args, _| Ok(Value::Bool(!args.any(0)?.truth()))),
    ("len", "A", len),
    ("index", "OA*", index),
    ("print", "A*", |args, budget| print::sprint(args.all(), budget).map(Value::from_string)),
    ("println", "A*", |args, budget| print::sprintln(args.all(), budget).map(Value::from_string)),
    ("printf", "TA*", |args, budget| print::sprintf(args.text(0)?, args.from(1), budget).map(Value::from_string)),
    ("html", "A*", html),
    ("urlquery", "A*", urlquery),
    ("eq", "AA*", |args, _| {
        let others = args.from(1);
        if others.is_empty() {
            return Err("compares one value with nothing");
        }
        for other in others {
            if equal::basic(args.any(0)?, other)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
    ("ne", "AA", |args, _| Ok(Value::Bool(!equal::basic(args.any(0)?, args.any(1)?)?))),
    ("lt", "AA", |args, _| ordered(args, |order| order == Some(Ordering::Less))),
    ("le", "AA", |args, _| ordered(args, |order| matches!(order, Some(Ordering::Less | Ordering::Equal)))),
    ("gt", "AA", |args, _| ordered(args, |order| !matches!(order, Some(Ordering::Less | Ordering::Equal)))),
    ("ge", "AA", |args, _| ordered(args, |order| order != Some(Ordering::Less))),
    ("hello", "", |_, _| made("Hello!")),
    ("default", "AA*", |args, _| {
        let given = args.from(1).first().filter(|value| value.truth());
        Ok(given.unwrap_or(args.any(0)?).clone())
    }),
    ("empty", "A", |args, _| Ok(Value::Bool(!args.any(0)?.truth()))),
    ("all", "A*", |args, _| Ok(Value::Bool(args.all().iter().all(Value::truth)))),
    ("any", "A*", |args, _| Ok(Value::Bool(args.all().iter().any(Value::truth)))),
    ("coalesce", "A*", |args, _| Ok(args.all().iter().find(|value| value.truth()).cloned().unwrap_or(Value::Nil))),
    ("ternary", "AAB", |args, _| Ok(args.any(if args.bool(2)? { 0 } else { 1 })?.clone())),
    ("typeOf", "A", |args, _| made(args.any(0)?.type_name()?)),
    ("typeIs", "TA", |args, _| Ok(Value::Bool(args.any(1)?.type_name()? == args.text(0)?))),
    ("typeIsLike", "TA", |args, _| {
        let (name, target) = (args.any(1)?.type_name()?, args.text(0)?);
        Ok(Value::Bool(name == target || name.strip_prefix('*') == Some(target)))
    }),
    ("kindOf", "A", |args, _| made(kind(args.any(0)?)?)),
    ("kindIs", "TA", |args, _| Ok(Value::Bool(kind(args.any(1)?)? == args.text(0)?))),
    ("deepEqual", "AA", |args, budget| Ok(Value::Bool(equal::deep(args.any(1)?, args.any(0)?, budget)?))),
    ("deepCopy", "A", |args, _| match args.any(0)? {
        Value::Nil => Err("copies nil"),
        Value::List(list) if list.nil => Err("copies a list that is none in Go"),
        value => Ok(value.clone()),
    }),
];

fn len(args: &Args<'_>, _: &mut Budget) -> Answer {
    match args.any(0)? {
        Value::Text(text) => Ok(size(text.len())),
        Value::List(list) => Ok(size(list.items.len())),
        Value::Map(map) => Ok(size(map.entries.len())),
        _ => Err("measures what has no length"),
    }
}

fn index(args: &Args<'_>, _: &mut Budget) -> Answer {
    let mut value = args.any(0)?;
    if matches!(value, Value::Nil) {
        return Err("looks into nil");
    }
    for index in args.from(1) {
        value = match (value, index) {
            (Value::List(list), Value::Int(at) | Value::Int64(at)) => {
                usize::try_from(*at).ok().and_then(|at| list.items.get(at)).ok_or(OUT_OF_RANGE)?
            }
            (Value::List(list), Value::Uint(at) | Value::Uint64(at)) => {
                usize::try_from(*at).ok().and_then(|at| list.items.get(at)).ok_or(OUT_OF_RANGE)?
            }
            (Value::Map(map), Value::Text(key)) if map.of == MapOf::Part => map.entries.get(key).ok_or(NOT_READ)?,
            (Value::Map(map), _) if map.of.whole().is_err() => return Err(ONLY_FIELDS),
            (Value::Map(map), Value::Text(key)) => map.entries.get(key).ok_or(NO_KEY)?,
            _ => return Err("looks into what has no such index"),
        };
    }
    Ok(value.clone())
}

/// Go would go on with nothing at all.
const NO_KEY: Fault = "a map has no such key";

fn ordered(args: &Args<'_>, holds: fn(Option<Ordering>) -> bool) -> Answer {
    Ok(Value::Bool(holds(equal::order(args.any(0)?, args.any(1)?)?)))
}

fn kind(value: &Value) -> Result<&'static str, Fault> {
    Ok(match value {
        Value::Nil => return Err("asks for the kind of nil"),
        Value::List(_) => "slice",
        Value::Map(_) => "map",
        value => value.type_name()?,
    })
}

/// Go would write `<no value>`.
fn none_is_nil(args: &Args<'_>) -> Result<(), Fault> {
    if args.all().iter().any(|value| matches!(value, Value::Nil)) { Err("is given nil") } else { Ok(()) }
}

fn html(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let mut out = Growing::default();
    none_is_nil(args)?;
    for letter in print::sprint(args.all(), budget)?.chars() {
        match letter {
            '\0' => out.push("\u{fffd}")?,
            '"' => out.push("&#34;")?,
            '\'' => out.push("&#39;")?,
            '&' => out.push("&amp;")?,
            '<' => out.push("&lt;")?,
            '>' => out.push("&gt;")?,
            letter => out.letter(letter)?,
        }
    }
    made(out.as_str())
}

fn urlquery(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let mut out = Growing::default();
    none_is_nil(args)?;
    for byte in print::sprint(args.all(), budget)?.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.letter(char::from(byte))?,
            b' ' => out.push("+")?,
            byte => out.push(&format!("%{byte:02X}"))?,
        }
    }
    made(out.as_str())
}
