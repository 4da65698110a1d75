//! Regular expressions of Go: RE2's syntax, checked and turned into ours.
//!
//! The engines agree on what matches first; their syntax differs in details. What both read alike is passed on, what only
//! differs in writing is rewritten, and the rest is refused.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use regex_automata::meta::Regex;

use super::budget::Budget;
use super::value::Fault;

/// An expression that is ready to match. It is not anchored.
#[derive(Clone, Debug)]
pub struct Pattern {
    regex: Arc<Regex>,
    names: Arc<[Option<String>]>,
    /// What a byte of text costs.
    cost: usize,
}

/// The most bytes of a compiled expression.
const LARGEST: usize = 1 << 18;

const REFUSED: Fault = "a regular expression is none for Go, or uses what is not offered";

impl Pattern {
    /// Compiles an expression.
    ///
    /// # Errors
    /// Where Go would refuse it, where it means something else here, or where it is too large.
    pub fn new(expression: &str) -> Result<Self, Fault> {
        let ours = translated(expression).ok_or(REFUSED)?;
        let config = Regex::config().nfa_size_limit(Some(LARGEST)).hybrid(false);
        let regex = Regex::builder().configure(config).build(&ours).map_err(|_| REFUSED)?;
        let names = regex.group_info().pattern_names(regex_automata::PatternID::ZERO);
        let names = names.map(|name| name.map(String::from)).collect();
        let cost = regex.memory_usage().div_euclid(1024).saturating_add(1);
        Ok(Self { regex: Arc::new(regex), names, cost })
    }

    /// Whether it matches anywhere.
    pub fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// The names of its groups, the whole match first.
    pub(super) fn names(&self) -> &[Option<String>] {
        &self.names
    }

    /// Its matches, as many as asked for: where each group begins and ends.
    ///
    /// # Errors
    /// Where the budget does not pay for them: each match may have looked at all that is left of the text.
    pub(super) fn find(&self, text: &str, most: usize, budget: &mut Budget) -> Result<Vec<Groups>, Fault> {
        budget.work(text.len().saturating_mul(self.cost))?;
        let mut found = Vec::new();
        for captures in self.regex.captures_iter(text).take(most) {
            budget.step()?;
            let groups: Groups =
                (0..captures.group_len()).map(|at| captures.get_group(at).map(|span| (span.start, span.end))).collect();
            let end = captures.get_match().map_or(0, |whole| whole.end());
            budget.work(text.len().saturating_sub(end).saturating_mul(self.cost))?;
            found.push(groups);
        }
        Ok(found)
    }
}

/// Where each group of a match begins and ends.
pub(super) type Groups = Vec<Option<(usize, usize)>>;

/// The expression in our own syntax; none where it is refused.
fn translated(expression: &str) -> Option<String> {
    let mut out = String::new();
    let mut letters = expression.chars().peekable();
    // Whether the letter before was one that repeats: two of them Go refuses.
    let mut repeated = false;
    let mut repeats = 1u32;
    while let Some(letter) = letters.next() {
        let mut repeats_now = false;
        match letter {
            '\\' => escape(&mut letters, &mut out, false)?,
            '[' => class(&mut letters, &mut out)?,
            '(' => {
                out.push('(');
                if letters.next_if_eq(&'?').is_some() {
                    out.push('?');
                    group(&mut letters, &mut out)?;
                }
            }
            '*' | '+' | '?' => {
                if repeated {
                    return None;
                }
                out.push(letter);
                if letters.next_if_eq(&'?').is_some() {
                    out.push('?');
                }
                repeats_now = true;
            }
            '{' => {
                if repeated {
                    return None;
                }
                let most = repetition(&mut letters, &mut out)?;
                // Go bounds what repetitions within each other come to; this bounds them all together.
                repeats = repeats.checked_mul(most.max(1)).filter(|repeats| *repeats <= 1000)?;
                repeats_now = true;
            }
            letter => out.push(letter),
        }
        repeated = repeats_now;
    }
    Some(out)
}

type Letters<'a> = core::iter::Peekable<core::str::Chars<'a>>;

