//! `pouch schema`: the JSON Schemas of what pouch reads and writes.

use clap::ValueEnum;
use pouch_core::config::file;
use pouch_core::explain::record;
use pouch_core::exposure;
use pouch_core::layout::manifest;
use pouch_core::log;
use pouch_core::report::{standing, summary};

use crate::error::{Ended, Failure};
use crate::session::Session;

/// What is said below the flags.
const EXAMPLES: &str = "\
Examples:
  pouch schema > pouch.schema.json
  pouch schema summary

Exit codes: 0 printed; 64 usage.";

/// Print a JSON Schema.
///
/// Put `# yaml-language-server: $schema=FILE` on the first line of pouch.yaml, and editors complete and
/// check it.
#[derive(clap::Args, Clone, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Args {
    /// The document that the schema is of.
    #[arg(value_enum, default_value_t = Document::Fleet)]
    pub document: Document,
}

/// A document with a schema.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub enum Document {
    /// `pouch.yaml`.
    Fleet,
    /// `bundle.yaml`.
    Bundle,
    /// What `--summary` writes.
    Summary,
    /// What `pouch exposure -o json` prints.
    Exposure,
    /// What `pouch explain -o json` prints.
    Explanation,
    /// What `pouch log -o json` prints.
    Log,
    /// What `pouch verify --live --all -o json` prints.
    Standing,
}

/// Runs the command.
pub fn run(session: &Session, args: &Args) -> Result<Ended, Failure> {
    session.ui.result(&text(args.document));
    Ok(Ended::Done)
}

