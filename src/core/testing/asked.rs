//! A source that is asked piece by piece gives what the same source gives when it is read as a whole.
//!
//! A made-up cluster stands in: it lists what [`inquiry::listed`] names, and answers single questions
//! out of the same documents. What closures make of both must be the same, and nothing is asked that no
//! closure wants.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::case::{Scene, fleet, of_stage, readings};
use super::node;
use super::stages::{Desk, Wishes};
use super::{indexed, laws};
use crate::closure::wanted::{BySource, add_aside, wanted};
use crate::config::{Fleet, SourcePlace};
use crate::finding::{Code, Origin, Place};
use crate::inquiry::{behind_all, listed, listed_namespaces, ruled, rules_among, select_namespaces};
use crate::judge::case::Verdict;
use crate::kinds::{POUCH, Scopes};
use crate::name::{GroupKind, Name, ObjectKey, Region, Version};
use crate::node::Node;
use crate::object::admit;
use crate::snapshot::{Answer, Inquiry, Lookup, Reason, Snapshot, assemble};
use crate::world::looks::Looks;
use crate::world::{Facts, World};

/// What the made-up cluster of each source holds, by key.
type Clusters = Vec<BTreeMap<ObjectKey, (Node, Origin)>>;

fn key_of(fleet: &Fleet, document: &Node, origin: &Origin) -> Option<ObjectKey> {
    let mut scopes = Scopes::new();
    for (kind, extra) in &fleet.kinds {
        scopes.learn(kind.clone(), extra.scope);
    }
    admit(document.clone(), origin.clone(), &scopes, None, fleet).ok().map(|object| object.key)
}

/// The world as a desk whose sources are asked, and everything that was asked for.
fn asked(world: &Scene, refused: &dyn Fn(&ObjectKey) -> bool) -> (Desk, BTreeSet<ObjectKey>) {
    asked_otherwise(world, &|_, key| refused(key).then(|| Answer::Unread(Reason::new("no", "Ask."))))
}

/// What a source says instead of what it holds, by its number and the object that it is asked for.
type Otherwise<'a> = dyn Fn(usize, &ObjectKey) -> Option<Answer> + 'a;

/// As [`asked`], but sources may say something else.
fn asked_otherwise(world: &Scene, otherwise: &Otherwise<'_>) -> (Desk, BTreeSet<ObjectKey>) {
    asked_beside(world, otherwise, |_| false)
}

