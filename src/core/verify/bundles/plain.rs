//! Secrets in clear: in any file that holds bundles, and keys in any file at all.
//!
//! What is found is told by line and kind. A file that is not YAML is judged by its lines, because whoever commits a
//! Secret by accident need not have finished typing it. A manifest that cannot be read is never taken for a harmless
//! one: another reader may be more forgiving.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

use super::document::first_line;
use crate::finding::Code;
use crate::layout::delivery::cluster::{self, ClusterSecret};
use crate::layout::form::Form;
use crate::node::{Interner, Node};
use crate::sops::cipher;
use crate::yaml::{Flaw, read};

const TAKE_OUT: &str = "Take it out. If it was ever committed or pushed, treat what it holds as leaked, and \
                        rotate it at its provider.";

/// The field of a kustomization that makes Secrets.
const GENERATOR: &str = "secretGenerator";

/// What identities and reuse keys start with.
const KEYS: [&str; 3] = ["AGE-SECRET-KEY-1", "AGE-SECRET-KEY-PQ-1", "POUCH-REUSE-KEY-1"];

/// The fewest bech32 characters that follow: 32 bytes make 52. A page that only names the prefix holds no key.
const KEY_LENGTH: usize = 52;

/// How the starts of keys look in base64, in either case, behind zero, one or two bytes of a group of three.
///
/// Each is the number of the group's characters that stand before, and the characters that depend on nothing else.
const ENCODED: [(usize, &str); 12] = [
    (0, "QUdFLVNFQ1JFVC1LRVkt"),
    (2, "FHRS1TRUNSRVQtS0VZL"),
    (3, "BR0UtU0VDUkVULUtFWS"),
    (0, "YWdlLXNlY3JldC1rZXkt"),
    (2, "FnZS1zZWNyZXQta2V5L"),
    (3, "hZ2Utc2VjcmV0LWtleS"),
    (0, "UE9VQ0gtUkVVU0UtS0VZL"),
    (2, "BPVUNILVJFVVNFLUtFWS"),
    (3, "QT1VDSC1SRVVTRS1LRVkt"),
    (0, "cG91Y2gtcmV1c2Uta2V5L"),
    (2, "BvdWNoLXJldXNlLWtleS"),
    (3, "wb3VjaC1yZXVzZS1rZXkt"),
];

/// What is readable in a file, or keeps the file from being searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Readable {
    pub(super) code: Code,
    /// The line, from one.
    pub(super) line: usize,
    /// The words that follow the path in a message.
    pub(super) what: &'static str,
}

impl Readable {
    fn clear(line: usize, what: &'static str) -> Self {
        Self { code: Code::PlaintextSecret, line, what }
    }

    /// The result for a file that is too large to be searched.
    pub(super) fn large(path: &str) -> Self {
        let code = if is_manifest(path) { Code::NotReadable } else { Code::NotSearched };
        Self { code, line: 1, what: "is larger than 64 MiB, so it was not searched for Secrets and keys" }
    }

    /// The result for a symlink or a submodule.
    pub(super) fn elsewhere(form: Form) -> Self {
        let what = match form {
            Form::Link => "is a symlink, so what it leads to was not searched for Secrets and keys",
            _ => "is a submodule, so it was not searched for Secrets and keys",
        };
        Self { code: Code::NotSearched, line: 1, what }
    }

    pub(super) fn is_clear(&self) -> bool {
        self.code == Code::PlaintextSecret
    }

    pub(super) fn help(&self) -> &'static str {
        match self.code {
            Code::NotReadable => {
                "Write it as YAML or JSON in UTF-8, without tags of its own, or keep it outside of the output."
            }
            Code::NotSearched => "Check yourself that it holds neither, or keep it outside of the output.",
            _ => TAKE_OUT,
        }
    }
}

/// Whether consumers take a file of this name for manifests.
pub(super) fn is_manifest(path: &str) -> bool {
    let end = path.rsplit('.').next().unwrap_or_default();
    path.contains('.') && ["yaml", "yml", "json"].iter().any(|known| known.eq_ignore_ascii_case(end))
}

