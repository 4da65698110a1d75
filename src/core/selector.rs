//! Label selectors, with the meaning of Kubernetes' `metav1.LabelSelectorAsSelector`.
//!
//! Labels can be unknown here, so an answer is yes, no or unknown. The meaning of an *empty* selector differs
//! between its users, so each of them asks for that case itself.
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#label-selectors>

mod overlap;
mod text;

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::name::{Namespace, is_dns_subdomain, spelt};
use crate::node::{Key, Node};

/// The label that every namespace carries with its own name.
pub const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// A selector whose requirements all have to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Selector {
    stated: bool,
    requirements: Vec<Requirement>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Requirement {
    key: Box<str>,
    test: Test,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Test {
    In(Vec<Box<str>>),
    NotIn(Vec<Box<str>>),
    Exists,
    DoesNotExist,
}

/// Why a node is no selector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UnusableSelector {
    /// Kubernetes refuses the selector, so it matches nothing.
    Refused(&'static str),
    /// It has fields or types that selectors do not have, so its meaning is unknown.
    NotUnderstood(&'static str),
}

/// What is known of one label of something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Label<'a> {
    /// It has this value.
    Is(&'a str),
    /// It is not there.
    Absent,
    /// Nobody knows.
    Unknown,
}

/// An answer where not everything is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Truth {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// Nobody knows.
    Unknown,
}

spelt!(Truth { Yes "yes", No "no", Unknown "unknown" });

impl Truth {
    /// Whether both hold; a certain no decides, whatever the other answer is.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Truth::No, _) | (_, Truth::No) => Truth::No,
            (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
            (Truth::Yes, Truth::Yes) => Truth::Yes,
        }
    }

    /// Whether one of them holds; a certain yes decides.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (Truth::Yes, _) | (_, Truth::Yes) => Truth::Yes,
            (Truth::Unknown, _) | (_, Truth::Unknown) => Truth::Unknown,
            (Truth::No, Truth::No) => Truth::No,
        }
    }
}

impl Selector {
    /// The keys of the labels that the selector asks for; a key may come more than once.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.requirements.iter().map(|requirement| &*requirement.key)
    }

    /// A label of which the selector asks for one of some values, if it does: the one with the fewest.
    pub fn needs(&self) -> Option<(&str, &[Box<str>])> {
        let needed = self.requirements.iter().filter_map(|requirement| match &requirement.test {
            Test::In(values) => Some((&*requirement.key, values.as_slice())),
            Test::NotIn(_) | Test::Exists | Test::DoesNotExist => None,
        });
        needed.min_by_key(|(_, values)| values.len())
    }

    /// Reads a selector; `null` fields count as absent.
    ///
    /// # Errors
    /// Where it has fields or types that selectors do not have, or where Kubernetes would refuse it.
    pub fn read(node: &Node) -> Result<Self, UnusableSelector> {
        use UnusableSelector::NotUnderstood;
        if !node.is_map() {
            return Err(NotUnderstood("a selector is not a map"));
        }
        let present = |(_, value): &&(Key, Node)| !matches!(value, Node::Null);
        let fields = node.entries().iter().filter(present);
        if fields.clone().any(|(key, _)| !matches!(&**key, "matchLabels" | "matchExpressions")) {
            return Err(NotUnderstood("a selector has a field that selectors do not have"));
        }
        let stated = fields.count() > 0;
        let mut requirements = Vec::new();
        match node.at(&["matchLabels"]) {
            None => {}
            Some(Node::Map(labels)) => {
                for (key, value) in labels {
                    let value = value.as_str().ok_or(NotUnderstood("matchLabels holds something that is not text"))?;
                    requirements.push(requirement(key, Test::In(vec![value.into()]))?);
                }
            }
            Some(_) => return Err(NotUnderstood("matchLabels is not a map")),
        }
        match node.at(&["matchExpressions"]) {
            None => {}
            Some(Node::List(items)) => {
                for item in items {
                    requirements.push(expression(item)?);
                }
            }
            Some(_) => return Err(NotUnderstood("matchExpressions is not a list")),
        }
        Ok(Self { stated, requirements })
    }

    /// The selector without requirements.
    pub fn everything() -> Self {
        Self { stated: false, requirements: Vec::new() }
    }

    /// Whether the selector has no requirements.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the selector is Go's zero value: neither field is present, not even an empty one.
    pub fn is_zero(&self) -> bool {
        !self.stated
    }

    /// Whether labels satisfy all requirements; the empty selector is satisfied by any.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Label<'a>) -> Truth {
        let holds = |requirement: &Requirement| requirement.holds(label(&requirement.key));
        self.requirements.iter().map(holds).fold(Truth::Yes, Truth::and)
    }

    /// Whether a namespace satisfies the selector, given its labels as configured (`None`: not configured).
    ///
    /// [`NAME_LABEL`] is always known: the API server sets it, and nobody can change it.
    pub fn matches_namespace(&self, namespace: &Namespace, labels: Option<&BTreeMap<String, String>>) -> Truth {
        self.matches(|key| match labels {
            _ if key == NAME_LABEL => Label::Is(namespace.as_str()),
            None => Label::Unknown,
            Some(labels) => labels.get(key).map_or(Label::Absent, |value| Label::Is(value)),
        })
    }
}

