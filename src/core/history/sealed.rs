//! What a sealed file shows without being opened: whose it is, who can open it, what its entries are
//! called, how long they are, and what its tags cover.
//!
//! The file comes from a history that anybody may have written to. The recipient that a stanza names is taken at its
//! word: it cannot be checked from outside.

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use crate::hash::sha256_hex;
use crate::name::{GroupKind, ObjectKey};
use crate::node::{Interner, Node};
use crate::reuse;
use crate::sops::{cipher, metadata};
use crate::yaml::read::{documents, read, text_of};

/// The most characters of a recipient that are kept; an age recipient has 62.
const LONGEST_RECIPIENT: usize = 128;

/// A Secret as a file in a repository has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SealedSecret {
    /// The Secret that the file says it is.
    pub key: ObjectKey,
    /// The recipients that its stanzas name; none if the file is not sealed at all.
    pub recipients: BTreeSet<String>,
    /// Other readers, as far as the file names them: [`UNKNOWN`], or the kind and the name of a key that is not age's.
    pub unknown: BTreeSet<String>,
    /// Its entries by name.
    pub entries: BTreeMap<String, SealedLeaf>,
    /// Its entries that also have a value in clear, in what `kubectl apply` left beside the sealed ones.
    pub applied: BTreeSet<String>,
    /// The tags in its header, if pouch wrote one.
    pub tags: Option<Tags>,
    /// SHA-256 of the file in lower-case hex, by which a manifest vouches for it.
    pub sha256: String,
}

/// The one entry of a payload for guest clusters.
const ENVELOPE: &str = "objects.yaml";

/// The reader of a file that somebody can open although it names nobody: sops and age need no name.
pub const UNKNOWN: &str = "reader unknown";

/// The annotation in which `kubectl apply` keeps a whole object as it was applied.
/// <https://kubernetes.io/docs/reference/labels-annotations-taints/#kubectl-kubernetes-io-last-applied-configuration>
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The fields that name a key that is not age's, in all of SOPS' kinds.
const NAMES: [&str; 9] =
    ["fp", "arn", "resource_id", "key_id", "vault_url", "name", "vault_address", "engine_path", "key_name"];

/// What stands in place of a value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SealedLeaf {
    /// Nothing: the value is empty.
    Empty,
    /// The ciphertext.
    Sealed(Box<str>),
    /// The value itself, which is not kept here.
    Clear,
}

/// The header of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tags {
    /// The id of the reuse key, as the file says.
    pub key_id: String,
    /// The lines after the first.
    pub entry_lines: String,
}

/// How tags cover a value, beside the file's own tag, which covers all of the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Cover {
    /// It is the only short value, so the joint tag is its own.
    Alone,
    /// It shares the joint tag with other short values.
    Joint,
    /// It is 16 bytes long or longer, and has a tag of its own.
    Own,
}

/// Whether bytes can hold a Secret at all, without parsing anything.
///
/// A quoted text may spell the word with escapes, and text in UTF-16 spells it in other bytes.
pub fn may_be_secret(bytes: &[u8]) -> bool {
    let is_wide = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
    is_wide || bytes.contains(&b'\\') || bytes.windows(6).any(|window| window == b"Secret")
}

impl SealedSecret {
    /// Whether it seems to be a payload that pouch makes for guest clusters: a document around the values, with a line made by
    /// a key. Another document may hold the same values, so that neither tags nor lengths tell that they are others.
    pub fn is_envelope(&self) -> bool {
        self.key.name.as_str().starts_with("pouch-") && self.entries.keys().eq([ENVELOPE])
    }

