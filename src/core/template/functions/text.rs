//! Functions on texts: sprout's `strings`, and its `path…`.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::budget::{Budget, Growing};
use super::super::call::{Args, Row, made};
use super::super::number;
use super::super::print;
use super::super::value::{Answer, Fault, ListOf, MapOf, Value};

pub(in super::super) const ROWS: &[Row] = &[
    ("nospace", "T", |args, _| made(&args.text(0)?.replace(char::is_whitespace, ""))),
    ("trim", "T", |args, _| made(args.text(0)?.trim())),
    ("trimAll", "TT", |args, _| {
        // Both may be long: letters are looked up, not searched for.
        let cut: BTreeSet<char> = args.text(0)?.chars().collect();
        made(args.text(1)?.trim_matches(|letter| cut.contains(&letter)))
    }),
    ("trimPrefix", "TT", |args, _| made(args.text(1)?.strip_prefix(args.text(0)?).unwrap_or(args.text(1)?))),
    ("trimSuffix", "TT", |args, _| made(args.text(1)?.strip_suffix(args.text(0)?).unwrap_or(args.text(1)?))),
    ("contains", "TT", |args, _| Ok(Value::Bool(args.text(1)?.contains(args.text(0)?)))),
    ("hasPrefix", "TT", |args, _| Ok(Value::Bool(args.text(1)?.starts_with(args.text(0)?)))),
    ("hasSuffix", "TT", |args, _| Ok(Value::Bool(args.text(1)?.ends_with(args.text(0)?)))),
    ("replace", "TTT", replace),
    ("repeat", "IT", repeat),
    ("join", "TA", join),
    ("trunc", "IT", trunc),
    ("substr", "IIT", substr),
    ("ellipsis", "IT", |args, _| ellipsis(args.text(1)?, 0, args.int(0)?)),
    ("ellipsisBoth", "IIT", |args, _| ellipsis(args.text(2)?, args.int(0)?, args.int(1)?)),
    ("plural", "TTI", |args, _| made(args.text(if args.int(2)? == 1 { 0 } else { 1 })?)),
    ("wrap", "IT", |args, _| wrap(args.int(0)?, "", false, args.text(1)?)),
    ("wrapWith", "ITT", |args, _| wrap(args.int(0)?, args.text(1)?, true, args.text(2)?)),
    ("quote", "A*", |args, budget| around(args, budget, print::quote)),
    ("squote", "A*", |args, budget| around(args, budget, |text| Ok(format!("'{text}'")))),
    ("cat", "A*", |args, budget| around(args, budget, |text| Ok(text.into()))),
    ("split", "TT", |args, budget| split(args.text(0)?, -1, args.text(1)?, budget)),
    ("splitn", "TIT", |args, budget| split(args.text(0)?, args.int(1)?, args.text(2)?, budget)),
    ("splitList", "TT", |args, budget| {
        let parts = parts(args.text(1)?, args.text(0)?, -1, budget)?;
        Value::made_texts(parts)
    }),
    ("strSlice", "A", str_slice),
    ("indent", "IT", |args, _| indent("", args.int(0)?, args.text(1)?)),
    ("nindent", "IT", |args, _| indent("\n", args.int(0)?, args.text(1)?)),
    ("seq", "I*", seq),
    ("pathBase", "T", |args, _| made(base(args.text(0)?))),
    ("pathDir", "T", |args, _| {
        let path = args.text(0)?;
        made(&clean(path.rfind('/').and_then(|at| path.get(..=at)).unwrap_or_default()))
    }),
    ("pathExt", "T", |args, _| {
        let path = args.text(0)?;
        let name = path.rsplit('/').next().unwrap_or_default();
        made(name.rfind('.').and_then(|at| name.get(at..)).unwrap_or_default())
    }),
    ("pathClean", "T", |args, _| made(&clean(args.text(0)?))),
    ("pathIsAbs", "T", |args, _| Ok(Value::Bool(args.text(0)?.starts_with('/')))),
];

const CUTS: Fault = "cuts a text within a character";

fn replace(args: &Args<'_>, _: &mut Budget) -> Answer {
    let (old, new, text) = (args.text(0)?, args.text(1)?, args.text(2)?);
    let mut out = Growing::default();
    if old.is_empty() {
        // Go sets it before each character and at the end, as Rust does.
        for letter in text.chars() {
            out.push(new)?;
            out.letter(letter)?;
        }
        out.push(new)?;
        return made(out.as_str());
    }
    for (at, part) in text.split(old).enumerate() {
        out.push(if at == 0 { "" } else { new })?;
        out.push(part)?;
    }
    made(out.as_str())
}

