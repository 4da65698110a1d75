//! Tests of `own`.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use base64::engine::general_purpose::{STANDARD as BASE64, URL_SAFE_NO_PAD};
use serde_json::json;

use super::*;
use crate::layout::sample::object;

/// A Secret with entries.
fn secret(entries: &[(&str, &str)]) -> Object {
    let entries: serde_json::Map<String, serde_json::Value> =
        entries.iter().map(|(name, value)| (String::from(*name), json!(BASE64.encode(value)))).collect();
    object(
        &json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "b"}, "data": entries}),
        &[],
    )
}

fn is_held(entry: &str, value: &str, text: &str) -> bool {
    OwnValues::of(&secret(&[(entry, value)])).stand_in("note", text)
}

const PASSWORD: &str = "Tr0ub4dor&3\"x\\y%z";

/// A value is found in every form in which tools write it, and beside other text.
#[test]
fn a_value_is_found_in_every_form() {
    let hex: String = PASSWORD.bytes().map(|byte| format!("{byte:02x}")).collect();
    let url: String = PASSWORD.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let unicode: String = PASSWORD.bytes().map(|byte| format!("\\u{byte:04x}")).collect();
    let applied = json!({"kind": "Secret", "data": {"password": BASE64.encode(PASSWORD)}});
    let written = json!({"kind": "Secret", "stringData": {"password": PASSWORD}});
    let nested = json!({"object": written.to_string()});
    for text in [
        String::from(PASSWORD),
        format!("the password is {PASSWORD}, they say"),
        format!("x{PASSWORD}y"),
        BASE64.encode(PASSWORD),
        URL_SAFE_NO_PAD.encode(PASSWORD),
        format!("path/{}", BASE64.encode(PASSWORD)),
        BASE64.encode(format!("user:{PASSWORD}")),
        BASE64.encode(BASE64.encode(PASSWORD)),
        BASE64.encode(written.to_string()),
        applied.to_string(),
        written.to_string(),
        nested.to_string(),
        hex.clone(),
        hex.to_uppercase(),
        format!("postgres://admin:{url}@db/x"),
        unicode,
    ] {
        assert!(is_held("password", PASSWORD, &text), "{text}");
        // The line feed that `echo` leaves behind changes nothing.
        assert!(is_held("password", &format!("{PASSWORD}\n"), &text), "{text}");
        // The neighbour: the same text beside another value.
        assert!(!is_held("password", "an0ther&Tr0ub4dor", &text), "{text}");
    }
    for text in ["", "note", "Tr0ub4dor&4", &BASE64.encode("Tr0ub4dor&4"), "%", "\\", "\\u12", "%zz", "0"] {
        assert!(!is_held("password", PASSWORD, text), "{text}");
    }
}

/// Values that are public by their names and their looks, or too short, leave labels alone.
#[test]
fn settings_and_names_are_no_values() {
    for (entry, value) in [
        ("enabled", "true"),
        ("region", "eu-west-1"),
        ("replicas", "1"),
        ("zone", "ap-southeast-1a"),
        ("AWS_REGION", "northamerica-northeast2"),
        ("username", "administrator@vsphere.local"),
        ("server", "vcenter-01.eu-west.example.com"),
        ("tenantID", "9f1c1f2e-7a57-4e5c-a8c6-1d8c7e3b0a11"),
        ("endpoint", "https://keystone.example.com:5000/v3"),
        ("ca.crt", "-----BEGIN CERTIFICATE-----\nMIIBhTCCASugAwIBAgIQIRi6zePL6mKjOipn+dNuaTAKBggqhkjOPQQDAjAS"),
        ("flavor", "Standard_D2s"),
        ("network", "10.0.0.0/16"),
        ("environment", "production-of-the-fleet"),
        ("pin", "1234"),
        ("token", "token"),
        ("password", ""),
    ] {
        for text in [String::from(value), format!("a {value} b"), BASE64.encode(value)] {
            assert!(!is_held(entry, value, &text), "{entry} {text}");
        }
    }
}

