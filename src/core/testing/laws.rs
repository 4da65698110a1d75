//! Laws of the pure core, on made-up fleets: order means nothing, regions mean nothing to each other,
//! tenants get nothing by what another tenant writes, and no graph of definitions runs away.

use alloc::collections::BTreeSet;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt::Write as _;

use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::case::{Document, Scene};
use super::node;
use super::stages::{Desk, Wishes, keys, publish};
use crate::closure::{MAX_HOPS, MAX_OBJECTS, close};
use crate::finding::{Code, Finding, settle};
use crate::judge::case::{Case, Verdict};
use crate::layout::manifest::NeededBy;
use crate::name::{Claimant, ObjectKey};
use crate::region::change::Hold;
use crate::region::content::Content;
use crate::region::plan::{RegionPlan, bundle_yaml};
use crate::region::published::Published;

const INFRA: &str = "infrastructure.cluster.x-k8s.io";

fn object(api: &str, kind: &str, namespace: Option<&str>, name: &str, spec: &Value) -> Value {
    let mut metadata = json!({"name": name});
    if let Some(namespace) = namespace {
        metadata["namespace"] = namespace.into();
    }
    json!({"apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec})
}

fn namespace() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("team-a"), 3 => Just("team-b"), 5 => Just("kcm-system"), 1 => Just("vault")]
}

fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("x"), 6 => Just("y"), 1 => Just("x-secret")]
}

fn identity_kind() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(vec![
        ("infrastructure.cluster.x-k8s.io/v1beta2", "AWSClusterStaticIdentity"),
        ("infrastructure.cluster.x-k8s.io/v1beta2", "AWSClusterRoleIdentity"),
        ("infrastructure.cluster.x-k8s.io/v1beta1", "AzureClusterIdentity"),
        ("infrastructure.cluster.x-k8s.io/v1alpha1", "OpenStackClusterIdentity"),
        ("v1", "Secret"),
    ])
}

fn credential() -> impl Strategy<Value = Value> {
    let at = proptest::option::weighted(0.2, namespace());
    let copy = proptest::bool::weighted(0.2);
    (namespace(), name(), identity_kind(), name(), at, select(vec!["eu", "eu", "us"]), copy).prop_map(
        |(namespace, name, (api, kind), identity, at, region, copy)| {
            let mut reference = json!({"apiVersion": api, "kind": kind, "name": identity});
            if let Some(at) = at {
                reference["namespace"] = at.into();
            }
            let spec = json!({"region": region, "identityRef": reference});
            let mut credential = object("k0rdent.mirantis.com/v1beta1", "Credential", Some(namespace), name, &spec);
            if copy {
                credential["metadata"]["labels"] = json!({"k0rdent.mirantis.com/managed": "true"});
            }
            credential
        },
    )
}

fn secret() -> impl Strategy<Value = Value> {
    (namespace(), name(), select(vec!["a", "b"])).prop_map(|(namespace, name, value)| {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": namespace},
               "stringData": {"key": value}})
    })
}

fn config_map() -> impl Strategy<Value = Value> {
    (namespace(), name(), select(vec!["a", "b"])).prop_map(|(namespace, name, value)| {
        let name = format!("{name}-resource-template");
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace},
               "data": {"key": value}})
    })
}

fn identity() -> impl Strategy<Value = Value> {
    let allowed = select(vec![json!({}), json!({}), json!({"list": ["team-a"]}), json!(null)]);
    (identity_kind(), name(), namespace(), name(), namespace(), allowed, select(vec![0, 0, 1, 2])).prop_map(
        |((api, kind), name, at, other, other_at, allowed, choice)| {
            let (namespace, spec) = match kind {
                "AWSClusterStaticIdentity" => (None, json!({"secretRef": other, "allowedNamespaces": allowed})),
                "AWSClusterRoleIdentity" => {
                    let kinds = ["AWSClusterStaticIdentity", "AWSClusterRoleIdentity", "AWSClusterControllerIdentity"];
                    let source = json!({"kind": kinds[choice], "name": if choice == 2 { "default" } else { other }});
                    (None, json!({"roleARN": "r", "sourceIdentityRef": source, "allowedNamespaces": allowed}))
                }
                "AzureClusterIdentity" => {
                    let secret = json!({"name": other, "namespace": other_at});
                    let kinds = ["ServicePrincipal", "WorkloadIdentity", "ServicePrincipal"];
                    let spec = json!({"type": kinds[choice], "clientID": "c", "tenantID": "t",
                                      "clientSecret": secret, "allowedNamespaces": allowed});
                    (Some(at), spec)
                }
                "OpenStackClusterIdentity" => {
                    (None, json!({"secretRef": {"name": other, "namespace": other_at}, "namespaceSelector": {}}))
                }
                _ => {
                    return json!({"apiVersion": "v1", "kind": "Secret",
                                  "metadata": {"name": name, "namespace": at}, "stringData": {"k": other}});
                }
            };
            object(api, kind, namespace, name, &spec)
        },
    )
}