/// As [`asked_otherwise`], but some of the sources are files, by their numbers: of these an index is made.
fn asked_beside(
    world: &Scene,
    otherwise: &Otherwise<'_>,
    are_files: impl Fn(usize) -> bool,
) -> (Desk, BTreeSet<ObjectKey>) {
    let fleet = fleet(&world.config);
    let mut clusters = Clusters::new();
    // No API server has RegionFacts: they are what a look into a region's own cluster would find.
    let mut seen: Vec<(Region, (Node, Origin))> = Vec::new();
    let mut readings = readings(&fleet, world);
    let documents = readings.iter().flat_map(|reading| &reading.documents);
    let behind = behind_all(&fleet, documents.map(|(document, origin)| (document, &origin.source)));
    let documents = readings.iter().flat_map(|reading| &reading.documents);
    let rules = rules_among(&fleet, documents.map(|(document, origin)| (document, &origin.source)));
    let mut aside = BTreeMap::new();
    for (number, (source, reading)) in fleet.sources.iter().zip(&mut readings).enumerate() {
        let may_be_files = !matches!(source.place, SourcePlace::Cluster { .. });
        if may_be_files && are_files(number) {
            aside.insert(number, indexed::put_aside(&fleet, source, reading));
            clusters.push(BTreeMap::new());
            continue;
        }
        let mut kinds: BTreeSet<GroupKind> = listed(&fleet, source).into_iter().map(|l| l.kind).collect();
        kinds.extend(behind.iter().cloned());
        // No cluster says which namespaces another region has: here, what would say so as files does.
        let only = |region| fleet.only_source_of_namespaces(region).is_some_and(|only| only.name == source.name);
        let says = fleet.regions.values().any(only);
        if says || select_namespaces(reading.documents.iter().map(|(document, _)| document)) {
            kinds.insert(listed_namespaces().kind);
        }
        let ruled = ruled(&fleet, &source.provides, &rules);
        let mut inquiry = Inquiry::default();
        for ruled in &ruled {
            ruled.named.iter().for_each(|key| inquiry.answered(key.clone(), Ok(())));
            for namespaces in ruled.listed.iter().map(|listed| &listed.namespaces) {
                let all = namespaces.iter().flatten().cloned().map(Some);
                let whole = namespaces.is_none().then_some(None);
                all.chain(whole).for_each(|namespace| inquiry.matched(ruled.kind.clone(), namespace, Ok(())));
            }
        }
        let is_matched = |key: &ObjectKey, document: &Node| {
            let of_kind = ruled.iter().find(|ruled| ruled.kind == key.kind);
            of_kind.is_some_and(|ruled| {
                let places = ruled.listed.as_ref().map(|listed| &listed.namespaces);
                let is_within = places.is_some_and(|places| {
                    places.as_ref().is_none_or(|all| key.namespace.as_ref().is_some_and(|it| all.contains(it)))
                });
                let labels = document.at(&["metadata", "labels"]);
                ruled.named.contains(key) || (is_within && ruled.may_take(key, labels))
            })
        };
        let mut cluster = BTreeMap::new();
        let mut rest = Vec::new();
        for (document, origin) in reading.documents.drain(..) {
            match key_of(&fleet, &document, &origin) {
                Some(key) if key.kind.is(POUCH, "RegionFacts") => {
                    seen.push((Region::from(key.name.as_str()), (document, origin)));
                }
                Some(key) if kinds.contains(&key.kind) => rest.push((document, origin)),
                Some(key) if is_matched(&key, &document) => {
                    inquiry.answered(key, Ok(()));
                    rest.push((document, origin));
                }
                Some(key) => _ = cluster.insert(key, (document, origin)),
                None => {}
            }
        }
        reading.documents = rest;
        for rules in crate::capi::all() {
            let versions = rules.versions.iter().map(|served| Version::from(served.version));
            let versions = versions.filter(|version| crate::capi::served(rules, version, fleet.builtin)).collect();
            inquiry.served.insert(GroupKind::new(rules.group, rules.kind), (rules.scope, versions));
        }
        inquiry.listed.extend(kinds.into_iter().map(|kind| (kind, Ok(()))));
        reading.inquiry = Some(inquiry);
        clusters.push(cluster);
    }
    let (mut snapshot, findings) = assemble(&fleet, readings);
    let mut looks = Looks::default();
    for (region, found) in seen {
        looks.add(&fleet, &snapshot, region, Ok(found));
    }
    let mut questions = BTreeSet::new();
    for round in 0.. {
        assert!(round < 100, "the closures never have enough");
        let (facts, _) = Facts::gather(&fleet, &snapshot, &looks);
        let world = World { fleet: &fleet, snapshot: &snapshot, facts: &facts, now: 0 };
        let (wanted, _) = wanted(&world, facts.asked().iter().filter_map(|asked| asked.claim.as_deref()), |_| {});
        if wanted.is_empty() {
            break;
        }
        let (files, wanted): (BTreeMap<_, _>, BTreeMap<_, _>) =
            wanted.into_iter().partition(|(index, _)| aside.contains_key(index));
        for (index, key) in files.into_iter().flat_map(|(index, keys)| keys.into_iter().map(move |key| (index, key))) {
            indexed::read_again(&fleet, &mut snapshot, (index, &aside[&index]), &key);
        }
        answer(&fleet, &mut snapshot, &clusters, wanted, &mut questions, otherwise);
    }
    let (facts, _) = Facts::gather(&fleet, &snapshot, &looks);
    let world = World { fleet: &fleet, snapshot: &snapshot, facts: &facts, now: 0 };
    let mut unread = BySource::new();
    wanted(&world, facts.asked().iter().filter_map(|asked| asked.claim.as_deref()), |closure| {
        add_aside(&mut unread, &snapshot, closure.unread(&snapshot));
    });
    for (index, key) in unread.into_iter().flat_map(|(index, keys)| keys.into_iter().map(move |key| (index, key))) {
        indexed::read_again(&fleet, &mut snapshot, (index, &aside[&index]), &key);
    }
    (Desk::looked(fleet, snapshot, findings, &looks), questions)
}

