//! One object of a bundle: the one that its path says, of a kind and in a place that pouch publishes,
//! with the marks that steer its consumer and no others.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::document::{first_difference, first_line, only_document};
use super::measure::Measure;
use super::region::ProvedRegion;
use crate::capi::resource_set::is_resource_set;
use crate::cleartext::published_secrets;
use crate::config::error::quoted;
use crate::finding::{Code, Finding};
use crate::kinds::{self, COMPONENT_LABEL, MANAGED_LABEL, OF_KCM};
use crate::layout::manifest::{ManifestObject, ObjectState};
use crate::layout::sanitise::{CREATE_ONLY, steering, steers};
use crate::layout::{MANAGED_BY, MANAGED_BY_LABEL, Style, namespace};
use crate::name::{Claimant, GroupKind, Name, Namespace, ObjectKey, split_api_version};
use crate::node::{Key, Node};
use crate::object::TEMPLATE_ANNOTATION;
use crate::yaml::emit::{Tree, TreeMap, emit};
use crate::yaml::lines::line_of;
use crate::yaml::read;

const HELP: &str = "Pouch does not write this. Find out who changed it, and render the bundle anew.";

const LEAKED: &str = "Pouch does not publish this. Find out who put it there, treat it as leaked, and render the \
                      bundle anew.";

/// Looks at an object that is no Secret.
pub(super) fn look(
    measure: &Measure<'_>,
    region: &ProvedRegion<'_>,
    entry: &ManifestObject,
    bytes: &[u8],
) -> Vec<Finding> {
    let path = entry.path.as_str();
    let find = |code, line, message: String| {
        measure.find(code, path, line, message).in_region(&region.name).about(&entry.key).help(HELP)
    };
    let document = match only_document(bytes) {
        Ok(document) => document,
        Err(line) => {
            return Vec::from([find(Code::UntrustedBundle, line, format!("{path} is not one document of YAML"))]);
        }
    };
    let mut findings = identity(measure, region, entry, &document, bytes);
    let fields: &[&str] = match &entry.key.kind {
        kind if kind.is_namespace() => &["apiVersion", "kind", "metadata"],
        kind if kind.is_config_map() => &["apiVersion", "binaryData", "data", "kind", "metadata"],
        _ => &["apiVersion", "kind", "metadata", "spec"],
    };
    let text = read::text_of(bytes).unwrap_or_default();
    for field in published_secrets(&entry.key.kind, &document) {
        let own = field.rsplit(['.', '[']).next().unwrap_or_default().trim_matches(['"', ']']);
        let line = first_line(text, |line| line.trim_start_matches([' ', '-', '"']).starts_with(own)).unwrap_or(1);
        let message = format!("{path} holds what looks like a secret in {field}, and only Secrets are sealed");
        findings.push(find(Code::PlaintextSecret, line, message).help(LEAKED));
    }
    if let Some((field, _)) = document.entries().iter().find(|(field, _)| !fields.contains(&&**field)) {
        let line = first_line(text, |line| line.starts_with(&**field)).unwrap_or(1);
        let message = format!("{path} has the field {field:?}, which pouch does not publish");
        findings.push(find(Code::UntrustedBundle, line, message));
    } else if let Some(line) = first_difference(&emit(&Tree::of(&document)), text) {
        let message = format!("{path} holds more than its values, such as a comment, or is written in another form");
        findings.push(find(Code::UntrustedBundle, line, message));
    }
    findings
}

/// Compares what a document says it is with what its path says.
pub(super) fn identity(
    measure: &Measure<'_>,
    region: &ProvedRegion<'_>,
    entry: &ManifestObject,
    document: &Node,
    bytes: &[u8],
) -> Vec<Finding> {
    let (path, key) = (entry.path.as_str(), &entry.key);
    let find =
        |code, message: String| measure.find(code, path, 1, message).in_region(&region.name).about(key).help(HELP);
    let mut findings = Vec::new();
    if key_of(document).as_ref() != Some(key) {
        findings.push(find(Code::UntrustedBundle, format!("{path} does not hold {key}, as the manifest says")));
        return findings;
    }
    // Other fields that Kubernetes keeps there would make the region collect the object, or block it.
    let kept = ["annotations", "labels", "name", "namespace"];
    let metadata = document.at(&["metadata"]).map(Node::entries).unwrap_or_default();
    if let Some((field, _)) = metadata.iter().find(|(field, _)| !kept.contains(&&**field)) {
        let message = format!("{path} has {} in its metadata, which pouch does not publish", quoted(field));
        findings.push(find(Code::UntrustedBundle, message));
    }
    if key.kind.group.as_str().is_empty() && document.str_at(&["apiVersion"]) != Some("v1") {
        findings.push(find(Code::UntrustedBundle, format!("{path} is not in version v1, the only one of its kind")));
    }
    if !is_published(measure, &key.kind) && !is_own_set(measure, region, entry) {
        let message = format!("{path} holds {key}, of a kind that pouch does not publish");
        findings.push(find(Code::UntrustedBundle, message));
    }
    let ground = region.to.map(|to| to.ground()).unwrap_or_default();
    findings.extend(
        ground.forbids(key).into_iter().map(|why| find(Code::UnsafeDelivery, format!("{key} {}", why.words()))),
    );
    if let Some((field, what)) = steered(region, entry, document) {
        let text = read::text_of(bytes).unwrap_or_default();
        let line = match what == UNGUARDED {
            true => first_line(text, |line| line.contains("${")),
            false => line_of(text, &["metadata", field]).and_then(|line| usize::try_from(line).ok()),
        };
        let finding = measure.find(Code::UnsafeDelivery, path, line.unwrap_or(1), format!("{key} {what}"));
        findings.push(region.or_paused(finding.in_region(&region.name).about(key).help(HELP)));
    }
    findings
}

