//! Templates that a seed generates, with data for them.

use std::fmt::Write as _;

use super::super::slips::Dice;
use super::tables::{FORMATS, FUNCTIONS, Kind, PATTERNS, TEXTS};

use Kind::{Any, Bool, Float, Format, Int, List, Map, Pattern, Text};

/// Makes one template.
struct Maker<'d> {
    dice: &'d mut Dice,
    variables: Vec<(String, Kind)>,
    names: usize,
    out: String,
    /// Whether `.` is still the root.
    root: bool,
}

impl<'d> Maker<'d> {
    fn one_in(&mut self, count: usize) -> bool {
        self.dice.roll(count) == 0
    }

    fn open(&mut self) -> &'static str {
        if self.one_in(12) { "{{- " } else { "{{" }
    }

    fn close(&mut self) -> &'static str {
        if self.one_in(12) { " -}}" } else { "}}" }
    }

    fn action(&mut self, inside: &str) {
        let (open, close) = (self.open(), self.close());
        write!(self.out, "{open}{inside}{close}").unwrap();
    }

    fn node(&mut self, deep: usize) {
        match self.dice.roll(if deep == 0 { 7 } else { 14 }) {
            0 => self.out.push_str([" x ", "\n", "a: b\n", "}", "# { ", " "][self.dice.roll(6)]),
            1..=5 => {
                let kind = [Text, Text, Int, Float, Bool, List, Map, Any][self.dice.roll(8)];
                let pipe = self.pipe(kind, 3);
                self.action(&pipe);
            }
            6 => {
                let kind = [Text, Int, List, Map][self.dice.roll(4)];
                let pipe = self.pipe(kind, 2);
                self.names += 1;
                let name = format!("$v{}", self.names);
                if self.one_in(4) && !self.variables.is_empty() {
                    let at = self.dice.roll(self.variables.len());
                    let name = self.variables[at].0.clone();
                    self.action(&format!("{name} = {pipe}"));
                } else {
                    self.action(&format!("{name} := {pipe}"));
                    self.variables.push((name, kind));
                }
            }
            7 | 8 => {
                let before = self.variables.len();
                let kind = if self.one_in(2) { Bool } else { Any };
                let condition = self.pipe(kind, 2);
                self.action(&format!("if {condition}"));
                self.node(deep - 1);
                self.variables.truncate(before);
                if self.one_in(2) {
                    if self.one_in(3) {
                        let condition = self.pipe(Bool, 2);
                        self.action(&format!("else if {condition}"));
                    } else {
                        self.action("else");
                    }
                    self.node(deep - 1);
                    self.variables.truncate(before);
                }
                self.action("end");
            }
            9..=11 => {
                let before = self.variables.len();
                let kind = [List, List, Map, Int][self.dice.roll(4)];
                let over = self.pipe(kind, 2);
                self.names += 1;
                let (index, item) = (format!("$i{}", self.names), format!("$e{}", self.names));
                match self.dice.roll(3) {
                    0 => self.action(&format!("range {over}")),
                    1 => {
                        self.action(&format!("range {item} := {over}"));
                        self.variables.push((item, Any));
                    }
                    _ => {
                        self.action(&format!("range {index}, {item} := {over}"));
                        self.variables.push((index, Any));
                        self.variables.push((item, Any));
                    }
                }
                let root = std::mem::replace(&mut self.root, false);
                self.node(deep - 1);
                if self.one_in(5) {
                    let condition = self.pipe(Bool, 1);
                    let way = if self.one_in(2) { "break" } else { "continue" };
                    self.action(&format!("if {condition}"));
                    self.action(way);
                    self.action("end");
                    self.out.push(';');
                }
                self.variables.truncate(before);
                self.root = root;
                if self.one_in(3) {
                    self.action("else");
                    self.node(deep - 1);
                    self.variables.truncate(before);
                }
                self.action("end");
            }
            12 => {
                let before = self.variables.len();
                let value = self.pipe(Any, 2);
                self.action(&format!("with {value}"));
                let root = std::mem::replace(&mut self.root, false);
                self.node(deep - 1);
                self.root = root;
                self.variables.truncate(before);
                if self.one_in(3) {
                    self.action("else");
                    self.node(deep - 1);
                    self.variables.truncate(before);
                }
                self.action("end");
            }
            _ => {
                let value = self.argument(Any, 1);
                match self.dice.roll(3) {
                    0 => self.action(&format!("template \"d\" {value}")),
                    1 => self.action("/* a comment */"),
                    _ => {
                        self.names += 1;
                        let name = self.names;
                        self.action(&format!("block \"b{name}\" {value}"));
                        self.out.push_str("({{.}})");
                        self.action("end");
                    }
                }
            }
        }
    }

    fn pipe(&mut self, kind: Kind, deep: usize) -> String {
        let mut kind = kind;
        let mut behind = String::new();
        for _ in 0..self.dice.roll(3) {
            // A function that gives this kind, of which the last argument is piped.
            let Some((name, takes)) = self.function(kind) else { break };
            let Some((last, takes)) = takes.split_last() else { break };
            let args: String =
                takes.iter().map(|kind| format!(" {}", self.argument(*kind, deep.saturating_sub(1)))).collect();
            behind = format!(" | {name}{args}{behind}");
            kind = *last;
        }
        format!("{}{behind}", self.command(kind, deep))
    }

    fn function(&mut self, kind: Kind) -> Option<(&'static str, Vec<Kind>)> {
        let fits = |gives: Kind| kind == Any || gives == kind || gives == Any;
        let fitting: Vec<_> = FUNCTIONS.iter().filter(|(.., gives)| fits(*gives)).collect();
        if fitting.is_empty() {
            return None;
        }
        let (name, takes, more, _) = fitting[self.dice.roll(fitting.len())];
        let mut takes = takes.to_vec();
        if *more && let Some(last) = takes.last().copied() {
            takes.extend((0..self.dice.roll(3)).map(|_| last));
        }
        Some((name, takes))
    }

    fn command(&mut self, kind: Kind, deep: usize) -> String {
        if deep == 0 || self.one_in(4) || matches!(kind, Pattern | Format) {
            let leaf = self.leaf(kind);
            return if leaf == "nil" { ".".to_owned() } else { leaf };
        }
        match self.function(kind) {
            Some((name, takes)) => {
                let args: String = takes.iter().map(|kind| format!(" {}", self.argument(*kind, deep - 1))).collect();
                format!("{name}{args}")
            }
            None => self.leaf(kind),
        }
    }

    fn argument(&mut self, kind: Kind, deep: usize) -> String {
        if deep == 0 || self.one_in(2) {
            return self.leaf(kind);
        }
        format!("({})", self.pipe(kind, deep))
    }

    fn leaf(&mut self, kind: Kind) -> String {
        // A slip now and then, which both must refuse.
        let kind = if self.one_in(80) { [Text, Int, Float, Bool, List, Map][self.dice.roll(6)] } else { kind };
        let fitting: Vec<String> = self
            .variables
            .iter()
            .filter(|(_, other)| *other == kind || kind == Any)
            .map(|(name, _)| name.clone())
            .collect();
        if !fitting.is_empty() && self.one_in(3) {
            return fitting[self.dice.roll(fitting.len())].clone();
        }
        let dot = if self.root && self.one_in(2) { "" } else { "$" };
        match kind {
            Text => match self.dice.roll(8) {
                0 => format!("{dot}.s"),
                1 => format!("{dot}.texts.k1"),
                2 => format!("{dot}.m.k1"),
                3 => "`raw\\n`".to_owned(),
                _ => quoted(TEXTS[self.dice.roll(TEXTS.len())]),
            },
            Int => match self.dice.roll(8) {
                0 => "'a'".to_owned(),
                1 => "0x1F".to_owned(),
                2 => "3.0".to_owned(),
                3 => "1e2".to_owned(),
                4 => format!("{dot}.n"),
                _ => format!("{}", i64::try_from(self.dice.roll(14)).unwrap() - 3),
            },
            Float => {
                ["1.5", "-0.25", "1e21", "1e-7", "100.0", "3.14159", "123456789.0", "0.1", "2.5", "1e6", "0.25", ".f"]
                    [self.dice.roll(12)]
                .replace(".f", &format!("{dot}.f"))
            }
            Bool => ["true", "false", "$.b"][self.dice.roll(3)].to_owned(),
            // Go has keys and values in another order each time.
            List if self.one_in(8) => {
                let map = self.leaf(Map);
                if self.one_in(2) {
                    format!("(keys {map} | sortAlpha)")
                } else {
                    format!("(values (pick \"k1\" {map}))")
                }
            }
            List => [".l", ".texts_list", ".empty", ".deep", ".floats"][self.dice.roll(5)].replacen(
                '.',
                &format!("{dot}."),
                1,
            ),
            Map => [".m", ".nested", ".none"][self.dice.roll(3)].replacen('.', &format!("{dot}."), 1),
            Any => match self.dice.roll(12) {
                0 => "nil".to_owned(),
                1 => format!("{dot}.null"),
                2 => ".".to_owned(),
                3 => format!("{dot}.texts"),
                4 => format!("{dot}.n"),
                5 => format!("{dot}.nested.k2.k1"),
                _ => {
                    let kind = [Text, Int, Float, Bool, List, Map][self.dice.roll(6)];
                    self.leaf(kind)
                }
            },
            Pattern => format!("\"{}\"", PATTERNS[self.dice.roll(PATTERNS.len())]),
            Format => format!("\"{}\"", FORMATS[self.dice.roll(FORMATS.len())]),
        }
    }
}

