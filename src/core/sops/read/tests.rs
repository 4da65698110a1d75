//! Files are made here value by value, so that each test says what SOPS would have written.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::*;
use crate::json;
use crate::node::Interner;
use crate::yaml::read::{documents, read_ordered};

const KEY_BYTES: [u8; 32] = [7; 32];
const TIME: &str = "2026-11-21T07:51:52Z";

/// A value sealed for a place; the IV comes from both, so that no two are the same.
fn sealed(plain: &str, kind: &str, path: &str) -> String {
    let mut iv = [0_u8; 32];
    for (at, byte) in path.bytes().chain(plain.bytes()).enumerate() {
        iv[at % 32] = iv[at % 32].wrapping_mul(31).wrapping_add(byte);
    }
    let text = Cipher::new(&KEY_BYTES).seal(plain.as_bytes(), &iv, path).unwrap();
    text.replace("type:str]", &format!("type:{kind}]"))
}

/// A block whose MAC is that of the values given, each in the form in which it is counted.
fn block(counted: &str, rest: &str) -> String {
    let mut mac = Mac::default();
    mac.bytes(counted.as_bytes());
    let mac = sealed(&mac.finish(), "str", TIME);
    format!(
        "sops:\n  age: [{{recipient: age1x, enc: x}}]\n  lastmodified: \"{TIME}\"\n  mac: {mac}\n  version: 3.11.0\n{rest}"
    )
}

fn read(text: &str) -> Result<Sealed, OpenError> {
    let mut interner = Interner::new();
    let read = |document| read_ordered(&document, &mut interner).map_err(|flaw| flaw.to_string()).unwrap();
    Sealed::new(documents(text).map(read).collect())
}

fn open(text: &str) -> Result<Vec<Node>, OpenError> {
    read(text)?.open(&KEY_BYTES)
}

#[track_caller]
fn check(text: &str, expect: OpenError) {
    let error = open(text).err().expect("it does not open");
    assert_eq!(error, expect, "{text}");
    assert!(!format!("{error} {error:?}").contains("CANARY"), "{error}");
}

#[test]
fn every_type_is_opened_and_counted_as_go_writes_it() {
    for (plain, kind, counted, expect) in [
        ("12", "int", "12", Node::Int(12)),
        ("+12", "int", "12", Node::Int(12)),
        ("-7", "int", "-7", Node::Int(-7)),
        ("1.50", "float", "1.5", Node::Float(1.5)),
        ("1000000000000000000000", "float", "1000000000000000000000", Node::Float(1e21)),
        ("True", "bool", "True", Node::Bool(true)),
        ("false", "bool", "False", Node::Bool(false)),
        ("2024-01-02T00:00:00Z", "time", "2024-01-02T00:00:00Z", Node::text("2024-01-02T00:00:00Z")),
        ("2024-01-02T00:00:00.10+00:00", "time", "2024-01-02T00:00:00.1Z", Node::text("2024-01-02T00:00:00.1Z")),
        ("12", "str", "12", Node::text("12")),
        ("true", "bytes", "true", Node::text("true")),
    ] {
        let text = format!("k: {}\n{}", sealed(plain, kind, "k:"), block(counted, ""));
        let opened = open(&text).unwrap_or_else(|error| panic!("{plain} {kind}: {error}"));
        assert!(opened[0].get("k") == Some(&expect), "{plain} {kind}");
        assert!(opened[0].get("sops").is_none());
    }
    for (plain, kind) in [
        ("CANARY", "int"),
        ("9223372036854775808", "int"),
        ("NaN", "float"),
        ("inf", "float"),
        ("yes", "bool"),
        ("2024-01-02", "time"),
        ("CANARY", "comment"),
    ] {
        check(&format!("k: {}\n{}", sealed(plain, kind, "k:"), block("", "")), OpenError::Type("k:".into()));
    }
    let unknown = format!("k: {}\n{}", sealed("CANARY", "uint", "k:"), block("", ""));
    check(&unknown, OpenError::Value("k:".into(), CipherError::Type));
    // The type is not part of what is sealed: text that looks like a number can be passed off as one, and
    // the MAC does not notice. What must be text is asked for as such by whoever takes it.
    let text = format!("k: {}\n{}", sealed("12", "int", "k:"), block("12", ""));
    assert!(open(&text).unwrap()[0].get("k") == Some(&Node::Int(12)));
    check(&format!("k: {}\n{}", sealed("012", "int", "k:"), block("012", "")), OpenError::Mac);
}