const UNGUARDED: &str = "holds ${, and Flux is not told to leave it alone";

/// The object that a document says it is.
fn key_of(document: &Node) -> Option<ObjectKey> {
    let (group, _) = split_api_version(document.str_at(&["apiVersion"])?);
    let kind = GroupKind::new(group, document.str_at(&["kind"])?);
    let namespace = match document.at(&["metadata", "namespace"]) {
        None => None,
        Some(node) => Some(Namespace::from(node.as_str()?)),
    };
    Some(ObjectKey::new(kind, namespace, Name::from(document.str_at(&["metadata", "name"])?)))
}

/// Whether pouch publishes a kind.
///
/// Without a configuration, any kind of a provider may be one of `kinds`, but no kind of Kubernetes itself: those grant
/// rights or run programs.
fn is_published(measure: &Measure<'_>, kind: &GroupKind) -> bool {
    if kind.is_namespace() || kinds::is_published(kind) {
        return true;
    }
    match measure.fleet {
        Some(fleet) => fleet.kinds.contains_key(kind),
        None => kind.group.as_str().contains('.') && !kind.group.as_str().ends_with(".k8s.io"),
    }
}

/// Whether an object is a set that pouch makes for guest clusters, or that a template makes: where the configuration has a group
/// or a template for it, or had one, and the manifest proves it. A set may run programs in guests.
fn is_own_set(measure: &Measure<'_>, region: &ProvedRegion<'_>, entry: &ManifestObject) -> bool {
    let may_own = |by: &Claimant| measure.fleet.is_some_and(|fleet| fleet.may_own_sets(by, &region.name));
    let is_for = |by: &Claimant| (by.group().is_some() || by.template().is_some()) && (region.authentic || may_own(by));
    is_resource_set(&entry.key.kind) && entry.needed_by.iter().any(|needed_by| is_for(&needed_by.by))
}

/// What is wrong with the labels or annotations that tell a consumer what to do with an object, and which of the two it
/// is.
fn steered(region: &ProvedRegion<'_>, entry: &ManifestObject, document: &Node) -> Option<(&'static str, String)> {
    const LABELS: &str = "labels";
    let kind = &entry.key.kind;
    let configured = region.to.and_then(|to| to.region.namespaces.labels.get(&Namespace::new(entry.key.name.shared())));
    let labels = document.at(&["metadata", "labels"]).map(Node::entries).unwrap_or_default();
    let mut expected = BTreeMap::from([(MANAGED_BY_LABEL, MANAGED_BY)]);
    if !kind.is_namespace() {
        expected.insert(MANAGED_LABEL, "false");
    }
    // A Namespace has the labels that the configuration gives it, whatever they are.
    let unknown = region.to.is_none();
    let of_config = |key: &str| {
        kind.is_namespace() && key != MANAGED_BY_LABEL && configured.map_or(unknown, |labels| labels.contains_key(key))
    };
    // What is carried over may be of the time when the region was the management cluster.
    let may_be_backed_up = entry.state != ObjectState::Current || region.to.is_none_or(|to| to.region.management);
    let of_backup = |key: &str, value: &Node| {
        may_be_backed_up && !kind.is_namespace() && key == COMPONENT_LABEL && value.as_str() == Some(OF_KCM)
    };
    let is_own = |(key, value): &&(Key, Node)| steers(key) && !of_config(key) && !of_backup(key, value);
    for (key, value) in labels.iter().filter(is_own) {
        if expected.get(&**key).copied() != value.as_str() {
            let what = format!("has the label {key:?}, which steers its consumer differently than pouch does");
            return Some((LABELS, what));
        }
    }
    let has = |(key, value): (&&str, &&str)| labels.iter().any(|(k, v)| **k == **key && v.as_str() == Some(value));
    if let Some((key, _)) = expected.iter().find(|pair| !has(*pair)) {
        return Some((LABELS, format!("lacks the label {key:?}")));
    }
    // Any label of a Namespace can decide who may use an identity there.
    if kind.is_namespace() && region.follows() {
        let configured = configured.into_iter().flatten().filter(|(key, _)| *key != MANAGED_BY_LABEL);
        expected.extend(configured.map(|(key, value)| (&**key, &**value)));
        let found: BTreeMap<&str, Option<&str>> = labels.iter().map(|(key, value)| (&**key, value.as_str())).collect();
        let wanted: BTreeMap<&str, Option<&str>> =
            expected.into_iter().map(|(key, value)| (key, Some(value))).collect();
        let mut keys = wanted.keys().chain(found.keys());
        if let Some(key) = keys.find(|key| wanted.get(*key) != found.get(*key)) {
            return Some((
                LABELS,
                format!("does not have the labels that the configuration gives it, for example {}", quoted(key)),
            ));
        }
    }
    annotated(region, entry, document).map(|what| ("annotations", what))
}

