//! Secrets in plain sight: strings in open objects that look like a password, token or private key.
//!
//! Only Secrets are sealed. An identity that carries its password in `spec`, or a template with a
//! private key in it, would be published for every reader of the repository, so its claim is refused
//! before that. This module judges by field names and by the marks of private keys; it never returns
//! or keeps a value.

pub mod own;

use alloc::borrow::ToOwned as _;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::name::{GroupKind, is_dns_subdomain};
use crate::node::Node;
use crate::object::Object;
use crate::secret::{alternates, begins_with_evident, holds_private_key, is_evident};

/// The paths of all strings in `object` that look like secrets; none for Secrets, which are sealed.
///
/// In ConfigMaps only private keys count: their values are templates, which talk about passwords.
pub fn inline_secrets(object: &Object) -> Vec<String> {
    if object.key.kind.is_secret() {
        return Vec::new();
    }
    let mut found = in_body(&object.key.kind, &object.body, is_secret);
    for (key, value) in &object.annotations {
        annotation(key, value, &mut found);
    }
    found
}

/// As [`inline_secrets`], for an object as it is published.
pub fn published_secrets(kind: &GroupKind, document: &Node) -> Vec<String> {
    let mut found = in_body(kind, document, is_secret);
    let annotations = document.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    for (key, value) in annotations {
        annotation(key, value.as_str().unwrap_or_default(), &mut found);
    }
    found
}

/// As [`published_secrets`], for a manifest of any kind: all of its fields are looked at but `metadata`, and workloads name
/// the files and the variables that hold their secrets.
pub fn manifest_secrets(kind: &GroupKind, document: &Node) -> Vec<String> {
    let judge = |key: &str, text: &str| !is_reference(text) && !is_path(text) && is_secret(key, text);
    let mut found = if kind.is_config_map() { in_body(kind, document, judge) } else { Vec::new() };
    let is_open = |field: &str| !matches!(field, "apiVersion" | "kind" | "metadata") && !kind.is_config_map();
    for (field, node) in document.entries().iter().filter(|(field, _)| is_open(field)) {
        let key = if says_nothing(field) { "" } else { &**field };
        look(node, &under("", field), key, judge, &mut found);
    }
    let annotations = document.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    for (key, value) in annotations {
        annotation(key, value.as_str().unwrap_or_default(), &mut found);
    }
    found
}

/// The paths of all strings below `node`, which stands at `path`, that look like secrets: by their keys, and by what they
/// are.
pub fn secrets_below(node: &Node, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    look(node, path, "", is_secret, &mut found);
    telling(node, path, &mut found);
    found.sort();
    found.dedup();
    found
}

/// The paths of all arguments of a command that hold what looks like a secret: `--token=…`, `--password …`, or the same
/// somewhere in a script.
pub fn secrets_in_arguments(arguments: &[String], path: &str) -> Vec<String> {
    let option = |argument: &'_ String| argument.starts_with('-') && !argument.contains(['=', ' ']);
    let mut found = Vec::new();
    let mut before: Option<&String> = None;
    for (at, argument) in arguments.iter().enumerate() {
        let is_value = before.is_some_and(|before| option(before) && is_secret(before, argument) && !is_path(argument));
        let is_option = argument.starts_with('-');
        if (is_value && !is_option) || assigns_secret(argument) || is_telling(argument) {
            found.push(format!("{path}[{at}]"));
        }
        before = Some(argument);
    }
    found
}

/// How many bytes of a value are looked at.
const LONGEST_LOOK: usize = 1024;

/// Returns true if a value is the name of a variable, a placeholder, or the begin of what is put together elsewhere.
fn is_reference(value: &str) -> bool {
    value.is_empty()
        || is_evident(value)
        || ["$(", "${", "{", "["].iter().any(|start| value.starts_with(start))
        || value.strip_prefix('$').is_some_and(is_variable)
}