    /// Reads the Secrets of a file; documents of other kinds are passed over.
    pub fn read(bytes: &[u8], interner: &mut Interner) -> Result<Vec<Self>, &'static str> {
        if !may_be_secret(bytes) {
            return Ok(Vec::new());
        }
        let text = text_of(bytes).map_err(|_| "it is not UTF-8")?;
        let mut found = Vec::new();
        for document in documents(text) {
            let node = read(&document, interner).map_err(|_| "it is not YAML that pouch can read")?;
            add(&mut found, bytes, &node, Head::of(&node), &Readers::default(), interner)?;
        }
        Ok(found)
    }

    /// The names of its entries that have a value.
    pub fn filled(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().filter(|(_, leaf)| **leaf != SealedLeaf::Empty).map(|(name, _)| name.as_str())
    }

    /// Everybody who can read it, as far as it names them.
    pub fn readers(&self) -> impl Iterator<Item = &str> {
        self.recipients.iter().chain(&self.unknown).map(String::as_str)
    }

    /// How tags cover each non-empty entry; empty if pouch wrote no tags.
    pub fn covers(&self) -> BTreeMap<&str, Cover> {
        let Some(tags) = &self.tags else { return BTreeMap::new() };
        let own = reuse::own_tags(&tags.entry_lines);
        let (long, short): (Vec<&str>, Vec<&str>) = self.filled().partition(|name| own.contains_key(name));
        let of_short = if short.len() == 1 { Cover::Alone } else { Cover::Joint };
        long.into_iter().map(|name| (name, Cover::Own)).chain(short.into_iter().map(|name| (name, of_short))).collect()
    }

    /// The length of an entry's text in bytes, as its ciphertext shows; none unless pouch sealed the file.
    ///
    /// Pouch's base64 has one spelling only, so that another length is another value.
    pub fn length(&self, name: &str) -> Option<usize> {
        self.tags.as_ref()?;
        match self.entries.get(name)? {
            SealedLeaf::Empty => Some(0),
            SealedLeaf::Sealed(text) => cipher::length(text),
            SealedLeaf::Clear => None,
        }
    }
}

/// What a node says it is.
#[derive(Clone, Copy)]
struct Head<'n> {
    api_version: Option<&'n str>,
    kind: Option<&'n str>,
}

impl<'n> Head<'n> {
    fn of(node: &'n Node) -> Self {
        Self { api_version: node.str_at(&["apiVersion"]), kind: node.str_at(&["kind"]) }
    }

    /// What an item of this list is; the list says what the item leaves out, as in a `SecretList`.
    fn of_item(self, item: &'n Node) -> Self {
        let own = Self::of(item);
        let kind = self.kind.and_then(|kind| kind.strip_suffix("List")).filter(|kind| !kind.is_empty());
        Self { api_version: own.api_version.or(self.api_version), kind: own.kind.or(kind) }
    }
}

/// Adds the Secrets of a document of the file `bytes`.
///
/// Whoever opens a list opens its items: sops seals a document as a whole.
fn add(
    found: &mut Vec<SealedSecret>,
    bytes: &[u8],
    node: &Node,
    head: Head<'_>,
    above: &Readers,
    interner: &mut Interner,
) -> Result<(), &'static str> {
    let mut readers = Readers::of(node);
    readers.recipients.extend(above.recipients.iter().cloned());
    readers.unknown.extend(above.unknown.iter().cloned());
    if head.kind.is_some_and(|kind| kind.ends_with("List")) {
        let items = node.at(&["items"]).map(Node::items).unwrap_or_default();
        return items.iter().try_for_each(|item| add(found, bytes, item, head.of_item(item), &readers, interner));
    }
    if (head.api_version, head.kind) != (Some("v1"), Some("Secret")) {
        return Ok(());
    }
    let name = node.str_at(&["metadata", "name"]).filter(|name| !name.is_empty());
    let namespace = node.str_at(&["metadata", "namespace"]).unwrap_or_default();
    let entries = entries(node);
    let is_sealed = entries.values().any(|leaf| matches!(leaf, SealedLeaf::Sealed(_)));
    if is_sealed && readers.recipients.is_empty() && readers.unknown.is_empty() {
        // Somebody has the data key, wherever it stands.
        readers.unknown.insert(UNKNOWN.to_owned());
    }
    found.push(SealedSecret {
        key: ObjectKey::new(
            GroupKind::new("", "Secret"),
            (!namespace.is_empty()).then(|| namespace.into()),
            name.ok_or("it is a Secret without a name")?.into(),
        ),
        recipients: readers.recipients,
        unknown: readers.unknown,
        applied: applied(node, interner),
        entries,
        tags: tags(bytes),
        sha256: sha256_hex(bytes),
    });
    Ok(())
}

/// Who opens a document, by its `sops` block.
#[derive(Default)]
struct Readers {
    recipients: BTreeSet<String>,
    unknown: BTreeSet<String>,
}

impl Readers {
    fn of(node: &Node) -> Self {
        let mut readers = Self::default();
        let Some(block) = node.at(&[metadata::KEY]) else { return readers };
        readers.add(block);
        // Pouch writes no groups. A key in a group may hold a part of the data key or the whole, so it counts.
        block.at(&["key_groups"]).map(Node::items).unwrap_or_default().iter().for_each(|group| readers.add(group));
        readers
    }

