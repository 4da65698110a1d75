//! The cases of k0rdent's own algorithm (`conformance/kcm` of the shared data): where pouch does the
//! same, where it publishes nothing, and where it departs, with the rule that says so.
//!
//! Claim, close, landing and sanitise run in `kcm` mode; nothing is judged, because tenancy is pouch's
//! own. Compared are keys, specs and Secrets' data, not k0rdent's labels.

extern crate std;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use std::fs;

use serde_json::{Value, json};

use crate::capi::aws::is_controller_identity;
use crate::closure::{Role, close};
use crate::finding::{Code, Finding};
use crate::json;
use crate::layout::sanitise::sanitise;
use crate::layout::{Marks, Style};
use crate::name::split_api_version;
use crate::testing::case::{Document, Scene};
use crate::testing::stages::Desk;
use crate::testing::{node, shared, yaml};
use crate::yaml::emit::{Tree, emit};
use crate::yaml::read;

/// What a claim's closure says and makes, as far as it is compared.
#[derive(Default)]
struct Made {
    /// `Kind namespace/name` and its spec or data.
    objects: BTreeMap<String, Value>,
    codes: BTreeSet<Code>,
    broken: bool,
}

enum Answer {
    /// pouch makes what k0rdent makes, without Namespaces.
    Agree,
    /// k0rdent fails, and so does pouch, with this code.
    Fails(Code),
    /// The Credential has no region: it claims nothing.
    NothingPublished,
    /// pouch answers otherwise; the rule, a code that it says, and exactly these objects.
    Departs(&'static str, Option<Code>, &'static [(&'static str, &'static str)]),
}
use Answer::{Agree, Departs, Fails, NothingPublished};

const CASES: [(&str, Answer); 25] = [
    ("copy-01", NothingPublished),
    ("copy-02", NothingPublished),
    ("copy-03", NothingPublished),
    ("copy-04", NothingPublished),
    ("copy-05", NothingPublished),
    ("copy-06", NothingPublished),
    ("copy-07", NothingPublished),
    ("copy-08", NothingPublished),
    ("copy-09", NothingPublished),
    ("copy-10", Fails(Code::MissingReference)),
    ("copy-11", Fails(Code::MissingReference)),
    ("copy-12", Fails(Code::MissingReference)),
    ("copy-13", Agree),
    ("copy-14", Agree),
    (
        "copy-15",
        Departs(
            "the region is not read: what stands there unmanaged is taken over",
            None,
            &[
                (
                    "NamespaceScopedClusterIdentity test2/testidentityname",
                    "{clientSecret: {name: testidentitysecretname, namespace: test2}}",
                ),
                ("Secret test2/testidentitysecretname", "{key: dmFsdWU=}"),
            ],
        ),
    ),
    ("copy-16", Agree),
    (
        "copy-17",
        Departs(
            "the region is not read: updated and created are the same",
            None,
            &[("Secret test3/testidentitysecretname", "{key: dmFsdWU=}")],
        ),
    ),
    (
        "edge-01",
        Departs(
            "2.2.3, the actual kind: the chain is followed down to the Secret",
            None,
            &[
                (
                    "AWSClusterRoleIdentity role",
                    "{allowedNamespaces: {}, roleARN: 'arn:aws:iam::1:role/x', \
                     sourceIdentityRef: {kind: AWSClusterStaticIdentity, name: static}}",
                ),
                ("AWSClusterStaticIdentity static", "{allowedNamespaces: {}, secretRef: static-secret}"),
                ("Secret test-system/static-secret", "{key: dmFsdWU=}"),
            ],
        ),
    ),
    (
        "edge-02",
        Departs(
            "2.2.8, assumed: the controller identity exists on every region",
            Some(Code::Assumed),
            &[(
                "AWSClusterRoleIdentity role",
                "{allowedNamespaces: {}, roleARN: 'arn:aws:iam::1:role/x', \
                 sourceIdentityRef: {kind: AWSClusterControllerIdentity, name: default}}",
            )],
        ),
    ),
    (
        "edge-03",
        Departs(
            "2.2.4, optional reference: a workload identity has no secret",
            None,
            &[(
                "AzureClusterIdentity team/az-id",
                "{type: WorkloadIdentity, clientID: cid, tenantID: tid, allowedNamespaces: {}}",
            )],
        ),
    ),
    ("edge-04", Fails(Code::InvalidObject)),
    (
        "edge-05",
        Departs(
            "2.2.1, version: the nearest definition counts, with a warning",
            Some(Code::VersionMismatch),
            &[
                (
                    "AzureClusterIdentity team/az-id",
                    "{type: ServicePrincipal, clientID: cid, tenantID: tid, allowedNamespaces: {}, \
                     clientSecret: {name: s1, namespace: team}}",
                ),
                ("Secret team/s1", "{key: dmFsdWU=}"),
            ],
        ),
    ),
    (
        // Keys, spec and data agree; `metadata` is the point, and `nothing_but_the_allowed_gets_out` compares it.
        "edge-06",
        Departs(
            "2.5, allow-list: no annotation, generation or owner gets out",
            None,
            &[
                (
                    "AzureClusterIdentity team/az-id",
                    "{type: ServicePrincipal, clientID: cid, tenantID: tid, allowedNamespaces: {}, \
                     clientSecret: {name: s1, namespace: team}}",
                ),
                ("Secret team/s1", "{key: dmFsdWU=}"),
            ],
        ),
    ),
    ("edge-07", Agree),
    (
        "edge-08",
        Departs(
            "2.3, cluster-scoped path kept: the Secret stays where the identity says",
            None,
            &[
                ("OpenStackClusterIdentity os", "{secretRef: {name: clouds, namespace: test-system}}"),
                ("Secret test-system/clouds", "{key: dmFsdWU=}"),
            ],
        ),
    ),
];

