//! Functions on maps: sprout's `maps` but for those that change one in place.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::budget::Budget;
use super::super::call::{Args, Row, map, text};
use super::super::print;
use super::super::value::{Answer, Fault, ListOf, Map, MapOf, Value};

pub(in super::super) const ROWS: &[Row] = &[
    ("dict", "A*", dict),
    ("get", "AA", |args, _| {
        let (key, map) = key_and_map(args)?;
        Ok(map.entries.get(key).cloned().unwrap_or_else(|| Value::text("")))
    }),
    ("hasKey", "AA", |args, _| {
        let (key, map) = key_and_map(args)?;
        Ok(Value::Bool(map.entries.contains_key(key)))
    }),
    // Go's order is another one each time: any is right, and sorted ones stay.
    ("keys", "M*", |args, budget| {
        let mut keys = Vec::new();
        for value in args.all() {
            budget.steps(map(value)?.entries.len())?;
            keys.extend(map(value)?.entries.keys().cloned().map(Value::Text));
        }
        Value::made(ListOf::Text, keys)
    }),
    ("values", "M*", |args, budget| {
        let mut values = Vec::new();
        for value in args.all() {
            budget.steps(map(value)?.entries.len())?;
            values.extend(map(value)?.entries.values().cloned());
        }
        Value::made(ListOf::Any, values)
    }),
    ("pluck", "TM*", |args, budget| {
        let mut values = Vec::new();
        for value in args.from(1) {
            budget.step()?;
            values.extend(map(value)?.entries.get(args.text(0)?).cloned());
        }
        Value::made(ListOf::Any, values)
    }),
    ("pick", "A*", |args, budget| picked(args, true, budget)),
    ("omit", "A*", |args, budget| picked(args, false, budget)),
    ("dig", "A*", dig),
];

fn dict(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let mut entries = BTreeMap::new();
    for pair in args.all().chunks(2) {
        budget.step()?;
        let [key, rest @ ..] = pair else { continue };
        let key: Arc<str> = print::show(key, budget)?.into();
        entries.insert(key, rest.first().cloned().unwrap_or_else(|| Value::text("")));
    }
    Value::made_map(MapOf::Any, entries)
}

/// Sprout takes the map first or last.
fn key_and_map<'a>(args: &Args<'a>) -> Result<(&'a str, &'a Arc<Map>), Fault> {
    match (args.any(0)?, args.any(1)?) {
        (Value::Text(key), last) => Ok((key, map(last)?)),
        (first, last) => Ok((text(last)?, map(first)?)),
    }
}

fn picked(args: &Args<'_>, keep: bool, budget: &mut Budget) -> Answer {
    let (keys, value) = match args.all() {
        [] | [_] => return Err("takes keys and a map"),
        [first @ Value::Map(_), keys @ ..] => (keys, first),
        [keys @ .., last] => (keys, last),
    };
    let keys: Vec<&str> = keys.iter().map(text).collect::<Result<_, _>>()?;
    let map = map(value)?;
    budget.steps(keys.len().saturating_mul(map.entries.len()))?;
    let entries = map.entries.iter().filter(|(key, _)| keys.contains(&&***key) == keep);
    Value::made_map(MapOf::Any, entries.map(|(key, value)| (key.clone(), value.clone())).collect())
}

fn dig(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let [keys @ .., value] = args.all() else { return Err("takes keys and a map") };
    if keys.is_empty() {
        return Err("takes keys and a map");
    }
    let keys: Vec<&str> = keys.iter().map(text).collect::<Result<_, _>>()?;
    let mut value = value;
    for key in keys.iter().flat_map(|key| key.split('.')) {
        budget.step()?;
        let Value::Map(_) = value else { return Err("digs through something that is no map") };
        match map(value)?.entries.get(key) {
            Some(inner) => value = inner,
            None => return Ok(Value::Nil),
        }
    }
    Ok(value.clone())
}
