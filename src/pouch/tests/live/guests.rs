//! Groups of guest clusters: delivered by the real manager of Cluster API into API servers that are guests, and what that
//! manager does without a word.

use std::iter;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::rig::apiserver::ApiServer;
use crate::rig::cluster_api::ClusterApi;
use crate::rights::{rules, says};
use crate::support::fleet::{Fleet, Ran};

const GROUP: &str = "{region: management, namespaces: [team-a], clusterSelector: {matchLabels: {pull: \"yes\"}}, objects: [\
    {kind: Secret, namespace: registry, name: pull, to: {namespace: kube-system}}, \
    {kind: ConfigMap, namespace: registry, name: trust}]}";

const BASE: &str = "{region: management, namespaces: [team-a], clusterSelector: {matchExpressions: [{key: pull, operator: Exists}]}, \
    objects: [{kind: ConfigMap, namespace: registry, name: base, to: {namespace: kube-public}}]}";

fn fleet(recipient: &str) -> Fleet {
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: manifests, directory: {{path: manifests}}}}]\n\
         regions:\n  management: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}, k0rdentPushDisabled: true, delivery: none}}\n\
         guests:\n  pull: {GROUP}\n  base: {BASE}\n\
         output: {{path: bundles}}\nlimits: {{retainReplaced: 0s, deletions: {{claimants: 50, most: 50, keep: 0}}}}\nreuseKey: {{file: reuse.key}}\n"
    ));
    for name in ["trust", "base"] {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "registry"},
                            "data": {"text": "not-a-certificate"}});
        fleet.write(&format!("manifests/{name}.yaml"), object.to_string());
    }
    rotate(&fleet, "first");
    fleet
}

/// The pull secret with a value.
fn pull(value: &str) -> String {
    let metadata = json!({"name": "pull", "namespace": "registry"});
    let config = json!({"auths": {value: {}}}).to_string();
    json!({"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/dockerconfigjson", "metadata": metadata,
           "stringData": {".dockerconfigjson": config}})
    .to_string()
}

fn rotate(fleet: &Fleet, value: &str) {
    fleet.write("manifests/pull.yaml", pull(value));
}

/// Publishes into a folder, and has the management cluster brought what stands there. A set is there until Cluster API lets
/// it go, and its payloads until then.
#[track_caller]
fn publish(fleet: &Fleet, manager: &ClusterApi) -> Ran {
    let ran = fleet.run(&["render"]).ends(0);
    let apply = || {
        fleet.run(&[
            "deliver",
            "bundles",
            "-f",
            "pouch.yaml",
            "--region=management",
            "--identity=management.agekey",
            "--kubeconfig=kubeconfig",
            "--context=admin",
            "--inventory-namespace=default",
        ])
    };
    manager.wait("apply", apply, |ran| ran.code == 0);
    ran
}

fn verify(fleet: &Fleet) -> Ran {
    fleet.run(&["verify", "--live", "--context", "admin", "--region=management", "--kubeconfig=kubeconfig"])
}

/// An object of a server; null where there is none.
pub fn get(server: &ApiServer, words: &[&str]) -> Value {
    let flags = ["get", "-o", "json", "--ignore-not-found"];
    let text = server.kubectl_prints(flags.iter().chain(words), "");
    if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() }
}

/// The value of the pull secret in a guest; empty where it is not there.
pub fn pulled(guest: &ApiServer) -> String {
    let secret = get(guest, &["secret", "-n", "kube-system", "pull"]);
    let value = secret["data"][".dockerconfigjson"].as_str().unwrap_or_default();
    String::from_utf8(STANDARD.decode(value).unwrap()).unwrap()
}

fn clusters() -> Option<(ApiServer, ApiServer)> {
    Some((ApiServer::start()?, ApiServer::start()?))
}

fn namespaces(server: &ApiServer, names: &[&str]) {
    for name in names {
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        server.apply(&object.to_string());
    }
}

