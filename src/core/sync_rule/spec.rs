//! Reading: what a ResourceSyncRule says, and what is wrong with it.
//!
//! An API server drops fields that it does not know, and what is left of an entry of `match` then matches everything. So
//! an entry that asks for nothing is a fault, and so is a field that is nearly a known one.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::content::Content;
use super::pointer::Pointer;
use super::value::Value;
use crate::finding::{Code, Fault};
use crate::kinds::{self, REGISTRY};
use crate::lenient::{Faults, Told, quoted};
use crate::name::{GroupKind, Name, Namespace, Version, is_dns_label, is_dns_subdomain};
use crate::nearest::nearest;
use crate::node::{Key, Node};
use crate::object::{COPIES, REGISTRY_SECRET};
use crate::selector::{Selector, UnusableSelector, is_label_key};

/// A rule that can be followed.
#[derive(Clone, PartialEq, Debug)]
pub struct Rule {
    /// The group and kind of what it takes.
    pub kind: GroupKind,
    /// The version of that.
    pub version: Version,
    /// What the source must have: some ClusterFeature for every entry.
    pub features: Vec<Feature>,
    /// What it matches, and what it makes of that.
    pub steps: Vec<Step>,
}

/// A ClusterFeature that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Feature {
    /// Its `featureName`; none is any.
    pub name: Option<Box<str>>,
    /// Its labels.
    pub labels: Selector,
}

/// One entry of `rules`.
#[derive(Clone, PartialEq, Debug)]
pub struct Step {
    /// Of these, one must match.
    pub matches: Vec<Match>,
    /// What is made of the object then.
    pub mutations: Mutations,
}

/// One entry of `match`: all that it says must hold.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Match {
    /// The name.
    pub name: Option<Name>,
    /// The namespace.
    pub namespace: Option<Namespace>,
    /// The namespaces, one of which must be that of a namespaced object; none is any.
    pub namespaces: Vec<Namespace>,
    /// Selectors, one of which the labels must satisfy; none is any.
    pub labels: Vec<Selector>,
    /// The same of annotations.
    pub annotations: Vec<Selector>,
    /// What fields hold, all of which must be so.
    pub content: Vec<Content>,
}

/// What a step makes of an object.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Mutations {
    /// Labels.
    pub labels: Pairs,
    /// Annotations.
    pub annotations: Pairs,
    /// The group, if it changes.
    pub group: Option<String>,
    /// The version, if it changes.
    pub version: Option<String>,
    /// The kind, if it changes.
    pub kind: Option<String>,
    /// Patches.
    pub overrides: Vec<Override>,
}

/// What is added to labels or annotations, and what is taken away.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pairs {
    /// Added, over what is there.
    pub add: BTreeMap<String, String>,
    /// Taken away, also of what is added.
    pub remove: Vec<String>,
}

/// One patch.
#[derive(Clone, PartialEq, Debug)]
pub struct Override {
    /// Where it stands in the rule.
    pub at: String,
    /// What it changes.
    pub path: Pointer,
    /// The value that is put there; none takes away what is there.
    pub value: Option<Value>,
}

/// What came of reading a rule.
#[derive(Debug)]
pub struct Read {
    /// The rule, or what is wrong with it.
    pub rule: Result<Rule, Vec<Fault>>,
    /// What is worth knowing of it.
    pub notes: Vec<Fault>,
}

const OF_SPEC: [&str; 3] = ["clusterFeatureMatch", "groupVersionKind", "rules"];
const OF_FEATURE: [&str; 3] = ["featureName", "matchLabels", "matchExpressions"];
const OF_KIND: [&str; 3] = ["group", "version", "kind"];
const OF_STEP: [&str; 2] = ["match", "mutations"];
const OF_MATCH: [&str; 5] = ["objectKey", "namespaces", "labels", "annotations", "content"];
const OF_OBJECT: [&str; 2] = ["name", "namespace"];
const OF_ANNOTATIONS: [&str; 2] = ["matchAnnotations", "matchExpressions"];
const OF_CONTENT: [&str; 2] = ["key", "value"];
const OF_MUTATIONS: [&str; 5] = ["annotations", "groupVersionKind", "labels", "overrides", "syncStatus"];
const OF_PAIRS: [&str; 2] = ["add", "remove"];
const OF_OVERRIDE: [&str; 4] = ["type", "path", "value", "parseValue"];

