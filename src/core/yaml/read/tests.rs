//! Hostile and ordinary documents, and where their flaws are.
#![allow(clippy::disallowed_methods, reason = "these tests measure time")]

extern crate std;

use std::eprintln;
use std::time::{Duration, Instant};

use alloc::string::{String, ToString as _};

use serde::Deserialize;

use super::*;

mod ordered;

fn read_one(text: &str) -> Result<Node, Flaw> {
    read(&Document::whole(text), &mut Interner::new())
}

/// Writes a tree as compact text, so that expectations fit a line.
fn shown(node: &Node) -> String {
    let join = |parts: Vec<String>| parts.join(",");
    match node {
        Node::Null => "null".into(),
        Node::Bool(value) => value.to_string(),
        Node::Int(value) => value.to_string(),
        Node::Uint(value) => format!("{value}u"),
        Node::Float(value) => format!("{value:?}f"),
        Node::Time(value) => format!("{value}t"),
        Node::Text(text) => format!("{text:?}"),
        Node::List(items) => format!("[{}]", join(items.iter().map(shown).collect())),
        Node::Map(entries) => {
            format!("{{{}}}", join(entries.iter().map(|(key, value)| format!("{key}:{}", shown(value))).collect()))
        }
        Node::InOrder(_) => "a map in order".into(),
    }
}

#[track_caller]
fn check(text: &str, expect: &str) {
    match read_one(text) {
        Ok(node) => assert_eq!(shown(&node), expect, "{text:?}"),
        Err(flaw) => assert_eq!(flaw.to_string(), expect, "{text:?}"),
    }
}

