//! ClusterResourceSets: which Secrets and ConfigMaps a set delivers, to which Clusters, and how often.
//!
//! The API server drops a field that it does not know without a word, so here such a field is a fault: whoever wrote it
//! meant something. A set is looked at by itself; what its payloads hold is not known here.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use crate::finding::{Code, Fault};
use crate::lenient::{Faults, quoted};
use crate::name::{GroupKind, Name, is_dns_subdomain, is_template};
use crate::nearest::nearest;
use crate::node::Node;
use crate::selector::{Selector, UnusableSelector};

/// The API group of ClusterResourceSets.
pub const ADDONS: &str = "addons.cluster.x-k8s.io";

/// The type that the Secrets of a set must have.
pub const PAYLOAD_TYPE: &str = "addons.cluster.x-k8s.io/resource-set";

/// The most payloads that the API server takes in one set.
pub const MOST_PAYLOADS: usize = 100;

/// The most bytes of a payload that pouch makes: the API server takes Secrets whose values have 1 MiB together.
pub const MOST_BYTES: usize = 900 << 10;

/// The fields of a set's `spec`, in v1beta1 and v1beta2.
const FIELDS: [&str; 3] = ["clusterSelector", "resources", "strategy"];

/// How often a set writes its payloads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Strategy {
    /// Again whenever they change.
    Reconcile,
    /// Once.
    ApplyOnce,
    /// The webhook of Cluster API writes `ApplyOnce`; without it nothing is ever delivered.
    Unsaid,
}

/// What a ClusterResourceSet says.
#[derive(PartialEq, Eq, Debug)]
pub struct ResourceSet {
    /// Which Clusters of its namespace it delivers to. An empty selector chooses none.
    pub selector: Selector,
    /// The Secrets and ConfigMaps of its namespace that it delivers, each once.
    pub payloads: Vec<(GroupKind, Name)>,
    /// How often.
    pub strategy: Strategy,
}

/// The kind of ClusterResourceSets.
pub fn resource_set_kind() -> GroupKind {
    GroupKind::new(ADDONS, "ClusterResourceSet")
}

/// The kind of what Cluster API notes of the sets of one Cluster.
pub fn binding_kind() -> GroupKind {
    GroupKind::new(ADDONS, "ClusterResourceSetBinding")
}

/// Whether a kind is that of ClusterResourceSets.
pub fn is_resource_set(kind: &GroupKind) -> bool {
    kind.is(ADDONS, "ClusterResourceSet")
}

/// Whether a field of a set's `spec` is read.
pub fn is_read_of_spec(field: &str) -> bool {
    FIELDS.contains(&field)
}

/// Reads a ClusterResourceSet of v1beta1 or v1beta2.
///
/// # Errors
/// Where a field is unknown, has another type, or is missing; where a template is left in one.
pub fn read(body: &Node) -> Result<ResourceSet, Vec<Fault>> {
    let mut reading = Reading { faults: Faults::new(Code::InvalidObject) };
    let spec = reading.faults.needed_at(body, "", &["spec"], "Write it, or remove the set.");
    let read = spec.and_then(|spec| {
        if !spec.is_map() {
            let _told = reading.faults.wrong_type("spec", spec, "a map");
            return None;
        }
        reading.strictly(spec, "spec", &FIELDS, "Remove the field: the API server drops it without a word.");
        let selector = selector(&mut reading, spec);
        let payloads = payloads(&mut reading, spec);
        let strategy = strategy(&mut reading, spec);
        Some(ResourceSet { selector: selector?, payloads, strategy: strategy? })
    });
    reading.faults.settle(read)
}

/// What is wrong with one set, collected while it is read.
struct Reading {
    faults: Faults,
}

impl Reading {
    /// Adds a fault for every field that sets do not have.
    fn strictly(&mut self, node: &Node, at: &str, known: &[&str], help: &str) {
        for (key, _) in node.entries().iter().filter(|(key, _)| !known.contains(&&**key)) {
            let message = format!("{at} has no field {}", quoted(key));
            match nearest(key, known.iter().copied()) {
                Some(meant) => _ = self.faults.slip(message, meant),
                None => self.faults.add(message, help),
            }
        }
    }
}

fn selector(reading: &mut Reading, spec: &Node) -> Option<Selector> {
    const AT: &str = "spec.clusterSelector";
    const HELP: &str = "Write the labels of the Clusters under `matchLabels`.";
    let node = reading.faults.needed_at(spec, "spec", &["clusterSelector"], HELP)?;
    reading.strictly(node, AT, &["matchLabels", "matchExpressions"], HELP);
    match Selector::read(node) {
        Ok(selector) => Some(selector),
        Err(UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) => {
            let help = "Write it as a label selector; what the API server refuses delivers nothing.";
            reading.faults.add_of(AT, has_template(node), format!("{AT} cannot be used: {why}"), help);
            None
        }
    }
}