/// What goes to standard output, which is also what stands in `schemas/`.
fn text(document: Document) -> String {
    let schema = match document {
        Document::Fleet => file::schema().to_value(),
        // Written by hand: the manifest's types are not those of its text.
        Document::Bundle => return manifest::SCHEMA.to_owned(),
        Document::Summary => summary::schema().to_value(),
        Document::Exposure => exposure::schema().to_value(),
        Document::Explanation => record::schema().to_value(),
        Document::Log => log::schema().to_value(),
        Document::Standing => standing::schema().to_value(),
    };
    format!("{schema:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use pouch_core::config::shape;
    use pouch_core::yaml::read::typed;
    use serde_json::Value;
    use std::path::{Path, PathBuf};

    fn root(path: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
    }

    #[allow(clippy::disallowed_methods, reason = "a switch of the tests, not of the program")]
    fn is_rewriting() -> bool {
        std::env::var("POUCH_REWRITE").is_ok_and(|value| value == "1")
    }

    #[test]
    fn committed_schemas_are_fresh() {
        for document in Document::value_variants().iter().copied() {
            let path = match document {
                Document::Fleet => "schemas/fleet.schema.json",
                // It is the file.
                Document::Bundle => continue,
                Document::Summary => "schemas/summary.schema.json",
                Document::Exposure => "schemas/exposure.schema.json",
                Document::Explanation => "schemas/explanation.schema.json",
                Document::Log => "schemas/log.schema.json",
                Document::Standing => "schemas/standing.schema.json",
            };
            let text = text(document);
            if is_rewriting() {
                std::fs::write(root(path), &text).unwrap();
            }
            let committed = std::fs::read_to_string(root(path)).unwrap_or_default();
            assert!(committed == text, "{path} is stale: run the tests with POUCH_REWRITE=1");
        }
    }

    fn validator(document: Document) -> jsonschema::Validator {
        let schema: Value = serde_json::from_str(&text(document)).unwrap();
        jsonschema::validator_for(&schema).unwrap()
    }

    /// The paths of all maps in a value, as JSON pointers.
    fn maps(value: &Value, at: &str, found: &mut Vec<String>) {
        let below: Vec<(String, &Value)> = match value {
            Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
            _ => return,
        };
        if value.is_object() {
            found.push(at.to_owned());
        }
        below.into_iter().for_each(|(key, value)| maps(value, &format!("{at}/{key}"), found));
    }

    #[test]
    fn bundles_fit_their_schema_and_it_takes_nothing_else() {
        let validator = validator(Document::Bundle);
        for region in ["eu-west", "us-east"] {
            let written = std::fs::read_to_string(root(&format!("bundles/regions/{region}/bundle.yaml"))).unwrap();
            let mut bundle: Value = typed(&written).unwrap();
            assert!(validator.is_valid(&bundle), "{region}: {:?}", validator.validate(&bundle).unwrap_err());
            let mut all = Vec::new();
            maps(&bundle, "", &mut all);
            assert!(all.len() > 20, "{all:?}");
            for at in all {
                // Who needs an object, and by which steps: another release may have further kinds of both.
                let (is_claimant, is_step) = (at.ends_with("/by"), at.contains("/through/"));
                let mut more = bundle.clone();
                more.pointer_mut(&at).unwrap()["novelty"] = Value::Null;
                assert_eq!(validator.is_valid(&more), is_claimant || is_step, "an unknown field in {at}");
                for field in bundle.pointer(&at).unwrap().as_object().unwrap().keys() {
                    let mut less = bundle.clone();
                    less.pointer_mut(&at).unwrap().as_object_mut().unwrap().remove(field);
                    let may_lack = match field.as_str() {
                        "kind" => false,
                        _ if is_claimant || is_step => true,
                        // What stands in no file.
                        "path" | "source" if at.ends_with("/from") => true,
                        field => matches!(field, "from" | "namespace" | "restsOn"),
                    };
                    assert_eq!(validator.is_valid(&less), may_lack, "without {field} in {at}");
                }
            }
            let object = &mut bundle["objects"][1];
            object["state"] = "carried".into();
            object["reason"] = "missing-reference".into();
            object["recipients"] = serde_json::json!([{"key": "age1x"}]);
            assert!(validator.is_valid(&bundle), "what is carried over");
        }
    }

    /// The YAML examples of the documentation that are whole configurations.
    fn examples() -> Vec<String> {
        let docs = std::fs::read_to_string(root("docs/configuration.md")).unwrap();
        let blocks = docs.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
        blocks.filter(|block| block.contains("apiVersion: pouch/")).map(str::to_owned).collect()
    }

    #[test]
    fn documented_examples_fit_schema_and_program() {
        let validator = validator(Document::Fleet);
        assert!(!examples().is_empty());
        for example in examples() {
            let value: Value = typed(&example).unwrap();
            assert!(validator.is_valid(&value), "{:?}", validator.iter_errors(&value).next());
            let typed = shape::read(&example).unwrap();
            let needed = pouch_core::config::resolve::files_needed(&typed.file);
            let recipient = "age1rzkruu6r7qtgjrz3p6fljdfxz95ancl4v4pkg2vrp7hsjd85lpjqr3ereq\n";
            let texts = needed.into_iter().map(|name| (name, recipient.to_owned())).collect();
            pouch_core::config::resolve::resolve(&typed, &texts).unwrap();
        }
    }

    #[test]
    fn the_schema_and_the_program_refuse_the_same_shapes() {
        let validator = validator(Document::Fleet);
        let example = examples().remove(0);
        for (from, to) in [
            ("metadata: {", "kind: Flet\nmetadata: {"),
            ("metadata:", "metadat:"),
            ("metadata: {", "zebra: 1\nmetadata: {"),
            ("metadata: {", "resolution: kcn\nmetadata: {"),
            ("limits: {", "limits: {attempts: 0, "),
            ("limits: {", "limits: {attempts: many, "),
            ("percent: 20", "percent: 101"),
            ("metadata: {", "keepMetadata: []\nmetadata: {"),
            ("regionDefaults:", "regionDefaults:\n  recipients: [age1x]"),
            ("metadata: {", "kinds: [{}]\nmetadata: {"),
        ] {
            let text = example.replacen(from, to, 1);
            assert_ne!(text, example, "{from}");
            let value: Value = typed(&text).unwrap();
            assert!(!validator.is_valid(&value), "the schema takes {to}");
            assert!(shape::read(&text).is_err(), "the program takes {to}");
        }
    }

    fn paths(schema: &Value, root: &Value, at: &str, found: &mut Vec<String>) {
        if let Some(name) = schema["$ref"].as_str() {
            return paths(root.pointer(name.trim_start_matches('#')).unwrap(), root, at, found);
        }
        // A region's `delivery` has the fields of the shared one.
        if at == "regions.<r>.delivery" || at == "output.git.author" || at == "output.git.committer" {
            return;
        }
        for schema in schema["anyOf"].as_array().into_iter().flatten() {
            paths(schema, root, at, found);
        }
        if schema["items"].is_object() {
            paths(&schema["items"], root, &format!("{at}[]"), found);
        }
        if schema["additionalProperties"].is_object() {
            let name = if at == "regions" { "<r>" } else { "<name>" };
            paths(&schema["additionalProperties"], root, &format!("{at}.{name}"), found);
        }
        for (key, below) in schema["properties"].as_object().into_iter().flatten() {
            // Regions share what they may have themselves.
            if at == "regionDefaults" && key != "delivery" {
                continue;
            }
            let path = if at.is_empty() { key.clone() } else { format!("{at}.{key}") };
            found.push(path.clone());
            paths(below, root, &path, found);
        }
    }

    #[test]
    fn every_key_is_documented_and_no_other() {
        let schema = file::schema().to_value();
        let mut keys = Vec::new();
        paths(&schema, &schema, "", &mut keys);
        assert!(keys.len() > 70, "{keys:?}");
        let docs = std::fs::read_to_string(root("docs/configuration.md")).unwrap();
        let rows: Vec<&str> =
            docs.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` |")).map(|(key, _)| key).collect();
        let missing: Vec<_> = keys.iter().filter(|key| !rows.contains(&key.as_str())).collect();
        assert!(missing.is_empty(), "not in docs/configuration.md: {missing:?}");
        let unknown: Vec<_> = rows.iter().filter(|row| !keys.iter().any(|key| key == *row)).collect();
        assert!(unknown.is_empty(), "documented and not there: {unknown:?}");
    }
}
