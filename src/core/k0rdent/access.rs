//! AccessManagement: the objects of the system namespace that k0rdent copies to other namespaces, and to which.
//!
//! Read as k0rdent 1.12 reads it: `resources` if there are any, else the older `credentials`. Of the kinds that rules hand
//! out, Credentials, Secrets and ConfigMaps decide something here; others say nothing. A wrong type or an unknown
//! field makes its part of the rule unknown: that part then neither gives nor takes, and the other rules stay as they are.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::GROUP;
use crate::finding::{Code, Fault, Place};
use crate::lenient::{Faults, Told};
use crate::name::{GroupKind, Name, Namespace, is_dns_label};
use crate::nearest::edits;
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Label, Selector, Truth, UnusableSelector};

/// The only name that k0rdent gives to an AccessManagement.
pub const NAME: &str = "kcm";

/// The fields of a rule, in any release.
const RULE: [&str; 8] = [
    "targetNamespaces",
    "resources",
    "credentials",
    "clusterTemplateChains",
    "serviceTemplateChains",
    "clusterAuthentications",
    "clusterAuditPolicies",
    "dataSources",
];

const RESOURCE: [&str; 5] = ["apiGroup", "kind", "names", "selector", "stringSelector"];

/// Groups that are written by mistake for that of core kinds, which is empty.
const CORE_SLIPS: [&str; 3] = ["v1", "core", GROUP];

/// One of `spec.accessRules`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rule {
    /// The objects of the system namespace that the rule hands out: those that any entry covers.
    pub resources: Vec<Handed>,
    /// The namespaces that get them.
    pub targets: Targets,
}

/// Some of the objects of the system namespace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handed {
    /// Their kind; none if that is unknown.
    kind: Option<GroupKind>,
    /// The objects of that kind.
    choice: Choice,
}

impl Handed {
    /// Objects of which nothing is known.
    const UNKNOWN: Self = Self { kind: None, choice: Choice::Unknown };

    /// Returns true if it is unknown which objects of a kind these are.
    pub fn leaves_open(&self, kind: &GroupKind) -> bool {
        self.choice == Choice::Unknown && self.may_be(kind)
    }

    fn may_be(&self, kind: &GroupKind) -> bool {
        self.kind.as_ref().is_none_or(|own| own == kind)
    }
}

/// Some of the objects of a kind.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Choice {
    /// Those with one of these names.
    Named(BTreeSet<Name>),
    /// Those whose labels satisfy a selector.
    By(Selector),
    /// Unknown ones.
    Unknown,
}

/// The namespaces that a rule is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Targets {
    /// These.
    List(BTreeSet<Namespace>),
    /// Those of the management cluster whose labels satisfy a selector.
    By(Selector),
    /// None are named: all namespaces from k0rdent 1.10 on, none before.
    Unstated,
    /// Unknown ones.
    Unknown,
}

/// The labels of an object; none if they are unknown.
pub type Labels<'a> = Option<&'a BTreeMap<&'a str, &'a str>>;

/// Decides if labels satisfy a selector.
fn matches(selector: &Selector, labels: Labels<'_>) -> Truth {
    selector.matches(|key| match labels {
        None => Label::Unknown,
        Some(labels) => labels.get(key).map_or(Label::Absent, |value| Label::Is(value)),
    })
}

impl Rule {
    /// Tells if the rule hands out the object with this kind, this name and these labels.
    pub fn hands_out(&self, kind: &GroupKind, name: &Name, labels: Labels<'_>) -> Truth {
        let one = |handed: &Handed| match &handed.choice {
            Choice::Named(names) if names.contains(name) => Truth::Yes,
            Choice::Named(_) => Truth::No,
            Choice::By(selector) => matches(selector, labels),
            Choice::Unknown => Truth::Unknown,
        };
        self.resources.iter().filter(|handed| handed.may_be(kind)).map(one).fold(Truth::No, Truth::or)
    }
}

