//! How values read: Go's `fmt`, as far as it is the same for what templates have.

use alloc::string::String;

use super::budget::{Budget, Growing};
use super::number;
use super::value::{Fault, NO_TEXT, Value};

/// `fmt.Sprint` of one value, and what an action prints.
pub(super) fn show(value: &Value, budget: &mut Budget) -> Result<String, Fault> {
    let mut out = Growing::default();
    write(value, &mut out, budget)?;
    Ok(out.done())
}

/// Adds what `%v` makes of a value.
pub(super) fn write(value: &Value, out: &mut Growing, budget: &mut Budget) -> Result<(), Fault> {
    match value {
        Value::Nil => out.push("<nil>"),
        Value::Bool(value) => out.push(if *value { "true" } else { "false" }),
        Value::Int(n) | Value::Int64(n) => out.push(&format!("{n}")),
        Value::Uint(n) | Value::Uint64(n) => out.push(&format!("{n}")),
        Value::Float(n) => out.push(&number::general(*n)),
        Value::Text(text) => out.push(text),
        Value::Bytes(_) => Err(NO_TEXT),
        Value::List(list) => {
            out.push("[")?;
            for (at, item) in list.items.iter().enumerate() {
                budget.step()?;
                out.push(if at == 0 { "" } else { " " })?;
                write(item, out, budget)?;
            }
            out.push("]")
        }
        Value::Map(map) if map.of.whole().is_err() => map.of.whole(),
        Value::Map(map) => {
            out.push("map[")?;
            for (at, (key, value)) in map.entries.iter().enumerate() {
                budget.step()?;
                out.push(if at == 0 { "" } else { " " })?;
                out.push(key)?;
                out.push(":")?;
                write(value, out, budget)?;
            }
            out.push("]")
        }
    }
}

/// `fmt.Sprint`: a space stands between two values of which none is a text.
pub(super) fn sprint(values: &[Value], budget: &mut Budget) -> Result<String, Fault> {
    let mut out = Growing::default();
    let mut before_is_text = true;
    for value in values {
        let is_text = matches!(value, Value::Text(_));
        if !is_text && !before_is_text {
            out.push(" ")?;
        }
        write(value, &mut out, budget)?;
        before_is_text = is_text;
    }
    Ok(out.done())
}

/// `fmt.Sprintln`.
pub(super) fn sprintln(values: &[Value], budget: &mut Budget) -> Result<String, Fault> {
    let mut out = Growing::default();
    for (at, value) in values.iter().enumerate() {
        out.push(if at == 0 { "" } else { " " })?;
        write(value, &mut out, budget)?;
    }
    out.push("\n")?;
    Ok(out.done())
}

/// `strconv.Quote`.
pub(super) fn quote(text: &str) -> Result<String, Fault> {
    let mut out = Growing::default();
    out.push("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => out.push("\\\"")?,
            '\\' => out.push("\\\\")?,
            '\u{7}' => out.push("\\a")?,
            '\u{8}' => out.push("\\b")?,
            '\u{c}' => out.push("\\f")?,
            '\n' => out.push("\\n")?,
            '\r' => out.push("\\r")?,
            '\t' => out.push("\\t")?,
            '\u{b}' => out.push("\\v")?,
            ' '..='~' => out.letter(letter)?,
            '\0'..='\u{1f}' | '\u{7f}' => out.push(&format!("\\x{:02x}", u32::from(letter)))?,
            _ if printable(letter) => out.letter(letter)?,
            _ => return Err("quotes a character that Go may write in another way"),
        }
    }
    out.push("\"")?;
    Ok(out.done())
}

/// Letters that every version of Unicode prints.
fn printable(letter: char) -> bool {
    matches!(letter, '\u{a1}'..='\u{ac}' | '\u{ae}'..='\u{24f}' | 'Α'..='Ρ' | 'Σ'..='Ω' | 'α'..='ω' | 'А'..='я')
        || matches!(letter, '\u{4e00}'..='\u{9fa5}' | '가'..='힣' | 'ぁ'..='ん' | 'ァ'..='ン' | '€')
}

/// What stands between `%` and the verb.
#[derive(Default)]
struct Form {
    left: bool,
    plus: bool,
    space: bool,
    sharp: bool,
    zero: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

impl Form {
    fn is_plain(&self) -> bool {
        self.is_unsigned() && !self.zero && self.width.is_none() && self.precision.is_none()
    }