fn deployment() -> impl Strategy<Value = Value> {
    (namespace(), name(), name()).prop_map(|(namespace, name, credential)| {
        let spec = json!({"credential": credential});
        object("k0rdent.mirantis.com/v1beta1", "ClusterDeployment", Some(namespace), name, &spec)
    })
}

fn access() -> impl Strategy<Value = Value> {
    let names = select(vec![
        json!({"credentials": ["x"]}),
        json!({"resources": [{"kind": "Credential", "names": ["y", "x-secret"]}]}),
        json!({"resources": [{"kind": "Credential"}]}),
        json!({"credentials": ["x"], "resources": [{"kind": "Other"}]}),
    ]);
    let targets = select(vec![
        json!({"list": ["team-a"]}),
        json!({"list": ["team-b", "kcm-system"]}),
        json!({"selector": {"matchLabels": {"env": "prod"}}}),
        json!({"stringSelector": "env!=prod"}),
        json!({"unknown": []}),
        json!({}),
    ]);
    let rule = (names, targets).prop_map(|(mut rule, targets)| {
        rule["targetNamespaces"] = targets;
        rule
    });
    proptest::collection::vec(rule, 1..4).prop_map(|rules| {
        object("k0rdent.mirantis.com/v1beta1", "AccessManagement", None, "kcm", &json!({"accessRules": rules}))
    })
}

fn management_namespace() -> impl Strategy<Value = Value> {
    (namespace(), select(vec!["prod", "test"])).prop_map(|(name, env)| {
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {"env": env}}})
    })
}

/// A grant of one object or of a closure.
fn grant() -> impl Strategy<Value = Value> {
    let from = (namespace(), proptest::option::of(name())).prop_map(|(namespace, name)| match name {
        Some(name) => json!({"credential": format!("{namespace}/{name}")}),
        None => json!({"namespace": namespace}),
    });
    let to =
        (select(vec!["Secret", "ConfigMap", "AzureClusterIdentity", "AWSClusterStaticIdentity"]), namespace(), name());
    let regions = select(vec![json!(["eu"]), json!(["us"]), json!(["*"])]);
    (from, to, proptest::bool::weighted(0.3), regions).prop_map(|(from, (kind, at, name), closure, regions)| {
        let mut grant = json!({"from": from, "regions": regions});
        if !closure || from.get("namespace").is_some() {
            let mut to = json!({"kind": kind, "name": name});
            if kind != "AWSClusterStaticIdentity" {
                to["namespace"] = at.into();
            }
            if kind.ends_with("Identity") {
                to["group"] = INFRA.into();
            }
            grant["to"] = to;
        }
        grant
    })
}

/// A ProviderInterface over the built-in kinds, and some others, with paths that exist and some that do not.
fn interface() -> impl Strategy<Value = Value> {
    let kind = || {
        select(vec![
            (INFRA, "v1beta2", "AWSClusterStaticIdentity"),
            (INFRA, "v1beta2", "AWSClusterRoleIdentity"),
            (INFRA, "v1beta1", "AzureClusterIdentity"),
            ("", "v1", "Secret"),
            ("", "v1", "ConfigMap"),
            ("", "v1", "Pod"),
            ("k0rdent.mirantis.com", "v1beta1", "Credential"),
            ("x.io", "v1", "Thing"),
        ])
    };
    let path =
        select(vec!["spec.secretRef", "spec.sourceIdentityRef.name", "spec.clientSecret.name", "spec.secretRef.name"]);
    let at = proptest::option::of(select(vec!["spec.clientSecret.namespace", "spec.secretRef.namespace"]));
    let reference = (kind(), path, at).prop_map(|((group, version, kind), path, at)| {
        let mut reference = json!({"group": group, "version": version, "kind": kind, "nameFieldPath": path});
        if let Some(at) = at {
            reference["namespaceFieldPath"] = at.into();
        }
        reference
    });
    let definition = (kind(), proptest::collection::vec(reference, 0..4)).prop_map(
        |((group, version, kind), references)| {
            json!({"group": group, "version": version, "kind": kind, "references": references})
        },
    );
    (name(), proptest::collection::vec(definition, 1..4)).prop_map(|(name, definitions)| {
        let spec = json!({"clusterIdentities": definitions});
        object("k0rdent.mirantis.com/v1beta1", "ProviderInterface", None, name, &spec)
    })
}