/// Whether a variable is left in some text or key.
fn has_template(node: &Node) -> bool {
    match node {
        Node::Text(text) => is_template(text),
        Node::List(items) => items.iter().any(has_template),
        Node::Map(entries) => entries.iter().any(|(key, node)| is_template(key) || has_template(node)),
        _ => false,
    }
}

fn payloads(reading: &mut Reading, spec: &Node) -> Vec<(GroupKind, Name)> {
    let items = match reading.faults.at(spec, "spec", &["resources"]) {
        Some(Node::Text(text)) if is_template(text) => {
            reading.faults.add_of("spec.resources", true, String::new(), "");
            return Vec::new();
        }
        _ => reading.faults.items(spec, "spec", &["resources"]),
    };
    if items.is_empty() {
        reading.faults.add(
            String::from("spec.resources names nothing"),
            "Name the Secrets and ConfigMaps, or remove the set; until then what it has stays.",
        );
    }
    if items.len() > MOST_PAYLOADS {
        let message =
            format!("spec.resources names {} payloads, and the API server takes {MOST_PAYLOADS}", items.len());
        reading.faults.add(message, "Divide the set; until then what it has stays.");
        return Vec::new();
    }
    let (mut payloads, mut seen) = (Vec::with_capacity(items.len()), BTreeSet::new());
    for (number, item) in items.iter().enumerate() {
        let Some(payload) = payload(reading, item, &format!("spec.resources[{number}]")) else { continue };
        if seen.insert(payload.clone()) {
            payloads.push(payload);
        }
    }
    payloads
}

fn payload(reading: &mut Reading, item: &Node, at: &str) -> Option<(GroupKind, Name)> {
    const KINDS: [&str; 2] = ["Secret", "ConfigMap"];
    let help = "Remove the field: payloads are named by kind and name, and stand in the set's own namespace.";
    reading.strictly(item, at, &["kind", "name"], help);
    let kind = reading.faults.needed(item, at, &["kind"]);
    let name = reading.faults.needed(item, at, &["name"]);
    let (kind, name) = (kind?, name?);
    let is_known = KINDS.contains(&kind);
    if !is_known {
        let message = format!("{at}.kind cannot be {}", quoted(kind));
        match nearest(kind, KINDS) {
            Some(meant) => _ = reading.faults.slip(message, meant),
            None => {
                let help = "A set delivers Secrets and ConfigMaps alone.";
                reading.faults.add_of(&format!("{at}.kind"), is_template(kind), message, help);
            }
        }
    }
    if !is_dns_subdomain(name) {
        let message = format!("{at}.name cannot be {}", quoted(name));
        let help = "Write it as Kubernetes takes it.";
        reading.faults.add_of(&format!("{at}.name"), is_template(name), message, help);
        return None;
    }
    is_known.then(|| (GroupKind::new("", kind), name.into()))
}