fn repeat(args: &Args<'_>, _: &mut Budget) -> Answer {
    let count = usize::try_from(args.int(0)?).map_err(|_| "repeats a text less than 0 times")?;
    let mut out = Growing::default();
    out.repeat(args.text(1)?, count)?;
    made(out.as_str())
}

fn join(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let mut out = Growing::default();
    for (at, text) in texts(args.any(1)?, budget)?.iter().enumerate() {
        out.push(if at == 0 { "" } else { args.text(0)? })?;
        out.push(text)?;
    }
    made(out.as_str())
}

/// What sprout makes texts of: a list's items, or the value by itself.
pub(super) fn texts(value: &Value, budget: &mut Budget) -> Result<Vec<Arc<str>>, Fault> {
    match value {
        Value::Nil => Ok(Vec::new()),
        Value::List(list) => {
            budget.steps(list.items.len())?;
            list.items.iter().filter(|item| !matches!(item, Value::Nil)).map(cast).collect()
        }
        value => Ok(vec![cast(value)?]),
    }
}

/// `cast.ToString`: what has no text in its eyes is empty.
fn cast(value: &Value) -> Result<Arc<str>, Fault> {
    Ok(match value {
        Value::Text(text) => text.clone(),
        Value::Float(n) if n.is_nan() => "NaN".into(),
        Value::Float(n) => number::plain(*n).into(),
        Value::Bool(value) => if *value { "true" } else { "false" }.into(),
        Value::Int(n) | Value::Int64(n) => format!("{n}").into(),
        Value::Uint(n) | Value::Uint64(n) => format!("{n}").into(),
        Value::Bytes(_) => return Err(super::super::value::NO_TEXT),
        _ => "".into(),
    })
}

fn str_slice(args: &Args<'_>, budget: &mut Budget) -> Answer {
    match args.any(0)? {
        // Go gives the same list, nil if that is.
        Value::List(list) if list.of == ListOf::Text => Ok(Value::List(list.clone())),
        Value::List(_) => {
            let texts = texts(args.any(0)?, budget)?;
            // Go begins with no list at all.
            if texts.is_empty() {
                Value::no_list(ListOf::Text)
            } else {
                Value::made(ListOf::Text, texts.into_iter().map(Value::Text).collect())
            }
        }
        value => Value::made(ListOf::Text, texts(value, budget)?.into_iter().map(Value::Text).collect()),
    }
}

fn trunc(args: &Args<'_>, _: &mut Budget) -> Answer {
    let (count, text) = (args.int(0)?, args.text(1)?);
    let size = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    let part = match text.len().checked_sub(size) {
        Some(cut) if count < 0 => text.get(cut..),
        Some(_) => text.get(..size),
        None => Some(text),
    };
    made(part.ok_or(CUTS)?)
}

fn substr(args: &Args<'_>, _: &mut Budget) -> Answer {
    let (text, length) = (args.text(2)?, i64::try_from(args.text(2)?.len()).unwrap_or(i64::MAX));
    let from_end = |at: i64| if at < 0 { length.saturating_add(at) } else { at };
    let (start, end) = (from_end(args.int(0)?).max(0), from_end(args.int(1)?).min(length));
    if start > end {
        return made("");
    }
    let (start, end) = (usize::try_from(start), usize::try_from(end));
    let (Ok(start), Ok(end)) = (start, end) else { return Err("cuts a text before its beginning") };
    made(text.get(start..end).ok_or(CUTS)?)
}

fn ellipsis(text: &str, offset: i64, width: i64) -> Answer {
    if width < 4 || offset > 0 && width < 7 {
        return made(text);
    }
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let start = usize::try_from(offset).map_err(|_| "cuts a text before its beginning")?;
    if length <= width || length <= offset {
        return made(text.get(start..).ok_or("cuts a text behind its end or within a character")?);
    }
    let end = offset.saturating_add(width).saturating_sub(if offset > 0 { 6 } else { 3 });
    let end = usize::try_from(end).map_err(|_| "cuts a text before its beginning")?;
    let letters: Vec<char> = text.chars().collect();
    let part: String = letters.get(start..end).ok_or("cuts a text behind its end")?.iter().collect();
    made(&if offset > 0 { format!("...{part}...") } else { format!("{part}...") })
}

