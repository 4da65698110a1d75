//! Compare: findings from a region's answers and its bundle.
//!
//! A file's fields must stand on the region. What the region has beside them, by defaulting or from others, is no
//! difference, with two exceptions: entries of Secrets and ConfigMaps, because server-side apply leaves those that
//! another field manager owns, and fields that say who may use an identity, because more of those lets more in. Paths
//! and names are shown, values never.

use alloc::borrow::ToOwned as _;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Bundle, Expected, Part, entry_path, stale};
use crate::destination::Destination;
use crate::finding::{Code, Finding};
use crate::k0rdent::MANAGED_LABEL;
use crate::layout::sanitise::CREATE_ONLY;
use crate::listing::all;
use crate::name::{GroupKind, Namespace, ObjectKey, Version};
use crate::node::Node;
use crate::object::COPIES;
use crate::reuse::{self, EntryChange};
use crate::secret::{Payload, SecretBytes};

/// How many paths of one object a finding names.
const MOST_PATHS: usize = 8;

/// How many left-over copies of one kind are named; the rest are counted.
const MOST_LEFT: usize = 100;

/// The fields of an identity's `spec` that say who may use it; they are compared whole.
const WHO: [&str; 2] = ["allowedNamespaces", "namespaceSelector"];

/// What a region answered.
#[derive(Default)]
pub struct Answers {
    /// The kinds that it serves, and in which versions.
    pub served: BTreeMap<GroupKind, BTreeSet<Version>>,
    /// The objects that were asked for; none where the region says that there is none.
    pub objects: BTreeMap<ObjectKey, Option<Node>>,
    /// The namespaces that were asked for, likewise.
    pub namespaces: BTreeMap<Namespace, Option<Node>>,
    /// The objects that k0rdent marks as its own.
    pub copies: Vec<(ObjectKey, Node)>,
    /// The Clusters of namespaces with guests.
    pub clusters: Vec<(ObjectKey, Node)>,
    /// What Cluster API notes of each of them.
    pub bindings: Vec<(ObjectKey, Node)>,
    /// The objects that carry pouch's label.
    pub ours: Vec<(ObjectKey, Node)>,
    /// The kinds for which such objects could not be listed, as people name them.
    pub unlisted: BTreeSet<String>,
}

/// Compares a region with its bundle.
pub fn compare(bundle: &Bundle<'_>, answers: &Answers) -> Vec<Finding> {
    let mut findings = kinds(bundle, answers);
    findings.extend(namespaces(bundle, answers));
    for expected in &bundle.objects {
        let gone = |namespace: &Namespace| matches!(answers.namespaces.get(namespace), Some(None));
        if expected.key.namespace.as_ref().is_some_and(gone) {
            // The namespace's own finding says so for all.
            continue;
        }
        match answers.objects.get(expected.key) {
            None => {}
            Some(None) => findings.push(
                Finding::new(Code::MissingOnRegion, format!("{} is not on the region", expected.key))
                    .about(expected.key)
                    .help("Check what Flux, Argo CD or `pouch deliver` says of the bundle there."),
            ),
            Some(Some(live)) => {
                if is_going(live) {
                    findings.push(going(expected.key, Code::MissingOnRegion));
                }
                // A finalizer may keep the object for long, and until then it is in use.
                findings.extend(object(bundle, expected, live));
            }
        }
    }
    findings.extend(leftovers(bundle, answers));
    findings.extend(left_behind(bundle, answers));
    findings.into_iter().map(|finding| finding.in_region(&bundle.region.name)).collect()
}

/// Whether an object is only there until its finalizers are through; nothing takes a deletion back.
///
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/finalizers/>
pub(super) fn is_going(live: &Node) -> bool {
    live.at(&["metadata", "deletionTimestamp"]).is_some()
}

/// The finding for an object that is as good as missing.
fn going(key: &ObjectKey, code: Code) -> Finding {
    Finding::new(code, format!("{key} is being deleted on the region")).about(key).help(
        "Find out who deletes it there, and which finalizers it waits for. Once it is gone, have the bundle \
             applied.",
    )
}