/// A template.
pub(super) fn template(dice: &mut Dice) -> String {
    let mut maker = Maker { dice, variables: Vec::new(), names: 0, out: String::new(), root: true };
    for _ in 0..=maker.dice.roll(2) {
        maker.node(2);
    }
    if maker.out.contains("template \"d\"") {
        maker.out.push_str("{{define \"d\"}}<{{.}}>{{end}}");
    }
    maker.out
}

/// Up to three slips of a hand.
pub(super) fn slipped(dice: &mut Dice, template: &str) -> String {
    const TYPED: &[char] = &[
        '{', '}', '-', '/', '*', '"', '`', '\'', '|', '(', ')', '.', '$', ' ', '\n', '=', ':', ',', '0', '\\', '\u{a0}',
    ];
    let mut letters: Vec<char> = template.chars().collect();
    for _ in 0..=dice.roll(3) {
        let (at, typed) = (dice.roll(letters.len()), TYPED[dice.roll(TYPED.len())]);
        match dice.roll(3) {
            0 => letters[at] = typed,
            1 => letters.insert(at, typed),
            _ if letters.len() > 1 => _ = letters.remove(at),
            _ => {}
        }
    }
    letters.into_iter().collect()
}

/// A text as a template has it.
fn quoted(text: &str) -> String {
    serde_json::to_string(text).unwrap().replace("\\u007f", "\u{7f}")
}

