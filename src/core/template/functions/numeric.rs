//! Functions on numbers: sprout's `numeric` and `conversion`.

use super::super::budget::Budget;
use super::super::call::{Args, Row, made};
use super::super::number::{NO_NUMBER, ceil, floor, to_float, to_unsigned, to_whole, truncated, whole};
use super::super::print;
use super::super::value::{Answer, Fault, Value};

pub(in super::super) const ROWS: &[Row] = &[
    ("floor", "A", |args, _| Ok(Value::Float(floor(to_float(args.any(0)?)?)))),
    ("ceil", "A", |args, _| Ok(Value::Float(-floor(-to_float(args.any(0)?)?)))),
    ("round", "AIF*", round),
    ("add", "A*", |args, _| operate(args.all(), 0.0, |a, b| a + b)),
    ("sub", "A*", |args, _| operate(args.all(), 0.0, |a, b| a - b)),
    ("add1", "A", |args, _| operate(&[args.any(0)?.clone(), Value::Int(1)], 0.0, |a, b| a + b)),
    ("mul", "A*", |args, _| match args.all() {
        [] => Ok(Value::Int64(1)),
        values => Ok(Value::Int64(to_whole(&operate(values, 1.0, |a, b| a * b)?)?)),
    }),
    ("mulf", "A*", |args, _| operate(args.all(), 1.0, |a, b| a * b)),
    ("div", "A*", |args, _| Ok(Value::Int64(to_whole(&divide(args.all())?)?))),
    ("divf", "A*", |args, _| divide(args.all())),
    ("mod", "AA", |args, _| {
        let (value, divisor) = (to_float(args.any(0)?)?, to_float(args.any(1)?)?);
        like(args.any(0)?, value % divisor)
    }),
    ("min", "AA*", |args, _| whole_of(args, i64::min)),
    ("max", "AA*", |args, _| whole_of(args, i64::max)),
    ("minf", "AA*", |args, _| float_of(args, f64::min)),
    ("maxf", "AA*", |args, _| float_of(args, f64::max)),
    ("toBool", "A", to_bool),
    ("toInt", "A", |args, _| Ok(Value::Int(to_whole(args.any(0)?)?))),
    ("toInt64", "A", |args, _| Ok(Value::Int64(to_whole(args.any(0)?)?))),
    ("toUint", "A", |args, _| Ok(Value::Uint(to_unsigned(args.any(0)?)?))),
    ("toUint64", "A", |args, _| Ok(Value::Uint64(to_unsigned(args.any(0)?)?))),
    ("toFloat64", "A", |args, _| Ok(Value::Float(to_float(args.any(0)?)?))),
    ("toOctal", "A", |args, budget| {
        let text = print::show(args.any(0)?, budget)?;
        i64::from_str_radix(&text, 8).map(Value::Int64).map_err(|_| NO_NUMBER)
    }),
    ("toString", "A", |args, budget| made(&print::show(args.any(0)?, budget)?)),
];

/// Floats in between, and at the end the type of the first.
fn operate(values: &[Value], none: f64, operation: fn(f64, f64) -> f64) -> Answer {
    let Some((first, rest)) = values.split_first() else { return Ok(Value::Float(none)) };
    let mut result = to_float(first)?;
    for value in rest {
        result = operation(result, to_float(value)?);
    }
    like(first, result)
}

/// A float as the type of another number.
fn like(value: &Value, result: f64) -> Answer {
    match value {
        Value::Int(_) => whole(result).map(Value::Int),
        Value::Int64(_) => whole(result).map(Value::Int64),
        Value::Uint(_) => to_unsigned(&Value::Float(result)).map(Value::Uint),
        Value::Uint64(_) => to_unsigned(&Value::Float(result)).map(Value::Uint64),
        Value::Float(_) => Ok(Value::Float(result)),
        _ => Err("takes a number first"),
    }
}

fn divide(values: &[Value]) -> Answer {
    let Some((first, rest)) = values.split_first() else { return Ok(Value::Float(0.0)) };
    let mut result = to_float(first)?;
    for value in rest {
        result /= to_float(value)?;
    }
    Ok(Value::Float(result))
}

fn round(args: &Args<'_>, _: &mut Budget) -> Answer {
    let on = if args.from(2).is_empty() { 0.5 } else { args.float(2)? };
    let places = u32::try_from(args.int(1)?.unsigned_abs()).ok().filter(|places| *places <= 15);
    let ten = (0..places.ok_or("rounds to more than 15 places")?).fold(1.0, |ten: f64, _| ten * 10.0);
    let power = if args.int(1)? < 0 { 1.0 / ten } else { ten };
    let digit = to_float(args.any(0)?)? * power;
    let behind = digit - truncated(digit);
    Ok(Value::Float(if behind >= on { ceil(digit) } else { floor(digit) } / power))
}

fn whole_of(args: &Args<'_>, of: fn(i64, i64) -> i64) -> Answer {
    let mut result = to_whole(args.any(0)?)?;
    for value in args.from(1) {
        result = of(result, to_whole(value)?);
    }
    Ok(Value::Int64(result))
}

fn float_of(args: &Args<'_>, of: fn(f64, f64) -> f64) -> Answer {
    let mut result = to_float(args.any(0)?)?;
    for value in args.from(1) {
        let value = to_float(value)?;
        if value.is_nan() || result.is_nan() || (value == 0.0 && result == 0.0) {
            return if value.to_bits() == result.to_bits() { Ok(Value::Float(value)) } else { Err(NO_NUMBER) };
        }
        result = of(result, value);
    }
    Ok(Value::Float(result))
}

fn to_bool(args: &Args<'_>, _: &mut Budget) -> Answer {
    const NONE: Fault = "a value is neither true nor false";
    match args.any(0)? {
        Value::Text(text) => match &**text {
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(Value::Bool(false)),
            _ => Err(NONE),
        },
        Value::List(_) | Value::Map(_) | Value::Bytes(_) => Err(NONE),
        value => Ok(Value::Bool(value.truth())),
    }
}