/// The most steps, entries, patches and other things in one list of a rule.
const MOST: usize = 1000;

/// Reads a rule; `is_cluster_scoped` tells of the kind that it takes whether it has no namespaces.
pub fn read(body: &Node, name: &str, is_cluster_scoped: impl Fn(&GroupKind) -> bool) -> Read {
    let mut reading = Reading { faults: Faults::new(Code::InvalidObject), notes: Vec::new(), is_bare: false };
    let rule = reading.rule(body, name, is_cluster_scoped);
    Read { rule: reading.faults.settle(rule), notes: reading.notes }
}

struct Reading {
    faults: Faults,
    notes: Vec<Fault>,
    /// Whether namespaces say nothing of what the rule takes, because it has none.
    is_bare: bool,
}

impl Reading {
    fn rule(&mut self, body: &Node, name: &str, is_cluster_scoped: impl Fn(&GroupKind) -> bool) -> Option<Rule> {
        if !is_dns_subdomain(name) {
            self.faults
                .add(format!("{} is no name of a rule", quoted(name)), "Name it as the API server would take it.");
        }
        let spec = self.faults.needed_at(body, "", &["spec"], "Fill it in.")?;
        self.strict(spec, "spec", &OF_SPEC);
        let (kind, version) = self.kind(spec)?;
        self.is_bare = is_cluster_scoped(&kind);
        let mut features = Vec::new();
        for (at, entry) in self.list(spec, "spec", "clusterFeatureMatch") {
            features.extend(self.feature(entry, &at));
        }
        let entries = self.list(spec, "spec", "rules");
        if entries.is_empty() {
            let help = "Write what it takes; to end what it does, delete the rule.";
            self.faults.add(String::from("spec.rules is empty, so the rule takes nothing"), help);
        }
        let steps = entries.into_iter().map(|(at, entry)| self.step(entry, &at, &kind)).collect();
        Some(Rule { kind, version, features, steps })
    }

    fn kind(&mut self, spec: &Node) -> Option<(GroupKind, Version)> {
        const AT: &str = "spec.groupVersionKind";
        let node = self.faults.needed_at(spec, "spec", &["groupVersionKind"], "Write the kind that the rule takes.")?;
        self.unknown(node, AT, &OF_KIND);
        let group = self.faults.text(node, AT, &["group"]).unwrap_or_default();
        let (version, kind) = (self.faults.needed(node, AT, &["version"]), self.faults.needed(node, AT, &["kind"]));
        Some((GroupKind::new(group, kind?), version?.into()))
    }

    fn feature(&mut self, entry: &Node, at: &str) -> Option<Feature> {
        self.strict(entry, at, &OF_FEATURE);
        let name: Option<Box<str>> = self.faults.text(entry, at, &["featureName"]).map(Box::from);
        if name.as_deref() == Some("") {
            self.faults.add(format!("{at}.featureName says nothing"), "Write what it asks for, or take it out.");
        }
        let labels = self.selector(entry, at, "matchLabels")?;
        if name.is_none() && labels.is_empty() {
            let help = "Name a feature or its labels; leave the entry out to take objects of any source.";
            self.faults.add(format!("{at} asks for no feature"), help);
        }
        Some(Feature { name, labels })
    }

    fn step(&mut self, entry: &Node, at: &str, kind: &GroupKind) -> Step {
        self.condition(entry, at, &OF_STEP);
        let entries = self.list(entry, at, "match");
        if entries.is_empty() {
            let message = format!("{at} has no match, so that it would take every {}", kind.kind);
            self.faults.add(message, EVERYTHING);
        }
        let matches = entries.into_iter().map(|(at, entry)| self.entry(entry, &at, kind)).collect();
        let mutations = self.faults.at(entry, at, &["mutations"]);
        let mutations = mutations.map(|node| self.mutations(node, &format!("{at}.mutations"), kind));
        Step { matches, mutations: mutations.unwrap_or_default() }
    }