/// Whether something below `node` is neither sealed nor empty.
pub(super) fn is_readable(node: &Node) -> bool {
    match node {
        Node::Null => false,
        Node::Text(text) => !text.is_empty() && !cipher::is_sealed(text),
        Node::List(items) => items.iter().any(is_readable),
        Node::Map(entries) | Node::InOrder(entries) => entries.iter().any(|(_, below)| is_readable(below)),
        Node::Bool(_) | Node::Int(_) | Node::Uint(_) | Node::Float(_) | Node::Time(_) => true,
    }
}

/// The line on which a whole age identity or reuse key stands, in either case that bech32 allows, in UTF-8, UTF-16,
/// UTF-32 or base64.
///
/// If base64 is wrapped, it is the line on which the key begins.
pub fn holds_key(bytes: &[u8]) -> Option<usize> {
    let bytes = without_zeros(bytes);
    let mut rows = (1..).zip(bytes.split(|b| *b == b'\n'));
    let whole = rows.find(|(_, row)| KEYS.iter().any(|key| has_key(row, key.as_bytes())));
    whole.map(|(line, _)| line).or_else(|| encoded_key(&bytes))
}

/// The bytes without zeros, which stand between ASCII letters in UTF-16 and UTF-32.
fn without_zeros(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes.contains(&0) {
        true => Cow::Owned(bytes.iter().copied().filter(|b| *b != 0).collect()),
        false => Cow::Borrowed(bytes),
    }
}

fn has_key(row: &[u8], prefix: &[u8]) -> bool {
    // Every file is looked at, and few lines have as many dashes as the start of a key.
    let dashes = row.iter().filter(|b| **b == b'-').count();
    if dashes < 3 {
        return false;
    }
    let mut windows = row.windows(prefix.len() + KEY_LENGTH).filter_map(|window| window.split_at_checked(prefix.len()));
    windows.any(|(start, key)| start.eq_ignore_ascii_case(prefix) && key.iter().all(u8::is_ascii_alphanumeric))
}

/// The line on which a key in base64 begins.
fn encoded_key(bytes: &[u8]) -> Option<usize> {
    // Base64 may be wrapped at any column.
    let letters: Vec<u8> = bytes.iter().copied().filter(|b| !b.is_ascii_whitespace()).collect();
    let holds = |at: usize| {
        let rest = letters.get(at..).unwrap_or_default();
        ENCODED.iter().any(|(before, start)| {
            let whole = at.checked_sub(*before).filter(|_| rest.starts_with(start.as_bytes()));
            whole.is_some_and(|at| decodes_to_key(letters.get(at..).unwrap_or_default()))
        })
    };
    let starts = letters.iter().enumerate().filter(|(_, letter)| may_begin(**letter)).map(|(at, _)| at);
    let at = starts.into_iter().find(|at| holds(*at))?;
    let mut left = at;
    let mut line = 1;
    for byte in bytes {
        if !byte.is_ascii_whitespace() {
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => break,
            };
        }
        line += usize::from(*byte == b'\n');
    }
    Some(line)
}

/// Whether one of [`ENCODED`] begins with this letter.
fn may_begin(letter: u8) -> bool {
    matches!(letter, b'Q' | b'F' | b'B' | b'Y' | b'h' | b'U' | b'c' | b'w')
}

/// Whether base64, decoded from the start of a group, soon comes to a key.
fn decodes_to_key(letters: &[u8]) -> bool {
    let plain = |b: &u8| match b {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        b'+' | b'/' => Some(*b),
        b => b.is_ascii_alphanumeric().then_some(*b),
    };
    // As many groups as the longest start and a key take.
    let group: Vec<u8> = letters.iter().take(108).map_while(plain).collect();
    let (whole, _) = group.as_chunks::<4>();
    // Other letters may follow the key without a sign between.
    let decoded = STANDARD_NO_PAD.decode(&group).or_else(|_| STANDARD_NO_PAD.decode(whole.as_flattened()));
    let decoded = decoded.unwrap_or_default();
    KEYS.iter().any(|key| has_key(&decoded, key.as_bytes()))
}

/// Whether a file is the one Secret that stands in clear among bundles: what Argo CD is told of a region's cluster, to the
/// byte as pouch writes it, and at its path.
fn is_cluster_secret(path: &str, bytes: &[u8]) -> bool {
    let is_its = |directory: &str| ClusterSecret::read(bytes).is_some_and(|secret| secret.directory == *directory);
    cluster::directory_of(path).is_some_and(is_its)
}

