//! Tests of names, and of what a group costs.

use alloc::borrow::ToOwned as _;

use super::*;
use crate::destination::Destination;
use crate::judge::case;
use crate::testing::case::{Document, Scene};
use crate::testing::stages::Desk;
use crate::testing::{node, yaml};

fn object(number: usize) -> (Mark, usize) {
    let key = ObjectKey::secret("team".into(), Name::new(format!("s{number}")));
    (Mark::of(&key), number)
}

fn placed(count: usize) -> BTreeMap<usize, String> {
    let parts = parts("base", (0..count).map(object).collect());
    for Part { name, payloads, .. } in &parts {
        assert!(payloads.len() <= MOST_PAYLOADS, "{name}");
    }
    let of = |Part { name, payloads, .. }: Part<usize>| payloads.into_iter().map(move |(_, it)| (it, name.clone()));
    parts.into_iter().flat_map(of).collect()
}

/// Names whose marks begin alike are found in seconds; those that are alike as a whole are not.
#[test]
fn names_that_begin_alike_fill_no_set() {
    let mark = |low: u16| Mark([0x80, 0, 0, 0, 0, 0, low.to_be_bytes()[0], low.to_be_bytes()[1]]);
    let parts = parts("base", (0..500).map(|low| (mark(low), low)).collect());
    let names: BTreeSet<&String> = parts.iter().map(|part| &part.name).collect();
    assert_eq!(names.len(), parts.len(), "{names:?}");
    assert!(parts.iter().all(|part| part.payloads.len() <= MOST_PAYLOADS));
    // Each stands where its mark says: the parts follow each other.
    let marks: Vec<Mark> = parts.iter().flat_map(|part| &part.payloads).map(|(mark, _)| *mark).collect();
    assert!(marks.len() == 500 && marks.is_sorted(), "{marks:?}");
}

#[test]
fn one_object_more_moves_at_most_half_a_part() {
    assert!(placed(100).values().all(|name| name == "base"));
    let mut moves = 0;
    for count in 100..500 {
        let (before, after) = (placed(count), placed(count + 1));
        let moved = before.iter().filter(|(object, name)| after[object] != **name).count();
        assert!(moved <= 70, "{count}: {moved}");
        moves += usize::from(moved > 0);
    }
    assert!(moves <= 8, "{moves}");
}

const SOURCES: &str = "sources: [{name: all, provides: {namespaces: ['shared'], clusterScoped: true}}, \
    {name: tenant, provides: {namespaces: ['team-*']}}, {name: clusters, provides: {namespaces: ['ns-*']}, region: eu}]";

fn scene(namespaces: &str, documents: impl Iterator<Item = (&'static str, String)>) -> Scene {
    let group = format!(
        "guests: {{pull: {{region: eu, namespaces: [{namespaces}], clusterSelector: {{matchLabels: {{a: b}}}}, \
         objects: [{{kind: Secret, namespace: shared, name: one}}, {{syncRule: pull}}]}}}}"
    );
    let document =
        |(source, text): (&str, String)| Document { source: source.into(), node: node(&yaml(&text)), line: 1 };
    let rule = "{apiVersion: clusterregistry.k8s.cisco.com/v1alpha1, kind: ResourceSyncRule, metadata: {name: pull}, \
        spec: {groupVersionKind: {version: v1, kind: Secret}, rules: [{match: [{labels: [{matchLabels: {pull: 'yes'}}]}]}]}}";
    let documents = documents.chain([("all", rule.to_owned()), ("all", secret("shared", "one", ""))]);
    Scene {
        config: yaml(&format!("{{{SOURCES}, {group}}}")),
        documents: documents.map(document).collect(),
        incomplete: Vec::new(),
        run: yaml("{}"),
    }
}

fn secret(namespace: &str, name: &str, labels: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: Secret, metadata: {{name: {name}, namespace: {namespace}, labels: {{{labels}}}}}}}"
    )
}

fn cluster(number: usize) -> (&'static str, String) {
    let text = "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: one, namespace: ns-NUMBER}}";
    ("clusters", text.replace("NUMBER", &format!("{number:05}")))
}

/// What came of each namespace: whether nothing stops the group there.
fn heard(scene: &Scene) -> BTreeMap<Namespace, bool> {
    let desk = Desk::new(scene);
    let region = desk.fleet.regions.values().next().unwrap().name.clone();
    let mut good: BTreeMap<Namespace, bool> = BTreeMap::new();
    for case in desk.heard(&region) {
        *good.entry(case.claim.by.namespace().clone()).or_insert(true) &=
            !case.findings.iter().any(Finding::stops_claim);
    }
    good
}

