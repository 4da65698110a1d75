//! Objects: what a document becomes once it is admitted.
//!
//! [`admit`] is the only function that sees an undivided Secret. It moves the values into a
//! [`Payload`], keeps of everything else what some stage reads, and drops the rest: managed fields,
//! annotations that are not allowed (`last-applied-configuration` is a cleartext copy of the Secret),
//! `status` except where it is read. It knows nothing of sources beyond the [`Origin`] it is told.

mod aside;
mod matched;
mod misplaced;
pub mod steering;
mod version;

use alloc::borrow::ToOwned as _;
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::ciphertext::{Ciphertext, ciphertext, ciphertext_below, is_sealed_value};
use crate::finding::{Code, Fault, Finding, Origin, Place, crowd};
use crate::kinds::{self, COMPONENT_LABEL, DECISION_KEY, MANAGED_BY, MANAGED_BY_LABEL, MANAGED_LABEL, OF_KCM, Scopes};
use crate::lenient::of_blank;
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Scope, Version, is_data_key, split_api_version};
use crate::nearest::{edits, nearest};
use crate::node::{Key, Node};
use crate::secret::{Payload, SecretBytes, from_base64, holds_key};
use crate::unread_words::UnreadWords;
use aside::{Aside, Content};
pub use aside::{Digest, RunKey};
pub use matched::{COPIES, FIELDS as FIELDS_OF_METADATA, Matched};
pub use misplaced::{Misplaced, misplaced};
pub use version::{meant as meant_version, unrendered};

/// The group and kind that a document states; each is empty if it states none.
pub fn kind_of(document: &Node) -> GroupKind {
    let (group, _) = split_api_version(document.str_at(&["apiVersion"]).unwrap_or_default());
    GroupKind::new(group, document.str_at(&["kind"]).unwrap_or_default())
}

/// Labels or annotations that were kept, sorted by key.
pub type Pairs = Box<[(Key, Box<str>)]>;

/// An admitted object.
pub struct Object {
    /// What identifies it.
    pub key: ObjectKey,
    /// The version it is written in.
    pub version: Version,
    /// Where it stands.
    pub origin: Origin,
    /// The labels that some stage reads or the configuration keeps.
    pub labels: Pairs,
    /// The annotations that the configuration, or a companion, keeps.
    pub annotations: Pairs,
    /// What [`SILENCE_ANNOTATION`] says, if it is there; it is never published, and no part of the content.
    pub silence: Option<Box<str>>,
    /// All its labels and annotations, where rules match objects by them; never published, and no part of the content.
    pub matched: Option<Box<Matched>>,
    /// Whether it has a `deletionTimestamp`.
    pub deleting: bool,
    /// True if a controller made it, by its owner or because it was read from where that runs; no part of the content.
    pub made: bool,
    /// Whether its label says that pouch published it; no part of the content.
    pub ours: bool,
    /// Whether its label says that it belongs into backups of the management cluster; no part of the content.
    pub backed_up: bool,
    /// A map of the fields that stages read: `spec`, `type`, a ConfigMap's `data`, some `status`.
    pub body: Node,
    /// A Secret's values; none of any other object, or of a Secret of which nobody looked even at the names.
    pub payload: Option<Payload>,
    /// The place of the content, where that was put aside: then body and payload are empty.
    pub(crate) aside: Option<Box<Aside>>,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
    /// Why it must never leave its cluster, whatever refers to it.
    pub stays: Option<&'static str>,
    /// Whether it is left alone on a region where it is there already.
    pub create_only: bool,
}

impl Object {
    /// Whether a field at its top is mistyped, so that what it was meant to say is unknown (DESIGN §2.6).
    pub fn is_mistyped(&self) -> bool {
        self.faults.iter().any(|fault| fault.code == Code::Mistyped)
    }

    /// About how many bytes the entries of a Secret take in a sealed file.
    pub fn sealed_bytes(&self) -> usize {
        let entries = self.payload.as_ref().map(Payload::entries).unwrap_or_default();
        entries.iter().map(|(name, bytes)| sealed_size(name, bytes)).sum()
    }

