//! Guest objects: what the payloads of ClusterResourceSets would write into the clusters that they are delivered to.
//!
//! A value of such a Secret or ConfigMap is YAML of whole objects. It is looked at, and published as it is. What is kept of
//! it is which objects stand in it, and that something is the matter: never a value.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::cleartext::manifest_secrets;
use crate::name::{GroupKind, Name, Namespace, is_dns_label, is_dns_subdomain, is_template};
use crate::node::{Interner, Node};
use crate::object::{Object, kind_of};
use crate::yaml::read::{documents, read, text_of};

/// How many bytes a value has at least that Cluster API delivers: its reader looks at so many to tell YAML from JSON, and
/// takes fewer for an error.
///
/// <https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/internal/controllers/clusterresourceset/clusterresourceset_helpers.go>
pub const LEAST_BYTES: usize = 32;

/// The most objects of one value of which something is kept.
const MOST_OBJECTS: usize = 1000;

/// One value of a payload.
pub struct Value<'o> {
    /// Its name.
    pub name: &'o str,
    /// How many bytes it has.
    pub bytes: usize,
    /// What was found in it.
    pub found: Found,
}

/// What stands in a value.
#[derive(Default)]
pub struct Found {
    /// The objects that can be told.
    pub objects: BTreeSet<GuestObject>,
    /// Secrets that hold something, of any kind of payload.
    pub secrets: BTreeSet<GuestObject>,
    /// Where objects that are no Secrets hold what looks like one.
    pub in_clear: Vec<String>,
    /// Secrets of which an entry is a variable that nobody filled in.
    pub unfilled: BTreeSet<GuestObject>,
    /// Where a variable is left that says which object is meant.
    pub unrendered: Option<&'static str>,
    /// Why some of it cannot be read.
    pub unreadable: Option<Unreadable>,
}

/// Why a part of a value cannot be read, and where.
pub struct Unreadable {
    /// The line in the value, from one.
    pub line: u32,
    /// The problem; never quotes a value.
    pub what: Box<str>,
    /// Whether a Secret may stand there.
    pub may_be_secret: bool,
}

/// An object of a guest cluster.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct GuestObject {
    /// Its kind.
    pub kind: GroupKind,
    /// Its namespace, if it says one.
    pub namespace: Option<Namespace>,
    /// Its name.
    pub name: Name,
}

impl fmt::Display for GuestObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// What every value of a payload holds; none of a Secret that nobody looked at.
pub fn values(payload: &Object) -> Vec<Value<'_>> {
    let mut interner = Interner::new();
    if let Some(secret) = payload.payload.as_ref().filter(|secret| secret.is_seen()) {
        let entries = secret.entries().iter();
        return entries
            .map(|(name, bytes)| Value { name, bytes: bytes.len(), found: look(bytes.expose(), &mut interner) })
            .collect();
    }
    let data = payload.at(&["data"]).map(Node::entries).unwrap_or_default();
    let texts = data.iter().filter_map(|(name, node)| match node {
        Node::Text(text) => Some((name, &**text)),
        Node::Null => Some((name, "")),
        _ => None,
    });
    texts.map(|(name, text)| Value { name, bytes: text.len(), found: look(text.as_bytes(), &mut interner) }).collect()
}

fn look(bytes: &[u8], interner: &mut Interner) -> Found {
    let mut found = Found::default();
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(flaw) => {
            found.unreadable = Some(Unreadable { line: flaw.line, what: flaw.what.into(), may_be_secret: true });
            return found;
        }
    };
    for document in documents(text) {
        match read(&document, interner) {
            Ok(node) => {
                note(&node, &mut found, true);
                found.unreadable.iter_mut().filter(|it| it.line == 0).for_each(|it| it.line = document.line);
            }
            Err(flaw) => {
                let may_be_secret = says_secret(document.text);
                let other = found.unreadable.as_ref().is_some_and(|other| other.may_be_secret || !may_be_secret);
                if !other {
                    found.unreadable = Some(Unreadable { line: flaw.line, what: flaw.what.into(), may_be_secret });
                }
            }
        }
    }
    found
}

