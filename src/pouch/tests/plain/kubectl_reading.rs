//! What kubectl's own reader (sigs.k8s.io/yaml) makes of a generated corpus, and what pouch makes of it.
//!
//! Where the two differ, `testdata/kubectl-differences.yaml` has a line that says why that is meant. A difference that no
//! line explains fails, and so does a line that explains nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::Write as _;
use std::process::{Command, Stdio};

use pouch_core::json;
use pouch_core::node::Interner;
use pouch_core::yaml::emit::Tree;
use pouch_core::yaml::read::{Document, read};
use serde_json::Value;

use super::slips::Dice;
use crate::support::{root, tool};

const WORDS: &[&str] = &[
    "x",
    "yes",
    "No",
    "on",
    "y",
    "true",
    "null",
    "~",
    "017",
    "0o17",
    "08",
    "1_000",
    "0x1F",
    "-0b11",
    "1e3",
    "1e400",
    "-.5",
    ".inf",
    "-.Inf",
    ".nan",
    "18446744073709551615",
    "18446744073709551616",
    "1.",
    "+1",
    "2001-01-01",
    "12:30:00",
    "=",
    "<<",
    "a b",
    "a#b",
    "a #b",
    "a:b",
    "a: b",
    "-",
    "- a",
    "?",
    "? a",
    ":",
    "%a",
    "@a",
    "`a",
    "&a x",
    "*a",
    "!x y",
    "!!str 1",
    "!!int '3'",
    "!!float 3",
    "!!float x",
    "!!null ''",
    "!!bool yes",
    "!!binary aGk=",
    "!!timestamp 2001-01-01",
    "!!set {a}",
    "! 1",
    "''",
    "\"\"",
    "'a''b'",
    "\"a\\nb\"",
    "\"\\x41\\u00e9\\U0001F600\"",
    "\"\\q\"",
    "\"\\/\"",
    "'a\nb'",
    "'a\n\n  b'",
    "\"a\nb\"",
    "\"a\\\n b\"",
    "\"a\n\tb\"",
    "|\n  a\n  b",
    ">\n  a\n  b",
    "|-\n  a",
    "|+\n  a\n\n",
    "|2\n   a",
    "|\n\ta",
    "a\n  b",
    "a\nb",
    "{}",
    "[]",
    "{a: 1}",
    "{a}",
    "{a: }",
    "{a: 1,}",
    "[a,]",
    "[a, b: c]",
    "{a:1}",
    "{\"a\":1}",
    "[a, [b]]",
    "{a: 1, a: 2}",
    "{<<: {p: 1}}",
    "{p: 2, <<: {p: 1}}",
    "{<<: [{p: 1}, {p: 2}]}",
    "{<<: 1}",
    "{!!merge <<: {p: 1}}",
    "{!!merge '<<': {p: 1}}",
    "{1: a}",
    "{true: a}",
    "{~: a}",
    "{1.5: a}",
    "{[a]: b}",
    "{? a : b}",
    "\u{e9}",
    "\u{1f600}",
    "\u{feff}",
    "\u{85}",
    "\u{2028}",
    "\u{7f}",
    "\u{1}",
    "\t",
    "a\tb",
    "a\t",
    "\"",
    "'",
    "{",
    "]",
    "}",
    ",",
    "a,b",
    "!<tag:yaml.org,2002:str> 1",
];

const PLACES: &[&str] = &[
    "@\n",
    "a: @\n",
    "a:\n  b: @\n  c: 1\n",
    "- @\n- c\n",
    "a:\n- b: @\n  c: 1\n",
    "a:\n- @\n",
    "[@, c]\n",
    "{a: @, c: 1}\n",
    "@: 1\n",
    "? @\n: 1\n",
    "a: &a @\nb: *a\n",
    "a: 1\nb: @\na: 2\n",
    "%YAML 1.1\n---\na: @\n",
    "a: @ # c\n",
    "a: @\n...\n",
    "\ta: @\n",
    "a:\n b: @\n  c: 1\n",
    "a: @\r\nb: 1\r\n",
];