    /// The same Secret, of which nobody looked at the values; where not even names are known, its document has none.
    #[must_use]
    pub fn unseen(mut self) -> Self {
        self.payload = self.payload.filter(|names| !names.entries().is_empty()).map(Payload::unseen);
        self
    }

    /// The label called `key`.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels.iter().find(|(k, _)| **k == *key).map(|(_, v)| &**v)
    }

    /// The field at `path`.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        self.body.at(path)
    }

    /// Whether two copies say the same, wherever they stand.
    pub fn same_content(&self, other: &Self) -> bool {
        let is_same = match (&self.aside, &other.aside) {
            (None, None) => None,
            (Some(aside), None) => Some(aside.is_of(&other.content())),
            (None, Some(aside)) => Some(aside.is_of(&self.content())),
            (Some(aside), Some(other)) => Some(aside.is_same(other)),
        };
        if let Some(is_same) = is_same {
            return is_same && self.own_faults().eq(other.own_faults());
        }
        let payloads = match (&self.payload, &other.payload) {
            (Some(a), Some(b)) => a.same(b),
            (None, None) => true,
            _ => false,
        };
        payloads
            && self.version == other.version
            && self.labels == other.labels
            && self.annotations == other.annotations
            && self.deleting == other.deleting
            && self.create_only == other.create_only
            && self.body == other.body
            && self.own_faults().eq(other.own_faults())
    }

    /// Drops the content, and keeps a digest of it.
    pub(crate) fn put_aside(&mut self, key: &RunKey) {
        self.aside = Some(Box::new(Aside::of(&self.content(), key)));
        self.body = Node::Null;
        self.payload = None;
    }

    /// Returns true if the content was put aside.
    pub fn is_aside(&self) -> bool {
        self.aside.is_some()
    }

    /// Returns true if the content that was put aside is that of another object.
    pub(crate) fn is_content_of(&self, other: &Self) -> bool {
        self.aside.as_ref().is_some_and(|aside| aside.is_of(&other.content()))
    }

    fn content(&self) -> Content<'_> {
        let Self { version, labels, annotations, deleting, create_only, body, payload, .. } = self;
        let (deleting, create_only) = (*deleting, *create_only);
        Content {
            version: version.as_str(),
            pairs: [labels, annotations],
            deleting,
            create_only,
            body,
            payload: payload.as_ref(),
        }
    }

    /// Faults of the object itself, and not of there being another copy.
    fn own_faults(&self) -> impl Iterator<Item = &Fault> {
        self.faults.iter().filter(|fault| fault.code != Code::DuplicateObject)
    }
}

/// The labels and annotations that are kept (`keepMetadata` of the configuration).
pub trait Keep {
    /// Whether the label `key` is kept.
    fn label(&self, key: &str) -> bool;
    /// Whether the annotation `key` is kept.
    fn annotation(&self, key: &str) -> bool;
    /// Whether objects of a kind in a namespace are selected by their labels, so that all are read.
    fn is_selected(&self, kind: &GroupKind, _: Option<&Namespace>) -> bool {
        kind.is_namespace()
    }
    /// Whether a run selects objects of a kind by the label `key`.
    fn is_selected_by(&self, _: &GroupKind, _key: &str) -> bool {
        false
    }
    /// Whether rules match objects of a kind by their metadata, which is kept for them and never published.
    fn is_matched(&self, _: &GroupKind) -> bool {
        false
    }
}

/// Keeps no label and no annotation that nobody reads.
pub struct KeepNothing;

impl Keep for KeepNothing {
    fn label(&self, _: &str) -> bool {
        false
    }

    fn annotation(&self, _: &str) -> bool {
        false
    }
}

/// A document that became no object.
pub struct Unusable {
    /// Why.
    pub why: Refusal,
    /// Which object it might have been meant for.
    pub words: Box<UnreadWords>,
}

