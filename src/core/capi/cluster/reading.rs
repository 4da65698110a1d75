//! Reading: the texts and references of objects behind a Cluster, and what is wrong with them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::lenient::{Faults, Told, quoted};
use crate::name::{GroupKind, Name, is_dns_subdomain, is_template, split_api_version};
use crate::node::Node;

/// What is wrong with one object, collected while it is read.
pub(super) struct Reading {
    pub(super) faults: Faults,
    /// Faults with codes of their own.
    others: Vec<Fault>,
}

/// An object that a Cluster or a ClusterClass refers to.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Referred {
    /// The field that names it.
    pub field: &'static str,
    /// Group and kind.
    pub kind: GroupKind,
    /// The name.
    pub name: Name,
}

impl Reading {
    pub(super) fn new() -> Self {
        Self { faults: Faults::new(Code::InvalidObject), others: Vec::new() }
    }

    /// Adds a fault with a code of its own, unless there are many or it is there.
    pub(super) fn add(&mut self, code: Code, message: String, help: &str) {
        if self.others.len() < Faults::MOST && !self.others.iter().any(|fault| fault.message == message) {
            self.others.push(Fault::new(code, message, String::from(help)));
        }
    }

    /// Adds a fault for every field of a map that is nearly one of these; other fields are those of other releases.
    pub(super) fn mistyped(&mut self, node: &Node, at: &str, known: &[&str]) {
        let (Ok(()) | Err(Told)) = self.faults.mistyped(node, at, known);
    }

    /// A text that must be a name of some kind.
    pub(super) fn named<'t>(&mut self, text: &'t str, at: &str, is_named: impl Fn(&str) -> bool) -> Option<&'t str> {
        if is_named(text) {
            return Some(text);
        }
        let message = format!("{at} cannot be {}", quoted(text));
        self.faults.add_of(at, is_template(text), message, "Write it as Kubernetes takes it.");
        None
    }

    /// A reference of the older form, with `apiVersion`, or of the newer one, with `apiGroup`.
    pub(super) fn referred(&mut self, reference: &Node, at: &str, field: &'static str) -> Option<Referred> {
        self.mistyped(reference, at, &["apiVersion", "apiGroup", "kind", "name", "namespace"]);
        let of_version = self.faults.text(reference, at, &["apiVersion"]).map(|text| split_api_version(text).0);
        let group = self.faults.text(reference, at, &["apiGroup"]).or(of_version);
        if group.is_none() && reference.is_map() {
            let message = format!("{at} has neither apiGroup nor apiVersion");
            self.faults.add(message, "Write the API group of the object.");
        }
        let kind = self.faults.needed(reference, at, &["kind"]);
        let name = self.faults.needed(reference, at, &["name"]);
        let group = self.named(group?, &format!("the group of {at}"), is_dns_subdomain);
        let kind = self.named(kind?, &format!("{at}.kind"), is_word);
        let name = self.named(name?, &format!("{at}.name"), is_dns_subdomain);
        Some(Referred { field, kind: GroupKind::new(group?, kind?), name: name?.into() })
    }

    /// What was found, if nothing is wrong.
    pub(super) fn settle<T>(self, found: T) -> Result<T, Vec<Fault>> {
        let mut wrong = self.others;
        wrong.extend(self.faults.into_found());
        if wrong.is_empty() { Ok(found) } else { Err(wrong) }
    }
}

fn is_word(text: &str) -> bool {
    let is_shaped = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.len() <= 63 && text.bytes().all(is_shaped)
}