fn wrap(length: i64, line: &str, long: bool, text: &str) -> Answer {
    let length = usize::try_from(length.max(1)).unwrap_or(usize::MAX);
    let line = if line.is_empty() { "\n" } else { line };
    let (mut out, mut at) = (Growing::default(), 0);
    for word in text.split_whitespace() {
        let size = word.chars().count();
        if at > 0 && at + 1 + size > length {
            out.push(line)?;
            at = 0;
        }
        if long && size > length {
            for (index, letter) in word.char_indices() {
                out.letter(letter)?;
                at += 1;
                if index + 1 < word.len() && at == length {
                    out.push(line)?;
                    at = 0;
                }
            }
        } else {
            if at > 0 {
                out.push(" ")?;
                at += 1;
            }
            out.push(word)?;
            at += size;
        }
    }
    made(out.as_str())
}

/// Values behind each other; a space stands before each but the first, and nothing of what is nil.
fn around(args: &Args<'_>, budget: &mut Budget, dress: fn(&str) -> Result<String, Fault>) -> Answer {
    let mut out = Growing::default();
    for (at, value) in args.all().iter().enumerate() {
        if matches!(value, Value::Nil) {
            continue;
        }
        out.push(if at > 0 { " " } else { "" })?;
        out.push(&dress(&print::show(value, budget)?)?)?;
    }
    made(out.as_str())
}

/// `strings.SplitN`.
fn parts<'t>(text: &'t str, by: &str, most: i64, budget: &mut Budget) -> Result<Vec<&'t str>, Fault> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let Some(last) = most.checked_sub(1) else { return Ok(Vec::new()) };
    let mut parts = Vec::new();
    let mut rest = text;
    while parts.len() < last {
        let cut = if by.is_empty() {
            let size = rest.chars().next().map_or(0, char::len_utf8);
            rest.split_at_checked(size).filter(|(_, behind)| !behind.is_empty())
        } else {
            rest.split_once(by)
        };
        let Some((part, behind)) = cut else { break };
        budget.step()?;
        parts.push(part);
        rest = behind;
    }
    if !(by.is_empty() && text.is_empty()) {
        parts.push(rest);
    }
    Ok(parts)
}

fn split(by: &str, most: i64, text: &str, budget: &mut Budget) -> Answer {
    let parts = parts(text, by, most, budget)?;
    let named = parts.iter().enumerate().map(|(at, part)| (format!("_{at}").into(), Value::text(part)));
    Value::made_map(MapOf::Text, named.collect::<BTreeMap<_, _>>())
}

fn indent(before: &str, spaces: i64, text: &str) -> Answer {
    let spaces = usize::try_from(spaces).map_err(|_| "indents by less than 0 spaces")?;
    let mut out = Growing::default();
    out.push(before)?;
    for (at, line) in text.split('\n').enumerate() {
        out.push(if at == 0 { "" } else { "\n" })?;
        out.repeat(" ", spaces)?;
        out.push(line)?;
    }
    made(out.as_str())
}

fn seq(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let number = |at| args.int(at);
    let steps = match args.all().len() {
        1 => {
            let step = if number(0)? < 1 { -1 } else { 1 };
            until_step(1, number(0)?.saturating_add(step), step, budget)?
        }
        2 => {
            let step = if number(1)? < number(0)? { -1 } else { 1 };
            until_step(number(0)?, number(1)?.saturating_add(step), step, budget)?
        }
        3 => {
            let (start, step, end) = (number(0)?, number(1)?, number(2)?);
            if end < start && step > 0 {
                return made("");
            }
            until_step(start, end.saturating_add(if end < start { -1 } else { 1 }), step, budget)?
        }
        _ => return made(""),
    };
    let texts: Vec<String> = steps.iter().map(|n| format!("{n}")).collect();
    let mut out = Growing::default();
    for (at, text) in texts.iter().enumerate() {
        out.push(if at == 0 { "" } else { " " })?;
        out.push(text)?;
    }
    made(out.as_str())
}

/// The numbers from one to before another.
pub(super) fn until_step(start: i64, stop: i64, step: i64, budget: &mut Budget) -> Result<Vec<i64>, Fault> {
    let mut numbers = Vec::new();
    let mut at = start;
    while if stop < start { step < 0 && at > stop } else { step > 0 && at < stop } {
        budget.step()?;
        numbers.push(at);
        at = at.checked_add(step).ok_or("counts beyond the largest number")?;
    }
    Ok(numbers)
}

/// `path.Base`.
fn base(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match () {
        () if path.is_empty() => ".",
        () if trimmed.is_empty() => "/",
        () => trimmed.rsplit('/').next().unwrap_or(trimmed),
    }
}

/// `path.Clean`.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match () {
        () if rooted => format!("/{joined}"),
        () if joined.is_empty() => ".".into(),
        () => joined,
    }
}