#[test]
fn a_pull_secret_arrives_in_a_guest_is_rotated_and_taken_away() {
    let Some((management, guest)) = clusters() else { return };
    let Some(manager) = ClusterApi::start(&management) else { return };
    namespaces(&management, &["team-a"]);
    // Somebody made it before, and said what may run in it.
    namespaces(&guest, &["registry"]);
    let labels = json!({"pull": "yes", "env": "prod"});
    manager.adopt(&management, ("team-a", "one"), &labels, &guest);
    let (identity, recipient) = pouch::age::generate_identity().unwrap();
    let fleet = fleet(&recipient.to_string());
    fleet.private("management.agekey", &*identity);
    management.kubeconfig(&fleet.path("kubeconfig"), "admin");

    publish(&fleet, &manager);
    let arrived = |value: &str| {
        manager.wait("the pull secret", || pulled(&guest), |text| text.contains(value));
        // A warning would say that nothing can be told yet.
        let is_whole = |ran: &Ran| {
            ran.code == 0 && !ran.stderr.contains("not-in-guest") && ran.stdout.contains("; delivered to 1 Cluster\n")
        };
        manager.wait("verify", || verify(&fleet), is_whole);
    };
    arrived("first");
    let registry = get(&guest, &["namespace", "registry"]);
    assert_eq!(registry["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    assert_eq!(get(&guest, &["configmap", "-n", "registry", "trust"])["data"]["text"], "not-a-certificate");
    fleet.run(&["render"]).ends(0).outcome("management", "unchanged");
    tagged(&management);

    rotate(&fleet, "second");
    publish(&fleet, &manager);
    arrived("second");

    // A selector never changes: another one makes other sets, with payloads of their own.
    fleet.configure("matchLabels: {pull: \"yes\"}", "matchLabels: {env: prod}");
    publish(&fleet, &manager);
    arrived("second");
    rotate(&fleet, "third");
    publish(&fleet, &manager);
    arrived("third");

    // A set that somebody paused. That a Cluster is paused keeps nothing from it.
    let pause = |set: &str| {
        management.kubectl_prints(["annotate", "clusterresourcesets", "--all", "-n", "team-a", set], "");
    };
    pause("cluster.x-k8s.io/paused=");
    rotate(&fleet, "fourth");
    publish(&fleet, &manager);
    let said = verify(&fleet).ends(8);
    assert!(
        said.stderr.contains("error[not-in-guest]") && said.stderr.contains("the set is paused"),
        "{}",
        said.stderr
    );
    assert!(said.stdout.contains("delivered to 0 of 1 Cluster"), "{}", said.stdout);
    pause("cluster.x-k8s.io/paused-");
    arrived("fourth");

    taken_away((&fleet, &manager), &management, &guest);
    manager.wait("verify", || verify(&fleet), |ran| ran.code == 0);
}

const SPREAD: &str = "{apiVersion: clusterregistry.k8s.cisco.com/v1alpha1, kind: ResourceSyncRule, metadata: {name: spread}, spec: {\
    groupVersionKind: {version: v1, kind: ConfigMap}, rules: [{match: [{labels: [{matchLabels: {spread: 'yes'}}]}], \
    mutations: {labels: {add: {by: rule}}}}]}}";

/// A namespace that no guest has is made by a set of its own, and what belongs into it waits for that; what a rule takes
/// arrives as the rule makes it, more of it than one set holds. Whether it arrived is seen with the rights that are printed.
#[test]
fn a_rule_fills_two_sets_for_a_namespace_that_the_guest_lacks() {
    let Some((management, guest)) = clusters() else { return };
    let Some(manager) = ClusterApi::start(&management) else { return };
    namespaces(&management, &["team-a"]);
    manager.adopt(&management, ("team-a", "one"), &json!({"pull": "yes"}), &guest);
    let (identity, recipient) = pouch::age::generate_identity().unwrap();
    let fleet = fleet(&recipient.to_string());
    fleet.private("management.agekey", &*identity);
    management.kubeconfig(&fleet.path("kubeconfig"), "admin");
    fleet
        .configure(GROUP, &GROUP.replace(", to: {namespace: kube-system}", "").replace("]}", ", {syncRule: spread}]}"));
    fleet.write("manifests/rule.yaml", SPREAD);
    let spread = |number: usize| {
        let metadata =
            json!({"name": format!("spread-{number}"), "namespace": "registry", "labels": {"spread": "yes"}});
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"number": number.to_string()}})
    };
    let all: Vec<Value> = (0..101).map(spread).collect();
    fleet.write("manifests/spread.yaml", json!({"apiVersion": "v1", "kind": "List", "items": all}).to_string());

    assert!(get(&guest, &["namespace", "registry"]).is_null());
    publish(&fleet, &manager);
    let sets = get(&management, &["clusterresourcesets", "-n", "team-a"]);
    let sets: Vec<&str> =
        sets["items"].as_array().unwrap().iter().filter_map(|set| set["metadata"]["name"].as_str()).collect();
    let of_group: Vec<&&str> = sets.iter().filter(|name| name.starts_with("pouch-pull-")).collect();
    assert_eq!(of_group.len(), 3, "{sets:?}");
    let arrived = || {
        let found = get(&guest, &["configmaps", "-n", "registry", "-l", "by=rule"]);
        let pull = get(&guest, &["secret", "-n", "registry", "pull"]);
        (found["items"].as_array().map_or(0, Vec::len), pull["type"] == "kubernetes.io/dockerconfigjson")
    };
    manager.wait("what the group has", arrived, |seen| *seen == (101, true));
    assert!(!get(&guest, &["namespace", "registry"]).is_null());

    // As nobody in particular, who was given what is printed for a look into the region.
    fleet.configure(
        "management: {recipients",
        "management: {cluster: {kubeconfig: kubeconfig, context: pouch}, recipients",
    );
    let printed = fleet.run(&["rbac", "--region=management", "--user=pouch"]).ends(0).stdout;
    let verify =
        || fleet.run(&["verify", "--live", "--context", "pouch", "--region=management", "--kubeconfig=kubeconfig"]);
    let refused = verify().ends(5);
    assert!(refused.stderr.contains("does not allow"), "{}", refused.stderr);
    management.apply(&printed);
    let is_whole = |ran: &Ran| ran.code == 0 && ran.stdout.contains("; delivered to 1 Cluster;");
    manager.wait("verify with the printed rights", verify, is_whole);
}

