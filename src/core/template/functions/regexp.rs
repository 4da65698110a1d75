//! Functions with regular expressions: sprout's `regexp`.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::budget::{Budget, Growing};
use super::super::call::{Args, Row, made};
use super::super::regex::{Groups, Pattern};
use super::super::value::{Answer, Fault, ListOf, MapOf, Value};

pub(in super::super) const ROWS: &[Row] = &[
    ("regexQuoteMeta", "T", |args, _| {
        let special = |letter: char| r"\.+*?()|[]{}^$".contains(letter);
        let quoted = |letter: char| special(letter).then_some('\\').into_iter().chain([letter]);
        made(&args.text(0)?.chars().flat_map(quoted).collect::<String>())
    }),
    ("regexMatch", "TT", |args, budget| Ok(Value::Bool(!find(args, args.text(1)?, 1, budget)?.is_empty()))),
    ("regexFind", "TT", |args, budget| {
        let text = args.text(1)?;
        let found = find(args, text, 1, budget)?;
        made(found.first().map(|groups| group(text, groups, 0)).unwrap_or_default())
    }),
    ("regexFindAll", "TTI", |args, budget| {
        let text = args.text(1)?;
        let found = find(args, text, args.int(2)?, budget)?;
        if found.is_empty() {
            return Value::no_list(ListOf::Text);
        }
        Value::made_texts(found.iter().map(|groups| group(text, groups, 0)))
    }),
    ("regexSplit", "TTI", split),
    ("regexReplaceAll", "TTT", |args, budget| replace(args, budget, true)),
    ("regexReplaceAllLiteral", "TTT", |args, budget| replace(args, budget, false)),
    ("regexFindGroups", "TT", |args, budget| {
        let text = args.text(1)?;
        let found = find(args, text, 1, budget)?;
        Value::made_texts(found.iter().flat_map(|groups| (0..groups.len()).map(|at| group(text, groups, at))))
    }),
    ("regexFindAllGroups", "TIT", |args, budget| {
        let text = args.text(2)?;
        let found = find(args, text, args.int(1)?, budget)?;
        let texts = |groups: &Groups| Value::made_texts((0..groups.len()).map(|at| group(text, groups, at)));
        Value::made(ListOf::TextLists, found.iter().map(texts).collect::<Result<_, _>>()?)
    }),
    ("regexFindNamed", "TT", |args, budget| {
        let (pattern, text) = (pattern(args, budget)?, args.text(1)?);
        let found = pattern.find(text, 1, budget)?;
        Value::made_map(MapOf::Text, found.first().map(|groups| named(&pattern, text, groups)).unwrap_or_default())
    }),
    ("regexFindAllNamed", "TIT", |args, budget| {
        let (pattern, text) = (pattern(args, budget)?, args.text(2)?);
        let found = find(args, text, args.int(1)?, budget)?;
        let maps = found.iter().map(|groups| Value::made_map(MapOf::Text, named(&pattern, text, groups)));
        Value::made(ListOf::TextMaps, maps.collect::<Result<_, _>>()?)
    }),
];

fn pattern(args: &Args<'_>, budget: &mut Budget) -> Result<Pattern, Fault> {
    let expression = args.text(0)?;
    // To compile costs far more than to match.
    budget.steps(expression.len().saturating_add(50))?;
    Pattern::new(expression)
}

fn find(args: &Args<'_>, text: &str, most: i64, budget: &mut Budget) -> Result<Vec<Groups>, Fault> {
    pattern(args, budget)?.find(text, usize::try_from(most).unwrap_or(usize::MAX), budget)
}

fn group<'t>(text: &'t str, groups: &Groups, at: usize) -> &'t str {
    let span = groups.get(at).copied().flatten();
    span.and_then(|(start, end)| text.get(start..end)).unwrap_or_default()
}

fn named(pattern: &Pattern, text: &str, groups: &Groups) -> BTreeMap<Arc<str>, Value> {
    let names = pattern.names().iter().enumerate().skip(1);
    let named = names.filter_map(|(at, name)| Some((name.as_deref()?.into(), Value::text(group(text, groups, at)))));
    named.collect()
}