fn annotated(region: &ProvedRegion<'_>, entry: &ManifestObject, document: &Node) -> Option<String> {
    let kind = &entry.key.kind;
    let annotations = document.at(&["metadata", "annotations"]).map(Node::entries).unwrap_or_default();
    let is_own = |key: &str| steers(key) && !(kind.is_config_map() && key == TEMPLATE_ANNOTATION);
    let found: BTreeMap<&str, Option<&str>> =
        annotations.iter().filter(|(key, _)| is_own(key)).map(|(key, value)| (&**key, value.as_str())).collect();
    // What is carried over, or stands in a paused region, may have been written for another delivery.
    let kept = entry.state != ObjectState::Current || !region.follows();
    let styles = match region.to {
        Some(to) if !kept => Vec::from([Style::of(to.delivery())]),
        _ => Vec::from([Style::Plain, Style::Flux, Style::ArgoCd]),
    };
    let fits = |style: &Style| {
        if kind.is_namespace() {
            let of = Namespace::new(entry.key.name.shared());
            let some = BTreeMap::from([(String::from("x"), String::new())]);
            let configured = region.to.and_then(|to| to.region.namespaces.labels.get(&of));
            let labels = if region.follows() { Vec::from([configured]) } else { Vec::from([None, Some(&some)]) };
            return labels.into_iter().any(|labels| {
                let tree = namespace::tree(&of, labels, *style);
                let Tree::Map(fields) = tree else { return false };
                let Some(Tree::Map(metadata)) = fields.get("metadata") else { return false };
                matches!(metadata.get("annotations"), Some(Tree::Map(expected)) if same(expected, &found))
            });
        }
        let mut expected = steering(kind, *style, holds_variable(document));
        // What a template makes may be left alone where it is there already; nobody else's is.
        let is_named = |name: &str| kept || region.to.is_some_and(|to| to.region.templates.matches(name));
        let is_of_template = |by: &Claimant| by.template().is_some_and(|template| is_named(template.as_str()));
        let is_template_s =
            || !entry.needed_by.is_empty() && entry.needed_by.iter().all(|needed_by| is_of_template(&needed_by.by));
        if *style == Style::Flux && found.get(CREATE_ONLY.0) == Some(&Some(CREATE_ONLY.1)) && is_template_s() {
            expected.insert(CREATE_ONLY.0, Tree::text(CREATE_ONLY.1));
        }
        same(&expected, &found)
    };
    if styles.iter().any(fits) {
        return None;
    }
    Some(match holds_variable(document) && !found.contains_key("kustomize.toolkit.fluxcd.io/substitute") {
        true => String::from(UNGUARDED),
        false => String::from("does not have exactly the annotations by which pouch steers its consumer"),
    })
}

fn same(expected: &TreeMap<'_>, found: &BTreeMap<&str, Option<&str>>) -> bool {
    let text = |tree: &Tree<'_>| if let Tree::Text(text) = tree { Some(String::from(&**text)) } else { None };
    expected.len() == found.len()
        && expected
            .iter()
            .zip(found)
            .all(|((key, tree), (name, value))| **key == **name && text(tree).as_deref() == *value)
}

/// Whether some text has a variable of Flux's post-build substitution.
fn holds_variable(node: &Node) -> bool {
    match node {
        Node::Text(text) => text.contains("${"),
        Node::List(items) => items.iter().any(holds_variable),
        Node::Map(entries) => entries.iter().any(|(key, below)| key.contains("${") || holds_variable(below)),
        _ => false,
    }
}