/// A case as a world of ours: one region, the system namespace, and nothing built in.
fn world(case: &Value) -> Scene {
    let kinds: Vec<Value> =
        [("ClusterScopedClusterIdentity", "Cluster"), ("NamespaceScopedClusterIdentity", "Namespaced")]
            .iter()
            .map(|(kind, scope)| json!({"group": crate::capi::GROUP, "kind": kind, "scope": scope}))
            .collect();
    let config = json!({
        "systemNamespace": case["systemNamespace"],
        "resolution": "kcm",
        "companions": "none",
        "providerInterfaces": {"builtin": "none"},
        "kinds": kinds,
        "regions": {"region1": {}, "r1": {}},
    });
    let lists = ["providerInterfacesOnTarget", "managementObjects"];
    let listed = lists.iter().flat_map(|list| case[list].as_array().unwrap());
    let documents = core::iter::once(&case["credential"]).chain(listed).zip(1_u32..);
    let documents = documents.map(|(value, line)| Document { source: "all".to_string(), node: node(value), line });
    Scene { config, documents: documents.collect(), incomplete: vec![], run: json!({}) }
}

/// `Kind namespace/name` of a document.
fn named(document: &Value) -> String {
    let kind = document["kind"].as_str().unwrap();
    let name = document["metadata"]["name"].as_str().unwrap();
    match document["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{kind} {namespace}/{name}"),
        None => format!("{kind} {name}"),
    }
}

fn content(document: &Value) -> Value {
    document.get("spec").or_else(|| document.get("data")).cloned().unwrap_or(Value::Null)
}

/// The documents that the one claim makes; none where it has no claim.
fn documents(desk: &Desk) -> Option<(Vec<Value>, Vec<Finding>)> {
    let asked: Vec<_> = desk.facts.asked().iter().collect();
    let [asked] = &*asked else { panic!("one Credential") };
    let claim = asked.claim.as_ref()?;
    let closure = close(&desk.world(), claim);
    let mut made = Vec::new();
    for member in closure.members.iter().filter(|member| member.role != Role::Assumed) {
        let Some(object) = desk.snapshot.get(&member.read) else { continue };
        assert!(!is_controller_identity(&member.lands));
        let text = emit(&sanitise(object, &member.lands, &member.edits, Marks::by(Style::Plain), None));
        let document = read::documents(&text).next().unwrap();
        let tree = read::read(&document, &mut crate::node::Interner::new()).ok().unwrap();
        made.push(json::value(&Tree::of(&tree)));
    }
    Some((made, closure.findings))
}

