//! Functions with regular expressions: sprout's `regexp`.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

use super::super::budget::{Budget, Growing};
use super::super::call::{Args, Row, made};
use super::super::regex::{Pattern, Span};
use super::super::value::{Answer, Fault, ListOf, MapOf, Value};

pub(in super::super) const ROWS: &[Row] = &[
    ("regexQuoteMeta", "T", |args, _| {
        let mut out = Growing::default();
        for letter in args.text(0)?.chars() {
            out.push(if r"\.+*?()|[]{}^$".contains(letter) { "\\" } else { "" })?;
            out.letter(letter)?;
        }
        made(out.as_str())
    }),
    ("regexMatch", "TT", |args, budget| {
        let (pattern, text) = (pattern(args, budget)?, args.text(1)?);
        budget.work(text.len().saturating_mul(pattern.cost()))?;
        Ok(Value::Bool(pattern.matches(text)))
    }),
    ("regexFind", "TT", |args, budget| {
        let text = args.text(1)?;
        made(spans(args, text, 1, budget)?.first().map(|span| part(text, *span)).unwrap_or_default())
    }),
    ("regexFindAll", "TTI", |args, budget| {
        let text = args.text(1)?;
        let found = spans(args, text, args.int(2)?, budget)?;
        if found.is_empty() {
            return Value::no_list(ListOf::Text);
        }
        Value::made_texts(found.iter().map(|span| part(text, *span)))
    }),
    ("regexSplit", "TTI", split),
    ("regexReplaceAll", "TTT", |args, budget| {
        let pattern = pattern(args, budget)?;
        let by = parts(args.text(2)?, &pattern)?;
        if by.iter().any(|part| matches!(part, Part::Group(_))) {
            let found = groups_of(&pattern, args.text(1)?, -1, budget)?;
            return replace(args, &by, found, budget);
        }
        let found = spans_of(&pattern, args.text(1)?, -1, budget)?;
        replace(args, &by, found.into_iter().map(|span| vec![Some(span)]).collect(), budget)
    }),
    ("regexReplaceAllLiteral", "TTT", |args, budget| {
        let found = spans(args, args.text(1)?, -1, budget)?;
        let by = [Part::Text(args.text(2)?)];
        replace(args, &by, found.into_iter().map(|span| vec![Some(span)]).collect(), budget)
    }),
    ("regexFindGroups", "TT", |args, budget| {
        let text = args.text(1)?;
        let found = groups(args, text, 1, budget)?;
        Value::made_texts(found.iter().flat_map(|groups| (0..groups.len()).map(|at| group(text, groups, at))))
    }),
    ("regexFindAllGroups", "TIT", |args, budget| {
        let text = args.text(2)?;
        let found = groups(args, text, args.int(1)?, budget)?;
        let texts = |groups: &Groups| Value::made_texts((0..groups.len()).map(|at| group(text, groups, at)));
        Value::made(ListOf::TextLists, found.iter().map(texts).collect::<Result<_, _>>()?)
    }),
    ("regexFindNamed", "TT", |args, budget| {
        let (pattern, text) = (pattern(args, budget)?, args.text(1)?);
        let found = groups_of(&pattern, text, 1, budget)?;
        Value::made_map(MapOf::Text, found.first().map(|groups| named(&pattern, text, groups)).unwrap_or_default())
    }),
    ("regexFindAllNamed", "TIT", |args, budget| {
        let (pattern, text) = (pattern(args, budget)?, args.text(2)?);
        let found = groups_of(&pattern, text, args.int(1)?, budget)?;
        let maps = found.iter().map(|groups| Value::made_map(MapOf::Text, named(&pattern, text, groups)));
        Value::made(ListOf::TextMaps, maps.collect::<Result<_, _>>()?)
    }),
];

/// Where each group of a match begins and ends.
type Groups = Vec<Option<Span>>;

fn pattern(args: &Args<'_>, budget: &mut Budget) -> Result<Pattern, Fault> {
    budget.pattern(args.text(0)?)
}

fn spans(args: &Args<'_>, text: &str, most: i64, budget: &mut Budget) -> Result<Vec<Span>, Fault> {
    spans_of(&pattern(args, budget)?, text, most, budget)
}

fn groups(args: &Args<'_>, text: &str, most: i64, budget: &mut Budget) -> Result<Vec<Groups>, Fault> {
    groups_of(&pattern(args, budget)?, text, most, budget)
}

