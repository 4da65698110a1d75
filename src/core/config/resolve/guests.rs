//! Groups of guest clusters.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use super::super::error::{Faults, FieldPath, quoted, suggest};
use super::super::file::{ClusterSelectorFile, FleetFile, GuestObjectFile, GuestsFile};
use super::super::guests::{ClusterSelector, EntryPlace, Expression, GuestEntry, GuestGroup, MOST_OBJECTS};
use super::super::{ExtraKind, RegionConfig};
use super::grant::{KnownKinds, placed};
use super::name::{label, namespace, namespace_globs, object_name};
use crate::finding::Origin;
use crate::kinds::{managed_resource, sync_rule};
use crate::name::{GroupKind, Name, Namespace, ObjectKey, Region};
use crate::node::{Key, Node};
use crate::selector::{Selector, UnusableSelector};

/// Resolves `guests`.
pub(super) fn resolve(
    file: &FleetFile,
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    regions: &BTreeMap<Region, RegionConfig>,
    faults: &mut Faults,
) -> BTreeMap<Name, GuestGroup> {
    let path = FieldPath::root().key("guests");
    let mut groups = BTreeMap::new();
    for (name, typed) in &file.guests {
        let path = path.key(name);
        label(name, "group of guests", &path, faults);
        let group = group(name, typed, (kinds, regions), &path, faults);
        groups.insert(group.name.clone(), group);
    }
    groups
}

fn group(
    name: &str,
    typed: &GuestsFile,
    (kinds, regions): (&BTreeMap<GroupKind, ExtraKind>, &BTreeMap<Region, RegionConfig>),
    path: &FieldPath,
    faults: &mut Faults,
) -> GuestGroup {
    if !regions.contains_key(typed.region.as_str()) {
        let message = format!("there is no region {}", quoted(&typed.region));
        let names: Vec<&str> = regions.keys().map(Region::as_str).collect();
        faults.add(&path.key("region"), message, suggest(&typed.region, names));
    }
    if typed.namespaces.is_empty() {
        let help = "Name the namespaces of the Clusters, or remove the group; `[\"*\"]` stands for all that have some.";
        faults.add(&path.key("namespaces"), "the group is for no namespace", help);
    }
    GuestGroup {
        name: name.into(),
        region: Region::from(typed.region.as_str()),
        told_by_all: regions.len() == 1 || regions.get(typed.region.as_str()).is_some_and(|region| region.management),
        namespaces: namespace_globs(&typed.namespaces, &path.key("namespaces"), faults),
        clusters: clusters(&typed.cluster_selector, &path.key("clusterSelector"), faults),
        places: places(&typed.objects, &path.key("objects")),
        objects: objects(&typed.objects, kinds, &path.key("objects"), faults),
        rules: named(&typed.objects, &RULE, &path.key("objects"), faults),
        templates: named(&typed.objects, &TEMPLATE, &path.key("objects"), faults),
    }
}

fn clusters(typed: &ClusterSelectorFile, path: &FieldPath, faults: &mut Faults) -> ClusterSelector {
    let sorted = |values: &[String]| {
        let values: BTreeSet<&String> = values.iter().collect();
        values.into_iter().cloned().collect::<Vec<String>>()
    };
    let mut expressions: Vec<Expression> = typed
        .match_expressions
        .iter()
        .map(|it| Expression { key: it.key.clone(), operator: it.operator, values: sorted(&it.values) })
        .collect();
    expressions.sort();
    expressions.dedup();
    let selector = match Selector::read(&node(&typed.match_labels, &expressions)) {
        Ok(selector) => selector,
        Err(UnusableSelector::Refused(why) | UnusableSelector::NotUnderstood(why)) => {
            faults.add(path, why, "Write it as a label selector of Kubernetes.");
            Selector::everything()
        }
    };
    if typed.match_labels.is_empty() && typed.match_expressions.is_empty() {
        let message = "the selector is empty, and Cluster API takes that for no Cluster at all";
        faults.add(path, message, "Write labels of the Clusters under `matchLabels`.");
    }
    ClusterSelector { labels: typed.match_labels.clone(), expressions, selector }
}

fn node(labels: &BTreeMap<String, String>, expressions: &[Expression]) -> Node {
    let labels = labels.iter().map(|(key, value)| (Key::from(key.as_str()), Node::text(value))).collect();
    let expression = |it: &Expression| {
        let values = Node::List(it.values.iter().map(|value| Node::text(value)).collect());
        let fields = [("key", Node::text(&it.key)), ("operator", Node::text(it.operator.word())), ("values", values)];
        Node::map(fields.into_iter().map(|(key, node)| (Key::from(key), node)).collect())
    };
    let expressions = Node::List(expressions.iter().map(expression).collect());
    Node::map(vec![(Key::from("matchLabels"), Node::map(labels)), (Key::from("matchExpressions"), expressions)])
}

