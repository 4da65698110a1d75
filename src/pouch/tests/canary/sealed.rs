//! Encrypted sources and private keys: canaries behind ciphertext, and the identities that open it.

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use pouch_core::recipient::Recipient;
use pouch_core::sops::{self, Ingredients};
use pouch_core::yaml::emit::Tree;

use crate::good;
use crate::stage::{Stage, hits};
use crate::support::root;

const LOUD: [&str; 3] = ["--log-level", "trace", "-v"];

/// The Secret that a Credential of team-a wants, sealed as sops seals it.
fn sealed(recipient: &Recipient, values: &[(&str, String)]) -> String {
    let data_key = [7; 32];
    let prepared = pouch::age::prepare(std::slice::from_ref(recipient)).unwrap();
    let stanzas = pouch::age::stanzas(&data_key, &prepared).unwrap();
    let text = |text: &str| Tree::text(text.to_owned());
    let document = Tree::map([
        ("apiVersion", text("v1")),
        ("kind", text("Secret")),
        ("metadata", Tree::map([("name", text("bad")), ("namespace", text("team-a"))])),
        ("stringData", Tree::map(values.iter().map(|(name, value)| (*name, text(value))))),
    ]);
    let mut ivs = (0..).map(|number: u8| [number; 32]);
    let ingredients = Ingredients {
        data_key: &data_key,
        ivs: &mut ivs,
        last_modified: "2026-11-21T07:51:52Z",
        recipients: std::slice::from_ref(recipient),
        stanzas: &stanzas,
    };
    sops::seal(document, ingredients).unwrap().text
}

/// A stage whose platform source opens what is sealed to an identity that is a canary itself.
fn stage(place: &str) -> (Stage, Recipient) {
    let mut stage = Stage::new();
    let (identity, recipient) = pouch::age::generate_identity().unwrap();
    stage.choir.add(&format!("{place}: the identity"), identity.trim_start_matches("AGE-SECRET-KEY-1"));
    stage.fleet.write("source.txt", &*identity);
    fs::set_permissions(stage.fleet.path("source.txt"), fs::Permissions::from_mode(0o600)).unwrap();
    stage.fleet.configure(
        "directory: {path: manifests}\n",
        "directory: {path: manifests}\n    decryption: {ageIdentityFile: source.txt}\n",
    );
    (stage, recipient)
}

const WANTS: &str = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\nmetadata: {name: bad, namespace: team-a}\n\
    spec: {region: eu-west, identityRef: {apiVersion: v1, kind: Secret, name: bad, namespace: team-a}}\n";

/// What is done to the sealed file.
type Spoil = fn(&str) -> String;

#[test]
fn of_encrypted_sources() {
    let rows: &[(&str, i32, Spoil)] = &[
        ("sealed: as it is", 0, str::to_owned),
        ("sealed: a value moved", 3, |text| text.replacen("  one: ", "  three: ", 1).replacen("  two: ", "  one: ", 1)),
        ("sealed: a value that is no integer", 3, |text| text.replacen("type:str", "type:int", 1)),
        ("sealed: a value that is no truth", 3, |text| text.replacen("type:str", "type:bool", 1)),
        ("sealed: a value that is no time", 3, |text| text.replacen("type:str", "type:time", 1)),
        ("sealed: a value of no type", 3, |text| text.replacen("type:str", "type:x", 1)),
        ("sealed: a value in the clear", 3, |text| {
            let start = text.find("ENC[").unwrap();
            let end = start + text[start..].find(']').unwrap();
            format!("{}readable{}", &text[..start], &text[end + 1..])
        }),
        ("sealed: another time", 3, |text| text.replace("07:51:52Z", "07:51:53Z")),
        ("sealed: two rules", 3, |text| text.replace("  version:", "  encrypted_suffix: x\n  version:")),
        ("sealed: no version", 3, |text| text.replace("  version: \"3.9.0\"\n", "").replace("  version: 3.9.0\n", "")),
        ("sealed: a MAC of sealed values only", 3, |text| {
            text.replace("  version:", "  mac_only_encrypted: true\n  version:")
        }),
        ("sealed: key groups", 3, |text| text.replace("  version:", "  key_groups: [{age: []}]\n  version:")),
        ("sealed: armor that is none", 3, |text| text.replace("-----END AGE", "-----END PAGE")),
        ("sealed: a stanza cut short", 3, |text| {
            let at = text.find("-----BEGIN AGE ENCRYPTED FILE-----").unwrap() + 60;
            format!("{}{}", &text[..at], &text[at + 8..])
        }),
        ("sealed: a rule that is no expression", 3, |text| text.replace("^(data|stringData)$", "^(data")),
    ];
    for (place, code, spoil) in rows {
        let (mut stage, recipient) = stage(place);
        let values = ["one", "two"].map(|name| (name, stage.choir.voice(&format!("{place}: {name}"))));
        let text = sealed(&recipient, &values);
        let bent = spoil(&text);
        assert_eq!(bent == text, *code == 0, "{place}: nothing is spoilt");
        stage.write("manifests/bad.yaml", WANTS);
        stage.fleet.write("manifests/bad.enc.yaml", &bent);
        stage.begin();
        let ear = stage.choir.ear();
        for format in ["text", "json"] {
            let ran =
                stage.run(&[&["render", "--summary", "summary.json", "--log-format", format], &LOUD[..]].concat());
            assert_eq!(ran.code, Some(*code), "{place}: {}", ran.shown());
            stage.is_silent(&ear, place, &ran);
        }
        let published = stage.fleet.published().contains_key("regions/eu-west/core/secrets/team-a/bad.sops.yaml");
        assert_eq!(published, *code == 0, "{place}");
    }
}