/// Why a document became no object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its metadata cannot identify an object; the message says why and quotes no value.
    Unusable(String),
    /// It is namespaced, says no namespace, and its source gives none.
    NamespaceMissing(GroupKind, Name),
}

/// The annotation that makes Sveltos treat a ConfigMap as a template.
pub const TEMPLATE_ANNOTATION: &str = "projectsveltos.io/template";

/// The type of Secrets in which the cluster registry has kubeconfigs of its clusters.
pub const REGISTRY_SECRET: &str = "k8s.cisco.com/cluster-registry-secret";

/// The annotation that silences findings about its object.
pub const SILENCE_ANNOTATION: &str = "pouch/silence";

/// The largest sum of a Secret's values, in bytes: the API's own bound.
///
/// <https://kubernetes.io/docs/concepts/configuration/secret/#restriction-data-size>
pub const MAX_SECRET_BYTES: usize = 1024 * 1024;

/// The largest sealed file that kustomize-controller decrypts, less what surrounds the entries: above
/// 5 MiB it refuses the file, and with it everything else of the region.
///
/// <https://github.com/fluxcd/kustomize-controller/blob/main/internal/decryptor/decryptor.go>
const MAX_SEALED_BYTES: usize = (5 << 20) - (64 << 10);

/// Makes an object from a document with `apiVersion` and `kind`.
///
/// # Errors
/// Where the metadata identifies no object. Anything else that is wrong stands in
/// [`Object::faults`], so that it breaks only the claims that need the object.
pub fn admit(
    document: Node,
    origin: Origin,
    scopes: &Scopes,
    default_namespace: Option<&Namespace>,
    keep: &dyn Keep,
) -> Result<Object, Unusable> {
    let doc = &document;
    let unusable = |why| Unusable { why, words: Box::new(UnreadWords::of_document(doc)) };
    let (key, version) = identify(doc, scopes, default_namespace).map_err(unusable)?;
    let kind = &key.kind;
    let metadata = doc.get("metadata").unwrap_or(&Node::Null);
    let mut faults = Vec::new();
    let selected = keep.is_selected(kind, key.namespace.as_ref());
    let read = kinds::known(kind).map(|known| known.labels).unwrap_or_default();
    // Whoever looks for the key of a placement must see that it is misspelt.
    let is_nearly_read = |key: &str| read.contains(&DECISION_KEY) && edits(key, DECISION_KEY).is_some();
    let labels = pairs(metadata.get("labels"), "labels", &mut faults, |key| {
        let is_read = key == MANAGED_LABEL || read.contains(&key) || is_nearly_read(key);
        is_read || selected || keep.label(key) || keep.is_selected_by(kind, key)
    });
    let annotations = pairs(metadata.get("annotations"), "annotations", &mut faults, |key| {
        let is_read = kinds::known(kind).is_some_and(|known| known.annotation == Some(key));
        let is_kept = is_read || (kind.is_config_map() && key == TEMPLATE_ANNOTATION) || keep.annotation(key);
        is_kept && key != SILENCE_ANNOTATION
    });
    // What is no text is refused by the API, and says nothing here.
    let silence =
        metadata.at(&["annotations", SILENCE_ANNOTATION]).map(|text| text.as_str().unwrap_or_default().into());
    let deleting = metadata.at(&["deletionTimestamp"]).is_some();
    let is_owner = |owner: &Node| matches!(owner.get("controller"), Some(Node::Bool(true)));
    let owners = metadata.get("ownerReferences").map(Node::items).unwrap_or_default();
    let made = matches!(origin.place, Place::Cluster { .. }) || owners.iter().any(is_owner);
    let says = |label: &str, value: &str| metadata.str_at(&["labels", label]) == Some(value);
    let (ours, backed_up) = (says(MANAGED_BY_LABEL, MANAGED_BY), says(COMPONENT_LABEL, OF_KCM));
    let has_block = doc.get("sops").is_some();
    let matched = keep.is_matched(&key.kind).then(|| Box::new(Matched::of(doc)));
    let mut object = Object {
        key,
        version,
        origin,
        labels,
        annotations,
        silence,
        matched,
        deleting,
        made,
        ours,
        backed_up,
        body: Node::empty_map(),
        payload: None,
        aside: None,
        faults,
        stays: None,
        create_only: false,
    };
    // An API server drops what it does not know, so what it gives is of its own release.
    let is_live = matches!(object.origin.place, Place::Cluster { .. });
    let stray = if is_live { None } else { misplaced(doc, &object.key.kind, scopes) };
    let unserved = if is_live { None } else { version::fault(object.version.as_str(), &object.key.kind, scopes) };
    object.faults.extend(unserved);
    let has_misplaced = stray.is_some();
    object.faults.extend(stray.map(|stray| stray.fault(&object.key.kind)));
    if object.key.kind.is_secret() {
        admit_secret(doc, &mut object);
    } else {
        if !has_misplaced {
            object.faults.extend(mistyped_top(doc, &object.key.kind));
        }
        object.body = kept_fields(document, &object.key.kind);
        if let Some(fault) = sealed_fault(has_block, &object.key.kind, || ciphertext_below("", &object.body)) {
            object.faults.push(fault);
        }
    }
    for (field, pairs) in [("labels", &object.labels), ("annotations", &object.annotations)] {
        let sealed = pairs.iter().find_map(|(key, value)| Some((key, ciphertext(value.as_bytes())?)));
        let place = || sealed.map(|(key, what)| (format!("key {key:?} of metadata.{field}"), what));
        // A document with a `sops` block already has its fault.
        if !has_block {
            object.faults.extend(sealed_fault(has_block, &object.key.kind, place));
        }
    }
    crowd::few(&mut object.faults);
    Ok(object)
}