fn escape(letters: &mut Letters<'_>, out: &mut String, in_class: bool) -> Option<()> {
    let letter = letters.next()?;
    match letter {
        'd' => out.push_str(if in_class { "0-9" } else { "[0-9]" }),
        'w' => out.push_str(if in_class { "0-9A-Za-z_" } else { "[0-9A-Za-z_]" }),
        's' => out.push_str(if in_class { "\\t\\n\\x0C\\r " } else { "[\\t\\n\\x0C\\r ]" }),
        'D' => out.push_str("[^0-9]"),
        'W' => out.push_str("[^0-9A-Za-z_]"),
        'S' => out.push_str("[^\\t\\n\\x0C\\r ]"),
        'b' if !in_class && letters.peek() != Some(&'{') => out.push_str("(?-u:\\b)"),
        'A' | 'z' if !in_class => out.extend(['\\', letter]),
        'a' | 'f' | 't' | 'n' | 'r' | 'v' => out.extend(['\\', letter]),
        'x' => {
            let braced = letters.next_if_eq(&'{').is_some();
            let mut digits = String::new();
            while let Some(digit) = letters.next_if(|digit| digit.is_ascii_hexdigit() && (braced || digits.len() < 2)) {
                digits.push(digit);
            }
            if digits.is_empty() || digits.len() > 6 || (!braced && digits.len() != 2) {
                return None;
            }
            if braced {
                letters.next_if_eq(&'}')?;
            }
            out.push_str(&format!("\\x{{{digits}}}"));
        }
        '<' | '>' => out.push(letter),
        letter if letter.is_ascii_punctuation() => out.extend(['\\', letter]),
        _ => return None,
    }
    Some(())
}

fn group(letters: &mut Letters<'_>, out: &mut String) -> Option<()> {
    if letters.next_if_eq(&'P').is_some() {
        out.push('P');
        if letters.peek() != Some(&'<') {
            return None;
        }
    }
    if letters.next_if_eq(&'<').is_some() {
        out.push('<');
        let mut length = 0;
        while let Some(letter) = letters.next_if(|letter| letter.is_ascii_alphanumeric() || *letter == '_') {
            out.push(letter);
            length += 1;
        }
        // Go takes names that begin with a digit, we do not: our own compiler refuses them.
        letters.next_if_eq(&'>').filter(|_| length > 0)?;
        out.push('>');
        return Some(());
    }
    loop {
        let letter = letters.next()?;
        match letter {
            'i' | 'm' | 's' | 'U' | '-' => out.push(letter),
            ':' | ')' => {
                out.push(letter);
                return Some(());
            }
            _ => return None,
        }
    }
}

fn repetition(letters: &mut Letters<'_>, out: &mut String) -> Option<u32> {
    out.push('{');
    let mut numbers = [String::new(), String::new()];
    let [low, high] = &mut numbers;
    while let Some(digit) = letters.next_if(char::is_ascii_digit) {
        low.push(digit);
    }
    out.push_str(low);
    if letters.next_if_eq(&',').is_some() {
        out.push(',');
        while let Some(digit) = letters.next_if(char::is_ascii_digit) {
            high.push(digit);
        }
        out.push_str(high);
    }
    letters.next_if_eq(&'}')?;
    out.push('}');
    if letters.next_if_eq(&'?').is_some() {
        out.push('?');
    }
    let low: u32 = low.parse().ok().filter(|low| *low <= 1000)?;
    if high.is_empty() { Some(low) } else { high.parse().ok().filter(|high| *high <= 1000 && low <= *high) }
}

fn class(letters: &mut Letters<'_>, out: &mut String) -> Option<()> {
    out.push('[');
    if letters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    // A bracket that closes right at the beginning is one of the letters.
    if letters.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    loop {
        let letter = letters.next()?;
        match letter {
            ']' => {
                out.push(']');
                return Some(());
            }
            '\\' => escape(letters, out, true)?,
            '[' if letters.peek() == Some(&':') => {
                letters.next();
                let mut name = String::new();
                while let Some(letter) = letters.next_if(|letter| letter.is_ascii_lowercase() || *letter == '^') {
                    name.push(letter);
                }
                letters.next_if_eq(&':')?;
                letters.next_if_eq(&']')?;
                out.push_str(&format!("[:{name}:]"));
            }
            // Operators of ours that are letters to Go.
            '[' | '&' | '~' => out.extend(['\\', letter]),
            '-' if letters.peek() == Some(&'-') => return None,
            letter => out.push(letter),
        }
    }
}