/// Kinds and versions that the region does not serve.
fn kinds(bundle: &Bundle<'_>, answers: &Answers) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (kind, versions) in bundle.questions().objects {
        if kind.group == "" {
            continue;
        }
        let none = BTreeSet::new();
        let served = answers.served.get(&kind).unwrap_or(&none);
        let lacking: Vec<&Version> = versions.keys().filter(|version| !served.contains(*version)).collect();
        if lacking.is_empty() {
            continue;
        }
        let count: usize = lacking.iter().filter_map(|version| versions.get(*version)).map(Vec::len).sum();
        let objects = if count == 1 { "one object".to_owned() } else { format!("{count} objects") };
        let message = if served.is_empty() {
            format!("the region serves no {kind}, of which its bundle has {objects}")
        } else {
            format!("the region serves {kind} in {}, and its bundle has {objects} in {}", all(served), all(lacking))
        };
        findings.push(Finding::new(Code::KindNotOnRegion, message).help(
            "Enable the provider on the region, in a release that the configuration's providerInterfaces.builtin \
             names.",
        ));
    }
    findings
}

/// Namespaces that are not there, or have other labels than the configuration says.
fn namespaces(bundle: &Bundle<'_>, answers: &Answers) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (namespace, part) in bundle.namespaces() {
        let key = ObjectKey::namespace(&namespace);
        let Some(answer) = answers.namespaces.get(&namespace) else { continue };
        let Some(live) = answer else {
            let lost = bundle.objects.iter().filter(|expected| expected.key.namespace.as_ref() == Some(&namespace));
            let lost = match lost.count() {
                1 => "the bundle's object in it is missing too".to_owned(),
                count => format!("the bundle's {count} objects in it are missing too"),
            };
            let (code, help) = match part {
                Part::Claiming => continue,
                Part::Made => {
                    (Code::MissingOnRegion, "Check what Flux, Argo CD or `pouch deliver` says of the bundle there.")
                }
                Part::Landing => (
                    Code::MissingOnRegion,
                    "Create it there, or set up k0rdent on the region: a bundle makes neither k0rdent's system \
                     namespace nor the namespaces that every cluster has.",
                ),
            };
            findings.push(Finding::new(code, format!("{key} is not on the region, and {lost}")).about(&key).help(help));
            continue;
        };
        match part {
            Part::Made if is_going(live) => findings.push(going(&key, Code::MissingOnRegion)),
            Part::Landing if is_going(live) => findings.push(going(&key, Code::MissingOnRegion)),
            Part::Made | Part::Landing | Part::Claiming => {}
        }
        let wanted = bundle.region.namespaces.labels.get(&namespace);
        let differs =
            |(label, value): &(&String, &String)| live.str_at(&["metadata", "labels", label]) != Some(value.as_str());
        let labels: Vec<&str> = wanted.into_iter().flatten().filter(differs).map(|(label, _)| label.as_str()).collect();
        if !labels.is_empty() {
            let message =
                format!("{key} does not have the labels that the configuration gives it: {}", labels.join(", "));
            findings.push(Finding::new(Code::NamespaceLabelsDiffer, message).about(&key).help(format!(
                "Set these labels there, or correct regions.{}.namespaces.labels: from them pouch decides which \
                 identities admit the namespace.",
                bundle.region.name
            )));
        }
    }
    findings
}

