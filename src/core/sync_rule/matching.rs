//! Matching: whether a rule takes an object.
//!
//! What is not known of an object decides nothing: the answer is then neither yes nor no.

use alloc::vec::Vec;

use super::content::Content;
use super::seen::Seen;
use super::spec::{Feature, Match, Rule, Step};
use crate::finding::{Class, Fault};
use crate::name::ObjectKey;
use crate::node::Node;
use crate::object::Object;
use crate::selector::{Label, Selector, Truth};

/// What is known of one pair of labels or annotations.
fn pair<'n>(pairs: &'n Node, key: &str) -> Label<'n> {
    match (pairs, pairs.get(key)) {
        (_, Some(Node::Text(text))) if Seen::is_sealed(text) => Label::Unknown,
        (_, Some(Node::Text(text))) => Label::Is(text),
        (_, Some(Node::Null)) => Label::Is(""),
        // What is no text may be what stands one level off.
        (Node::Map(_) | Node::Null, None) if pairs.entries().iter().all(|(_, it)| is_pair(it)) => Label::Absent,
        _ => Label::Unknown,
    }
}

/// Whether labels and annotations may have a value.
fn is_pair(value: &Node) -> bool {
    matches!(value, Node::Text(_) | Node::Null)
}

impl Rule {
    /// The steps that match an object of the rule's kind. The answer is unknown where a step may match that would change what
    /// comes of it.
    pub fn steps_for(&self, seen: &Seen<'_>) -> (Truth, Vec<&Step>) {
        let answers: Vec<(Truth, &Step)> = self.steps.iter().map(|step| (step.matches(seen), step)).collect();
        let all = answers.iter().map(|(truth, _)| *truth);
        let truth = if all.clone().any(|truth| truth == Truth::Unknown) {
            Truth::Unknown
        } else {
            all.fold(Truth::No, Truth::or)
        };
        (truth, answers.into_iter().filter(|(truth, _)| *truth == Truth::Yes).map(|(_, step)| step).collect())
    }
}

impl Step {
    fn matches(&self, seen: &Seen<'_>) -> Truth {
        self.matches.iter().map(|entry| entry.holds(seen)).fold(Truth::No, Truth::or)
    }
}

impl Match {
    /// Whether it may hold for an object of which only the key and the labels are known.
    pub fn may_hold(&self, key: &ObjectKey, labels: &Node) -> bool {
        let by_labels = self.labels.iter().map(|it| it.matches(|name| pair(labels, name))).fold(Truth::No, Truth::or);
        self.is_named(key) && (self.labels.is_empty() || by_labels != Truth::No)
    }

    fn is_named(&self, key: &ObjectKey) -> bool {
        let is_among = |namespace| self.namespaces.is_empty() || self.namespaces.contains(namespace);
        self.name.as_ref().is_none_or(|name| *name == key.name)
            && self.namespace.as_ref().is_none_or(|wanted| Some(wanted) == key.namespace.as_ref())
            && key.namespace.as_ref().is_none_or(is_among)
    }

    fn holds(&self, seen: &Seen<'_>) -> Truth {
        #[cfg(test)]
        compared::once();
        if !self.is_named(seen.key) {
            return Truth::No;
        }
        let any = |selectors: &[Selector], pairs: &Node| match selectors {
            [] => Truth::Yes,
            _ => selectors.iter().map(|it| it.matches(|key| pair(pairs, key))).fold(Truth::No, Truth::or),
        };
        let by_pairs = any(&self.labels, seen.labels()).and(any(&self.annotations, seen.annotations()));
        // What a mistyped field was to say is missing from the object.
        let holds = |content: &Content| match content.holds(seen) {
            Truth::No if seen.is_mistaken && content.is_of_body() => Truth::Unknown,
            answer => answer,
        };
        self.content.iter().map(holds).fold(by_pairs, Truth::and)
    }
}

impl Feature {
    /// Whether a ClusterFeature is the one that is asked for.
    pub fn is(&self, feature: &Object) -> Truth {
        #[cfg(test)]
        compared::once();
        let name = match (&self.name, feature.at(&["spec", "featureName"])) {
            (_, Some(Node::Text(text))) if Seen::is_sealed(text) => Truth::Unknown,
            (None, Some(Node::Text(_)) | None) => Truth::Yes,
            // The API takes no ClusterFeature without a name: the field is misspelt, or stands elsewhere.
            (Some(_), Some(Node::Text(text))) if text.is_empty() => Truth::Unknown,
            (Some(name), Some(Node::Text(text))) => {
                if name == text {
                    Truth::Yes
                } else {
                    Truth::No
                }
            }
            (Some(_), None) | (_, Some(_)) => Truth::Unknown,
        };
        let is_doubt = |fault: &Fault| fault.code.class() == Class::Broken && !fault.code.is_of_copies();
        let is_broken = feature.faults.iter().any(is_doubt);
        let label = |key: &str| match feature.label(key) {
            Some(value) => Label::Is(value),
            None if is_broken => Label::Unknown,
            None => Label::Absent,
        };
        let answer = name.and(self.labels.matches(label));
        if is_broken && answer == Truth::No { Truth::Unknown } else { answer }
    }
}

/// How often something was compared by this thread, for tests.
#[cfg(test)]
pub mod compared {
    extern crate std;

    use core::cell::Cell;

    std::thread_local! {
        static TIMES: Cell<usize> = const { Cell::new(0) };
    }

    pub(super) fn once() {
        TIMES.set(TIMES.get() + 1);
    }

    /// How often, since this was asked last.
    pub fn since() -> usize {
        TIMES.take()
    }
}
