//! What a region's API refuses of Secrets and ConfigMaps: the real server is the judge of some thousand odd objects, and
//! pouch must refuse those that it refuses and no other ones.
//!
//! One object that the server refuses stops all that a consumer applies with it; one that pouch refuses without need
//! stops its claim.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pouch_core::finding::{Finding, Origin, Place};
use pouch_core::kinds::Scopes;
use pouch_core::layout::sanitise::sanitise;
use pouch_core::layout::{Marks, Style};
use pouch_core::name::{GroupKind, Namespace};
use pouch_core::node::Interner;
use pouch_core::object::{Keep, Object, admit};
use pouch_core::validity::faults;
use pouch_core::yaml::emit::emit;
use serde_json::{Map, Value, json};

use crate::rig::apiserver::ApiServer;
use crate::rig::http::{Connection, Request};

/// How many objects of each sort are made at random.
const EACH: usize = 400;

struct Nothing;

impl Keep for Nothing {
    fn label(&self, _: &str) -> bool {
        false
    }
    fn annotation(&self, _: &str) -> bool {
        false
    }
    fn is_selected(&self, _: &GroupKind, _: Option<&Namespace>) -> bool {
        false
    }
}

/// The same numbers in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(most).unwrap()).unwrap()
    }

    pub fn of<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())].clone()
    }
}

/// What pouch says of an object: why it is refused, if it is, and the object where it can be admitted.
fn judged(text: &str) -> (Vec<String>, Option<Object>) {
    let origin = Origin { source: "odd".into(), place: Place::Whole };
    let node = match pouch_core::json::read(text, &mut Interner::new()) {
        Ok(node) => node,
        Err(flaw) => return (vec![flaw.to_string()], None),
    };
    match admit(node, origin, &Scopes::new(), None, &Nothing) {
        Err(_) => (vec!["it is no object".to_owned()], None),
        Ok(object) => {
            let stops = |fault: &&pouch_core::finding::Fault| Finding::new(fault.code, "").stops_claim();
            let validity = faults(&object);
            let why = object.faults.iter().chain(&validity).filter(stops).map(|fault| fault.message.clone()).collect();
            (why, Some(object))
        }
    }
}

struct Server {
    connection: Connection,
    namespace: String,
}

impl Server {
    /// Applies an object server-side: why it is refused, if it is.
    fn refuses(&mut self, kind: &str, name: &str, body: Vec<u8>) -> Option<String> {
        let plural = if kind == "Secret" { "secrets" } else { "configmaps" };
        let target = format!(
            "/api/v1/namespaces/{}/{plural}/{name}?fieldManager=kustomize-controller&force=true",
            self.namespace
        );
        let headers = vec![("Content-Type".to_owned(), "application/apply-patch+yaml".to_owned())];
        let request = Request { method: "PATCH".to_owned(), target, headers, body };
        let response = self.connection.send(&request).unwrap();
        let text = || String::from_utf8_lossy(&response.body).chars().take(400).collect();
        match response.status {
            200 | 201 => None,
            400 | 413 | 422 | 500 => Some(text()),
            status => panic!("{kind} {name}: {status} {}", text()),
        }
    }
}

