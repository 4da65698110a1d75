//! Templates that a seed generates, with data for them.

use std::fmt::Write as _;

use super::super::slips::Dice;

/// What an expression gives.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Int,
    Float,
    Bool,
    List,
    Map,
    Any,
    Pattern,
    Format,
}

use Kind::{Any, Bool, Float, Format, Int, List, Map, Pattern, Text};

/// Functions, what they take and what they give. A last [`Any`] after `true` may be repeated.
const FUNCTIONS: &[(&str, &[Kind], bool, Kind)] = &[
    ("nospace", &[Text], false, Text),
    ("trim", &[Text], false, Text),
    ("trimAll", &[Text, Text], false, Text),
    ("trimPrefix", &[Text, Text], false, Text),
    ("trimSuffix", &[Text, Text], false, Text),
    ("contains", &[Text, Text], false, Bool),
    ("hasPrefix", &[Text, Text], false, Bool),
    ("hasSuffix", &[Text, Text], false, Bool),
    ("toLower", &[Text], false, Text),
    ("toUpper", &[Text], false, Text),
    ("replace", &[Text, Text, Text], false, Text),
    ("repeat", &[Int, Text], false, Text),
    ("join", &[Text, List], false, Text),
    ("trunc", &[Int, Text], false, Text),
    ("ellipsis", &[Int, Text], false, Text),
    ("ellipsisBoth", &[Int, Int, Text], false, Text),
    ("initials", &[Text], false, Text),
    ("plural", &[Text, Text, Int], false, Text),
    ("wrap", &[Int, Text], false, Text),
    ("wrapWith", &[Int, Text, Text], false, Text),
    ("quote", &[Any], true, Text),
    ("squote", &[Any], true, Text),
    ("cat", &[Any], true, Text),
    ("toCamelCase", &[Text], false, Text),
    ("toKebabCase", &[Text], false, Text),
    ("toPascalCase", &[Text], false, Text),
    ("toDotCase", &[Text], false, Text),
    ("toPathCase", &[Text], false, Text),
    ("toConstantCase", &[Text], false, Text),
    ("toSnakeCase", &[Text], false, Text),
    ("untitle", &[Text], false, Text),
    ("swapCase", &[Text], false, Text),
    ("capitalize", &[Text], false, Text),
    ("uncapitalize", &[Text], false, Text),
    ("split", &[Text, Text], false, Any),
    ("splitn", &[Text, Int, Text], false, Any),
    ("splitList", &[Text, Text], false, List),
    ("strSlice", &[Any], false, List),
    ("substr", &[Int, Int, Text], false, Text),
    ("indent", &[Int, Text], false, Text),
    ("nindent", &[Int, Text], false, Text),
    ("seq", &[Int], false, Text),
    ("seq", &[Int, Int], false, Text),
    ("seq", &[Int, Int, Int], false, Text),
    ("pathBase", &[Text], false, Text),
    ("pathDir", &[Text], false, Text),
    ("pathExt", &[Text], false, Text),
    ("pathClean", &[Text], false, Text),
    ("pathIsAbs", &[Text], false, Bool),
    ("list", &[Any], true, List),
    ("append", &[Any, List], false, List),
    ("append", &[List, Any], false, List),
    ("prepend", &[Any, List], false, List),
    ("concat", &[List, List], false, List),
    ("chunk", &[Int, List], false, List),
    ("uniq", &[List], false, List),
    ("compact", &[List], false, List),
    ("flatten", &[List], false, List),
    ("flattenDepth", &[Int, List], false, List),
    ("slice", &[Int, List], false, List),
    ("slice", &[Int, Int, List], false, List),
    ("slice", &[List, Int], false, List),
    ("has", &[Any, List], false, Bool),
    ("without", &[Any, List], false, List),
    ("without", &[List, Any], false, List),
    ("rest", &[List], false, List),
    ("initial", &[List], false, List),
    ("first", &[List], false, Any),
    ("last", &[List], false, Any),
    ("reverse", &[List], false, List),
    ("sortAlpha", &[List], false, List),
    ("until", &[Int], false, List),
    ("untilStep", &[Int, Int, Int], false, List),
    ("dict", &[Text, Any], false, Map),
    ("dict", &[Text, Any, Text, Any], false, Map),
    ("dict", &[Any], true, Map),
    ("get", &[Text, Map], false, Any),
    ("get", &[Map, Text], false, Any),
    ("hasKey", &[Text, Map], false, Bool),
    ("pluck", &[Text, Map, Map], false, List),
    ("pick", &[Text, Text, Map], false, Map),
    ("omit", &[Text, Map], false, Map),
    ("omit", &[Map, Text], false, Map),
    ("dig", &[Text, Map], false, Any),
    ("dig", &[Text, Text, Map], false, Any),
    ("floor", &[Any], false, Float),
    ("ceil", &[Any], false, Float),
    ("round", &[Any, Int], false, Float),
    ("round", &[Any, Int, Float], false, Float),
    ("add", &[Float, Int], true, Any),
    ("add", &[Int, Int], false, Int),
    ("add1", &[Int], false, Int),
    ("sub", &[Float, Any], false, Float),
    ("mul", &[Int, Int], true, Any),
    ("mulf", &[Float, Any], false, Float),
    ("div", &[Int, Int], false, Any),
    ("divf", &[Any, Float], false, Float),
    ("mod", &[Int, Int], false, Int),
    ("mod", &[Float, Any], false, Float),
    ("min", &[Int, Float], false, Any),
    ("max", &[Int, Int], false, Any),
    ("minf", &[Int, Any], false, Float),
    ("maxf", &[Float, Int], false, Float),
    ("toBool", &[Any], false, Bool),
    ("toInt", &[Any], false, Int),
    ("toInt64", &[Float], false, Any),
    ("toUint", &[Int], false, Any),
    ("toUint64", &[Int], false, Any),
    ("toFloat64", &[Any], false, Float),
    ("toOctal", &[Int], false, Any),
    ("toString", &[Any], false, Text),
    ("base64Encode", &[Text], false, Text),
    ("base64Decode", &[Text], false, Text),
    ("base32Encode", &[Text], false, Text),
    ("base32Decode", &[Text], false, Text),
    ("toJSON", &[Any], false, Text),
    ("toPrettyJSON", &[Any], false, Text),
    ("toRawJSON", &[Any], false, Text),
    ("fromJSON", &[Text], false, Any),
    ("sha256Sum", &[Text], false, Text),
    ("sha512Sum", &[Text], false, Text),
    ("adler32Sum", &[Text], false, Text),
    ("regexQuoteMeta", &[Text], false, Text),
    ("regexMatch", &[Pattern, Text], false, Bool),
    ("regexFind", &[Pattern, Text], false, Text),
    ("regexFindAll", &[Pattern, Text, Int], false, List),
    ("regexSplit", &[Pattern, Text, Int], false, List),
    ("regexReplaceAll", &[Pattern, Text, Text], false, Text),
    ("regexReplaceAllLiteral", &[Pattern, Text, Text], false, Text),
    ("regexFindGroups", &[Pattern, Text], false, List),
    ("regexFindAllGroups", &[Pattern, Int, Text], false, List),
    ("regexFindNamed", &[Pattern, Text], false, Any),
    ("regexFindAllNamed", &[Pattern, Int, Text], false, List),
    ("not", &[Any], false, Bool),
    ("and", &[Any, Any], true, Any),
    ("or", &[Any, Any], true, Any),
    ("len", &[Text], false, Int),
    ("len", &[List], false, Int),
    ("len", &[Map], false, Int),
    ("index", &[Map, Text], false, Any),
    ("index", &[List, Int], false, Any),
    ("print", &[Any], true, Text),
    ("println", &[Any], true, Text),
    ("printf", &[Format, Any], false, Text),
    ("printf", &[Format, Text], false, Text),
    ("printf", &[Format, Int], false, Text),
    ("printf", &[Format, Float], false, Text),
    ("printf", &[Format, Any, Any], false, Text),
    ("html", &[Any], true, Text),
    ("urlquery", &[Any], true, Text),
    ("eq", &[Any, Any], true, Bool),
    ("eq", &[Text, Text], false, Bool),
    ("ne", &[Any, Any], false, Bool),
    ("lt", &[Int, Int], false, Bool),
    ("le", &[Text, Text], false, Bool),
    ("gt", &[Float, Float], false, Bool),
    ("ge", &[Any, Any], false, Bool),
    ("hello", &[], false, Text),
    ("default", &[Any, Any], false, Any),
    ("default", &[Text, Text], false, Text),
    ("empty", &[Any], false, Bool),
    ("all", &[Any], true, Bool),
    ("any", &[Any], true, Bool),
    ("coalesce", &[Any, Any], true, Any),
    ("ternary", &[Any, Any, Bool], false, Any),
    ("ternary", &[Text, Text, Bool], false, Text),
    ("typeOf", &[Any], false, Text),
    ("typeIs", &[Text, Any], false, Bool),
    ("typeIsLike", &[Text, Any], false, Bool),
    ("kindOf", &[Any], false, Text),
    ("kindIs", &[Text, Any], false, Bool),
    ("deepEqual", &[Any, Any], false, Bool),
    ("deepCopy", &[Any], false, Any),
    // Old names, which Go calls in another way.
    ("addf", &[Float, Any], true, Any),
    ("add1f", &[Any], false, Any),
    ("subf", &[Float, Any], false, Float),
    ("sha256sum", &[Text], false, Text),
    ("adler32sum", &[Text], false, Text),
    ("fromJson", &[Text], false, Any),
    ("mustFromJson", &[Text], false, Any),
    ("toJson", &[Any], false, Text),
    ("mustToJson", &[Any], false, Text),
    ("toPrettyJson", &[Any], false, Text),
    ("mustToPrettyJson", &[Any], false, Text),
    ("toRawJson", &[Any], false, Text),
    ("mustToRawJson", &[Any], false, Text),
    ("mustDeepCopy", &[Any], false, Any),
    ("mustRegexFind", &[Pattern, Text], false, Text),
    ("mustRegexFindAll", &[Pattern, Text, Int], false, List),
    ("mustRegexMatch", &[Pattern, Text], false, Bool),
    ("mustRegexSplit", &[Pattern, Text, Int], false, List),
    ("mustRegexReplaceAll", &[Pattern, Text, Text], false, Text),
    ("mustRegexReplaceAllLiteral", &[Pattern, Text, Text], false, Text),
    ("mustAppend", &[List, Any], false, List),
    ("mustPrepend", &[List, Any], false, List),
    ("mustChunk", &[Int, List], false, List),
    ("mustUniq", &[List], false, List),
    ("mustCompact", &[List], false, List),
    ("mustSlice", &[List, Int], false, List),
    ("mustHas", &[Any, List], false, Bool),
    ("mustWithout", &[List, Any], false, List),
    ("mustRest", &[List], false, List),
    ("mustInitial", &[List], false, List),
    ("mustFirst", &[List], false, Any),
    ("mustLast", &[List], false, Any),
    ("mustReverse", &[List], false, List),
];

