//! An explanation as a graph: from Credentials by what names what to regions, and who can read these.
//!
//! In the languages of Mermaid (<https://mermaid.js.org/syntax/flowchart.html>) and of Graphviz
//! (<https://graphviz.org/doc/info/lang.html>). Names come from manifests that anybody may write: a label is text
//! in either language, whatever stands in it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::record::{Explanation, StepRecord};
use super::text::state as told;
use crate::name::Claimant;
use crate::report::escape;
use crate::report::names::object as named;
use crate::report::summary::ObjectRecord;

/// What a node stands for, which says how it looks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Credential,
    Object,
    Missing,
    Region,
    Recipient,
}

/// An edge from one node to another, by their numbers.
type Edge = (usize, usize, String);

/// Nodes and edges, each once.
#[derive(Default)]
struct Graph {
    nodes: Vec<(String, Shape)>,
    numbers: BTreeMap<String, usize>,
    edges: BTreeSet<Edge>,
}

impl Graph {
    fn of(explanation: &Explanation) -> Self {
        let mut graph = Self::default();
        for claim in &explanation.claims {
            let name = Claimant::titled(&claim.credential);
            let label = format!("{name}\n{}", claim.verdict.word());
            let credential = graph.node(&name, label, Shape::Credential);
            let mut steps: Vec<usize> = Vec::new();
            for step in &claim.steps {
                let node = graph.step(step, &claim.credential);
                let from = step.named_by.and_then(|at| steps.get(at).copied()).unwrap_or(credential);
                graph.edge(from, node, step.field.clone().unwrap_or_default());
                steps.push(node);
                if let (Some(state), Some(region)) = (step.state, &claim.region) {
                    let (lands, region) = (graph.object(&step.lands), graph.region(region));
                    if lands != node {
                        graph.edge(node, lands, String::from("lands as"));
                    }
                    graph.edge(lands, region, String::from(told(state)));
                }
            }
        }
        for object in &explanation.objects {
            let node = graph.object(&object.object);
            let region = graph.region(&object.region);
            graph.edge(node, region, String::from(told(object.state)));
            // Where claims are told, the chains lead there.
            for credential in object.credentials.iter().filter(|_| explanation.claims.is_empty()) {
                let name = Claimant::titled(credential);
                let from = graph.node(&name, name.clone(), Shape::Credential);
                graph.edge(from, node, String::new());
            }
        }
        for region in &explanation.regions {
            let node = graph.region(&region.name);
            for recipient in &region.recipients {
                let reader = graph.node(recipient, recipient.clone(), Shape::Recipient);
                graph.edge(node, reader, String::from("readable by"));
            }
        }
        graph
    }

    fn node(&mut self, key: &str, label: String, shape: Shape) -> usize {
        if let Some(number) = self.numbers.get(key) {
            return *number;
        }
        let number = self.nodes.len();
        self.numbers.insert(key.to_string(), number);
        self.nodes.push((label, shape));
        number
    }

    fn object(&mut self, object: &ObjectRecord) -> usize {
        let name = named(object);
        // Kinds of two groups may have one name.
        self.node(&format!("{} {name}", object.group), name, Shape::Object)
    }

    /// What a Credential may not have, or misses, is a node of its own: others may have it.
    fn step(&mut self, step: &StepRecord, credential: &str) -> usize {
        if !step.is_missing() {
            return self.object(&step.object);
        }
        let name = named(&step.object);
        let why = if step.rule.is_none() { "not admitted" } else { "missing" };
        self.node(&format!("{credential} {name}"), format!("{name}\n{why}"), Shape::Missing)
    }

    fn region(&mut self, name: &str) -> usize {
        let name = format!("region {name}");
        self.node(&name, name.clone(), Shape::Region)
    }

    fn edge(&mut self, from: usize, to: usize, label: String) {
        self.edges.insert((from, to, label));
    }
}

/// A flow chart for Mermaid.
pub fn mermaid(explanation: &Explanation) -> String {
    let graph = Graph::of(explanation);
    let mut out = String::from("flowchart LR\n");
    for (at, (label, shape)) in graph.nodes.iter().enumerate() {
        let (open, close) = match shape {
            Shape::Credential => ("([", "])"),
            Shape::Object => ("[", "]"),
            Shape::Missing => ("{{", "}}"),
            Shape::Region => ("[(", ")]"),
            Shape::Recipient => ("[/", "/]"),
        };
        out.push_str(&format!("  n{at}{open}\"{}\"{close}\n", mermaid_text(label)));
    }
    for (from, to, label) in &graph.edges {
        match label.is_empty() {
            true => out.push_str(&format!("  n{from} --> n{to}\n")),
            false => out.push_str(&format!("  n{from} -->|\"{}\"| n{to}\n", mermaid_text(label))),
        }
    }
    out
}

/// Text of a label: whatever Mermaid, or the HTML that it makes, might take for its own is a character reference.
fn mermaid_text(label: &str) -> String {
    let lines = label.split('\n').map(|line| {
        let plain = |char: char| char.is_alphanumeric() || matches!(char, ' ' | '.' | '/' | '-' | ':' | '_' | ',');
        let one = |char: char| if plain(char) { char.to_string() } else { format!("#{};", u32::from(char)) };
        escape(line).chars().map(one).collect::<String>()
    });
    lines.collect::<Vec<String>>().join("<br/>")
}

/// A graph for Graphviz.
pub fn dot(explanation: &Explanation) -> String {
    let graph = Graph::of(explanation);
    let mut out = String::from("digraph pouch {\n  rankdir=LR;\n");
    for (at, (label, shape)) in graph.nodes.iter().enumerate() {
        let shape = match shape {
            Shape::Credential => "shape=box, style=rounded",
            Shape::Object => "shape=box",
            Shape::Missing => "shape=octagon",
            Shape::Region => "shape=cylinder",
            Shape::Recipient => "shape=note",
        };
        out.push_str(&format!("  n{at} [label=\"{}\", {shape}];\n", dot_text(label)));
    }
    for (from, to, label) in &graph.edges {
        out.push_str(&format!("  n{from} -> n{to} [label=\"{}\"];\n", dot_text(label)));
    }
    out.push_str("}\n");
    out
}

/// Text in double quotes. Graphviz reads `&` as the begin of a character reference, and a backslash as an escape.
fn dot_text(label: &str) -> String {
    let one = |char: char| match char {
        '"' => String::from("\\\""),
        '\\' => String::from("\\\\"),
        '&' => String::from("&amp;"),
        char => char.to_string(),
    };
    let lines = label.split('\n').map(|line| escape(line).chars().map(one).collect::<String>());
    lines.collect::<Vec<String>>().join("\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_text_whatever_stands_in_it() {
        let hostile = "a\"]; click n0 \"javascript:x\" %%{init}%% <b>&#`|\\\u{202e}\u{1b}\r";
        let label = mermaid_text(hostile);
        let is_plain = |char: char| char.is_alphanumeric() || " ./-:_,#;".contains(char);
        assert!(label.chars().all(is_plain), "{label}");
        assert_eq!(mermaid_text("a\nb"), "a<br/>b");
        let label = dot_text(hostile);
        assert!(!label.contains(['\u{202e}', '\u{1b}', '\r', '\n']), "{label}");
        assert_eq!(label.matches('"').count(), label.matches("\\\"").count());
        assert!(dot_text("\\") == "\\\\" && dot_text("\\\"") == "\\\\\\\"", "{label}");
    }
}