#[test]
fn clear_values_count_by_the_type_that_yaml_gives_them() {
    let clear = "a_unencrypted: [12, 1.50, true, yes, 2024-01-02, \"2024-01-02\", ~, \"\", {}, [], x]\n";
    let counted = "121.5Trueyes2024-01-02T00:00:00Z2024-01-02x";
    let opened = open(&format!("{clear}{}", block(counted, ""))).unwrap();
    let items = opened[0].get("a_unencrypted").unwrap().items();
    assert!(items[3] == Node::text("yes") && items[4] == Node::text("2024-01-02T00:00:00Z") && items.len() == 11);
    check(&format!("{clear}{}", block("121.50Trueyes", "")), OpenError::Mac);
    let large = format!("a_unencrypted: 18446744073709551615\n{}", block("", ""));
    check(&large, OpenError::Type("a_unencrypted:".into()));
}

#[test]
fn the_order_of_the_file_counts_and_that_of_its_documents() {
    let (a, b) = (sealed("one", "str", "a:"), sealed("two", "str", "b:"));
    assert!(open(&format!("a: {a}\nb: {b}\n{}", block("onetwo", ""))).is_ok());
    check(&format!("b: {b}\na: {a}\n{}", block("onetwo", "")), OpenError::Mac);
    assert!(open(&format!("b: {b}\n{}a: {a}\n", block("twoone", ""))).is_ok(), "the block may stand anywhere");
    let stream = |first: &str, second: &str| {
        let block = block("onetwo", "");
        format!("{first}{block}---\n{second}{block}")
    };
    let (first, second) = (format!("a: {a}\n"), format!("b: {b}\n"));
    let opened = open(&stream(&first, &second)).unwrap();
    assert!(opened.len() == 2 && opened[1].str_at(&["b"]) == Some("two") && opened[1].get("sops").is_none());
    check(&stream(&second, &first), OpenError::Mac);
    check(&stream(&first, ""), OpenError::Mac);
}

#[test]
fn empty_values_and_lists_and_their_comments() {
    let list = format!(
        "l:\n- {}\n- - {}\n  - c: {}\n- {}\n- \"\"\n- ~\n- {{}}\n- []\n",
        sealed("a", "str", "l:"),
        sealed("b", "str", "l:"),
        sealed("d", "str", "l:c:"),
        sealed(" a comment", "comment", "l:")
    );
    let opened = open(&format!("{list}e: \"\"\nn:\nm: {{}}\n{}", block("abd", ""))).unwrap();
    let items = opened[0].get("l").unwrap().items();
    assert!(items.len() == 6 && items[0] == Node::text("a") && items[2] == Node::text("") && items[3] == Node::Null);
    assert!(items[1].items()[1].str_at(&["c"]) == Some("d"));
    assert!(opened[0].str_at(&["e"]) == Some("") && opened[0].get("n") == Some(&Node::Null));
}

#[test]
fn each_rule_says_what_is_sealed() {
    let at = |path: &str| sealed("CANARY", "str", path);
    for rule in [
        "unencrypted_suffix: _open",
        "encrypted_suffix: data",
        "unencrypted_regex: _open$",
        "encrypted_regex: ^(data|x)$",
        "encrypted_regex: ^(data|stringData)$",
        "encrypted_comment_regex: never-looked-at",
        "unencrypted_comment_regex: never-looked-at",
    ] {
        let block = block("CANARYclearCANARY", &format!("  {rule}\n"));
        let good = format!("data:\n  a: {}\nkind_open: clear\nz:\n  data: {}\n{block}", at("data:a:"), at("z:data:"));
        let opened = open(&good).unwrap_or_else(|error| panic!("{rule}: {error}"));
        assert!(
            opened[0].str_at(&["data", "a"]) == Some("CANARY") && opened[0].str_at(&["kind_open"]) == Some("clear")
        );
        let comments = rule.contains("comment");
        let readable = good.replace(&at("data:a:"), "CANARY");
        match comments {
            // Comments say no more than the values show; the MAC says whether they are the right ones.
            true => assert!(open(&readable).is_ok()),
            false => check(&readable, OpenError::NotSealed("data:a:".into())),
        }
        if !comments {
            let clear = good.replace("clear", &at("kind_open:"));
            check(&clear, OpenError::SealedInClear("kind_open:".into()));
        }
    }
    let two = block("", "  encrypted_suffix: a\n  encrypted_regex: a\n");
    check(&two, OpenError::Rules);
    check(&block("", "  encrypted_regex: \"(\"\n"), OpenError::Pattern);
    check(&block("", "  encrypted_regex: [a]\n"), OpenError::Field("encrypted_regex"));
    assert!(open(&block("", "  encrypted_suffix: \"\"\n  encrypted_regex: ~\n")).is_ok());
}