/// Compares one object that is on both sides.
fn object(bundle: &Bundle<'_>, expected: &Expected<'_>, live: &Node) -> Vec<Finding> {
    let key = expected.key;
    // Flux leaves alone what was there already.
    if expected.document.str_at(&["metadata", "annotations", CREATE_ONLY.0]) == Some(CREATE_ONLY.1) {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let mut differences = Differences::default();
    if is_copy(live) {
        // What k0rdent wrote has none of pouch's labels, and needs no second finding to say so.
        findings.push(
            Finding::new(Code::NotTakenOver, format!("{key} is still labelled as k0rdent's")).about(key).help(
                "Have the bundle applied server-side and by force, as Flux and pouch's Applications do. If it is \
                 applied, find out who sets the label.",
            ),
        );
    } else {
        for field in ["labels", "annotations"] {
            let path = ["metadata", field];
            differences.compare(&path.join("."), expected.document.at(&path), live.at(&path));
        }
    }
    let mut extra: Vec<(&str, String)> = Vec::new();
    if key.kind.is_secret() {
        findings.extend(secret(bundle, expected, live, &mut differences, &mut extra));
        findings.extend(copied(key, live));
    } else if key.kind.is_config_map() {
        for field in ["data", "binaryData"] {
            let (written, found) = (expected.document.at(&[field]), live.at(&[field]));
            if written.is_some_and(|node| !node.entries().is_empty()) {
                differences.compare(field, written, found);
            }
            let known = |name: &str| written.and_then(|node| node.get(name)).is_some();
            let names = found.map(Node::entries).unwrap_or_default().iter().map(|(name, _)| &**name);
            extra.extend(names.filter(|name| !known(name)).map(|name| (field, name.to_owned())));
        }
    } else {
        identity(expected, live, &mut differences);
    }
    if let Some(paths) = differences.told() {
        findings.push(
            Finding::new(Code::DiffersOnRegion, format!("{key} is not as the bundle says: {paths}")).about(key).help(
                "Check whether Flux, Argo CD or `pouch deliver` has applied the current bundle, and who else writes \
                     the object.",
            ),
        );
    }
    findings.extend(stale::stale(bundle, key, live, &extra));
    findings
}

/// A copy of a Secret in its own annotations, which client-side apply makes there, and k0rdent takes along from its
/// source. Nobody who applies the bundle owns it, so it stays as it was, with the values of then.
///
/// <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/declarative-config/>
fn copied(key: &ObjectKey, live: &Node) -> Option<Finding> {
    let annotation = COPIES.into_iter().find(|copy| live.at(&["metadata", "annotations", copy]).is_some())?;
    let message = format!("{key} has a copy of itself in clear on the region, in the annotation {annotation}");
    let help =
        format!("Remove it there: kubectl -n {} annotate secret {} {annotation}-", key.namespace_text(), key.name);
    Some(Finding::new(Code::CleartextCopy, message).about(key).help(help))
}

/// Whether k0rdent marks an object as its own to overwrite and delete.
fn is_copy(live: &Node) -> bool {
    live.str_at(&["metadata", "labels", MANAGED_LABEL]) == Some("true")
}

/// Compares type, entries and values of a Secret; the values by the tags of its file.
fn secret(
    bundle: &Bundle<'_>,
    expected: &Expected<'_>,
    live: &Node,
    differences: &mut Differences,
    extra: &mut Vec<(&str, String)>,
) -> Option<Finding> {
    differences.compare("type", expected.document.at(&["type"]), live.at(&["type"]));
    let leaves = reuse::leaves(&expected.document).unwrap_or_default();
    let payload = payload(live);
    let tagged = reuse::split(expected.bytes);
    let key = tagged.and_then(|tagged| bundle.keys?.with_id(tagged.key_id).next().map(|(key, _)| (key, tagged)));
    let Some((reuse_key, tagged)) = key else {
        for (name, _) in leaves.iter().filter(|(name, _)| payload.get(name).is_none()) {
            differences.add(format!("{} is missing", entry_path("data", name)));
        }
        let known: BTreeSet<&str> = leaves.iter().map(|(name, _)| name.as_str()).collect();
        let is_extra = |name: &str| !known.contains(name);
        let names = payload.entries().iter().map(|(name, _)| &**name).filter(|name| is_extra(name));
        extra.extend(names.map(|name| ("data", name.to_owned())));
        return bundle.keys.map(|_| {
            let message =
                format!("values of {} were not compared: its file was written with another key", expected.key);
            let help = "Add the key that it was written with to reuseKey.previous.";
            Finding::new(Code::NotProved, message).about(expected.key).help(help)
        });
    };
    let objects = &bundle.manifest.objects;
    let object = objects.binary_search_by(|object| object.key.cmp(expected.key)).ok().and_then(|at| objects.get(at));
    let context = reuse::Context {
        fleet: &bundle.manifest.fleet,
        directory: &bundle.manifest.directory,
        landing: expected.key,
        recipients: object.map_or(&bundle.manifest.recipients, |object| object.readers(bundle.manifest)),
    };
    let mut perhaps = Vec::new();
    for (name, change) in reuse::compare_entries(reuse_key, &context, tagged.entry_lines, &leaves, &payload) {
        match change {
            EntryChange::Same => {}
            EntryChange::Changed => differences.add(entry_path("data", &name)),
            EntryChange::PerhapsChanged => perhaps.push(entry_path("data", &name)),
            EntryChange::Added => extra.push(("data", name)),
            EntryChange::Withdrawn => differences.add(format!("{} is missing", entry_path("data", &name))),
        }
    }
    if !perhaps.is_empty() {
        // Short values share one tag, so that none of them can be guessed alone.
        differences.add(format!("one or more of {}", perhaps.join(", ")));
    }
    None
}

/// The entries of a Secret as an API server has it.
fn payload(live: &Node) -> Payload {
    let entries = live.at(&["data"]).map(Node::entries).unwrap_or_default();
    let decoded = |node: &Node| STANDARD.decode(node.as_str().unwrap_or_default()).unwrap_or_default();
    Payload::new(entries.iter().map(|(name, node)| (name.clone(), SecretBytes::new(decoded(node)))).collect())
}

/// Compares the `spec` of an identity.
fn identity(expected: &Expected<'_>, live: &Node, differences: &mut Differences) {
    let (Some(written), found) = (expected.document.at(&["spec"]), live.at(&["spec"])) else { return };
    if !written.is_map() || !found.is_some_and(Node::is_map) {
        differences.compare("spec", Some(written), found);
        return;
    }
    for (field, node) in written.entries().iter().filter(|(field, _)| !WHO.contains(&&**field)) {
        differences.compare(&entry_path("spec", field), Some(node), found.and_then(|spec| spec.get(field)));
    }
    for field in WHO {
        let (written, found) = (written.at(&[field]), found.and_then(|spec| spec.at(&[field])));
        let same = match (written, found) {
            (Some(written), Some(found)) => same_but_for_nothing(Some(written), Some(found)),
            (written, found) => written.is_none() && found.is_none(),
        };
        if !same {
            differences.add(entry_path("spec", field));
        }
    }
}

/// Whether two nodes are equal if empty and absent are the same.
///
/// A controller that writes an object back writes all fields of its own type.
fn same_but_for_nothing(a: Option<&Node>, b: Option<&Node>) -> bool {
    match (a, b) {
        (Some(a @ Node::Map(_)), Some(b @ Node::Map(_))) => {
            let keys = a.entries().iter().chain(b.entries()).map(|(key, _)| key);
            keys.into_iter().all(|key| same_but_for_nothing(a.get(key), b.get(key)))
        }
        (Some(Node::Map(_)), None) | (None, Some(Node::Map(_))) => {
            let entries = a.or(b).map(Node::entries).unwrap_or_default();
            entries.iter().all(|(_, node)| same_but_for_nothing(Some(node), None))
        }
        (Some(Node::Null), other) | (other, Some(Node::Null)) => same_but_for_nothing(other, None),
        (Some(a), Some(b)) => same(a, b),
        (a, b) => is_nothing(a) && is_nothing(b),
    }
}

fn is_nothing(node: Option<&Node>) -> bool {
    match node {
        None | Some(Node::Null) => true,
        Some(Node::List(items)) => items.is_empty(),
        Some(Node::Map(entries)) => entries.is_empty(),
        Some(_) => false,
    }
}

/// Whether two nodes are equal, numbers by what they count.
fn same(a: &Node, b: &Node) -> bool {
    match (a, b) {
        (Node::List(a), Node::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Node::Map(a), Node::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|((name, a), (other, b))| name == other && same(a, b))
        }
        // `1.0` in YAML comes back as `1`.
        (Node::Int(whole), Node::Float(number)) | (Node::Float(number), Node::Int(whole)) => {
            number.to_string() == whole.to_string()
        }
        (a, b) => a == b,
    }
}