/// The key and version that a document states.
fn identify(
    doc: &Node,
    scopes: &Scopes,
    default_namespace: Option<&Namespace>,
) -> Result<(ObjectKey, Version), Refusal> {
    let text = |path: &[&str]| match doc.at(path) {
        None => Ok(None),
        Some(Node::Text(text)) => Ok(Some(&**text)),
        Some(other) => Err(Refusal::Unusable(format!("{} is {}, not text", path.join("."), other.type_name()))),
    };
    let unusable = |why: &str| Refusal::Unusable(why.to_owned());
    let (group, version) = split_api_version(text(&["apiVersion"])?.unwrap_or_default());
    let kind = GroupKind::new(group, text(&["kind"])?.unwrap_or_default());
    let metadata = doc.get("metadata").ok_or_else(|| match nearest_to("metadata", doc) {
        Some(typed) => Refusal::Unusable(format!("metadata is missing; it has {typed:?} instead")),
        None => unusable("metadata is missing"),
    })?;
    if !metadata.is_map() {
        return Err(Refusal::Unusable(format!("metadata is {}, not a map", metadata.type_name())));
    }
    let name = text(&["metadata", "name"])?.ok_or_else(|| unusable("metadata.name is missing"))?;
    let name: Name = name.into();
    let written = text(&["metadata", "namespace"])?.filter(|n| !n.is_empty()).map(Namespace::from);
    let namespace = match scopes.of(&kind) {
        Some(Scope::Cluster) => None,
        Some(Scope::Namespaced) => match written.or_else(|| default_namespace.cloned()) {
            Some(namespace) => Some(namespace),
            None => return Err(Refusal::NamespaceMissing(kind, name)),
        },
        None => written,
    };
    Ok((ObjectKey::new(kind, namespace, name), version.into()))
}

/// The finding about a fault of an object, for a claim that needs the object.
pub fn finding_of(fault: &Fault, object: &Object) -> Finding {
    let finding = Finding::new(fault.code, fault.message.clone())
        .about(&object.key)
        .at(&object.origin.at_place(fault.line, fault.column))
        .help(fault.help.clone());
    Finding { others: fault.others, ..finding }
}