/// Where entries stand, by what they name.
fn places(typed: &[GuestObjectFile], path: &FieldPath) -> BTreeMap<ObjectKey, EntryPlace> {
    let mut places = BTreeMap::new();
    for (at, typed) in typed.iter().enumerate() {
        let name = |named: &String| Name::from(named.as_str());
        let rule = typed.sync_rule.as_ref().map(|it| ObjectKey::new(sync_rule(), None, name(it)));
        let template = typed.template.as_ref().map(|it| ObjectKey::new(managed_resource(), None, name(it)));
        let object = typed.kind.as_ref().zip(typed.name.as_ref()).map(|(kind, named)| {
            let namespace = typed.namespace.as_ref().map(|it| Namespace::from(it.as_str()));
            ObjectKey::new(GroupKind::new(&typed.group, kind), namespace, name(named))
        });
        for key in [rule, template, object].into_iter().flatten() {
            let place = EntryPlace { field: path.index(at), origin: Origin::configuration() };
            places.entry(key).or_insert(place);
        }
    }
    places
}

/// A kind of entries that stand for several objects.
struct Several {
    field: &'static str,
    kind: &'static str,
    get: fn(&GuestObjectFile) -> Option<&String>,
    help: &'static str,
}

const RULE: Several = Several {
    field: "syncRule",
    kind: "a ResourceSyncRule",
    get: |typed| typed.sync_rule.as_ref(),
    help: "Leave the rest out: the rule says which objects it takes, and where they land.",
};

const TEMPLATE: Several = Several {
    field: "template",
    kind: "a ManagedResource",
    get: |typed| typed.template.as_ref(),
    help: "Leave the rest out: the template says which objects it makes, and where they land.",
};

/// What entries of a kind name.
fn named(typed: &[GuestObjectFile], several: &Several, path: &FieldPath, faults: &mut Faults) -> BTreeSet<Name> {
    let mut names = BTreeSet::new();
    for (at, typed) in typed.iter().enumerate() {
        let Some(named) = (several.get)(typed) else { continue };
        let path = path.index(at);
        let GuestObjectFile { group, kind, namespace, name, to, sync_rule, template } = typed;
        if !group.is_empty() || kind.is_some() || namespace.is_some() || name.is_some() || to.is_some() {
            faults.add(&path, format!("the entry names {} and an object", several.kind), several.help);
        }
        if sync_rule.is_some() && template.is_some() && several.field == TEMPLATE.field {
            faults.add(&path, "the entry names a ResourceSyncRule and a ManagedResource", "Write two entries.");
        }
        names.insert(object_name(named, &path.key(several.field), faults));
    }
    names
}

fn objects(
    typed: &[GuestObjectFile],
    kinds: &BTreeMap<GroupKind, ExtraKind>,
    path: &FieldPath,
    faults: &mut Faults,
) -> Vec<GuestEntry> {
    if typed.is_empty() {
        faults.add(path, "the group delivers nothing", "Name the objects, or remove the group.");
    }
    let known = KnownKinds { kinds, also: |_| false };
    let mut entries: BTreeMap<ObjectKey, GuestEntry> = BTreeMap::new();
    for (at, typed) in typed.iter().enumerate() {
        let path = path.index(at);
        if typed.sync_rule.is_some() || typed.template.is_some() {
            continue;
        }
        let (Some(kind), Some(name)) = (&typed.kind, &typed.name) else {
            let help = "Write `kind` and `name` of an object, or `syncRule` or `template` alone.";
            faults.add(&path, "the entry names neither an object nor a ResourceSyncRule or ManagedResource", help);
            continue;
        };
        let (kind, from) = placed((&typed.group, kind), typed.namespace.as_deref(), &known, &path, faults);
        if name.contains(['*', '?']) {
            let help = "Name each object: that it stands here is the permission to use it.";
            faults.add(&path.key("name"), format!("{} is a glob", quoted(name)), help);
            continue;
        }
        let read = ObjectKey::new(kind, from, object_name(name, &path.key("name"), faults));
        let mut lands = read.clone();
        if let Some(to) = &typed.to {
            let path = path.key("to");
            if let Some(name) = &to.name {
                lands.name = object_name(name, &path.key("name"), faults);
            }
            match (&to.namespace, &read.namespace) {
                (Some(_), None) => {
                    let message = format!("objects of kind {} have no namespace", read.kind.kind);
                    faults.add(&path.key("namespace"), message, "Remove the field.");
                }
                (Some(name), Some(_)) => lands.namespace = Some(namespace(name, &path.key("namespace"), faults)),
                (None, _) => {}
            }
        }
        if let Some(other) = entries.insert(lands.clone(), GuestEntry { lands: lands.clone(), read }) {
            let message = format!("two entries would both be {}: {} is the other", lands, other.read);
            faults.add(&path, message, "Remove one of them, or let it land elsewhere with `to`.");
        }
        if entries.len() > MOST_OBJECTS {
            faults.add(&path, format!("a group delivers at most {MOST_OBJECTS} objects"), "Divide the group.");
            break;
        }
    }
    entries.into_values().collect()
}
