//! Labels and annotations as they are written, for rules that match objects by them.
//!
//! What a rule takes hangs on them, and one that is misspelt is not absent: the object is then unclear, and what is
//! published of it stays.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

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
pub const FIELDS: [&str; 17] = [
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
    /// Whether the type of a Secret is no text, so that nobody knows it.
    pub has_odd_type: bool,
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
        let strays = strays(document);
        let unclear = strays.first().map(|first| {
            // Of a field that is near neither, nobody knows where it came from.
            let is_any_of = |field: &str| strays.iter().any(|stray| stray.meant.is_none_or(|meant| meant == field));
            let (labels, annotations) = (is_any_of("labels"), is_any_of("annotations"));
            Box::new(Unclear { fault: first.fault(), labels, annotations })
        });
        let has_odd_type = !matches!(document.get("type"), None | Some(Node::Null | Node::Text(_)));
        Self { labels: field("labels"), annotations, has_odd_type, unclear }
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

/// A field that no object has where it stands.
struct Stray<'d> {
    typed: &'d str,
    is_beside: bool,
    /// The field of `metadata` that was probably meant.
    meant: Option<&'static str>,
}

impl Stray<'_> {
    fn fault(&self) -> Fault {
        let typed = self.typed;
        let place = if self.is_beside { "beside metadata" } else { "in metadata" };
        let by = self.meant.map_or("labels and annotations", |meant| meant);
        let message = format!("there is no field {typed:?} {place}, and rules match by metadata.{by}");
        let meant = match self.meant {
            Some(meant) => format!("Did you mean metadata.{meant}?"),
            None => String::from("Indent it below labels or annotations, if it is one, or remove it."),
        };
        let help = format!("{meant} Until this is corrected, what rules took of the object stays.");
        Fault::new(Code::Mistyped, message, help)
    }
}

/// The fields that no object has where they stand, and by which rules would have matched.
fn strays(document: &Node) -> Vec<Stray<'_>> {
    const MEANT: [&str; 4] = ["annotations", "labels", "name", "namespace"];
    let Some(metadata) = document.get("metadata") else { return Vec::new() };
    let within = metadata.entries().iter().map(|(key, _)| &**key).filter(|key| !FIELDS.contains(key));
    let within = within.map(|typed| Stray { typed, is_beside: false, meant: nearest(typed, MEANT) });
    let beside = document.entries().iter().filter_map(|(key, _)| {
        let meant = nearest(key, ["labels", "annotations"])?;
        let is_said = metadata.get(meant).is_some_and(|said| *said != Node::Null);
        (!is_said).then_some(Stray { typed: key, is_beside: true, meant: Some(meant) })
    });
    within.chain(beside).collect()
}
