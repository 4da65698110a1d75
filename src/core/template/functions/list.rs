//! Functions on lists: sprout's `slices`.

use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::budget::Budget;
use super::super::call::{Args, Row, copied, list};
use super::super::equal;
use super::super::number;
use super::super::print;
use super::super::value::{Answer, Fault, List, ListOf, Value};
use super::text::{texts, until_step};

pub(in super::super) const ROWS: &[Row] = &[
    ("list", "A*", |args, budget| Value::made(ListOf::Any, copied(args.all(), budget)?)),
    ("append", "AA", |args, budget| {
        let (list, value) = list_and_value(args)?;
        let mut items = copied(&list.items, budget)?;
        items.push(value.clone());
        Value::made(ListOf::Any, items)
    }),
    ("prepend", "AA", |args, budget| {
        let (list, value) = list_and_value(args)?;
        budget.steps(list.items.len())?;
        Value::made(ListOf::Any, core::iter::once(value).chain(&list.items).cloned().collect())
    }),
    ("concat", "A*", |args, budget| {
        let mut items = Vec::new();
        for value in args.all() {
            if let Value::List(list) = value {
                items.extend(copied(&list.items, budget)?);
            }
        }
        Value::made(ListOf::Any, items)
    }),
    ("chunk", "IA", chunk),
    ("uniq", "A", uniq),
    ("compact", "A", |args, budget| {
        let items = copied(&args.list(0)?.items, budget)?;
        Value::made(ListOf::Any, items.into_iter().filter(Value::truth).collect())
    }),
    ("flatten", "A", |args, budget| flatten(args.list(0)?, -1, budget)),
    ("flattenDepth", "IA", |args, budget| flatten(args.list(1)?, args.int(0)?, budget)),
    ("slice", "A*", slice),
    ("has", "AA", |args, budget| {
        if matches!(args.any(1)?, Value::Nil) {
            return Ok(Value::Bool(false));
        }
        for item in &args.list(1)?.items {
            if equal::deep(args.any(0)?, item, budget)? {
                return Ok(Value::Bool(true));
            }
        }
        Ok(Value::Bool(false))
    }),
    ("without", "A*", without),
    ("rest", "A", |args, budget| {
        let Some((_, rest)) = args.list(0)?.items.split_first() else { return Value::no_list(ListOf::Any) };
        Value::made(ListOf::Any, copied(rest, budget)?)
    }),
    ("initial", "A", |args, budget| {
        let Some((_, rest)) = args.list(0)?.items.split_last() else { return Value::no_list(ListOf::Any) };
        Value::made(ListOf::Any, copied(rest, budget)?)
    }),
    ("first", "A", |args, _| Ok(args.list(0)?.items.first().cloned().unwrap_or(Value::Nil))),
    ("last", "A", |args, _| Ok(args.list(0)?.items.last().cloned().unwrap_or(Value::Nil))),
    ("reverse", "A", |args, budget| {
        budget.steps(args.list(0)?.items.len())?;
        Value::made(ListOf::Any, args.list(0)?.items.iter().rev().cloned().collect())
    }),
    ("sortAlpha", "A", sort_alpha),
    ("until", "I", |args, budget| {
        let stop = args.int(0)?;
        numbers(until_step(0, stop, if stop < 0 { -1 } else { 1 }, budget)?)
    }),
    ("untilStep", "III", |args, budget| numbers(until_step(args.int(0)?, args.int(1)?, args.int(2)?, budget)?)),
];

fn numbers(numbers: Vec<i64>) -> Answer {
    Value::made(ListOf::Int, numbers.into_iter().map(Value::Int).collect())
}

/// Said where sprout calls itself without end, or fails.
const ORDER: Fault = "takes a value and a list, of which only one is a list";

/// Sprout takes the list first or last. With two lists it never ends.
fn list_and_value<'a>(args: &Args<'a>) -> Result<(&'a Arc<List>, &'a Value), Fault> {
    match (args.any(0)?, args.any(1)?) {
        (Value::Nil, _) | (_, Value::Nil) | (Value::List(_), Value::List(_)) => Err(ORDER),
        (Value::List(list), value) | (value, Value::List(list)) => Ok((list, value)),
        _ => Err(ORDER),
    }
}