fn corpus() -> BTreeSet<String> {
    let mut corpus: BTreeSet<String> =
        PLACES.iter().flat_map(|place| WORDS.iter().map(|word| place.replacen('@', word, 1))).collect();
    let mut dice = Dice(20_261_122);
    let folder = root().join("testdata/quickstart/manifests");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    for file in files {
        let text = std::fs::read_to_string(file).unwrap();
        for document in text.split("---\n").filter(|document| !document.trim().is_empty()) {
            corpus.extend((0..60).map(|_| dice.slip(document).0));
        }
    }
    // A stream is cut before it is read, here and in kubectl.
    corpus.retain(|text| !text.lines().any(|line| line.starts_with("---") && !text.starts_with('%')));
    corpus
}

/// What pouch says of each: JSON, or the flaw without its place.
fn ours(text: &str) -> Result<Value, String> {
    match read(&Document::whole(text), &mut Interner::new()) {
        Ok(node) => Ok(json::value(&Tree::of(&node))),
        Err(flaw) => Err(flaw.what.to_string()),
    }
}

/// What kubectl's reader says of each; none where it refuses.
fn theirs(corpus: &BTreeSet<String>) -> Option<Vec<Option<Value>>> {
    let program = tool("kubeyaml")?;
    let mut child = Command::new(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let input = serde_json::to_vec(corpus).unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    let answers: Vec<BTreeMap<String, Value>> = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answers.len(), corpus.len());
    Some(answers.into_iter().map(|mut answer| answer.remove("read")).collect())
}

/// Whether two say the same: Go writes a number with a fraction of zero as an integer.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a == b || a.as_f64() == b.as_f64(),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| same(value, other)))
        }
        _ => a == b,
    }
}

/// How the two differ, if they do: as the committed list names it.
fn difference(ours: &Result<Value, String>, theirs: Option<&Value>) -> Option<String> {
    match (ours, theirs) {
        (Err(_), None) => None,
        (Ok(ours), Some(theirs)) if same(ours, theirs) => None,
        (Ok(_), Some(_)) => Some("pouch reads it otherwise".to_owned()),
        (Ok(_), None) => Some("kubectl refuses it".to_owned()),
        (Err(flaw), Some(_)) => Some(format!("pouch: {flaw}")),
    }
}

#[test]
fn every_difference_to_kubectl_is_meant() {
    let corpus = corpus();
    assert!(corpus.len() > 2_000, "{}", corpus.len());
    let Some(theirs) = theirs(&corpus) else { return };
    let list = std::fs::read_to_string(root().join("testdata/kubectl-differences.yaml")).unwrap();
    let list = ours(&list).unwrap();
    let listed = |difference: &str, text: &str| {
        let entries = list["differences"].as_array().unwrap();
        entries.iter().position(|entry| {
            entry["difference"] == difference
                && entry["where"]
                    .as_array()
                    .is_none_or(|marks| marks.iter().any(|mark| text.contains(mark.as_str().unwrap())))
        })
    };
    let (mut used, mut unexplained) = (BTreeSet::new(), BTreeMap::<String, Vec<String>>::new());
    for (text, theirs) in corpus.iter().zip(&theirs) {
        let said = ours(text);
        let Some(difference) = difference(&said, theirs.as_ref()) else { continue };
        match listed(&difference, text) {
            Some(entry) => _ = used.insert(entry),
            None => unexplained.entry(difference).or_default().push(format!("{text:?} {said:?} {theirs:?}")),
        }
    }
    let mut said = String::new();
    for (difference, texts) in &unexplained {
        _ = writeln!(said, "{difference} ({} times)", texts.len());
        texts
            .iter()
            .filter(|text| difference != "kubectl refuses it" || !text.contains("\\t"))
            .take(25)
            .for_each(|text| _ = writeln!(said, "  {text}"));
    }
    assert!(said.is_empty(), "{said}");
    assert_eq!(used.len(), list["differences"].as_array().unwrap().len(), "only these explain something: {used:?}");
}
