//! Attacks on what tenants share of a region: its room, its budgets, and its groups of guests. In each, a hostile tenant has a
//! source with many namespaces or names, and his neighbour one of his own, who gets what he would get without him.

extern crate std;

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde_json::{Value, json};

use super::case::{Document, RECIPIENTS, Scene};
use super::node;
use super::stages::{Desk, Wishes, keys, publish};
use crate::finding::Code;
use crate::judge::case::Verdict;
use crate::name::Claimant;
use crate::region::history::History;
use crate::region::published::{Files, Published};

const INFRA: &str = "infrastructure.cluster.x-k8s.io";

/// A platform with what its sources say, and what is published of it.
struct Fleet {
    config: Value,
    documents: Vec<(&'static str, Value)>,
    files: Files,
}

/// The outcome of a run, by the paths of claimants.
#[derive(PartialEq, Eq, Debug)]
struct Outcome {
    admitted: BTreeSet<String>,
    /// Those for which there is no room.
    refused: BTreeSet<String>,
    /// Those whose withdrawals are held.
    held: BTreeSet<String>,
    /// Those who have something published afterwards.
    published: BTreeSet<String>,
    objects: usize,
}

impl Outcome {
    fn has(&self, part: &str) -> usize {
        self.published.iter().filter(|path| path.contains(part)).count()
    }
}

impl Fleet {
    /// Sources of a platform that is trusted with everything, a hostile tenant, and his neighbour.
    fn new(limits: &Value) -> Self {
        let named =
            |name: &str| json!([{"group": INFRA, "kind": "AWSClusterStaticIdentity", "name": format!("{name}-*")}]);
        let config = json!({
            "sources": [
                {"name": "platform", "provides": {"namespaces": ["*"], "clusterScoped": true}},
                {"name": "hostile", "provides": {"namespaces": ["hostile-*"], "objects": named("hostile")}},
                {"name": "neighbour", "provides": {"namespaces": ["neighbour"], "objects": named("neighbour")}},
            ],
            "limits": limits,
            "regions": {"eu": {"recipients": RECIPIENTS}},
        });
        Self { config, documents: Vec::new(), files: Files::new() }
    }

    /// The same, with a rule of the platform for what is labelled: for the region, and in a group with an entry of its own.
    fn with_rule(limits: &Value, kind: &Value) -> Self {
        let mut fleet = Self::new(limits);
        fleet.config["grants"] = json!([{"from": {"syncRule": "take"}, "regions": ["eu"]}]);
        let entry = json!({"labels": [{"matchLabels": {"take": "yes"}}]});
        let rule = json!({"apiVersion": "clusterregistry.k8s.cisco.com/v1alpha1", "kind": "ResourceSyncRule",
                          "metadata": {"name": "take"},
                          "spec": {"groupVersionKind": kind, "rules": [{"match": [entry]}]}});
        fleet.documents.push(("platform", rule));
        fleet
    }

    fn with_group(limits: &Value, named: &[&str]) -> Self {
        let mut fleet = Self::with_rule(limits, &json!({"version": "v1", "kind": "Secret"}));
        let entry = |name: &&str| json!({"kind": "Secret", "namespace": "shared", "name": name});
        let mut objects: Vec<Value> = named.iter().map(entry).collect();
        objects.push(json!({"syncRule": "take"}));
        let selector = json!({"matchLabels": {"guest": "yes"}});
        fleet.config["guests"] =
            json!({"g": {"region": "eu", "namespaces": ["clusters"], "clusterSelector": selector, "objects": objects}});
        let named = named.iter().map(|name| ("platform", secret("shared", name, false)));
        fleet.documents.extend(named);
        fleet
    }

    /// Adds a Credential and its Secret.
    fn credential(&mut self, source: &'static str, namespace: &str, name: &str) {
        let identity = json!({"apiVersion": "v1", "kind": "Secret", "name": name});
        let credential = json!({"apiVersion": "k0rdent.mirantis.com/v1beta1", "kind": "Credential",
                                "metadata": {"name": name, "namespace": namespace},
                                "spec": {"region": "eu", "identityRef": identity}});
        self.documents.push((source, credential));
        self.documents.push((source, secret(namespace, name, false)));
    }

    /// Adds an identity without a namespace.
    fn identity(&mut self, source: &'static str, name: &str) {
        let metadata = json!({"name": name, "labels": {"take": "yes"}});
        let identity = json!({"apiVersion": format!("{INFRA}/v1beta2"), "kind": "AWSClusterStaticIdentity",
                              "metadata": metadata, "spec": {"secretRef": "x", "allowedNamespaces": {}}});
        self.documents.push((source, identity));
    }

