//! The emitter's bytes, and what readers make of them.
#![allow(clippy::disallowed_methods, reason = "these tests run other YAML readers and look whether CI is set")]

extern crate std;

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::{env, eprintln, fs};

use alloc::string::ToString as _;

use proptest::prelude::*;

use super::*;
use crate::node::Node;
use crate::node::{Interner, Key};
use crate::testing::shared_text;
use crate::yaml::read::{Document, documents, read};
use alloc::vec::Vec;

/// The strings that YAML writers get wrong, and some of our own.
fn awkward() -> Vec<String> {
    let Some(json) = shared_text("data/yaml/strings.json") else { return Vec::new() };
    let mut strings: Vec<String> = serde_json::from_str(&json).expect("a list of strings");
    strings.extend((0..0x300).filter_map(char::from_u32).map(|c| format!("a{c}b")));
    strings.extend((0..0x300).filter_map(char::from_u32).map(String::from));
    strings.extend((0..0x300).filter_map(char::from_u32).map(|c| format!("a\n{c}\nb{c}\n")));
    strings.extend(
        ['\u{2028}', '\u{202e}', '\u{feff}', '\u{fffe}', '\u{1f600}', '\u{1fffe}', '\u{e0041}'].map(String::from),
    );
    strings.extend(["./", "../", "./:", "/", "//", "/-"].map(String::from));
    strings.extend([999, 1_000, 1_001, 1_024, 1_025, 5_000].map(|n| "k".repeat(n)));
    strings.extend([1_000, 1_025].map(|n| "k ".repeat(n)));
    strings
}

#[track_caller]
fn round(tree: &Tree<'_>) -> Node {
    let text = emit(tree);
    let found: Vec<Document<'_>> = documents(&text).collect();
    assert_eq!(found.len(), 1, "{}", text.as_str());
    read(&found[0], &mut Interner::new()).unwrap_or_else(|flaw| panic!("{flaw}\n{}", text.as_str()))
}

#[track_caller]
fn check(tree: Tree<'_>, expect: &str) {
    assert_eq!(emit(&tree).as_str(), expect);
}

/// A Secret, a kustomization, and every kind of value: these bytes are the format.
#[test]
fn the_form_is_stable() {
    let secret = Tree::map([
        ("type", Tree::text("Opaque")),
        ("kind", Tree::text("Secret")),
        ("apiVersion", Tree::text("v1")),
        (
            "metadata",
            Tree::map([
                ("name", Tree::text("aws")),
                ("namespace", Tree::text("kcm-system")),
                (
                    "labels",
                    Tree::map([
                        ("app.kubernetes.io/managed-by", Tree::text("pouch")),
                        ("k0rdent.mirantis.com/managed", Tree::text("false")),
                    ]),
                ),
            ]),
        ),
        (
            "data",
            Tree::map([
                ("AccessKeyID", Tree::Plain("ENC[AES256_GCM,data:a+/b==,iv:c=,tag:d==,type:str]".into())),
                ("SecretAccessKey", Tree::Secret(Zeroizing::new("1gdw==".into()))),
            ]),
        ),
    ]);
    check(
        secret,
        "\
apiVersion: v1
data:
  AccessKeyID: ENC[AES256_GCM,data:a+/b==,iv:c=,tag:d==,type:str]
  SecretAccessKey: \"1gdw==\"
kind: Secret
metadata:
  labels:
    app.kubernetes.io/managed-by: pouch
    k0rdent.mirantis.com/managed: \"false\"
  name: aws
  namespace: kcm-system
type: Opaque
",
    );
    let lists = Tree::map([
        ("resources", Tree::List(vec![Tree::text("../core/namespaces"), Tree::text("a b.yaml")])),
        ("none", Tree::List(vec![])),
        ("empty", Tree::map::<&str>([])),
        (
            "maps",
            Tree::List(vec![
                Tree::map([
                    ("b", Tree::Int(1)),
                    ("a", Tree::List(vec![Tree::Null])),
                    ("c", Tree::map([("d", Tree::Bool(true))])),
                ]),
                Tree::List(vec![Tree::List(vec![Tree::Int(1), Tree::Int(2)]), Tree::Uint(u64::MAX)]),
                Tree::map::<&str>([]),
            ]),
        ),
        ("text", Tree::text("one\n\n  two\nthree")),
        ("pem", Tree::text("-----BEGIN X-----\nMIIE\n-----END X-----\n")),
    ]);
    check(
        lists,
        "\
empty: {}
maps:
- a:
  - null
  b: 1
  c:
    d: true
- - - 1
    - 2
  - 18446744073709551615
- {}
none: []
pem: |
  -----BEGIN X-----
  MIIE
  -----END X-----
resources:
- ../core/namespaces
- \"a b.yaml\"
text: |-
  one

    two
  three
",
    );
    check(Tree::List(vec![Tree::text("a\nb"), Tree::text("a\nb\n")]), "- |-\n  a\n  b\n- |\n  a\n  b\n");
    check(Tree::text("a\nb"), "|-\n  a\n  b\n");
    check(Tree::map::<&str>([]), "{}\n");
    let long = "k".repeat(1_001);
    check(
        Tree::List(vec![Tree::map([(long.as_str(), Tree::List(vec![Tree::Int(1)]))])]),
        &format!("- ? {long}\n  :\n    - 1\n"),
    );
}