/// The identity comes in through the environment, which git and other children get too.
#[test]
fn of_an_identity_in_the_environment() {
    for (place, variable, text, code) in [
        ("environment: SOPS_AGE_KEY", "SOPS_AGE_KEY", None, 0),
        ("environment: SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_FILE", None, 0),
        (
            "environment: an identity that is none",
            "SOPS_AGE_KEY",
            Some("AGE-SECRET-KEY-1«environment: no identity»".to_owned()),
            64,
        ),
    ] {
        let (mut stage, recipient) = stage(place);
        stage.fleet.configure("ageIdentityFile: source.txt", "environment: true");
        let identity = fs::read_to_string(stage.fleet.path("source.txt")).unwrap();
        let value = match (text, variable) {
            (Some(text), _) => text,
            (None, "SOPS_AGE_KEY") => {
                stage.fleet.remove("source.txt");
                identity
            }
            (None, _) => "source.txt".to_owned(),
        };
        stage.set("SOPS_AGE_KEY", "");
        stage.set(variable, &value);
        let values = ["one", "two"].map(|name| (name, stage.choir.voice(&format!("{place}: {name}"))));
        stage.write("manifests/bad.yaml", WANTS);
        stage.fleet.write("manifests/bad.enc.yaml", sealed(&recipient, &values));
        stage.begin();
        let ear = stage.choir.ear();
        for format in ["text", "json"] {
            for command in [&["render"][..], &["publish", "--first"]] {
                let ran = stage.run(&[command, &["--log-format", format], &LOUD[..]].concat());
                assert_eq!(ran.code, Some(code), "{place}: {}", ran.shown());
                stage.is_silent(&ear, place, &ran);
            }
        }
        let sealed = "regions/eu-west/core/secrets/team-a/bad.sops.yaml";
        assert_eq!(stage.fleet.published().contains_key(sealed), code == 0, "{place}");
        assert!(code != 0 || stage.fleet.path("children.log").exists(), "{place}: no child was started");
    }
}

