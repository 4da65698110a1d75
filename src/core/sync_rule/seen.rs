//! Objects as rules see them.

use alloc::string::String;

use crate::ciphertext::is_sealed_value;
use crate::finding::Fault;
use crate::name::ObjectKey;
use crate::node::Node;
use crate::object::Object;

/// An object as rules see it: without the values of a Secret.
pub struct Seen<'a> {
    /// Its key.
    pub key: &'a ObjectKey,
    /// Its `apiVersion`.
    pub api_version: String,
    /// The fields that pouch reads.
    pub body: &'a Node,
    /// Why its metadata does not say what was meant, if that is so.
    pub unclear: Option<&'a Fault>,
    /// Whether a field of it is mistyped, so that what it does not say is not known to be absent.
    pub is_mistaken: bool,
    labels: &'a Node,
    annotations: &'a Node,
}

const NOTHING: &Node = &Node::Null;

/// Stands for labels or annotations of which nobody knows what was meant.
const UNKNOWN: &Node = &Node::Bool(false);

/// Whether what an object says is not what its fields hold: one is mistyped, or the type of a Secret is none.
fn is_mistaken(object: &Object) -> bool {
    let has_odd_type = || object.matched.as_deref().is_some_and(|matched| matched.has_odd_type);
    object.is_mistyped() || (object.key.kind.is_secret() && has_odd_type())
}

impl<'a> Seen<'a> {
    /// The object as rules see it.
    pub fn of(object: &'a Object) -> Self {
        let matched = object.matched.as_deref();
        let unclear = matched.and_then(|matched| matched.unclear.as_deref());
        let known = |node: &'a Node, is_unclear: bool| if is_unclear { UNKNOWN } else { node };
        let (labels, annotations) = (unclear.is_some_and(|it| it.labels), unclear.is_some_and(|it| it.annotations));
        Self {
            key: &object.key,
            api_version: object.key.kind.api_version(&object.version),
            body: &object.body,
            unclear: unclear.map(|unclear| &unclear.fault),
            is_mistaken: is_mistaken(object),
            labels: matched.map_or(NOTHING, |matched| known(&matched.labels, labels)),
            annotations: matched.map_or(NOTHING, |matched| known(&matched.annotations, annotations)),
        }
    }

    /// A label, whatever it holds.
    pub fn label(&self, key: &str) -> Option<&'a Node> {
        self.labels.get(key)
    }

    /// An annotation, whatever it holds.
    pub fn annotation(&self, key: &str) -> Option<&'a Node> {
        self.annotations.get(key)
    }

    /// All labels.
    pub fn labels(&self) -> &'a Node {
        self.labels
    }

    /// All annotations that do not hold a copy of the object.
    pub fn annotations(&self) -> &'a Node {
        self.annotations
    }

    /// Whether its type, a label or an annotation is sealed.
    pub fn is_sealed_somewhere(&self) -> bool {
        let pairs = self.labels.entries().iter().chain(self.annotations.entries()).map(|(_, node)| node);
        let texts = pairs.chain(self.body.get("type")).filter_map(Node::as_str);
        texts.into_iter().any(Self::is_sealed)
    }

    /// Whether a text is what SOPS made of another.
    pub(super) fn is_sealed(text: &str) -> bool {
        is_sealed_value(text.as_bytes())
    }
}