/// Reads the rules of an AccessManagement, and the faults in them.
pub fn read(object: &Object) -> (Vec<Rule>, Vec<Fault>) {
    let mut faults = Faults::new(Code::UnreadableObject);
    let spec = faults.at(&object.body, "", &["spec"]);
    let told = spec.map_or(Ok(()), |spec| faults.mistyped(spec, "spec", &["accessRules"]));
    let items = match told.and_then(|()| faults.walk(&object.body, "", &["spec", "accessRules"])) {
        Ok(None) => return (Vec::new(), faults.into_found()),
        Ok(Some(Node::List(items))) => items,
        found => {
            if let Ok(Some(other)) = found {
                let Told = faults.wrong_type("spec.accessRules", other, "a list");
            }
            let unknown = Rule { resources: [Handed::UNKNOWN].into(), targets: Targets::Unknown };
            return (vec![unknown], faults.into_found());
        }
    };
    // An API server drops what it does not know, so what it gives is of its own release.
    let is_live = matches!(object.origin.place, Place::Cluster { .. });
    let rule = |(index, node): (usize, &Node)| {
        let at = format!("spec.accessRules[{index}]");
        let told = faults.mistyped(node, &at, &RULE);
        if told.and_then(|()| if is_live { Ok(()) } else { only(node, &at, &RULE, &mut faults) }).is_err() {
            return Rule { resources: [Handed::UNKNOWN].into(), targets: Targets::Unknown };
        }
        let resources = resources(node, &at, &mut faults).unwrap_or_else(|Told| [Handed::UNKNOWN].into());
        let targets = targets(node, &at, &mut faults).unwrap_or(Targets::Unknown);
        Rule { resources, targets }
    };
    (items.iter().enumerate().map(rule).collect(), faults.into_found())
}

fn resources(rule: &Node, at: &str, faults: &mut Faults) -> Result<Vec<Handed>, Told> {
    let resources = list(rule, at, "resources", faults)?.unwrap_or_default();
    if resources.is_empty() {
        let names = list(rule, at, "credentials", faults)?.unwrap_or_default();
        let choice = Choice::Named(texts(names, &format!("{at}.credentials"), faults)?);
        return Ok([Handed { kind: Some(GroupKind::new(GROUP, "Credential")), choice }].into());
    }
    let mut handed = Vec::new();
    for (index, resource) in resources.iter().enumerate() {
        let at = format!("{at}.resources[{index}]");
        match kind_of(resource, &at, faults) {
            Err(Told) => handed.push(Handed::UNKNOWN),
            Ok(Meant::Other) => {}
            Ok(Meant::Unclear(kind)) => handed.push(Handed { kind: Some(kind), choice: Choice::Unknown }),
            Ok(Meant::Exactly(kind)) => {
                let choice = choice(resource, &at, faults).unwrap_or(Choice::Unknown);
                handed.push(Handed { kind: Some(kind), choice });
            }
        }
    }
    Ok(handed)
}

/// The kind that one of `resources` is about.
enum Meant {
    /// One that decides something here.
    Exactly(GroupKind),
    /// Probably this one; a slip leaves open what is selected.
    Unclear(GroupKind),
    /// Another one.
    Other,
}

/// The kind that one of `resources` selects. An empty group is that of k0rdent's own kinds, and the core's of all others.
fn kind_of(resource: &Node, at: &str, faults: &mut Faults) -> Result<Meant, Told> {
    let kind = faults.walk_to_text(resource, at, &["kind"])?;
    let Some(kind) = kind else {
        faults.mistyped(resource, at, &RESOURCE)?;
        faults.add(format!("{at}.kind is missing"), "Write the kind that the rule hands out, such as Credential.");
        return Err(Told);
    };
    let group = faults.walk_to_text(resource, at, &["apiGroup"])?.unwrap_or_default();
    let told = faults.mistyped(resource, at, &RESOURCE);
    let known = [(GROUP, "Credential"), ("", "Secret"), ("", "ConfigMap")];
    let is_of = |of: &str| group == of || group.is_empty();
    if let Some((of, _)) = known.into_iter().find(|(of, known)| *known == kind && is_of(of)) {
        let kind = GroupKind::new(of, kind);
        return Ok(if told.is_ok() { Meant::Exactly(kind) } else { Meant::Unclear(kind) });
    }
    if let Some((of, known)) = known.into_iter().find(|(of, known)| of.is_empty() && *known == kind)
        && CORE_SLIPS.contains(&group)
    {
        let Told = faults.slip(format!("{at}.apiGroup is no group that has {known}"), "the empty group");
        return Ok(Meant::Unclear(GroupKind::new(of, known)));
    }
    let is_near = |of: &str| is_of(of) || (of == GROUP && edits(group, of).is_some());
    let near = known.into_iter().find(|(of, known)| edits(kind, known).is_some() && is_near(of));
    Ok(match near {
        None => Meant::Other,
        Some((of, near)) => {
            let Told = faults.slip(format!("{at} selects a kind that {} does not have", api_of(of)), near);
            Meant::Unclear(GroupKind::new(of, near))
        }
    })
}