    fn entry(&mut self, entry: &Node, at: &str, kind: &GroupKind) -> Match {
        for key in OF_OBJECT.iter().filter(|key| entry.get(key).is_some()) {
            let message = format!("{at} has no field {key:?}");
            self.faults.add(message, &format!("Did you mean objectKey.{key}? Then indent it below objectKey."));
        }
        let fields: Vec<&str> = OF_MATCH.iter().chain(&OF_OBJECT).copied().collect();
        self.condition(entry, at, &fields);
        let mut found = Match::default();
        // What cannot be read asked for something.
        let mut is_unread = false;
        if let Some(key) = self.faults.at(entry, at, &["objectKey"]) {
            let at = format!("{at}.objectKey");
            self.strict(key, &at, &OF_OBJECT);
            let name = self.faults.text(key, &at, &["name"]);
            found.name = self.faults.shaped(name, &format!("{at}.name"), is_path_part, "a name").map(Name::from);
            let namespace = self.faults.text(key, &at, &["namespace"]);
            let namespace = self.faults.shaped(namespace, &format!("{at}.namespace"), is_dns_label, "a namespace");
            found.namespace = namespace.map(Namespace::from);
        }
        for (at, node) in self.list(entry, at, "namespaces") {
            let Some(text) = node.as_str() else {
                let Told = self.faults.wrong_type(&at, node, "text");
                continue;
            };
            let namespace = self.faults.shaped(Some(text), &at, is_dns_label, "a namespace");
            found.namespaces.extend(namespace.map(Namespace::from));
        }
        for (at, node) in self.list(entry, at, "labels") {
            let selector = self.selector_of(node, &at);
            is_unread |= selector.is_none();
            found.labels.extend(selector);
        }
        for (at, node) in self.list(entry, at, "annotations") {
            self.strict(node, &at, &OF_ANNOTATIONS);
            let selector = self.selector(node, &at, "matchAnnotations");
            if selector.iter().flat_map(Selector::keys).any(|key| COPIES.contains(&key)) {
                let help = "Match by something else.";
                self.faults.add(format!("{at} asks for an annotation that holds a copy of the object"), help);
            }
            is_unread |= selector.is_none();
            found.annotations.extend(selector);
        }
        for (at, node) in self.list(entry, at, "content") {
            is_unread = true;
            self.strict(node, &at, &OF_CONTENT);
            let key = self.faults.needed(node, &at, &["key"]);
            let value = self.faults.needed_at(node, &at, &["value"], "Write what the field must hold.");
            let (Some(key), Some(value)) = (key, value) else { continue };
            match Content::read(key, value, kind) {
                Ok(content) => found.content.push(content),
                Err((message, help)) => self.faults.add(format!("{at}: {message}"), help),
            }
        }
        let asks = |selectors: &[Selector]| !selectors.is_empty() && !selectors.iter().any(Selector::is_empty);
        let is_asked = found.name.is_some()
            || found.namespace.is_some()
            || (!found.namespaces.is_empty() && !self.is_bare)
            || asks(&found.labels)
            || asks(&found.annotations)
            || is_unread;
        if !is_asked {
            let message = format!("{at} asks for nothing, so that it would take every {}", kind.kind);
            self.faults.add(message, EVERYTHING);
            return found;
        }
        self.empty(entry, at);
        // Beside others, an empty selector is what is left of one that was written otherwise.
        for (field, selectors) in [("labels", &found.labels), ("annotations", &found.annotations)] {
            for (index, _) in selectors.iter().enumerate().filter(|(_, selector)| selector.is_empty()) {
                let message = format!("{at}.{field}[{index}] asks for nothing, so that all {field} would do");
                self.faults.add(message, "Write what it asks for, or take it out.");
            }
        }
        found
    }

    /// Tells of conditions that are there and say nothing: what was to be filled in would have made the rule take less.
    fn empty(&mut self, entry: &Node, at: &str) {
        let is_empty = |node: &Node| match node {
            Node::Null => true,
            Node::Text(text) => text.is_empty(),
            Node::List(items) => items.is_empty(),
            Node::Map(entries) => entries.is_empty(),
            _ => false,
        };
        let conditions = OF_MATCH.iter().map(|field| (String::from(*field), entry.get(field)));
        let of_key = entry.get("objectKey");
        let names = OF_OBJECT.iter().map(|field| (format!("objectKey.{field}"), of_key.and_then(|key| key.get(field))));
        for (field, _) in conditions.chain(names).filter(|(_, node)| node.is_some_and(is_empty)) {
            self.faults.add(format!("{at}.{field} says nothing"), "Write what it asks for, or take it out.");
        }
    }