/// Matches, at most so many; any number if that is less than none.
///
/// Each match is paid for as if all that is left of the text had been looked at, which may be so.
fn spans_of(pattern: &Pattern, text: &str, most: i64, budget: &mut Budget) -> Result<Vec<Span>, Fault> {
    let (cost, most) = (pattern.cost(), usize::try_from(most).unwrap_or(usize::MAX));
    budget.work(text.len().saturating_mul(cost))?;
    let mut all = Vec::new();
    for (start, end) in pattern.spans(text).take(most) {
        budget.step()?;
        budget.work(text.len().saturating_sub(end).saturating_mul(cost))?;
        all.push((start, end));
    }
    Ok(all)
}

/// The same with all groups of each match.
fn groups_of(pattern: &Pattern, text: &str, most: i64, budget: &mut Budget) -> Result<Vec<Groups>, Fault> {
    let (cost, most) = (pattern.cost_with_groups(), usize::try_from(most).unwrap_or(usize::MAX));
    budget.work(text.len().saturating_mul(cost))?;
    let mut all = Vec::new();
    for groups in pattern.all(text).take(most) {
        budget.steps(groups.len())?;
        let whole = groups.first().copied().flatten().map_or(0, |(_, end)| end);
        budget.work(text.len().saturating_sub(whole).saturating_mul(cost))?;
        // What they hold together may be far more than the text.
        let size = |(start, end): &Span| (*start..*end).len();
        budget.work(groups.iter().flatten().map(size).sum())?;
        all.push(groups);
    }
    Ok(all)
}

fn part(text: &str, (start, end): Span) -> &str {
    text.get(start..end).unwrap_or_default()
}

fn group<'t>(text: &'t str, groups: &Groups, at: usize) -> &'t str {
    groups.get(at).copied().flatten().map(|span| part(text, span)).unwrap_or_default()
}

fn named(pattern: &Pattern, text: &str, groups: &Groups) -> BTreeMap<Arc<str>, Value> {
    let names = pattern.names().enumerate().skip(1);
    names.filter_map(|(at, name)| Some((name?.into(), Value::text(group(text, groups, at))))).collect()
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
    let found = spans_of(&compiled, text, most, budget)?;
    let (mut parts, mut begin, mut end) = (Vec::new(), 0, 0);
    for (start, stop) in found {
        if usize::try_from(most).is_ok_and(|most| most.checked_sub(1) == Some(parts.len())) {
            break;
        }
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

fn replace(args: &Args<'_>, by: &[Part<'_>], found: Vec<Groups>, budget: &mut Budget) -> Answer {
    let text = args.text(1)?;
    let (mut out, mut last) = (Growing::default(), 0);
    for groups in &found {
        let Some((start, end)) = groups.first().copied().flatten() else { break };
        // Groups may be empty, and references to them as many as a text is long.
        budget.work(by.len())?;
        out.push(text.get(last..start).unwrap_or_default())?;
        for part in by {
            out.push(match part {
                Part::Text(text) => text,
                Part::Group(at) => group(text, groups, *at),
            })?;
        }
        last = end;
    }
    out.push(text.get(last..).unwrap_or_default())?;
    made(out.as_str())
}

/// A part of what matches are replaced by.
enum Part<'t> {
    Text(&'t str),
    Group(usize),
}

/// `Regexp.Expand`: `$1`, `${1}`, `$name`, `${name}` and `$$`. What refers to nothing is left away.
fn parts<'t>(by: &'t str, pattern: &Pattern) -> Result<Vec<Part<'t>>, Fault> {
    let (mut parts, mut rest) = (Vec::new(), by);
    while let Some((before, behind)) = rest.split_once('$') {
        if !before.is_empty() {
            parts.push(Part::Text(before));
        }
        if let Some(behind) = behind.strip_prefix('$') {
            parts.push(Part::Text("$"));
            rest = behind;
            continue;
        }
        let Some((name, after)) = reference(behind)? else {
            parts.push(Part::Text("$"));
            rest = behind;
            continue;
        };
        // With a zero in front, digits are a name, and no group has such a one.
        let number = if name.len() > 1 && name.starts_with('0') { None } else { name.parse::<usize>().ok() };
        let at = number.filter(|at| *at < pattern.groups()).or_else(|| pattern.named(name));
        parts.extend(at.map(Part::Group));
        rest = after;
    }
    parts.push(Part::Text(rest));
    Ok(parts)
}

/// The name behind a `$`, and what stands behind it.
fn reference(text: &str) -> Result<Option<(&str, &str)>, Fault> {
    let (braced, inner) = text.strip_prefix('{').map_or((false, text), |inner| (true, inner));
    if inner.chars().next().is_some_and(|letter| !letter.is_ascii()) {
        return Err("names a group by letters that are not ASCII");
    }
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let size = inner.find(|letter| !is_part(letter)).unwrap_or(inner.len());
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