#[test]
fn strings_are_plain_literal_or_quoted() {
    for (text, expect) in [
        ("pouch", "pouch"),
        ("/var/run", "/var/run"),
        ("a:b@c.d/e+f=g-h_i", "a:b@c.d/e+f=g-h_i"),
        ("../core/secrets", "../core/secrets"),
        ("./a", "./a"),
        (".dockerconfigjson", r#"".dockerconfigjson""#),
        ("a:", r#""a:""#),
        ("..", r#""..""#),
        ("", r#""""#),
        ("Yes", r#""Yes""#),
        ("oFF", r#""oFF""#),
        ("Infinity", r#""Infinity""#),
        ("yesterday", "yesterday"),
        ("1", r#""1""#),
        ("${x}", r#""${x}""#),
        ("a\"b\\c", r#""a\"b\\c""#),
        ("a\tb\r\n", r#""a\tb\r\n""#),
        ("\0\x1b[0m\u{7f}\u{85}\u{9f}", r#""\x00\x1b[0m\x7f\x85\x9f""#),
        ("\u{2028}\u{202e}\u{feff}\u{fffe}", r#""\u2028\u202e\ufeff\ufffe""#),
        ("\u{1fffe}\u{e0041}", r#""\U0001fffe\U000e0041""#),
        ("é日本😀", "\"é日本😀\""),
        ("a\nb \nc", r#""a\nb \nc""#),
        (" a\nb", r#"" a\nb""#),
        ("\na", r#""\na""#),
        ("a\n\n", r#""a\n\n""#),
        ("\n", r#""\n""#),
        ("a\n\tb", r#""a\n\tb""#),
    ] {
        check(Tree::text(text), &format!("{expect}\n"));
        let key = if text.contains('\n') { continue } else { expect };
        check(Tree::map([(text, Tree::Int(1))]), &format!("{key}: 1\n"));
    }
}

#[test]
fn floats_are_floats_to_every_reader() {
    for (value, expect) in [
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.1, "0.1"),
        (1e21, "1.0e+21"),
        (1.5e300, "1.5e+300"),
        (1e-7, "1.0e-7"),
        (f64::MIN_POSITIVE, "2.2250738585072014e-308"),
        (f64::NAN, "null"),
        (f64::NEG_INFINITY, "null"),
    ] {
        check(Tree::Float(value), &format!("{expect}\n"));
    }
}

#[test]
fn plain_is_refused_where_it_would_not_be_read_back() {
    for text in ["ENC[a: b]", "ENC[a #b]", "ENC[a\nb]", "ENC[é]", "ENC[a]:", "ENC[a] ", "yes", "", "{a}", "a"] {
        assert!(round(&Tree::Plain(text.into())).as_str() == Some(text), "{text:?}");
    }
    check(Tree::Plain("ENC[a\nb".into()), "|-\n  ENC[a\n  b\n");
}

#[test]
fn awkward_strings_come_back_as_keys_and_as_values() {
    for text in awkward() {
        assert!(round(&Tree::text(&*text)) == Node::text(&text), "{text:?}");
        let nested = Tree::map([("x", Tree::List(vec![Tree::map([(&*text, Tree::text(&*text))])]))]);
        let back = round(&nested);
        let inner = &back.get("x").expect("the list").items()[0];
        assert!(inner.entries().len() == 1 && inner.str_at(&[&text]) == Some(&*text), "{text:?}");
        for (collection, expect) in [
            (Tree::map([("a", Tree::Int(1))]), Node::map(vec![("a".into(), Node::Int(1))])),
            (Tree::List(vec![Tree::Int(1)]), Node::List(vec![Node::Int(1)].into())),
        ] {
            assert!(round(&Tree::map([(&*text, collection)])).get(&text) == Some(&expect), "{text:?}");
        }
    }
}

/// PyYAML reads YAML 1.1, where `yes`, `1:20` and `2024-01-01` are no strings.
#[test]
fn yaml_1_1_readers_see_the_same_strings() {
    let program = "\
import json, sys, yaml
loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
for load in (yaml.SafeLoader, loader):
    for expect, text in json.load(open(sys.argv[1])):
        found = yaml.load(text, load)
        if found != expect or repr(found) != repr(expect):
            sys.exit('%s: %r was read as %r' % (load.__name__, expect, found))
";
    let importable = Command::new("python3").args(["-c", "import yaml"]).stderr(Stdio::null()).status();
    if !importable.is_ok_and(|status| status.success()) {
        assert!(env::var_os("CI").is_none_or(|ci| ci != "true"), "CI needs python3 with PyYAML");
        eprintln!("SKIPPED: python3 with PyYAML is not there");
        return;
    }
    let mut cases = Vec::new();
    for text in awkward() {
        let map = serde_json::json!({ "x": [{ text.as_str(): text }] });
        let tree = Tree::map([("x", Tree::List(vec![Tree::map([(&*text, Tree::text(&*text))])]))]);
        cases.push(serde_json::json!([map, emit(&tree).as_str()]));
    }
    for value in [1.0, -0.0, 0.1, 1e21, 1.5e300, 1e-7, 123_456_789.5, f64::MAX] {
        cases.push(serde_json::json!([value, emit(&Tree::Float(value)).as_str()]));
    }
    for value in [0, -1, i64::MIN, i64::MAX] {
        cases.push(serde_json::json!([value, emit(&Tree::Int(value)).as_str()]));
    }
    let file = format!("{}/pouch-yaml-{}.json", env::temp_dir().display(), std::process::id());
    let mut handle = fs::File::create(&file).expect("a file for the cases");
    handle.write_all(serde_json::Value::Array(cases).to_string().as_bytes()).expect("the cases are written");
    let outcome = Command::new("python3").args(["-c", program, &file]).output().expect("python3 runs");
    fs::remove_file(&file).expect("the cases are removed");
    assert!(outcome.status.success(), "{}", String::from_utf8_lossy(&outcome.stderr));
}

/// kubectl reads with sigs.k8s.io/yaml, as do kustomize, Flux and Argo CD.
#[test]
fn kubectl_sees_the_same_strings() {
    let strings = awkward();
    let pairs = strings.iter().map(|text| Tree::map([(&**text, Tree::text(&**text))])).collect();
    let tree = Tree::map([
        ("apiVersion", Tree::text("v1")),
        ("kind", Tree::text("ConfigMap")),
        ("metadata", Tree::map([("name", Tree::text("x"))])),
        ("pairs", Tree::List(pairs)),
    ]);
    let child = Command::new("kubectl")
        .args(["annotate", "--local", "-f", "-", "a=b", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIPPED: kubectl is not there");
        return;
    };
    let mut input = child.stdin.take().expect("kubectl listens");
    input.write_all(emit(&tree).as_bytes()).expect("kubectl reads");
    drop(input);
    let answer = child.wait_with_output().expect("kubectl ends");
    let found: serde_json::Value = serde_json::from_slice(&answer.stdout).expect("kubectl answers in JSON");
    for (at, text) in strings.iter().enumerate() {
        assert_eq!(found["pairs"][at], serde_json::json!({ text.as_str(): text }));
    }
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ -~]{0,20}",
        "[ab \t\n\r#:|>'\"-]{0,20}",
        "[0-9+._xobeE:-]{0,8}",
        "(yes|no|on|off|null|true|~|<<|=|---|\\.\\.\\.|- |: | #|[a-z])( |\n)?(yes|:|#|[a-z])?",
        "[a-z]{900,1100}",
    ]
}

fn node() -> impl Strategy<Value = Shown> {
    let leaf = prop_oneof![
        Just(()).prop_map(|()| Shown(Node::Null)),
        any::<bool>().prop_map(|value| Shown(Node::Bool(value))),
        any::<i64>().prop_map(|value| Shown(Node::Int(value))),
        (u64::MAX / 2 + 1..).prop_map(|value| Shown(Node::Uint(value))),
        any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| Shown(Node::Float(value))),
        text().prop_map(|text| Shown(Node::text(&text))),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        let entry = (text(), inner.clone()).prop_map(|(key, value)| (Key::from(key.as_str()), value));
        prop_oneof![
            proptest::collection::vec(inner, 0..6)
                .prop_map(|items| Shown(Node::List(items.into_iter().map(|item| item.0).collect()))),
            proptest::collection::vec(entry, 0..6)
                .prop_map(|entries| Shown(Node::map(entries.into_iter().map(|(key, value)| (key, value.0)).collect()))),
        ]
    })
}

/// `Node` has no `Debug`, so that it cannot get into a log; here the emitted text stands for it.
#[derive(Clone)]
struct Shown(Node);

impl core::fmt::Debug for Shown {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&emit(&Tree::of(&self.0)))
    }
}

proptest! {
    #[test]
    fn every_tree_comes_back(tree in node()) {
        let back = round(&Tree::of(&tree.0));
        prop_assert!(back == tree.0);
        // The form depends on nothing but the tree.
        prop_assert!(emit(&Tree::of(&back)) == emit(&Tree::of(&tree.0)));
    }
}