/// Whether a text that is no YAML says that it is a Secret.
fn says_secret(text: &str) -> bool {
    let is_said = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '-', '{', '"', '\'']);
        let value = line.strip_prefix("kind").map(|rest| rest.trim_start_matches([' ', '"', '\'']));
        let value = value.and_then(|rest| rest.strip_prefix(':'));
        value.is_some_and(|value| value.trim_start_matches([' ', '"', '\'']).starts_with("Secret"))
    };
    text.split(['\n', ',', '{']).any(is_said)
}

/// Notes what one document holds; `is_whole` says that it is no item of a list.
fn note(document: &Node, found: &mut Found, is_whole: bool) {
    let items = match document {
        // A value may be a JSON list of objects.
        Node::List(items) if is_whole => items,
        Node::Text(text) if is_template(text) => {
            found.unrendered = Some("the value");
            return;
        }
        Node::Map(_) if is_whole && kind_of(document).kind.as_str().ends_with("List") => {
            document.get("items").map(Node::items).unwrap_or_default()
        }
        Node::Map(_) => &[],
        Node::Null => return,
        other => {
            let what = format!("{} stands where an object should", other.type_name()).into();
            found.unreadable.get_or_insert(Unreadable { line: 0, what, may_be_secret: false });
            return;
        }
    };
    if !items.is_empty() {
        items.iter().for_each(|item| note(item, found, false));
        return;
    }
    if found.objects.len() >= MOST_OBJECTS {
        return;
    }
    const IDENTITY: [(&[&str], &str); 4] = [
        (&["apiVersion"], "apiVersion"),
        (&["kind"], "kind"),
        (&["metadata", "name"], "metadata.name"),
        (&["metadata", "namespace"], "metadata.namespace"),
    ];
    let left = IDENTITY.iter().find(|(path, _)| document.str_at(path).is_some_and(is_template));
    let entries =
        ["data", "stringData"].iter().flat_map(|field| document.get(field).map(Node::entries).unwrap_or_default());
    let is_entry_left = (kind_of(document).is_secret() || kind_of(document).is_config_map())
        && entries.into_iter().any(|(name, _)| is_template(name));
    if let Some((_, field)) = left {
        found.unrendered.get_or_insert(field);
    } else if is_entry_left {
        found.unrendered.get_or_insert("the name of an entry");
    }
    let object = called(document);
    if kind_of(document).is_secret() {
        let (holds, is_unfilled) = entries_of(document);
        let told = object.clone().unwrap_or_else(nameless);
        if holds {
            found.secrets.insert(told.clone());
        }
        if is_unfilled {
            found.unfilled.insert(told);
        }
    } else if found.in_clear.len() < MOST_OBJECTS {
        let kind = kind_of(document);
        let at = object.as_ref().map_or_else(|| String::from("an object"), |object| format!("{object}"));
        found.in_clear.extend(manifest_secrets(&kind, document).into_iter().map(|path| format!("{at}, {path}")));
    }
    found.objects.extend(object.filter(|_| left.is_none()));
}