    /// Tells of unknown fields of an entry of `rules` or `match`. A published rule has `syncStatus` there, which asks for
    /// nothing.
    fn condition(&mut self, node: &Node, at: &str, known: &[&str]) {
        const STRAY: &str = "syncStatus";
        let fields: Vec<&str> = known.iter().copied().chain([STRAY]).collect();
        self.strict(node, at, &fields);
        if node.get(STRAY).is_some() {
            self.ignored(at, STRAY);
        }
    }

    /// Tells of fields that nobody knows where a field makes the rule take less: each is a fault.
    fn strict(&mut self, node: &Node, at: &str, known: &[&str]) {
        if !node.is_map() {
            let Told = self.faults.wrong_type(at, node, "a map");
            return;
        }
        for (key, _) in node.entries().iter().filter(|(key, _)| !known.contains(&&**key)) {
            let message = format!("{at} has no field {}", quoted(key));
            match nearest(key, known.iter().copied()) {
                Some(meant) => {
                    let Told = self.faults.slip(message, meant);
                }
                None => {
                    let names = known.join(", ");
                    self.faults
                        .add(message, &format!("Move it to where it belongs, or remove it; here stand {names}."));
                }
            }
        }
    }

    fn mutations(&mut self, node: &Node, at: &str, kind: &GroupKind) -> Mutations {
        self.unknown(node, at, &OF_MUTATIONS);
        let mut found = Mutations { labels: self.pairs(node, at, "labels"), ..Mutations::default() };
        found.annotations = self.pairs(node, at, "annotations");
        if let Some(to) = self.faults.at(node, at, &["groupVersionKind"]) {
            let at = format!("{at}.groupVersionKind");
            self.unknown(to, &at, &OF_KIND);
            let mut text = |field: &str| self.faults.text(to, &at, &[field]).map(String::from);
            (found.group, found.version, found.kind) = (text("group"), text("version"), text("kind"));
        }
        for (at, node) in self.list(node, at, "overrides") {
            found.overrides.extend(self.patch(node, at, kind));
        }
        found
    }

    fn pairs(&mut self, node: &Node, at: &str, field: &str) -> Pairs {
        let mut pairs = Pairs::default();
        let Some(node) = self.faults.at(node, at, &[field]) else { return pairs };
        let at = format!("{at}.{field}");
        self.unknown(node, &at, &OF_PAIRS);
        if let Some(add) = self.faults.at(node, &at, &["add"]) {
            if !add.is_map() {
                let Told = self.faults.wrong_type(&format!("{at}.add"), add, "a map");
            }
            for (key, value) in add.entries() {
                let at = format!("{at}.add, key {}", quoted(key));
                match value {
                    Node::Text(text) if is_label_key(key) => {
                        _ = pairs.add.insert(String::from(&**key), String::from(&**text))
                    }
                    Node::Text(_) => {
                        self.faults.add(format!("{at}, is none that labels and annotations have"), "Correct it.")
                    }
                    other => {
                        let Told = self.faults.wrong_type(&at, other, "text");
                    }
                }
            }
        }
        for (at, node) in self.list(node, &at, "remove") {
            match node.as_str() {
                Some(text) => pairs.remove.push(String::from(text)),
                None => {
                    let Told = self.faults.wrong_type(&at, node, "text");
                }
            }
        }
        pairs
    }

    fn patch(&mut self, node: &Node, at: String, kind: &GroupKind) -> Option<Override> {
        self.unknown(node, &at, &OF_OVERRIDE);
        let path = self.faults.needed(node, &at, &["path"])?;
        let path = match Pointer::read(path, kind) {
            Ok(path) => path,
            Err((message, help)) => {
                self.faults.add(format!("{at}.path: {message}"), help);
                return None;
            }
        };
        let parse = match self.faults.at(node, &at, &["parseValue"]) {
            None => false,
            Some(Node::Bool(parse)) => *parse,
            Some(other) => {
                let Told = self.faults.wrong_type(&format!("{at}.parseValue"), other, "true or false");
                return None;
            }
        };
        let value = match self.faults.text(node, &at, &["type"]) {
            Some("remove") => {
                if let Err((message, help)) = path.removes() {
                    self.faults.add(format!("{at}.path: {message}"), help);
                }
                None
            }
            Some("replace") => {
                let text = match node.get("value") {
                    Some(Node::Text(text)) => &**text,
                    None | Some(Node::Null) => "",
                    Some(other) => {
                        let Told = self.faults.wrong_type(&format!("{at}.value"), other, "text");
                        return None;
                    }
                };
                match Value::read(text, parse) {
                    Ok(value) => Some(value),
                    Err((message, help)) => {
                        self.faults.add(format!("{at}.value: {message}"), &help);
                        return None;
                    }
                }
            }
            _ => {
                self.faults.add(format!("{at}.type is neither replace nor remove"), "Write one of the two.");
                return None;
            }
        };
        Some(Override { at, path, value })
    }