impl Requirement {
    fn holds(&self, label: Label<'_>) -> Truth {
        let among = |values: &[Box<str>], text: &str| values.iter().any(|value| **value == *text);
        let holds = match (&self.test, label) {
            (_, Label::Unknown) => return Truth::Unknown,
            (Test::In(values), Label::Is(text)) => among(values, text),
            (Test::In(_), Label::Absent) => false,
            (Test::NotIn(values), Label::Is(text)) => !among(values, text),
            (Test::NotIn(_), Label::Absent) => true,
            (Test::Exists, label) => label != Label::Absent,
            (Test::DoesNotExist, label) => label == Label::Absent,
        };
        if holds { Truth::Yes } else { Truth::No }
    }
}

fn expression(item: &Node) -> Result<Requirement, UnusableSelector> {
    use UnusableSelector::{NotUnderstood, Refused};
    let fields = item.entries().iter().filter(|(_, value)| !matches!(value, Node::Null));
    if !item.is_map() || fields.into_iter().any(|(key, _)| !matches!(&**key, "key" | "operator" | "values")) {
        return Err(NotUnderstood("matchExpressions has an entry with fields that selectors do not have"));
    }
    let text = |field: &str| match item.at(&[field]) {
        None => Ok(""),
        Some(Node::Text(text)) => Ok(&**text),
        Some(_) => Err(NotUnderstood("matchExpressions has a key or operator that is not text")),
    };
    let values: Vec<Box<str>> = match item.at(&["values"]) {
        None => Vec::new(),
        Some(Node::List(items)) => items
            .iter()
            .map(|value| value.as_str().map(Box::from).ok_or(NotUnderstood("values holds something that is not text")))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err(NotUnderstood("values is not a list")),
    };
    let test = match (text("operator")?, values.is_empty()) {
        ("In", false) => Test::In(values),
        ("NotIn", false) => Test::NotIn(values),
        ("Exists", true) => Test::Exists,
        ("DoesNotExist", true) => Test::DoesNotExist,
        ("In" | "NotIn", true) => return Err(Refused("In and NotIn need values")),
        ("Exists" | "DoesNotExist", false) => return Err(Refused("Exists and DoesNotExist take no values")),
        _ => return Err(Refused("the operator is none of In, NotIn, Exists and DoesNotExist")),
    };
    requirement(text("key")?, test)
}

fn requirement(key: &str, test: Test) -> Result<Requirement, UnusableSelector> {
    if !is_label_key(key) {
        return Err(UnusableSelector::Refused("a key is none that labels can have"));
    }
    if let Test::In(values) | Test::NotIn(values) = &test
        && !values.iter().all(|value| is_label_value(value))
    {
        return Err(UnusableSelector::Refused("a value is none that labels can have"));
    }
    Ok(Requirement { key: key.into(), test })
}

/// Whether `text` can be a label's key: a name of 1 to 63 bytes, with or without a DNS subdomain and
/// a slash before it.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/#syntax-and-character-set>
pub fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_dns_subdomain(prefix) && !name.is_empty() && is_label_value(name),
        None => !text.is_empty() && is_label_value(text),
    }
}

