//! Secrets in clear: in any file that holds bundles, and keys in any file at all.
//!
//! What it finds it says by line and kind. A file that is no YAML is judged by its lines, because
//! whoever commits a Secret by accident need not have finished typing it.

use alloc::string::String;

use super::sealed::is_readable;
use crate::node::{Interner, Node};
use crate::yaml::read;

pub(super) const HELP: &str = "Take it out. If it was ever committed or pushed, treat what it holds as leaked, and \
                               rotate it at its provider.";

/// What identities and reuse keys start with.
const KEYS: [&str; 3] = ["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1", "POUCH-REUSE-KEY-1"];

/// How many bech32 characters follow at least: 32 bytes make 52. A page that only names the prefix is no key.
const KEY_LENGTH: usize = 52;

/// The line on which a whole age identity or reuse key stands, in either case that bech32 allows.
pub fn holds_key(bytes: &[u8]) -> Option<usize> {
    let mut line = 1_usize;
    for row in bytes.split(|b| *b == b'\n') {
        if KEYS.iter().any(|key| has_key(row, key.as_bytes())) {
            return Some(line);
        }
        line = line.saturating_add(1);
    }
    None
}

fn has_key(row: &[u8], prefix: &[u8]) -> bool {
    // Every file is looked at, and few lines have as many dashes as the start of a key.
    let dashes = row.iter().filter(|b| **b == b'-').count();
    if dashes < 3 || row.len() < prefix.len().saturating_add(KEY_LENGTH) {
        return false;
    }
    let starts = row.windows(prefix.len()).enumerate().filter(|(_, window)| window.eq_ignore_ascii_case(prefix));
    let mut tails = starts.filter_map(|(at, _)| row.get(at.saturating_add(prefix.len())..));
    tails.any(|tail| tail.iter().take_while(|b| b.is_ascii_alphanumeric()).count() >= KEY_LENGTH)
}

/// What of a file is secret and readable: the line, and words that follow the path.
pub(super) fn look(path: &str, bytes: &[u8]) -> Option<(usize, &'static str)> {
    if let Some(line) = holds_key(bytes) {
        return Some((line, "holds an age identity or a reuse key"));
    }
    let is_manifest = [".yaml", ".yml", ".json"].iter().any(|end| path.ends_with(end));
    let named = || bytes.windows(6).any(|window| window == b"Secret");
    if !is_manifest && !named() {
        return None;
    }
    let text = match read::text_of(bytes) {
        Ok(text) => text,
        Err(_) if !named() => return None,
        Err(_) => return by_lines(&String::from_utf8_lossy(bytes)),
    };
    let mut interner = Interner::new();
    for document in read::documents(text) {
        let found = match read::read(&document, &mut interner) {
            Ok(node) => holds_secret(&node).then_some(usize::try_from(document.line).unwrap_or(1)),
            Err(_) => by_lines(document.text).map(|(line, _)| line.saturating_add(document.lines_before())),
        };
        if let Some(line) = found {
            return Some((line, "holds a Secret in clear"));
        }
    }
    None
}

/// Whether a Secret with a readable value stands anywhere in a document.
fn holds_secret(node: &Node) -> bool {
    let kind = node.str_at(&["kind"]).unwrap_or_default();
    match kind {
        "Secret" if is_clear(node) => return true,
        "SecretList" if node.at(&["items"]).map(Node::items).unwrap_or_default().iter().any(is_clear) => return true,
        _ => {}
    }
    node.entries().iter().any(|(_, below)| holds_secret(below)) || node.items().iter().any(holds_secret)
}

/// Whether a Secret has a readable value, or a copy of itself in an annotation.
fn is_clear(secret: &Node) -> bool {
    let values = ["data", "stringData"].into_iter().filter_map(|field| secret.at(&[field]));
    let copy = secret.at(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]);
    values.into_iter().any(is_readable) || copy.is_some()
}

/// As far as lines tell: a kind, and a block of values.
fn by_lines(text: &str) -> Option<(usize, &'static str)> {
    let word = |line: &str| {
        let line: String =
            line.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '-' | ',')).collect();
        line
    };
    let kind = text.lines().position(|line| word(line) == "kind:Secret")?;
    let values = text.lines().any(|line| matches!(&*word(line), "data:" | "stringData:" | "data:{" | "stringData:{"));
    values.then_some((kind.saturating_add(1), "looks like a Secret in clear, and is no YAML that pouch reads"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[track_caller]
    fn check(path: &str, text: &str, expect: Option<usize>) {
        assert_eq!(look(path, text.as_bytes()).map(|(line, _)| line), expect, "{path}: {text}");
    }

    #[test]
    fn secrets_in_clear_are_found_wherever_they_stand() {
        check("x.yaml", "kind: Secret\ndata: {a: Yg==}\n", Some(1));
        check("x.yaml", "a: b\n---\n# a note\nkind: Secret\nstringData: {a: b}\n", Some(4));
        check("x.json", r#"{"items": [{"kind": "Secret", "data": {"a": "Yg=="}}]}"#, Some(1));
        check("x.yaml", "kind: SecretList\nitems: [{stringData: {a: 1}}]\n", Some(1));
        check("x.yaml", "kind: ConfigMap\ndata: {x: y}\nextra: {kind: Secret, data: {a: [b]}}\n", Some(1));
        check("x.txt", "kind: Secret\ndata:\n  a: Yg==\n", Some(1));
        check("x.yaml", "x: [\n---\nkind: Secret\ndata:\n  a: [\n", Some(3));
    }

    #[test]
    fn what_holds_no_value_is_no_secret() {
        const SEALED: &str = "ENC[AES256_GCM,data:oYyi,iv:MyIDYbT718JRr11QtBkcj3Dwm4k1aCGZBVeZf0EyV8o=,tag:t5z2Z023Up0kxwCgw1gNxg==,type:str]";
        check("x.yaml", &format!("kind: Secret\ndata: {{a: '{SEALED}', b: '', c: null}}\n"), None);
        check("x.yaml", "kind: Secret\nmetadata: {name: x}\ndata: {}\n", None);
        check("x.yaml", "spec: {secretRef: {kind: Secret, name: x}}\n", None);
        check("x.yaml", "kind: ConfigMap\ndata: {a: b}\n", None);
        check("x.md", "A Secret has the field `data:`.\n", None);
        check("x.yaml", "x: [\n", None);
    }

    #[test]
    fn keys_are_whole_keys() {
        for prefix in KEYS {
            let key = format!("{prefix}{}", "Q".repeat(58));
            assert_eq!(holds_key(format!("a\nkey: {key} # x\n").as_bytes()), Some(2), "{prefix}");
            assert_eq!(holds_key(key.to_lowercase().as_bytes()), Some(1), "{prefix}");
            assert_eq!(holds_key(format!("write {prefix}… here, or {prefix}QQQ\n").as_bytes()), None, "{prefix}");
        }
        assert_eq!(holds_key(&[b'-'; 4096]), None);
    }
}
