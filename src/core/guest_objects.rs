//! Guest objects: what the payloads of ClusterResourceSets would write into the clusters that they are delivered to.
//!
//! A value of such a Secret or ConfigMap is YAML of whole objects. It is looked at, and published as it is. What is kept of
//! it is which objects stand in it, and that something is the matter: never a value. There is a bound on what is kept of a
//! value, and none on what is looked at.

mod likely;

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use self::likely::{Held, holds_secret_below, is_items, may_be_about_secrets, may_hold_secret, secret};
use crate::cleartext::manifest_secrets;
use crate::hash::sha256_start;
use crate::json;
use crate::name::{GroupKind, Name, Namespace, is_dns_label, is_dns_subdomain, is_template};
use crate::node::{Interner, Key, Node};
use crate::object::{Object, kind_of};
use crate::yaml::read::{documents, skim, text_of};

/// How many bytes a value has at least that Cluster API delivers: its reader looks at so many to tell YAML from JSON, and
/// takes fewer for an error.
///
/// <https://github.com/kubernetes-sigs/cluster-api/blob/v1.14.2/internal/controllers/clusterresourceset/clusterresourceset_helpers.go>
pub const LEAST_BYTES: usize = 32;

/// The most things of a sort that are kept of one value.
const MOST_KEPT: usize = 1000;

/// The most texts within each other that are read as manifests.
const MOST_TEXTS: usize = 3;

/// One value of a payload.
pub struct Value<'o> {
    /// Its name.
    pub name: &'o str,
    /// How many bytes it has.
    pub bytes: usize,
    /// Whether it is one of `binaryData`, which Cluster API does not read.
    pub is_binary: bool,
    /// What was found in it.
    pub found: Found,
}

/// What an object is written as, to tell whether two documents say the same; none where that is not known.
pub type Wording = Option<[u8; 16]>;

/// What stands in a value.
#[derive(Default)]
pub struct Found {
    /// The objects that can be told, and that Cluster API would write.
    pub objects: BTreeMap<GuestObject, Wording>,
    /// Secrets that hold something, and what may be meant as such, of any kind of payload.
    pub secrets: BTreeSet<GuestObject>,
    /// Where objects that are no Secrets hold what looks like one; none of what is sealed.
    pub in_clear: Vec<String>,
    /// Whether an object carries a whole Secret.
    is_carrier: bool,
    /// Secrets of which an entry is a variable that nobody filled in.
    pub unfilled: BTreeSet<GuestObject>,
    /// Where a variable is left that says which object is meant.
    pub unrendered: Option<&'static str>,
    /// What stands there that Cluster API does not take apart.
    pub undelivered: Option<&'static str>,
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

impl Found {
    fn cannot_read(&mut self, unreadable: Unreadable) {
        let is_known = self.unreadable.as_ref().is_some_and(|known| known.may_be_secret || !unreadable.may_be_secret);
        if !is_known {
            self.unreadable = Some(unreadable);
        }
    }
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
        let mut look = |bytes: &[u8]| look(bytes, &mut interner, Depth::Sealed);
        let entries = secret.entries().iter();
        return entries
            .map(|(name, bytes)| Value { name, bytes: bytes.len(), is_binary: false, found: look(bytes.expose()) })
            .collect();
    }
    let mut look = |bytes: &[u8]| look(bytes, &mut interner, Depth::Open(0));
    let mut values = Vec::new();
    for (field, is_binary) in [("data", false), ("binaryData", true)] {
        for (name, node) in payload.at(&[field]).map(Node::entries).unwrap_or_default() {
            let text = match node {
                Node::Text(text) => &**text,
                Node::Null => "",
                _ => continue,
            };
            let found = if is_binary { look_into_binary(text, &mut look) } else { look(text.as_bytes()) };
            values.push(Value { name, bytes: text.len(), is_binary, found });
        }
    }
    values
}

/// Looks into a value of `binaryData`.
fn look_into_binary(text: &str, look: &mut dyn FnMut(&[u8]) -> Found) -> Found {
    let encoded: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    match STANDARD.decode(encoded) {
        Ok(bytes) => look(&bytes),
        Err(_) => {
            let what = "it is not base64".into();
            Found { unreadable: Some(Unreadable { line: 1, what, may_be_secret: true }), ..Found::default() }
        }
    }
}

/// How far what is looked at stands from daylight.
#[derive(Clone, Copy)]
enum Depth {
    /// It is sealed: what it holds in clear is no matter.
    Sealed,
    /// In so many texts that are values of others, and not sealed.
    Open(usize),
}