/// What a fleet holds; most hold nothing twice, since that breaks whatever needs it.
pub(super) fn documents() -> impl Strategy<Value = Vec<Value>> {
    let any = prop_oneof![
        30 => credential(), 40 => identity(), 60 => secret(), 15 => config_map(), 8 => deployment(), 1 => interface(),
        3 => access(), 6 => management_namespace(),
    ];
    (proptest::collection::vec(any, 0..40), proptest::bool::weighted(0.2)).prop_map(|(mut documents, doubles)| {
        let mut seen = BTreeSet::new();
        documents.retain(|document| {
            let metadata = &document["metadata"];
            doubles || seen.insert(format!("{} {} {}", document["kind"], metadata["namespace"], metadata["name"]))
        });
        documents
    })
}

/// Documents as an API server has them.
pub(super) fn unique_documents() -> impl Strategy<Value = Vec<Value>> {
    documents().prop_map(super::asked::once)
}

pub(super) fn world(resolution: &str, values: Vec<Value>) -> Scene {
    let config = json!({"resolution": resolution, "companions": "follow", "regions": {"eu": {}, "us": {}}});
    let document = |(value, line): (Value, u32)| Document { source: "all".to_string(), node: node(&value), line };
    let documents = values.into_iter().zip(1_u32..).map(document).collect();
    Scene { config, documents, incomplete: vec![], run: json!({}) }
}

pub(super) fn resolution() -> impl Strategy<Value = &'static str> {
    select(vec!["as-written", "kcm"])
}

/// Everything that one region's plan and its claims say.
fn told(desk: &Desk, plan: &RegionPlan, cases: &[Case], found: Vec<Finding>) -> String {
    let mut text = bundle_yaml(&plan.manifest, keys().current().unwrap());
    for (path, content) in &plan.files {
        _ = match content {
            Content::Bytes(bytes) => writeln!(text, "{}: {bytes:?}", path.as_str()),
            Content::Kept(from) => writeln!(text, "{} from {}", path.as_str(), from.as_str()),
            Content::Seal(order) => {
                let origin = desk.snapshot.get(&order.read).map(|object| object.origin.to_string());
                writeln!(text, "{}: {order:?} {}", path.as_str(), origin.unwrap_or_default())
            }
        };
    }
    _ = writeln!(text, "{:?}", plan.changes);
    let mut findings = found;
    findings.extend(plan.holds.iter().chain(&plan.withheld).map(|hold| &hold.finding).chain(&plan.findings).cloned());
    let mut ruled: Vec<_> = cases.iter().zip(&plan.rulings).collect();
    ruled.sort_by(|(a, _), (b, _)| a.claim.by.cmp(&b.claim.by));
    for (case, ruled) in ruled {
        _ = writeln!(text, "{} {:?} {:?}", case.claim.by, ruled.verdict, case.closure.members);
        findings.extend(case.findings.iter().chain(&ruled.added).cloned());
    }
    for finding in settle(findings) {
        _ = writeln!(text, "{finding:?}");
    }
    text
}

/// What a region says whose claims are heard in the order that `turn` gives them.
fn render(desk: &Desk, region: &str, published: &Published, turn: usize) -> (String, RegionPlan) {
    let found = desk.findings.clone();
    let config = &desk.fleet.regions[region];
    let mut heard = desk.heard(&config.name);
    if !heard.is_empty() {
        let turn = turn % heard.len();
        heard.rotate_left(turn);
        if turn % 2 == 1 {
            heard.reverse();
        }
    }
    let plan = desk.plan_of(config, published, &Wishes::default(), &heard);
    (told(desk, &plan, &heard, found), plan)
}

