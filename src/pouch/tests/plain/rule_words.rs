//! Generated paths and patches of ResourceSyncRules, followed by pouch and by the libraries of the registry's controller.
//!
//! The controller reads the paths of `content` with gjson, and applies overrides with go-patch. Where pouch follows one at all,
//! it must come to the same; a path to what is no number is never a number for pouch, as the page of rules says.

use std::io::Write as _;
use std::process::{Command, Stdio};

use pouch_core::name::GroupKind;
use pouch_core::node::{Key, Node};
use pouch_core::selector::Truth;
use pouch_core::sync_rule::content::Content;
use pouch_core::sync_rule::pointer::Pointer;
use serde_json::{Value as Json, json};

use super::slips::Dice;
use crate::support::nodes::as_json;
use crate::support::tool;

/// Paths that pouch follows, and patches that it applies.
const FOLLOWED: usize = 20_000;

#[test]
fn paths_lead_where_gjson_leads() {
    let Some(theirs) = Theirs::new() else { return };
    let (mut dice, mut cases, mut made, mut held) = (Dice(181), Vec::new(), 0, 0);
    while cases.len() < FOLLOWED {
        made += 1;
        let object = json!({"spec": value(&mut dice, 4)});
        let path = path(&mut dice, &object);
        let wanted = wanted(&mut dice, &object, &path);
        if let Ok(content) = Content::read(&path, &node(&wanted), &kind()) {
            let body = node(&object);
            let holds = content.is(content.at(&body)) == Truth::Yes;
            held += usize::from(holds);
            let is_number = matches!(content.at(&body), Some(Node::Int(_)));
            cases.push((json!({"path": path, "object": object}), wanted, holds, is_number));
        }
    }
    assert!(cases.len() * 4 > made && held * 6 > cases.len(), "{} of {made} are followed, {held} hold", cases.len());
    let answers = theirs.ask(cases.iter().map(|(case, ..)| case));
    for ((case, wanted, holds, is_number), answer) in cases.iter().zip(&answers) {
        let theirs = match wanted {
            Json::Number(number) => *is_number && answer["number"] == Json::Number(number.clone()),
            wanted => answer.get("text") == Some(wanted),
        };
        assert_eq!(*holds, theirs, "{case} is {wanted}? gjson finds {answer}");
    }
}

#[test]
fn patches_do_what_those_of_go_patch_do() {
    let Some(theirs) = Theirs::new() else { return };
    let (mut dice, mut cases, mut made) = (Dice(182), Vec::new(), 0);
    while cases.len() < FOLLOWED {
        made += 1;
        let object = json!({"spec": value(&mut dice, 4)});
        let path = pointer(&mut dice, &object);
        let Ok(pointer) = Pointer::read(&path, &kind()) else { continue };
        let is_removed = dice.roll(3) == 0;
        let (how, new) = (if is_removed { "remove" } else { "replace" }, value(&mut dice, 2));
        let ours = match is_removed {
            true if pointer.removes().is_err() => continue,
            true => pointer.remove(&node(&object)),
            false => pointer.replace(&node(&object), &node(&new)),
        };
        if let Ok(ours) = ours {
            cases.push((json!({"type": how, "path": path, "value": new, "object": object}), as_json(&ours)));
        }
    }
    assert!(cases.len() * 4 > made, "{} of {made} are applied", cases.len());
    let answers = theirs.ask(cases.iter().map(|(case, _)| case));
    for ((case, ours), answer) in cases.iter().zip(&answers) {
        assert_eq!(Some(ours), answer.get("object"), "{case}");
    }
}

/// The program with the controller's libraries.
struct Theirs(std::path::PathBuf);

impl Theirs {
    fn new() -> Option<Self> {
        tool("gjson-patch").map(Self)
    }

    fn ask<'c>(&self, cases: impl Iterator<Item = &'c Json>) -> Vec<Json> {
        let mut child = Command::new(&self.0).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let lines: Vec<String> = cases.map(|case| format!("{case}\n")).collect();
        let (mut stdin, input) = (child.stdin.take().unwrap(), lines.concat());
        let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let output = child.wait_with_output().unwrap();
        writer.join().unwrap().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let answers: Vec<Json> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers.len(), lines.len());
        answers
    }
}

/// A kind of which pouch reads all of `spec`.
fn kind() -> GroupKind {
    GroupKind::new("example.com", "Widget")
}

const KEYS: [&str; 16] =
    ["a", "b", "name", "0", "00", "1", "a.b", "a b", "c*", "d?", "@e", "~f", "g/h", "i:j", "k=l", "ü"];
const TEXTS: [&str; 12] = ["", "x", "true", "1", "01", "null", "a: b", "- c", "1.5", "ü", "a\nb", "~"];

fn of<'t>(dice: &mut Dice, texts: &[&'t str]) -> &'t str {
    texts[dice.roll(texts.len())]
}