#[test]
fn known_holes_are_closed() {
    let (a, b) = (sealed("one", "str", "data:a:"), sealed("two", "str", "data:b:"));
    let file = |a: &str, b: &str, block: &str| format!("data:\n  a: {a}\n  b: {b}\n{block}");
    let good = block("onetwo", "");
    assert!(open(&file(&a, &b, &good)).is_ok());
    let moved = |at: &str| OpenError::Value(at.into(), CipherError::Mismatch);
    check(&file(&b, &a, &good), moved("data:a:"));
    check(&file(&a, "\"\"", &good), OpenError::Mac);
    check(&file(&a, &b, &block("onetwothree", "")), OpenError::Mac);
    check(&file(&a, "CANARY", &good), OpenError::NotSealed("data:b:".into()));
    check(&file(&a, "1", &good), OpenError::NotSealed("data:b:".into()));
    check(&file(&a, &b, &good.replace(TIME, "2026-11-21T07:51:53Z")), OpenError::SealedMac(CipherError::Mismatch));
    let other = Sealed::new(vec![
        read_ordered(&documents(&file(&a, &b, &good)).next().unwrap(), &mut Interner::new()).ok().unwrap(),
    ]);
    assert_eq!(other.unwrap().open(&[1; 32]).err(), Some(moved("data:a:")));
    // Moving values from one file to another is moving them to another data key, or under another MAC.
    check(&file(&a, &b, &block("threefour", "")), OpenError::Mac);
}

#[test]
fn the_block_is_taken_as_sops_takes_it() {
    let good = format!("k: {}\n{}", sealed("v", "str", "k:"), block("v", "  pgp: []\n  kms: ~\n  x: {y: 1}\n"));
    assert!(open(&good).is_ok());
    for time in [TIME.to_string(), "\"2026-11-21T07:51:52+00:00\"".into(), "\"2026-11-21T07:51:52.9Z\"".into()] {
        assert!(open(&good.replace(&format!("\"{TIME}\""), &time)).is_ok(), "{time}");
    }
    let with = |from: &str, to: &str| good.replace(from, to);
    check(&with("  version: 3.11.0\n", ""), OpenError::NoVersion);
    check(&with("3.11.0", "\"\""), OpenError::NoVersion);
    check(&with("3.11.0", "3.11"), OpenError::Field("version"));
    check(&with(&format!("\"{TIME}\""), "\"CANARY\""), OpenError::Time);
    check(&with("  lastmodified:", "  x2:"), OpenError::Time);
    check(&with("  mac:", "  x2:"), OpenError::NoMac);
    check(&with("  age: [{recipient: age1x, enc: x}]\n", "  hc_vault: [{enc: x}]\n"), OpenError::NoAge);
    check(&with("enc: x", "enc: 1"), OpenError::Field("age"));
    check(&with("enc: x", &format!("enc: {}", "x".repeat(MAX_STANZA_BYTES + 1))), OpenError::Field("age"));
    check(&with("[{recipient: age1x, enc: x}]", "1"), OpenError::Field("age"));
    let many = "{recipient: a, enc: x},".repeat(MAX_STANZAS + 1);
    check(&with("[{recipient: age1x, enc: x}]", &format!("[{many}]")), OpenError::TooManyStanzas);
    check(&with("  pgp: []", "  key_groups: [{age: []}]"), OpenError::KeyGroups);
    assert!(open(&with("  pgp: []", "  key_groups: []\n  shamir_threshold: 1")).is_ok(), "one group is not split");
    check(&with("  pgp: []", "  mac_only_encrypted: 1"), OpenError::Field("mac_only_encrypted"));
    check("k: v\n", OpenError::NoBlock);
    check("k: v\nsops: 1\n", OpenError::NoBlock);
    check("k: v\nsops: ~\n", OpenError::NoBlock);
    check(&format!("{good}---\n- a\n"), OpenError::NotMap);
    check("", OpenError::NoBlock);
}