fn make(desk: &Desk) -> Option<Made> {
    let (documents, findings) = documents(desk)?;
    let mut made = Made::default();
    made.objects.extend(documents.iter().map(|document| (named(document), content(document))));
    made.codes.extend(findings.iter().map(|finding| finding.code));
    made.broken = findings.iter().any(Finding::stops_claim);
    Some(made)
}

fn load(name: &str) -> Option<Value> {
    Some(yaml(&fs::read_to_string(shared("conformance/kcm")?.join(format!("{name}.yaml"))).unwrap()))
}

/// What k0rdent's algorithm makes, without the Namespaces that it ensures.
fn theirs(case: &Value, lists: &[&str]) -> BTreeMap<String, Value> {
    let made = lists.iter().flat_map(|list| case["expected"][list].as_array().unwrap());
    made.filter(|document| document["kind"] != "Namespace")
        .map(|document| (named(document), content(document)))
        .collect()
}

#[test]
fn every_case_of_k0rdent_is_answered() {
    let Some(folder) = shared("conformance/kcm") else { return };
    let files: BTreeSet<String> = fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_string())
        .collect();
    let names: BTreeSet<String> = CASES.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(files, names);
    for (name, answer) in &CASES {
        let case = load(name).unwrap();
        assert_eq!(case["id"], *name);
        let made = make(&Desk::new(&world(&case)));
        let error = case["expected"]["error"].is_string();
        match answer {
            NothingPublished => assert!(made.is_none(), "{name}"),
            Agree => {
                let made = made.unwrap();
                assert!(!error && !made.broken, "{name}: {:?}", made.codes);
                assert_eq!(made.objects, theirs(&case, &["created", "updated"]), "{name}");
            }
            Fails(code) => {
                let made = made.unwrap();
                assert!(error && made.broken && made.codes.contains(code), "{name}: {:?}", made.codes);
                assert!(theirs(&case, &["created", "updated"]).is_empty(), "{name}");
            }
            Departs(rule, code, expected) => {
                let made = made.unwrap();
                assert!(!made.broken, "{name}, {rule}: {:?}", made.codes);
                assert!(code.is_none_or(|code| made.codes.contains(&code)), "{name}, {rule}: {:?}", made.codes);
                let expected: BTreeMap<String, Value> =
                    expected.iter().map(|(key, content)| (key.to_string(), yaml(content))).collect();
                assert_eq!(made.objects, expected, "{name}, {rule}");
                if *name != "edge-06" {
                    assert_ne!(made.objects, theirs(&case, &["created"]), "{name}: no departure any more, {rule}");
                }
            }
        }
    }
}

#[test]
fn nothing_but_the_allowed_gets_out() {
    let Some(case) = load("edge-06") else { return };
    let (documents, _) = documents(&Desk::new(&world(&case))).unwrap();
    assert_eq!(documents.len(), 2);
    let labels = json!({"app.kubernetes.io/managed-by": "pouch", "k0rdent.mirantis.com/managed": "false"});
    for document in &documents {
        let (_, name) = named(document).rsplit_once('/').map(|(a, b)| (a.to_string(), b.to_string())).unwrap();
        assert_eq!(document["metadata"], json!({"name": name, "namespace": "team", "labels": labels}));
    }
    // k0rdent copies an annotation that holds the Secret in clear.
    let (group, _) = split_api_version(documents[0]["apiVersion"].as_str().unwrap());
    assert_eq!(group, crate::capi::GROUP);
    assert!(case["expected"].to_string().contains("PLAINTEXT"));
}
