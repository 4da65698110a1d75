//! Guests: whether what a bundle delivers has arrived in each guest cluster, by what Cluster API itself notes.
//!
//! For each Cluster, a ClusterResourceSetBinding says which payloads were written into the guest, by their SHA-256. The bundle
//! says the same of its payloads, so nothing has to be decrypted, and no guest has to be asked. Nothing there repairs what
//! somebody changes in a guest, so that is not seen.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::compare::{Answers, is_going};
use super::{Bundle, Expected};
use crate::capi::resource_set::{PAYLOAD_TYPE, is_resource_set};
use crate::finding::{Code, Finding, Severity};
use crate::hash::sha256_hex;
use crate::listing::few;
use crate::name::{GroupKind, ObjectKey};
use crate::node::Node;
use crate::selector::{Label, Selector, Truth};

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// A set of the bundle, as it stands on the region.
struct Set<'a> {
    key: &'a ObjectKey,
    selector: Selector,
    /// Its payloads, each with what it is in a guest and the hash that is expected of it.
    payloads: Vec<Expectation<'a>>,
    is_paused: bool,
}

/// What is expected of a payload.
struct Expectation<'a> {
    key: ObjectKey,
    in_guest: String,
    hash: Option<String>,
    /// The payload as it stands on the region.
    live: Option<&'a Node>,
}

/// The findings about Clusters that have not got what the bundle delivers to them.
pub fn compare(bundle: &Bundle<'_>, answers: &Answers) -> Vec<Finding> {
    let sets: Vec<Set<'_>> = bundle.objects.iter().filter_map(|expected| set(bundle, answers, expected)).collect();
    let bindings: BTreeMap<&ObjectKey, &Node> = answers.bindings.iter().map(|(key, node)| (key, node)).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (cluster, node) in answers.clusters.iter().filter(|(_, node)| !is_going(node)) {
        for set in sets.iter().filter(|set| set.key.namespace == cluster.namespace && chooses(&set.selector, node)) {
            let binding =
                bindings.iter().find(|(key, _)| key.namespace == cluster.namespace && key.name == cluster.name);
            let noted = binding.and_then(|(_, binding)| noted(binding, set.key.name.as_str()));
            findings.extend(lacking(cluster, node, set, noted));
        }
    }
    findings.into_iter().map(|finding| finding.in_region(&bundle.region.name)).collect()
}

fn set<'a>(bundle: &'a Bundle<'_>, answers: &'a Answers, expected: &'a Expected<'_>) -> Option<Set<'a>> {
    let is_made = |by: &crate::layout::manifest::NeededBy| by.by.is_guest();
    let listed = bundle.manifest.objects.iter().find(|object| object.key == *expected.key)?;
    if !is_resource_set(&expected.key.kind) || !listed.needed_by.iter().any(is_made) {
        return None;
    }
    // One that is not there has a finding of its own.
    let live = answers.objects.get(expected.key)?.as_ref()?;
    let spec = expected.document.at(&["spec"])?;
    let selector = Selector::read(spec.at(&["clusterSelector"])?).ok()?;
    let payload = |item: &Node| {
        let kind = GroupKind::new("", item.str_at(&["kind"])?);
        let key = ObjectKey::new(kind, expected.key.namespace.clone(), item.str_at(&["name"])?.into());
        let of_bundle = bundle.objects.iter().find(|object| *object.key == key)?;
        let listed = bundle.manifest.objects.iter().find(|object| object.key == key)?;
        let guest = listed.guest.as_ref();
        let text = || of_bundle.document.at(&["data"])?.entries().first()?.1.as_str();
        let hash = match key.kind.is_secret() {
            true => guest.and_then(|guest| guest.sha256.clone()),
            false => text().map(|text| sha256_hex(text.as_bytes())),
        };
        let in_guest = guest.map_or_else(|| String::from("a Namespace"), |guest| format!("{}", guest.key));
        let live = answers.objects.get(&key).and_then(Option::as_ref);
        Some(Expectation { key, in_guest, hash, live })
    };
    let payloads = spec.at(&["resources"])?.items().iter().filter_map(payload).collect();
    Some(Set { key: expected.key, selector, payloads, is_paused: is_paused(live) })
}