/// The findings of faults that were found while an object was read, beside its own: of all variables that were left in it,
/// one tells.
pub fn findings_of<'f>(faults: &'f [Fault], object: &'f Object) -> impl Iterator<Item = Finding> + 'f {
    let is_left = |fault: &Fault| fault.code == Code::UnrenderedTemplate;
    let is_told = object.faults.iter().any(is_left);
    faults.iter().filter(move |fault| !(is_told && is_left(fault))).map(|fault| finding_of(fault, object))
}

/// Keeps the top-level fields that some stage reads.
fn kept_fields(document: Node, kind: &GroupKind) -> Node {
    let fields = kinds::fields(kind);
    let Node::Map(entries) = document else { return Node::empty_map() };
    Node::Map(entries.into_iter().filter(|(key, _)| fields.contains(&&**key)).collect())
}

fn pairs(node: Option<&Node>, field: &str, faults: &mut Vec<Fault>, wanted: impl Fn(&str) -> bool) -> Pairs {
    let Some(node) = node else { return Box::default() };
    if !matches!(node, Node::Map(_) | Node::Null) {
        let message = format!("metadata.{field} is {}, not a map", node.type_name());
        faults.push(Fault::new(Code::InvalidObject, message, "Write it as a map of text to text."));
    }
    let mut kept = Vec::new();
    for (key, value) in node.entries().iter().filter(|(key, _)| wanted(key)) {
        match value {
            Node::Text(text) => kept.push((key.clone(), text.clone())),
            Node::Null => kept.push((key.clone(), Box::default())),
            other => {
                let message = format!("metadata.{field}, key {key:?}, is {}, not text", other.type_name());
                faults.push(Fault::new(Code::InvalidObject, message, "Quote the value."));
            }
        }
    }
    kept.into_boxed_slice()
}

const TYPE_FIELD: &str = "type";

/// The most faults of an object that are kept while it is read.
const MOST_FAULTS: usize = 1_000;

const HOLDS_KEY: &str = "it holds an age or pouch secret key";

fn admit_secret(doc: &Node, object: &mut Object) {
    let key = object.key.kind.clone();
    let has_block = doc.get("sops").is_some();
    let type_place = || doc.get(TYPE_FIELD).and_then(|kind| ciphertext_below(TYPE_FIELD, kind));
    object.faults.extend(sealed_fault(has_block, &key, type_place));
    let kind = match doc.get(TYPE_FIELD) {
        None | Some(Node::Null) => "Opaque",
        Some(Node::Text(text)) if text.is_empty() => "Opaque",
        Some(Node::Text(text)) => text,
        Some(other) => {
            let message = format!("type is {}, not text", other.type_name());
            object.faults.push(Fault::new(Code::InvalidObject, message, "Quote the value."));
            "Opaque"
        }
    };
    object.body = Node::map(vec![(TYPE_FIELD.into(), Node::text(kind))]);
    object.stays = stays_by_type(kind).or_else(|| stays_by_annotation(doc));

    let mut entries = Vec::new();
    for (field, encoded) in [("data", true), ("stringData", false)] {
        let node = match doc.get(field) {
            None | Some(Node::Null) => continue,
            Some(node) if node.is_map() => node,
            Some(other) => {
                let blank = other.as_str().map(of_blank).unwrap_or_default();
                let message = format!("{field} is {}, not a map{blank}", other.type_name());
                object.faults.push(Fault::new(Code::InvalidObject, message, "Write it as a map of names to text."));
                continue;
            }
        };
        for (name, value) in node.entries() {
            object.faults.extend(null_entry(doc, field, name, value));
            match entry(field, encoded, name, value) {
                Ok(bytes) => match ciphertext(bytes.expose()) {
                    Some(what) => {
                        let place = || Some((format!("entry {name:?} of {field}"), what));
                        object.faults.extend(sealed_fault(has_block, &key, place));
                    }
                    None => entries.push((name.clone(), bytes)),
                },
                Err(fault) => object.faults.push(fault),
            }
            if object.faults.len() > MOST_FAULTS {
                crowd::few(&mut object.faults);
            }
        }
    }
    let payload = Payload::new(entries);
    // Values alone, as the API counts; names are bounded by the size of a request.
    let size: usize = payload.entries().iter().map(|(_, bytes)| bytes.len()).sum();
    if size > MAX_SECRET_BYTES {
        let message = format!("the values sum to {size} bytes; the API takes {MAX_SECRET_BYTES}");
        object.faults.push(Fault::new(Code::TooLarge, message, "Split the Secret."));
    }
    if object.stays.is_none() && payload.entries().iter().any(|(_, bytes)| holds_key(bytes.expose())) {
        object.stays = Some(HOLDS_KEY);
    }
    object.payload = Some(payload);
    let sealed = object.sealed_bytes();
    if sealed > MAX_SEALED_BYTES && size <= MAX_SECRET_BYTES {
        let message = format!("sealed, the Secret would have {sealed} bytes; Flux reads {MAX_SEALED_BYTES}");
        object.faults.push(Fault::new(Code::TooLarge, message, "Split the Secret, or use fewer entries."));
    }
}