/// Data for a template.
pub(super) fn data(dice: &mut Dice) -> serde_json::Value {
    let mut text = || TEXTS[dice.roll(TEXTS.len())];
    let texts: [&str; 8] = std::array::from_fn(|_| text());
    let floats = [0.5, -1.25, 3.75, 1e9];
    let mut list =
        vec!["b".into(), 1.into(), serde_json::Value::Null, true.into(), 2.5.into(), "a".into(), texts[0].into()];
    list.truncate(dice.roll(8));
    let mut words = vec!["b", "a", texts[1], "a", "c"];
    words.truncate(dice.roll(6));
    serde_json::json!({
        "s": texts[2],
        "n": i64::try_from(dice.roll(12)).unwrap() - 2,
        "f": (floats[dice.roll(4)]),
        "b": (dice.roll(2) == 0),
        "null": null,
        "l": list,
        "texts_list": words,
        "floats": [1.5, 2, 2, 0.1],
        "empty": [],
        "deep": [[1, ["x"]], [], "y", {"k1": [texts[3]]}],
        "m": {"k1": texts[4], "k2": (dice.roll(5)), "": "empty"},
        "nested": {"k1": {"k1": texts[5]}, "k2": {"k1": [1, 2]}, "a.b": 1},
        "none": {},
        "texts": {"\u{0}texts": true, "k1": texts[6], "k2": "", "app": "web"},
    })
}