#[test]
fn a_mac_over_sealed_values_only_is_read_and_said() {
    let mut mac = Mac::of_sealed_values();
    mac.bytes(b"v");
    let mac = sealed(&mac.finish(), "str", TIME);
    let block = block("", "  mac_only_encrypted: true\n");
    let block: String = block
        .lines()
        .map(|line| match line.contains("mac: ") {
            true => format!("  mac: {mac}\n"),
            false => format!("{line}\n"),
        })
        .collect();
    let text = format!("k: {}\na_unencrypted: anything\n{block}", sealed("v", "str", "k:"));
    let file = read(&text).ok().unwrap();
    assert!(file.mac_only_encrypted() && file.open(&KEY_BYTES).is_ok());
    let whole = text.replace("mac_only_encrypted: true", "mac_only_encrypted: false");
    assert!(!read(&whole).ok().unwrap().mac_only_encrypted());
    check(&whole, OpenError::Mac);
}

#[test]
fn json_is_read_in_its_order() {
    let text = |a: &str, b: &str| {
        let mut mac = Mac::default();
        mac.bytes(b"one1.5two");
        format!(
            r#"{{"b":"{a}","n_unencrypted":1.50,"a":"{b}","sops":{{"age":[{{"recipient":"a","enc":"x"}}],"lastmodified":"{TIME}","mac":"{}","version":"3.11.0"}}}}"#,
            sealed(&mac.finish(), "str", TIME)
        )
    };
    let read = |text: &str| json::read_ordered(text, &mut Interner::new()).ok().unwrap();
    let good = text(&sealed("one", "str", "b:"), &sealed("two", "str", "a:"));
    let opened = Sealed::new(vec![read(&good)]).and_then(|file| file.open(&KEY_BYTES)).unwrap();
    assert_eq!((opened[0].str_at(&["a"]), opened[0].str_at(&["b"])), (Some("two"), Some("one")));
    let swapped = text(&sealed("two", "str", "b:"), &sealed("one", "str", "a:"));
    assert_eq!(Sealed::new(vec![read(&swapped)]).and_then(|file| file.open(&KEY_BYTES)).err(), Some(OpenError::Mac));
}

#[test]
fn stanzas_up_to_the_bounds_are_taken_in_their_order() {
    let text = format!("k: {}\n{}", sealed("v", "str", "k:"), block("v", ""));
    let with = |stanzas: &str| text.replace("[{recipient: age1x, enc: x}]", stanzas);
    let file = read(&with("[{recipient: age1b, enc: y}, {recipient: age1a, enc: x}]")).ok().unwrap();
    let own = |(recipient, enc): (&str, &str)| (recipient.to_owned(), enc.to_owned());
    assert_eq!(file.stanzas(), [("age1b", "y"), ("age1a", "x")].map(own));
    assert_eq!(read(&with(&format!("[{}]", "{recipient: a, enc: x},".repeat(MAX_STANZAS)))).map(|_| ()), Ok(()));
    let long = format!("[{{recipient: a, enc: {}}}]", "x".repeat(MAX_STANZA_BYTES));
    assert_eq!(read(&with(&long)).map(|_| ()), Ok(()));
}

#[test]
fn sealed_values_are_known_wherever_they_stand_and_whatever_their_type() {
    let print = |text: &str| {
        let document = documents(text).next().unwrap();
        fingerprints(&crate::yaml::read::read(&document, &mut Interner::new()).ok().unwrap())
    };
    let value = |name: &str, kind: &str| format!("ENC[AES256_GCM,data:{name},iv:i,tag:t,type:{kind}]");
    let (one, two) = (value("a", "str"), value("b", "str"));
    let known = print(&format!("k: {one}\nl: [{{m: \"{two}\"}}]\nplain: text\nnumber: 1\nsops: {{mac: \"{one}\"}}\n"));
    assert_eq!(known.len(), 2);
    assert_eq!(known, [print(&format!("x: {one}")), print(&format!("x: {two}"))].concat());
    assert_ne!(known[0], known[1]);
    assert_eq!(print(&format!("x: {}", value("a", "int"))), print(&format!("x: {one}")));
}
