//! Generated templates, rendered by pouch and by Go's text/template with sprout's functions.
//!
//! KubeNSync's operator is no module that could be built here; what it renders with is these two. Where pouch renders
//! at all, it must give the same bytes.

mod generated;
mod tables;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pouch_core::template::{Template, Value};
use serde_json::Value as Json;

use super::slips::Dice;
use crate::support::tool;

/// The key that makes a map one of texts, for both.
const TEXTS: &str = "\0texts";

/// Templates that pouch renders, and that Go must render alike.
const RENDERED: usize = 20_000;

struct Case {
    template: String,
    data: Json,
    ours: String,
}

#[test]
fn what_pouch_renders_go_renders_alike() {
    let Some(program) = tool("sprout-render") else { return };
    let (cases, made) = cases();
    // Refusing everything would be no work of anybody's.
    assert!(cases.len() * 8 > made, "only {} of {made} templates are rendered", cases.len());
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input: String = cases
        .iter()
        .map(|case| serde_json::json!({"template": case.template, "data": case.data}).to_string() + "\n")
        .collect();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let theirs: Vec<Json> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(theirs.len(), cases.len());
    for (case, theirs) in cases.iter().zip(&theirs) {
        assert_eq!(Some(&*case.ours), theirs["ok"].as_str(), "{}\n{}", case.template, case.data);
    }
}

/// Sprout's own list of its functions, so that a new version of it shows.
#[test]
fn every_function_of_sprout_is_offered_or_refused() {
    let Some(program) = tool("sprout-render") else { return };
    let output = Command::new(program).arg("names").output().unwrap();
    let names = String::from_utf8(output.stdout).unwrap();
    assert!(names.lines().count() > 200, "{names}");
    for name in names.lines() {
        let Err(refused) = Template::parse(&format!("{{{{{name}}}}}")) else { continue };
        let known = refused.message.contains(" takes ") || refused.message.contains(" is refused: ");
        assert!(known && !refused.message.contains("sprig"), "{name}: {}", refused.message);
    }
}

/// Cases that pouch renders, and how many were made.
fn cases() -> (Vec<Case>, usize) {
    let (mut dice, mut cases, mut made) = (Dice(18), Vec::new(), 0);
    while cases.len() < RENDERED {
        made += 1;
        let mut template = generated::template(&mut dice);
        if dice.roll(8) == 0 {
            template = generated::slipped(&mut dice, &template);
        }
        let data = generated::data(&mut dice);
        if let Ok(ours) = Template::parse(&template).and_then(|parsed| parsed.render(&value(&data))) {
            cases.push(Case { template, data, ours });
        }
    }
    (cases, made)
}

fn value(json: &Json) -> Value {
    match json {
        Json::Null => Value::Nil,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => number.as_i64().map_or_else(|| Value::Float(number.as_f64().unwrap()), Value::Int64),
        Json::String(text) => Value::text(text),
        Json::Array(items) => Value::list(items.iter().map(value).collect()),
        Json::Object(map) => {
            let entries =
                map.iter().filter(|(key, _)| *key != TEXTS).map(|(key, entry)| (Arc::from(&**key), value(entry)));
            if map.contains_key(TEXTS) { Value::texts(entries) } else { Value::map(entries) }
        }
    }
}
