//! Slips: a document whose kind is mistyped, as what it was meant to be.

use alloc::vec::Vec;

use super::astray;
use super::mistyped::{Meant, Mistyped, as_meant};
use crate::config::{Fleet, Source};
use crate::finding::{Code, Finding, Origin};
use crate::kinds::{K0RDENT, Scopes};
use crate::name::GroupKind;
use crate::node::Node;
use crate::object::{Object, admit};

/// What is said of such a document, the object that it was meant to be, and what else it could be.
pub(super) fn weigh(
    (fleet, source, scopes): (&Fleet, &Source, &Scopes),
    (document, origin): (Node, Origin),
    Mistyped { meant, fault }: Mistyped,
) -> (Vec<Finding>, Option<Object>, Vec<Meant>) {
    let finding = Finding::new(fault.code, fault.message.clone()).at(&origin).help(fault.help.clone());
    let items = document.get("items").map(Node::items).unwrap_or_default();
    let mut could_be: Vec<Meant> = items.iter().map(|item| Meant::of(item, None, &origin)).collect();
    let Some(meant) = meant.filter(|kind| fleet.reads(kind)) else {
        if fault.code == Code::UnknownKind {
            could_be.push(Meant::of(&document, Some(GroupKind::new(K0RDENT, "Credential")), &origin));
        }
        return (vec![finding], None, could_be);
    };
    let written = as_meant(&document, &meant);
    let mut also = Vec::new();
    if let Some(astray) = astray::check(&written, &meant, (fleet, source, scopes), &origin) {
        also.push(astray.finding);
        if !astray.could_be.is_empty() {
            could_be.extend(astray.could_be);
            return ([finding].into_iter().chain(also).collect(), None, could_be);
        }
    }
    let told = |finding| [finding].into_iter().chain(also).collect();
    match admit(written, origin.clone(), scopes, source.default_namespace.as_ref(), fleet) {
        Ok(mut object) if source.provides.admits(&object.key, &fleet.guarded) => {
            let finding = finding.about(&object.key);
            object.faults.push(fault);
            (told(finding), Some(object), could_be)
        }
        Ok(_) => (told(finding), None, could_be),
        Err(_) => {
            could_be.push(Meant::of(&document, Some(meant), &origin));
            (told(finding), None, could_be)
        }
    }
}