/// Estimates how many bytes an entry takes in a sealed file: its name, base64 of base64 of the value, what SOPS
/// puts around that, and perhaps a tag.
fn sealed_size(name: &str, value: &SecretBytes) -> usize {
    const AROUND: usize = 120;
    const TAG: usize = 32;
    let tag = if value.len() < 16 { 0 } else { name.len() + TAG };
    let text = value.len() * 16 / 9;
    name.len() + text + AROUND + tag
}

fn entry(field: &str, encoded: bool, name: &str, value: &Node) -> Result<SecretBytes, Fault> {
    let malformed = |message: String, help: &'static str| Fault::new(Code::InvalidObject, message, help);
    if !is_data_key(name) {
        // Not quoted: an invalid name is often a value that lost its name.
        let message = format!("{field} has an entry whose name, of {} bytes, the API refuses", name.len());
        return Err(malformed(message, "Use at most 253 letters, digits, dots, dashes and underscores."));
    }
    let text = match value {
        Node::Null => "",
        Node::Text(text) => text,
        other => {
            let message = format!("entry {name:?} of {field} is {}, not text", other.type_name());
            return Err(malformed(message, "Quote the value, so that YAML reads it as text."));
        }
    };
    if !encoded || is_sealed_value(text.as_bytes()) {
        return Ok(SecretBytes::new(text.as_bytes().to_vec()));
    }
    from_base64(text).map(SecretBytes::new).ok_or_else(|| {
        let message = format!("entry {name:?} of data is not base64");
        malformed(message, "Encode it with padding, in the standard alphabet, or move it to stringData as it is.")
    })
}

/// The notice about an entry without a value: the API takes it for an empty one where it is created or applied
/// server-side, so pouch does; but mostly somebody forgot the value, or a template had none.
fn null_entry(doc: &Node, field: &str, name: &str, value: &Node) -> Option<Fault> {
    const HELP: &str = "Write the value; or `\"\"` if it is meant to be empty, or leave the entry out.";
    // An invalid name is a fault of its own, and `stringData` wins.
    let is_replaced = field == "data" && doc.get("stringData").is_some_and(|other| other.get(name).is_some());
    if !matches!(value, Node::Null) || !is_data_key(name) || is_replaced {
        return None;
    }
    let message = format!("entry {name:?} of {field} has no value, and is published as an empty one");
    Some(Fault::new(Code::NullEntry, message, HELP))
}

/// The fault of an object with a top-level field that is nearly one that is read of its kind, and missing.
fn mistyped_top(doc: &Node, kind: &GroupKind) -> Option<Fault> {
    let missing = kinds::fields(kind).iter().filter(|field| doc.get(field).is_none());
    let (typed, meant) = missing.into_iter().find_map(|field| Some((nearest_to(field, doc)?, *field)))?;
    let help = format!("Did you mean {meant}?");
    Some(Fault::new(Code::Mistyped, format!("the {} has no field {typed:?}", kind.kind), help))
}

