//! `pouch rbac` where it needs no cluster: what is printed, and what is refused.

use pouch_core::yaml::read;
use serde_json::{Value, json};

use crate::support::fleet::Fleet;

/// A fleet whose one source is a cluster that provides this.
fn live(provides: &str) -> Fleet {
    let fleet = Fleet::new();
    let source = format!("cluster: {{}}, provides: {{namespaces: [{provides}], clusterScoped: true}}");
    fleet.write("pouch.yaml", fleet.read("pouch.yaml").replace("directory: {path: manifests}", &source));
    fleet
}

fn documents(text: &str) -> Vec<Value> {
    read::documents(text).map(|document| read::typed(document.text).unwrap()).collect()
}

#[test]
fn named_namespaces_need_no_cluster() {
    let ran = live("team-a, team-b").run(&["rbac", "--secrets", "namespaces"]).ends(0);
    let kinds: Vec<(String, Value)> = documents(&ran.stdout)
        .iter()
        .map(|document| (document["kind"].as_str().unwrap().to_owned(), document["metadata"]["namespace"].clone()))
        .collect();
    let mut expect = vec![("ClusterRole".to_owned(), Value::Null), ("ClusterRoleBinding".to_owned(), Value::Null)];
    for namespace in ["kcm-system", "team-a", "team-b"] {
        expect.push(("Role".to_owned(), json!(namespace)));
        expect.push(("RoleBinding".to_owned(), json!(namespace)));
    }
    assert_eq!(kinds, expect);
    assert_eq!(ran.stderr, "");
}

#[test]
fn the_namespaces_of_the_roles_come_with_them_where_they_are_asked_for() {
    let fleet = live("team-a");
    let kinds = |flags: &[&str]| -> Vec<(String, String)> {
        let ran = fleet.run(&[&["rbac", "--secrets=namespaces"], flags].concat()).ends(0);
        let word = |value: &Value| value.as_str().unwrap().to_owned();
        documents(&ran.stdout).iter().map(|it| (word(&it["kind"]), word(&it["metadata"]["name"]))).collect()
    };
    let (without, with) = (kinds(&[]), kinds(&["--with-namespaces"]));
    assert!(without.iter().all(|(kind, _)| kind != "Namespace"));
    let made = ["kcm-system", "team-a"].map(|name| ("Namespace".to_owned(), name.to_owned()));
    assert_eq!(with, [&made[..], &without[..]].concat());
}

#[test]
fn the_subject_is_what_the_flags_say() {
    let fleet = live("team-a");
    let subject = |flags: &[&str]| {
        let ran = fleet.run(&[&["rbac", "--secrets=namespaces"], flags].concat()).ends(0);
        documents(&ran.stdout)[1]["subjects"][0].clone()
    };
    let group = "rbac.authorization.k8s.io";
    assert_eq!(subject(&[]), json!({"kind": "ServiceAccount", "namespace": "pouch", "name": "pouch"}));
    let account = subject(&["--service-account", "ops/reader"]);
    assert_eq!(account, json!({"kind": "ServiceAccount", "namespace": "ops", "name": "reader"}));
    assert_eq!(subject(&["--user", "a: b"]), json!({"kind": "User", "apiGroup": group, "name": "a: b"}));
    assert_eq!(subject(&["--group", "ops"]), json!({"kind": "Group", "apiGroup": group, "name": "ops"}));
    for wrong in ["pouch", "/pouch", "pouch/", "a/b/c", "A/b"] {
        fleet.run(&["rbac", "--secrets=namespaces", "--service-account", wrong]).ends(64).says("is not NAMESPACE/NAME");
    }
    fleet.run(&["rbac", "--user", ""]).ends(64).says("--user is empty");
    fleet.run(&["rbac", "--user", "a", "--group", "b"]).ends(64);
}

#[test]
fn looking_into_a_region_takes_two_rules() {
    let fleet = Fleet::with_credentials(1);
    fleet.run(&["rbac", "--region", "eu"]).ends(64).says("does not have region eu looked into");
    fleet.configure("  eu: {", "  eu: {cluster: {kubeconfig: nowhere, context: x}, ");
    let ran = fleet.run(&["rbac", "--region", "eu", "--group", "ops"]).ends(0);
    assert_eq!(ran.stderr, "", "nobody looks into a region for it");
    let printed = documents(&ran.stdout);
    assert_eq!(
        printed[0]["rules"],
        json!([
            {"apiGroups": ["k0rdent.mirantis.com"], "resources": ["providerinterfaces"], "verbs": ["list"]},
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"], "resourceNames": ["eu-team", "kube-system"]},
        ])
    );
    assert_eq!(printed[1]["roleRef"]["name"], "pouch-look-acme-eu");
    assert_eq!(printed[1]["subjects"][0]["name"], "ops");
    assert_eq!(printed.len(), 2);
    fleet.run(&["rbac", "--region", "eu", "--secrets", "names"]).ends(64);
    fleet.configure("  eu: {", "  eu: {state: paused, ");
    fleet.run(&["rbac", "--region", "eu"]).ends(64).says("only an active region is looked into");
}

#[test]
fn without_a_cluster_there_is_nothing_to_grant() {
    Fleet::new().run(&["rbac"]).ends(64).says("the configuration has no cluster among its sources");
}

/// Names stand in the cluster only, so it has to be asked; and it is not guessed which one that is.
#[test]
fn names_and_patterns_need_the_cluster() {
    live("team-a").run(&["rbac"]).ends(64).says("there is no kubeconfig").says("--kubeconfig");
    live("'team-*'").run(&["rbac", "--secrets", "namespaces"]).ends(64).says("there is no kubeconfig");
}