#[test]
fn ordinary_documents_are_read() {
    check("", "null");
    check("b: 1\na: x\n", r#"{a:"x",b:1}"#);
    check("a:\n- 1\n- - 2\n  - {b: c}\n-\n", r#"{a:[1,[2,{b:"c"}],null]}"#);
    check("a: {}\nb: []\nc:\nd: ''\n", r#"{a:{},b:[],c:null,d:""}"#);
    check("---\r\na: |\r\n  x\r\n  y\r\n", r#"{a:"x\ny\n"}"#);
    check("a: >-\n  x\n  y\n", r#"{a:"x y"}"#);
    check("'1': a\n\"true\": b\n", r#"{1:"a",true:"b"}"#);
    check("%YAML 1.1\n---\na: 1\n", "{a:1}");
    check("a: 18446744073709551615\nb: 1e3\nc: 017\n", "{a:18446744073709551615u,b:1000.0f,c:15}");
    check(
        "a: !!str 1\nb: !!int '3'\nc: !!float 3\nd: !!null ''\ne: ! 1\nf: !!map {}\ng: !!seq []\n",
        r#"{a:"1",b:3,c:3.0f,d:null,e:"1",f:{},g:[]}"#,
    );
    check("? a\n: b\n? 'c d'\n: - e\n", r#"{a:"b",c d:["e"]}"#);
}

/// kubectl reads YAML 1.1, so `yes` is no text: as a Secret's value it is an error there, and here.
#[test]
fn truth_values_are_those_of_kubectl() {
    check("a: yes\nb: off\nc: y\nd: 'yes'\ne: yEs\n", r#"{a:true,b:false,c:true,d:"yes",e:"yEs"}"#);
}

#[test]
fn anchors_and_merges_are_followed() {
    check("a: &x {p: 1}\nb: *x\nc: [*x, *x]\n", "{a:{p:1},b:{p:1},c:[{p:1},{p:1}]}");
    check("a: &x 1\nb: &x 2\nc: *x\n", "{a:1,b:2,c:2}");
    check("a: &k key\n*k : 1\n", r#"{a:"key",key:1}"#);
    check("&k b: 1\na: *k\n", r#"{a:"b",b:1}"#);
    check("a: &x {p: 1, q: 2}\nb:\n  <<: *x\n  q: 3\n", "{a:{p:1,q:2},b:{p:1,q:3}}");
    check("a: &x {p: 1}\nb: {<<: [*x, {p: 2, q: 3}]}\n", "{a:{p:1},b:{p:1,q:3}}");
    check("'<<': 1\n", "{<<:1}");
    check("a: &x {p: 1}\nb:\n  !!merge <<: *x\n  q: 3\n", "{a:{p:1},b:{p:1,q:3}}");
    check("a: &x {p: 1}\nb: {!!merge '<<': *x}\n", "{a:{p:1},b:{p:1}}");
    check(
        "b: {p: 1, <<: {p: 2}}",
        "line 1, column 11: this merge sets a key that is before it, and readers disagree on which one counts; put the \
         merge first",
    );
    check("b: {<<: {p: 2}, <<: {q: 2}}", "line 1, column 17: the merge key is here for the second time");
    check("<<: 1", "line 1, column 5: only maps can be merged");
    check("<<: [{}, 1]", "line 1, column 5: only maps can be merged");
    check("a: &x [*x]", "line 1, column 8: an alias is inside the value that it names");
    check("a: *x", "line 1, column 4: an alias names an anchor that does not exist");
}

/// kubectl's reader minds no indentation in quotes.
#[test]
fn quotes_go_on_wherever_the_next_line_begins() {
    check("a: \"x\ny\"\n", r#"{a:"x y"}"#);
    check("a:\n  b: 'x\n  y'\n  c: 1\n", r#"{a:{b:"x y",c:1}}"#);
    check("a:\n- b: \"x\n\n  y\\\n  z\"\n- c\n", r#"{a:[{b:"x\nyz"},"c"]}"#);
    check("a: 'x\nit''s\ny'\nb: \"1\n2\"\n", r#"{a:"x it's y",b:"1 2"}"#);
    check("a: |\n  b: \"x\n  y\"\nc: \"1\n2\"\n", r#"{a:"b: \"x\ny\"\n",c:"1 2"}"#);
    let open = "quotes are opened and not closed, or the text in them is not indented";
    check("a: \"x\ny\nb: 1\n", &format!("line 2, column 1: {open}"));
    let many = "a\n\"b\n".repeat(200);
    assert!(read_one(&format!("x: '{many}'\n")).is_err(), "it is not tried without end");
}

#[test]
fn flaws_say_where_and_in_our_words() {
    let twice = "this key is here for the second time";
    check("a: 1\nb: 2\na: CANARY\n", &format!("line 3, column 1: {twice}"));
    check("a:\n  b:\n    c: 1\n    c: CANARY\n", &format!("line 4, column 5: {twice}"));
    check("a: {b: 1, \"b\": CANARY}\n", &format!("line 1, column 11: {twice}"));
    let key = "a key must be text; put it in quotes";
    for (text, column) in [
        ("1: CANARY", 1),
        ("true: CANARY", 1),
        ("yes: CANARY", 1),
        ("~: CANARY", 1),
        ("1.5: CANARY", 1),
        (".inf: CANARY", 1),
        ("{: CANARY}", 2),
        ("? [a]\n: CANARY", 3),
        ("? {a: b}\n: CANARY", 3),
        ("!!int 1: CANARY", 7),
        ("a: &x 1\n*x : CANARY", 1),
    ] {
        check(text, &format!("line {}, column {column}: {key}", 1 + usize::from(text.starts_with('a'))));
    }
    let finite = "a number must be finite; put it in quotes if it is text";
    for number in [".inf", "-.INF", ".NaN", "!!float .inf"] {
        check(
            &format!("a:\n- {number}\n"),
            &format!("line 2, column {}: {finite}", if number.starts_with('!') { 11 } else { 3 }),
        );
    }
    for tag in ["!!python/object:os.system", "!!binary", "!!timestamp", "!!set", "!CANARY", "!<tag:x,2024:CANARY>"] {
        let Err(flaw) = read_one(&format!("a: {tag} aGk=\n")) else { panic!("{tag} was read") };
        assert_eq!((flaw.line, &*flaw.what), (1, FOREIGN_TAG), "{tag}");
    }
    check("a: !!int CANARY", "line 1, column 10: the value is not what its tag says");
    check("a: !!map [CANARY]", "line 1, column 10: this tag is not one of YAML's core schema");
    check("a: !e!x CANARY", "line 1, column 4: this tag is not one of YAML's core schema");
    check("a:\n\tb: CANARY\n", "line 2, column 2: there is a tab here, where YAML needs spaces");
    check(
        "a: 'CANARY\nb: 1\n",
        "line 2, column 1: quotes are opened and not closed, or the text in them is not indented",
    );
    check("a: \"CANARY\\q\"", "line 1, column 4: double quotes hold an escape that YAML does not know");
    check("a: [CANARY\n", "line 1, column 4: a bracket is opened and not closed, or a comma is missing");
    check("a: CANARY]\nb: }", "line 2, column 4: a bracket is closed that was not opened");
    check("a: CANARY: c\n", "line 1, column 10: a colon is not allowed here; text that contains `: ` needs quotes");
    check("a: @CANARY\n", "line 1, column 4: text cannot begin with this character; put it in quotes");
    check("a: 1\n  b: CANARY\n", "line 2, column 4: a colon is not allowed here; text that contains `: ` needs quotes");
    check("a: 1\n---\nb: 2\n", "line 3, column 1: a second document begins here");
    check("é: \u{1b}[31mCANARY", "line 1, column 4: there is a control character here");
    check("a: x\0CANARY", "line 1, column 5: there is a control character here");
    check("a: \u{9b}CANARY", "line 1, column 4: there is a control character here");
    check("a: é\u{fffe}", "line 1, column 5: there is a control character here");
    check("a: °“\u{fffd}\n", "{a:\"°“\u{fffd}\"}");
    for c in ['\u{85}', '\u{2028}', '\u{2029}'] {
        let some = "some readers take this character for a line break; write it as an escape in double quotes";
        check(&format!("a: b # c{c}d: e\n"), &format!("line 1, column 9: {some}"));
    }
}

#[test]
fn positions_are_those_of_the_file() {
    let file = "# head\n---\na: 1\n---\n\nb:\n- c: 1\n  c: 2\n";
    let flaws: Vec<Flaw> = documents(file).filter_map(|document| read(&document, &mut Interner::new()).err()).collect();
    assert_eq!(flaws.iter().map(|flaw| (flaw.line, flaw.column)).collect::<Vec<_>>(), [(8, 3)]);
}

#[test]
fn keys_are_sorted_and_shared() {
    let mut interner = Interner::new();
    let many: String = (0..500).map(|n| format!("k{}: {n}\n", n * 7 % 500)).collect();
    let (Ok(a), Ok(b)) = (read(&Document::whole(&many), &mut interner), read(&Document::whole(&many), &mut interner))
    else {
        panic!("both are read")
    };
    assert!(a.entries().is_sorted_by(|a, b| a.0 < b.0) && a.entries().len() == 500);
    assert!(a.entries().iter().zip(b.entries()).all(|(a, b)| Key::ptr_eq(&a.0, &b.0)));
    for again in [0, 15, 16, 17, 499] {
        let Err(flaw) = read_one(&format!("{many}k{again}: again\n")) else { panic!("k{again} was read twice") };
        assert_eq!((flaw.line, flaw.column), (501, 1));
    }
}

#[track_caller]
fn check_soon(text: &str, what: &str) {
    let start = Instant::now();
    let Err(flaw) = read_one(text) else { panic!("it was read: {what}") };
    assert_eq!(flaw.what, what);
    assert!(start.elapsed() < Duration::from_secs(10), "{what}: {:?}", start.elapsed());
}

#[test]
fn bombs_are_refused_soon() {
    let mut laughs = String::from("a0: &a0 [ha,ha,ha,ha,ha,ha,ha,ha,ha]\n");
    for n in 1..12 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(",");
        laughs.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
    }
    check_soon(&laughs, "the document's aliases copy too much");
    let mut merges = String::from("a0: &a0 {k: v}\n");
    for n in 1..40 {
        merges.push_str(&format!("a{n}: &a{n} {{x{n}: *a{m}, y{n}: *a{m}, <<: *a{m}}}\n", m = n - 1));
    }
    check_soon(&merges, "the document's aliases copy too much");
    // Anchors around anchors, each of which would hold the innermost text.
    let matryoshka = format!("{}'{}'{}", "&a [".repeat(100), "x".repeat(1 << 20), "]".repeat(100));
    check_soon(&matryoshka, "the document's aliases copy too much");
    // Each level is shallow, and they add up.
    let mut tower = format!("a0: &a0 {}x{}\n", "[".repeat(100), "]".repeat(100));
    for n in 1..100 {
        tower.push_str(&format!("a{n}: &a{n} {}*a{}{}\n", "[".repeat(100), n - 1, "]".repeat(100)));
    }
    check_soon(&tower, "lists and maps are nested too deeply here");
    for (open, close) in [("[", "]"), ("{a: ", "}"), ("- ", "")] {
        let deep = |n| format!("{}1{}", open.repeat(n), close.repeat(n));
        check_soon(&deep(10_000), "lists and maps are nested too deeply here");
        check_soon(&deep(MAX_DEPTH + 1), "lists and maps are nested too deeply here");
        assert!(read_one(&deep(MAX_DEPTH)).is_ok(), "{open}");
    }
    check_soon(&format!("[{}]", "0,".repeat(1 << 18)), "the document has too many values");
    check_soon(&"a".repeat(65 << 20), "the document is larger than 64 MiB");
    check_soon(
        &format!("{}: 1", "k".repeat(1 << 20)),
        "a colon is not allowed here; text that contains `: ` needs quotes",
    );
}

#[test]
fn long_lines_and_wide_maps_are_no_trouble() {
    let long = "x".repeat(2 << 20);
    assert!(read_one(&format!("a: {long}\n")).is_ok_and(|node| node.str_at(&["a"]) == Some(&long)));
    let start = Instant::now();
    let wide: String = (0..30_000).map(|n| format!("k{n}: v\n")).collect();
    let all: String = (0..30_000).map(|n| format!("  k{n}: v\n")).collect();
    assert!(read_one(&wide).is_ok());
    assert!(read_one(&format!("<<:\n{all}{}", wide)).is_ok_and(|node| node.entries().len() == 30_000));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
}

#[test]
fn streams_of_thousands_of_documents_are_read() {
    let stream: String = (0..5_000).map(|n| format!("---\nid: {n}\n")).collect();
    let mut interner = Interner::new();
    let read_all = documents(&stream).filter(|document| read(document, &mut interner).is_ok()).count();
    assert_eq!(read_all, 5_000);
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Sample {
    name: String,
    #[serde(default)]
    recipients: Vec<String>,
    #[serde(default)]
    percent: u32,
    #[serde(default)]
    detached: bool,
    #[serde(default)]
    state: Option<State>,
    #[serde(default)]
    inner: BTreeMap<String, Inner>,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
enum State {
    Active,
    Paused,
}

#[derive(Deserialize, Debug, PartialEq)]
#[serde(deny_unknown_fields)]
struct Inner {
    path: String,
}

#[test]
fn typed_files_are_read() {
    let text = "name: a\nrecipients: [x, 'y']\npercent: 20\ndetached: true\nstate: paused\ninner: {r: {path: p}}\n";
    let sample = typed::<Sample>(text).expect("it is read");
    assert_eq!((&*sample.name, sample.percent, sample.state), ("a", 20, Some(State::Paused)));
    assert_eq!(sample.recipients, ["x", "y"]);
    let many: String = (0..50_000).map(|n| format!("  r{n}: {{path: p}}\n")).collect();
    // More values than the parser allows by itself, because a bundle can have as many.
    assert!(typed::<Sample>(&format!("name: a\ninner:\n{many}")).is_ok_and(|all| all.inner.len() == 50_000));
}

#[test]
fn typed_flaws_help_and_show_no_value() {
    for (text, expect) in [
        ("name: a\nrecipient: CANARY\n", "line 2, column 1: unknown field `recipient`; did you mean `recipients`?"),
        ("name: a\ninner:\n  r:\n    pat: CANARY\n", "line 4, column 5: unknown field `pat`; did you mean `path`?"),
        ("recipients: [CANARY]\n", "line 1, column 1: the field `name` is missing"),
        ("name: a\ninner:\n  r: {}\n", "line 3, column 6: the field `path` is missing"),
        ("name: a\npercent: CANARY\n", "line 2, column 10: a whole number from zero is expected here"),
        ("name: a\npercent: -1\n", "line 2, column 10: a whole number from zero is expected here"),
        ("name: a\ndetached: CANARY\n", "line 2, column 11: `true` or `false` is expected here"),
        ("name: a\nrecipients: CANARY\n", "line 2, column 13: a list is expected here"),
        ("name: a\ninner: CANARY\n", "line 2, column 8: a map is expected here"),
        ("name: [CANARY]\n", "line 1, column 7: text is expected here"),
        ("name: {a: CANARY}\n", "line 1, column 7: text is expected here"),
        ("name: 12345\n", "line 1, column 7: text is expected here; put the value in quotes"),
        ("name: no\n", "line 1, column 7: text is expected here; put the value in quotes"),
        ("name: ~\n", "line 1, column 7: text is expected here, but there is nothing"),
        ("name: a\nstate: pausd\n", "line 2, column 8: unknown word; did you mean `paused`?"),
        ("name: a\nstate: CANARY\n", "line 2, column 8: one of `active`, `paused` is expected here"),
        ("name: a\nname: CANARY\n", "line 2, column 1: this key is here for the second time"),
        (
            "name: a\ninner: {r: {path: a}, r: {path: CANARY}}\n",
            "line 2, column 23: this key is here for the second time",
        ),
        ("name: !CANARY a\n", "line 1, column 15: this tag is not one of YAML's core schema"),
        ("name: 'CANARY\n", "line 2, column 1: quotes are opened and not closed, or the text in them is not indented"),
        ("name: a\n---\nname: CANARY\n", "line 3, column 1: a second document begins here; the file must have one"),
        ("", "line 1, column 1: the file is empty, or ends too early"),
        ("CANARY\n", "line 1, column 1: a map is expected here"),
        ("name: CANARY\u{1b}[0m\n", "line 1, column 13: there is a control character here"),
    ] {
        let Err(flaw) = typed::<Sample>(text) else { panic!("{text:?} was read") };
        assert_eq!(flaw.to_string(), expect, "{text:?}");
        assert!(!flaw.to_string().contains("CANARY"));
    }
}

#[test]
fn typed_bombs_are_refused() {
    let mut laughs = String::from("a0: &a0 [ha,ha,ha,ha,ha,ha,ha,ha,ha]\n");
    for n in 1..12 {
        let aliases = vec![format!("*a{}", n - 1); 9].join(",");
        laughs.push_str(&format!("a{n}: &a{n} [{aliases}]\n"));
    }
    type Anything = BTreeMap<String, serde::de::IgnoredAny>;
    for bomb in [laughs, format!("a: {}{}", "[".repeat(10_000), "]".repeat(10_000)), "a: b\n".repeat(14 << 20)] {
        assert!(typed::<Anything>(&bomb).is_err());
    }
}

/// This thread's time on a processor, which neighbours on the machine do not lengthen much.
fn busy() -> Duration {
    let statistics = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(statistics.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok()).unwrap_or(0))
}

/// Run with `cargo test --release -p pouch-core speed -- --ignored --nocapture`.
#[test]
#[ignore = "measures; means something only in a release build"]
fn speed() {
    let document = "---\napiVersion: v1\nkind: Secret\nmetadata:\n  name: cred-000123\n  namespace: team-a\n  labels:\n    k0rdent.mirantis.com/component: kcm\ntype: Opaque\ndata:\n  AccessKeyID: QUtJQUlPU0ZPRE5ON0VYQU1QTEU=\n  SecretAccessKey: d0phbHJYVXRuRkVNSS9LN01ERU5HL2JQeFJmaUNZRVhBTVBMRUtFWQ==\n  SessionToken: QUtJQUlPU0ZPRE5ON0VYQU1QTEVBS0lBSU9TRk9ETk43RVhBTVBMRUFLSUFJT1NGT0ROTjdFWEFNUExFQUtJQUlPU0ZPRE5O\n";
    let count = 100_000_u32;
    let stream = document.repeat(100_000);
    let mut interner = Interner::new();
    let start = busy();
    let nodes: Vec<Node> = documents(&stream).filter_map(|document| read(&document, &mut interner).ok()).collect();
    eprintln!(
        "yaml read: {:?} for each of {} documents of {} bytes",
        (busy() - start) / count,
        nodes.len(),
        document.len()
    );
    let start = busy();
    let bytes: usize = nodes.iter().map(|node| crate::yaml::emit::emit(&crate::yaml::emit::Tree::of(node)).len()).sum();
    eprintln!("yaml emit: {:?} for each, {bytes} bytes", (busy() - start) / count);
    let mut list = String::from("apiVersion: v1\nkind: List\nitems:\n");
    for line in documents(&stream).flat_map(|document| document.text.lines().skip(1).enumerate()) {
        list.push_str(if line.0 == 0 { "- " } else { "  " });
        list.push_str(line.1);
        list.push('\n');
    }
    let start = busy();
    let read_list = read_one(&list).map(|node| node.get("items").map_or(0, |items| items.items().len()));
    eprintln!("yaml list: {:?} for each of {read_list:?}, {} MB", (busy() - start) / count, list.len() >> 20);
    let json = format!("[{}]", vec![r#"{"apiVersion":"v1","data":{"AccessKeyID":"QUtJQUlPU0ZPRE5ON0VYQU1QTEU=","SecretAccessKey":"d0phbHJYVXRuRkVNSS9LN01ERU5HL2JQeFJmaUNZRVhBTVBMRUtFWQ=="},"kind":"Secret","metadata":{"name":"cred-000123","namespace":"team-a"},"type":"Opaque"}"#; 100_000].join(","));
    let start = busy();
    let ok = crate::json::read(&json, &mut interner).is_ok();
    eprintln!("json read: {:?} for each, {ok}", (busy() - start) / count);
}