/// What is secret and readable in a file, or keeps the file from being searched.
pub(super) fn look(path: &str, bytes: &[u8]) -> Option<Readable> {
    if let Some(line) = holds_key(bytes) {
        return Some(Readable::clear(line, "holds an age identity or a reuse key"));
    }
    if is_cluster_secret(path, bytes) {
        return None;
    }
    let is_manifest = is_manifest(path);
    let (text, unread) = match read::text_of(bytes) {
        Ok(text) => (Cow::Borrowed(text), None),
        Err(flaw) => (lossy(bytes), Some(usize::try_from(flaw.line).unwrap_or(usize::MAX))),
    };
    if !is_manifest && !text.contains("Secret") && !text.contains(GENERATOR) {
        return None;
    }
    let unreadable = |line| Readable {
        code: Code::NotReadable,
        line,
        what: "cannot be read whole from here on, and another reader may find a Secret in it",
    };
    let template = |line| Readable {
        code: Code::NotSearched,
        line,
        what: "is a template and not YAML, so it was searched for Secrets line by line only",
    };
    let mut flawed: Option<Readable> = unread.map(unreadable);
    let mut interner = Interner::new();
    for document in read::documents(&text) {
        let line = usize::try_from(document.line).unwrap_or(usize::MAX);
        match holds_secrets(&document, &mut interner) {
            Ok(true) => return Some(Readable::clear(line, "holds a Secret in clear")),
            Ok(false) => {}
            Err(at) => {
                if let Some(line) = by_lines(document.text) {
                    let line = line + document.lines_before();
                    return Some(Readable::clear(
                        line,
                        "looks like a Secret in clear, but is not YAML that pouch can read",
                    ));
                }
                flawed = flawed.or(Some(if is_template(document.text) { template(at) } else { unreadable(at) }));
            }
        }
    }
    flawed.filter(|_| is_manifest)
}

/// The line on which a Secret in clear, an age identity or a reuse key stands in a file.
pub fn secret_in_clear(path: &str, bytes: &[u8]) -> Option<usize> {
    look(path, bytes).filter(Readable::is_clear).map(|found| found.line)
}

/// The line of a Secret in clear in a readable manifest, for files that belong to no bundle; prose that shows a Secret,
/// and templates, do not count.
pub fn secret_manifest(path: &str, bytes: &[u8]) -> Option<usize> {
    let text = read::text_of(bytes).ok().filter(|_| is_manifest(path))?;
    // Whose output it is, and so where that begins, is not known.
    let third = path.rmatch_indices('/').nth(2);
    let below = third.and_then(|(at, slash)| path.get(at..)?.strip_prefix(slash)).unwrap_or(path);
    if is_cluster_secret(below, bytes) {
        return None;
    }
    let mut interner = Interner::new();
    let found = read::documents(text).find(|document| holds_secrets(document, &mut interner) == Ok(true))?;
    Some(usize::try_from(found.line).unwrap_or(usize::MAX))
}

/// The readable part of bytes that are not UTF-8.
fn lossy(bytes: &[u8]) -> Cow<'static, str> {
    let bytes = bytes.strip_prefix(b"\xff\xfe").or(bytes.strip_prefix(b"\xfe\xff")).unwrap_or(bytes);
    let plain = without_zeros(bytes);
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

/// Whether a document holds a Secret in clear, or the line from which on it cannot be read.
///
/// What a consumer takes for a stream of JSON values is read as such.
fn holds_secrets(document: &read::Document<'_>, interner: &mut Interner) -> Result<bool, usize> {
    let line_of = |flaw: Flaw| usize::try_from(flaw.line).unwrap_or(usize::MAX);
    let flaw = match read::read(document, interner) {
        Ok(node) => return Ok(holds_secret(&node)),
        Err(flaw) => flaw,
    };
    let text = document.text.strip_prefix("---").unwrap_or(document.text);
    let Some(values) = json_values(text).filter(|values| values.len() > 1) else { return Err(line_of(flaw)) };
    let mut found = false;
    for value in values {
        found |= holds_secret(&read::read(&read::Document::whole(value), interner).map_err(|_| line_of(flaw.clone()))?);
    }
    Ok(found)
}