/// Who writes Clusters says how many namespaces there are, and who writes Secrets how many a rule takes.
#[test]
fn whoever_writes_many_clusters_or_objects_takes_little_of_a_group() {
    let heard = heard(&scene("'ns-*', ns-99999", (0..MOST_NAMESPACES + 2).map(cluster)));
    assert_eq!(heard.len(), MOST_NAMESPACES + 3);
    let broken: Vec<&str> = heard.iter().filter(|(_, good)| !**good).map(|(name, _)| name.as_str()).collect();
    // What is named comes before what a glob fits.
    assert_eq!(broken, ["ns-01000", "ns-01001"]);

    let of_tenant = |number: usize| ("tenant", secret("team-a", &format!("s{number}"), "pull: 'yes'"));
    let scene = scene("ns-1", (0..500).map(of_tenant));
    let desk = Desk::new(&scene);
    // The rule as a whole, and a few of what it takes and may not use.
    let asked = desk.facts.asked().iter().filter(|asked| asked.by.group().is_some()).count();
    assert!((2..=18).contains(&asked), "{asked}");
    let region = desk.fleet.regions.values().next().unwrap();
    let cases = desk.heard(&Destination { fleet: &desk.fleet, region }.region.name);
    let is_whole = |case: &&case::Case| case.claim.by == *case.claim.by.written();
    assert!(cases.iter().filter(is_whole).all(|case| !case.findings.iter().any(Finding::stops_claim)));
}

#[test]
fn what_one_rule_takes_for_a_group_is_bounded() {
    let own = |number: usize| ("all", secret("shared", &format!("s{number}"), "pull: 'yes'"));
    let all_good = |count: usize| heard(&scene("ns-1", (0..count).map(own))).values().all(|good| *good);
    assert!(all_good(10) && !all_good(MOST_TAKEN + 1));
    // Whoever writes what the rule cannot use makes it no larger.
    let foreign = (0..100).map(|number| ("tenant", secret("team-a", &format!("t{number}"), "pull: 'yes'")));
    let desk = Desk::new(&scene("ns-1", (0..MOST_TAKEN).map(own).chain(foreign)));
    let whole = desk.facts.asked().iter().filter(|asked| asked.by.entry().is_some_and(|entry| entry.rule().is_some()));
    assert!(whole.filter(|asked| *asked.by.written() == asked.by).all(|asked| asked.findings.is_empty()));
}

/// One who labels more than a group takes fills his own share of its rule, and leaves those of others, what the configuration
/// names, and the namespaces of both.
#[test]
fn one_who_labels_too_much_breaks_nothing_of_others() {
    let of_tenant = |number: usize| ("tenant", secret("team-a", &format!("t{number:04}"), "pull: 'yes'"));
    let own = |number: usize| ("all", secret("shared", &format!("s{number}"), "pull: 'yes'"));
    let most = most_namespaces(MOST_TAKEN);
    let documents = (0..MOST_TAKEN + 100).map(of_tenant).chain((0..2).map(own)).chain((0..=most).map(cluster));
    let mut scene = scene("'ns-*'", documents);
    scene.config["grants"] = yaml("[{from: {syncRule: pull}, regions: [eu]}]");
    let desk = Desk::new(&scene);
    let mut counts: BTreeMap<&str, [usize; 2]> = BTreeMap::new();
    for asked in desk.facts.asked() {
        let whose = match asked.by.entry().unwrap() {
            Entry::Rule { object: Some(TakenObject { namespace, .. }), .. } => namespace.as_ref().unwrap().as_str(),
            entry => entry.rule().map_or("named", |_| "rule"),
        };
        let stopped = asked.findings.iter().filter(|finding| finding.stops_claim()).count();
        let [all, broken] = counts.entry(whose).or_default();
        (*all, *broken) = (*all + 1, *broken + stopped);
    }
    // In each namespace one object says that there are too many.
    let tenant = [most * (MOST_TAKEN + 1) + 1, most + 1];
    let namespaces = [most + 1, 0];
    let expected = [("named", namespaces), ("rule", namespaces), ("shared", [2 * (most + 1), 0]), ("team-a", tenant)];
    assert_eq!(counts, BTreeMap::from(expected));
    // What is left out stays where it is published, and what is no longer labelled does not.
    let taken = |cluster: &str, name: &str| {
        let object = TakenObject { namespace: Some("team-a".into()), name: name.into() };
        let entry = Entry::Rule { rule: "pull".into(), object: Some(object) };
        let entry = Some(Box::new(entry));
        desk.world().may_be_taken(&Claimant::Guests { namespace: cluster.into(), group: "pull".into(), entry })
    };
    let last = format!("ns-{most:05}");
    assert_eq!([taken("ns-00000", "t1050"), taken(&last, "t0001")], [Some(Code::TooManyObjects); 2]);
    assert_eq!([taken("ns-00000", "t0001"), taken("ns-00000", "other")], [None; 2]);
}