fn chooses(selector: &Selector, cluster: &Node) -> bool {
    let labels = cluster.at(&["metadata", "labels"]);
    let label = |key: &str| match labels.and_then(|labels| labels.get(key)).and_then(Node::as_str) {
        Some(value) => Label::Is(value),
        None => Label::Absent,
    };
    !selector.is_empty() && selector.matches(label) == Truth::Yes
}

fn is_paused(node: &Node) -> bool {
    const ANNOTATION: &str = "cluster.x-k8s.io/paused";
    let annotations = node.at(&["metadata", "annotations"]);
    annotations.is_some_and(|it| it.get(ANNOTATION).is_some())
        || node.at(&["spec", "paused"]).and_then(Node::as_bool) == Some(true)
}

/// Whether Cluster API takes a Cluster for one that can be written to, in the words of v1beta2 and v1beta1.
fn is_provisioned(cluster: &Node) -> bool {
    let says = |path: &[&str]| cluster.at(path).and_then(Node::as_bool) == Some(true);
    says(&["status", "initialization", "infrastructureProvisioned"]) || says(&["status", "infrastructureReady"])
}

/// What a binding notes of the payloads of a set.
fn noted<'n>(binding: &'n Node, set: &str) -> Option<&'n [Node]> {
    let sets = binding.at(&["spec", "bindings"])?.items();
    let of_set = sets.iter().find(|it| it.str_at(&["clusterResourceSetName"]) == Some(set))?;
    of_set.at(&["resources"]).map(Node::items)
}

/// What is said of a Cluster that has not got all payloads of a set.
fn lacking(cluster: &ObjectKey, node: &Node, set: &Set<'_>, noted: Option<&[Node]>) -> Option<Finding> {
    let mut why = None;
    let mut missing = Vec::new();
    for payload in &set.payloads {
        if let Some(reason) = reason(payload, noted) {
            why.get_or_insert(reason);
            missing.push(&*payload.in_guest);
        }
    }
    let first = why?;
    let unready = !is_provisioned(node);
    let (why, help) = match () {
        () if unready => (
            String::from("the Cluster's infrastructure is not provisioned yet"),
            "Nothing arrives before; see what its provider says.",
        ),
        () if is_paused(node) => (String::from("the Cluster is paused"), "Take the pause back, and it arrives."),
        () if set.is_paused => (String::from("the set is paused"), "Take the pause back, and it arrives."),
        () => (first, "See the conditions of the set, the log of Cluster API's manager, and whether it runs."),
    };
    let named = few(&missing, missing.len(), MOST_NAMED);
    let message = format!("{cluster} has not got {named} of {} as published: {why}", set.key);
    let finding = Finding::new(Code::NotInGuest, message).about(set.key).help(help);
    Some(if unready { finding.severity(Severity::Warning) } else { finding })
}

/// Why a payload has not arrived; none if it has.
fn reason(payload: &Expectation<'_>, noted: Option<&[Node]>) -> Option<String> {
    let Expectation { key, hash, live, .. } = payload;
    let Some(noted) = noted else {
        return Some(String::from("no ClusterResourceSetBinding notes the set for it"));
    };
    let is_it = |item: &&Node| {
        item.str_at(&["kind"]) == Some(key.kind.kind.as_str()) && item.str_at(&["name"]) == Some(key.name.as_str())
    };
    let there = noted.iter().find(is_it);
    let is_applied = there.is_some_and(|it| it.at(&["applied"]).and_then(Node::as_bool) == Some(true));
    let told = there.and_then(|it| it.str_at(&["hash"]));
    let is_same = hash.as_ref().is_none_or(|hash| told.and_then(|told| told.strip_prefix("sha256:")) == Some(hash));
    if is_applied && is_same {
        return None;
    }
    let Some(live) = live else {
        return Some(format!("{key} is not there, and Cluster API skips what is missing"));
    };
    if key.kind.is_secret() && live.str_at(&["type"]) != Some(PAYLOAD_TYPE) {
        return Some(format!(
            "{key} has another type than {PAYLOAD_TYPE}, and Cluster API delivers nothing of such a set"
        ));
    }
    Some(match (there, is_applied) {
        (None, _) => format!("the ClusterResourceSetBinding does not note {key}"),
        (Some(_), false) => {
            format!(
                "the ClusterResourceSetBinding notes that {key} was not applied; the guest may refuse it, or lack its namespace"
            )
        }
        (Some(_), true) => format!("the ClusterResourceSetBinding notes an older {key}"),
    })
}

#[cfg(test)]
mod tests;