fn strategy(reading: &mut Reading, spec: &Node) -> Option<Strategy> {
    let Ok(said) = reading.faults.walk_to_text(spec, "spec", &["strategy"]) else { return None };
    let Some(said) = said else { return Some(Strategy::Unsaid) };
    match said {
        "Reconcile" => return Some(Strategy::Reconcile),
        "ApplyOnce" => return Some(Strategy::ApplyOnce),
        _ => {}
    }
    let message = format!("spec.strategy cannot be {}", quoted(said));
    match nearest(said, ["Reconcile", "ApplyOnce"]) {
        Some(meant) => _ = reading.faults.slip(message, meant),
        None => {
            reading.faults.add_of("spec.strategy", is_template(said), message, "Write Reconcile or ApplyOnce.");
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{node, yaml};
    use alloc::string::ToString as _;

    /// What is wrong with a set, by code and message; or how often it delivers what.
    fn said(spec: &str) -> String {
        match read(&node(&yaml(&format!("spec: {spec}")))) {
            Ok(set) => {
                let names: Vec<&str> = set.payloads.iter().map(|(_, name)| name.as_str()).collect();
                format!("{:?} {}", set.strategy, names.join(","))
            }
            Err(faults) => {
                let text = |fault: &Fault| format!("{}: {} ({})", fault.code.text(), fault.message, fault.help);
                faults.iter().map(text).collect::<Vec<_>>().join("; ")
            }
        }
    }

    #[test]
    fn a_set_is_read_strictly() {
        const SELECTOR: &str = "clusterSelector: {matchLabels: {a: b}}";
        const RESOURCES: &str = "resources: [{kind: Secret, name: a}]";
        for (spec, expect) in [
            (format!("{{{SELECTOR}, {RESOURCES}, strategy: Reconcile}}"), "Reconcile a"),
            (format!("{{{SELECTOR}, {RESOURCES}, strategy: ApplyOnce}}"), "ApplyOnce a"),
            (format!("{{{SELECTOR}, {RESOURCES}}}"), "Unsaid a"),
            (format!("{{{SELECTOR}, {RESOURCES}, strategy: ''}}"), "Unsaid a"),
            (format!("{{clusterSelector: {{}}, {RESOURCES}}}"), "Unsaid a"),
            (
                format!(
                    "{{{SELECTOR}, resources: [{{kind: Secret, name: a}}, {{kind: ConfigMap, name: b}}, {{kind: Secret, name: a}}]}}"
                ),
                "Unsaid a,b",
            ),
            ("null".to_string(), "invalid-object: spec is missing"),
            ("text".to_string(), "invalid-object: spec is text, not a map"),
            (format!("{{{RESOURCES}}}"), "invalid-object: spec.clusterSelector is missing"),
            (format!("{{{SELECTOR}}}"), "invalid-object: spec.resources names nothing"),
            (format!("{{{SELECTOR}, resources: []}}"), "invalid-object: spec.resources names nothing"),
            (
                format!("{{{SELECTOR}, resource: [{{kind: Secret, name: a}}]}}"),
                "mistyped: spec has no field \"resource\" (Did you mean resources?)",
            ),
            (format!("{{{SELECTOR}, {RESOURCES}, paused: true}}"), "invalid-object: spec has no field \"paused\""),
            (
                format!("{{{SELECTOR}, {RESOURCES}, strategy: reconcile}}"),
                "mistyped: spec.strategy cannot be \"reconcile\"",
            ),
            (format!("{{{SELECTOR}, {RESOURCES}, strategy: Always}}"), "invalid-object: spec.strategy cannot be"),
            (
                format!("{{{SELECTOR}, resources: [{{kind: Secret, name: a, namespace: b}}]}}"),
                "invalid-object: spec.resources[0] has no field \"namespace\" (Remove the field: payloads are named by",
            ),
            (format!("{{{SELECTOR}, resources: [{{kind: Secrets, name: a}}]}}"), "mistyped: spec.resources[0].kind"),
            (format!("{{{SELECTOR}, resources: [{{kind: Pod, name: a}}]}}"), "invalid-object: spec.resources[0].kind"),
            (
                format!("{{{SELECTOR}, resources: [{{kind: Secret}}]}}"),
                "invalid-object: spec.resources[0].name is missing",
            ),
            (
                format!("{{{SELECTOR}, resources: [{{kind: Secret, name: 'a b'}}]}}"),
                "invalid-object: spec.resources[0].name",
            ),
            (
                format!("{{{SELECTOR}, resources: [{{kind: Secret, name: '${{A}}-b'}}]}}"),
                "unrendered-template: a variable was left in spec.resources[0].name (Give",
            ),
            (
                format!("{{{SELECTOR}, resources: '${{A}}'}}"),
                "unrendered-template: a variable was left in spec.resources (Give",
            ),
            (
                format!("{{clusterSelector: {{matchLabels: {{a: '${{B}}'}}}}, {RESOURCES}}}"),
                "unrendered-template: a variable was left in spec.clusterSelector (Give",
            ),
            (
                String::from(
                    "{clusterSelector: {matchLabels: {a: '${B}'}}, resources: [{kind: Secret, name: '${A}'}]}",
                ),
                "unrendered-template: a variable was left in spec.clusterSelector and spec.resources[0].name (Give",
            ),
            (
                format!("{{clusterSelector: {{matchlabels: {{a: b}}}}, {RESOURCES}}}"),
                "mistyped: spec.clusterSelector has no field \"matchlabels\"",
            ),
            (
                format!("{{clusterSelector: {{matchExpressions: [{{key: a, operator: In}}]}}, {RESOURCES}}}"),
                "invalid-object: spec.clusterSelector cannot be used: In and NotIn need values",
            ),
            (format!("{{{SELECTOR}, resources: {{a: b}}}}"), "invalid-object: spec.resources is a map, not a list"),
            (format!("{{{SELECTOR}, resources: [a]}}"), "invalid-object: spec.resources[0] is text, not a map"),
        ] {
            let said = said(&spec);
            assert!(said.contains(expect), "{spec}\n{said}");
        }
    }
}