/// The bounds: what an entry is called decides from which length on its value counts.
#[test]
fn the_name_of_an_entry_decides_from_which_length_on_its_value_counts() {
    for (entry, value, expect) in [
        ("password", "s3cre", false),
        ("password", "s3cret", true),
        ("clientSecret", "s3cr~t", true),
        ("config", "s3cr~t!", false),
        ("config", "s3cr~t!!", true),
        // It reads like a name, until it is long.
        ("config", "s3cret-value", false),
        ("config", "s3cret-value-123", true),
        // It tells what it is, wherever it stands.
        ("username", "ghp_0123456789abcdef", true),
    ] {
        assert_eq!(is_held(entry, value, value), expect, "{entry} {value}");
    }
    // Short ones count as a word alone.
    for (text, expect) in [("a s3cret b", true), ("s3cret.", true), ("s3crets", false), ("as3cret", false)] {
        assert_eq!(is_held("password", "s3cret", text), expect, "{text}");
    }
    // Of a file, what it says is secret counts by itself.
    let file = "apiVersion: v1\nusers: [{user: {token: abcdefgh1234}}]\nserver: https://cluster-1.example.com\n";
    assert!(is_held("kubeconfig", file, "use abcdefgh1234"));
    assert!(is_held("kubeconfig", file, file));
    assert!(!is_held("kubeconfig", file, "https://cluster-1.example.com"));
    assert!(is_held(
        ".dockerconfigjson",
        r#"{"auths": {"x": {"username": "robot", "password": "pull-me-now"}}}"#,
        "pull-me-now"
    ));
}

/// Of many values each is found, also where one begins as others do.
#[test]
fn each_of_many_values_is_found() {
    let values: Vec<String> =
        (0..300).map(|n| format!("{}{n}", "same-beginning-of-them-all-".repeat(1 + n % 3))).collect();
    let names: Vec<String> = (0..300).map(|n| format!("password{n}")).collect();
    let entries: Vec<(&str, &str)> = names.iter().zip(&values).map(|(name, value)| (&**name, &**value)).collect();
    let secret = secret(&entries);
    let own = OwnValues::of(&secret);
    for value in &values {
        assert!(own.stand_in("note", value) && own.stand_in("note", &BASE64.encode(value)), "{value}");
    }
    assert!(!own.stand_in("note", "same-beginning-of-them-all-x"));
}

/// A key can hold a value, and so can a name; a name that only reads like one does not.
#[test]
fn keys_and_names_are_compared_too() {
    let own = secret(&[("password", "a1b2c3d4e5f6a7b8c9d0"), ("login", "web")]);
    assert!(OwnValues::of(&own).stand_in("x.io/a1b2c3d4e5f6a7b8c9d0", ""));
    let in_names = |entries: &[(&str, &str)], names: &[&'static str]| {
        stand_in_names(secret(entries).payload.as_ref().unwrap(), names.iter().copied())
    };
    let entries = [("password", "a1b2c3d4e5f6a7b8c9d0")];
    assert!(in_names(&entries, &["db-a1b2c3d4e5f6a7b8c9d0"]));
    assert!(!in_names(&entries, &["db", "team-a", "Opaque"]));
    assert!(in_names(&[("password", "a1b2c3d4e5f6a7b8c9d0"), ("a1b2c3d4e5f6a7b8c9d0.txt", "x")], &[]));
    assert!(!in_names(&[("password", "db-password"), ("token", "token")], &["db-password"]));
}

/// Where the values were not looked at, nothing is said of them.
#[test]
fn unseen_values_are_not_guessed() {
    let unseen = secret(&[("password", PASSWORD)]).unseen();
    assert!(!OwnValues::of(&unseen).stand_in("note", PASSWORD));
    assert!(Values::of([&unseen].into_iter()).is_empty());
}

/// A hostile text over hostile values costs no more than it has bytes.
#[test]
fn long_texts_over_many_values_end() {
    let names: Vec<String> = (0..5000).map(|n| format!("password{n}")).collect();
    let values: Vec<String> = (0..5000).map(|n| format!("{}{n:05}", "A".repeat(60))).collect();
    let entries: Vec<(&str, &str)> = names.iter().zip(&values).map(|(name, value)| (&**name, &**value)).collect();
    let secret = secret(&entries);
    assert!(!OwnValues::of(&secret).stand_in("note", &"A".repeat(64 << 10)));
    assert!(!OwnValues::of(&secret).stand_in("note", &"%41\\u0041".repeat(8 << 10)));
}