fn look(bytes: &[u8], interner: &mut Interner, depth: Depth) -> Found {
    let mut found = Found::default();
    let text = match text_of(bytes) {
        Ok(text) => text,
        Err(flaw) => {
            found.cannot_read(Unreadable { line: flaw.line, what: flaw.what.into(), may_be_secret: true });
            return found;
        }
    };
    if is_list(text) {
        if let Ok(Node::List(items)) = json::read(text, interner) {
            items.iter().for_each(|item| note(item, &mut found, Place { wording: None, is_delivered: true, depth }));
            if found.undelivered.is_some() || found.unreadable.is_some() {
                found.objects.clear();
            }
            found.unreadable.iter_mut().for_each(|it| it.line = 1);
            return found;
        }
        found.undelivered = Some("a list that is no JSON");
    }
    let is_delivered = found.undelivered.is_none();
    for document in documents(text) {
        match skim(&document, interner) {
            Ok(node) => {
                let words = document.text.trim();
                let words = words.strip_prefix("---").unwrap_or(words).trim();
                let wording = Some(sha256_start(words.as_bytes()));
                note(&node, &mut found, Place { wording, is_delivered, depth });
                found.unreadable.iter_mut().filter(|it| it.line == 0).for_each(|it| it.line = document.line);
            }
            Err(flaw) => {
                let may_be_secret = may_hold_secret(document.text);
                found.cannot_read(Unreadable { line: flaw.line, what: flaw.what.into(), may_be_secret });
            }
        }
    }
    found
}

/// Whether Cluster API takes a value for a JSON list.
fn is_list(text: &str) -> bool {
    let begin = text.get(..text.floor_char_boundary(LEAST_BYTES)).unwrap_or_default();
    begin.trim_start().starts_with('[')
}

/// Where a node of a value stands.
#[derive(Clone, Copy)]
struct Place {
    /// Its words, if it is a whole document.
    wording: Wording,
    /// Whether Cluster API would write the object that it is.
    is_delivered: bool,
    /// How far it is from daylight.
    depth: Depth,
}

impl Place {
    /// Below something that Cluster API does not take apart.
    fn below(self) -> Self {
        Self { wording: None, is_delivered: false, ..self }
    }
}

/// Notes what one document holds, or one item of a list.
fn note(document: &Node, found: &mut Found, place: Place) {
    match document {
        Node::List(items) => {
            found.undelivered.get_or_insert("a list");
            items.iter().for_each(|item| note(item, found, place.below()));
        }
        Node::Text(text) if is_template(text) => {
            found.unrendered.get_or_insert("the value");
            if may_hold_secret(text) {
                found.cannot_read(not_an_object(document, true));
            }
        }
        Node::Map(_) => note_object(document, found, place),
        Node::Null => {}
        other => {
            let may_be_secret = other.as_str().is_some_and(may_hold_secret);
            found.cannot_read(not_an_object(other, may_be_secret));
        }
    }
}

fn not_an_object(node: &Node, may_be_secret: bool) -> Unreadable {
    let what = format!("{} stands where an object should", node.type_name()).into();
    Unreadable { line: 0, what, may_be_secret }
}

fn note_object(document: &Node, found: &mut Found, mut place: Place) {
    let kind = kind_of(document);
    if let Some(Node::List(items)) = document.get("items") {
        if kind.kind.as_str().ends_with("List") {
            found.undelivered.get_or_insert("a list of kind List");
            place.is_delivered = false;
        }
        items.iter().for_each(|item| note(item, found, place.below()));
    }
    let unknown = unknown(document);
    found.unrendered = found.unrendered.or(unknown).or_else(|| unknown_entry(&kind, document));
    let object = called(document);
    let mut is_told = false;
    if let Some(Held { holds, is_unfilled }) = secret(document) {
        let told = || as_secret(document);
        is_told = holds;
        if holds && found.secrets.len() < MOST_KEPT {
            found.secrets.insert(told());
        }
        if is_unfilled && found.unfilled.len() < MOST_KEPT {
            found.unfilled.insert(told());
        }
    }
    if let Depth::Open(depth) = place.depth
        && !is_told
        && found.in_clear.len() < MOST_KEPT
    {
        let at = object.as_ref().map_or_else(|| String::from("an object"), |object| format!("{object}"));
        // The items of a list are looked at by themselves: not once more for each list around them.
        let own: Vec<(Key, Node)> = document.entries().iter().filter(|entry| !is_items(entry)).cloned().collect();
        let document = &Node::map(own);
        if holds_secret_below(document) || has_secret_in_text(document, depth) {
            found.is_carrier = true;
            found.in_clear.push(format!("{at}, in which a Secret stands"));
        }
        let paths = manifest_secrets(&kind, document).into_iter().take(MOST_KEPT);
        found.in_clear.extend(paths.map(|path| format!("{at}, {path}")));
    }
    let Some(object) = object.filter(|_| unknown.is_none() && place.is_delivered) else { return };
    let is_full = found.objects.len() >= MOST_KEPT;
    match found.objects.get_mut(&object) {
        Some(wording) if *wording != place.wording => *wording = None,
        None if !is_full => _ = found.objects.insert(object, place.wording),
        _ => {}
    }
}

