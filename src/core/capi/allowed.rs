//! `allowedNamespaces` as written, before a provider gives it a meaning.
//!
//! Nil and empty must stay apart: to some providers one means everybody and the other nobody. So the parts are
//! options; as in the API, `null` counts as absent.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::tenancy::Admits;
use crate::name::Namespace;
use crate::node::Node;
use crate::selector::{Selector, Truth, UnusableSelector};

/// The labels of one namespace, as configured; `None` where nothing is configured.
pub(super) type Labels<'a> = Option<&'a BTreeMap<String, String>>;

/// A present `allowedNamespaces`.
pub(super) struct Allowed<'a> {
    pub(super) list: Option<Vec<&'a str>>,
    pub(super) selector: Option<Selected>,
}

/// A present selector.
pub(super) enum Selected {
    By(Selector),
    /// Kubernetes refuses the selector, so it selects nobody.
    Nobody,
}

impl Selected {
    pub(super) fn read(node: &Node) -> Result<Self, Admits> {
        match Selector::read(node) {
            Ok(selector) => Ok(Selected::By(selector)),
            Err(UnusableSelector::Refused(_)) => Ok(Selected::Nobody),
            Err(UnusableSelector::NotUnderstood(why)) => Err(Admits::Unknown(why)),
        }
    }

    /// Decides for providers to which the empty selector means everybody.
    pub(super) fn or_everybody(&self, namespace: &Namespace, labels: Labels<'_>) -> Admits {
        let Selected::By(selector) = self else { return Admits::No };
        match selector.matches_namespace(namespace, labels) {
            Truth::Yes => Admits::Yes,
            Truth::No => Admits::No,
            Truth::Unknown => {
                Admits::Unknown("its selector asks for labels of the namespace, and none are configured for the region")
            }
        }
    }

    /// Decides for providers to which the empty selector means nobody.
    pub(super) fn or_nobody(&self, namespace: &Namespace, labels: Labels<'_>) -> Admits {
        match self {
            Selected::By(selector) if selector.is_empty() => Admits::No,
            chosen => chosen.or_everybody(namespace, labels),
        }
    }

    /// Whether the selector is Go's zero value.
    pub(super) fn is_zero(&self) -> bool {
        matches!(self, Selected::By(selector) if selector.is_zero())
    }
}

impl<'a> Allowed<'a> {
    /// Reads `spec.allowedNamespaces`, which may have only `fields`: an unknown field, which the API would drop
    /// silently, may be all that keeps an identity narrow.
    pub(super) fn read(spec: Option<&'a Node>, fields: &[&str]) -> Result<Option<Self>, Admits> {
        let Some(spec) = spec.filter(|spec| !matches!(spec, Node::Null)) else { return Ok(None) };
        if !spec.is_map() {
            return Err(Admits::Unknown("spec is not a map"));
        }
        let Some(allowed) = spec.at(&["allowedNamespaces"]) else { return Ok(None) };
        if !allowed.is_map() {
            return Err(Admits::Unknown("allowedNamespaces is not a map"));
        }
        let mut present = allowed.entries().iter().filter(|(_, value)| !matches!(value, Node::Null));
        if present.any(|(key, _)| !fields.contains(&&**key)) {
            return Err(Admits::Unknown("allowedNamespaces has a field that the provider does not know"));
        }
        let list = match allowed.at(&["list"]) {
            None => None,
            Some(Node::List(items)) => {
                let names: Option<Vec<&str>> = items.iter().map(Node::as_str).collect();
                Some(names.ok_or(Admits::Unknown("allowedNamespaces.list holds something that is not text"))?)
            }
            Some(_) => return Err(Admits::Unknown("allowedNamespaces.list is not a list")),
        };
        let selector = allowed.at(&["selector"]).map(Selected::read).transpose()?;
        Ok(Some(Self { list, selector }))
    }

    pub(super) fn lists(&self, namespace: &Namespace) -> bool {
        self.list.as_ref().is_some_and(|list| list.contains(&namespace.as_str()))
    }
}