/// A group for whatever namespaces have Clusters on the management cluster that is read, with the rights that are printed and
/// nothing more; without one of them, it says what it lacks and keeps what is published.
#[test]
fn a_glob_over_a_live_cluster_needs_the_rights_that_are_printed() {
    let Some((management, guest)) = clusters() else { return };
    if !management.install_crds() {
        return;
    }
    let Some(manager) = ClusterApi::start(&management) else { return };
    namespaces(&management, &["team-a", "team-b", "registry", "kcm-system"]);
    manager.adopt(&management, ("team-a", "one"), &json!({"pull": "yes"}), &guest);
    let (_, recipient) = pouch::age::generate_identity().unwrap();
    let group = GROUP.replace("[team-a]", "[\"team-*\"]");
    let fleet = Fleet::of(&format!(
        "apiVersion: pouch/v1alpha1\nkind: Fleet\nmetadata: {{name: acme}}\n\
         sources: [{{name: live, cluster: {{kubeconfig: kubeconfig}}}}]\n\
         regions:\n  management: {{recipients: [{recipient}], namespaces: {{allowed: ['*']}}, management: true, delivery: none}}\n\
         guests:\n  pull: {group}\n\
         output: {{path: bundles}}\nlimits: {{retainReplaced: 0s}}\nreuseKey: {{file: reuse.key}}\n"
    ));
    management.kubeconfig(&fleet.path("kubeconfig"), "pouch");
    for object in [pull("first"), config_map("trust").replace("\"default\"", "\"registry\"")] {
        management.apply(&object);
    }
    management.apply(&rules(&fleet, ""));
    says(&fleet, 0, "2 claimants resolved, 0 refused, 0 broken").outcome("management", "published");
    let there =
        |namespace: &str| fleet.tree("bundles").keys().any(|path| path.contains(&format!("/{namespace}/pouch-pull-")));
    assert!(there("team-a") && !there("team-b"));
    // A Cluster that is new brings its namespace along.
    manager.adopt(&management, ("team-b", "two"), &json!({"pull": "yes"}), &guest);
    management.apply(&rules(&fleet, ""));
    says(&fleet, 0, "4 claimants resolved, 0 refused, 0 broken");
    assert!(there("team-a") && there("team-b"));
    let before = fleet.tree("bundles");
    for (without, code, words) in [
        ("clusters", 5, "does not allow \"list\" on clusters"),
        ("secrets", 3, "does not allow \"get\" on secrets"),
        ("configmaps", 3, "does not allow \"get\" on configmaps"),
    ] {
        management.apply(&rules(&fleet, without));
        says(&fleet, code, words);
        assert!(there("team-a") && there("team-b"), "{without}");
    }
    management.apply(&rules(&fleet, ""));
    says(&fleet, 0, "4 claimants resolved, 0 refused, 0 broken");
    assert!(fleet.tree("bundles") == before);
}

