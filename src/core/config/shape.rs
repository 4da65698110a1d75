//! The shape of a configuration: its fields, their types and the words that they take.
//!
//! The document is checked against the very schema that editors use. That finds every fault at once, where a
//! deserialiser stops at the first, and proves the schema right each time. What a field may *mean* is
//! [`super::resolve`]'s business.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value as Json;

use super::checks;
use super::defaults::OWN;
use super::error::{ConfigError, Faults, FieldPath, Step, quoted, suggest};
use super::file::{self, FleetFile};
use super::setting::DEFAULTS;
use super::written::{Value, Written};
use crate::renamed;
use crate::yaml::Flaw;
use crate::yaml::consumers::{Trouble, refused};
use crate::yaml::read::typed;

/// Why a text is not a configuration.
#[derive(Debug)]
pub enum Unfit {
    /// It cannot be read as YAML.
    Flawed(Flaw),
    /// It does not have the shape of a configuration; there is always at least one error.
    Misshapen(Written, Vec<ConfigError>),
}

/// A configuration as it was typed.
#[derive(Debug)]
pub struct Typed {
    /// Its fields.
    pub file: FleetFile,
    /// The places of its fields.
    pub written: Written,
    /// The faults of single values, which leave the shape as it is.
    pub(super) faults: Faults,
}

/// Reads a configuration as it was typed, together with the places of its fields.
///
/// # Errors
/// If the text is not YAML, or has fields that are unknown, missing or of another type.
pub fn read(text: &str) -> Result<Typed, Unfit> {
    let root = file::checked_schema().to_value();
    let written = typed::<Written>(text).map_err(Unfit::Flawed)?.with_defaults(&root);
    let Found { mut shape, values } = check(&written, &root);
    if !shape.is_empty() {
        shape.extend(values);
        let errors = written.as_typed(shape).into_errors();
        return Err(Unfit::Misshapen(written, errors));
    }
    // What passes the check is read; it says nothing that it was not asked for.
    let unread = |_| Unfit::Flawed(Flaw { line: 1, column: 1, what: "this is no configuration".into() });
    let file = serde_json::from_value(written.to_json()).map_err(unread)?;
    Ok(Typed { file, written, faults: values })
}

/// The faults of a document.
#[derive(Default)]
struct Found {
    /// Those of its shape, in the order of the schema.
    shape: Faults,
    /// Those of single values.
    values: Faults,
}

fn check(written: &Written, root: &Json) -> Found {
    let mut found = Found::default();
    Walk { root }.value(written, root, &FieldPath::root(), &mut found);
    found
}

struct Walk<'a> {
    root: &'a Json,
}

impl<'a> Walk<'a> {
    fn value(&self, written: &Written, schema: &'a Json, path: &FieldPath, found: &mut Found) {
        let forms = self.forms(schema);
        let Some(form) = forms.iter().find(|form| fits(form, &written.value)) else {
            return mistyped(written, &forms, path, &mut found.shape);
        };
        self.check(written, schema, path, &mut found.values);
        let faults = &mut found.shape;
        match &written.value {
            Value::Map(_) => self.map(written, form, path, found),
            Value::List(items) => {
                if let Some(schema) = form.get("items") {
                    for (at, item) in items.iter().enumerate() {
                        self.value(item, schema, &path.index(at), found);
                    }
                }
            }
            Value::Text(text) => {
                word(text, form, path, faults);
                if let Some(message) = unwritable(text, path) {
                    faults.add(path, message, REWRITE);
                }
            }
            Value::Integer(number) => in_range(*number, form, path, faults),
            Value::Null | Value::Bool(_) | Value::Number => {}
        }
    }

    /// What a schema allows: itself, or what it refers to, or its alternatives.
    fn forms(&self, schema: &'a Json) -> Vec<&'a Json> {
        if let Some(schema) = self.referred(schema) {
            return self.forms(schema);
        }
        match schema.get("anyOf").and_then(Json::as_array) {
            Some(alternatives) => alternatives.iter().flat_map(|schema| self.forms(schema)).collect(),
            None => vec![schema],
        }
    }

    /// Checks a value against what its field says, and then what the field refers to.
    fn check(&self, written: &Written, schema: &'a Json, path: &FieldPath, faults: &mut Faults) {
        checks::check(written, schema, path, faults);
        let alternatives = schema.get("anyOf").and_then(Json::as_array).into_iter().flatten();
        for schema in alternatives
            .chain(self.referred(schema))
            .filter(|schema| self.forms(schema).iter().any(|form| fits(form, &written.value)))
        {
            self.check(written, schema, path, faults);
        }
    }

    /// The schema that a schema refers to by its name.
    fn referred(&self, schema: &Json) -> Option<&'a Json> {
        let pointer = schema.get("$ref").and_then(Json::as_str)?.strip_prefix('#')?;
        self.root.pointer(pointer)
    }