    fn is_unsigned(&self) -> bool {
        !self.plus && !self.space && !self.sharp
    }
}

/// The widest that a form may ask for.
const WIDEST: usize = 10_000;

const BAD_FORM: Fault = "a format does not fit what is printed, or is not offered";

/// `fmt.Sprintf`. Where Go would print what is wrong, as in `%!d(string=x)`, this is refused.
pub(super) fn sprintf(format: &str, values: &[Value], budget: &mut Budget) -> Result<String, Fault> {
    let mut out = Growing::default();
    let mut values = values.iter();
    let mut rest = format;
    while let Some((text, behind)) = rest.split_once('%') {
        out.push(text)?;
        let mut letters = behind.chars();
        let form = form(&mut letters)?;
        let verb = letters.next().ok_or("a format ends within a verb")?;
        rest = letters.as_str();
        if verb == '%' {
            if !form.is_plain() {
                return Err(BAD_FORM);
            }
            out.push("%")?;
            continue;
        }
        let value = values.next().ok_or("a format has more verbs than values")?;
        one(&mut out, &form, verb, value, budget)?;
    }
    out.push(rest)?;
    if values.next().is_some() { Err("a format has fewer verbs than values") } else { Ok(out.done()) }
}

fn form(letters: &mut core::str::Chars<'_>) -> Result<Form, Fault> {
    let mut form = Form::default();
    loop {
        let behind = letters.clone();
        match letters.next() {
            Some('-') => form.left = true,
            Some('+') => form.plus = true,
            Some(' ') => form.space = true,
            Some('#') => form.sharp = true,
            Some('0') => form.zero = true,
            _ => {
                *letters = behind;
                break;
            }
        }
    }
    form.width = count(letters)?;
    let behind = letters.clone();
    if letters.next() == Some('.') {
        form.precision = Some(count(letters)?.unwrap_or_default());
    } else {
        *letters = behind;
    }
    Ok(form)
}

fn count(letters: &mut core::str::Chars<'_>) -> Result<Option<usize>, Fault> {
    let text = letters.as_str();
    let digits = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, behind) = text.split_at_checked(digits).unwrap_or((text, ""));
    *letters = behind.chars();
    if number.is_empty() {
        return Ok(None);
    }
    let count = number.parse::<usize>().ok().filter(|count| *count <= WIDEST);
    count.map(Some).ok_or("a format is wider than 10,000")
}

fn one(out: &mut Growing, form: &Form, verb: char, value: &Value, budget: &mut Budget) -> Result<(), Fault> {
    match (verb, value) {
        (_, Value::Bytes(_)) => Err(NO_TEXT),
        ('T', value) if form.is_plain() => out.push(value.type_name()?),
        ('v', Value::List(_) | Value::Map(_) | Value::Nil) if form.is_plain() => write(value, out, budget),
        ('v' | 's', Value::Text(text)) if form.is_unsigned() && !form.zero => {
            let most = form.precision.unwrap_or(usize::MAX);
            let end = text.char_indices().nth(most).map_or(text.len(), |(end, _)| end);
            padded(out, form, "", text.get(..end).unwrap_or_default())
        }
        ('q', Value::Text(text)) if form.is_unsigned() && !form.zero && form.precision.is_none() => {
            padded(out, form, "", &quote(text)?)
        }
        ('x' | 'X', Value::Text(text)) if form.is_plain() => {
            for byte in text.bytes() {
                out.push(&if verb == 'x' { format!("{byte:02x}") } else { format!("{byte:02X}") })?;
            }
            Ok(())
        }
        ('v' | 't', Value::Bool(value)) if form.is_unsigned() && !form.zero && form.precision.is_none() => {
            padded(out, form, "", if *value { "true" } else { "false" })
        }
        ('v' | 'd' | 'x' | 'X' | 'o' | 'b', Value::Int(n) | Value::Int64(n)) => {
            whole(out, form, verb, *n < 0, n.unsigned_abs())
        }
        ('v' | 'd' | 'x' | 'X' | 'o' | 'b', Value::Uint(n) | Value::Uint64(n)) => whole(out, form, verb, false, *n),
        ('c', Value::Int(n) | Value::Int64(n)) if form.is_plain() => {
            let letter = u32::try_from(*n).ok().and_then(char::from_u32).ok_or("a number is no character")?;
            out.letter(letter)
        }
        ('v' | 'f' | 'F' | 'e' | 'g', Value::Float(n)) => fraction(out, form, verb, *n),
        _ => Err(BAD_FORM),
    }
}

fn whole(out: &mut Growing, form: &Form, verb: char, negative: bool, size: u64) -> Result<(), Fault> {
    // `%+v` asks for names of fields, not for a sign.
    if form.sharp || form.precision.is_some() || (verb == 'v' && !form.is_unsigned()) {
        return Err(BAD_FORM);
    }
    let digits = match verb {
        'x' => format!("{size:x}"),
        'X' => format!("{size:X}"),
        'o' => format!("{size:o}"),
        'b' => format!("{size:b}"),
        _ => format!("{size}"),
    };
    padded(out, form, sign(form, negative), &digits)
}

fn fraction(out: &mut Growing, form: &Form, verb: char, n: f64) -> Result<(), Fault> {
    if form.sharp || !n.is_finite() || (verb == 'v' && !form.is_unsigned()) {
        return Err(BAD_FORM);
    }
    let size = n.abs();
    let digits = match (verb, form.precision) {
        ('e', precision) => number::exponential(size, precision.unwrap_or(6)),
        ('f' | 'F', precision) => format!("{size:.*}", precision.unwrap_or(6)),
        (_, None) => number::general(size),
        (_, Some(_)) => return Err(BAD_FORM),
    };
    padded(out, form, sign(form, n.is_sign_negative()), &digits)
}

fn sign(form: &Form, negative: bool) -> &'static str {
    match () {
        () if negative => "-",
        () if form.plus => "+",
        () if form.space => " ",
        () => "",
    }
}

/// Fills up to the width: to the left or right, or with zeros behind the sign.
fn padded(out: &mut Growing, form: &Form, sign: &str, text: &str) -> Result<(), Fault> {
    let width = form.width.unwrap_or_default();
    let missing = width.saturating_sub(sign.len()).saturating_sub(text.chars().count());
    let (before, zeros, behind) = match () {
        () if form.left => (0, 0, missing),
        () if form.zero => (0, missing, 0),
        () => (missing, 0, 0),
    };
    out.repeat(" ", before)?;
    out.push(sign)?;
    out.repeat("0", zeros)?;
    out.push(text)?;
    out.repeat(" ", behind)
}
