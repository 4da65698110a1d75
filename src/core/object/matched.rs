//! Labels and annotations as they are written, for rules that match objects by them.
//!
//! What a rule takes hangs on them, and one that is misspelt is not absent: the object is then unclear, and what is
//! published of it stays.

use alloc::boxed::Box;
use alloc::string::String;

use crate::finding::{Code, Fault};
use crate::nearest::nearest;
use crate::node::Node;

/// Annotations in which tools keep a whole copy of the object, a Secret's values included.
pub const COPIES: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "kapp.k14s.io/original",
    "objectset.rio.cattle.io/applied",
    "banzaicloud.com/last-applied",
    "argocd.argoproj.io/last-applied-configuration",
];

/// The fields of `metadata` that the API has, and had.
const FIELDS: [&str; 17] = [
    "annotations",
    "clusterName",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "finalizers",
    "generateName",
    "generation",
    "initializers",
    "labels",
    "managedFields",
    "name",
    "namespace",
    "ownerReferences",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// Labels and annotations as they are written, for rules that match objects by them.
pub struct Matched {
    /// The labels; null where there are none.
    pub labels: Node,
    /// The annotations, but for whole [`COPIES`] of the object; null where there are none.
    pub annotations: Node,
    /// Why they do not say what was meant, if that is so.
    pub unclear: Option<Box<Unclear>>,
}

/// What of an object's metadata is not to be believed, and why.
pub struct Unclear {
    /// Why.
    pub fault: Fault,
    /// Whether its labels are concerned.
    pub labels: bool,
    /// Whether its annotations are.
    pub annotations: bool,
}

impl Matched {
    /// The labels and annotations of a document.
    pub(super) fn of(document: &Node) -> Self {
        let field = |name: &str| document.at(&["metadata", name]).cloned().unwrap_or(Node::Null);
        let annotations = match field("annotations") {
            Node::Map(entries) => Node::Map(entries.into_iter().filter(|(key, _)| !COPIES.contains(&&**key)).collect()),
            other => other,
        };
        let unclear = meant(document).map(|(typed, meant)| {
            let (labels, annotations) = (meant == "labels", meant == "annotations");
            Box::new(Unclear { fault: fault(typed, meant), labels, annotations })
        });
        Self { labels: field("labels"), annotations, unclear }
    }

    /// Notes that another document of the same source says the same of the object, but for labels or annotations.
    pub fn differs(&mut self, other: &Self, message: impl FnOnce() -> String) {
        let (labels, annotations) = (self.labels != other.labels, self.annotations != other.annotations);
        if (labels || annotations) && self.unclear.is_none() {
            let help =
                "Remove one of the two; until then nobody knows which rules take it, and what is published stays.";
            let fault = Fault::new(Code::DuplicateObject, message(), help);
            self.unclear = Some(Box::new(Unclear { fault, labels, annotations }));
        }
    }

    /// Forgets what [`differs`](Self::differs) noted.
    pub fn stands_behind(&mut self) {
        self.unclear = self.unclear.take().filter(|unclear| unclear.fault.code != Code::DuplicateObject);
    }
}

/// The fault of an object whose metadata has a field that is nearly one by which rules match.
pub(super) fn slip(document: &Node) -> Option<Fault> {
    meant(document).map(|(typed, meant)| fault(typed, meant))
}

fn fault(typed: &str, meant: &str) -> Fault {
    let place = if typed == meant { "beside metadata" } else { "in metadata" };
    let message = format!("there is no field {typed:?} {place}, and rules match by metadata.{meant}");
    let help = format!("Did you mean metadata.{meant}? Until this is corrected, what rules took of the object stays.");
    Fault::new(Code::Mistyped, message, help)
}

/// A field that no object has, and the field of `metadata` that was meant.
fn meant(document: &Node) -> Option<(&str, &'static str)> {
    const MEANT: [&str; 4] = ["annotations", "labels", "name", "namespace"];
    let metadata = document.get("metadata")?;
    let unknown = metadata.entries().iter().filter(|(key, _)| !FIELDS.contains(&&**key));
    let mistyped = unknown.into_iter().find_map(|(key, _)| Some((&**key, nearest(key, MEANT)?)));
    let is_beside = |field: &&str| document.get(field).is_some() && metadata.get(field).is_none();
    mistyped.or_else(|| ["labels", "annotations"].into_iter().find(is_beside).map(|field| (field, field)))
}
