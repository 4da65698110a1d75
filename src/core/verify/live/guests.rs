//! Guests: whether what a bundle delivers has arrived in each guest cluster, by what Cluster API itself notes.
//!
//! For each Cluster, a ClusterResourceSetBinding says which payloads were written into the guest, by their SHA-256. The bundle
//! says the same of its payloads, so nothing has to be decrypted, and no guest has to be asked. Nothing there repairs what
//! somebody changes in a guest, so that is not seen. What the bundle leaves open is said, and proves nothing.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::compare::{Answers, is_going};
use super::{Bundle, Expected};
use crate::capi::resource_set::{PAYLOAD_TYPE, is_resource_set};
use crate::finding::{Code, Finding, Severity};
use crate::hash::sha256_hex;
use crate::layout::manifest::ManifestObject;
use crate::listing::{counted, few};
use crate::name::{GroupKind, ObjectKey};
use crate::node::Node;
use crate::selector::{Label, Selector, Truth};

/// How many objects a message names.
const MOST_NAMED: usize = 3;

/// What came of looking at guests.
#[derive(Default)]
pub struct Delivery {
    /// What is wrong, or unknown.
    pub findings: Vec<Finding>,
    /// The Clusters that have something to get, and whether each is known to have all of it.
    pub clusters: BTreeMap<ObjectKey, bool>,
    /// The sets that choose no Cluster.
    pub idle: Vec<ObjectKey>,
}

impl Delivery {
    /// What the line of a region says of guests; nothing where its bundle delivers nothing.
    pub fn told(&self) -> Option<String> {
        if self.clusters.is_empty() && self.idle.is_empty() {
            return None;
        }
        let (all, have) = (self.clusters.len(), self.clusters.values().filter(|has_all| **has_all).count());
        let mut told = match all {
            0 => "delivered to no Cluster".to_owned(),
            _ if all == have => format!("delivered to {}", counted(all, "Cluster", "Clusters")),
            _ => format!("delivered to {have} of {}", counted(all, "Cluster", "Clusters")),
        };
        if !self.idle.is_empty() {
            let named = few(self.idle.iter().map(short), self.idle.len(), MOST_NAMED);
            told.push_str(&format!(", and no Cluster is there for {named}"));
        }
        Some(told)
    }
}

fn short(key: &ObjectKey) -> String {
    format!("{}/{}", key.namespace_text(), key.name)
}

/// A set of the bundle, as it stands on the region.
struct Set<'a> {
    key: &'a ObjectKey,
    selector: Selector,
    /// Its payloads, each with what it is in a guest and the hash that is expected of it.
    payloads: Vec<Expectation<'a>>,
    /// The payloads that it names and the bundle does not have.
    lacking: Vec<ObjectKey>,
    is_paused: bool,
    /// Whether it is on the region; one that is not has a finding of its own.
    is_there: bool,
}

/// What is expected of a payload.
struct Expectation<'a> {
    key: ObjectKey,
    /// The object in a guest; none of a Namespace that pouch lets be made there.
    in_guest: Option<&'a ObjectKey>,
    hash: Hash,
    /// The payload as it stands on the region.
    live: Option<&'a Node>,
}

/// Which SHA-256 of a payload the binding has where it arrived.
enum Hash {
    /// This one.
    Is(String),
    /// That of whatever was there first: it is written once, and never again.
    Any,
    /// The bundle does not say.
    Unknown,
}

/// Why a payload has not arrived.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reason {
    NoBinding,
    Missing,
    WrongType,
    NotNoted,
    NotApplied,
    Older,
}