    /// Adds a Secret that the rule takes.
    fn labelled(&mut self, source: &'static str, namespace: &str, name: &str) {
        self.documents.push((source, secret(namespace, name, true)));
    }

    /// Removes a source's objects of a kind whose names begin so.
    fn remove(&mut self, source: &str, kind: &str, prefix: &str) {
        let goes = |document: &Value| {
            document["kind"] == kind && document["metadata"]["name"].as_str().unwrap().starts_with(prefix)
        };
        self.documents.retain(|(of, document)| *of != source || !goes(document));
    }

    fn scene(&self) -> Scene {
        let document = |((source, value), line): (&(&str, Value), u32)| Document {
            source: (*source).to_string(),
            node: node(value),
            line,
        };
        let documents = self.documents.iter().zip(1_u32..).map(document).collect();
        Scene { config: self.config.clone(), documents, incomplete: Vec::new(), run: json!({}) }
    }

    /// Plans what the sources say, and publishes that.
    fn run(&mut self) -> Outcome {
        let desk = Desk::new(&self.scene());
        let region = &desk.fleet.regions["eu"];
        let examine = |files: &Files| Published::examine(&desk.fleet.name, &region.directory, files.clone(), &keys());
        let before = examine(&self.files);
        let (plan, heard) = desk.plan_after(region, &before, &History::default(), &Wishes::default());
        assert!(plan.holds.is_empty(), "{:?}", plan.holds);
        let held = plan.withheld.iter().flat_map(|hold| &hold.claimants).map(Claimant::path).collect();
        let (mut admitted, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for (case, ruled) in heard.iter().zip(&plan.rulings) {
            let findings = case.findings.iter().chain(&ruled.added);
            match ruled.verdict {
                Verdict::Admitted => _ = admitted.insert(case.claim.by.path()),
                _ if findings.clone().any(|finding| finding.stops_claim() && finding.code == Code::TooManyObjects) => {
                    refused.insert(case.claim.by.path());
                }
                _ => {}
            }
        }
        self.files = publish(&desk, region, plan, &before);
        let after = examine(&self.files);
        let manifest = after.manifest().unwrap();
        let counts = manifest.objects.iter().filter(|object| !object.key.kind.is_namespace());
        let lasting = manifest.objects.iter().filter(|object| !object.state.is_handover());
        let published = lasting.flat_map(|object| &object.needed_by).map(|needed_by| needed_by.by.path()).collect();
        Outcome { admitted, refused, held, published, objects: counts.count() }
    }
}

fn secret(namespace: &str, name: &str, is_taken: bool) -> Value {
    let labels = if is_taken { json!({"take": "yes"}) } else { json!({}) };
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace, "labels": labels},
           "stringData": {"key": format!("value of {namespace} and {name}")}})
}

/// A tenant with many namespaces, each of which asks for less than anybody, gets no more room than a source with one.
#[test]
fn a_tenant_with_many_namespaces_leaves_the_room_of_others() {
    let fleet = |most: usize| {
        let mut fleet = Fleet::new(&json!({"objectsPerRegion": most}));
        (0..20).for_each(|n| fleet.credential("hostile", &format!("hostile-{n:02}"), "x"));
        (0..5).for_each(|n| fleet.credential("neighbour", "neighbour", &format!("x{n}")));
        fleet.credential("platform", "team", "own");
        fleet
    };
    let outcome = fleet(12).run();
    assert_eq!(outcome.has("neighbour/"), 5, "{outcome:#?}");
    assert!(outcome.has("team/") == 1 && outcome.objects <= 12, "{outcome:#?}");
    // He is the one who is refused, and takes what the others leave.
    assert!(outcome.refused.iter().all(|path| path.starts_with("hostile-")), "{outcome:#?}");
    assert_eq!(outcome.has("hostile-"), 6, "{outcome:#?}");
    // In whatever order sources and documents come.
    let mut other = fleet(12);
    other.documents.reverse();
    other.config["sources"].as_array_mut().unwrap().reverse();
    assert_eq!(other.run(), outcome);
    // It is the room that he lacks.
    let roomy = fleet(100).run();
    assert!(roomy.refused.is_empty() && roomy.has("hostile-") == 20, "{roomy:#?}");
}