    /// A selector whose `matchLabels` may have another name.
    fn selector(&mut self, node: &Node, at: &str, labels: &str) -> Option<Selector> {
        let pick = |field: &str, name: &str| node.get(field).map(|value| (Key::from(name), value.clone()));
        let fields = pick(labels, "matchLabels").into_iter().chain(pick("matchExpressions", "matchExpressions"));
        self.selector_of(&Node::map(fields.collect()), at)
    }

    fn selector_of(&mut self, node: &Node, at: &str) -> Option<Selector> {
        let (UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) = match Selector::read(node) {
            Ok(selector) => return Some(selector),
            Err(why) => why,
        };
        let help = "Correct the selector; the registry's controller would take nothing by it, and say nothing.";
        self.faults.add(format!("{at}: {why}"), help);
        None
    }

    /// The items of a list, each with the place that messages name.
    fn list<'n>(&mut self, node: &'n Node, at: &str, field: &str) -> Vec<(String, &'n Node)> {
        let items = self.faults.items(node, at, &[field]);
        if items.len() > MOST {
            self.faults.add(format!("{at}.{field} has more than {MOST} entries"), "Split the rule.");
            return Vec::new();
        }
        items.iter().enumerate().map(|(index, item)| (format!("{at}.{field}[{index}]"), item)).collect()
    }

    /// Tells of fields that nobody knows: of one that is nearly a known one as a fault, of others as a note.
    fn unknown(&mut self, node: &Node, at: &str, known: &[&str]) {
        if !node.is_map() {
            let Told = self.faults.wrong_type(at, node, "a map");
            return;
        }
        let (Ok(()) | Err(Told)) = self.faults.mistyped(node, at, known);
        for (key, _) in node.entries().iter().filter(|(key, _)| !known.contains(&&**key)) {
            let absent = known.iter().copied().filter(|name| node.get(name).is_none());
            if nearest(key, absent).is_none() {
                self.ignored(at, key);
            }
        }
    }

    fn ignored(&mut self, at: &str, key: &str) {
        if self.notes.len() < Faults::MOST {
            let message = format!("{at} has no field {}, so it is ignored", quoted(key));
            let help = "Remove the field, or move it to where it belongs.";
            self.notes.push(Fault::new(Code::UnknownField, message, help));
        }
    }
}

const EVERYTHING: &str = "Say what it takes by objectKey, namespaces, labels, annotations or content. If fields were \
                          written that are not known here, they are named, and count for nothing.";

/// Whether a text can be the name of an object of some kind.
fn is_path_part(text: &str) -> bool {
    !text.is_empty() && text.len() <= 253 && !matches!(text, "." | "..") && !text.contains(['/', '%'])
}

impl Rule {
    /// Whether it synchronises what the registry itself works with, and no credentials of anybody else.
    pub fn is_plumbing(&self) -> bool {
        let asks = |content: &Content| content.is_type(REGISTRY_SECRET);
        let mut matches = self.steps.iter().flat_map(|step| &step.matches).peekable();
        let is_of_secrets = self.kind.is_secret() && matches.peek().is_some();
        is_own_kind(&self.kind) || (is_of_secrets && matches.all(|entry| entry.content.iter().any(asks)))
    }
}

/// Whether the kind that a document of a rule takes is one of the registry's own, however little else can be read.
pub fn is_of_registry(body: &Node) -> bool {
    let text = |field: &str| body.str_at(&["spec", "groupVersionKind", field]).unwrap_or_default();
    is_own_kind(&GroupKind::new(text("group"), text("kind")))
}

/// Whether a kind is one that the registry works with. Another one in its group is a slip.
fn is_own_kind(kind: &GroupKind) -> bool {
    kind.group == REGISTRY && (kind.kind == "Cluster" || kinds::is_of_sync_rules(kind))
}