impl Reason {
    fn told(self, payloads: &[&ObjectKey]) -> String {
        let named = few(payloads, payloads.len(), MOST_NAMED);
        let is = if payloads.len() == 1 { "is" } else { "are" };
        match self {
            Reason::NoBinding => "no ClusterResourceSetBinding notes the set for it".to_owned(),
            Reason::Missing => format!("{named} {is} not there, and Cluster API skips what is missing"),
            Reason::WrongType => {
                format!(
                    "{named} {is} of another type than {PAYLOAD_TYPE}, and Cluster API delivers nothing of such a set"
                )
            }
            Reason::NotNoted => format!("the ClusterResourceSetBinding does not note {named}"),
            Reason::NotApplied => format!(
                "the ClusterResourceSetBinding notes that {named} {} not applied; the guest may refuse it, or lack its \
                 namespace",
                if payloads.len() == 1 { "was" } else { "were" }
            ),
            Reason::Older => format!("the ClusterResourceSetBinding notes an older {named}"),
        }
    }
}

/// Compares what Cluster API notes of each Cluster with what the bundle delivers to it.
pub fn compare(bundle: &Bundle<'_>, answers: &Answers) -> Delivery {
    let listed: BTreeMap<&ObjectKey, &ManifestObject> =
        bundle.manifest.objects.iter().map(|object| (&object.key, object)).collect();
    let documents: BTreeMap<&ObjectKey, &Node> =
        bundle.objects.iter().map(|object| (object.key, &object.document)).collect();
    let set = |expected| set((&listed, &documents), answers, expected);
    let sets: Vec<Set<'_>> = bundle.objects.iter().filter_map(set).collect();
    let named = |(key, node)| {
        let ObjectKey { namespace, name, .. }: &ObjectKey = key;
        ((namespace, name), node)
    };
    let bindings: BTreeMap<_, &Node> = answers.bindings.iter().map(|(key, node)| named((key, node))).collect();
    let mut delivery = Delivery::default();
    let mut chosen: BTreeSet<&ObjectKey> = BTreeSet::new();
    let mut both: BTreeMap<(&ObjectKey, &ObjectKey), BTreeSet<&ObjectKey>> = BTreeMap::new();
    for set in &sets {
        delivery.findings.extend(unproved(set));
    }
    for (cluster, node) in answers.clusters.iter().filter(|(_, node)| !is_going(node)) {
        let binding = bindings.get(&(&cluster.namespace, &cluster.name));
        let mut writers: BTreeMap<&ObjectKey, &ObjectKey> = BTreeMap::new();
        for set in sets.iter().filter(|set| set.key.namespace == cluster.namespace && chooses(&set.selector, node)) {
            chosen.insert(set.key);
            let noted = binding.and_then(|binding| noted(binding, set.key.name.as_str()));
            let lacking = if set.is_there { lacking(cluster, node, set, noted) } else { Vec::new() };
            let is_open = set.payloads.iter().any(|payload| matches!(payload.hash, Hash::Unknown));
            let has_all = set.is_there && lacking.is_empty() && set.lacking.is_empty() && !is_open;
            let known = delivery.clusters.entry(cluster.clone()).or_insert(true);
            *known = *known && has_all;
            delivery.findings.extend(lacking);
            // What is written once takes nothing from anybody.
            let writes = set.payloads.iter().filter(|payload| !matches!(payload.hash, Hash::Any));
            for in_guest in writes.filter_map(|payload| payload.in_guest) {
                let first = *writers.entry(in_guest).or_insert(set.key);
                if first != set.key {
                    both.entry((first, set.key)).or_default().insert(in_guest);
                }
            }
        }
    }
    delivery.findings.extend(both.into_iter().map(|((one, other), objects)| two_writers(one, other, &objects)));
    delivery.idle = sets.iter().map(|set| set.key).filter(|key| !chosen.contains(key)).cloned().collect();
    delivery.findings =
        core::mem::take(&mut delivery.findings).into_iter().map(|it| it.in_region(&bundle.region.name)).collect();
    delivery
}

/// What the manifest lists, and the documents of the bundle.
type Listed<'t, 'a> = (&'t BTreeMap<&'a ObjectKey, &'a ManifestObject>, &'t BTreeMap<&'a ObjectKey, &'a Node>);