/// Returns true if a text can name a variable.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Whether a value is the path of a file: what is there is read where the program runs.
fn is_path(value: &str) -> bool {
    const ROOTS: [&str; 10] =
        ["/var/", "/etc/", "/run/", "/opt/", "/usr/", "/tmp/", "/mnt/", "/srv/", "/vault/", "/secrets/"];
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_' | b'@');
    let is_of_windows = |b: u8| is_plain(b) || matches!(b, b'\\' | b' ' | b'(' | b')' | b'~');
    match behind_drive(value) {
        Some(rest) => rest.bytes().all(is_of_windows),
        None => ROOTS.iter().any(|root| value.starts_with(root)) && value.bytes().all(is_plain),
    }
}

/// The rest behind a drive of Windows, or a variable of Windows that may stand for one: neither begins base64 or a token.
fn behind_drive(value: &str) -> Option<&str> {
    let (begin, rest) = value.split_once(['/', '\\'])?;
    let letter = begin.strip_suffix(':').filter(|letter| letter.len() == 1);
    let is_drive = letter.is_some_and(|letter| letter.bytes().all(|b| b.is_ascii_alphabetic()));
    let of_shell = begin.strip_prefix('%').and_then(|name| name.strip_suffix('%'));
    let name = of_shell.or_else(|| begin.strip_prefix("$env:"));
    (is_drive || name.is_some_and(is_variable)).then_some(rest)
}

/// Whether a secret is assigned somewhere in a text, as `KEY=VALUE`, or `"KEY": "VALUE"`. The name of a variable is not its
/// value.
pub fn assigns_secret(text: &str) -> bool {
    assigned(text).any(|(key, value)| is_secret(key, value))
}

/// The values that a text assigns to keys that name a secret, but for names of variables and of files.
fn assigned(text: &str) -> impl Iterator<Item = (&str, &str)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_beside = |c: char| matches!(c, ' ' | '"' | '\'' | '\\');
    text.match_indices(['=', ':']).filter_map(move |(at, sign)| {
        let (before, after) = text.split_at_checked(at).unwrap_or_default();
        let before = before.trim_end_matches(is_beside);
        let key = before.rsplit(|c| !is_word(c)).next().filter(|key| names_secret(key))?;
        // A text may be a row of these signs: what a value begins with tells as much.
        let after = after.strip_prefix(sign).unwrap_or_default().trim_start_matches(is_beside);
        let after = after.get(..after.floor_char_boundary(LONGEST_LOOK)).unwrap_or_default();
        let whole = after.split([' ', '"', '\'', ',', '}', ';', '\n']).next().unwrap_or_default();
        let value = whole.split('\\').next().unwrap_or_default();
        let is_open = is_reference(value) || is_path(value) || is_path(whole) || begins_with_evident(after);
        (!is_open).then_some((key, value))
    })
}

fn telling(node: &Node, path: &str, found: &mut Vec<String>) {
    match node {
        Node::Text(text) if is_telling(text) || assigns_secret(text) => found.push(path.to_owned()),
        Node::List(items) => {
            for (at, item) in items.iter().enumerate() {
                telling(item, &format!("{path}[{at}]"), found);
            }
        }
        Node::Map(entries) => {
            for (key, value) in entries {
                let is_number = matches!(value, Node::Int(_) | Node::Uint(_) | Node::Float(_));
                if is_number && meaning(key) == Meaning::Secret {
                    found.push(under(path, key));
                }
                telling(value, &under(path, key), found);
            }
        }
        _ => {}
    }
}

/// Whether a text is a secret by its key, or by what it is.
pub fn is_secret_of(key: &str, text: &str) -> bool {
    (is_secret(key, text) && !is_path(text)) || is_telling(text) || assigns_secret(text)
}