/// JSON for a registry, in every way that is almost right.
fn docker(dice: &mut Dice) -> Vec<u8> {
    let digits = dice.below(20) + 300;
    let number = match dice.below(9) {
        0 => format!("1e{digits}"),
        1 => format!("-1.7976931348623157e{digits}"),
        2 => "9".repeat(digits),
        3 => format!("0.{}1", "0".repeat(digits)),
        4 => format!("1e-{digits}"),
        5 => format!("1.{}e30{}", "9".repeat(digits), dice.below(10)),
        6 => format!("{}e-{}", "9".repeat(digits), dice.below(40)),
        _ => dice
            .of(&[
                "0", "-0", "01", "1.", ".5", "+1", "1e", "1E+5", "0x1", "NaN", "Infinity", "-", "1_000", "--1", "1e5.5",
            ])
            .to_owned(),
    };
    let string = match dice.below(12) {
        0 => b"\"\xff\xfe\"".to_vec(),
        1 => b"\"\\ud800\"".to_vec(),
        2 => b"\"\\udc00\\ud800x\"".to_vec(),
        3 => b"\"a\tb\"".to_vec(),
        4 => b"\"\\x41\"".to_vec(),
        5 => b"\"\\u00g0\"".to_vec(),
        6 => b"\"\x7f\"".to_vec(),
        7 => b"\"1e999 [[[ \\\\\"".to_vec(),
        8 => b"\"open".to_vec(),
        9 => b"'x'".to_vec(),
        _ => b"\"plain\"".to_vec(),
    };
    let value = match dice.below(8) {
        0..3 => number.into_bytes(),
        3..5 => string,
        5 => b"[1, 2, {\"a\": null}]".to_vec(),
        6 => b"[1,]".to_vec(),
        _ => dice
            .of(&["true", "nul", "null", "{}", "[]", "", "{\"a\" 1}", "{1: 2}", "tru e", "undefined"])
            .as_bytes()
            .to_vec(),
    };
    let (before, after): (&[u8], &[u8]) = match dice.below(14) {
        0 => (b"", b""),
        1 => (b"[", b"]"),
        2 => (b"\xef\xbb\xbf{\"a\": ", b"}"),
        3 => (b" \t\r\n{\"a\": ", b"}\n\n"),
        4 => (b"\x0c{\"a\": ", b"}"),
        5 => (b"{\"a\": ", b"}\x0b"),
        6 => (b"{\"a\": ", b"} {}"),
        7 => (b"{\"a\": 1, \"a\": ", b"}"),
        8 => (b"// x\n{\"a\": ", b"}"),
        9 => (b"{\"a\": [[", b"]]}"),
        10 => (b"{\"a\": ", b",}"),
        _ => (b"{\"auths\": {\"registry.example.com\": {\"auth\": ", b"}}}"),
    };
    [before, &value, after].concat()
}

fn entry_name(dice: &mut Dice) -> String {
    let fixed =
        ["", ".", "..", "...", "..a", ".a", "a..", "-", "_", "a/b", "a b", "ä", "a\u{0}", "a:b", "A.b_c-9", "a\n", "~"];
    match dice.below(3) {
        0 => dice.of(&fixed).to_owned(),
        1 => "n".repeat(dice.below(8) + 249),
        _ => (0..dice.below(12) + 1).map(|_| char::from(dice.of(b"aZ0.-_+"))).collect(),
    }
}

fn encoded(dice: &mut Dice) -> Value {
    match dice.below(5) {
        0 => Value::from(dice.of(&[
            "QQ==", "QR==", "QQ=", "QQ", "QUI=", "QUJ=", "", "=", "Q", "-_-_", "++//", "QQ==\n", "Q\nQ==", " QQ==",
            "QQ== ", "QQ==QQ==", "Q Q==",
        ])),
        1 => dice.of(&[json!(null), json!(5), json!(true), json!(["QQ=="]), json!({"a": "QQ=="}), json!(1.5)]).clone(),
        _ => Value::from(STANDARD.encode("x".repeat(dice.below(40)))),
    }
}

fn plain(dice: &mut Dice) -> Value {
    match dice.below(4) {
        0 => dice.of(&[json!(null), json!(5), json!(false), json!([]), json!({}), json!(1e300)]),
        1 => Value::from(dice.of(&[
            "",
            "\u{0}",
            "\u{7f}\u{85}",
            "\u{feff}",
            "\u{fffe}",
            "ä\u{1f600}",
            "yes",
            "a: b\n- c\n",
            "\r\n",
        ])),
        _ => Value::from("v".repeat(dice.below(60))),
    }
}

fn map(dice: &mut Dice, value: fn(&mut Dice) -> Value) -> Value {
    if dice.below(20) == 0 {
        return dice.of(&[json!(null), json!([]), json!("x"), json!(1)]);
    }
    let mut entries = Map::new();
    for _ in 0..dice.below(4) {
        let name = if dice.below(2) == 0 { entry_name(dice) } else { format!("e{}", dice.below(5)) };
        entries.insert(name, value(dice));
    }
    entries.into()
}

