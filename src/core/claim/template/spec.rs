//! What a ManagedResource says: which namespaces, which template, which data.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::lenient::{Faults, Told, quoted};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, is_dns_subdomain};
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Label, NAME_LABEL, Selector, Truth, UnusableSelector};
use crate::template::Pattern;

/// What is known of the labels of a namespace.
#[derive(Default)]
pub struct Labels {
    /// The labels that it is known to have.
    pub known: BTreeMap<String, String>,
    /// Whether it has no others.
    pub complete: bool,
}

impl Labels {
    /// Those of a Namespace.
    pub fn of(namespace: &Object) -> Self {
        let labels = namespace.labels.iter().map(|(key, value)| (String::from(&**key), String::from(&**value)));
        Self { known: labels.collect(), complete: true }
    }
}

/// What a ManagedResource says.
pub struct TemplateSpec {
    regex: Option<Pattern>,
    labels: Option<Selector>,
    /// The template's text.
    pub literal: Arc<str>,
    /// The data that it is given.
    pub data: Vec<Datum>,
    /// Whether objects that are there already are left alone.
    pub create_only: bool,
}

/// Data of a template.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Datum {
    /// Its name in the template.
    pub name: Arc<str>,
    /// What of the object it is.
    pub kind: DatumKind,
    /// The object.
    pub object: ObjectKey,
}

/// What of an object is given to a template.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DatumKind {
    /// A Secret's values.
    Secret,
    /// A ConfigMap's `data`.
    ConfigMap,
    /// The object as a whole.
    Object,
}

impl TemplateSpec {
    /// Whether the template is for a namespace.
    pub fn selects(&self, namespace: &Namespace, labels: &Labels) -> Truth {
        if self.regex.as_ref().is_some_and(|regex| !regex.matches(namespace.as_str())) {
            return Truth::No;
        }
        let label = |key: &str| match labels.known.get(key) {
            _ if key == NAME_LABEL => Label::Is(namespace.as_str()),
            Some(value) => Label::Is(value),
            None if labels.complete => Label::Absent,
            None => Label::Unknown,
        };
        let by_labels = |selector: &Selector| selector.matches(label);
        self.labels.as_ref().map_or(Truth::Yes, by_labels)
    }

    /// Whether the template may be for a namespace, whatever labels that has.
    pub fn may_be_for(&self, namespace: &Namespace) -> bool {
        self.selects(namespace, &Labels::default()) != Truth::No
    }
}

/// The most data of one template.
const MOST_DATA: usize = 64;

/// Reads a ManagedResource.
///
/// # Errors
/// What is wrong with it. An unknown field of the selectors counts, because they would select more without it.
pub fn read(object: &Object) -> Result<TemplateSpec, Vec<Fault>> {
    let mut faults = Faults::new(Code::InvalidObject);
    let body = &object.body;
    let help = "Write `spec.namespaceSelector` and `spec.template.literal`.";
    let spec = faults.needed_at(body, "", &["spec"], help).unwrap_or(&Node::Null);
    known(&mut faults, spec, "spec", &["namespaceSelector", "template", "avoidResourceUpdate"]);
    let (regex, labels) = selectors(&mut faults, body);
    if let Some(template) = faults.at(body, "", &["spec", "template"]) {
        known(&mut faults, template, "spec.template", &["literal", "data"]);
    }
    let literal = faults.needed(body, "", &["spec", "template", "literal"]).map(Arc::from);
    let create_only = match faults.at(body, "", &["spec", "avoidResourceUpdate"]) {
        None => false,
        Some(Node::Bool(value)) => *value,
        Some(other) => {
            let Told = faults.wrong_type("spec.avoidResourceUpdate", other, "a boolean");
            false
        }
    };
    let items = faults.items(body, "", &["spec", "template", "data"]);
    let mut data: Vec<Datum> = Vec::new();
    for (index, item) in items.iter().take(MOST_DATA + 1).enumerate() {
        let at = format!("spec.template.data[{index}]");
        if index == MOST_DATA {
            faults.add(format!("spec.template.data has more than {MOST_DATA} entries"), "Split the template.");
            break;
        }
        let Some(datum) = datum(&mut faults, item, &at) else { continue };
        if data.iter().any(|other| other.name == datum.name) {
            faults.add(format!("{at} has the name of an entry before it"), "Give each entry a name of its own.");
        }
        data.push(datum);
    }
    let spec = literal.map(|literal| TemplateSpec { regex, labels, literal, data, create_only });
    faults.settle(spec)
}