const TEXTS: &[&str] = &[
    "",
    "a",
    "b",
    "x",
    "hello world",
    "Foo-Bar_baz quux",
    "a,b,,c",
    "  x \t",
    "<&>\"'",
    "äöü€",
    "line1\nline2\n",
    "10",
    "-3",
    "007",
    "1.5",
    "2.50e3",
    "true",
    "F",
    "YWJj",
    "//79",
    "MFRGG===",
    "{\"a\":[1,2.5,\"x\"],\"b\":null}",
    "[1,[2,[3]]]",
    "1e21",
    "fooBar HTTPServer2Go",
    "a.b.c",
    "/a/../b//c.txt",
    "../x/./y/",
    "日本語",
    "%d",
    "$1-${x}$$ $y",
    "k1",
    "k2",
    "string",
    "int",
    "map",
    "slice",
    "aaa",
    "foo bar foo",
    "a-b c-d",
    "\u{7f}\u{1}\\",
    "tls.crt: |\n  x\n\n  y",
    "lorem ipsum dolor sit amet",
    "ＡＢ",
    "Straße",
    "null",
    "1_000",
    "0x1F",
    "+5",
    "-",
    ".5",
    "5.",
    "1.50",
    "\u{2028}",
    "..",
    "/",
    "ab/",
    "x=1&y=2",
    "A b-C_9 d",
    "`^-:[",
    "KkK1sSſ-",
    "<$01$00$0>",
];

