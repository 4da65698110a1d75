//! Slips: keys that are nearly those by which an identity says who may use it.
//!
//! The API drops an unknown field, so nobody may use what such an identity meant to open. But mistyped is not absent: what
//! is published by the identity is not taken away for a slip of the hand (DESIGN §2.6).

use alloc::borrow::ToOwned as _;
use alloc::format;
use alloc::string::String;

use super::tenancy::Tenancy;
use crate::nearest::nearest;
use crate::node::Node;

/// A key or word that was probably mistyped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Slip {
    /// The path of the map that has the key, or of the field that has the word.
    pub at: String,
    /// What stands there.
    pub typed: String,
    /// What was probably meant.
    pub meant: &'static str,
    /// Whether it is a key of a map.
    pub is_key: bool,
}

/// The first slip among the keys of a spec that decide who may use the identity; none if what was meant stands there too.
pub fn slip(tenancy: Tenancy, spec: Option<&Node>) -> Option<Slip> {
    let (spec, form) = (spec?, tenancy.form()?);
    let field = form.field;
    let Some(written) = spec.at(&[field]) else { return key(spec, "spec", &[field]) };
    let path = format!("spec.{field}");
    if form.is_selector() {
        return in_selector(written, &path);
    }
    let selector = || in_selector(written.at(&["selector"])?, &format!("{path}.selector"));
    key(written, &path, form.keys).or_else(selector)
}

fn in_selector(selector: &Node, path: &str) -> Option<Slip> {
    let expressions = selector.at(&["matchExpressions"]).map(Node::items).unwrap_or_default();
    let in_expression = |(index, expression): (usize, &Node)| {
        let path = format!("{path}.matchExpressions[{index}]");
        let operator = || word(expression.str_at(&["operator"])?, &format!("{path}.operator"));
        key(expression, &path, &["key", "operator", "values"]).or_else(operator)
    };
    key(selector, path, &["matchLabels", "matchExpressions"])
        .or_else(|| expressions.iter().enumerate().find_map(in_expression))
}

/// A key that is nearly one of these, if that one is missing.
fn key(map: &Node, at: &str, keys: &[&'static str]) -> Option<Slip> {
    let missing = || keys.iter().copied().filter(|key| map.at(&[key]).is_none());
    let known = |typed: &str| keys.iter().any(|key| **key == *typed);
    let entries = map.entries().iter().filter(|(typed, value)| !known(typed) && !matches!(value, Node::Null));
    entries.into_iter().find_map(|(typed, _)| {
        let meant = nearest_of(typed, missing())?;
        Some(Slip { at: at.to_owned(), typed: String::from(&**typed), meant, is_key: true })
    })
}

fn word(typed: &str, at: &str) -> Option<Slip> {
    const OPERATORS: [&str; 4] = ["In", "NotIn", "Exists", "DoesNotExist"];
    let is_known = OPERATORS.contains(&typed);
    let meant = nearest_of(typed, OPERATORS).filter(|_| !is_known)?;
    Some(Slip { at: at.to_owned(), typed: typed.to_owned(), meant, is_key: false })
}

/// [`nearest`], as a name that outlives the text.
fn nearest_of(typed: &str, names: impl IntoIterator<Item = &'static str> + Clone) -> Option<&'static str> {
    let near = nearest(typed, names.clone())?;
    names.into_iter().find(|name| *name == near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, yaml};

    #[test]
    fn slips_are_found_where_nothing_stands_for_them() {
        use Tenancy::{All, Aws, Azure, Openstack, Vsphere};
        let named = "{matchLabels: {a: b}}";
        for (tenancy, spec, expect) in [
            (Aws, "{allowedNamspaces: {list: [a]}}", "spec allowedNamspaces allowedNamespaces"),
            (Azure, "{allowednamespaces: {}}", "spec allowednamespaces allowedNamespaces"),
            (Aws, "{allowedNamespaces: {lst: [a]}}", "spec.allowedNamespaces lst list"),
            (Aws, "{allowedNamespaces: {selectr: {}}}", "spec.allowedNamespaces selectr selector"),
            (Vsphere, "{allowedNamespaces: {Selector: {}}}", "spec.allowedNamespaces Selector selector"),
            (
                Vsphere,
                "{allowedNamespaces: {selector: {matchlabels: {a: b}}}}",
                "spec.allowedNamespaces.selector matchlabels matchLabels",
            ),
            (Openstack, "{namespaceSelectr: {}}", "spec namespaceSelectr namespaceSelector"),
            (Openstack, "{namespaceSelector: {matchLables: {a: b}}}", "spec.namespaceSelector matchLables matchLabels"),
            (
                Openstack,
                "{namespaceSelector: {matchExpressions: [{key: a, operator: Exists}, {key: a, operatr: In}]}}",
                "spec.namespaceSelector.matchExpressions[1] operatr operator",
            ),
            (
                Aws,
                "{allowedNamespaces: {selector: {matchExpressions: [{key: a, operator: Exist}]}}}",
                "spec.allowedNamespaces.selector.matchExpressions[0].operator Exist Exists",
            ),
            // What was meant stands there too, or nothing near it.
            (Aws, "{allowedNamespaces: {list: [a]}, allowedNamspaces: {}}", ""),
            (Aws, "{allowedNamespaces: {list: [a], lst: [b]}}", ""),
            (Aws, "{allowedNamespaces: {names: [a]}}", ""),
            (Vsphere, "{allowedNamespaces: {list: [a]}}", ""),
            (Aws, "{secretRef: a}", ""),
            (Aws, "{allowedNamspaces: null}", ""),
            (All, "{allowedNamspaces: {}}", ""),
        ] {
            let said = slip(tenancy, Some(&node(&yaml(spec))));
            let said = said.map(|slip| format!("{} {} {}", slip.at, slip.typed, slip.meant)).unwrap_or_default();
            assert_eq!(said, expect, "{spec}");
        }
        assert_eq!(slip(Aws, None), None);
        assert_eq!(slip(Openstack, Some(&node(&yaml(&format!("{{namespaceSelector: {named}}}"))))), None);
    }
}