/// The object that a document is, if it is called as objects are: what is no name may be a value.
fn called(document: &Node) -> Option<GuestObject> {
    let is_kind = |text: &str| {
        text.len() <= 63
            && text.starts_with(|c: char| c.is_ascii_uppercase())
            && text.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    let kind = kind_of(document);
    let is_group = kind.group == "" || is_dns_subdomain(kind.group.as_str());
    let name = document.str_at(&["metadata", "name"]).filter(|name| is_object_name(name))?;
    let namespace = match document.str_at(&["metadata", "namespace"]).filter(|text| !text.is_empty()) {
        None => None,
        Some(text) => Some(Some(text).filter(|text| is_dns_label(text))?.into()),
    };
    (is_group && is_kind(kind.kind.as_str())).then(|| GuestObject { kind, namespace, name: name.into() })
}

/// Whether a text can name an object: those of RBAC have colons in them.
fn is_object_name(text: &str) -> bool {
    is_dns_subdomain(text)
        || (text.len() <= 253 && text.split(':').all(|part| !part.is_empty() && is_dns_subdomain(part)))
}

/// A Secret whose name cannot be told.
fn nameless() -> GuestObject {
    GuestObject { kind: GroupKind::new("", "Secret"), namespace: None, name: "(without a name)".into() }
}

/// Whether a Secret has a value in it, and whether one is a variable that nobody has filled in.
fn entries_of(document: &Node) -> (bool, bool) {
    let (mut holds, mut is_unfilled) = (false, false);
    for field in ["data", "stringData"] {
        let values: Vec<&Node> = match document.get(field) {
            Some(Node::Map(entries)) => entries.iter().map(|(_, value)| value).collect(),
            Some(other) => [other].into(),
            None => Vec::new(),
        };
        for value in values {
            match value {
                Node::Null => {}
                Node::Text(text) if text.is_empty() => {}
                Node::Text(text) if is_variable(text) => is_unfilled = true,
                _ => holds = true,
            }
        }
    }
    (holds, is_unfilled)
}

/// Whether a text is one variable, and nothing beside it.
fn is_variable(text: &str) -> bool {
    let text = text.trim();
    let is_one = |begin: &str, end: &str| {
        text.strip_prefix(begin).and_then(|rest| rest.strip_suffix(end)).is_some_and(|inner| !inner.contains(begin))
    };
    is_one("${", "}") || is_one("{{", "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use alloc::string::ToString as _;

    /// What is told of a value: objects, Secrets that hold something, what is left, and whether it could be read.
    fn said(text: &str) -> String {
        let found = look(text.as_bytes(), &mut Interner::new());
        let shown =
            |objects: &BTreeSet<GuestObject>| objects.iter().map(|it| it.to_string()).collect::<Vec<_>>().join(",");
        let unreadable =
            found.unreadable.map(|it| format!("{} {}", it.line, if it.may_be_secret { "secret?" } else { "" }));
        format!(
            "{}|{}|{}|{}|{}",
            shown(&found.objects),
            shown(&found.secrets),
            shown(&found.unfilled),
            found.unrendered.unwrap_or_default(),
            unreadable.unwrap_or_default()
        )
    }

    #[test]
    fn a_value_is_looked_at_as_cluster_api_reads_it() {
        const SECRET: &str = "{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, data: {c: ZA==}}";
        for (text, expect) in [
            (SECRET, "Secret b/a|Secret b/a|||"),
            ("---\n# nothing\n", "||||"),
            (
                "[{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Secret, metadata: {name: b}}]",
                "Pod a,Secret b||||",
            ),
            ("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}", "Pod a||||"),
            (
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:a'}}",
                "ClusterRole.rbac.authorization.k8s.io system:a||||",
            ),
            ("{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: '${C}'}}", "Secret a||Secret a||"),
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: '{{ .C }}', d: e}}",
                "Secret a|Secret a|Secret a||",
            ),
            ("{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: ''}, data: null}", "Secret a||||"),
            ("{apiVersion: v1, kind: Secret, metadata: {name: a}, data: text}", "Secret a|Secret a|||"),
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {'${B}.c': d}}",
                "Secret a|Secret a||the name of an entry|",
            ),
            ("{apiVersion: v1, kind: Pod, metadata: {name: '${A}'}}", "|||metadata.name|"),
            ("{apiVersion: v1, kind: '{{ .Kind }}', metadata: {name: a}}", "|||kind|"),
            ("${A}", "|||the value|"),
            // What is no name of an object may be a value.
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: 'Pass word'}, data: {a: b}}",
                "|Secret (without a name)|||",
            ),
            ("{apiVersion: v1, kind: pass-word, metadata: {name: a}}", "||||"),
            ("{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: 'Pass word'}}", "||||"),
            ("# one\ntext: {", "||||2 "),
            ("text", "||||1 "),
            ("a: 1\n---\nkind: Secret\nb: {{ .C }}\n", "||||4 secret?"),
            ("a: {\n---\n{\"kind\": \"Secret\", \"a\": }}\n", "||||3 secret?"),
        ] {
            assert_eq!(said(text), expect, "{text}");
        }
    }

    #[test]
    fn a_value_that_nobody_looked_at_says_nothing() {
        let secret = object("{apiVersion: v1, kind: Secret, metadata: {name: a, namespace: b}, stringData: {c: d}}");
        assert_eq!(values(&secret).len(), 1);
        assert!(values(&secret.unseen()).is_empty());
        let map = object("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: b}, data: {c: d, e: null}}");
        assert_eq!(
            values(&map).iter().map(|value| (value.name, value.bytes)).collect::<Vec<_>>(),
            [("c", 1), ("e", 0)]
        );
    }
}
