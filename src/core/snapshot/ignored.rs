//! Ignored: what is said of documents that count as nothing.

use alloc::borrow::ToOwned as _;

use crate::config::Source;
use crate::finding::{Code, Finding, Origin};
use crate::name::{GroupKind, ObjectKey};
use crate::object::Refusal;

/// The finding about an object that its source may not provide.
pub(super) fn not_provided(source: &Source, key: &ObjectKey, origin: &Origin) -> Finding {
    let what = match &key.namespace {
        None => "cluster-scoped objects".to_owned(),
        Some(namespace) => format!("objects of namespace {namespace}"),
    };
    let message = format!("source {} provides no {what}; {key} is ignored", source.name);
    Finding::new(Code::NotProvidedHere, message).about(key).at(origin).help(
        "Move it to a source that may provide it, or widen `provides` if you trust everybody who writes that \
             source.",
    )
}

/// The finding about a document that became no object. One that SOPS sealed cannot be changed by hand.
pub(super) fn refused(refusal: &Refusal, kind: &GroupKind, origin: &Origin, is_sealed: bool) -> Finding {
    match refusal {
        Refusal::Unusable(why) => Finding::new(Code::UnparsableDocument, format!("a {kind} cannot be used: {why}"))
            .at(origin)
            .help("Correct the document; until then the object that it may be meant for does not count as absent."),
        Refusal::NamespaceMissing(kind, name) => Finding::new(
            Code::NamespaceMissing,
            format!("{kind} {name} names no namespace"),
        )
        .at(origin)
        .help(match is_sealed {
            true => {
                "Give the source a defaultNamespace, or open the file with sops and add metadata.namespace there: \
                             its MAC covers the namespace too."
            }
            false => "Add metadata.namespace, or give the source a defaultNamespace.",
        }),
    }
}