/// The JSON maps and lists that stand one after the other, if nothing else stands between.
fn json_values(text: &str) -> Option<Vec<&str>> {
    let (mut values, mut depth, mut start) = (Vec::new(), 0_usize, None);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' if depth > 0 => is_quoted = !is_quoted,
            _ if is_quoted => {}
            b'{' | b'[' => {
                start = start.or(Some(at));
                depth = depth.checked_add(1)?;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    values.push(text.get(start.take()?..=at)?);
                }
            }
            _ if depth == 0 && !byte.is_ascii_whitespace() => return None,
            _ => {}
        }
    }
    (depth == 0).then_some(values)
}

/// Whether a program such as Helm makes manifests from a text.
fn is_template(text: &str) -> bool {
    text.lines().any(|line| line.split('#').next().unwrap_or_default().contains("{{"))
}

/// Whether a Secret with a readable value stands anywhere in a document.
fn holds_secret(node: &Node) -> bool {
    let kind = node.str_at(&["kind"]).unwrap_or_default();
    match kind {
        "Secret" if is_clear(node) => return true,
        "SecretList" if node.at(&["items"]).map(Node::items).unwrap_or_default().iter().any(is_clear) => return true,
        _ => {}
    }
    if node.at(&[GENERATOR]).map(Node::items).unwrap_or_default().iter().any(has_literals) {
        return true;
    }
    node.entries().iter().any(|(_, below)| holds_secret(below)) || node.items().iter().any(holds_secret)
}

/// Whether one of kustomize's generators has a value in its own lines.
fn has_literals(generator: &Node) -> bool {
    let literals = generator.at(&["literals"]).map(Node::items).unwrap_or_default();
    literals.iter().filter_map(Node::as_str).any(|literal| {
        let (_, value) = literal.split_once('=').unwrap_or_default();
        !value.is_empty() && !cipher::is_sealed(value)
    })
}

/// Whether a Secret has a readable value, or a copy of itself in an annotation.
fn is_clear(secret: &Node) -> bool {
    let values = ["data", "stringData"].into_iter().filter_map(|field| secret.at(&[field]));
    let copy = secret.at(&["metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration"]);
    values.into_iter().any(is_readable) || copy.is_some()
}

