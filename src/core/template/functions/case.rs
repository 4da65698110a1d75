//! Functions that change the case of letters.
//!
//! They take ASCII only: beyond it, languages and versions of Unicode differ in what a letter's other case is.

use alloc::string::String;

use super::super::budget::{Budget, Growing};
use super::super::call::{Args, Row, made};
use super::super::value::{Answer, Fault};

pub(in super::super) const ROWS: &[Row] = &[
    ("toLower", "T", |args, _| made(&ascii(args)?.to_ascii_lowercase())),
    ("toUpper", "T", |args, _| made(&ascii(args)?.to_ascii_uppercase())),
    ("swapCase", "T", |args, _| {
        let swap = |letter: char| {
            if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() }
        };
        made(&ascii(args)?.chars().map(swap).collect::<String>())
    }),
    ("untitle", "T", untitle),
    ("capitalize", "T", |args, _| first(ascii(args)?, |letter| letter.to_ascii_uppercase())),
    ("uncapitalize", "T", |args, _| first(ascii(args)?, |letter| letter.to_ascii_lowercase())),
    ("initials", "T", initials),
    ("toCamelCase", "T", |args, _| styled(args, &Style { first: false, next: true, lower: true, ..PLAIN })),
    ("toPascalCase", "T", |args, _| styled(args, &Style { first: true, next: true, ..PLAIN })),
    ("toKebabCase", "T", |args, _| styled(args, &Style { between: Some('-'), lower: true, ..PLAIN })),
    ("toSnakeCase", "T", |args, _| styled(args, &Style { between: Some('_'), lower: true, ..PLAIN })),
    ("toDotCase", "T", |args, _| styled(args, &Style { between: Some('.'), lower: true, ..PLAIN })),
    ("toPathCase", "T", |args, _| styled(args, &Style { between: Some('/'), lower: true, ..PLAIN })),
    ("toConstantCase", "T", |args, _| styled(args, &Style { between: Some('_'), upper: true, ..PLAIN })),
];

fn ascii<'a>(args: &Args<'a>) -> Result<&'a str, Fault> {
    let text = args.text(0)?;
    if text.is_ascii() { Ok(text) } else { Err("changes the case of ASCII letters only, and was given others") }
}

fn untitle(args: &Args<'_>, _: &mut Budget) -> Answer {
    let mut start = true;
    let lower = |letter: char| {
        let lowered = if start { letter.to_ascii_lowercase() } else { letter };
        start = letter.is_whitespace();
        lowered
    };
    made(&ascii(args)?.chars().map(lower).collect::<String>())
}

fn first(text: &str, change: fn(char) -> char) -> Answer {
    let Some(at) = text.find(|letter: char| letter.is_ascii_alphabetic()) else { return made(text) };
    let change = |(index, letter)| if index == at { change(letter) } else { letter };
    made(&text.char_indices().map(change).collect::<String>())
}

fn initials(args: &Args<'_>, _: &mut Budget) -> Answer {
    let words = ascii(args)?.split(' ').filter(|word| !word.is_empty());
    let initial = |(at, word): (usize, &str)| {
        let letter = word.chars().next().unwrap_or_default();
        // Later words that begin with something else leave a NUL.
        if at == 0 || letter.is_ascii_alphabetic() { letter } else { '\0' }
    };
    made(&words.enumerate().map(initial).collect::<String>())
}

struct Style {
    between: Option<char>,
    first: bool,
    next: bool,
    lower: bool,
    upper: bool,
}

const PLAIN: Style = Style { between: None, first: false, next: false, lower: false, upper: false };

fn styled(args: &Args<'_>, style: &Style) -> Answer {
    let text = ascii(args)?;
    let mut out = Growing::default();
    let mut capital = style.next && style.first;
    // What was seen last; none also stands for a separator where there is none.
    let (mut last, mut seen_letter, mut next) = ('\0', false, '\0');
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if let Some(following) = letters.peek() {
            next = *following;
        }
        if matches!(letter, ' ' | '-' | '_') {
            match style.between {
                Some(between) => {
                    if last != between {
                        out.letter(between)?;
                    }
                    last = between;
                }
                None => last = '\u{ffff}',
            }
            capital |= seen_letter;
            continue;
        }
        if let Some(between) = style.between {
            let rises = letter.is_ascii_uppercase() && !out.as_str().is_empty() && last != between;
            if rises && (last.is_ascii_uppercase() && next.is_ascii_lowercase() || last.is_ascii_lowercase()) {
                out.letter(between)?;
            }
            if last != between && letter.is_ascii_digit() && !last.is_ascii_digit() {
                out.letter(between)?;
            }
        }
        out.letter(match () {
            () if capital && style.next => {
                capital = false;
                letter.to_ascii_uppercase()
            }
            () if style.lower => letter.to_ascii_lowercase(),
            () if style.upper => letter.to_ascii_uppercase(),
            () => letter,
        })?;
        last = letter;
        seen_letter |= letter.is_ascii_alphabetic();
    }
    made(out.as_str())
}