const PATTERNS: &[&str] = &[
    "a+",
    "[a-z]+",
    "(\\\\w+)-(\\\\w+)",
    "^\\\\s*",
    "(?i)FOO",
    "(?P<x>[a-z])(?P<y>\\\\d)?",
    ",",
    "",
    "a*",
    "\\\\bfoo\\\\b",
    "[^,]*",
    "(a|b)*",
    "x{2,3}",
    "[[:alpha:]]+",
    ".",
    "(?s).+",
    "\\\\d",
    "[\\\\d.]+",
    "(?m)^l",
    "(?m)$",
    "a**",
    "[",
    "(",
    "\\\\pL",
    "\\\\Qa",
    "a{,2}",
    "[a-",
    "o*?",
    "(o+)(?P<x> )?",
    "[]a]",
    "[^]a]",
    "\\\\.",
    "[\\\\w-]+",
    "\\\\x41",
    "a|",
    "|a",
    "(|a)+",
    "(a?)(b?)",
    "$",
    "^",
    "\\\\S+",
    "[&&a]",
    "[a&&b]",
    "(?<x>l)",
    "a{2}{3}",
    "a++",
    "(?x)a",
    "\\\\<",
    "é",
    "[é]",
    "[^a]",
    "(?U)a+",
    "(?i)k",
    "\\\\B",
    "\\\\z",
    "\\\\Z",
    "(?-i)a",
    "[a-z&&[^b]]",
    "l+i",
    "(?P<n>",
    "\\\\n",
    "[\\\\n,]",
    "[-a]",
    "[a-]",
    "{",
    "a{1",
    "}",
    "]",
    // A class before or behind a `-`.
    "[\\\\s-_]+",
    "[\\\\w-z]",
    "[\\\\w-.]+",
    "[\\\\.\\\\w-z]",
    "[+-\\\\d]",
    "[!-\\\\w]",
    "[[:digit:]-a]",
    "[[:foo:]]",
    "[[:^alpha:]]+",
    "[+--]",
    "[a-c-e]",
    "[\\\\]-a]",
    "[[-a]",
    // Numbers that Go takes as letters, and groups that never stand there.
    "a{01}",
    "a{1,02}",
    "|(a){0}b",
    "(?P<x>a){0}b",
    "o{1,}",
    "(o){0,2}?",
    // Letters that fold beyond ASCII.
    "(?i)[^k]",
    "(?i:[j-s]+)|1",
    "(?i)\\\\W",
    "(?i)[[:lower:]]+",
    "(?i)é",
    "(a)",
];

const FORMATS: &[&str] = &[
    "%s",
    "%d",
    "%5d",
    "%-5d|",
    "%05d",
    "%+d",
    "% d",
    "%x",
    "%X",
    "%o",
    "%b",
    "%q",
    "%10s",
    "%-10s|",
    "%.2s",
    "%v",
    "%5v",
    "%t",
    "%f",
    "%.2f",
    "%8.3f",
    "%e",
    "%g",
    "%T",
    "%c",
    "%%",
    "%s-%d",
    "%",
    "%z",
    "%06.2f",
    "%+.1e",
    "%v and %v",
    "%s %s",
    "x",
    "%5t|",
    "%-8v|",
    "%08v",
    "%+v",
    "%#v",
    "%[1]s",
    "%*d",
    "%3c",
    "%.3d",
    "%5.1f%%",
    "%U",
    "%6q",
    "%-+6d|",
    "%s%s",
];

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