fn registry(dice: &mut Dice) -> (&'static str, Value) {
    let (kind, entry) = dice.of(&[
        ("kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
        ("kubernetes.io/dockerconfigjson", ".dockerconfigjson"),
        ("kubernetes.io/dockercfg", ".dockercfg"),
    ]);
    let entry = if dice.below(20) == 0 { ".docker" } else { entry };
    ("Secret", json!({"type": kind, "data": {entry: STANDARD.encode(docker(dice))}}))
}

fn typed(dice: &mut Dice) -> (&'static str, Value) {
    let kinds = ["basic-auth", "ssh-auth", "tls", "dockercfg", "dockerconfigjson", "own"]
        .map(|kind| format!("kubernetes.io/{kind}"));
    let kind = kinds[dice.below(kinds.len())].clone();
    let names = ["username", "password", "ssh-privatekey", "tls.crt", "tls.key", ".dockercfg", ".dockerconfigjson"];
    let mut fields = Map::from_iter([("type".to_owned(), Value::from(kind))]);
    for field in ["data", "stringData"] {
        let mut entries = Map::new();
        for name in names {
            let value =
                dice.of(&[json!(""), json!(null), json!("bnVsbA=="), json!("{}"), json!("null"), json!("e30=")]);
            if dice.below(3) == 0
                && (field == "stringData" || value.as_str().is_none_or(|text| text.ends_with('=') || text.is_empty()))
            {
                entries.insert(name.to_owned(), value.clone());
            }
        }
        fields.insert(field.to_owned(), entries.into());
    }
    ("Secret", fields.into())
}

fn entries(dice: &mut Dice) -> (&'static str, Value) {
    let (data, string_data) = (map(dice, encoded), map(dice, plain));
    let fields = match dice.below(3) {
        0 => json!({"data": data}),
        1 => json!({"stringData": string_data}),
        _ => json!({"data": data, "stringData": string_data, "type": "example.com/own"}),
    };
    ("Secret", fields)
}

fn config_map(dice: &mut Dice) -> (&'static str, Value) {
    let (data, binary) = (map(dice, plain), map(dice, encoded));
    let fields = match dice.below(3) {
        0 => json!({"data": data}),
        1 => json!({"binaryData": binary}),
        _ => json!({"data": data, "binaryData": binary}),
    };
    ("ConfigMap", fields)
}

/// Objects about as large as the server takes, though not so near to etcd's bound that the length of a time counts.
fn large() -> Vec<(&'static str, Value)> {
    let mut all = Vec::new();
    let names = |count: usize, length: usize, value: &str| -> Value {
        (0..count).map(|n| (format!("{n:0length$}"), Value::from(value))).collect::<Map<_, _>>().into()
    };
    for (length, counts) in [(253, [2_900, 2_990, 3_035, 3_200]), (20, [26_000, 28_900, 29_400, 30_500])] {
        for count in counts {
            all.push(("Secret", json!({"data": names(count, length, "")})));
            all.push(("ConfigMap", json!({"data": names(count, length, "")})));
            all.push(("ConfigMap", json!({"binaryData": names(count, length, "")})));
        }
    }
    for size in [1_048_570, 1_048_576, 1_048_577, 1_049_000] {
        all.push(("Secret", json!({"stringData": {"a": "x".repeat(size)}})));
        all.push(("Secret", json!({"stringData": {"a": "x".repeat(1_000_000), "b": "x".repeat(size - 1_000_000)}})));
        all.push(("ConfigMap", json!({"data": {"a": "x".repeat(size)}})));
        all.push((
            "ConfigMap",
            json!({"binaryData": {"a": STANDARD.encode("x".repeat(size - 10))}, "data": {"b": "0123456789"}}),
        ));
    }
    for levels in [5_000, 9_998, 9_999, 10_000, 10_001, 10_002] {
        let json = format!("{{\"a\": {}{}}}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        all.push(("Secret", json!({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": STANDARD.encode(json)}})));
        let json = format!("{}1{}", "{\"a\": ".repeat(levels), "}".repeat(levels));
        all.push(("Secret", json!({"type": "kubernetes.io/dockercfg", "data": {".dockercfg": STANDARD.encode(json)}})));
    }
    all
}

