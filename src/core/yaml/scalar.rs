//! What an unquoted word means.
//!
//! Sources are manifests that people also give to kubectl, so words mean here what they mean there: YAML 1.1 as
//! sigs.k8s.io/yaml (go-yaml v2) reads it. `yes` is a truth value, `017` is fifteen, and a Secret's value
//! written so is an error here just as the API server would refuse it; taking it for text would publish
//! something that no other tool sees. The reader refuses the two cases in which we differ: numbers that are not
//! finite, and keys that are no text. What SOPS sealed is read by its words instead: those of go-yaml v3.

use crate::go_time::GoTime;
use crate::node::Dialect;

/// What an unquoted word is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Word {
    /// `null`, `~` or nothing.
    Null,
    /// A truth value, by all YAML 1.1 names.
    Bool(bool),
    /// An integer that fits 64 bits with sign.
    Int(i64),
    /// An integer above `i64::MAX`.
    Uint(u64),
    /// A finite number with a fraction or exponent, or an integer beyond 64 bits.
    Float(f64),
    /// Infinity or not a number.
    NotFinite,
    /// A date, with a time or without, to SOPS alone.
    Time(GoTime),
    /// The merge key `<<`.
    Merge,
    /// Anything else.
    Text,
}

/// Says what `word` is when it stands unquoted and without a tag.
///
/// <https://github.com/kubernetes-sigs/yaml/blob/v1.4.0/goyaml.v2/resolve.go>
pub fn resolve(word: &str) -> Word {
    // Most words are text and are told by their first byte.
    match word.bytes().next() {
        None => Word::Null,
        Some(b'~' | b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'<') => named(word),
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number(word),
        Some(_) => Word::Text,
    }
}

/// Says what `word` is to the reader of a dialect.
pub fn resolve_in(dialect: Dialect, word: &str) -> Word {
    match dialect {
        Dialect::Kubectl => resolve(word),
        Dialect::Sops => resolve_as_sops(word),
    }
}

/// <https://github.com/yaml/go-yaml/blob/v3.0.4/resolve.go>
fn resolve_as_sops(word: &str) -> Word {
    if let Some(moment) = GoTime::of_word(word) {
        return Word::Time(moment);
    }
    // Underscores are taken out only of words that begin with a digit or a sign.
    if word.starts_with('.') && word.contains('_') {
        return Word::Text;
    }
    match resolve(word) {
        Word::Bool(_) if !matches!(word, "true" | "True" | "TRUE" | "false" | "False" | "FALSE") => Word::Text,
        resolved => resolved,
    }
}

fn named(word: &str) -> Word {
    match word {
        "~" | "null" | "Null" | "NULL" => Word::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Word::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Word::Bool(false),
        "<<" => Word::Merge,
        _ => Word::Text,
    }
}

fn number(word: &str) -> Word {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") || matches!(word, ".nan" | ".NaN" | ".NAN") {
        return Word::NotFinite;
    }
    if !word.contains('_') {
        return digits(word);
    }
    digits(&word.replace('_', ""))
}

fn digits(word: &str) -> Word {
    if let Some(integer) = integer(word) {
        return integer;
    }
    match word.parse::<f64>() {
        // Above the largest number kubectl takes the word for text, and so do we: `12e4567` is
        // more often a revision than a number.
        Ok(value) if is_float_shaped(word) && value.is_finite() => Word::Float(value),
        _ => Word::Text,
    }
}

fn integer(word: &str) -> Option<Word> {
    let (negative, magnitude) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let (radix, digits) = match magnitude.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, magnitude.get(2..)?),
        [b'0', b'o' | b'O', ..] => (8, magnitude.get(2..)?),
        [b'0', b'b' | b'B', ..] => (2, magnitude.get(2..)?),
        [b'0', _, ..] => (8, magnitude.get(1..)?),
        _ => (10, magnitude),
    };
    // `from_str_radix` takes a sign of its own, which would be a second one here.
    if !digits.bytes().next()?.is_ascii_alphanumeric() {
        return None;
    }
    let value = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0_i64.checked_sub_unsigned(value).map(Word::Int);
    }
    match i64::try_from(value) {
        Ok(value) => Some(Word::Int(value)),
        Err(_) if word.starts_with('+') => None,
        Err(_) => Some(Word::Uint(value)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float_shaped(word: &str) -> bool {
    let unsigned = word.strip_prefix(['+', '-']).unwrap_or(word);
    let all_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent.strip_prefix(['+', '-']).unwrap_or(exponent))),
        None => (unsigned, None),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    has_digits
        && all_digits(whole)
        && all_digits(fraction)
        && exponent.is_none_or(|exponent| !exponent.is_empty() && all_digits(exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_mean_what_they_mean_to_kubectl() {
        // Each line was checked against `kubectl annotate --local -o json`.
        for (word, expect) in [
            ("", Word::Null),
            ("~", Word::Null),
            ("y", Word::Bool(true)),
            ("off", Word::Bool(false)),
            ("yEs", Word::Text),
            ("017", Word::Int(15)),
            ("0o17", Word::Int(15)),
            ("08", Word::Float(8.0)),
            ("1_000", Word::Int(1000)),
            ("0_", Word::Int(0)),
            ("0x_0A", Word::Int(10)),
            ("+0x1f", Word::Int(31)),
            ("-0b101", Word::Int(-5)),
            ("685_230.15", Word::Float(685_230.15)),
            ("2024-01-01", Word::Text),
            ("190:20:30", Word::Text),
            ("123456789012345678901234567890", Word::Float(123_456_789_012_345_678_901_234_567_890.0)),
            ("18446744073709551615", Word::Uint(u64::MAX)),
            ("-9223372036854775808", Word::Int(i64::MIN)),
            ("1e1000", Word::Text),
            ("1e3", Word::Float(1000.0)),
            ("1.", Word::Float(1.0)),
            (".5", Word::Float(0.5)),
            ("-.5", Word::Float(-0.5)),
            (".5_0", Word::Float(0.5)),
            ("0o", Word::Text),
            ("0x", Word::Text),
            ("+", Word::Text),
            ("-", Word::Text),
            (".", Word::Text),
            ("+-1", Word::Text),
            ("0x+1", Word::Text),
            ("1e", Word::Text),
            (".e3", Word::Text),
            ("1.2.3", Word::Text),
            ("inf", Word::Text),
            (".inf", Word::NotFinite),
            ("-.Inf", Word::NotFinite),
            (".NaN", Word::NotFinite),
            ("<<", Word::Merge),
            ("AKIA", Word::Text),
        ] {
            assert_eq!(resolve(word), expect, "{word:?}");
        }
    }
}