fn set<'a>((listed, documents): Listed<'_, 'a>, answers: &'a Answers, expected: &'a Expected<'_>) -> Option<Set<'a>> {
    let is_made = |by: &crate::layout::manifest::NeededBy| by.by.group().is_some();
    let of_bundle = listed.get(expected.key)?;
    if !is_resource_set(&expected.key.kind) || !of_bundle.needed_by.iter().any(is_made) {
        return None;
    }
    let live = answers.objects.get(expected.key).and_then(Option::as_ref);
    let spec = expected.document.at(&["spec"])?;
    let selector = Selector::read(spec.at(&["clusterSelector"])?).ok()?;
    let is_once = spec.str_at(&["strategy"]) == Some("ApplyOnce");
    let (mut payloads, mut lacking) = (Vec::new(), Vec::new());
    for item in spec.at(&["resources"])?.items() {
        let kind = GroupKind::new("", item.str_at(&["kind"])?);
        let key = ObjectKey::new(kind, expected.key.namespace.clone(), item.str_at(&["name"])?.into());
        let (Some(object), Some(document)) = (listed.get(&key), documents.get(&key)) else {
            lacking.push(key);
            continue;
        };
        let guest = object.guest.as_ref();
        let text = || document.at(&["data"])?.entries().first()?.1.as_str();
        let hash = match key.kind.is_secret() {
            _ if is_once => Some(Hash::Any),
            true => guest.and_then(|guest| guest.sha256.clone()).map(Hash::Is),
            false => text().map(|text| Hash::Is(sha256_hex(text.as_bytes()))),
        };
        payloads.push(Expectation {
            in_guest: guest.map(|guest| &guest.key),
            hash: hash.unwrap_or(Hash::Unknown),
            live: answers.objects.get(&key).and_then(Option::as_ref),
            key,
        });
    }
    Some(Set {
        key: expected.key,
        selector,
        payloads,
        lacking,
        is_paused: live.is_some_and(is_paused),
        is_there: live.is_some(),
    })
}

/// What is said of what a set names and the bundle leaves open.
fn unproved(set: &Set<'_>) -> impl Iterator<Item = Finding> {
    let lacking = (!set.lacking.is_empty()).then(|| {
        let named = few(&set.lacking, set.lacking.len(), MOST_NAMED);
        let message = format!(
            "{} names {named}, which the bundle does not have: Cluster API skips what is missing, and counts the set as applied",
            set.key
        );
        let help = "Mend what keeps the group from being made anew, and publish the region; `pouch plan` says what it is.";
        Finding::new(Code::NotInGuest, message).about(set.key).help(help)
    });
    let unknown: Vec<&ObjectKey> =
        set.payloads.iter().filter(|it| matches!(it.hash, Hash::Unknown)).map(|it| &it.key).collect();
    let unknown = (!unknown.is_empty()).then(|| {
        let named = few(&unknown, unknown.len(), MOST_NAMED);
        let message = format!("whether {named} arrived as published is unknown: bundle.yaml has no hash of it");
        let help = "Publish the region with a pouch that writes one, and have the bundle applied.";
        Finding::new(Code::NotProved, message).about(set.key).help(help)
    });
    lacking.into_iter().chain(unknown)
}

/// What is said of two sets that write one object into one guest: each payload is noted as it should be, and the guest has
/// whichever was written last.
fn two_writers(one: &ObjectKey, other: &ObjectKey, objects: &BTreeSet<&ObjectKey>) -> Finding {
    let named = few(objects, objects.len(), MOST_NAMED);
    let message = format!(
        "{one} and {other} both write {named} into one guest: which of the two it has is not known, though both arrived"
    );
    let help = "If one of them is only handed over or held, accept or wait until it is withdrawn; else let one alone write it.";
    Finding::new(Code::TwoWriters, message).about(other).help(help)
}