/// The top-level field that was probably typed in place of one that is missing.
pub fn nearest_to<'d>(missing: &str, doc: &'d Node) -> Option<&'d str> {
    const FIELDS: [&str; 7] = ["apiVersion", "items", "kind", "metadata", "sops", "spec", "status"];
    let unknown = doc.entries().iter().map(|(key, _)| &**key).filter(|key| !FIELDS.contains(key));
    unknown.into_iter().find(|key| nearest(key, [missing]).is_some())
}

/// The fault of a document that SOPS sealed as a whole, or of one that holds ciphertext at a `place`.
fn sealed_fault(
    has_block: bool,
    kind: &GroupKind,
    place: impl FnOnce() -> Option<(String, Ciphertext)>,
) -> Option<Fault> {
    let kind = &kind.kind;
    if has_block {
        return Some(Fault::new(
            Code::UndecryptableSource,
            format!("the {kind} is encrypted, and no key is configured to open it"),
            "Name an age identity that opens it under the source's `decryption`, or give pouch the decrypted \
             manifest, for example on stdin. Ciphertext is never published as a credential.",
        ));
    }
    let (place, what) = place()?;
    let (is, help) = match what {
        Ciphertext::Value => (
            "is a value that SOPS sealed, and there is no sops block to open it with",
            "Take the whole document as SOPS wrote it. Ciphertext is never published as a credential.",
        ),
        Ciphertext::SopsFile => (
            "is itself a file that SOPS sealed, and nothing on a region opens it",
            "Put the decrypted file in its place; to keep it encrypted in the source, seal the whole manifest, and name \
             an age identity that opens it under the source's `decryption`. Ciphertext is never published as a \
             credential.",
        ),
        Ciphertext::AgeFile => (
            "is itself a file that age encrypted, and nothing on a region opens it",
            "Put the decrypted file in its place; to keep it encrypted in the source, seal the whole manifest with \
             SOPS. Put a file for another program into an object that no identity names. Ciphertext is never published \
             as a credential.",
        ),
    };
    Some(Fault::new(Code::UndecryptableSource, format!("{place} of the {kind} {is}"), help))
}

/// Why the Secret of a document never leaves its cluster, as far as the document says.
pub(crate) fn never_leaves(doc: &Node) -> Option<&'static str> {
    let by_type = stays_by_type(doc.str_at(&[TYPE_FIELD]).unwrap_or_default());
    let entries = doc.at(&["data"]).map(Node::entries).unwrap_or_default();
    let is_key =
        |(name, value): &(Key, Node)| entry("data", true, name, value).is_ok_and(|bytes| holds_key(bytes.expose()));
    by_type.or_else(|| stays_by_annotation(doc)).or_else(|| entries.iter().any(is_key).then_some(HOLDS_KEY))
}

fn stays_by_type(kind: &str) -> Option<&'static str> {
    match kind {
        "kubernetes.io/service-account-token" => Some("it is a service-account token"),
        "bootstrap.kubernetes.io/token" => Some("it is a bootstrap token"),
        "helm.sh/release.v1" => Some("it is a Helm release"),
        "cluster.x-k8s.io/secret" => Some("it is a secret of a Cluster API cluster, such as its kubeconfig"),
        REGISTRY_SECRET => Some("it is a secret of the cluster registry, with the kubeconfig of a cluster"),
        _ => None,
    }
}

