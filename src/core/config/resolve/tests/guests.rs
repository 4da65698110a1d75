//! What is said of groups of guests that are wrong, and how right ones are read.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::{edited, emit, fleet, load, show};

fn group(fields: &str) -> String {
    String::from("guests: {pull: {") + fields + "}}"
}

const FIELDS: &str = "region: eu-west, namespaces: [team-a], clusterSelector: {matchLabels: {a: b}}, \
    objects: [{kind: Secret, namespace: x, name: pull}]";

/// A part of the group, what stands there instead, and what is said of it, without its place in the file.
const WRONG: &[(&str, &str, &str)] = &[
    ("region: eu-west", "region: eu-wst", "guests.pull.region: there is no region \"eu-wst\""),
    ("[team-a]", "[]", "guests.pull.namespaces: the group is for no namespace"),
    ("[team-a]", "[Team_A]", "guests.pull.namespaces[0]: \"Team_A\" cannot name a namespace"),
    (
        "{matchLabels: {a: b}}",
        "{}",
        "guests.pull.clusterSelector: the selector is empty, and Cluster API takes that for no Cluster at all",
    ),
    (
        "{matchLabels: {a: b}}",
        "{matchExpressions: [{key: a, operator: In}]}",
        "guests.pull.clusterSelector: In and NotIn need values",
    ),
    (
        "{matchLabels: {a: b}}",
        "{matchExpressions: [{key: a, operator: Is}]}",
        "guests.pull.clusterSelector.matchExpressions[0].operator: \"Is\" is not a valid value for this field",
    ),
    ("{kind: Secret, namespace: x, name: pull}", "", "guests.pull.objects: the group delivers nothing"),
    (
        "{kind: Secret, namespace: x, name: pull}",
        "{kind: Secret, name: pull}",
        "guests.pull.objects[0]: the namespace is missing, and objects of kind Secret have one",
    ),
    (
        "kind: Secret",
        "kind: Deployment",
        "guests.pull.objects[0].kind: pouch publishes no objects of kind \"Deployment\"",
    ),
    ("name: pull", "name: \"pull-*\"", "guests.pull.objects[0].name: \"pull-*\" is a glob"),
    (
        "name: pull}",
        "name: pull}, {kind: Secret, namespace: two, name: z, to: {namespace: x, name: pull}}",
        "guests.pull.objects[1]: two entries would both be Secret x/pull: Secret x/pull is the other",
    ),
    (
        "{kind: Secret, namespace: x, name: pull}",
        "{name: pull}",
        "guests.pull.objects[0]: the entry names neither an object nor a ResourceSyncRule or ManagedResource",
    ),
    (
        "{kind: Secret, namespace: x, name: pull}",
        "{syncRule: a, name: pull}",
        "guests.pull.objects[0]: the entry names a ResourceSyncRule and an object",
    ),
    (
        "{kind: Secret, namespace: x, name: pull}",
        "{template: pull, kind: Secret}",
        "guests.pull.objects[0]: the entry names a ManagedResource and an object",
    ),
    (
        "{kind: Secret, namespace: x, name: pull}",
        "{template: pull, syncRule: pull}",
        "guests.pull.objects[0]: the entry names a ResourceSyncRule and a ManagedResource",
    ),
];

#[test]
fn groups_that_are_wrong_are_told_of() {
    for (from, to, expect) in WRONG {
        let text = edited("", &group(&FIELDS.replacen(from, to, 1)));
        let said = load(&text).err().unwrap_or_default();
        let said: Vec<&str> = said.lines().filter_map(|line| line.split_once(' ').map(|(_, said)| said)).collect();
        assert_eq!(said, [*expect], "{to}");
    }
    let said = load(&edited("", &group(FIELDS).replace("pull: {", "Pull_1: {"))).err().unwrap_or_default();
    assert!(said.contains("\"Pull_1\" cannot name a group of guests"), "{said}");
}

#[test]
fn a_selector_in_another_order_is_the_same() {
    let digits = |selector: &str| {
        let fleet = fleet("", &group(&FIELDS.replace("{matchLabels: {a: b}}", selector)));
        let group = fleet.guests.values().next().map(|group| group.clusters.digits());
        group.unwrap_or_default().to_string()
    };
    let one = "{matchExpressions: [{key: a, operator: In, values: [one, two]}, {key: b, operator: Exists}]}";
    let other = "{matchExpressions: [{key: b, operator: Exists}, {key: a, operator: In, values: [two, one, two]}]}";
    assert_eq!(digits(one), digits(other));
    assert_ne!(digits(one), digits("{matchExpressions: [{key: b, operator: Exists}]}"));
}

#[test]
fn what_is_shown_means_the_same() {
    let objects = "{kind: Secret, namespace: x, name: pull, to: {namespace: kube-system, name: two}}, {syncRule: r}, {template: t}, \
         {kind: ConfigMap, namespace: x, name: pull}";
    let fields = FIELDS.replace("{kind: Secret, namespace: x, name: pull}", objects);
    let selector = "{matchLabels: {a: b}, matchExpressions: [{key: c, operator: NotIn, values: [d]}]}";
    let mut first = fleet("", &group(&fields.replace("{matchLabels: {a: b}}", selector)));
    let mut second = load(&emit(&show::tree(&first))).unwrap_or_else(|errors| panic!("{errors}"));
    // But for where it stands.
    first.guests.values_mut().chain(second.guests.values_mut()).for_each(|group| group.places.clear());
    assert_eq!(format!("{:?}", first.guests), format!("{:?}", second.guests));
}