/// The line of a Secret in clear, as far as lines tell: a kind, and a block of values.
fn by_lines(text: &str) -> Option<usize> {
    let word = |line: &str| {
        let line: String =
            line.chars().filter(|c| !c.is_whitespace() && !matches!(c, '"' | '\'' | '-' | ',')).collect();
        line
    };
    let kind = first_line(text, |line| word(line) == "kind:Secret")?;
    let values = text.lines().any(|line| matches!(&*word(line), "data:" | "stringData:" | "data:{" | "stringData:{"));
    values.then_some(kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    #[track_caller]
    fn check(path: &str, bytes: impl AsRef<[u8]>, expect: Option<(Code, usize)>) {
        let text = String::from_utf8_lossy(bytes.as_ref()).into_owned();
        assert_eq!(look(path, bytes.as_ref()).map(|found| (found.code, found.line)), expect, "{path}: {text}");
    }

    #[track_caller]
    fn clear(path: &str, bytes: impl AsRef<[u8]>, line: usize) {
        check(path, bytes, Some((Code::PlaintextSecret, line)));
    }

    #[track_caller]
    fn unread(path: &str, bytes: impl AsRef<[u8]>, line: usize) {
        check(path, bytes, Some((Code::NotReadable, line)));
    }

    #[test]
    fn elsewhere_only_manifests_count() {
        let secret = "a: b\n---\nkind: Secret\nstringData: {a: b}\n";
        for (path, text, expect) in [
            ("a/x.yaml", secret, Some(3)),
            ("x.json", r#"{"kind": "Secret", "data": {"a": "Yg=="}}"#, Some(1)),
            ("x.md", secret, None),
            ("argocd/x-argocd/cluster.yaml", secret, Some(3)),
            ("x.yaml", "kind: Secret\ndata:\n  a: {{ .Values.a }}\n", None),
            ("x.yaml", "kind: Secret\ndata: {}\n", None),
            ("x.yaml", "kind: ConfigMap\ndata: {a: b}\n", None),
        ] {
            assert_eq!(secret_manifest(path, text.as_bytes()), expect, "{path}: {text}");
        }
    }

    #[test]
    fn secrets_in_clear_are_found_wherever_they_stand() {
        clear("x.yaml", "kind: Secret\ndata: {a: Yg==}\n", 1);
        clear("x.yaml", "a: b\n---\n# a note\nkind: Secret\nstringData: {a: b}\n", 4);
        clear("x.json", r#"{"items": [{"kind": "Secret", "data": {"a": "Yg=="}}]}"#, 1);
        clear("x.yaml", "kind: SecretList\nitems: [{stringData: {a: 1}}]\n", 1);
        clear(
            "x.yaml",
            "kind: List\nitems:\n- kind: List\n  items: [{kind: SecretList, items: [{data: {a: b}}]}]\n",
            1,
        );
        clear("x.yaml", "kind: ConfigMap\ndata: {x: y}\nextra: {kind: Secret, data: {a: [b]}}\n", 1);
        clear("x.txt", "kind: Secret\ndata:\n  a: Yg==\n", 1);
        clear("kustomization.yaml", "secretGenerator:\n- name: x\n  literals: [a=b]\n", 1);
        clear("Kustomization", "a: b\n---\nsecretGenerator: [{literals: ['a=b=c']}]\n", 3);
        clear("x.yaml", "x: [\n---\nkind: Secret\ndata:\n  a: [\n", 3);
        for path in ["x.YAML", "a/b.Yml", "x.jSON"] {
            clear(path, "{kind: \"Sec\\x72et\", data: {a: Yg==}}\n", 1);
        }
        clear("x.json", "{\"a\": 1}\n{\"kind\": \"Secret\", \"data\": {\"a\": \"Yg==\"}}\n", 1);
        clear("x.json", "---\n{\"a\": 1} {\"kind\": \"\\u0053ecret\", \"data\": {\"a\": \"Yg==\"}}\n", 2);
    }

    #[test]
    fn what_holds_no_value_is_no_secret() {
        const SEALED: &str = "ENC[AES256_GCM,data:oYyi,iv:MyIDYbT718JRr11QtBkcj3Dwm4k1aCGZBVeZf0EyV8o=,tag:t5z2Z023Up0kxwCgw1gNxg==,type:str]";
        check("x.yaml", format!("kind: Secret\ndata: {{a: '{SEALED}', b: '', c: null}}\n"), None);
        check("x.yaml", "kind: Secret\nmetadata: {name: x}\ndata: {}\n", None);
        check("x.yaml", "spec: {secretRef: {kind: Secret, name: x}}\n", None);
        check("x.yaml", "kind: ConfigMap\ndata: {a: b}\n", None);
        check("x.yaml", format!("secretGenerator: [{{literals: [a=, b, 'c={SEALED}'], files: [x]}}]\n"), None);
        check("x.yaml", "configMapGenerator: [{literals: [a=b]}]\n", None);
        check("x.md", "A Secret has the field `data:`.\n", None);
        check("x.json", "{\"a\": 1}\n{\"kind\": \"Secret\", \"a\": \"}\\\"{\"}[]\n", None);
        check("yaml", "x: [\n", None);
        check("x.png", b"\x89PNG\0\xff", None);
    }

    #[test]
    fn a_manifest_that_cannot_be_read_is_no_harmless_one() {
        unread("x.yaml", "a: b\nx: [\n", 2);
        for text in ["{\"a\": 1} x {}", "{} {", "{} }", "{} {\"a\": 1, \"a\": 2}", "{} {\"a\": tru]"] {
            unread("x.json", text, 1);
        }
        unread("x.yaml", "kind: !!binary U2VjcmV0\ndata: {a: Yg==}\n", 1);
        unread("x.Json", "{\"kind\": \"x\", \"kind\": \"Sec\\u0072et\", \"data\": {\"a\": \"Yg==\"}}", 1);
        let deep = format!("a: {}{}\n---\nb: c\n", "[".repeat(300), "]".repeat(300));
        unread("x.yaml", &deep, 1);
        let bomb: String = (1..40).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{},", n - 1).repeat(20))).collect();
        let bomb = format!("a0: &a0 [{}]\n{bomb}", "x,".repeat(40));
        assert!(look("x.yaml", bomb.as_bytes()).is_some_and(|found| found.code == Code::NotReadable));
        // A Secret beside what cannot be read is found all the same.
        clear("x.yaml", format!("{deep}---\nkind: Secret\ndata: {{a: Yg==}}\n"), 5);
        unread("x.yaml", b"a: \xff\n", 1);
        check("x.txt", b"Secret: \xff\n", None);
        check("chart.yaml", "a: {{ .Values.x }}\nb: [\n", Some((Code::NotSearched, 1)));
        unread("chart.yaml", "a: b # {{ x }}\nb: [\n", 2);
        assert_eq!(Readable::large("a/x.YML").code, Code::NotReadable);
        assert_eq!(Readable::large("a/x.png").code, Code::NotSearched);
    }

    /// A text in UTF-16 and UTF-32, either way round, with a byte order mark or without.
    fn encodings(text: &str) -> Vec<Vec<u8>> {
        let wide = |of: fn(char) -> Vec<u8>, mark: &str| mark.chars().chain(text.chars()).flat_map(of).collect();
        let ways: [fn(char) -> Vec<u8>; 4] = [
            |c| u16::try_from(u32::from(c)).unwrap().to_le_bytes().to_vec(),
            |c| u16::try_from(u32::from(c)).unwrap().to_be_bytes().to_vec(),
            |c| u32::from(c).to_le_bytes().to_vec(),
            |c| u32::from(c).to_be_bytes().to_vec(),
        ];
        ways.into_iter().flat_map(|of| [wide(of, ""), wide(of, "\u{feff}")]).collect()
    }

    #[test]
    fn other_encodings_are_seen_through() {
        let key = format!("a\n{}{}\n", "AGE-SECRET-KEY-1", "Q".repeat(58));
        for bytes in encodings("a: b\n---\nkind: Secret\ndata: {a: Yg==}\n") {
            clear("x.yaml", &bytes, 3);
            clear("x.txt", &bytes, 3);
        }
        for bytes in encodings("a: b\n") {
            unread("x.yaml", &bytes, 1);
            check("x.txt", &bytes, None);
        }
        for bytes in encodings(&key) {
            assert_eq!(holds_key(&bytes), Some(2));
        }
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

    #[test]
    fn keys_in_base64_are_keys() {
        for prefix in KEYS {
            for before in ["", "a", "ab", "abc", "# created: 2026\n# public key: age1x\n"] {
                for key in [format!("{prefix}{}", "Q".repeat(58)), format!("{prefix}{}", "Z".repeat(52)).to_lowercase()]
                {
                    let encoded = STANDARD.encode(format!("{before}{key}\n"));
                    assert_eq!(holds_key(format!("a:\n  b: {encoded}\n").as_bytes()), Some(2), "{before}{key}");
                    let wrapped: String = encoded
                        .as_bytes()
                        .chunks(20)
                        .map(|row| format!("    {}\r\n", String::from_utf8_lossy(row)))
                        .collect();
                    let line = if before.len() > 15 { 4 } else { 2 };
                    assert!(
                        holds_key(format!("a: |\n{wrapped}").as_bytes()).is_some_and(|found| found >= line),
                        "{wrapped}"
                    );
                    let url = URL_SAFE.encode(format!("{before}{key}\u{7f}\u{7ff}"));
                    assert!(holds_key(url.as_bytes()).is_some(), "{url}");
                    let short: String = key.chars().take(key.len() - 20).collect();
                    let short = STANDARD.encode(format!("{before}{short}"));
                    assert_eq!(holds_key(short.as_bytes()), None, "{short}");
                }
            }
        }
    }

    #[test]
    fn the_starts_in_base64_are_those_of_the_keys() {
        for (at, prefix) in
            ["AGE-SECRET-KEY-", "age-secret-key-", "POUCH-REUSE-KEY-", "pouch-reuse-key-"].iter().enumerate()
        {
            for before in 0..3_usize {
                let text = STANDARD.encode(format!("{}{prefix}\0\0\0", "\0".repeat(before)));
                let (skip, start) = ENCODED[at * 3 + before];
                assert_eq!(text.get(skip..skip + start.len()), Some(start));
                assert_eq!(skip + start.len(), (before + prefix.len()) * 8 / 6);
                assert!(may_begin(start.as_bytes()[0]));
            }
        }
    }
}
