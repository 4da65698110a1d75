//! Ciphertext where a value should be: somebody sealed it and nobody opens it.
//!
//! A value that SOPS sealed is known by how it starts, a file that SOPS sealed by the block in it, an age file
//! by its first line. A text that only mentions ciphertext is plain text. How anything is sealed or opened is
//! not known here.

use alloc::string::String;
use alloc::vec::Vec;

use crate::json;
use crate::node::{Interner, Node};
use crate::yaml::read::{documents, read_ordered, text_of};

/// The start of every value that SOPS sealed.
pub const CIPHERTEXT_MARK: &str = "ENC[AES256_GCM,";

/// The line that an armored age file begins with: <https://c2sp.org/age>.
pub const ARMOR_BEGIN: &str = "-----BEGIN AGE ENCRYPTED FILE-----\n";

/// The most characters of a path in a message: keys may have any length.
const MOST_WORDS: usize = 400;

/// What was sealed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ciphertext {
    /// One value, by SOPS.
    Value,
    /// A whole file, by SOPS. Flux opens it within a Secret only where the Secret itself has no `sops` block,
    /// and what pouch publishes has one.
    SopsFile,
    /// A whole file, by age. No consumer of a bundle opens it.
    AgeFile,
}

/// The kind of ciphertext that a value is, if any.
///
/// This may take as long as reading the value as YAML, but only for a value with the words that every file of
/// SOPS has.
pub fn ciphertext(value: &[u8]) -> Option<Ciphertext> {
    if is_sealed_value(value) {
        return Some(Ciphertext::Value);
    }
    if is_age_file(value) {
        return Some(Ciphertext::AgeFile);
    }
    is_sops_file(value).then_some(Ciphertext::SopsFile)
}

/// Whether SOPS sealed this one value. Blanks, a byte order mark and quotes before it come from copying; no
/// other value starts with these and goes on so.
pub fn is_sealed_value(value: &[u8]) -> bool {
    without_around(value, |byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\''))
        .starts_with(CIPHERTEXT_MARK.as_bytes())
}

fn without_around(value: &[u8], is_around: impl Fn(u8) -> bool) -> &[u8] {
    let mut rest = value;
    while let Some(inner) = rest
        .strip_prefix(b"\xEF\xBB\xBF")
        .or_else(|| rest.split_first().filter(|(first, _)| is_around(**first)).map(|(_, inner)| inner))
    {
        rest = inner;
    }
    rest
}

/// <https://c2sp.org/age>
fn is_age_file(value: &[u8]) -> bool {
    let armored = without_around(value, |byte| byte.is_ascii_whitespace());
    let behind = armored.strip_prefix(ARMOR_BEGIN.trim_end().as_bytes());
    behind.is_some_and(|rest| rest.starts_with(b"\n") || rest.starts_with(b"\r"))
        || value.starts_with(b"age-encryption.org/v1\n-> ")
}

/// Whether a value is a file as SOPS writes it, in any of its forms; of a YAML stream one document is enough.
fn is_sops_file(value: &[u8]) -> bool {
    let Ok(text) = text_of(value) else { return false };
    if ![CIPHERTEXT_MARK, "sops", "mac"].iter().all(|word| text.contains(word)) {
        return false;
    }
    let mut interner = Interner::new();
    // JSON may be indented with tabs, which YAML forbids.
    json::read_ordered(text, &mut interner).is_ok_and(|document| has_block(&document))
        || documents(text).any(|document| read_ordered(&document, &mut interner).is_ok_and(|one| has_block(&one)))
        || has_flat_block(text)
}

fn has_block(document: &Node) -> bool {
    let mac = document.str_at(&["sops", "mac"]);
    mac.is_some_and(|mac| is_sealed_value(mac.as_bytes()))
}

/// Whether a value has the block in a flat form: a line `sops_mac=ENC[…` as in env files, or `mac = ENC[…` in a
/// section `[sops]`.
fn has_flat_block(text: &str) -> bool {
    let mut is_within = false;
    text.lines().any(|line| {
        if line.starts_with('[') {
            is_within = line.trim_end() == "[sops]";
        }
        let Some((key, value)) = line.split_once('=') else { return false };
        let is_mac = key == "sops_mac" || (is_within && key.trim() == "mac");
        is_mac && is_sealed_value(value.as_bytes())
    })
}

/// The path of the first value that SOPS sealed, at or below a place.
pub fn sealed_value_below(path: &str, node: &Node) -> Option<String> {
    let is_value = |text: &str| is_sealed_value(text.as_bytes()).then_some(Ciphertext::Value);
    below(path, node, &is_value).map(|(path, _)| path)
}

/// The path of the first ciphertext at or below a place, and what it is.
pub fn ciphertext_below(path: &str, node: &Node) -> Option<(String, Ciphertext)> {
    below(path, node, &|text| ciphertext(text.as_bytes()))
}

fn below(path: &str, node: &Node, of: &dyn Fn(&str) -> Option<Ciphertext>) -> Option<(String, Ciphertext)> {
    let mut keys = Vec::new();
    let what = first(node, of, &mut keys)?;
    // The innermost key was found first.
    let keys = Some(path).filter(|path| !path.is_empty()).into_iter().chain(keys.into_iter().rev());
    let path = keys.collect::<Vec<&str>>().join(".");
    Some((path.chars().take(MOST_WORDS).collect(), what))
}