fn answer(
    fleet: &Fleet,
    snapshot: &mut Snapshot,
    clusters: &Clusters,
    wanted: BTreeMap<usize, BTreeSet<ObjectKey>>,
    questions: &mut BTreeSet<ObjectKey>,
    otherwise: &Otherwise<'_>,
) {
    for (index, keys) in wanted {
        let reply = |key: ObjectKey| {
            let held = || match clusters[index].get(&key) {
                Some((document, origin)) => Answer::Found(document.clone(), origin.clone()),
                None => Answer::Absent,
            };
            let answer = otherwise(index, &key).unwrap_or_else(held);
            (key, answer)
        };
        questions.extend(keys.iter().cloned());
        snapshot.supply(fleet, index, keys.into_iter().map(reply).collect());
    }
}

/// What regions get and why not: members, verdicts and codes. Hints that only somebody can give who has
/// read everything are left out.
fn told(desk: &Desk) -> String {
    const HINTS: [Code; 3] = [Code::FoundElsewhere, Code::FoundElsewhere, Code::CredentialNeverReady];
    let mut text = String::new();
    for region in desk.fleet.regions.keys() {
        for case in desk.heard(region) {
            _ = writeln!(text, "{region} {} {:?}", case.claim.by, case.verdict);
            if case.verdict == Verdict::Refused {
                // What is behind an object that is out of reach is not looked at.
                continue;
            }
            let codes: BTreeSet<&str> =
                case.findings.iter().filter(|f| !HINTS.contains(&f.code)).map(|f| f.code.text()).collect();
            _ = writeln!(text, "  {codes:?}");
            for member in &case.closure.members {
                _ = writeln!(text, "  {:?} {} as {} {:?}", member.role, member.read, member.lands, member.edits);
            }
            // Of a claim that is broken, objects behind what broke it need not have been asked for.
            for member in case.published_members().filter(|_| case.verdict == Verdict::Admitted) {
                let origin = desk.snapshot.get(&member.read).map(|object| object.origin.to_string());
                _ = writeln!(text, "  {} at {}", member.read, origin.unwrap_or_default());
            }
        }
    }
    text
}

/// A role with few rights is refused what it asks of a namespace that is missing. What stands in the system namespace
/// needs no other one.
#[test]
fn a_namespace_of_clusterctl_that_is_missing_leaves_nothing_unread() {
    let cases = of_stage("closure");
    let name = "controller-namespace-behind-the-system-namespace.yaml";
    let case = cases.iter().find(|case| case.path.ends_with(name)).expect("the case is there");
    let verdict = |namespace: &str| {
        let refused = |key: &ObjectKey| key.namespace.as_ref().is_some_and(|own| own.as_str() == namespace);
        let (desk, _) = asked(&case.worlds[0], &refused);
        let heard = desk.heard(&"eu".into());
        let help = heard[0].findings.iter().map(|found| found.help.to_string()).collect::<Vec<_>>().join(" ");
        (heard[0].verdict, help)
    };
    assert_eq!(verdict("capv-system").0, Verdict::Admitted);
    let (shut, help) = verdict("kcm-system");
    assert!(shut == Verdict::Broken && help.contains("controllerNamespace"), "{help}");
}