#[test]
fn what_the_api_refuses_is_refused_and_nothing_else() {
    let Some(server) = ApiServer::shared() else { return };
    let namespace = server.namespace("odd");
    let mut asked = Server { connection: server.endpoint("admin").connect().unwrap(), namespace: namespace.clone() };
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    type Make = fn(&mut Dice) -> (&'static str, Value);
    let sorts: [(&str, usize, Make); 4] = [
        ("registry", 2 * EACH, registry),
        ("typed", EACH, typed),
        ("entries", EACH, entries),
        ("config map", EACH, config_map),
    ];
    let mut all: Vec<(&str, &str, Value)> = Vec::new();
    for (sort, count, make) in sorts {
        all.extend((0..count).map(|_| make(&mut dice)).map(|(kind, fields)| (sort, kind, fields)));
    }
    all.extend(large().into_iter().map(|(kind, fields)| ("large", kind, fields)));
    let mut wrong: Vec<String> = Vec::new();
    let mut counts = std::collections::BTreeMap::<&str, [usize; 2]>::new();
    for (number, (sort, kind, mut fields)) in all.into_iter().enumerate() {
        let name = format!("o{number}");
        for (field, value) in [
            ("apiVersion", json!("v1")),
            ("kind", json!(kind)),
            ("metadata", json!({"name": name, "namespace": namespace})),
        ] {
            fields[field] = value;
        }
        let text = fields.to_string();
        let (why, object) = judged(&text);
        // As YAML it must escape what JSON need not.
        let odd = |c: char| matches!(c, '\u{7f}'..='\u{9f}' | '\u{feff}' | '\u{fffe}');
        let escape = |c: char| if odd(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
        let body: String = text.chars().map(escape).collect();
        let refused = asked.refuses(kind, &name, body.into_bytes());
        counts.entry(sort).or_default()[usize::from(refused.is_some())] += 1;
        let shown: String = text.chars().take(300).collect();
        if why.is_empty() != refused.is_none() {
            wrong.push(format!("{sort}: pouch says {why:?}, the server {refused:?}: {shown}"));
        }
        // And what is published of it is taken too.
        if let (true, None, Some(object)) = (why.is_empty(), refused, object) {
            let published =
                emit(&sanitise(&object, &object.key, &[], Marks::by(Style::Flux), None)).as_bytes().to_vec();
            let refused = asked.refuses(kind, &name, published);
            wrong.extend(refused.map(|why| format!("{sort}: what is published is refused, {why}: {shown}")));
        }
    }
    eprintln!("accepted and refused: {counts:?}");
    assert!(wrong.is_empty(), "{} objects:\n{}", wrong.len(), wrong.join("\n"));
    for (sort, [accepted, refused]) in counts {
        assert!(accepted >= 5 && refused >= 5, "{sort}: {accepted} accepted and {refused} refused prove little");
    }
}

/// The control: without a look at how Go reads numbers, and at names, the two would not agree.
#[test]
fn some_odd_objects_are_refused_for_one_reason_only() {
    for (fields, says) in [
        (
            json!({"type": "kubernetes.io/dockercfg", "stringData": {".dockercfg": "{\"a\": 1e309}"}}),
            "needs an entry .dockercfg",
        ),
        (
            json!({"stringData": (0..3_100).map(|n| (format!("{n:0253}"), Value::from(""))).collect::<Map<_, _>>()}),
            "etcd takes",
        ),
    ] {
        let mut fields = fields;
        fields["apiVersion"] = json!("v1");
        fields["kind"] = json!("Secret");
        fields["metadata"] = json!({"name": "a", "namespace": "b"});
        let (why, _) = judged(&fields.to_string());
        assert!(why.len() == 1 && why[0].contains(says), "{why:?}");
    }
}