/// The paths at which an object differs.
#[derive(Default)]
struct Differences(Vec<String>);

impl Differences {
    fn add(&mut self, path: String) {
        self.0.push(path);
    }

    /// Compares what a file says with what is there: maps by the file's keys, lists as a whole.
    fn compare(&mut self, path: &str, written: Option<&Node>, found: Option<&Node>) {
        match (written, found) {
            (None | Some(Node::Null), _) => {}
            (Some(Node::Map(entries)), Some(found @ Node::Map(_))) => {
                for (name, node) in entries {
                    self.compare(&entry_path(path, name), Some(node), found.get(name));
                }
            }
            (Some(_), None | Some(Node::Null)) => self.add(format!("{path} is missing")),
            (Some(written), Some(found)) => {
                if !same(written, found) {
                    self.add(path.to_owned());
                }
            }
        }
    }

    /// All differences, for people; none if there are none.
    fn told(&self) -> Option<String> {
        let shown: Vec<&str> = self.0.iter().take(MOST_PATHS).map(String::as_str).collect();
        match self.0.len().saturating_sub(shown.len()) {
            0 if shown.is_empty() => None,
            0 => Some(shown.join(", ")),
            more => Some(format!("{}, and {more} more", shown.join(", "))),
        }
    }
}

/// Objects by kind, sorted: which of them are named must not change from run to run.
fn by_kind<'a>(keys: impl Iterator<Item = &'a ObjectKey>) -> BTreeMap<&'a GroupKind, Vec<&'a ObjectKey>> {
    let mut kinds: BTreeMap<&GroupKind, Vec<&ObjectKey>> = BTreeMap::new();
    keys.for_each(|key| kinds.entry(&key.kind).or_default().push(key));
    kinds.values_mut().for_each(|keys| keys.sort_unstable());
    kinds
}