#[test]
fn of_files_of_identities_that_are_not_as_they_should_be() {
    for (place, text) in [
        ("identities: noise", "«»\n"),
        ("identities: an age key with a letter too many", "AGE-SECRET-KEY-1«»\n"),
        ("identities: a plugin's", "AGE-PLUGIN-YUBIKEY-1«»\n"),
        ("identities: for post-quantum recipients", "AGE-SECRET-KEY-PQ-1«»\n"),
        ("identities: an SSH key", "-----BEGIN OPENSSH PRIVATE KEY-----\n«»\n-----END OPENSSH PRIVATE KEY-----\n"),
        ("identities: one that is encrypted", "-----BEGIN AGE ENCRYPTED FILE-----\n«»\n"),
        ("identities: a comment alone", "# «»\n"),
        ("identities: a kubeconfig", "users: [{name: a, user: {token: «»}}]\n"),
    ] {
        let (mut stage, recipient) = stage(place);
        let text = text.replace("«»", &format!("«{place}»"));
        stage.write("source.txt", &text);
        stage.write("manifests/bad.yaml", WANTS);
        stage.fleet.write("manifests/bad.enc.yaml", sealed(&recipient, &[("one", "x".into())]));
        stage.begin();
        let ear = stage.choir.ear();
        for command in [
            &["render"][..],
            &["publish", "--first"],
            &["rekey", "--identity", "source.txt"],
            &["verify", "bundles", "--identity", "source.txt"],
        ] {
            let ran = stage.run(&[command, &LOUD[..]].concat());
            assert_eq!(ran.code, Some(64), "{place}: {}", ran.shown());
            stage.is_silent(&ear, place, &ran);
        }
    }
}

/// What opens bundles, looks at their history and makes keys, on a good fleet.
#[test]
fn of_commands_that_have_private_keys() {
    let mut stage = good::stage();
    let mut identities = String::new();
    for name in ["eu-west.txt"] {
        let path = root().join("testdata/quickstart/keys").join(name);
        for line in fs::read_to_string(path).unwrap().lines().filter(|line| line.starts_with("AGE-SECRET-KEY-1")) {
            stage.choir.add(&format!("identity of {name}"), line.trim_start_matches("AGE-SECRET-KEY-1"));
            writeln!(identities, "{line}").unwrap();
        }
    }
    stage.fleet.write("id.txt", &identities);
    stage.begin();
    let ear = stage.choir.ear();
    let records = ["--summary", "summary.json", "--metrics", "metrics.prom"];
    let commands = [
        &["publish", "--first"][..],
        &["render"],
        &["rekey", "--identity", "id.txt", "--dry-run"],
        &["rekey", "--identity", "id.txt"],
        &["rekey"],
        &["verify", "bundles", "--identity", "id.txt"],
        &["verify", "origin.git", "--rev", "main", "--identity", "id.txt"],
        &["exposure", "origin.git", "--values"],
        &["exposure", "origin.git", "--reuse-key-leaked", "-o", "json"],
        &["log", "--repo", "origin.git", "--values"],
        &["log", "--repo", "origin.git", "--values", "-o", "json"],
        &["log", "--repo", "origin.git", "--values", "-o", "markdown", "--older-than", "1h"],
    ];
    for format in ["text", "json"] {
        for command in commands {
            let has_records = !["exposure", "log"].contains(&command[0]) && !command.contains(&"--dry-run");
            let more = if has_records { &records[..] } else { &[] };
            let ran = stage.run(&[command, &LOUD[..], &["--log-format", format], more].concat());
            assert_eq!(ran.code, Some(0), "{}", ran.shown());
            stage.is_silent(&ear, "private keys", &ran);
            for record in more.iter().filter(|word| !word.starts_with("--")) {
                let sink = format!("file {record}");
                assert!(stage.sinks(&ran).get(&sink).is_some_and(|bytes| !bytes.is_empty()), "{sink} is no sink");
                stage.fleet.remove(record);
            }
        }
    }

    // A new key stands in its own file and in the Secret for the region, and nowhere else.
    for (format, name) in [("text", "us-east"), ("json", "ap-south")] {
        let (own, secret) = (format!("keys/{name}.txt"), format!("keys/{name}.yaml"));
        let command = ["keygen", name, "--manifest", &secret, "--log-format", format];
        let ran = stage.run(&[&command, &LOUD[..]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.shown());
        let made = fs::read_to_string(stage.fleet.path(&own)).unwrap();
        let identity = made.lines().find_map(|line| line.strip_prefix("AGE-SECRET-KEY-1")).unwrap();
        let place = format!("the new identity of {name}");
        stage.choir.add(&place, identity);
        let ear = stage.choir.ear();
        let heard = hits(&ear, &stage.sinks(&ran));
        for file in [&own, &secret] {
            assert!(heard.iter().any(|hit| hit.starts_with(&format!("{place} in file {file}, "))), "{heard:?}");
            stage.fleet.remove(file);
        }
        stage.is_silent(&ear, "a new key", &ran);
    }
}