/// Whether `text` can be a label's value: up to 63 of `[-_.A-Za-z0-9]`, alphanumeric at both ends.
pub fn is_label_value(text: &str) -> bool {
    let bounded = |byte: Option<u8>| byte.is_none_or(|b| b.is_ascii_alphanumeric());
    text.len() <= 63
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && bounded(text.bytes().next())
        && bounded(text.bytes().next_back())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, yaml};
    use alloc::string::ToString as _;

    #[track_caller]
    fn check(selector: &str, labels: &str, expect: Result<Truth, UnusableSelector>) {
        let labels: Option<BTreeMap<String, String>> = (labels != "?").then(|| {
            labels
                .split_whitespace()
                .filter_map(|l| l.split_once('='))
                .map(|(k, v)| (k.to_string(), v.to_string()))
                .collect()
        });
        let said = Selector::read(&node(&yaml(selector))).map(|s| s.matches_namespace(&"ns".into(), labels.as_ref()));
        assert_eq!(said, expect, "{selector} over {labels:?}");
    }

    #[test]
    fn requirements_are_anded_and_mean_what_kubernetes_says() {
        use Truth::{No, Unknown, Yes};
        for (selector, labels, expect) in [
            ("{}", "", Yes),
            ("{}", "?", Yes),
            ("{matchLabels: {}, matchExpressions: []}", "?", Yes),
            ("{matchLabels: {a: b}}", "a=b", Yes),
            ("{matchLabels: {a: b}}", "a=c", No),
            ("{matchLabels: {a: b}}", "", No),
            ("{matchLabels: {a: b}}", "?", Unknown),
            ("{matchLabels: {a: ''}}", "a=", Yes),
            ("{matchLabels: {a: ''}}", "", No),
            ("{matchLabels: {a: b, c: d}}", "a=b", No),
            ("{matchExpressions: [{key: a, operator: In, values: [b, c]}]}", "a=c", Yes),
            ("{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}", "", Yes),
            ("{matchExpressions: [{key: a, operator: NotIn, values: [b]}]}", "a=b", No),
            ("{matchExpressions: [{key: a, operator: Exists}]}", "a=", Yes),
            ("{matchExpressions: [{key: a, operator: Exists, values: []}]}", "", No),
            ("{matchExpressions: [{key: a, operator: DoesNotExist, values: null}]}", "", Yes),
            ("{matchExpressions: [{key: a, operator: DoesNotExist}]}", "?", Unknown),
            ("{matchLabels: {a: b, kubernetes.io/metadata.name: other}}", "?", No),
            ("{matchLabels: {kubernetes.io/metadata.name: ns}}", "?", Yes),
            ("{matchLabels: {kubernetes.io/metadata.name: forged}}", "kubernetes.io/metadata.name=forged", No),
        ] {
            check(selector, labels, Ok(expect));
        }
    }

    #[test]
    fn what_kubernetes_refuses_is_told_from_what_nobody_understands() {
        let kind = |selector: &str| match Selector::read(&node(&yaml(selector))).map(|_| ()) {
            Ok(()) => "fine",
            Err(UnusableSelector::Refused(_)) => "refused",
            Err(UnusableSelector::NotUnderstood(_)) => "not understood",
        };
        for (selector, expect) in [
            ("{matchLabels: null, matchExpressions: null}", "fine"),
            ("{matchExpressions: [{key: a, operator: In}]}", "refused"),
            ("{matchExpressions: [{key: a, operator: NotIn, values: []}]}", "refused"),
            ("{matchExpressions: [{key: a, operator: Exists, values: [b]}]}", "refused"),
            ("{matchExpressions: [{key: a, operator: in, values: [b]}]}", "refused"),
            ("{matchExpressions: [{key: a, operator: Gt, values: ['1']}]}", "refused"),
            ("{matchExpressions: [{key: a}]}", "refused"),
            ("{matchExpressions: [{operator: Exists}]}", "refused"),
            ("{matchLabels: {'a b': c}}", "refused"),
            ("{matchLabels: {a: 'b c'}}", "refused"),
            ("{matchLabels: {a: -b}}", "refused"),
            ("{matchLabels: {/a: b}}", "refused"),
            ("{matchlabels: {a: b}}", "not understood"),
            ("{matchLabels: {a: 1}}", "not understood"),
            ("{matchLabels: {a: null}}", "not understood"),
            ("{matchLabels: a}", "not understood"),
            ("{matchExpressions: {}}", "not understood"),
            ("{matchExpressions: [a]}", "not understood"),
            ("{matchExpressions: [{key: a, operator: In, value: b}]}", "not understood"),
            ("{matchExpressions: [{key: a, operator: In, values: [true]}]}", "not understood"),
            ("[]", "not understood"),
        ] {
            assert_eq!(kind(selector), expect, "{selector}");
        }
    }

    #[test]
    fn zero_is_told_from_empty() {
        let read = |text: &str| Selector::read(&node(&yaml(text))).unwrap();
        assert!(read("{}").is_zero() && read("{matchLabels: null}").is_zero());
        for stated in ["{matchLabels: {}}", "{matchExpressions: []}"] {
            assert!(!read(stated).is_zero() && read(stated).is_empty(), "{stated}");
        }
    }

    #[test]
    fn label_names_are_bounded() {
        let long = "a".repeat(64);
        for (key, good) in [
            ("a", true),
            ("a/b", true),
            ("A_b.c-d", true),
            ("a/b/c", false),
            ("", false),
            ("a/", false),
            (&long, false),
        ] {
            assert_eq!(is_label_key(key), good, "{key}");
        }
        assert!(is_label_value("") && !is_label_value("a\n") && !is_label_value("é"));
    }
}