/// Whether a text is, or holds, a secret whatever its key: a private key, a token that tells what it is, or a URL with a
/// user.
pub fn is_telling(text: &str) -> bool {
    const STARTS: [&str; 12] =
        ["ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "AKIA", "ASIA", "hvs.", "sha256~", "ya29."];
    const LEAST: usize = 12;
    let has_user = |word: &str| {
        let authority = word.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or_default());
        authority.is_some_and(|authority| authority.contains('@'))
    };
    let is_jwt = |word: &str| word.starts_with("eyJ") && word.matches('.').count() == 2;
    let is_token = |word: &str| {
        let rest = STARTS.iter().find_map(|start| word.strip_prefix(start));
        rest.is_some_and(|rest| rest.len() >= LEAST)
    };
    // As in a header: `Authorization: Bearer …`.
    let is_header = ["Bearer ", "Basic "].iter().any(|scheme| {
        let rest = text.split_once(scheme).map(|(_, rest)| rest.split([' ', '"', '\'']).next().unwrap_or_default());
        rest.is_some_and(|rest| !is_reference(rest) && rest.len() >= LEAST)
    });
    let mut words = text.split([' ', '"', '\'', '=', ',', '{', '}', '\n', '\t', ';', '/', ':']);
    is_private_key(text)
        || is_header
        || text.split([' ', '"', '\'', '=', ',', '{', '}', '\n', '\t', ';']).any(has_user)
        || words.any(|word| is_jwt(word) || is_token(word))
}

/// Whether a text is a secret by its key, or by what it is.
type Judge = fn(&str, &str) -> bool;

fn in_body(kind: &GroupKind, body: &Node, judge: Judge) -> Vec<String> {
    let mut found = Vec::new();
    if kind.is_config_map() {
        for field in ["data", "binaryData"] {
            if let Some(node) = body.at(&[field]) {
                private_keys(node, field, &mut found);
            }
        }
    } else if let Some(spec) = body.at(&["spec"]) {
        look(spec, "spec", "", judge, &mut found);
    }
    found
}

fn annotation(key: &str, value: &str, found: &mut Vec<String>) {
    if is_private_key(value) {
        found.push(under("metadata.annotations", key));
    }
}

fn private_keys(node: &Node, path: &str, found: &mut Vec<String>) {
    match node {
        Node::Text(text) if is_private_key(text) => found.push(path.to_owned()),
        Node::List(items) => {
            for (at, item) in items.iter().enumerate() {
                private_keys(item, &format!("{path}[{at}]"), found);
            }
        }
        Node::Map(entries) => {
            for (key, value) in entries {
                private_keys(value, &under(path, key), found);
            }
        }
        _ => {}
    }
}

/// Walks a tree; `key` is the nearest key above that says what a value is.
fn look(node: &Node, path: &str, key: &str, judge: Judge, found: &mut Vec<String>) {
    match node {
        Node::Text(text) if judge(key, text) => found.push(path.to_owned()),
        Node::List(items) => {
            for (at, item) in items.iter().enumerate() {
                look(item, &format!("{path}[{at}]"), key, judge, found);
            }
        }
        Node::Map(entries) => {
            // `{name: PASSWORD, value: …}`, as environment variables are written.
            let named = ["name", "key"].iter().find_map(|key| node.str_at(&[key])).filter(|name| names_secret(name));
            for (own, value) in entries {
                let telling = if says_nothing(own) { named.unwrap_or(key) } else { own };
                look(value, &under(path, own), telling, judge, found);
            }
        }
        _ => {}
    }
}

fn under(path: &str, key: &str) -> String {
    let plain = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if plain && path.is_empty() {
        key.to_owned()
    } else if plain {
        format!("{path}.{key}")
    } else {
        format!("{path}[{key:?}]")
    }
}

/// Whether a key only says "here is the content of what is above".
fn says_nothing(key: &str) -> bool {
    const EMPTY: [&str; 9] =
        ["value", "values", "data", "stringData", "content", "inline", "literal", "plaintext", "raw"];
    EMPTY.iter().any(|empty| key.eq_ignore_ascii_case(empty))
}

fn is_secret(key: &str, text: &str) -> bool {
    if text.is_empty() {
        return false;
    }
    match meaning(key) {
        Meaning::Secret => true,
        Meaning::SecretOrItsName => !looks_like_a_name(text) && !is_of_names(key, text),
        Meaning::Other => is_private_key(text),
    }
}

fn names_secret(key: &str) -> bool {
    meaning(key) != Meaning::Other
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// The value is the secret itself.
    Secret,
    /// The value may also be the name of a Secret.
    SecretOrItsName,
    /// By its key, the value is no secret.
    Other,
}