    /// Adds the readers of a block or of a group in it: each list in there is a list of keys.
    fn add(&mut self, keys: &Node) {
        for (kind, list) in keys.entries().iter().filter(|(kind, _)| **kind != *"key_groups") {
            for key in list.items().iter().filter(|key| opens(key)) {
                let named = key.str_at(&["recipient"]).map(label).filter(|label| !label.is_empty());
                match (&**kind, named) {
                    ("age", Some(label)) => self.recipients.insert(label),
                    ("age", None) => self.unknown.insert(UNKNOWN.to_owned()),
                    (kind, _) => self.unknown.insert(other(kind, key)),
                };
            }
        }
    }
}

/// Whether a key's entry holds the data key: without it, the entry opens nothing.
fn opens(key: &Node) -> bool {
    key.at(&["enc"]).is_some_and(|sealed| !matches!(sealed, Node::Null) && sealed.as_str() != Some(""))
}

/// A key that is not age's, as people know it.
fn other(kind: &str, key: &Node) -> String {
    let names = NAMES.iter().filter_map(|name| key.str_at(&[name])).filter(|name| !name.is_empty());
    core::iter::once(kind).chain(names).collect::<Vec<_>>().join(" ").chars().take(LONGEST_RECIPIENT).collect()
}

/// The entries whose value stands in clear in the annotation of `kubectl apply`; the annotation's own name if nobody
/// can tell which.
///
/// The annotation is sealed only where somebody asked SOPS for that.
fn applied(node: &Node, interner: &mut Interner) -> BTreeSet<String> {
    let annotation = node.at(&["metadata", "annotations", APPLIED]);
    let text = match annotation {
        None | Some(Node::Null) => return BTreeSet::new(),
        Some(Node::Text(text)) if text.is_empty() || cipher::is_sealed(text) => return BTreeSet::new(),
        Some(other) => other.as_str().unwrap_or_default(),
    };
    let mut parts = documents(text);
    let (Some(document), None) = (parts.next(), parts.next()) else { return BTreeSet::from([APPLIED.to_owned()]) };
    let is_plain = |object: &Node| {
        let fields = ["data", "stringData"].iter().filter_map(|field| object.at(&[field]));
        object.is_map() && fields.into_iter().all(|field| field.is_map() || matches!(field, Node::Null))
    };
    match read(&document, interner) {
        Ok(object) if is_plain(&object) => {
            let clear = entries(&object).into_iter().filter(|(_, leaf)| *leaf == SealedLeaf::Clear);
            clear.map(|(name, _)| name).collect()
        }
        _ => BTreeSet::from([APPLIED.to_owned()]),
    }
}

/// A stanza's label in the form in which labels are compared.
///
/// No program needs the label to open the file, so in capitals or between blanks it names the same recipient.
fn label(text: &str) -> String {
    let text: String = text.trim().chars().take(LONGEST_RECIPIENT).collect();
    let is_age = text.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("age1"));
    if is_age { text.to_ascii_lowercase() } else { text }
}

fn entries(node: &Node) -> BTreeMap<String, SealedLeaf> {
    let of = |field: &str| node.at(&[field]).map(Node::entries).unwrap_or_default();
    let leaf = |value: &Node| match value {
        Node::Null => SealedLeaf::Empty,
        Node::Text(text) if text.is_empty() => SealedLeaf::Empty,
        Node::Text(text) if text.starts_with(cipher::MARK) => SealedLeaf::Sealed(text.clone()),
        _ => SealedLeaf::Clear,
    };
    let both = of("data").iter().chain(of("stringData"));
    both.map(|(name, value)| ((**name).to_owned(), leaf(value))).collect()
}