/// One who comes first takes all that is free, but for what is kept for the others; what he has published stays.
#[test]
fn a_tenant_who_comes_first_leaves_room_for_newcomers() {
    let mut fleet = Fleet::new(&json!({"objectsPerRegion": 24}));
    (0..40).for_each(|n| fleet.credential("hostile", &format!("hostile-{n:02}"), "x"));
    let first = fleet.run();
    assert_eq!(first.has("hostile-"), 20, "{first:#?}");
    (0..2).for_each(|n| fleet.credential("neighbour", "neighbour", &format!("x{n}")));
    (0..2).for_each(|n| fleet.credential("platform", "team", &format!("x{n}")));
    let second = fleet.run();
    assert!(second.admitted.contains("neighbour/x0") && second.admitted.contains("team/x1"), "{second:#?}");
    assert!(second.has("hostile-") == 20 && second.objects == 24, "{second:#?}");
    // Alone, a source has all of a region.
    let mut alone = Fleet::new(&json!({"objectsPerRegion": 24}));
    alone.config["sources"] = json!([alone.config["sources"][0]]);
    (0..40).for_each(|n| alone.credential("platform", &format!("hostile-{n:02}"), "x"));
    assert_eq!(alone.run().has("hostile-"), 24);
}

/// Broken claims keep their room, of their namespace and of the region.
#[test]
fn who_breaks_what_he_has_gets_no_more_room() {
    let mut fleet = Fleet::new(&json!({"objectsPerNamespace": 3, "objectsPerRegion": 24}));
    for round in 0..3 {
        (0..3).for_each(|n| fleet.credential("hostile", "hostile-a", &format!("r{round}-{n}")));
        let outcome = fleet.run();
        assert_eq!(outcome.has("hostile-a/"), 3, "{outcome:#?}");
        fleet.remove("hostile", "Secret", &format!("r{round}"));
    }
    // A Credential that is mended and one that is new in another namespace are no matter of his.
    fleet.credential("neighbour", "neighbour", "x");
    assert!(fleet.run().admitted.contains("neighbour/x"));
}

/// Objects that rules take without a namespace are counted for their writer: his quotas, and his budgets.
#[test]
fn what_a_rule_takes_without_a_namespace_is_its_writer_s() {
    let kind = json!({"group": INFRA, "version": "v1beta2", "kind": "AWSClusterStaticIdentity"});
    let mut fleet = Fleet::with_rule(&json!({"objectsPerNamespace": 12, "credentialsPerNamespace": 16}), &kind);
    fleet.config["regions"]["eu"]["syncRules"] = json!(["take"]);
    (0..14).for_each(|n| fleet.identity("hostile", &format!("hostile-{n:02}")));
    (0..5).for_each(|n| fleet.identity("neighbour", &format!("neighbour-{n}")));
    (0..5).for_each(|n| fleet.identity("platform", &format!("own-{n}")));
    let outcome = fleet.run();
    // Of his own, as many as fit.
    assert!(outcome.has(":hostile-") == 12 && outcome.refused.len() == 2, "{outcome:#?}");
    assert!(outcome.has(":neighbour-") == 5 && outcome.has(":own-") == 5, "{outcome:#?}");
    // He writes more than are looked at, and takes away most of what he has; the others take one each.
    fleet.remove("hostile", "AWSClusterStaticIdentity", "hostile-0");
    (0..20).for_each(|n| fleet.identity("hostile", &format!("hostile-new-{n:02}")));
    fleet.remove("neighbour", "AWSClusterStaticIdentity", "neighbour-0");
    fleet.remove("platform", "AWSClusterStaticIdentity", "own-0");
    fleet.identity("neighbour", "neighbour-new");
    let outcome = fleet.run();
    assert!(!outcome.published.iter().any(|path| path.ends_with(":neighbour-0") || path.ends_with(":own-0")));
    assert!(outcome.has(":neighbour-new") == 1, "{outcome:#?}");
    assert!(outcome.held.len() == 10 && outcome.held.iter().all(|path| path.contains(":hostile-0")), "{outcome:#?}");
}

/// In a group of guests the same: an entry of the configuration, and what the neighbour marks, are revoked at once.
#[test]
fn what_a_tenant_takes_out_of_a_group_holds_nothing_of_others() {
    let named = ["one", "two", "three", "four", "five"];
    let mut fleet = Fleet::with_group(&json!({}), &named);
    (0..12).for_each(|n| fleet.labelled("hostile", &format!("hostile-{}", n % 2), &format!("h{n:02}")));
    (0..5).for_each(|n| fleet.labelled("neighbour", "neighbour", &format!("n{n}")));
    let outcome = fleet.run();
    assert_eq!([outcome.has("/take:hostile-"), outcome.has("/take:neighbour"), outcome.has("/Secret/")], [12, 5, 5]);
    fleet.remove("hostile", "Secret", "h");
    fleet.remove("neighbour", "Secret", "n0");
    fleet.config["guests"]["g"]["objects"].as_array_mut().unwrap().remove(0);
    let outcome = fleet.run();
    assert_eq!([outcome.has("/take:neighbour"), outcome.has("/Secret/")], [4, 4], "{outcome:#?}");
    assert!(outcome.has("/take:hostile-") == 12 && outcome.held.len() == 12, "{outcome:#?}");
    assert!(outcome.held.iter().all(|path| path.contains("/take:hostile-")), "{outcome:#?}");
}