fn selectors(faults: &mut Faults, body: &Node) -> (Option<Pattern>, Option<Selector>) {
    let path = ["spec", "namespaceSelector"];
    if let Some(selector) = faults.at(body, "", &path) {
        known(faults, selector, "spec.namespaceSelector", &["regex", "labelSelector"]);
    }
    let regex = faults.text(body, "", &["spec", "namespaceSelector", "regex"]);
    let pattern = regex.and_then(|regex| match Pattern::new(regex) {
        Ok(pattern) => Some(pattern),
        Err(why) => {
            faults.add(
                format!("spec.namespaceSelector.regex: {why}"),
                "Write it in the syntax of RE2; it is not anchored.",
            );
            None
        }
    });
    let labels = faults.at(body, "", &["spec", "namespaceSelector", "labelSelector"]);
    let selector = labels.and_then(|labels| match Selector::read(labels) {
        Ok(selector) => Some(selector),
        Err(UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) => {
            let help = "Write `matchLabels` or `matchExpressions`, as the API server would take them.";
            faults.add(format!("spec.namespaceSelector.labelSelector cannot be used: {why}"), help);
            None
        }
    });
    let selects = pattern.is_some() || selector.as_ref().is_some_and(|selector| !selector.is_empty());
    // What is wrong with it is told already.
    if !selects && faults.is_empty() {
        let help = "Write a regex or a labelSelector; `regex: .` is every namespace.";
        faults.add("spec.namespaceSelector is empty, which would be every namespace".into(), help);
    }
    (pattern, selector.filter(|selector| !selector.is_empty()))
}

fn datum(faults: &mut Faults, item: &Node, at: &str) -> Option<Datum> {
    known(faults, item, at, &["name", "type", "ref"]);
    if let Some(reference) = faults.at(item, at, &["ref"]) {
        known(faults, reference, &format!("{at}.ref"), &["name", "namespace", "kind", "apiVersion", "group"]);
    }
    let name: Arc<str> = faults.needed(item, at, &["name"])?.into();
    let object: Name = faults.needed(item, at, &["ref", "name"])?.into();
    let namespace = faults.text(item, at, &["ref", "namespace"]).map(Namespace::from);
    let namespace_is_one = namespace.as_ref().is_none_or(|namespace| is_dns_subdomain(namespace.as_str()));
    if !is_dns_subdomain(object.as_str()) || !namespace_is_one {
        faults.add(format!("{at}.ref names what no object is called"), "Write its name and its namespace.");
        return None;
    }
    let kind = match faults.needed(item, at, &["type"])? {
        "Secret" => DatumKind::Secret,
        "ConfigMap" => DatumKind::ConfigMap,
        "KubernetesResource" => DatumKind::Object,
        other => {
            let message = format!("{at}.type cannot be {}", quoted(other));
            faults.add(message, "Write Secret, ConfigMap or KubernetesResource.");
            return None;
        }
    };
    let object = match kind {
        DatumKind::Secret | DatumKind::ConfigMap => {
            let Some(namespace) = namespace else {
                faults.add(format!("{at}.ref.namespace is missing"), "Write the object's namespace.");
                return None;
            };
            let make = if kind == DatumKind::Secret { ObjectKey::secret } else { ObjectKey::config_map };
            make(namespace, object)
        }
        DatumKind::Object => {
            let group = faults.text(item, at, &["ref", "group"]).unwrap_or_default();
            let group_kind = GroupKind::new(group, faults.needed(item, at, &["ref", "kind"])?);
            if group_kind.is_secret() {
                faults.add(format!("{at} gives a Secret as a whole"), "Write `type: Secret`.");
                return None;
            }
            ObjectKey::new(group_kind, namespace, object)
        }
    };
    Some(Datum { name, kind, object })
}

/// Refuses fields that KubeNSync's API has not: what they were meant to narrow is not narrowed.
fn known(faults: &mut Faults, node: &Node, at: &str, known: &[&str]) {
    for (key, _) in node.entries().iter().filter(|(key, _)| !known.contains(&&**key)) {
        faults.add(format!("{at} has no field {}", quoted(key)), &format!("Its fields are {}.", known.join(", ")));
    }
}