fn chooses(selector: &Selector, cluster: &Node) -> bool {
    let labels = cluster.at(&["metadata", "labels"]);
    let label = |key: &str| match labels.and_then(|labels| labels.get(key)).and_then(Node::as_str) {
        Some(value) => Label::Is(value),
        None => Label::Absent,
    };
    !selector.is_empty() && selector.matches(label) == Truth::Yes
}

/// Whether a set is paused. That its Cluster is, Cluster API does not ask here.
fn is_paused(set: &Node) -> bool {
    const ANNOTATION: &str = "cluster.x-k8s.io/paused";
    set.at(&["metadata", "annotations"]).is_some_and(|it| it.get(ANNOTATION).is_some())
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
fn lacking(cluster: &ObjectKey, node: &Node, set: &Set<'_>, noted: Option<&[Node]>) -> Vec<Finding> {
    let mut of: BTreeMap<Reason, Vec<&Expectation<'_>>> = BTreeMap::new();
    for payload in &set.payloads {
        if let Some(reason) = reason(payload, noted) {
            of.entry(reason).or_default().push(payload);
        }
    }
    let told = |payloads: &[&Expectation<'_>], why: &str, help: &'static str| {
        let in_guest =
            |it: &&Expectation<'_>| it.in_guest.map_or_else(|| "a Namespace".to_owned(), ToString::to_string);
        let named = few(payloads.iter().map(in_guest), payloads.len(), MOST_NAMED);
        let message = format!("{cluster} has not got {named} of {} as published: {why}", set.key);
        Finding::new(Code::NotInGuest, message).about(set.key).help(help)
    };
    // What keeps all of it from arriving is said once.
    let unready = !is_provisioned(node);
    let whole = match () {
        () if unready => Some((
            "the Cluster's infrastructure is not provisioned yet",
            "Nothing arrives before; see what its provider says.",
        )),
        () if set.is_paused => Some(("the set is paused", "Take the pause back, and it arrives.")),
        () => None,
    };
    if of.is_empty() {
        return Vec::new();
    }
    if let Some((why, help)) = whole {
        let all: Vec<&Expectation<'_>> = of.into_values().flatten().collect();
        let finding = told(&all, why, help);
        return vec![if unready { finding.severity(Severity::Warning) } else { finding }];
    }
    let help = "See the conditions of the set, the log of Cluster API's manager, and whether it runs.";
    let one = |(reason, payloads): (Reason, Vec<&Expectation<'_>>)| {
        let keys: Vec<&ObjectKey> = payloads.iter().map(|payload| &payload.key).collect();
        told(&payloads, &reason.told(&keys), help)
    };
    of.into_iter().map(one).collect()
}

/// Why a payload has not arrived; none if it has, or if nobody knows.
fn reason(payload: &Expectation<'_>, noted: Option<&[Node]>) -> Option<Reason> {
    let Expectation { key, hash, live, .. } = payload;
    let Some(noted) = noted else { return Some(Reason::NoBinding) };
    let is_it = |item: &&Node| {
        item.str_at(&["kind"]) == Some(key.kind.kind.as_str()) && item.str_at(&["name"]) == Some(key.name.as_str())
    };
    let there = noted.iter().find(is_it);
    let is_applied = there.is_some_and(|it| it.at(&["applied"]).and_then(Node::as_bool) == Some(true));
    let told = there.and_then(|it| it.str_at(&["hash"]));
    let is_same = match hash {
        Hash::Is(hash) => told.and_then(|told| told.strip_prefix("sha256:")) == Some(hash),
        Hash::Any | Hash::Unknown => true,
    };
    if is_applied && is_same {
        return None;
    }
    let Some(live) = live else { return Some(Reason::Missing) };
    if key.kind.is_secret() && live.str_at(&["type"]) != Some(PAYLOAD_TYPE) {
        return Some(Reason::WrongType);
    }
    Some(match (there, is_applied) {
        (None, _) => Reason::NotNoted,
        (Some(_), false) => Reason::NotApplied,
        (Some(_), true) => Reason::Older,
    })
}

#[cfg(test)]
mod tests;