    fn map(&self, written: &Written, form: &'a Json, path: &FieldPath, found: &mut Found) {
        let Value::Map(entries) = &written.value else { return };
        let properties = form.get("properties").and_then(Json::as_object);
        let others = form.get("additionalProperties").filter(|schema| schema.is_object());
        for (key, value) in entries {
            let below = path.key(&key.text);
            if let Some(message) = unwritable(&key.text, path) {
                found.shape.add_at_key(&below, message, REWRITE);
            }
            if let Some(schema) = properties.and_then(|fields| fields.get(&key.text)).or(others) {
                self.value(value, schema, &below, found);
            } else {
                let known = properties.into_iter().flat_map(|fields| fields.keys().map(String::as_str));
                let (message, help) = misplaced(&below).unwrap_or_else(|| {
                    (format!("unknown field {}", quoted(&key.text)), suggest(&key.text, known.collect::<Vec<_>>()))
                });
                found.shape.add_at_key(&below, message, help);
            }
        }
        // A region may add what the maps that regions share lack.
        let is_part = matches!(path.steps(), [Step::Key(shared), rest @ ..]
            if shared == DEFAULTS && rest.iter().all(|step| matches!(step, Step::Key(_))));
        let required = form.get("required").filter(|_| !is_part);
        for field in required.and_then(Json::as_array).into_iter().flatten().filter_map(Json::as_str) {
            if !entries.iter().any(|(key, _)| key.text == field) {
                let text = properties.and_then(|fields| fields.get(field)).and_then(|schema| schema.get("description"));
                let text = text.and_then(Json::as_str).unwrap_or_default().replace('\n', " ");
                found.shape.add_at_key(&path.key(field), "the field is missing", format!("It says: {text}"));
            }
        }
    }
}

/// The message and the help for a field that had another name, or that belongs elsewhere.
fn misplaced(path: &FieldPath) -> Option<(String, String)> {
    if let [Step::Key(shared), Step::Key(own)] = path.steps()
        && shared == DEFAULTS
        && OWN.contains(&&**own)
    {
        let message = format!("`{own}` cannot be shared by regions");
        return Some((message, format!("Write it in each region: `regions.NAME.{own}`.")));
    }
    let mut fields: Vec<&str> =
        path.steps().iter().map(|step| if let Step::Key(key) = step { &**key } else { "[]" }).collect();
    // What regions share is called as in a region.
    let is_shared = fields.first() == Some(&DEFAULTS);
    if is_shared {
        fields.splice(..1, ["regions", DEFAULTS]);
    }
    let renamed = renamed::key(&fields)?;
    let steps = renamed.new.split('.').enumerate();
    let steps = steps.map(|(at, step)| if step == "*" { fields.get(at).copied().unwrap_or(step) } else { step });
    let new = steps.skip(is_shared.into()).fold(FieldPath::root(), |path, step| path.key(step));
    let message = match renamed.note {
        "" => format!("the field is called `{new}` now"),
        _ => format!("the field is replaced by `{new}`"),
    };
    Some((message, renamed.help()))
}

/// A character for which a text could not stand in kustomizations and delivery objects, where one would stop a whole
/// region.
fn unwritable(text: &str, path: &FieldPath) -> Option<String> {
    let c = refused(text).filter(|_| is_applied(path))?;
    Some(format!("the text has {}, which kustomize refuses or changes", Trouble::Character(c)))
}

/// Returns false for how sources are reached and for the words of a commit, which stand in nothing that is applied.
fn is_applied(path: &FieldPath) -> bool {
    let is_at = |fields: &[&str]| {
        let mut steps = path.steps().iter();
        fields.iter().all(|field| matches!(steps.next(), Some(Step::Key(key)) if key == field))
    };
    !is_at(&["sources"]) && !is_at(&["output", "git", "message"]) && !is_at(&["output", "git", "author"])
}