/// What the first ciphertext of a tree is; `keys` become those that lead to it. Most trees have none, so that nothing is
/// made of their keys.
fn first<'n>(node: &'n Node, of: &dyn Fn(&str) -> Option<Ciphertext>, keys: &mut Vec<&'n str>) -> Option<Ciphertext> {
    match node {
        Node::Text(text) => of(text),
        Node::List(items) => items.iter().find_map(|item| first(item, of, keys)),
        Node::Map(entries) => {
            entries.iter().find_map(|(key, value)| first(value, of, keys).inspect(|_| keys.push(key)))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expect: Option<Ciphertext>) {
        assert_eq!(ciphertext(text.as_bytes()), expect, "{text:?}");
    }

    #[test]
    fn a_sealed_value_is_known_by_how_it_starts() {
        for text in
            ["ENC[AES256_GCM,data:qg==", " ENC[AES256_GCM,", "\n\t\"ENC[AES256_GCM,", "\u{feff}'ENC[AES256_GCM,"]
        {
            check(text, Some(Ciphertext::Value));
        }
        for text in [
            "",
            " ",
            "ENC[",
            "ENC[PKCS7,x]",
            "a ENC[AES256_GCM,",
            "-ENC[AES256_GCM,",
            "enc[aes256_gcm,",
            "x: ENC[AES256_GCM,",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn a_sealed_file_is_known_by_its_block() {
        for text in [
            "key: x\nsops:\n    mac: ENC[AES256_GCM,data:qg==]\n",
            "\u{feff}# head\r\n\"sops\": {\"mac\": \"ENC[AES256_GCM,data:qg==]\"}\r\n",
            "{\n\t\"data\": \"x\",\n\t\"sops\": {\n\t\t\"kms\": null,\n\t\t\"mac\": \"ENC[AES256_GCM,x]\"\n\t}\n}\n",
            "{sops: {mac: 'ENC[AES256_GCM,x]', lastmodified: 2024-01-02T03:04:05Z}}",
            "a: 1\n---\nb: 2\nsops: {mac: 'ENC[AES256_GCM,x]'}\n---\n: [\n",
            "key=ENC[AES256_GCM,x]\nsops_mac=ENC[AES256_GCM,x]\nsops_version=3.9.0\n",
            "[main]\nkey = ENC[AES256_GCM,x]\n\n[sops]\nmac          = ENC[AES256_GCM,x]\n",
        ] {
            check(text, Some(Ciphertext::SopsFile));
        }
        for text in [
            // Talk of it, a block without a sealed MAC, and a block further down.
            "# sops: {mac: 'ENC[AES256_GCM,x]'}\nkey: x\n",
            "Seal it with sops, which writes mac: ENC[AES256_GCM,… under `sops`.\n",
            "sops: {mac: plain}\nkey: a ENC[AES256_GCM,x]\n",
            "sops: 'mac: ENC[AES256_GCM,x]'\n",
            "mac: ENC[AES256_GCM,x]\nsops: {}\n",
            "creation_rules: [{age: x}]\nnote: {sops: {mac: 'ENC[AES256_GCM,x]'}}\n",
            "script: |\n  sops:\n    mac: ENC[AES256_GCM,x]\n",
            "- sops: {mac: 'ENC[AES256_GCM,x]'}\n",
            "export key=1 # sops_mac=ENC[AES256_GCM,x]\n",
            "[other]\nmac = ENC[AES256_GCM,x]\n[sops]\nversion = 3\n",
            "sops: {mac: [ENC[AES256_GCM,x\n",
        ] {
            check(text, None);
        }
        assert_eq!(ciphertext(b"\xffsops mac ENC[AES256_GCM,"), None);
    }

    #[test]
    fn an_age_file_is_known_by_its_first_line() {
        for text in [
            "-----BEGIN AGE ENCRYPTED FILE-----\nYWdl\n-----END AGE ENCRYPTED FILE-----\n",
            "\u{feff}\n  -----BEGIN AGE ENCRYPTED FILE-----\r\nYWdl",
            "age-encryption.org/v1\n-> X25519 abc\n",
        ] {
            check(text, Some(Ciphertext::AgeFile));
        }
        for text in [
            "-----BEGIN AGE ENCRYPTED FILE-----",
            "see -----BEGIN AGE ENCRYPTED FILE-----\n",
            "-----BEGIN CERTIFICATE-----\nYWdl\n",
            "age-encryption.org/v1",
            "age-encryption.org/v1\nis the first line of an age file\n",
        ] {
            check(text, None);
        }
        assert_eq!(ciphertext(b"age-encryption.org/v1\n-> X25519 a\n\xff\x00"), Some(Ciphertext::AgeFile));
    }

    #[test]
    fn the_first_at_or_below_a_place_is_named() {
        let node = crate::testing::node(&crate::testing::yaml(
            "spec: {a: x, b: [{c: \"sops: {mac: 'ENC[AES256_GCM,x]'}\"}, 'ENC[AES256_GCM,x]']}",
        ));
        assert_eq!(ciphertext_below("", &node), Some((String::from("spec.b.c"), Ciphertext::SopsFile)));
        assert_eq!(sealed_value_below("", &node), Some(String::from("spec.b")));
    }
}