/// What stays in the guest is said before it is done, and then nothing but that stays.
fn taken_away((fleet, manager): (&Fleet, &ClusterApi), management: &ApiServer, guest: &ApiServer) {
    let config = fleet.read("pouch.yaml");
    let without: Vec<&str> = config.lines().filter(|line| !line.starts_with("  pull:")).collect();
    fleet.write("pouch.yaml", without.join("\n") + "\n");
    let plan = fleet.run(&["plan"]).ends(0);
    assert!(plan.stdout.contains("(in guests: Secret kube-system/pull, which stays there)"), "{}", plan.stdout);
    publish(fleet, manager);
    let left = get(management, &["clusterresourcesets,secrets,configmaps", "-n", "team-a"]);
    let names = left["items"].as_array().unwrap().iter().filter_map(|item| item["metadata"]["name"].as_str());
    let left: Vec<&str> = names.filter(|name| name.starts_with("pouch-pull-")).collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(pulled(guest).contains("fourth"));
}

/// What a binding publishes of a payload with a Secret is the hash of something that nobody can guess.
fn tagged(management: &ApiServer) {
    let binding = get(management, &["clusterresourcesetbinding", "-n", "team-a", "one"]);
    let sets = binding["spec"]["bindings"].as_array().unwrap().clone();
    let all = || sets.iter().flat_map(|set| set["resources"].as_array().unwrap().iter());
    let secret = all().find(|resource| resource["kind"] == "Secret").unwrap_or_else(|| panic!("{binding}"));
    let payload = get(management, &["secret", "-n", "team-a", secret["name"].as_str().unwrap()]);
    let text = STANDARD.decode(payload["data"]["objects.yaml"].as_str().unwrap()).unwrap();
    assert_eq!(secret["hash"], format!("sha256:{:x}", Sha256::digest(&text)));
    let text = String::from_utf8(text).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    assert!(first.starts_with("# pouch: ") && first.len() == 9 + 43, "{first}");
    assert_ne!(secret["hash"], format!("sha256:{:x}", Sha256::digest(rest)));
}

/// A payload by hand.
fn payload(kind: &str, name: &str, secret_type: Option<&str>, text: &str) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "team-a"}});
    object[if kind == "Secret" { "stringData" } else { "data" }] = json!({"objects.yaml": text});
    if let Some(secret_type) = secret_type {
        object["type"] = json!(secret_type);
    }
    object
}

fn set(name: &str, strategy: Option<&str>, payloads: &[(&str, &str)]) -> Value {
    let resources: Vec<Value> = payloads.iter().map(|(kind, name)| json!({"kind": kind, "name": name})).collect();
    let mut spec = json!({"clusterSelector": {"matchLabels": {"pull": "yes"}}, "resources": resources});
    if let Some(strategy) = strategy {
        spec["strategy"] = json!(strategy);
    }
    json!({"apiVersion": "addons.cluster.x-k8s.io/v1beta2", "kind": "ClusterResourceSet",
           "metadata": {"name": name, "namespace": "team-a"}, "spec": spec})
}

fn config_map(name: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"a": "b"}})
        .to_string()
}

fn secret(kind: &str, value: &str) -> String {
    json!({"apiVersion": "v1", "kind": "Secret", "type": kind, "metadata": {"name": "typed", "namespace": "default"},
           "stringData": {"username": value, "password": value}})
    .to_string()
}