#[test]
fn the_cases_read_the_same_asked_or_as_a_whole() {
    let (mut compared, mut mixed) = (0, 0);
    for stage in ["claim", "closure", "judge", "region"] {
        for case in of_stage(stage) {
            for world in &case.worlds {
                let mut keys = BTreeSet::new();
                let fleet = fleet(&world.config);
                let twice = world.documents.iter().any(|document| {
                    let origin = readings(&fleet, world)[0].documents.first().map(|(_, origin)| origin.clone());
                    let key = origin.and_then(|origin| key_of(&fleet, &document.node, &origin));
                    key.is_none_or(|key| !keys.insert((document.source.clone(), key)))
                });
                let whole = Desk::new(world);
                let slips = whole
                    .findings
                    .iter()
                    .any(|finding| matches!(finding.code, Code::Mistyped | Code::UnrenderedTemplate));
                // No API server has fields of metadata that nobody knows.
                let unclear = whole.snapshot.objects().filter_map(|object| object.matched.as_ref());
                let slips = slips || unclear.into_iter().any(|matched| matched.unclear.is_some());
                // No cluster has an object twice, or one that is no object or of no kind; it serves what its CRDs say.
                let crds = world.documents.iter().any(|d| d.node.str_at(&["kind"]) == Some("CustomResourceDefinition"));
                // No cluster is asked for single Machines.
                let machines = world.documents.iter().any(|d| d.node.str_at(&["kind"]) == Some("Machine"));
                // Nobody looks into a region that there is not.
                let strays = world.documents.iter().any(|d| {
                    let name = d.node.str_at(&["metadata", "name"]).unwrap_or_default();
                    d.node.str_at(&["kind"]) == Some("RegionFacts") && !fleet.regions.contains_key(&Region::from(name))
                });
                if twice || crds || slips || strays || machines || !world.incomplete.is_empty() {
                    continue;
                }
                compared += 1;
                assert_eq!(told(&asked(world, &|_| false).0), told(&whole), "{}", case.path.display());
                if fleet.sources.len() > 1 {
                    mixed += 1;
                    for files in 0..2 {
                        let desk = asked_beside(world, &|_, _| None, |number| number % 2 == files).0;
                        assert_eq!(told(&desk), told(&whole), "{} files {files}", case.path.display());
                    }
                }
            }
        }
    }
    assert!(compared > 200 && mixed > 20, "{compared} worlds compared, {mixed} of them mixed");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn asking_is_reading(mode in laws::resolution(), documents in laws::unique_documents()) {
        let world = laws::world(mode, documents);
        let (desk, _) = asked(&world, &|_| false);
        prop_assert_eq!(told(&desk), told(&Desk::new(&world)));
    }

    #[test]
    fn nothing_is_asked_that_no_closure_looks_at(mode in laws::resolution(), documents in laws::unique_documents()) {
        let (desk, questions) = asked(&laws::world(mode, documents), &|_| false);
        let mut looked_at = BTreeSet::new();
        for region in desk.fleet.regions.keys() {
            for case in desk.heard(region) {
                let by = case.claim.by.namespace();
                looked_at.extend(case.closure.members.iter().map(|member| member.read.clone()));
                let Some(root) = case.claim.root() else { continue };
                let places = [Some(by), root.namespace.as_ref(), Some(&desk.fleet.system_namespace)];
                for place in places.into_iter().flatten() {
                    let named = |end| Name::new(format!("{}{end}", root.name));
                    looked_at.insert(ObjectKey::config_map(place.clone(), named("-resource-template")));
                    looked_at.insert(ObjectKey::secret(place.clone(), named("-secret")));
                    // What k0rdent itself looks for; never a Secret's content.
                    if !root.kind.is_secret() && !root.kind.is_config_map() {
                        looked_at.insert(ObjectKey::new(root.kind.clone(), Some(place.clone()), root.name.clone()));
                    }
                }
            }
        }
        for key in questions {
            prop_assert!(looked_at.contains(&key), "{key} was asked for");
            let open = [Some("team-a"), Some("team-b"), Some("kcm-system"), Some("vault"), None];
            prop_assert!(open.contains(&key.namespace.as_ref().map(|n| n.as_str())));
        }
    }

    /// What is refused is never taken for absent: the claims that need it are broken, the others as before.
    #[test]
    fn what_is_refused_is_unread(mode in laws::resolution(), documents in laws::unique_documents(), which in 0_usize..40) {
        let world = laws::world(mode, documents);
        let (whole, questions) = asked(&world, &|_| false);
        prop_assume!(!questions.is_empty());
        let secret = questions.iter().nth(which % questions.len()).cloned().unwrap();
        let (desk, _) = asked(&world, &|key| *key == secret);
        prop_assert!(matches!(desk.snapshot.look_up(&secret), Lookup::Unread(_)));
        for region in desk.fleet.regions.keys() {
            for (now, then) in desk.heard(region).iter().zip(whole.heard(region)) {
                let needs = |case: &crate::judge::case::Case| {
                    case.findings.iter().any(|f| f.code == Code::Unread && f.object.as_ref() == Some(&secret))
                };
                if !needs(now) {
                    let reads = now.published_members().any(|member| member.read == secret);
                    prop_assert!(!reads || now.verdict != Verdict::Admitted, "{} reads it", now.claim.by);
                    prop_assert_eq!(now.verdict, then.verdict);
                } else {
                    prop_assert!(now.verdict != Verdict::Admitted);
                }
            }
        }
    }
}

