//! Secrets that a controller would make from another object.
//!
//! A SealedSecret, an ExternalSecret or a SopsSecret is not the Secret: pouch cannot read the values behind it,
//! and never takes it for one. It only explains why a needed Secret is in no source.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use crate::config::{Fleet, Source};
use crate::finding::Origin;
use crate::name::{GroupKind, Name, Namespace, ObjectKey};
use crate::node::Node;
use crate::sops::cipher::MARK;

/// An object that would make a Secret.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Elsewhere {
    /// The object from which a controller makes the Secret.
    pub maker: ObjectKey,
    /// Where the maker stands.
    pub origin: Origin,
    /// Whether the maker names the Secret; a SopsSecret may have sealed even the names.
    pub named: bool,
}

/// Notes which Secrets a document would make, if it is of a kind that does.
pub(super) fn note(
    known: &mut BTreeMap<ObjectKey, Elsewhere>,
    fleet: &Fleet,
    source: &Source,
    kind: &GroupKind,
    document: &Node,
    origin: &Origin,
) {
    let Some(names) = secrets(kind, document) else { return };
    let namespace = document.str_at(&["metadata", "namespace"]).filter(|namespace| !namespace.is_empty());
    let Some(namespace) = namespace.map(Namespace::from).or_else(|| source.default_namespace.clone()) else { return };
    let own = document.str_at(&["metadata", "name"]).unwrap_or_default();
    let maker = ObjectKey::new(kind.clone(), Some(namespace.clone()), Name::from(own));
    for name in names {
        let named = !name.starts_with(MARK);
        let key = ObjectKey::secret(namespace.clone(), Name::from(if named { name } else { "" }));
        if source.provides.admits(&key, &fleet.guarded) {
            let elsewhere = Elsewhere { maker: maker.clone(), origin: origin.clone(), named };
            known.entry(key).or_insert(elsewhere);
        }
    }
}

/// Returns true if objects of a kind make Secrets.
pub(super) fn is_maker(kind: &GroupKind) -> bool {
    MAKERS.iter().any(|(group, name)| kind.is(group, name))
}

const MAKERS: [(&str, &str); 4] = [
    ("bitnami.com", "SealedSecret"),
    ("external-secrets.io", "ExternalSecret"),
    ("isindir.github.com", "SopsSecret"),
    ("addons.projectcapsule.dev", "SopsSecret"),
];

/// The names of the Secrets that a document would make; none if its kind makes no Secrets.
///
/// <https://github.com/bitnami-labs/sealed-secrets>, <https://external-secrets.io/latest/api/externalsecret/>,
/// <https://github.com/isindir/sops-secrets-operator>, <https://github.com/peak-scale/sops-operator>
fn secrets<'a>(kind: &GroupKind, document: &'a Node) -> Option<Vec<&'a str>> {
    let own = document.str_at(&["metadata", "name"]).filter(|_| is_maker(kind))?;
    let made = match kind.kind.as_str() {
        "SealedSecret" => Vec::from([own]),
        "ExternalSecret" => match document.str_at(&["spec", "target", "creationPolicy"]) {
            // It adds to a Secret that others make, or makes none.
            Some("Merge" | "None") => Vec::new(),
            _ => Vec::from([document.str_at(&["spec", "target", "name"]).unwrap_or(own)]),
        },
        _ => {
            let templates = ["secretTemplates", "secrets"].iter().filter_map(|field| document.at(&["spec", field]));
            templates.flat_map(Node::items).filter_map(|template| template.str_at(&["name"])).collect()
        }
    };
    Some(made)
}
