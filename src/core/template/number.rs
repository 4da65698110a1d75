//! Numbers as Go converts and prints them.

use alloc::string::{String, ToString};

use super::value::{Fault, Value};

/// A whole number as a float, rounded to the nearest.
pub(super) fn float(n: i64) -> f64 {
    // Both halves are exact, so the sum rounds once.
    let high = i32::try_from(n >> 32).unwrap_or_default();
    let low = u32::try_from(n & 0xffff_ffff).unwrap_or_default();
    f64::from(high) * 4_294_967_296.0 + f64::from(low)
}

/// A number without sign as a float, rounded to the nearest.
pub(super) fn float_of(n: u64) -> f64 {
    let high = u32::try_from(n >> 32).unwrap_or_default();
    let low = u32::try_from(n & 0xffff_ffff).unwrap_or_default();
    f64::from(high) * 4_294_967_296.0 + f64::from(low)
}

/// A float without what stands behind the point.
#[expect(clippy::arithmetic_side_effects, reason = "an exponent has eleven bits")]
pub(super) fn truncated(n: f64) -> f64 {
    let bits = n.to_bits();
    let exponent = i64::try_from((bits >> 52) & 0x7ff).unwrap_or_default() - 1023;
    match u32::try_from(52 - exponent) {
        // All of the fraction stands behind the point.
        Ok(behind) if behind > 52 => {
            if n.is_sign_negative() {
                -0.0
            } else {
                0.0
            }
        }
        Ok(behind) => f64::from_bits(bits & !((1u64 << behind) - 1)),
        Err(_) => n,
    }
}

/// A float as a whole number, cut off at the point; none where Go leaves the result open.
#[expect(
    clippy::arithmetic_side_effects,
    reason = "an exponent has eleven bits, and a mantissa is shifted by at most ten"
)]
pub(super) fn whole(n: f64) -> Result<i64, Fault> {
    if !n.is_finite() || n.abs() >= 9_223_372_036_854_775_808.0 {
        return Err("a number is too large for a whole one");
    }
    let bits = truncated(n).abs().to_bits();
    let exponent = i64::try_from(bits >> 52).unwrap_or_default() - 1075;
    let mantissa = i64::try_from((bits & ((1 << 52) - 1)) | (1 << 52)).unwrap_or_default();
    let size = match u32::try_from(exponent) {
        _ if bits == 0 => 0,
        Ok(left) => mantissa.checked_shl(left).unwrap_or_default(),
        Err(_) => u32::try_from(-exponent).ok().and_then(|right| mantissa.checked_shr(right)).unwrap_or_default(),
    };
    Ok(if n < 0.0 { -size } else { size })
}

/// The largest whole number that is not larger.
pub(super) fn floor(n: f64) -> f64 {
    let cut = truncated(n);
    if cut > n { cut - 1.0 } else { cut }
}

/// The smallest whole number that is not smaller.
pub(super) fn ceil(n: f64) -> f64 {
    let cut = truncated(n);
    // Go's Ceil is -Floor(-x), so that what is just below zero becomes -0.
    if cut < n { cut + 1.0 } else { cut }
}

/// What is converted to a float.
pub(super) fn to_float(value: &Value) -> Result<f64, Fault> {
    match value {
        Value::Nil => Ok(0.0),
        Value::Bool(value) => Ok(f64::from(u8::from(*value))),
        Value::Int(n) | Value::Int64(n) => Ok(float(*n)),
        Value::Uint(n) | Value::Uint64(n) => Ok(float_of(*n)),
        Value::Float(n) => Ok(*n),
        Value::Text(text) if text.is_empty() => Ok(0.0),
        Value::Text(text) => {
            let plain =
                text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'-' | b'+' | b'e' | b'E'));
            let read = Some(text.parse::<f64>()).filter(|_| plain).and_then(Result::ok);
            read.filter(|n| n.is_finite()).ok_or(NO_NUMBER)
        }
        _ => Err(NO_NUMBER),
    }
}

/// What is converted to a whole number.
pub(super) fn to_whole(value: &Value) -> Result<i64, Fault> {
    match value {
        Value::Nil => Ok(0),
        Value::Bool(value) => Ok(i64::from(*value)),
        Value::Int(n) | Value::Int64(n) => Ok(*n),
        Value::Uint(n) | Value::Uint64(n) => i64::try_from(*n).map_err(|_| "a number is too large for a whole one"),
        Value::Float(n) => whole(*n),
        Value::Text(text) if text.is_empty() => Ok(0),
        Value::Text(text) => decimal(text).and_then(|text| text.parse().ok()).ok_or(NO_NUMBER),
        _ => Err(NO_NUMBER),
    }
}

/// What is converted to a whole number without sign.
pub(super) fn to_unsigned(value: &Value) -> Result<u64, Fault> {
    match value {
        Value::Uint(n) | Value::Uint64(n) => Ok(*n),
        Value::Text(text) if !text.is_empty() => decimal(text).and_then(|text| text.parse().ok()).ok_or(NO_NUMBER),
        Value::Float(n) if *n < 0.0 => Err("a number is negative"),
        other => u64::try_from(to_whole(other)?).map_err(|_| "a number is negative"),
    }
}

/// A text that is a whole number in decimal to everybody: Go takes `010` and `0x1` for other bases.
fn decimal(text: &str) -> Option<&str> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    (plain && !digits.is_empty()).then_some(text)
}

pub(super) const NO_NUMBER: Fault = "a value is no number, or none that is read the same way everywhere";

/// The shortest digits of a float that mean it and nothing else, and its exponent: d₁.d₂… × 10^exponent.
fn digits(n: f64) -> (String, i32) {
    let text = format!("{:e}", n.abs());
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (if n == 0.0 { "0".into() } else { digits }, exponent.parse().unwrap_or_default())
}

/// `%e` with all digits of the shortest form.
fn scientific(n: f64, digits: &str, exponent: i32) -> String {
    let (first, rest) = digits.split_at_checked(1).unwrap_or((digits, ""));
    let sign = if n.is_sign_negative() { "-" } else { "" };
    let point = if rest.is_empty() { "" } else { "." };
    let way = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{first}{point}{rest}e{way}{:02}", exponent.unsigned_abs())
}

/// A float as `%v` and `%g` have it.
pub(super) fn general(n: f64) -> String {
    if n.is_nan() {
        return "NaN".into();
    }
    if n.is_infinite() {
        return if n > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    let (digits, exponent) = digits(n);
    if n != 0.0 && !(-4..6).contains(&exponent) { scientific(n, &digits, exponent) } else { plain(n) }
}

/// A float in full.
pub(super) fn plain(n: f64) -> String {
    if n.is_infinite() {
        return if n > 0.0 { "+Inf".into() } else { "-Inf".into() };
    }
    n.to_string()
}

/// `%e` with so many digits behind the point.
pub(super) fn exponential(n: f64, behind: usize) -> String {
    let text = format!("{n:.behind$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (way, size) = exponent.strip_prefix('-').map_or(('+', exponent), |size| ('-', size));
    format!("{mantissa}e{way}{size:0>2}")
}

/// A float as JSON has it.
pub(super) fn json(n: f64) -> Result<String, Fault> {
    if !n.is_finite() {
        return Err("JSON has no such number");
    }
    if n != 0.0 && (n.abs() < 1e-6 || n.abs() >= 1e21) {
        let (digits, exponent) = digits(n);
        let text = scientific(n, &digits, exponent);
        // As JavaScript has it: e-09 becomes e-9.
        return Ok(text.replace("e-0", "e-"));
    }
    Ok(plain(n))
}
