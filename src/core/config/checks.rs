//! Checks: what is wrong with single values of the configuration, by the words of the schema.

use alloc::vec::Vec;

use serde_json::Value as Json;

use super::error::{Faults, FieldPath};
use super::limits;
use super::setting::{Bytes, CHECK, Fault, ONE, Seconds};
use super::written::{Value, Written};

/// The forms by name, each with what is wrong with a value; the schema of the field says the example to give.
const CHECKS: [(&str, fn(&Value, &Json) -> Fault); 4] = [
    ("bytes", Bytes::fault),
    ("digest", limits::digest_fault),
    ("time", |value, field| Seconds::fault(value, field, 0)),
    ("time-above-zero", |value, field| Seconds::fault(value, field, 1)),
];

/// Checks a value that was typed: against the form that the schema names, and that one field of several is given.
pub(super) fn check(written: &Written, schema: &Json, path: &FieldPath, faults: &mut Faults) {
    let check = schema.get(CHECK).and_then(Json::as_str);
    let check = check.and_then(|name| CHECKS.iter().find(|(known, _)| *known == name));
    if let Some((message, help)) = check.and_then(|(_, fault)| fault(&written.value, schema)) {
        faults.add(path, message, help);
    }
    if let (Some(rule), Value::Map(entries)) = (schema.get(ONE), &written.value) {
        let fields: Vec<&str> =
            rule.get("fields").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str).collect();
        let given =
            entries.iter().filter(|(key, value)| fields.contains(&&*key.text) && !matches!(value.value, Value::Null));
        let word = match given.count() {
            0 => "none",
            1 => return,
            _ => "several",
        };
        let text =
            |at: usize| rule.get(word).and_then(|words| words.get(at)).and_then(Json::as_str).unwrap_or_default();
        faults.add(path, text(0), text(1));
    }
}