pub(super) fn published(desk: &Desk, region: &str) -> Published {
    let config = &desk.fleet.regions[region];
    let (plan, _) = desk.plan(config, &Published::nothing(), &Wishes::default());
    let files = publish(desk, config, plan, &Published::nothing());
    Published::examine(&desk.fleet.name, &config.directory, files, &keys())
}

/// The Secrets that admitted claims read, by the namespace of who claims.
fn secrets(world: &Scene) -> BTreeSet<(String, ObjectKey)> {
    let desk = Desk::new(world);
    let mut read = BTreeSet::new();
    for region in desk.fleet.regions.keys() {
        for case in desk.heard(region).into_iter().filter(|case| case.verdict == Verdict::Admitted) {
            let members = case.published_members().filter(|member| member.read.kind.is_secret());
            read.extend(members.map(|member| (case.claim.by.namespace().to_string(), member.read.clone())));
        }
    }
    read
}

/// The losses that holds prevent: objects, and entries of Secrets.
fn losses(holds: &[Hold]) -> BTreeSet<(ObjectKey, Option<String>)> {
    holds.iter().flat_map(|hold| &hold.losses).map(|loss| (loss.key.clone(), loss.entry.clone())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn order_means_nothing(
        mode in resolution(), before in documents(), after in documents(), turn in 0_usize..8, shuffle in any::<u64>(),
    ) {
        let base = published(&Desk::new(&world(mode, before)), "eu");
        let straight = world(mode, after);
        let mut mixed = straight.clone();
        // A shuffle by multiplication, so that shrinking stays simple.
        let place = |line: u32| u64::from(line).wrapping_mul(shuffle | 1).rotate_left(17);
        mixed.documents.sort_by_key(|document| place(document.line));
        let (a, _) = render(&Desk::new(&straight), "eu", &base, 0);
        let (b, _) = render(&Desk::new(&mixed), "eu", &base, turn);
        prop_assert_eq!(a, b);
    }

    #[test]
    fn a_region_alone_is_the_region_among_others(mode in resolution(), before in documents(), after in documents()) {
        let base = published(&Desk::new(&world(mode, before)), "eu");
        let all = world(mode, after);
        let mut alone = all.clone();
        let other = json!({"state": "paused", "namespaces": {"allowed": ["nobody"]}, "k0rdentPushDisabled": false});
        alone.config["regions"]["us"] = other;
        let (a, _) = render(&Desk::new(&all), "eu", &base, 0);
        let (b, _) = render(&Desk::new(&alone), "eu", &base, 0);
        prop_assert_eq!(a, b);
    }

    #[test]
    fn what_is_published_once_stays(mode in resolution(), documents in documents()) {
        let desk = Desk::new(&world(mode, documents));
        let base = published(&desk, "eu");
        let (_, again) = render(&desk, "eu", &base, 0);
        prop_assert!(again.changes.is_empty() && again.holds.is_empty(), "{:?}", again.changes);
        prop_assert!(again.is_published);
    }

    /// What a claim exchanged stays for one more state, and what follows is what is published for the first time: so
    /// nothing is kept for ever, and nobody's budget counts it twice.
    #[test]
    fn what_is_exchanged_goes_one_state_later(
        mode in resolution(), before in documents(), after in documents(),
    ) {
        let base = published(&Desk::new(&world(mode, before)), "eu");
        let desk = Desk::new(&world(mode, after));
        let (_, first) = render(&desk, "eu", &base, 0);
        let handed: BTreeSet<ObjectKey> = first.manifest.handed_over().cloned().collect();
        if first.holds.is_empty() {
            let withheld = losses(&first.withheld);
            // What only breaks because of what is published, such as a field that must not change, may follow when that
            // is gone.
            let is_whole = first.rulings.iter().all(|ruled| ruled.verdict != Verdict::Broken);
            let config = &desk.fleet.regions["eu"];
            let files = publish(&desk, config, first, &base);
            let base = Published::examine(&desk.fleet.name, &config.directory, files, &keys());
            let (_, second) = render(&desk, "eu", &base, 0);
            // An exchange that could only follow begins now.
            let stays_again = second.manifest.handed_over().find(|key| is_whole || handed.contains(*key));
            prop_assert_eq!(stays_again, None);
            let gone: BTreeSet<ObjectKey> = second.changes.iter().map(|change| change.key.clone()).collect();
            prop_assert!(handed.is_subset(&gone), "{:?}", second.changes);
            // Whoever came to need what is held would lose it too: there may be more holds, and never of more.
            prop_assert!(losses(&second.withheld).is_subset(&withheld), "{:?}", second.withheld);
            let is_over = |key: &ObjectKey| handed.contains(key) || key.kind.is_namespace();
            // What was held of a refused claim, because it left nothing of the region, may go once others have come.
            prop_assert!(!is_whole || !withheld.is_empty() || gone.iter().all(is_over), "{:?}", second.changes);
        }
    }

    #[test]
    fn a_tenant_reads_its_own_secrets_and_no_other_s(mode in resolution(), documents in documents()) {
        for (namespace, secret) in secrets(&world(mode, documents)) {
            let at = secret.namespace_text();
            prop_assert!(at == namespace || at == "kcm-system", "{namespace} reads {secret}");
        }
    }

    #[test]
    fn what_one_tenant_adds_gives_another_no_foreign_secret(
        mode in resolution(), documents in documents(), added in documents(),
    ) {
        let before = secrets(&world(mode, documents.clone()));
        let mut more = documents;
        let tenant = |value: &Value| value["metadata"]["namespace"] == "team-b";
        more.extend(added.into_iter().filter(tenant));
        for (namespace, secret) in secrets(&world(mode, more)).difference(&before) {
            let own = *namespace == secret.namespace_text();
            prop_assert!(namespace == "team-b" || own, "{namespace} now reads {secret}");
        }
    }

    #[test]
    fn a_grant_opens_what_it_names_and_nothing_else(
        mode in resolution(), documents in documents(), grant in grant(),
    ) {
        let closed = world(mode, documents);
        let mut open = closed.clone();
        open.config["grants"] = json!([grant]);
        let (before, after) = (Desk::new(&closed), Desk::new(&open));
        for region in before.fleet.regions.keys() {
            for (a, b) in before.heard(region).iter().zip(after.heard(region)) {
                let concerned = after.fleet.grants.iter().any(|grant| {
                    let mut members = a.closure.members.iter().chain(&b.closure.members);
                    members.any(|member| grant.is_for(&a.claim.by, &member.read) && grant.names(region))
                });
                let said = |case: &Case| format!("{:?} {:?} {:?}", case.claim.by, case.verdict, case.closure.members);
                prop_assert!(concerned || said(a) == said(&b), "{} became {}", said(a), said(&b));
                let refused = |case: &Case| -> BTreeSet<ObjectKey> {
                    let all = case.findings.iter().filter(|finding| finding.code == Code::NotAdmitted);
                    all.filter_map(|finding| finding.object.clone()).collect()
                };
                for object in refused(a).difference(&refused(&b)) {
                    let named = after.world().grants(&a.claim.by, region, object);
                    let gone = b.closure.members.iter().all(|member| member.read != *object);
                    prop_assert!(named || gone, "{object} is open to {}", a.claim.by);
                }
            }
        }
    }

    #[test]
    fn no_graph_of_definitions_runs_away(
        mode in resolution(),
        interfaces in proptest::collection::vec(interface(), 1..5),
        documents in documents(),
    ) {
        let mut all = interfaces;
        all.extend(documents);
        let desk = Desk::new(&world(mode, all));
            for asked in desk.facts.asked().iter().filter_map(|asked| asked.claim.as_ref()) {
            let closure = close(&desk.world(), asked);
            prop_assert!(closure.members.len() <= MAX_OBJECTS + 4);
            prop_assert!(closure.members.iter().all(|member| member.through.len() <= MAX_HOPS + 1));
        }
        for region in desk.fleet.regions.keys() {
            for case in desk.heard(region) {
                let allowed = |key: &ObjectKey| desk.fleet.publishes(&key.kind);
                let closed = case.closure.members.iter().all(|member| allowed(&member.lands));
                prop_assert!(closed || case.verdict != Verdict::Admitted);
                prop_assert!(case.published_members().all(|member| member.read.kind.kind != "Credential")
                    || case.verdict != Verdict::Admitted);
            }
        }
    }
}

/// One identity with `count` references to Secrets, all of which exist.
fn many(count: usize) -> BTreeSet<Code> {
    let paths: Vec<Value> = (0..count)
        .map(|n| json!({"group": "", "version": "v1", "kind": "Secret", "nameFieldPath": format!("spec.s{n}")}))
        .collect();
    let definition = json!({"group": "x.io", "version": "v1", "kind": "Thing", "references": paths});
    let interface = json!({"clusterIdentities": [definition]});
    let spec: serde_json::Map<String, Value> = (0..count).map(|n| (format!("s{n}"), format!("s{n}").into())).collect();
    let reference = json!({"apiVersion": "x.io/v1", "kind": "Thing", "name": "t"});
    let mut documents = vec![
        object("k0rdent.mirantis.com/v1beta1", "ProviderInterface", None, "p", &interface),
        object("x.io/v1", "Thing", None, "t", &spec.into()),
        object(
            "k0rdent.mirantis.com/v1beta1",
            "Credential",
            Some("team-a"),
            "a",
            &json!({"region": "eu", "identityRef": reference}),
        ),
    ];
    documents.extend((0..count).map(|n| {
        json!({"apiVersion": "v1", "kind": "Secret",
               "metadata": {"name": format!("s{n}"), "namespace": "kcm-system"}})
    }));
    let mut world = world("as-written", documents);
    world.config["kinds"] = json!([{"group": "x.io", "kind": "Thing", "scope": "Cluster", "allowedNamespaces": "all"}]);
    let desk = Desk::new(&world);
    let heard = desk.heard(&"eu".into());
    let [case] = &*heard else { panic!("one claim") };
    case.findings.iter().filter(|finding| finding.stops_claim()).map(|finding| finding.code).collect()
}

#[test]
fn a_thousand_objects_pass_and_one_more_does_not() {
    assert_eq!(many(999), BTreeSet::new());
    assert_eq!(many(1000), BTreeSet::from([Code::TooManyObjects]));
}

#[test]
fn claimants_of_kinds_that_are_not_known_keep_what_they_have() {
    let text = "
apiVersion: k0rdent.mirantis.com/v1beta1
kind: Credential
metadata: {name: a, namespace: team-a}
spec: {region: eu, identityRef: {apiVersion: v1, kind: Secret, name: s}}
---
apiVersion: v1
kind: Secret
metadata: {name: s, namespace: team-a}
stringData: {key: value}
";
    let read = |text: &str| text.split("---\n").map(super::yaml).collect::<Vec<_>>();
    let other = read(&text.replace("team-a", "team-b"));
    let before = published(&Desk::new(&world("as-written", [read(text), other.clone()].concat())), "eu");
    // The namespace is not allowed any more, so that a claimant of a known kind would be withdrawn at once. Another
    // namespace stays: nothing empties a region unasked.
    let mut without = world("as-written", other);
    without.config["regions"]["eu"]["namespaces"] = json!({"allowed": ["team-b"]});
    let desk = Desk::new(&without);
    let is_theirs = |key: &ObjectKey| key.kind.is_secret() && key.namespace_text() == "team-a";
    // Of two that differ in kind alone, one goes and the other stays.
    for (kinds, stay) in
        [(&["Credential"][..], &[][..]), (&["SyncRule"], &["SyncRule"]), (&["Credential", "SyncRule"], &["SyncRule"])]
    {
        let mut manifest = before.manifest().unwrap().clone();
        for object in manifest.objects.iter_mut().filter(|object| is_theirs(&object.key)) {
            let of_kind = |(needed_by, kind): (&NeededBy, &str)| {
                let mut needed_by = needed_by.clone();
                needed_by.by = Claimant::new(kind, needed_by.by.namespace().clone(), &needed_by.by.name());
                needed_by
            };
            object.needed_by =
                kinds.iter().flat_map(|kind| object.needed_by.iter().map(move |by| of_kind((by, kind)))).collect();
        }
        let config = &desk.fleet.regions["eu"];
        let mut files = before.files.clone();
        files.insert("regions/eu/bundle.yaml".into(), bundle_yaml(&manifest, keys().current().unwrap()).into_bytes());
        let published = Published::examine(&desk.fleet.name, &config.directory, files, &keys());
        let (plan, _) = desk.plan(config, &published, &Wishes::default());
        let objects = plan.manifest.objects.iter().filter(|object| is_theirs(&object.key));
        let left: Vec<&str> =
            objects.flat_map(|object| &object.needed_by).map(|needed_by| needed_by.by.kind()).collect();
        assert_eq!(left, stay, "{kinds:?}");
    }
}