/// `Regexp.Split`.
fn split(args: &Args<'_>, budget: &mut Budget) -> Answer {
    let (expression, text, most) = (args.text(0)?, args.text(1)?, args.int(2)?);
    let compiled = pattern(args, budget)?;
    if most == 0 {
        return Value::no_list(ListOf::Text);
    }
    if !expression.is_empty() && text.is_empty() {
        return Value::made_texts([""]);
    }
    let found = compiled.find(text, usize::try_from(most).unwrap_or(usize::MAX), budget)?;
    let (mut parts, mut begin, mut end) = (Vec::new(), 0, 0);
    for groups in found {
        if usize::try_from(most).is_ok_and(|most| parts.len().saturating_add(1) == most) {
            break;
        }
        let Some((start, stop)) = groups.first().copied().flatten() else { break };
        end = start;
        if stop != 0 {
            parts.push(text.get(begin..end).unwrap_or_default());
        }
        begin = stop;
    }
    if end != text.len() {
        parts.push(text.get(begin..).unwrap_or_default());
    }
    Value::made_texts(parts)
}

fn replace(args: &Args<'_>, budget: &mut Budget, expand: bool) -> Answer {
    let (compiled, text, by) = (pattern(args, budget)?, args.text(1)?, args.text(2)?);
    let found = compiled.find(text, usize::MAX, budget)?;
    let (mut out, mut last) = (Growing::default(), 0);
    for groups in &found {
        let Some((start, end)) = groups.first().copied().flatten() else { break };
        out.push(text.get(last..start).unwrap_or_default())?;
        if expand {
            expanded(by, &compiled, text, groups, &mut out)?;
        } else {
            out.push(by)?;
        }
        last = end;
    }
    out.push(text.get(last..).unwrap_or_default())?;
    made(out.as_str())
}

/// `Regexp.Expand`: `$1`, `${1}`, `$name`, `${name}` and `$$`.
fn expanded(by: &str, pattern: &Pattern, text: &str, groups: &Groups, out: &mut Growing) -> Result<(), Fault> {
    let mut rest = by;
    while let Some((before, behind)) = rest.split_once('$') {
        out.push(before)?;
        if let Some(behind) = behind.strip_prefix('$') {
            out.push("$")?;
            rest = behind;
            continue;
        }
        let Some((name, after)) = reference(behind)? else {
            out.push("$")?;
            rest = behind;
            continue;
        };
        match name.parse::<usize>() {
            Ok(at) if name.bytes().all(|byte| byte.is_ascii_digit()) => out.push(group(text, groups, at))?,
            _ => {
                // Of groups with one name, the last that took part.
                let names = pattern.names().iter().enumerate();
                let mut named = names.filter(|(at, other)| {
                    other.as_deref() == Some(name) && groups.get(*at).copied().flatten().is_some()
                });
                if let Some((at, _)) = named.next() {
                    out.push(group(text, groups, at))?;
                }
            }
        }
        rest = after;
    }
    out.push(rest)
}

/// The name behind a `$`, and what stands behind it.
fn reference(text: &str) -> Result<Option<(&str, &str)>, Fault> {
    let (braced, inner) = text.strip_prefix('{').map_or((false, text), |inner| (true, inner));
    if inner.chars().next().is_some_and(|letter| !letter.is_ascii()) {
        return Err("names a group by letters that are not ASCII");
    }
    let size = inner
        .len()
        .saturating_sub(inner.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric() || letter == '_').len());
    let Some((name, after)) = inner.split_at_checked(size).filter(|(name, _)| !name.is_empty()) else {
        return Ok(None);
    };
    match braced {
        false if after.chars().next().is_some_and(|letter| !letter.is_ascii()) => {
            Err("names a group by letters that are not ASCII")
        }
        false => Ok(Some((name, after))),
        true => Ok(after.strip_prefix('}').map(|after| (name, after))),
    }
}