fn stays_by_annotation(doc: &Node) -> Option<&'static str> {
    let annotation = ["metadata", "annotations", "kubernetes.io/service-account.name"];
    doc.at(&annotation).map(|_| "it is a service-account token")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn an_entry_without_a_value_is_told() {
        for (entries, expect) in [
            ("stringData: {a: null}", 1),
            ("data: {a: null, b: YQ==}", 1),
            ("data: {a: null}\nstringData: {a: null}", 1),
            ("data: {a: null}\nstringData: {a: x}", 0),
            ("data: {a: ''}\nstringData: {b: ''}", 0),
            ("data: null\nstringData: null", 0),
        ] {
            let secret =
                object(&format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a, namespace: b}}\n{entries}\n"));
            let codes: Vec<Code> = secret.faults.iter().map(|fault| fault.code).collect();
            assert_eq!(codes, vec![Code::NullEntry; expect], "{entries}");
        }
    }

    #[test]
    fn a_mistyped_field_at_the_top_is_named() {
        const CREDENTIAL: &str = "apiVersion: k0rdent.mirantis.com/v1beta1\nkind: Credential\n";
        for (rest, expect) in [
            ("sepc: {}", "the Credential has no field \"sepc\""),
            ("Spec: {}", "the Credential has no field \"Spec\""),
            ("spec: {}\nsepc: {}", "the Credential has no field \"sepc\""),
            ("region: eu", "the Credential has no field \"region\""),
            ("spec: {}\nstatus: {region: eu}", "status has no field \"region\""),
            (
                "spec: {}\n\u{a0}\u{a0}region: eu",
                "the Credential has no field \"\\u{a0}\\u{a0}region\": there is a no-break space (U+00A0) where a blank \
                 should be",
            ),
            ("spec: {}\nstatus: {}", ""),
            ("{}", ""),
            ("spec: {description: x}", ""),
        ] {
            let rest = if rest == "{}" { "" } else { rest };
            let credential = object(&format!("{CREDENTIAL}metadata: {{name: a, namespace: b}}\n{rest}\n"));
            let said: Vec<&str> = credential.faults.iter().map(|fault| &*fault.message).collect();
            assert_eq!(said.join("; "), expect, "{rest}");
            let is_told =
                |help: &str| help.contains("Did you mean spec?") || help.contains("Indent it as spec.region.");
            assert!(credential.faults.iter().all(|fault| is_told(&fault.help)), "{rest}");
        }
        let node = |text: &str| crate::testing::node(&crate::testing::yaml(text));
        assert_eq!(nearest_to("metadata", &node("{metdata: {}, sops: {}}")), Some("metdata"));
        assert_eq!(nearest_to("kind", &node("{apiVersion: v1, knid: x}")), Some("knid"));
        assert_eq!(nearest_to("spec", &node("{sops: {}, data: {}}")), None);
    }

    #[test]
    fn what_never_leaves_is_known_in_what_is_published() {
        let why = |text: &str| never_leaves(&crate::testing::node(&crate::testing::yaml(text)));
        let key = STANDARD.encode("# mine\nage-secret-key-1q");
        assert_eq!(why(&format!("data: {{a: Yg==, b: {key}}}\ntype: Opaque\n")), Some(HOLDS_KEY));
        assert!(why("type: helm.sh/release.v1\n").is_some());
        assert!(why("metadata: {annotations: {kubernetes.io/service-account.name: x}}\n").is_some());
        assert_eq!(why("data: {a: Yg==, b: 'ENC[x]', c: ''}\ntype: Opaque\n"), None);
    }

    #[test]
    fn a_secret_is_as_large_as_the_api_takes() {
        for (bytes, fits) in [(MAX_SECRET_BYTES, true), (MAX_SECRET_BYTES + 1, false)] {
            let (one, rest) = ("x".repeat(16), "x".repeat(bytes - 16));
            let text = format!(
                "apiVersion: v1\nkind: Secret\nmetadata: {{name: a, namespace: b}}\n\
                 stringData:\n  a-name-of-its-own: {one}\n  another: {rest}\n"
            );
            let codes: Vec<Code> = object(&text).faults.iter().map(|fault| fault.code).collect();
            assert_eq!(codes, if fits { vec![] } else { vec![Code::TooLarge] }, "{bytes} bytes");
        }
    }
}