fn tags(bytes: &[u8]) -> Option<Tags> {
    let tagged = reuse::split(bytes)?;
    Some(Tags { key_id: tagged.key_id.to_owned(), entry_lines: tagged.entry_lines.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAF: &str = "ENC[AES256_GCM,data:qqqqqqo=,iv:AAAA,tag:AAAA,type:str]";

    fn file(header: &str, data: &str, sops: &str) -> String {
        format!("{header}apiVersion: v1\ndata:{data}\nkind: Secret\nmetadata: {{name: a, namespace: b}}\nsops:{sops}\n")
    }

    fn one(text: &str) -> SealedSecret {
        SealedSecret::read(text.as_bytes(), &mut Interner::new()).unwrap().remove(0)
    }

    #[test]
    fn a_file_shows_its_key_readers_entries_and_tags() {
        let tag = "A".repeat(43);
        let header =
            format!("# pouch/v1 0123abcd {tag}\n# pouch/v1 entry long AAAAAAAAAAA\n# pouch/v1 entries AAAAAAAAAAA\n");
        let data = format!("\n  long: {LEAF}\n  short: {LEAF}\n  none: \"\"");
        let sealed = one(&file(&header, &data, "\n  age: [{recipient: age1x, enc: why}, {recipient: age1z}]"));
        assert_eq!(format!("{}", sealed.key), "Secret b/a");
        assert_eq!(sealed.recipients.iter().collect::<Vec<_>>(), ["age1x"], "a stanza without a key opens nothing");
        let covers: Vec<_> = sealed.covers().into_iter().collect();
        assert_eq!(covers, [("long", Cover::Own), ("short", Cover::Alone)]);
        assert_eq!((sealed.length("long"), sealed.length("none"), sealed.length("no")), (Some(5), Some(0), None));
        assert_eq!(sealed.tags.unwrap().key_id, "0123abcd");
    }

    #[test]
    fn what_is_in_clear_is_said_and_not_kept() {
        let sealed =
            one("{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {x: hunter2, num: 1, e: null}}");
        assert!(sealed.recipients.is_empty() && sealed.key.namespace.is_none());
        assert_eq!((&sealed.entries["x"], &sealed.entries["num"]), (&SealedLeaf::Clear, &SealedLeaf::Clear));
        assert_eq!(sealed.entries["e"], SealedLeaf::Empty);
        assert!(!format!("{sealed:?}").contains("hunter2"));
    }

    #[test]
    fn groups_count_and_long_labels_are_cut() {
        let long = "x".repeat(1000);
        let sops = format!(
            "\n  key_groups: [{{age: [{{recipient: age1g, enc: z}}]}}]\n  age: [{{recipient: {long}, enc: z}}]"
        );
        let sealed = one(&file("", &format!(" {{a: \"{LEAF}\"}}"), &sops));
        assert_eq!((sealed.recipients.len(), sealed.unknown.len()), (2, 0));
        assert!(sealed.recipients.iter().all(|label| label.len() <= 128) && sealed.covers().is_empty());
        assert_eq!(sealed.length("a"), None, "nobody says that its base64 is canonical");
    }

    #[test]
    fn a_label_in_capitals_or_between_blanks_names_the_same_recipient() {
        let sealed = one(&file("", &format!(" {{a: \"{LEAF}\"}}"), " {age: [{recipient: ' AGE1xQ ', enc: z}]}"));
        assert_eq!(sealed.recipients.iter().collect::<Vec<_>>(), ["age1xq"]);
        let sealed = one(&file("", &format!(" {{a: \"{LEAF}\"}}"), " {age: [{recipient: Somebody, enc: z}]}"));
        assert_eq!(sealed.recipients.iter().collect::<Vec<_>>(), ["Somebody"], "what this is, nobody knows");
    }

    #[test]
    fn readers_that_no_recipient_names_are_told() {
        let check = |sops: &str, recipients: &[&str], unknown: &[&str]| {
            let sealed = one(&file("", &format!(" {{a: \"{LEAF}\"}}"), &format!(" {sops}")));
            assert_eq!(sealed.recipients.iter().collect::<Vec<_>>(), recipients, "{sops}");
            assert_eq!(sealed.unknown.iter().collect::<Vec<_>>(), unknown, "{sops}");
        };
        for nameless in ["{enc: z}", "{recipient: '', enc: z}", "{recipient: 7, enc: z}", "{recipient: [x], enc: z}"] {
            check(&format!("{{age: [{nameless}]}}"), &[], &[UNKNOWN]);
            check(&format!("{{key_groups: [{{age: [{nameless}]}}]}}"), &[], &[UNKNOWN]);
            check(&format!("{{age: [{{recipient: age1x, enc: z}}, {nameless}]}}"), &["age1x"], &[UNKNOWN]);
        }
        // Somebody opens it, whatever is to be seen of that.
        for sops in ["{}", "null", "{age: []}", "{age: {recipient: age1x, enc: z}}", "{age: [{recipient: age1x}]}"] {
            check(sops, &[], &[UNKNOWN]);
        }
        let others = "pgp: [{fp: ABCD, enc: z}], kms: [{arn: 'arn:aws:kms:x', enc: z}], azure_kv: [{vault_url: \
                      'https://v', name: key, enc: z}], hc_vault: [{enc: z}], gcp_kms: [], hckms: null";
        let told = ["azure_kv https://v key", "hc_vault", "kms arn:aws:kms:x", "pgp ABCD"];
        check(&format!("{{{others}}}"), &[], &told);
        check(&format!("{{age: [{{recipient: age1x, enc: z}}], key_groups: [{{{others}}}]}}"), &["age1x"], &told);
    }

    #[test]
    fn what_kubectl_left_in_clear_beside_sealed_values_is_told() {
        let check = |annotation: &str, expect: &[&str]| {
            let sealed = one(&format!(
                "{{apiVersion: v1, kind: Secret, metadata: {{name: a, annotations: {{{APPLIED}: {annotation}}}}}, \
                 data: {{x: \"{LEAF}\"}}, sops: {{age: [{{recipient: age1x, enc: z}}]}}}}"
            ));
            assert_eq!(sealed.applied.iter().collect::<Vec<_>>(), expect, "{annotation}");
            assert!(!format!("{sealed:?}").contains("hunter2"));
        };
        check("'{\"data\":{\"x\":\"hunter2\",\"e\":\"\"},\"stringData\":{\"y\":\"hunter2\"}}'", &["x", "y"]);
        check("'{\"metadata\":{\"name\":\"a\"}}'", &[]);
        for whole in [
            "'{\"data\": hunter2'",
            "'{\"data\": \"hunter2\"}'",
            "hunter2",
            "[hunter2]",
            "\"{a: b}\\n---\\n{c: hunter2}\"",
        ] {
            check(whole, &[APPLIED]);
        }
        let (iv, tag) = ("A".repeat(43), "A".repeat(22));
        for nothing in ["''", "null", &format!("'ENC[AES256_GCM,data:qqo=,iv:{iv}=,tag:{tag}==,type:str]'")] {
            check(nothing, &[]);
        }
        check("'ENC[AES256_GCM,hunter2]'", &[APPLIED]);
    }

    #[test]
    fn lists_show_their_items() {
        let item = |name: &str, sops: &str| {
            format!("{{apiVersion: v1, kind: Secret, metadata: {{name: {name}}}, data: {{x: \"{LEAF}\"}}{sops}}}")
        };
        let check = |text: &str, expect: &[&str]| {
            let found = SealedSecret::read(text.as_bytes(), &mut Interner::new()).unwrap();
            let line = |one: &SealedSecret| format!("{} {:?}", one.key.name, one.recipients.iter().collect::<Vec<_>>());
            assert_eq!(found.iter().map(line).collect::<Vec<_>>(), expect, "{text}");
        };
        let own = ", sops: {age: [{recipient: age1x, enc: z}]}";
        let whole = "sops: {age: [{recipient: age1w, enc: z}]}";
        let inner = format!("{{apiVersion: v1, kind: List, items: [{}]}}", item("c", ""));
        let list = format!("apiVersion: v1\nkind: List\nitems: [{}, {}, {inner}]\n", item("a", own), item("b", ""));
        check(&list, &["a [\"age1x\"]", "b []", "c []"]);
        check(&format!("{list}{whole}\n"), &["a [\"age1w\", \"age1x\"]", "b [\"age1w\"]", "c [\"age1w\"]"]);
        check("{apiVersion: v1, kind: SecretList, items: [{metadata: {name: d}, data: {x: eA==}}]}", &["d []"]);
        check("{apiVersion: v1, kind: List, items: null, note: Secret}", &[]);
    }

    #[test]
    fn what_is_no_secret_is_passed_over_and_what_may_be_one_is_not() {
        let read = |text: &[u8]| SealedSecret::read(text, &mut Interner::new()).map(|found| found.len());
        assert_eq!(read(b"kind: [ConfigMap"), Ok(0));
        assert_eq!(read(b"{apiVersion: v1, kind: ConfigMap, metadata: {name: Secret}}"), Ok(0));
        assert_eq!(read(b"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: b}\n"), Ok(2));
        assert!(read(b"kind: Secret\nkind: Secret\n").is_err());
        assert_eq!(read(b"{apiVersion: v1, kind: \"Sec\\x72et\", metadata: {name: a}}"), Ok(1));
        assert!(read(b"\xff\xfek\0").is_err(), "it may say anything");
        assert!(read(b"Secret \xff").is_err());
        assert!(read(b"{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret}]}").is_err());
        assert!(read(b"{apiVersion: v1, kind: Secret}").is_err());
    }
}