/// Objects with pouch's label that the bundle does not have.
pub(super) fn ours_left<'a>(bundle: &Bundle<'_>, answers: &'a Answers) -> impl Iterator<Item = &'a ObjectKey> {
    let known = keys(bundle);
    answers.ours.iter().map(|(key, _)| key).filter(move |key| !known.contains(*key))
}

/// Copies of k0rdent's that the bundle does not have.
pub(super) fn copies_left<'a>(bundle: &Bundle<'_>, answers: &'a Answers) -> impl Iterator<Item = &'a ObjectKey> {
    let known = keys(bundle);
    let ground = Destination { fleet: bundle.fleet, region: bundle.region }.ground();
    let is_left =
        move |(key, live): &&(ObjectKey, Node)| is_copy(live) && !known.contains(key) && !ground.reserves(key);
    answers.copies.iter().filter(is_left).map(|(key, _)| key)
}

/// The keys of what the bundle has.
fn keys<'b>(bundle: &Bundle<'b>) -> BTreeSet<&'b ObjectKey> {
    bundle.manifest.objects.iter().map(|object| &object.key).collect()
}

/// Objects with pouch's label that the bundle does not have, such as a withdrawn Secret that nobody removed.
fn left_behind(bundle: &Bundle<'_>, answers: &Answers) -> Vec<Finding> {
    let going: BTreeSet<&ObjectKey> =
        answers.ours.iter().filter(|(_, live)| is_going(live)).map(|(key, _)| key).collect();
    let mut findings = Vec::new();
    for (kind, keys) in by_kind(ours_left(bundle, answers)) {
        for key in keys.iter().take(MOST_LEFT) {
            let (message, help) = match going.contains(*key) {
                true => (
                    format!("{key} left the bundle, and is still being deleted on the region"),
                    "Find out which finalizers it waits for.",
                ),
                false => (
                    format!("{key} is on the region with pouch's label, and not in the bundle"),
                    "Check what Flux, Argo CD or `pouch deliver` says of the bundle there: they remove what leaves it, \
                     unless pruning is off, or the object was never theirs. If no other bundle has it, delete it by hand.",
                ),
            };
            findings.push(Finding::new(Code::LeftBehind, message).about(key).help(help));
        }
        let more = keys.len().saturating_sub(MOST_LEFT);
        if more > 0 {
            let message =
                format!("{more} more {kind} objects are on the region with pouch's label, and not in the bundle");
            let help = "List the objects labelled app.kubernetes.io/managed-by=pouch there: only this many are named.";
            findings.push(Finding::new(Code::LeftBehind, message).help(help));
        }
    }
    findings
}

/// Copies of k0rdent's that no bundle takes over.
fn leftovers(bundle: &Bundle<'_>, answers: &Answers) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (kind, keys) in by_kind(copies_left(bundle, answers)) {
        for key in keys.iter().take(MOST_LEFT) {
            let message = format!("{key} is a copy of k0rdent's that the bundle does not have");
            findings.push(Finding::new(Code::K0rdentLeftover, message).about(key).help(
                "If no Credential on the management cluster needs it any more, delete it on the region by hand: nobody \
                 else does.",
            ));
        }
        let more = keys.len().saturating_sub(MOST_LEFT);
        if more > 0 {
            let objects = if more == 1 { "object is a copy" } else { "objects are copies" };
            let message = format!("{more} more {kind} {objects} of k0rdent's that the bundle does not have");
            findings.push(
                Finding::new(Code::K0rdentLeftover, message).help(
                    "List the objects labelled k0rdent.mirantis.com/managed=true there: only this many are named.",
                ),
            );
        }
    }
    if !answers.unlisted.is_empty() {
        let kinds = all(&answers.unlisted);
        let message =
            format!("whether anything of these kinds was left behind was not checked, they cannot be listed: {kinds}");
        findings.push(Finding::new(Code::LeftoversUnchecked, message).help(
            "Allow \"list\" on them, or let somebody who may list the objects labelled \
             app.kubernetes.io/managed-by=pouch or k0rdent.mirantis.com/managed=true.",
        ));
    }
    findings
}

#[cfg(test)]
pub(super) mod tests;