/// Judges a key by its last words. The last word decides: `tokenURL`, `secretName` and `passwordSecretRef` end
/// in what they are, and so do `apiToken` and `private_key`.
fn meaning(key: &str) -> Meaning {
    const SECRET: [&str; 24] = [
        "accesskey",
        "accesstoken",
        "accountkey",
        "apikey",
        "authkey",
        "bearer",
        "clientkey",
        "clientsecret",
        "connectionstring",
        "encryptionkey",
        "masterkey",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "pwd",
        "rsakey",
        "secretkey",
        "sharedkey",
        "signingkey",
        "sshkey",
        "storagekey",
        "subscriptionkey",
        "token",
    ];
    const SECRET_OR_ITS_NAME: [&str; 5] =
        ["credential", "kubeconfig", "secret", "serviceaccountjson", "serviceaccountkey"];
    // Endings that say how the thing is written, not what it is.
    const FORMS: [&str; 9] = ["pem", "base64", "b64", "data", "value", "string", "text", "json", "plain"];

    let lower: String = key.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let ends = |text: &str, words: &[&str]| words.iter().any(|word| text.ends_with(word));
    let bare = FORMS.iter().find_map(|form| lower.strip_suffix(form)).unwrap_or(&lower);
    for text in [lower.as_str(), bare, lower.strip_suffix('s').unwrap_or(&lower)] {
        if ends(text, &SECRET) {
            return Meaning::Secret;
        }
        if ends(text, &SECRET_OR_ITS_NAME) {
            return Meaning::SecretOrItsName;
        }
    }
    Meaning::Other
}

/// Whether `text` is what people call Secrets, rather than 20 random characters or a UUID.
fn looks_like_a_name(text: &str) -> bool {
    let random = |part: &str| {
        let digits = part.bytes().filter(u8::is_ascii_digit).count();
        part.len() >= 12 && digits >= 3 || part.len() >= 20
    };
    let is_uuid = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    is_dns_subdomain(text) && !is_uuid && !text.split(['-', '.']).any(random)
}

/// Returns true if `text` is what a key may say instead of a secret: a Secret behind its namespace, or of a kubeconfig where its
/// file is. Credentials may be a user and his password.
fn is_of_names(key: &str, text: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    match () {
        () if lower.contains("kubeconfig") => looks_like_names(text),
        () if lower.trim_end_matches('s').ends_with("secret") => {
            text.split('/').count() == 2
                && looks_like_names(text)
                && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        }
        () => false,
    }
}

/// Returns true if `text` is names with slashes between them: a Secret and its namespace, or where a file is, as
/// `~/.kube/config`.
///
/// Random text has letters of both cases, as base64, or letters and digits by turns.
fn looks_like_names(text: &str) -> bool {
    let is_variable = |name: &str| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_') && name.len() < 20;
    let is_root = |part: &str| part.is_empty() || part == "~" || part.strip_prefix('$').is_some_and(is_variable);
    let is_name = |part: &str| {
        let name = part.strip_prefix('.').unwrap_or(part).replace('_', "-");
        looks_like_a_name(&name) && !name.split(['-', '.']).any(alternates)
    };
    let mut parts = text.split('/').enumerate();
    text.contains('/')
        && parts.all(|(at, part)| (at == 0 && is_root(part)) || matches!(part, "." | "..") || is_name(part))
}

/// Whether `text` holds a private key as PEM, as base64 of PEM, or as age and pouch write theirs.
fn is_private_key(text: &str) -> bool {
    if holds_private_key(text.as_bytes()) {
        return true;
    }
    // "-----BEGIN " in base64; what follows need not be padded or broken as we would.
    let Some(at) = text.find("LS0tLS1CRUdJTi") else { return false };
    let Some((_, encoded)) = text.split_at_checked(at) else { return false };
    let joined: Vec<u8> = encoded.bytes().filter(|b| !b.is_ascii_whitespace()).take(64).collect();
    let whole = joined.chunks_exact(4).take_while(|chunk| !chunk.contains(&b'=')).flatten().copied();
    let head = STANDARD.decode(whole.collect::<Vec<u8>>()).unwrap_or_default();
    head.windows(b"PRIVATE KEY".len()).any(|window| window == b"PRIVATE KEY")
}

#[cfg(test)]
mod tests;