/// One who takes away most of a region holds himself, and none who takes little.
#[test]
fn one_who_empties_a_region_holds_himself_alone() {
    let mut fleet = Fleet::new(&json!({"deletions": {"percent": 100}}));
    (0..9).for_each(|n| fleet.credential("hostile", &format!("hostile-{n}"), "x"));
    (0..2).for_each(|n| fleet.credential("neighbour", "neighbour", &format!("x{n}")));
    (0..2).for_each(|n| fleet.credential("platform", "team", &format!("x{n}")));
    fleet.run();
    fleet.remove("hostile", "Credential", "x");
    fleet.remove("neighbour", "Credential", "x0");
    fleet.remove("platform", "Credential", "x0");
    let outcome = fleet.run();
    assert!(outcome.held.len() == 9 && outcome.held.iter().all(|path| path.starts_with("hostile-")), "{outcome:#?}");
    assert!(outcome.has("neighbour/") == 1 && outcome.has("team/") == 1, "{outcome:#?}");
    // One error that takes half of all away, a little of each, is still held: here of what belongs to all.
    let mut own = Fleet::new(&json!({"deletions": {"percent": 100}}));
    (0..4).for_each(|n| own.credential("platform", &format!("team-{n}"), "x"));
    own.run();
    own.remove("platform", "Credential", "x");
    assert_eq!(own.run().held.len(), 4);
}

/// In a group, what the configuration names comes first; of what a rule takes, as many as fit of each writer.
#[test]
fn a_tenant_with_many_objects_breaks_no_group() {
    let mut fleet = Fleet::with_group(&json!({"objectsPerNamespace": 5}), &["one", "two", "three"]);
    (0..11).for_each(|n| fleet.labelled("hostile", "hostile-a", &format!("a{n:02}")));
    (0..4).for_each(|n| fleet.labelled("neighbour", "neighbour", &format!("n{n}")));
    let outcome = fleet.run();
    assert_eq!([outcome.has("/Secret/"), outcome.has("/take:neighbour"), outcome.has("/take:hostile-")], [3, 4, 5]);
    let is_his = |path: &String| path.contains("/take:hostile-a/");
    assert!(outcome.refused.len() == 6 && outcome.refused.iter().all(is_his), "{outcome:#?}");
    // What is published keeps its place, whatever comes before it by name, and a named entry that comes later has room.
    fleet.labelled("hostile", "hostile-a", "a");
    fleet.config["guests"]["g"]["objects"].as_array_mut().unwrap().push(json!(
        {"kind": "Secret", "namespace": "shared", "name": "four"}
    ));
    fleet.documents.push(("platform", secret("shared", "four", false)));
    let later = fleet.run();
    let first_five = (0..5).all(|n| later.has(&format!("/take:hostile-a/a{n:02}")) == 1);
    assert!(first_five && later.has("/take:hostile-") == 5 && later.has("/Secret/") == 4, "{later:#?}");
}

/// A finding about what does not fit stands where its writer looks.
#[test]
fn what_does_not_fit_is_told_of_its_writer() {
    let mut fleet = Fleet::with_group(&json!({"objectsPerNamespace": 1}), &["one"]);
    (0..2).for_each(|n| fleet.labelled("hostile", "hostile-a", &format!("a{n}")));
    let desk = Desk::new(&fleet.scene());
    let (plan, _) =
        desk.plan_after(&desk.fleet.regions["eu"], &Published::nothing(), &History::default(), &Wishes::default());
    let found: Vec<_> = plan.rulings.iter().flat_map(|ruled| &ruled.added).collect();
    let [finding] = &*found else { panic!("{found:?}") };
    assert_eq!(finding.object.as_ref().map(ToString::to_string).as_deref(), Some("Secret hostile-a/a1"));
    assert_eq!(finding.origin.as_ref().map(|origin| origin.source.as_str()), Some("hostile"));
    assert!(finding.message.contains("by namespace hostile-a"), "{}", finding.message);
}
