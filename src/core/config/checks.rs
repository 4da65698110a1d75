//! Checks of single values of the configuration, by the words of the schema.
//!
//! Text that the schema has no word for is checked in [`super::resolve`], where it takes more than the text to say so.

use alloc::borrow::Cow;
use alloc::string::ToString as _;
use alloc::vec::Vec;

use serde_json::Value as Json;

use super::error::{Faults, FieldPath};
use super::forms::*;
use super::repository::{ANY, filled};
use super::setting::{Bytes, CHECK, Fault, ONE, Seconds, record};
use super::variables::handed;
use super::written::{Value, Written, WrittenKey};
use super::{argocd, registry};

/// The check of a text.
type Check = fn(&str) -> Option<Fault>;

/// The forms by the words of the schema, each with its check.
const CHECKS: [(&str, Check); 35] = [
    ("argocd-release", argocd::release_fault),
    ("artifact-repository", registry::repository_fault),
    ("artifact-tag", registry::tag_fault),
    ("branch", branch),
    ("bytes", Bytes::fault),
    ("cluster", |text| object_glob(text, "Cluster")),
    ("commit", commit),
    ("condition", condition),
    ("context", context),
    ("decision-key", decision_key),
    ("digest", digest),
    ("directory", directory),
    ("file-path", |text| plain(text, "Write a file, relative to this file, or leave it out for the usual places.")),
    ("fleet-name", |text| label(text, "fleet")),
    ("glob", glob),
    ("handed-variable", handed),
    ("manager", manager),
    ("name-glob", name_glob),
    ("namespace", |text| label(text, "namespace")),
    ("go-duration", go_duration),
    ("namespace-glob", namespace_glob),
    ("object-name", object_name),
    ("output-repository", |text| url(&filled(text, ANY))),
    ("push-option", push_option),
    ("ref-name", ref_name),
    ("reference", |text| ref_name(text.strip_prefix("refs/").unwrap_or(text))),
    ("release", release),
    ("resource-set", |text| object_glob(text, "ClusterResourceSet")),
    ("secret-entry", secret_entry),
    ("source-name", |text| label(text, "source")),
    ("source-repository", url),
    ("source-path", |text| plain(text, "Write a folder or a file, relative to this file.")),
    ("sync-rule", rule_glob),
    ("template", template),
    ("variable", variable),
];

/// Checks a value that was typed: against the form that the schema names, and that one field of several is given.
pub(super) fn check(written: &Written, schema: &Json, path: &FieldPath, faults: &mut Faults) {
    let text = match &written.value {
        Value::Text(text) => Some(Cow::Borrowed(&**text)),
        Value::Integer(number) => Some(Cow::Owned(number.to_string())),
        Value::Null | Value::Bool(_) | Value::Number | Value::List(_) | Value::Map(_) => None,
    };
    if let (Some(name), Some(text)) = (schema.get(CHECK).and_then(Json::as_str), text) {
        record(faults_of(name, &text, schema), path, faults);
    }
    if let (Some(rule), Value::Map(entries)) = (schema.get(ONE), &written.value) {
        one_of(rule, entries, path, faults);
    }
}

/// Checks that exactly one of some fields of a map is given.
fn one_of(rule: &Json, entries: &[(WrittenKey, Written)], path: &FieldPath, faults: &mut Faults) {
    let is_set = |flag: &str| rule.get(flag).and_then(Json::as_bool).unwrap_or_default();
    let fields = rule.get("fields").and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str);
    let fields: Vec<&str> = fields.collect();
    let known = entries.iter().filter(|(key, _)| fields.contains(&&*key.text)).map(|(_, field)| &field.value);
    let given: Vec<&Value> = known.filter(|value| !matches!(value, Value::Null | Value::Bool(false))).collect();
    let is_empty = |value: &Value| matches!(value, Value::Map(entries) if entries.is_empty());
    let word = match &*given {
        [] => "none",
        [one] if is_set("filled") && is_empty(one) => "none",
        [_] => return,
        _ => "several",
    };
    let text = |at: usize| rule.get(word).and_then(|words| words.get(at)).and_then(Json::as_str).unwrap_or_default();
    match is_set("key") {
        true => faults.add_at_key(path, text(0), text(1)),
        false => faults.add(path, text(0), text(1)),
    }
}

fn faults_of(name: &str, text: &str, schema: &Json) -> Vec<Fault> {
    let one = match name {
        "time" => Seconds::fault(text, schema, 0),
        "time-above-zero" => Seconds::fault(text, schema, 1),
        "credential-path" => return claimant(text, "Credential"),
        "cluster-path" => return claimant(text, "Cluster"),
        "resource-set-path" => return claimant(text, "ClusterResourceSet"),
        _ => CHECKS.iter().find(|(known, _)| *known == name).and_then(|(_, fault)| fault(text)),
    };
    one.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::string::String;

    use super::*;
    use crate::config::file::{checked_schema, schema};

    fn forms(schema: &Json, found: &mut BTreeSet<String>) {
        match schema {
            Json::Object(fields) => {
                found.extend(fields.get(CHECK).and_then(Json::as_str).map(String::from));
                fields.values().for_each(|field| forms(field, found));
            }
            Json::Array(items) => items.iter().for_each(|item| forms(item, found)),
            _ => {}
        }
    }

    /// A word of the schema that no check has would let everything pass.
    #[test]
    fn the_schema_names_the_checks_that_there_are_and_is_published_without_them() {
        let (mut named, mut published) = (BTreeSet::new(), BTreeSet::new());
        forms(&checked_schema().to_value(), &mut named);
        forms(&schema().to_value(), &mut published);
        let special = ["cluster-path", "credential-path", "resource-set-path", "time", "time-above-zero"];
        let known: BTreeSet<String> = CHECKS.iter().map(|(name, _)| *name).chain(special).map(String::from).collect();
        assert_eq!(named, known);
        assert!(published.is_empty(), "{published:?}");
    }
}