/// The name of the API that a group belongs to, for people.
fn api_of(group: &str) -> &'static str {
    if group == GROUP { "k0rdent" } else { "Kubernetes" }
}

/// The objects that one of `resources` selects: all of its kind without a selector.
fn choice(resource: &Node, at: &str, faults: &mut Faults) -> Result<Choice, Told> {
    only(resource, at, &RESOURCE, faults)?;
    if let Some(names) = list(resource, at, "names", faults)? {
        return Ok(Choice::Named(texts(names, &format!("{at}.names"), faults)?));
    }
    let selector = selector(resource, at, faults)?;
    Ok(Choice::By(selector.unwrap_or_else(Selector::everything)))
}

fn targets(rule: &Node, at: &str, faults: &mut Faults) -> Result<Targets, Told> {
    let Some(targets) = faults.walk(rule, at, &["targetNamespaces"])? else { return Ok(Targets::Unstated) };
    let at = format!("{at}.targetNamespaces");
    if !targets.is_map() {
        return Err(faults.wrong_type(&at, targets, "a map"));
    }
    only(targets, &at, &["list", "selector", "stringSelector"], faults)?;
    let names = list(targets, &at, "list", faults)?.unwrap_or_default();
    if !names.is_empty() {
        let names: BTreeSet<Namespace> = texts(names, &format!("{at}.list"), faults)?;
        if names.iter().all(|name| is_dns_label(name.as_str())) {
            return Ok(Targets::List(names));
        }
        faults.add(format!("{at}.list has an item that cannot name a namespace"), "Write names of namespaces.");
        return Err(Told);
    }
    Ok(selector(targets, &at, faults)?.map_or(Targets::Unstated, Targets::By))
}

/// `stringSelector`, if it is not empty, else `selector`.
fn selector(node: &Node, at: &str, faults: &mut Faults) -> Result<Option<Selector>, Told> {
    let (field, read) = match faults.walk_to_text(node, at, &["stringSelector"])? {
        Some(text) => ("stringSelector", Selector::parse(text)),
        None => match faults.walk(node, at, &["selector"])? {
            Some(selector) => ("selector", Selector::read(selector)),
            None => return Ok(None),
        },
    };
    read.map(Some).map_err(|unusable| {
        let (UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) = unusable;
        faults.add(format!("{at}.{field} cannot be used: {why}"), "Write it as kubectl takes selectors.");
        Told
    })
}

/// The list at `field`; an empty list, which may mean something, is told from a missing one.
fn list<'n>(node: &'n Node, at: &str, field: &str, faults: &mut Faults) -> Result<Option<&'n [Node]>, Told> {
    match faults.walk(node, at, &[field])? {
        None => Ok(None),
        Some(Node::List(items)) => Ok(Some(items)),
        Some(other) => Err(faults.wrong_type(&format!("{at}.{field}"), other, "a list")),
    }
}

fn texts<T: for<'a> From<&'a str> + Ord>(items: &[Node], at: &str, faults: &mut Faults) -> Result<BTreeSet<T>, Told> {
    let mut texts = BTreeSet::new();
    for (index, item) in items.iter().enumerate() {
        match item.as_str() {
            Some(text) => _ = texts.insert(T::from(text)),
            None => return Err(faults.wrong_type(&format!("{at}[{index}]"), item, "text")),
        }
    }
    Ok(texts)
}

/// Refuses unknown fields where fields select: an unknown one may be all that keeps a rule narrow.
fn only(node: &Node, at: &str, known: &[&str], faults: &mut Faults) -> Result<(), Told> {
    let mut present = node.entries().iter().filter(|(_, value)| !matches!(value, Node::Null));
    match present.find(|(key, _)| !known.contains(&&**key)) {
        None => Ok(()),
        Some(_) => {
            let known: Vec<String> = known.iter().map(|key| format!("`{key}`")).collect();
            faults.add(format!("{at} has a field other than {}", known.join(", ")), "Remove the field.");
            Err(Told)
        }
    }
}

#[cfg(test)]
mod tests;