fn chunk(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let size = usize::try_from(args.int(0)?).ok().filter(|size| *size > 0).ok_or("makes parts of less than 1 item")?;
    let list = args.list(1)?;
    budget.steps(list.items.len())?;
    let chunks: Result<Vec<Value>, Fault> =
        list.items.chunks(size).map(|chunk| Value::made(ListOf::Any, chunk.to_vec())).collect();
    Value::made(ListOf::Lists, chunks?)
}

fn uniq(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let mut items: Vec<Value> = Vec::new();
    for item in &args.list(0)?.items {
        budget.steps(items.len() + 1)?;
        let mut seen = false;
        for other in &items {
            seen |= equal::key(item, other, budget)?;
        }
        // Also the first must be something that Go can look for.
        equal::key(item, item, budget)?;
        if !seen {
            items.push(item.clone());
        }
    }
    Value::made(ListOf::Any, items)
}

fn flatten(list: &List, deep: i64, budget: &mut Budget) -> Answer {
    let mut items = Vec::new();
    flat(list, deep, &mut items, budget)?;
    Value::made(ListOf::Any, items)
}

fn flat(list: &List, deep: i64, items: &mut Vec<Value>, budget: &mut Budget) -> Result<(), Fault> {
    for item in &list.items {
        budget.step()?;
        match item {
            Value::List(inner) if deep != 0 => flat(inner, deep.saturating_sub(1), items, budget)?,
            Value::Nil => return Err("flattens a list that holds nil"),
            item => items.push(item.clone()),
        }
    }
    Ok(())
}

fn slice(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let (indices, value) = match args.all() {
        [] => return Err("was given no list"),
        [only] => return Ok(only.clone()),
        [Value::List(_), .., Value::List(_)] | [Value::Nil, ..] | [Value::List(_), Value::List(_) | Value::Nil, ..] => {
            return Err(ORDER);
        }
        [first @ Value::List(_), indices @ ..] => (indices, first),
        [indices @ .., last] => (indices, last),
    };
    let list = list(value)?;
    if list.items.is_empty() {
        return Ok(Value::Nil);
    }
    let index = |at: usize, default| match indices.get(at) {
        // Go would count what is no number as 0.
        Some(value) => usize::try_from(number::to_whole(value)?).map_err(|_| OUT_OF_RANGE),
        None => Ok(default),
    };
    let (start, end) = (index(0, 0)?, index(1, list.items.len())?);
    let items = list.items.get(start..end).ok_or(OUT_OF_RANGE)?;
    Value::part(list.of, copied(items, budget)?)
}

pub(super) const OUT_OF_RANGE: Fault = "takes an index that is out of range";

fn without(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let (omitted, value) = match args.all() {
        [] | [_] => return Err("takes values and a list"),
        [Value::List(_), .., Value::List(_)] | [Value::Nil, ..] | [Value::List(_), Value::List(_) | Value::Nil, ..] => {
            return Err(ORDER);
        }
        [first @ Value::List(_), omitted @ ..] => (omitted, first),
        [omitted @ .., last] => (omitted, last),
    };
    for value in omitted {
        equal::key(value, value, budget)?;
    }
    let mut items = Vec::new();
    for item in &list(value)?.items {
        budget.steps(omitted.len() + 1)?;
        equal::key(item, item, budget)?;
        let mut found = false;
        for value in omitted {
            found |= equal::key(item, value, budget)?;
        }
        if !found {
            items.push(item.clone());
        }
    }
    Value::made(ListOf::Any, items)
}

/// How often sorting looks at each of as many texts as there are steps for.
const SORTED: usize = 16;

fn sort_alpha(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let Value::List(list) = args.any(0)? else {
        return Value::made_texts([&*print::show(args.any(0)?, budget)?]);
    };
    // Go sorts a list of texts in place, so that who else holds it would see that.
    if list.of == ListOf::Text && (list.shared || Arc::strong_count(list) > 1) {
        return Err("sorts a list that is used elsewhere too, which Go would change there; sort where it is made");
    }
    let mut texts = texts(args.any(0)?, budget)?;
    budget.steps(texts.len() * 4)?;
    let size: usize = texts.iter().map(|text| text.len()).sum();
    budget.work(size * SORTED)?;
    if texts.is_empty() && (list.of != ListOf::Text || list.nil) {
        return Value::no_list(ListOf::Text);
    }
    texts.sort_unstable();
    Value::made(ListOf::Text, texts.into_iter().map(Value::Text).collect())
}