/// What is said of a set: its condition, if it has one.
fn applied(management: &ApiServer, name: &str) -> Option<String> {
    let set = get(management, &["clusterresourceset", "-n", "team-a", name]);
    let conditions = set["status"]["conditions"].as_array()?.clone();
    let is_it = |condition: &&Value| condition["type"] == "ResourcesApplied";
    conditions.iter().find(is_it).map(|condition| condition["status"].as_str().unwrap().to_owned())
}

/// What a binding notes of a payload.
fn entry(management: &ApiServer, set: &str, payload: &str) -> Option<Value> {
    let binding = get(management, &["clusterresourcesetbinding", "-n", "team-a", "one"]);
    let sets = binding["spec"]["bindings"].as_array()?.clone();
    let of_set = sets.iter().find(|it| it["clusterResourceSetName"] == set)?;
    of_set["resources"].as_array()?.iter().find(|it| it["name"] == payload).cloned()
}

/// Whether it was applied.
fn noted(management: &ApiServer, set: &str, payload: &str) -> Option<bool> {
    entry(management, set, payload)?["applied"].as_bool()
}

/// The facts on which `docs/guests.md` stands: what the manager does, and does not say.
#[test]
fn what_cluster_api_does_without_a_word() {
    const TYPE: &str = "addons.cluster.x-k8s.io/resource-set";
    let Some((management, guest)) = clusters() else { return };
    let Some(manager) = ClusterApi::start(&management) else { return };
    namespaces(&management, &["team-a"]);
    manager.adopt(&management, ("team-a", "one"), &json!({"pull": "yes"}), &guest);
    let there = |name: &str| !get(&guest, &["configmap", "-n", "default", name]).is_null();
    let apply = |objects: &[Value]| {
        management.apply(&json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string());
    };

    apply(&[
        payload("ConfigMap", "short", None, "{apiVersion: v1, kind: Event}"),
        set("short", Some("Reconcile"), &[("ConfigMap", "short")]),
        payload("ConfigMap", "beside", None, &config_map("beside")),
        set("missing", Some("Reconcile"), &[("ConfigMap", "beside"), ("Secret", "nowhere")]),
        payload("ConfigMap", "fine", None, &config_map("fine")),
        payload("Secret", "wrong", Some("Opaque"), &config_map("wrong")),
        set("wrong", Some("Reconcile"), &[("ConfigMap", "fine"), ("Secret", "wrong")]),
        payload("ConfigMap", "unsaid", None, &config_map("unsaid")),
        set("unsaid", None, &[("ConfigMap", "unsaid")]),
        payload("Secret", "typed", Some(TYPE), &secret("Opaque", "one")),
        set("typed", Some("Reconcile"), &[("Secret", "typed")]),
        payload("ConfigMap", "labelled", None, &config_map("labelled")),
        set("labelled", Some("Reconcile"), &[("ConfigMap", "labelled")]),
    ]);
    manager.wait("what is beside a missing payload", || there("beside"), |there| *there);
    manager.wait("a typed Secret", || get(&guest, &["secret", "-n", "default", "typed"]), |it| !it.is_null());
    manager.wait("a ConfigMap", || there("labelled"), |there| *there);

    // A missing payload is skipped, and the set counts as applied.
    manager.wait("the set", || applied(&management, "missing"), |it| it.as_deref() == Some("True"));
    assert_eq!(noted(&management, "missing", "nowhere"), None);
    // Under 32 bytes nothing arrives, and no condition says so.
    manager.wait("the short one", || noted(&management, "short", "short"), |it| *it == Some(false));
    assert_ne!(applied(&management, "short").as_deref(), Some("False"));
    // One wrong type, and nothing of the set arrives.
    assert!(!there("fine") && !there("wrong"));
    // Without a strategy, and without the webhook, nothing does.
    assert!(!there("unsaid"));

    // What a set names is its own: where it goes, so do its payloads.
    let owner = &get(&management, &["configmap", "-n", "team-a", "beside"])["metadata"]["ownerReferences"][0];
    assert_eq!([&owner["kind"], &owner["name"]], ["ClusterResourceSet", "missing"]);

    // A change takes away what others added; the type of a Secret stays as it was. That the Cluster is paused keeps nothing.
    let pause = |paused: bool| {
        let patch = json!({"spec": {"paused": paused}}).to_string();
        management.kubectl_prints(["patch", "cluster", "-n", "team-a", "one", "--type=merge", "-p", &patch], "");
    };
    pause(true);
    let theirs = json!({"metadata": {"labels": {"theirs": "yes"}, "finalizers": ["example.com/theirs"]}, "data": {"theirs": "x"}});
    let patch = |name: &str, patch: &Value| {
        guest.kubectl_prints(
            ["patch", "configmap", "-n", "default", name, "--type=merge", "-p", &patch.to_string()],
            "",
        );
    };
    let note = || entry(&management, "labelled", "labelled").unwrap_or_default();
    let before = note()["hash"].clone();
    patch("labelled", &theirs);
    let changed = config_map("labelled").replace("\"b\"", "\"c\"");
    apply(&[
        payload("ConfigMap", "labelled", None, &changed),
        payload("Secret", "typed", Some(TYPE), &secret("kubernetes.io/basic-auth", "two")),
    ]);
    let object = |name: &str| get(&guest, &["configmap", "-n", "default", name]);
    let seen = manager.wait("the change", || object("labelled"), |it| it["data"]["a"] == "c");
    let metadata = &seen["metadata"];
    assert!(metadata["labels"]["theirs"].is_null() && metadata["finalizers"].is_null(), "{seen}");
    assert!(seen["data"]["theirs"].is_null(), "{seen}");
    // Until it is noted, it may be applied once more.
    manager.wait("the note of it", note, |note| note["applied"] == true && note["hash"] != before);
    manager.wait("the typed one", || noted(&management, "typed", "typed"), |it| *it == Some(false));
    let typed = get(&guest, &["secret", "-n", "default", "typed"]);
    assert_eq!(typed["type"], "Opaque");
    assert_eq!(typed["data"]["username"], STANDARD.encode("one"));
    pause(false);

    // What somebody changes or deletes in the guest stays so, also where the set is looked at once more. The manager reads
    // its own notes from a cache: where that lags behind, it applies once more what is noted already, and then no more.
    guest.kubectl_prints(["delete", "configmap", "-n", "default", "beside"], "");
    apply(&[payload("Secret", "nowhere", Some(TYPE), &config_map("nowhere"))]);
    manager.wait("what was missing", || there("nowhere"), |there| *there);
    assert!(object("beside").is_null());
    let names = ["more-1", "more-2", "more-3"];
    let stays = (1..=names.len()).any(|count| {
        patch("labelled", &json!({"data": {"a": "theirs"}}));
        let more = names.get(..count).unwrap();
        let payloads = more.iter().map(|name| payload("ConfigMap", name, None, &config_map(name)));
        let members: Vec<(&str, &str)> =
            iter::once("labelled").chain(more.iter().copied()).map(|name| ("ConfigMap", name)).collect();
        apply(&payloads.chain([set("labelled", Some("Reconcile"), &members)]).collect::<Vec<_>>());
        manager.wait("what the set names too", || more.iter().all(|name| there(name)), |there| *there);
        object("labelled")["data"]["a"] == "theirs"
    });
    assert!(stays, "{}", object("labelled"));

    // Two sets write one object by turns: what changed last is what stands there.
    let turn = |of: &str, value: &str| {
        apply(&[payload("ConfigMap", of, None, &config_map("turns").replace("\"b\"", &format!("\"{value}\"")))]);
        manager.wait(value, || object("turns"), |it| it["data"]["a"] == value);
    };
    for of in ["turns-a", "turns-b"] {
        apply(&[set(of, Some("Reconcile"), &[("ConfigMap", of)])]);
        turn(of, &format!("{of}-first"));
    }
    turn("turns-a", "turns-a-second");
    turn("turns-b", "turns-b-second");

    // And what did not arrive has not arrived since.
    assert!(!there("fine") && !there("wrong") && !there("unsaid"));
    assert_eq!(noted(&management, "short", "short"), Some(false));
}