/// Where a variable is left that says which object is meant.
fn unknown(document: &Node) -> Option<&'static str> {
    const IDENTITY: [(&[&str], &str); 4] = [
        (&["apiVersion"], "apiVersion"),
        (&["kind"], "kind"),
        (&["metadata", "name"], "metadata.name"),
        (&["metadata", "namespace"], "metadata.namespace"),
    ];
    let left = IDENTITY.iter().find(|(path, _)| document.str_at(path).is_some_and(is_template));
    left.map(|(_, field)| *field)
}

/// Whether a variable is left in what an entry is called.
fn unknown_entry(kind: &GroupKind, document: &Node) -> Option<&'static str> {
    let entries = |field: &&str| document.get(field).map(Node::entries).unwrap_or_default();
    let is_left = || ["data", "stringData"].iter().flat_map(entries).any(|(name, _)| is_template(name));
    ((kind.is_secret() || kind.is_config_map()) && is_left()).then_some("the name of an entry")
}

/// Whether some text of an object is manifests with a Secret among them that holds something.
fn has_secret_in_text(node: &Node, depth: usize) -> bool {
    match node {
        Node::Text(text) if depth < MOST_TEXTS && may_be_about_secrets(text) => {
            let found = look(text.as_bytes(), &mut Interner::new(), Depth::Open(depth + 1));
            !found.secrets.is_empty() || found.is_carrier
        }
        Node::List(items) => items.iter().any(|item| has_secret_in_text(item, depth)),
        Node::Map(entries) => entries.iter().any(|(_, node)| has_secret_in_text(node, depth)),
        _ => false,
    }
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

/// A document as the Secret that it is, or that it may be meant to be.
fn as_secret(document: &Node) -> GuestObject {
    let kind = GroupKind::new("", "Secret");
    let namespace = document.str_at(&["metadata", "namespace"]).filter(|text| is_dns_label(text));
    match document.str_at(&["metadata", "name"]).filter(|name| is_object_name(name)) {
        Some(name) => GuestObject { kind, namespace: namespace.map(Namespace::from), name: name.into() },
        None => GuestObject { kind, namespace: None, name: "(without a name)".into() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use alloc::string::ToString as _;

    /// What is told of a value: objects, Secrets that hold something, what is left, and whether it could be read.
    fn said(text: &str) -> String {
        let found = look(text.as_bytes(), &mut Interner::new(), Depth::Open(0));
        let shown =
            |objects: &BTreeSet<GuestObject>| objects.iter().map(|it| it.to_string()).collect::<Vec<_>>().join(",");
        let objects = found.objects.keys().cloned().collect();
        let unreadable =
            found.unreadable.map(|it| format!("{} {}", it.line, if it.may_be_secret { "secret?" } else { "" }));
        format!(
            "{}|{}|{}|{}|{}",
            shown(&objects),
            shown(&found.secrets),
            shown(&found.unfilled),
            found.unrendered.or(found.undelivered).unwrap_or_default(),
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
                "|||a list that is no JSON|",
            ),
            (
                r#" [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}, {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}}]"#,
                "Pod a,Secret b||||",
            ),
            (r#"[[{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]]"#, "|||a list|"),
            ("- {apiVersion: v1, kind: Pod, metadata: {name: a}}", "|||a list|"),
            (
                "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}",
                "|||a list of kind List|",
            ),
            (
                "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: 'system:a'}}",
                "ClusterRole.rbac.authorization.k8s.io system:a||||",
            ),
            ("{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: '${C}'}}", "Secret a||Secret a||"),
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: '{{ .C }}', d: e}}",
                "Secret a|Secret a|Secret a||",
            ),
            (
                "{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {b: '„<your-secret>“'}}",
                "Secret a||Secret a||",
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
            ("kind: secrte\nb: {{ .C }}\n", "||||2 secret?"),
            ("kind: !!str Secret\na: 1\na: 2\n", "||||3 secret?"),
            ("kind: &k secret\na: 1\na: 2\n", "||||3 secret?"),
            ("kind:\n  Secret\na: 1\na: 2\n", "||||4 secret?"),
            ("kind: Deployment\na: 1\na: 2\nenv: [{API_PASSWORD: hunter2}]\n", "||||3 secret?"),
            ("kind: Deployment\na: 1\na: 2\nvolumes: [{secret: {secretName: a}}]\n", "||||3 "),
            ("password=hunter2", "||||1 secret?"),
            ("a: {\n---\n{\"kind\": \"Secret\", \"a\": }}\n", "||||3 secret?"),
        ] {
            assert_eq!(said(text), expect, "{text}");
        }
    }

    /// What is no Secret, but nearly, or may be meant as one, would stand in clear in a ConfigMap.
    #[test]
    fn what_may_be_meant_as_a_secret_counts_as_one() {
        const META: &str = "metadata: {name: a, namespace: b}";
        for text in [
            "{apiVersion: v1, kind: secret, META, stringData: {c: d}}",
            "{apiVersion: v1, kind: SECRET, META, data: {c: d}}",
            "{apiVersion: v1, kind: Secrets, META, data: {c: d}}",
            "{apiVersion: v1, kind: Secert, META, data: {c: d}}",
            "{apiVersion: core/v1, kind: Secret, META, data: {c: d}}",
            "{apiVersion: k8s.io/v1, kind: Secret, META, data: {c: d}}",
            "{apiVersion: v1, kind: Secret, META, dta: {c: d}}",
            "{apiVersion: v1, kind: Scrt, META, data: {c: d}}",
            "{apiVersion: v1, kind: Scrt, META, stringdata: {c: d}}",
            "{apiVersion: apps/v1, kind: Deployment, META, stringData: {c: d}}",
            "{apiVersion: v1, kind: ConfigMap, META, stringData: {c: d}}",
            "{apiVersion: v1, META, data: {c: d}}",
            "{apiVersion: v1, knd: Secret, META, data: {c: d}}",
            "{apiVersion: v1, kind: [Secret], META, data: {c: d}}",
            "{apiVersion: v1, kind: '${KIND}', META, data: {c: d}}",
            "[[{apiVersion: v1, kind: Secret, META, data: {c: d}}]]",
            "{kind: List, items: [{kind: List, items: [{apiVersion: v1, kind: Secret, META, data: {c: d}}]}]}",
            "{kind: Lst, items: [{apiVersion: v1, kind: Secret, META, data: {c: d}}]}",
            "{items: [[{apiVersion: v1, kind: Secret, META, data: {c: d}}]]}",
            "{apiVersion: v1, kind: Secret, META, stringData: {c: '${D:=hunter2}'}}",
            "{apiVersion: v1, kind: Secret, META, stringData: {c: '${A}hunter2}'}}",
            "{apiVersion: v1, kind: Secret, META, stringData: {c: '{{ \"hunter2\" }}'}}",
            "{apiVersion: v1, kind: Secret, META, stringData: {c: '{{ default \"hunter2\" .C }}'}}",
        ] {
            let said = said(&text.replace("META", META));
            assert!(said.split('|').nth(1).is_some_and(|secrets| secrets == "Secret b/a"), "{text}\n{said}");
        }
        for text in [
            "{apiVersion: v1, kind: ConfigMap, META, data: {c: d}}",
            "{apiVersion: v1, kind: Configmap, META, data: {c: d}}",
            "{apiVersion: secretsmanager.aws.upbound.io/v1, kind: Secret, META, spec: {forProvider: {region: a}}}",
            "{apiVersion: apps/v1, kind: ControllerRevision, META, data: {c: d}}",
            "{apiVersion: v1, kind: ServiceAccount, META, secrets: [{name: c}]}",
            "{apiVersion: v1, kind: Secret, META, type: kubernetes.io/service-account-token}",
        ] {
            let said = said(&text.replace("META", META));
            assert!(said.split('|').nth(1).is_some_and(str::is_empty), "{text}\n{said}");
        }
    }

    /// Whether something stands in clear in an object of a value.
    fn is_in_clear(text: &str) -> bool {
        !look(text.as_bytes(), &mut Interner::new(), Depth::Open(0)).in_clear.is_empty()
    }

    #[test]
    fn every_field_of_an_object_is_looked_at() {
        let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  b: |\n    kind: Secret\n    apiVersion: v1\n    stringData: {c: d}\n";
        for text in [
            map,
            "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, parameters: {password: hunter2}}",
            "{apiVersion: example.com/v1, kind: A, metadata: {name: a}, data: {token: hunter2}}",
            "{apiVersion: example.com/v1, kind: A, metadata: {name: a}, password: hunter2}",
            "{password: hunter2}",
            "{apiVersion: work/v1, kind: Work, metadata: {name: a}, spec: {manifests: [{kind: Secret, data: {b: Yw==}}]}}",
            "{apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {last: '{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}'}}}",
            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a, annotations: {last: '{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}'}}}",
        ] {
            assert!(is_in_clear(text), "{text}");
        }
        for text in [
            "{apiVersion: v1, kind: ServiceAccount, metadata: {name: a}, secrets: [{name: c}], automountServiceAccountToken: true}",
            "{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: a}, rules: [{resources: [secrets, serviceaccounts/token], verbs: [get]}]}",
            "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: a}, parameters: {csi.storage.k8s.io/node-stage-secret-name: b}}",
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {b: 'kind: Secret'}}",
        ] {
            assert!(!is_in_clear(text), "{text}");
        }
    }

    /// However many objects stand before it.
    #[test]
    fn the_last_object_of_a_value_is_looked_at() {
        let pods: String = (0..=MOST_KEPT)
            .map(|n| format!("---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p{n}}}}}\n"))
            .collect();
        let text = format!("{pods}---\n{{apiVersion: v1, kind: Secret, metadata: {{name: a}}, data: {{b: Yw==}}}}\n");
        let found = look(text.as_bytes(), &mut Interner::new(), Depth::Open(0));
        assert_eq!((found.objects.len(), found.secrets.len()), (MOST_KEPT, 1));
    }

    #[test]
    fn what_stands_where_a_list_of_objects_should_is_looked_at_too() {
        for text in [
            "{kind: List, items: {apiVersion: v1, kind: Secret, metadata: {name: a}, data: {.dockerconfigjson: eyJ9}}}",
            "{apiVersion: x.io/v1, kind: Thing, metadata: {name: a}, spec: {all: [{kind: Secret, stringdata: {config: d}}]}}",
        ] {
            let found = look(text.as_bytes(), &mut Interner::new(), Depth::Open(0));
            assert!(found.is_carrier && !found.in_clear.is_empty(), "{text}");
        }
    }

    /// Were each list to look once more at all below it, this would take hours.
    #[test]
    fn lists_in_lists_in_texts_cost_what_is_written() {
        let lists = |inner: &str| {
            let (begin, end) = ("{\"kind\":\"List\",\"items\":[".repeat(60), "]}".repeat(60));
            format!("{begin}{inner}{end}")
        };
        let text = |inner: &str| format!("{{\"kind\":\"Thing\",\"spec\":{{\"text\":{inner:?}}}}}");
        let many: String =
            (0..2_000).map(|n| format!("---\n# no Secret\nkind: Pod\nmetadata: {{name: p{n}}}\n")).collect();
        let whole = lists(&text(&lists(&text(&lists(&text(&many))))));
        let found = look(whole.as_bytes(), &mut Interner::new(), Depth::Open(0));
        assert!(found.secrets.is_empty() && !found.is_carrier);
    }

    #[test]
    fn binary_values_are_decoded() {
        let map = |value: &str| {
            object(&format!(
                "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: a, namespace: b}}, binaryData: {{c: {value}}}}}"
            ))
        };
        let is_told = |value: &str| {
            let map = map(value);
            let values = values(&map);
            let found = &values[0].found;
            values[0].is_binary
                && (!found.secrets.is_empty() || found.unreadable.as_ref().is_some_and(|it| it.may_be_secret))
        };
        assert!(is_told(&STANDARD.encode("kind: Secret\napiVersion: v1\ndata: {a: b}\n")));
        assert!(is_told(&STANDARD.encode([0xff, 0xfe, 0x00])));
        assert!(!is_told(&STANDARD.encode("kind: Pod\napiVersion: v1\n")));
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