/// Documents as an API server has them: each object once.
pub(super) fn once(mut documents: Vec<Value>) -> Vec<Value> {
    let mut seen = BTreeSet::new();
    documents.retain(|document| {
        let (kind, metadata) = (&document["kind"], &document["metadata"]);
        seen.insert(format!("{kind} {} {}", metadata["namespace"], metadata["name"]))
    });
    documents
}

/// Whether the one on the management cluster has pouch's label is not seen, so nothing is said of it.
#[test]
fn a_secret_that_nobody_looks_at_counts_as_what_is_published_there() {
    let cases = of_stage("region");
    let case = cases.iter().find(|case| case.path.ends_with("management-label-lost-keeps-what-is-published.yaml"));
    let [before, after] = &*case.unwrap().worlds else { panic!("two worlds") };
    let published = laws::published(&Desk::new(before), "mgmt");
    let codes = |(desk, _): (Desk, BTreeSet<ObjectKey>)| -> Vec<Code> {
        let (plan, _) = desk.plan(&desk.fleet.regions["mgmt"], &published, &Wishes::default());
        plan.rulings.iter().flat_map(|ruled| &ruled.added).map(|finding| finding.code).collect()
    };
    let unseen = |index: usize, key: &ObjectKey| {
        let value = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": key.name.as_str(), "namespace": key.namespace_text()}});
        let origin = Origin { source: "live".into(), place: Place::Cluster { context: "hub".into() } };
        (index == 1 && key.kind.is_secret()).then(|| Answer::Unseen(node(&value), origin))
    };
    assert_eq!(codes(asked(after, &|_| false)), [Code::Occupied]);
    assert_eq!(codes(asked_otherwise(after, &unseen)), [Code::MissingReference]);
}

/// A tenant's reference to somebody else's Secret is refused without asking for it.
#[test]
fn what_is_out_of_reach_is_not_asked_for() {
    let text = "
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: a, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: AzureClusterIdentity, name: az, namespace: team-a}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: AzureClusterIdentity
metadata: {name: az, namespace: team-a}
spec: {type: ServicePrincipal, clientID: c, tenantID: t, allowedNamespaces: {}, clientSecret: {name: crown, namespace: vault}}
---
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: b, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: v1, kind: Secret, name: crown, namespace: vault}}
";
    let documents = text.split("---\n").map(super::yaml).collect();
    let (desk, questions) = asked(&laws::world("as-written", documents), &|_| false);
    let shut = "
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: a, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: AWSClusterStaticIdentity, name: shut}}
---
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: AWSClusterStaticIdentity
metadata: {name: shut}
spec: {secretRef: crown}
";
    let documents = shut.split("---\n").map(super::yaml).collect();
    let (_, behind) = asked(&laws::world("as-written", documents), &|_| false);
    assert_eq!(behind.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["shut"]);
    let foreign: Vec<String> =
        questions.iter().filter(|key| key.namespace_text() == "vault").map(|key| key.to_string()).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    let heard = desk.heard(&"eu".into());
    assert_eq!(heard.iter().map(|case| case.verdict).collect::<Vec<_>>(), [Verdict::Refused, Verdict::Refused]);
}