const REWRITE: &str = "It is invisible, and was probably pasted along: type the text anew.";

fn types(form: &Json) -> Vec<&str> {
    match form.get("type") {
        Some(Json::String(one)) => vec![one.as_str()],
        Some(Json::Array(several)) => several.iter().filter_map(Json::as_str).collect(),
        _ if form.get("oneOf").is_some() || form.get("const").is_some() => vec!["string"],
        _ => Vec::new(),
    }
}

fn fits(form: &Json, value: &Value) -> bool {
    let wanted = match value {
        Value::Null => "null",
        // To readers of YAML 1.1 an unquoted `off` is a truth value; [`super::file::LevelWord`] takes it.
        Value::Bool(false) if words(form).contains(&"off") => "string",
        Value::Bool(_) => "boolean",
        Value::Integer(_) => "integer",
        Value::Number => "number",
        Value::Text(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "object",
    };
    types(form).contains(&wanted)
}

fn mistyped(written: &Written, forms: &[&Json], path: &FieldPath, faults: &mut Faults) {
    let mut wanted: Vec<&str> = forms
        .iter()
        .flat_map(|form| types(form))
        .filter_map(|name| match name {
            "string" => Some("text"),
            "integer" => Some("a whole number"),
            "boolean" => Some("true or false"),
            "array" => Some("a list"),
            "object" => Some("a map"),
            _ => None,
        })
        .collect();
    wanted.dedup();
    let takes_text = wanted.contains(&"text");
    let message = format!("the value is {}; it must be {}", written.value.type_name(), wanted.join(" or "));
    let help = match &written.value {
        Value::Null => "Write a value, or leave the key out if it has a default.",
        Value::Bool(_) | Value::Integer(_) | Value::Number if takes_text => "Quote it, so that YAML reads it as text.",
        _ => "Look at docs/configuration.md for an example.",
    };
    if path.steps().is_empty() && matches!(written.value, Value::Null) {
        return faults.add(path, "the file is empty", "`pouch init` writes one to start from.");
    }
    faults.add(path, message, help);
}

fn word(text: &str, form: &Json, path: &FieldPath, faults: &mut Faults) {
    let words = words(form);
    if !words.is_empty() && !words.contains(&text) {
        let message = format!("{} is not a valid value for this field", quoted(text));
        faults.add(path, message, suggest(text, words));
    }
}

/// The words that a schema allows; none where any text will do.
fn words(form: &Json) -> Vec<&str> {
    let alternatives = form.get("oneOf").and_then(Json::as_array).into_iter().flatten();
    let schemas = core::iter::once(form).chain(alternatives);
    schemas
        .flat_map(|schema| {
            let listed = schema.get("enum").and_then(Json::as_array).into_iter().flatten();
            schema.get("const").into_iter().chain(listed).filter_map(Json::as_str)
        })
        .collect()
}

fn in_range(number: i128, form: &Json, path: &FieldPath, faults: &mut Faults) {
    let bound = |key: &str, default: i128| form.get(key).and_then(Json::as_i64).map_or(default, i128::from);
    let (least, most) = (bound("minimum", 0), bound("maximum", u32::MAX.into()));
    if number < least || number > most {
        let help = format!("Write a number from {least} to {most}.");
        faults.add(path, format!("{number} is out of range"), help);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kustomize_refuses_stands_only_where_nothing_is_applied() {
        let faults = |text: &str| {
            let errors = check(&typed(text).unwrap(), &file::checked_schema().to_value()).shape.into_errors();
            errors.iter().filter(|error| error.message.contains("U+007F")).count()
        };
        let key = "\"a\\x7f\"";
        assert_eq!(faults(&format!("regions: {{eu: {{namespaces: {{labels: {{a: {{{key}: {key}}}}}}}}}}}\n")), 2);
        assert_eq!(faults(&format!("output: {{path: {key}}}\n")), 1);
        assert_eq!(faults(&format!("sources: [{{name: a, cluster: {{context: {key}}}}}]\n")), 0);
        assert_eq!(faults(&format!("output: {{git: {{message: {key}, author: {key}}}}}\n")), 0);
    }
}