/// A value of at most this depth.
fn value(dice: &mut Dice, depth: usize) -> Json {
    let depth = depth.saturating_sub(1);
    match dice.roll(if depth == 0 { 7 } else { 16 }) {
        0..=2 => json!(of(dice, &TEXTS)),
        3 | 4 => json!([0, 1, -1, 7, 1_i64 << 53, i64::MAX][dice.roll(6)]),
        5 => json!(dice.roll(2) == 0),
        6 => json!([0.5, 1.5, -2.25][dice.roll(3)]),
        7..=10 => Json::Array((0..dice.roll(4)).map(|_| value(dice, depth)).collect()),
        // As much of Kubernetes: a list of maps with names.
        11 => {
            let named = |dice: &mut Dice| json!({"name": of(dice, &TEXTS), of(dice, &KEYS): value(dice, depth)});
            Json::Array((0..dice.roll(4)).map(|_| named(dice)).collect())
        }
        _ => Json::Object((0..dice.roll(5)).map(|_| (of(dice, &KEYS).to_owned(), value(dice, depth))).collect()),
    }
}

/// The keys and indices to some place below `spec`, or nearly.
fn place(dice: &mut Dice, object: &Json) -> Vec<(String, Json)> {
    let (mut parts, mut here) = (vec![(String::from("spec"), object["spec"].clone())], object["spec"].clone());
    loop {
        let (part, next) = match &here {
            _ if dice.roll(12) == 0 => (of(dice, &KEYS).to_owned(), Json::Null),
            Json::Array(items) if !items.is_empty() => {
                let at = dice.roll(items.len());
                (at.to_string(), items[at].clone())
            }
            Json::Object(entries) if !entries.is_empty() => {
                let (key, value) = entries.iter().nth(dice.roll(entries.len())).unwrap();
                (key.clone(), value.clone())
            }
            _ => return parts,
        };
        parts.push((part, next.clone()));
        if dice.roll(5) == 0 {
            return parts;
        }
        here = next;
    }
}

/// A path of gjson.
fn path(dice: &mut Dice, object: &Json) -> String {
    let mut parts = Vec::new();
    for (part, _) in place(dice, object) {
        let mut text = String::new();
        for c in part.chars() {
            let is_special = ".*?|#@!{}[]\\".contains(c);
            // Sometimes what needs none has a backslash, and what needs one none.
            if is_special && dice.roll(10) > 0 || !c.is_ascii_digit() && dice.roll(40) == 0 {
                text.push('\\');
            }
            text.push(c);
        }
        parts.push(text);
    }
    parts.join(".")
}

/// What is asked for: mostly what stands there.
fn wanted(dice: &mut Dice, object: &Json, path: &str) -> Json {
    let there = path.split('.').try_fold(object, |here, part| match here {
        Json::Array(items) => items.get(part.parse::<usize>().ok()?),
        here => here.get(part.replace('\\', "").as_str()),
    });
    match (there, dice.roll(6)) {
        (Some(number @ Json::Number(_)), 0..=2) if number.is_i64() => number.clone(),
        (Some(text @ Json::String(_)), 0..=4) => text.clone(),
        (Some(simple @ (Json::Number(_) | Json::Bool(_))), 3 | 4) => json!(simple.to_string()),
        (_, 5) => json!([0, 1, 7][dice.roll(3)]),
        _ => json!(of(dice, &TEXTS)),
    }
}

/// A path of go-patch.
fn pointer(dice: &mut Dice, object: &Json) -> String {
    let place = place(dice, object);
    let mut text = String::new();
    for (at, (part, here)) in place.iter().enumerate() {
        let is_last = at + 1 == place.len();
        let escaped = part.replace('~', "~0").replace('/', "~1").replace(':', "~7");
        let name = here.get("name").and_then(Json::as_str);
        text.push('/');
        match (name, dice.roll(8)) {
            (Some(name), 0..=2) if part.bytes().all(|byte| byte.is_ascii_digit()) => {
                text += &format!("name={}", name.replace('~', "~0").replace('/', "~1").replace(':', "~7"));
            }
            (_, 0) if is_last => text.push('-'),
            (_, 1) => text += of(dice, &["name=x", "b=1", "0", "-1", "+1", "new"]),
            _ => text += &escaped,
        }
        if dice.roll(10) == 0 {
            text.push('?');
        }
    }
    for _ in 0..[0, 0, 0, 1, 2][dice.roll(5)] {
        text += of(dice, &["/new", "/name=new", "/-", "/0", "/a?", "/new?"]);
    }
    text
}

fn node(json: &Json) -> Node {
    match json {
        Json::Null => Node::Null,
        Json::Bool(value) => Node::Bool(*value),
        Json::Number(number) => number.as_i64().map_or_else(|| Node::Float(number.as_f64().unwrap()), Node::Int),
        Json::String(text) => Node::text(text),
        Json::Array(items) => Node::List(items.iter().map(node).collect()),
        Json::Object(map) => Node::map(map.iter().map(|(key, value)| (Key::from(&**key), node(value))).collect()),
    }
}
